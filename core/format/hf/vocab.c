/* SPDX-License-Identifier: MIT
 *
 * Tokens: the model's vocabulary and merges, added tokens, and the arrays made of them.
 *
 * Ids may come in any order and may have holes, which get no text.  An added token that repeats
 * one of the model's has that one's id; the others are numbered behind the model's in the order of
 * the file, whatever ids it states. */
#include <stdlib.h>
#include <string.h>

#include "core/format/hf/reader.h"

static enum lmd_status add_entry(struct lmi_hf_tokenizer *h, const struct lmi_hf_entry *e,
				 int64_t id, struct lmd_error *err)
{
	struct lmi_hf_entry *p;

	if (h->entries.n == LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_INVALID, "more than %u tokens", LMI_HF_MAX_VOCAB);
	if (id < 0 || id >= LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_CORRUPT, "token '%.*s': id %lld, must be 0..%u",
				(int)(e->text.len < 60 ? e->text.len : 60), e->text.ptr, (long long)id,
				LMI_HF_MAX_VOCAB - 1);
	p = lmi_hf_push(&h->entries, sizeof(*p));
	if (!p)
		return lmi_hf_no_memory(err);
	*p = *e;
	p->id = (uint32_t)id;
	return LMD_OK;
}

static enum lmd_status read_added_token(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	static const struct {
		const char *key;
		uint8_t bit;
	} bits[] = {{"special", LMD_ADDED_SPECIAL}, {"single_word", LMD_ADDED_SINGLE_WORD},
		    {"lstrip", LMD_ADDED_LSTRIP}, {"rstrip", LMD_ADDED_RSTRIP},
		    {"normalized", LMD_ADDED_NORMALIZED}};
	struct lmi_hf_entry e = {.added = LMD_ADDED_TOKEN};
	bool has_text = false, says_normalized = false;
	struct lmi_jr_item key, it;
	enum lmd_status st = LMD_OK;
	struct lmi_hf_entry *to;

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &key, &st, err)) {
		st = lmi_jr_next(&h->json, &it, err);
		if (st != LMD_OK)
			break;
		if (lmi_jr_is(&key, "content") && it.type == LMI_JR_STRING) {
			st = lmi_hf_text(h, &it, false, &e.text, err);
			has_text = true;
		}
		for (size_t i = 0; i < LMD_LEN(bits); i++) {
			if (it.type == LMI_JR_BOOL && lmi_jr_is(&key, bits[i].key)) {
				e.added |= it.b ? bits[i].bit : 0;
				says_normalized |= bits[i].bit == LMD_ADDED_NORMALIZED;
			}
		}
		if (st == LMD_OK)
			st = lmi_jr_skip(&h->json, &it, err);
	}
	if (st != LMD_OK)
		return st;
	if (!has_text)
		return lmd_fail(err, LMD_CORRUPT, "byte %zu: an added token without \"content\"",
				lmi_jr_pos(&h->json));
	if (!says_normalized && !(e.added & LMD_ADDED_SPECIAL))
		e.added |= LMD_ADDED_NORMALIZED;
	if (!e.text.len)
		return LMD_OK;
	if (h->added.n == LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_INVALID, "more than %u added tokens", LMI_HF_MAX_VOCAB);
	to = lmi_hf_push(&h->added, sizeof(*to));
	if (!to)
		return lmi_hf_no_memory(err);
	*to = e;
	return LMD_OK;
}

enum lmd_status lmi_hf_read_added(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = LMD_OK;

	if (begin->type != LMI_JR_ARRAY)
		return lmd_fail(err, LMD_CORRUPT, "\"added_tokens\" is no array");
	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err)) {
		if (it.type != LMI_JR_OBJECT)
			return lmd_fail(err, LMD_CORRUPT, "byte %zu: an added token must be an object",
					lmi_jr_pos(&h->json));
		st = read_added_token(h, err);
	}
	return st;
}

/* {"text": id, ...} */
static enum lmd_status read_vocab_object(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item key, it;
	enum lmd_status st = LMD_OK;
	int64_t id;

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &key, &st, err)) {
		struct lmi_hf_entry e = {.in_model = true};

		st = lmi_hf_text(h, &key, false, &e.text, err);
		if (st == LMD_OK)
			st = lmi_jr_next(&h->json, &it, err);
		if (st == LMD_OK && !lmi_jr_int(&it, &id))
			st = lmd_fail(err, LMD_CORRUPT, "byte %zu: the id of a token must be a number",
				      lmi_jr_pos(&h->json));
		if (st == LMD_OK)
			st = add_entry(h, &e, id, err);
	}
	return st;
}

