/* SPDX-License-Identifier: MIT
 *
 * tensors.h - the tensors that many architectures share, as a table.
 *
 * enum arch_t names the rows.  arch_rows[] holds them with the usual ones required; arch_rows_opt[]
 * holds the same rows, all optional.  An architecture lists what it reads as slices of the two
 * tables plus rows of its own:
 *
 *     static const struct lmd_tensor_set sets[] = {
 *         ARCH_SET_GLOBAL, ARCH_SET_QKV, ARCH_SET_FFN, ARCH_ROWS_OPT(T_ROPE_FREQS, T_ROPE_FREQS),
 *         ARCH_ROWS_OWN(own_rows),
 *     };
 *
 * Rows whose split is not REPLICATE are matrices; their stems are the adapter sites of the
 * model. */
#ifndef LLAMAD_ARCH_COMMON_TENSORS_H
#define LLAMAD_ARCH_COMMON_TENSORS_H

#include "llamad/arch.h"

/* Dimension symbols; arch_hp_dim resolves them.  Those of an architecture begin at D_OWN. */
enum arch_d {
	D_NONE = 0,
	D_EMBD, /* width of the residual stream */
	D_VOCAB,
	D_CTX, /* n_ctx_train */
	D_Q,   /* n_head * dk */
	D_K,   /* n_head_kv * dk */
	D_V,   /* n_head_kv * dv */
	D_QKV, /* D_Q + D_K + D_V */
	D_O,   /* n_head * dv */
	D_DK,
	D_DV,
	D_HEAD,
	D_HEAD_KV,
	D_Q2,       /* query and gate of every head */
	D_QKV2,     /* D_Q2 + D_K + D_V */
	D_ROT_HALF, /* n_rot / 2 of the layer; GLOBAL rows: of the first layer with rotation */
	D_FF,
	D_FF2, /* gate and up fused */
	D_EXPERT,
	D_FF_EXP,
	D_FF_EXP2,
	D_FF_SHEXP,
	D_FF_SHEXP2,
	D_TYPES,  /* token types */
	D_CLS,    /* outputs of the classifier */
	D_DENSE2, /* outputs of the first projection after pooling */
	D_DENSE3,
	D_OWN = 256
};

/* Classes of layers: bits of lmd_tensor_row.when and arch_set_layer.cls. */
#define ARCH_L_ATTN      1u /* has attention */
#define ARCH_L_DENSE     2u /* has a dense feed-forward block */
#define ARCH_L_MOE       4u
#define ARCH_L_SHEXP     8u  /* has a shared expert */
#define ARCH_L_WINDOW    16u /* attention with a window or chunks */
#define ARCH_L_FULL      32u
#define ARCH_L_RECURRENT 64u
#define ARCH_L_OWN       (1u << 16)

/* Flag of a tensor row: weights that are divided among devices are those that adapters apply to. */
#define ARCH_LORA(split) (LMD_SPLIT_##split != LMD_SPLIT_REPLICATE ? LMD_TENSOR_LORA : 0)

