/* SPDX-License-Identifier: MIT
 *
 * Listed values (enum and const) that the other schemas at the place also allow. */
#include <math.h>
#include <string.h>

#include "core/base/json_text.h"
#include "core/grammar/schema.h"

/* Listed values that are compared in a step. */
#define COMPARISONS_PER_STEP 64

static bool equal_objects(const struct lmi_json_node *a, const struct lmi_json_node *b)
{
	const struct lmi_json_node *k = lmi_json_node_first(a);

	for (uint32_t i = 0; i < a->n; i++, k = lmi_json_node_next(k + 1)) {
		const struct lmi_json_node *o = lmi_json_node_first(b);
		uint32_t j = 0;

		for (; j < b->n; j++, o = lmi_json_node_next(o + 1))
			if (lmi_gr_schema_equal(k, o) && lmi_gr_schema_equal(k + 1, o + 1))
				break;
		if (j == b->n)
			return false;
	}
	return true;
}

bool lmi_gr_schema_equal(const struct lmi_json_node *a, const struct lmi_json_node *b)
{
	const struct lmi_json_node *x = lmi_json_node_first(a), *y = lmi_json_node_first(b);
	double p, q;

	if (a->type == LMI_JSON_INT && b->type == LMI_JSON_INT)
		return a->u.i == b->u.i;
	if (lmi_json_node_real(a, &p) && lmi_json_node_real(b, &q))
		return p == q;
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case LMI_JSON_BOOL:
		return a->u.b == b->u.b;
	case LMI_JSON_STRING:
		return a->n == b->n && !memcmp(a->u.s, b->u.s, a->n);
	case LMI_JSON_ARRAY:
		if (a->n != b->n)
			return false;
		for (uint32_t i = 0; i < a->n;
		     i++, x = lmi_json_node_next(x), y = lmi_json_node_next(y))
			if (!lmi_gr_schema_equal(x, y))
				return false;
		return true;
	case LMI_JSON_OBJECT:
		return a->n == b->n && equal_objects(a, b);
	default:
		return true;
	}
}

static uint32_t characters(const struct lmi_json_node *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n; i++)
		n += ((unsigned char)v->u.s[i] & 0xc0) != 0x80;
	return n;
}

/* Returns true if d is on the wrong side of `keyword` (sign 1: above it), equal to it while
 * `exclusive` is true (as in draft 4), or on the wrong side of the number `exclusive`. */
static bool violates(const struct lmi_json_node *schema, const char *keyword, const char *exclusive,
		     double d, double sign)
{
	const struct lmi_json_node *x = lmi_json_node_get(schema, exclusive);
	bool strict = lmi_json_node_is(x, LMI_JSON_BOOL) && x->u.b;
	double end;

	if (lmi_json_node_real(lmi_json_node_get(schema, keyword), &end) &&
	    ((d - end) * sign > 0 || (strict && d == end)))
		return true;
	return lmi_json_node_real(x, &end) && (d - end) * sign >= 0;
}

static bool in_bounds(const struct lmi_json_node *schema, double d)
{
	return !violates(schema, "minimum", "exclusiveMinimum", d, -1) &&
	       !violates(schema, "maximum", "exclusiveMaximum", d, 1);
}

/* from: the list that v is taken from, or NULL. */
static bool listed(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema,
		   const struct lmi_json_node *v, const struct lmi_json_node *from)
{
	const struct lmi_json_node *one = lmi_json_node_get(schema, "const");
	const struct lmi_json_node *list = lmi_gr_schema_get(s, schema, "enum", LMI_JSON_ARRAY);
	const struct lmi_json_node *e = lmi_json_node_first(list);

	if (one && !lmi_gr_schema_equal(one, v))
		return false;
	if (list && list == from)
		return true;
	if (list)
		lmi_gr_schema_step(s, list, 1 + list->n / COMPARISONS_PER_STEP);
	for (uint32_t i = 0; list && i < list->n; i++, e = lmi_json_node_next(e))
		if (lmi_gr_schema_equal(e, v))
			return true;
	return !list;
}

/* Listed values are checked only against types and bounds; other keywords for their type would be
 * silently ignored and are therefore rejected. */
static void check_listed(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema,
			 const struct lmi_json_node *v)
{
	static const struct {
		enum lmi_json_kind type;
		const char *keyword;
	} t[] = {{LMI_JSON_STRING, "pattern"},
		 {LMI_JSON_OBJECT, "properties"},
		 {LMI_JSON_OBJECT, "required"},
		 {LMI_JSON_OBJECT, "additionalProperties"},
		 {LMI_JSON_OBJECT, "patternProperties"},
		 {LMI_JSON_OBJECT, "unevaluatedProperties"},
		 {LMI_JSON_OBJECT, "minProperties"},
		 {LMI_JSON_OBJECT, "maxProperties"},
		 {LMI_JSON_ARRAY, "items"},
		 {LMI_JSON_ARRAY, "prefixItems"},
		 {LMI_JSON_ARRAY, "minItems"},
		 {LMI_JSON_ARRAY, "maxItems"}};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		const struct lmi_json_node *k = lmi_json_node_get(schema, t[i].keyword);

		if (k && v->type == t[i].type)
			lmi_gr_schema_fail(
				s, LMD_UNSUPPORTED, k,
				"'%s' is not supported for values listed in enum or const",
				t[i].keyword);
	}
}

