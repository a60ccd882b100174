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

/* A part of a short text while it is merged. */
struct part {
	uint32_t at, len; /* in bytes */
	uint32_t id;   /* token, or TOK_NONE for a character without one */
	uint32_t join; /* token of this and the next part, or TOK_NONE */
};

/* Emits a token, or if there is none the bytes of its text. */
static void put_part(const struct spm_state *s, struct tok_encode_job *j, const char *text, size_t n,
		     uint32_t token)
{
	bool unknown = false;

	if (LMD_LIKELY(token != TOK_NONE)) {
		tok_encode_job_put(j, token);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t id = s->byte_token[(unsigned char)text[i]];

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
			(uint32_t)i, (uint32_t)len, tok_vocab_find(v, text + i, len), TOK_NONE};
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
		put_part(s, j, text + p[i].at, p[i].len, p[i].id);
}

/* Characters of a long part of a text as a linked list, 12 bytes each. A link that was merged into the
 * previous one is its own successor. */
struct link {
	uint32_t at; /* in bytes */
	uint32_t prev, next; /* TOK_NONE = end */
};

/* A long part of a text while it is merged. Pairs stay queued when one of their characters is merged
 * with another; such stale pairs are recognised when it is their turn, or removed when the queue is
 * full. */
struct long_part {
	const struct spm_state *s;
	struct tok_encode_job *j;
	const char *text;
	size_t bytes;
	struct link *l;
	uint64_t *heap; /* [cap] of which n are in use: score << 32 | UINT32_MAX - left */
	size_t n, cap;
};

static void sift_down(uint64_t *h, size_t n, size_t i)
{
	uint64_t x = h[i];

	for (size_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && h[c + 1] > h[c])
			c++;
		if (h[c] <= x)
			break;
		h[i] = h[c];
	}
	h[i] = x;
}

/* Returns the token of link i and, with `pair`, its successor; TOK_NONE if there is none. */
static uint32_t token_at(const struct long_part *w, uint32_t i, bool pair)
{
	uint32_t next = w->l[i].next;

	if (pair && (next == TOK_NONE || next == i))
		return TOK_NONE;
	if (pair)
		next = w->l[next].next;
	return tok_vocab_find(&w->s->tok.vocab, w->text + w->l[i].at,
			      (next == TOK_NONE ? w->bytes : w->l[next].at) - w->l[i].at);
}

/* Returns the key of link i and its successor; greater keys are merged first: the best score, then
 * the leftmost. 0 if they are no token; no pair has this key, as i is less than UINT32_MAX. */
static uint64_t pair_key(const struct long_part *w, uint32_t i)
{
	uint32_t join = token_at(w, i, true);

	if (join == TOK_NONE)
		return 0;
	return (uint64_t)score_key(&w->s->tok.vocab, join) << 32 | (UINT32_MAX - i);
}

/* Makes room in a full queue: removes the stale pairs. Where many tokens have the same score, stale
 * pairs can look like those that took their place, and the queue grows. */
static enum lmd_status make_room(struct long_part *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (pair_key(w, UINT32_MAX - (uint32_t)w->heap[i]) == w->heap[i])
			w->heap[n++] = w->heap[i];
		if (!tok_encode_job_step(w->j, 2))
			return LMD_CANCELLED;
	}
	w->n = n;
	for (size_t i = n / 2; i-- > 0;)
		sift_down(w->heap, n, i);
	if (n <= w->cap - w->cap / 8)
		return LMD_OK;
	if (!tok_buf_reserve(&w->j->buf[BUF_HEAP], w->j->host, 2 * w->cap * sizeof(*w->heap)))
		return LMD_NOMEM;
	w->heap = w->j->buf[BUF_HEAP].p;
	w->cap *= 2;
	return LMD_OK;
}

/* Queues link i and its successor if they are a token. */
static enum lmd_status queue_pair(struct long_part *w, uint32_t i)
{
	uint64_t x = pair_key(w, i);
	size_t at;

	if (!x)
		return LMD_OK;
	if (w->n == w->cap) {
		enum lmd_status st = make_room(w);

		if (st != LMD_OK)
			return st;
	}
	for (at = w->n++; at && w->heap[(at - 1) / 2] < x; at = (at - 1) / 2)
		w->heap[at] = w->heap[(at - 1) / 2];
	w->heap[at] = x;
	return LMD_OK;
}

static uint64_t take_pair(struct long_part *w)
{
	uint64_t *h = w->heap, top = h[0];

	h[0] = h[--w->n];
	if (w->n)
		sift_down(h, w->n, 0);
	return top;
}

/* Merges link i with its successor. */
static enum lmd_status join_pair(struct long_part *w, uint32_t i)
{
	struct link *l = &w->l[i];
	uint32_t r = l->next;
	enum lmd_status st;

	l->next = w->l[r].next;
	w->l[r].next = r;
	if (l->next != TOK_NONE)
		w->l[l->next].prev = i;
	st = queue_pair(w, i);
	return st != LMD_OK || l->prev == TOK_NONE ? st : queue_pair(w, l->prev);
}

static enum lmd_status merge_long(const struct spm_state *s, struct tok_encode_job *j,
				  const char *text, size_t n, size_t n_chars)
{
	/* a quarter more than there can be pairs, so that few passes remove the stale ones */
	struct long_part w = {
		.s = s, .j = j, .text = text, .bytes = n, .cap = n_chars + n_chars / 4};
	enum lmd_status st = LMD_OK;
	uint32_t k = 0;

	if (!tok_buf_reserve(&j->buf[BUF_LINKS], j->host, n_chars * sizeof(*w.l)) ||
	    !tok_buf_reserve(&j->buf[BUF_HEAP], j->host, w.cap * sizeof(*w.heap)))
		return LMD_NOMEM;
	w.l = j->buf[BUF_LINKS].p;
	w.heap = j->buf[BUF_HEAP].p;
	for (size_t i = 0, len; i < n; i += len, k++) {
		(void)char_at(text + i, n - i, &len);
		w.l[k] = (struct link){(uint32_t)i, k - 1, i + len < n ? k + 1 : TOK_NONE};
		if (!tok_encode_job_step(j, 2))
			return LMD_CANCELLED;
	}
	for (uint32_t i = 0; i < k && st == LMD_OK; i++) {
		st = queue_pair(&w, i);
		if (!tok_encode_job_step(j, 2))
			return LMD_CANCELLED;
	}
	while (w.n && st == LMD_OK) {
		uint64_t top = take_pair(&w);
		uint32_t i = UINT32_MAX - (uint32_t)top;

		if (!tok_encode_job_step(j, HEAP_STEPS))
			return LMD_CANCELLED;
		if (pair_key(&w, i) == top)
			st = join_pair(&w, i);
	}
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0, next; i != TOK_NONE; i = next) {
		next = w.l[i].next;
		put_part(s, j, text + w.l[i].at,
			 (next == TOK_NONE ? n : w.l[next].at) - w.l[i].at, token_at(&w, i, false));
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
		return merge_long(s, j, w, n, n_chars);
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
