/* SPDX-License-Identifier: MIT
 *
 * lexer.h - the lexer from inside: what lex.c and the files of single tokens share.
 *
 * A failure is kept in the lexer; what is added after it does not count. */
#ifndef LLAMAD_TEMPLATE_LEXER_H
#define LLAMAD_TEMPLATE_LEXER_H

#include "core/text/template/lex.h"

/* Open brackets in one tag. */
#define LMI_LEX_BRACKETS 1000

struct lmi_lexer {
	struct lmd_arena *arena;
	const char *s;        /* line ends are \n alone */
	size_t n, at;
	uint32_t line;
	bool line_starts;     /* the last tag ended with its line */
	struct lmi_token *tok;
	size_t n_tok, cap_tok;
	char bracket[LMI_LEX_BRACKETS];
	uint32_t n_bracket;
	enum lmd_status st;
	struct lmd_error *err;
};

/* The first failure counts. */
void lmi_lex_fail(struct lmi_lexer *x, const char *what);
void lmi_lex_no_memory(struct lmi_lexer *x);

/* A token of the current line; NULL (failed) without memory. */
struct lmi_token *lmi_lex_add(struct lmi_lexer *x, int type);
void lmi_lex_add_text(struct lmi_lexer *x, int type, const char *s, size_t n);

/* Goes on to `to`, counting lines. */
void lmi_lex_advance(struct lmi_lexer *x, size_t to);
/* Does `word` stand at `at`? */
bool lmi_lex_at(const struct lmi_lexer *x, size_t at, const char *word);

/* Value of n hexadecimal digits; *ok becomes false if they are none. */
uint32_t lmi_lex_hex(const char *s, size_t n, bool *ok);

/* One token each, which begins at x->at; x->at is then behind it. */
void lmi_lex_string(struct lmi_lexer *x);   /* lex_string.c */
void lmi_lex_number(struct lmi_lexer *x);   /* lex_number.c */

#endif /* LLAMAD_TEMPLATE_LEXER_H */
