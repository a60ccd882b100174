/* SPDX-License-Identifier: MIT
 *
 * families.h - the known model families: one line for each model_type, whose table is in a fam_*.c
 * file.  To add a family, write a table there and add a line here. */
#ifndef LLAMAD_CORE_CHECKPOINT_HF_FAMILIES_H
#define LLAMAD_CORE_CHECKPOINT_HF_FAMILIES_H

#include "core/checkpoint/hf/checkpoint_impl.h"

/* clang-format off */
#define LMI_CHECKPOINT_FAMILIES(X) \
	X(apertus) X(arcee) X(bert) X(bloom) X(cohere) X(cohere2) X(deepseek_v2) X(deepseek_v3) \
	X(dots1) X(ernie4_5) X(ernie4_5_moe) X(exaone4) X(falcon) X(falcon_mamba) X(gemma) X(gemma2) \
	X(gemma3) X(gemma3_text) X(glm4) X(glm4_moe) X(gpt2) X(gpt_bigcode) X(gpt_neox) X(gpt_oss) \
	X(granite) X(granitemoe) X(granitemoehybrid) X(granitemoeshared) X(hunyuan_v1_dense) \
	X(hunyuan_v1_moe) X(jamba) X(lfm2) X(lfm2_moe) X(llama) X(llama4) X(llama4_text) X(mamba) \
	X(mamba2) X(minimax_m2) X(mistral) X(mixtral) X(mpt) X(nemotron) X(olmo) X(olmo2) X(olmo3) \
	X(olmoe) X(phi) X(phi3) X(qwen2) X(qwen2_5_vl) X(qwen2_moe) X(qwen2_vl) X(qwen3) \
	X(qwen3_moe) X(qwen3_next) X(roberta) X(seed_oss) X(smollm3) X(stablelm) X(starcoder2) \
	X(xlm_roberta)
/* clang-format on */

#define LMI_CHECKPOINT_FAMILY_EXTERN(name)                                                         \
	extern const struct lmi_checkpoint_family lmi_checkpoint_family_##name;
LMI_CHECKPOINT_FAMILIES(LMI_CHECKPOINT_FAMILY_EXTERN)
#undef LMI_CHECKPOINT_FAMILY_EXTERN

/* Rows shared by many families: embeddings and head, attention, a gated feed-forward block. */
#define LMI_CHECKPOINT_ROW_COUNT_HEAD 3
#define LMI_CHECKPOINT_ROW_COUNT_ATTN 4
#define LMI_CHECKPOINT_ROW_COUNT_GLU  3
extern const struct lmi_checkpoint_row
	lmi_checkpoint_rows_head[LMI_CHECKPOINT_ROW_COUNT_HEAD];
extern const struct lmi_checkpoint_row
	lmi_checkpoint_rows_attn[LMI_CHECKPOINT_ROW_COUNT_ATTN]; /* RoPE rotates halves */
extern const struct lmi_checkpoint_row lmi_checkpoint_rows_attn_adj
	[LMI_CHECKPOINT_ROW_COUNT_ATTN]; /* reordered to adjacent pairs */
extern const struct lmi_checkpoint_row
	lmi_checkpoint_rows_glu[LMI_CHECKPOINT_ROW_COUNT_GLU];

/* Rejects a checkpoint that sets the key to anything but the value `want` that is built into the
 * architecture.  The key may be absent. */
void lmi_checkpoint_config_require_value(struct lmi_checkpoint *f, const char *name, double want);
/* As lmi_checkpoint_config_require_value, for a boolean. */
void lmi_checkpoint_config_require_bool(struct lmi_checkpoint *f, const char *name, bool want);
/* Sliding windows: sets attention.sliding_window, and the pattern unless every `period`-th layer is
 * full (0: the architecture has no default pattern). */
void lmi_checkpoint_fam_put_window(struct lmi_checkpoint *f, uint32_t period);

/* Fills f->layers: layers from n on have experts.  Sets leading_dense_block_count. */
void lmi_checkpoint_fam_dense_first_layers(struct lmi_checkpoint *f, int64_t n);
/* Fills f->layers: all are mixers except where "layer_types" says attention. */
void lmi_checkpoint_fam_mixer_layers(struct lmi_checkpoint *f);
/* Sets the four multipliers of Granite. */
void lmi_checkpoint_fam_granite_multipliers(struct lmi_checkpoint *f);
/* Sets a window of n positions that files of the architecture have no key for: in the layers where
 * is[il] is set, or in all if `is` is NULL.  `is` has n_layer elements and comes from
 * lmi_checkpoint_alloc.  n = 0: no window. */
void lmi_checkpoint_fam_put_folder_window(struct lmi_checkpoint *f, int64_t n, const uint8_t *is);
/* The value of "sliding_window" for a model that has the same window in all layers; `absent` if the
 * key is missing, 0 if it is null. */
int64_t lmi_checkpoint_fam_window_size(struct lmi_checkpoint *f, int64_t absent);

#endif /* LLAMAD_CORE_CHECKPOINT_HF_FAMILIES_H */
