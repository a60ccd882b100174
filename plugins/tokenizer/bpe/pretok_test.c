/* SPDX-License-Identifier: MIT
 *
 * Pre-tokenizers: the concatenated words are the text, and the work grows only with the size of
 * the text, whatever it contains. The words themselves are tested with vocabularies in
 * tokenizer_test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/bpe/pretok.h"

#include "common/unicode.h"
#include "core/plugin/host_services.h"
#include "tests/linear_work.h"
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

struct cursor {
	const char *at;
	bool wrong;
};

static enum lmd_status next_word(void *arg, const char *w, size_t n)
{
	struct cursor *c = arg;

	c->wrong |= w != c->at || !n; /* one assertion per word would take most of the time */
	c->at += n;
	return LMD_OK;
}

static void open_row(struct pretok *p, const struct pretok_name *row)
{
	struct lmd_error err;

	ck_assert_msg(pretok_open(p, host, row->family, &err) == LMD_OK, "%s: %s", row->name,
		      err.text);
}

/* Splits a text and returns the work. */
static uint64_t split(const struct pretok *p, const char *s, size_t n)
{
	struct cursor c = {s, false};
	uint64_t work = 0;

	ck_assert_int_eq(pretok_split(p, s, n, next_word, &c, &work), LMD_OK);
	ck_assert(!c.wrong);
	ck_assert_ptr_eq(c.at, s + n);
	return work;
}

START_TEST(names)
{
	const struct pretok_name *row;
	size_t n = 0;

	for (; (row = pretok_row(n)); n++) {
		ck_assert_ptr_eq(pretok_find(row->name), row); /* names are unique */
		ck_assert_ptr_nonnull(row->family);
	}
	ck_assert_uint_ge(n, 90);
	ck_assert_ptr_null(pretok_find("nonsense"));
	ck_assert_ptr_null(pretok_find(""));
}
END_TEST

START_TEST(words_are_the_text)
{
	uint64_t seed = lmd_seed("pretok", 11);

	for (size_t i = 0; pretok_row(i); i++) {
		struct pretok p;

		open_row(&p, pretok_row(i));
		for (int round = 0; round < 200; round++) {
			char text[400];
			size_t n = 0, many = lmd_rand(&seed) % 80;

			while (many--) {
				uint32_t r = (uint32_t)lmd_rand(&seed), cp = r % 128;

				if (r >> 30 == 1)
					cp = r % 0x3000;
				else if (r >> 30 == 2)
					cp = r % 0x20000;
				n += tok_ucd_put_utf8(text + n, cp);
			}
			split(&p, text, n);
		}
		pretok_close(&p);
	}
}
END_TEST

START_TEST(work_grows_with_the_text)
{
	static const char *const units[] = {
		" ", "\n", "\t", "\r\n", " \n", "a", "A", "aA", "1", "1a", "a1", "'", "'s", ".", " .",
		". ", "a ", " a", "  a", "\xc3\xa4", "\xc3\x84", "\xe4\xbd\xa0", "\xcc\x81", "a\xcc\x81",
		"\xe3\x80\x80", "\xc2\xa0", "\xd9\xa3", "<sentinel:", "<sentinel:1", "IMGIMGA",
		"\xf0\x9f\x98\x80", "a\xe4\xbd\xa0", "1 ", "/", "\n/", "-a", "$a", "\xe0\xa4\xa8",
		"\xf4\x8f\xbf\xbd", "                                 x",
	};
	enum { N = 10000 };
	char *text = malloc(4 * N);

	for (size_t i = 0; pretok_row(i); i++) {
		struct pretok p;

		open_row(&p, pretok_row(i));
		for (size_t u = 0; u < LMD_LEN(units); u++) {
			size_t len = strlen(units[u]);
			uint64_t once, four;

			for (size_t k = 0; k < 4 * N; k++)
				text[k] = units[u][k % len];
			once = split(&p, text, N / len * len);
			four = split(&p, text, 4 * (N / len * len));
			ck_assert_msg(four <= 5 * once + 1000 && once <= 400u * N,
				      "%s on '%s': work %llu, for four times the text %llu",
				      pretok_row(i)->name, units[u], (unsigned long long)once,
				      (unsigned long long)four);
		}
		pretok_close(&p);
	}
	free(text);
}
END_TEST

struct splitting {
	const struct pretok *p;
	const char *unit;
};

static enum lmd_status split_unit(const void *arg, size_t n)
{
	const struct splitting *s = arg;
	size_t len = strlen(s->unit);
	char *text = malloc(n);
	struct cursor c = {text, false};
	enum lmd_status st;

	for (size_t k = 0; k < n; k++)
		text[k] = s->unit[k % len];
	linear_work_begin();
	st = pretok_split(s->p, text, n / len * len, next_word, &c, NULL);
	free(text);
	return st;
}

/* Each family can be cancelled in the middle. */
START_TEST(cancelled)
{
	static const char *const units[] = {" ", "a", "1", "a ", "\n", ".", "\xe4\xbd\xa0"};

	for (size_t i = 0; pretok_row(i); i++) {
		struct pretok p;
		bool seen = false;
		char name[100];

		for (size_t k = 0; k < i; k++)
			seen |= pretok_row(k)->family == pretok_row(i)->family;
		if (seen)
			continue;
		open_row(&p, pretok_row(i));
		for (size_t u = 0; u < LMD_LEN(units); u++) {
			struct splitting s = {&p, units[u]};

			(void)snprintf(name, sizeof(name), "%s, unit %zu",
				       pretok_row(i)->family->name, u);
			linear_work_check(name, split_unit, &s);
		}
		pretok_close(&p);
	}
}
END_TEST

static enum lmd_status refuse(void *arg, const char *w, size_t n)
{
	(void)arg;
	(void)w;
	(void)n;
	return LMD_CANCELLED;
}

START_TEST(stops_when_told)
{
	struct pretok p;

	open_row(&p, pretok_find("default"));
	ck_assert_int_eq(pretok_split(&p, "a b", 3, refuse, NULL, NULL), LMD_CANCELLED);
	ck_assert_int_eq(pretok_split(&p, "", 0, refuse, NULL, NULL), LMD_OK);
	pretok_close(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pretok");
	TCase *tc = tcase_create("pretok");
	SRunner *r;

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, names);
	tcase_add_test(tc, words_are_the_text);
	tcase_add_test(tc, work_grows_with_the_text);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, stops_when_told);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
