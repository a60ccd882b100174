/* SPDX-License-Identifier: MIT
 *
 * Checks grammars and schemas against the verdicts of the parity pack. */
#include "core/grammar/grammar.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/grammar/test_vocab.h"
#include "tests/lmd_check.h"

static struct lmi_grammar_vocab *vocab;

static struct {
	unsigned passed, failed;
} tally;

static void setup(void)
{
	struct lmd_error err;

	if (lmi_gr_vocab_create(&vocab, &test_vocab, &err) != LMD_OK)
		ck_abort_msg("%s", err.text);
	tally.passed = tally.failed = 0;
}

static void teardown(void)
{
	lmi_gr_vocab_destroy(vocab);
}

static void judge(bool ok, const char *name, const char *what, const char *got, const char *want)
{
	if (ok)
		tally.passed++;
	else if (++tally.failed <= 40)
		printf("FAILED: %s: %.300s: got %s, want %s\n", name, what, got, want);
}

static json_t *load(const char *name)
{
	char path[4400];
	const char *dir = lmd_parity_dir();
	json_error_t e;
	json_t *j;

	if (!dir) {
		LMD_SKIP(name, "the parity pack is missing");
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/grammar/%s", dir, name);
	j = json_load_file(path, JSON_ALLOW_NUL, &e);
	if (!j)
		ck_abort_msg("%s: %s", path, e.text);
	return j;
}

/* Returns the text of a grammar or case, given directly or in hexadecimal. */
static char *text_of(const json_t *j, const char *key, const char *hex_key, size_t *n)
{
	const json_t *text = json_object_get(j, key);
	const char *hex = json_string_value(json_object_get(j, hex_key));
	char *s;

	if (text) {
		*n = json_string_length(text);
		s = malloc(*n + 1);
		memcpy(s, json_string_value(text), *n + 1);
		return s;
	}
	ck_assert_ptr_nonnull(hex);
	*n = strlen(hex) / 2;
	s = malloc(*n + 1);
	for (size_t i = 0; i < *n; i++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
		s[i] = (char)byte;
	}
	s[*n] = '\0';
	return s;
}

/* Returns the tokens of a case. */
static lmd_token *tokens_of(const json_t *c, size_t *n)
{
	const json_t *list = json_object_get(c, "tokens");
	lmd_token *t;
	char *s;

	if (list) {
		*n = json_array_size(list);
		t = calloc(*n + 1, sizeof(*t));
		for (size_t i = 0; i < *n; i++)
			t[i] = (lmd_token)json_integer_value(json_array_get(list, i));
		return t;
	}
	s = text_of(c, "text", "hex", n);
	t = calloc(*n + 1, sizeof(*t));
	for (size_t i = 0; i < *n; i++)
		t[i] = (unsigned char)s[i];
	free(s);
	return t;
}

static void describe_mask(const uint64_t *mask, char *out, size_t cap)
{
	size_t at = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < 260 && at + 32 < cap; i++) {
		uint32_t from = i;

		if (!(mask[i / 64] >> (i % 64) & 1))
			continue;
		while (i + 1 < 260 && mask[(i + 1) / 64] >> ((i + 1) % 64) & 1)
			i++;
		at += (size_t)snprintf(out + at, cap - at, i > from ? "%s%x-%x" : "%s%x",
				       at ? " " : "", from, i);
	}
}

/* Runs a case; writes the verdict, and compares the masks of the case if it has any. */
static void run_case(struct lmi_grammar_matcher *m, const char *name, const json_t *c,
		     char *verdict, size_t cap)
{
	const json_t *allowed = json_object_get(c, "allowed");
	struct lmi_grammar_state *s;
	size_t n;
	lmd_token *t = tokens_of(c, &n);

	ck_assert_int_eq(lmi_gr_state_create(&s, m, NULL), LMD_OK);
	for (size_t i = 0; i <= n; i++) {
		enum lmd_status st;

		if (allowed && i < json_array_size(allowed)) {
			char got[4096];
			const char *want = json_string_value(json_array_get(allowed, i));
			const uint64_t *mask;

			ck_assert_int_eq(lmi_gr_state_mask(s, &mask), LMD_OK);
			describe_mask(mask, got, sizeof(got));
			judge(!strcmp(got, want), name, "mask", got, want);
		}
		if (i == n)
			break;
		st = lmi_gr_state_accept(s, t[i]);
		if (st != LMD_OK) {
			snprintf(verdict, cap, st == LMD_INVALID ? "reject@%zu" : "error@%zu", i);
			break;
		}
		snprintf(verdict, cap, lmi_gr_state_may_end(s) ? "accept" : "prefix");
	}
	if (!n)
		snprintf(verdict, cap, lmi_gr_state_may_end(s) ? "accept" : "prefix");
	lmi_gr_state_destroy(s);
	free(t);
}

