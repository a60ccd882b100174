/* SPDX-License-Identifier: MIT
 *
 * gated_delta.c - keys, memory and the mixer of gated delta layers.
 *
 * (q, k, v) = silu(conv(W u)); q and k are scaled to unit length; for each head, log decay g =
 * A softplus(alpha u + dt) and step beta = sigmoid(b u); y = scan(q, k, v, g, beta); the result is
 * out(norm(y) * act(Z u)). */
#include <math.h>
#include <string.h>

#include "arch/common/gated_delta.h"

#define R LMD_TENSOR_REQUIRED
#define SCALE LMD_TENSOR_SCALE
#define ROW(stem, d0, d1, flags, split)                                                            \
	{                                                                                          \
		"blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, ARCH_L_RECURRENT, NULL         \
	}

const struct lmd_tensor_row arch_delta_rows[DL_N] = {
	[DL_QKV] = ROW("attn_qkv", D_EMBD, D_DELTA_QKV, R | SCALE, HEADS),
	[DL_GATE] = ROW("attn_gate", D_EMBD, D_DELTA_V, R | SCALE, HEADS),
	[DL_BETA] = ROW("ssm_beta", D_EMBD, D_DELTA_HEAD, R | SCALE, HEADS),
	[DL_ALPHA] = ROW("ssm_alpha", D_EMBD, D_DELTA_HEAD, R | SCALE, HEADS),
	[DL_CONV1D] = ROW("ssm_conv1d", D_DELTA_CONV, D_DELTA_QKV, R | LMD_TENSOR_KEEP_TYPE, HEADS),
	[DL_DT] = ROW("ssm_dt.bias", D_DELTA_HEAD, 0, R | LMD_TENSOR_BARE, HEADS),
	[DL_A] = ROW("ssm_a", D_DELTA_HEAD, 0, R | LMD_TENSOR_BARE, HEADS),
	[DL_NORM] = ROW("ssm_norm", D_DELTA_DV, 0, R, REPLICATE),
	[DL_OUT] = ROW("ssm_out", D_DELTA_V, D_EMBD, R | SCALE, COLS),
};

const struct lmd_tensor_row arch_delta_joint_rows[DJ_N] = {
	[DJ_IN] = ROW("ssm_in", D_EMBD, D_DELTA_IN, SCALE, HEADS),
	[DJ_BA] = ROW("ssm_ba", D_EMBD, D_DELTA_BA, R | SCALE, HEADS),
	[DJ_QKV] = ROW("attn_qkv", D_EMBD, D_DELTA_QKV, SCALE, HEADS),
	[DJ_GATE] = ROW("attn_gate", D_EMBD, D_DELTA_V, SCALE, HEADS),
};

void arch_delta_read(struct arch_delta *d, struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t inner;

	memset(d, 0, sizeof(*d));
	d->key_map = LMD_MAP_CYCLE;
	d->gate_act = LMD_ACT_FN_SILU;
	d->d_conv = arch_key_u32(k, "ssm.conv_kernel", ARCH_REQUIRED, 2, 2, 256);
	inner = arch_key_u32(k, "ssm.inner_size", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH / 4);
	d->dk = arch_key_u32(k, "ssm.state_size", ARCH_REQUIRED, 1, 1, 4096);
	d->n_head = arch_key_u32(k, "ssm.time_step_rank", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	d->n_key_head = arch_key_u32(k, "ssm.group_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	d->dv = inner / d->n_head;
	if (inner % d->n_head || d->n_head % d->n_key_head)
		arch_key_fail(k, LMD_INVALID,
			      "%s.ssm: %u heads and %u key heads do not divide an inner size of %u",
			      hp->model->arch, d->n_head, d->n_key_head, inner);
}

static uint32_t channels(const struct arch_delta *d)
{
	return 2 * d->n_key_head * d->dk + d->n_head * d->dv;
}

void arch_delta_memory(struct arch_delta *d, struct arch_hparams *hp, struct arch_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmd_cache conv = {.kind = LMD_CACHE_CONV,
				 .n_head = 1,
				 .dk = d->d_conv - 1,
				 .dv = channels(d),
				 .dtype_policy = LMD_KV_DTYPE_F32};
	struct lmd_cache scan = {.kind = LMD_CACHE_STATE,
				 .n_head = d->n_head,
				 .dk = d->dk,
				 .dv = d->dv,
				 .dtype_policy = LMD_KV_DTYPE_F32};

	d->conv = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*d->conv));
	d->scan = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*d->scan));
	d->unit = arch_hp_alloc(hp, k, d->dk, sizeof(*d->unit));
	if (k->st != LMD_OK)
		return;
	for (uint32_t i = 0; i < d->dk; i++)
		d->unit[i] = 1.0f / sqrtf((float)d->dk);
	d->group = arch_hp_add_group(hp, k, &g);
	conv.group = scan.group = d->group;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & ARCH_L_RECURRENT))
			continue;
		d->conv[il] = arch_hp_add_cache(hp, k, &conv);
		d->scan[il] = arch_hp_add_cache(hp, k, &scan);
	}
}

