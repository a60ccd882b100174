/* SPDX-License-Identifier: MIT
 *
 * schema.h - declarations shared by the files that compile a JSON schema to a grammar.
 *
 * Each place where a value is expected is described by a conjunction of schemas that all apply
 * there: a `struct lmi_gr_schema_conjunction`. $ref and allOf add schemas to it, anyOf and oneOf
 * split it into alternatives, and the remaining keywords say which types are possible and what each
 * type must satisfy. Equal conjunctions share one rule, which also makes recursion terminate. */
#ifndef LLAMAD_GRAMMAR_SCHEMA_H
#define LLAMAD_GRAMMAR_SCHEMA_H

#include "core/base/json_tree.h"
#include "core/grammar/expr.h"

/* Maximum number of schemas that apply at one place. */
#define LMI_GR_SCHEMA_CONJUNCTION_MAX 256
/* Maximum number of steps for one schema. A visit of a small schema is one step. */
#define LMI_GR_SCHEMA_STEPS_MAX 2000000u

/* Schemas whose allOf and $ref have already been followed, in order, without duplicates. */
struct lmi_gr_schema_conjunction {
	const struct lmi_json_node *v[LMI_GR_SCHEMA_CONJUNCTION_MAX];
	uint32_t n;
	bool never; /* the schema `false` is among them */
};

struct lmi_gr_schema_memo {
	const struct lmi_json_node **v; /* [n] the schemas of the conjunction */
	uint32_t n, rule, next;     /* next: entry with the same hash, + 1 */
};

/* Rules that are the same in every schema; UINT32_MAX until they are first needed. */
enum lmi_gr_schema_common_rule {
	LMI_GR_COMMON_SPACE,
	LMI_GR_COMMON_CHAR, /* one character inside a string */
	LMI_GR_COMMON_STRING,
	LMI_GR_COMMON_VALUE,
	LMI_GR_COMMON_MEMBER, /* any key, a colon, any value */
	LMI_GR_COMMON_NUMBER,
	LMI_GR_COMMON_INTEGER,
	LMI_GR_COMMON_N
};

#define LMI_GR_MEMO_SLOTS 4096

struct lmi_gr_schema_compiler {
	struct lmi_grammar_builder b;
	const struct lmi_json_node *root;
	struct lmi_gr_schema_memo *memo;
	uint32_t n_memo, cap_memo;
	uint32_t slot[LMI_GR_MEMO_SLOTS]; /* index in memo, + 1 */
	uint32_t common[LMI_GR_COMMON_N];
	uint32_t n_steps; /* limits the work */
};

/* Adds the rules of a schema to a grammar and returns an expression for its values. Errors go to the
 * builder. */
struct lmi_grammar_expr *lmi_gr_schema_embed(struct lmi_grammar_builder *b, const char *text,
					     size_t bytes);

/* Keeps the first error; the message names the place of `at` in the schema. */
void lmi_gr_schema_fail(struct lmi_gr_schema_compiler *s, enum lmd_status st,
			const struct lmi_json_node *at, const char *fmt, ...) LMD_PRINTF(4, 5);
/* Counts n steps of the compilation, of at most LMI_GR_SCHEMA_STEPS_MAX; fails beyond them, and if
 * the work is cancelled. */
void lmi_gr_schema_step(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *at,
			uint32_t n);
bool lmi_gr_schema_failed(const struct lmi_gr_schema_compiler *s);

/* Initialises the conjunction with one schema and the schemas that it leads to. */
void lmi_gr_schema_conjunction_init(struct lmi_gr_schema_compiler *s,
				    struct lmi_gr_schema_conjunction *c,
				    const struct lmi_json_node *schema);
/* Adds another schema. */
void lmi_gr_schema_conjunction_add(struct lmi_gr_schema_compiler *s,
				   struct lmi_gr_schema_conjunction *c,
				   const struct lmi_json_node *schema);

/* Returns a keyword of a schema, or NULL if it is absent. A value of another type than `type` is
 * an error. */
const struct lmi_json_node *lmi_gr_schema_get(struct lmi_gr_schema_compiler *s,
					      const struct lmi_json_node *schema,
					      const char *keyword, enum lmi_json_kind type);
/* Reads a count from 0 to 2^31 - 1; returns false if it is absent. */
bool lmi_gr_schema_count(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema,
			 const char *keyword, uint32_t *out);
/* The largest `min_keyword` and the smallest `max_keyword` of a conjunction. *max is UINT32_MAX if
 * there is no maximum or if it exceeds LMI_GRAMMAR_COUNT_MAX. Returns false if no count satisfies
 * both. */
bool lmi_gr_schema_counts(struct lmi_gr_schema_compiler *s,
			  const struct lmi_gr_schema_conjunction *c, const char *min_keyword,
			  const char *max_keyword, uint32_t *min, uint32_t *max);

/* Fails for keywords of a schema that have an effect which the grammar would not enforce.
 * docs/grammar.md lists them; the table is in schema_keywords.c. */
