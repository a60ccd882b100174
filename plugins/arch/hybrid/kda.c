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
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d." stem, {d0, d1}, flags, LMD_SPLIT_##split, LMI_L_RECURRENT, NULL}

const struct lmd_tensor_row lmi_kda_rows[KDA_N] = {
	[KDA_Q] = ROW("attn_q", D_EMBD, D_KDA_INNER, R | S, HEADS),
	[KDA_K] = ROW("attn_k", D_EMBD, D_KDA_INNER, R | S, HEADS),
	[KDA_V] = ROW("attn_v", D_EMBD, D_KDA_INNER, R | S, HEADS),
	[KDA_F_A] = ROW("ssm_f_a", D_EMBD, D_KDA_LOW, R | S, REPLICATE),
	[KDA_CONV_Q] = ROW("ssm_conv1d_q", D_KDA_CONV, D_KDA_INNER, R, HEADS),
	[KDA_CONV_K] = ROW("ssm_conv1d_k", D_KDA_CONV, D_KDA_INNER, R, HEADS),
	[KDA_CONV_V] = ROW("ssm_conv1d_v", D_KDA_CONV, D_KDA_INNER, R, HEADS),
	[KDA_BETA] = ROW("ssm_beta", D_EMBD, D_KDA_HEAD, R | S, HEADS),
	[KDA_A] = ROW("ssm_a", D_KDA_HEAD, 0, R | BARE, HEADS),
	[KDA_DT] = ROW("ssm_dt.bias", D_KDA_INNER, 0, R | BARE, HEADS),
	[KDA_NORM] = ROW("ssm_norm", D_KDA_DK, 0, R, REPLICATE),
	[KDA_OUT] = ROW("attn_output", D_KDA_INNER, D_EMBD, R | S, COLS),
};

const struct lmd_tensor_row lmi_kda_low_rows[KDA_LOW_N] = {
	[KDA_F_B] = ROW("ssm_f_b", D_KDA_LOW, D_KDA_INNER, S, HEADS),
	[KDA_G] = ROW("ssm_g", D_EMBD, D_KDA_INNER, S, HEADS),
	[KDA_G_A] = ROW("ssm_g_a", D_EMBD, D_KDA_LOW, S, REPLICATE),
	[KDA_G_B] = ROW("ssm_g_b", D_KDA_LOW, D_KDA_INNER, S, HEADS),
};

void lmi_kda_read(struct lmi_kda *a, struct lmi_hparams *hp, struct lmi_keys *k)
{
	a->d_conv = lmi_key_u32(k, "ssm.conv_kernel", LMI_REQUIRED, 2, 2, 256);
	a->dk = lmi_key_u32(k, "kda.head_dim", LMI_REQUIRED, 1, 1, 4096);
	a->lower = (float)lmi_key_f64(k, "kda.gate_lower_bound", LMI_OPTIONAL, 0.0, -1e6, 0.0);
	a->n_head = hp->layer[0].n_head;
	a->a_sign = -1.0f;
}

static uint32_t inner(const struct lmi_kda *a)
{
	return a->n_head * a->dk;
}

void lmi_kda_memory(struct lmi_kda *a, struct lmi_hparams *hp, struct lmi_keys *k)
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

	a->conv = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*a->conv));
	a->scan = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*a->scan));
	a->unit = lmi_hp_alloc(hp, k, a->dk, sizeof(*a->unit));
	if (k->st != LMD_OK)
		return;
	for (uint32_t i = 0; i < a->dk; i++)
		a->unit[i] = 1.0f / sqrtf((float)a->dk);
	conv.group = scan.group = lmi_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & LMI_L_RECURRENT))
			continue;
		a->conv[il] = lmi_hp_add_cache(hp, k, &conv);
		a->scan[il] = lmi_hp_add_cache(hp, k, &scan);
	}
}

int64_t lmi_kda_dim(const struct lmi_kda *a, uint32_t symbol)
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

static void add(struct lmi_emit *e, struct lmd_op *op, const struct lmd_tensor_row *row,
		struct lmd_opnd y)
{
	struct lmd_op_linear *l = &op->u.linear;
	struct lmi_w w = lmi_w(e, row);

