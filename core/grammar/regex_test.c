/* SPDX-License-Identifier: MIT
 *
 * Regular expressions, as an answer of their own and as the pattern of a JSON schema: which texts
 * they match and which expressions are rejected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/byte_fixture.h"
#include "tests/lmd_check.h"

static const struct {
	const char *regex, *yes[4], *no[4];
} rows[] = {
	{"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
	{"^a|b$", {"a", "b"}, {"", "ab"}},
	{"(a|b)*c?", {"", "abba", "c", "bc"}, {"cc", "d"}},
	{"[a-c\\d_-]+", {"a1_-", "9"}, {"", "d"}},
	{"[^a-c]", {"d", "\xc3\xa9"}, {"a", ""}},
	{"[\\]a]", {"]", "a"}, {"b"}},
	{"[\\D]", {"x"}, {"1"}},
	{"a{b", {"a{b"}, {"ab"}},
	{"[^\\d\\S]", {" ", "\xc2\xa0"}, {"a", "1"}},
	{"\\cJ[\\b]\\u{1F600}\\ud83d\\ude00", {"\n\b\xf0\x9f\x98\x80\xf0\x9f\x98\x80"}, {""}},
	{"(^a|b)(c$|d)", {"ac", "bd"}, {"acx", "a"}},
	{"^$", {""}, {"a"}},
	{"\\d{3}-\\d{2,4}", {"123-45", "123-4567"}, {"12-45", "123-4", "123-45678"}},
	{"x{2,}", {"xx", "xxxxx"}, {"x", "y"}},
	{"x{2}", {"xx"}, {"x", "xxx"}},
	{"(?:ab)+?(?P<name>c)(?<n>d)", {"abcd", "ababcd"}, {"cd", "abc"}},
	{"\\w+@\\w+\\.com", {"me@here.com"}, {"me@herexcom", "@here.com"}},
	{"\\s\\S\\D\\W", {" ab.", "\nx-!"}, {" a1.", "xab."}},
	{"\"\\\\\\[\\]", {"\"\\[]"}, {"\"[]"}},
	{"\\x41\\u00e9\\t", {"A\xc3\xa9\t"}, {"A"}},
	{"a.c", {"abc", "a\xe2\x82\xac""c"}, {"ac", "a\nc"}},
	{"", {""}, {"a"}},
	{"()", {""}, {"a"}},
	{"a||b", {"", "a", "b"}, {"ab"}},
	{"((a)|(b(c|d)))*", {"", "abc", "bda"}, {"b", "c"}},
};

START_TEST(texts)
{
	const char *regex = rows[_i].regex;
	struct lmi_grammar_matcher *m;
	struct lmi_grammar *g = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_grammar_from_regex(&g, regex, strlen(regex), &err) == LMD_OK, "%s: %s",
		      regex, err.text);
	m = lmt_bytes_matcher(g);
	for (int k = 0; k < 4; k++) {
		if (rows[_i].yes[k])
			ck_assert_msg(lmt_bytes_accepts(m, rows[_i].yes[k]), "%s should match '%s'", regex,
				      rows[_i].yes[k]);
		if (rows[_i].no[k])
			ck_assert_msg(!lmt_bytes_accepts(m, rows[_i].no[k]), "%s should not match '%s'", regex,
				      rows[_i].no[k]);
	}
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
}
END_TEST

/* Anchors in a pattern, which is searched for. */
static const struct {
	const char *regex, *yes[4], *no[4];
} searched[] = {
	{"", {"", "a"}, {NULL}},
	{"^$", {""}, {"a"}},
	{"$", {"", "ab"}, {NULL}},
	{"b", {"b", "abc"}, {"", "ac"}},
	{"(^a|b$)", {"a", "ax", "xb"}, {"xa", "bx"}},
	{"(^a|b)c", {"ac", "acx", "xbcx"}, {"xac", "a"}},
	{"a(b|c$)", {"ab", "xabx", "xac"}, {"acx", "a"}},
	{"(?:^(a|b)$)", {"a", "b"}, {"xa", "ax"}},
	{"^(a|b)+$", {"ab"}, {"", "xa"}},
	{"(x|)y", {"y", "axyb"}, {"x"}},
};

START_TEST(patterns)
{
	char schema[100];
	struct lmi_grammar_matcher *m;
	struct lmi_grammar *g = NULL;
	struct lmd_error err = {0};

	snprintf(schema, sizeof(schema), "{\"type\":\"string\",\"pattern\":\"%s\"}",
		 searched[_i].regex);
	ck_assert_msg(lmi_grammar_from_schema(&g, schema, strlen(schema), &err) == LMD_OK,
		      "%s: %s", schema, err.text);
	m = lmt_bytes_matcher(g);
	for (int k = 0; k < 8; k++) {
		const char *text = k < 4 ? searched[_i].yes[k] : searched[_i].no[k - 4];
		char quoted[100];

		if (!text)
			continue;
		snprintf(quoted, sizeof(quoted), "\"%s\"", text);
		ck_assert_msg(lmt_bytes_accepts(m, quoted) == (k < 4), "%s: '%s'", schema, text);
	}
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
}
END_TEST

