/* SPDX-License-Identifier: MIT
 *
 * Pre-tokenizers. The steps are traversed depth first: each passes its pieces to the next one at
 * once, so that nothing is stored except the position in each step and the texts that steps
 * change. */
#include "tokenizer/hf/split.h"

#include <string.h>

#include "common/unicode.h"

enum lmd_status hf_split_give(struct hf_split *c, uint32_t level, const char *s, const char *end,
			      bool zero)
{
	const struct hf_state *h = c->h;

	if (s == end)
		return LMD_OK;
	if (!tok_encode_job_step(c->job, 1 + tok_work_scan((size_t)(end - s))))
		return LMD_CANCELLED;
	if (level == h->n_split)
		return hf_model_word(h, c->job, s, (size_t)(end - s));
	return h->split[level].type->split(c, level, s, end, zero);
}

/* Joins pieces to their neighbours as the behavior says; one piece is held back. */
struct joiner {
	struct hf_split *c;
	uint32_t level;
	enum hf_behavior behavior;
	bool held;
	const char *from, *to; /* the piece held back */
	bool match;            /* whether that piece is a match */
	const char *begin;     /* start of the whole text */
	bool zero;
};

static enum lmd_status emit(struct joiner *q)
{
	bool keep = q->held && !(q->behavior == HF_REMOVED && q->match);

	q->held = false;
	return keep ? hf_split_give(q->c, q->level + 1, q->from, q->to,
				    q->zero && q->from == q->begin)
		    : LMD_OK;
}

/* Adds the piece after the one held back; a match may be empty. */
static enum lmd_status add(struct joiner *q, const char *from, const char *to, bool match)
{
	enum lmd_status st = LMD_OK;
	bool join = false;

	if (q->held) {
		join = (q->behavior == HF_CONTIGUOUS && match == q->match) ||
		       (q->behavior == HF_WITH_PREVIOUS && match && !q->match) ||
		       (q->behavior == HF_WITH_NEXT && !match && q->match);
		if (!join)
			st = emit(q);
	}
	if (!join)
		q->from = from;
	q->held = true;
	q->to = to;
	q->match = match;
	return st;
}

bool hf_next_match(const struct hf_step *s, struct tok_regex_run *run, struct hf_match *at)
{
	if (!s->rx) {
		const char *p = s->pattern.len ? memmem(at->next, (size_t)(run->end - at->next),
							s->pattern.ptr, s->pattern.len)
					       : NULL;

		at->from = p;
		at->next = at->to = p ? p + s->pattern.len : NULL;
		return p != NULL;
	}
	while (tok_regex_search(s->rx, run, at->next, &at->from, &at->to)) {
		bool again = at->from == at->to && at->to == at->last;

		if (!again) {
			at->next = at->last = at->to;
			return true;
		}
		/* another empty match where the last match ended: continue after the next
		 * character */
		if (at->next == run->end)
			break;
		(void)tok_utf8_get(&at->next, run->end);
	}
	return false;
}

static enum lmd_status by_places(struct hf_split *c, uint32_t level, const char *s, const char *end,
				 bool zero, enum hf_behavior behavior, bool invert)
{
	const struct hf_step *step = &c->h->split[level];
	struct joiner q = {.c = c, .level = level, .behavior = behavior, .begin = s, .zero = zero};
	struct tok_regex_run *run = &c->run[level];
	struct hf_match at = {.next = s};
	enum lmd_status st = LMD_OK;

	tok_regex_set_text(run, s, end);
	while (st == LMD_OK && hf_next_match(step, run, &at)) {
		if (at.from > s)
			st = add(&q, s, at.from, invert);
		if (st == LMD_OK)
			st = add(&q, at.from, at.to, !invert);
		s = at.to;
	}
	if (st == LMD_OK && step->rx && run->st != LMD_OK)
		return run->st;
	if (st == LMD_OK && s < end)
		st = add(&q, s, end, invert);
	return st == LMD_OK ? emit(&q) : st;
}

enum lmd_status hf_split_pattern(struct hf_split *c, uint32_t level, const char *s, const char *end,
				 bool zero)
{
	const struct hf_step *step = &c->h->split[level];

	return by_places(c, level, s, end, zero, step->behavior, step->invert);
}

