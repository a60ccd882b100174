/* SPDX-License-Identifier: MIT
 *
 * PLaMo 2 (arXiv 2509.04897): Mamba layers with heads as in Mamba-2, alternating with attention
 * layers with normalised queries and keys; norms before and after the blocks; q, k, v are fused, as
 * are gate and up.
 *
 * Mixer: (z, x) = W u, interleaved by head; x = silu(conv(x)); (B, C, dt) = X x, each normalised;
 * dt = softplus(D dt + bias) for each head; y = scan(x, dt, A, B, C); the result is
 * out(silu(z) * y). */
#include "arch/hybrid/hybrid.h"

enum { D_ZX = D_OWN, D_BCDT, D_DT_IN };

#define R LMD_TENSOR_REQUIRED
#define BARE LMD_TENSOR_BARE
#define W    ARCH_L_RECURRENT

enum { P_IN, P_CONV, P_X, P_DT, P_A, P_D, P_DT_NORM, P_B_NORM, P_C_NORM, P_OUT };
static const struct lmd_tensor_row rows[] = {
	[P_IN] = {"blk.%d.ssm_in", {D_EMBD, D_ZX}, R | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, W, NULL},
	[P_CONV] = {"blk.%d.ssm_conv1d",
		    {D_SSM_CONV, D_SSM_INNER},
		    R | LMD_TENSOR_LORA | LMD_TENSOR_KEEP_TYPE,
		    LMD_SPLIT_HEADS,
		    W,
		    NULL},
	[P_X] = {"blk.%d.ssm_x", {D_SSM_INNER, D_BCDT}, R | LMD_TENSOR_LORA, LMD_SPLIT_COLS, W, NULL},
	[P_DT] = {"blk.%d.ssm_dt", {D_DT_IN, D_SSM_DT}, R | LMD_TENSOR_BIAS | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, W,
		  NULL},
	[P_A] = {"blk.%d.ssm_a", {D_SSM_DT}, R | BARE | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, W, NULL},
	[P_D] = {"blk.%d.ssm_d", {D_SSM_DT}, R | BARE | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, W, NULL},
	[P_DT_NORM] = {"blk.%d.ssm_dt_norm", {D_DT_IN}, R | BARE, LMD_SPLIT_REPLICATE, W, NULL},
	[P_B_NORM] = {"blk.%d.ssm_b_norm", {D_SSM_STATE}, R | BARE, LMD_SPLIT_REPLICATE, W, NULL},
	[P_C_NORM] = {"blk.%d.ssm_c_norm", {D_SSM_STATE}, R | BARE, LMD_SPLIT_REPLICATE, W, NULL},
	[P_OUT] = {"blk.%d.ssm_out", {D_SSM_INNER, D_EMBD}, R | LMD_TENSOR_LORA, LMD_SPLIT_COLS, W, NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_HYBRID_NORM,
	ARCH_ROWS_OWN(rows),
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM_BARE, T_POST_FFN_NORM_BARE),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN_FUSED,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_hybrid *h = arch_hybrid(hp);
	struct arch_ssm *s = &h->ssm;
	uint32_t dt = hp->n_embd / 16 > 64 ? hp->n_embd / 16 : 64;

	arch_ssm_read(s, hp, k, 1);
	if (s->d_inner % s->dt_rank)
		arch_key_fail(k, LMD_INVALID,
			      "plamo2.ssm.time_step_rank: %u does not divide an inner size of %u",
			      s->dt_rank, s->d_inner);
	s->version = 2; /* the state has heads; the convolution does not include B and C */
	s->n_group = 0;
	h->dims[D_ZX - D_OWN] = 2 * (int64_t)s->d_inner;
	h->dims[D_BCDT - D_OWN] = 2 * (int64_t)s->d_state + dt;
	h->dims[D_DT_IN - D_OWN] = dt;
	arch_hybrid_layers(hp);
}

