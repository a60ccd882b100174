/* SPDX-License-Identifier: MIT
 *
 * families.h - the known model families: one line for each model_type, whose table is in a fam_*.c
 * file.  To add a family, write a table there and add a line here. */
#ifndef LLAMAD_CORE_FORMAT_FOLDER_FAMILIES_H
#define LLAMAD_CORE_FORMAT_FOLDER_FAMILIES_H

#include "core/format/folder/inner.h"

/* clang-format off */
#define LMI_FAMILIES(X) \
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

#define LMI_FAMILY_EXTERN(name) extern const struct lmi_family lmi_family_##name;
LMI_FAMILIES(LMI_FAMILY_EXTERN)
#undef LMI_FAMILY_EXTERN

/* Rows shared by many families: embeddings and head, attention, a gated feed-forward block. */
#define LMI_ROW_COUNT_HEAD 3
#define LMI_ROW_COUNT_ATTN 4
#define LMI_ROW_COUNT_GLU  3
extern const struct lmi_row lmi_rows_head[LMI_ROW_COUNT_HEAD];
extern const struct lmi_row lmi_rows_attn[LMI_ROW_COUNT_ATTN];     /* RoPE rotates halves */
extern const struct lmi_row lmi_rows_attn_adj[LMI_ROW_COUNT_ATTN]; /* reordered to adjacent pairs */
extern const struct lmi_row lmi_rows_glu[LMI_ROW_COUNT_GLU];

/* Rejects a checkpoint that sets the key to anything but the value `want` that is built into the
 * architecture.  The key may be absent. */
void lmi_conf_only(struct lmi_folder *f, const char *name, double want);
/* As lmi_conf_only, for a boolean. */
void lmi_conf_only_bool(struct lmi_folder *f, const char *name, bool want);
/* Sliding windows: sets attention.sliding_window, and the pattern unless every `period`-th layer is
 * full (0: the architecture has no default pattern). */
void lmi_conf_window(struct lmi_folder *f, uint32_t period);

/* Fills f->layers: layers from n on have experts.  Sets leading_dense_block_count. */
void lmi_conf_lead(struct lmi_folder *f, int64_t n);
/* Fills f->layers: all are mixers except where "layer_types" says attention. */
void lmi_conf_mixers(struct lmi_folder *f);
/* Sets the four multipliers of Granite. */
void lmi_conf_granite(struct lmi_folder *f);
/* Sets a window of n positions that files of the architecture have no key for: in the layers where
 * is[il] is set, or in all if `is` is NULL.  `is` has n_layer elements and comes from
 * lmi_folder_alloc.  n = 0: no window. */
void lmi_conf_own_window(struct lmi_folder *f, int64_t n, const uint8_t *is);
/* The value of "sliding_window" for a model that has the same window in all layers; `absent` if the
 * key is missing, 0 if it is null. */
int64_t lmi_conf_window_size(struct lmi_folder *f, int64_t absent);

#endif /* LLAMAD_CORE_FORMAT_FOLDER_FAMILIES_H */