static void describe_case(const json_t *c, char *out, size_t cap)
{
	char *s = json_dumps(c, JSON_ENCODE_ANY);

	snprintf(out, cap, "%.200s", s);
	free(s);
}

static void gbnf_cases(struct lmi_grammar_matcher *m, const json_t *g, const char *name)
{
	size_t k;
	json_t *c;

	json_array_foreach(json_object_get(g, "cases"), k, c)
	{
		const char *want = json_string_value(json_object_get(c, "verdict"));
		char got[64], what[256];

		run_case(m, name, c, got, sizeof(got));
		describe_case(c, what, sizeof(what));
		judge(!strcmp(got, want), name, what, got, want);
	}
}

enum parses {
	PARSES,
	REFUSED,
	EITHER /* the reference did not finish */
};

/* Runs one entry of gbnf.json, gbnf_invalid.json or lazy.json. */
static void one_grammar(const json_t *g, enum parses want)
{
	const char *name = json_string_value(json_object_get(g, "name"));
	const json_t *patterns = json_object_get(g, "trigger_patterns");
	const json_t *tokens = json_object_get(g, "trigger_tokens");
	struct lmd_str p[8];
	lmd_token t[8];
	struct lmi_gr_matcher_opts o = {.vocab = vocab, .patterns = p, .tokens = t};
	struct lmi_grammar *grammar;
	struct lmi_grammar_matcher *m;
	struct lmd_error err = {.text = ""};
	size_t n;
	char *text = text_of(g, "grammar", "grammar_hex", &n);
	enum lmd_status st = lmi_grammar_from_gbnf(&grammar, text, n, vocab, &err);

	free(text);
	if (want != EITHER)
		judge((want == REFUSED) == (st != LMD_OK), name, "parse",
		      st == LMD_OK ? "ok" : err.text, want == REFUSED ? "an error" : "ok");
	if (st != LMD_OK)
		return;
	for (; o.n_patterns < json_array_size(patterns); o.n_patterns++) {
		const json_t *s = json_array_get(patterns, o.n_patterns);

		p[o.n_patterns] = (struct lmd_str){json_string_value(s), json_string_length(s)};
	}
	for (; o.n_tokens < json_array_size(tokens); o.n_tokens++)
		t[o.n_tokens] = (lmd_token)json_integer_value(json_array_get(tokens, o.n_tokens));
	o.grammar = grammar;
	if (lmi_gr_matcher_create(&m, &o, &err) != LMD_OK)
		ck_abort_msg("%s: %s", name, err.text);
	gbnf_cases(m, g, name);
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(grammar);
}

static void all_grammars(const char *file, enum parses slow)
{
	json_t *all = load(file), *g;
	size_t i;

	if (!all)
		return;
	json_array_foreach(all, i, g)
	{
		const char *parse = json_string_value(json_object_get(g, "parse"));

		one_grammar(g, !parse || !strcmp(parse, "ok") ? PARSES
			       : !strcmp(parse, "slow")       ? slow
							      : REFUSED);
	}
	json_decref(all);
	LMD_CASES(file, tally.passed, tally.failed, 0);
	ck_assert_uint_eq(tally.failed, 0);
}

START_TEST(gbnf)
{
	all_grammars("gbnf.json", EITHER);
}
END_TEST

START_TEST(gbnf_invalid)
{
	all_grammars("gbnf_invalid.json", REFUSED);
}
END_TEST

START_TEST(lazy)
{
	all_grammars("lazy.json", REFUSED);
}
END_TEST

