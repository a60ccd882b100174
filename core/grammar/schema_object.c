/* SPDX-License-Identifier: MIT
 *
 * Objects. Members come in the order of the schema, or with the required ones first and the others
 * after them. Optional members may be left out. Members that are not described come last, and only
 * if the schema asks for them or describes none. If none are described, a few required names may
 * come in any order. */
#include <string.h>

#include "core/grammar/schema.h"

struct member {
	const struct lmi_jnode *key;
	bool required;
	struct lmi_gx *item; /* if unordered: key, colon, value */
};

struct members {
	struct member *v;
	uint32_t n, n_required;
	bool open;            /* other members may follow */
	bool unordered;       /* no member is described: v are the required names */
	struct lmi_gx *other; /* any undescribed member: key, colon, value */
};

/* Members of all schemas of the conjunction, in order, without duplicates. */

static bool same(const struct lmi_jnode *a, const struct lmi_jnode *b)
{
	return a->n == b->n && memcmp(a->u.s, b->u.s, a->n) == 0;
}

/* Maximum number of members of one object; each is compared with those before it. */
#define MEMBERS_MAX 4096
/* Maximum number of required names in any order; there is a rule for each subset of them. */
#define UNORDERED_MAX 5

static struct member *find(struct members *m, const struct lmi_jnode *key)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (same(m->v[i].key, key))
			return &m->v[i];
	return NULL;
}

static struct member *put(struct lmi_schema *s, struct members *m, const struct lmi_jnode *key)
{
	struct member *f = find(m, key);

	if (f)
		return f;
	if (m->n == MEMBERS_MAX) {
		lmi_schema_fail(s, LMD_INVALID, key, "an object with more than %d members",
				MEMBERS_MAX);
		return NULL;
	}
	f = &m->v[m->n++];
	*f = (struct member){.key = key};
	return f;
}

static uint32_t n_required(const struct lmi_conj *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_jnode *r = lmi_jnode_get(c->v[i], "required");

		n += lmi_jnode_is(r, LMI_JARRAY) ? r->n : 0;
	}
	return n;
}

static void collect(struct lmi_schema *s, const struct lmi_conj *c, struct members *m)
{
	bool described = false, said = false;

	for (uint32_t i = 0; i < c->n && !lmi_schema_failed(s); i++) {
		const struct lmi_jnode *p = lmi_schema_get(s, c->v[i], "properties", LMI_JOBJECT);
		const struct lmi_jnode *k = lmi_jnode_first(p);

		described |= p != NULL;
		said |= lmi_schema_other_members(c->v[i]) != NULL;
		for (uint32_t j = 0; p && j < p->n; j++, k = lmi_jnode_next(k + 1))
			(void)put(s, m, k);
	}
	m->open = said || !described;
	m->unordered = !described && n_required(c) <= UNORDERED_MAX;
	for (uint32_t i = 0; i < c->n && !lmi_schema_failed(s); i++) {
		const struct lmi_jnode *r = lmi_schema_get(s, c->v[i], "required", LMI_JARRAY);
		const struct lmi_jnode *k = lmi_jnode_first(r);

		for (uint32_t j = 0; r && j < r->n; j++, k = lmi_jnode_next(k)) {
			struct member *f;

			if (k->type != LMI_JSTRING) {
				lmi_schema_fail(s, LMD_INVALID, k,
						"a name in 'required' must be a "
						"string, not %s",
						lmi_jnode_kind(k));
				return;
			}
			f = described || m->unordered ? put(s, m, k) : NULL;
			m->n_required += f && !f->required;
			if (f)
				f->required = true;
		}
	}
}

/* Values */

/* Collects what applies to the value of a member: what each schema says about this name, or else
 * about names that it does not describe. */
static void value_of(struct lmi_schema *s, const struct lmi_conj *c, const struct lmi_jnode *key,
		     struct lmi_conj *out)
{
	out->n = 0;
	out->never = false;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_jnode *p = lmi_jnode_get(c->v[i], "properties"), *found = NULL;
		const struct lmi_jnode *k = lmi_jnode_first(p);

		for (uint32_t j = 0; key && lmi_jnode_is(p, LMI_JOBJECT) && j < p->n;
		     j++, k = lmi_jnode_next(k + 1))
			if (same(k, key))
				found = k + 1;
		if (!found)
			found = lmi_schema_other_members(c->v[i]);
		if (found)
			lmi_conj_add(s, out, found);
	}
}

static struct lmi_gx *after_key(struct lmi_schema *s, struct lmi_gx *key, struct lmi_conj *value)
{
	return lmi_schema_seq(s, key, lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, ":"),
			      lmi_schema_common(s, LMI_C_SPACE), lmi_schema_value(s, value), NULL);
}

static struct lmi_gx *member(struct lmi_schema *s, const struct lmi_conj *c,
			     const struct lmi_jnode *key)
{
	struct lmi_conj v;
	struct lmi_gx *name;

	value_of(s, c, key, &v);
	if (v.never)
		return lmi_schema_never(s);
	name = lmi_schema_seq(s, lmi_schema_word(s, "\""), lmi_schema_chars(s, key->u.s, key->n),
			      lmi_schema_word(s, "\""), NULL);
	return after_key(s, name, &v);
}

