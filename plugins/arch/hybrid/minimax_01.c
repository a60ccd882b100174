/* SPDX-License-Identifier: MIT
 *
 * MiniMax-01 (arXiv 2501.08313): linear attention with a fixed decay per head (lightning attention,
 * arXiv 2405.17381), softmax attention in every eighth layer, and experts in all layers.  A block
 * adds its result not to the stream but to the normalised stream times a factor from the file.
 *
 * Linear layer: (q, k, v) = silu(W u), side by side for each head; S = exp(-s) S + k v; y = q S;
 * the result is out(norm(y) * sigmoid(G u)).  The slope s of a head is that of ALiBi (arXiv
 * 2108.12409), and decreases from layer to layer. */
#include <math.h>

#include "arch/hybrid/hybrid.h"

enum { D_QKV3 = D_OWN };

#define R LMD_TENSOR_REQUIRED
#define W ARCH_L_RECURRENT

enum { L_QKV, L_GATE, L_NORM, L_OUT };
static const struct lmd_tensor_row rows[] = {
	[L_QKV] = {"blk.%d.attn_qkv", {D_EMBD, D_QKV3}, R | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, W, NULL},
	[L_GATE] = {"blk.%d.attn_gate", {D_EMBD, D_Q}, R | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, W, NULL},
	[L_NORM] = {"blk.%d.attn_norm_2", {D_Q}, R, LMD_SPLIT_REPLICATE, W, NULL},
	[L_OUT] = {"blk.%d.attn_output", {D_Q, D_EMBD}, R | LMD_TENSOR_LORA, LMD_SPLIT_COLS, W, NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_HYBRID_NORM, ARCH_ROWS_OWN(rows),
	ARCH_SET_QKV,    ARCH_SET_FFN_NORM,    ARCH_SET_MOE,
};

/* Size of the vocabulary; later rows of the head are padding. */
#define N_TOKEN 200032u

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_hybrid *h = arch_hybrid(hp);
	const struct arch_layer *l = &hp->layer[0];

	if (!hp->n_expert)
		arch_key_fail(k, LMD_INVALID, "minimax-01.expert_count: 0, expected at least 1");
	if (l->dk != l->dv)
		arch_key_fail(k, LMD_UNSUPPORTED,
			      "minimax-01.attention.value_length: %u, expected the key length %u",
			      l->dv, l->dk);
	arch_hybrid_kinds(hp, k, 8);
	h->dims[D_QKV3 - D_OWN] = 3 * (int64_t)l->n_head * l->dk;
	if (hp->n_vocab > N_TOKEN)
		h->ban = arch_hp_alloc(hp, k, hp->n_vocab, sizeof(*h->ban));
	for (uint32_t i = N_TOKEN; h->ban && i < hp->n_vocab; i++)
		h->ban[i] = -INFINITY;
}

static void memory(struct arch_hparams *hp, struct arch_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	const struct arch_layer *l = &hp->layer[0];
	struct arch_hybrid *h = arch_hybrid(hp);
	struct lmd_cache c = {.kind = LMD_CACHE_STATE,
			      .n_head = l->n_head,
			      .dk = l->dk,
			      .dv = l->dv,
			      .dtype_policy = LMD_KV_DTYPE_F32};

	h->scan = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*h->scan));
	if (!h->scan)
		return;
	c.group = arch_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (hp->layer[il].cls & ARCH_L_RECURRENT)
			h->scan[il] = arch_hp_add_cache(hp, k, &c);
	}
}

/* The decay of each head's state per token. */
static struct lmd_operand decay(struct arch_emit *e, uint32_t n_head)
{
	const uint32_t n_layer = e->hp->n_layer;
	double depth = n_layer > 1 ? (double)e->il / (n_layer - 1) : 0.0;
	float g[ARCH_MAX_HEAD];

	for (uint32_t h = 0; h < n_head; h++)
		g[h] = (float)exp(-exp2(-8.0 * (h + 1) / n_head) * (1.0 - depth + 1e-5));
	return arch_operand_weight_heads(arch_literal(e, g, n_head, LMD_SPLIT_HEADS, "decay"), n_head, 1);
}

static struct lmd_operand one_of_qkv(uint32_t value, uint32_t i, uint32_t n_head, uint32_t dk)
{
	struct lmd_operand x = arch_operand_heads(value, i * dk, n_head, dk);

