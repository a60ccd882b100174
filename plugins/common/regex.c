/* SPDX-License-Identifier: MIT
 *
 * The matcher: a program counter, a position, and a backtracking stack. The stack is on the heap
 * and at worst grows with the text; recursion is only as deep as look-aheads are nested in the
 * expression. */
#include "common/regex_program.h"
#include "common/work.h"

/* A backtracking point: continue at pc with pos. If low is set, it is a loop, which first gives
 * back characters down to low. */
struct choice {
	const char *pos, *low;
	uint32_t pc;
};

static inline bool in_set(const struct tok_regex *rx, uint32_t set, uint32_t cp)
{
	const struct tok_rx_set *s = &rx->set[set];

	if (cp < 128)
		return s->ascii[cp >> 6] >> (cp & 63) & 1;
	if (s->simple)
		return tok_ucd_is(cp, s->mask);
	return tok_rx_set_eval(rx->set, rx->range, set, cp);
}

/* Checks the limit and cancellation, and decides when to do so next. Returns false and sets run->st
 * if matching must end. */
static bool look(struct tok_regex_run *run)
{
	if (run->max_steps && run->steps > run->max_steps) {
		run->st = LMD_INVALID;
		return false;
	}
	if (!tok_work_tell(run->host, run->steps - run->told)) {
		run->st = LMD_CANCELLED;
		return false;
	}
	run->told = run->steps;
	run->look_at = run->steps + TOK_WORK_BATCH;
	if (run->max_steps && run->look_at > run->max_steps)
		run->look_at = run->max_steps + 1;
	return true;
}

static inline bool count_step(struct tok_regex_run *run)
{
	return LMD_LIKELY(++run->steps < run->look_at) || look(run);
}

/* Matches characters of a set from p on, at most max. Returns their end, and the end of the first
 * min in *low; returns NULL if there are fewer than min. */
static const char *repeat(const struct tok_regex *rx, struct tok_regex_run *run,
			  const struct tok_rx_insn *in, const char *p, const char **low)
{
	uint32_t n = 0;

	*low = p;
	while (n < in->max && p < run->end) {
		const char *q = p;

		if (!in_set(rx, in->a, tok_utf8_get(&q, run->end)))
			break;
		p = q;
		if (++n == in->min)
			*low = p;
		if (!count_step(run))
			return NULL;
	}
	return n >= in->min ? p : NULL;
}

/* Returns the place after the last line end of the white space at p, or NULL. The run of white
 * space is cached, so that further queries within it take constant time. */
static const char *after_line_end(struct tok_regex_run *run, const char *p)
{
	const char *q = p;

	if (!run->ws_begin || p < run->ws_begin || p >= run->ws_end) {
		run->ws_begin = p;
		run->ws_line = NULL;
		while (q < run->end) {
			const char *next = q;
			uint32_t cp = tok_utf8_get(&next, run->end);

			if (!tok_ucd_is(cp, TOK_UCD_SPACE))
				break;
			q = next;
			if (cp == '\n' || cp == '\r')
				run->ws_line = q;
			if (!count_step(run))
				return NULL;
		}
		run->ws_end = q;
	}
	return run->ws_line && run->ws_line > p ? run->ws_line : NULL;
}

static bool is_word(const struct tok_regex *rx, uint32_t cp)
{
	return rx->word == TOK_RX_INF ? tok_ucd_is(cp, TOK_RX_WORD_CATS) : in_set(rx, rx->word, cp);
}

static bool holds(const struct tok_regex *rx, const struct tok_regex_run *run, enum tok_rx_assert a,
		  const char *p)
{
	const char *q = p;
	bool before, after;

	switch (a) {
	case TOK_RX_BEGIN:
		return p == run->begin;
	case TOK_RX_END:
		return p == run->end;
	case TOK_RX_LINE_BEGIN:
		return p == run->begin || (p < run->end && p[-1] == '\n');
	case TOK_RX_LINE_END:
		return p == run->end || *p == '\n';
	case TOK_RX_WORD:
	case TOK_RX_NOT_WORD:
		break;
	}
	before = p > run->begin && is_word(rx, tok_utf8_get_back(&q, run->begin));
	q = p;
	after = p < run->end && is_word(rx, tok_utf8_get(&q, run->end));
	return (before != after) == (a == TOK_RX_WORD);
}