	l->w[l->n_w] = w.id;
	l->lora_site[l->n_w] = w.site;
	l->y[l->n_w++] = y;
}

/* The three convolution kernels as one matrix, one below the other. */
static uint32_t kernels(struct lmi_emit *e)
{
	struct lmd_wpart parts[3] = {
		{.kind = LMD_WPART_TENSOR}, {.kind = LMD_WPART_TENSOR}, {.kind = LMD_WPART_TENSOR}};
	const struct lmd_wref w = {.struct_size = sizeof(w),
				   .n_part = 3,
				   .parts = parts,
				   .split = LMD_SPLIT_HEADS,
				   .n_stack = 1,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE,
				   .name = "ssm_conv1d of q, k, v"};

	for (uint32_t i = 0; i < 3; i++) {
		const struct lmd_tensor_row *row = &lmi_kda_rows[KDA_CONV_Q + i];

		parts[i].tensor = lmi_tensor_index(e, row, ".weight");
		if (parts[i].tensor == LMD_NONE)
			return lmi_w(e, row).id; /* reports it missing */
	}
	return e->b->wref(e->b->ctx, &w);
}

static uint32_t put_conv(struct lmi_emit *e, const struct lmi_kda *a, uint32_t x)
{
	uint32_t y = lmi_act(e, 3 * inner(a), "kda_conv");
	struct lmd_op op = lmi_op(LMD_OP_CONV);

	op.u.conv.x = lmi_whole(e, x);
	op.u.conv.y = lmi_whole(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = kernels(e);
	op.u.conv.kernel = a->d_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = a->d_conv - 1;
	op.u.conv.act = LMD_ACT_SILU;
	op.u.conv.cache = a->conv[e->il];
	lmi_put(e, &op);
	return y;
}

/* Computes the log decay of each key column from f. */
static uint32_t put_decay(struct lmi_emit *e, const struct lmi_kda *a, uint32_t f)
{
	const uint32_t h = a->n_head, dk = a->dk;
	uint32_t g = lmi_f32(e, h * dk, "kda_g");
	struct lmi_ew p = lmi_ew();
	uint8_t x = lmi_ew_in(&p, lmi_heads(f, 0, h, dk));
	uint8_t dt = lmi_ew_in(&p, lmi_wheads(lmi_w(e, &lmi_kda_rows[KDA_DT]).id, h, dk));
	uint8_t ra = lmi_ew_in(&p, lmi_wheads(lmi_w(e, &lmi_kda_rows[KDA_A]).id, h, 1));

	x = lmi_ew2(&p, LMD_EW_ADD, x, dt);
	if (a->lower < 0.0f) {
		x = lmi_ew2(&p, LMD_EW_MUL, x, ra);
		if (a->a_sign < 0.0f)
			x = lmi_ew2(&p, LMD_EW_MUL, x, lmi_ew_const(&p, -1.0f));
		x = lmi_ew1(&p, LMD_EW_SIGMOID, x);
		x = lmi_ew2(&p, LMD_EW_MUL, x, lmi_ew_const(&p, a->lower));
	} else {
		x = lmi_ew2(&p, LMD_EW_MUL, lmi_ew1(&p, LMD_EW_SOFTPLUS, x), ra);
	}
	lmi_ew_out(e, &p, x, lmi_heads(g, 0, h, dk));
	return g;
}

/* Scales q and k of each head to unit length. */
static uint32_t put_unit(struct lmi_emit *e, const struct lmi_kda *a, uint32_t x)
{
	const uint32_t n = 2 * a->n_head;
	struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = e->hp->eps / (float)a->dk};
	uint32_t y = lmi_act(e, n * a->dk, "kda_qk");

	norm.g = lmi_wcols(lmi_literal(e, a->unit, a->dk, "unit"), a->dk);
	lmi_put_norm(e, lmi_heads(x, 0, n, a->dk), &norm, lmi_heads(y, 0, n, a->dk));
	return y;
}

