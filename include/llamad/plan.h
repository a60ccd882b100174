/* SPDX-License-Identifier: MIT
 *
 * plan.h - a plan: the list of operations that an architecture emits and a backend runs.
 *
 * A plan is data: values, weights, rope tables and a list of ops (op.h), ordered so that every
 * operand is written before it is read.  An architecture's build function creates one through
 * struct lmd_builder.  The host checks it, plans its memory, cuts it by device, and gives the
 * result to a backend, which compiles it once and runs it with one step block (step.h) at a time.
 * `llamactl debug plan FILE` prints a plan. */
#ifndef LLAMAD_PLAN_H
#define LLAMAD_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/host.h"
#include "llamad/model.h"
#include "llamad/op.h"
#include "llamad/status.h"
#include "llamad/step.h"

LMD_BEGIN_DECLS

/* ---- values ---- */

#define LMD_VALUE_KEEP 1u /* the memory is not shared with other values: taps, observation */

struct lmd_value {
	uint32_t space;       /* enum lmd_space */
	uint32_t vtype;       /* enum lmd_vtype */
	uint32_t width;       /* columns, 1..2^24 */
	uint32_t flags;
	uint32_t row_bytes;   /* set by the host: distance between rows, multiple of 64 */
	uint32_t reserved;
	uint64_t offset;      /* set by the host: offset of row 0 in the plan's scratch memory,
			       * multiple of 64 */
	const char *name;     /* for dumps; never NULL */
	uint64_t reserved2[2];
};

/* ---- weights ---- */

enum lmd_weight_part_kind {
	LMD_WEIGHT_PART_TENSOR = 0,
	LMD_WEIGHT_PART_LITERAL = 1,  /* f32 numbers supplied by the architecture, at most 1 MiB */
	LMD_WEIGHT_PART_OF_TARGET = 2 /* tensor of the group's target model (drafts) */
};

/* Rows row0 .. row0+n_row of a tensor seen as [rows, K] (all dims except the first are merged), or
 * of a literal.  With n_head > 0 in the weight reference, the rows are taken from every head: head
 * h owns the rows from h*head_rows on of the tensor. */
struct lmd_weight_part {
	uint32_t kind;        /* enum lmd_weight_part_kind */
	uint32_t tensor;      /* index into lmd_model.tensors */
	uint32_t row0;
	uint32_t n_row;       /* 0 = all */
	const float *literal; /* LITERAL: n_row * K numbers; copied by the builder */
	uint32_t k0;          /* TENSOR, OF_TARGET: columns k0 .. k0+n_k of each row, whole blocks */
	uint32_t n_k;         /* 0 = all */
	uint64_t reserved[2];
};

enum lmd_transform {
	LMD_TRANSFORM_NONE = 0,
	LMD_TRANSFORM_HEAD_TRANSPOSE = 1, /* in every head: [n_row, K] becomes [K, n_row] */
	LMD_TRANSFORM_STACK_EXPERTS = 2   /* part e is slice e: one tensor per expert */
};

/* How a weight is divided among devices (tensor and expert parallelism). */
enum lmd_split {
	LMD_SPLIT_REPLICATE = 0,
	LMD_SPLIT_ROWS = 1,   /* outputs (N): column-parallel q, k, v, gate, up */
	LMD_SPLIT_COLS = 2,   /* inputs (K): row-parallel o, down; followed by ALLREDUCE */
	LMD_SPLIT_HEADS = 3,  /* whole heads of N or of the stack */
	LMD_SPLIT_EXPERTS = 4 /* slices of the stack */
};

/* A reference to one weight: [N, K], or stacked [n_stack, N, K].  Its parts are concatenated along
 * N (or along the stack).  Its dtype is that of its parts, which must agree.  Sizes left 0 are
 * computed: k = dims[0] of the first part (an explicit k regroups the elements of a tensor in
 * order, so {14,14,3,N} with k = 588 is [N, 588]); n_stack = 1 or, if n is given, rows / n;
 * n = rows / n_stack.  With HEAD_TRANSPOSE, n and k are the sizes after the transpose. */
