/* SPDX-License-Identifier: MIT
 *
 * checkpoint.h - blocks that maps of Hugging Face checkpoints are made of (llamad/checkpoint.h). */
#ifndef LLAMAD_ARCH_COMMON_CHECKPOINT_H
#define LLAMAD_ARCH_COMMON_CHECKPOINT_H

#include "llamad/checkpoint.h"

/* A block of rows, and the list of an architecture, from an array. */
#define ARCH_CKPT_ROWS(a) (&(const struct lmd_checkpoint_rows){a, (uint32_t)LMD_LEN(a), 0})
#define ARCH_CKPT_MAPS(a) {a, (uint32_t)LMD_LEN(a), 0}

/* Embedding, final norm and head; attention whose RoPE rotates halves, or reordered to adjacent
 * pairs; a gated feed-forward block. */
extern const struct lmd_checkpoint_rows arch_ckpt_head, arch_ckpt_attn, arch_ckpt_attn_adj,
	arch_ckpt_glu;
/* The norms before attention and feed-forward block; these with norms of queries and keys, or with
 * those of Hunyuan; the norms after both blocks, with those of queries and keys. */
extern const struct lmd_checkpoint_rows arch_ckpt_norms, arch_ckpt_qk_norms, arch_ckpt_query_norms,
	arch_ckpt_post_norms;
/* Experts in each layer; a dense block in some and experts, usually with shared ones, in others. */
extern const struct lmd_checkpoint_rows arch_ckpt_experts, arch_ckpt_dense_moe;

/* clang-format off */

/* The tensors of a Mamba or Mamba-2 mixer; `at` is the prefix that the family gives it. */
#define ARCH_CKPT_MAMBA1(at)									   \
	{at "in_proj", "blk.%d.ssm_in", {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}}, \
	{at "conv1d", "blk.%d.ssm_conv1d", {.layers = LMD_CKPT_IN_MIXER}},			   \
	{at "x_proj", "blk.%d.ssm_x", {.layers = LMD_CKPT_IN_MIXER}},				   \
	{at "dt_proj", "blk.%d.ssm_dt", {.layers = LMD_CKPT_IN_MIXER}},				   \
	{at "A_log", "blk.%d.ssm_a",								   \
	 {.layers = LMD_CKPT_IN_MIXER, .values = LMD_CKPT_NEG_EXP,				   \
	  .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},					   \
	{at "D", "blk.%d.ssm_d",								   \
	 {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},	   \
	{at "out_proj", "blk.%d.ssm_out", {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}}
#define ARCH_CKPT_MAMBA2(at)									   \
	{at "in_proj", "blk.%d.ssm_in", {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}}, \
	{at "conv1d", "blk.%d.ssm_conv1d", {.layers = LMD_CKPT_IN_MIXER}},			   \
	{at "dt_bias", "blk.%d.ssm_dt.bias",							   \
	 {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},	   \
	{at "A_log", "blk.%d.ssm_a",								   \
	 {.layers = LMD_CKPT_IN_MIXER, .op = LMD_CKPT_COLUMN, .values = LMD_CKPT_NEG_EXP,	   \
	  .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},					   \
	{at "D", "blk.%d.ssm_d",								   \
	 {.layers = LMD_CKPT_IN_MIXER, .op = LMD_CKPT_COLUMN,					   \
	  .flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},					   \
	{at "norm", "blk.%d.ssm_norm", {.layers = LMD_CKPT_IN_MIXER, .op = LMD_CKPT_GROUPS}},	   \
	{at "out_proj", "blk.%d.ssm_out", {.layers = LMD_CKPT_IN_MIXER, .flags = LMD_CKPT_NO_BIAS}}

/* clang-format on */

/* Reject a checkpoint that sets the key to anything but the value `want` that is built into the
 * architecture.  The key may be absent. */
void arch_ckpt_require_value(struct lmd_checkpoint *c, const char *name, double want);
void arch_ckpt_require_bool(struct lmd_checkpoint *c, const char *name, bool want);

/* Sliding windows: sets attention.sliding_window, and the pattern unless every `period`-th layer is
 * full (0: the architecture has no default pattern). */
void arch_ckpt_put_window(struct lmd_checkpoint *c, uint32_t period);
/* Sets a window of n positions that files of the architecture have no key for: in the layers where
 * is[il] is set, or in all if `is` is NULL.  `is` has n_layer elements and comes from c->alloc.
 * n = 0: no window. */
void arch_ckpt_put_folder_window(struct lmd_checkpoint *c, int64_t n, const uint8_t *is);
/* The value of "sliding_window" for a model that has the same window in all layers; `absent` if the
 * key is missing, 0 if it is null. */
int64_t arch_ckpt_window_size(struct lmd_checkpoint *c, int64_t absent);
/* Sets the windows of a Qwen model, if it uses them: the layers come from layer_types, or else from
 * the rule `has`, whose n_max is max_window_layers.  The second function's rule is the layers from
 * n_max on. */
void arch_ckpt_put_windows(struct lmd_checkpoint *c, bool (*has)(int64_t il, int64_t n_max));
void arch_ckpt_put_upper_windows(struct lmd_checkpoint *c);
/* Checks that the layers without RoPE that "no_rope_layers" lists, if it exists, are every
 * `period`-th one. */
void arch_ckpt_check_nope(struct lmd_checkpoint *c, uint32_t period);

/* Fill c->layers.  Layers from n on have experts, and leading_dense_block_count is set; likewise,
 * with n from first_k_dense_replace; all layers are mixers except where "layer_types" says
 * attention. */
void arch_ckpt_dense_first_layers(struct lmd_checkpoint *c, int64_t n);
void arch_ckpt_dense_layers(struct lmd_checkpoint *c);
void arch_ckpt_mixer_layers(struct lmd_checkpoint *c);
/* Checks that every layer has experts. */
void arch_ckpt_all_experts(struct lmd_checkpoint *c);

enum arch_ckpt_gate { ARCH_CKPT_SOFTMAX = 1, ARCH_CKPT_SIGMOID = 2 }; /* expert_gating_func */
/* Sets how experts are chosen; `def` is used if the file does not say. */
void arch_ckpt_put_routing(struct lmd_checkpoint *c, enum arch_ckpt_gate def);
void arch_ckpt_put_shared_count(struct lmd_checkpoint *c, const char *names);

/* Mamba: sets kernel, inner size, state size and rank; sets the number of groups, also in c; the
 * rank of the time step, which defaults to a sixteenth of the width. */
void arch_ckpt_put_ssm(struct lmd_checkpoint *c, const char *kernel, int64_t inner,
		       const char *state, int64_t rank);
void arch_ckpt_put_groups(struct lmd_checkpoint *c, const char *name);
int64_t arch_ckpt_rank(struct lmd_checkpoint *c, const char *name);

/* Sets the four multipliers of Granite. */
void arch_ckpt_put_granite(struct lmd_checkpoint *c);

#endif /* LLAMAD_ARCH_COMMON_CHECKPOINT_H */
