/* SPDX-License-Identifier: MIT
 *
 * decode.h - lists of texts, and the decoder steps that work on them. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_DECODE_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_DECODE_H

#include "tokenizer/hf/hf_kind.h"

/* A list of texts: text i is bytes[at[i] .. at[i + 1]). After the last one, up to `end`, is the
 * text that is being written. */
struct hf_texts {
	const struct lmd_host *host;
	struct tok_buf bytes, at; /* size_t [n + 1] */
	size_t n, end;
	bool failed;              /* out of memory, or cancelled */
	struct tok_work work;
};

static inline size_t *hf_texts_at(const struct hf_texts *t)
{
	return t->at.p;
}

static inline struct lmd_str hf_texts_get(const struct hf_texts *t, size_t i)
{
	const size_t *at = hf_texts_at(t);

	if (at[i] == at[i + 1]) /* there may be no bytes at all */
		return (struct lmd_str){"", 0};
	return (struct lmd_str){(const char *)t->bytes.p + at[i], at[i + 1] - at[i]};
}

/* Total size of all finished texts in bytes. */
static inline size_t hf_texts_bytes(const struct hf_texts *t)
{
	return t->n ? hf_texts_at(t)[t->n] : 0;
}

/* Empties a list and keeps its memory. */
void hf_texts_clear(struct hf_texts *t);

/* These append to the text that is being written: bytes; bytes with each invalid UTF-8 sequence
 * replaced by U+FFFD; the bytes that a text in the byte alphabet represents, or the text unchanged
 * if it has any other character; a text with all occurrences of one string replaced by another. */
void hf_texts_add(struct hf_texts *t, const char *s, size_t n);
void hf_texts_add_lossy(struct hf_texts *t, const char *s, size_t n);
void hf_texts_add_spelt(struct hf_texts *t, const struct lmd_str *s);
void hf_texts_add_replaced(struct hf_texts *t, const struct lmd_str *s, const char *from,
			   const char *to);

/* Finishes the text that is being written. */
void hf_texts_end(struct hf_texts *t);

static inline void hf_texts_put(struct hf_texts *t, const char *s, size_t n)
{
	hf_texts_add(t, s, n);
	hf_texts_end(t);
}

bool hf_is_utf8(const char *s, size_t n);

/* State of one decoding, from one list to the other and back. */
struct hf_decoding {
	struct hf_texts in, out;
	bool middle;  /* each text separately, as if in the middle of others */
	bool fused;
	enum lmd_status st;
};

/* Runs d->in through all decoders. The result is in d->in, or d->st is the reason for the
 * failure. */
void hf_decode_steps(const struct hf_state *h, struct hf_decoding *d);
void hf_decode_drop(struct hf_decoding *d);

/* Returns true if decoding may leave the token out. */
static inline bool hf_is_special(const struct tok_vocab *v, uint32_t id)
{
	return v->spec->added && (v->spec->added[id] & LMD_ADDED_SPECIAL);
}

/* Returns true if the id is a hole in the vocabulary, which has no text. */
static inline bool hf_is_hole(const struct tok_vocab *v, uint32_t id)
{
	return !v->spec->text[id].len;
}

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_DECODE_H */