static const struct {
	const char *regex, *why;
	enum lmd_status st;
} wrong[] = {
	{"a\\", "byte 2: a backslash at the end", LMD_INVALID},
	{"a\\x1g", "expected a hexadecimal character code", LMD_INVALID},
	{"(a)\\1", "back references", LMD_UNSUPPORTED},
	{"\\bword", "word boundaries", LMD_UNSUPPORTED},
	{"\\q", "unknown escape", LMD_INVALID},
	{"[a", "expected ']'", LMD_INVALID},
	{"[z-a]", "wrong order", LMD_INVALID},
	{"[a-\\d]", "ends with a set", LMD_INVALID},
	{"\\p{L}", "property classes", LMD_UNSUPPORTED},
	{"(?=a)", "look-ahead and look-behind", LMD_UNSUPPORTED},
	{"(?<!a)b", "look-ahead and look-behind", LMD_UNSUPPORTED},
	{"(?i)a", "flags are not", LMD_UNSUPPORTED},
	{"(a", "expected ')'", LMD_INVALID},
	{"a(?", "byte 2: '(?' at the end", LMD_INVALID},
	{"a)", "')' without '('", LMD_INVALID},
	{"*a", "nothing to repeat", LMD_INVALID},
	{"a**", "nothing to repeat", LMD_INVALID},
	{"a++", "possessive", LMD_UNSUPPORTED},
	{"a{2", "expected '}'", LMD_INVALID},
	{"(?<a", "expected '>'", LMD_INVALID},
	{"(^a)*", "^ and $ are supported only at the ends", LMD_UNSUPPORTED},
	{"(a$)b", "^ and $ are supported only at the ends", LMD_UNSUPPORTED},
	{"a{2001}", "above 2000", LMD_INVALID},
	{"a{3,2}", "below the minimum", LMD_INVALID},
	{"a^b", "^ and $ are supported only at the ends", LMD_UNSUPPORTED},
	{"a$b", "^ and $ are supported only at the ends", LMD_UNSUPPORTED},
	{"\xff", "invalid UTF-8", LMD_INVALID},
};

START_TEST(mistakes)
{
	const char *regex = wrong[_i].regex;
	struct lmi_grammar *g = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_grammar_from_regex(&g, regex, strlen(regex), &err) == wrong[_i].st,
		      "%s: %s", regex, err.text);
	ck_assert_msg(strstr(err.text, wrong[_i].why) != NULL, "%s: %s", regex, err.text);
}
END_TEST

START_TEST(bounds)
{
	static char deep[2 * 65 + 1];
	struct lmi_grammar *g = NULL;
	struct lmd_error err = {0};

	memset(deep, '(', 65);
	memset(deep + 65, ')', 65);
	ck_assert(lmi_grammar_from_regex(&g, deep, 130, &err) == LMD_INVALID);
	ck_assert_msg(strstr(err.text, "more than 64 deep") != NULL, "%s", err.text);
	ck_assert(lmi_grammar_from_regex(&g, deep + 1, 128, &err) == LMD_OK);
	lmi_grammar_destroy(g);
	ck_assert(lmi_grammar_from_regex(&g, deep, LMI_GRAMMAR_BYTES_MAX + 1, &err) == LMD_INVALID);
	ck_assert_msg(strstr(err.text, "at most 4194304") != NULL, "%s", err.text);
}
END_TEST

/* Grammars of all kinds whose expressions would need more than the memory that one may have. */
START_TEST(memory_for_expressions)
{
	static const struct {
		const char *begin, *end;
	} kind[] = {
		{"root ::= a", ""},
		{"", ""},
		{"{\"type\":\"string\",\"pattern\":\"", "\"}"},
		{"{\"type\":\"structural_tag\",\"format\":{\"type\":\"regex\",\"pattern\":\"", "\"}}"},
	};
	const size_t n_between = LMI_GRAMMAR_BYTES_MAX - 128;
	char *text = malloc(LMI_GRAMMAR_BYTES_MAX), *p = stpcpy(text, kind[_i].begin);
	struct lmi_grammar *g = NULL;
	struct lmi_alloc_stats before, after;
	struct lmd_error err = {0};
	enum lmd_status st;
	size_t n;

	for (size_t i = 0; i < n_between; i += 2)
		p = stpcpy(p, "|a");
	n = (size_t)(stpcpy(p, kind[_i].end) - text);
	lmi_alloc_stats(&before);
	st = _i == 0   ? lmi_grammar_from_gbnf(&g, text, n, NULL, &err)
	     : _i == 1 ? lmi_grammar_from_regex(&g, text, n, &err)
	     : _i == 2 ? lmi_grammar_from_schema(&g, text, n, &err)
		       : lmi_grammar_from_structural_tag(&g, text, n, &err);
	ck_assert_msg(st == LMD_NOMEM && strstr(err.text, "128 MiB"), "status %d: %s", st, err.text);
	lmi_alloc_stats(&after);
	/* the text itself is read into a tree first */
	ck_assert_uint_lt(after.peak_bytes - before.peak_bytes,
			  LMI_GRAMMAR_BUILD_BYTES_MAX + 8 * LMI_GRAMMAR_BYTES_MAX);
	ck_assert_uint_eq(after.live_bytes, before.live_bytes);
	free(text);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("regex");
	Suite *s = suite_create("regex");

	tcase_add_checked_fixture(t, lmt_bytes_setup, lmt_bytes_teardown);
	tcase_add_loop_test(t, texts, 0, LMD_LEN(rows));
	tcase_add_loop_test(t, patterns, 0, LMD_LEN(searched));
	tcase_add_loop_test(t, mistakes, 0, LMD_LEN(wrong));
	tcase_add_test(t, bounds);
	tcase_add_loop_test(t, memory_for_expressions, 0, 4);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
