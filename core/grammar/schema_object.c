/* SPDX-License-Identifier: MIT
 *
 * Objects. Members come in the order of the schema, or with the required ones first and the others
 * after them. Optional members may be left out. Members that are not described come last, and only
 * if the schema asks for them, by a pattern for instance, or describes none. If none are described,
 * a few required names may come in any order. */
#include <string.h>

#include "core/base/siphash.h"
#include "core/grammar/schema.h"
#include "core/grammar/schema_read.h"

/* What schema i of the conjunction says about a member. */
struct described_value {
	const struct lmi_json_node *v;
	uint32_t i;
	struct described_value *next; /* in the order of the schemas */
};

struct member {
	const struct lmi_json_node *key;
	bool required;
	struct described_value *values, **values_end;
	struct lmi_grammar_expr *item; /* if unordered: key, colon, value */
};

struct members {
	struct member *v;
	uint32_t n, n_required;
	uint32_t *slot, n_slot;                /* a hash table of the names: index in v, + 1 */
	const struct lmi_json_node **excluded; /* names that no member may have */
	uint32_t n_excluded;
	bool by_pattern;      /* some members are described by patterns */
	bool open;            /* other members may follow */
	bool unordered;       /* no member is described: v are the required names */
	struct lmi_grammar_expr *other; /* any undescribed member: key, colon, value */
};

/* Members of all schemas of the conjunction, in order, without duplicates. */

static bool same(const struct lmi_json_node *a, const struct lmi_json_node *b)
{
	return a->n == b->n && memcmp(a->u.s, b->u.s, a->n) == 0;
}

/* Maximum number of members of one object. */
#define MEMBERS_MAX 4096
/* Maximum number of required names in any order; there is a rule for each subset of them. */
#define UNORDERED_MAX 5

/* Returns the slot of a name: that of its member, or a free one. */
static uint32_t *slot_of(struct members *m, const struct lmi_json_node *key)
{
	const uint64_t secret[2] = {(uintptr_t)m->v, (uintptr_t)m->slot};
	uint32_t i = (uint32_t)lmi_siphash(secret, key->u.s, key->n) & (m->n_slot - 1);

	while (m->slot[i] && !same(m->v[m->slot[i] - 1].key, key))
		i = (i + 1) & (m->n_slot - 1);
	return &m->slot[i];
}

static struct member *put(struct lmi_gr_schema_compiler *s, struct members *m,
			  const struct lmi_json_node *key)
{
	uint32_t *slot = slot_of(m, key);
	struct member *f;

	lmi_grammar_builder_step(&s->b, 1 + key->n / 8);
	if (*slot)
		return &m->v[*slot - 1];
	if (m->n == MEMBERS_MAX) {
		lmi_gr_schema_fail(s, LMD_INVALID, key, "an object with more than %d members",
				   MEMBERS_MAX);
		return NULL;
	}
	f = &m->v[m->n++];
	*f = (struct member){.key = key};
	f->values_end = &f->values;
	*slot = m->n;
	return f;
}

/* Adds what schema i says about the member. */
static void put_value(struct lmi_gr_schema_compiler *s, struct member *f, uint32_t i,
		      const struct lmi_json_node *v)
{
	struct described_value *d = lmi_arena_array(s->b.arena, 1, sizeof(*d));

	if (!d) {
		lmi_grammar_builder_no_memory(&s->b);
		return;
	}
	*d = (struct described_value){.v = v, .i = i};
	*f->values_end = d;
	f->values_end = &d->next;
}

static uint32_t n_required(const struct lmi_gr_schema_conjunction *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *r = lmi_json_node_get(c->v[i], "required");

		n += lmi_json_node_is(r, LMI_JSON_ARRAY) ? r->n : 0;
	}
	return n;
}

