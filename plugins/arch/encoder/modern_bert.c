/* SPDX-License-Identifier: MIT
 *
 * ModernBERT (arXiv 2412.13663), NeoBERT (arXiv 2502.19587) and EuroBERT (arXiv 2503.05500):
 * decoder layers without the causal mask. */
#include "arch/common/decoder.h"
#include "arch/encoder/encoder.h"

static void no_mask(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->causal = false;
}

/* NeoBERT calls its last norm enc.output_norm. */
static const struct lmd_tensor_row enc_norm[] = {
	{"enc.output_norm", {D_EMBD}, LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL, LMD_SPLIT_REPLICATE,
	 0, NULL},
};

static const struct lmd_tensor_set eurobert_sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_POOL,
};
static const struct lmi_decoder_traits eurobert = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = no_mask,
	.pool = {.rank_act = LMD_ACT_TANH},
};
LMI_DECODER_ARCH(eurobert, eurobert, eurobert_sets)

static const struct lmd_tensor_set neo_sets[] = {
	LMI_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD), LMI_OWN(enc_norm), LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_SET_FFN_NORM, LMI_SET_FFN_FUSED, LMI_SET_POOL,
};
static const struct lmi_decoder_traits neo = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.ffn_fused = true,
	.adjust = no_mask,
	.final_norm = enc_norm,
	.pool = {.rank_act = LMD_ACT_TANH},
};
LMI_DECODER_ARCH(neo_bert, neo, neo_sets)

static void modern_adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->causal = false;
	lmi_hp_rope_window(hp, k, 10000.0, true);
}

/* Emits a layer.  The first one has no norm before attention: the embeddings are normalised. */
static void modern_layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
			 uint32_t pass)
{
	struct lmd_norm n = lmi_no_norm();
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_io io;

	if (e->il > 0 || lmi_has(e, &lmi_rows[T_ATTN_NORM]))
		n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	io = lmi_read(e, s, &n);
	s->x = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static const struct lmd_tensor_set modern_sets[] = {
	LMI_REQ(T_TOKEN_EMBD, T_OUTPUT_NORM), LMI_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
	LMI_OPT(T_ATTN_NORM, T_ATTN_NORM),    LMI_SET_QKV,
	LMI_SET_FFN_NORM,                     LMI_SET_FFN_FUSED,
	LMI_SET_POOL,
};
static const struct lmi_decoder_traits modern = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES, .window = true,
	       .window_need = LMI_REQUIRED, .window_period = 3, .window_dense_first = true},
	.embd_norm = LMI_EMBD_NORM_ROW,
	.ffn_fused = true,
	.act = LMD_ACT_GELU,
	.adjust = modern_adjust,
	.layer = modern_layer,
	.pool = {.rank_mean = true, .rank_act = LMD_ACT_GELU},
};
LMI_DECODER_ARCH(modern_bert, modern, modern_sets)