int64_t arch_delta_dim(const struct arch_delta *d, uint32_t symbol)
{
	switch (symbol) {
	case D_DELTA_CONV:
		return d->d_conv;
	case D_DELTA_QKV:
		return channels(d);
	case D_DELTA_V:
		return (int64_t)d->n_head * d->dv;
	case D_DELTA_HEAD:
		return d->n_head;
	case D_DELTA_DV:
		return d->dv;
	case D_DELTA_IN:
		return (int64_t)channels(d) + d->n_head * d->dv;
	case D_DELTA_BA:
		return 2 * (int64_t)d->n_head;
	default:
		return 0;
	}
}

/* The projections of the layer's input. */
struct parts {
	uint32_t qkv;               /* value [q | k | v] */
	struct lmd_operand z;       /* the gate: one block of columns, or one per key head */
	struct lmd_operand alpha, beta; /* one column per head, in blocks likewise */
};

/* Adds one projection to the op; returns its value. */
static uint32_t add(struct arch_emit *e, struct lmd_op *op, const struct lmd_tensor_row *row,
		    enum lmd_vtype vtype, const char *name)
{
	struct lmd_op_linear *l = &op->u.linear;
	struct arch_weight w = arch_weight_req(e, row);
	uint32_t v = arch_value(e, LMD_SPACE_TOKENS, vtype, w.n, name);

	l->w[l->n_w] = w.id;
	l->lora_site[l->n_w] = w.site;
	l->y[l->n_w++] = arch_operand_all(e, v);
	return v;
}

/* The columns from col0 of each key head's part of the joint value `v`. */
static struct lmd_operand of_key_heads(const struct arch_delta *d, uint32_t v, uint32_t col0,
				       uint32_t stride, uint32_t width)
{
	struct lmd_operand x = arch_operand_heads(v, col0, d->n_key_head, width);

	x.head_stride = stride;
	return x;
}

static void copy(struct arch_emit *e, struct lmd_operand x, struct lmd_operand y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

	op.u.cast_copy.x = x;
	op.u.cast_copy.y = y;
	arch_emit_op(e, &op);
}

/* Reorders the joint value to [q | k | v], as the convolution needs it, and sets *z. */
static uint32_t split_joint(struct arch_emit *e, const struct arch_delta *d, uint32_t in,
			    struct lmd_operand *z)
{
	const uint32_t hk = d->n_key_head, dk = d->dk, n = d->n_head / hk * d->dv;
	const uint32_t stride = 2 * dk + 2 * n;
	uint32_t v = arch_value_act(e, channels(d), "delta_qkv");

	copy(e, of_key_heads(d, in, 0, stride, dk), arch_operand_heads(v, 0, hk, dk));
	copy(e, of_key_heads(d, in, dk, stride, dk), arch_operand_heads(v, hk * dk, hk, dk));
	copy(e, of_key_heads(d, in, 2 * dk, stride, n), arch_operand_heads(v, 2 * hk * dk, hk, n));
	*z = of_key_heads(d, in, 2 * dk + n, stride, n);
	return v;
}

/* Emits the projections of the layer's input as one op. */
static struct parts project(struct arch_emit *e, const struct arch_block_io *io,
			    const struct arch_delta *d)
{
	const uint32_t r = d->n_head / d->n_key_head;
	bool joint = arch_weight_exists(e, &arch_delta_joint_rows[DJ_IN]);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct parts p = {.qkv = LMD_NONE};
	uint32_t in, v;

	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	if (joint) {
		in = add(e, &op, &arch_delta_joint_rows[DJ_IN], LMD_VTYPE_ACT, "delta_in");
	} else {
		in = add(e, &op, &arch_delta_rows[DL_QKV], LMD_VTYPE_ACT, "delta_qkv");
		v = add(e, &op, &arch_delta_rows[DL_GATE], LMD_VTYPE_ACT, "delta_z");
		p.z = arch_operand_all(e, v);
	}
	if (arch_weight_exists(e, &arch_delta_joint_rows[DJ_BA])) {
		v = add(e, &op, &arch_delta_joint_rows[DJ_BA], LMD_VTYPE_F32, "delta_ba");
		p.beta = of_key_heads(d, v, 0, 2 * r, r);
		p.alpha = of_key_heads(d, v, r, 2 * r, r);
	} else {
		v = add(e, &op, &arch_delta_rows[DL_ALPHA], LMD_VTYPE_F32, "delta_alpha");
		p.alpha = arch_operand_all(e, v);
		v = add(e, &op, &arch_delta_rows[DL_BETA], LMD_VTYPE_F32, "delta_beta");
		p.beta = arch_operand_all(e, v);
	}
	arch_emit_op(e, &op);
	p.qkv = joint ? split_joint(e, d, in, &p.z) : in;
	return p;
}