/* A few grammars of each kind that need no parity pack. */
START_TEST(basics)
{
	static const struct {
		const char *grammar, *text, *verdict;
	} t[] = {
		{"root ::= \"ab\" | \"a\" [0-9]+ # c", "a12", "accept"},
		{"root ::= \"ab\" | \"a\" [0-9]+", "a", "prefix"},
		{"root ::= \"ab\" | \"a\" [0-9]+", "ab1", "reject@2"},
		{"root ::= x{2,3}\nx ::= [^a-y\\n]", "zz", "accept"},
		{"root ::= x{2,3}\nx ::= [^a-y\\n]", "zzzz", "reject@3"},
		{"root ::= (\"a\" | \"b\" root)?", "bba", "accept"},
		{"root ::= .", "\xC3\xA9", "accept"},
		{"root ::= .", "\xC3", "prefix"},
		{"root ::= [\\u00e9]", "\xC3\xA8", "reject@1"},
		{"", "anything", "accept"},
		{"root ::= root \"a\"", NULL, "root"},
		{"root ::= e root \"a\"\ne ::= \"b\"?", NULL, "root"},
		{"root ::= other", NULL, "other"},
		{"a ::= \"x\"", NULL, "'root'"},
		{"root ::= \"a\"{3,2}", NULL, "below the minimum"},
		{"root ::= (\"a\"", NULL, "line 1"},
		{"root ::= \"a\"\nroot2 = \"b\"", NULL, "line 2"},
		{"root ::= <nosuch>", NULL, "not one token"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct lmi_gr_matcher_opts o = {.vocab = vocab};
		struct lmd_error err = {.text = ""};
		struct lmi_grammar *g;
		struct lmi_grammar_matcher *m;
		char got[64];
		json_t *c;

		if (lmi_grammar_from_gbnf(&g, t[i].grammar, strlen(t[i].grammar), vocab, &err)) {
			ck_assert_msg(!t[i].text, "%s: %s", t[i].grammar, err.text);
			ck_assert_msg(strstr(err.text, t[i].verdict), "%s: %s", t[i].grammar,
				      err.text);
			continue;
		}
		ck_assert_msg(t[i].text, "%s", t[i].grammar);
		o.grammar = g;
		ck_assert_int_eq(lmi_gr_matcher_create(&m, &o, &err), LMD_OK);
		c = json_object();
		json_object_set_new(c, "tokens", json_array());
		for (const char *p = t[i].text; *p; p++)
			json_array_append_new(json_object_get(c, "tokens"),
					      json_integer((unsigned char)*p));
		run_case(m, t[i].grammar, c, got, sizeof(got));
		ck_assert_msg(!strcmp(got, t[i].verdict), "%s: %s: %s", t[i].grammar, t[i].text,
			      got);
		json_decref(c);
		lmi_gr_matcher_destroy(m);
		lmi_grammar_destroy(g);
	}
}
END_TEST

/* A grammar whose beginning alone has too many items is refused: no budget of a sequence bounds it. */
START_TEST(too_many_items_at_the_start)
{
	static const char head[] = "a ::= [^x]?\nroot ::= ";
	const size_t n[] = {10000, 250000};

	for (size_t i = 0; i < LMD_LEN(n); i++) {
		char *text = malloc(sizeof(head) + 2 * n[i]), *p = stpcpy(text, head);
		struct lmi_gr_matcher_opts o = {.vocab = vocab};
		struct lmi_grammar_matcher *m;
		struct lmi_grammar *g;
		enum lmd_status st;

		for (size_t k = 0; k < n[i]; k++)
			p = stpcpy(p, "a ");
		ck_assert_int_eq(lmi_grammar_from_gbnf(&g, text, (size_t)(p - text), vocab, NULL),
				 LMD_OK);
		o.grammar = g;
		st = lmi_gr_matcher_create(&m, &o, NULL);
		ck_assert_int_eq(st, i ? LMD_NOMEM : LMD_OK);
		if (st == LMD_OK)
			lmi_gr_matcher_destroy(m);
		lmi_grammar_destroy(g);
		free(text);
	}
}
END_TEST

/* A grammar whose ambiguity explodes ends its own sequence after a bounded amount of work. */
START_TEST(share_of_time)
{
	static const char head[] = "a ::= [^x]?\nroot ::= ";
	const size_t n = 40000;
	char *text = malloc(sizeof(head) + 2 * n), *p = stpcpy(text, head);
	struct lmi_gr_matcher_opts o = {.vocab = vocab};
	struct lmi_grammar_state *s;
	struct lmi_grammar_matcher *m;
	struct lmi_grammar *g;
	enum lmd_status st = LMD_OK;
	size_t n_taken, n_bytes = 0;

	for (size_t i = 0; i < n; i++)
		p = stpcpy(p, "a ");
	ck_assert_int_eq(lmi_grammar_from_gbnf(&g, text, (size_t)(p - text), vocab, NULL), LMD_OK);
	o.grammar = g;
	ck_assert_int_eq(lmi_gr_matcher_create(&m, &o, NULL), LMD_OK);
	ck_assert_int_eq(lmi_gr_state_create(&s, m, NULL), LMD_OK);
	for (; n_bytes < 1000 && st == LMD_OK; n_bytes++)
		st = lmi_gr_state_accept_text(s, "b", 1, &n_taken);
	ck_assert_int_eq(st, LMD_TIMEOUT);
	ck_assert_uint_lt(n_bytes, 100);
	lmi_gr_state_destroy(s);
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
	free(text);
}
END_TEST

/* Lets each allocation fail once: every time there is an error, nothing leaks, and a state is
 * unchanged. */
START_TEST(starved)
{
	static const char text[] = "root ::= <[257]> | (\"a\" [^x]{2,5} | root2)+\nroot2 ::= \"b\"";
	static const lmd_token feed[] = {'a', 'q', 0xC3, 0xA9, 'b', 'b'};
	static const struct lmd_str pattern = {"[\\s\\S]*(aq)", 12};
	struct lmi_alloc_stats before, after;
	uint64_t n;

	lmi_alloc_stats(&before);
	for (n = 1; n < 5000; n++) {
		struct lmi_gr_matcher_opts o = {
			.vocab = vocab, .patterns = &pattern, .n_patterns = n % 2};
		struct lmi_grammar *g = NULL;
		struct lmi_grammar_matcher *m = NULL;
		struct lmi_grammar_state *s = NULL;
		const uint64_t *mask;
		struct lmd_error err;
		enum lmd_status st;
		bool hit;

		lmi_alloc_fail_nth(n, true);
		st = lmi_grammar_from_gbnf(&g, text, strlen(text), vocab, &err);
		o.grammar = g;
		if (st == LMD_OK)
			st = lmi_gr_matcher_create(&m, &o, &err);
		if (st == LMD_OK)
			st = lmi_gr_state_create(&s, m, &err);
		for (size_t i = 0; i < LMD_LEN(feed) && st == LMD_OK; i++) {
			st = lmi_gr_state_mask(s, &mask);
			if (st == LMD_OK)
				st = lmi_gr_state_accept(s, feed[i]);
		}
		hit = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(st == (hit ? LMD_NOMEM : LMD_OK), "allocation %llu: status %d",
			      (unsigned long long)n, st);
		lmi_gr_state_destroy(s);
		if (m)
			lmi_gr_matcher_destroy(m);
		if (g)
			lmi_grammar_destroy(g);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
		if (!hit && n % 2)
			break;
	}
	printf("failed allocations: %llu\n", (unsigned long long)n);
	ck_assert_uint_gt(n, 20);
}
END_TEST

/* Of the processor, so that other work on the machine does not count. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Expects an error or the given verdict, in bounded time and memory. */
static void one_hostile(const json_t *h)
{
	const char *name = json_string_value(json_object_get(h, "name"));
	const char *parse = json_string_value(json_object_get(h, "parse"));
	struct lmi_gr_matcher_opts o = {.vocab = vocab};
	struct lmi_grammar *grammar;
	struct lmi_alloc_stats stats;
	struct lmi_grammar_matcher *m;
	struct lmd_error err;
	double start = seconds();
	char took[64];
	size_t n;
	char *text = text_of(h, "grammar", "grammar_hex", &n);

	if (lmi_grammar_from_gbnf(&grammar, text, n, vocab, &err) == LMD_OK) {
		o.grammar = grammar;
		if (lmi_gr_matcher_create(&m, &o, &err) == LMD_OK) {
			if (!strcmp(parse, "ok"))
				gbnf_cases(m, h, name);
			lmi_alloc_stats(&stats);
			judge(stats.peak_bytes < 256u << 20, name, "memory", "more", "256 MiB");
			lmi_gr_matcher_destroy(m);
		}
		lmi_grammar_destroy(grammar);
	} else {
		printf("%s: %s\n", name, err.text);
	}
	free(text);
	snprintf(took, sizeof(took), "%.3f s", seconds() - start);
	judge(seconds() - start < 2, name, "time", took, "2 s");
}

START_TEST(hostile)
{
	json_t *all = load("hostile.json"), *h;
	size_t i;

	if (!all)
		return;
	json_array_foreach(all, i, h) one_hostile(h);
	json_decref(all);
	LMD_CASES("hostile.json", tally.passed, tally.failed, 0);
	ck_assert_uint_eq(tally.failed, 0);
}
END_TEST

/* Feeds the text to a lazy grammar with n times the same pattern; returns the first error. */
static enum lmd_status trigger(const char *pattern, uint32_t n, const char *text, size_t bytes)
{
	struct lmd_str p[64];
	struct lmi_gr_matcher_opts o = {.vocab = vocab, .patterns = p, .n_patterns = n};
	struct lmi_grammar_matcher *m;
	struct lmi_grammar_state *s;
	struct lmi_grammar *g;
	enum lmd_status st;
	size_t n_taken;

	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct lmd_str){pattern, strlen(pattern)};
	ck_assert_int_eq(lmi_grammar_from_gbnf(&g, "root ::= \"x\"", 12, vocab, NULL), LMD_OK);
	o.grammar = g;
	ck_assert_int_eq(lmi_gr_matcher_create(&m, &o, NULL), LMD_OK);
	ck_assert_int_eq(lmi_gr_state_create(&s, m, NULL), LMD_OK);
	st = lmi_gr_state_accept_text(s, text, bytes, &n_taken);
	lmi_gr_state_destroy(s);
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
	return st;
}

