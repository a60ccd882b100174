/* SPDX-License-Identifier: MIT
 *
 * lexer.h - internals of the lexer, shared by lex.c and the files for single tokens.
 *
 * The lexer records its first failure; tokens added after it are ignored. */
#ifndef LLAMAD_CORE_JINJA_LEXER_H
#define LLAMAD_CORE_JINJA_LEXER_H

#include "core/jinja/lex.h"

/* Maximum number of open brackets in one tag. */
#define LMI_JINJA_LEX_BRACKETS 1000

struct lmi_jinja_lexer {
	struct lmd_arena *arena;
	const char *s;        /* all line ends are \n */
	size_t n, at;
	uint32_t line;
	bool line_starts;     /* the last tag was followed by a line end */
	struct lmi_jinja_token *tok;
	size_t n_tok, cap_tok;
	char bracket[LMI_JINJA_LEX_BRACKETS];
	uint32_t n_bracket;
	enum lmd_status st;
	struct lmd_error *err;
};

/* Records a failure; only the first one counts. */
void lmi_jinja_lex_fail(struct lmi_jinja_lexer *x, const char *what);
void lmi_jinja_lex_no_memory(struct lmi_jinja_lexer *x);

/* Adds a token for the current line; returns NULL (and fails) if out of memory. */
struct lmi_jinja_token *lmi_jinja_lex_add(struct lmi_jinja_lexer *x, int type);
void lmi_jinja_lex_add_text(struct lmi_jinja_lexer *x, int type, const char *s, size_t n);

/* Advances to offset `to`, counting lines. */
void lmi_jinja_lex_advance(struct lmi_jinja_lexer *x, size_t to);
/* Whether `word` occurs at offset `at`. */
bool lmi_jinja_lex_at(const struct lmi_jinja_lexer *x, size_t at, const char *word);

/* Value of n hexadecimal digits; sets *ok to false if they are not hexadecimal. */
uint32_t lmi_jinja_lex_hex(const char *s, size_t n, bool *ok);

/* Each of these lexes one token at x->at and moves x->at past it. */
void lmi_jinja_lex_string(struct lmi_jinja_lexer *x); /* lex_string.c */
void lmi_jinja_lex_number(struct lmi_jinja_lexer *x); /* lex_number.c */

#endif /* LLAMAD_CORE_JINJA_LEXER_H */