struct lmd_weight_ref {
	uint32_t struct_size;
	uint32_t n_part;
	const struct lmd_weight_part *parts;
	uint32_t transform;   /* enum lmd_transform */
	uint32_t split;       /* enum lmd_split */
	uint32_t n_head;      /* > 0: the parts are taken head by head; n_stack = n_head */
	uint32_t head_rows;   /* rows of a head in the tensor; 0 = n_row of the part */
	uint32_t n_stack;     /* 1 for a plain matrix */
	uint32_t n;           /* N of a slice */
	uint32_t k;           /* K */
	uint32_t scale;       /* tensor index: 1 value, N values, or n_stack values; or LMD_NONE */
	uint32_t bias;        /* tensor index: N values, or n_stack*N; or LMD_NONE */
	const char *name;     /* for dumps and errors */
	uint32_t dtype;       /* enum lmd_dtype of the parts; set by the host */
	/* n_extra > 0: of the bias, and of a scale with more than one value, only n_extra elements
	 * from extra0 on belong to this weight, which has a part of the rows of a tensor.  Backends
	 * get these elements alone (lmd_weight_desc). */
	uint32_t extra0, n_extra;
	uint32_t reserved[7];
};

/* ---- rotation ---- */

enum lmd_rope_pairing {
	LMD_ROPE_ADJACENT = 0, /* (0,1), (2,3), ... */
	LMD_ROPE_HALVES = 1    /* (0, n/2), (1, n/2 + 1), ... */
};

/* A rope table as backends see it. */
struct lmd_rope {
	uint32_t n_rot;       /* columns, even */
	uint32_t pairing;     /* enum lmd_rope_pairing */
	const double *freq;   /* [n_rot/2] radians per position */
	const uint8_t *plane; /* [n_rot/2] index into step.pos */
	float magnitude;      /* scales the rotated columns */
	uint32_t reserved[3];
};

/* How the pairs are assigned to the planes of multi-part positions. */
enum lmd_rope_sections {
	LMD_SECTIONS_NONE = 0,        /* plane 0 everywhere */
	LMD_SECTIONS_BLOCKS = 1,      /* section[0] pairs of plane 0, section[1] of plane 1, ...;
				       * repeated if their sum is less than n_rot/2 */
	LMD_SECTIONS_INTERLEAVED = 2, /* pair i (modulo their sum): i%3 == 1 and i < 3*section[1]:
				       * plane 1; i%3 == 2 and i < 3*section[2]: plane 2; i%3 == 0
				       * and i < 3*section[0]: plane 0; otherwise plane 3 */
	LMD_SECTIONS_2D = 3           /* first half of the pairs plane 0, second half plane 1; each
				       * half starts its own frequencies */
};

/* Rotation parameters as model files state them.  Pair i < n_rot/2 rotates by base^(-2i/n_rot),
 * divided by factors[i], times freq_scale; YaRN (arXiv 2309.00071) blends the scaled and the
 * unscaled frequency by ext_factor over the ramp between beta_fast and beta_slow.
 * magnitude = attn_factor; if ext_factor != 0, times 1 + 0.1 ln(1/freq_scale). */
struct lmd_rope_params {
	uint32_t struct_size;
	uint32_t n_rot;
	uint32_t pairing;
	uint32_t sections_kind; /* enum lmd_rope_sections */
	uint32_t sections[4];
	double base;            /* usually 10000 */
	double freq_scale;      /* usually 1; linear scaling by f: 1/f */
	double ext_factor;      /* 0 = no YaRN */
	double attn_factor;     /* usually 1 */
	double beta_fast, beta_slow; /* usually 32 and 1 */
	uint32_t n_ctx_orig;    /* for YaRN */
	uint32_t n_factors;     /* n_rot/2 or 0 */
	const float *factors;
	uint64_t reserved[4];
};

/* ---- inputs and outputs ---- */

struct lmd_input {
	uint32_t space;       /* row space; input 0 of a FORWARD plan has rows of its own
			       * (images) */
	uint32_t vtype;       /* F32 or I32 */
	uint32_t width;
	uint32_t own_rows;    /* 1: any number of rows, addressed by EMBED and GATHER */
	const char *name;
	uint64_t reserved[2];
};

enum lmd_output_id {
	LMD_OUT_LOGITS = 0,
	LMD_OUT_TOPN = 1,     /* i32 [O, n]: the best candidates, best first (SAMPLE.top_id) */
	LMD_OUT_TOKEN = 2,
	LMD_OUT_EMBED = 3,
	LMD_OUT_TOPN_LP = 4,  /* f32 [O, n]: their log probabilities (SAMPLE.top_lp) */
	LMD_OUT_TOPN_LOGIT = 5, /* f32 [O, n]: their logits (REDUCE TOP_K); since ABI 0.11 */
	LMD_OUT_TAP = 16 /* + k: any value that the builder marks, k < 48; with LMD_PLAN_HIDDEN, tap 0
			  * is that output */
};
struct lmd_output {
	uint32_t id;          /* enum lmd_output_id */
	uint32_t value;
	uint32_t dtype;       /* enum lmd_dtype of the rows in the caller's memory: I32 for integers,
			       * otherwise F32, whatever the value is stored as; set by the host */
	uint32_t reserved[5];
};

