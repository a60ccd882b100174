/* SPDX-License-Identifier: MIT
 *
 * Compares templates with the expected output of the parity pack and with a table of our own, and
 * tries what hostile authors may write. */
#include "core/jinja/template.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"

struct result {
	enum lmd_status st;
	struct lmi_jinja_output out;
	struct lmd_error err;
	bool parsed;
};

static struct tm noon(void)
{
	struct tm tm = {.tm_year = 126,
			.tm_mon = 8,
			.tm_mday = 28,
			.tm_hour = 12,
			.tm_min = 34,
			.tm_sec = 56,
			.tm_wday = 1,
			.tm_yday = 270,
			.tm_isdst = -1};

	return tm;
}

static struct result render(const char *text, size_t n, json_t *const *vars, uint32_t n_vars,
			    const struct lmi_jinja_limits *limits)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_jinja_value v[4];
	struct lmi_jinja_input in = {.vars = v, .n_vars = n_vars, .now = noon()};
	struct lmi_jinja *t;
	struct result r = {0};

	r.st = arena ? LMD_OK : LMD_NOMEM;
	for (uint32_t i = 0; i < n_vars && r.st == LMD_OK; i++)
		r.st = lmi_jinja_tvalue_from_json(vars[i], arena, &v[i], &r.err);
	if (limits)
		in.limits = *limits;
	if (r.st == LMD_OK)
		r.st = lmi_jinja_parse(&t, text, n, &r.err);
	if (r.st == LMD_OK) {
		r.parsed = true;
		r.st = lmi_jinja_render(t, &in, &r.out, &r.err);
		lmi_jinja_destroy(t);
	}
	lmi_arena_destroy(arena);
	return r;
}

static struct result simple(const char *text)
{
	return render(text, strlen(text), NULL, 0, NULL);
}

/* Parity */

/* Whether a result matches the expected one, a JSON object with text, raised, error or
 * mutable_text. */
static bool matches(const struct result *r, const json_t *want)
{
	const json_t *text = json_object_get(want, "text");
	const json_t *raised = json_object_get(want, "raised");
	const json_t *mutable = json_object_get(want, "mutable_text");

	if (raised)
		return r->out.raised && r->out.raised_bytes == json_string_length(raised) &&
		       !memcmp(r->out.raised, json_string_value(raised), r->out.raised_bytes);
	if (!text && r->st != LMD_OK)
		return true;
	text = text ? text : mutable;
	return text && r->st == LMD_OK && r->out.bytes == json_string_length(text) &&
	       !memcmp(r->out.text, json_string_value(text), r->out.bytes);
}

struct tally {
	unsigned passed, failed;
};

static void judge(struct tally *t, struct result r, const json_t *want, const char *a,
		  const char *b)
{
	if (matches(&r, want)) {
		t->passed++;
	} else if (++t->failed <= 20) {
		char *w = json_dumps(want, JSON_ENCODE_ANY);

		printf("FAILED: %s %s: got %s%s, want %.400s\n", a, b,
		       r.st == LMD_OK ? r.out.text : "error: ", r.err.text, w);
		free(w);
	}
	lmi_jinja_output_fini(&r.out);
}

static json_t *load(const char *dir, const char *name)
{
	char path[4400];
	json_error_t e;
	json_t *j;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	j = json_load_file(path, JSON_ALLOW_NUL, &e);
	ck_assert_msg(j != NULL, "%s: %s", path, e.text);
	return j;
}

static bool pack(char dir[4300])
{
	const char *parity = lmd_parity_dir();

	if (parity)
		snprintf(dir, 4300, "%.4000s/templates", parity);
	else
		LMD_SKIP("templates", "no parity pack");
	return parity != NULL;
}

START_TEST(units)
{
	char dir[4300];
	struct tally t = {0};
	json_t *root, *context, *c;
	struct result r;
	size_t i;

	if (!pack(dir))
		return;
	root = load(dir, "jinja_unit.json");
	context = json_object_get(root, "context");
	json_array_foreach(json_object_get(root, "cases"), i, c)
	{
		const json_t *text = json_object_get(c, "template");

		r = render(json_string_value(text), json_string_length(text), &context, 1, NULL);
		judge(&t, r, c, json_string_value(json_object_get(c, "id")),
		      json_string_value(text));
	}
	LMD_CASES("template units", t.passed, t.failed, 0);
	ck_assert_uint_gt(t.passed, 100);
	ck_assert_uint_eq(t.failed, 0);
	json_decref(root);
}
END_TEST