/* The engine's thread searches for triggers: the steps of a token are bounded, for all patterns together. */
START_TEST(steps_of_triggers)
{
	static const char explodes[] = "(?:a+)+[xy]", usual[] = "^[\\s\\S]*?<tool>(x)[\\s\\S]*$";
	char text[20000];

	/* 2^n steps for n letters */
	memset(text, 'a', sizeof(text));
	ck_assert_int_eq(trigger(explodes, 1, text, 10), LMD_OK);
	ck_assert_int_eq(trigger(explodes, 1, text, 18), LMD_UNSUPPORTED);
	ck_assert_int_eq(trigger(explodes, 64, text, 13), LMD_UNSUPPORTED);
	/* long texts and many patterns of the usual kind */
	for (size_t i = 0; i < sizeof(text); i += 7)
		text[i] = '<';
	memcpy(text + sizeof(text) - 7, "<tool>x", 7);
	ck_assert_int_eq(trigger(usual, 1, text, sizeof(text)), LMD_OK);
	ck_assert_int_eq(trigger(usual, 16, text, sizeof(text)), LMD_OK);
}
END_TEST

/* Schemas */

static unsigned either, agree;

static void schema_case(struct lmi_grammar_matcher *m, const char *name, const json_t *c)
{
	const char *want = json_string_value(json_object_get(c, "want"));
	const json_t *valid = json_object_get(c, "valid");
	char got[64], what[256];
	bool accepted;

	run_case(m, name, c, got, sizeof(got));
	accepted = !strcmp(got, "accept");
	describe_case(c, what, sizeof(what));
	if (!strcmp(want, "either")) {
		either++;
		agree += json_is_boolean(valid) && accepted == json_is_true(valid);
		return;
	}
	judge(accepted == !strcmp(want, "must_accept"), name, what, got, want);
}

