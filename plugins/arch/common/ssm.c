/* SPDX-License-Identifier: MIT
 *
 * ssm.c - keys, memory and the two kinds of mixer of state space layers.
 *
 * Mamba: (x, z) = in(u); x = silu(conv(x)); (dt, B, C) = split(x_proj(x)); dt =
 * softplus(dt_proj(dt)); y = scan(x, dt, A, B, C) + D x; out(y * silu(z)).
 * Mamba-2: (z, x, B, C, dt) = in(u) is one projection, the convolution covers x, B and C, and the
 * gated result is normalised in groups. */
#include "arch/common/ssm.h"

#define R LMD_TENSOR_REQUIRED
#define KEEP LMD_TENSOR_KEEP_TYPE
#define ROW(stem, d0, d1, flags, split)                                                            \
	{                                                                                          \
		"blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, ARCH_L_RECURRENT, NULL         \
	}

const struct lmd_tensor_row arch_mamba1_rows[S_N] = {
	[S_IN] = ROW("ssm_in", D_EMBD, D_SSM_IN, R, ROWS),
	[S_CONV1D] = ROW("ssm_conv1d", D_SSM_CONV, D_SSM_INNER, R | LMD_TENSOR_BIAS | KEEP, ROWS),
	[S_X] = ROW("ssm_x", D_SSM_INNER, D_SSM_X, R, COLS),
	[S_DT] = ROW("ssm_dt", D_SSM_DT, D_SSM_INNER, R | LMD_TENSOR_BIAS, ROWS),
	[S_A] = ROW("ssm_a", D_SSM_STATE, D_SSM_INNER, R | LMD_TENSOR_BARE, ROWS),
	[S_D] = ROW("ssm_d", D_SSM_INNER, 0, R | LMD_TENSOR_BARE, ROWS),
	[S_DT_NORM] = ROW("ssm_dt_norm", D_SSM_DT, 0, 0, REPLICATE),
	[S_B_NORM] = ROW("ssm_b_norm", D_SSM_STATE, 0, 0, REPLICATE),
	[S_C_NORM] = ROW("ssm_c_norm", D_SSM_STATE, 0, 0, REPLICATE),
	[S_OUT] = ROW("ssm_out", D_SSM_INNER, D_EMBD, R, COLS),
};

const struct lmd_tensor_row arch_mamba2_rows[S2_N] = {
	[S2_IN] = ROW("ssm_in", D_EMBD, D_SSM_IN, R, ROWS),
	[S2_CONV1D] = ROW("ssm_conv1d", D_SSM_CONV, D_SSM_XBC, R | LMD_TENSOR_BIAS | KEEP, ROWS),
	[S2_DT] = ROW("ssm_dt.bias", D_SSM_DT, 0, R | LMD_TENSOR_BARE, HEADS),
	[S2_A] = ROW("ssm_a", D_NONE, D_SSM_DT, R | LMD_TENSOR_BARE, HEADS),
	[S2_D] = ROW("ssm_d", D_NONE, D_SSM_DT, R | LMD_TENSOR_BARE, HEADS),
	[S2_NORM] = ROW("ssm_norm", D_SSM_INNER_GROUP, D_SSM_GROUP, 0, ROWS),
	[S2_OUT] = ROW("ssm_out", D_SSM_INNER, D_EMBD, R, COLS),
};

void arch_ssm_read(struct arch_ssm *s, struct arch_hparams *hp, struct arch_keys *k,
		   uint32_t version)
{
	s->version = version;
	s->d_conv = arch_key_u32(k, "ssm.conv_kernel", ARCH_REQUIRED, 2, 2, 256);
	s->d_inner = arch_key_u32(k, "ssm.inner_size", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH / 4);
	s->d_state = arch_key_u32(k, "ssm.state_size", ARCH_REQUIRED, 1, 1, 4096);
	s->dt_rank =
		arch_key_u32(k, "ssm.time_step_rank", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH / 4);
	s->n_group = 1;
	if (version == 2) {
		s->n_group = arch_key_u32(k, "ssm.group_count", ARCH_REQUIRED, 1, 1, 1024);
		if (s->d_inner % s->dt_rank || s->d_inner % s->n_group || s->dt_rank % s->n_group)
			arch_key_fail(
				k, LMD_INVALID,
				"%s.ssm: %u heads and %u groups do not divide an inner size of %u",
				hp->model->arch, s->dt_rank, s->n_group, s->d_inner);
	} else {
		s->plain_norm = arch_key_bool(k, "ssm.dt_b_c_rms", ARCH_OPTIONAL, false);
	}
}

static uint32_t xbc(const struct arch_ssm *s)
{
	return s->version == 2 ? s->d_inner + 2 * s->n_group * s->d_state : s->d_inner;
}

void arch_ssm_memory(struct arch_ssm *s, struct arch_hparams *hp, struct arch_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmd_cache conv = {.kind = LMD_CACHE_CONV,
				 .n_head = 1,
				 .dk = s->d_conv - 1,
				 .dv = xbc(s),
				 .dtype_policy = LMD_KV_DTYPE_F32};
	struct lmd_cache scan = {
		.kind = LMD_CACHE_STATE, .dk = s->d_state, .dtype_policy = LMD_KV_DTYPE_F32};

	s->conv = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*s->conv));
	s->scan = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*s->scan));
	if (k->st != LMD_OK)
		return;
	s->group = arch_hp_add_group(hp, k, &g);
	conv.group = scan.group = s->group;
	scan.n_head = s->version == 2 ? s->dt_rank : s->d_inner;
	scan.dv = s->version == 2 ? s->d_inner / s->dt_rank : 1;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & ARCH_L_RECURRENT))
			continue;
		s->conv[il] = arch_hp_add_cache(hp, k, &conv);
		s->scan[il] = arch_hp_add_cache(hp, k, &scan);
	}
}