static char *load_text(const char *dir, const char *name, size_t *n)
{
	char path[4700], *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/jinja/%s.jinja", dir, name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	p = calloc(1, LMI_JINJA_MAX);
	*n = fread(p, 1, LMI_JINJA_MAX, f);
	fclose(f);
	return p;
}

/* Renders all conversations with one template. */
static void one_template(struct tally *t, const char *dir, const char *name, json_t *conversations,
			 const json_t *extra)
{
	char file[400];
	json_t *vars[3] = {json_object_get(conversations, "base"), NULL, NULL}, *want, *c, *none;
	size_t n, i;
	char *text = load_text(dir, name, &n);

	none = json_object();
	snprintf(file, sizeof(file), "expect/%s.json", name);
	want = load(dir, file);
	vars[1] = json_object_get(extra, name);
	if (!vars[1])
		vars[1] = none;
	json_array_foreach(json_object_get(conversations, "conversations"), i, c)
	{
		const char *which = json_string_value(json_object_get(c, "name"));
		const json_t *e = json_object_get(want, which);

		vars[2] = json_object_get(c, "context");
		if (e)
			judge(t, render(text, n, vars, 3, NULL), e, name, which);
	}
	json_decref(want);
	json_decref(none);
	free(text);
}

START_TEST(conversations)
{
	char dir[4300], sub[4400];
	struct tally t = {0};
	json_t *conv, *extra;
	struct dirent *e;
	DIR *d;

	if (!pack(dir))
		return;
	conv = load(dir, "conversations.json");
	extra = load(dir, "extra_context.json");
	snprintf(sub, sizeof(sub), "%s/expect", dir);
	d = opendir(sub);
	ck_assert(d != NULL);
	while ((e = readdir(d))) {
		char name[300];
		size_t len = strlen(e->d_name);

		if (len < 6 || strcmp(e->d_name + len - 5, ".json"))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(len - 5), e->d_name);
		one_template(&t, dir, name, conv, extra);
	}
	closedir(d);
	LMD_CASES("template conversations", t.passed, t.failed, 0);
	ck_assert_uint_gt(t.passed, 100);
	ck_assert_uint_eq(t.failed, 0);
	json_decref(conv);
	json_decref(extra);
}
END_TEST

/* A table of our own; want is NULL if an error is expected. */

