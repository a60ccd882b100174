/* SPDX-License-Identifier: MIT
 *
 * Compares forced text with the result of trying every byte, at every position of texts that a
 * grammar accepts. */
#include <string.h>

#include "core/grammar/grammar.h"
#include "tests/lmd_check.h"

static struct lmi_gvocab *vocab; /* bytes, and 256 for the end */
static struct lmi_grammar *grammar;
static struct lmi_matcher *matcher;
static uint32_t seed;

static void setup(void)
{
	ck_assert(lmi_gvocab_create(&vocab, NULL, NULL) == LMD_OK);
	seed = 5;
	printf("seed of forced_test: %u\n", seed);
}

static void teardown(void)
{
	lmi_gvocab_destroy(vocab);
}

static struct lmi_gstate *open_grammar(const char *text, bool is_schema)
{
	struct lmi_matcher_opts o = {.vocab = vocab};
	struct lmi_gstate *s;
	struct lmd_error err;
	enum lmd_status st =
		is_schema ? lmi_grammar_from_schema(&grammar, text, strlen(text), &err)
			  : lmi_grammar_from_gbnf(&grammar, text, strlen(text), vocab, &err);

	ck_assert_msg(st == LMD_OK, "%s: %s", text, err.text);
	o.grammar = grammar;
	ck_assert(lmi_matcher_create(&matcher, &o, &err) == LMD_OK);
	ck_assert(lmi_gstate_create(&s, matcher, &err) == LMD_OK);
	return s;
}

static void close_grammar(struct lmi_gstate *s)
{
	lmi_gstate_destroy(s);
	lmi_matcher_destroy(matcher);
	lmi_grammar_destroy(grammar);
}

/* Returns the number of bytes that may come next, and one of them. */
static uint32_t followers(struct lmi_gstate *s, unsigned char *one)
{
	const uint64_t *mask;
	uint32_t n = 0;

	ck_assert(lmi_gstate_mask(s, &mask) == LMD_OK);
	for (uint32_t b = 0; b < 256; b++)
		if (mask[b / 64] >> (b % 64) & 1) {
			*one = (unsigned char)b;
			n++;
		}
	return n;
}

/* Appends bytes one by one as long as only one may come and the text may not end. */
static size_t slow_forced(const struct lmi_gstate *from, char *out, size_t cap, bool *ends)
{
	struct lmi_gstate *s;
	unsigned char one = 0;
	size_t n = 0;

	ck_assert(lmi_gstate_clone(&s, from) == LMD_OK);
	while (n < cap && !lmi_gstate_may_end(s) && followers(s, &one) == 1) {
		ck_assert(lmi_gstate_accept(s, one) == LMD_OK);
		out[n++] = (char)one;
	}
	*ends = lmi_gstate_may_end(s) && !followers(s, &one);
	lmi_gstate_destroy(s);
	return n;
}

static void compare(struct lmi_gstate *s, const char *what)
{
	char a[300], b[300];
	bool a_ends, b_ends;
	size_t n, m = slow_forced(s, b, sizeof(b), &b_ends);

	ck_assert(lmi_gstate_forced(s, a, sizeof(a), &n, &a_ends) == LMD_OK);
	if (m && ((unsigned char)b[0] & 0xc0) == 0x80) /* in the middle of a character */
		m = 0, b_ends = false;
	/* bytes that several characters start with are not forced, because forced text is whole
	 * characters */
	ck_assert_msg(n <= m && !memcmp(a, b, n), "%s: '%.*s', not '%.*s'", what, (int)n, a, (int)m,
		      b);
	ck_assert_msg(m - n < 4, "%s: %zu of %zu bytes", what, n, m);
	if (n == m)
		ck_assert_msg(a_ends == b_ends, "%s: ends %d, not %d", what, a_ends, b_ends);
}

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* Generates a random text of the grammar and compares before each byte. */
static void walk(const char *text, bool is_schema)
{
	struct lmi_gstate *s = open_grammar(text, is_schema);

	for (int step = 0; step < 120; step++) {
		const uint64_t *mask;
		uint32_t b = draw(257), k = 0;

		if (!lmi_gstate_may_end(s) || step < 100)
			compare(s, text);
		ck_assert(lmi_gstate_mask(s, &mask) == LMD_OK);
		while (k < 256 && !(mask[b / 64] >> (b % 64) & 1)) {
			b = (b + 1) % 256;
			k++;
		}
		if (b == 256 || lmi_gstate_accept(s, (lmd_token)b) != LMD_OK)
			break;
	}
	close_grammar(s);
}

