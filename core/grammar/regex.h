/* SPDX-License-Identifier: MIT
 *
 * regex.h - regular expressions as parts of a grammar: for answers that match one, and for patterns
 * of strings in JSON schemas.
 *
 * The syntax is that of ECMAScript with the flag u, plus Python's (?P<name>...). Quantifiers match
 * the same texts whether they are greedy or lazy. ^ and $ are supported where they can only be the
 * start and the end of the text. What a grammar cannot express (look-around, back references, word
 * boundaries, Unicode property classes, flags, possessive quantifiers) is LMD_UNSUPPORTED, and a
 * mistake LMD_INVALID; both name the byte. */
#ifndef LLAMAD_GRAMMAR_REGEX_H
#define LLAMAD_GRAMMAR_REGEX_H

#include "core/grammar/expr.h"

/* Maximum nesting of groups. */
#define LMI_GR_REGEX_DEPTH 64

/* What a regular expression is compiled for. All members must be set, except where NULL is allowed. */
struct lmi_gr_regex_use {
	struct lmi_grammar_builder *b;
	void *ctx; /* for the functions */
	/* Returns an expression for one character of the class in the text of the grammar. NULL: the
	 * character itself. */
	struct lmi_grammar_expr *(*char_of)(void *ctx, const struct lmi_grammar_expr *cls);
	/* Returns an expression for any text that may precede and follow a match. NULL: nothing may,
	 * the expression matches all of the text. */
	struct lmi_grammar_expr *(*any_text)(void *ctx);
	/* Reports an error to the builder. */
	void (*fail)(void *ctx, enum lmd_status st, size_t at_byte, const char *what);
};

/* Returns the expression; after an error, some expression or NULL. */
struct lmi_grammar_expr *lmi_gr_regex(const struct lmi_gr_regex_use *use, const char *regex,
				      size_t bytes);
/* Returns an expression for texts that match as a whole. Errors begin with the name, if it
 * is not empty. */
struct lmi_grammar_expr *lmi_gr_regex_whole(struct lmi_grammar_builder *b, const char *name,
					    const char *regex, size_t bytes);

#endif /* LLAMAD_GRAMMAR_REGEX_H */
