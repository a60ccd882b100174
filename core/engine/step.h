/* SPDX-License-Identifier: MIT
 *
 * step.h - converts the scheduler's parts to a step block and runs it on the device.
 *
 * Everything in a step follows from the parts and the page tables: rows, positions, intervals,
 * slots, page changes, states, row inputs. Nothing is allocated.
 *
 * A step occupies a slot of the instance from lmi_engine_step_submit to lmi_engine_step_finish. On a
 * device with queues, several steps can be submitted; they run one after the other, in order. On
 * other devices there is one slot, and the step has run when lmi_engine_step_submit returns. The
 * instance holds its turn on the device (device_arbiter.h) as long as any step is submitted. */
#ifndef LLAMAD_CORE_ENGINE_STEP_H
#define LLAMAD_CORE_ENGINE_STEP_H

#include "core/engine/instance.h"

struct lmi_engine_tree;

/* The rows of one sequence in a step. */
struct lmi_engine_rows {
	uint32_t kv_seq;	 /* its seq slot in the kv */
	uint32_t first, n;	 /* rows [first, first + n) of the sequence */
	uint32_t n_out;		 /* the last n_out rows are output */
	uint32_t n_mark;	 /* keep the states after so many rows as well: */
	const uint32_t *mark;	 /* [n_mark] */
	bool encode;		 /* rows of the encoder: they go to CROSS groups */
	const lmd_token *tokens; /* of the sequence from its row 0, at least first + n; or NULL: */
	/* the last n_out - 1 rows are guesses with branches, which see the rows of their own branch; NULL:
	 * rows follow each other. Only for plans that can mask rows, in steps no part of which has more than
	 * LMI_ENGINE_TREE_ROWS (draft_tree.h) */
	const struct lmi_engine_tree *tree;
	const struct lmi_engine_seq_picture *pictures; /* [n_picture] in place of tokens below 0 */
	uint32_t n_picture;
	const float *ext;	 /* external rows of the sequence from its row 0 */
	/* of a DRAFT plan: the hidden row of the token before the first row, and those of the rows from the
	 * first on, [n - 1]; and the first row that they see */
	const float *hidden[2];
	uint32_t kv_from;
	const int32_t *pos[4];	 /* position of each row from row 0; NULL: positions are row
				  * numbers, or follow from the pictures */
	int32_t lora_slot;	 /* of the rows from lora_from on, counted from row 0; the others have none */
	uint32_t lora_from;
	/* the device chooses a token from its one output row, with these parameters and the random
	 * numbers of this step of its chain; only for plans with exec.samples. NULL: the host does */
	const struct lmi_sampler_stages *stages;
	uint64_t draw;
	bool best; /* of its one output row only the best candidates are copied (best.h); only for plans
		    * with exec.bests */
};

/* Communication with another thread while the step runs; both members may be NULL. */
struct lmi_engine_step_watch {
	const volatile int32_t *cancel; /* non-zero: stop */
	volatile uint32_t *progress;    /* incremented as the device makes progress */
};

/* Writes the step block of `exec` for these parts and starts the step in a free slot. An error is
 * reported by lmi_engine_step_finish. w may be NULL. The parts are used only during the call. */
void lmi_engine_step_submit(struct lmi_inst *inst, uint32_t slot, uint32_t exec,
			    const struct lmi_engine_rows *parts, uint32_t n_part,
			    const struct lmi_engine_step_watch *w);
/* Waits for the oldest submitted step, whose slot is free afterwards. On success the results are
 * rows of inst->slot[slot].out: the output rows in order, or one row per part for plans that pool.
 * Rows from which the device has chosen tokens are undefined; see lmi_engine_tail_tokens.
 * LMD_CANCELLED: stopped through w->cancel. LMD_IO: the model's file was truncated. Other error
 * messages are the backend's. */
enum lmd_status lmi_engine_step_finish(struct lmi_inst *inst, uint32_t slot,
				       struct lmd_error *err);
/* Submits a step in slot 0 and waits for it. No step may be submitted. */
enum lmd_status lmi_engine_step_run(struct lmi_inst *inst, uint32_t exec,
				    const struct lmi_engine_rows *parts, uint32_t n_part,
				    const struct lmi_engine_step_watch *w, struct lmd_error *err);

/* Runs the step op by op and shows every value. LMD_UNSUPPORTED if the backend cannot do that. */
enum lmd_status lmi_engine_step_observe(struct lmi_inst *inst, uint32_t exec,
					const struct lmi_engine_rows *parts, uint32_t n_part,
					lmd_observe_fn fn, void *arg, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_STEP_H */