/* Returns memory for a text of n bytes that belongs to the step. */
static char *step_buffer(struct hf_split *c, uint32_t level, size_t n)
{
	struct tok_buf *b = &c->text[level];

	return tok_buf_reserve(b, c->job->host, n) ? b->p : NULL;
}

static enum lmd_status byte_pieces(struct hf_split *c, uint32_t level, const char *s,
				   const char *end, bool zero)
{
	struct hf_out o = {.buf = &c->text[level], .host = c->job->host};
	const struct lmd_str in = {s, (size_t)(end - s)};

	if (!c->h->split[level].materialize)
		return hf_split_give(c, level + 1, s, end, zero);
	if (!hf_byte_chars(NULL, &in, &o, NULL, NULL))
		return o.st != LMD_OK ? o.st : LMD_NOMEM;
	return hf_split_give(c, level + 1, o.buf->p, (char *)o.buf->p + o.n, zero);
}

enum lmd_status hf_split_byte_level(struct hf_split *c, uint32_t level, const char *s,
				    const char *end, bool zero)
{
	const struct hf_step *step = &c->h->split[level];
	struct tok_regex_run *run = &c->run[level];
	struct hf_match at = {.next = s};
	enum lmd_status st = LMD_OK;
	const char *begin;

	if (step->left && *s != ' ') {
		/* its buffer is separate from the one that the pieces are written to */
		size_t n = (size_t)(end - s);
		char *p;

		if (!tok_buf_reserve(&c->space[level], c->job->host, n + 1))
			return LMD_NOMEM;
		p = c->space[level].p;
		*p = ' ';
		memcpy(p + 1, s, n);
		s = p;
		end = p + n + 1;
	}
	if (!step->regex)
		return byte_pieces(c, level, s, end, zero);
	tok_regex_set_text(run, s, end);
	begin = at.next = s;
	while (st == LMD_OK && hf_next_match(step, run, &at)) {
		if (at.from > s)
			st = byte_pieces(c, level, s, at.from, zero && s == begin);
		if (st == LMD_OK)
			st = byte_pieces(c, level, at.from, at.to, zero && at.from == begin);
		s = at.to;
	}
	if (st == LMD_OK && run->st != LMD_OK)
		return run->st;
	return st == LMD_OK && s < end ? byte_pieces(c, level, s, end, zero && s == begin) : st;
}

/* Replaces blanks, adds a replacement in front, and splits before each replacement. */
enum lmd_status hf_split_metaspace(struct hf_split *c, uint32_t level, const char *s,
				   const char *end, bool zero)
{
	const struct hf_step *step = &c->h->split[level];
	const struct lmd_str *r = &step->content;
	size_t spaces = 0;
	char *o, *begin;
	bool front;

	for (const char *p = s; p < end; p++)
		spaces += *p == ' ';
	begin = o = step_buffer(c, level, (size_t)(end - s) + (spaces + 1) * r->len);
	if (!o)
		return LMD_NOMEM;
	front = *s != ' ' && ((size_t)(end - s) < r->len || memcmp(s, r->ptr, r->len) != 0) &&
		(step->prepend == HF_ALWAYS || (step->prepend == HF_FIRST && zero));
	if (front) {
		memcpy(o, r->ptr, r->len);
		o += r->len;
	}
	for (; s < end; s++) {
		if (*s == ' ') {
			memcpy(o, r->ptr, r->len);
			o += r->len;
		} else {
			*o++ = *s;
		}
	}
	if (!step->split)
		return hf_split_give(c, level + 1, begin, o, zero);
	return by_places(c, level, begin, o, zero, HF_WITH_NEXT, false);
}

/* Splits into runs of one character class; class 0 is dropped. */
static enum lmd_status by_class(struct hf_split *c, uint32_t level, const char *s, const char *end,
				bool zero, int (*class)(uint32_t cp))
{
	const char *begin = s;
	enum lmd_status st = LMD_OK;

	while (s < end && st == LMD_OK) {
		const char *from = s;
		int k = class(tok_utf8_get(&s, end));

		for (const char *q = s; k < HF_ALONE && s < end; s = q) {
			if (class(tok_utf8_get(&q, end)) != k)
				break;
			if (!tok_encode_job_step(c->job, 1))
				return LMD_CANCELLED;
		}
		if (k)
			st = hf_split_give(c, level + 1, from, s, zero && from == begin);
	}
	return st;
}

