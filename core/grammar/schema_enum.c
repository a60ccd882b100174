/* SPDX-License-Identifier: MIT
 *
 * Listed values (enum and const) that the other schemas at the place also allow. */
#include <math.h>
#include <string.h>

#include "core/base/json_text.h"
#include "core/grammar/schema.h"

static bool equal_objects(const struct lmi_jnode *a, const struct lmi_jnode *b)
{
	const struct lmi_jnode *k = lmi_jnode_first(a);

	for (uint32_t i = 0; i < a->n; i++, k = lmi_jnode_next(k + 1)) {
		const struct lmi_jnode *o = lmi_jnode_first(b);
		uint32_t j = 0;

		for (; j < b->n; j++, o = lmi_jnode_next(o + 1))
			if (lmi_schema_equal(k, o) && lmi_schema_equal(k + 1, o + 1))
				break;
		if (j == b->n)
			return false;
	}
	return true;
}

bool lmi_schema_equal(const struct lmi_jnode *a, const struct lmi_jnode *b)
{
	const struct lmi_jnode *x = lmi_jnode_first(a), *y = lmi_jnode_first(b);
	double p, q;

	if (a->type == LMI_JINT && b->type == LMI_JINT)
		return a->u.i == b->u.i;
	if (lmi_jnode_real(a, &p) && lmi_jnode_real(b, &q))
		return p == q;
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case LMI_JBOOL:
		return a->u.b == b->u.b;
	case LMI_JSTRING:
		return a->n == b->n && !memcmp(a->u.s, b->u.s, a->n);
	case LMI_JARRAY:
		if (a->n != b->n)
			return false;
		for (uint32_t i = 0; i < a->n; i++, x = lmi_jnode_next(x), y = lmi_jnode_next(y))
			if (!lmi_schema_equal(x, y))
				return false;
		return true;
	case LMI_JOBJECT:
		return a->n == b->n && equal_objects(a, b);
	default:
		return true;
	}
}

static uint32_t characters(const struct lmi_jnode *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n; i++)
		n += ((unsigned char)v->u.s[i] & 0xc0) != 0x80;
	return n;
}

/* Returns true if d is on the wrong side of `keyword` (sign 1: above it), equal to it while
 * `exclusive` is true (as in draft 4), or on the wrong side of the number `exclusive`. */
static bool violates(const struct lmi_jnode *schema, const char *keyword, const char *exclusive,
		     double d, double sign)
{
	const struct lmi_jnode *x = lmi_jnode_get(schema, exclusive);
	bool strict = lmi_jnode_is(x, LMI_JBOOL) && x->u.b;
	double end;

	if (lmi_jnode_real(lmi_jnode_get(schema, keyword), &end) &&
	    ((d - end) * sign > 0 || (strict && d == end)))
		return true;
	return lmi_jnode_real(x, &end) && (d - end) * sign >= 0;
}

static bool in_bounds(const struct lmi_jnode *schema, double d)
{
	return !violates(schema, "minimum", "exclusiveMinimum", d, -1) &&
	       !violates(schema, "maximum", "exclusiveMaximum", d, 1);
}

static bool listed(struct lmi_schema *s, const struct lmi_jnode *schema, const struct lmi_jnode *v)
{
	const struct lmi_jnode *one = lmi_jnode_get(schema, "const");
	const struct lmi_jnode *list = lmi_schema_get(s, schema, "enum", LMI_JARRAY);
	const struct lmi_jnode *e = lmi_jnode_first(list);

	if (one && !lmi_schema_equal(one, v))
		return false;
	for (uint32_t i = 0; list && i < list->n; i++, e = lmi_jnode_next(e))
		if (lmi_schema_equal(e, v))
			return true;
	return !list;
}

/* Listed values are checked only against types and bounds; other keywords for their type would be
 * silently ignored and are therefore rejected. */
static void check_listed(struct lmi_schema *s, const struct lmi_jnode *schema,
			 const struct lmi_jnode *v)
{
	static const struct {
		enum lmi_jtype type;
		const char *keyword;
	} t[] = {{LMI_JSTRING, "pattern"},    {LMI_JOBJECT, "properties"},
		 {LMI_JOBJECT, "required"},   {LMI_JOBJECT, "additionalProperties"},
		 {LMI_JOBJECT, "unevaluatedProperties"},
		 {LMI_JOBJECT, "minProperties"}, {LMI_JOBJECT, "maxProperties"},
		 {LMI_JARRAY, "items"},       {LMI_JARRAY, "prefixItems"},
		 {LMI_JARRAY, "minItems"},    {LMI_JARRAY, "maxItems"}};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		const struct lmi_jnode *k = lmi_jnode_get(schema, t[i].keyword);

		if (k && v->type == t[i].type)
			lmi_schema_fail(s, LMD_UNSUPPORTED, k,
					"'%s' is not supported for values listed in enum or const",
					t[i].keyword);
	}
}