static void collect(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		    struct members *m)
{
	bool closed = false, listed = false, has_rule = false;

	for (uint32_t i = 0; i < c->n && !lmi_gr_schema_failed(s); i++) {
		const struct lmi_json_node *p =
			lmi_gr_schema_get(s, c->v[i], "properties", LMI_JSON_OBJECT);
		const struct lmi_json_node *k = lmi_json_node_first(p);
		const struct lmi_json_node *name = lmi_gr_schema_excluded_name(c->v[i]);

		listed |= p != NULL;
		closed |= p && !lmi_json_node_get(c->v[i], LMI_GR_SCHEMA_CONDITION);
		m->by_pattern |= lmi_gr_schema_key_patterns(s, c->v[i]) != NULL;
		has_rule |= lmi_gr_schema_other_members(c->v[i]) != NULL;
		if (name)
			m->excluded[m->n_excluded++] = name;
		for (uint32_t j = 0; p && j < p->n && !lmi_gr_schema_failed(s);
		     j++, k = lmi_json_node_next(k + 1)) {
			struct member *f = put(s, m, k);

			if (f)
				put_value(s, f, i, k + 1);
		}
	}
	m->open = has_rule || !(closed || m->by_pattern);
	m->unordered = !listed && n_required(c) <= UNORDERED_MAX;
	for (uint32_t i = 0; i < c->n && !lmi_gr_schema_failed(s); i++) {
		const struct lmi_json_node *r =
			lmi_gr_schema_get(s, c->v[i], "required", LMI_JSON_ARRAY);
		const struct lmi_json_node *k = lmi_json_node_first(r);

		for (uint32_t j = 0; r && j < r->n; j++, k = lmi_json_node_next(k)) {
			struct member *f;

			if (k->type != LMI_JSON_STRING) {
				lmi_gr_schema_fail(s, LMD_INVALID, k,
						   "a name in 'required' must be a "
						   "string, not %s",
						   lmi_json_node_kind(k));
				return;
			}
			f = listed || m->unordered ? put(s, m, k) : NULL;
			m->n_required += f && !f->required;
			if (f)
				f->required = true;
		}
	}
}

/* Values */

/* Collects what applies to the value of a member (NULL: one that is not described): what each schema
 * says about it, or else about names that it does not describe. */
static void value_of(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		     const struct member *f, struct lmi_gr_schema_conjunction *out)
{
	const struct described_value *d = f ? f->values : NULL;

	out->n = 0;
	out->never = false;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *excluded = lmi_gr_schema_excluded_name(c->v[i]), *v;

		out->never |= f && excluded && same(excluded, f->key);
		if (d && d->i == i) {
			v = d->v;
			d = d->next;
		} else {
			v = lmi_gr_schema_other_members(c->v[i]);
		}
		if (v)
			lmi_gr_schema_conjunction_add(s, out, v);
	}
}

struct lmi_grammar_expr *lmi_gr_schema_member(struct lmi_gr_schema_compiler *s,
					      struct lmi_grammar_expr *key,
					      struct lmi_gr_schema_conjunction *value)
{
	return lmi_gr_schema_seq(
		s, key, lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), lmi_gr_schema_ascii(s, ":"),
		lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), lmi_gr_schema_value(s, value), NULL);
}

static struct lmi_grammar_expr *member(struct lmi_gr_schema_compiler *s,
				       const struct lmi_gr_schema_conjunction *c,
				       const struct member *f)
{
	struct lmi_gr_schema_conjunction v;
	struct lmi_grammar_expr *name;

	value_of(s, c, f, &v);
	if (v.never)
		return lmi_gr_schema_never(s);
	name = lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\""),
				 lmi_gr_schema_chars(s, f->key->u.s, f->key->n),
				 lmi_gr_schema_ascii(s, "\""), NULL);
	return lmi_gr_schema_member(s, name, &v);
}

/* Returns the names of all described and excluded members, or NULL. */
static const struct lmi_json_node **all_names(struct lmi_gr_schema_compiler *s,
					      const struct members *m)
{
	const struct lmi_json_node **names =
		lmi_arena_array(s->b.arena, m->n + m->n_excluded + 1, sizeof(*names));

	if (!names) {
		lmi_grammar_builder_no_memory(&s->b);
		return NULL;
	}
	for (uint32_t i = 0; i < m->n; i++)
		names[i] = m->v[i].key;
	for (uint32_t i = 0; i < m->n_excluded; i++)
		names[m->n + i] = m->excluded[i];
	return names;
}