/* [["text", score], ...] */
static enum lmd_status read_vocab_array(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = LMD_OK;
	int64_t id = 0;

	h->has_scores = true;
	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err)) {
		struct lmi_hf_entry e = {.in_model = true};

		if (it.type != LMI_JR_ARRAY)
			return lmd_fail(err, LMD_CORRUPT, "byte %zu: a token must be [text, score]",
					lmi_jr_pos(&h->json));
		st = lmi_hf_want(h, &it, LMI_JR_STRING, "the text of a token", err);
		if (st == LMD_OK)
			st = lmi_hf_text(h, &it, false, &e.text, err);
		if (st == LMD_OK)
			st = lmi_hf_want(h, &it, LMI_JR_NUMBER, "the score of a token", err);
		if (st == LMD_OK && !lmi_jr_double(&it, &e.score))
			st = lmd_fail(err, LMD_CORRUPT, "byte %zu: a score beyond the range",
				      lmi_jr_pos(&h->json));
		if (st == LMD_OK)
			st = lmi_hf_want(h, &it, LMI_JR_ARRAY_END, "the end of a token", err);
		if (st == LMD_OK)
			st = add_entry(h, &e, id++, err);
	}
	return st;
}

static enum lmd_status add_merge(struct lmi_hf_tokenizer *h, struct lmd_str text, size_t left,
				 struct lmd_error *err)
{
	struct lmd_str *t = lmi_hf_push(&h->merges, sizeof(*t));
	uint32_t *l = lmi_hf_push(&h->lefts, sizeof(*l));

	if (!t || !l)
		return lmi_hf_no_memory(err);
	*t = text;
	*l = (uint32_t)left;
	return LMD_OK;
}

/* "left right" */
static enum lmd_status cut_merge(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *it,
				 struct lmd_error *err)
{
	struct lmd_str text;
	const char *gap, *end;
	enum lmd_status st = lmi_hf_text(h, it, false, &text, err);

	if (st != LMD_OK)
		return st;
	end = text.ptr + text.len;
	for (gap = text.ptr; gap < end && *gap != ' '; gap++)
		;
	if (gap == end || memchr(gap + 1, ' ', (size_t)(end - gap - 1)))
		return lmd_fail(err, LMD_CORRUPT, "merge %zu: not two parts with a blank between",
				h->merges.n);
	return add_merge(h, text, (size_t)(gap - text.ptr), err);
}

/* "left right", or ["left", "right"]. */
static enum lmd_status read_merge(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  struct lmd_error *err)
{
	struct lmi_jr_item it = *begin;
	struct lmd_str part[2];
	enum lmd_status st = LMD_OK;
	char *p;

	if (it.type == LMI_JR_STRING)
		return cut_merge(h, &it, err);
	if (it.type != LMI_JR_ARRAY)
		return lmd_fail(err, LMD_CORRUPT, "merge %zu: neither text nor a pair", h->merges.n);
	for (int i = 0; i < 2 && st == LMD_OK; i++) {
		st = lmi_hf_want(h, &it, LMI_JR_STRING, "a part of a merge", err);
		if (st == LMD_OK)
			st = lmi_hf_text(h, &it, false, &part[i], err);
	}
	if (st == LMD_OK)
		st = lmi_hf_want(h, &it, LMI_JR_ARRAY_END, "the end of a merge", err);
	if (st != LMD_OK)
		return st;
	p = lmi_arena_alloc(h->arena, part[0].len + part[1].len + 1, 1);
	if (!p)
		return lmi_hf_no_memory(err);
	memcpy(p, part[0].ptr, part[0].len);
	p[part[0].len] = ' ';
	memcpy(p + part[0].len + 1, part[1].ptr, part[1].len);
	return add_merge(h, (struct lmd_str){p, part[0].len + part[1].len + 1}, part[0].len, err);
}

static enum lmd_status read_merges(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_ARRAY, "a list of merges", err);

	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err))
		st = read_merge(h, &it, err);
	return st;
}

enum lmd_status lmi_hf_read_model(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  struct lmd_error *err)
{
	struct lmd_str type = {NULL, 0}, key;
	bool has_merges = false, has_prefix = false;
	struct lmi_jr_item it;
	enum lmd_status st = LMD_OK;

