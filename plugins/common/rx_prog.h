/* SPDX-License-Identifier: MIT
 *
 * rx_prog.h - internals of the matcher: the parsed expression, sets, and the compiled program. */
#ifndef LLAMAD_PLUGINS_COMMON_RX_PROG_H
#define LLAMAD_PLUGINS_COMMON_RX_PROG_H

#include "common/rx.h"
#include "common/uni.h"

#define LMI_RX_MAX_NODES 4096
#define LMI_RX_MAX_CODE  8192
#define LMI_RX_MAX_DEPTH 32
#define LMI_RX_MAX_ALT   32
#define LMI_RX_INF       UINT32_MAX
/* \w: letters, marks, decimal and letter-like numbers, connectors */
#define LMI_RX_WORD_CATS                                                                           \
	(LMI_UCD_L | LMI_UCD_M | 1u << LMI_ND | 1u << LMI_NL | 1u << LMI_PC)

/* A set of code points: members by category, range or child set; then complemented if neg; then
 * intersected with cut. */
struct lmi_rx_set {
	uint64_t ascii[2];    /* result for U+0000..U+007F */
	uint32_t mask;        /* if `simple`: result by category for all other characters */
	uint32_t cats;
	bool neg, simple;
	uint32_t range0, n_range;
	uint32_t child, next; /* united sets: first child, next sibling; LMI_RX_INF = none */
	uint32_t cut;         /* set to intersect with, or LMI_RX_INF */
};

struct lmi_rx_range {
	uint32_t first, last;
};

/* Alphabetic characters are those of these categories and of lmi_rx_alpha. */
#define LMI_RX_ALPHABETIC (LMI_UCD_L | 1u << LMI_NL)
extern const struct lmi_rx_range lmi_rx_alpha[] LMD_HIDDEN;
extern const uint32_t lmi_rx_n_alpha LMD_HIDDEN;

enum lmi_rx_node_type {
	LMI_RX_EMPTY,
	LMI_RX_SET,   /* a = set */
	LMI_RX_CAT,   /* a = first child */
	LMI_RX_ALT,   /* a = first child */
	LMI_RX_REP,   /* a = child, min, max, mode */
	LMI_RX_LOOK,  /* a = child, mode: bit 0 negative, bit 1 look-behind */
	LMI_RX_ATOMIC,/* a = child */
	LMI_RX_ASSERT /* a = enum lmi_rx_assert */
};

enum lmi_rx_assert {
	LMI_RX_BEGIN, LMI_RX_END, LMI_RX_LINE_BEGIN, LMI_RX_LINE_END, LMI_RX_WORD, LMI_RX_NOT_WORD
};
enum lmi_rx_mode { LMI_RX_GREEDY, LMI_RX_POSSESSIVE, LMI_RX_LAZY };

struct lmi_rx_node {
	uint8_t type, mode;
	uint32_t a, next; /* next sibling, LMI_RX_INF = none */
	uint32_t min, max;
};

enum lmi_rx_op {
	LMI_OP_SET,    /* one character of set a */
	LMI_OP_REP,    /* min..max characters of set a, mode */
	LMI_OP_LINES,  /* white space up to and including the last line end of its run */
	LMI_OP_SPLIT,  /* try a, then b */
	LMI_OP_JMP,    /* a */
	LMI_OP_LOOK,   /* program at pc+1 must (mode bit 0: must not) match here; continue at a */
	LMI_OP_BEHIND, /* the preceding character must (must not) be in set a */
	LMI_OP_ATOMIC, /* program at pc+1 matches; continue after the match at a */
	LMI_OP_ASSERT, /* a */
	LMI_OP_MATCH
};

struct lmi_rx_insn {
	uint8_t op, mode;
	uint32_t a, b;
	uint32_t min, max;
};

struct lmi_rx {
	const struct lmd_host *host;
	struct lmi_rx_set *set;
	struct lmi_rx_range *range;
	struct lmi_rx_insn *code;
	uint32_t n_set, n_range, n_code;
	uint32_t n_alt;
	uint32_t alt[LMI_RX_MAX_ALT]; /* start of each alternative */
	uint32_t nullable;            /* bit set of the alternatives that may match nothing */
	uint32_t word;                /* set of \b; LMI_RX_INF = LMI_RX_WORD_CATS */
	uint32_t start[129]; /* bit set of the alternatives that may start with this byte;
			      * [128]: any other byte */
};

/* The expression as a tree; the arrays are scratch memory of the compiler. */
struct lmi_rx_tree {
	const struct lmd_host *host;
	struct lmi_buf nodes, sets, ranges;
	uint32_t n_node, n_set, n_range;
	uint32_t word;                /* set of \b, or LMI_RX_INF */
	struct lmd_error *err;
	enum lmd_status st;
};

/* Parses an expression; returns the root, or LMI_RX_INF with t->st and the error message set. */
uint32_t lmi_rx_parse(struct lmi_rx_tree *t, const char *pattern, size_t bytes, uint32_t flags);

static inline struct lmi_rx_node *lmi_rx_node(const struct lmi_rx_tree *t, uint32_t i)
{
	return (struct lmi_rx_node *)t->nodes.p + i;
}

static inline struct lmi_rx_set *lmi_rx_set(const struct lmi_rx_tree *t, uint32_t i)
{
	return (struct lmi_rx_set *)t->sets.p + i;
}

/* Sorts the ranges of all sets and computes ascii, mask and simple. */
void lmi_rx_fold_sets(struct lmi_rx_tree *t);

/* Evaluates a set in full; the ranges must be sorted. */
bool lmi_rx_set_eval(const struct lmi_rx_set *sets, const struct lmi_rx_range *ranges, uint32_t i,
		     uint32_t cp);

#endif /* LLAMAD_PLUGINS_COMMON_RX_PROG_H */