START_TEST(it_is_what_trying_says)
{
	static const char *const gbnf[] = {
		"root ::= \"yes\" | \"no\" | \"yesterday\"",
		"root ::= \"{\\\"name\\\": \\\"\" [a-z]{1,4} \"\\\", \\\"age\\\": \" [0-9]{1,3} \"}\"",
		"root ::= (\"ab\" \"cd\" | \"ab\" \"ce\")+ \"end\"",
		"root ::= \"\\u00e9t\\u00e9 \\u4e2d\\u6587 \\U0001f600\" [\\u00e0-\\u00e9] \"x\"",
		"root ::= a | b\na ::= \"same\" c\nb ::= \"same\" c\nc ::= \"tail\"",
		"root ::= \"a\"* \"b\"{3} (\"c\" | \"c\" \"d\"?)",
	};
	static const char *const schemas[] = {
		"{\"type\": \"object\", \"properties\": {\"temperature\": {\"type\": \"integer\"}, "
		"\"unit\": {\"enum\": [\"celsius\", \"fahrenheit\"]}}, \"required\": "
		"[\"temperature\", \"unit\"]}",
		"{\"const\": {\"a\": [1, 2, null]}}",
		"{}",
	};

	for (size_t i = 0; i < LMD_LEN(gbnf); i++)
		for (int k = 0; k < 20; k++)
			walk(gbnf[i], false);
	for (size_t i = 0; i < LMD_LEN(schemas); i++)
		for (int k = 0; k < 20; k++)
			walk(schemas[i], true);
}
END_TEST

static void forced_is(const char *gbnf, const char *before, const char *want, bool want_ends)
{
	struct lmi_gstate *s = open_grammar(gbnf, false);
	char out[64];
	size_t n;
	bool ends;

	ck_assert(lmi_gstate_accept_text(s, before, strlen(before), &n) == LMD_OK);
	ck_assert(lmi_gstate_forced(s, out, sizeof(out), &n, &ends) == LMD_OK);
	ck_assert_msg(n == strlen(want) && !memcmp(out, want, n) && ends == want_ends,
		      "%s after '%s': '%.*s' %d", gbnf, before, (int)n, out, ends);
	close_grammar(s);
}

START_TEST(cases)
{
	forced_is("root ::= \"yes\" | \"no\"", "", "", false);
	forced_is("root ::= \"yes\" | \"no\"", "y", "es", true);
	forced_is("root ::= \"yes\" | \"yesterday\"", "y", "es", false);
	forced_is("root ::= \"key: \" [0-9]+", "", "key: ", false);
	forced_is("root ::= \"a\" <[65]> \"b\"", "", "a", false);
	forced_is("root ::= \"\\u00e9\\u4e2d\" | \"\\u00e9x\"", "", "\xc3\xa9", false);
	forced_is("root ::= \"\\u00e9a\"", "\xc3", "", false); /* in the middle of a character */
	forced_is("root ::= \"x\" root", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
					    "xxxxxxxxxxx",
		  false); /* as much as fits, in whole characters of up to four bytes */
}
END_TEST

START_TEST(one_bit_of_a_mask)
{
	uint64_t m[3] = {0};

	ck_assert_int_eq(lmi_mask_only(m, 130), -1);
	m[1] = 1ull << 5;
	ck_assert_int_eq(lmi_mask_only(m, 130), 69);
	ck_assert_int_eq(lmi_mask_only(m, 69), -1);
	ck_assert_int_eq(lmi_mask_only(m, 70), 69);
	m[2] = 2;
	ck_assert_int_eq(lmi_mask_only(m, 130), -1);
	ck_assert_int_eq(lmi_mask_only(m, 129), 69);
	m[1] = 3;
	ck_assert_int_eq(lmi_mask_only(m, 128), -1);
}
END_TEST

START_TEST(what_may_follow)
{
	struct lmi_gstate *s = open_grammar("root ::= \"ab\" [0-9]", false);
	size_t n;

	ck_assert(lmi_gstate_fits(s, "", 0) && lmi_gstate_fits(s, "ab", 2));
	ck_assert(lmi_gstate_fits(s, "ab7", 3) && !lmi_gstate_fits(s, "ab7x", 4));
	ck_assert(!lmi_gstate_fits(s, "b", 1));
	ck_assert(lmi_gstate_accept_text(s, "ab", 2, &n) == LMD_OK);
	ck_assert(lmi_gstate_fits(s, "0", 1) && !lmi_gstate_fits(s, "a", 1));
	ck_assert(lmi_gvocab_goes_on(vocab, "", 0) && !lmi_gvocab_goes_on(vocab, "a", 1));
	close_grammar(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("forced");
	TCase *t = tcase_create("forced");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, it_is_what_trying_says);
	tcase_add_test(t, cases);
	tcase_add_test(t, one_bit_of_a_mask);
	tcase_add_test(t, what_may_follow);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
