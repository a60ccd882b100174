/* SPDX-License-Identifier: MIT
 *
 * Splitting: the steps are traversed depth first, so that nothing is stored except the position in
 * each step. Each step takes time proportional to its piece. */
#include "tokenizer/bpe/pretok.h"

#include <string.h>

#include "common/unicode.h"
#include "common/work.h"

enum { STEP_RX, STEP_DIGITS, STEP_NUMBERS, STEP_END_SPACE };

static int named_step(const char *text)
{
	static const char *const names[] = {NULL, PRETOK_DIGITS, PRETOK_NUMBERS, PRETOK_END_SPACE};

	for (int i = STEP_DIGITS; i <= STEP_END_SPACE; i++)
		if (!strcmp(text, names[i]))
			return i;
	return STEP_RX;
}

enum lmd_status pretok_open(struct pretok *p, const struct lmd_host *host,
			    const struct pretok_family *f, struct lmd_error *err)
{
	memset(p, 0, sizeof(*p));
	p->host = host;
	for (const char *const *s = f->step; *s; s++) {
		enum lmd_status st = LMD_OK;

		p->step[p->n].kind = named_step(*s);
		if (p->step[p->n].kind == STEP_RX)
			st = tok_regex_compile(&p->step[p->n].rx, host, *s, strlen(*s), 0, err);
		if (st != LMD_OK) {
			pretok_close(p);
			return st;
		}
		p->n++;
	}
	return LMD_OK;
}

void pretok_close(struct pretok *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		tok_regex_free(p->step[i].rx);
	p->n = 0;
}

struct split {
	const struct pretok *p;
	pretok_word_fn word;
	void *arg;
	struct tok_work work;
	struct tok_regex_run run[PRETOK_MAX_STEPS];
};

static enum lmd_status walk(struct split *sp, uint32_t level, const char *s, const char *end);

static inline enum lmd_status give(struct split *sp, uint32_t level, const char *s, const char *end)
{
	if (s == end)
		return LMD_OK;
	if (level + 1 == sp->p->n)
		return sp->word(sp->arg, s, (size_t)(end - s));
	return walk(sp, level + 1, s, end);
}

static enum lmd_status walk_rx(struct split *sp, uint32_t level, const char *s, const char *end)
{
	const struct tok_regex *rx = sp->p->step[level].rx;
	struct tok_regex_run *run = &sp->run[level];
	enum lmd_status st = LMD_OK;
	const char *from, *to;

	tok_regex_set_text(run, s, end);
	while (st == LMD_OK && s < end) {
		if (!tok_regex_search(rx, run, s, &from, &to)) {
			st = run->st != LMD_OK ? run->st : give(sp, level, s, end);
			break;
		}
		st = give(sp, level, s, from);
		if (st == LMD_OK)
			st = give(sp, level, from, to);
		s = to;
	}
	return st;
}

static bool digit_at(const char *s, const char *end, bool ascii, const char **next)
{
	const char *p = s;
	uint32_t cp;

	if (s == end)
		return false;
	cp = tok_utf8_get(&p, end);
	*next = p;
	return ascii ? cp >= '0' && cp <= '9' : tok_ucd_is(cp, TOK_UCD_N);
}

/* Splits into groups of three digits, counted from the right end of each run. */
static enum lmd_status walk_digits(struct split *sp, uint32_t level, const char *s, const char *end)
{
	bool ascii = sp->p->step[level].kind == STEP_DIGITS;
	const char *from = s; /* start of the text not yet passed on */
	enum lmd_status st = LMD_OK;

	while (s < end && st == LMD_OK) {
		const char *next, *run = s;
		size_t n = 0;

		while (digit_at(s, end, ascii, &next)) {
			s = next;
			n++;
			if (!tok_work_step(&sp->work, sp->p->host, 1))
				return LMD_CANCELLED;
		}
		if (!n) {
			s = next;
			if (!tok_work_step(&sp->work, sp->p->host, 1))
				return LMD_CANCELLED;
			continue;
		}
		if (ascii) {
			st = give(sp, level, from, run);
			from = run;
		}
		for (size_t left = n; left && st == LMD_OK;) {
			size_t group = left % 3 ? left % 3 : 3;

			for (size_t i = 0; i < group; i++)
				(void)digit_at(run, end, ascii, &run);
			left -= group;
			st = give(sp, level, from, run);
			from = run;
		}
	}
	return st == LMD_OK ? give(sp, level, from, end) : st;
}

static enum lmd_status walk_end_space(struct split *sp, uint32_t level, const char *s,
				      const char *end)
{
	const char *from = end, *p = end;
	enum lmd_status st;

	while (p > s && tok_ucd_is(tok_utf8_get_back(&p, s), TOK_UCD_SPACE))
		from = p;
	st = give(sp, level, s, from);
	return st == LMD_OK ? give(sp, level, from, end) : st;
}

static enum lmd_status walk(struct split *sp, uint32_t level, const char *s, const char *end)
{
	switch (sp->p->step[level].kind) {
	case STEP_RX:
		return walk_rx(sp, level, s, end);
	case STEP_END_SPACE:
		return walk_end_space(sp, level, s, end);
	default:
		return walk_digits(sp, level, s, end);
	}
}

enum lmd_status pretok_split(const struct pretok *p, const char *s, size_t n, pretok_word_fn word,
			     void *arg, uint64_t *work)
{
	struct split sp = {.p = p, .word = word, .arg = arg};
	enum lmd_status st;

	for (uint32_t i = 0; i < p->n; i++)
		sp.run[i].host = p->host;
	st = n ? walk(&sp, 0, s, s + n) : LMD_OK;
	for (uint32_t i = 0; i < p->n; i++) {
		if (work)
			*work += sp.run[i].steps;
		tok_regex_run_fini(&sp.run[i]);
	}
	return st;
}
