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

		if (b->strict && !lmi_vocab_in_model(v, i)) {
			s = (struct lmd_str){NULL, 0};
		} else if (b->byte_level) {
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
	const char *part[3];
	size_t n[3];      /* left, right, join */
	size_t bytes;     /* at p */
	uint64_t hash[3];
	uint32_t sym[3];
	uint32_t rank;
};

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

/* Cuts a merge into its parts; false if it has none. */
static bool cut_merge(const struct lmd_tokspec *spec, uint32_t rank, struct lmd_str part[2])
{
	const struct lmd_str *t = &spec->merge[rank];
	const char *gap = t->ptr;

	if (spec->merge_left)
		gap += spec->merge_left[rank];
	else
		gap = t->len > 1 ? memchr(t->ptr + 1, ' ', t->len - 1) : NULL;
	if (!gap || gap == t->ptr || gap + 1 >= t->ptr + t->len)
		return false;
	part[0] = (struct lmd_str){t->ptr, (size_t)(gap - t->ptr)};
	part[1] = (struct lmd_str){gap + 1, (size_t)(t->ptr + t->len - gap - 1)};
	return true;
}

/* Most files have tokens in the order of the merges that make them.  Is it the one at *guess, or the
 * one behind it?  Otherwise LMI_NONE. */
static uint32_t next_token(const struct lmi_bpe *b, uint32_t *guess, const char *s, size_t n)
{
	for (uint32_t id = *guess; id < b->n_sym && id < *guess + 2; id++) {
		const struct lmd_str *t = sym_at(b, id);

		if (t->ptr && t->len == n && !memcmp(t->ptr, s, n)) {
			*guess = id;
			return id;
		}
	}
	return LMI_NONE;
}

/* Reads merge `rank` into m; its bytes go to p, which has room for twice as many as the text.
 * False if it can never apply. */
static bool read_merge(const struct lmi_bpe *b, const struct alphabet *abc, uint32_t rank, char *p,
		       uint32_t *guess, struct merge *m)
{
	struct lmd_str part[2];

	if (!cut_merge(b->vocab->spec, rank, part))
		return false;
	m->p = p;
	m->rank = rank;
	for (int i = 0; i < 2; i++) {
		m->part[i] = p;
		m->n[i] = part[i].len;
		if (!b->byte_level)
			memcpy(p, part[i].ptr, part[i].len);
		else if (!to_bytes(abc, part[i].ptr, part[i].len, p, &m->n[i]))
			return false;
		p += m->n[i];
	}
	m->part[2] = m->p;
	m->n[2] = m->n[0] + m->n[1];
	if (b->prefix.len && m->n[1] >= b->prefix.len &&
	    !memcmp(m->part[1], b->prefix.ptr, b->prefix.len)) {
		/* the prefix of the right part is not in the join */
		m->part[2] = p;
		m->n[2] -= b->prefix.len;
		memcpy(p, m->part[0], m->n[0]);
		memcpy(p + m->n[0], m->part[1] + b->prefix.len, m->n[1] - b->prefix.len);
		p += m->n[2];
	}
	m->bytes = (size_t)(p - m->p);
	m->sym[2] = next_token(b, guess, m->part[2], m->n[2]);
	for (int i = 0; i < (m->sym[2] == LMI_NONE ? 3 : 2); i++) {
		m->hash[i] = lmi_textmap_hash(&b->map, m->part[i], m->n[i]);
		lmi_textmap_prefetch(&b->map, m->hash[i]);
	}
	return true;
}

/* Finds or makes the three symbols.  *used: symbols point to m->p now. */
static enum lmd_status find_symbols(struct lmi_bpe *b, const struct lmd_host *host, struct merge *m,
				    bool *used, struct lmd_error *err)
{
	*used = false;
	for (int i = 0; i < 3; i++) {
		if (i == 2 && m->sym[2] != LMI_NONE)
			continue;
		m->sym[i] = lmi_textmap_find_hash(&b->map, b->sym.p, m->part[i], m->n[i], m->hash[i]);
		if (m->sym[i] != LMI_NONE)
			continue;
		if (b->strict)
			return lmd_fail(err, LMD_CORRUPT, "vocabulary: merge %u: '%.*s' is no token",
					m->rank, (int)(m->n[i] < 60 ? m->n[i] : 60), m->part[i]);
		m->sym[i] = new_symbol(b, host, m->part[i], m->n[i]);
		*used = true;
		if (m->sym[i] == LMI_NONE)
			return LMD_NOMEM;
	}
	lmi_pairmap_prefetch(&b->pairs, m->sym[0], m->sym[1]);
	return LMD_OK;
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

	b->byte_low = LMI_NONE;
	b->byte_high = 0;
	for (unsigned c = 0; c < 256; c++) {
		b->byte_sym[c] = LMI_NONE;
		b->byte_tok[c] = b->byte_level && !b->strict ? lmi_vocab_find(b->vocab, &all[c], 1)
							     : lmi_vocab_byte(b->vocab, c);
		if (b->byte_tok[c] != LMI_NONE) {
			b->byte_low = b->byte_tok[c] < b->byte_low ? b->byte_tok[c] : b->byte_low;
			b->byte_high = b->byte_tok[c] > b->byte_high ? b->byte_tok[c] : b->byte_high;
		}
		if (b->byte_level) {
			b->byte_sym[c] = lmi_textmap_find(&b->map, b->sym.p, &all[c], 1);
			if (b->byte_sym[c] == LMI_NONE)
				b->byte_sym[c] = new_symbol(b, host, &all[c], 1);
			if (b->byte_sym[c] == LMI_NONE)
				return false;
		}
	}
	return true;
}

