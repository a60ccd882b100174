/* SPDX-License-Identifier: MIT
 *
 * Shapes of models: the file that is installed, lines that are wrong, and the sizes that follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/shape.h"
#include "tests/lmd_check.h"
#include "tests/temp_dir.h"

static struct lmd_error err;

static struct lmi_hub_shape known(const char *name)
{
	struct lmi_hub_shape s;

	ck_assert_msg(lmi_hub_shape_find(&s, SHAPES, name, &err) == LMD_OK, "%s", err.text);
	return s;
}

START_TEST(published_numbers_of_parameters)
{
	static const struct {
		const char *name;
		double all, active; /* in 10^9, published */
	} models[] = {
		{"smollm2:135m", 0.1345, 0.1345}, {"llama3-8b", 8.03, 7.5},
		{"llama3.1:70b", 70.55, 69.5},	  {"llama3.2:1b", 1.236, 1.236},
		{"qwen3:30b", 30.5, 3.0},	  {"gemma3:27b", 27.0, 27.0},
		{"gpt-oss:20b", 20.9, 3.6},	  {"mistral:7b", 7.25, 7.11},
	};

	for (size_t i = 0; i < LMD_LEN(models); i++) {
		struct lmi_hub_shape s = known(models[i].name);
		double all = (double)lmi_hub_shape_params(&s) * 1e-9;
		double active = (double)lmi_hub_shape_active(&s) * 1e-9;

		ck_assert_msg(all > models[i].all * 0.98 && all < models[i].all * 1.02,
			      "%s has %f, expected %f", models[i].name, all, models[i].all);
		ck_assert_msg(active > models[i].active * 0.93 && active < models[i].active * 1.07,
			      "%s uses %f, expected %f", models[i].name, active, models[i].active);
	}
}
END_TEST

START_TEST(keys_and_values)
{
	struct lmi_hub_shape s = known("llama3.1:8b");

	/* 32 layers, 8 heads of 128, keys and values of 2 bytes */
	ck_assert_uint_eq(lmi_hub_shape_kv(&s, 1024), 128ull << 20);
	ck_assert_uint_eq(lmi_hub_shape_fit(&s, 128ull << 20), 1024);
	ck_assert_uint_eq(lmi_hub_shape_fit(&s, (128ull << 20) - 1), 1023);
	ck_assert_uint_eq(lmi_hub_shape_fit(&s, UINT64_MAX), 131072);
	ck_assert_uint_eq(lmi_hub_shape_fit(&s, 1), 0);

	s = known("gpt-oss:20b"); /* every other layer keeps 128 tokens */
	ck_assert_uint_eq(lmi_hub_shape_kv(&s, 128), 24ull * 2048 * 128);
	ck_assert_uint_eq(lmi_hub_shape_kv(&s, 1128), 24ull * 2048 * 128 + 12ull * 2048 * 1000);
}
END_TEST

START_TEST(every_line_that_is_installed)
{
	FILE *f = fopen(SHAPES, "r");
	char line[512], name[64];
	unsigned n = 0;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s", name) != 1 || *name == '#')
			continue;
		(void)known(name);
		n++;
	}
	(void)fclose(f);
	ck_assert_uint_ge(n, 30);
}
END_TEST

static const struct {
	const char *line, *error; /* NULL: it can be read */
} lines[] = {
	{"m 1 2 3 4 4 6 7 8", NULL},
	{"  m\t1 2 3 4 4 6 7 8 tied # a comment", NULL},
	{"m 1 2 3 4 4 6 7 8 experts=2/8 window=16/4 tied", NULL},
	{"m 1 2 3 4 4 6 7", "line 2: not the sizes of a model"},
	{"m", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 0", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 -8", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 99999999", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 5 6 7 8", "line 2: not the sizes of a model"},
	{"m 1025 2 3 4 4 6 7 8", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 8 tide", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 8 experts=9/8", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 8 window=9", "line 2: not the sizes of a model"},
	{"m 1 2 3 4 4 6 7 8 window=9/0", "line 2: not the sizes of a model"},
	{"other 1 2 3 4 4 6 7 8", "has no model 'm'"},
	{"# m 1 2 3 4 4 6 7 8", "has no model 'm'"},
};

START_TEST(a_line)
{
	struct lmi_hub_shape s;
	char text[256];
	enum lmd_status st;

	temp_dir_make();
	(void)snprintf(text, sizeof(text), "# shapes\n%s\n", lines[_i].line);
	temp_write("shapes", text, strlen(text));
	st = lmi_hub_shape_find(&s, temp_path("shapes"), "m", &err);
	ck_assert_msg((st == LMD_OK) == !lines[_i].error, "%s: %d %s", lines[_i].line, st, err.text);
	if (lines[_i].error)
		ck_assert_msg(strstr(err.text, lines[_i].error), "%s", err.text);
	temp_dir_remove();
}
END_TEST

START_TEST(a_line_is_bounded)
{
	struct lmi_hub_shape s;
	char text[4000];

	memset(text, 'x', sizeof(text));
	temp_dir_make();
	temp_write("shapes", text, sizeof(text));
	ck_assert_int_eq(lmi_hub_shape_find(&s, temp_path("shapes"), "m", &err), LMD_CORRUPT);
	ck_assert_ptr_nonnull(strstr(err.text, "line 1 has more than 399 bytes"));
	temp_dir_remove();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hub shapes");
	TCase *t = tcase_create("shapes");

	tcase_add_test(t, published_numbers_of_parameters);
	tcase_add_test(t, keys_and_values);
	tcase_add_test(t, every_line_that_is_installed);
	tcase_add_loop_test(t, a_line, 0, LMD_LEN(lines));
	tcase_add_test(t, a_line_is_bounded);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
