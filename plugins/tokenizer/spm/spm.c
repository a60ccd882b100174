/* SPDX-License-Identifier: MIT
 *
 * Kind llama: SentencePiece's byte-pair model. The text, with its spaces as U+2581, is a sequence
 * of characters. Of all adjacent pairs whose concatenation is a token, the one with the best score
 * (the leftmost of equal ones) is merged, until there is none. A character that is not a token
 * becomes the tokens of its bytes.
 *
 * Characters are delimited by the lead byte alone, so arbitrary bytes survive.
 *
 * Since the result of a merge is always a token, nothing is ever merged across two characters that
 * are adjacent in no token. The text is split at these places into short parts, which are cached
 * within a call. */
#include "tokenizer/spm/spm.h"

#include <string.h>

#include "common/unicode.h"
#include "common/word_cache.h"

#define JOINT_BITS 20
#define SHORT_MAX  32
#define HEAP_STEPS 8 /* steps of removing one pair from a heap that does not fit in the cache */

enum { BUF_TEXT, BUF_CACHE, BUF_LINKS, BUF_HEAP };

static inline uint32_t char_at(const char *s, size_t left, size_t *len)
{
	uint32_t c = 0;

	*len = tok_utf8_len((unsigned char)*s);
	if (*len > left)
		*len = left;
	memcpy(&c, s, *len);
	return c;
}

static inline uint32_t joint_bit(uint32_t a, uint32_t b)
{
	return (uint32_t)(tok_mix((uint64_t)a << 32 | b, 0x9fb21c651e98df25ull) >>
			  (64 - JOINT_BITS));
}

static inline bool is_joint(const struct spm_state *s, uint32_t a, uint32_t b)
{
	uint32_t bit = joint_bit(a, b);

	return s->joint[bit >> 6] >> (bit & 63) & 1;
}

/* Score of a token as a sortable number; greater is better. */
static inline uint32_t score_key(const struct tok_vocab *v, uint32_t id)
{
	float f = tok_vocab_score(v, id) + 0.0f; /* turns -0 into 0 */
	uint32_t u;

	memcpy(&u, &f, 4);
	return u & 0x80000000u ? ~u : u | 0x80000000u;
}

struct part {
	uint32_t at, len; /* in bytes; len 0 = merged into the previous one */
	uint32_t prev, next;
	uint32_t id;   /* token, or TOK_NONE for a character without one */
	uint32_t join; /* token of this and the next part, or TOK_NONE */
};

static void put_part(const struct spm_state *s, struct tok_encode_job *j, const char *text,
		     const struct part *p)
{
	bool unknown = false;

	if (LMD_LIKELY(p->id != TOK_NONE)) {
		tok_encode_job_put(j, p->id);
		return;
	}
	for (uint32_t i = 0; i < p->len; i++) {
		uint32_t id = s->byte_token[(unsigned char)text[p->at + i]];

		if (id != TOK_NONE)
			tok_encode_job_put(j, id);
		else if (!unknown && s->tok.vocab.info.unk >= 0)
			tok_encode_job_put(j, (uint32_t)s->tok.vocab.info.unk);
		unknown |= id == TOK_NONE;
	}
}

static inline uint32_t join_of(const struct spm_state *s, const char *text, const struct part *l,
			       const struct part *r)
{
	return tok_vocab_find(&s->tok.vocab, text + l->at, (size_t)l->len + r->len);
}

/* Merges at most SHORT_MAX characters, scanning for the best pair. */
static void merge_short(const struct spm_state *s, struct tok_encode_job *j, const char *text,
			size_t n)
{
	const struct tok_vocab *v = &s->tok.vocab;
	struct part p[SHORT_MAX];
	uint32_t key[SHORT_MAX];
	size_t k = 0;

	for (size_t i = 0, len; i < n; i += len) {
		(void)char_at(text + i, n - i, &len);
		p[k++] = (struct part){
			(uint32_t)i, (uint32_t)len, 0, 0, tok_vocab_find(v, text + i, len),
			TOK_NONE};
	}
#define RANK(i)                                                                                    \
	(p[i].join = join_of(s, text, &p[i], &p[(i) + 1]),                                         \
	 key[i] = p[i].join == TOK_NONE ? 0 : score_key(v, p[i].join))
	for (size_t i = 0; i + 1 < k; i++)
		RANK(i);
	while (k > 1) {
		size_t best = TOK_NONE;

		for (size_t i = 0; i + 1 < k; i++)
			if (p[i].join != TOK_NONE && (best == TOK_NONE || key[i] > key[best]))
				best = i;
		if (best == TOK_NONE)
			break;
		p[best].id = p[best].join;
		p[best].len += p[best + 1].len;
		p[best].join = p[best + 1].join;
		k--;
		for (size_t i = best + 1; i < k; i++) {
			p[i] = p[i + 1];
			key[i] = key[i + 1];
		}
		if (best + 1 < k)
			RANK(best);
		if (best)
			RANK(best - 1);
	}
#undef RANK
	for (size_t i = 0; i < k; i++)
		put_part(s, j, text, &p[i]);
}