/* May words be cut at seams at all?  Not if what becomes of a character depends on its place in the
 * word or on what is in front, nor if it may vanish, so that others come together. */
static bool have_seams(const struct lmi_bpe *b)
{
	if (b->prefix.len || b->suffix.len)
		return false;
	if (!b->strict || (!b->byte_level && b->unk != LMI_NONE && !b->fuse_unk))
		return true;
	for (unsigned c = 0; c < 256; c++)
		if (b->byte_level ? b->byte_sym[c] >= b->vocab->n
				  : !b->byte_fallback || b->byte_tok[c] == LMI_NONE)
			return false;
	return true;
}

/* By the strict rules some tokens stand for text that is not theirs: for bytes of characters that
 * are no tokens, and for such characters.  A merge of these reaches across places that its parts
 * say nothing of. */
static bool stands_for_another(const struct lmi_bpe *b, uint32_t sym)
{
	if (!b->strict || b->byte_level)
		return false;
	for (unsigned c = 0; sym >= b->byte_low && sym <= b->byte_high && c < 256; c++)
		if (b->byte_tok[c] == sym)
			return true;
	return sym == b->unk;
}

/* Merges in small groups, each step for all of the group, so that the tables have time to
 * come into the cache. */
#define GROUP 32

/* Of equal pairs the first counts; by the strict rules the last. */
static enum lmd_status add_merges(struct lmi_bpe *b, const struct lmd_host *host,
				  const struct alphabet *abc, char *at, struct lmd_error *err)
{
	uint32_t n = (uint32_t)b->vocab->spec->n_merges, guess = 0;
	struct merge m[GROUP];
	enum lmd_status st = LMD_OK;
	bool seams = have_seams(b);

	if (!lmi_pairmap_init(&b->pairs, host, n) || !lmi_seams_init(&b->seams, host))
		return LMD_NOMEM;
	for (uint32_t from = 0; from < n && st == LMD_OK; from += GROUP) {
		uint32_t many = 0;
		char *p = at;

		for (uint32_t i = from; i < n && i < from + GROUP; i++) {
			if (read_merge(b, abc, i, p, &guess, &m[many]))
				p += m[many++].bytes;
		}
		for (uint32_t i = 0; i < 2 * many; i++)
			lmi_textmap_prefetch_key(&b->map, b->sym.p, m[i / 2].hash[i % 2]);
		for (uint32_t i = 0; i < 2 * many; i++)
			lmi_textmap_prefetch_text(&b->map, b->sym.p, m[i / 2].hash[i % 2]);
		for (uint32_t i = 0; i < many && st == LMD_OK; i++) {
			bool used;

			st = find_symbols(b, host, &m[i], &used, err);
			guess = m[i].sym[2];
			if (used) /* keeps what lies before, too */
				at = m[i].p + m[i].bytes;
		}
		for (uint32_t i = 0; i < many && st == LMD_OK; i++) {
			lmi_pairmap_add(&b->pairs, m[i].sym[0], m[i].sym[1], m[i].rank,
					m[i].sym[2], b->strict);
			seams &= !stands_for_another(b, m[i].sym[0]) && !stands_for_another(b, m[i].sym[1]);
			if (seams)
				lmi_seams_add(&b->seams, m[i].part[0], m[i].n[0], m[i].part[1],
					      m[i].n[1]);
		}
	}
	if (!seams)
		lmi_seams_fini(&b->seams, host);
	return st;
}

enum lmd_status lmi_bpe_open(struct lmi_bpe *b, const struct lmi_vocab *v, struct lmd_error *err)
{
	const struct lmd_tokspec *spec = v->spec;
	size_t merge_bytes = 0, tokens = 0;
	struct alphabet abc;
	enum lmd_status st;

	b->vocab = v;
	if (spec->n_merges > 1u << 24)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: %llu merges, at most %u",
				(unsigned long long)spec->n_merges, 1u << 24);
	for (uint64_t i = 0; i < spec->n_merges; i++)
		merge_bytes += spec->merge[i].len;
	for (uint32_t i = 0; b->byte_level && i < v->n; i++)
		tokens += v->text[i].len;
	fill_alphabet(&abc);
	st = add_tokens(b, v->host, &abc, 2 * merge_bytes) && add_bytes(b, v->host) ? LMD_OK : LMD_NOMEM;
	if (st == LMD_OK)
		st = add_merges(b, v->host, &abc, b->bytes + tokens, err);
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
