/* SPDX-License-Identifier: MIT
 *
 * The matcher: syntax, rejected expressions, agreement with PCRE2 on random texts, and long texts
 * with a small stack. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/rx.h"
#include "core/base/alloc.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;

static void setup(void)
{
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
}

static void teardown(void)
{
	lmi_host_destroy(host);
}

static struct lmi_rx *compile(const char *pattern)
{
	struct lmi_rx *rx;
	struct lmd_error err;

	ck_assert_msg(lmi_rx_compile(&rx, host, pattern, strlen(pattern), 0, &err) == LMD_OK,
		      "%s: %s", pattern, err.text);
	return rx;
}

/* Writes all matches, each followed by "|". */
static void all_matches(const struct lmi_rx *rx, const char *s, size_t n, char *out)
{
	struct lmi_rx_run run = {.host = host};
	const char *from, *to, *at = s;

	*out = '\0';
	lmi_rx_text(&run, s, s + n);
	while (at <= s + n && lmi_rx_search(rx, &run, at, &from, &to)) {
		out += sprintf(out, "%.*s|", (int)(to - from), from);
		at = to > from ? to : to + 1;
	}
	ck_assert_int_eq(run.st, LMD_OK);
	lmi_rx_run_fini(&run);
}

START_TEST(syntax)
{
	static const struct {
		const char *pattern, *text, *want;
	} cases[] = {
		{"abc", "xabcabc", "abc|abc|"},
		{"a|ab", "ab", "a|"},
		{"ab|a", "ab", "ab|"},
		{"a*", "aab", "aa|||"},
		{"a+b", "aaab", "aaab|"},
		{"a?b", "bab", "b|ab|"},
		{"a{2}", "aaaaa", "aa|aa|"},
		{"a{2,}", "aaaaa", "aaaaa|"},
		{"a{1,3}", "aaaaa", "aaa|aa|"},
		{"a{0}b", "ab", "b|"},
		{"a{,3}", "a{,3}", "a{,3}|"},
		{"a+?", "aaa", "a|a|a|"},
		{"a++a", "aaa", ""},
		{"a*+b", "aab", "aab|"},
		{"(?:ab)+", "ababa", "abab|"},
		{"(?:ab|a)+c", "abaac", "abaac|"},
		{"(a|b)*c", "abbac", "abbac|"},
		{"(?:ab)*+a", "aba", "aba|"},
		{"(?:ab){2}", "ababab", "abab|"},
		{"(?:a|b){1,2}?c", "abc", "abc|"},
		{"(?>a+)a", "aaa", ""},
		{"a(?=b)", "abac", "a|"},
		{"a(?!b)", "abac", "a|"},
		{"(?<=a)b", "abcb", "b|"},
		{"(?<!a)b", "abcb", "b|"},
		{"(?<![a-z])b", "b ab", "b|"},
		{"[abc]+", "xcabx", "cab|"},
		{"[^abc]+", "xcabx", "x|x|"},
		{"[a-c\\-]+", "a-d", "a-|"},
		{"[]a]+", "a]", "a]|"},
		{"[^]a]+", "a]b", "b|"},
		{"[a-]+", "a-b", "a-|"},
		{"[\\]\\\\]+", "]\\", "]\\|"},
		{"[a-z&&[^c]]+", "abcd", "ab|d|"},
		{"[a-z&&[^c]&&[^b]]+", "abcd", "a|d|"},
		{"[^a-z&&[^c]]+", "abcd", "c|"},
		{"[[a-c][x]]+", "axd", "ax|"},
		{"[[:space:]]+", "a \tb", " \t|"},
		{"\\d+|\\D", "1a\xd9\xa1", "1|a|\xd9\xa1|"},
		{"\\s+", "a \xc2\xa0 b", " \xc2\xa0 |"},
		{"\\S+", "a \xc2\xa0 b", "a|b|"},
		{"\\w+", "a_1\xc3\xa4-b", "a_1\xc3\xa4|b|"},
		{"\\p{L}+", "a\xc3\xa4\xd0\xb6" "1", "a\xc3\xa4\xd0\xb6|"},
		{"\\pN+", "a12", "12|"},
		{"\\P{L}+", "a12b", "12|"},
		{"\\p{^L}+", "a12b", "12|"},
		{"\\p{Lu}\\p{Ll}+", "aBcD", "Bc|"},
		{"\\p{Han}+", "a\xe4\xbd\xa0\xe5\xa5\xbd", "\xe4\xbd\xa0\xe5\xa5\xbd|"},
		{"[^\\p{Han}]+", "a\xe4\xbd\xa0", "a|"},
		{"[\\p{Ll}&&[^\\p{Han}]]", "a", "a|"},
		{"\\x41\\x{e4}\\u00e4", "A\xc3\xa4\xc3\xa4", "A\xc3\xa4\xc3\xa4|"},
		{"\\.\\*\\(", ".*(", ".*(|"},
		{".", "a\n\xc3\xa4", "a|\xc3\xa4|"},
		{"^a|b$", "abab", "a|b|"},
		{"\\Aa", "aa", "a|"},
		{"a\\z", "aa", "a|"},
		{"\\bab\\b", "ab abc ab", "ab|ab|"},
		{"a\\B", "ab a", "a|"},
		{"(?i:ab)c", "ABc abC", "ABc|"},
		{"(?i)abc", "aBC", "aBC|"},
		{"(?i:s)", "\xc5\xbf", "\xc5\xbf|"},
		{"(?i:[a-c]+)x", "AbCx", "AbCx|"},
		{"(?i:\xc3\xa4)", "\xc3\x84", "\xc3\x84|"},
		{"(?i:a(?-i:b))", "Ab AB", "Ab|"},
		{"\\s*[\\r\\n]+", " \n\n  \n x \r", " \n\n  \n| \r|"},
		{"\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "  \n  a  b ", "  \n| | | | | |"},
		{"\\s+(?!\\S)", "  a  ", " |  |"},
		{"", "ab", "|||"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_rx *rx = compile(cases[i].pattern);
		char have[256];

		all_matches(rx, cases[i].text, strlen(cases[i].text), have);
		ck_assert_msg(!strcmp(have, cases[i].want), "%s on %s: %s, not %s",
			      cases[i].pattern, cases[i].text, have, cases[i].want);
		lmi_rx_free(rx);
	}
}
END_TEST

/* Differences under Ruby's rules. */
START_TEST(ruby)
{
	static const struct {
		const char *pattern, *text, *want;
	} cases[] = {
		{"^a|b$", "ab\nab\n", "a|b|a|b|"},
		{"\\s+$", "a \n\nb ", " \n| |"},
		{"x*$", "x\n", "x|||"},
		{"a{1,2}+b", "aaab", "aaab|"},
		{"a++b", "aab", "aab|"},
		{"\\w+", "x\xc2\xb2y-\xe2\x93\x90", "x\xc2\xb2y|\xe2\x93\x90|"},
		{"[\\w]+", "x\xc2\xb2y", "x|y|"},
		{"x\\b", "x\xc2\xb2x", "x|"},
		{"(?<n>\\d)+", "12a", "12|"},
		{"\\p{Alphabetic}+", "a\xd6\xb0-", "a\xd6\xb0|"},
		{"(?=(\\d{3})+(?!\\d))", "1234", "|"},
	};
	char have[256];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_rx *rx;
		struct lmd_error err;

		ck_assert_msg(lmi_rx_compile(&rx, host, cases[i].pattern, strlen(cases[i].pattern),
					     LMI_RX_RUBY, &err) == LMD_OK,
			      "%s: %s", cases[i].pattern, err.text);
		all_matches(rx, cases[i].text, strlen(cases[i].text), have);
		ck_assert_msg(!strcmp(have, cases[i].want), "%s on %s: %s, not %s",
			      cases[i].pattern, cases[i].text, have, cases[i].want);
		lmi_rx_free(rx);
	}
}
END_TEST

START_TEST(refusals)
{
	static const struct {
		const char *pattern;
		enum lmd_status st;
		const char *words;
	} cases[] = {
		{"(", LMD_INVALID, "( without )"},
		{")", LMD_INVALID, ") without ("},
		{"[a", LMD_INVALID, "[ without ]"},
		{"*a", LMD_INVALID, "nothing to repeat"},
		{"a|+", LMD_INVALID, "byte 2"},
		{"a{3,1}", LMD_INVALID, "m < n"},
		{"[z-a]", LMD_INVALID, "wrong order"},
		{"\\", LMD_INVALID, "at the end"},
		{"\\x{110000}", LMD_INVALID, "hexadecimal"},
		{"\\x{zz}", LMD_INVALID, "hexadecimal"},
		{"\\p{L", LMD_INVALID, "without }"},
		{"\\p{Klingon}", LMD_UNSUPPORTED, "property"},
		{"(?<=ab)c", LMD_UNSUPPORTED, "look-behind"},
		{"(?P<n>a)", LMD_UNSUPPORTED, "kind of group"},
		{"\\1", LMD_UNSUPPORTED, "escape"},
		{"(a*)*", LMD_UNSUPPORTED, "empty"},
		{"a{99999}", LMD_UNSUPPORTED, "65535"},
		{"(?:a{1000}){1000}", LMD_OK, ""},
		{"(?:(?:ab){100}){100}", LMD_UNSUPPORTED, "8192"},
	};
	char deep[200], *p = deep;
	struct lmd_error err;
	struct lmi_rx *rx;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		enum lmd_status st = lmi_rx_compile(&rx, host, cases[i].pattern,
						    strlen(cases[i].pattern), 0, &err);

		ck_assert_msg(st == cases[i].st, "%s: %d %s", cases[i].pattern, st, err.text);
		if (st == LMD_OK)
			lmi_rx_free(rx);
		else
			ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s: %s",
				      cases[i].pattern, err.text);
	}
	for (int i = 0; i < 60; i++)
		*p++ = '(';
	*p = '\0';
	ck_assert_int_eq(lmi_rx_compile(&rx, host, deep, 60, 0, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "32 deep"));
}
END_TEST

