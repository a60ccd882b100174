/* SPDX-License-Identifier: MIT
 *
 * Patterns: regular expressions that are searched for in a string, whose characters JSON writes with
 * escapes. */
#include "core/grammar/regex.h"
#include "core/grammar/schema.h"

struct pattern {
	struct lmi_gr_schema_compiler *s;
	const struct lmi_json_node *at;
};

static struct lmi_grammar_expr *char_of(void *ctx, const struct lmi_grammar_expr *cls)
{
	return lmi_gr_schema_char_of(((struct pattern *)ctx)->s, cls);
}

static struct lmi_grammar_expr *any_text(void *ctx)
{
	struct lmi_gr_schema_compiler *s = ((struct pattern *)ctx)->s;

	return lmi_grammar_expr_repeat(&s->b, lmi_gr_schema_common(s, LMI_GR_COMMON_CHAR), 0,
				       UINT32_MAX);
}

static void fail(void *ctx, enum lmd_status st, size_t at_byte, const char *what)
{
	struct pattern *p = ctx;

	lmi_gr_schema_fail(p->s, st, p->at, "pattern, byte %zu: %s", at_byte, what);
}

struct lmi_grammar_expr *lmi_gr_schema_pattern(struct lmi_gr_schema_compiler *s, const char *regex,
					       size_t n, const struct lmi_json_node *at)
{
	struct pattern p = {.s = s, .at = at};
	const struct lmi_gr_regex_use use = {
		.b = &s->b, .ctx = &p, .char_of = char_of, .any_text = any_text, .fail = fail};

	return lmi_gr_regex(&use, regex, n);
}
