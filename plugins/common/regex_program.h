/* SPDX-License-Identifier: MIT
 *
 * regex_program.h - internals of the matcher: the parsed expression, sets, and the compiled
 * program. */
#ifndef LLAMAD_PLUGINS_COMMON_REGEX_PROGRAM_H
#define LLAMAD_PLUGINS_COMMON_REGEX_PROGRAM_H

#include "common/regex.h"
#include "common/unicode.h"

#define TOK_RX_MAX_NODES 4096
#define TOK_RX_MAX_CODE  8192
#define TOK_RX_MAX_DEPTH 32
#define TOK_RX_MAX_ALT   32
#define TOK_RX_INF       UINT32_MAX
/* \w: letters, marks, decimal and letter-like numbers, connectors */
#define TOK_RX_WORD_CATS (TOK_UCD_L | TOK_UCD_M | 1u << TOK_ND | 1u << TOK_NL | 1u << TOK_PC)

/* A set of code points: members by category, range or child set; then complemented if neg; then
 * intersected with cut. */
struct tok_rx_set {
	uint64_t ascii[2]; /* result for U+0000..U+007F */
	uint32_t mask;     /* if `simple`: result by category for all other characters */
	uint32_t cats;
	bool neg, simple;
	uint32_t range0, n_range;
	uint32_t child, next; /* united sets: first child, next sibling; TOK_RX_INF = none */
	uint32_t intersect;   /* set to intersect with, or TOK_RX_INF */
};

struct tok_rx_range {
	uint32_t first, last;
};

/* Alphabetic characters are those of these categories and of tok_rx_alpha. */
#define TOK_RX_ALPHABETIC (TOK_UCD_L | 1u << TOK_NL)
extern const struct tok_rx_range tok_rx_alpha[] LMD_HIDDEN;
extern const uint32_t tok_rx_n_alpha LMD_HIDDEN;

enum tok_rx_node_type {
	TOK_RX_EMPTY,
	TOK_RX_SET,    /* a = set */
	TOK_RX_CAT,    /* a = first child */
	TOK_RX_ALT,    /* a = first child */
	TOK_RX_REP,    /* a = child, min, max, mode */
	TOK_RX_LOOK,   /* a = child, mode: bit 0 negative, bit 1 look-behind */
	TOK_RX_ATOMIC, /* a = child */
	TOK_RX_ASSERT  /* a = enum tok_rx_assert */
};

enum tok_rx_assert {
	TOK_RX_BEGIN,
	TOK_RX_END,
	TOK_RX_LINE_BEGIN,
	TOK_RX_LINE_END,
	TOK_RX_WORD,
	TOK_RX_NOT_WORD
};
enum tok_rx_mode { TOK_RX_GREEDY, TOK_RX_POSSESSIVE, TOK_RX_LAZY };

struct tok_rx_node {
	uint8_t type, mode;
	uint32_t a, next; /* next sibling, TOK_RX_INF = none */
	uint32_t min, max;
};

enum tok_rx_op {
	TOK_OP_SET,       /* one character of set a */
	TOK_OP_REP,       /* min..max characters of set a, mode */
	TOK_OP_LINES,     /* white space up to and including the last line end of its run */
	TOK_OP_SPLIT,     /* try a, then b */
	TOK_OP_JMP,       /* a */
	/* program at pc+1 must (mode bit 0: must not) match here; continue at a */
	TOK_OP_LOOKAHEAD,
	TOK_OP_LOOKBEHIND, /* the preceding character must (must not) be in set a */
	TOK_OP_ATOMIC,     /* program at pc+1 matches; continue after the match at a */
	TOK_OP_ASSERT,     /* a */
	TOK_OP_MATCH
};

struct tok_rx_insn {
	uint8_t op, mode;
	uint32_t a, b;
	uint32_t min, max;
};

struct tok_regex {
	const struct lmd_host *host;
	struct tok_rx_set *set;
	struct tok_rx_range *range;
	struct tok_rx_insn *code;
	uint32_t n_set, n_range, n_code;
	uint32_t n_alt;
	uint32_t alt[TOK_RX_MAX_ALT]; /* start of each alternative */
	uint32_t nullable;            /* bit set of the alternatives that may match nothing */
	uint32_t word;                /* set of \b; TOK_RX_INF = TOK_RX_WORD_CATS */
	uint32_t start[129];          /* bit set of the alternatives that may start with this byte;
				       * [128]: any other byte */
};

/* The expression as a tree; the arrays are scratch memory of the compiler. */
struct tok_rx_tree {
	const struct lmd_host *host;
	struct tok_buf nodes, sets, ranges;
	uint32_t n_node, n_set, n_range;
	uint32_t word; /* set of \b, or TOK_RX_INF */
	struct lmd_error *err;
	enum lmd_status st;
};

/* Parses an expression; returns the root, or TOK_RX_INF with t->st and the error message set. */
uint32_t tok_rx_parse(struct tok_rx_tree *t, const char *pattern, size_t bytes, uint32_t flags);

static inline struct tok_rx_node *tok_rx_node(const struct tok_rx_tree *t, uint32_t i)
{
	return (struct tok_rx_node *)t->nodes.p + i;
}

static inline struct tok_rx_set *tok_rx_set(const struct tok_rx_tree *t, uint32_t i)
{
	return (struct tok_rx_set *)t->sets.p + i;
}

/* Sorts the ranges of all sets and computes ascii, mask and simple. */
void tok_rx_fold_sets(struct tok_rx_tree *t);

/* Evaluates a set in full; the ranges must be sorted. */
bool tok_rx_set_eval(const struct tok_rx_set *sets, const struct tok_rx_range *ranges, uint32_t i,
		     uint32_t cp);

#endif /* LLAMAD_PLUGINS_COMMON_REGEX_PROGRAM_H */
