/* SPDX-License-Identifier: MIT
 *
 * The work of every filter, test, method and function grows at most linearly with the strings, lists
 * and dictionaries it is given, and all of them can be cancelled.  What there is comes from the tables
 * of the builtins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/jinja/builtin.h"
#include "core/jinja/template.h"
#include "tests/linear_work.h"

/* What a string of the test consists of, again and again. */
static const char *const patterns[] = {"<", "<!--", "a", " ", "a b-c\n", "<b>&amp;", "\xce\xa3."};

#define ITEM_BYTES 64 /* of the input, for each item of a list */

/* What a template is applied to: strings of a pattern, a list, a dictionary. */
enum input { STRINGS, LISTS, DICTS };

struct use {
	const char *text; /* of the template */
	const char *pattern;
	enum input input;
};

static void fill(char *s, size_t n, const char *pattern)
{
	size_t len = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		s[i] = pattern[i % len];
}

/* Item i of n: a short string, each a different one. */
static struct lmd_str make_item(struct lmd_arena *arena, size_t i, size_t n)
{
	char *s = lmi_arena_alloc(arena, 16, 1);

	return (struct lmd_str){s, (size_t)snprintf(s, 16, "k%zu", (i * 7919) % n)};
}

static struct lmi_jinja_value make_list(struct lmd_arena *arena, size_t n)
{
	struct lmi_jinja_value *items = lmi_arena_array(arena, n, sizeof(*items));

	for (size_t i = 0; i < n; i++)
		items[i] = (struct lmi_jinja_value){.kind = LMI_JINJA_T_STR,
						    .u.s = make_item(arena, i, n)};
	return (struct lmi_jinja_value){
		.kind = LMI_JINJA_T_LIST, .n = (uint32_t)n, .u.items = items};
}

static struct lmi_jinja_value make_dict(struct lmd_arena *arena, size_t n)
{
	struct lmi_jinja_member *members = lmi_arena_array(arena, n, sizeof(*members));

	for (size_t i = 0; i < n; i++)
		members[i] = (struct lmi_jinja_member){
			.key = make_item(arena, i, n),
			.value = {.kind = LMI_JINJA_T_INT, .u.i = (int64_t)i}};
	return (struct lmi_jinja_value){
		.kind = LMI_JINJA_T_DICT, .n = (uint32_t)n, .u.members = members};
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

	if (u->input == LISTS) {
		x.value = make_list(arena, n / ITEM_BYTES);
	} else if (u->input == DICTS) {
		x.value = make_dict(arena, n / ITEM_BYTES);
	} else {
		char *s = lmi_arena_alloc(arena, n, 1);

		n -= n % strlen(u->pattern); /* whole characters */
		fill(s, n, u->pattern);
		x.value = (struct lmi_jinja_value){.kind = LMI_JINJA_T_STR, .u.s = {s, n}};
	}
	linear_work_begin();
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
	{"replace", "'<', '&lt;'"},
	{"split", "'<'"},
	{"rsplit", "'<'"},
	{"center", "99"},
	{"ljust", "500000"},
	{"rjust", "500000"},
	{"zfill", "500000"},
	{"truncate", "99"},
	{"wordwrap", "79"},
	{"indent", "3"},
	{"batch", "3"},
	{"slice", "3"},
	{"format", "1"},
	{"round", "2"},
	{"divisibleby", "2"},
	{"map", "'upper'"},
	{"select", "'in', ['k1']"},
	{"reject", "'lower'"},
	{"groupby", "0"},
	{"attr", "'n'"},
	{"sort", ""},
	{"selectattr", "'n'"},
	{"rejectattr", "'n'"},
	{"insert", "0, 1"},
	{"format_map", "{'a': 1}"},
	{"setdefault", "'a', 1"},
	{"get", "'a'"},
	{"pop", "0"},
	{"update", "x"},
	{"remove", "x"},
	{"range", "x|length"},
	{"dict", "[[x, 1]]"},
	{"namespace", "a=x"},
	{"cycler", "x, x"},
	{"changed", "c"},
	{"cycle", "x, 1"},
	{"==", "x ~ 'a'"},
	{"!=", "x ~ 'a'"},
	{"<", "x ~ 'a'"},
	{"eq", "x ~ 'a'"},
	{"ne", "x ~ 'a'"},
	{"in", "[x ~ 'a', x]"},
	{"sameas", "x ~ ''"},
	{"lt", "x ~ 'a'"},
	{"ge", "x ~ 'a'"},
};

static const char *arguments_of(const char *name, uint32_t n_required)
{
	for (size_t i = 0; i < LMD_LEN(arguments); i++)
		if (!strcmp(arguments[i].name, name))
			return arguments[i].args;
	return n_required > 1 ? "'a', 'b'" : n_required ? "'a'" : "";
}