/* Applies the second matrix of a low-rank pair, if there is one. */
static uint32_t second(struct lmi_emit *e, const struct lmi_kda *a, enum lmi_kda_low_t row,
		       uint32_t x, enum lmd_vtype vtype, const char *name)
{
	struct lmi_w w;

	if (a->full)
		return x;
	w = lmi_w(e, &lmi_kda_low_rows[row]);
	return lmi_linear(e, lmi_whole(e, x), NULL, &w, vtype, name);
}

static void put_scan(struct lmi_emit *e, const struct lmi_kda *a, const uint32_t in[4], uint32_t y)
{
	const uint32_t h = a->n_head, dk = a->dk;
	struct lmd_op op = lmi_op(LMD_OP_SCAN);

	op.u.scan.kind = LMD_SCAN_DELTA;
	op.u.scan.in[0] = lmi_heads(in[0], 0, h, dk);
	op.u.scan.in[1] = lmi_heads(in[0], h * dk, h, dk);
	op.u.scan.in[2] = lmi_heads(in[1], 2 * h * dk, h, dk);
	op.u.scan.in[3] = lmi_heads(in[2], 0, h, dk);
	op.u.scan.in[4] = lmi_whole(e, in[3]);
	op.u.scan.y = lmi_heads(y, 0, h, dk);
	op.u.scan.n_head = h;
	op.u.scan.n_key_head = h;
	op.u.scan.dk = dk;
	op.u.scan.dv = dk;
	op.u.scan.scale = 1.0f / sqrtf((float)dk);
	op.u.scan.cache = a->scan[e->il];
	lmi_put(e, &op);
}

uint32_t lmi_kda(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_kda *a)
{
	const uint32_t h = a->n_head, n = inner(a), low = a->full ? n : a->dk;
	const bool one_gate = lmi_has(e, &lmi_kda_low_rows[KDA_G]);
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_kda_rows[KDA_NORM]);
	struct lmi_w out = lmi_w(e, &lmi_kda_rows[KDA_OUT]);
	uint32_t qkv = lmi_act(e, 3 * n, "qkv"), f = lmi_f32(e, low, "kda_f");
	uint32_t z = lmi_act(e, one_gate ? n : low, "kda_z"), b = lmi_f32(e, h, "kda_beta");
	uint32_t y = lmi_f32(e, n, "kda_scan"), normed = lmi_act(e, n, "kda_norm");
	uint32_t gated = lmi_act(e, n, "kda_gated"), in[4];
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmi_ew p = lmi_ew();

	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	for (uint32_t i = 0; i < 3; i++)
		add(e, &op, &lmi_kda_rows[KDA_Q + i], lmi_cols(qkv, i * n, n));
	add(e, &op, &lmi_kda_rows[KDA_F_A], lmi_whole(e, f));
	lmi_put(e, &op);
	op = lmi_op(LMD_OP_LINEAR);
	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	add(e, &op, &lmi_kda_low_rows[one_gate ? KDA_G : KDA_G_A], lmi_whole(e, z));
	add(e, &op, &lmi_kda_rows[KDA_BETA], lmi_whole(e, b));
	lmi_put(e, &op);

	in[1] = put_conv(e, a, qkv);
	in[0] = put_unit(e, a, in[1]);
	in[2] = put_decay(e, a, second(e, a, KDA_F_B, f, LMD_VTYPE_F32, "kda_f_b"));
	in[3] = lmi_f32(e, h, "kda_step");
	lmi_ew_out(e, &p, lmi_ew1(&p, LMD_EW_SIGMOID, lmi_ew_in(&p, lmi_whole(e, b))),
		   lmi_whole(e, in[3]));
	put_scan(e, a, in, y);
	if (!one_gate)
		z = second(e, a, KDA_G_B, z, LMD_VTYPE_ACT, "kda_z_b");
	lmi_put_norm(e, lmi_heads(y, 0, h, a->dk), &norm, lmi_heads(normed, 0, h, a->dk));
	lmi_put_glu(e, LMD_ACT_SIGMOID, NULL, lmi_whole(e, z), lmi_whole(e, normed),
		    lmi_whole(e, gated));
	return lmi_block_out(e, lmi_whole(e, gated), NULL, &out, io);
}
