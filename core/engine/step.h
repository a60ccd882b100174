/* SPDX-License-Identifier: MIT
 *
 * step.h - from the scheduler's parts to a step block, and through the device.
 *
 * Everything a step says follows from the parts and the page tables: rows, positions,
 * intervals, slots, page changes, states, row inputs.  Nothing is allocated. */
#ifndef LLAMAD_CORE_ENGINE_STEP_H
#define LLAMAD_CORE_ENGINE_STEP_H

#include "core/engine/instance.h"

/* The rows of one sequence in a step. */
struct lmi_rows {
	uint32_t kv_seq;	 /* its seq slot */
	uint32_t first, n;	 /* rows [first, first + n) of the sequence */
	uint32_t n_out;		 /* the last n_out of these leave */
	uint32_t mark;		 /* state is also kept after this many; 0 = no */
	bool encode;		 /* rows of the encoder: they go to CROSS groups */
	const lmd_token *tokens; /* of the sequence from its row 0, at least first + n; or NULL: */
	const float *ext;	 /* external rows of the sequence from its row 0 */
	const int32_t *pos[4];	 /* position of each row from row 0; NULL: the row's number */
	int32_t lora_slot;
};

/* What a step and another thread tell each other while the step runs; both may be NULL. */
struct lmi_step_watch {
	const volatile int32_t *cancel; /* non-zero: stop */
	volatile uint32_t *progress;    /* counted up while the device goes on */
};

/* Writes the step block of `exec` for these parts and runs it.  w NULL: nobody watches.  On LMD_OK
 * the results are rows of inst->out: the leaving rows in order, or one row per part for plans that
 * pool.  LMD_CANCELLED: w->cancel stopped it.  LMD_IO: the model's file was cut short.  The
 * sentence is the backend's. */
enum lmd_status lmi_step_run(struct lmi_inst *inst, uint32_t exec, const struct lmi_rows *parts,
			     uint32_t n_part, const struct lmi_step_watch *w,
			     struct lmd_error *err);

/* The same op by op: shows every value.  LMD_UNSUPPORTED when the backend cannot. */
enum lmd_status lmi_step_observe(struct lmi_inst *inst, uint32_t exec, const struct lmi_rows *parts,
				 uint32_t n_part, lmd_observe_fn fn, void *arg,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_STEP_H */
