/* SPDX-License-Identifier: MIT
 *
 * Chameleon (arXiv 2405.09818): LayerNorm of queries and keys with a weight per head; image tokens
 * are banned from the output.  Models with "swin norm" normalise after the blocks; in these the
 * feed-forward block reads only the normalised result of attention, as in the reference
 * implementation of the file format. */
#include "arch/dense/dense.h"

#include <math.h>

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_REQ(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH), LMI_SET_FFN_NORM, LMI_SET_FFN,
};

#define IMAGE_FIRST 4u
#define IMAGE_END   8196u
#define QK_EPS      1e-5f

static void swin(struct lmi_hparams *hp, struct lmi_keys *k)
{
	if (lmi_key_bool(k, "swin_norm", LMI_OPTIONAL, false))
		hp->place = LMI_POST;
}

static void attn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)e;
	(void)d;
	a->qk_norm_eps = QK_EPS;
}

static uint32_t normed(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t x, enum lmi_t row)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, row);
	uint32_t y = lmi_f32(e, d->hp.n_embd, "post_norm");

	lmi_put_norm(e, lmi_whole(e, x), &n, lmi_whole(e, y));
	return y;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm none = lmi_no_norm();
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_io io;
	uint32_t z;

	if (d->hp.place != LMI_POST) {
		lmi_decoder_layer(e, d, s, pass);
		return;
	}
	io = lmi_read(e, s, &none);
	io.res = LMD_NONE;
	z = normed(e, d, lmi_attn(e, &io, &a), T_ATTN_NORM);
	lmi_add_later(e, s, z, 1.0f);
	io.x = lmi_whole(e, z);
	z = normed(e, d, lmi_decoder_ffn_block(e, d, &io), T_FFN_NORM);
	lmi_add_later(e, s, z, 1.0f);
}

static uint32_t ban_images(struct lmi_emit *e, const struct lmi_decoder *d)
{
	const struct lmd_host *host = e->b->host;
	uint32_t n = d->hp.n_vocab, id;
	float *v = host->alloc(host->ctx, (size_t)n * sizeof(*v));

	if (!v) {
		e->b->fail(e->b->ctx, LMD_NOMEM, "banned tokens: out of memory for %u values", n);
		return LMD_NONE;
	}
	for (uint32_t i = IMAGE_FIRST; i < IMAGE_END && i < n; i++)
		v[i] = -INFINITY;
	id = lmi_literal(e, v, n, "banned");
	host->free(host->ctx, v);
	return id;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.qk_norm = LMI_QKN_EACH,
	.qk_norm_kind = LMD_NORM_LAYER,
	.adjust = swin,
	.attn = attn,
	.layer = layer,
	.logit_bias = ban_images,
};

LMI_DECODER_ARCH(chameleon, traits, sets)
