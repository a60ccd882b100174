/* SPDX-License-Identifier: MIT
 *
 * Grammars of regular expressions: they allow the same texts as regcomp(3) and as written here. */
#include "daemon/http/regex_grammar.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/grammar/grammar.h"
#include "tests/lmd_check.h"

static struct lmd_arena *arena;

static void setup(void)
{
	arena = lmi_arena_create(1u << 20);
}

static void teardown(void)
{
	lmi_arena_destroy(arena);
}

static const struct {
	const char *regex, *yes[4], *no[4];
} rows[] = {
	{"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
	{"^a|b$", {"a", "b"}, {"", "ab"}},
	{"(a|b)*c?", {"", "abba", "c", "bc"}, {"cc", "d"}},
	{"[a-c\\d_-]+", {"a1_-", "9"}, {"", "d"}},
	{"[^a-c]", {"d", "\xc3\xa9"}, {"a", ""}},
	{"[]a]", {"]", "a"}, {"b"}},
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

static struct lmi_grammar_vocab *vocab; /* of bytes */

static bool allows(struct lmi_grammar_matcher *m, const char *text)
{
	struct lmd_error err = {0};
	struct lmi_grammar_state *s = NULL;
	size_t n;
	bool ok;

	ck_assert_msg(lmi_gr_state_create(&s, m, &err) == LMD_OK, "%s", err.text);
	ok = lmi_gr_state_accept_text(s, text, strlen(text), &n) == LMD_OK &&
	     lmi_gr_state_may_end(s);
	lmi_gr_state_destroy(s);
	return ok;
}

START_TEST(texts)
{
	const struct lmd_str regex = {rows[_i].regex, strlen(rows[_i].regex)};
	struct lmi_grammar_matcher *m = NULL;
	struct lmi_grammar *g = NULL;
	struct lmi_gr_matcher_opts o;
	struct lmd_error err = {0};
	struct lmd_str gbnf;

	ck_assert(lmi_gr_vocab_create(&vocab, NULL, &err) == LMD_OK);
	ck_assert_msg(lmi_http_regex_grammar(&gbnf, &regex, 1u << 16, arena, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_grammar_from_gbnf(&g, gbnf.ptr, gbnf.len, NULL, &err) == LMD_OK, "%s: %s",
		      gbnf.ptr, err.text);
	o = (struct lmi_gr_matcher_opts){.grammar = g, .vocab = vocab};
	ck_assert(lmi_gr_matcher_create(&m, &o, &err) == LMD_OK);
	for (int k = 0; k < 4; k++) {
		if (rows[_i].yes[k])
			ck_assert_msg(allows(m, rows[_i].yes[k]), "%s should match '%s'", regex.ptr,
				      rows[_i].yes[k]);
		if (rows[_i].no[k])
			ck_assert_msg(!allows(m, rows[_i].no[k]), "%s should not match '%s'",
				      regex.ptr, rows[_i].no[k]);
	}
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
	lmi_gr_vocab_destroy(vocab);
}
END_TEST

static const struct {
	const char *regex, *why;
	enum lmd_status st;
} wrong[] = {
	{"a\\", "byte 2 of the regular expression: a backslash at the end", LMD_INVALID},
	{"a\\x1g", "expected a hexadecimal digit", LMD_INVALID},
	{"(a)\\1", "back references", LMD_UNSUPPORTED},
	{"\\bword", "word boundaries", LMD_UNSUPPORTED},
	{"\\q", "unknown escape", LMD_INVALID},
	{"[a", "expected ']'", LMD_INVALID},
	{"[z-a]", "wrong order", LMD_INVALID},
	{"[a-\\d]", "ends with a set", LMD_INVALID},
	{"[\\D]", "not supported inside of a class", LMD_UNSUPPORTED},
	{"(?=a)", "look-around", LMD_UNSUPPORTED},
	{"(?<!a)b", "look-around", LMD_UNSUPPORTED},
	{"(?i)a", "look-around and flags", LMD_UNSUPPORTED},
	{"(a", "expected ')'", LMD_INVALID},
	{"a)", "')' without '('", LMD_INVALID},
	{"*a", "nothing to repeat", LMD_INVALID},
	{"a**", "nothing to repeat", LMD_INVALID},
	{"a++", "possessive", LMD_UNSUPPORTED},
	{"a{", "expected {N}", LMD_INVALID},
	{"a{3,2}", "wrong order", LMD_INVALID},
	{"a^b", "an anchor inside", LMD_UNSUPPORTED},
	{"a$b", "an anchor inside", LMD_UNSUPPORTED},
	{"\xff", "invalid UTF-8", LMD_INVALID},
};

START_TEST(mistakes)
{
	const struct lmd_str regex = {wrong[_i].regex, strlen(wrong[_i].regex)};
	struct lmd_error err = {0};
	struct lmd_str gbnf;

	ck_assert_msg(lmi_http_regex_grammar(&gbnf, &regex, 1u << 16, arena, &err) == wrong[_i].st,
		      "%s: %s", regex.ptr, err.text);
	ck_assert_msg(strstr(err.text, wrong[_i].why) != NULL, "%s: %s", regex.ptr, err.text);
}
END_TEST

START_TEST(bounds)
{
	static char many[1000];
	const struct lmd_str groups = {many, LMI_HTTP_REGEX_DEPTH + 1},
			     text = {many + LMI_HTTP_REGEX_DEPTH + 1, 100};
	struct lmd_error err = {0};
	struct lmd_str gbnf;

	memset(many, '(', LMI_HTTP_REGEX_DEPTH + 1);
	memset(many + LMI_HTTP_REGEX_DEPTH + 1, 'a', 100);
	ck_assert(lmi_http_regex_grammar(&gbnf, &groups, 1u << 16, arena, &err) == LMD_INVALID);
	ck_assert_msg(strstr(err.text, "too deeply") != NULL, "%s", err.text);
	ck_assert(lmi_http_regex_grammar(&gbnf, &text, 200, arena, &err) == LMD_INVALID);
	ck_assert_msg(strstr(err.text, "more than 200 bytes") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("regex");
	Suite *s = suite_create("regex grammar");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, texts, 0, LMD_LEN(rows));
	tcase_add_loop_test(t, mistakes, 0, LMD_LEN(wrong));
	tcase_add_test(t, bounds);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
