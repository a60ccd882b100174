/* SPDX-License-Identifier: MIT
 *
 * A mask must agree with accepting each token, however the mask was computed. */
#include <stdio.h>
#include <string.h>

#include "core/grammar/grammar.h"
#include "tests/lmd_check.h"

#define N_TOKENS 1500
#define END      (N_TOKENS - 1)

static char text[N_TOKENS][32];
static uint8_t length[N_TOKENS];
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static size_t piece(const void *ctx, lmd_token id, char *out, size_t cap)
{
	(void)ctx;
	if (cap)
		memcpy(out, text[id], length[id] < cap ? length[id] : cap);
	return length[id];
}

static const int32_t end[] = {END};
static const struct lmd_sample_vocab vocab = {.struct_size = sizeof(vocab),
					      .n_tokens = N_TOKENS,
					      .piece = piece,
					      .eog = end,
					      .n_eog = 1,
					      .eot = -1,
					      .eos = END,
					      .nl = -1};

/* The vocabulary has every byte; words of many lengths; words with quotes and escapes; characters
 * of two to four bytes that are whole, cut off or overlong, surrogates, and characters beyond the
 * last code point. */
static void make_vocab(void)
{
	static const char *const parts[] = {"a",
					    "b",
					    "xyz",
					    "\"",
					    "\\",
					    "\\n",
					    " ",
					    "0",
					    "7",
					    ",",
					    "{\"",
					    "\":",
					    "}",
					    "\n",
					    "\xc3\xa9",
					    "\xe4\xb8\xad",
					    "\xf0\x9f\x98\x80",
					    "\xe4\xb8",
					    "\xf0\x9f",
					    "\xc3",
					    "\x80",
					    "\xc0\x80",
					    "\xed\xa0\x80",
					    "\xf4\x90\x80\x80",
					    "\xff",
					    "A",
					    "Q-"};

	for (uint32_t i = 0; i < N_TOKENS; i++) {
		uint32_t n = draw(4) ? 1 + draw(4) : 1 + draw(24);

		if (i < 256) {
			text[i][0] = (char)i;
			length[i] = 1;
			continue;
		}
		for (uint32_t k = 0; k < n; k++) {
			const char *s = parts[draw(LMD_LEN(parts))];
			size_t len = strlen(s);

			if (length[i] + len > sizeof(text[i]))
				break;
			memcpy(text[i] + length[i], s, len);
			length[i] = (uint8_t)(length[i] + len);
		}
	}
}

static const char *const grammars[] = {
	"root ::= [^\"\\\\\\x00-\\x1f]*",
	"root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f\\u0080-\\U0010ffff]{0,20} \"\\\"\"",
	"root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f]{0,20} \"\\\"\"",
	"root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f]{3,7} \"\\\"\" [,}]*",
	"root ::= [^\"\\\\\\x00-\\x1f]{16}",
	"root ::= [^\"\\\\\\x00-\\x1f]{15} [a-z]{0,3}",
	"root ::= [^\"\\\\\\x00-\\x1f]{17} \"x\"",
	"root ::= ([ -~] | \"\\u00e9\")*",
	"root ::= [ -Z]{0,40} \"\\\"\"",
	"root ::= [ -~]{2} [ -Z]{2} [ -~]{30}",
	"root ::= (([^\"\\\\\\x00-\\x1f] | \"\\\\\" [n\"]){0,12} \"\\\"\" \",\")*",
	"root ::= .*",
	"root ::= .{0,9}",
	"root ::= [a-z0-9]{0,30}",
};

/* Compares the mask with accepting every token in one state. */
static void compare(const struct lmi_grammar_state *s, const uint64_t *mask, const char *grammar)
{
	for (lmd_token id = 0; id < N_TOKENS; id++) {
		struct lmi_grammar_state *copy;
		bool says = mask[id / 64] >> (id % 64) & 1, takes;

		ck_assert(lmi_gr_state_clone(&copy, s) == LMD_OK);
		takes = lmi_gr_state_accept(copy, id) == LMD_OK;
		lmi_gr_state_destroy(copy);
		ck_assert_msg(says == takes,
			      "%s: token %d \"%.*s\": the mask says %d, taking it %d", grammar, id,
			      (int)length[id], text[id], says, takes);
	}
}