/* ---- the plan ---- */

enum lmd_plan_kind {
	LMD_PLAN_FORWARD = 0, /* prefill and decode rows mixed */
	LMD_PLAN_ENCODE = 1,  /* encoder, tower */
	/* A draft block of the model (multi-token prediction, NextN), lmd_plan_key.variant its number:
	 * row r is computed from token r and input 0, f32 [TOKENS, n_embd], the hidden row of token
	 * r - 1, and its logits are those of token r + 1.  It writes and reads its own caches only.  Or a
	 * plan of a draft model: struct lmd_draft in arch.h. */
	LMD_PLAN_DRAFT = 2,
	LMD_PLAN_TAIL = 3     /* sampling, verification */
};

enum lmd_tail_kind {
	LMD_TAIL_SAMPLE = 0,  /* SAMPLE */
	LMD_TAIL_VERIFY = 1   /* draft tokens against the target's probabilities; no op yet */
};

enum lmd_pooling {
	LMD_POOL_UNSET = -1, LMD_POOL_NONE = 0, LMD_POOL_MEAN = 1, LMD_POOL_CLS = 2,
	LMD_POOL_LAST = 3, LMD_POOL_RANK = 4
};

/* What distinguishes one plan of a model from another. */
#define LMD_PLAN_LOGITS 1u /* ends in HEAD, output LOGITS */
#define LMD_PLAN_EMBED  2u /* output EMBED: [SEQS] pooled, or [OUTPUTS] with pooling NONE */
#define LMD_PLAN_LORA   4u /* rows may carry adapters */
#define LMD_PLAN_KEEP   8u /* no value shares memory with another */
#define LMD_PLAN_TREE   16u /* steps have a tree, which ATTN with tree = 1 uses as a mask */
/* output LMD_OUT_TAP: the hidden rows that DRAFT plans read, [TOKENS, n_embd], the stream after the last
 * norm, or [TOKENS, n_hidden] with lmd_arch_params.taps; since ABI 0.13 */
#define LMD_PLAN_HIDDEN 32u
struct lmd_plan_key {
	uint32_t struct_size;
	uint32_t kind;        /* enum lmd_plan_kind */
	uint32_t flags;       /* LMD_PLAN_* */
	int32_t pooling;      /* enum lmd_pooling, with LMD_PLAN_EMBED */
	uint32_t bucket;      /* T that this plan is compiled for; 0 = read from the step */
	uint32_t variant;     /* meaning is private to the architecture (image rows, MTP block) */
	uint32_t tail;        /* enum lmd_tail_kind, with LMD_PLAN_TAIL */
	uint32_t rank, n_rank; /* this plan is part `rank` of n_rank of a tensor-parallel plan; 0 and
				* 0 or 1: it is the whole */
	uint32_t reserved[4];
};

/* Memory of sequences (declared by lmd_arch_desc in arch.h). */
enum lmd_group_kind {
	LMD_GROUP_PAGED = 0, LMD_GROUP_STATE = 1, LMD_GROUP_CROSS = 2, LMD_GROUP_BATCH = 3
};
enum lmd_cache_kind {
	LMD_CACHE_KV = 0,     /* n_head heads of dk and of dv */
	LMD_CACHE_K_ONLY = 1, /* n_head heads of dk */
	LMD_CACHE_V_IN_K = 2, /* like K_ONLY; V is the first dv columns of K */
	LMD_CACHE_CONV = 3,   /* STATE group: the last dk rows of n_head*dv columns, oldest first */
	LMD_CACHE_STATE = 4,  /* STATE group: n_head matrices [dk, dv], S as defined at SCAN */
	LMD_CACHE_INDEX = 5   /* n_head (usually 1) keys of dk */
};
enum lmd_dtype_policy {
	LMD_KV_DTYPE_USER = 0, /* the KV type that the user requested */
	LMD_KV_DTYPE_F32 = 1   /* always f32 (states, index keys) */
};

struct lmd_group {
	const char *name;
	uint32_t kind;        /* enum lmd_group_kind */
	uint32_t causal;      /* 1: keys up to the row itself; 0: all keys of the sequence */
	uint32_t window;      /* > 0: the last `window` keys (causal), or |pos_q - pos_k| <= window/2 */
	uint32_t chunk;       /* > 0: keys of the row's own chunk of that many positions */
	uint32_t ratio;       /* >= 1: one row for `ratio` tokens, written at block ends;
			       * kv_hi = floor((pos + 1) / ratio) */
	uint32_t q_space, k_space; /* BATCH, CROSS: enum lmd_space */
	uint32_t of_target;   /* 1: the target model's group, read only (drafts) */
	uint32_t share;       /* 1: pages may be shared as a prefix */
	uint32_t reserved[6];
};

