/* SPDX-License-Identifier: MIT
 *
 * plan.h - compiled plans, and what turning an op into launches needs.
 *
 * Ops are turned into launches twice: first to find out how much memory they need between their
 * launches, then, with that memory, for good. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_PLAN_H
#define LLAMAD_PLUGINS_BACKEND_GPU_PLAN_H

#include "gpu.h"

/* Number of blocks: the live rows of a space, divided and multiplied, `per` of them in a block. */
struct gpu_blocks {
	uint32_t space; /* enum lmd_space; GPU_N_SPACE: one row */
	uint32_t div;
	uint64_t times;
	uint32_t per;
};

/* Which kernel a launch uses. */
enum gpu_pick {
	GPU_PICK_ONE = 0,
	GPU_PICK_ROWS = 1, /* the first of three, for 1, 4 and 8 rows of y in a block; `many` for
			    * more rows */
	GPU_PICK_PACK = 2, /* the first of three, for 1, 4 and 8 queries in a block; shared memory is
			    * for one; x is the number of rows, y the parts of the keys */
	GPU_PICK_MANY = 3, /* nothing, unless y is so many that GPU_PICK_ROWS uses `many` */
	GPU_PICK_FLASH = 4, /* x is the number of rows, blocks are those of kern/nv/flash.h */
	GPU_PICK_SEVERAL = 5 /* nothing for a single y, whose work the launch before it has done */
};

struct gpu_launch {
	uint32_t kernel; /* enum gpu_kernel */
	uint32_t op;     /* index in the plan */
	enum gpu_pick pick;
	uint32_t many;   /* enum gpu_kernel of nv/tile*.h, or GPU_NO_KERNEL */
	uint32_t lengths; /* launched if a sequence of the step is one of GPU_SHORT, GPU_LONG; 0 = always */
	uint32_t slices; /* y are pairs, a row's y.times, that may choose so many; 0 = y are rows */
	uint32_t threads, shared;
	uint32_t n_kv_head, per_kv; /* GPU_PICK_PACK: heads that share a head of keys */
	struct gpu_blocks x, y;
	size_t args; /* where they are in `args` */
};

/* Lengths of sequences: attention of those with many rows has kernels of its own. */
#define GPU_SHORT    1u
#define GPU_LONG     2u
#define GPU_LONG_ROW 16u /* rows in a step, at least */

/* The live rows of a step. */
struct gpu_live {
	uint32_t rows[LMD_N_SPACE];
	uint32_t lengths; /* GPU_SHORT, GPU_LONG or both */
	uint32_t parts; /* of the keys of a row, at most: a power of two */
};
/* The launches of a plan as the driver's graph, with grids for so many rows (graph.c). */
#define GPU_N_GRAPH 24
struct gpu_graph {
	struct gpu_live live;
	uint64_t used; /* number of the run that used it last; 0 = free */
	bool seen;     /* more than once */
	gpu_exec exec; /* NULL until then */
};

/* A graph that is to be freed when its mark has happened; exec NULL = none. */
#define GPU_N_RETIRED 4
struct gpu_retired {
	gpu_exec exec;
	gpu_mark mark;
};

/* Launches of one rank that certainly fit into the driver's queue, while the other ranks have submitted
 * nothing yet: CUDA's has 1024 entries, and a product of several weights is up to 3. */
#define GPU_MOST_QUEUED 340u

struct lmd_compiled_plan {
	struct gpu_dev *dev;
	const struct lmd_plan *plan;
	struct lmd_step_layout layout;
	struct lmd_weight **weights; /* [n_weight_ref]; NULL when only sizes are wanted */
	struct lmd_pool *pools[LMD_MAX_GROUP];
	gpu_ptr block, run;
	gpu_ptr values, own_values;
	gpu_ptr temp; /* between the launches of an op */
	uint64_t temp_bytes;
	gpu_ptr tails, counters; /* of tail.c */
	uint64_t n_counter;
	struct lmd_devgroup *devgroup; /* NULL: the plan has no collectives */
	gpu_ptr peers, shown; /* of ops_peer.c: the group, and what this rank shows to the others */
	uint64_t show_bytes, sum_bytes; /* there are two of each */
	gpu_ptr *freq, *plane; /* [n_rope] */
	struct gpu_launch *launches;
	uint32_t n_launch, cap_launch;
	char *args;
	size_t args_bytes, cap_args;
	struct gpu_graph graphs[GPU_N_GRAPH];
	struct gpu_retired retired[GPU_N_RETIRED];
	uint64_t n_run, n_retired;
};

struct gpu_build {
	struct lmd_compiled_plan *p;
	const struct lmd_plan *plan;
	bool measure; /* nothing is emitted, weights and pools may be absent */
	uint32_t op;
	uint64_t temp_at;
	gpu_ptr groups; /* the op's pairs by slice; 0 = not yet */
	uint32_t n_exchange;
	uint32_t n_tail;
	enum lmd_status status; /* sticky */
	struct lmd_error *err;
};

/* ---- operands (operands.c) ---- */

