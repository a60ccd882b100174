/* SPDX-License-Identifier: MIT
 *
 * step.h - the step block: everything that changes between two runs of a plan.
 *
 * The host writes it, the backend reads it.  It is one block of memory: struct lmd_step_header with
 * the counts, followed by arrays.  Where each array lies depends only on the plan's limits, never on
 * the step; struct lmd_step_layout has the offsets, and a backend gets it when it compiles the plan.
 * So a device takes a step with one copy of `bytes` bytes, and a captured graph never changes.  The
 * pointers of struct lmd_step refer to the same arrays in host memory.
 *
 * The block must not change from plan_run until the step is complete (backend.h).
 *
 * Padding.  In a plan with a bucket (lmd_plan_key.bucket), the rows from the number of live rows up
 * to the limit are padding: token 0, positions 0, seq_of 0, tree 0, lora_slot 0, row inputs 0, slot
 * -1, kv_lo = kv_hi = 0, state_out -1, out_row 0; sequences after the last have q_start = n_tok,
 * q_len 0, seq_slot 0 and state_in -1.  So a backend may compute all rows of a bucket: padding reads
 * and writes no memory of a sequence, and its results are not used.  In a plan without a bucket the
 * contents after the live rows are undefined.
 *
 * Masks are intervals: the host expresses causal, window, chunk, prefix and bidirectional masks as
 * values of kv_lo and kv_hi. */
#ifndef LLAMAD_STEP_H
#define LLAMAD_STEP_H

#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

struct lmd_buffer; /* backend.h */

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

/* Some row has an adapter.  Otherwise step.lora_slot is 0 for all rows and need not be read. */
#define LMD_STEP_LORA 1u

/* The block begins with this header.  Kernels read the counts from it. */
struct lmd_step_header {
	uint32_t n_tok, n_seq, n_out;     /* live rows */
	uint32_t flags;                   /* LMD_STEP_* */
	uint32_t n_change[LMD_MAX_GROUP]; /* entries of step.group[g].change */
	uint32_t reserved[20];
};
LMD_STATIC_ASSERT(sizeof(struct lmd_step_header) == 128, "kernels read the header at fixed offsets");

/* Offsets of the arrays from the start of the block, in bytes: multiples of 64, 0 = the plan has no
 * such array.  The names, types and lengths are those of struct lmd_step. */
struct lmd_step_group_layout {
	uint64_t kv_lo, kv_hi, slot, change, state_in, state_out;
	uint64_t reserved[2];
};
struct lmd_step_layout {
	uint32_t struct_size;
	uint32_t n_group;
	uint64_t bytes;           /* of the block: multiple of 64 */
	uint32_t max_tok, max_seq, max_out; /* the plan's limits: lengths T, S and O of the arrays */
	uint32_t max_change;      /* length of each array of changes; more changes than fit are made
				   * by LMD_POOL_SET_TABLE before the step (backend.h) */
	uint64_t token, pos[4], seq_of, q_start, q_len, seq_slot, out_row, tree, lora_slot;
	uint64_t row_in[LMD_MAX_ROW_IN];
	struct lmd_step_group_layout group[LMD_MAX_GROUP];
	uint64_t x_off[LMD_MAX_X], x_h[LMD_MAX_X], x_w[LMD_MAX_X];
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
	const struct lmd_page_set *change; /* [header.n_change[g]] */
	/* STATE: slot to read for each sequence (-1 = zeros), slot in which to store the state
	 * after a row (-1 = none).  Within a step, no slot is read by one sequence and written by
	 * another. */
	const int32_t *state_in;          /* [S] */
	const int32_t *state_out;         /* [T] */
	const void *reserved[2];
};

struct lmd_step {
	uint32_t struct_size;
	uint32_t n_group;
	/* The block: `head` is its first byte.  It lies in ordinary host memory, or in a buffer of
	 * the device that is PINNED and mapped, at offset `offset` of `buffer`. */
	const struct lmd_step_header *head;
	uint64_t bytes;
	struct lmd_buffer *buffer;        /* NULL = ordinary memory */
	uint64_t offset;

	const int32_t *token;             /* [T] */
	const int32_t *pos[4];            /* [T] each; in plain text all four are equal */
	const int32_t *seq_of;            /* [T] index into the sequences of this step, ascending */
	const int32_t *q_start;           /* [S] first row of a sequence */
	const int32_t *q_len;             /* [S] number of its rows, >= 1; they are consecutive and
					   * ordered by position */
	const int32_t *seq_slot;          /* [S] stable slot of the sequence: row of page tables */
	const int32_t *out_row;           /* [O] rows that are output, ascending */
	const uint64_t *tree;             /* [T] bit i: sees row i of its own sequence in this step;
					   * NULL unless the plan has LMD_PLAN_TREE */
	const int32_t *lora_slot;         /* [T] adapter slot, 0 = none; NULL unless the plan has
					   * LMD_PLAN_LORA */
	const void *row_in[LMD_MAX_ROW_IN]; /* [T][width] i32 or f32 as declared; NULL if undeclared */

	struct lmd_step_group group[LMD_MAX_GROUP];

	/* In plans with X spaces, rows x_off[k][s] .. x_off[k][s+1] of space X(k) belong to sequence s; in
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
