/* SPDX-License-Identifier: MIT
 *
 * free_text.h - any text up to the first of some strings. */
#ifndef LLAMAD_GRAMMAR_FREE_TEXT_H
#define LLAMAD_GRAMMAR_FREE_TEXT_H

#include "core/grammar/expr.h"

/* Maximum total length of the strings, in characters. */
#define LMI_GR_FREE_TEXT_CHARS_MAX 2048

struct lmi_gr_free_text_stop {
	struct lmd_str text; /* not empty */
	/* What follows the string; NULL: the string must not occur. */
	struct lmi_grammar_expr *then;
};

/* Defines the rule as any text that contains none of the strings, and then, after the first string
 * that occurs, what follows it. The rule may call itself there. If several strings end at the same
 * place, the longest counts. may_end: the text may also end without any of the strings. */
void lmi_gr_free_text(struct lmi_grammar_builder *b, uint32_t rule,
		      const struct lmi_gr_free_text_stop *stops, uint32_t n, bool may_end);

#endif /* LLAMAD_GRAMMAR_FREE_TEXT_H */
