/* SPDX-License-Identifier: MIT
 *
 * Tests where a stream of bytes may be cut.  That streaming equals decoding the whole list is
 * tested with real vocabularies, in plugins/tokenizer. */
#include "core/text/detok.h"

#include "tests/lmd_check.h"

START_TEST(partial_characters)
{
	static const struct {
		const char *s;
		size_t n, want;
	} cases[] = {
		{"", 0, 0},
		{"abc", 3, 0},
		{"a\xc3", 2, 1},
		{"a\xc3\xa4", 3, 0},
		{"\xe2\x96", 2, 2},
		{"\xe2\x96\x81", 3, 0},
		{"\xf0\x9f\x98", 3, 3},
		{"\xf0\x9f\x98\x80", 4, 0},
		{"\x80\x80\x80\x80", 4, 0},  /* no lead byte */
		{"\xc0", 1, 0},              /* overlong */
		{"\xe0\x80", 2, 0},
		{"\xe0\xa0", 2, 2},
		{"\xed\xa0", 2, 0},          /* surrogate */
		{"\xf4\x90", 2, 0},          /* above U+10FFFF */
		{"\xf5", 1, 0},
		{"\xff", 1, 0},
		{"\xc3\xc3", 2, 1},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++)
		ck_assert_msg(lmi_text_utf8_incomplete_tail(cases[i].s, cases[i].n) ==
				      cases[i].want,
			      "case %zu", i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("detok");
	TCase *tc = tcase_create("detok");
	SRunner *r;

	tcase_add_test(tc, partial_characters);
	suite_add_tcase(suite, tc);
	r = srunner_create(suite);
	return lmd_check_run(r);
}