/* Accepting a token from the cache either says what accepting it says, or changes nothing. Returns
 * how many answers came from the cache. */
static uint32_t compare_cached(const struct lmi_grammar_state *s, lmd_token id)
{
	struct lmi_grammar_state *a, *b;
	const uint64_t *va, *vb;
	enum lmd_status cached;

	ck_assert(lmi_gr_state_clone(&a, s) == LMD_OK && lmi_gr_state_clone(&b, s) == LMD_OK);
	cached = lmi_gr_state_accept_cached(a, id);
	if (cached == LMD_BUSY)
		ck_assert_uint_eq(lmi_gr_state_budget(a), lmi_gr_state_budget(s));
	else
		ck_assert_int_eq(cached, lmi_gr_state_accept(b, id));
	ck_assert(lmi_gr_state_mask(b, &vb) == LMD_OK);
	ck_assert(lmi_gr_state_mask_cached(b, &va) == (id == END ? LMD_BUSY : LMD_OK));
	ck_assert(id == END || va == vb);
	ck_assert(lmi_gr_state_mask(a, &va) == LMD_OK);
	ck_assert_mem_eq(va, vb, (N_TOKENS + 7) / 8);
	lmi_gr_state_destroy(a);
	lmi_gr_state_destroy(b);
	return cached != LMD_BUSY;
}

static lmd_token any_of(const uint64_t *mask)
{
	uint32_t from = draw(N_TOKENS);

	for (uint32_t i = 0; i < N_TOKENS; i++) {
		uint32_t id = (from + i) % N_TOKENS;

		if (id != END && mask[id / 64] >> (id % 64) & 1)
			return (lmd_token)id;
	}
	return END;
}

static uint32_t n_cached;

static void walk(struct lmi_grammar_matcher *m, const char *grammar)
{
	struct lmi_grammar_state *s;
	struct lmd_error err;

	ck_assert_msg(lmi_gr_state_create(&s, m, &err) == LMD_OK, "%s", err.text);
	for (int step = 0; step < 12; step++) {
		uint64_t mask[N_TOKENS / 64 + 1];
		const uint64_t *v;
		lmd_token id;

		ck_assert(lmi_gr_state_mask(s, &v) == LMD_OK);
		memcpy(mask, v, sizeof(mask));
		compare(s, mask, grammar);
		id = any_of(mask);
		n_cached += compare_cached(s, id);
		ck_assert(lmi_gr_state_accept(s, id) == LMD_OK || id == END);
		if (id == END)
			break;
	}
	lmi_gr_state_destroy(s);
}

START_TEST(masks_say_what_taking_says)
{
	struct lmi_grammar_vocab *v;
	struct lmd_error err;

	seed = 1;
	printf("seed of masks_say_what_taking_says: %u\n", seed);
	make_vocab();
	ck_assert_msg(lmi_gr_vocab_create(&v, &vocab, &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(grammars); i++) {
		struct lmi_gr_matcher_opts o = {.vocab = v};
		struct lmi_grammar *g;
		struct lmi_grammar_matcher *m;

		ck_assert_msg(lmi_grammar_from_gbnf(&g, grammars[i], strlen(grammars[i]), v,
						    &err) == LMD_OK,
			      "%s: %s", grammars[i], err.text);
		o.grammar = g;
		ck_assert_msg(lmi_gr_matcher_create(&m, &o, &err) == LMD_OK, "%s", err.text);
		for (int k = 0; k < 6; k++)
			walk(m, grammars[i]);
		lmi_gr_matcher_destroy(m);
		lmi_grammar_destroy(g);
	}
	lmi_gr_vocab_destroy(v);
	ck_assert_uint_gt(n_cached, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mask");
	TCase *t = tcase_create("mask");

	tcase_add_test(t, masks_say_what_taking_says);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
