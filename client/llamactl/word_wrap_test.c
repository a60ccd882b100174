/* SPDX-License-Identifier: MIT
 *
 * Words at the edge of a terminal, on a screen that knows what word_wrap writes. */
#include "client/llamactl/word_wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/unicode/unicode.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

#define COLUMNS 12
#define LINES	8

/* A terminal: bytes of the characters in the cells. */
struct screen {
	char cells[LINES][COLUMNS][8];
	unsigned line, column;
};

static void put_cell(struct screen *s, const char *text, size_t n)
{
	size_t at = 0;
	unsigned columns = lmi_unicode_columns(lmi_unicode_next(text, n, &at));

	if (s->column + columns > COLUMNS) {
		s->line++;
		s->column = 0;
	}
	ck_assert_uint_lt(s->line, LINES);
	memcpy(s->cells[s->line][s->column], text, n);
	s->cells[s->line][s->column][n] = 0;
	s->column += columns;
}

/* Shows the text; attributes are not shown. */
static void show(struct screen *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t from = i;

		if (text[i] == '\n') {
			s->line++;
			s->column = 0;
			i++;
		} else if (text[i] == '\033') {
			unsigned k = (unsigned)strtoul(text + i + 2, NULL, 10);

			i += 2 + strspn(text + i + 2, "0123456789");
			if (text[i] == 'D') {
				ck_assert_uint_le(k, s->column);
				s->column -= k;
			} else if (text[i] == 'K') {
				memset(s->cells[s->line][s->column], 0,
				       sizeof(s->cells[0][0]) * (COLUMNS - s->column));
			}
			i++;
		} else {
			(void)lmi_unicode_next(text, n, &i);
			put_cell(s, text + from, i - from);
		}
	}
}

/* Writes the lines of the screen with '|' between them, without blanks at their ends. */
static void lines(char *out, const struct screen *s)
{
	for (unsigned y = 0; y <= s->line; y++) {
		char *from = out;

		for (unsigned x = 0; x < COLUMNS; x++)
			out += sprintf(out, "%s", s->cells[y][x]);
		while (out > from && out[-1] == ' ')
			out--;
		if (y < s->line)
			*out++ = '|';
		*out = 0;
	}
}

static const struct {
	const char *text, *want;
	bool verbatim;
} cases[] = {
	{"short", "short", false},
	{"0123456789\tx", "0123456789|x", false},
	{"a \xe6\x97\033[1mb c", "a \xe6\x97" "b c", false},
	{"one two three four", "one two|three four", false},
	{"one two threes four", "one two|threes four", false},
	{"01234567890 x", "01234567890|x", false},
	{"a 0123456789 b", "a|0123456789|b", false},
	{"a 01234567890123456 b", "a|012345678901|23456 b", false},
	{"one\ntwo  three", "one|two  three", false},
	{"one two three four", "one two thre|e four", true},
	{"\033[1mone \033[3mtwo three\033[0m four", "one two|three four", false},
	{"日本語の空はなぜ青い", "日本語の空|はなぜ青い", false},
	{"ab 日本語の空x yz", "ab 日本語の|空x yz", false},
	{"äöü äöüß äöüßäö", "äöü äöüß|äöüßäö", false},
};

START_TEST(words)
{
	for (size_t i = 0; i < LMD_LEN(cases); i++)
		for (size_t step = 1; step < 6; step++) {
			struct lmi_ctl_word_wrap w = {.columns = COLUMNS};
			const char *text = cases[i].text;
			struct screen *s = calloc(1, sizeof(*s));
			char got[LINES * COLUMNS * 8];
			size_t n = strlen(text);
			struct lmi_text_byte_buf out = {0};
			struct lmd_error err;

			ck_assert_ptr_nonnull(s);
			for (size_t at = 0; at < n; at += step)
				ck_assert_int_eq(lmi_ctl_word_wrap_add(
							 &w, text + at, at + step < n ? step : n - at,
							 cases[i].verbatim, &out, &err),
						 LMD_OK);
			show(s, out.p, out.n);
			lmi_text_byte_buf_fini(&out);
			lines(got, s);
			free(s);
			ck_assert_msg(!strcmp(got, cases[i].want), "%s: %s", text, got);
		}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("word_wrap");
	TCase *t = tcase_create("word_wrap");

	tcase_add_test(t, words);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
