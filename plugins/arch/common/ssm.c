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
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d." stem, {d0, d1}, flags, LMD_SPLIT_##split, LMI_L_RECURRENT, NULL}

const struct lmd_tensor_row lmi_mamba1_rows[S_N] = {
	[S_IN] = ROW("ssm_in", D_EMBD, D_SSM_IN, R, ROWS),
	[S_CONV1D] = ROW("ssm_conv1d", D_SSM_CONV, D_SSM_INNER, R | LMD_TENSOR_BIAS, ROWS),
	[S_X] = ROW("ssm_x", D_SSM_INNER, D_SSM_X, R, COLS),
	[S_DT] = ROW("ssm_dt", D_SSM_DT, D_SSM_INNER, R | LMD_TENSOR_BIAS, ROWS),
	[S_A] = ROW("ssm_a", D_SSM_STATE, D_SSM_INNER, R | LMD_TENSOR_BARE, ROWS),
	[S_D] = ROW("ssm_d", D_SSM_INNER, 0, R | LMD_TENSOR_BARE, ROWS),
	[S_DT_NORM] = ROW("ssm_dt_norm", D_SSM_DT, 0, 0, REPLICATE),
	[S_B_NORM] = ROW("ssm_b_norm", D_SSM_STATE, 0, 0, REPLICATE),
	[S_C_NORM] = ROW("ssm_c_norm", D_SSM_STATE, 0, 0, REPLICATE),
	[S_OUT] = ROW("ssm_out", D_SSM_INNER, D_EMBD, R, COLS),
};

const struct lmd_tensor_row lmi_mamba2_rows[S2_N] = {
	[S2_IN] = ROW("ssm_in", D_EMBD, D_SSM_IN, R, ROWS),
	[S2_CONV1D] = ROW("ssm_conv1d", D_SSM_CONV, D_SSM_XBC, R | LMD_TENSOR_BIAS, ROWS),
	[S2_DT] = ROW("ssm_dt.bias", D_SSM_DT, 0, R | LMD_TENSOR_BARE, HEADS),
	[S2_A] = ROW("ssm_a", D_NONE, D_SSM_DT, R | LMD_TENSOR_BARE, HEADS),
	[S2_D] = ROW("ssm_d", D_NONE, D_SSM_DT, R | LMD_TENSOR_BARE, HEADS),
	[S2_NORM] = ROW("ssm_norm", D_SSM_INNER_GROUP, D_SSM_GROUP, 0, ROWS),
	[S2_OUT] = ROW("ssm_out", D_SSM_INNER, D_EMBD, R, COLS),
};

void lmi_ssm_read(struct lmi_ssm *s, struct lmi_hparams *hp, struct lmi_keys *k, uint32_t version)
{
	s->version = version;
	s->d_conv = lmi_key_u32(k, "ssm.conv_kernel", LMI_REQUIRED, 2, 2, 256);
	s->d_inner = lmi_key_u32(k, "ssm.inner_size", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH / 4);
	s->d_state = lmi_key_u32(k, "ssm.state_size", LMI_REQUIRED, 1, 1, 4096);
	s->dt_rank = lmi_key_u32(k, "ssm.time_step_rank", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH / 4);
	s->n_group = 1;
	if (version == 2) {
		s->n_group = lmi_key_u32(k, "ssm.group_count", LMI_REQUIRED, 1, 1, 1024);
		if (s->d_inner % s->dt_rank || s->d_inner % s->n_group || s->dt_rank % s->n_group)
			lmi_key_fail(
				k, LMD_INVALID,
				"%s.ssm: %u heads and %u groups do not divide an inner size of %u",
				hp->model->arch, s->dt_rank, s->n_group, s->d_inner);
	} else {
		s->plain_norm = lmi_key_bool(k, "ssm.dt_b_c_rms", LMI_OPTIONAL, false);
	}
}

static uint32_t xbc(const struct lmi_ssm *s)
{
	return s->version == 2 ? s->d_inner + 2 * s->n_group * s->d_state : s->d_inner;
}

