/* SPDX-License-Identifier: MIT
 *
 * The work of every filter, test and method grows at most linearly with the strings and lists it is
 * given, and all of them can be cancelled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/jinja/builtin.h"
#include "core/jinja/template.h"
#include "tests/linear_work.h"

/* What a string of the test consists of, again and again. */
static const char *const patterns[] = {"<", "<!--", "a", " ", "a b-c\n", "<b>&amp;", "\xce\xa3."};

#define ITEM_BYTES 64 /* of the input, for each item of a list */

struct use {
	const char *text; /* of the template */
	const char *pattern;
	bool list;
};

static void fill(char *s, size_t n, const char *pattern)
{
	size_t len = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		s[i] = pattern[i % len];
}

static struct lmi_jinja_value make_list(struct lmd_arena *arena, size_t n)
{
	struct lmi_jinja_value *items = lmi_arena_array(arena, n, sizeof(*items));

	for (size_t i = 0; i < n; i++) {
		char *s = lmi_arena_alloc(arena, 16, 1);

		items[i] = (struct lmi_jinja_value){
			.kind = LMI_JINJA_T_STR,
			.u.s = {s, (size_t)snprintf(s, 16, "k%zu", (i * 7919) % n)}};
	}
	return (struct lmi_jinja_value){
		.kind = LMI_JINJA_T_LIST, .n = (uint32_t)n, .u.items = items};
}

static enum lmd_status render(const void *arg, size_t n)
{
	const struct use *u = arg;
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_jinja_member x = {.key = {"x", 1}};
	struct lmi_jinja_value vars = {.kind = LMI_JINJA_T_DICT, .n = 1, .u.members = &x};
	struct lmi_jinja_input in = {
		.vars = &vars, .n_vars = 1,
		.limits = {.steps = 1ull << 40, .memory_bytes = 2ull << 30, .output_bytes = 1u << 30}};
	struct lmi_jinja_output out = {0};
	struct lmi_jinja *t = NULL;
	enum lmd_status st;

	if (u->list) {
		x.value = make_list(arena, n / ITEM_BYTES);
	} else {
		char *s = lmi_arena_alloc(arena, n, 1);

		n -= n % strlen(u->pattern); /* whole characters */
		fill(s, n, u->pattern);
		x.value = (struct lmi_jinja_value){.kind = LMI_JINJA_T_STR, .u.s = {s, n}};
	}
	st = lmi_jinja_parse(&t, u->text, strlen(u->text), NULL);
	if (st == LMD_OK)
		st = lmi_jinja_render(t, &in, &out, NULL);
	lmi_jinja_output_fini(&out);
	lmi_jinja_destroy(t);
	lmi_arena_destroy(arena);
	return st;
}

/* Arguments for builtins that need some, or do more with them. */
static const struct {
	const char *name, *args;
} arguments[] = {
	{"replace", "'<', '&lt;'"}, {"split", "'<'"},	  {"rsplit", "'<'"},
	{"center", "99"},	    {"ljust", "500000"}, {"rjust", "500000"},
	{"zfill", "500000"},	    {"truncate", "99"},	  {"wordwrap", "79"},
	{"indent", "3"},	    {"batch", "3"},	  {"slice", "3"},
	{"format", "1"},	    {"round", "2"},	  {"divisibleby", "2"},
	{"map", "'upper'"},	    {"select", "'in', ['k1']"}, {"reject", "'lower'"},
	{"groupby", "0"},	    {"attr", "'n'"},	  {"sort", ""},
	{"selectattr", "'n'"},	    {"rejectattr", "'n'"}, {"insert", "0, 1"},
	{"format_map", "{'a': 1}"}, {"setdefault", "'a', 1"}, {"get", "'a'"},
	{"eq", "x ~ 'a'"},	    {"ne", "x ~ 'a'"},	  {"in", "[x ~ 'a', x]"},
	{"sameas", "x ~ ''"},	    {"lt", "x ~ 'a'"},	  {"ge", "x ~ 'a'"},
};

static const char *arguments_of(const char *name, uint32_t n_required)
{
	for (size_t i = 0; i < LMD_LEN(arguments); i++)
		if (!strcmp(arguments[i].name, name))
			return arguments[i].args;
	return n_required > 1 ? "'a', 'b'" : n_required ? "'a'" : "";
}

