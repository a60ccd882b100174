/* SPDX-License-Identifier: MIT
 *
 * Strings: a pattern, or a known format, or a range of lengths. */
#include <string.h>

#include "core/grammar/schema.h"

/* Formats are patterns too. Dates check the number of days in each month, but not in which years
 * February has 29 days. */
#define DATE                                                                                       \
	"\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|"   \
	"30)|02-(?:0[1-9]|[12]\\d))"
#define TIME                                                                                       \
	"(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]"    \
	"\\d)"
#define OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"

static const struct {
	const char *name, *regex;
} formats[] = {
	{"date", "^" DATE "$"},
	{"time", "^" TIME "$"},
	{"date-time", "^" DATE "T" TIME "$"},
	{"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
	{"ipv4", "^" OCTET "(?:\\." OCTET "){3}$"},
};

static struct lmi_grammar_expr *quoted(struct lmi_gr_schema_compiler *s,
				       struct lmi_grammar_expr *inside)
{
	return lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\""), inside,
				 lmi_gr_schema_ascii(s, "\""), NULL);
}

/* Returns the expression of a format, or NULL if the format is an annotation. */
static const char *format_of(const struct lmi_json_node *v)
{
	for (size_t k = 0; k < LMD_LEN(formats); k++)
		if (lmi_json_node_eq(v, formats[k].name))
			return formats[k].regex;
	return NULL;
}

static struct lmi_grammar_expr *by_format(struct lmi_gr_schema_compiler *s,
					  const struct lmi_gr_schema_conjunction *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *v =
			lmi_gr_schema_get(s, c->v[i], "format", LMI_JSON_STRING);
		const char *regex = v ? format_of(v) : NULL;

		if (regex)
			return lmi_gr_schema_pattern(s, regex, strlen(regex), v);
	}
	return NULL;
}

/* A string is compiled from one pattern, one format or its lengths; any further keyword would be
 * silently ignored and is therefore rejected. */
static void check_one(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c)
{
	static const char *const keyword[] = {"pattern", "format", "minLength", "maxLength"};
	const struct lmi_json_node *form = NULL; /* the first pattern or format */

	for (size_t k = 0; k < LMD_LEN(keyword); k++) {
		for (uint32_t i = 0; i < c->n; i++) {
			const struct lmi_json_node *v = lmi_json_node_get(c->v[i], keyword[k]);

			if (!v || (k == 1 && !format_of(v)) ||
			    (k == 2 && lmi_json_node_is(v, LMI_JSON_INT) && !v->u.i))
				continue;
			if (form && !(k < 2 && lmi_gr_schema_equal(form, v)))
				lmi_gr_schema_fail(
					s, LMD_UNSUPPORTED, v,
					"'%s' is not supported beside another pattern or "
					"format",
					keyword[k]);
			if (k < 2)
				form = v;
		}
	}
}

/* Returns the strings that a schema excludes, *n of them. */
static const struct lmi_json_node *excluded(const struct lmi_json_node *schema, uint32_t *n)
{
	const struct lmi_json_node *v = lmi_json_node_get(schema, "not");
	const struct lmi_json_node *one = lmi_json_node_get(v, "const");
	const struct lmi_json_node *list = lmi_json_node_get(v, "enum");

	*n = one ? 1 : list ? list->n : 0;
	return one ? one : lmi_json_node_first(list);
}

/* Returns strings without those that some schema excludes, or NULL if none are excluded. */
static struct lmi_grammar_expr *others(struct lmi_gr_schema_compiler *s,
				       const struct lmi_gr_schema_conjunction *c)
{
	static const char *const keyword[] = {"pattern", "format", "minLength", "maxLength"};
	const struct lmi_json_node **names, *v;
	uint32_t n = 0, all = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		(void)excluded(c->v[i], &n);
		all += n;
	}
	if (!all)
		return NULL;
	for (uint32_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < LMD_LEN(keyword); k++)
			if (lmi_json_node_get(c->v[i], keyword[k]))
				lmi_gr_schema_fail(
					s, LMD_UNSUPPORTED, c->v[i],
					"'%s' is not supported where 'not' excludes strings",
					keyword[k]);
	names = lmi_arena_array(s->b.arena, all, sizeof(*names));
	if (!names) {
		lmi_grammar_builder_no_memory(&s->b);
		return NULL;
	}
	all = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		v = excluded(c->v[i], &n);
		for (uint32_t k = 0; k < n; k++, v = lmi_json_node_next(v))
			names[all++] = v;
	}
	return lmi_gr_schema_failed(s) ? NULL : lmi_gr_schema_key_except(s, names, all);
}

struct lmi_grammar_expr *lmi_gr_schema_string(struct lmi_gr_schema_compiler *s,
					      const struct lmi_gr_schema_conjunction *c)
{
	struct lmi_grammar_expr *inside;
	uint32_t min, max;

	check_one(s, c);
	inside = others(s, c);
	if (inside || lmi_gr_schema_failed(s))
		return inside;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *v =
			lmi_gr_schema_get(s, c->v[i], "pattern", LMI_JSON_STRING);

		if (v)
			return quoted(s, lmi_gr_schema_pattern(s, v->u.s, v->n, v));
	}
	inside = by_format(s, c);
	if (inside)
		return quoted(s, inside);
	if (!lmi_gr_schema_counts(s, c, "minLength", "maxLength", &min, &max))
		return lmi_gr_schema_never(s);
	if (min == 0 && max == UINT32_MAX)
		return lmi_gr_schema_common(s, LMI_GR_COMMON_STRING);
	return quoted(s, lmi_grammar_expr_repeat(&s->b, lmi_gr_schema_common(s, LMI_GR_COMMON_CHAR),
						 min, max));
}
