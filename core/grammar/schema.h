/* SPDX-License-Identifier: MIT
 *
 * schema.h - what the files share that make a grammar of a JSON schema.
 *
 * A place where a value is expected is described by several schemas that all hold there: a
 * `struct lmi_conj`.  $ref and allOf add to it, anyOf and oneOf make alternatives of it, and what
 * is left says which types are possible and what each type has to fulfil.  A conj that was seen
 * before is the same rule, which is also how recursion ends. */
#ifndef LLAMAD_GRAMMAR_SCHEMA_H
#define LLAMAD_GRAMMAR_SCHEMA_H

#include "core/base/json_tree.h"
#include "core/grammar/expr.h"

/* Schemas that hold at one place. */
#define LMI_CONJ_MAX 256
/* Schemas looked at while one is compiled. */
#define LMI_SCHEMA_STEPS 2000000u

/* Schemas whose allOf and $ref are looked through already, in order, each once. */
struct lmi_conj {
	const struct lmi_jnode *v[LMI_CONJ_MAX];
	uint32_t n;
	bool never; /* `false` is among them */
};

struct lmi_memo {
	const struct lmi_jnode **v; /* [n], the conj */
	uint32_t n, rule, next;     /* next of the same hash, + 1 */
};

/* Rules that are the same everywhere; UINT32_MAX until they are needed. */
enum lmi_common {
	LMI_C_SPACE,
	LMI_C_CHAR, /* one character inside of a string */
	LMI_C_STRING,
	LMI_C_VALUE,
	LMI_C_MEMBER, /* any key, colon, any value */
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
	uint32_t slot[LMI_MEMO_SLOTS]; /* in memo, + 1 */
	uint32_t common[LMI_C_N];
	uint32_t n_steps; /* bounds the work */
};

/* The first failure is kept; the sentence names the place of `at` in the schema. */
void lmi_schema_fail(struct lmi_schema *s, enum lmd_status st, const struct lmi_jnode *at,
		     const char *fmt, ...) LMD_PRINTF(4, 5);
bool lmi_schema_failed(const struct lmi_schema *s);

/* A conj of one schema and what it leads to. */
void lmi_conj_init(struct lmi_schema *s, struct lmi_conj *c, const struct lmi_jnode *schema);
/* Adds another. */
void lmi_conj_add(struct lmi_schema *s, struct lmi_conj *c, const struct lmi_jnode *schema);

/* A keyword of one schema of a conj, if it is there and of that type; of another type it is a
 * failure.  NULL: absent. */
const struct lmi_jnode *lmi_schema_get(struct lmi_schema *s, const struct lmi_jnode *schema,
				       const char *keyword, enum lmi_jtype type);
/* A count 0..2^31; false: absent. */
bool lmi_schema_count(struct lmi_schema *s, const struct lmi_jnode *schema, const char *keyword,
		      uint32_t *out);
/* The greatest `min_keyword` and the least `max_keyword` of a conj; max UINT32_MAX: none, also
 * for what is over LMI_GRAMMAR_COUNT_MAX.  False: no count fits. */
bool lmi_schema_counts(struct lmi_schema *s, const struct lmi_conj *c, const char *min_keyword,
		       const char *max_keyword, uint32_t *min, uint32_t *max);

/* Refuses the keywords of a schema that the grammar does not enforce and that say something.
 * docs/grammar.md lists them; the table is in schema_keywords.c. */
void lmi_schema_check(struct lmi_schema *s, const struct lmi_jnode *schema);
/* What holds for members that `properties` does not describe: additionalProperties, or else
 * unevaluatedProperties; NULL: neither is there. */
const struct lmi_jnode *lmi_schema_other_members(const struct lmi_jnode *schema);
/* Are two values the same JSON? */
bool lmi_schema_equal(const struct lmi_jnode *a, const struct lmi_jnode *b);

/* Is v of a type that all of the conj allow? */
bool lmi_schema_type_fits(struct lmi_schema *s, const struct lmi_conj *c,
			  const struct lmi_jnode *v);

/* Expressions.  All return some expression, after a failure too (possibly NULL). */

/* A value that the conj describes: a call of its rule. */
struct lmi_gx *lmi_schema_value(struct lmi_schema *s, struct lmi_conj *c);
struct lmi_gx *lmi_schema_object(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_array(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_string(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_number(struct lmi_schema *s, const struct lmi_conj *c);
struct lmi_gx *lmi_schema_integer(struct lmi_schema *s, const struct lmi_conj *c);
/* Exactly this value; blanks between its parts. */
struct lmi_gx *lmi_schema_literal(struct lmi_schema *s, const struct lmi_jnode *v);
/* One of those of `enum` and `const` that fit all of the conj; NULL: there is neither. */
struct lmi_gx *lmi_schema_enum(struct lmi_schema *s, const struct lmi_conj *c);
/* Text that a regular expression finds, in a string without its quotes.  at: for sentences. */
struct lmi_gx *lmi_schema_pattern(struct lmi_schema *s, const char *regex, size_t n,
				  const struct lmi_jnode *at);

/* A string that is none of the n names, with its quotes. */
struct lmi_gx *lmi_schema_other_key(struct lmi_schema *s, const struct lmi_jnode *const *names,
				    uint32_t n);

struct lmi_gx *lmi_schema_common(struct lmi_schema *s, enum lmi_common which);
/* Nothing matches. */
struct lmi_gx *lmi_schema_never(struct lmi_schema *s);
struct lmi_gx *lmi_schema_word(struct lmi_schema *s, const char *ascii);
/* SEQ of expressions; NULL ends the list. */
struct lmi_gx *lmi_schema_seq(struct lmi_schema *s, ...);
/* One character of a string as JSON writes it; code points of `cls` (done already). */
struct lmi_gx *lmi_schema_char_of(struct lmi_schema *s, const struct lmi_gx *cls);
/* The text between the quotes, as JSON writes it. */
struct lmi_gx *lmi_schema_chars(struct lmi_schema *s, const char *utf8, size_t n);

#endif /* LLAMAD_GRAMMAR_SCHEMA_H */
