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
#define W LMI_L_RECURRENT

enum { L_QKV, L_GATE, L_NORM, L_OUT };
static const struct lmd_tensor_row rows[] = {
	[L_QKV] = {"blk.%d.attn_qkv", {D_EMBD, D_QKV3}, R, LMD_SPLIT_HEADS, W, NULL},
	[L_GATE] = {"blk.%d.attn_gate", {D_EMBD, D_Q}, R, LMD_SPLIT_HEADS, W, NULL},
	[L_NORM] = {"blk.%d.attn_norm_2", {D_Q}, R, LMD_SPLIT_REPLICATE, W, NULL},
	[L_OUT] = {"blk.%d.attn_output", {D_Q, D_EMBD}, R, LMD_SPLIT_COLS, W, NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_HYBRID_NORM, LMI_OWN(rows), LMI_SET_QKV, LMI_SET_FFN_NORM,
	LMI_SET_MOE,
};

/* Size of the vocabulary; later rows of the head are padding. */
#define N_TOKEN 200032u

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_hybrid *h = lmi_hybrid(hp);
	const struct lmi_layer *l = &hp->layer[0];

	if (!hp->n_expert)
		lmi_key_fail(k, LMD_INVALID, "minimax-01.expert_count: 0, expected at least 1");
	if (l->dk != l->dv)
		lmi_key_fail(k, LMD_UNSUPPORTED,
			     "minimax-01.attention.value_length: %u, expected the key length %u",
			     l->dv, l->dk);
	lmi_hybrid_kinds(hp, k, 8);
	h->dims[D_QKV3 - D_OWN] = 3 * (int64_t)l->n_head * l->dk;
	if (hp->n_vocab > N_TOKEN)
		h->ban = lmi_hp_alloc(hp, k, hp->n_vocab, sizeof(*h->ban));
	for (uint32_t i = N_TOKEN; h->ban && i < hp->n_vocab; i++)
		h->ban[i] = -INFINITY;
}

static void memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	const struct lmi_layer *l = &hp->layer[0];
	struct lmi_hybrid *h = lmi_hybrid(hp);
	struct lmd_cache c = {.kind = LMD_CACHE_STATE,
			      .n_head = l->n_head,
			      .dk = l->dk,
			      .dv = l->dv,
			      .dtype_policy = LMD_KV_DTYPE_F32};

	h->scan = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*h->scan));
	if (!h->scan)
		return;
	c.group = lmi_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (hp->layer[il].cls & LMI_L_RECURRENT)
			h->scan[il] = lmi_hp_add_cache(hp, k, &c);
	}
}

/* The decay of each head's state per token. */
static struct lmd_opnd decay(struct lmi_emit *e, uint32_t n_head)
{
	const uint32_t n_layer = e->hp->n_layer;
	double depth = n_layer > 1 ? (double)e->il / (n_layer - 1) : 0.0;
	float g[LMI_MAX_HEAD];

	for (uint32_t h = 0; h < n_head; h++)
		g[h] = (float)exp(-exp2(-8.0 * (h + 1) / n_head) * (1.0 - depth + 1e-5));
	return lmi_wheads(lmi_literal(e, g, n_head, "decay"), n_head, 1);
}

static struct lmd_opnd third(uint32_t value, uint32_t i, uint32_t n_head, uint32_t dk)
{
	struct lmd_opnd x = lmi_heads(value, i * dk, n_head, dk);

	x.head_stride = 3 * dk;
	return x;
}

static uint32_t mixer(struct lmi_emit *e, const struct lmi_decoder *d, const struct lmi_io *io)
{
	const struct lmi_hybrid *h = d->hp.own_data;
	const uint32_t n = lmi_cur(e)->n_head, dk = lmi_cur(e)->dk;
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &rows[L_NORM]);
	struct lmi_w w = lmi_w(e, &rows[L_QKV]), wg = lmi_w(e, &rows[L_GATE]);
	struct lmi_w out = lmi_w(e, &rows[L_OUT]);
	uint32_t qkv = lmi_act(e, w.n, "qkv"), gate = lmi_act(e, wg.n, "gate");
	uint32_t y = lmi_f32(e, n * dk, "scan"), normed = lmi_act(e, n * dk, "scan_norm");
	uint32_t gated = lmi_act(e, n * dk, "gated");
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmi_ew p = lmi_ew();
	uint8_t r;

	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = LMD_ACT_SILU;
	op.u.linear.y[0] = lmi_whole(e, qkv);
	lmi_put(e, &op);
	lmi_put_linear(e, io->x, &io->norm, &wg, lmi_whole(e, gate));

	op = lmi_op(LMD_OP_SCAN);
	op.u.scan.kind = LMD_SCAN_GLA;
	for (uint32_t i = 0; i < 3; i++)
		op.u.scan.in[i] = third(qkv, i, n, dk);
	op.u.scan.in[3] = decay(e, n);
	op.u.scan.y = lmi_heads(y, 0, n, dk);
	op.u.scan.n_head = n;
	op.u.scan.n_key_head = n;
	op.u.scan.dk = dk;
	op.u.scan.dv = dk;
	op.u.scan.cache = h->scan[e->il];
	lmi_put(e, &op);

	lmi_put_norm(e, lmi_whole(e, y), &norm, lmi_whole(e, normed));
	r = lmi_ew_in(&p, lmi_whole(e, gate));
	(void)lmi_ew_in(&p, lmi_whole(e, normed)); /* register 1 */
	lmi_ew_out(e, &p, lmi_ew2(&p, LMD_EW_MUL, lmi_ew1(&p, LMD_EW_SIGMOID, r), 1),
		   lmi_whole(e, gated));
	return lmi_block_out(e, lmi_whole(e, gated), NULL, &out, io);
}

/* Input of a block: the normalised stream; the residual is that times the factor. */
static struct lmi_io block_input(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t x,
				 const struct lmd_tensor_row *row)
{
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, row);
	uint32_t n = d->hp.n_embd, h = lmi_f32(e, n, "norm"), r = h;

	lmi_put_norm(e, lmi_cols(x, 0, n), &norm, lmi_cols(h, 0, n));
	if (d->hp.residual_scale != 1.0f) {
		r = lmi_f32(e, n, "norm_scaled");
		lmi_put_scale_add(e, lmi_cols(h, 0, n), d->hp.residual_scale, lmi_none(),
				  lmi_cols(r, 0, n));
	}
	return (struct lmi_io){lmi_cols(h, 0, n), lmi_no_norm(), r, 1.0f};
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmi_io io = block_input(e, d, s->x, &lmi_hybrid_norm_rows[0]);
	struct lmi_attn a;

	if (lmi_cur(e)->cls & LMI_L_ATTN) {
		a = lmi_decoder_attn(e, d, pass);
		s->x = lmi_attn(e, &io, &a);
	} else {
		s->x = mixer(e, d, &io);
	}
	io = block_input(e, d, s->x, &lmi_rows[T_FFN_NORM]);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static uint32_t ban_padding(struct lmi_emit *e, const struct lmi_decoder *d)
{
	const struct lmi_hybrid *h = d->hp.own_data;

	return h->ban ? lmi_literal(e, h->ban, d->hp.n_vocab, "padding") : LMD_NONE;
}

static const struct lmi_key_f32 floats[] = {
	{"residual_scale", LMI_HP(residual_scale), LMI_REQUIRED, 1, 1e-6f, 1e6f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.memory = memory,
	.layer = layer,
	.logit_bias = ban_padding,
};

LMI_HYBRID_ARCH(minimax_01, traits, sets)