static struct lmi_grammar_expr *others(struct lmi_gr_schema_compiler *s,
				       const struct lmi_gr_schema_conjunction *c,
				       const struct members *m)
{
	const struct lmi_json_node **names;
	struct lmi_gr_schema_conjunction v;
	struct lmi_grammar_expr *key;

	value_of(s, c, NULL, &v);
	if (v.never)
		return NULL;
	if (!m->n && !m->n_excluded)
		return v.n ? lmi_gr_schema_member(s, lmi_gr_schema_common(s, LMI_GR_COMMON_STRING),
						  &v)
			   : lmi_gr_schema_common(s, LMI_GR_COMMON_MEMBER);
	names = all_names(s, m);
	if (!names)
		return NULL;
	key = lmi_gr_schema_key_except(s, names, m->n + m->n_excluded);
	return lmi_gr_schema_member(s, key, &v);
}

/* Sets m->other: what members may follow those that are named. */
static void set_others(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		       struct members *m)
{
	const struct lmi_json_node **names = all_names(s, m);
	struct lmi_grammar_expr *by_pattern =
		names ? lmi_gr_schema_pattern_members(s, c, names, m->n + m->n_excluded) : NULL;

	if (lmi_gr_schema_failed(s))
		return;
	m->other = m->open ? others(s, c, m) : NULL;
	if (m->by_pattern && m->other)
		lmi_gr_schema_fail(s, LMD_UNSUPPORTED, c->v[0],
				   "'patternProperties' is not supported where members that no "
				   "pattern describes are allowed");
	if (!by_pattern)
		return;
	m->other = by_pattern;
	m->open = true;
}

/* Orders */

static struct lmi_grammar_expr *separator(struct lmi_gr_schema_compiler *s)
{
	return lmi_gr_schema_seq(s, lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
				 lmi_gr_schema_ascii(s, ","),
				 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), NULL);
}

/* Members in the order of `m`. What may follow member i once something has been written is a rule
 * of its own, so that all starting points share it. */
static struct lmi_grammar_expr *in_order(struct lmi_gr_schema_compiler *s, const struct members *m,
					 struct lmi_grammar_expr *const *item)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT), *tail = NULL,
				*first;
	struct lmi_grammar_expr **follow = lmi_arena_array(s->b.arena, m->n + 1, sizeof(*follow));

	if (!follow) {
		lmi_grammar_builder_no_memory(&s->b);
		return NULL;
	}
	if (m->other)
		tail = lmi_grammar_expr_repeat(
			&s->b, lmi_gr_schema_seq(s, separator(s), m->other, NULL), 0, UINT32_MAX);
	follow[m->n] = tail;
	for (uint32_t i = m->n; i-- > 0 && !lmi_gr_schema_failed(s);) {
		uint32_t rule = lmi_grammar_builder_add_rule(&s->b, "members");
		struct lmi_grammar_expr *one = lmi_gr_schema_seq(s, separator(s), item[i], NULL);

		if (!m->v[i].required)
			one = lmi_grammar_expr_optional(&s->b, one);
		one = lmi_grammar_expr_concat(&s->b, one, follow[i + 1]);
		if (lmi_gr_schema_failed(s))
			return NULL;
		s->b.rule[rule] = one;
		follow[i] = lmi_grammar_expr_rule(&s->b, rule);
	}
	for (uint32_t i = 0; i < m->n && !lmi_gr_schema_failed(s); i++) {
		lmi_grammar_expr_append(&s->b, alt,
					lmi_grammar_expr_concat(&s->b, item[i], follow[i + 1]));
		if (m->v[i].required)
			return alt;
	}
	first = m->other ? lmi_grammar_expr_concat(&s->b, m->other, tail) : NULL;
	if (first)
		lmi_grammar_expr_append(&s->b, alt, first);
	lmi_grammar_expr_append(
		&s->b, alt, lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_SEQ)); /* the empty object */
	return alt;
}