static const struct lmi_jinja_table *const filters[] = {
	&lmi_jinja_text_filters, &lmi_jinja_list_filters, &lmi_jinja_pick_filters,
	&lmi_jinja_number_filters, &lmi_jinja_web_filters,
};
static const struct lmi_jinja_table *const str_methods[] = {
	&lmi_jinja_find_methods, &lmi_jinja_strip_methods, &lmi_jinja_split_methods,
	&lmi_jinja_join_methods, &lmi_jinja_case_methods, &lmi_jinja_pad_methods,
};
static const struct lmi_jinja_table *const list_methods[] = {
	&lmi_jinja_list_methods, &lmi_jinja_tuple_methods,
};

static void check(const char *form, const struct lmi_jinja_builtin *b, const char *pattern,
		  bool list)
{
	struct use u = {.pattern = pattern, .list = list};
	char text[160], name[200];

	(void)snprintf(text, sizeof(text), form, b->name, arguments_of(b->name, b->n_required));
	(void)snprintf(name, sizeof(name), "%s with %s", text, list ? "a list" : pattern);
	u.text = text;
	linear_work_check(name, render, &u);
}

/* Loop test: one pattern each. */
START_TEST(filters_of_strings)
{
	for (size_t i = 0; i < LMD_LEN(filters); i++)
		for (size_t k = 0; k < filters[i]->n; k++)
			check("{{ x|%s(%s)|string|length }}", &filters[i]->row[k], patterns[_i],
			      false);
}
END_TEST

START_TEST(methods_of_strings)
{
	for (size_t i = 0; i < LMD_LEN(str_methods); i++)
		for (size_t k = 0; k < str_methods[i]->n; k++)
			check("{{ x.%s(%s) is none }}", &str_methods[i]->row[k], patterns[_i], false);
}
END_TEST

START_TEST(filters_and_methods_of_lists)
{
	for (size_t i = 0; i < LMD_LEN(filters); i++)
		for (size_t k = 0; k < filters[i]->n; k++)
			check("{{ x|%s(%s) is none }}", &filters[i]->row[k], "", true);
	for (size_t i = 0; i < LMD_LEN(list_methods); i++)
		for (size_t k = 0; k < list_methods[i]->n; k++)
			check("{{ x.%s(%s) is none }}", &list_methods[i]->row[k], "", true);
}
END_TEST

START_TEST(tests_of_strings)
{
	static const char *const names[] = {
		"defined", "lower",  "upper", "none", "string", "iterable", "sequence", "even",
		"eq",	   "sameas", "in",    "ne",   "lt",	"ge",	    "filter",	"test",
	};

	for (size_t i = 0; i < LMD_LEN(names); i++) {
		const struct lmi_jinja_builtin *b =
			lmi_jinja_test_find(names[i], strlen(names[i]));

		ck_assert_ptr_nonnull(b);
		check("{{ x is %s(%s) }}", b, patterns[_i], false);
	}
}
END_TEST

/* What is not a builtin: operators, slices, output. */
START_TEST(operators)
{
	static const char *const text[] = {
		"{{ x ~ x == x }}", "{{ 'b' in x }}",	"{{ x[1:] == x }}", "{{ x[::-1] }}",
		"{{ x[-1] }}",	    "{{ {x: 1}[x] }}",	"{{ x > x ~ 'a' }}", "{{ x * 2 }}",
		"{{ x % 1 }}",	    "{% for c in x %}{{ c }}{% endfor %}",
		"{% set ns = namespace(t='') %}{% for i in range(1000) %}"
		"{% set ns.t = ns.t ~ 'a' %}{% endfor %}{{ x }}",
	};

	for (size_t i = 0; i < LMD_LEN(text); i++) {
		struct use u = {.text = text[i], .pattern = patterns[_i]};

		linear_work_check(text[i], render, &u);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("work");
	TCase *t = tcase_create("work");

	tcase_set_timeout(t, 600);
	tcase_add_loop_test(t, filters_of_strings, 0, (int)LMD_LEN(patterns));
	tcase_add_loop_test(t, methods_of_strings, 0, (int)LMD_LEN(patterns));
	tcase_add_test(t, filters_and_methods_of_lists);
	tcase_add_loop_test(t, tests_of_strings, 0, (int)LMD_LEN(patterns));
	tcase_add_loop_test(t, operators, 0, (int)LMD_LEN(patterns));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