int64_t arch_ssm_dim(const struct arch_ssm *s, uint32_t symbol)
{
	switch (symbol) {
	case D_SSM_CONV:
		return s->d_conv;
	case D_SSM_INNER:
		return s->d_inner;
	case D_SSM_XBC:
		return xbc(s);
	case D_SSM_IN:
		return s->version == 2 ? (int64_t)s->d_inner + xbc(s) + s->dt_rank
				       : 2 * (int64_t)s->d_inner;
	case D_SSM_X:
		return (int64_t)s->dt_rank + 2 * (int64_t)s->d_state;
	case D_SSM_DT:
		return s->dt_rank;
	case D_SSM_STATE:
		return s->d_state;
	case D_SSM_GROUP:
		return s->n_group;
	case D_SSM_INNER_GROUP:
		return s->d_inner / s->n_group;
	default:
		return 0;
	}
}

/* silu(conv(x)), with the layer's cached history. */
static uint32_t put_conv(struct arch_emit *e, const struct arch_ssm *s,
			 const struct lmd_tensor_row *row, struct lmd_operand x)
{
	struct lmd_op op = arch_op_empty(LMD_OP_CONV);
	uint32_t y = arch_value_act(e, x.width, "ssm_conv");

	op.u.conv.x = x;
	op.u.conv.y = arch_operand_all(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = arch_weight_req(e, row).id;
	op.u.conv.kernel = s->d_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = s->d_conv - 1;
	op.u.conv.act = LMD_ACT_FN_SILU;
	op.u.conv.cache = s->conv[e->il];
	arch_emit_op(e, &op);
	return y;
}

static uint32_t put_out(struct arch_emit *e, const struct lmd_tensor_row *row, uint32_t x,
			const struct arch_block_io *io)
{
	struct arch_weight w = arch_weight_req(e, row);

	return arch_block_out(e, arch_operand_all(e, x), NULL, &w, io);
}

/* One value [dt | B | C], normalised if the model does so. */
static uint32_t put_dbc(struct arch_emit *e, const struct arch_ssm *s, uint32_t x)
{
	static const uint8_t rows[3] = {S_DT_NORM, S_B_NORM, S_C_NORM};
	const uint32_t width[3] = {s->dt_rank, s->d_state, s->d_state};
	struct arch_weight wx = arch_weight_req(e, &arch_mamba1_rows[S_X]);
	uint32_t v = arch_linear(e, arch_operand_all(e, x), NULL, &wx, LMD_VTYPE_ACT, "ssm_dbc");
	uint32_t y, at = 0;

	if (!s->plain_norm && !arch_weight_exists(e, &arch_mamba1_rows[S_DT_NORM]))
		return v;
	y = arch_value_act(e, s->dt_rank + 2 * s->d_state, "ssm_dbc_norm");
	for (uint32_t i = 0; i < 3; i++) {
		struct lmd_norm n = arch_norm(e, LMD_NORM_RMS, &arch_mamba1_rows[rows[i]]);

		arch_put_norm(e, arch_operand_cols(v, at, width[i]), &n,
			      arch_operand_cols(y, at, width[i]));
		at += width[i];
	}
	return y;
}

static uint32_t mamba1(struct arch_emit *e, const struct arch_ssm *s,
		       const struct arch_block_io *io)
{
	const uint32_t c = s->d_inner, n = s->d_state;
	struct arch_weight in = arch_weight_req(e, &arch_mamba1_rows[S_IN]),
			   wdt = arch_weight_req(e, &arch_mamba1_rows[S_DT]);
	uint32_t xz = arch_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "ssm_in");
	uint32_t x = put_conv(e, s, &arch_mamba1_rows[S_CONV1D], arch_operand_cols(xz, 0, c));
	uint32_t dbc = put_dbc(e, s, x);
	uint32_t dt = arch_value_f32(e, c, "ssm_dt"), y = arch_value_f32(e, c, "ssm_scan");
	uint32_t g = arch_value_act(e, c, "ssm_gated");
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);

	op.u.linear.x = arch_operand_cols(dbc, 0, s->dt_rank);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = wdt.id;
	op.u.linear.lora_site[0] = wdt.site;
	op.u.linear.act = LMD_ACT_FN_SOFTPLUS;
	op.u.linear.y[0] = arch_operand_all(e, dt);
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_SCAN);
	op.u.scan.kind = LMD_SCAN_MAMBA1;
	op.u.scan.in[0] = arch_operand_all(e, x);
	op.u.scan.in[1] = arch_operand_all(e, dt);
	op.u.scan.in[2] = arch_operand_cols(dbc, s->dt_rank, n);
	op.u.scan.in[3] = arch_operand_cols(dbc, s->dt_rank + n, n);
	op.u.scan.w[0] = arch_weight_req(e, &arch_mamba1_rows[S_A]).id;
	op.u.scan.w[1] = arch_weight_req(e, &arch_mamba1_rows[S_D]).id;
	op.u.scan.y = arch_operand_all(e, y);
	op.u.scan.n_head = c;
	op.u.scan.n_key_head = 1;
	op.u.scan.dk = n;
	op.u.scan.dv = 1;
	op.u.scan.cache = s->scan[e->il];
	arch_emit_op(e, &op);

	arch_put_glu(e, LMD_ACT_FN_SILU, NULL, arch_operand_cols(xz, c, c), arch_operand_all(e, y),
		     arch_operand_all(e, g));
	return put_out(e, &arch_mamba1_rows[S_OUT], g, io);
}