static struct lmi_gx *others(struct lmi_schema *s, const struct lmi_conj *c,
			     const struct members *m)
{
	const struct lmi_jnode **names;
	struct lmi_conj v;
	struct lmi_gx *key;

	value_of(s, c, NULL, &v);
	if (v.never)
		return NULL;
	if (!m->n)
		return v.n ? after_key(s, lmi_schema_common(s, LMI_C_STRING), &v)
			   : lmi_schema_common(s, LMI_C_MEMBER);
	names = lmi_arena_array(s->b.arena, m->n, sizeof(*names));
	if (!names) {
		lmi_gbuild_fail(&s->b, LMD_NOMEM, "schema: out of memory or too large");
		return NULL;
	}
	for (uint32_t i = 0; i < m->n; i++)
		names[i] = m->v[i].key;
	key = lmi_schema_other_key(s, names, m->n);
	return after_key(s, key, &v);
}

/* Orders */

static struct lmi_gx *separator(struct lmi_schema *s)
{
	return lmi_schema_seq(s, lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, ","),
			      lmi_schema_common(s, LMI_C_SPACE), NULL);
}

/* Members in the order of `m`. What may follow member i once something has been written is a rule
 * of its own, so that all starting points share it. */
static struct lmi_gx *in_order(struct lmi_schema *s, const struct members *m,
			       struct lmi_gx *const *item)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT), *tail = NULL, *first;
	struct lmi_gx **follow = lmi_arena_array(s->b.arena, m->n + 1, sizeof(*follow));

	if (!follow) {
		lmi_gbuild_fail(&s->b, LMD_NOMEM, "schema: out of memory or too large");
		return NULL;
	}
	if (m->other)
		tail = lmi_gx_repeat(&s->b, lmi_schema_seq(s, separator(s), m->other, NULL), 0,
				     UINT32_MAX);
	follow[m->n] = tail;
	for (uint32_t i = m->n; i-- > 0 && !lmi_schema_failed(s);) {
		uint32_t rule = lmi_gbuild_rule(&s->b, "members");
		struct lmi_gx *one = lmi_schema_seq(s, separator(s), item[i], NULL);

		if (!m->v[i].required)
			one = lmi_gx_optional(&s->b, one);
		one = lmi_gx_seq2(&s->b, one, follow[i + 1]);
		if (lmi_schema_failed(s))
			return NULL;
		s->b.rule[rule] = one;
		follow[i] = lmi_gx_rule(&s->b, rule);
	}
	for (uint32_t i = 0; i < m->n && !lmi_schema_failed(s); i++) {
		lmi_gx_add(&s->b, alt, lmi_gx_seq2(&s->b, item[i], follow[i + 1]));
		if (m->v[i].required)
			return alt;
	}
	first = m->other ? lmi_gx_seq2(&s->b, m->other, tail) : NULL;
	if (first)
		lmi_gx_add(&s->b, alt, first);
	lmi_gx_add(&s->b, alt, lmi_gx_new(&s->b, LMI_GX_SEQ)); /* the empty object */
	return alt;
}

/* Moves required members to the front; returns false if they already are there. */
static bool required_first(struct members *m, struct lmi_gx **item)
{
	bool moved = false;
	uint32_t to = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		struct member v = m->v[i];
		struct lmi_gx *e = item[i];

		if (!v.required)
			continue;
		moved |= i != to;
		memmove(m->v + to + 1, m->v + to, (i - to) * sizeof(*m->v));
		memmove(item + to + 1, item + to, (i - to) * sizeof(struct lmi_gx *));
		m->v[to] = v;
		item[to++] = e;
	}
	return moved;
}

static struct lmi_gx *described(struct lmi_schema *s, const struct lmi_conj *c, struct members *m)
{
	struct lmi_gx **item = lmi_arena_array(s->b.arena, m->n ? m->n : 1, sizeof(*item));
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT);

	if (!item) {
		lmi_gbuild_fail(&s->b, LMD_NOMEM, "schema: out of memory or too large");
		return NULL;
	}
	for (uint32_t i = 0; i < m->n && !lmi_schema_failed(s); i++) {
		uint32_t rule = lmi_gbuild_rule(&s->b, "member");
		struct lmi_gx *e = member(s, c, m->v[i].key);

		if (lmi_schema_failed(s))
			return NULL;
		s->b.rule[rule] = e;
		item[i] = lmi_gx_rule(&s->b, rule);
	}
	lmi_gx_add(&s->b, alt, in_order(s, m, item));
	if (required_first(m, item))
		lmi_gx_add(&s->b, alt, in_order(s, m, item));
	return lmi_gx_unwrap(alt);
}

/* What may come after the names in the bit set `seen` have been written; rule[set] is the same,
 * preceded by a separator. */