struct gpu_view gpu_build_view(struct gpu_build *b, const struct lmd_operand *o);
struct gpu_norm gpu_build_norm(struct gpu_build *b, const struct lmd_norm *n);
/* A weight reference as kernels see it; data 0 for LMD_NONE. */
struct gpu_weight gpu_build_weight(struct gpu_build *b, uint32_t ref);
/* Its elements as f32; 0 for LMD_NONE. */
gpu_ptr gpu_build_flat(struct gpu_build *b, uint32_t ref);
/* Where a cache lies; zeros for LMD_NONE. */
struct gpu_cache gpu_build_cache(struct gpu_build *b, uint32_t cache);
/* The same, for ops that read it: one of q4_0_rot is read as q4_0, see gpu_build_hadamard. */
struct gpu_cache gpu_build_read_cache(struct gpu_build *b, uint32_t cache);
/* Launches kern/hadamard.h: y, which may be x, becomes H x. */
void gpu_build_hadamard(struct gpu_build *b, const struct gpu_view *x, const struct gpu_view *y);
/* H x in rows of its own, until the end of the op. */
struct gpu_view gpu_build_hadamard_rows(struct gpu_build *b, const struct gpu_view *x);
/* Adapters of a site, by slot; 0 if the plan has none there. */
gpu_ptr gpu_build_adapters(struct gpu_build *b, uint32_t site);
/* Memory that lasts until the end of the op. */
gpu_ptr gpu_build_temp(struct gpu_build *b, uint64_t n, uint64_t item);
/* f32 rows of `heads` heads of `width` each, one after the other, for the rows of `like`. */
struct gpu_view gpu_build_rows(const struct gpu_view *like, gpu_ptr at, uint32_t heads,
			       uint32_t width);
/* Largest number of rows that a view can have. */
uint64_t gpu_build_max_rows(const struct gpu_build *b, const struct gpu_view *v);
/* Appends a launch; args [bytes] is copied. */
void gpu_build_launch(struct gpu_build *b, uint32_t kernel, const void *args, size_t bytes,
		      uint32_t threads, uint32_t shared, struct gpu_blocks x, struct gpu_blocks y);
/* The launch that was appended last, to change it; NULL if there is none or nothing is emitted. */
struct gpu_launch *gpu_build_last(struct gpu_build *b);
/* A thread for each element of the rows of `like`, `times` of them in a row. */
void gpu_build_each(struct gpu_build *b, uint32_t kernel, const void *args, size_t bytes,
		    const struct gpu_view *like, uint64_t times);
/* A block of `threads` for each of `times` items of a row. */
void gpu_build_block(struct gpu_build *b, uint32_t kernel, const void *args, size_t bytes,
		     uint32_t threads, uint32_t shared, const struct gpu_view *like,
		     uint64_t times);
void gpu_build_fail(struct gpu_build *b, const char *fmt, ...) LMD_PRINTF(2, 3);

/* Kernels of the arithmetic that the device was opened with. */
static inline uint32_t gpu_norm_kernel(const struct gpu_build *b)
{
	return b->p->dev->exact ? GPU_K_exact_norm : GPU_K_norm;
}

static inline uint32_t gpu_glu_kernel(const struct gpu_build *b)
{
	return b->p->dev->exact ? GPU_K_exact_glu : GPU_K_glu;
}

/* ---- tails of products (tail.c) ---- */

/* Memory for the arguments of all tails of a plan. */
uint64_t gpu_tail_bytes(const struct lmd_plan *plan);
/* Makes sure that there are so many counters. */
void gpu_build_counters(struct gpu_build *b, uint64_t n);
/* Makes GLU, or the norm of rows in steps of one row, the tail of the product that was appended
 * last; false if that does not compute what they read. */
bool gpu_tail_glu(struct gpu_build *b, const struct gpu_glu_args *a);
bool gpu_tail_norm(struct gpu_build *b, const struct gpu_norm_args *a);

/* ---- ops (ops_*.c) ---- */

typedef void (*gpu_lower_fn)(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_embed(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_norm(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_linear(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_rope_kv(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_attn(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_glu(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_ffn(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_head(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_ew(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_moe_ffn(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_bmm(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_gather(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_softmax(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_reduce(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_route(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_mix(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_conv(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_scan(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_patch(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_index(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_sample(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_cast_copy(struct gpu_build *b, const struct lmd_op *op);
void gpu_lower_collective(struct gpu_build *b, const struct lmd_op *op);
/* Ends a plan with collectives. */
void gpu_build_peer_end(struct gpu_build *b);

/* Makes the attention that was appended last round its results, if they are the rows of x; false
 * if it does not.  lengths: of the sequences whose rows are to be rounded nevertheless
 * (GPU_LONG), or 0. */
bool gpu_attn_rounds(struct gpu_build *b, const struct gpu_round_args *x, uint32_t *lengths);

/* ---- running (run.c) ---- */

/* Checks the step and the inputs, copies the block and makes the page table changes.  turn: of the
 * device group, or 0. */
enum lmd_status gpu_run_begin(struct lmd_compiled_plan *p, gpu_stream s, uint64_t turn,
			      const struct lmd_step *step, const struct lmd_binding *in,
			      uint32_t n_in, struct gpu_live *live, struct lmd_error *err);
enum lmd_status gpu_run_launch(struct lmd_compiled_plan *p, gpu_stream s,
			       const struct gpu_launch *l, const struct gpu_live *live,
			       struct lmd_error *err);
/* Launches everything in the list, as a graph where that is worth it. */
enum lmd_status gpu_graph_run(struct lmd_compiled_plan *p, gpu_stream s,
			      const struct gpu_live *live, struct lmd_error *err);
/* LMD_UNSUPPORTED if the plan is too long for launches one by one and the driver has nothing else. */
enum lmd_status gpu_graph_check(const struct lmd_compiled_plan *p, struct lmd_error *err);
void gpu_graph_fini(struct lmd_compiled_plan *p);

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_PLAN_H */
