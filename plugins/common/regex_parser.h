/* SPDX-License-Identifier: MIT
 *
 * regex_parser.h - internal interface of the regular expression parser: regex_parse.c descends
 * through alternatives, groups and repetitions, regex_escape.c handles escapes, and regex_set.c
 * handles character sets and bracket expressions.
 *
 * All functions read at p and advance it past what they have read. The first failure sets t->st
 * and the error message; from then on, functions that return node or set numbers return
 * TOK_RX_INF. */
#ifndef LLAMAD_PLUGINS_COMMON_REGEX_PARSER_H
#define LLAMAD_PLUGINS_COMMON_REGEX_PARSER_H

#include "common/regex_program.h"

struct tok_rx_parser {
	struct tok_rx_tree *t;
	const char *begin, *p, *end;
	bool icase, ruby;
	int in_set; /* depth of nested brackets */
	int depth;
};

/* Reports an error at p; returns TOK_RX_INF. */
uint32_t tok_rx_fail(struct tok_rx_parser *ps, enum lmd_status st, const char *what);

/* regex_set.c: creates a new, empty set; adds a range, a character (in both cases if case is
 * ignored), or all alphabetic characters to a set. */
uint32_t tok_rx_new_set(struct tok_rx_parser *ps);
bool tok_rx_add_range(struct tok_rx_parser *ps, uint32_t set, uint32_t first, uint32_t last);
void tok_rx_add_char(struct tok_rx_parser *ps, uint32_t set, uint32_t cp);
void tok_rx_add_alphabetic(struct tok_rx_parser *ps, uint32_t set);
/* Parses a bracket expression; p is after [ and is advanced past ]. */
uint32_t tok_rx_parse_set(struct tok_rx_parser *ps);

/* regex_escape.c. tok_rx_class_escape returns the set of a class escape (\s \d \w \h \p and their
 * complements), given by the letter before p, or TOK_RX_INF without a failure if the letter names
 * no class. tok_rx_char_escape returns the code point of any other escape. */
uint32_t tok_rx_class_escape(struct tok_rx_parser *ps, char c);
uint32_t tok_rx_char_escape(struct tok_rx_parser *ps, char c);

#endif /* LLAMAD_PLUGINS_COMMON_REGEX_PARSER_H */