/* A heap of 64-bit keys, greatest first: best score, then leftmost. */
struct heap {
	struct tok_buf *buf;
	const struct lmd_host *host;
	size_t n;
};

static bool heap_push(struct heap *q, uint64_t x)
{
	uint64_t *h;
	size_t i = q->n;

	if (!tok_buf_reserve(q->buf, q->host, (q->n + 1) * sizeof(*h)))
		return false;
	h = q->buf->p;
	for (q->n++; i && h[(i - 1) / 2] < x; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = x;
	return true;
}

static uint64_t heap_pop(struct heap *q)
{
	uint64_t *h = q->buf->p, top = h[0], x = h[--q->n];
	size_t i = 0;

	for (size_t c; (c = 2 * i + 1) < q->n; i = c) {
		if (c + 1 < q->n && h[c + 1] > h[c])
			c++;
		if (h[c] <= x)
			break;
		h[i] = h[c];
	}
	h[i] = x;
	return top;
}

static inline uint64_t heap_key(const struct tok_vocab *v, uint32_t join, uint32_t at)
{
	return (uint64_t)score_key(v, join) << 32 | (UINT32_MAX - at);
}

static bool offer(const struct spm_state *s, const char *text, struct heap *q, struct part *p,
		  uint32_t i)
{
	p[i].join = TOK_NONE;
	if (p[i].next == TOK_NONE)
		return true;
	p[i].join = join_of(s, text, &p[i], &p[p[i].next]);
	return p[i].join == TOK_NONE || heap_push(q, heap_key(&s->tok.vocab, p[i].join, i));
}

static enum lmd_status merge_long(const struct spm_state *s, struct tok_encode_job *j,
				  const char *text, size_t n)
{
	struct heap q = {&j->buf[BUF_HEAP], j->host, 0};
	const struct tok_vocab *v = &s->tok.vocab;
	struct part *p = NULL;
	uint32_t k = 0;

	for (size_t i = 0, len; i < n; i += len) {
		(void)char_at(text + i, n - i, &len);
		if (!tok_buf_reserve(&j->buf[BUF_LINKS], j->host, ((size_t)k + 1) * sizeof(*p)))
			return LMD_NOMEM;
		p = j->buf[BUF_LINKS].p;
		p[k] = (struct part){
			(uint32_t)i, (uint32_t)len, k - 1, k + 1, tok_vocab_find(v, text + i, len),
			TOK_NONE};
		k++;
		if (!tok_encode_job_step(j, 2))
			return LMD_CANCELLED;
	}
	p[k - 1].next = TOK_NONE;
	for (uint32_t i = 0; i < k; i++) {
		if (!offer(s, text, &q, p, i))
			return LMD_NOMEM;
		if (!tok_encode_job_step(j, 2))
			return LMD_CANCELLED;
	}
	while (q.n) {
		uint64_t top = heap_pop(&q);
		uint32_t i = UINT32_MAX - (uint32_t)top, r;

		if (!tok_encode_job_step(j, HEAP_STEPS))
			return LMD_CANCELLED;
		if (!p[i].len || p[i].join == TOK_NONE || heap_key(v, p[i].join, i) != top)
			continue; /* one of the two has been merged in the meantime */
		r = p[i].next;
		p[i].id = p[i].join;
		p[i].len += p[r].len;
		p[i].next = p[r].next;
		p[r].len = 0;
		if (p[i].next != TOK_NONE)
			p[p[i].next].prev = i;
		if (!offer(s, text, &q, p, i) ||
		    (p[i].prev != TOK_NONE && !offer(s, text, &q, p, p[i].prev)))
			return LMD_NOMEM;
	}
	for (uint32_t i = 0; i != TOK_NONE; i = p[i].next) {
		put_part(s, j, text, &p[i]);
		if (!tok_encode_job_step(j, 1))
			return LMD_CANCELLED;
	}
	return LMD_OK;
}

/* Returns the text with escaped spaces, and with one in front if the vocabulary wants it. */
static const char *escape_spaces(struct tok_encode_job *j, const char *s, size_t *n, bool prefix)
{
	size_t spaces = prefix;
	char *o;

	for (size_t i = 0; i < *n; i++)
		spaces += s[i] == ' ';
	if (!spaces)
		return s;
	if (!tok_buf_reserve(&j->buf[BUF_TEXT], j->host, *n + 3 * spaces))
		return NULL;
	o = j->buf[BUF_TEXT].p;
	if (prefix) {
		memcpy(o, "\xe2\x96\x81", 3);
		o += 3;
	}
	for (size_t i = 0; i < *n; i++) {
		if (s[i] == ' ') {
			memcpy(o, "\xe2\x96\x81", 3);
			o += 3;
		} else {
			*o++ = s[i];
		}
	}
	*n = (size_t)(o - (char *)j->buf[BUF_TEXT].p);
	return j->buf[BUF_TEXT].p;
}

/* Encodes a part between two split points. */
static enum lmd_status put_word(const struct spm_state *s, struct tok_encode_job *j, const char *w,
				size_t n, size_t n_chars)
{
	struct tok_cached_word word =
		tok_word_cache_find(j, &j->buf[BUF_CACHE], s->tok.vocab.map.seed, w, n);

	if (tok_word_cache_emit(&word, j))
		return LMD_OK;
	if (n_chars > SHORT_MAX)
		return merge_long(s, j, w, n);
	merge_short(s, j, w, n);
	tok_word_cache_store(&word, j);
	return LMD_OK;
}

static enum lmd_status spm_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				const char *text, size_t n)
{
	const struct spm_state *s = (const struct spm_state *)t;
	size_t from = 0, chars = 0, len;
	uint32_t last = 0;

