/* SPDX-License-Identifier: MIT
 *
 * draft.h - what draft models share that compute their rows from the hidden rows of a target model. */
#ifndef LLAMAD_ARCH_COMMON_DRAFT_H
#define LLAMAD_ARCH_COMMON_DRAFT_H

#include "arch/common/blocks.h"
#include "arch/common/checkpoint.h"

/* State of a draft model; those of architectures begin with it. */
struct arch_draft {
	struct arch_hparams hp;
	struct lmd_draft desc;
};

/* Reads target_layers (or `old`, its former name; NULL: it has none), target_hidden_size and the shape of the
 * tensor d2t. */
void arch_draft_read(struct arch_draft *d, struct arch_keys *k, const char *old);

/* Is it the key of a plan that draft models have?  Otherwise the build fails. */
bool arch_draft_key_ok(struct arch_emit *e, const struct lmd_plan_key *key);
/* The rows of the file or, if it has none, the matrix `name` of the target model; fails if that has another
 * width. */
struct arch_weight arch_draft_weight(struct arch_emit *e, const struct lmd_tensor_row *row,
				     const char *name);
/* Emit the embedding of the tokens and the logits of a stream: with the file's own matrices or the target's. */
uint32_t arch_draft_embed(struct arch_emit *e);
void arch_draft_head(struct arch_emit *e, uint32_t x);
/* Declares input 0 of that width and returns all of its columns. */
struct lmd_operand arch_draft_input(struct arch_emit *e, uint32_t width);
/* The streams of the target, joined by the tensor fc. */
uint32_t arch_draft_fuse(struct arch_emit *e, const struct arch_draft *d, enum lmd_vtype vtype);
/* The width of a hidden row of the target. */
uint32_t arch_draft_hidden(const struct arch_draft *d);

/* Puts target_layers from a list in the configuration of a checkpoint. is_after: the list names layers after which
 * streams are read, not before. Puts nothing if the list is empty; one of more than LMD_MAX_TAP layers is an
 * error. */
void arch_draft_put_layers(struct lmd_checkpoint *c, const char *list, bool is_after);

#define ARCH_DRAFT_FC                                                                              \
	{"fc", {0}, LMD_TENSOR_GLOBAL | LMD_TENSOR_REQUIRED | LMD_TENSOR_ANY_SHAPE,                \
	 LMD_SPLIT_REPLICATE, 0, NULL}
/* the engine reads it */
#define ARCH_DRAFT_D2T                                                                             \
	{"d2t", {0}, LMD_TENSOR_GLOBAL | LMD_TENSOR_BARE | LMD_TENSOR_ANY_SHAPE,                   \
	 LMD_SPLIT_REPLICATE, 0, NULL}
#define ARCH_DRAFT_OUTPUT                                                                          \
	{"output", {0}, LMD_TENSOR_GLOBAL | LMD_TENSOR_ANY_SHAPE, LMD_SPLIT_REPLICATE, 0, NULL}

#endif /* LLAMAD_ARCH_COMMON_DRAFT_H */