/* softplus(dt + bias) of each head. */
static uint32_t put_dt(struct arch_emit *e, const struct arch_ssm *s, struct lmd_operand x)
{
	uint32_t dt = arch_value_f32(e, s->dt_rank, "ssm_dt");
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, x);
	uint8_t b = arch_ew_in(
		&p, arch_operand_weight_cols(arch_weight_req(e, &arch_mamba2_rows[S2_DT]).id,
					     s->dt_rank));

	a = arch_ew2(&p, LMD_EW_ADD, a, b);
	arch_ew_out(e, &p, arch_ew1(&p, LMD_EW_SOFTPLUS, a), arch_operand_all(e, dt));
	return dt;
}

static uint32_t mamba2(struct arch_emit *e, const struct arch_ssm *s,
		       const struct arch_block_io *io)
{
	const uint32_t c = s->d_inner, n = s->d_state, h = s->dt_rank, g = s->n_group;
	struct arch_weight in = arch_weight_req(e, &arch_mamba2_rows[S2_IN]);
	uint32_t v = arch_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "ssm_in");
	uint32_t x = put_conv(e, s, &arch_mamba2_rows[S2_CONV1D], arch_operand_cols(v, c, xbc(s)));
	uint32_t dt = put_dt(e, s, arch_operand_cols(v, c + xbc(s), h));
	uint32_t y = arch_value_f32(e, c, "ssm_scan"), gated = arch_value_act(e, c, "ssm_gated");
	struct lmd_op op = arch_op_empty(LMD_OP_SCAN);

	op.u.scan.kind = LMD_SCAN_MAMBA2;
	op.u.scan.in[0] = arch_operand_heads(x, 0, h, c / h);
	op.u.scan.in[1] = arch_operand_all(e, dt);
	op.u.scan.in[2] = arch_operand_heads(x, c, g, n);
	op.u.scan.in[3] = arch_operand_heads(x, c + g * n, g, n);
	op.u.scan.w[0] = arch_weight_req(e, &arch_mamba2_rows[S2_A]).id;
	op.u.scan.w[1] = arch_weight_req(e, &arch_mamba2_rows[S2_D]).id;
	op.u.scan.y = arch_operand_heads(y, 0, h, c / h);
	op.u.scan.n_head = h;
	op.u.scan.n_key_head = g;
	op.u.scan.dk = n;
	op.u.scan.dv = c / h;
	op.u.scan.cache = s->scan[e->il];
	arch_emit_op(e, &op);

	arch_put_glu(e, LMD_ACT_FN_SILU, NULL, arch_operand_cols(v, 0, c), arch_operand_all(e, y),
		     arch_operand_all(e, gated));
	if (arch_weight_exists(e, &arch_mamba2_rows[S2_NORM])) {
		struct lmd_norm norm =
			arch_norm_heads(e, LMD_NORM_RMS, &arch_mamba2_rows[S2_NORM], g, c / g);
		uint32_t normed = arch_value_act(e, c, "ssm_norm");

		arch_put_norm(e, arch_operand_heads(gated, 0, g, c / g), &norm,
			      arch_operand_heads(normed, 0, g, c / g));
		gated = normed;
	}
	return put_out(e, &arch_mamba2_rows[S2_OUT], gated, io);
}

uint32_t arch_ssm(struct arch_emit *e, const struct arch_block_io *io, const struct arch_ssm *s)
{
	return s->version == 2 ? mamba2(e, s, io) : mamba1(e, s, io);
}
