/* SPDX-License-Identifier: MIT
 *
 * Builds the tables of byte-pair encoding.
 *
 * Byte level: the texts in the file are written in an alphabet of printable characters, one for
 * each byte. They are converted to bytes once, here, so that input text never has to be rewritten.
 * A token or merge with a character outside the alphabet can never match text. */
#include "common/bpe_tables.h"

#include "common/unicode.h"

static void fill_alphabet(struct tok_bpe_alphabet *a)
{
	for (uint32_t cp = 0; cp < TOK_BPE_ALPHABET_END; cp++)
		a->byte[cp] = (int16_t)tok_char_byte(cp);
}

/* Adds the tokens as symbols. */
static bool add_tokens(struct tok_bpe *b, const struct lmd_host *host,
		       const struct tok_bpe_alphabet *abc, size_t extra)
{
	const struct tok_vocab *v = b->vocab;
	size_t total = extra;
	uint32_t other;
	char *at;

	for (uint32_t i = 0; b->byte_level && i < v->n; i++)
		total += v->text[i].len;
	b->bytes = tok_host_array(host, total, 1);
	if (!b->bytes || !tok_buf_reserve(&b->sym, host, v->n * sizeof(struct lmd_str)) ||
	    !tok_string_map_init(&b->map, host, v->n))
		return false;
	at = b->bytes;
	for (uint32_t i = 0; i < v->n; i++) {
		struct lmd_str s = v->text[i];

		if (b->strict && !tok_vocab_in_model(v, i)) {
			s = (struct lmd_str){NULL, 0};
		} else if (b->byte_level) {
			size_t len;

			s = (struct lmd_str){NULL, 0};
			if (tok_bpe_to_bytes(abc, v->text[i].ptr, v->text[i].len, at, &len) &&
			    len) {
				s = (struct lmd_str){at, len};
				at += len;
			}
		}
		*tok_bpe_sym(b, i) = s;
	}
	b->n_sym = v->n;
	/* The texts differ, so their bytes do too. */
	(void)tok_string_map_add_all(&b->map, b->sym.p, v->n, &other);
	return true;
}

/* Determines the symbols of single bytes, and the tokens for bytes that remain after merging. */
static bool add_bytes(struct tok_bpe *b, const struct lmd_host *host)
{
	static const char all[256] = {
#define R4(x)  (char)(x), (char)((x) + 1), (char)((x) + 2), (char)((x) + 3)
#define R16(x) R4(x), R4((x) + 4), R4((x) + 8), R4((x) + 12)
#define R64(x) R16(x), R16((x) + 16), R16((x) + 32), R16((x) + 48)
		R64(0), R64(64), R64(128), R64(192)
#undef R4
#undef R16
#undef R64
	};

	b->byte_low = TOK_NONE;
	b->byte_high = 0;
	for (unsigned c = 0; c < 256; c++) {
		b->byte_sym[c] = TOK_NONE;
		b->byte_token[c] = b->byte_level && !b->strict
					   ? tok_vocab_find(b->vocab, &all[c], 1)
					   : tok_vocab_byte(b->vocab, c);
		if (b->byte_token[c] != TOK_NONE) {
			b->byte_low =
				b->byte_token[c] < b->byte_low ? b->byte_token[c] : b->byte_low;
			b->byte_high =
				b->byte_token[c] > b->byte_high ? b->byte_token[c] : b->byte_high;
		}
		if (b->byte_level) {
			b->byte_sym[c] = tok_string_map_find(&b->map, b->sym.p, &all[c], 1);
			if (b->byte_sym[c] == TOK_NONE)
				b->byte_sym[c] = tok_bpe_new_symbol(b, host, &all[c], 1);
			if (b->byte_sym[c] == TOK_NONE)
				return false;
		}
	}
	return true;
}

enum lmd_status tok_bpe_open(struct tok_bpe *b, const struct tok_vocab *v, struct lmd_error *err)
{
	const struct lmd_tok_spec *spec = v->spec;
	size_t merge_bytes = 0, tokens = 0;
	struct tok_bpe_alphabet abc;
	enum lmd_status st;

	b->vocab = v;
	if (spec->n_merges > 1u << 24)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: %llu merges, at most %u are allowed",
				(unsigned long long)spec->n_merges, 1u << 24);
	for (uint64_t i = 0; i < spec->n_merges; i++)
		merge_bytes += spec->merge[i].len;
	for (uint32_t i = 0; b->byte_level && i < v->n; i++)
		tokens += v->text[i].len;
	fill_alphabet(&abc);
	st = add_tokens(b, v->host, &abc, 2 * merge_bytes) && add_bytes(b, v->host) ? LMD_OK
										    : LMD_NOMEM;
	if (st == LMD_OK)
		st = tok_bpe_add_merges(b, v->host, &abc, b->bytes + tokens, err);
	if (st == LMD_OK)
		return LMD_OK;
	tok_bpe_close(b);
	if (st != LMD_NOMEM)
		return st;
	return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens and %llu merges", v->n,
			(unsigned long long)spec->n_merges);
}

void tok_bpe_close(struct tok_bpe *b)
{
	const struct lmd_host *host;

	if (!b->vocab)
		return;
	host = b->vocab->host;
	tok_buf_fini(&b->sym, host);
	tok_host_free(host, b->bytes);
	tok_string_map_fini(&b->map, host);
	tok_pairmap_fini(&b->pairs, host);
	tok_merge_boundaries_fini(&b->boundaries, host);
	b->bytes = NULL;
	b->vocab = NULL;
}
