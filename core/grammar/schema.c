/* SPDX-License-Identifier: MIT
 *
 * Compiles JSON schemas (drafts 7 to 2020-12) to grammars. This file determines which types are
 * possible at a place; the types have files of their own. */
#include "core/grammar/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/grammar/schema_read.h"

/* Error messages */

/* Writes the JSON pointer of a node, by descending again and again into the child that contains
 * it. */
static void pointer_to(const struct lmi_json_node *root, const struct lmi_json_node *at, char *out,
		       size_t n)
{
	size_t len = 0;

	out[0] = 0;
	while (root != at && len + 1 < n) {
		const struct lmi_json_node *k = lmi_json_node_first(root), *v = NULL;
		bool object = root->type == LMI_JSON_OBJECT;
		char key[64];
		uint32_t i;

		for (i = 0; k && i < root->n; i++, k = lmi_json_node_next(v)) {
			v = object ? k + 1 : k;
			if (at < v + v->span)
				break;
		}
		if (!k || i == root->n || at < v)
			return;
		if (object)
			(void)lmi_printable(key, sizeof(key), k->u.s, k->n);
		else
			(void)snprintf(key, sizeof(key), "%u", i);
		len += (size_t)snprintf(out + len, n - len, "/%s", key);
		root = v;
	}
}

void lmi_gr_schema_fail(struct lmi_gr_schema_compiler *s, enum lmd_status st,
			const struct lmi_json_node *at, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT / 2], path[LMD_ERROR_TEXT / 2];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pointer_to(s->root, at, path, sizeof(path));
	lmi_grammar_builder_fail(&s->b, st, "schema #%s: %s", path, text);
}

bool lmi_gr_schema_failed(const struct lmi_gr_schema_compiler *s)
{
	return s->b.st != LMD_OK;
}

/* Keywords */

const struct lmi_json_node *lmi_gr_schema_get(struct lmi_gr_schema_compiler *s,
					      const struct lmi_json_node *schema,
					      const char *keyword, enum lmi_json_kind type)
{
	const struct lmi_json_node *v = lmi_json_node_get(schema, keyword);

	if (!v || v->type == type)
		return v;
	lmi_gr_schema_fail(s, LMD_INVALID, v, "'%s' has the wrong type: %s", keyword,
			   lmi_json_node_kind(v));
	return NULL;
}

bool lmi_gr_schema_count(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema,
			 const char *keyword, uint32_t *out)
{
	const struct lmi_json_node *v = lmi_json_node_get(schema, keyword);
	int64_t i;
	double d;

	if (!v)
		return false;
	if (lmi_json_node_int(v, 0, INT32_MAX, &i)) {
		*out = (uint32_t)i;
		return true;
	}
	if (lmi_json_node_real(v, &d) && d > INT32_MAX) {
		*out = INT32_MAX;
		return true;
	}
	lmi_gr_schema_fail(s, LMD_INVALID, v, "'%s' is not a non-negative integer", keyword);
	return false;
}

bool lmi_gr_schema_counts(struct lmi_gr_schema_compiler *s,
			  const struct lmi_gr_schema_conjunction *c, const char *min_keyword,
			  const char *max_keyword, uint32_t *min, uint32_t *max)
{
	const struct lmi_json_node *at = s->root;
	uint32_t n;

	*min = 0;
	*max = UINT32_MAX;
	for (uint32_t i = 0; i < c->n; i++) {
		if (lmi_gr_schema_count(s, c->v[i], min_keyword, &n) && n > *min) {
			*min = n;
			at = c->v[i];
		}
		if (lmi_gr_schema_count(s, c->v[i], max_keyword, &n) && n < *max)
			*max = n;
	}
	if (*min > LMI_GRAMMAR_COUNT_MAX)
		lmi_gr_schema_fail(s, LMD_INVALID, at, "'%s' is %u, at most %d is allowed",
				   min_keyword, *min, LMI_GRAMMAR_COUNT_MAX);
	if (*max < *min)
		return false;
	if (*max > LMI_GRAMMAR_COUNT_MAX)
		*max = UINT32_MAX;
	return true;
}

/* Types */

enum {
	T_NULL = 1,
	T_BOOL = 2,
	T_OBJECT = 4,
	T_ARRAY = 8,
	T_NUMBER = 16,
	T_STRING = 32,
	T_INTEGER = 64, /* with T_NUMBER: integers only */
	T_ALL = T_NULL | T_BOOL | T_OBJECT | T_ARRAY | T_NUMBER | T_STRING | T_INTEGER
};