static struct lmi_gx *any_order_from(struct lmi_schema *s, const struct members *m,
				     const uint32_t *rule, uint32_t seen, bool first)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT);

	for (uint32_t i = 0; i <= m->n && !lmi_schema_failed(s); i++) {
		struct lmi_gx *one = i < m->n ? m->v[i].item : m->other;
		uint32_t then = i < m->n ? seen | 1u << i : seen;

		if (!one || (i < m->n && seen >> i & 1))
			continue;
		one = lmi_gx_seq2(&s->b, one, lmi_gx_rule(&s->b, rule[then]));
		lmi_gx_add(&s->b, alt, first ? one : lmi_gx_seq2(&s->b, separator(s), one));
	}
	if (seen == (1u << m->n) - 1)
		lmi_gx_add(&s->b, alt, lmi_gx_new(&s->b, LMI_GX_SEQ));
	return alt;
}

static struct lmi_gx *any_order(struct lmi_schema *s, const struct lmi_conj *c, struct members *m)
{
	uint32_t rule[1 << UNORDERED_MAX], n = 1u << m->n;

	for (uint32_t i = 0; i < m->n; i++)
		m->v[i].item = member(s, c, m->v[i].key);
	for (uint32_t i = 0; i < n; i++)
		rule[i] = lmi_gbuild_rule(&s->b, "members");
	for (uint32_t i = 0; i < n && !lmi_schema_failed(s); i++) {
		struct lmi_gx *e = any_order_from(s, m, rule, i, false);

		if (!lmi_schema_failed(s))
			s->b.rule[rule[i]] = e;
	}
	return any_order_from(s, m, rule, 0, true);
}

/* No member is described: only the number of members counts. */
static struct lmi_gx *counted(struct lmi_schema *s, const struct members *m, uint32_t min,
			      uint32_t max)
{
	struct lmi_gx *more, *e;

	if (!max || !m->other)
		return min ? lmi_schema_never(s) : lmi_gx_new(&s->b, LMI_GX_SEQ);
	more = lmi_schema_seq(s, separator(s), m->other, NULL);
	more = lmi_gx_repeat(&s->b, more, min ? min - 1 : 0, max == UINT32_MAX ? max : max - 1);
	e = lmi_gx_seq2(&s->b, m->other, more);
	return min ? e : lmi_gx_optional(&s->b, e);
}

/* Rejects counts that the expressions below cannot enforce. */
static void check_counts(struct lmi_schema *s, const struct lmi_conj *c, const struct members *m,
			 uint32_t min, uint32_t max)
{
	bool counted = !m->n && (m->open || !min); /* handled by counted() */

	for (uint32_t i = 0; i < c->n && !lmi_schema_failed(s); i++) {
		const struct lmi_jnode *r = lmi_jnode_get(c->v[i], "required");
		const struct lmi_jnode *least = lmi_jnode_get(c->v[i], "minProperties");
		const struct lmi_jnode *most = lmi_jnode_get(c->v[i], "maxProperties");

		if (lmi_jnode_is(r, LMI_JARRAY) && r->n && !m->n)
			lmi_schema_fail(s, LMD_UNSUPPORTED, r,
					"more than %d required names are not supported where no "
					"member is described",
					UNORDERED_MAX);
		else if (least && !counted && min > m->n_required)
			lmi_schema_fail(s, LMD_UNSUPPORTED, least,
					"'minProperties' is not supported where members are "
					"described, unless at least that many are required");
		else if (most && !counted && (m->other || max < m->n))
			lmi_schema_fail(s, LMD_UNSUPPORTED, most,
					"'maxProperties' is not supported where members are "
					"described, unless it allows all of them");
	}
}

/* Returns an upper bound of the number of described members. */
static size_t max_members(const struct lmi_conj *c)
{
	size_t n = 1;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_jnode *p = lmi_jnode_get(c->v[i], "properties");
		const struct lmi_jnode *r = lmi_jnode_get(c->v[i], "required");

		n += (p ? p->n : 0) + (r ? r->n : 0);
	}
	return n < MEMBERS_MAX ? n : MEMBERS_MAX;
}

struct lmi_gx *lmi_schema_object(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct members m = {.v = lmi_arena_array(s->b.arena, max_members(c), sizeof(*m.v))};
	uint32_t min, max;
	struct lmi_gx *inside;

	if (!m.v) {
		lmi_gbuild_fail(&s->b, LMD_NOMEM, "schema: out of memory or too large");
		return NULL;
	}
	if (!lmi_schema_counts(s, c, "minProperties", "maxProperties", &min, &max))
		return lmi_schema_never(s);
	collect(s, c, &m);
	if (lmi_schema_failed(s))
		return NULL;
	if (m.open)
		m.other = others(s, c, &m);
	check_counts(s, c, &m, min, max);
	if (lmi_schema_failed(s))
		return NULL;
	if (!m.n)
		inside = counted(s, &m, min, max);
	else
		inside = m.unordered ? any_order(s, c, &m) : described(s, c, &m);
	return lmi_schema_seq(s, lmi_schema_word(s, "{"), lmi_schema_common(s, LMI_C_SPACE), inside,
			      lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, "}"), NULL);
}