struct lmd_cache {
	uint32_t group;
	uint32_t kind;        /* enum lmd_cache_kind */
	uint32_t n_head, dk, dv;
	uint32_t dtype_policy;  /* enum lmd_dtype_policy */
	uint32_t k_dtype, v_dtype; /* set by the host before backends see it: enum lmd_dtype */
};

struct lmd_row_in {
	uint32_t vtype;       /* F32 or I32 */
	uint32_t width;       /* 1..32 */
	const char *name;
};

/* Everything a backend needs to compile a plan.  Read-only; outlives the compiled plan. */
struct lmd_plan {
	uint32_t struct_size;
	struct lmd_plan_key key;
	uint32_t act_dtype;   /* enum lmd_dtype of LMD_VTYPE_ACT: F32, F16 or BF16 */
	uint32_t n_value, n_op, n_weight_ref, n_rope, n_input, n_output, n_group, n_cache, n_row_in,
		n_x;
	const struct lmd_value *values;
	const struct lmd_op *ops;
	const struct lmd_weight_ref *weight_refs;
	const struct lmd_rope *ropes;
	const struct lmd_input *inputs;
	const struct lmd_output *outputs;
	const struct lmd_group *groups;
	const struct lmd_cache *caches;
	const struct lmd_row_in *row_ins;
	/* limits of the steps that this plan can run */
	uint32_t max_rows[LMD_N_SPACE];
	uint64_t scratch_bytes; /* size of the values at their offsets, for max_rows rows */
};

/* ---- the builder ---- */

/* Implemented by the host; the first argument is always `ctx`.  Errors are sticky: after the first
 * error all calls are ignored and return 0, and the build fails with the first error message, so a
 * build function need not check.  Structs are copied. */
struct lmd_builder {
	uint32_t struct_size;
	void *ctx;
	const struct lmd_host *host;
	const struct lmd_model *model;

	/* The following ops belong to this layer; -1 = none. */
	void (*layer)(void *ctx, int32_t layer);
	/* Creates a value; `name` is copied and prefixed with the layer in dumps. */
	uint32_t (*value)(void *ctx, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
			  const char *name);
	/* Creates a weight reference; the same parts and transform always give the same id. */
	uint32_t (*weight_ref)(void *ctx, const struct lmd_weight_ref *w);
	/* Creates a weight [n, k] from numbers that the architecture computed; split: enum
	 * lmd_split. */
	uint32_t (*literal)(void *ctx, const float *v, uint32_t n, uint32_t k, uint32_t split,
			    const char *name);
	/* Creates a rope table; frequencies, YaRN and sections are known only here. */
	uint32_t (*rope)(void *ctx, const struct lmd_rope_params *p);
	/* Appends an op; its code selects the member of the union.  struct_size, layer and space
	 * are filled in.  Absent optional operands and weights are src NONE and LMD_NONE (a zeroed
	 * uint32_t id is weight 0, so start from the initialisers of the arch library or set each
	 * id). */
	void (*op)(void *ctx, const struct lmd_op *op);
	void (*output)(void *ctx, uint32_t id, uint32_t value);
	/* Reports an error of the architecture. */
	void (*fail)(void *ctx, enum lmd_status status, const char *fmt, ...) LMD_PRINTF(3, 4);
	/* Returns LMD_OK if there was no error so far. */
	enum lmd_status (*status)(void *ctx);
	/* Properties of a value or a weight reference, for helpers that compute shapes.  Return
	 * false if there is no such id. */
	bool (*value_info)(void *ctx, uint32_t value, struct lmd_value *out);
	bool (*weight_ref_info)(void *ctx, uint32_t weight_ref, struct lmd_weight_ref *out);
	/* Declares an external input.  Input 0 of a FORWARD plan already exists if describe() set
	 * n_input_embd: f32, with rows of its own of that width. */
	uint32_t (*input)(void *ctx, const struct lmd_input *in);
	/* For a draft: the target model, whose tensors LMD_WEIGHT_PART_OF_TARGET parts name;
	 * otherwise NULL. */
	const struct lmd_model *target;
};

LMD_END_DECLS

#endif /* LLAMAD_PLAN_H */
