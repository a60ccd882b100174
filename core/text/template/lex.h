/* SPDX-License-Identifier: MIT
 *
 * lex.h - splits the text of a template into tokens: data, and the contents of {{ }} and {% %}.
 *
 * Whitespace around tags is removed as the settings (trim_blocks, lstrip_blocks) and the signs -
 * and + require; comments are dropped; a raw block becomes data. */
#ifndef LLAMAD_TEMPLATE_LEX_H
#define LLAMAD_TEMPLATE_LEX_H

#include "core/base/arena.h"
#include "core/text/template/value.h"

enum lmi_tok {
	LMI_TOK_END = 0,
	LMI_TOK_DATA,         /* text */
	LMI_TOK_VAR_BEGIN,
	LMI_TOK_VAR_END,
	LMI_TOK_BLOCK_BEGIN,
	LMI_TOK_BLOCK_END,
	LMI_TOK_NAME,         /* text */
	LMI_TOK_STRING,       /* text, escapes resolved */
	LMI_TOK_INT,
	LMI_TOK_FLOAT,
	/* operators: the character itself or one of these */
	LMI_TOK_FLOORDIV = 128,
	LMI_TOK_POW,
	LMI_TOK_EQ,
	LMI_TOK_NE,
	LMI_TOK_LE,
	LMI_TOK_GE
};

struct lmi_token {
	uint8_t type;         /* enum lmi_tok, or one of + - * / % ~ [ ] ( ) { } < > = . : | , ; */
	uint32_t line;
	uint32_t n;           /* DATA, NAME, STRING: bytes of u.s */
	union {
		const char *s;
		int64_t i;
		double f;
	} u;
};

/* Splits a text into tokens, ended by LMI_TOK_END.  The tokens and their strings live in the
 * arena. */
enum lmd_status lmi_lex(struct lmd_arena *arena, const char *text, size_t bytes,
			struct lmi_token **out, struct lmd_error *err);

#endif /* LLAMAD_TEMPLATE_LEX_H */