static bool has_excluded_name(const struct lmi_json_node *schema, const struct lmi_json_node *v)
{
	const struct lmi_json_node *name = lmi_gr_schema_excluded_name(schema);
	const struct lmi_json_node *k = lmi_json_node_first(v);

	if (!name || !lmi_json_node_is(v, LMI_JSON_OBJECT))
		return false;
	for (uint32_t i = 0; i < v->n; i++, k = lmi_json_node_next(k + 1))
		if (lmi_gr_schema_equal(k, name))
			return true;
	return false;
}

static bool fits(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		 const struct lmi_json_node *v, const struct lmi_json_node *from)
{
	uint32_t n;
	double d;

	if (!lmi_gr_schema_type_fits(s, c, v))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		if (!listed(s, c->v[i], v, from))
			return false;
		check_listed(s, c->v[i], v);
		if (lmi_gr_schema_excludes_string(c->v[i], v) || has_excluded_name(c->v[i], v))
			return false;
		if (lmi_json_node_real(v, &d) && !in_bounds(c->v[i], d))
			return false;
		if (v->type != LMI_JSON_STRING)
			continue;
		if (lmi_gr_schema_count(s, c->v[i], "minLength", &n) && characters(v) < n)
			return false;
		if (lmi_gr_schema_count(s, c->v[i], "maxLength", &n) && characters(v) > n)
			return false;
	}
	return true;
}

static struct lmi_grammar_expr *scalar(struct lmi_gr_schema_compiler *s,
				       const struct lmi_json_node *v)
{
	struct lmi_json_text j = {0};
	struct lmi_grammar_expr *e = NULL, *alt;

	if (v->type == LMI_JSON_STRING)
		return lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\""),
					 lmi_gr_schema_chars(s, v->u.s, v->n),
					 lmi_gr_schema_ascii(s, "\""), NULL);
	lmi_json_text_node(&j, v);
	if (lmi_json_text_finish(&j, NULL) == LMD_OK)
		e = lmi_grammar_expr_text(&s->b, j.text, j.bytes);
	else
		lmi_grammar_builder_no_memory(&s->b);
	if (e && v->type == LMI_JSON_REAL && !strpbrk(j.text, ".eE")) { /* 1.0 also allows 1 */
		alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
		lmi_grammar_expr_append(&s->b, alt, e);
		lmi_grammar_expr_append(
			&s->b, alt,
			lmi_gr_schema_seq(s, lmi_grammar_expr_text(&s->b, j.text, j.bytes),
					  lmi_gr_schema_ascii(s, ".0"), NULL));
		e = alt;
	}
	lmi_json_text_fini(&j);
	return e;
}

struct lmi_grammar_expr *lmi_gr_schema_literal(struct lmi_gr_schema_compiler *s,
					       const struct lmi_json_node *v)
{
	const struct lmi_json_node *k = lmi_json_node_first(v);
	bool object = v->type == LMI_JSON_OBJECT;
	struct lmi_grammar_expr *seq;

	if (v->type < LMI_JSON_ARRAY)
		return scalar(s, v);
	seq = lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, object ? "{" : "["),
				lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), NULL);
	for (uint32_t i = 0; i < v->n && !lmi_gr_schema_failed(s); i++) {
		if (i)
			lmi_grammar_expr_append(
				&s->b, seq,
				lmi_gr_schema_seq(s, lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
						  lmi_gr_schema_ascii(s, ","),
						  lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
						  NULL));
		if (object)
			lmi_grammar_expr_append(
				&s->b, seq,
				lmi_gr_schema_seq(s, scalar(s, k),
						  lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
						  lmi_gr_schema_ascii(s, ":"),
						  lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
						  NULL));
		k += object;
		lmi_grammar_expr_append(&s->b, seq, lmi_gr_schema_literal(s, k));
		k = lmi_json_node_next(k);
	}
	if (v->n)
		lmi_grammar_expr_append(&s->b, seq, lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE));
	lmi_grammar_expr_append(&s->b, seq, lmi_gr_schema_ascii(s, object ? "}" : "]"));
	return seq;
}

static void add_if(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		   struct lmi_grammar_expr *alt, const struct lmi_json_node *v,
		   const struct lmi_json_node *from)
{
	if (fits(s, c, v, from))
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_literal(s, v));
}

struct lmi_grammar_expr *lmi_gr_schema_enum(struct lmi_gr_schema_compiler *s,
					    const struct lmi_gr_schema_conjunction *c)
{
	struct lmi_grammar_expr *alt;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *one = lmi_json_node_get(c->v[i], "const");
		const struct lmi_json_node *list =
			lmi_gr_schema_get(s, c->v[i], "enum", LMI_JSON_ARRAY);
		const struct lmi_json_node *v = lmi_json_node_first(list);

		if (!one && !list)
			continue;
		alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
		if (one)
			add_if(s, c, alt, one, NULL);
		else if (!v)
			lmi_gr_schema_fail(s, LMD_INVALID, list, "'enum' is empty");
		for (uint32_t k = 0; !one && v && k < list->n && !lmi_gr_schema_failed(s);
		     k++, v = lmi_json_node_next(v))
			add_if(s, c, alt, v, list);
		return alt && alt->n ? alt : lmi_gr_schema_never(s);
	}
	return NULL;
}