static void one_schema(const json_t *s)
{
	const char *name = json_string_value(json_object_get(s, "name"));
	const char *reference = json_string_value(json_object_get(s, "reference"));
	struct lmi_gr_matcher_opts o = {.vocab = vocab};
	struct lmi_grammar *grammar;
	struct lmi_grammar_matcher *m;
	struct lmd_error err = {.text = ""};
	enum lmd_status st;
	char *text;
	size_t k;
	json_t *c;

	text = json_dumps(json_object_get(s, "schema"), JSON_ENCODE_ANY | JSON_COMPACT);
	st = lmi_grammar_from_schema(&grammar, text, strlen(text), &err);
	free(text);
	if (st != LMD_OK) {
		printf("%s: %s\n", name, err.text);
		judge(strcmp(reference, "ok") != 0, name, "compile", err.text, "ok");
		return;
	}
	o.grammar = grammar;
	ck_assert_int_eq(lmi_gr_matcher_create(&m, &o, &err), LMD_OK);
	json_array_foreach(json_object_get(s, "cases"), k, c) schema_case(m, name, c);
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(grammar);
}

START_TEST(schemas)
{
	json_t *all = load("schemas.json"), *s;
	size_t i;

	if (!all)
		return;
	either = agree = 0;
	json_array_foreach(all, i, s) one_schema(s);
	json_decref(all);
	printf("cases with two possible answers: %u, agreeing with the validator: %u\n", either,
	       agree);
	LMD_CASES("schemas.json", tally.passed, tally.failed, 0);
	ck_assert_uint_eq(tally.failed, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("grammar");
	TCase *t = tcase_create("grammar");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, basics);
	tcase_add_test(t, too_many_items_at_the_start);
	tcase_add_test(t, share_of_time);
	tcase_add_test(t, starved);
	tcase_add_test(t, gbnf);
	tcase_add_test(t, gbnf_invalid);
	tcase_add_test(t, lazy);
	tcase_add_test(t, steps_of_triggers);
	tcase_add_test(t, hostile);
	tcase_add_test(t, schemas);
	tcase_set_timeout(t, 300);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