/* silu(conv(x)), where x is the second half of each head's columns of zx. */
static uint32_t put_conv(struct arch_emit *e, const struct arch_ssm *s, uint32_t zx)
{
	const uint32_t h = s->dt_rank, p = s->d_inner / h;
	uint32_t x = arch_value_act(e, s->d_inner, "ssm_x"),
		 y = arch_value_act(e, s->d_inner, "ssm_conv");
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

	op.u.cast_copy.x = arch_operand_heads(zx, p, h, p);
	op.u.cast_copy.x.head_stride = 2 * p;
	op.u.cast_copy.y = arch_operand_heads(x, 0, h, p);
	arch_emit_op(e, &op);
	op = arch_op_empty(LMD_OP_CONV);
	op.u.conv.x = arch_operand_all(e, x);
	op.u.conv.y = arch_operand_all(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = arch_weight_req(e, &rows[P_CONV]).id;
	op.u.conv.kernel = s->d_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = s->d_conv - 1;
	op.u.conv.act = LMD_ACT_FN_SILU;
	op.u.conv.cache = s->conv[e->il];
	arch_emit_op(e, &op);
	return y;
}

/* B, C and the input of dt, each normalised. */
static uint32_t put_bcdt(struct arch_emit *e, const struct arch_ssm *s, uint32_t x, uint32_t dt)
{
	static const uint8_t norms[3] = {P_B_NORM, P_C_NORM, P_DT_NORM};
	const uint32_t width[3] = {s->d_state, s->d_state, dt};
	struct arch_weight w = arch_weight_req(e, &rows[P_X]);
	uint32_t v = arch_linear(e, arch_operand_all(e, x), NULL, &w, LMD_VTYPE_ACT, "ssm_bcdt");
	uint32_t y = arch_value_act(e, 2 * s->d_state + dt, "ssm_bcdt_norm"), at = 0;

	for (uint32_t i = 0; i < 3; i++) {
		struct lmd_norm n = arch_norm_req(e, LMD_NORM_RMS, &rows[norms[i]]);

		arch_put_norm(e, arch_operand_cols(v, at, width[i]), &n,
			      arch_operand_cols(y, at, width[i]));
		at += width[i];
	}
	return y;
}

static uint32_t put_dt(struct arch_emit *e, struct lmd_operand x)
{
	struct arch_weight w = arch_weight_req(e, &rows[P_DT]);
	uint32_t dt = arch_value_f32(e, w.n, "ssm_dt");
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = LMD_ACT_FN_SOFTPLUS;
	op.u.linear.y[0] = arch_operand_all(e, dt);
	arch_emit_op(e, &op);
	return dt;
}

static uint32_t mixer(struct arch_emit *e, const struct arch_decoder *d,
		      const struct arch_block_io *io)
{
	const struct arch_hybrid *hy = d->hp.arch_data;
	const struct arch_ssm *s = &hy->ssm;
	const uint32_t h = s->dt_rank, p = s->d_inner / h, n = s->d_state;
	const uint32_t n_dt = (uint32_t)hy->dims[D_DT_IN - D_OWN];
	struct arch_weight in = arch_weight_req(e, &rows[P_IN]),
			   out = arch_weight_req(e, &rows[P_OUT]);
	uint32_t zx = arch_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "ssm_in");
	uint32_t x = put_conv(e, s, zx), bcdt = put_bcdt(e, s, x, n_dt);
	uint32_t dt = put_dt(e, arch_operand_cols(bcdt, 2 * n, n_dt));
	uint32_t y = arch_value_f32(e, s->d_inner, "ssm_scan"),
		 gated = arch_value_act(e, s->d_inner, "ssm_gated");
	struct lmd_operand z = arch_operand_heads(zx, 0, h, p);
	struct lmd_op op = arch_op_empty(LMD_OP_SCAN);

	op.u.scan.kind = LMD_SCAN_MAMBA2;
	op.u.scan.in[0] = arch_operand_heads(x, 0, h, p);
	op.u.scan.in[1] = arch_operand_all(e, dt);
	op.u.scan.in[2] = arch_operand_cols(bcdt, 0, n);
	op.u.scan.in[3] = arch_operand_cols(bcdt, n, n);
	op.u.scan.w[0] = arch_weight_req(e, &rows[P_A]).id;
	op.u.scan.w[1] = arch_weight_req(e, &rows[P_D]).id;
	op.u.scan.y = arch_operand_heads(y, 0, h, p);
	op.u.scan.n_head = h;
	op.u.scan.n_key_head = 1;
	op.u.scan.dk = n;
	op.u.scan.dv = p;
	op.u.scan.cache = s->scan[e->il];
	arch_emit_op(e, &op);
	z.head_stride = 2 * p;
	arch_put_glu(e, LMD_ACT_FN_SILU, NULL, z, arch_operand_heads(y, 0, h, p),
		     arch_operand_heads(gated, 0, h, p));
	return arch_block_out(e, arch_operand_all(e, gated), NULL, &out, io);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .n_head_zero = true},
	.norm_placement = ARCH_NORM_SANDWICH,
	.t_attn_post = T_POST_ATTN_NORM_BARE,
	.t_ffn_post = T_POST_FFN_NORM_BARE,
	.qk_norm = ARCH_QKN_HEAD_OWN,
	.ffn_fused = true,
	.adjust = adjust,
	.memory = arch_hybrid_mamba2_memory,
	.mixer = mixer,
};

ARCH_HYBRID_ARCH(plamo2, traits, sets)
