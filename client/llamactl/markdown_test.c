/* SPDX-License-Identifier: MIT
 *
 * Markdown as a terminal shows it. In what is expected, B, I, C, D stand for the beginnings of bold,
 * italic, code and dim text, b, i, c for their ends, and 0 for the end of all. */
#include "client/llamactl/markdown.h"

#include <string.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

static const struct {
	const char *text, *want;
} cases[] = {
	{"plain text\n", "plain text\n"},
	{"a **bold** word", "a <B>bold<b> word"},
	{"an *italic* one", "an <I>italic<i> one"},
	{"***both***", "<B><I>both<b><i>"},
	{"2 * 3 * 4", "2 * 3 * 4"},
	{"**never closed\nnext", "<B>never closed<0>\nnext"},
	{"`a*b` and ``c``", "<C>a*b<c> and <C>c<c>"},
	{"\\*stars\\* and \\n", "*stars* and \\n"},
	{"# Title\ntext", "<B>Title<0>\ntext"},
	{"### A **b** c\n", "<B>A <B>b c<0>\n"},
	{"#tag\n", "#tag\n"},
	{"- one\n  - two\n* three\n", "• one\n  • two\n• three\n"},
	{"-1 is less\n", "-1 is less\n"},
	{"1. first\n", "1. first\n"},
	{"> said\n", "<D>│<0> said\n"},
	{"---\nx", "<D>────────────────────<0>\nx"},
	{"```c\nint *p;\n\n  **q;\n```\nend",
	 "<D>```c<0>\n<C>int *p;<0>\n\n<C>  **q;<0>\n<D>```<0>\nend"},
	{"```\ncut off", "<D>```<0>\n<C>cut off<0>"},
	{"*", "*"},
	{"", ""},
	{"\n\n", "\n\n"},
	{"äöü **ß**", "äöü <B>ß<b>"},
};

static const struct {
	const char *sequence, *shown;
} styles[] = {{"\033[1m", "<B>"},  {"\033[22m", "<b>"}, {"\033[3m", "<I>"}, {"\033[23m", "<i>"},
	      {"\033[36m", "<C>"}, {"\033[39m", "<c>"}, {"\033[2m", "<D>"}, {"\033[0m", "<0>"}};

/* Writes the output with names instead of sequences. */
static void name_styles(char *out, size_t size, const struct lmi_text_byte_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n && n + 4 < size;) {
		size_t k = 0;

		while (k < LMD_LEN(styles) &&
		       (b->n - i < strlen(styles[k].sequence) ||
			memcmp(b->p + i, styles[k].sequence, strlen(styles[k].sequence)) != 0))
			k++;
		if (k < LMD_LEN(styles)) {
			memcpy(out + n, styles[k].shown, 3);
			n += 3;
			i += strlen(styles[k].sequence);
		} else {
			out[n++] = b->p[i++];
		}
	}
	out[n] = 0;
}

/* Shows a text in pieces of `step` bytes. */
static void check(const char *text, const char *want, size_t step)
{
	struct lmi_ctl_markdown m = {0};
	struct lmi_text_byte_buf out = {0};
	size_t n = strlen(text);
	struct lmd_error err;
	char is[512];

	for (size_t i = 0; i < n; i += step)
		ck_assert_int_eq(lmi_ctl_markdown_add(&m, text + i, n - i < step ? n - i : step, &out,
						      &err),
				 LMD_OK);
	ck_assert_int_eq(lmi_ctl_markdown_end(&m, &out, &err), LMD_OK);
	name_styles(is, sizeof(is), &out);
	ck_assert_str_eq(is, want);
	lmi_text_byte_buf_fini(&out);
}

START_TEST(shown)
{
	for (size_t i = 0; i < LMD_LEN(cases); i++)
		for (size_t step = 1; step <= 7; step += 2)
			check(cases[i].text, cases[i].want, step);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("markdown");
	TCase *t = tcase_create("markdown");

	tcase_add_test(t, shown);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