	text = escape_spaces(j, text, &n, t->vocab.info.add_space_prefix && j->after_special);
	if (!text)
		return LMD_NOMEM;
	for (size_t i = 0; i < n; i += len) {
		uint32_t c = char_at(text + i, n - i, &len);

		if (!tok_encode_job_step(j, 1))
			return LMD_CANCELLED;
		if (i > from && !is_joint(s, last, c)) {
			enum lmd_status st = put_word(s, j, text + from, i - from, chars);

			if (st != LMD_OK)
				return st;
			from = i;
			chars = 0;
		}
		chars++;
		last = c;
	}
	return put_word(s, j, text + from, n - from, chars);
}

static void spm_close(struct tok_tokenizer_base *t)
{
	struct spm_state *s = (struct spm_state *)t;

	tok_host_free(t->vocab.host, s->joint);
}

static bool build(struct spm_state *s)
{
	const struct tok_vocab *v = &s->tok.vocab;

	s->joint = tok_host_array(v->host, 1u << (JOINT_BITS - 6), sizeof(*s->joint));
	if (!s->joint)
		return false;
	for (uint32_t id = 0; id < v->n; id++) {
		const struct lmd_str *t = &v->text[id];
		uint32_t last = 0;

		for (size_t i = 0, len; i < t->len; i += len) {
			uint32_t c = char_at(t->ptr + i, t->len - i, &len), bit;

			if (i) {
				bit = joint_bit(last, c);
				s->joint[bit >> 6] |= 1ull << (bit & 63);
			}
			last = c;
		}
	}
	for (unsigned b = 0; b < 256; b++) {
		char c = (char)b;

		s->byte_token[b] = tok_vocab_byte(v, b);
		if (s->byte_token[b] == TOK_NONE)
			s->byte_token[b] = tok_vocab_find(v, &c, 1);
	}
	return true;
}

static enum lmd_status spm_open(void *state, const struct lmd_host *host,
				const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				struct lmd_error *err)
{
	static const struct tok_vocab_defaults def = {
		.bos = 1,
		.eos = 2,
		.unk = 0,
		.sep = -1,
		.pad = -1,
		.mask = -1,
		.add_bos = 1,
		.add_space_prefix = 1,
	};
	struct spm_state *s = state;
	enum lmd_status st = tok_vocab_open(&s->tok.vocab, host, spec, err);

	if (st != LMD_OK)
		return st;
	s->tok.kind = (struct tok_kind){.add = TOK_ADD_FLAGS,
					.piece = TOK_PIECE_BLOCK,
					.text = spm_text,
					.close = spm_close};
	if (!build(s)) {
		tok_close(s);
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens",
				spec->n_tokens);
	}
	return tok_finish(&s->tok, &def, info, err);
}

const struct lmd_tokenizer_ops spm_ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = spm_open,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};