/* Moves required members to the front; returns false if they already are there. */
static bool required_first(struct members *m, struct lmi_grammar_expr **item)
{
	bool moved = false;
	uint32_t to = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		struct member v = m->v[i];
		struct lmi_grammar_expr *e = item[i];

		if (!v.required)
			continue;
		moved |= i != to;
		memmove(m->v + to + 1, m->v + to, (i - to) * sizeof(*m->v));
		memmove(item + to + 1, item + to, (i - to) * sizeof(struct lmi_grammar_expr *));
		m->v[to] = v;
		item[to++] = e;
	}
	return moved;
}

static struct lmi_grammar_expr *described(struct lmi_gr_schema_compiler *s,
					  const struct lmi_gr_schema_conjunction *c,
					  struct members *m)
{
	struct lmi_grammar_expr **item =
		lmi_arena_array(s->b.arena, m->n ? m->n : 1, sizeof(*item));
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);

	if (!item) {
		lmi_grammar_builder_no_memory(&s->b);
		return NULL;
	}
	for (uint32_t i = 0; i < m->n && !lmi_gr_schema_failed(s); i++) {
		uint32_t rule = lmi_grammar_builder_add_rule(&s->b, "member");
		struct lmi_grammar_expr *e = member(s, c, &m->v[i]);

		if (lmi_gr_schema_failed(s))
			return NULL;
		s->b.rule[rule] = e;
		item[i] = lmi_grammar_expr_rule(&s->b, rule);
	}
	lmi_grammar_expr_append(&s->b, alt, in_order(s, m, item));
	if (required_first(m, item))
		lmi_grammar_expr_append(&s->b, alt, in_order(s, m, item));
	return lmi_grammar_expr_unwrap(alt);
}

/* What may come after the names in the bit set `seen` have been written; rule[set] is the same,
 * preceded by a separator. */
static struct lmi_grammar_expr *any_order_from(struct lmi_gr_schema_compiler *s,
					       const struct members *m, const uint32_t *rule,
					       uint32_t seen, bool first)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);

	for (uint32_t i = 0; i <= m->n && !lmi_gr_schema_failed(s); i++) {
		struct lmi_grammar_expr *one = i < m->n ? m->v[i].item : m->other;
		uint32_t then = i < m->n ? seen | 1u << i : seen;

		if (!one || (i < m->n && seen >> i & 1))
			continue;
		one = lmi_grammar_expr_concat(&s->b, one, lmi_grammar_expr_rule(&s->b, rule[then]));
		lmi_grammar_expr_append(&s->b, alt,
					first ? one
					      : lmi_grammar_expr_concat(&s->b, separator(s), one));
	}
	if (seen == (1u << m->n) - 1)
		lmi_grammar_expr_append(&s->b, alt, lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_SEQ));
	return alt;
}

static struct lmi_grammar_expr *any_order(struct lmi_gr_schema_compiler *s,
					  const struct lmi_gr_schema_conjunction *c,
					  struct members *m)
{
	uint32_t rule[1 << UNORDERED_MAX], n = 1u << m->n;

	for (uint32_t i = 0; i < m->n; i++)
		m->v[i].item = member(s, c, &m->v[i]);
	for (uint32_t i = 0; i < n; i++)
		rule[i] = lmi_grammar_builder_add_rule(&s->b, "members");
	for (uint32_t i = 0; i < n && !lmi_gr_schema_failed(s); i++) {
		struct lmi_grammar_expr *e = any_order_from(s, m, rule, i, false);

		if (!lmi_gr_schema_failed(s))
			s->b.rule[rule[i]] = e;
	}
	return any_order_from(s, m, rule, 0, true);
}