static bool fits(struct lmi_schema *s, const struct lmi_conj *c, const struct lmi_jnode *v)
{
	uint32_t n;
	double d;

	if (!lmi_schema_type_fits(s, c, v))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		if (!listed(s, c->v[i], v))
			return false;
		check_listed(s, c->v[i], v);
		if (lmi_jnode_real(v, &d) && !in_bounds(c->v[i], d))
			return false;
		if (v->type != LMI_JSTRING)
			continue;
		if (lmi_schema_count(s, c->v[i], "minLength", &n) && characters(v) < n)
			return false;
		if (lmi_schema_count(s, c->v[i], "maxLength", &n) && characters(v) > n)
			return false;
	}
	return true;
}

static struct lmi_gx *scalar(struct lmi_schema *s, const struct lmi_jnode *v)
{
	struct lmi_jtext j = {0};
	struct lmi_gx *e = NULL, *alt;

	if (v->type == LMI_JSTRING)
		return lmi_schema_seq(s, lmi_schema_word(s, "\""),
				      lmi_schema_chars(s, v->u.s, v->n), lmi_schema_word(s, "\""),
				      NULL);
	lmi_jtext_node(&j, v);
	if (lmi_jtext_finish(&j, NULL) == LMD_OK)
		e = lmi_gx_text(&s->b, j.text, j.bytes);
	else
		lmi_gbuild_fail(&s->b, LMD_NOMEM, "schema: out of memory or too large");
	if (e && v->type == LMI_JREAL && !strpbrk(j.text, ".eE")) { /* 1.0 also allows 1 */
		alt = lmi_gx_new(&s->b, LMI_GX_ALT);
		lmi_gx_add(&s->b, alt, e);
		lmi_gx_add(&s->b, alt,
			   lmi_schema_seq(s, lmi_gx_text(&s->b, j.text, j.bytes),
					  lmi_schema_word(s, ".0"), NULL));
		e = alt;
	}
	lmi_jtext_fini(&j);
	return e;
}

struct lmi_gx *lmi_schema_literal(struct lmi_schema *s, const struct lmi_jnode *v)
{
	const struct lmi_jnode *k = lmi_jnode_first(v);
	bool object = v->type == LMI_JOBJECT;
	struct lmi_gx *seq;

	if (v->type < LMI_JARRAY)
		return scalar(s, v);
	seq = lmi_schema_seq(s, lmi_schema_word(s, object ? "{" : "["),
			     lmi_schema_common(s, LMI_C_SPACE), NULL);
	for (uint32_t i = 0; i < v->n && !lmi_schema_failed(s); i++) {
		if (i)
			lmi_gx_add(&s->b, seq,
				   lmi_schema_seq(s, lmi_schema_common(s, LMI_C_SPACE),
						  lmi_schema_word(s, ","),
						  lmi_schema_common(s, LMI_C_SPACE), NULL));
		if (object)
			lmi_gx_add(&s->b, seq,
				   lmi_schema_seq(s, scalar(s, k),
						  lmi_schema_common(s, LMI_C_SPACE),
						  lmi_schema_word(s, ":"),
						  lmi_schema_common(s, LMI_C_SPACE), NULL));
		k += object;
		lmi_gx_add(&s->b, seq, lmi_schema_literal(s, k));
		k = lmi_jnode_next(k);
	}
	if (v->n)
		lmi_gx_add(&s->b, seq, lmi_schema_common(s, LMI_C_SPACE));
	lmi_gx_add(&s->b, seq, lmi_schema_word(s, object ? "}" : "]"));
	return seq;
}

static void add_if(struct lmi_schema *s, const struct lmi_conj *c, struct lmi_gx *alt,
		   const struct lmi_jnode *v)
{
	if (fits(s, c, v))
		lmi_gx_add(&s->b, alt, lmi_schema_literal(s, v));
}

struct lmi_gx *lmi_schema_enum(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct lmi_gx *alt;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_jnode *one = lmi_jnode_get(c->v[i], "const");
		const struct lmi_jnode *list = lmi_schema_get(s, c->v[i], "enum", LMI_JARRAY);
		const struct lmi_jnode *v = lmi_jnode_first(list);

		if (!one && !list)
			continue;
		alt = lmi_gx_new(&s->b, LMI_GX_ALT);
		if (one)
			add_if(s, c, alt, one);
		else if (!v)
			lmi_schema_fail(s, LMD_INVALID, list, "'enum' is empty");
		for (uint32_t k = 0; !one && v && k < list->n && !lmi_schema_failed(s);
		     k++, v = lmi_jnode_next(v))
			add_if(s, c, alt, v);
		return alt && alt->n ? alt : lmi_schema_never(s);
	}
	return NULL;
}
