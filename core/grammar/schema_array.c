/* SPDX-License-Identifier: MIT
 *
 * Arrays: elements that are described one by one, followed by any number of others. */
#include "core/grammar/schema.h"

/* Collects the schemas for element i: from each schema the one for this position, or the one for
 * the remaining elements. */
static void element(struct lmi_schema *s, const struct lmi_conj *c, uint32_t i,
		    struct lmi_conj *out)
{
	out->n = 0;
	out->never = false;
	for (uint32_t k = 0; k < c->n; k++) {
		const struct lmi_jnode *items = lmi_jnode_get(c->v[k], "items");
		const struct lmi_jnode *list = lmi_jnode_is(items, LMI_JARRAY)
						       ? items
						       : lmi_jnode_get(c->v[k], "prefixItems");
		const struct lmi_jnode *rest = lmi_jnode_is(items, LMI_JARRAY)
						       ? lmi_jnode_get(c->v[k], "additionalItems")
						       : items;
		const struct lmi_jnode *one = lmi_jnode_at(list, i);

		if (list && list->type != LMI_JARRAY)
			lmi_schema_fail(s, LMD_INVALID, list,
					"'prefixItems' has the wrong type: %s",
					lmi_jnode_kind(list));
		if (one)
			lmi_conj_add(s, out, one);
		else if (rest)
			lmi_conj_add(s, out, rest);
	}
}

/* Returns the number of elements described one by one. *open says whether others may follow: yes
 * if none are described or if a schema allows it. */
static uint32_t described_elements(const struct lmi_conj *c, bool *open)
{
	uint32_t n = 0;

	*open = false;
	for (uint32_t k = 0; k < c->n; k++) {
		const struct lmi_jnode *items = lmi_jnode_get(c->v[k], "items");
		bool old = lmi_jnode_is(items, LMI_JARRAY);
		const struct lmi_jnode *list = old ? items : lmi_jnode_get(c->v[k], "prefixItems");
		const struct lmi_jnode *rest =
			old ? lmi_jnode_get(c->v[k], "additionalItems") : items;

		if (lmi_jnode_is(list, LMI_JARRAY) && list->n > n)
			n = list->n;
		*open |= rest != NULL;
	}
	*open |= n == 0;
	return n;
}

static struct lmi_gx *separator(struct lmi_schema *s)
{
	return lmi_schema_seq(s, lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, ","),
			      lmi_schema_common(s, LMI_C_SPACE), NULL);
}

/* Elements from position i on, after `i` elements have been written; NULL if there are none. */
static struct lmi_gx *elements_from(struct lmi_schema *s, const struct lmi_conj *c, uint32_t n,
				    bool open, uint32_t min, uint32_t max)
{
	struct lmi_gx *tail = NULL;
	struct lmi_conj e;

	if (open && max > n) {
		uint32_t least = min > n ? min - n : 0, most = max == UINT32_MAX ? max : max - n;
		struct lmi_gx *one;

		element(s, c, n, &e);
		one = lmi_schema_value(s, &e);
		if (n) {
			tail = lmi_gx_repeat(&s->b, lmi_schema_seq(s, separator(s), one, NULL),
					     least, most);
		} else {
			tail = lmi_gx_repeat(&s->b, lmi_schema_seq(s, separator(s), one, NULL),
					     least ? least - 1 : 0,
					     most == UINT32_MAX ? most : most - 1);
			tail = lmi_gx_seq2(&s->b, one, tail);
			if (!least)
				tail = lmi_gx_optional(&s->b, tail);
		}
	}
	for (uint32_t i = n; i-- > 0;) {
		struct lmi_gx *one;

		if (i >= max)
			continue;
		element(s, c, i, &e);
		one = lmi_schema_value(s, &e);
		if (i)
			one = lmi_schema_seq(s, separator(s), one, NULL);
		tail = lmi_gx_seq2(&s->b, one, tail);
		if (i >= min)
			tail = lmi_gx_optional(&s->b, tail);
	}
	return tail;
}

struct lmi_gx *lmi_schema_array(struct lmi_schema *s, const struct lmi_conj *c)
{
	uint32_t min, max, n;
	struct lmi_gx *inside;
	bool open, given = false;

	if (!lmi_schema_counts(s, c, "minItems", "maxItems", &min, &max))
		return lmi_schema_never(s);
	n = described_elements(c, &open);
	if (n > LMI_GRAMMAR_COUNT_MAX) {
		lmi_schema_fail(s, LMD_INVALID, s->root, "too many described array elements: %u",
				n);
		return NULL;
	}
	for (uint32_t k = 0; k < c->n; k++)
		given |= lmi_jnode_get(c->v[k], "minItems") != NULL;
	if (!given) /* a schema that describes elements one by one expects them to be present */
		min = n < max ? n : max;
	if (!open && min > n)
		return lmi_schema_never(s);
	inside = elements_from(s, c, n, open, min, max);
	if (!inside)
		return lmi_schema_seq(s, lmi_schema_word(s, "["), lmi_schema_common(s, LMI_C_SPACE),
				      lmi_schema_word(s, "]"), NULL);
	return lmi_schema_seq(s, lmi_schema_word(s, "["), lmi_schema_common(s, LMI_C_SPACE), inside,
			      lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, "]"), NULL);
}