void lmi_ssm_memory(struct lmi_ssm *s, struct lmi_hparams *hp, struct lmi_keys *k)
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

	s->conv = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*s->conv));
	s->scan = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*s->scan));
	if (k->st != LMD_OK)
		return;
	s->group = lmi_hp_add_group(hp, k, &g);
	conv.group = scan.group = s->group;
	scan.n_head = s->version == 2 ? s->dt_rank : s->d_inner;
	scan.dv = s->version == 2 ? s->d_inner / s->dt_rank : 1;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & LMI_L_RECURRENT))
			continue;
		s->conv[il] = lmi_hp_add_cache(hp, k, &conv);
		s->scan[il] = lmi_hp_add_cache(hp, k, &scan);
	}
}

int64_t lmi_ssm_dim(const struct lmi_ssm *s, uint32_t symbol)
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
static uint32_t put_conv(struct lmi_emit *e, const struct lmi_ssm *s,
			 const struct lmd_tensor_row *row, struct lmd_opnd x)
{
	struct lmd_op op = lmi_op(LMD_OP_CONV);
	uint32_t y = lmi_act(e, x.width, "ssm_conv");

	op.u.conv.x = x;
	op.u.conv.y = lmi_whole(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = lmi_w(e, row).id;
	op.u.conv.kernel = s->d_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = s->d_conv - 1;
	op.u.conv.act = LMD_ACT_SILU;
	op.u.conv.cache = s->conv[e->il];
	lmi_put(e, &op);
	return y;
}

static uint32_t put_out(struct lmi_emit *e, const struct lmd_tensor_row *row, uint32_t x,
			const struct lmi_io *io)
{
	struct lmi_w w = lmi_w(e, row);

	return lmi_block_out(e, lmi_whole(e, x), NULL, &w, io);
}

/* One value [dt | B | C], normalised if the model does so. */
static uint32_t put_dbc(struct lmi_emit *e, const struct lmi_ssm *s, uint32_t x)
{
	static const uint8_t rows[3] = {S_DT_NORM, S_B_NORM, S_C_NORM};
	const uint32_t width[3] = {s->dt_rank, s->d_state, s->d_state};
	struct lmi_w wx = lmi_w(e, &lmi_mamba1_rows[S_X]);
	uint32_t v = lmi_linear(e, lmi_whole(e, x), NULL, &wx, LMD_VTYPE_ACT, "ssm_dbc");
	uint32_t y, at = 0;

	if (!s->plain_norm && !lmi_has(e, &lmi_mamba1_rows[S_DT_NORM]))
		return v;
	y = lmi_act(e, s->dt_rank + 2 * s->d_state, "ssm_dbc_norm");
	for (uint32_t i = 0; i < 3; i++) {
		struct lmd_norm n = lmi_norm(e, LMD_NORM_RMS, &lmi_mamba1_rows[rows[i]]);

		lmi_put_norm(e, lmi_cols(v, at, width[i]), &n, lmi_cols(y, at, width[i]));
		at += width[i];
	}
	return y;
}

static uint32_t mamba1(struct lmi_emit *e, const struct lmi_ssm *s, const struct lmi_io *io)
{
	const uint32_t c = s->d_inner, n = s->d_state;
	struct lmi_w in = lmi_w(e, &lmi_mamba1_rows[S_IN]), wdt = lmi_w(e, &lmi_mamba1_rows[S_DT]);
	uint32_t xz = lmi_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "ssm_in");
	uint32_t x = put_conv(e, s, &lmi_mamba1_rows[S_CONV1D], lmi_cols(xz, 0, c));
	uint32_t dbc = put_dbc(e, s, x);
	uint32_t dt = lmi_f32(e, c, "ssm_dt"), y = lmi_f32(e, c, "ssm_scan");
	uint32_t g = lmi_act(e, c, "ssm_gated");
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);

	op.u.linear.x = lmi_cols(dbc, 0, s->dt_rank);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = wdt.id;
	op.u.linear.lora_site[0] = wdt.site;
	op.u.linear.act = LMD_ACT_SOFTPLUS;
	op.u.linear.y[0] = lmi_whole(e, dt);
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_SCAN);
	op.u.scan.kind = LMD_SCAN_MAMBA1;
	op.u.scan.in[0] = lmi_whole(e, x);
	op.u.scan.in[1] = lmi_whole(e, dt);
	op.u.scan.in[2] = lmi_cols(dbc, s->dt_rank, n);
	op.u.scan.in[3] = lmi_cols(dbc, s->dt_rank + n, n);
	op.u.scan.w[0] = lmi_w(e, &lmi_mamba1_rows[S_A]).id;
	op.u.scan.w[1] = lmi_w(e, &lmi_mamba1_rows[S_D]).id;
	op.u.scan.y = lmi_whole(e, y);
	op.u.scan.n_head = c;
	op.u.scan.n_key_head = 1;
	op.u.scan.dk = n;
	op.u.scan.dv = 1;
	op.u.scan.cache = s->scan[e->il];
	lmi_put(e, &op);

	lmi_put_glu(e, LMD_ACT_SILU, NULL, lmi_cols(xz, c, c), lmi_whole(e, y), lmi_whole(e, g));
	return put_out(e, &lmi_mamba1_rows[S_OUT], g, io);
}