static unsigned type_bit(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} t[] = {{"null", T_NULL},
		 {"boolean", T_BOOL},
		 {"object", T_OBJECT},
		 {"array", T_ARRAY},
		 {"number", T_NUMBER | T_INTEGER},
		 {"string", T_STRING},
		 {"integer", T_INTEGER}};
	char show[64];

	for (size_t i = 0; i < LMD_LEN(t); i++)
		if (lmi_json_node_eq(name, t[i].name))
			return t[i].bit;
	if (lmi_json_node_is(name, LMI_JSON_STRING))
		lmi_gr_schema_fail(s, LMD_INVALID, name, "unknown type '%s'",
				   lmi_printable(show, sizeof(show), name->u.s, name->n));
	else
		lmi_gr_schema_fail(s, LMD_INVALID, name, "a type name must be a string, not %s",
				   lmi_json_node_kind(name));
	return 0;
}

static unsigned types_of(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *type)
{
	const struct lmi_json_node *v = lmi_json_node_first(type);
	unsigned t = 0;

	if (!lmi_json_node_is(type, LMI_JSON_ARRAY))
		return type_bit(s, type);
	if (!v)
		lmi_gr_schema_fail(s, LMD_INVALID, type, "'type' is empty");
	for (uint32_t i = 0; i < type->n; i++, v = lmi_json_node_next(v))
		t |= type_bit(s, v);
	return t;
}

/* Returns the types that one schema allows. */
static unsigned allowed_types(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema)
{
	const struct lmi_json_node *type = lmi_json_node_get(schema, "type");
	const struct lmi_json_node *not =
		lmi_json_node_get(lmi_json_node_get(schema, "not"), "type");
	unsigned t = type ? types_of(s, type) : T_ALL;

	return not ? t & ~types_of(s, not) : t;
}

bool lmi_gr_schema_type_fits(struct lmi_gr_schema_compiler *s,
			     const struct lmi_gr_schema_conjunction *c,
			     const struct lmi_json_node *v)
{
	static const unsigned bit[] = {[LMI_JSON_NULL] = T_NULL,     [LMI_JSON_BOOL] = T_BOOL,
				       [LMI_JSON_INT] = T_INTEGER,   [LMI_JSON_REAL] = T_NUMBER,
				       [LMI_JSON_STRING] = T_STRING, [LMI_JSON_ARRAY] = T_ARRAY,
				       [LMI_JSON_OBJECT] = T_OBJECT};
	unsigned want = bit[v->type];
	int64_t i;

	if (want == T_NUMBER && lmi_json_node_int(v, INT64_MIN, INT64_MAX, &i))
		want = T_INTEGER;
	for (uint32_t k = 0; k < c->n; k++) {
		if (!(allowed_types(s, c->v[k]) & want))
			return false;
	}
	return true;
}

/* If there is no type, keywords for objects imply an object, and so on; this is what the author of
 * {"properties": ...} means. */
static unsigned implied_types(const struct lmi_json_node *schema)
{
	static const struct {
		const char *keyword;
		unsigned type;
	} t[] = {{"properties", T_OBJECT}, {"additionalProperties", T_OBJECT},
		 {"patternProperties", T_OBJECT},
		 {"unevaluatedProperties", T_OBJECT},
		 {"items", T_ARRAY},       {"prefixItems", T_ARRAY},
		 {"pattern", T_STRING},    {"format", T_STRING}};
	unsigned all = 0;

	for (size_t i = 0; i < LMD_LEN(t); i++)
		if (lmi_json_node_get(schema, t[i].keyword))
			all |= t[i].type;
	return all;
}

static unsigned conj_types(struct lmi_gr_schema_compiler *s,
			   const struct lmi_gr_schema_conjunction *c)
{
	unsigned t = T_ALL, implied = 0;
	bool given = false;

	for (uint32_t i = 0; i < c->n; i++) {
		t &= allowed_types(s, c->v[i]);
		given |= lmi_json_node_get(c->v[i], "type") != NULL;
		implied |= implied_types(c->v[i]);
	}
	return given || !implied ? t : t & implied;
}

