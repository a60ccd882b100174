/* SPDX-License-Identifier: MIT
 *
 * Kind hybriddna: byte-pair encoding, except that between <dna> and </dna> each six bases are one
 * token. In the vocabulary such a token is followed by U+E000, so that its text differs from
 * ordinary tokens; this mark is not part of its piece. */
#include "tokenizer/bpe/bpe_kind.h"

#define OPEN_TAG  "<dna>"
#define CLOSE_TAG "</dna>"
#define K         6

static const char *find(const char *s, size_t n, const char *what)
{
	return memmem(s, n, what, strlen(what));
}

/* Emits one group of at most six bases; a shorter group is padded with A. */
static void put_group(const struct bpe_state *b, struct lmi_job *j, const char *s, size_t n)
{
	char text[K + 3];
	uint32_t id;

	memset(text, 'A', K);
	for (size_t i = 0; i < n; i++)
		text[i] = s[i] >= 'a' && s[i] <= 'z' ? (char)(s[i] - 32) : s[i];
	memcpy(text + K, LMI_VOCAB_MARK, 3);
	id = lmi_vocab_find(&b->tok.vocab, text, sizeof(text));
	lmi_job_put(j, id != LMI_NONE ? id : b->dna_oov);
}

static enum lmd_status dna_text(const struct lmi_tok *t, struct lmi_job *j, const char *s, size_t n)
{
	const struct bpe_state *b = (const struct bpe_state *)t;
	const char *end = s + n;
	enum lmd_status st = LMD_OK;

	if (b->dna_begin == LMI_NONE || b->dna_end == LMI_NONE || b->dna_oov == LMI_NONE)
		return bpe_text(t, j, s, n);
	while (s < end) {
		const char *tag = find(s, (size_t)(end - s), OPEN_TAG), *close;

		if (!tag)
			return bpe_text(t, j, s, (size_t)(end - s));
		if (tag > s)
			st = bpe_text(t, j, s, (size_t)(tag - s));
		if (st != LMD_OK)
			return st;
		lmi_job_put(j, b->dna_begin);
		s = tag + strlen(OPEN_TAG);
		close = find(s, (size_t)(end - s), CLOSE_TAG);
		for (const char *stop = close ? close : end; s < stop;) {
			size_t group = stop - s < K ? (size_t)(stop - s) : K;

			put_group(b, j, s, group);
			s += group;
		}
		if (!close)
			return LMD_OK;
		lmi_job_put(j, b->dna_end);
		s += strlen(CLOSE_TAG);
	}
	return LMD_OK;
}

static enum lmd_status open_hybriddna(void *state, const struct lmd_host *host,
				      const struct lmd_tokspec *spec, struct lmd_tok_info *info,
				      struct lmd_error *err)
{
	struct bpe_state *b = state;

	b->tok.kind.text = dna_text;
	b->dna = true;
	return bpe_open(b, host, spec, spec->pre, 11, info, err);
}

void bpe_dna_tokens(struct bpe_state *b)
{
	struct lmi_vocab *v = &b->tok.vocab;

	b->dna_begin = lmi_vocab_find(v, OPEN_TAG, strlen(OPEN_TAG));
	b->dna_end = lmi_vocab_find(v, CLOSE_TAG, strlen(CLOSE_TAG));
	b->dna_oov = lmi_vocab_find(v, "<oov>", 5);
	if (b->dna_oov != LMI_NONE)
		v->marked_from = b->dna_oov + 1;
}

const struct lmd_tokenizer_ops bpe_hybriddna_ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = open_hybriddna,
	.close = lmi_tok_close,
	.encode = lmi_tok_encode,
	.decode = lmi_tok_decode,
	.piece = lmi_tok_piece,
};