/* Writes the matches of PCRE2 in the same form. */
static void pcre_matches(const char *pattern, const char *s, size_t n, char *out)
{
	int code;
	PCRE2_SIZE off, *v, at = 0;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				       PCRE2_UTF | PCRE2_UCP, &code, &off, NULL);
	pcre2_match_data *m;

	ck_assert_msg(re != NULL, "%s: PCRE2 error %d", pattern, code);
	m = pcre2_match_data_create_from_pattern(re, NULL);
	*out = '\0';
	while (at < n && pcre2_match(re, (PCRE2_SPTR)s, n, at, PCRE2_NOTEMPTY, m, NULL) > 0) {
		v = pcre2_get_ovector_pointer(m);
		out += sprintf(out, "%.*s|", (int)(v[1] - v[0]), s + v[0]);
		at = v[1];
	}
	pcre2_match_data_free(m);
	pcre2_code_free(re);
}

START_TEST(same_as_pcre2)
{
	static const char *const patterns[] = {
		"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
		"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
		"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
		"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*"
		"[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t)?|[^\\r\\n\\p{L}\\p{N}]?"
		"[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
		"|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
		"\\d{1,3}(?=(?:\\d{3})*(?!\\p{N}))",
		"[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|\\s",
		"(?:a|ab|b1)+?(?=1|\\s)|[b-z]{2,4}+\\S|(?<=')t",
		"[\\p{L}\\d]+(?:-[\\p{L}\\d]+)*|[^\\p{L}\\s]+",
		"(?:[aeiou]{1,2}|[a-z]){2,5}x?",
	};
	static const char *const bits[] = {
		"a", "b", "Z", "ab", "1", "12", " ", "  ", "\n", "\r\n", "\t", "'", "'s", "'LL", "-", "_",
		"/", ".", "!", "\xc3\xa4", "\xc3\x84", "\xd0\xb6", "\xe4\xbd\xa0", "e\xcc\x81",
		"\xc2\xa0", "\xe2\x80\x94", "\xf0\x9f\x98\x80", "\xd9\xa3", "\xe0\xa4\xa8\xe0\xa5\x8d",
	};
	uint64_t seed = lmd_seed("rx", 3);

	for (size_t i = 0; i < LMD_LEN(patterns); i++) {
		struct lmi_rx *rx = compile(patterns[i]);

		for (int round = 0; round < 1500; round++) {
			char text[256] = "", have[1024], want[1024];
			size_t n = 0, many = lmd_rand(&seed) % 24;

			while (many--) {
				const char *b = bits[lmd_rand(&seed) % LMD_LEN(bits)];

				memcpy(text + n, b, strlen(b) + 1);
				n += strlen(b);
			}
			all_matches(rx, text, n, have);
			pcre_matches(patterns[i], text, n, want);
			ck_assert_msg(!strcmp(have, want), "%s on '%s': %s, not %s", patterns[i],
				      text, have, want);
		}
		lmi_rx_free(rx);
	}
}
END_TEST

