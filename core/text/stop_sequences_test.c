/* SPDX-License-Identifier: MIT
 *
 * Compares the matcher with a search over the whole text, with the input cut at random places. */
#include <string.h>

#include "core/text/stop_sequences.h"

#include "core/base/alloc.h"
#include "tests/lmd_check.h"

#define S(text)                                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

#define LONGEST 8 /* bytes of the longest stop sequence below */

/* Feeds the text in pieces of the given sizes, of which the last repeats.  Returns the index of the
 * match and the text that came out. */
static int feed_all(struct lmi_stop_matcher *s, const char *text, size_t n, const size_t *cut,
		    char *out, size_t *n_out)
{
	size_t at = 0, k = 0;

	*n_out = 0;
	while (at < n) {
		size_t len = cut[k], got, used;
		int hit;

		if (cut[k + 1])
			k++;
		len = len < n - at ? len : n - at;
		hit = lmi_stop_feed(s, text + at, len, out + *n_out, &got, &used);
		*n_out += got;
		ck_assert_uint_le(got, len + LONGEST);
		if (hit >= 0)
			return hit;
		ck_assert_uint_eq(used, len);
		at += len;
	}
	*n_out += lmi_stop_flush(s, out + *n_out);
	return -1;
}

START_TEST(examples)
{
	static const struct {
		struct lmd_str stop[3];
		size_t n;
		struct lmd_str text, given;
		int hit;
	} cases[] = {
		{{S("\n\n")}, 1, S("a\nb\n\nc"), S("a\nb"), 0},
		{{S("</s>"), S("User:")}, 2, S("hi </User:x"), S("hi </"), 1},
		{{S("aab")}, 1, S("aaab"), S("a"), 0},
		{{S("abab")}, 1, S("abaabab"), S("aba"), 0},
		{{S("b"), S("ab")}, 2, S("xab"), S("x"), 1},
		{{S("abc"), S("b")}, 2, S("abc"), S("a"), 1},
		{{S("END")}, 1, S("the EN"), S("the EN"), -1},
		{{{NULL, 0}}, 0, S("free"), S("free"), -1},
		{{S("\0\0")}, 1, S("a\0b\0\0c"), S("a\0b"), 0},
	};
	static const size_t cuts[][3] = {{1, 0, 0}, {2, 0, 0}, {3, 1, 0}, {100, 0, 0}};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_stop_matcher *s;
		char out[64];
		size_t n;

		ck_assert_int_eq(lmi_stop_create(&s, cases[i].stop, cases[i].n, NULL), LMD_OK);
		for (size_t c = 0; c < LMD_LEN(cuts); c++) {
			ck_assert_int_eq(feed_all(s, cases[i].text.ptr, cases[i].text.len, cuts[c],
						  out, &n),
					 cases[i].hit);
			ck_assert_uint_eq(n, cases[i].given.len);
			ck_assert_int_eq(memcmp(out, cases[i].given.ptr, n), 0);
			lmi_stop_reset(s);
		}
		lmi_stop_destroy(s);
	}
}
END_TEST

/* Finds the first position at which a sequence ends; if several end there, the longest one. */
static int search(const struct lmd_str *stop, size_t n, const char *text, size_t len, size_t *given)
{
	for (size_t end = 1; end <= len; end++) {
		int best = -1;

		for (size_t i = 0; i < n; i++)
			if (stop[i].len <= end &&
			    !memcmp(text + end - stop[i].len, stop[i].ptr, stop[i].len) &&
			    (best < 0 || stop[i].len > stop[best].len))
				best = (int)i;
		if (best >= 0) {
			*given = end - stop[best].len;
			return best;
		}
	}
	*given = len;
	return -1;
}

START_TEST(random_against_search)
{
	uint64_t seed = lmd_seed("stop", 7);

	for (int round = 0; round < 20000; round++) {
		char bytes[4][LONGEST], text[40], out[64];
		struct lmd_str stop[4];
		size_t n = 1 + lmd_rand(&seed) % 4, len = lmd_rand(&seed) % 40, want, got;
		size_t cut[9] = {0};
		struct lmi_stop_matcher *s;
		int hit, have;

		for (size_t i = 0; i < n; i++) {
			stop[i] = (struct lmd_str){bytes[i], 1 + lmd_rand(&seed) % LONGEST};
			for (size_t k = 0; k < stop[i].len; k++)
				bytes[i][k] = (char)('a' + lmd_rand(&seed) % 2);
		}
		for (size_t k = 0; k < len; k++)
			text[k] = (char)('a' + lmd_rand(&seed) % 2);
		for (size_t k = 0; k < 8; k++)
			cut[k] = 1 + lmd_rand(&seed) % 5;
		hit = search(stop, n, text, len, &want);
		ck_assert_int_eq(lmi_stop_create(&s, stop, n, NULL), LMD_OK);
		have = feed_all(s, text, len, cut, out, &got);
		ck_assert_int_eq(have < 0, hit < 0);
		if (hit >= 0)
			ck_assert_uint_eq(stop[have].len, stop[hit].len);
		ck_assert_uint_eq(got, want);
		ck_assert_int_eq(memcmp(out, text, want), 0);
		lmi_stop_destroy(s);
	}
}
END_TEST

START_TEST(errors_and_memory)
{
	static char big[LMI_STOP_SEQUENCE_BYTES_MAX + 1];
	struct lmd_str many[LMI_STOP_SEQUENCES_MAX + 1];
	struct lmd_str one = {big, sizeof(big)};
	struct lmi_stop_matcher *s = NULL;
	struct lmd_error err;
	uint64_t before;
	char out[16];
	size_t n, used;

	ck_assert_int_eq(lmi_stop_create(&s, &one, 1, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "4097"));
	one.len = 0;
	ck_assert_int_eq(lmi_stop_create(&s, &one, 1, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "empty"));
	for (size_t i = 0; i < LMD_LEN(many); i++)
		many[i] = (struct lmd_str){"x", 1};
	ck_assert_int_eq(lmi_stop_create(&s, many, LMD_LEN(many), &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "65"));
	for (uint64_t i = 1; i <= 3; i++) {
		lmi_alloc_fail_nth(i, false);
		ck_assert_int_eq(lmi_stop_create(&s, many, 3, &err), LMD_NOMEM);
	}
	lmi_alloc_fail_nth(0, false);
	ck_assert_int_eq(lmi_stop_create(&s, many, 3, &err), LMD_OK);
	before = lmi_alloc_thread_count();
	ck_assert_int_eq(lmi_stop_feed(s, "abc", 3, out, &n, &used), -1);
	ck_assert_int_eq(lmi_stop_feed(s, "axc", 3, out, &n, &used), 0);
	ck_assert_uint_eq(used, 2);
	ck_assert_uint_eq(lmi_alloc_thread_count(), before);
	lmi_stop_destroy(s);
	lmi_stop_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stop");
	TCase *tc = tcase_create("stop");
	SRunner *r;

	tcase_add_test(tc, examples);
	tcase_add_test(tc, random_against_search);
	tcase_add_test(tc, errors_and_memory);
	suite_add_tcase(suite, tc);
	r = srunner_create(suite);
	return lmd_check_run(r);
}
