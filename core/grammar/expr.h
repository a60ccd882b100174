/* SPDX-License-Identifier: MIT
 *
 * expr.h - a grammar while it is built: rules by number, each an expression.
 *
 * GBNF and JSON schemas both end here; net.h is what is made of it.  Everything lives in
 * the arena of the builder.  A failure is sticky: the first one is kept, every function
 * goes on to return some expression, and the end asks. */
#ifndef LLAMAD_GRAMMAR_EXPR_H
#define LLAMAD_GRAMMAR_EXPR_H

#include "core/base/arena.h"
#include "core/base/strmap.h"
#include "core/grammar/grammar.h"

/* Expressions nested deeper are refused: they are walked through recursively. */
#define LMI_GX_DEPTH 1000
/* Rules of one grammar. */
#define LMI_GX_RULES 100000
/* One past the greatest number that four bytes of UTF-8 can carry, characters or not. */
#define LMI_GX_CHAR_END 0x400000u

enum lmi_gx_kind {
	LMI_GX_SEQ,    /* kids in a row; none: the empty text */
	LMI_GX_ALT,    /* one of the kids */
	LMI_GX_TEXT,   /* characters */
	LMI_GX_CLASS,  /* one character of ranges */
	LMI_GX_REPEAT, /* kids[0], min to max times */
	LMI_GX_RULE,   /* number: of the rule */
	LMI_GX_TOKEN,  /* number: of the token */
	LMI_GX_NOT_TOKEN
};

struct lmi_grange {
	uint32_t lo, hi; /* inclusive */
};

struct lmi_gx {
	enum lmi_gx_kind kind;
	uint32_t depth; /* of nesting below */
	uint32_t n;     /* kids, chars or ranges */
	uint32_t cap;
	union {
		struct lmi_gx **kids;
		uint32_t *chars;
		struct lmi_grange *ranges; /* disjoint, ascending (lmi_gx_class_done) */
	} u;
	uint32_t min, max; /* REPEAT; max UINT32_MAX: no bound */
	int64_t number;
};

struct lmi_gbuild {
	struct lmd_arena *arena;
	struct lmi_gx **rule; /* [n_rules]; NULL: used, not defined */
	const char **name;    /* [n_rules] for sentences */
	uint32_t n_rules, cap_rules;
	enum lmd_status st;
	struct lmd_error *err;
};

enum lmd_status lmi_gbuild_init(struct lmi_gbuild *b, uint64_t limit_bytes, struct lmd_error *err);
void lmi_gbuild_fini(struct lmi_gbuild *b);

void lmi_gbuild_fail(struct lmi_gbuild *b, enum lmd_status st, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* A new rule without definition; its number. */
uint32_t lmi_gbuild_rule(struct lmi_gbuild *b, const char *name);

struct lmi_gx *lmi_gx_new(struct lmi_gbuild *b, enum lmi_gx_kind kind);
/* Adds to SEQ or ALT. */
void lmi_gx_add(struct lmi_gbuild *b, struct lmi_gx *list, struct lmi_gx *kid);
void lmi_gx_add_char(struct lmi_gbuild *b, struct lmi_gx *text, uint32_t c);
void lmi_gx_add_range(struct lmi_gbuild *b, struct lmi_gx *cls, uint32_t lo, uint32_t hi);
/* Sorts and joins ranges, complements them if asked; NUL is never among them. */
void lmi_gx_class_done(struct lmi_gbuild *b, struct lmi_gx *cls, bool negate);

struct lmi_gx *lmi_gx_rule(struct lmi_gbuild *b, uint32_t rule);
struct lmi_gx *lmi_gx_text(struct lmi_gbuild *b, const char *utf8, size_t bytes);
struct lmi_gx *lmi_gx_range(struct lmi_gbuild *b, uint32_t lo, uint32_t hi);
struct lmi_gx *lmi_gx_repeat(struct lmi_gbuild *b, struct lmi_gx *kid, uint32_t min, uint32_t max);
struct lmi_gx *lmi_gx_optional(struct lmi_gbuild *b, struct lmi_gx *kid);
/* a then b; NULL stands for the empty text. */
struct lmi_gx *lmi_gx_seq2(struct lmi_gbuild *b, struct lmi_gx *x, struct lmi_gx *y);
/* A list of one is its only kid. */
struct lmi_gx *lmi_gx_unwrap(struct lmi_gx *list);

/* Compiles what was built, with rule `root` as the begin; root UINT32_MAX: constrains
 * nothing.  Rules that are used must be defined, none may call itself before it took a
 * character. */
enum lmd_status lmi_gbuild_compile(struct lmi_gbuild *b, uint32_t root, struct lmi_grammar **out);

#endif /* LLAMAD_GRAMMAR_EXPR_H */
