/* SPDX-License-Identifier: MIT
 *
 * Builds the tables of byte-pair encoding.
 *
 * Byte level: the texts in the file are written in an alphabet of printable characters, one for
 * each byte. They are converted to bytes once, here, so that input text never has to be rewritten.
 * A token or merge with a character outside the alphabet can never match text. */
#include "common/bpe_tables.h"

#include "common/uni.h"

static void fill_alphabet(struct lmi_bpe_alphabet *a)
{
	for (uint32_t cp = 0; cp < LMI_BPE_ALPHABET_END; cp++)
		a->byte[cp] = (int16_t)lmi_char_byte(cp);
}

bool lmi_bpe_to_bytes(const struct lmi_bpe_alphabet *a, const char *text, size_t n, char *out,
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
		if (cp >= LMI_BPE_ALPHABET_END || a->byte[cp] < 0)
			return false;
		*o++ = (char)a->byte[cp];
	}
	*len = (size_t)(o - out);
	return true;
}

/* Adds the tokens as symbols. */
static bool add_tokens(struct lmi_bpe *b, const struct lmd_host *host,
		       const struct lmi_bpe_alphabet *abc, size_t extra)
{
	const struct lmi_vocab *v = b->vocab;
	size_t total = extra;
	uint32_t other;
	char *at;

	for (uint32_t i = 0; b->byte_level && i < v->n; i++)
		total += v->text[i].len;
	b->bytes = lmi_host_array(host, total, 1);
	if (!b->bytes || !lmi_buf_need(&b->sym, host, v->n * sizeof(struct lmd_str)) ||
	    !lmi_textmap_init(&b->map, host, v->n))
		return false;
	at = b->bytes;
	for (uint32_t i = 0; i < v->n; i++) {
		struct lmd_str s = v->text[i];

		if (b->strict && !lmi_vocab_in_model(v, i)) {
			s = (struct lmd_str){NULL, 0};
		} else if (b->byte_level) {
			size_t len;

			s = (struct lmd_str){NULL, 0};
			if (lmi_bpe_to_bytes(abc, v->text[i].ptr, v->text[i].len, at, &len) &&
			    len) {
				s = (struct lmd_str){at, len};
				at += len;
			}
		}
		*lmi_bpe_sym(b, i) = s;
	}
	b->n_sym = v->n;
	/* The texts differ, so their bytes do too. */
	(void)lmi_textmap_add_all(&b->map, b->sym.p, v->n, &other);
	return true;
}

uint32_t lmi_bpe_new_symbol(struct lmi_bpe *b, const struct lmd_host *host, const char *s, size_t n)
{
	if (!lmi_buf_need(&b->sym, host, ((size_t)b->n_sym + 1) * sizeof(struct lmd_str)))
		return LMI_NONE;
	*lmi_bpe_sym(b, b->n_sym) = (struct lmd_str){s, n};
	if (!lmi_textmap_grow(&b->map, host, b->sym.p, (size_t)b->n_sym + 1))
		return LMI_NONE;
	return lmi_textmap_add(&b->map, b->sym.p, b->n_sym++);
}

/* Determines the symbols of single bytes, and the tokens for bytes that remain after merging. */
static bool add_bytes(struct lmi_bpe *b, const struct lmd_host *host)
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

	b->byte_low = LMI_NONE;
	b->byte_high = 0;
	for (unsigned c = 0; c < 256; c++) {
		b->byte_sym[c] = LMI_NONE;
		b->byte_tok[c] = b->byte_level && !b->strict ? lmi_vocab_find(b->vocab, &all[c], 1)
							     : lmi_vocab_byte(b->vocab, c);
		if (b->byte_tok[c] != LMI_NONE) {
			b->byte_low = b->byte_tok[c] < b->byte_low ? b->byte_tok[c] : b->byte_low;
			b->byte_high =
				b->byte_tok[c] > b->byte_high ? b->byte_tok[c] : b->byte_high;
		}
		if (b->byte_level) {
			b->byte_sym[c] = lmi_textmap_find(&b->map, b->sym.p, &all[c], 1);
			if (b->byte_sym[c] == LMI_NONE)
				b->byte_sym[c] = lmi_bpe_new_symbol(b, host, &all[c], 1);
			if (b->byte_sym[c] == LMI_NONE)
				return false;
		}
	}
	return true;
}

enum lmd_status lmi_bpe_open(struct lmi_bpe *b, const struct lmi_vocab *v, struct lmd_error *err)
{
	const struct lmd_tokspec *spec = v->spec;
	size_t merge_bytes = 0, tokens = 0;
	struct lmi_bpe_alphabet abc;
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
		st = lmi_bpe_add_merges(b, v->host, &abc, b->bytes + tokens, err);
	if (st == LMD_OK)
		return LMD_OK;
	lmi_bpe_close(b);
	if (st != LMD_NOMEM)
		return st;
	return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens and %llu merges", v->n,
			(unsigned long long)spec->n_merges);
}

void lmi_bpe_close(struct lmi_bpe *b)
{
	const struct lmd_host *host;

	if (!b->vocab)
		return;
	host = b->vocab->host;
	lmi_buf_fini(&b->sym, host);
	lmi_host_free(host, b->bytes);
	lmi_textmap_fini(&b->map, host);
	lmi_pairmap_fini(&b->pairs, host);
	lmi_seams_fini(&b->seams, host);
	b->bytes = NULL;
	b->vocab = NULL;
}