static bool push(struct tok_regex_run *run, size_t *n, struct choice c)
{
	if (!tok_buf_reserve(&run->stack, run->host, (*n + 1) * sizeof(c))) {
		run->st = LMD_NOMEM;
		return false;
	}
	((struct choice *)run->stack.p)[(*n)++] = c;
	return true;
}

/* Pops the newest backtracking point above base; returns false if there is none. */
static bool pop(struct tok_regex_run *run, size_t base, size_t *n, uint32_t *pc, const char **p)
{
	struct choice *c;

	if (*n == base)
		return false;
	c = (struct choice *)run->stack.p + (*n - 1);
	if (c->low) {
		(void)tok_utf8_get_back(&c->pos, c->low);
		*p = c->pos;
		*pc = c->pc;
		if (c->pos == c->low)
			(*n)--;
		return true;
	}
	*p = c->pos;
	*pc = c->pc;
	(*n)--;
	return true;
}

/* Runs the program at pc; does not touch the stack below base. */
static bool run_at(const struct tok_regex *rx, struct tok_regex_run *run, size_t base, uint32_t pc,
		   const char *p, const char **match_end)
{
	size_t n = base;

	for (;;) {
		const struct tok_rx_insn *in = &rx->code[pc];
		const char *q = p, *low;
		bool ok = true;

		if (!count_step(run))
			return false;
		switch ((enum tok_rx_op)in->op) {
		case TOK_OP_SET:
			ok = p < run->end && in_set(rx, in->a, tok_utf8_get(&q, run->end));
			if (ok)
				p = q;
			pc++;
			break;
		case TOK_OP_REP:
			q = repeat(rx, run, in, p, &low);
			ok = q != NULL;
			if (ok && q > low && in->mode == TOK_RX_GREEDY &&
			    !push(run, &n, (struct choice){q, low, pc + 1}))
				return false;
			if (ok)
				p = q;
			pc++;
			break;
		case TOK_OP_LINES:
			q = after_line_end(run, p);
			ok = q != NULL;
			if (ok)
				p = q;
			pc++;
			break;
		case TOK_OP_SPLIT:
			if (!push(run, &n, (struct choice){p, NULL, in->b}))
				return false;
			pc = in->a;
			break;
		case TOK_OP_JMP:
			pc = in->a;
			break;
		case TOK_OP_LOOKAHEAD:
			ok = run_at(rx, run, n, pc + 1, p, &q) != (in->mode & 1);
			if (run->st != LMD_OK)
				return false;
			pc = in->a;
			break;
		case TOK_OP_ATOMIC:
			ok = run_at(rx, run, n, pc + 1, p, &q);
			if (run->st != LMD_OK)
				return false;
			if (ok)
				p = q;
			pc = in->a;
			break;
		case TOK_OP_LOOKBEHIND:
			ok = p > run->begin && in_set(rx, in->a, tok_utf8_get_back(&q, run->begin));
			ok ^= in->mode & 1;
			pc++;
			break;
		case TOK_OP_ASSERT:
			ok = holds(rx, run, (enum tok_rx_assert)in->a, p);
			pc++;
			break;
		case TOK_OP_MATCH:
			*match_end = p;
			return true;
		}
		if (!ok && (run->st != LMD_OK || !pop(run, base, &n, &pc, &p)))
			return false;
	}
}

bool tok_regex_match(const struct tok_regex *rx, struct tok_regex_run *run, const char *at,
		     const char **match_end)
{
	uint32_t alts = rx->nullable;

	if (at < run->end)
		alts = rx->start[(unsigned char)*at < 128 ? (unsigned char)*at : 128];

	for (; alts && run->st == LMD_OK; alts &= alts - 1)
		if (run_at(rx, run, 0, rx->alt[__builtin_ctz(alts)], at, match_end))
			return true;
	return false;
}

bool tok_regex_search(const struct tok_regex *rx, struct tok_regex_run *run, const char *at,
		      const char **match_begin, const char **match_end)
{
	while (run->st == LMD_OK) {
		if (tok_regex_match(rx, run, at, match_end)) {
			*match_begin = at;
			return true;
		}
		if (at == run->end)
			break;
		(void)tok_utf8_get(&at, run->end);
		(void)count_step(run);
	}
	return false;
}
