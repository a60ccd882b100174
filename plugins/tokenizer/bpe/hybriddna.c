/* SPDX-License-Identifier: MIT
 *
 * Kind hybriddna: byte-pair encoding, except that between <dna> and </dna> each six bases are one
 * token. In the vocabulary such a token is followed by U+E000, so that its text differs from
 * ordinary tokens; this mark is not part of its piece. */
#include <string.h>

#include "tokenizer/bpe/bpe_kind.h"

#define OPEN_TAG  "<dna>"
#define CLOSE_TAG "</dna>"
#define K         6

static const char *find(const char *s, size_t n, const char *what)
{
	return memmem(s, n, what, strlen(what));
}

/* Emits one group of at most six bases; a shorter group is padded with A. */
static void put_group(const struct bpe_state *b, struct tok_encode_job *j, const char *s, size_t n)
{
	char text[K + 3];
	uint32_t id;

	memset(text, 'A', K);
	for (size_t i = 0; i < n; i++)
		text[i] = s[i] >= 'a' && s[i] <= 'z' ? (char)(s[i] - 32) : s[i];
	memcpy(text + K, TOK_VOCAB_MARK, 3);
	id = tok_vocab_find(&b->tok.vocab, text, sizeof(text));
	tok_encode_job_put(j, id != TOK_NONE ? id : b->dna_oov);
}

static enum lmd_status dna_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				const char *s, size_t n)
{
	const struct bpe_state *b = (const struct bpe_state *)t;
	const char *end = s + n;
	enum lmd_status st = LMD_OK;

	if (b->dna_begin == TOK_NONE || b->dna_end == TOK_NONE || b->dna_oov == TOK_NONE)
		return bpe_text(t, j, s, n);
	while (s < end) {
		const char *tag = find(s, (size_t)(end - s), OPEN_TAG), *close;

		if (!tok_encode_job_step(j, tok_work_scan((size_t)((tag ? tag : end) - s))))
			return LMD_CANCELLED;
		if (!tag)
			return bpe_text(t, j, s, (size_t)(end - s));
		if (tag > s)
			st = bpe_text(t, j, s, (size_t)(tag - s));
		if (st != LMD_OK)
			return st;
		tok_encode_job_put(j, b->dna_begin);
		s = tag + strlen(OPEN_TAG);
		close = find(s, (size_t)(end - s), CLOSE_TAG);
		for (const char *stop = close ? close : end; s < stop;) {
			size_t group = stop - s < K ? (size_t)(stop - s) : K;

			put_group(b, j, s, group);
			s += group;
			if (!tok_encode_job_step(j, K))
				return LMD_CANCELLED;
		}
		if (!close)
			return LMD_OK;
		tok_encode_job_put(j, b->dna_end);
		s += strlen(CLOSE_TAG);
	}
	return LMD_OK;
}

static enum lmd_status open_hybriddna(void *state, const struct lmd_host *host,
				      const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				      struct lmd_error *err)
{
	struct bpe_state *b = state;

	b->tok.kind.text = dna_text;
	b->dna = true;
	return bpe_open(b, host, spec, spec->pre, 11, info, err);
}

void bpe_dna_tokens(struct bpe_state *b)
{
	struct tok_vocab *v = &b->tok.vocab;

	b->dna_begin = tok_vocab_find(v, OPEN_TAG, strlen(OPEN_TAG));
	b->dna_end = tok_vocab_find(v, CLOSE_TAG, strlen(CLOSE_TAG));
	b->dna_oov = tok_vocab_find(v, "<oov>", 5);
	if (b->dna_oov != TOK_NONE)
		v->marked_from = b->dna_oov + 1;
}

const struct lmd_tokenizer_ops bpe_hybriddna_ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = open_hybriddna,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};