	if (begin->type != LMI_JR_OBJECT)
		return lmd_fail(err, LMD_CORRUPT, "\"model\" is no object");
	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		if (lmi_jr_is(&it, "type")) {
			st = lmi_hf_want(h, &it, LMI_JR_STRING, "the name of a type", err);
			if (st == LMD_OK)
				st = lmi_hf_text(h, &it, true, &type, err);
		} else if (lmi_jr_is(&it, "vocab")) {
			st = lmi_jr_next(&h->json, &it, err);
			if (st == LMD_OK && it.type == LMI_JR_OBJECT)
				st = read_vocab_object(h, err);
			else if (st == LMD_OK && it.type == LMI_JR_ARRAY)
				st = read_vocab_array(h, err);
			else if (st == LMD_OK)
				st = lmd_fail(err, LMD_CORRUPT, "\"vocab\" is neither object nor array");
		} else if (lmi_jr_is(&it, "merges")) {
			has_merges = true;
			st = read_merges(h, err);
		} else {
			has_prefix |= lmi_jr_is(&it, "max_input_chars_per_word");
			st = lmi_hf_text(h, &it, true, &key, err);
			if (st == LMD_OK)
				st = lmi_hf_read_param(h, key.ptr, err);
		}
	}
	if (st != LMD_OK)
		return st;
	if (!type.ptr) /* old files do not say */
		type.ptr = h->has_scores ? "Unigram"
			   : has_merges	 ? "BPE"
			   : has_prefix	 ? "WordPiece"
					 : "WordLevel";
	return lmi_hf_add_step(h, LMD_TOK_MODEL, type.ptr, 0, err);
}

static int by_text(const void *a, const void *b)
{
	const struct lmi_hf_entry *x = *(struct lmi_hf_entry *const *)a;
	const struct lmi_hf_entry *y = *(struct lmi_hf_entry *const *)b;
	size_t n = x->text.len < y->text.len ? x->text.len : y->text.len;
	int c = memcmp(x->text.ptr, y->text.ptr, n);

	if (!c)
		c = (x->text.len > y->text.len) - (x->text.len < y->text.len);
	return c ? c : (x > y) - (x < y); /* of equal ones the first in the file */
}

/* The first of sorted entries whose text is not below s; n if there is none. */
static size_t lower_bound(struct lmi_hf_entry *const *sorted, size_t n, const struct lmd_str *s)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;
		const struct lmd_str *t = &sorted[mid]->text;
		int c = memcmp(t->ptr, s->ptr, t->len < s->len ? t->len : s->len);

		if (c < 0 || (!c && t->len < s->len))
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

static bool same_text(const struct lmd_str *a, const struct lmd_str *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

/* Ids of the added tokens. */
static enum lmd_status number_added(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_hf_entry *added = h->added.p, **sorted;
	const struct lmi_hf_entry *e = h->entries.p;
	uint64_t begins[256] = {0}; /* by first byte: bit of the length, modulo 64 */
	uint32_t next = (uint32_t)h->entries.n;
	size_t n = h->added.n, k;

	sorted = lmi_arena_array(h->arena, n + 1, sizeof(struct lmi_hf_entry *));
	if (!sorted)
		return lmi_hf_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		added[i].id = UINT32_MAX;
		sorted[i] = &added[i];
		begins[(unsigned char)*added[i].text.ptr] |= 1ull << (added[i].text.len & 63);
	}
	qsort(sorted, n, sizeof(struct lmi_hf_entry *), by_text);
	for (size_t i = 0; i < h->entries.n; i++) {
		const struct lmd_str *t = &e[i].text;

		if (!t->len || !(begins[(unsigned char)*t->ptr] >> (t->len & 63) & 1))
			continue;
		k = lower_bound(sorted, n, t);
		if (k < n && same_text(t, &sorted[k]->text))
			sorted[k]->id = e[i].id;
	}
	for (size_t i = 0; i < n; i++) { /* the first of equal ones has the id */
		k = lower_bound(sorted, n, &added[i].text);
		if (sorted[k]->id == UINT32_MAX)
			sorted[k]->id = next++;
		added[i].id = sorted[k]->id;
	}
	return next <= LMI_HF_MAX_VOCAB ? LMD_OK
					: lmd_fail(err, LMD_INVALID, "more than %u tokens",
						   LMI_HF_MAX_VOCAB);
}

bool lmi_hf_count_ids(const struct lmi_hf_tokenizer *h, uint32_t *n)
{
	const struct lmi_hf_list *lists[] = {&h->entries, &h->added};

	*n = 0;
	for (size_t k = 0; k < LMD_LEN(lists); k++) {
		const struct lmi_hf_entry *e = lists[k]->p;

		for (size_t i = 0; i < lists[k]->n; i++)
			*n = e[i].id >= *n ? e[i].id + 1 : *n;
	}
	return *n <= 4 * (h->entries.n + h->added.n) + 65536;
}

