/* SPDX-License-Identifier: MIT
 *
 * Llama-3.1-Nemotron (arXiv 2411.19146; general.architecture "deci"): LLaMA whose layers come from
 * an architecture search.  Heads and widths differ by layer; a layer may have no attention
 * (head_count 0), one matrix instead of attention (head_count_kv 0), or no feed-forward block
 * (feed_forward_length 0). */
#include "arch/dense/dense.h"

#define LINEAR_LAYER LMI_L_OWN

static const struct lmd_tensor_row own_rows[] = {
	{"blk.%d.attn_norm", {D_EMBD, 0, 0, 0}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
	 LINEAR_LAYER, NULL},
	{"blk.%d.attn_output", {D_EMBD, D_EMBD, 0, 0}, LMD_TENSOR_REQUIRED | LMD_TENSOR_SCALE,
	 LMD_SPLIT_COLS, LINEAR_LAYER, NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_OWN(own_rows), LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_ROPE_FACTORS,
};

static void kinds(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!l->n_ff)
			l->cls = 0;
		else if (l->n_head && !l->n_head_kv)
			l->cls |= LINEAR_LAYER;
	}
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmd_norm n;
	struct lmi_io io;
	struct lmi_w w;
	uint32_t y;

	if (lmi_cur(e)->cls & LINEAR_LAYER) {
		n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
		io = lmi_read(e, s, &n);
		w = lmi_w(e, &own_rows[1]);
		y = lmi_f32(e, d->hp.n_embd, "x_linear");
		op.u.linear.x = io.x;
		op.u.linear.pro = io.norm;
		op.u.linear.n_w = 1;
		op.u.linear.w[0] = w.id;
		op.u.linear.lora_site[0] = w.site;
		op.u.linear.r_in[0] = lmi_whole(e, io.res);
		op.u.linear.r_out[0] = lmi_whole(e, y);
		lmi_put(e, &op);
		s->x = y;
	}
	lmi_decoder_layer(e, d, s, pass);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .n_head_zero = true},
	.adjust = kinds,
	.layer = layer,
};

LMI_DECODER_ARCH(deci, traits, sets)
