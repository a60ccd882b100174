/* SPDX-License-Identifier: MIT
 *
 * deepseek4.h - shared by the files of DeepSeek-V4.
 *
 * deepseek4_keys.c: tensors, keys, memory, row inputs.  deepseek4_streams.c: the residual streams.
 * deepseek4_attn.c: attention.  deepseek4.c: experts and the plan.  deepseek4_draft.c: the draft layer. */
#ifndef LLAMAD_ARCH_STREAMS_DEEPSEEK4_H
#define LLAMAD_ARCH_STREAMS_DEEPSEEK4_H

#include "arch/common/decoder.h"

/* The supported ratios of compressed keys. */
#define DS4_OVERLAP_RATIO 4u
#define DS4_FULL_RATIO    128u

/* Row inputs for each ratio: the row of the position table, and the position of the block. */
enum { DS4_IN_APE, DS4_IN_BLOCK, DS4_N_IN };

struct arch_ds4 {
	struct arch_decoder d;
	uint32_t hc;          /* number of streams */
	uint32_t sinkhorn;    /* number of iterations */
	float hc_eps;
	uint32_t rank_q, rank_o, n_group_o;
	uint32_t idx_head, idx_dk, idx_top;
	uint32_t n_hash;      /* number of leading layers with experts chosen by token id */
	/* For each layer of the trunk and each draft layer: */
	float *clamp, *clamp_sh; /* clamps of the routed and shared experts' gates */
	uint32_t *ratio;
	uint32_t *raw, *comp, *index; /* caches of raw, compressed and index keys */
	uint32_t *pool, *pool_idx;    /* caches of open blocks */
	uint32_t group[2], state;     /* groups of the two ratios; STATE group */
};

/* Index of a ratio in `group` and in the row inputs. */
static inline uint32_t arch_ds4_ratio_index(uint32_t ratio)
{
	return ratio == DS4_FULL_RATIO;
}

/* ---- tensors ---- */

enum arch_ds4_t {
	DS4_O_FN,
	DS4_O_BASE,
	DS4_O_SCALE,
	DS4_A_NORM,
	DS4_A_SINKS,
	DS4_Q_A,
	DS4_Q_A_NORM,
	DS4_Q_B,
	DS4_KV,
	DS4_KV_NORM,
	DS4_O_A,
	DS4_O_B,
	DS4_HA_FN,
	DS4_HA_BASE,
	DS4_HA_SCALE,
	DS4_HF_FN,
	DS4_HF_BASE,
	DS4_HF_SCALE,
	DS4_C_KV,
	DS4_C_GATE,
	DS4_C_APE,
	DS4_C_NORM,
	DS4_I_PROJ,
	DS4_I_Q,
	DS4_IC_KV,
	DS4_IC_GATE,
	DS4_IC_APE,
	DS4_IC_NORM,
	DS4_HASH,
	DS4_N
};
extern const struct lmd_tensor_row arch_ds4_rows[DS4_N];

enum lmd_status arch_ds4_describe(const struct lmd_host *host, struct lmd_arena *arena,
				  const struct lmd_model *model,
				  const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				  struct lmd_error *err);
int64_t arch_ds4_dim(const void *state, uint32_t symbol, int32_t layer);
enum lmd_status arch_ds4_row_inputs(const void *state, const struct lmd_rows_in *in,
				    struct lmd_rows_out *out);

#define ARCH_DS4_N_SET 5
extern const struct lmd_tensor_set arch_ds4_sets[ARCH_DS4_N_SET];

/* ---- the residual streams ---- */

/* Coefficients of a block, computed from all streams. */
struct arch_ds4_mix {
	uint32_t pre, post, comb; /* values; post and comb LMD_NONE at the end of the model */
};

/* xs: the value with all streams.  fn, base, scale: tensor rows of the block or of the model's end.
 * block: false at the end of the model. */
struct arch_ds4_mix arch_ds4_coefficients(struct arch_emit *e, const struct arch_ds4 *m,
					  uint32_t xs, uint32_t fn, uint32_t base, uint32_t scale,
					  bool block);
/* The input of a block: the sum of the streams weighted by `pre`. */
uint32_t arch_ds4_block_input(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs,
			      uint32_t pre);
/* The streams after a block with the result z. */
uint32_t arch_ds4_update_streams(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs,
				 uint32_t z, const struct arch_ds4_mix *c);

/* ---- attention ---- */

/* The attention of the current layer; x must be normalised. */
uint32_t arch_ds4_attention(struct arch_emit *e, const struct arch_ds4 *m, struct lmd_operand x);

/* ---- the plan ---- */

/* The streams after the current layer. */
uint32_t arch_ds4_layer(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs);
/* The row that the last norm reads.  The hidden row that goes with it has all streams. */
uint32_t arch_ds4_last(struct arch_emit *e, const struct arch_ds4 *m, uint32_t xs);
/* The plan of a draft layer. */
void arch_ds4_draft(struct arch_emit *e, const struct arch_ds4 *m, const struct lmd_plan_key *key);

#endif /* LLAMAD_ARCH_STREAMS_DEEPSEEK4_H */
