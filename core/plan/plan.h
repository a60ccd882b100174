/* SPDX-License-Identifier: MIT
 *
 * plan.h - from an architecture to a plan that a backend can compile.
 *
 * build: calls the architecture with a builder and checks every op (shapes, types, single
 * assignment, order).  lower: uses a table to replace ops that a device does not support by simpler
 * ones.  layout: lets values whose lifetimes do not overlap share memory.  dump: text form. */
#ifndef LLAMAD_CORE_PLAN_PLAN_H
#define LLAMAD_CORE_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "llamad/arch.h"
#include "llamad/plan.h"
#include "llamad/status.h"

/* Owns a struct lmd_plan and everything it points to. */
struct lmi_plan;

#define LMI_PLAN_MAX_RANK 8

struct lmi_plan_params {
	const struct lmd_host *host;
	const struct lmd_model *model;
	const struct lmd_model *target; /* for a draft: the group's target; otherwise NULL */
	const struct lmd_arch_ops *arch;
	const struct lmd_arch_desc *desc;
	struct lmd_plan_key key;
	uint32_t act_dtype;             /* enum lmd_dtype */
	uint32_t k_dtype, v_dtype;      /* of keys and values, for caches whose policy is USER */
	/* 0 or 1: a plan of its own.  2 .. LMI_PLAN_MAX_RANK: a tensor-parallel plan, all ranks of it
	 * in one list of ops, each with its rank (ranks.c).  desc then has the caches of all ranks:
	 * those of rank 0, of rank 1, ... */
	uint32_t n_rank;
	/* 0 or 1: the ranks exchange values by copies and sums.  Otherwise by collectives of a group of so many
	 * devices, each of which runs the same power of two of ranks, in order: all ops of its ranks follow
	 * one another, and key.n_rank of the plan is n_device. */
	uint32_t n_device;
	uint32_t max_rows[LMD_N_SPACE]; /* maximum rows of a step */
};

/* Checks what describe() declared: groups, caches and row inputs.  lmi_plan_build does this too; a
 * loader that sizes memory from them calls it first. */
enum lmd_status lmi_plan_desc_check(const struct lmd_arch_desc *d, struct lmd_error *err);

/* Builds and checks a plan.  The error message names the op, its layer, the operand and both
 * numbers. */
enum lmd_status lmi_plan_build(struct lmi_plan **out, const struct lmi_plan_params *p,
			       struct lmd_error *err);

/* Asks whether one op can be run; returns false with a reason (may be "") if not. */
typedef bool (*lmi_plan_support_fn)(void *arg, const struct lmd_plan *plan, const struct lmd_op *op,
				    char *reason, size_t n);

/* Replaces ops that `support` rejects by their decomposition, repeatedly and in place.  Returns
 * LMD_UNSUPPORTED with name and reason for an op that is rejected and has no decomposition. */
enum lmd_status lmi_plan_lower(struct lmi_plan *p, lmi_plan_support_fn support, void *arg,
			       struct lmd_error *err);

/* Like lmi_plan_lower for a device beside another one that runs what this one lacks: an op that is
 * rejected and that `keep` accepts is decomposed only if the device then supports a part of it that
 * has weights, and otherwise stays as it is. */
typedef bool (*lmi_plan_keep_fn)(void *arg, const struct lmd_plan *plan, const struct lmd_op *op);
enum lmd_status lmi_plan_lower_or_keep(struct lmi_plan *p, lmi_plan_support_fn support,
				       lmi_plan_keep_fn keep, void *arg, struct lmd_error *err);

/* Decomposes every op that has a decomposition (tests: fused = decomposed). */
enum lmd_status lmi_plan_lower_all(struct lmi_plan *p, struct lmd_error *err);

/* Assigns offsets and scratch_bytes; must be called last.  Values with LMD_VALUE_KEEP, taps,
 * outputs, and with LMD_PLAN_KEEP in key.flags all values, do not share memory. */
enum lmd_status lmi_plan_layout(struct lmi_plan *p, struct lmd_error *err);

/* ---- devices ---- */

#define LMI_PLAN_ANYWHERE 0xff /* not placed yet */