/* A template for each kind of values that has methods; # stands for the name and the arguments. */
static const struct {
	enum lmi_jinja_vkind kind;
	enum input input;
	const char *text;
} receivers[] = {
	{LMI_JINJA_V_STR, STRINGS, "{{ x.# is none }}"},
	{LMI_JINJA_V_BYTES, STRINGS, "{{ x.encode().# is none }}"},
	{LMI_JINJA_V_LIST, LISTS, "{{ x.# is none }}"},
	{LMI_JINJA_V_TUPLE, LISTS, "{{ (x, x + [1]).# is none }}"},
	{LMI_JINJA_V_TUPLE, STRINGS, "{{ (x ~ 'b', x ~ 'a').# is none }}"},
	{LMI_JINJA_V_DICT, DICTS, "{{ x.# is none }}"},
	{LMI_JINJA_V_RANGE, STRINGS, "{{ range(x|length).# is none }}"},
	{LMI_JINJA_V_BOOL, STRINGS, "{{ (x == x ~ '').# }}"},
	{LMI_JINJA_V_INT, STRINGS, "{{ (x|length).# }}"},
	{LMI_JINJA_V_FLOAT, STRINGS, "{{ (x|length / 2).# }}"},
	{LMI_JINJA_V_CYCLER, STRINGS, "{{ cycler(x, x).# is none }}"},
	{LMI_JINJA_V_LOOP, STRINGS, "{% for c in [x, x ~ ''] %}{{ loop.# is none }}{% endfor %}"},
};

/* Writes the template with name(arguments), or 'name', arguments in quotes, in place of #. */
static void check(const char *form, const struct lmi_jinja_builtin *b, const char *pattern,
		  enum input input)
{
	static const char *const inputs[] = {"", "a list", "a dictionary"};
	struct use u = {.pattern = pattern, .input = input};
	const char *at = strchr(form, '#'), *args = arguments_of(b->name, b->n_required);
	char text[200], name[260];
	struct lmi_jinja *t;

	if (at > form && at[-1] == '\'')
		(void)snprintf(text, sizeof(text), "%.*s%s'%s%s%s", (int)(at - form), form, b->name,
			       *args ? ", " : "", args, at + 2);
	else
		(void)snprintf(text, sizeof(text), "%.*s%s(%s)%s", (int)(at - form), form, b->name,
			       args, at + 1);
	(void)snprintf(name, sizeof(name), "%s with %s", text,
		       input == STRINGS ? pattern : inputs[input]);
	ck_assert_msg(lmi_jinja_parse(&t, text, strlen(text), NULL) == LMD_OK, "%s", text);
	lmi_jinja_destroy(t);
	u.text = text;
	linear_work_check(name, render, &u);
}

/* Loop test: one pattern each. */
START_TEST(filters_of_strings)
{
	const struct lmi_jinja_builtin *b;

	for (size_t i = 0; (b = lmi_jinja_filter_row(i)); i++)
		check("{{ x|#|string|length }}", b, patterns[_i], STRINGS);
}
END_TEST

/* Every kind of values that has methods needs a receiver. */
START_TEST(methods)
{
	for (int kind = 0; kind <= LMI_JINJA_V_JOINER; kind++) {
		const struct lmi_jinja_builtin *b;
		bool found = false;

		for (size_t k = 0; k < LMD_LEN(receivers); k++) {
			if ((int)receivers[k].kind != kind)
				continue;
			found = true;
			if (_i && receivers[k].input != STRINGS)
				continue;
			for (size_t i = 0; (b = lmi_jinja_method_row(receivers[k].kind, i)); i++)
				check(receivers[k].text, b, patterns[_i], receivers[k].input);
		}
		b = lmi_jinja_method_row((enum lmi_jinja_vkind)kind, 0);
		ck_assert_msg(found || !b, "no receiver for methods such as %s", b ? b->name : "");
	}
}
END_TEST

START_TEST(filters_of_lists_and_dictionaries)
{
	const struct lmi_jinja_builtin *b;

	for (int input = LISTS; input <= DICTS; input++)
		for (size_t i = 0; (b = lmi_jinja_filter_row(i)); i++)
			check("{{ x|# is none }}", b, "", (enum input)input);
}
END_TEST

/* Loop test: one pattern each; lists and dictionaries with the first. */
START_TEST(tests)
{
	const struct lmi_jinja_builtin *b;

	for (int input = _i ? STRINGS : DICTS; input >= STRINGS; input--)
		for (size_t i = 0; (b = lmi_jinja_test_row(i)); i++)
			check("{{ [x]|select('#')|list|length }}", b, patterns[_i],
			      (enum input)input);
}
END_TEST

START_TEST(functions)
{
	static const char *const form[] = {"{{ #|string|length }}", "{{ # }}"};
	const struct lmi_jinja_builtin *b;

	for (size_t i = 0; (b = lmi_jinja_global_row(i)); i++)
		for (int input = STRINGS; input <= DICTS; input++)
			check(form[b->params != NULL], b, patterns[_i], (enum input)input);
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
		struct use u = {.text = text[i], .pattern = patterns[_i], .input = STRINGS};

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
	tcase_add_loop_test(t, methods, 0, (int)LMD_LEN(patterns));
	tcase_add_test(t, filters_of_lists_and_dictionaries);
	tcase_add_loop_test(t, tests, 0, 2);
	tcase_add_loop_test(t, functions, 0, 2);
	tcase_add_loop_test(t, operators, 0, (int)LMD_LEN(patterns));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