static const struct {
	const char *text, *want;
} table[] = {
	/* white space */
	{ "a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc" },
	{ "a  {%- if true -%}  b  {%- endif -%}  c", "abc" },
	{ " {%+ if true +%}\nb{% endif %}", " \nb" },
	{ "a {{- 1 -}} b", "a1b" },
	{ "x\r\ny\rz", "x\ny\nz" },
	{ "{# {{ no }} #}{% raw %}{{ yes }}{% endraw %}", "{{ yes }}" },
	/* values */
	{ "{{ [1, 2.0, none, true, 'it\\'s', {'a': (1,)}] }}",
	  "[1, 2.0, None, True, \"it's\", {'a': (1,)}]" },
	{ "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }}",
	  "3 -4 2 3.5 0.5 64" },
	{ "{{ 1e16 }} {{ 1e15 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 3.0 }} {{ 5e-324 }}",
	  "1e+16 1000000000000000.0 0.30000000000000004 1e-05 3.0 5e-324" },
	{ "{{ 'héllo'[1:4] }} {{ 'héllo'[::-1] }} {{ [1, 2, 3][-2:] }} {{ 'abc'[5:] }}|",
	  "éll olléh [2, 3] |" },
	{ "{{ 1 < 2 < 3 }} {{ 1 == 1.0 }} {{ 'a' in 'abc' }} {{ 2 not in [1] }}"
	  " {{ none == false }}",
	  "True True True True False" },
	{ "{{ 'a' ~ 1 ~ none }} {{ 'ab' * 2 }} {{ [0] * 2 + [1] }}", "a1None abab [0, 0, 1]" },
	{ "{{ x }}|{{ x is defined }}|{{ x == y }}|{{ x|default('d') }}", "|False|True|d" },
	{ "{{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }}",
	  "9223372036854775807 -9223372036854775808" },
	/* statements */
	{ "{% for i in range(3) if i != 1 %}{{ loop.index }}{{ i }}{{ loop.last }} {% endfor %}",
	  "10False 22True " },
	{ "{% for i in [] %}x{% else %}none{% endfor %}", "none" },
	{ "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{% endfor %}{{ x }}", "111" },
	{ "{% set n = namespace(a=0) %}{% for i in [1, 2] %}{% set n.a = n.a + i %}{% endfor %}"
	  "{{ n.a }}", "3" },
	{ "{% macro m(a, b=a) %}{{ a }}{{ b }}{{ caller(3) if caller }}{% endmacro %}"
	  "{% call(x) m(1) %}[{{ x }}]{% endcall %}{{ m(2, b=4) }}", "11[3]24" },
	{ "{% for n in [{'v': 1, 'k': [{'v': 2, 'k': []}]}] recursive %}{{ n.v }}"
	  "{{ loop(n.k) }}{{ loop.depth }}{% endfor %}", "1221" },
	{ "{% set x %}a{{ 1 }}{% endset %}{{ x|upper }}{% filter upper %}b{% endfilter %}", "A1B" },
	{ "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "3" },
	{ "{% for i in [1, 2, 3, 4] %}{% if i == 2 %}{% continue %}{% elif i == 4 %}{% break %}"
	  "{% endif %}{{ i }}{% endfor %}", "13" },
	{ "{% set a = [1] %}{% set _ = a.append(2) %}{{ a }}{{ a.pop() }}{{ a }}", "[1, 2]2[1]" },
	{ "{% generation %}{{ 1 }}{% endgeneration %}{% block b %}{{ 2 }}{% endblock %}", "12" },
	{ "{% autoescape true %}{{ '<' }}{{ '<'|safe }}{% endautoescape %}{{ '<' }}", "&lt;<<" },
	/* filters, tests, methods, functions */
	{ "{{ {'b': 1, 'a': [1.5, none]}|tojson }} {{ {'a': 1}|tojson(indent=2) }}",
	  "{\"b\": 1, \"a\": [1.5, null]} {\n  \"a\": 1\n}" },
	{ "{{ [3, 1, 2]|sort|join(',') }} {{ ['b', 'A']|sort }} {{ [1, 2, 3]|sum }}",
	  "1,2,3 ['A', 'b'] 6" },
	{ "{{ [{'a': 1}, {'a': 2}]|selectattr('a', 'gt', 1)|map(attribute='a')|list }}", "[2]" },
	{ "{{ 'a,b'.split(',') }} {{ ' x '.strip() }} {{ 'Ab'.swapcase() }} {{ 'ß'.upper() }}",
	  "['a', 'b'] x aB SS" },
	{ "{{ '%05.1f|%-4s|%x' % (3.14159, 'ab', 255) }} {{ '{:>5}|{0}'.format(1) }}", NULL },
	{ "{{ '%05.1f|%-4s|%x' % (3.14159, 'ab', 255) }} {{ '{:>5}|{}'.format(1, 2) }}",
	  "003.1|ab  |ff     1|2" },
	{ "{{ strftime_now('%Y-%m-%d %H:%M') }}", "2026-09-28 12:34" },
	{ "{% set d = {'a': 1} %}{{ d.keys() == {'a': 2}.keys() }}{{ d.items() == {'a': 2}.items() }}"
	  "{{ d.items() == {'a': 1}.items() }}{{ d.keys() == {'b': 1}.keys() }}"
	  "{{ d.values() == d.values() }}",
	  "TrueFalseTrueFalseFalse" },
	{ "{{ d.items }}", NULL },
	{ "{% set d = {'items': 5} %}{{ d['items'] }}{{ d.items()|list }}", "5[('items', 5)]" },
	{ "{{ 25|round(-1) }} {{ 35|round(-1) }} {{ (-25)|round(-1) }} {{ (-35)|round(-1) }}"
	  " {{ (-26)|round(-1) }} {{ (-24)|round(-1) }}",
	  "20 40 -20 -40 -30 -20" },
	{ "{{ (-9223372036854775803)|round(-1) }}", "-9223372036854775800" },
	/* errors */
	{ "{{ x.y }}", NULL },
	{ "{{ (-9223372036854775807)|round(-1) }}", NULL },
	{ "{{ 1 + 'a' }}", NULL },
	{ "{{ 1 // 0 }}", NULL },
	{ "{{ 9223372036854775807 + 1 }}", NULL },
	{ "{{ 99999999999999999999 }}", NULL },
	{ "{{ [] | length + x }}", NULL },
	{ "{% if %}{% endif %}", NULL },
	{ "{% for x in y %}", NULL },
	{ "{{ 1 | nosuch }}", NULL },
	{ "{{ 'a }}", NULL },
	{ "{{ (1 }}", NULL },
	{ "{% include 'x' %}", NULL },
	{ "{% break %}", NULL },
};

START_TEST(own_table)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct result r = simple(table[i].text);

		if (table[i].want)
			ck_assert_msg(r.st == LMD_OK && !strcmp(r.out.text, table[i].want),
				      "%s: %s%s", table[i].text, r.st == LMD_OK ? r.out.text : "",
				      r.err.text);
		else
			ck_assert_msg(r.st != LMD_OK && r.err.text[0], "%s: %s", table[i].text,
				      r.out.text);
		lmi_jinja_output_fini(&r.out);
	}
}
END_TEST

