/* SPDX-License-Identifier: MIT
 *
 * The piece of one token as it appears in the middle of a text: the output of the decoders there,
 * without the steps that apply only to the ends or to the whole text. */
#include "tokenizer/hf/decode.h"

#include "common/uni.h"

bool hf_strips_first(const struct hf_state *h)
{
	for (uint32_t i = 0; i < h->n_decode; i++) {
		const struct hf_step *s = &h->decode[i];

		switch ((enum hf_decoder)s->type->detail) {
		case HF_DEC_METASPACE:
			return s->prepend != HF_NEVER;
		case HF_DEC_WORDPIECE:
			return true;
		case HF_DEC_STRIP:
			if (s->start && s->content.len == 1 && *s->content.ptr == ' ')
				return true;
			break;
		default:
			break;
		}
	}
	return !h->n_decode;
}

static bool decodes(const struct hf_state *h, uint32_t i, enum hf_decoder what)
{
	return i < h->n_decode && h->decode[i].type->detail == (int)what;
}

/* Recognises the decoders that vocabularies with byte tokens have: one replacement of a text (by
 * one that is not longer, so that the longest piece is known), byte tokens, and then only steps
 * that fuse and strip the whole text. */
static enum hf_piece_rule rule_of(const struct hf_state *h)
{
	const struct hf_step *s = h->decode;
	uint32_t i = 0;

	if (h->n_decode == 1 && decodes(h, 0, HF_DEC_BYTES))
		return HF_PIECE_SPELT;
	if (!decodes(h, 0, HF_DEC_REPLACE) || s->rx || !s->pattern.len ||
	    s->content.len > s->pattern.len || !decodes(h, 1, HF_DEC_FALLBACK) ||
	    !decodes(h, 2, HF_DEC_FUSE))
		return HF_PIECE_MADE;
	for (i = 3; decodes(h, i, HF_DEC_STRIP); i++)
		;
	return i == h->n_decode ? HF_PIECE_REPLACED : HF_PIECE_MADE;
}

enum lmd_status hf_pieces_open(struct hf_state *h, struct lmd_error *err)
{
	const struct lmi_vocab *v = &h->tok.vocab;
	struct hf_decoding d = {.in.host = v->host, .out.host = v->host, .middle = true};

	h->piece_rule = rule_of(h);
	if (h->piece_rule != HF_PIECE_MADE)
		return LMD_OK;
	hf_texts_clear(&d.in);
	for (uint32_t i = 0; i < v->n; i++) {
		if (!h->n_decode && !hf_is_hole(v, i))
			hf_texts_add(&d.in, " ", 1);
		hf_texts_put(&d.in, v->text[i].ptr, hf_is_hole(v, i) ? 0 : v->text[i].len);
	}
	hf_decode_steps(h, &d);
	h->piece_at = lmi_host_array(v->host, v->n + 1u, sizeof(*h->piece_at));
	if (!h->piece_at || (d.st == LMD_OK && hf_texts_bytes(&d.in) > UINT32_MAX))
		d.st = LMD_NOMEM;
	if (d.st == LMD_OK) {
		for (uint32_t i = 0; i <= v->n; i++) {
			h->piece_at[i] = (uint32_t)hf_texts_at(&d.in)[i];
			if (i &&
			    h->piece_at[i] - h->piece_at[i - 1] > h->tok.vocab.info.max_piece_bytes)
				h->tok.vocab.info.max_piece_bytes =
					h->piece_at[i] - h->piece_at[i - 1];
		}
		h->piece_text = d.in.bytes.p;
		d.in.bytes = (struct lmi_buf){NULL, 0};
	}
	hf_decode_drop(&d);
	return d.st == LMD_OK ? LMD_OK
			      : lmd_fail(err, d.st, "vocabulary: cannot decode %u tokens", v->n);
}

void hf_pieces_close(struct hf_state *h)
{
	lmi_host_free(h->tok.vocab.host, h->piece_at);
	lmi_host_free(h->tok.vocab.host, h->piece_text);
}

static void put_replaced(const struct hf_state *h, const struct lmd_str *text, struct lmi_sink *out)
{
	const struct hf_step *s = h->decode;
	const char *p = text->ptr, *end = p + text->len, *q;

	while ((q = memmem(p, (size_t)(end - p), s->pattern.ptr, s->pattern.len)) != NULL) {
		lmi_sink_put(out, p, (size_t)(q - p));
		lmi_sink_put(out, s->content.ptr, s->content.len);
		p = q + s->pattern.len;
	}
	lmi_sink_put(out, p, (size_t)(end - p));
}

/* If the result is <0xNN>, writes that byte. */
static void put_replaced_or_byte(const struct hf_state *h, const struct lmd_str *text,
				 struct lmi_sink *out)
{
	char begin[8], c;
	struct lmi_sink first = {begin, sizeof(begin), 0, 0};
	int byte;

	put_replaced(h, text, &first);
	byte = lmi_byte_text(begin, first.n);
	c = (char)byte;
	if (byte >= 0)
		lmi_sink_put(out, &c, 1);
	else
		put_replaced(h, text, out);
}

/* Writes the bytes of a text in the byte alphabet; a text with any other character is written
 * unchanged. */
static void put_from_alphabet(const struct lmd_str *text, struct lmi_sink *out)
{
	const char *p = text->ptr, *end = p + text->len;

	for (const char *q = p; q < end;) {
		if (lmi_char_byte(lmi_utf8_get(&q, end)) < 0) {
			lmi_sink_put(out, p, (size_t)(end - p));
			return;
		}
	}
	while (p < end) {
		char c = (char)lmi_char_byte(lmi_utf8_get(&p, end));

		lmi_sink_put(out, &c, 1);
	}
}

size_t hf_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap)
{
	const struct hf_state *h = state;
	const struct lmi_vocab *v = &h->tok.vocab;
	struct lmi_sink s = {out, cap, 0, 0};

	if (id < 0 || (uint32_t)id >= v->n || hf_is_hole(v, (uint32_t)id) ||
	    (!(flags & LMD_DECODE_UNPARSE_SPECIAL) && hf_is_special(v, (uint32_t)id)))
		return 0;
	switch (h->piece_rule) {
	case HF_PIECE_MADE:
		lmi_sink_put(&s, h->piece_text + h->piece_at[id],
			     h->piece_at[id + 1] - h->piece_at[id]);
		break;
	case HF_PIECE_SPELT:
		put_from_alphabet(&v->text[id], &s);
		break;
	case HF_PIECE_REPLACED:
		put_replaced_or_byte(h, &v->text[id], &s);
		break;
	}
	return s.n;
}