/* No member is described: only the number of members counts. */
static struct lmi_grammar_expr *counted(struct lmi_gr_schema_compiler *s, const struct members *m,
					uint32_t min, uint32_t max)
{
	struct lmi_grammar_expr *more, *e;

	if (!max || !m->other)
		return min ? lmi_gr_schema_never(s) : lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_SEQ);
	more = lmi_gr_schema_seq(s, separator(s), m->other, NULL);
	more = lmi_grammar_expr_repeat(&s->b, more, min ? min - 1 : 0,
				       max == UINT32_MAX ? max : max - 1);
	e = lmi_grammar_expr_concat(&s->b, m->other, more);
	return min ? e : lmi_grammar_expr_optional(&s->b, e);
}

/* Rejects counts that the expressions below cannot enforce. */
static void check_counts(struct lmi_gr_schema_compiler *s,
			 const struct lmi_gr_schema_conjunction *c, const struct members *m,
			 uint32_t min, uint32_t max)
{
	bool counted = !m->n && (m->open || !min); /* handled by counted() */

	for (uint32_t i = 0; i < c->n && !lmi_gr_schema_failed(s); i++) {
		const struct lmi_json_node *r = lmi_json_node_get(c->v[i], "required");
		const struct lmi_json_node *least = lmi_json_node_get(c->v[i], "minProperties");
		const struct lmi_json_node *most = lmi_json_node_get(c->v[i], "maxProperties");

		if (lmi_json_node_is(r, LMI_JSON_ARRAY) && r->n && !m->n)
			lmi_gr_schema_fail(s, LMD_UNSUPPORTED, r,
					   "more than %d required names are not supported where no "
					   "member is described",
					   UNORDERED_MAX);
		else if (least && !counted && min > m->n_required)
			lmi_gr_schema_fail(s, LMD_UNSUPPORTED, least,
					   "'minProperties' is not supported where members are "
					   "described, unless at least that many are required");
		else if (most && !counted && (m->other || max < m->n))
			lmi_gr_schema_fail(s, LMD_UNSUPPORTED, most,
					   "'maxProperties' is not supported where members are "
					   "described, unless it allows all of them");
	}
}

/* Returns an upper bound of the number of described members. */
static size_t max_members(const struct lmi_gr_schema_conjunction *c)
{
	size_t n = 1;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *p = lmi_json_node_get(c->v[i], "properties");
		const struct lmi_json_node *r = lmi_json_node_get(c->v[i], "required");

		n += (p ? p->n : 0) + (r ? r->n : 0);
	}
	return n < MEMBERS_MAX ? n : MEMBERS_MAX;
}

struct lmi_grammar_expr *lmi_gr_schema_object(struct lmi_gr_schema_compiler *s,
					      const struct lmi_gr_schema_conjunction *c)
{
	const size_t n_most = max_members(c);
	struct members m = {.v = lmi_arena_array(s->b.arena, n_most, sizeof(*m.v)), .n_slot = 4};
	uint32_t min, max;
	struct lmi_grammar_expr *inside;

	m.excluded = lmi_arena_array(s->b.arena, c->n + 1, sizeof(*m.excluded));
	while (m.n_slot < 2 * n_most)
		m.n_slot *= 2;
	m.slot = lmi_arena_array(s->b.arena, m.n_slot, sizeof(*m.slot));
	if (!m.v || !m.excluded || !m.slot) {
		lmi_grammar_builder_no_memory(&s->b);
		return NULL;
	}
	if (!lmi_gr_schema_counts(s, c, "minProperties", "maxProperties", &min, &max))
		return lmi_gr_schema_never(s);
	collect(s, c, &m);
	if (lmi_gr_schema_failed(s))
		return NULL;
	set_others(s, c, &m);
	if (lmi_gr_schema_failed(s))
		return NULL;
	check_counts(s, c, &m, min, max);
	if (lmi_gr_schema_failed(s))
		return NULL;
	if (!m.n)
		inside = counted(s, &m, min, max);
	else
		inside = m.unordered ? any_order(s, c, &m) : described(s, c, &m);
	return lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "{"),
				 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), inside,
				 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
				 lmi_gr_schema_ascii(s, "}"), NULL);
}