static bool plain(const struct lmi_gr_schema_conjunction *c)
{
	static const char *const keyword[] = {
		"minimum",       "maximum",       "exclusiveMinimum", "exclusiveMaximum",
		"minLength",     "maxLength",     "minItems",         "maxItems",
		"minProperties", "maxProperties", "required",
	};

	for (uint32_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < LMD_LEN(keyword); k++)
			if (lmi_json_node_get(c->v[i], keyword[k]))
				return false;
	return true;
}

/* Handles what remains after alternatives and listed values. */
static struct lmi_grammar_expr *by_type(struct lmi_gr_schema_compiler *s,
					const struct lmi_gr_schema_conjunction *c)
{
	unsigned t = conj_types(s, c);
	struct lmi_grammar_expr *alt;

	if (t == T_ALL && plain(c))
		return lmi_gr_schema_common(s, LMI_GR_COMMON_VALUE);
	alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
	if (t & T_OBJECT)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_object(s, c));
	if (t & T_ARRAY)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_array(s, c));
	if (t & T_STRING)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_string(s, c));
	if (t & T_NUMBER)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_number(s, c));
	else if (t & T_INTEGER)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_integer(s, c));
	if (t & T_BOOL)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "true"));
	if (t & T_BOOL)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "false"));
	if (t & T_NULL)
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "null"));
	return alt && alt->n ? lmi_grammar_expr_unwrap(alt) : lmi_gr_schema_never(s);
}

/* Alternatives: the first anyOf or oneOf that is not resolved yet (bit i: that of v[i] is
 * resolved). */

static const struct lmi_json_node *alternatives(struct lmi_gr_schema_compiler *s,
						const struct lmi_gr_schema_conjunction *c,
						const struct lmi_json_node **done, uint32_t n_done)
{
	static const char *const keyword[] = {"anyOf", "oneOf"};

	for (uint32_t i = 0; i < c->n; i++) {
		for (int k = 0; k < 2; k++) {
			const struct lmi_json_node *v =
				lmi_gr_schema_get(s, c->v[i], keyword[k], LMI_JSON_ARRAY);
			bool seen = false;

			for (uint32_t d = 0; d < n_done; d++)
				seen |= done[d] == v;
			if (v && !v->n)
				lmi_gr_schema_fail(s, LMD_INVALID, v, "'%s' is empty", keyword[k]);
			if (v && !seen)
				return v;
		}
	}
	return NULL;
}

#define ALTERNATIVES_DEPTH 16

static struct lmi_grammar_expr *expand(struct lmi_gr_schema_compiler *s,
				       const struct lmi_gr_schema_conjunction *c,
				       const struct lmi_json_node **done, uint32_t n_done)
{
	const struct lmi_json_node *list, *v;
	struct lmi_grammar_expr *alt, *e;

	if (lmi_gr_schema_failed(s) || c->never)
		return lmi_gr_schema_never(s);
	list = alternatives(s, c, done, n_done);
	if (!list) {
		e = lmi_gr_schema_enum(s, c);
		return e ? e : by_type(s, c);
	}
	if (n_done == ALTERNATIVES_DEPTH) {
		lmi_gr_schema_fail(s, LMD_INVALID, list,
				   "more than %d anyOf or oneOf apply at one place",
				   ALTERNATIVES_DEPTH);
		return NULL;
	}
	done[n_done] = list;
	alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
	v = lmi_json_node_first(list);
	for (uint32_t i = 0; i < list->n && !lmi_gr_schema_failed(s);
	     i++, v = lmi_json_node_next(v)) {
		struct lmi_gr_schema_conjunction one;

		if (c->n == 1 && n_done == 0 && c->v[0]->n == 1) { /* nothing else applies here */
			lmi_gr_schema_conjunction_init(s, &one, v);
			lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_value(s, &one));
			continue;
		}
		one = *c;
		lmi_gr_schema_conjunction_add(s, &one, v);
		lmi_grammar_expr_append(&s->b, alt, expand(s, &one, done, n_done + 1));
	}
	return alt;
}

/* Rules */

static uint32_t hash_conj(const struct lmi_gr_schema_conjunction *c)
{
	uint64_t h = c->never;

	for (uint32_t i = 0; i < c->n; i++)
		h = (h ^ (uint64_t)(uintptr_t)c->v[i]) * 0x9E3779B97F4A7C15ull;
	return (uint32_t)(h >> 40) % LMI_GR_MEMO_SLOTS;
}

