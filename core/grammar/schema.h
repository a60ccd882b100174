/* SPDX-License-Identifier: MIT
 *
 * schema.h - declarations shared by the files that compile a JSON schema to a grammar.
 *
 * Each place where a value is expected is described by a conjunction of schemas that all apply
 * there: a `struct lmi_conj`. $ref and allOf add schemas to it, anyOf and oneOf split it into
 * alternatives, and the remaining keywords say which types are possible and what each type must
 * satisfy. Equal conjunctions share one rule, which also makes recursion terminate. */
#ifndef LLAMAD_GRAMMAR_SCHEMA_H
#define LLAMAD_GRAMMAR_SCHEMA_H

#include "core/base/json_tree.h"
#include "core/grammar/expr.h"

/* Maximum number of schemas that apply at one place. */
#define LMI_CONJ_MAX 256
/* Maximum number of schemas visited while one schema is compiled. */
#define LMI_SCHEMA_STEPS 2000000u

/* Schemas whose allOf and $ref have already been followed, in order, without duplicates. */
struct lmi_conj {
	const struct lmi_jnode *v[LMI_CONJ_MAX];
	uint32_t n;
	bool never; /* the schema `false` is among them */
};

struct lmi_memo {
	const struct lmi_jnode **v; /* [n] the schemas of the conjunction */
	uint32_t n, rule, next;     /* next: entry with the same hash, + 1 */
};

/* Rules that are the same in every schema; UINT32_MAX until they are first needed. */
enum lmi_common {
	LMI_C_SPACE,
	LMI_C_CHAR, /* one character inside a string */
	LMI_C_STRING,
	LMI_C_VALUE,
	LMI_C_MEMBER, /* any key, a colon, any value */
	LMI_C_NUMBER,
	LMI_C_INTEGER,
	LMI_C_N
};

#define LMI_MEMO_SLOTS 4096

struct lmi_schema {
	struct lmi_gbuild b;
	const struct lmi_jnode *root;
	struct lmi_memo *memo;
	uint32_t n_memo, cap_memo;
	uint32_t slot[LMI_MEMO_SLOTS]; /* index in memo, + 1 */
	uint32_t common[LMI_C_N];
	uint32_t n_steps; /* limits the work */
};

/* Keeps the first error; the message names the place of `at` in the schema. */
void lmi_schema_fail(struct lmi_schema *s, enum lmd_status st, const struct lmi_jnode *at,
		     const char *fmt, ...) LMD_PRINTF(4, 5);
bool lmi_schema_failed(const struct lmi_schema *s);

/* Initialises the conjunction with one schema and the schemas that it leads to. */
void lmi_conj_init(struct lmi_schema *s, struct lmi_conj *c, const struct lmi_jnode *schema);
/* Adds another schema. */
void lmi_conj_add(struct lmi_schema *s, struct lmi_conj *c, const struct lmi_jnode *schema);

/* Returns a keyword of a schema, or NULL if it is absent. A value of another type than `type` is
 * an error. */
const struct lmi_jnode *lmi_schema_get(struct lmi_schema *s, const struct lmi_jnode *schema,
				       const char *keyword, enum lmi_jtype type);
/* Reads a count from 0 to 2^31 - 1; returns false if it is absent. */
bool lmi_schema_count(struct lmi_schema *s, const struct lmi_jnode *schema, const char *keyword,
		      uint32_t *out);
/* The largest `min_keyword` and the smallest `max_keyword` of a conjunction. *max is UINT32_MAX if
 * there is no maximum or if it exceeds LMI_GRAMMAR_COUNT_MAX. Returns false if no count satisfies
 * both. */
bool lmi_schema_counts(struct lmi_schema *s, const struct lmi_conj *c, const char *min_keyword,
		       const char *max_keyword, uint32_t *min, uint32_t *max);

/* Fails for keywords of a schema that have an effect which the grammar would not enforce.
 * docs/grammar.md lists them; the table is in schema_keywords.c. */
void lmi_schema_check(struct lmi_schema *s, const struct lmi_jnode *schema);
/* Returns the schema of members that `properties` does not describe: additionalProperties, or else
 * unevaluatedProperties; NULL if both are absent. */
const struct lmi_jnode *lmi_schema_other_members(const struct lmi_jnode *schema);
/* Returns true if the two values are equal JSON. */
bool lmi_schema_equal(const struct lmi_jnode *a, const struct lmi_jnode *b);

/* Returns true if every schema of the conjunction allows the type of v. */
bool lmi_schema_type_fits(struct lmi_schema *s, const struct lmi_conj *c,
			  const struct lmi_jnode *v);

/* Expressions. All of these return some expression, possibly NULL, even after a failure. */

/* Returns a call of the rule for a value that the conjunction describes. */
struct lmi_gx *lmi_schema_value(struct lmi_schema *s, struct lmi_conj *c);
struct lmi_gx *lmi_schema_object(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_array(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_string(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_number(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_integer(struct lmi_schema *s, const struct lmi_conj *c);
/* Matches exactly this value, with optional white space between its parts. */
struct lmi_gx *lmi_schema_literal(struct lmi_schema *s, const struct lmi_jnode *v);
/* Matches any value of `enum` and `const` that fits the whole conjunction; NULL if the schemas
 * have neither keyword. */
struct lmi_gx *lmi_schema_enum(struct lmi_schema *s, const struct lmi_conj *c);
/* Matches strings (without quotes) in which the regular expression finds a match. at: the schema
 * node for error messages. */
struct lmi_gx *lmi_schema_pattern(struct lmi_schema *s, const char *regex, size_t n,
				  const struct lmi_jnode *at);

/* Matches a string with its quotes that is none of the n names. */
struct lmi_gx *lmi_schema_other_key(struct lmi_schema *s, const struct lmi_jnode *const *names,
				    uint32_t n);

struct lmi_gx *lmi_schema_common(struct lmi_schema *s, enum lmi_common which);
/* Matches nothing. */
struct lmi_gx *lmi_schema_never(struct lmi_schema *s);
struct lmi_gx *lmi_schema_word(struct lmi_schema *s, const char *ascii);
/* SEQ of the given expressions; the list ends with NULL. */
struct lmi_gx *lmi_schema_seq(struct lmi_schema *s, ...);
/* Matches one character of the string as JSON writes it; cls: its code points, after
 * lmi_gx_class_done. */
struct lmi_gx *lmi_schema_char_of(struct lmi_schema *s, const struct lmi_gx *cls);
/* Matches the text between the quotes, as JSON writes it. */
struct lmi_gx *lmi_schema_chars(struct lmi_schema *s, const char *utf8, size_t n);

#endif /* LLAMAD_GRAMMAR_SCHEMA_H */
