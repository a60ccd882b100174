/* SPDX-License-Identifier: MIT
 *
 * kda.c - keys, memory and the mixer of Kimi Delta Attention.
 *
 * q, k, v = silu(conv(W u)), with separate convolutions; q and k are scaled to unit length;
 * f = F u (F may be low-rank); log decay g = A softplus(f + dt), or with a lower bound
 * g = bound * sigmoid(-A (f + dt)), A < 0; step beta = sigmoid(b u) for each head;
 * y = scan(q, k, v, g, beta); the result is out(norm(y) * sigmoid(G u)). */
#include <math.h>

#include "arch/hybrid/kda.h"

#define R LMD_TENSOR_REQUIRED
#define S LMD_TENSOR_SCALE
#define BARE LMD_TENSOR_BARE
#define KEEP LMD_TENSOR_KEEP_TYPE
#define ROW(stem, d0, d1, flags, split)                                                            \
	{                                                                                          \
		"blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, ARCH_L_RECURRENT, NULL         \
	}

const struct lmd_tensor_row arch_kda_rows[KDA_N] = {
	[KDA_Q] = ROW("attn_q", D_EMBD, D_KDA_INNER, R | S, HEADS),
	[KDA_K] = ROW("attn_k", D_EMBD, D_KDA_INNER, R | S, HEADS),
	[KDA_V] = ROW("attn_v", D_EMBD, D_KDA_INNER, R | S, HEADS),
	[KDA_F_A] = ROW("ssm_f_a", D_EMBD, D_KDA_LOW, R | S, REPLICATE),
	[KDA_CONV_Q] = ROW("ssm_conv1d_q", D_KDA_CONV, D_KDA_INNER, R | KEEP, HEADS),
	[KDA_CONV_K] = ROW("ssm_conv1d_k", D_KDA_CONV, D_KDA_INNER, R | KEEP, HEADS),
	[KDA_CONV_V] = ROW("ssm_conv1d_v", D_KDA_CONV, D_KDA_INNER, R | KEEP, HEADS),
	[KDA_BETA] = ROW("ssm_beta", D_EMBD, D_KDA_HEAD, R | S, HEADS),
	[KDA_A] = ROW("ssm_a", D_KDA_HEAD, 0, R | BARE, HEADS),
	[KDA_DT] = ROW("ssm_dt.bias", D_KDA_INNER, 0, R | BARE, HEADS),
	[KDA_NORM] = ROW("ssm_norm", D_KDA_DK, 0, R, REPLICATE),
	[KDA_OUT] = ROW("attn_output", D_KDA_INNER, D_EMBD, R | S, COLS),
};

const struct lmd_tensor_row arch_kda_low_rows[KDA_LOW_N] = {
	[KDA_F_B] = ROW("ssm_f_b", D_KDA_LOW, D_KDA_INNER, S, HEADS),
	[KDA_G] = ROW("ssm_g", D_EMBD, D_KDA_INNER, S, HEADS),
	[KDA_G_A] = ROW("ssm_g_a", D_EMBD, D_KDA_LOW, S, REPLICATE),
	[KDA_G_B] = ROW("ssm_g_b", D_KDA_LOW, D_KDA_INNER, S, HEADS),
};

void arch_kda_read(struct arch_kda *a, struct arch_hparams *hp, struct arch_keys *k)
{
	a->d_conv = arch_key_u32(k, "ssm.conv_kernel", ARCH_REQUIRED, 2, 2, 256);
	a->dk = arch_key_u32(k, "kda.head_dim", ARCH_REQUIRED, 1, 1, 4096);
	a->lower = (float)arch_key_f64(k, "kda.gate_lower_bound", ARCH_OPTIONAL, 0.0, -1e6, 0.0);
	a->n_head = hp->layer[0].n_head;
	a->a_sign = -1.0f;
}

static uint32_t inner(const struct arch_kda *a)
{
	return a->n_head * a->dk;
}

void arch_kda_memory(struct arch_kda *a, struct arch_hparams *hp, struct arch_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmd_cache conv = {.kind = LMD_CACHE_CONV,
				 .n_head = 1,
				 .dk = a->d_conv - 1,
				 .dv = 3 * inner(a),
				 .dtype_policy = LMD_KV_DTYPE_F32};
	struct lmd_cache scan = {.kind = LMD_CACHE_STATE,
				 .n_head = a->n_head,
				 .dk = a->dk,
				 .dv = a->dk,
				 .dtype_policy = LMD_KV_DTYPE_F32};

	a->conv = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*a->conv));
	a->scan = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*a->scan));
	a->unit = arch_hp_alloc(hp, k, a->dk, sizeof(*a->unit));
	if (k->st != LMD_OK)
		return;
	for (uint32_t i = 0; i < a->dk; i++)
		a->unit[i] = 1.0f / sqrtf((float)a->dk);
	conv.group = scan.group = arch_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & ARCH_L_RECURRENT))
			continue;
		a->conv[il] = arch_hp_add_cache(hp, k, &conv);
		a->scan[il] = arch_hp_add_cache(hp, k, &scan);
	}
}