/* softplus(dt + bias) of each head. */
static uint32_t put_dt(struct lmi_emit *e, const struct lmi_ssm *s, struct lmd_opnd x)
{
	uint32_t dt = lmi_f32(e, s->dt_rank, "ssm_dt");
	struct lmi_ew p = lmi_ew();
	uint8_t a = lmi_ew_in(&p, x);
	uint8_t b = lmi_ew_in(&p, lmi_wcols(lmi_w(e, &lmi_mamba2_rows[S2_DT]).id, s->dt_rank));

	a = lmi_ew2(&p, LMD_EW_ADD, a, b);
	lmi_ew_out(e, &p, lmi_ew1(&p, LMD_EW_SOFTPLUS, a), lmi_whole(e, dt));
	return dt;
}

static uint32_t mamba2(struct lmi_emit *e, const struct lmi_ssm *s, const struct lmi_io *io)
{
	const uint32_t c = s->d_inner, n = s->d_state, h = s->dt_rank, g = s->n_group;
	struct lmi_w in = lmi_w(e, &lmi_mamba2_rows[S2_IN]);
	uint32_t v = lmi_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "ssm_in");
	uint32_t x = put_conv(e, s, &lmi_mamba2_rows[S2_CONV1D], lmi_cols(v, c, xbc(s)));
	uint32_t dt = put_dt(e, s, lmi_cols(v, c + xbc(s), h));
	uint32_t y = lmi_f32(e, c, "ssm_scan"), gated = lmi_act(e, c, "ssm_gated");
	struct lmd_op op = lmi_op(LMD_OP_SCAN);

	op.u.scan.kind = LMD_SCAN_MAMBA2;
	op.u.scan.in[0] = lmi_heads(x, 0, h, c / h);
	op.u.scan.in[1] = lmi_whole(e, dt);
	op.u.scan.in[2] = lmi_heads(x, c, g, n);
	op.u.scan.in[3] = lmi_heads(x, c + g * n, g, n);
	op.u.scan.w[0] = lmi_w(e, &lmi_mamba2_rows[S2_A]).id;
	op.u.scan.w[1] = lmi_w(e, &lmi_mamba2_rows[S2_D]).id;
	op.u.scan.y = lmi_heads(y, 0, h, c / h);
	op.u.scan.n_head = h;
	op.u.scan.n_key_head = g;
	op.u.scan.dk = n;
	op.u.scan.dv = c / h;
	op.u.scan.cache = s->scan[e->il];
	lmi_put(e, &op);

	lmi_put_glu(e, LMD_ACT_SILU, NULL, lmi_cols(v, 0, c), lmi_whole(e, y), lmi_whole(e, gated));
	if (lmi_has(e, &lmi_mamba2_rows[S2_NORM])) {
		struct lmd_norm norm =
			lmi_norm_heads(e, LMD_NORM_RMS, &lmi_mamba2_rows[S2_NORM], g, c / g);
		uint32_t normed = lmi_act(e, c, "ssm_norm");

		lmi_put_norm(e, lmi_heads(gated, 0, g, c / g), &norm,
			     lmi_heads(normed, 0, g, c / g));
		gated = normed;
	}
	return put_out(e, &lmi_mamba2_rows[S2_OUT], gated, io);
}

uint32_t lmi_ssm(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_ssm *s)
{
	return s->version == 2 ? mamba2(e, s, io) : mamba1(e, s, io);
}