void lmi_gr_schema_check(struct lmi_gr_schema_compiler *s, const struct lmi_json_node *schema);
/* Returns true if the keyword allows every value, or if no draft defines it. */
bool lmi_gr_schema_is_annotation(const char *keyword);
/* Keyword i of the table; NULL after the last one. */
const char *lmi_gr_schema_keyword(size_t i);
/* Returns the name that a `not` of this schema excludes from its objects, or NULL. */
const struct lmi_json_node *lmi_gr_schema_excluded_name(const struct lmi_json_node *schema);
/* Returns true if a `not` of this schema excludes the string v. */
bool lmi_gr_schema_excludes_string(const struct lmi_json_node *schema,
				   const struct lmi_json_node *v);
/* Returns the schema of members that `properties` does not describe: additionalProperties, or else
 * unevaluatedProperties; NULL if both are absent. */
const struct lmi_json_node *lmi_gr_schema_other_members(const struct lmi_json_node *schema);
/* Returns true if the two values are equal JSON. */
bool lmi_gr_schema_equal(const struct lmi_json_node *a, const struct lmi_json_node *b);

/* Returns true if every schema of the conjunction allows the type of v. */
bool lmi_gr_schema_type_fits(struct lmi_gr_schema_compiler *s,
			     const struct lmi_gr_schema_conjunction *c,
			     const struct lmi_json_node *v);

/* Expressions. All of these return some expression, possibly NULL, even after a failure. */

/* Returns a call of the rule for a value that the conjunction describes. */
struct lmi_grammar_expr *lmi_gr_schema_value(struct lmi_gr_schema_compiler *s,
					     struct lmi_gr_schema_conjunction *c);
struct lmi_grammar_expr *lmi_gr_schema_object(struct lmi_gr_schema_compiler *s,
					      const struct lmi_gr_schema_conjunction *c);
struct lmi_grammar_expr *lmi_gr_schema_array(struct lmi_gr_schema_compiler *s,
					     const struct lmi_gr_schema_conjunction *c);
struct lmi_grammar_expr *lmi_gr_schema_string(struct lmi_gr_schema_compiler *s,
					      const struct lmi_gr_schema_conjunction *c);
struct lmi_grammar_expr *lmi_gr_schema_number(struct lmi_gr_schema_compiler *s,
					      const struct lmi_gr_schema_conjunction *c);
struct lmi_grammar_expr *lmi_gr_schema_integer(struct lmi_gr_schema_compiler *s,
					       const struct lmi_gr_schema_conjunction *c);
/* Matches exactly this value, with optional white space between its parts. */
struct lmi_grammar_expr *lmi_gr_schema_literal(struct lmi_gr_schema_compiler *s,
					       const struct lmi_json_node *v);
/* Matches any value of `enum` and `const` that fits the whole conjunction; NULL if the schemas
 * have neither keyword. */
struct lmi_grammar_expr *lmi_gr_schema_enum(struct lmi_gr_schema_compiler *s,
					    const struct lmi_gr_schema_conjunction *c);
/* Matches strings (without quotes) in which the regular expression finds a match. at: the schema
 * node for error messages. */
struct lmi_grammar_expr *lmi_gr_schema_pattern(struct lmi_gr_schema_compiler *s, const char *regex,
					       size_t n, const struct lmi_json_node *at);

/* Matches a member: a key, a colon, and a value that the conjunction describes. */
struct lmi_grammar_expr *lmi_gr_schema_member(struct lmi_gr_schema_compiler *s,
					      struct lmi_grammar_expr *key,
					      struct lmi_gr_schema_conjunction *value);
/* Matches any member that a `patternProperties` of the conjunction describes; NULL if there is
 * none. Fails if a pattern may match one of the n names, or a key that another pattern matches. */
struct lmi_grammar_expr *lmi_gr_schema_pattern_members(struct lmi_gr_schema_compiler *s,
						       const struct lmi_gr_schema_conjunction *c,
						       const struct lmi_json_node *const *names,
						       uint32_t n);
/* Returns the `patternProperties` of a schema, or NULL if it describes nothing. */
const struct lmi_json_node *lmi_gr_schema_key_patterns(struct lmi_gr_schema_compiler *s,
						       const struct lmi_json_node *schema);

/* Matches a string with its quotes that is none of the n names. */
struct lmi_grammar_expr *lmi_gr_schema_key_except(struct lmi_gr_schema_compiler *s,
						  const struct lmi_json_node *const *names,
						  uint32_t n);

struct lmi_grammar_expr *lmi_gr_schema_common(struct lmi_gr_schema_compiler *s,
					      enum lmi_gr_schema_common_rule which);
/* Matches nothing. */
struct lmi_grammar_expr *lmi_gr_schema_never(struct lmi_gr_schema_compiler *s);
struct lmi_grammar_expr *lmi_gr_schema_ascii(struct lmi_gr_schema_compiler *s, const char *ascii);
/* SEQ of the given expressions; the list ends with NULL. */
struct lmi_grammar_expr *lmi_gr_schema_seq(struct lmi_gr_schema_compiler *s, ...);
/* Matches one character of the string as JSON writes it; cls: its code points, after
 * lmi_grammar_expr_class_finish. */
struct lmi_grammar_expr *lmi_gr_schema_char_of(struct lmi_gr_schema_compiler *s,
					       const struct lmi_grammar_expr *cls);
/* Matches the text between the quotes, as JSON writes it. */
struct lmi_grammar_expr *lmi_gr_schema_chars(struct lmi_gr_schema_compiler *s, const char *utf8,
					     size_t n);

#endif /* LLAMAD_GRAMMAR_SCHEMA_H */
