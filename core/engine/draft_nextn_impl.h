/* SPDX-License-Identifier: MIT
 *
 * draft_nextn_impl.h - the state of drafters that read hidden rows, shared by draft_nextn_open.c (opening),
 * draft_nextn.c (guessing) and draft_block.c (guessing by blocks). */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_NEXTN_IMPL_H
#define LLAMAD_CORE_ENGINE_DRAFT_NEXTN_IMPL_H

#include "core/engine/draft_nextn.h"

/* Hidden rows that a drafter keeps at most; also sequences that share a step. */
#define LMI_ENGINE_NEXTN_KEEP 32u

struct lmi_engine_nextn {
	struct lmi_inst *target; /* whose tokens are guessed */
	struct lmi_inst *inst;	 /* that computes draft rows: the target, or the draft model */
	uint32_t exec;		 /* the plan that reads hidden rows of the target */
	uint32_t next_exec;	 /* that which reads its own; of blocks */
	uint32_t n_vocab;	 /* tokens that may be guessed, as the draft numbers them */
	lmd_token *map;		 /* [n_vocab] their numbers for the target; NULL: the same */
	uint32_t width, own_width; /* of a hidden row of the target; of the draft */
	uint32_t n_block;	 /* tokens of a block, and what stands for those that are not known; 0: none */
	lmd_token mask;
	uint32_t n_keep;	 /* hidden rows that a drafter keeps at most */
	struct lmi_engine_rows *rows; /* [inst->n_seq] of a step */
	double token_ns;	      /* time of one guessed token; 0: unknown */
	bool failed;		      /* a step failed: it guesses no more */
	struct lmi_engine_draft_count count;
};

struct lmi_engine_nextn_drafter {
	struct lmi_engine_nextn *m;
	bool off;	 /* the sequence has rows without tokens */
	uint32_t cap;
	uint32_t kv_seq; /* of the target, whose rows these are; LMI_KV_NO_PAGE: of none */
	uint32_t own_seq; /* of a draft model; LMI_KV_NO_PAGE: none */
	uint32_t from;	 /* the first row that was computed: row 0 of own_seq */
	uint32_t first, n; /* `hidden` has the rows of n tokens from `first` on; the next row to be
			    * computed is first + 1, with blocks first */
	float *hidden;	 /* [LMI_ENGINE_NEXTN_KEEP][m->width], at most m->n_keep are used */
	float *last;	 /* [m->own_width] of the last guess */
	lmd_token *block; /* [cap + m->n_block] the mask, but for the last token of a step; NULL: no blocks */
};

/* ---- draft_nextn.c ---- */

/* Reserves memory for n more rows of a draft model. Rows of draft layers lie in the pages of the target's rows. */
bool lmi_engine_nextn_reserve(struct lmi_engine_nextn_drafter *d, uint32_t n);
/* Computes the rows of which all is known and which the target has committed. false: all are forgotten. */
bool lmi_engine_nextn_compute_kept(struct lmi_engine_nextn_drafter *d, uint32_t slot, const lmd_token *tokens);
/* Runs a step with m->rows. */
bool lmi_engine_nextn_compute(struct lmi_engine_nextn *m, uint32_t exec, uint32_t slot, uint32_t n_part);

/* ---- draft_block.c ---- */

/* Allocates what a drafter needs for blocks; false: no memory. */
bool lmi_engine_block_create(struct lmi_engine_nextn_drafter *d);
/* As lmi_engine_nextn_guess, without the measured time; returns the number of guesses. */
uint32_t lmi_engine_block_guess(struct lmi_engine_nextn *m, struct lmi_engine_draft_want *v, uint32_t n);

#endif /* LLAMAD_CORE_ENGINE_DRAFT_NEXTN_IMPL_H */