/* Groups that repeat a million times must not use the machine stack, and a search must not scan
 * the same run again and again. */
START_TEST(long_texts)
{
	static const struct {
		const char *pattern, *unit;
		bool whole;
	} cases[] = {
		{"(?:a|b)+", "ab", true},
		{"(?:ab)*c|a", "ab", false},
		{"(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+", "a b", true},
		{"\\s*[\\r\\n]+|\\s{16}(?!\\S)|\\s", " ", false},
		{"(?:a?b?)c|\\w", "ab", false},
	};
	size_t n = 1 << 20;
	char *text = malloc(n + 4);

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_rx *rx = compile(cases[i].pattern);
		struct lmi_rx_run run = {.host = host};
		const char *from, *to, *at = text, *end = text + n;
		size_t unit = strlen(cases[i].unit);

		for (size_t k = 0; k < n; k++)
			text[k] = cases[i].unit[k % unit];
		lmi_rx_text(&run, text, end);
		if (cases[i].whole) {
			ck_assert(lmi_rx_search(rx, &run, at, &from, &to));
			ck_assert_ptr_eq(from, text);
			ck_assert_uint_ge((size_t)(to - from), n - 2);
		} else if (i == 3 || i == 4) {
			while (lmi_rx_search(rx, &run, at, &from, &to))
				at = to;
			ck_assert_ptr_eq(at, end);
		}
		ck_assert_msg(run.steps < 40 * n, "%s: %llu steps for %zu bytes", cases[i].pattern,
			      (unsigned long long)run.steps, n);
		lmi_rx_run_fini(&run);
		lmi_rx_free(rx);
	}
	free(text);
}
END_TEST

