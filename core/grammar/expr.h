/* SPDX-License-Identifier: MIT
 *
 * expr.h - a grammar under construction: numbered rules, each of them an expression.
 *
 * The GBNF parser and the JSON schema compiler both produce expressions; net.h describes the NFA
 * that is compiled from them. All memory comes from the builder's arena. Errors are sticky: the
 * first one is kept, every function still returns some expression, and lmi_gbuild_compile reports
 * the error. */
#ifndef LLAMAD_GRAMMAR_EXPR_H
#define LLAMAD_GRAMMAR_EXPR_H

#include "core/base/arena.h"
#include "core/base/strmap.h"
#include "core/grammar/grammar.h"

/* Maximum nesting of expressions; they are walked recursively. */
#define LMI_GX_DEPTH 1000
/* Maximum number of rules in one grammar. */
#define LMI_GX_RULES 100000
/* One more than the largest number that four bytes of UTF-8 can encode, whether it is a valid
 * character or not. */
#define LMI_GX_CHAR_END 0x400000u

enum lmi_gx_kind {
	LMI_GX_SEQ,    /* kids in sequence; no kids: the empty text */
	LMI_GX_ALT,    /* any one of the kids */
	LMI_GX_TEXT,   /* a string of characters */
	LMI_GX_CLASS,  /* one character from ranges */
	LMI_GX_REPEAT, /* kids[0], from min to max times */
	LMI_GX_RULE,   /* number: the rule */
	LMI_GX_TOKEN,  /* number: the token */
	LMI_GX_NOT_TOKEN
};

struct lmi_grange {
	uint32_t lo, hi; /* inclusive */
};

struct lmi_gx {
	enum lmi_gx_kind kind;
	uint32_t depth; /* levels of nesting below this expression */
	uint32_t n;     /* number of kids, chars or ranges */
	uint32_t cap;
	union {
		struct lmi_gx **kids;
		uint32_t *chars;
		struct lmi_grange *ranges; /* disjoint and ascending after lmi_gx_class_done */
	} u;
	uint32_t min, max; /* REPEAT; max UINT32_MAX = unbounded */
	int64_t number;
};

struct lmi_gbuild {
	struct lmd_arena *arena;
	struct lmi_gx **rule; /* [n_rules]; NULL if used but not defined */
	const char **name;    /* [n_rules] for error messages */
	uint32_t n_rules, cap_rules;
	enum lmd_status st;
	struct lmd_error *err;
};

enum lmd_status lmi_gbuild_init(struct lmi_gbuild *b, uint64_t limit_bytes, struct lmd_error *err);
void lmi_gbuild_fini(struct lmi_gbuild *b);

void lmi_gbuild_fail(struct lmi_gbuild *b, enum lmd_status st, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Adds a rule without a definition and returns its number. */
uint32_t lmi_gbuild_rule(struct lmi_gbuild *b, const char *name);

struct lmi_gx *lmi_gx_new(struct lmi_gbuild *b, enum lmi_gx_kind kind);
/* Appends kid to a SEQ or ALT. */
void lmi_gx_add(struct lmi_gbuild *b, struct lmi_gx *list, struct lmi_gx *kid);
void lmi_gx_add_char(struct lmi_gbuild *b, struct lmi_gx *text, uint32_t c);
void lmi_gx_add_range(struct lmi_gbuild *b, struct lmi_gx *cls, uint32_t lo, uint32_t hi);
/* Sorts and merges the ranges, and complements them if negate is set; the result never contains
 * NUL. */
void lmi_gx_class_done(struct lmi_gbuild *b, struct lmi_gx *cls, bool negate);

struct lmi_gx *lmi_gx_rule(struct lmi_gbuild *b, uint32_t rule);
struct lmi_gx *lmi_gx_text(struct lmi_gbuild *b, const char *utf8, size_t bytes);
struct lmi_gx *lmi_gx_range(struct lmi_gbuild *b, uint32_t lo, uint32_t hi);
struct lmi_gx *lmi_gx_repeat(struct lmi_gbuild *b, struct lmi_gx *kid, uint32_t min, uint32_t max);
struct lmi_gx *lmi_gx_optional(struct lmi_gbuild *b, struct lmi_gx *kid);
/* x followed by y; NULL stands for the empty text. */
struct lmi_gx *lmi_gx_seq2(struct lmi_gbuild *b, struct lmi_gx *x, struct lmi_gx *y);
/* Returns the only kid of a list with one kid, otherwise the list itself. */
struct lmi_gx *lmi_gx_unwrap(struct lmi_gx *list);

/* Compiles the rules with `root` as the start rule; root UINT32_MAX makes a grammar that
 * constrains nothing. Fails if a rule is used but not defined, or if a rule can call itself before
 * it has consumed a character (left recursion). */
enum lmd_status lmi_gbuild_compile(struct lmi_gbuild *b, uint32_t root, struct lmi_grammar **out);

#endif /* LLAMAD_GRAMMAR_EXPR_H */
