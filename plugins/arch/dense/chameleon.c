/* SPDX-License-Identifier: MIT
 *
 * Chameleon (arXiv 2405.09818): LayerNorm of queries and keys with a weight per head; image tokens
 * are banned from the output.  Models with "swin norm" normalise after the blocks; in these the
 * feed-forward block reads only the normalised result of attention, as in the reference
 * implementation of the file format. */
#include "arch/dense/dense.h"

#include <math.h>

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,      ARCH_ROWS_REQ(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH),
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

#define IMAGE_FIRST 4u
#define IMAGE_END   8196u
#define QK_EPS      1e-5f

static void swin(struct arch_hparams *hp, struct arch_keys *k)
{
	if (arch_key_bool(k, "swin_norm", ARCH_OPTIONAL, false))
		hp->norm_placement = ARCH_NORM_POST;
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)e;
	(void)d;
	a->qk_norm_eps = QK_EPS;
}

static uint32_t normed(struct arch_emit *e, const struct arch_decoder *d, uint32_t x,
		       enum arch_t row)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, row);
	uint32_t y = arch_value_f32(e, d->hp.n_embd, "post_norm");

	arch_put_norm(e, arch_operand_all(e, x), &n, arch_operand_all(e, y));
	return y;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm none = arch_no_norm();
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_block_io io;
	uint32_t z;

	if (d->hp.norm_placement != ARCH_NORM_POST) {
		arch_decoder_layer(e, d, s, pass);
		return;
	}
	io = arch_residual_read(e, s, &none);
	io.res = LMD_NONE;
	z = normed(e, d, arch_attn(e, &io, &a), T_ATTN_NORM);
	arch_residual_defer_add(e, s, z, 1.0f);
	io.x = arch_operand_all(e, z);
	z = normed(e, d, arch_decoder_ffn_block(e, d, &io), T_FFN_NORM);
	arch_residual_defer_add(e, s, z, 1.0f);
}

static uint32_t image_logit_bias(struct arch_emit *e, const struct arch_decoder *d)
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
	id = arch_literal(e, v, n, LMD_SPLIT_ROWS, "banned");
	host->free(host->ctx, v);
	return id;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.qk_norm = ARCH_QKN_HEAD_OWN,
	.qk_norm_kind = LMD_NORM_LAYER,
	.adjust = swin,
	.attn = attn,
	.layer = layer,
	.logit_bias = image_logit_bias,
};

ARCH_DECODER_ARCH(chameleon, traits, sets)
