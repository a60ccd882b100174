/* SPDX-License-Identifier: MIT
 *
 * Llama-3.1-Nemotron (arXiv 2411.19146; general.architecture "deci"): LLaMA whose layers come from
 * an architecture search.  Heads and widths differ by layer; a layer may have no attention
 * (head_count 0), one matrix instead of attention (head_count_kv 0), or no feed-forward block
 * (feed_forward_length 0). */
#include "arch/dense/dense.h"

#define LINEAR_LAYER ARCH_L_OWN

static const struct lmd_tensor_row own_rows[] = {
	{"blk.%d.attn_norm", {D_EMBD, 0, 0, 0}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
	 LINEAR_LAYER, NULL},
	{"blk.%d.attn_output", {D_EMBD, D_EMBD, 0, 0}, LMD_TENSOR_REQUIRED | LMD_TENSOR_SCALE | LMD_TENSOR_LORA,
	 LMD_SPLIT_COLS, LINEAR_LAYER, NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,          ARCH_ROWS_OWN(own_rows),
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_ROPE_FACTORS,
};

static void kinds(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!l->n_ff)
			l->cls = 0;
		else if (l->n_head && !l->n_head_kv)
			l->cls |= LINEAR_LAYER;
	}
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct lmd_norm n;
	struct arch_block_io io;
	struct arch_weight w;
	uint32_t y;

	if (arch_current_layer(e)->cls & LINEAR_LAYER) {
		n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
		io = arch_residual_read(e, s, &n);
		w = arch_weight_req(e, &own_rows[1]);
		y = arch_value_f32(e, d->hp.n_embd, "x_linear");
		op.u.linear.x = io.x;
		op.u.linear.pro = io.norm;
		op.u.linear.n_w = 1;
		op.u.linear.w[0] = w.id;
		op.u.linear.lora_site[0] = w.site;
		op.u.linear.r_in[0] = arch_operand_all(e, io.res);
		op.u.linear.r_out[0] = arch_operand_all(e, y);
		arch_emit_op(e, &op);
		s->x = y;
	}
	arch_decoder_layer(e, d, s, pass);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .n_head_zero = true},
	.adjust = kinds,
	.layer = layer,
	.quant = {.v_layers = 80},
};

ARCH_DECODER_ARCH(deci, traits, sets)