int64_t arch_kda_dim(const struct arch_kda *a, uint32_t symbol)
{
	switch (symbol) {
	case D_KDA_CONV:
		return a->d_conv;
	case D_KDA_INNER:
		return inner(a);
	case D_KDA_HEAD:
		return a->n_head;
	case D_KDA_DK:
		return a->dk;
	case D_KDA_LOW:
		return a->full ? inner(a) : a->dk;
	default:
		return 0;
	}
}

static void add(struct arch_emit *e, struct lmd_op *op, const struct lmd_tensor_row *row,
		struct lmd_operand y)
{
	struct lmd_op_linear *l = &op->u.linear;
	struct arch_weight w = arch_weight_req(e, row);

	l->w[l->n_w] = w.id;
	l->lora_site[l->n_w] = w.site;
	l->y[l->n_w++] = y;
}

/* The three convolution kernels as one matrix, one below the other. */
static uint32_t kernels(struct arch_emit *e)
{
	struct lmd_weight_part parts[3] = {{.kind = LMD_WEIGHT_PART_TENSOR},
					   {.kind = LMD_WEIGHT_PART_TENSOR},
					   {.kind = LMD_WEIGHT_PART_TENSOR}};
	const struct lmd_weight_ref w = {.struct_size = sizeof(w),
					 .n_part = 3,
					 .parts = parts,
					 .split = LMD_SPLIT_HEADS,
					 .n_stack = 1,
					 .scale = LMD_NONE,
					 .bias = LMD_NONE,
					 .name = "ssm_conv1d of q, k, v"};

	for (uint32_t i = 0; i < 3; i++) {
		const struct lmd_tensor_row *row = &arch_kda_rows[KDA_CONV_Q + i];

		parts[i].tensor = arch_tensor_index(e, row, ".weight");
		if (parts[i].tensor == LMD_NONE)
			return arch_weight_req(e, row).id; /* reports it missing */
	}
	return e->b->weight_ref(e->b->ctx, &w);
}

static uint32_t put_conv(struct arch_emit *e, const struct arch_kda *a, uint32_t x)
{
	uint32_t y = arch_value_act(e, 3 * inner(a), "kda_conv");
	struct lmd_op op = arch_op_empty(LMD_OP_CONV);

	op.u.conv.x = arch_operand_all(e, x);
	op.u.conv.y = arch_operand_all(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = kernels(e);
	op.u.conv.kernel = a->d_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = a->d_conv - 1;
	op.u.conv.act = LMD_ACT_FN_SILU;
	op.u.conv.cache = a->conv[e->il];
	arch_emit_op(e, &op);
	return y;
}

/* Computes the log decay of each key column from f. */
static uint32_t put_decay(struct arch_emit *e, const struct arch_kda *a, uint32_t f)
{
	const uint32_t h = a->n_head, dk = a->dk;
	uint32_t g = arch_value_f32(e, h * dk, "kda_g");
	struct arch_ew p = arch_ew();
	uint8_t x = arch_ew_in(&p, arch_operand_heads(f, 0, h, dk));
	uint8_t dt = arch_ew_in(&p, arch_operand_weight_heads(
					    arch_weight_req(e, &arch_kda_rows[KDA_DT]).id, h, dk));
	uint8_t ra = arch_ew_in(
		&p, arch_operand_weight_heads(arch_weight_req(e, &arch_kda_rows[KDA_A]).id, h, 1));

	x = arch_ew2(&p, LMD_EW_ADD, x, dt);
	if (a->lower < 0.0f) {
		x = arch_ew2(&p, LMD_EW_MUL, x, ra);
		if (a->a_sign < 0.0f)
			x = arch_ew2(&p, LMD_EW_MUL, x, arch_ew_const(&p, -1.0f));
		x = arch_ew1(&p, LMD_EW_SIGMOID, x);
		x = arch_ew2(&p, LMD_EW_MUL, x, arch_ew_const(&p, a->lower));
	} else {
		x = arch_ew2(&p, LMD_EW_MUL, arch_ew1(&p, LMD_EW_SOFTPLUS, x), ra);
	}
	arch_ew_out(e, &p, x, arch_operand_heads(g, 0, h, dk));
	return g;
}

/* Scales q and k of each head to unit length. */
static uint32_t put_unit(struct arch_emit *e, const struct arch_kda *a, uint32_t x)
{
	const uint32_t n = 2 * a->n_head;
	struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = e->hp->eps / (float)a->dk};
	uint32_t y = arch_value_act(e, n * a->dk, "kda_qk");

	norm.g = arch_operand_weight_cols(arch_literal(e, a->unit, a->dk, LMD_SPLIT_REPLICATE, "unit"), a->dk);
	arch_put_norm(e, arch_operand_heads(x, 0, n, a->dk), &norm,
		      arch_operand_heads(y, 0, n, a->dk));
	return y;
}

