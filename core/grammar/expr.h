/* SPDX-License-Identifier: MIT
 *
 * expr.h - a grammar under construction: numbered rules, each of them an expression.
 *
 * The GBNF parser and the JSON schema compiler both produce expressions; nfa.h describes the NFA
 * that is compiled from them. All memory comes from the builder's arena. Errors are sticky: the
 * first one is kept, every function still returns some expression, and lmi_grammar_builder_compile
 * reports the error. */
#ifndef LLAMAD_GRAMMAR_EXPR_H
#define LLAMAD_GRAMMAR_EXPR_H

#include "core/base/arena.h"
#include "core/base/strmap.h"
#include "core/grammar/grammar.h"

/* Maximum nesting of expressions; they are walked recursively. */
#define LMI_GRAMMAR_DEPTH_MAX 1000
/* Maximum number of rules in one grammar. */
#define LMI_GRAMMAR_RULES_MAX 100000
/* One more than the largest number that four bytes of UTF-8 can encode, whether it is a valid
 * character or not. */
#define LMI_GRAMMAR_CHAR_END 0x400000u

enum lmi_grammar_expr_kind {
	LMI_GR_EXPR_SEQ,    /* kids in sequence; no kids: the empty text */
	LMI_GR_EXPR_ALT,    /* any one of the kids */
	LMI_GR_EXPR_TEXT,   /* a string of characters */
	LMI_GR_EXPR_CLASS,  /* one character from ranges */
	LMI_GR_EXPR_REPEAT, /* kids[0], from min to max times */
	LMI_GR_EXPR_RULE,   /* number: the rule */
	LMI_GR_EXPR_TOKEN,  /* number: the token */
	LMI_GR_EXPR_NOT_TOKEN
};

struct lmi_gr_char_range {
	uint32_t lo, hi; /* inclusive */
};

struct lmi_grammar_expr {
	enum lmi_grammar_expr_kind kind;
	uint32_t depth; /* levels of nesting below this expression */
	uint32_t n;     /* number of kids, chars or ranges */
	uint32_t cap;
	union {
		struct lmi_grammar_expr **kids;
		uint32_t *chars;
		/* disjoint and ascending after lmi_grammar_expr_class_finish */
		struct lmi_gr_char_range *ranges;
	} u;
	uint32_t min, max; /* REPEAT; max UINT32_MAX = unbounded */
	int64_t number;
};

struct lmi_grammar_builder {
	struct lmd_arena *arena;
	struct lmi_grammar_expr **rule; /* [n_rules]; NULL if used but not defined */
	const char **name;    /* [n_rules] for error messages */
	uint32_t n_rules, cap_rules;
	enum lmd_status st;
	struct lmd_error *err;
};

/* The arena is limited to LMI_GRAMMAR_BUILD_BYTES_MAX. */
enum lmd_status lmi_grammar_builder_init(struct lmi_grammar_builder *b, struct lmd_error *err);
void lmi_grammar_builder_fini(struct lmi_grammar_builder *b);

void lmi_grammar_builder_fail(struct lmi_grammar_builder *b, enum lmd_status st, const char *fmt,
			      ...) LMD_PRINTF(3, 4);

/* Fails with LMD_NOMEM because an allocation failed or the arena has reached its limit. */
void lmi_grammar_builder_no_memory(struct lmi_grammar_builder *b);

/* Counts n steps (core/base/cancel.h); fails with LMD_CANCELLED if the work is cancelled. */
void lmi_grammar_builder_step(struct lmi_grammar_builder *b, uint64_t n);

/* Adds a rule without a definition and returns its number. */
uint32_t lmi_grammar_builder_add_rule(struct lmi_grammar_builder *b, const char *name);

struct lmi_grammar_expr *lmi_grammar_expr_new(struct lmi_grammar_builder *b,
					      enum lmi_grammar_expr_kind kind);
/* Appends kid to a SEQ or ALT. */
void lmi_grammar_expr_append(struct lmi_grammar_builder *b, struct lmi_grammar_expr *list,
			     struct lmi_grammar_expr *kid);
void lmi_grammar_expr_add_char(struct lmi_grammar_builder *b, struct lmi_grammar_expr *text,
			       uint32_t c);
void lmi_grammar_expr_add_range(struct lmi_grammar_builder *b, struct lmi_grammar_expr *cls,
				uint32_t lo, uint32_t hi);
/* Sorts and merges the ranges, and complements them if negate is set; the result never contains
 * NUL. */
void lmi_grammar_expr_class_finish(struct lmi_grammar_builder *b, struct lmi_grammar_expr *cls,
				   bool negate);

struct lmi_grammar_expr *lmi_grammar_expr_rule(struct lmi_grammar_builder *b, uint32_t rule);
struct lmi_grammar_expr *lmi_grammar_expr_text(struct lmi_grammar_builder *b, const char *utf8,
					       size_t bytes);
struct lmi_grammar_expr *lmi_grammar_expr_range(struct lmi_grammar_builder *b, uint32_t lo,
						uint32_t hi);
struct lmi_grammar_expr *lmi_grammar_expr_repeat(struct lmi_grammar_builder *b,
						 struct lmi_grammar_expr *kid, uint32_t min,
						 uint32_t max);
struct lmi_grammar_expr *lmi_grammar_expr_optional(struct lmi_grammar_builder *b,
						   struct lmi_grammar_expr *kid);
/* x followed by y; NULL stands for the empty text. */
struct lmi_grammar_expr *lmi_grammar_expr_concat(struct lmi_grammar_builder *b,
						 struct lmi_grammar_expr *x,
						 struct lmi_grammar_expr *y);
/* Returns the only kid of a list with one kid, otherwise the list itself. */
struct lmi_grammar_expr *lmi_grammar_expr_unwrap(struct lmi_grammar_expr *list);

/* Compiles the rules with `root` as the start rule; root UINT32_MAX makes a grammar that
 * constrains nothing. Fails if a rule is used but not defined, or if a rule can call itself before
 * it has consumed a character (left recursion). */
enum lmd_status lmi_grammar_builder_compile(struct lmi_grammar_builder *b, uint32_t root,
					    struct lmi_grammar **out);

#endif /* LLAMAD_GRAMMAR_EXPR_H */
