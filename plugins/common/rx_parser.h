/* SPDX-License-Identifier: MIT
 *
 * rx_parser.h - inside of the parser of expressions: rx_parse.c has the descent through
 * alternatives, groups and repetitions, rx_escape.c what begins with a backslash, rx_set.c sets of
 * characters and what is in brackets.
 *
 * All of them read at p and leave it behind what they took.  A failure sets t->st and the sentence,
 * once; then numbers of nodes and sets are LMI_RX_INF. */
#ifndef LLAMAD_PLUGINS_COMMON_RX_PARSER_H
#define LLAMAD_PLUGINS_COMMON_RX_PARSER_H

#include "common/rx_prog.h"

struct lmi_rx_parser {
	struct lmi_rx_tree *t;
	const char *begin, *p, *end;
	bool icase, ruby;
	int in_set; /* brackets around */
	int depth;
};

/* Says what is wrong at p; returns LMI_RX_INF. */
uint32_t lmi_rx_fail(struct lmi_rx_parser *ps, enum lmd_status st, const char *what);

/* rx_set.c: a new, empty set; a range, a character (with both cases where case does not count) and
 * what is alphabetic into it. */
uint32_t lmi_rx_new_set(struct lmi_rx_parser *ps);
bool lmi_rx_add_range(struct lmi_rx_parser *ps, uint32_t set, uint32_t first, uint32_t last);
void lmi_rx_add_char(struct lmi_rx_parser *ps, uint32_t set, uint32_t cp);
void lmi_rx_add_alphabetic(struct lmi_rx_parser *ps, uint32_t set);
/* Behind [ ; reads through ]. */
uint32_t lmi_rx_parse_set(struct lmi_rx_parser *ps);

/* rx_escape.c: the set of a class escape, by the letter in front of p: \s \d \w \h \p and
 * opposites; LMI_RX_INF, without a failure, if the letter is none.  Then the code point of any
 * other. */
uint32_t lmi_rx_class_escape(struct lmi_rx_parser *ps, char c);
uint32_t lmi_rx_char_escape(struct lmi_rx_parser *ps, char c);

#endif /* LLAMAD_PLUGINS_COMMON_RX_PARSER_H */
