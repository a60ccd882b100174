/* SPDX-License-Identifier: MIT
 *
 * Symbols: texts in the byte alphabet as bytes, and symbols that are not tokens. */
#include "common/bpe_tables.h"

bool tok_bpe_to_bytes(const struct tok_bpe_alphabet *a, const char *text, size_t n, char *out,
		      size_t *len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;
	char *o = out;

	while (s < end) {
		uint32_t cp = *s++;

		if (cp >= 0x80) { /* two UTF-8 bytes can encode more than the alphabet */
			if (cp < 0xc2 || cp > 0xc5 || s == end || (*s & 0xc0) != 0x80)
				return false;
			cp = (cp & 0x1f) << 6 | (*s++ & 0x3f);
		}
		if (cp >= TOK_BPE_ALPHABET_END || a->byte[cp] < 0)
			return false;
		*o++ = (char)a->byte[cp];
	}
	*len = (size_t)(o - out);
	return true;
}

uint32_t tok_bpe_new_symbol(struct tok_bpe *b, const struct lmd_host *host, const char *s, size_t n)
{
	if (!tok_buf_reserve(&b->sym, host, ((size_t)b->n_sym + 1) * sizeof(struct lmd_str)))
		return TOK_NONE;
	*tok_bpe_sym(b, b->n_sym) = (struct lmd_str){s, n};
	if (!tok_string_map_reserve(&b->map, host, b->sym.p, (size_t)b->n_sym + 1))
		return TOK_NONE;
	return tok_string_map_add(&b->map, b->sym.p, b->n_sym++);
}