/* Where the ops of a plan are meant to run.  The functions get `arg`. */
struct lmi_plan_placement {
	uint32_t n_device;	     /* < LMI_PLAN_ANYWHERE */
	uint32_t fallback;	     /* device for ops that theirs lacks; n_device = none */
	uint32_t n_layer;
	const uint8_t *layer_device; /* [n_layer]; later layers are where the last one is */
	const uint8_t *rank_device;  /* of each rank of a tensor-parallel plan, instead of all this;
				      * or NULL */
	uint8_t before, after;	     /* devices of ops without a layer, before and after the first
				      * layer */
	uint8_t *cache_device;	     /* [n_cache] or LMI_PLAN_ANYWHERE, which is replaced */
	uint8_t *input_device;	     /* likewise, of the ops that read external inputs */
	bool (*support)(void *arg, uint32_t device, const struct lmd_plan *plan,
			const struct lmd_op *op, char *reason, size_t n);
	/* Returns true if the op has a device of its own; may be NULL. */
	bool (*override)(void *arg, const struct lmd_plan *plan, const struct lmd_op *op,
			 uint32_t *device);
	/* Called for each op that runs elsewhere than it was meant to; may be NULL. */
	void (*moved)(void *arg, const struct lmd_op *op, uint32_t from, uint32_t to,
		      const char *reason);
	void *arg;
};
/* Lowers a plan for these devices and chooses the device of each op; *device_of: [n_op], freed by the
 * caller.  LMD_UNSUPPORTED: an op cannot run anywhere, or not where its cache is. */
enum lmd_status lmi_plan_place(struct lmi_plan *p, const struct lmi_plan_placement *in,
			       uint8_t **device_of, struct lmd_error *err);

/* Splits a plan into segments by device: device_of[i] is the device of op i.  Consecutive ops on
 * one device form a segment.  Its plan has the groups, caches, row inputs and inputs of the whole
 * plan under the same numbers, the values and weights that it needs, the outputs that it finishes,
 * and a layout.  A value that is written in one segment and used in a later one is a TAP output of
 * the former and an additional input of the latter, which copies it into a value of its own; links
 * tell which belong together.  act_dtype: enum lmd_dtype that LMD_VTYPE_ACT is on each device; NULL:
 * that of the plan.  If key.n_rank of the plan is greater than 1, key.rank of a segment is its device.
 * p is not changed. */
struct lmi_plan_segments;
struct lmi_plan_segment_link {
	uint32_t input;        /* input number in this segment's plan */
	uint32_t from_segment; /* an earlier segment */
	uint32_t out_id;       /* enum lmd_output_id in that segment */
};
enum lmd_status lmi_plan_split_by_device(struct lmi_plan_segments **out, const struct lmi_plan *p,
					 const uint8_t *device_of, const uint32_t *act_dtype,
					 struct lmd_error *err);
uint32_t lmi_plan_segments_count(const struct lmi_plan_segments *c);
const struct lmi_plan *lmi_plan_segments_plan(const struct lmi_plan_segments *c, uint32_t i,
					      uint32_t *device);
/* Returns the number of links of segment i. */
uint32_t lmi_plan_segments_links(const struct lmi_plan_segments *c, uint32_t i,
				 const struct lmi_plan_segment_link **out);
/* Replaces the numbers of an op of segment i and of a value of it by those that they have in the whole
 * plan; false: the op is not in it, but copies a value of another segment. */
bool lmi_plan_segments_whole(const struct lmi_plan_segments *c, uint32_t i, uint32_t *op,
			     uint32_t *value);
void lmi_plan_segments_destroy(struct lmi_plan_segments *c);

const struct lmd_plan *lmi_plan_view(const struct lmi_plan *p);
void lmi_plan_destroy(struct lmi_plan *p);

/* Writes the text form, which is stable: the golden files of the architectures use it. */
enum lmd_status lmi_plan_dump(const struct lmi_plan *p, FILE *f);

/* The step block of a plan (llamad/step.h).  The host writes through these pointers, which are not
 * const, then passes `view`.  An array that the plan does not have is NULL. */
struct lmi_plan_step {
	struct lmd_step view;
	struct lmd_step_header *head;
	int32_t *token, *pos[4], *seq_of, *q_start, *q_len, *seq_slot, *out_row, *lora_slot;
	uint64_t *tree;
	void *row_in[LMD_MAX_ROW_IN];
	struct {
		int32_t *kv_lo, *kv_hi, *slot, *state_in, *state_out;
		struct lmd_page_set *change;
		uint32_t max_change;
	} group[LMD_MAX_GROUP];
	int32_t *x_off[LMD_MAX_X], *x_h[LMD_MAX_X], *x_w[LMD_MAX_X];
	char *block;
	void *own; /* the block if this allocated it, else NULL */
	struct lmd_step_layout layout;
	const struct lmd_plan *plan;
};
/* Computes the offsets of a plan's step blocks with room for max_change changes of each page table.
 * LMD_INVALID if the size overflows. */
