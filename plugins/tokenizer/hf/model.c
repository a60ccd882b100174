/* SPDX-License-Identifier: MIT
 *
 * Converts a word to tokens. BPE and Unigram are shared with other kinds; WordPiece covers a word
 * from the left with the longest tokens; WordLevel looks it up as a whole. */
#include <string.h>

#include "tokenizer/hf/hf_kind.h"
#include "tokenizer/hf/step_types.h"

#include "common/unicode.h"

/* Finds a token of the model by its text; scans all tokens. */
static uint32_t find_token(const struct hf_state *h, struct lmd_str s)
{
	const struct tok_vocab *v = &h->tok.vocab;

	for (uint32_t i = 0; s.ptr && i < v->n; i++)
		if (v->text[i].len == s.len && !memcmp(v->text[i].ptr, s.ptr, s.len) &&
		    tok_vocab_in_model(v, i))
			return i;
	return TOK_NONE;
}

static enum lmd_status open_bpe(struct hf_state *h, const struct lmd_tok_step *m,
				struct lmd_error *err)
{
	const struct lmd_meta *dropout = hf_param(m, "dropout");
	struct hf_step *last = h->n_split ? &h->split[h->n_split - 1] : NULL;
	struct tok_bpe *b = &h->bpe;

	if (dropout && ((dropout->type == LMD_META_F64 && dropout->v.f > 0) ||
			(dropout->type == LMD_META_I64 && dropout->v.i > 0)))
		return lmd_fail(err, LMD_UNSUPPORTED, "model BPE: dropout is not supported");
	b->strict = true;
	b->ignore_merges = hf_param_bool(m, "ignore_merges", false);
	b->byte_fallback = hf_param_bool(m, "byte_fallback", false);
	b->fuse_unk = hf_param_bool(m, "fuse_unk", false);
	b->prefix = hf_param_str(m, "continuing_subword_prefix");
	b->suffix = hf_param_str(m, "end_of_word_suffix");
	b->unk = h->unk;
	/* Words are bytes, unless something examines the characters that represent them. */
	b->byte_level = last && !strcmp(last->type->name, "ByteLevel") && !b->byte_fallback &&
			!b->prefix.len && !b->suffix.len;
	if (b->byte_level)
		last->materialize = false;
	return tok_bpe_open(b, &h->tok.vocab, err);
}

static enum lmd_status open_unigram(struct hf_state *h, const struct lmd_tok_step *m,
				    struct lmd_error *err)
{
	const struct lmd_meta *scores = hf_param(m, "scores"), *unk = hf_param(m, "unk_id");
	struct tok_unigram *u = &h->unigram;

	if (!scores || scores->type != LMD_META_ARR_F64 || scores->n != h->tok.vocab.n)
		return lmd_fail(err, LMD_CORRUPT, "model Unigram: no scores");
	u->exact = scores->v.a;
	u->byte_fallback = hf_param_bool(m, "byte_fallback", false);
	u->unk = -1;
	if (unk && unk->type == LMD_META_I64) {
		if (unk->v.i < 0 || unk->v.i >= (int64_t)h->tok.vocab.n)
			return lmd_fail(err, LMD_CORRUPT, "model Unigram: unk_id %lld of %u tokens",
					(long long)unk->v.i, h->tok.vocab.n);
		u->unk = (int32_t)unk->v.i;
		h->unk = (uint32_t)u->unk;
	}
	return tok_unigram_open(u, &h->tok.vocab, err);
}

static enum lmd_status open_words(struct hf_state *h, const struct lmd_tok_step *m,
				  struct lmd_error *err)
{
	const struct lmd_meta *max = hf_param(m, "max_input_chars_per_word");
	struct lmd_str prefix = hf_param_str(m, "continuing_subword_prefix");
	const struct tok_vocab *v = &h->tok.vocab;
	size_t bytes = 0;
	bool ok;

