/* SPDX-License-Identifier: MIT
 *
 * Collects the schemas that apply at a place by following $ref and allOf. */
#include <string.h>

#include "core/base/cancel.h"
#include "core/base/printable.h"
#include "core/grammar/schema.h"

#define REF_DEPTH 64
/* A step of the compiler takes about this long. */
#define STEP_NS 500
/* Nodes that are compared in a step. */
#define NODES_PER_STEP 64
/* A schema with so many members takes more than a step. */
#define MANY_MEMBERS 32

void lmi_gr_schema_step(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *at,
			uint32_t n)
{
	s->n_steps += n;
	if (s->n_steps > LMI_GR_SCHEMA_STEPS_MAX)
		lmi_gr_schema_fail(s, LMD_INVALID, at,
				   "the schema takes more than %u steps to compile",
				   LMI_GR_SCHEMA_STEPS_MAX);
	if (!lmi_cancel_step((uint64_t)n * STEP_NS / 10))
		lmi_gr_schema_fail(s, LMD_CANCELLED, at, "cancelled");
}

/* References */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the next part of a JSON pointer: first %XX of URLs, then ~0 and ~1. Returns its
 * length. */
static size_t pointer_part(const char **p, const char *end, char *out, size_t cap)
{
	size_t n = 0;

	while (*p < end && **p != '/') {
		char c = *(*p)++;

		if (c == '%' && end - *p >= 2 && hex_digit((*p)[0]) >= 0 &&
		    hex_digit((*p)[1]) >= 0) {
			c = (char)(hex_digit((*p)[0]) << 4 | hex_digit((*p)[1]));
			*p += 2;
		}
		if (c == '~' && *p < end && (**p == '0' || **p == '1'))
			c = *(*p)++ == '0' ? '~' : '/';
		if (n < cap)
			out[n] = c;
		n++;
	}
	return n;
}

static const struct lmi_json_node *child(struct lmi_gr_schema_compiler *s,
					 const struct lmi_json_node *v, const char *name, size_t n)
{
	const struct lmi_json_node *k = lmi_json_node_first(v), *found = NULL;
	uint32_t index = 0;

	lmi_gr_schema_step(s, v, 1 + v->n / NODES_PER_STEP);
	if (lmi_json_node_is(v, LMI_JSON_ARRAY)) {
		if (!n || n > 9 || (n > 1 && name[0] == '0'))
			return NULL;
		for (size_t i = 0; i < n; i++) {
			if (name[i] < '0' || name[i] > '9')
				return NULL;
			index = index * 10 + (uint32_t)(name[i] - '0');
		}
		return lmi_json_node_at(v, index);
	}
	if (!lmi_json_node_is(v, LMI_JSON_OBJECT))
		return NULL;
	for (uint32_t i = 0; i < v->n; i++, k = lmi_json_node_next(k + 1))
		if (k->n == n && memcmp(k->u.s, name, n) == 0)
			found = k + 1;
	return found;
}

/* Finds a schema anywhere in the tree with this $anchor or this $id. */
static const struct lmi_json_node *find_by_id(struct lmi_gr_schema_compiler *s,
					      const char *keyword, const char *name)
{
	lmi_gr_schema_step(s, s->root, 1 + s->root->span / NODES_PER_STEP);
	for (const struct lmi_json_node *v = s->root; v < s->root + s->root->span; v++)
		if (lmi_json_node_eq(lmi_json_node_get(v, keyword), name))
			return v;
	return NULL;
}

static const struct lmi_json_node *resolve(struct lmi_gr_schema_compiler *s,
					   const struct lmi_json_node *ref)
{
	const struct lmi_json_node *v = s->root;
	const char *p = ref->u.s, *end = p + ref->n;
	char part[256], show[128];

	if (p < end && *p != '#') {
		v = find_by_id(s, "$id", p);
	} else if (end - p > 1 && p[1] != '/') {
		v = find_by_id(s, "$anchor", p + 1);
	} else if (end - p > 1) {
		for (p++; v && p < end;) {
			size_t n;

			p++;
			n = pointer_part(&p, end, part, sizeof(part));
			v = n <= sizeof(part) ? child(s, v, part, n) : NULL;
		}
	}
	if (!v)
		lmi_gr_schema_fail(s, LMD_INVALID, ref, "'$ref' does not resolve: %s",
				   lmi_printable(show, sizeof(show), ref->u.s, ref->n));
	return v;
}

/* Conjunctions */

static void add(struct lmi_gr_schema_compiler *s, struct lmi_gr_schema_conjunction *c,
		const struct lmi_json_node *schema, uint32_t depth)
{
	const struct lmi_json_node *ref, *all, *v;

	if (lmi_gr_schema_failed(s))
		return;
	if (lmi_json_node_is(schema, LMI_JSON_BOOL)) {
		c->never |= !schema->u.b;
		return;
	}
	if (!lmi_json_node_is(schema, LMI_JSON_OBJECT)) {
		lmi_gr_schema_fail(s, LMD_INVALID, schema,
				   "a schema must be an object or a boolean, not %s",
				   lmi_json_node_kind(schema));
		return;
	}
	for (uint32_t i = 0; i < c->n; i++)
		if (c->v[i] == schema)
			return;
	lmi_gr_schema_step(s, schema, 1);
	if (schema->n >= MANY_MEMBERS) /* each keyword is looked for among all of them */
		s->n_steps += schema->n / 3;
	if (c->n == LMI_GR_SCHEMA_CONJUNCTION_MAX || depth > REF_DEPTH) {
		lmi_gr_schema_fail(s, LMD_INVALID, schema, "too many schemas apply at one place");
		return;
	}
	c->v[c->n++] = schema;
	lmi_gr_schema_check(s, schema);
	ref = lmi_gr_schema_get(s, schema, "$ref", LMI_JSON_STRING);
	if (ref) {
		const struct lmi_json_node *to = resolve(s, ref);

		for (uint32_t i = 0; i < c->n && to; i++)
			if (c->v[i] == to)
				lmi_gr_schema_fail(s, LMD_INVALID, ref, "'$ref' refers to itself");
		if (to)
			add(s, c, to, depth + 1);
	}
	all = lmi_gr_schema_get(s, schema, "allOf", LMI_JSON_ARRAY);
	v = lmi_json_node_first(all);
	for (uint32_t i = 0; all && i < all->n; i++, v = lmi_json_node_next(v))
		add(s, c, v, depth + 1);
}

void lmi_gr_schema_conjunction_init(struct lmi_gr_schema_compiler *s,
				    struct lmi_gr_schema_conjunction *c,
				    const struct lmi_json_node *schema)
{
	c->n = 0;
	c->never = false;
	add(s, c, schema, 0);
}

void lmi_gr_schema_conjunction_add(struct lmi_gr_schema_compiler *s,
				   struct lmi_gr_schema_conjunction *c,
				   const struct lmi_json_node *schema)
{
	add(s, c, schema, 0);
}
