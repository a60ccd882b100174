/* SPDX-License-Identifier: MIT
 *
 * Tables of byte-pair encoding.
 *
 * Byte level: the texts of the file are written in an alphabet of printable characters, one
 * for each byte.  They are turned into bytes once, here, so that text is never rewritten.
 * A token or merge with a character outside of the alphabet can never come from text. */
#include "common/bpe.h"

#include "common/uni.h"

/* Bytes of a text in the byte alphabet; false if it is not in it.  out: at most n bytes. */
static bool to_bytes(const char *s, size_t n, char *out, size_t *len)
{
	const char *end = s + n;
	char *o = out;

	while (s < end) {
		int byte;

		if ((unsigned char)*s > 0x20 && (unsigned char)*s < 0x7f) {
			*o++ = *s++;
			continue;
		}
		byte = lmi_char_byte(lmi_utf8_get(&s, end));
		if (byte < 0)
			return false;
		*o++ = (char)byte;
	}
	*len = (size_t)(o - out);
	return true;
}

static struct lmd_str *sym_at(const struct lmi_bpe *b, uint32_t i)
{
	return (struct lmd_str *)b->sym.p + i;
}

/* Tokens as symbols. */
static bool add_tokens(struct lmi_bpe *b, const struct lmd_host *host, size_t extra)
{
	const struct lmi_vocab *v = b->vocab;
	size_t total = extra;
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

		if (b->byte_level) {
			size_t len;

			s = (struct lmd_str){NULL, 0};
			if (to_bytes(v->text[i].ptr, v->text[i].len, at, &len) && len) {
				s = (struct lmd_str){at, len};
				at += len;
			}
		}
		*sym_at(b, i) = s;
		if (s.ptr && lmi_textmap_add(&b->map, b->sym.p, i) == LMI_NONE)
			return false;
	}
	b->n_sym = v->n;
	return true;
}

/* The symbol of these bytes, made if there is none; LMI_NONE without memory.  A new symbol
 * points to s. */
static uint32_t symbol(struct lmi_bpe *b, const struct lmd_host *host, const char *s, size_t n)
{
	uint32_t id = lmi_textmap_find(&b->map, b->sym.p, s, n);

	if (id != LMI_NONE)
		return id;
	if (!lmi_buf_need(&b->sym, host, ((size_t)b->n_sym + 1) * sizeof(struct lmd_str)))
		return LMI_NONE;
	*sym_at(b, b->n_sym) = (struct lmd_str){s, n};
	if (!lmi_textmap_grow(&b->map, host, b->sym.p, (size_t)b->n_sym + 1))
		return LMI_NONE;
	return lmi_textmap_add(&b->map, b->sym.p, b->n_sym++);
}

/* One merge: both parts and their join, written to `at` (as many bytes as the merge has). */
static bool add_merge(struct lmi_bpe *b, const struct lmd_host *host, uint32_t rank, char **at)
{
	const struct lmd_str *m = &b->vocab->spec->merge[rank];
	const char *gap = m->len > 1 ? memchr(m->ptr + 1, ' ', m->len - 1) : NULL;
	size_t n_left, n_right;
	uint32_t left, right, join;
	char *p = *at;

	if (!gap)
		return true;
	n_left = (size_t)(gap - m->ptr);
	n_right = m->len - n_left - 1;
	if (!n_right)
		return true;
	if (b->byte_level) {
		if (!to_bytes(m->ptr, n_left, p, &n_left) ||
		    !to_bytes(gap + 1, n_right, p + n_left, &n_right))
			return true;
	} else {
		memcpy(p, m->ptr, n_left);
		memcpy(p + n_left, gap + 1, n_right);
	}
	left = symbol(b, host, p, n_left);
	right = symbol(b, host, p + n_left, n_right);
	join = symbol(b, host, p, n_left + n_right);
	if (left == LMI_NONE || right == LMI_NONE || join == LMI_NONE)
		return false;
	/* keep the bytes only if a symbol points to them */
	if (sym_at(b, left)->ptr == p || sym_at(b, right)->ptr == p + n_left ||
	    sym_at(b, join)->ptr == p)
		*at += n_left + n_right;
	lmi_pairmap_add(&b->pairs, left, right, rank, join);
	return true;
}

static bool add_merges(struct lmi_bpe *b, const struct lmd_host *host, char *at)
{
	const struct lmd_tokspec *spec = b->vocab->spec;

	if (!lmi_pairmap_init(&b->pairs, host, spec->n_merges))
		return false;
	for (uint32_t i = 0; i < spec->n_merges; i++)
		if (!add_merge(b, host, i, &at))
			return false;
	return true;
}

/* Symbols of single bytes, and tokens for bytes that are left over at the end. */
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

	for (unsigned c = 0; c < 256; c++) {
		b->byte_sym[c] = LMI_NONE;
		if (b->byte_level) {
			b->byte_tok[c] = lmi_vocab_find(b->vocab, &all[c], 1);
			b->byte_sym[c] = symbol(b, host, &all[c], 1);
			if (b->byte_sym[c] == LMI_NONE)
				return false;
		} else {
			b->byte_tok[c] = lmi_vocab_byte(b->vocab, c);
		}
	}
	return true;
}

enum lmd_status lmi_bpe_open(struct lmi_bpe *b, const struct lmi_vocab *v, struct lmd_error *err)
{
	const struct lmd_tokspec *spec = v->spec;
	size_t merge_bytes = 0, tokens = 0;

	b->vocab = v;
	if (spec->n_merges > 1u << 24)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: %llu merges, at most %u",
				(unsigned long long)spec->n_merges, 1u << 24);
	for (uint64_t i = 0; i < spec->n_merges; i++)
		merge_bytes += spec->merge[i].len;
	for (uint32_t i = 0; b->byte_level && i < v->n; i++)
		tokens += v->text[i].len;
	if (!add_tokens(b, v->host, merge_bytes) ||
	    !add_merges(b, v->host, b->bytes + tokens) || !add_bytes(b, v->host)) {
		lmi_bpe_close(b);
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens and %llu merges",
				v->n, (unsigned long long)spec->n_merges);
	}
	return LMD_OK;
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
	b->bytes = NULL;
	b->vocab = NULL;
}
