/* SPDX-License-Identifier: MIT
 *
 * Decoding: the texts of the tokens pass through the steps as a list, and the result is
 * concatenated. */
#include "tokenizer/hf/decode.h"

#include <string.h>

/* Drops the tokens that encode adds around a text. */
static void without_ends(const struct lmd_tok_spec *s, const lmd_token **ids, size_t *n)
{
	const lmd_token *end = *ids + *n;
	size_t f = s->n_prefix, b = s->n_suffix;

	if (f && *n >= f && !memcmp(*ids, s->prefix, f * sizeof(**ids))) {
		*ids += f;
		*n -= f;
	}
	if (b && *n >= b && !memcmp(end - b, s->suffix, b * sizeof(**ids)))
		*n -= b;
}

enum lmd_status hf_decode(const void *state, const lmd_token *ids, size_t n_ids, uint32_t flags,
			  char *out, size_t cap, size_t *n, struct lmd_error *err)
{
	const struct hf_state *h = state;
	const struct tok_vocab *v = &h->tok.vocab;
	struct hf_decoding d = {.in.host = v->host, .out.host = v->host};
	enum lmd_status st = tok_check_ids(v, ids, n_ids, err);

	if (st != LMD_OK)
		return st;
	if (flags & LMD_DECODE_REMOVE_SPECIAL)
		without_ends(v->spec, &ids, &n_ids);
	hf_texts_clear(&d.in);
	for (size_t i = 0; i < n_ids; i++) {
		uint32_t id = (uint32_t)ids[i];

		if (hf_is_hole(v, id) ||
		    (!(flags & LMD_DECODE_UNPARSE_SPECIAL) && hf_is_special(v, id)))
			continue;
		if (!h->n_decode && d.in.n)
			hf_texts_add(&d.in, " ", 1);
		hf_texts_put(&d.in, v->text[id].ptr, v->text[id].len);
	}
	hf_decode_steps(h, &d);
	st = d.st;
	if (st == LMD_OK) {
		*n = hf_texts_bytes(&d.in);
		if (cap && *n)
			memcpy(out, d.in.bytes.p, *n < cap ? *n : cap);
	}
	hf_decode_drop(&d);
	if (st == LMD_INVALID)
		return lmd_fail(err, st, "decoding: a token needs too many decoder steps");
	if (st == LMD_CANCELLED)
		return lmd_fail(err, st, "decoding: cancelled");
	return st == LMD_OK ? st : lmd_fail(err, st, "decoding: no memory for %zu tokens", n_ids);
}