/* Applies the second matrix of a low-rank pair, if there is one. */
static uint32_t second(struct arch_emit *e, const struct arch_kda *a, enum arch_kda_low_t row,
		       uint32_t x, enum lmd_vtype vtype, const char *name)
{
	struct arch_weight w;

	if (a->full)
		return x;
	w = arch_weight_req(e, &arch_kda_low_rows[row]);
	return arch_linear(e, arch_operand_all(e, x), NULL, &w, vtype, name);
}

static void put_scan(struct arch_emit *e, const struct arch_kda *a, const uint32_t in[4],
		     uint32_t y)
{
	const uint32_t h = a->n_head, dk = a->dk;
	struct lmd_op op = arch_op_empty(LMD_OP_SCAN);

	op.u.scan.kind = LMD_SCAN_DELTA;
	op.u.scan.in[0] = arch_operand_heads(in[0], 0, h, dk);
	op.u.scan.in[1] = arch_operand_heads(in[0], h * dk, h, dk);
	op.u.scan.in[2] = arch_operand_heads(in[1], 2 * h * dk, h, dk);
	op.u.scan.in[3] = arch_operand_heads(in[2], 0, h, dk);
	op.u.scan.in[4] = arch_operand_all(e, in[3]);
	op.u.scan.y = arch_operand_heads(y, 0, h, dk);
	op.u.scan.n_head = h;
	op.u.scan.n_key_head = h;
	op.u.scan.dk = dk;
	op.u.scan.dv = dk;
	op.u.scan.scale = 1.0f / sqrtf((float)dk);
	op.u.scan.cache = a->scan[e->il];
	arch_emit_op(e, &op);
}

uint32_t arch_kda(struct arch_emit *e, const struct arch_block_io *io, const struct arch_kda *a)
{
	const uint32_t h = a->n_head, n = inner(a), low = a->full ? n : a->dk;
	const bool one_gate = arch_weight_exists(e, &arch_kda_low_rows[KDA_G]);
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_kda_rows[KDA_NORM]);
	struct arch_weight out = arch_weight_req(e, &arch_kda_rows[KDA_OUT]);
	uint32_t qkv = arch_value_act(e, 3 * n, "qkv"), f = arch_value_f32(e, low, "kda_f");
	uint32_t z = arch_value_act(e, one_gate ? n : low, "kda_z"),
		 b = arch_value_f32(e, h, "kda_beta");
	uint32_t y = arch_value_f32(e, n, "kda_scan"), normed = arch_value_act(e, n, "kda_norm");
	uint32_t gated = arch_value_act(e, n, "kda_gated"), in[4];
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct arch_ew p = arch_ew();

	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	for (uint32_t i = 0; i < 3; i++)
		add(e, &op, &arch_kda_rows[KDA_Q + i], arch_operand_cols(qkv, i * n, n));
	add(e, &op, &arch_kda_rows[KDA_F_A], arch_operand_all(e, f));
	arch_emit_op(e, &op);
	op = arch_op_empty(LMD_OP_LINEAR);
	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	add(e, &op, &arch_kda_low_rows[one_gate ? KDA_G : KDA_G_A], arch_operand_all(e, z));
	add(e, &op, &arch_kda_rows[KDA_BETA], arch_operand_all(e, b));
	arch_emit_op(e, &op);

	in[1] = put_conv(e, a, qkv);
	in[0] = put_unit(e, a, in[1]);
	in[2] = put_decay(e, a, second(e, a, KDA_F_B, f, LMD_VTYPE_F32, "kda_f_b"));
	in[3] = arch_value_f32(e, h, "kda_step");
	arch_ew_out(e, &p, arch_ew1(&p, LMD_EW_SIGMOID, arch_ew_in(&p, arch_operand_all(e, b))),
		    arch_operand_all(e, in[3]));
	put_scan(e, a, in, y);
	if (!one_gate)
		z = second(e, a, KDA_G_B, z, LMD_VTYPE_ACT, "kda_z_b");
	arch_put_norm(e, arch_operand_heads(y, 0, h, a->dk), &norm,
		      arch_operand_heads(normed, 0, h, a->dk));
	arch_put_glu(e, LMD_ACT_FN_SIGMOID, NULL, arch_operand_all(e, z),
		     arch_operand_all(e, normed), arch_operand_all(e, gated));
	return arch_block_out(e, arch_operand_all(e, gated), NULL, &out, io);
}
