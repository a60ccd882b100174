/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of a tokenizer as samplers see it. */
#include <string.h>

#include "core/engine/sample.h"
#include "core/text/tokenizer.h"

static size_t piece_of(const void *ctx, lmd_token id, char *out, size_t cap)
{
	return lmi_tokenizer_piece(ctx, id, LMD_DECODE_UNPARSE_SPECIAL, out, cap);
}

static enum lmd_status encode(const void *ctx, const char *text, size_t bytes, lmd_token *out,
			      size_t cap, size_t *n)
{
	struct lmi_text_token_buf t = {0};
	enum lmd_status st = lmi_tokenizer_encode(ctx, text, bytes, 0, &t, NULL);

	if (st == LMD_OK) {
		*n = t.n;
		if (t.n && cap)
			memcpy(out, t.id, (t.n < cap ? t.n : cap) * sizeof(*out));
	}
	lmi_text_token_buf_fini(&t);
	return st;
}

enum lmd_status lmi_sampler_vocab_init(struct lmi_sampler_vocab *v,
				       const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(tok);
	struct lmi_text_token_buf nl = {0};
	enum lmd_status st;

	*v = (struct lmi_sampler_vocab){.tok = tok};
	v->view = (struct lmd_sample_vocab){.struct_size = sizeof(v->view),
					    .n_tokens = info->n_tokens,
					    .ctx = tok,
					    .piece = piece_of,
					    .encode = encode,
					    .eog = info->eog,
					    .n_eog = info->n_eog,
					    .eot = info->eot,
					    .eos = info->eos,
					    .nl = -1};
	st = lmi_tokenizer_encode(tok, "\n", 1, 0, &nl, err);
	if (st == LMD_OK && nl.n)
		v->view.nl = nl.id[nl.n - 1];
	lmi_text_token_buf_fini(&nl);
	/* a vocabulary without text has no newline token, which is not an error */
	return st == LMD_NOMEM ? st : LMD_OK;
}
