/* SPDX-License-Identifier: MIT
 *
 * LFM2, dense and with experts (arXiv 2511.23404): short convolutions between two gates; every few
 * layers have attention with normalised queries and keys instead.  The final norm is named
 * token_embd_norm.
 *
 * Convolution layer: (b, c, x) = W u; the result is out(c * conv(b * x)), with a causal depthwise
 * convolution. */
#include "arch/hybrid/hybrid.h"

enum { D_L_CONV = D_OWN, D_BCX };

enum { C_CONV, C_IN, C_OUT };
static const struct lmd_tensor_row conv_rows[] = {
	[C_CONV] = {"blk.%d.shortconv.conv", {D_L_CONV, D_EMBD}, LMD_TENSOR_REQUIRED,
		    LMD_SPLIT_ROWS, LMI_L_RECURRENT, NULL},
	[C_IN] = {"blk.%d.shortconv.in_proj", {D_EMBD, D_BCX}, LMD_TENSOR_REQUIRED, LMD_SPLIT_ROWS,
		  LMI_L_RECURRENT, NULL},
	[C_OUT] = {"blk.%d.shortconv.out_proj", {D_EMBD, D_EMBD}, LMD_TENSOR_REQUIRED,
		   LMD_SPLIT_COLS, LMI_L_RECURRENT, NULL},
};

#define SETS                                                                                       \
	LMI_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD), LMI_REQ(T_OUTPUT, T_TOKEN_EMBD_NORM),                 \
		LMI_SET_HYBRID_NORM, LMI_OWN(conv_rows), LMI_SET_QKV, LMI_SET_QK_NORM,             \
		LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_ROPE_FREQS, LMI_OPT(T_DENSE_2, T_DENSE_3)

static const struct lmd_tensor_set sets[] = {SETS};
static const struct lmd_tensor_set sets_moe[] = {SETS, LMI_SET_MOE};

static void read_conv(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_hybrid *h = lmi_hybrid(hp);

	h->n_conv = lmi_key_u32(k, "shortconv.l_cache", LMI_REQUIRED, 2, 2, 256);
	h->dims[D_L_CONV - D_OWN] = h->n_conv;
	h->dims[D_BCX - D_OWN] = 3 * (int64_t)hp->n_embd;
	lmi_hybrid_layers(hp);
}

/* Reads the window, which only the model without experts supports. */
static void adjust_dense(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t w = lmi_key_u32(k, "attention.sliding_window", LMI_OPTIONAL, 0, 0, LMI_MAX_CTX);

	read_conv(hp, k);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].window = w;
}

static void memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	const struct lmd_group g = {
		.name = "state", .kind = LMD_GROUP_STATE, .causal = 1, .ratio = 1};
	struct lmi_hybrid *h = lmi_hybrid(hp);
	struct lmd_cache c = {.kind = LMD_CACHE_CONV,
			      .n_head = 1,
			      .dk = h->n_conv - 1,
			      .dv = hp->n_embd,
			      .dtype_policy = LMD_KV_DTYPE_F32};

	h->conv = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*h->conv));
	if (!h->conv)
		return;
	c.group = lmi_hp_add_group(hp, k, &g);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (hp->layer[il].cls & LMI_L_RECURRENT)
			h->conv[il] = lmi_hp_add_cache(hp, k, &c);
	}
}

static uint32_t mixer(struct lmi_emit *e, const struct lmi_decoder *d, const struct lmi_io *io)
{
	const struct lmi_hybrid *h = d->hp.own_data;
	const uint32_t n = d->hp.n_embd;
	struct lmi_w in = lmi_w(e, &conv_rows[C_IN]), out = lmi_w(e, &conv_rows[C_OUT]);
	uint32_t bcx = lmi_linear(e, io->x, &io->norm, &in, LMD_VTYPE_ACT, "conv_bcx");
	uint32_t bx = lmi_act(e, n, "conv_in"), y = lmi_act(e, n, "conv");
	uint32_t cy = lmi_act(e, n, "conv_gated");
	struct lmd_op op = lmi_op(LMD_OP_CONV);

	lmi_put_mul(e, lmi_cols(bcx, 0, n), lmi_cols(bcx, 2 * n, n), lmi_whole(e, bx));
	op.u.conv.x = lmi_whole(e, bx);
	op.u.conv.y = lmi_whole(e, y);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = lmi_w(e, &conv_rows[C_CONV]).id;
	op.u.conv.kernel = h->n_conv;
	op.u.conv.dilation = 1;
	op.u.conv.left = h->n_conv - 1;
	op.u.conv.cache = h->conv[e->il];
	lmi_put(e, &op);
	lmi_put_mul(e, lmi_cols(bcx, n, n), lmi_whole(e, y), lmi_whole(e, cy));
	return lmi_block_out(e, lmi_whole(e, cy), NULL, &out, io);
}

#define TRAITS                                                                                     \
	.final_norm = &lmi_rows[T_TOKEN_EMBD_NORM], .qk_norm = LMI_QKN_HEAD, .memory = memory,     \
	.mixer = mixer

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES,
	       .n_head_zero = true},
	.adjust = adjust_dense,
	TRAITS,
};

static const struct lmi_decoder_traits traits_moe = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES,
	       .n_head_zero = true, .route_fn = LMD_ROUTE_SIGMOID, .route_renorm = true,
	       .route_by_key = true},
	.adjust = read_conv,
	TRAITS,
};

LMI_HYBRID_ARCH(lfm2, traits, sets)
LMI_HYBRID_ARCH(lfm2moe, traits_moe, sets_moe)
