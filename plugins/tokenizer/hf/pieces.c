/* SPDX-License-Identifier: MIT
 *
 * The piece of one token, as it is in the middle of a text: what the decoders make of it there, less
 * what they only do at the ends or to the whole. */
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

/* Pieces are read off the text when bytes are all that is decoded. */
static bool plain_bytes(const struct hf_state *h)
{
	return h->n_decode == 1 && h->decode[0].type->detail == HF_DEC_BYTES;
}

enum lmd_status hf_pieces_open(struct hf_state *h, struct lmd_error *err)
{
	const struct lmi_vocab *v = &h->tok.vocab;
	struct hf_decoding d = {.in.host = v->host, .out.host = v->host, .middle = true};

	if (plain_bytes(h))
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
			if (i && h->piece_at[i] - h->piece_at[i - 1] > h->tok.vocab.info.max_piece_bytes)
				h->tok.vocab.info.max_piece_bytes =
					h->piece_at[i] - h->piece_at[i - 1];
		}
		h->piece_text = d.in.bytes.p;
		d.in.bytes = (struct lmi_buf){NULL, 0};
	}
	hf_decode_drop(&d);
	return d.st == LMD_OK ? LMD_OK
			      : lmd_fail(err, d.st, "vocabulary: no pieces of %u tokens", v->n);
}

void hf_pieces_close(struct hf_state *h)
{
	lmi_host_free(h->tok.vocab.host, h->piece_at);
	lmi_host_free(h->tok.vocab.host, h->piece_text);
}

size_t hf_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap)
{
	const struct hf_state *h = state;
	const struct lmi_vocab *v = &h->tok.vocab;
	struct lmi_sink s = {out, cap, 0, 0};
	const char *p, *end;

	if (id < 0 || (uint32_t)id >= v->n || hf_is_hole(v, (uint32_t)id) ||
	    (!(flags & LMD_DECODE_UNPARSE_SPECIAL) && hf_is_special(v, (uint32_t)id)))
		return 0;
	if (h->piece_at) {
		lmi_sink_put(&s, h->piece_text + h->piece_at[id],
			     h->piece_at[id + 1] - h->piece_at[id]);
		return s.n;
	}
	p = v->text[id].ptr;
	end = p + v->text[id].len;
	for (const char *q = p; q < end;) {
		if (lmi_char_byte(lmi_utf8_get(&q, end)) < 0) {
			lmi_sink_put(&s, p, (size_t)(end - p));
			return s.n;
		}
	}
	while (p < end) {
		char c = (char)lmi_char_byte(lmi_utf8_get(&p, end));

		lmi_sink_put(&s, &c, 1);
	}
	return s.n;
}
