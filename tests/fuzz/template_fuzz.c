/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a chat template with fixed variables.  It must render or fail with an
 * error message, within its bounds, without leaking memory; every other input also records the
 * origin of the bytes that it writes. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/jinja/template.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

static const char variables[] =
	"{\"messages\": [{\"role\": \"user\", \"content\": \"h\\u00e9llo\"}, {\"role\": "
	"\"assistant\", \"content\": null, \"tool_calls\": [{\"function\": {\"name\": \"f\", "
	"\"arguments\": {\"a\": 1.5, \"b\": [true, -3]}}}]}], \"tools\": null, \"x\": \"ab\", "
	"\"add_generation_prompt\": true, \"n\": 7, \"l\": [3, 1, 2], \"d\": {\"k\": \"v\"}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	json_t *json = json_loads(variables, 0, NULL);
	struct lmi_jinja_value vars;
	struct lmi_jinja_input in = {
		.vars = &vars,
		.n_vars = 1,
		.want_origins = size & 1,
		.limits = {.steps = 200000, .memory_bytes = 16 << 20, .output_bytes = 1 << 20}};
	struct lmi_jinja_output out = {0};
	struct lmi_jinja *t;
	struct lmi_alloc_stats stats;
	struct lmd_error err = {0};
	enum lmd_status st;

	REQUIRE(arena && json);
	REQUIRE(lmi_jinja_tvalue_from_json(json, arena, &vars, &err) == LMD_OK);
	st = lmi_jinja_parse(&t, (const char *)data, size, &err);
	if (st == LMD_OK) {
		st = lmi_jinja_render(t, &in, &out, &err);
		REQUIRE(st != LMD_OK || (out.text && out.text[out.bytes] == 0));
		REQUIRE(st != LMD_OK || !out.origins == !in.want_origins);
		for (size_t i = 0; st == LMD_OK && out.origins && i < out.bytes; i++)
			REQUIRE(out.origins[i] <= 1);
		lmi_jinja_output_fini(&out);
		lmi_jinja_destroy(t);
	}
	REQUIRE(st == LMD_OK || (err.status == st && (err.text[0] || st == LMD_INVALID)));
	lmi_arena_destroy(arena);
	json_decref(json);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	return 0;
}

static const char *const texts[] = {
	"{%- for m in messages -%}<|{{ m.role }}|>{{ m['content'] | trim if m.content else '' }}"
	"{% if not loop.last %}\n{% endif %}{%- endfor %}{% if add_generation_prompt %}a{% endif "
	"%}",
	"{% macro f(a, b=2) %}{{ a ~ b }}{{ varargs }}{{ caller() }}{% endmacro %}"
	"{% call f(1) %}{{ n }}{% endcall %}{{ raise_exception('no') if n == 8 }}",
	"{% set ns = namespace(a=0, b=[]) %}{% for x in l|sort if x > 1 %}{% set ns.a = ns.a + x %}"
	"{% set _ = ns.b.append(x) %}{% else %}{% endfor %}{{ ns.a }}{{ ns.b|tojson(indent=2) }}",
	"{{ '%5.1f|%-4s|%(a)s' % (1.5, x) }}{{ '{0[k]!r:>8}{:,}'.format(d, 1000) }}"
	"{{ x.split('a') }}",
	"{{ l|map('string')|join(',') }}{{ messages|selectattr('role', 'equalto', 'user')|list }}"
	"{{ messages|groupby('role') }}{{ x|wordwrap(1) }}{{ d|dictsort }}{{ l|batch(2, 0)|list }}",
	"{% set s %}{{ x }}{% endset %}{% filter upper|replace('A', 'b') %}{{ s }}{% endfilter %}"
	"{% with a = 1 %}{{ a }}{% endwith %}{% raw %}{{ }}{% endraw %}{# c #}"
	"{{ l[::-1][1:] }}",
	"{{ strftime_now('%Y') }}{{ range(3)|sum ** 2 // 3 % 2 }}"
	"{{ 1 < n <= 7 and not x in ['ab'] }}"
	"{% autoescape true %}{{ '<'|safe ~ '<' }}{% endautoescape %}{{ cycler(1, 2).next() }}",
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	if (k >= LMD_LEN(texts))
		return false;
	*out = (struct fuzz_bytes){(uint8_t *)strdup(texts[k]), strlen(texts[k])};
	REQUIRE(out->p);
	return true;
}