enum lmd_status lmi_plan_step_layout(struct lmd_step_layout *out, const struct lmd_plan *plan,
				     uint32_t max_change, struct lmd_error *err);
/* Creates a zeroed block in the memory at `block`, which has layout->bytes bytes and outlives it;
 * NULL: allocates the memory.  The plan must outlive it. */
enum lmd_status lmi_plan_step_create_at(struct lmi_plan_step **out, const struct lmd_plan *plan,
					const struct lmd_step_layout *layout, void *block,
					struct lmd_error *err);
/* Fills the rows after the live ones as step.h defines for plans with a bucket. */
void lmi_plan_step_pad(struct lmi_plan_step *s);
/* Computes the layout and allocates the block. */
enum lmd_status lmi_plan_step_create(struct lmi_plan_step **out, const struct lmd_plan *plan,
				     uint32_t max_change, struct lmd_error *err);
void lmi_plan_step_destroy(struct lmi_plan_step *s);

/* Describes the members of ops, so that checks, liveness, lowering and dumps need no switch over op
 * codes: see op_fields.c.  Every byte of an op's struct belongs to one field. */
enum lmi_plan_field_kind {
	LMI_PLAN_FIELD_IN = 1,         /* struct lmd_operand that is read */
	LMI_PLAN_FIELD_OUT = 2,        /* struct lmd_operand that is written */
	LMI_PLAN_FIELD_WEIGHT_REF = 3, /* uint32_t weight reference id or LMD_NONE */
	LMI_PLAN_FIELD_ROPE = 4,       /* uint32_t rope table id or LMD_NONE */
	LMI_PLAN_FIELD_CACHE = 5,
	LMI_PLAN_FIELD_GROUP = 6,
	LMI_PLAN_FIELD_SITE = 7, /* adapter site or LMD_NONE */
	LMI_PLAN_FIELD_ENUM = 8, /* uint32_t with named values */
	LMI_PLAN_FIELD_U32 = 9,
	LMI_PLAN_FIELD_I32 = 10,
	LMI_PLAN_FIELD_F32 = 11,
	LMI_PLAN_FIELD_COUNT = 12, /* uint32_t: number of array elements in use */
	LMI_PLAN_FIELD_PROG = 13,  /* struct lmd_ew_ins */
	LMI_PLAN_FIELD_REG = 14,   /* uint8_t */
	LMI_PLAN_FIELD_PAD = 15    /* reserved words */
};
#define LMI_PLAN_F_OPT    1u /* may be absent */
#define LMI_PLAN_F_I32    2u /* operand must be i32; otherwise f32 or act */
#define LMI_PLAN_F_ANY    4u /* operand may have any element type */
#define LMI_PLAN_F_WEIGHT 8u /* operand may be a WEIGHT */
#define LMI_PLAN_F_ROWS                                                                            \
	16u /* operand has a row space other than the op's; the op's rule checks it */
#define LMI_PLAN_F_OWN 32u  /* operand may be an INPUT with rows of its own */
#define LMI_PLAN_F_INF 64u  /* number may be infinite */
#define LMI_PLAN_F_INT 128u /* weight may be an integer table */
struct lmi_plan_field {
	const char *name;
	uint16_t offset;      /* in struct lmd_op */
	uint16_t kind;        /* enum lmi_plan_field_kind */
	uint16_t count;       /* array length */
	uint16_t stride;
	uint16_t flags;       /* LMI_PLAN_F_* */
	uint16_t live;        /* offset of the COUNT with the number of elements in use; 0 = all
			       * are */
	double def;           /* default value, which dumps omit */
	const char *const *names; /* for ENUM; NULL entries are invalid values */
	uint32_t n_names;
};
struct lmi_plan_op_info {
	const char *name;     /* "embed", "rope_kv", ... */
	const struct lmi_plan_field *fields;
	uint32_t n_fields;
	uint32_t bytes;       /* of the op's struct */
	bool mandatory;
};
/* Returns NULL for codes that do not exist. */
const struct lmi_plan_op_info *lmi_plan_op_info(uint32_t code);

/* Returns the i-th element of a field. */
static inline void *lmi_plan_field_at(const struct lmi_plan_field *f, struct lmd_op *op, uint32_t i)
{
	return (char *)op + f->offset + (size_t)i * f->stride;
}

static inline const void *lmi_plan_field_get(const struct lmi_plan_field *f,
					     const struct lmd_op *op, uint32_t i)
{
	return (const char *)op + f->offset + (size_t)i * f->stride;
}

#endif /* LLAMAD_CORE_PLAN_PLAN_H */