/* The step limit stops an expression whose work explodes. */
START_TEST(bounded_work)
{
	struct lmi_rx *rx = compile("(?:a|aa|aaa)+b");
	struct lmi_rx_run run = {.host = host, .max_steps = 100000};
	char text[64];
	const char *from, *to;

	memset(text, 'a', sizeof(text));
	lmi_rx_text(&run, text, text + sizeof(text));
	ck_assert(!lmi_rx_search(rx, &run, text, &from, &to));
	ck_assert_int_eq(run.st, LMD_INVALID);
	ck_assert_uint_le(run.steps, 100000 + 2);
	lmi_rx_run_fini(&run);
	lmi_rx_free(rx);
}
END_TEST

START_TEST(out_of_memory)
{
	static const char pattern[] =
		"(?i:'s|[a-f\\p{Lu}&&[^B]]{2,3})+(?=x|\\s*[\\r\\n]+)|\\p{Han}";

	for (uint64_t i = 1;; i++) {
		struct lmi_alloc_stats before, after;
		struct lmi_rx *rx;
		enum lmd_status st;

		lmi_alloc_stats(&before);
		lmi_alloc_fail_nth(i, false);
		st = lmi_rx_compile(&rx, host, pattern, sizeof(pattern) - 1, 0, NULL);
		if (!lmi_alloc_did_fail()) {
			ck_assert_int_eq(st, LMD_OK);
			lmi_alloc_fail_nth(0, false);
			lmi_rx_free(rx);
			break;
		}
		ck_assert_int_eq(st, LMD_NOMEM);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(before.n_live, after.n_live);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rx");
	TCase *tc = tcase_create("rx");
	SRunner *r;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, syntax);
	tcase_add_test(tc, ruby);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, same_as_pcre2);
	tcase_add_test(tc, long_texts);
	tcase_add_test(tc, bounded_work);
	tcase_add_test(tc, out_of_memory);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
