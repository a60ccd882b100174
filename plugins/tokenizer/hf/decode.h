/* SPDX-License-Identifier: MIT
 *
 * decode.h - lists of texts, and the steps of a decoder over them. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_DECODE_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_DECODE_H

#include "tokenizer/hf/hf_kind.h"

/* Texts in a row: text i is bytes[at[i] .. at[i + 1]); behind the last, up to `end`, is one that
 * is being written. */
struct hf_texts {
	const struct lmd_host *host;
	struct lmi_buf bytes, at; /* size_t [n + 1] */
	size_t n, end;
	bool failed;              /* no memory */
};

static inline size_t *hf_texts_at(const struct hf_texts *t)
{
	return t->at.p;
}

static inline struct lmd_str hf_texts_get(const struct hf_texts *t, size_t i)
{
	const size_t *at = hf_texts_at(t);

	if (at[i] == at[i + 1]) /* perhaps there are no bytes at all */
		return (struct lmd_str){"", 0};
	return (struct lmd_str){(const char *)t->bytes.p + at[i], at[i + 1] - at[i]};
}

/* Bytes of all that are ended. */
static inline size_t hf_texts_bytes(const struct hf_texts *t)
{
	return t->n ? hf_texts_at(t)[t->n] : 0;
}

/* Empties a list; memory stays. */
void hf_texts_clear(struct hf_texts *t);

/* Add to the text that is being written: bytes; bytes of which what is no UTF-8 becomes U+FFFD,
 * once for each beginning of a character; what a text in the byte alphabet spells, or a text with
 * another character as it stands; a text with all places of one replaced by another. */
void hf_texts_add(struct hf_texts *t, const char *s, size_t n);
void hf_texts_add_lossy(struct hf_texts *t, const char *s, size_t n);
void hf_texts_add_spelt(struct hf_texts *t, const struct lmd_str *s);
void hf_texts_add_replaced(struct hf_texts *t, const struct lmd_str *s, const char *from,
			   const char *to);

/* Ends it. */
void hf_texts_end(struct hf_texts *t);

static inline void hf_texts_put(struct hf_texts *t, const char *s, size_t n)
{
	hf_texts_add(t, s, n);
	hf_texts_end(t);
}

bool hf_is_utf8(const char *s, size_t n);

/* One decoding: from one list to the other, and back. */
struct hf_decoding {
	struct hf_texts in, out;
	bool middle;  /* each text by itself, as between others */
	bool fused;
	enum lmd_status st;
};

/* Runs d->in through all decoders; the result is there again, or d->st says why not. */
void hf_decode_steps(const struct hf_state *h, struct hf_decoding *d);
void hf_decode_drop(struct hf_decoding *d);

/* Is the token one that decoding may leave out? */
static inline bool hf_is_special(const struct lmi_vocab *v, uint32_t id)
{
	return v->spec->added && (v->spec->added[id] & LMD_ADDED_SPECIAL);
}

/* A hole of the vocabulary has no text. */
static inline bool hf_is_hole(const struct lmi_vocab *v, uint32_t id)
{
	return !v->spec->text[id].len;
}

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_DECODE_H */