/* Error messages */

START_TEST(error_messages)
{
	static const struct {
		const char *text, *says;
	} t[] = {
		{"a\n{{ 1 +* 2 }}", "template line 2: expected an expression"},
		{"{% if x %}\n\n", "template line 2: the template ends where"},
		{"\n\n{{ x.y.z }}", "template line 3: 'x' is undefined"},
		{"{{ 1|nosuch }}", "unknown filter 'nosuch'"},
		{"{{ 1 is nosuch }}", "unknown test 'nosuch'"},
		{"{{ 'a' + 1 }}", "unsupported operand types for +: 'str' and 'int'"},
		{"{{ range(200000) }}", "range too big: 200000 items, at most 100000"},
		{"{{ 'a'.center('b') }}", "the width must be an integer, not str"},
		{"{% nosuch %}", "unknown or misplaced statement 'nosuch'"},
		{"{% from 'a' import b %}", "from: other templates are not available"},
		{"{{ raise_exception('roles must alternate') }}", "roles must alternate"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct result r = simple(t[i].text);

		ck_assert_int_ne(r.st, LMD_OK);
		ck_assert_msg(strstr(r.err.text, t[i].says) != NULL, "%s: %s", t[i].text,
			      r.err.text);
		lmi_jinja_output_fini(&r.out);
	}
}
END_TEST

START_TEST(raised_in_full)
{
	struct result r = simple("{{ raise_exception('ab' * 1000) }}");

	ck_assert_int_eq(r.st, LMD_INVALID);
	ck_assert_uint_eq(r.out.raised_bytes, 2000);
	ck_assert(r.out.text == NULL);
	lmi_jinja_output_fini(&r.out);
	r = simple("{{ raise_exception('') }}");
	ck_assert_int_eq(r.st, LMD_INVALID);
	ck_assert(r.out.raised != NULL && r.out.raised_bytes == 0);
	lmi_jinja_output_fini(&r.out);
}
END_TEST

/* Bytes */

START_TEST(odd_bytes)
{
	struct lmi_jinja_member m[] = {
		{{"bad", 3}, {.kind = LMI_JINJA_T_STR, .u.s = {"a\xff\xc3z", 4}}},
		{{"nul", 3}, {.kind = LMI_JINJA_T_STR, .u.s = {"a\0b", 3}}},
		{{"\xff", 1}, {.kind = LMI_JINJA_T_NONE}},
	};
	struct lmi_jinja_value v = {.kind = LMI_JINJA_T_DICT, .n = 3, .u.members = m};
	struct lmi_jinja_input in = {.vars = &v, .n_vars = 1};
	struct lmi_jinja_output out;
	struct lmi_jinja *t;
	const char *text = "{{ bad }}|{{ nul|length }}|{{ nul }}";

	ck_assert_int_eq(lmi_jinja_parse(&t, text, strlen(text), NULL), LMD_OK);
	ck_assert_int_eq(lmi_jinja_render(t, &in, &out, NULL), LMD_OK);
	ck_assert_uint_eq(out.bytes, 14);
	ck_assert_mem_eq(out.text, "a\xef\xbf\xbd\xef\xbf\xbdz|3|a\0b", 14);
	lmi_jinja_output_fini(&out);
	lmi_jinja_destroy(t);
	lmi_jinja_destroy(NULL);
	/* in the template itself */
	ck_assert_int_eq(lmi_jinja_parse(&t, "\xff{{ '\xc3'|length }}", 17, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jinja_render(t, &in, &out, NULL), LMD_OK);
	ck_assert_str_eq(out.text, "\xef\xbf\xbd"
				   "1");
	lmi_jinja_output_fini(&out);
	lmi_jinja_destroy(t);
}
END_TEST

/* Random bytes as a template give a status and nothing worse. */
START_TEST(random_templates)
{
	static const char *const words[] = {
		"{{",	     "}}",	"{%",	     "%}",     "",	   "{#",     "#}",
		"-",	     "+",	" ",	     "\n",     "(",	   ")",	     "[",
		"]",	     "{",	"}",	     "if",     "for",	   "in",     "set",
		"macro",     "endif",	"endfor",    "endset", "endmacro", "else",   "x",
		"y",	     "loop",	"range",     "1",      "2.5",	   "'a'",    "\"b\"",
		"|",	     ".",	",",	     ":",      "=",	   "==",     "~",
		"*",	     "**",	"/",	     "//",     "%",	   "<",	     "not",
		"and",	     "or",	"is",	     "upper",  "list",	   "sort",   "map",
		"join",	     "defined", "none",	     "true",   "raw",	   "endraw", "call",
		"endcall",   "caller",	"namespace", "\xff",   "\xc3\xa9", "\\",     "filter",
		"endfilter", "with",	"endwith",   "_",
	};
	uint64_t rng = lmd_seed("random_templates", 31);

	for (int i = 0; i < 20000; i++) {
		char text[400];
		size_t n = 0;
		struct result r;

		for (uint64_t k = lmd_rand(&rng) % 30; k--;) {
			const char *w = words[lmd_rand(&rng) % (sizeof(words) / sizeof(*words))];

			memcpy(text + n, w, strlen(w));
			n += strlen(w);
			if (lmd_rand(&rng) % 3 == 0)
				text[n++] = ' ';
		}
		r = render(text, n, NULL, 0, NULL);
		ck_assert(r.st == LMD_OK || r.err.text[0]);
		lmi_jinja_output_fini(&r.out);
	}
}
END_TEST

/* Hostile authors */

static const char *const bombs[] = {
	"{{ 'x' * 10**9 }}",
	"{{ 'x' * 10**18 }}",
	"{{ [1] * 10**9 }}",
	"{{ range(10**9)|list }}",
	"{{ '%1000000000d' % 1 }}",
	"{{ '%.1000000000f' % 1.5 }}",
	"{{ '{:1000000000}'.format(1) }}",
	"{{ 'a'.center(10**12) }}",
	"{{ 'a'|indent(10**12) }}",
	"{{ ('x' * 100000)|wordwrap(1)|wordwrap(1, wrapstring='y' * 100000) }}",
	"{{ 'x'.rjust(10**12) }}{{ 'x'.zfill(10**12) }}{{ '\\t'.expandtabs(10**12) }}",
	"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
	"{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}",
	"{% for i in range(100000) %}{{ range(100000)|list }}{% endfor %}",
	"{% for i in range(100000) %}{{ range(100000)|sum }}{% endfor %}",
	"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
	"{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}",
	"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
	"{% set n = namespace(s='x') %}{% for i in range(64) %}{% set n.s = n.s ~ n.s %}"
	"{% endfor %}",
	"{% set n = namespace(l=[1]) %}{% for i in range(64) %}{% set n.l = n.l + n.l %}"
	"{% endfor %}",
	"{% set n = namespace(l=[1]) %}{% for i in range(64) %}{% set n.l = [n.l, n.l] %}"
	"{% endfor %}"
	"{{ n.l }}",
	"{% set n = namespace(l=[1]) %}{% for i in range(64) %}{% set n.l = [n.l, n.l] %}"
	"{% endfor %}"
	"{{ n.l == n.l|list }}{{ n.l|tojson }}",
	"{% set n = namespace(t=()) %}{% for i in range(100000) %}{% set n.t = (n.t,) %}"
	"{% endfor %}"
	"{{ {n.t: 1} }}",
	"{% set n = namespace(t=[]) %}{% for i in range(100000) %}{% set n.t = [n.t] %}{% endfor %}"
	"{{ n.t }}",
	"{% set n = namespace(t=[]) %}{% for i in range(100000) %}{% set n.t = [n.t] %}{% endfor %}"
	"{{ n.t|tojson }}",
	"{% set n = namespace(t=[], u=[]) %}{% for i in range(50000) %}{% set n.t = [n.t] %}"
	"{% set n.u = [n.u] %}{% endfor %}{{ n.t == n.u }}{{ n.t < n.u }}",
	"{% set a = [] %}{% set _ = a.append(a) %}{{ a }}",
	"{% set a = [] %}{% set _ = a.append(a) %}{{ a|tojson }}",
	"{% set a = [] %}{% set b = [a] %}{% set _ = a.append(b) %}{{ a == b }}{{ a|pprint }}",
	"{% set a = [1] %}{% for x in a %}{% set _ = a.append(1) %}{% endfor %}"
	"{% for i in range(100000) %}{% set _ = a.extend(a) %}{% endfor %}",
	"{% for i in range(100000) %}{{ ('a' * 1000000).find('b') }}{% endfor %}",
	"{{ ('a' * 1000000).rfind('a' * 500000 ~ 'b') }}"
	"{{ ('a' * 1000000).rfind('b' ~ 'a' * 500000) }}"
	"{{ ('a' * 1000000 ~ 'b').rsplit('a' * 500000 ~ 'c') }}x{{ 1 // 0 }}",
	"{{ ('a' * 1000000).strip('b' * 1000000 ~ 'a') }}",
	"{% for i in range(100000) %}{{ ('a' * 1000000)[i] }}{% endfor %}",
	"{% for i in range(100000) %}{{ ('é' * 500000)|length }}{% endfor %}",
	"{% for i in range(100000) %}{{ 'a' * 1000000 == 'a' * 1000000 }}{% endfor %}",
	"{% set x %}{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}{% endset %}",
	"{{ range(100000)|map('string')|map('center', 100000)|list }}",
	"{{ range(100000)|batch(1, 'x')|map('join')|map('batch', 100000, 'x')|map('list')|list }}",
	"{{ [1]|batch(10**12, 0)|list }}{{ [1]|slice(10**12)|list }}",
	"{{ {}.update(range(100000)) }}",
	"{{ '{0.a.b.c.d}{0[0][1][2]}'.format(1) }}",
	"{{ '{:{}}'.format(1, 10**9) }}{{ '{:{:{}}}'.format(1, 2, 3) }}",
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Each one ends with an error message, soon, and within its memory limit. */
START_TEST(hostile)
{
	struct lmi_alloc_stats before, after;

	lmi_alloc_stats(&before);
	for (size_t i = 0; i < sizeof(bombs) / sizeof(*bombs); i++) {
		double start = seconds();
		struct result r = simple(bombs[i]);

		ck_assert_msg(r.st != LMD_OK && r.err.text[0], "%s", bombs[i]);
		ck_assert_msg(seconds() - start < 20.0, "%s: %.1f s", bombs[i], seconds() - start);
		lmi_jinja_output_fini(&r.out);
	}
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
	ck_assert_uint_lt(after.peak_bytes - before.live_bytes, 800u << 20);
}
END_TEST

/* Renders head, n times middle, tail. */
static struct result repeated(const char *head, const char *middle, size_t n, const char *tail)
{
	size_t m = strlen(middle);
	char *text = malloc(strlen(head) + n * m + strlen(tail) + 1), *p = stpcpy(text, head);
	struct result r;

	for (size_t i = 0; i < n; i++)
		p = stpcpy(p, middle);
	strcpy(p, tail);
	r = simple(text);
	free(text);
	return r;
}

START_TEST(hostile_text)
{
	static const struct {
		const char *head, *middle, *tail;
	} t[] = {
		{"{{ ", "(", ""},
		{"{{ ", "[", ""},
		{"{{ ", "{1:", ""},
		{"{{ ", "-", "1 }}"},
		{"{{ ", "not ", "1 }}"},
		{"{{ 1", "+1", "x }}"},
		{"{{ 1", " if 1 else 1", "}}"},
		{"{{ x", ".a", "}}"},
		{"{{ x", "[0]", "}}"},
		{"{{ x", "()", "}}"},
		{"{{ 1", "|string", "}}"},
		{"{{ 1", " is defined", "}}"},
		{"", "{% if 1 %}", ""},
		{"", "{% for x in y %}", ""},
		{"{% if 0 %}", "{% elif 0 %}", "{% endif %}"},
		{"{{ f(", "a=1,", ") }}"},
		{"{% macro m(", "a,", "b) %}{% endmacro %}{{ x.y }}"},
		{"", "{% block b %}{% endblock %}", ""},
		{"{{ '", "\\u0041", "' }}{{ x.y }}"},
		{"", "{", ""},
		{"", "{#", ""},
		{"{% raw %}", "{% endra", ""},
		{"", "{% raw ", ""},
	};
	/* "{{{{..." is text if nothing follows; the others fail */
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		double start = seconds();
		struct result r = repeated(t[i].head, t[i].middle, 100000, t[i].tail);

		ck_assert_msg(r.st != LMD_OK && r.err.text[0], "%s%s...", t[i].head, t[i].middle);
		ck_assert_msg(seconds() - start < 10.0, "%s%s...: %.1f s", t[i].head, t[i].middle,
			      seconds() - start);
		lmi_jinja_output_fini(&r.out);
	}
}
END_TEST

START_TEST(limits)
{
	static const struct {
		struct lmi_jinja_limits limits;
		const char *text, *says;
	} t[] = {
		{{.steps = 1000}, "{% for i in range(2000) %}{% endfor %}", "more than 1000 steps"},
		{{.output_bytes = 10}, "12345678901", "more than 10 bytes"},
		{{.depth = 20},
		 "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		 "deeper than 20 levels"},
		{{.memory_bytes = 1 << 20}, "{{ 'x' * 2000000 }}", "more than 1048576 bytes"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct result r = render(t[i].text, strlen(t[i].text), NULL, 0, &t[i].limits);

		ck_assert_int_eq(r.st, LMD_NOMEM);
		ck_assert_msg(strstr(r.err.text, t[i].says) != NULL, "%s", r.err.text);
	}
}
END_TEST

START_TEST(too_long)
{
	char *text = calloc(1, LMI_JINJA_MAX + 1);
	struct result r = render(text, LMI_JINJA_MAX + 1, NULL, 0, NULL);

	ck_assert_int_eq(r.st, LMD_INVALID);
	free(text);
}
END_TEST

START_TEST(deep_json)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	json_t *j = json_null();
	struct lmi_jinja_value v;

	for (int i = 0; i < 1000; i++) {
		json_t *l = json_array();

		json_array_append_new(l, j);
		j = l;
	}
	ck_assert_int_eq(lmi_jinja_tvalue_from_json(j, arena, &v, NULL), LMD_INVALID);
	json_decref(j);
	lmi_arena_destroy(arena);
}
END_TEST

/* Every allocation may fail: rendering returns a status and leaks nothing. */
START_TEST(no_memory)
{
	const char *text = "{% macro m(a) %}{{ a|tojson }}{% endmacro %}{% for x in range(50) %}"
			   "{{ m({'k': [x, 'y' * 3000]}) }}{% endfor %}";
	struct lmi_alloc_stats before, after;
	struct result r;
	uint64_t n = 1;

	lmi_alloc_stats(&before);
	do {
		lmi_alloc_fail_nth(n++, false);
		r = simple(text);
		/* a large allocation that fails is retried with a smaller size */
		ck_assert(r.st == LMD_OK || r.st == LMD_NOMEM);
		lmi_jinja_output_fini(&r.out);
	} while (lmi_alloc_did_fail() && n < 1000);
	lmi_alloc_fail_nth(0, false);
	ck_assert_int_eq(r.st, LMD_OK);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("template");
	TCase *t = tcase_create("template");

	tcase_add_test(t, units);
	tcase_add_test(t, conversations);
	tcase_add_test(t, own_table);
	tcase_add_test(t, error_messages);
	tcase_add_test(t, raised_in_full);
	tcase_add_test(t, odd_bytes);
	tcase_add_test(t, random_templates);
	tcase_add_test(t, hostile);
	tcase_add_test(t, hostile_text);
	tcase_add_test(t, limits);
	tcase_add_test(t, too_long);
	tcase_add_test(t, deep_json);
	tcase_add_test(t, no_memory);
	tcase_set_timeout(t, 600);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
