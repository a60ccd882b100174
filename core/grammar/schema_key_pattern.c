/* SPDX-License-Identifier: MIT
 *
 * Members whose keys match a pattern (patternProperties). A key must satisfy the schemas of all
 * patterns that match it, and a grammar cannot ask whether a second one does; so the patterns of a
 * place must exclude each other, and must not match a name that is described by itself. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/grammar/schema.h"

/* Most patterns at one place; each is compared with those before it. */
#define PATTERNS_MAX 64
/* Steps of PCRE2 for one name, and steps of the compiler (LMI_GR_SCHEMA_STEPS_MAX) for them. */
#define MATCH_STEPS   2000u
#define COMPILE_STEPS 50u

const struct lmi_json_node *lmi_gr_schema_key_patterns(struct lmi_gr_schema_compiler *s,
						       const struct lmi_json_node *schema)
{
	const struct lmi_json_node *v =
		lmi_gr_schema_get(s, schema, "patternProperties", LMI_JSON_OBJECT);

	return v && v->n ? v : NULL;
}

static bool find(const struct lmi_gr_schema_compiler *s, const pcre2_code *code,
		 pcre2_match_data *data, pcre2_match_context *limit,
		 const struct lmi_json_node *name)
{
	if (lmi_gr_schema_failed(s) || !code || !data || !limit)
		return true;
	(void)pcre2_set_match_limit(limit, MATCH_STEPS);
	return pcre2_match(code, (PCRE2_SPTR)name->u.s, name->n, 0, 0, data, limit) !=
	       PCRE2_ERROR_NOMATCH;
}

/* Returns the first name that the pattern does not certainly reject, or NULL. */
static const struct lmi_json_node *first_match_as(struct lmi_gr_schema_compiler *s,
						  const struct lmi_json_node *pattern,
						  const struct lmi_json_node *const *names,
						  uint32_t n, uint32_t options)
{
	int e;
	PCRE2_SIZE at;
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)pattern->u.s, pattern->n,
			      options | PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY, &e, &at,
			      NULL);
	pcre2_match_context *limit = pcre2_match_context_create(NULL);
	pcre2_match_data *data = code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
	uint32_t i = 0;

	for (; i < n; i++) {
		lmi_gr_schema_step(s, pattern + 1, COMPILE_STEPS);
		if (find(s, code, data, limit, names[i]))
			break;
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(limit);
	pcre2_code_free(code);
	return i < n ? names[i] : NULL;
}

/* \w and \d stand for ASCII characters and \s does not, so both meanings are tried. */
static const struct lmi_json_node *first_match(struct lmi_gr_schema_compiler *s,
					       const struct lmi_json_node *pattern,
					       const struct lmi_json_node *const *names, uint32_t n)
{
	const struct lmi_json_node *name = first_match_as(s, pattern, names, n, 0);

	return name ? name : first_match_as(s, pattern, names, n, PCRE2_UCP);
}

/* Returns the number of plain characters with which every match begins; *p: where they are. */
static size_t plain_prefix(const struct lmi_json_node *pattern, const char **p)
{
	size_t n = 0;

	*p = pattern->u.s + 1;
	if (!pattern->n || pattern->u.s[0] != '^' || memchr(pattern->u.s, '|', pattern->n))
		return 0;
	while (n + 1 < pattern->n && !strchr("\\^$.*+?()[]{}|/", (*p)[n]) && !((*p)[n] & 0x80))
		n++;
	if (n && n + 1 < pattern->n && strchr("*?{", (*p)[n]))
		n--; /* the last one may be absent */
	return n;
}

static bool exclude_each_other(const struct lmi_json_node *a, const struct lmi_json_node *b)
{
	const char *p, *q;
	size_t n = plain_prefix(a, &p), m = plain_prefix(b, &q);

	if (lmi_gr_schema_equal(a + 1, b + 1)) /* the same values for both */
		return true;
	return memcmp(p, q, n < m ? n : m) != 0;
}

/* Checks pattern i of the list against the patterns before it and against the names. */
static void check(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *list, uint32_t i,
		  const struct lmi_json_node *pattern, const struct lmi_json_node *const *names,
		  uint32_t n)
{
	const struct lmi_json_node *k = lmi_json_node_first(list);
	const struct lmi_json_node *name = first_match(s, pattern, names, n);
	char show[64];

	if (i == PATTERNS_MAX)
		lmi_gr_schema_fail(s, LMD_INVALID, list,
				   "'patternProperties' has more than %d patterns", PATTERNS_MAX);
	for (uint32_t j = 0; j < i; j++, k = lmi_json_node_next(k + 1))
		if (!exclude_each_other(k, pattern))
			lmi_gr_schema_fail(s, LMD_UNSUPPORTED, pattern + 1,
					   "not supported, because a key could match another "
					   "pattern of 'patternProperties' as well");
	if (name)
		lmi_gr_schema_fail(s, LMD_UNSUPPORTED, pattern + 1,
				   "not supported, because the pattern could match the name '%s', "
				   "which other keywords describe",
				   lmi_printable(show, sizeof(show), name->u.s, name->n));
}

/* Collects what applies to values of keys that match a pattern of c->v[at]. */
static void value_of(struct lmi_gr_schema_compiler *s, const struct lmi_gr_schema_conjunction *c,
		     uint32_t at, const struct lmi_json_node *schema,
		     struct lmi_gr_schema_conjunction *out)
{
	lmi_gr_schema_conjunction_init(s, out, schema);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *other =
			i == at ? NULL : lmi_gr_schema_other_members(c->v[i]);

		if (other)
			lmi_gr_schema_conjunction_add(s, out, other);
	}
}

struct lmi_grammar_expr *lmi_gr_schema_pattern_members(struct lmi_gr_schema_compiler *s,
						       const struct lmi_gr_schema_conjunction *c,
						       const struct lmi_json_node *const *names,
						       uint32_t n)
{
	struct lmi_grammar_expr *alt = NULL;
	const struct lmi_json_node *list = NULL, *k;
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_json_node *v = lmi_gr_schema_key_patterns(s, c->v[i]);

		if (v && list)
			lmi_gr_schema_fail(s, LMD_UNSUPPORTED, v,
					   "a second 'patternProperties' at the same place is not "
					   "supported");
		if (v && !list) {
			list = v;
			at = i;
		}
	}
	if (!list || lmi_gr_schema_failed(s))
		return NULL;
	k = lmi_json_node_first(list);
	for (uint32_t i = 0; i < list->n; i++, k = lmi_json_node_next(k + 1)) {
		struct lmi_gr_schema_conjunction v;
		struct lmi_grammar_expr *key;

		check(s, list, i, k, names, n);
		if (lmi_gr_schema_failed(s))
			return NULL;
		value_of(s, c, at, k + 1, &v);
		if (v.never)
			continue;
		key = lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\""),
					lmi_gr_schema_pattern(s, k->u.s, k->n, k + 1),
					lmi_gr_schema_ascii(s, "\""), NULL);
		if (!alt)
			alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
		lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_member(s, key, &v));
	}
	return alt;
}
