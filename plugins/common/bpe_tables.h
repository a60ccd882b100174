/* SPDX-License-Identifier: MIT
 *
 * bpe_tables.h - shared by the files that build the byte-pair encoding tables. */
#ifndef LLAMAD_PLUGINS_COMMON_BPE_TABLES_H
#define LLAMAD_PLUGINS_COMMON_BPE_TABLES_H

#include "common/bpe.h"

/* Byte of each character of the byte alphabet, -1 for other characters; all are below the end. */
#define TOK_BPE_ALPHABET_END 0x144
struct tok_bpe_alphabet {
	int16_t byte[TOK_BPE_ALPHABET_END];
};

/* Converts a text in the byte alphabet to bytes; returns false if a character is not in the
 * alphabet. out: at most n bytes. */
bool tok_bpe_to_bytes(const struct tok_bpe_alphabet *a, const char *text, size_t n, char *out,
		      size_t *len);

static inline struct lmd_str *tok_bpe_sym(const struct tok_bpe *b, uint32_t i)
{
	return (struct lmd_str *)b->sym.p + i;
}

/* Adds a symbol for bytes that are not a token and that must stay in place; returns TOK_NONE if
 * out of memory. */
uint32_t tok_bpe_new_symbol(struct tok_bpe *b, const struct lmd_host *host, const char *s,
			    size_t n);

/* Adds the merges of the spec; the tokens and the bytes must already have their symbols. buf:
 * space for twice the bytes of all merges. */
enum lmd_status tok_bpe_add_merges(struct tok_bpe *b, const struct lmd_host *host,
				   const struct tok_bpe_alphabet *alphabet, char *buf,
				   struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_COMMON_BPE_TABLES_H */
