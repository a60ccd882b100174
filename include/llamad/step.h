/* SPDX-License-Identifier: MIT
 *
 * step.h - the step block: everything that changes between two runs of a plan.
 *
 * The host writes it, the backend reads it.  All arrays lie in one block of memory of `bytes` bytes
 * at `base`.  Their offsets depend only on the plan's limits (n_tok_max, n_seq_max, n_out_max,
 * groups), never on the step, so a device uploads the block with one copy and a captured graph
 * never changes.  The pointers below refer to the same arrays in host memory.  The block is valid
 * until plan_run reports completion.
 *
 * Masks are intervals: the host expresses causal, window, chunk, prefix and bidirectional masks as
 * values of kv_lo and kv_hi. */
#ifndef LLAMAD_STEP_H
#define LLAMAD_STEP_H

#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

#define LMD_MAX_GROUP  8
#define LMD_MAX_ROW_IN 8
#define LMD_MAX_X      6

/* step.token: an id >= 0; or -1-r = row r of external input 0 (r < 2^30); or
 * LMD_TOKEN_CHAINED + s = the token last sampled on the device for sequence slot s. */
#define LMD_TOKEN_CHAINED INT32_MIN

/* A page table update: logical page `index` of sequence slot `seq_slot` becomes page `page`. */
struct lmd_page_set {
	uint32_t seq_slot, index, page;
};

/* The part of the step that belongs to one group. */
struct lmd_step_group {
	/* PAGED, CROSS, BATCH: the row sees keys [kv_lo, kv_hi) of its sequence, in rows of that
	 * group (tokens / ratio); kv_lo >= kv_hi: no keys. */
	const int32_t *kv_lo;             /* [T], rows of the group's q_space */
	const int32_t *kv_hi;             /* [T] */
	/* PAGED, CROSS: physical row (page * page_tokens + offset) where this row's K and V are
	 * stored, or -1 = nowhere.  With ratio r it is -1 except at block ends.  ENCODE plans write
	 * the CROSS groups and FORWARD plans read them: CROSS slots are -1 in FORWARD plans, PAGED
	 * slots are -1 in ENCODE plans. */
	const int32_t *slot;              /* [T], rows of the plan's token space */
	/* PAGED, CROSS: applied before anything else in the step; the table itself persists. */
	const struct lmd_page_set *change;
	uint32_t n_change;
	/* STATE: slot to read for each sequence (-1 = zeros), slot in which to store the state
	 * after a row (-1 = none).  Within a step, no slot is read by one sequence and written by
	 * another. */
	const int32_t *state_in;          /* [S] */
	const int32_t *state_out;         /* [T] */
};

struct lmd_step {
	uint32_t struct_size;
	uint32_t n_tok, n_seq, n_out;     /* live rows */
	const void *base;
	uint64_t bytes;

	const int32_t *token;             /* [T] */
	const int32_t *pos[4];            /* [T] each; in plain text all four are equal */
	const int32_t *seq_of;            /* [T] index into the sequences of this step, ascending */
	const int32_t *q_start;           /* [S] first row of a sequence */
	const int32_t *q_len;             /* [S] number of its rows, >= 1; they are consecutive and
					   * ordered by position */
	const int32_t *seq_slot;          /* [S] stable slot of the sequence: row of page tables */
	const int32_t *out_row;           /* [O] rows that are output, ascending */
	const uint64_t *tree;             /* [T] bit i: sees row i of its own sequence in this step;
					   * NULL = no tree */
	const int32_t *lora_slot;         /* [T] adapter slot, 0 = none; NULL = no adapters */
	const void *row_in[LMD_MAX_ROW_IN]; /* [T][width] i32 or f32 as declared; NULL if undeclared */

	uint32_t n_group;
	uint32_t reserved;
	struct lmd_step_group group[LMD_MAX_GROUP];

	/* ENCODE plans: rows x_off[k][s] .. x_off[k][s+1] of space X(k) belong to sequence s; in
	 * maps there are x_h x x_w of them, row-major. */
	const int32_t *x_off[LMD_MAX_X];  /* [S+1]; NULL if the plan has no such space */
	const int32_t *x_h[LMD_MAX_X], *x_w[LMD_MAX_X]; /* [S] */

	/* Polled at phase boundaries; stop if non-zero.  Rows of an aborted step count as never
	 * written.  The host may write it at any time (atomically); NULL = never cancelled. */
	const volatile int32_t *cancel;
	/* The backend adds 1 (atomic) where it polls cancel, or as often as it can tell that the
	 * device goes on: so the host knows a slow step from a device that hangs.  NULL = nobody
	 * looks.  A backend that never adds has progress at the end of each step alone. */
	volatile uint32_t *progress;
};

LMD_END_DECLS

#endif /* LLAMAD_STEP_H */