static int word_class(uint32_t cp)
{
	return hf_is_space(cp) ? 0 : hf_is_word(cp) ? 1 : 2;
}

static int split_class(uint32_t cp)
{
	return hf_is_space(cp) ? 0 : 1;
}

static int bert_class(uint32_t cp)
{
	return hf_is_space(cp) ? 0 : hf_is_punctuation(cp) ? HF_ALONE : 1;
}

enum lmd_status hf_split_words(struct hf_split *c, uint32_t level, const char *s, const char *end,
			       bool zero)
{
	return by_class(c, level, s, end, zero,
			c->h->split[level].type->detail ? split_class : word_class);
}

enum lmd_status hf_split_bert(struct hf_split *c, uint32_t level, const char *s, const char *end,
			      bool zero)
{
	return by_class(c, level, s, end, zero, bert_class);
}

/* Treats each character of a set as a match. */
enum lmd_status hf_split_class(struct hf_split *c, uint32_t level, const char *s, const char *end,
			       bool zero)
{
	const struct hf_step *step = &c->h->split[level];
	struct joiner q = {
		.c = c, .level = level, .behavior = step->behavior, .begin = s, .zero = zero};
	enum lmd_status st = LMD_OK;

	while (s < end && st == LMD_OK) {
		const char *from = s;
		bool match = step->type->is(tok_utf8_get(&s, end));

		/* everything up to the next match */
		for (const char *p = s; !match && s < end; s = p) {
			if (step->type->is(tok_utf8_get(&p, end)))
				break;
			if (!tok_encode_job_step(c->job, 1))
				return LMD_CANCELLED;
		}
		st = add(&q, from, s, match);
	}
	return st == LMD_OK ? emit(&q) : st;
}

enum lmd_status hf_split_length(struct hf_split *c, uint32_t level, const char *s, const char *end,
				bool zero)
{
	const char *begin = s;
	enum lmd_status st = LMD_OK;

	while (s < end && st == LMD_OK) {
		const char *from = s;

		for (uint32_t i = 0; i < c->h->split[level].stop && s < end; i++)
			(void)tok_utf8_get(&s, end);
		st = hf_split_give(c, level + 1, from, s, zero && from == begin);
	}
	return st;
}

/* Splits where the script changes. Characters without a script belong to the preceding piece; at
 * the very start of the text they are lost. */
enum lmd_status hf_split_scripts(struct hf_split *c, uint32_t level, const char *s, const char *end,
				 bool zero)
{
	const char *begin = s, *from = end;
	enum lmd_status st = LMD_OK;
	uint32_t last = 0;

	while (s < end && st == LMD_OK) {
		const char *at = s;
		uint32_t script = hf_script(tok_utf8_get(&s, end));

		if (!tok_encode_job_step(c->job, 1))
			return LMD_CANCELLED;
		if (!script || script == last)
			continue;
		if (last)
			st = hf_split_give(c, level + 1, from, at, zero && from == begin);
		from = at;
		last = script;
	}
	return st == LMD_OK ? hf_split_give(c, level + 1, from, end, zero && from == begin) : st;
}

enum lmd_status hf_split_text(const struct hf_state *h, struct tok_encode_job *j, const char *s,
			      size_t n, bool zero)
{
	struct hf_split c = {.h = h, .job = j};
	enum lmd_status st;

	for (uint32_t i = 0; i < h->n_split; i++) {
		c.run[i].host = j->host;
		c.run[i].max_steps = hf_rx_steps(n);
	}
	st = hf_split_give(&c, 0, s, s + n, zero);
	for (uint32_t i = 0; i < h->n_split; i++) {
		tok_regex_run_fini(&c.run[i]);
		tok_buf_fini(&c.text[i], j->host);
		tok_buf_fini(&c.space[i], j->host);
		if (c.run[i].st == LMD_INVALID)
			return lmd_fail(
				j->err, LMD_INVALID,
				"pre-tokenizer %s: a text of %zu bytes needs too many steps",
				h->split[i].type->name, n);
	}
	return st;
}