/* The exact scores as a parameter of the model. */
static enum lmd_status keep_scores(struct lmi_hf_tokenizer *h, const double *score, uint32_t n,
				   struct lmd_error *err)
{
	for (uint32_t i = 0; i < h->spec.n_step; i++) {
		struct lmd_tokstep *s = (struct lmd_tokstep *)(uintptr_t)&h->spec.step[i];
		struct lmd_meta *p;

		if (s->phase != LMD_TOK_MODEL)
			continue;
		p = lmi_arena_array(h->arena, s->n_param + 1u, sizeof(*p));
		if (!p)
			return lmi_hf_no_memory(err);
		memcpy(p, s->param, s->n_param * sizeof(*p));
		p[s->n_param] = (struct lmd_meta){
			.key = "scores", .type = LMD_META_ARR_F64, .n = n, .v.a = score};
		s->param = p;
		s->n_param++;
	}
	return LMD_OK;
}

static enum lmd_status check_around(const struct lmi_hf_tokenizer *h, const int32_t *id, uint32_t n,
				    struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++)
		if (id[i] < 0 || (uint32_t)id[i] >= h->spec.n_tokens)
			return lmd_fail(err, LMD_CORRUPT, "post_processor: token %d of %u", id[i],
					h->spec.n_tokens);
	return LMD_OK;
}

/* Tokens around a text. */
static enum lmd_status finish_around(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmd_tokspec *s = &h->spec;
	enum lmd_status st = check_around(h, h->prefix, s->n_prefix, err);

	if (st == LMD_OK)
		st = check_around(h, h->suffix, s->n_suffix, err);
	s->prefix = h->prefix;
	s->suffix = h->suffix;
	if (s->n_prefix)
		s->bos = h->prefix[0];
	if (s->n_suffix)
		s->eos = h->suffix[s->n_suffix - 1];
	return st;
}

enum lmd_status lmi_hf_finish_vocab(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	const struct lmi_hf_entry *e = h->entries.p, *a = h->added.p;
	struct lmd_tokspec *s = &h->spec;
	enum lmd_status st = number_added(h, err);
	struct lmd_str *text;
	uint8_t *type, *added;
	double *score;
	uint32_t n;

	if (st != LMD_OK)
		return st;
	if (!lmi_hf_count_ids(h, &n))
		return lmd_fail(err, LMD_CORRUPT, "token id %u, but there are only %zu tokens", n - 1,
				h->entries.n + h->added.n);
	text = lmi_arena_array(h->arena, n + 1u, sizeof(*text));
	type = lmi_arena_array(h->arena, n + 1u, 1);
	added = lmi_arena_array(h->arena, n + 1u, 1);
	score = h->has_scores ? lmi_arena_array(h->arena, n + 1u, sizeof(*score)) : NULL;
	if (!text || !type || !added || (h->has_scores && !score))
		return lmi_hf_no_memory(err);
	memset(type, LMD_TOKEN_UNUSED, n);
	for (size_t i = 0; i < h->entries.n; i++) {
		struct lmd_str *t = &text[e[i].id];

		if (t->ptr && !same_text(t, &e[i].text))
			return lmd_fail(err, LMD_CORRUPT, "tokens '%.*s' and '%.*s' have the same id %u",
					(int)(t->len < 60 ? t->len : 60), t->ptr,
					(int)(e[i].text.len < 60 ? e[i].text.len : 60),
					e[i].text.ptr, e[i].id);
		*t = e[i].text;
		type[e[i].id] = LMD_TOKEN_NORMAL;
		if (score)
			score[e[i].id] = e[i].score;
	}
	for (size_t i = 0; i < h->added.n; i++) { /* of equal ones the last counts */
		bool only = !text[a[i].id].ptr || (added[a[i].id] & LMD_ADDED_ONLY);

		added[a[i].id] = a[i].added | (only ? LMD_ADDED_ONLY : 0);
		text[a[i].id] = a[i].text;
		type[a[i].id] = a[i].added & LMD_ADDED_SPECIAL ? LMD_TOKEN_CONTROL
							       : LMD_TOKEN_USER_DEFINED;
	}
	s->n_tokens = n;
	s->text = text;
	s->type = type;
	s->added = added;
	if (score)
		st = keep_scores(h, score, n, err);
	s->n_merges = h->merges.n;
	s->merge = h->merges.p;
	s->merge_left = h->lefts.p;
	return st == LMD_OK ? finish_around(h, err) : st;
}
