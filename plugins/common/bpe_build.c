/* SPDX-License-Identifier: MIT
 *
 * Tables of byte-pair encoding.
 *
 * Byte level: the texts of the file are written in an alphabet of printable characters, one
 * for each byte.  They are turned into bytes once, here, so that text is never rewritten.
 * A token or merge with a character outside of the alphabet can never come from text. */
#include "common/bpe.h"

#include "common/uni.h"

/* Byte of each character of the byte alphabet, -1 for others: characters below ALPHABET_END. */
#define ALPHABET_END 0x144
struct alphabet {
	int16_t byte[ALPHABET_END];
};

static void fill_alphabet(struct alphabet *a)
{
	for (uint32_t cp = 0; cp < ALPHABET_END; cp++)
		a->byte[cp] = (int16_t)lmi_char_byte(cp);
}

/* Bytes of a text in the byte alphabet; false if it is not in it.  out: at most n bytes. */
static bool to_bytes(const struct alphabet *a, const char *text, size_t n, char *out, size_t *len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;
	char *o = out;

	while (s < end) {
		uint32_t cp = *s++;

		if (cp >= 0x80) { /* two bytes reach beyond the alphabet */
			if (cp < 0xc2 || cp > 0xc5 || s == end || (*s & 0xc0) != 0x80)
				return false;
			cp = (cp & 0x1f) << 6 | (*s++ & 0x3f);
		}
		if (cp >= ALPHABET_END || a->byte[cp] < 0)
			return false;
		*o++ = (char)a->byte[cp];
	}
	*len = (size_t)(o - out);
	return true;
}

static struct lmd_str *sym_at(const struct lmi_bpe *b, uint32_t i)
{
	return (struct lmd_str *)b->sym.p + i;
}

/* Tokens as symbols. */
static bool add_tokens(struct lmi_bpe *b, const struct lmd_host *host, const struct alphabet *abc,
		       size_t extra)
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

		if (b->byte_level) {
			size_t len;

			s = (struct lmd_str){NULL, 0};
			if (to_bytes(abc, v->text[i].ptr, v->text[i].len, at, &len) && len) {
				s = (struct lmd_str){at, len};
				at += len;
			}
		}
		*sym_at(b, i) = s;
	}
	b->n_sym = v->n;
	/* Texts differ, so their bytes do. */
	(void)lmi_textmap_add_all(&b->map, b->sym.p, v->n, &other);
	return true;
}

/* A merge on its way through the tables: its bytes, those of left and right in a row. */
struct merge {
	char *p;
	size_t n[3];      /* left, right, both */
	uint64_t hash[3];
	uint32_t sym[3];
	uint32_t rank;
};

static inline const char *part(const struct merge *m, int i)
{
	return i == 1 ? m->p + m->n[0] : m->p;
}

/* A new symbol for bytes that are no token, LMI_NONE without memory. */
static uint32_t new_symbol(struct lmi_bpe *b, const struct lmd_host *host, const char *s, size_t n)
{
	if (!lmi_buf_need(&b->sym, host, ((size_t)b->n_sym + 1) * sizeof(struct lmd_str)))
		return LMI_NONE;
	*sym_at(b, b->n_sym) = (struct lmd_str){s, n};
	if (!lmi_textmap_grow(&b->map, host, b->sym.p, (size_t)b->n_sym + 1))
		return LMI_NONE;
	return lmi_textmap_add(&b->map, b->sym.p, b->n_sym++);
}

/* Reads merge `rank` into m; its bytes go to p, which has room for as many as the text.
 * False if it can never apply. */
static bool read_merge(const struct lmi_bpe *b, const struct alphabet *abc, uint32_t rank, char *p,
		       struct merge *m)
{
	const struct lmd_str *t = &b->vocab->spec->merge[rank];
	const char *gap = t->len > 1 ? memchr(t->ptr + 1, ' ', t->len - 1) : NULL;

	if (!gap || gap + 1 == t->ptr + t->len)
		return false;
	m->p = p;
	m->rank = rank;
	m->n[0] = (size_t)(gap - t->ptr);
	m->n[1] = t->len - m->n[0] - 1;
	if (!b->byte_level) {
		memcpy(p, t->ptr, m->n[0]);
		memcpy(p + m->n[0], gap + 1, m->n[1]);
	} else if (!to_bytes(abc, t->ptr, m->n[0], p, &m->n[0]) ||
		   !to_bytes(abc, gap + 1, m->n[1], p + m->n[0], &m->n[1])) {
		return false;
	}
	m->n[2] = m->n[0] + m->n[1];
	for (int i = 0; i < 3; i++) {
		m->hash[i] = lmi_textmap_hash(&b->map, part(m, i), m->n[i]);
		lmi_textmap_prefetch(&b->map, m->hash[i]);
	}
	return true;
}

/* Finds or makes the three symbols.  *used: bytes at m->p that symbols point to now. */
static bool find_symbols(struct lmi_bpe *b, const struct lmd_host *host, struct merge *m, size_t *used)
{
	for (int i = 0; i < 3; i++) {
		const char *s = part(m, i);

		m->sym[i] = lmi_textmap_find_hash(&b->map, b->sym.p, s, m->n[i], m->hash[i]);
		if (m->sym[i] != LMI_NONE)
			continue;
		m->sym[i] = new_symbol(b, host, s, m->n[i]);
		*used = m->n[2];
		if (m->sym[i] == LMI_NONE)
			return false;
	}
	lmi_pairmap_prefetch(&b->pairs, m->sym[0], m->sym[1]);
	return true;
}

/* Merges in small groups, each step for all of the group, so that the tables have time to
 * come into the cache. */
#define GROUP 16

static bool add_merges(struct lmi_bpe *b, const struct lmd_host *host, const struct alphabet *abc,
		       char *at)
{
	const struct lmd_tokspec *spec = b->vocab->spec;
	uint32_t n = (uint32_t)spec->n_merges;
	struct merge m[GROUP];

	if (!lmi_pairmap_init(&b->pairs, host, n))
		return false;
	for (uint32_t from = 0; from < n; from += GROUP) {
		uint32_t many = 0;
		char *p = at;

		for (uint32_t i = from; i < n && i < from + GROUP; i++) {
			if (read_merge(b, abc, i, p, &m[many]))
				p += m[many++].n[2];
		}
		for (uint32_t i = 0; i < many; i++) {
			size_t used = 0;

			if (!find_symbols(b, host, &m[i], &used))
				return false;
			if (used) /* keeps what lies before, too */
				at = m[i].p + used;
		}
		for (uint32_t i = 0; i < many; i++)
			lmi_pairmap_add(&b->pairs, m[i].sym[0], m[i].sym[1], m[i].rank, m[i].sym[2]);
	}
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
			b->byte_sym[c] = lmi_textmap_find(&b->map, b->sym.p, &all[c], 1);
			if (b->byte_sym[c] == LMI_NONE)
				b->byte_sym[c] = new_symbol(b, host, &all[c], 1);
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
	struct alphabet abc;

	b->vocab = v;
	if (spec->n_merges > 1u << 24)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: %llu merges, at most %u",
				(unsigned long long)spec->n_merges, 1u << 24);
	for (uint64_t i = 0; i < spec->n_merges; i++)
		merge_bytes += spec->merge[i].len;
	for (uint32_t i = 0; b->byte_level && i < v->n; i++)
		tokens += v->text[i].len;
	fill_alphabet(&abc);
	if (!add_tokens(b, v->host, &abc, merge_bytes) ||
	    !add_merges(b, v->host, &abc, b->bytes + tokens) || !add_bytes(b, v->host)) {
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
