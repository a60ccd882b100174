/* SPDX-License-Identifier: MIT
 *
 * Arrays: elements that are described one by one, followed by any number of others. */
#include "core/grammar/schema.h"

/* Collects the schemas for element i: from each schema the one for this position, or the one for
 * the remaining elements. */
static void element(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		    uint32_t i, struct lmi_gr_schema_conjunction *out)
{
	out->n = 0;
	out->never = false;
	for (uint32_t k = 0; k < c->n; k++) {
		const struct lmi_json_node *items = lmi_json_node_get(c->v[k], "items");
		const struct lmi_json_node *list =
			lmi_json_node_is(items, LMI_JSON_ARRAY)
				? items
				: lmi_json_node_get(c->v[k], "prefixItems");
		const struct lmi_json_node *rest =
			lmi_json_node_is(items, LMI_JSON_ARRAY)
				? lmi_json_node_get(c->v[k], "additionalItems")
				: items;
		const struct lmi_json_node *one = lmi_json_node_at(list, i);

		if (list && list->type != LMI_JSON_ARRAY)
			lmi_gr_schema_fail(s, LMD_INVALID, list,
					   "'prefixItems' has the wrong type: %s",
					   lmi_json_node_kind(list));
		if (one)
			lmi_gr_schema_conjunction_add(s, out, one);
		else if (rest)
			lmi_gr_schema_conjunction_add(s, out, rest);
	}
}

/* Returns the number of elements described one by one. *open says whether others may follow: yes
 * if none are described or if a schema allows it. */
static uint32_t described_elements(const struct lmi_gr_schema_conjunction *c, bool *open)
{
	uint32_t n = 0;

	*open = false;
	for (uint32_t k = 0; k < c->n; k++) {
		const struct lmi_json_node *items = lmi_json_node_get(c->v[k], "items");
		bool old = lmi_json_node_is(items, LMI_JSON_ARRAY);
		const struct lmi_json_node *list =
			old ? items : lmi_json_node_get(c->v[k], "prefixItems");
		const struct lmi_json_node *rest =
			old ? lmi_json_node_get(c->v[k], "additionalItems") : items;

		if (lmi_json_node_is(list, LMI_JSON_ARRAY) && list->n > n)
			n = list->n;
		*open |= rest != NULL;
	}
	*open |= n == 0;
	return n;
}

static struct lmi_grammar_expr *separator(struct lmi_gr_schema_compiler *s)
{
	return lmi_gr_schema_seq(s, lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
				 lmi_gr_schema_ascii(s, ","),
				 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), NULL);
}

/* Elements from position i on, after `i` elements have been written; NULL if there are none. */
static struct lmi_grammar_expr *elements_from(struct lmi_gr_schema_compiler *s,
					      const struct lmi_gr_schema_conjunction *c, uint32_t n,
					      bool open, uint32_t min, uint32_t max)
{
	struct lmi_grammar_expr *tail = NULL;
	struct lmi_gr_schema_conjunction e;

	if (open && max > n) {
		uint32_t least = min > n ? min - n : 0, most = max == UINT32_MAX ? max : max - n;
		struct lmi_grammar_expr *one;

		element(s, c, n, &e);
		one = lmi_gr_schema_value(s, &e);
		if (n) {
			tail = lmi_grammar_expr_repeat(
				&s->b, lmi_gr_schema_seq(s, separator(s), one, NULL), least, most);
		} else {
			tail = lmi_grammar_expr_repeat(
				&s->b, lmi_gr_schema_seq(s, separator(s), one, NULL),
				least ? least - 1 : 0, most == UINT32_MAX ? most : most - 1);
			tail = lmi_grammar_expr_concat(&s->b, one, tail);
			if (!least)
				tail = lmi_grammar_expr_optional(&s->b, tail);
		}
	}
	for (uint32_t i = n; i-- > 0;) {
		struct lmi_grammar_expr *one;

		if (i >= max)
			continue;
		element(s, c, i, &e);
		one = lmi_gr_schema_value(s, &e);
		if (i)
			one = lmi_gr_schema_seq(s, separator(s), one, NULL);
		tail = lmi_grammar_expr_concat(&s->b, one, tail);
		if (i >= min)
			tail = lmi_grammar_expr_optional(&s->b, tail);
	}
	return tail;
}

struct lmi_grammar_expr *lmi_gr_schema_array(struct lmi_gr_schema_compiler *s,
					     const struct lmi_gr_schema_conjunction *c)
{
	uint32_t min, max, n;
	struct lmi_grammar_expr *inside;
	bool open, given = false;

	if (!lmi_gr_schema_counts(s, c, "minItems", "maxItems", &min, &max))
		return lmi_gr_schema_never(s);
	n = described_elements(c, &open);
	if (n > LMI_GRAMMAR_COUNT_MAX) {
		lmi_gr_schema_fail(s, LMD_INVALID, s->root, "too many described array elements: %u",
				   n);
		return NULL;
	}
	for (uint32_t k = 0; k < c->n; k++)
		given |= lmi_json_node_get(c->v[k], "minItems") != NULL;
	if (!given) /* a schema that describes elements one by one expects them to be present */
		min = n < max ? n : max;
	if (!open && min > n)
		return lmi_gr_schema_never(s);
	inside = elements_from(s, c, n, open, min, max);
	if (!inside)
		return lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "["),
					 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
					 lmi_gr_schema_ascii(s, "]"), NULL);
	return lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "["),
				 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), inside,
				 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
				 lmi_gr_schema_ascii(s, "]"), NULL);
}