static bool find_rule(const struct lmi_gr_schema_compiler *s,
		      const struct lmi_gr_schema_conjunction *c, uint32_t *rule)
{
	for (uint32_t i = s->slot[hash_conj(c)]; i; i = s->memo[i - 1].next) {
		const struct lmi_gr_schema_memo *m = &s->memo[i - 1];

		if (m->n == c->n && !memcmp(m->v, c->v, c->n * sizeof(m->v[0]))) {
			*rule = m->rule;
			return true;
		}
	}
	return false;
}

static uint32_t new_rule(struct lmi_gr_schema_compiler *s,
			 const struct lmi_gr_schema_conjunction *c)
{
	uint32_t rule = lmi_grammar_builder_add_rule(&s->b, "a part of the schema"), *slot;
	struct lmi_gr_schema_memo m = {.n = c->n, .rule = rule};

	m.v = lmi_arena_array(s->b.arena, c->n, sizeof(m.v[0]));
	if (s->n_memo == s->cap_memo) {
		uint32_t cap = s->cap_memo ? 2 * s->cap_memo : 64;
		struct lmi_gr_schema_memo *p = lmi_arena_array(s->b.arena, cap, sizeof(*p));

		if (p && s->n_memo)
			memcpy(p, s->memo, s->n_memo * sizeof(*p));
		s->memo = p ? p : s->memo;
		s->cap_memo = p ? cap : s->cap_memo;
	}
	if (!m.v || s->n_memo == s->cap_memo) {
		lmi_grammar_builder_no_memory(&s->b);
		return rule;
	}
	memcpy(m.v, c->v, c->n * sizeof(m.v[0]));
	slot = &s->slot[hash_conj(c)];
	m.next = *slot;
	s->memo[s->n_memo++] = m;
	*slot = s->n_memo;
	return rule;
}

struct lmi_grammar_expr *lmi_gr_schema_value(struct lmi_gr_schema_compiler *s,
					     struct lmi_gr_schema_conjunction *c)
{
	const struct lmi_json_node *done[ALTERNATIVES_DEPTH];
	struct lmi_grammar_expr *e;
	uint32_t rule;

	if (c->never || lmi_gr_schema_failed(s))
		return lmi_gr_schema_never(s);
	if (!c->n)
		return lmi_gr_schema_common(s, LMI_GR_COMMON_VALUE);
	if (find_rule(s, c, &rule))
		return lmi_grammar_expr_rule(&s->b, rule);
	rule = new_rule(s, c);
	e = expand(s, c, done, 0);
	if (!lmi_gr_schema_failed(s))
		s->b.rule[rule] = e;
	return lmi_grammar_expr_rule(&s->b, rule);
}

struct lmi_grammar_expr *lmi_gr_schema_embed(struct lmi_grammar_builder *b, const char *text,
					     size_t bytes)
{
	struct lmi_gr_schema_compiler s = {.b = *b};
	struct lmi_json_tree t;
	struct lmi_gr_schema_conjunction c;
	struct lmi_grammar_expr *e;
	struct lmd_error err;
	enum lmd_status st = lmi_gr_schema_read(&t, text, bytes, &err);

	if (st != LMD_OK) {
		lmi_grammar_builder_fail(b, st, "%s", err.text);
		return NULL;
	}
	s.root = t.root;
	memset(s.common, 0xff, sizeof(s.common));
	lmi_gr_schema_conjunction_init(&s, &c, s.root);
	e = lmi_gr_schema_value(&s, &c);
	lmi_json_tree_fini(&t);
	*b = s.b;
	return e;
}

enum lmd_status lmi_grammar_from_schema(struct lmi_grammar **out, const char *text, size_t bytes,
					struct lmd_error *err)
{
	struct lmi_grammar_builder b;
	struct lmi_grammar_expr *e;
	uint32_t root;
	enum lmd_status st = lmi_grammar_builder_init(&b, err);

	if (st != LMD_OK)
		return st;
	root = lmi_grammar_builder_add_rule(&b, "root");
	e = lmi_gr_schema_embed(&b, text, bytes);
	if (b.st == LMD_OK)
		b.rule[root] = e;
	st = b.st == LMD_OK ? lmi_grammar_builder_compile(&b, root, out) : b.st;
	lmi_grammar_builder_fini(&b);
	return st;
}