	h->max_chars = max && max->type == LMD_META_I64 && max->v.i >= 0 && max->v.i < UINT32_MAX
			       ? (uint32_t)max->v.i
			       : 100;
	if (!prefix.ptr)
		prefix = (struct lmd_str){"##", 2};
	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	ok = tok_trie_init(&h->words, v->host, bytes / 2);
	for (uint32_t i = 0; ok && i < v->n; i++)
		if (tok_vocab_in_model(v, i))
			ok = tok_trie_add(&h->words, v->host, v->text[i].ptr, v->text[i].len, i);
	if (!ok)
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens", v->n);
	h->continuing = TOK_TRIE_ROOT;
	for (size_t i = 0; i < prefix.len && h->continuing != TOK_NONE; i++)
		h->continuing =
			tok_trie_next(&h->words, h->continuing, (unsigned char)prefix.ptr[i]);
	return LMD_OK;
}

#define MODEL(name_, model_) {name_, model_},
static const struct {
	const char *name;
	enum hf_model model;
} models[] = {HF_MODELS(MODEL)};
#undef MODEL

enum lmd_status hf_model_open(struct hf_state *h, const struct lmd_tok_step *m,
			      struct lmd_error *err)
{
	h->unk = find_token(h, hf_param_str(m, "unk_token"));
	for (uint32_t i = 0; i < h->n_split; i++)
		h->split[i].materialize = true;
	for (size_t i = 0; i < LMD_LEN(models); i++) {
		if (strcmp(m->type, models[i].name) != 0)
			continue;
		h->model = models[i].model;
		switch (h->model) {
		case HF_BPE:
			return open_bpe(h, m, err);
		case HF_UNIGRAM:
			return open_unigram(h, m, err);
		case HF_WORDPIECE:
		case HF_WORDLEVEL:
			return open_words(h, m, err);
		}
	}
	return lmd_fail(err, LMD_UNSUPPORTED, "model type '%.60s' is not known", m->type);
}

void hf_model_close(struct hf_state *h)
{
	tok_bpe_close(&h->bpe);
	tok_unigram_close(&h->unigram);
	tok_trie_fini(&h->words, h->tok.vocab.host);
}

static enum lmd_status put_unknown(const struct hf_state *h, struct tok_encode_job *j,
				   const char *w, size_t n)
{
	if (h->unk == TOK_NONE)
		return lmd_fail(j->err, LMD_CORRUPT,
				"vocabulary: no token for '%.*s', and no unknown token",
				(int)(n < 60 ? n : 60), w);
	tok_encode_job_put(j, h->unk);
	return LMD_OK;
}

static enum lmd_status word_piece(const struct hf_state *h, struct tok_encode_job *j, const char *w,
				  size_t n)
{
	size_t first = j->n, chars = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		chars += ((unsigned char)w[i] & 0xc0) != 0x80;
	while (chars <= h->max_chars && at < n) {
		uint32_t node = at ? h->continuing : TOK_TRIE_ROOT, id = 0;
		size_t len = node == TOK_NONE
				     ? 0
				     : tok_trie_longest_from(&h->words, node, w + at, n - at, &id);

		if (!len)
			break;
		tok_encode_job_put(j, id);
		at += len;
		if (!tok_encode_job_step(j, len))
			return LMD_CANCELLED;
	}
	if (at == n)
		return LMD_OK;
	j->n = first;
	return put_unknown(h, j, w, n);
}

enum lmd_status hf_model_word(const struct hf_state *h, struct tok_encode_job *j, const char *w,
			      size_t n)
{
	uint32_t id;

	switch (h->model) {
	case HF_BPE:
		return tok_bpe_word(&h->bpe, j, w, n);
	case HF_UNIGRAM:
		return tok_unigram_text(&h->unigram, j, w, n);
	case HF_WORDPIECE:
		return word_piece(h, j, w, n);
	case HF_WORDLEVEL:
		if (tok_trie_longest(&h->words, w, n, &id) != n)
			return put_unknown(h, j, w, n);
		tok_encode_job_put(j, id);
		return LMD_OK;
	}
	return LMD_INTERNAL;
}
