/* SPDX-License-Identifier: MIT
 *
 * tower.h - vision towers: the encoder that most share (tower.c), and the projectors that lead to
 * language models, a table (tower_projector.c). */
#ifndef LLAMAD_ARCH_ENCODER_TOWER_H
#define LLAMAD_ARCH_ENCODER_TOWER_H

#include "arch/common/blocks.h"

struct arch_tower;

/* A projector, by the value of clip.projector_type. */
struct arch_projector {
	const char *name;
	uint32_t merge;       /* side of a block of patches; 0: from the key projector.scale_factor */
	bool rope;            /* the encoder rotates by line and column; it has no position table */
	const char *required; /* a tensor without which it cannot be built */
	/* From the output of the encoder to a new value: [TOKENS] if merge is 1, otherwise [X0]. */
	uint32_t (*emit)(struct arch_emit *e, const struct arch_tower *m, uint32_t x);
	struct lmd_picture picture; /* what the keys do not say: texts, fit, flags; bounds of FREE in
				    * patches */
};

struct arch_tower {
	struct arch_hparams hp;
	const struct arch_projector *projector;
	uint32_t act;     /* enum lmd_act_fn of the encoder */
	uint32_t n_patch; /* columns of a patch */
	uint32_t n_out;   /* width of the output */
	uint32_t group;   /* BATCH */
	uint32_t x_ratio;
	struct lmd_picture picture;
};

/* NULL: there is no such projector. */
const struct arch_projector *arch_projector_find(struct lmd_str name);
/* Lists the names of all, separated by commas. */
void arch_projector_names(char *out, size_t n);

enum arch_tower_t {
	TW_PATCH, TW_POS, TW_PRE_NORM, TW_POST_NORM, TW_LN1, TW_LN2, TW_Q, TW_K, TW_V, TW_QKV, TW_OUT,
	TW_UP, TW_DOWN, TW_FC, TW_MM_0, TW_MM_2, TW_MM_INPUT, TW_MM_NORM, TW_N
};
extern const struct lmd_tensor_row arch_tower_rows[TW_N];

#endif /* LLAMAD_ARCH_ENCODER_TOWER_H */
