/* SPDX-License-Identifier: MIT
 *
 * lex.h - splits the text of a template into tokens: data, and the contents of {{ }} and {% %}.
 *
 * Whitespace around tags is removed as the settings (trim_blocks, lstrip_blocks) and the signs -
 * and + require; comments are dropped; a raw block becomes data. */
#ifndef LLAMAD_CORE_JINJA_LEX_H
#define LLAMAD_CORE_JINJA_LEX_H

#include "core/base/arena.h"
#include "core/jinja/value.h"

enum lmi_jinja_tok {
	LMI_JINJA_TOK_END = 0,
	LMI_JINJA_TOK_DATA, /* text */
	LMI_JINJA_TOK_VAR_BEGIN,
	LMI_JINJA_TOK_VAR_END,
	LMI_JINJA_TOK_BLOCK_BEGIN,
	LMI_JINJA_TOK_BLOCK_END,
	LMI_JINJA_TOK_NAME,   /* text */
	LMI_JINJA_TOK_STRING, /* text, escapes resolved */
	LMI_JINJA_TOK_INT,
	LMI_JINJA_TOK_FLOAT,
	/* operators: the character itself or one of these */
	LMI_JINJA_TOK_FLOORDIV = 128,
	LMI_JINJA_TOK_POW,
	LMI_JINJA_TOK_EQ,
	LMI_JINJA_TOK_NE,
	LMI_JINJA_TOK_LE,
	LMI_JINJA_TOK_GE
};

struct lmi_jinja_token {
	uint8_t type; /* enum lmi_jinja_tok, or one of + - * / % ~ [ ] ( ) { } < > = . : | , ; */
	uint32_t line;
	uint32_t n; /* DATA, NAME, STRING: bytes of u.s */
	union {
		const char *s;
		int64_t i;
		double f;
	} u;
};

/* Splits a text into tokens, ended by LMI_JINJA_TOK_END.  The tokens and their strings live in the
 * arena. */
enum lmd_status lmi_jinja_lex(struct lmd_arena *arena, const char *text, size_t bytes,
			      struct lmi_jinja_token **out, struct lmd_error *err);

#endif /* LLAMAD_CORE_JINJA_LEX_H */