	x.head_stride = 3 * dk;
	return x;
}

static uint32_t mixer(struct arch_emit *e, const struct arch_decoder *d,
		      const struct arch_block_io *io)
{
	const struct arch_hybrid *h = d->hp.arch_data;
	const uint32_t n = arch_current_layer(e)->n_head, dk = arch_current_layer(e)->dk;
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &rows[L_NORM]);
	struct arch_weight w = arch_weight_req(e, &rows[L_QKV]),
			   wg = arch_weight_req(e, &rows[L_GATE]);
	struct arch_weight out = arch_weight_req(e, &rows[L_OUT]);
	uint32_t qkv = arch_value_act(e, w.n, "qkv"), gate = arch_value_act(e, wg.n, "gate");
	uint32_t y = arch_value_f32(e, n * dk, "scan"),
		 normed = arch_value_act(e, n * dk, "scan_norm");
	uint32_t gated = arch_value_act(e, n * dk, "gated");
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct arch_ew p = arch_ew();
	uint8_t r;

	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = LMD_ACT_FN_SILU;
	op.u.linear.y[0] = arch_operand_all(e, qkv);
	arch_emit_op(e, &op);
	arch_put_linear(e, io->x, &io->norm, &wg, arch_operand_all(e, gate));

	op = arch_op_empty(LMD_OP_SCAN);
	op.u.scan.kind = LMD_SCAN_GLA;
	for (uint32_t i = 0; i < 3; i++)
		op.u.scan.in[i] = one_of_qkv(qkv, i, n, dk);
	op.u.scan.in[3] = decay(e, n);
	op.u.scan.y = arch_operand_heads(y, 0, n, dk);
	op.u.scan.n_head = n;
	op.u.scan.n_key_head = n;
	op.u.scan.dk = dk;
	op.u.scan.dv = dk;
	op.u.scan.cache = h->scan[e->il];
	arch_emit_op(e, &op);

	arch_put_norm(e, arch_operand_all(e, y), &norm, arch_operand_all(e, normed));
	r = arch_ew_in(&p, arch_operand_all(e, gate));
	(void)arch_ew_in(&p, arch_operand_all(e, normed)); /* register 1 */
	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, arch_ew1(&p, LMD_EW_SIGMOID, r), 1),
		    arch_operand_all(e, gated));
	return arch_block_out(e, arch_operand_all(e, gated), NULL, &out, io);
}

/* Input of a block: the normalised stream; the residual is that times the factor. */
static struct arch_block_io block_input(struct arch_emit *e, const struct arch_decoder *d,
					uint32_t x, const struct lmd_tensor_row *row)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, row);
	uint32_t n = d->hp.n_embd, h = arch_value_f32(e, n, "norm"), r = h;

	arch_put_norm(e, arch_operand_cols(x, 0, n), &norm, arch_operand_cols(h, 0, n));
	if (d->hp.residual_scale != 1.0f) {
		r = arch_value_f32(e, n, "norm_scaled");
		arch_put_scale_add(e, arch_operand_cols(h, 0, n), d->hp.residual_scale,
				   arch_operand_none(), arch_operand_cols(r, 0, n));
	}
	return (struct arch_block_io){arch_operand_cols(h, 0, n), arch_no_norm(), r, 1.0f};
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct arch_block_io io = block_input(e, d, s->x, &arch_hybrid_norm_rows[0]);
	struct arch_attn a;

	if (arch_current_layer(e)->cls & ARCH_L_ATTN) {
		a = arch_decoder_attn(e, d, pass);
		s->x = arch_attn(e, &io, &a);
	} else {
		s->x = mixer(e, d, &io);
	}
	io = block_input(e, d, s->x, &arch_rows[T_FFN_NORM]);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static uint32_t padding_logit_bias(struct arch_emit *e, const struct arch_decoder *d)
{
	const struct arch_hybrid *h = d->hp.arch_data;

	return h->ban ? arch_literal(e, h->ban, d->hp.n_vocab, LMD_SPLIT_ROWS, "padding") : LMD_NONE;
}

static const struct arch_key_f32 floats[] = {
	{"residual_scale", ARCH_HP(residual_scale), ARCH_REQUIRED, 1, 1e-6f, 1e6f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.memory = memory,
	.layer = layer,
	.logit_bias = padding_logit_bias,
};

ARCH_HYBRID_ARCH(minimax_01, traits, sets)