/* Log decay and step of each head. */
static void put_steps(struct arch_emit *e, const struct parts *v, uint32_t g, uint32_t beta)
{
	const uint32_t n = v->alpha.n_head, r = v->alpha.width;
	struct arch_ew p = arch_ew();
	uint8_t alpha = arch_ew_in(&p, v->alpha), b = arch_ew_in(&p, v->beta);
	uint8_t dt = arch_ew_in(&p, arch_operand_weight_heads(
					    arch_weight_req(e, &arch_delta_rows[DL_DT]).id, n, r));
	uint8_t a = arch_ew_in(
		&p, arch_operand_weight_heads(arch_weight_req(e, &arch_delta_rows[DL_A]).id, n, r));

	arch_ew_out2(&p, arch_ew1(&p, LMD_EW_SIGMOID, b), arch_operand_heads(beta, 0, n, r));
	alpha = arch_ew1(&p, LMD_EW_SOFTPLUS, arch_ew2(&p, LMD_EW_ADD, alpha, dt));
	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, alpha, a), arch_operand_heads(g, 0, n, r));
}

/* Scales q and k of each head to unit length: x / sqrt(sum x^2 + eps). */
static uint32_t put_unit(struct arch_emit *e, const struct arch_delta *d, uint32_t x)
{
	const uint32_t n = 2 * d->n_key_head;
	struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = e->hp->eps / (float)d->dk};
	uint32_t y = arch_value_act(e, n * d->dk, "delta_qk");

	norm.g = arch_operand_weight_cols(arch_literal(e, d->unit, d->dk, LMD_SPLIT_REPLICATE, "unit"), d->dk);
	arch_put_norm(e, arch_operand_heads(x, 0, n, d->dk), &norm,
		      arch_operand_heads(y, 0, n, d->dk));
	return y;
}

uint32_t arch_delta(struct arch_emit *e, const struct arch_block_io *io, const struct arch_delta *d)
{
	const uint32_t hk = d->n_key_head, h = d->n_head, n_qk = 2 * hk * d->dk, n_v = h * d->dv;
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_delta_rows[DL_NORM]);
	struct arch_weight out = arch_weight_req(e, &arch_delta_rows[DL_OUT]);
	uint32_t mixed = arch_value_act(e, channels(d), "delta_conv"),
		 g = arch_value_f32(e, h, "delta_g");
	uint32_t beta = arch_value_f32(e, h, "delta_step"),
		 y = arch_value_f32(e, n_v, "delta_scan");
	uint32_t normed = arch_value_act(e, n_v, "delta_norm"),
		 gated = arch_value_act(e, n_v, "delta_gated"), qk;
	struct parts v = project(e, io, d);
	struct lmd_op op = arch_op_empty(LMD_OP_CONV);

	op.u.conv.x = arch_operand_all(e, v.qkv);
	op.u.conv.y = arch_operand_all(e, mixed);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = arch_weight_req(e, &arch_delta_rows[DL_CONV1D]).id;
	op.u.conv.kernel = d->d_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = d->d_conv - 1;
	op.u.conv.act = LMD_ACT_FN_SILU;
	op.u.conv.cache = d->conv[e->il];
	arch_emit_op(e, &op);
	put_steps(e, &v, g, beta);
	qk = put_unit(e, d, mixed);

	op = arch_op_empty(LMD_OP_SCAN);
	op.u.scan.kind = LMD_SCAN_DELTA;
	op.u.scan.in[0] = arch_operand_heads(qk, 0, hk, d->dk);
	op.u.scan.in[1] = arch_operand_heads(qk, hk * d->dk, hk, d->dk);
	op.u.scan.in[2] = arch_operand_heads(mixed, n_qk, h, d->dv);
	op.u.scan.in[3] = arch_operand_heads(g, 0, h, 1);
	op.u.scan.in[4] = arch_operand_all(e, beta);
	op.u.scan.y = arch_operand_heads(y, 0, h, d->dv);
	op.u.scan.n_head = h;
	op.u.scan.n_key_head = hk;
	op.u.scan.dk = d->dk;
	op.u.scan.dv = d->dv;
	op.u.scan.key_map = d->key_map;
	op.u.scan.scale = 1.0f / sqrtf((float)d->dk);
	op.u.scan.cache = d->scan[e->il];
	arch_emit_op(e, &op);

	arch_put_norm(e, arch_operand_heads(y, 0, h, d->dv), &norm,
		      arch_operand_heads(normed, 0, h, d->dv));
	arch_put_glu(e, d->gate_act, NULL, v.z,
		     arch_operand_heads(normed, 0, v.z.n_head, v.z.width),
		     arch_operand_heads(gated, 0, v.z.n_head, v.z.width));
	return arch_block_out(e, arch_operand_all(e, gated), NULL, &out, io);
}
