/* SPDX-License-Identifier: MIT
 *
 * bpe_tables.h - what building the tables of byte-pair encoding shares. */
#ifndef LLAMAD_PLUGINS_COMMON_BPE_TABLES_H
#define LLAMAD_PLUGINS_COMMON_BPE_TABLES_H

#include "common/bpe.h"

/* Byte of each character of the byte alphabet, -1 for others: characters below the end. */
#define LMI_BPE_ALPHABET_END 0x144
struct lmi_bpe_alphabet {
	int16_t byte[LMI_BPE_ALPHABET_END];
};

/* Bytes of a text in the byte alphabet; false if it is not in it.  out: at most n bytes. */
bool lmi_bpe_to_bytes(const struct lmi_bpe_alphabet *a, const char *text, size_t n, char *out,
		      size_t *len);

static inline struct lmd_str *lmi_bpe_sym(const struct lmi_bpe *b, uint32_t i)
{
	return (struct lmd_str *)b->sym.p + i;
}

/* A new symbol for bytes that are no token, which stay where they are; LMI_NONE without memory. */
uint32_t lmi_bpe_new_symbol(struct lmi_bpe *b, const struct lmd_host *host, const char *s,
			    size_t n);

/* The merges of the spec, when the tokens and the bytes have their symbols.  room: for twice the
 * bytes of all merges. */
enum lmd_status lmi_bpe_add_merges(struct lmi_bpe *b, const struct lmd_host *host,
				   const struct lmi_bpe_alphabet *abc, char *room,
				   struct lmd_error *err);

#endif /* LLAMAD_PLUGINS_COMMON_BPE_TABLES_H */
