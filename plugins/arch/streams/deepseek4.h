/* SPDX-License-Identifier: MIT
 *
 * deepseek4.h - shared by the files of DeepSeek-V4.
 *
 * deepseek4_keys.c: tensors, keys, memory, row inputs.  deepseek4_streams.c: the residual streams.
 * deepseek4_attn.c: attention.  deepseek4.c: experts and the plan. */
#ifndef LLAMAD_ARCH_STREAMS_DEEPSEEK4_H
#define LLAMAD_ARCH_STREAMS_DEEPSEEK4_H

#include "arch/common/decoder.h"

/* The supported ratios of compressed keys. */
#define DS4_OVERLAP_RATIO 4u
#define DS4_FULL_RATIO    128u

/* Row inputs for each ratio: the row of the position table, and the position of the block. */
enum { DS4_IN_APE, DS4_IN_BLOCK, DS4_N_IN };

struct lmi_ds4 {
	struct lmi_decoder d;
	uint32_t hc;          /* number of streams */
	uint32_t sinkhorn;    /* number of iterations */
	float hc_eps;
	uint32_t rank_q, rank_o, n_group_o;
	uint32_t idx_head, idx_dk, idx_top;
	uint32_t n_hash;      /* number of leading layers with experts chosen by token id */
	float *clamp, *clamp_sh;      /* [n_layer] clamps of the routed and shared experts' gates */
	uint32_t *ratio;              /* [n_layer] */
	uint32_t group[2], state;     /* groups of the two ratios; STATE group */
	uint32_t *raw, *comp, *index; /* [n_layer] caches of raw, compressed and index keys */
	uint32_t *pool, *pool_idx;    /* [n_layer] caches of open blocks */
};

/* Index of a ratio in `group` and in the row inputs. */
static inline uint32_t lmi_ds4_which(uint32_t ratio)
{
	return ratio == DS4_FULL_RATIO;
}

/* ---- tensors ---- */

enum lmi_ds4_t {
	DS4_O_FN, DS4_O_BASE, DS4_O_SCALE, DS4_A_NORM, DS4_A_SINKS, DS4_Q_A, DS4_Q_A_NORM,
	DS4_Q_B, DS4_KV, DS4_KV_NORM, DS4_O_A, DS4_O_B, DS4_HA_FN, DS4_HA_BASE, DS4_HA_SCALE,
	DS4_HF_FN, DS4_HF_BASE, DS4_HF_SCALE, DS4_C_KV, DS4_C_GATE, DS4_C_APE, DS4_C_NORM,
	DS4_I_PROJ, DS4_I_Q, DS4_IC_KV, DS4_IC_GATE, DS4_IC_APE, DS4_IC_NORM, DS4_HASH, DS4_N
};
extern const struct lmd_tensor_row lmi_ds4_rows[DS4_N];

enum lmd_status lmi_ds4_describe(const struct lmd_host *host, struct lmd_arena *arena,
				 const struct lmd_model *model,
				 const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				 struct lmd_error *err);
int64_t lmi_ds4_dim(const void *state, uint32_t symbol, int32_t layer);
enum lmd_status lmi_ds4_row_inputs(const void *state, const struct lmd_rows_in *in,
				   struct lmd_rows_out *out);

#define LMI_DS4_N_SET 5
extern const struct lmd_tensor_set lmi_ds4_sets[LMI_DS4_N_SET];

/* ---- the residual streams ---- */

/* Coefficients of a block, computed from all streams. */
struct lmi_ds4_mix {
	uint32_t pre, post, comb; /* values; post and comb LMD_NONE at the end of the model */
};

/* xs: the value with all streams.  fn, base, scale: tensor rows of the block or of the model's end.
 * block: false at the end of the model. */
struct lmi_ds4_mix lmi_ds4_coefficients(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t xs,
					uint32_t fn, uint32_t base, uint32_t scale, bool block);
/* The input of a block: the sum of the streams weighted by `pre`. */
uint32_t lmi_ds4_collect(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t xs, uint32_t pre);
/* The streams after a block with the result z. */
uint32_t lmi_ds4_spread(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t xs, uint32_t z,
			const struct lmi_ds4_mix *c);

/* ---- attention ---- */

/* The attention of the current layer; x must be normalised. */
uint32_t lmi_ds4_attention(struct lmi_emit *e, const struct lmi_ds4 *m, struct lmd_opnd x);

#endif /* LLAMAD_ARCH_STREAMS_DEEPSEEK4_H */