/* X(name, stem, dim 0, dim 1, dim 2, flags, split, when, alt) */
#define ARCH_TENSOR_LIST(X)                                                                        \
	X(TOKEN_EMBD, "token_embd", D_EMBD, D_VOCAB, 0, REQ | GLB, ROWS, 0, NULL)                  \
	X(OUTPUT_NORM, "output_norm", D_EMBD, 0, 0, REQ | GLB | BIA, REPLICATE, 0, NULL)           \
	X(OUTPUT, "output", D_EMBD, D_VOCAB, 0, GLB | BIA | SCA, ROWS, 0, NULL)                    \
	X(TOKEN_EMBD_NORM, "token_embd_norm", D_EMBD, 0, 0, REQ | GLB | BIA, REPLICATE, 0, NULL)   \
	X(POS_EMBD, "position_embd", D_EMBD, D_CTX, 0, REQ | GLB, REPLICATE, 0, NULL)              \
	X(TOKEN_TYPES, "token_types", D_EMBD, D_TYPES, 0, GLB, REPLICATE, 0, NULL)                 \
	X(ROPE_FREQS, "rope_freqs", D_ROT_HALF, 0, 0, GLB, REPLICATE, 0, NULL)                     \
	X(ROPE_LONG, "rope_factors_long", D_ROT_HALF, 0, 0, GLB, REPLICATE, 0, NULL)               \
	X(ROPE_SHORT, "rope_factors_short", D_ROT_HALF, 0, 0, GLB, REPLICATE, 0, NULL)             \
	X(CLS, "cls", D_EMBD, D_EMBD, 0, GLB | BIA | ANY, REPLICATE, 0, NULL)                      \
	X(CLS_OUT, "cls.output", D_EMBD, D_CLS, 0, GLB | BIA, REPLICATE, 0, NULL)                  \
	X(CLS_NORM, "cls.norm", D_EMBD, 0, 0, GLB | BIA, REPLICATE, 0, NULL)                       \
	X(DENSE_2, "dense_2", D_EMBD, D_DENSE2, 0, GLB | BIA, REPLICATE, 0, NULL)                  \
	X(DENSE_3, "dense_3", D_DENSE2, D_DENSE3, 0, GLB | BIA, REPLICATE, 0, NULL)                \
	X(ATTN_NORM, "blk.%d.attn_norm", D_EMBD, 0, 0, REQ | BIA, REPLICATE, ARCH_L_ATTN, NULL)    \
	X(ATTN_NORM_2, "blk.%d.attn_norm_2", D_EMBD, 0, 0, BIA, REPLICATE, ARCH_L_ATTN, NULL)      \
	X(ATTN_Q, "blk.%d.attn_q", D_EMBD, D_Q, 0, BIA | SCA, HEADS, ARCH_L_ATTN, NULL)            \
	X(ATTN_K, "blk.%d.attn_k", D_EMBD, D_K, 0, BIA | SCA, HEADS, ARCH_L_ATTN, NULL)            \
	X(ATTN_V, "blk.%d.attn_v", D_EMBD, D_V, 0, BIA | SCA, HEADS, ARCH_L_ATTN, NULL)            \
	X(ATTN_QKV, "blk.%d.attn_qkv", D_EMBD, D_QKV, 0, BIA | SCA, HEADS, ARCH_L_ATTN, NULL)      \
	X(ATTN_OUT, "blk.%d.attn_output", D_O, D_EMBD, 0, REQ | BIA | SCA, COLS, ARCH_L_ATTN,      \
	  NULL)                                                                                    \
	X(ATTN_Q_GATED, "blk.%d.attn_q", D_EMBD, D_Q2, 0, REQ | SCA, HEADS, ARCH_L_ATTN, NULL)     \
	X(ATTN_Q_NORM, "blk.%d.attn_q_norm", D_DK, 0, 0, REQ | BIA, REPLICATE, ARCH_L_ATTN, NULL)  \
	X(ATTN_K_NORM, "blk.%d.attn_k_norm", D_DK, 0, 0, REQ | BIA, REPLICATE, ARCH_L_ATTN, NULL)  \
	X(ATTN_Q_NORM_FULL, "blk.%d.attn_q_norm", D_Q, 0, 0, REQ | BIA, HEADS, ARCH_L_ATTN, NULL)  \
	X(ATTN_K_NORM_FULL, "blk.%d.attn_k_norm", D_K, 0, 0, REQ | BIA, HEADS, ARCH_L_ATTN, NULL)  \
	X(ATTN_Q_NORM_EACH, "blk.%d.attn_q_norm", D_DK, D_HEAD, 0, REQ | BIA, REPLICATE,           \
	  ARCH_L_ATTN, NULL)                                                                       \
	X(ATTN_K_NORM_EACH, "blk.%d.attn_k_norm", D_DK, D_HEAD_KV, 0, REQ | BIA, REPLICATE,        \
	  ARCH_L_ATTN, NULL)                                                                       \
	X(ATTN_SINKS, "blk.%d.attn_sinks", D_HEAD, 0, 0, REQ, REPLICATE, ARCH_L_ATTN, NULL)        \
	X(ATTN_GATE, "blk.%d.attn_gate", D_EMBD, D_O, 0, REQ | SCA, HEADS, ARCH_L_ATTN, NULL)      \
	X(ATTN_GATE_HEAD, "blk.%d.attn_gate", D_EMBD, D_HEAD, 0, REQ | SCA, HEADS, ARCH_L_ATTN,    \
	  NULL)                                                                                    \
	X(ATTN_SUB_NORM, "blk.%d.attn_sub_norm", D_O, 0, 0, REQ | BIA, REPLICATE, ARCH_L_ATTN,     \
	  NULL)                                                                                    \
	X(POST_ATTN_NORM, "blk.%d.post_attention_norm", D_EMBD, 0, 0, REQ | BIA, REPLICATE, 0,     \
	  NULL)                                                                                    \
	X(ATTN_OUT_NORM, "blk.%d.attn_output_norm", D_EMBD, 0, 0, REQ | BIA, REPLICATE, 0, NULL)   \
	X(LAYER_OUT_NORM, "blk.%d.layer_output_norm", D_EMBD, 0, 0, REQ | BIA, REPLICATE, 0,       \
	  "blk.%d.post_ffw_norm")                                                                  \
	X(FFN_NORM, "blk.%d.ffn_norm", D_EMBD, 0, 0, REQ | BIA, REPLICATE,                         \
	  ARCH_L_DENSE | ARCH_L_MOE, NULL)                                                         \
	X(FFN_GATE, "blk.%d.ffn_gate", D_EMBD, D_FF, 0, REQ | BIA | SCA, ROWS, ARCH_L_DENSE, NULL) \
	X(FFN_UP, "blk.%d.ffn_up", D_EMBD, D_FF, 0, REQ | BIA | SCA, ROWS, ARCH_L_DENSE, NULL)     \
	X(FFN_DOWN, "blk.%d.ffn_down", D_FF, D_EMBD, 0, REQ | BIA | SCA, COLS, ARCH_L_DENSE, NULL) \
	X(FFN_GATE_UP, "blk.%d.ffn_up", D_EMBD, D_FF2, 0, REQ | BIA | SCA, ROWS, ARCH_L_DENSE,     \
	  NULL)                                                                                    \
	X(FFN_SUB_NORM, "blk.%d.ffn_sub_norm", D_FF, 0, 0, REQ | BIA, REPLICATE, ARCH_L_DENSE,     \
	  NULL)                                                                                    \
	X(POST_FFN_NORM, "blk.%d.post_ffw_norm", D_EMBD, 0, 0, REQ | BIA, REPLICATE, 0, NULL)      \
	X(FFN_GATE_INP, "blk.%d.ffn_gate_inp", D_EMBD, D_EXPERT, 0, REQ | BIA, REPLICATE,          \
	  ARCH_L_MOE, NULL)                                                                        \
	X(FFN_GATE_EXPS, "blk.%d.ffn_gate_exps", D_EMBD, D_FF_EXP, D_EXPERT, BIA | SCA | PEX,      \
	  EXPERTS, ARCH_L_MOE, "blk.%d.ffn_gate.%d")                                               \
	X(FFN_UP_EXPS, "blk.%d.ffn_up_exps", D_EMBD, D_FF_EXP, D_EXPERT, BIA | SCA | PEX, EXPERTS, \
	  ARCH_L_MOE, "blk.%d.ffn_up.%d")                                                          \
	X(FFN_GATE_UP_EXPS, "blk.%d.ffn_gate_up_exps", D_EMBD, D_FF_EXP2, D_EXPERT, BIA | SCA,     \
	  EXPERTS, ARCH_L_MOE, NULL)                                                               \
	X(FFN_DOWN_EXPS, "blk.%d.ffn_down_exps", D_FF_EXP, D_EMBD, D_EXPERT, BIA | SCA | PEX,      \
	  EXPERTS, ARCH_L_MOE, "blk.%d.ffn_down.%d")                                               \
	X(EXP_PROBS_B, "blk.%d.exp_probs_b.bias", D_EXPERT, 0, 0, BAR, REPLICATE, ARCH_L_MOE,      \
	  NULL)                                                                                    \
	X(FFN_GATE_INP_SHEXP, "blk.%d.ffn_gate_inp_shexp", D_EMBD, 0, 0, REQ, REPLICATE,           \
	  ARCH_L_SHEXP, NULL)                                                                      \
	X(FFN_GATE_SHEXP, "blk.%d.ffn_gate_shexp", D_EMBD, D_FF_SHEXP, 0, REQ | SCA, ROWS,         \
	  ARCH_L_SHEXP, NULL)                                                                      \
	X(FFN_UP_SHEXP, "blk.%d.ffn_up_shexp", D_EMBD, D_FF_SHEXP, 0, REQ | SCA, ROWS,             \
	  ARCH_L_SHEXP, NULL)                                                                      \
	X(FFN_DOWN_SHEXP, "blk.%d.ffn_down_shexp", D_FF_SHEXP, D_EMBD, 0, REQ | SCA, COLS,         \
	  ARCH_L_SHEXP, NULL)                                                                      \
	X(FFN_GATE_UP_SHEXP, "blk.%d.ffn_up_shexp", D_EMBD, D_FF_SHEXP2, 0, REQ | SCA, ROWS,       \
	  ARCH_L_SHEXP, NULL)                                                                      \
	X(POST_ATTN_NORM_BARE, "blk.%d.post_attention_norm", D_EMBD, 0, 0, REQ | BAR, REPLICATE,   \
	  0, NULL)                                                                                 \
	X(POST_FFN_NORM_BARE, "blk.%d.post_ffw_norm", D_EMBD, 0, 0, REQ | BAR, REPLICATE, 0, NULL) \
	X(LAYER_OUT_SCALE, "blk.%d.layer_output_scale", 0, 0, 0, REQ, REPLICATE, 0, NULL)

#define ARCH_TENSOR_ENUM(name, stem, d0, d1, d2, flags, split, when, alt) T_##name,
enum arch_t { ARCH_TENSOR_LIST(ARCH_TENSOR_ENUM) T_N };

extern const struct lmd_tensor_row arch_rows[T_N];
extern const struct lmd_tensor_row arch_rows_opt[T_N];

/* Slices of the tables, from the first to the last row inclusive. */
#define ARCH_ROWS_REQ(first, last)                                                                 \
	{                                                                                          \
		arch_rows + (first), (last) - (first) + 1, 0                                       \
	}
#define ARCH_ROWS_OPT(first, last)                                                                 \
	{                                                                                          \
		arch_rows_opt + (first), (last) - (first) + 1, 0                                   \
	}
#define ARCH_ROWS_OWN(rows)                                                                        \
	{                                                                                          \
		rows, (uint32_t)LMD_LEN(rows), 0                                                   \
	}

/* Named slices.  QKV: the projections, split or fused, and the output projection; the norm is a
 * slice of its own. */
#define ARCH_SET_GLOBAL       ARCH_ROWS_REQ(T_TOKEN_EMBD, T_OUTPUT)
#define ARCH_SET_ATTN_NORM    ARCH_ROWS_REQ(T_ATTN_NORM, T_ATTN_NORM)
#define ARCH_SET_QKV          ARCH_ROWS_REQ(T_ATTN_Q, T_ATTN_OUT)
#define ARCH_SET_QK_NORM      ARCH_ROWS_REQ(T_ATTN_Q_NORM, T_ATTN_K_NORM)
#define ARCH_SET_FFN_NORM     ARCH_ROWS_REQ(T_FFN_NORM, T_FFN_NORM)
#define ARCH_SET_FFN          ARCH_ROWS_REQ(T_FFN_GATE, T_FFN_DOWN)
#define ARCH_SET_FFN_PLAIN    ARCH_ROWS_REQ(T_FFN_UP, T_FFN_DOWN)
#define ARCH_SET_FFN_FUSED    ARCH_ROWS_REQ(T_FFN_DOWN, T_FFN_GATE_UP)
#define ARCH_SET_MOE          ARCH_ROWS_REQ(T_FFN_GATE_INP, T_EXP_PROBS_B)
#define ARCH_SET_SHEXP        ARCH_ROWS_REQ(T_FFN_GATE_SHEXP, T_FFN_DOWN_SHEXP)
#define ARCH_SET_ROPE_FREQS   ARCH_ROWS_OPT(T_ROPE_FREQS, T_ROPE_FREQS)
#define ARCH_SET_ROPE_FACTORS ARCH_ROWS_OPT(T_ROPE_FREQS, T_ROPE_SHORT)
#define ARCH_SET_POOL         ARCH_ROWS_OPT(T_CLS, T_DENSE_3)

#endif /* LLAMAD_ARCH_COMMON_TENSORS_H */
