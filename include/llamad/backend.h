/* SPDX-License-Identifier: MIT
 *
 * backend.h - kind BACKEND: runs plans on a device.
 *
 * The host decides all policy: page ids, placement, buckets, order.  A backend holds weights, pools
 * and compiled plans, and runs a plan on request.  The smallest example is plugins/backend/null;
 * `llamactl plugins test FILE.so` compares any backend with `ref` on the op cases.
 *
 * Objects.  The host allocates the state of the device (factory state_bytes).  Weights, pools,
 * plans, buffers, queues, events and groups are owned by the device: they are created and destroyed
 * by the functions below, with memory from host->alloc.  Destroy functions accept NULL.
 * Threads.  The device arbiter serialises the calls on one device, except that weight_load,
 * buffer_*, pool_create, event_wait and memory may run beside other calls.  The team of lmd_open_params is
 * used by the host as well: a backend runs it only during a call, on the calling thread.  An event is used by
 * one thread at a time: it is not recorded or waited for beside another call that names it.
 * Errors.  A status plus an error message.  LMD_DEVICE means the device is lost: the host closes
 * everything and may open it again.  plan_run allocates nothing but what a driver makes at a plan's first steps.
 *
 * Queues.  plan_run, pool_op and buffer_copy take a queue and an optional event.
 * - Queue NULL: the call is complete when it returns; the event is NULL.  A device without
 *   queue_create knows only this form.
 * - With a queue, the call may return before anything has happened.  The calls of one queue happen in
 *   the order in which they were made, each after the one before it is complete.  Two queues have
 *   no order except through queue_wait_event.
 * - A call is complete when the event that it was given, or one that was recorded later on the same
 *   queue, has fired: event_wait returned something other than LMD_TIMEOUT.
 * - Host memory that a call names (the step block, mapped buffers, pointers of copies and of pool
 *   operations) belongs to the device from the call until the call is complete: the host writes to
 *   none of it, and reads nothing that the call writes.  Arrays of arguments (ops, bindings, struct
 *   lmd_step itself) belong to the device only during the call.
 * - The host may make the calls of the next step before those of the last one are complete, also with
 *   the same compiled plan: then the blocks and outputs differ.
 * - Objects may be destroyed when all calls that name them are complete; an event, when it has fired
 *   or was never used.
 * - An error of a call that was accepted is the status of its event, and of the first event recorded
 *   after it on its queue.  The calls after a failed one still happen.
 *
 * Groups.  The devices of a group run plans with collectives together: each device the plan of its
 * rank, plan->key.rank of plan->key.n_rank, which is its place in group_create's list.
 * - The k-th plan_run of such a plan on every device of the group belongs to the same step, also if
 *   one of them fails.  The host makes these calls for all ranks, in the same order on every device: on
 *   devices without queues at the same time, in a thread for each rank; on others one after the other,
 *   with a queue, before it waits for any of them.
 * - If the run of a rank fails, is refused or is cancelled, the runs of all ranks of that step fail, those
 *   of the others with LMD_CANCELLED.  So none waits for ever: a rank that waits looks at its step's cancel
 *   word, and gives up with LMD_TIMEOUT when another one does not come (ref: 30 s). */
#ifndef LLAMAD_BACKEND_H
#define LLAMAD_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/host.h"
#include "llamad/plan.h"
#include "llamad/status.h"
#include "llamad/step.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

struct lmd_weight; /* opaque, owned by the device */
struct lmd_pool;
struct lmd_compiled_plan;
struct lmd_buffer;
struct lmd_queue;
struct lmd_event;
struct lmd_devgroup;

/* ---- devices ---- */

#define LMD_DEV_HOST_MEMORY 1u  /* computes in host memory: buffers are plain pointers */
#define LMD_DEV_IMPORT_HOST 2u  /* can use host memory that it did not allocate */
#define LMD_DEV_SAMPLE      4u  /* runs TAIL plans */
#define LMD_DEV_GRAPH       8u
#define LMD_DEV_PEER        16u /* buffer_copy takes a source that is a buffer of another device of
				 * this backend, if that has PEER as well */
#define LMD_DEV_TOPN        32u /* TAIL plans that find the best logits of each row and their ids
				 * (REDUCE TOP_K) take less time than copying the rows; since ABI
				 * 0.11 */

struct lmd_device_info {
	uint32_t struct_size;
	uint32_t caps;            /* LMD_DEV_* */
	char name[64];            /* "ref", "NVIDIA H200" */
	char id[40];              /* stable: UUID or bus address; "" = none */
	uint64_t memory_bytes;    /* 0 = host memory */
	uint64_t free_bytes;
	double bandwidth;         /* hint in bytes/s, 0 = unknown */
	uint32_t act_dtype;       /* enum lmd_dtype that LMD_VTYPE_ACT becomes */
	uint32_t page_tokens;     /* rows of a KV page: power of two, 16..256 */
	uint32_t kv_dtype;        /* preferred KV type */
	uint32_t n_bucket;        /* 0: T is read from the step */
	uint32_t bucket[16];      /* row counts that it compiles plans for, ascending */
	uint32_t page_sizes;      /* numbers of rows that a page may have, as a sum: 16 = it can use
				   * pages of 16 rows, 16 + 64 = of 16 and of 64.  0 = page_tokens
				   * alone.  Devices that share a model use the same */
	uint32_t reserved[7];
};

/* activations: how LINEAR, FFN, MOE_FFN and HEAD treat activation rows before block types.  A
 * backend refuses those that it lacks with LMD_UNSUPPORTED.  With all but F32 and INT16, rows before
 * weights in bf16 may be rounded to bf16 */
enum lmd_activations {
	LMD_ACTIVATIONS_DEFAULT = 0,
	LMD_ACTIVATIONS_F32 = 1,  /* f32 throughout: shows wrong formulas */
	LMD_ACTIVATIONS_INT8 = 2, /* rounded to 8 bits in blocks of 32, integer dot products */
	LMD_ACTIVATIONS_INT16 = 3 /* rounded to 8 bits, and the errors of that to 8 bits as well;
				   * since ABI 0.10 */
};

/* attention: the arithmetic of ATTN over keys that were not selected by a list */
enum lmd_attention {
	LMD_ATTENTION_DEFAULT = 0, /* the backend's own, at least as exact as float sums of the
				    * cached values */
	LMD_ATTENTION_HALF = 1     /* queries, keys, values and the running sum of weighted values
				    * are rounded to half precision after each key; keys in order;
				    * the sum is rescaled whenever a greater score comes.
				    * Reproduces kernels that accumulate in half precision, for
				    * comparison with them.  Optional: LMD_UNSUPPORTED */
};

/* deterministic: whether the bits of results are defined beyond those of a device with itself */
enum lmd_deterministic {
	LMD_DETERMINISTIC_OFF = 0,   /* the same input on the same device gives the same bits */
	LMD_DETERMINISTIC_EXACT = 1, /* on every device of every backend that has it: integer
				      * products, float steps in one stated order (docs/exact.md).
				      * Optional: LMD_UNSUPPORTED, also for plans that have ops
				      * without such an order */
	LMD_DETERMINISTIC_BATCH = 2 /* on a device the bits of a row do not depend on the other rows
				      * of its step, nor on how its sequence is divided into steps.
				      * Optional: LMD_UNSUPPORTED */
};

struct lmd_open_params {
	uint32_t struct_size;
	uint32_t index;           /* device index */
	uint32_t n_thread;        /* CPUs: requested team size, 0 = chosen by the backend */
	uint32_t activations;     /* enum lmd_activations */
	struct lmd_team *team;    /* CPUs: threads to run on; NULL = the calling thread */
	uint32_t attention;       /* enum lmd_attention; since ABI 0.2 */
	uint32_t deterministic;   /* enum lmd_deterministic; since ABI 0.13 */
};

/* ---- memory ---- */

/* Flags of buffer_create: one of the first three, or IMPORT. */
#define LMD_BUF_DEVICE       1u /* the device's own memory; cannot be mapped */
#define LMD_BUF_PINNED       2u /* host memory that the device reads and writes; can be mapped */
#define LMD_BUF_HOST_VISIBLE 4u /* the device's memory, but can be mapped */
#define LMD_BUF_IMPORT       8u /* host memory of the caller, which outlives the buffer: devices with
				 * LMD_DEV_IMPORT_HOST */

/* ---- weights ---- */

/* One part of a weight as it lies in memory. */
struct lmd_weight_piece {
	const void *data;         /* first row; readable as long as the weight lives */
	uint64_t row_bytes;       /* distance between rows */
	uint64_t head_bytes;      /* distance between heads (n_head > 0) or slices */
	uint32_t n_row;           /* rows used (of each head or slice) */
	uint32_t n_slice;         /* heads or slices in this piece */
	uint64_t reserved[2];
};

/* A weight reference with its tensors resolved; the host has checked all sizes. */
struct lmd_weight_desc {
	uint32_t struct_size;
	uint32_t dtype;           /* enum lmd_dtype of the pieces */
	const struct lmd_weight_ref *ref; /* n, k, n_stack, transform, split, name */
	uint32_t n_piece;
	const struct lmd_weight_piece *pieces;
	const float *scale;       /* converted to f32: n_scale values, or NULL */
	uint32_t n_scale;         /* 1, N or n_stack */
	const float *bias;        /* N or n_stack*N values, or NULL */
	uint32_t n_bias;
	/* Bytes that weight_export wrote for this weight with this layout, aligned to 64 bytes, or
	 * NULL.  The backend then need not read the pieces.  weight_query gets them as well if the
	 * host has them, and tells the cost of loading from them.  They live as long as the weight
	 * if it said keeps_source, otherwise during weight_load. */
	uint32_t stored_layout;
	const void *stored;
	uint64_t stored_bytes;
};

enum lmd_placement { LMD_PLACE_IN_PLACE = 0, LMD_PLACE_COPY = 1, LMD_PLACE_REPACK = 2 };
/* Exactness of the stored form: 0 = same bits; 1 = integer-exact (same real value);
 * 2 = re-expressed within 2^-15; 3 = rounded again (only on request). */
struct lmd_weight_plan {
	uint32_t struct_size;
	uint32_t placement;       /* enum lmd_placement */
	uint32_t layout;          /* REPACK: number chosen by the backend, part of a cache file's
				   * key */
	uint32_t exactness;
	uint64_t bytes;           /* device memory in addition to the mapped file */
	uint32_t keeps_source;    /* 1: the data of pieces, scale and bias is read as long as the
				   * weight lives; 0: only during weight_load */
	uint32_t reserved;
};

/* ---- pools ---- */

/* The memory of one group for all sequences.  PAGED and CROSS: n_page pages of page_tokens rows for
 * each of its caches, and a page table [n_seq][n_index]; page 0 is an ordinary page.
 * STATE: n_slot slots for each of its caches. */
struct lmd_pool_desc {
	uint32_t struct_size;
	uint32_t group;           /* index in the plan */
	const struct lmd_group *desc;
	uint32_t n_cache;         /* caches of this group on this device only; may be 0 */
	uint32_t reserved;
	const struct lmd_cache *caches;
	const uint32_t *cache_ids; /* [n_cache] their ids in the plan */
	uint32_t n_page, page_tokens;
	uint32_t n_seq, n_index;
	uint32_t n_slot;
	uint32_t reserved2;
};

enum lmd_pool_op_kind {
	LMD_POOL_COPY_PAGE = 1, /* copy page src to page dst, all caches of the group */
	LMD_POOL_COPY_SLOT = 2, /* copy state slot src to dst */
	LMD_POOL_ZERO_SLOT = 3, /* zero state slot dst */
	LMD_POOL_EXPORT = 4,    /* write rows [row0, row0+n_row) of page src to host in canonical
				 * form: for each cache n_row rows of K (heads side by side), then
				 * n_row rows of V, in the cache's dtype, each head encoded on its
				 * own.  State slots are always exported whole: CONV dk rows of
				 * n_head*dv, each encoded as a whole; STATE n_head matrices S as
				 * defined at SCAN, row-major */
	LMD_POOL_IMPORT = 5,    /* the inverse, into page or slot dst */
	LMD_POOL_SET_TABLE = 6  /* n_row entries of the page table of sequence slot src, from index
				 * dst on, become the pages at host (uint32_t [n_row]) */
};
struct lmd_pool_op {
	uint32_t kind;
	uint32_t src, dst;
	uint32_t row0, n_row;
	uint32_t reserved;
	void *host;
	uint64_t host_bytes;
	uint64_t reserved2[2];
};

struct lmd_pool_cost {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t bytes;           /* device memory that pool_create takes */
};

/* ---- plans ---- */

struct lmd_support {
	uint32_t struct_size;
	uint32_t native;          /* 0: the host decomposes the op or runs it elsewhere */
	uint64_t est_ns;          /* per row; 0 = unknown */
	char reason[96];          /* why native is 0; otherwise "" or a remark for a person */
};

/* Memory of the values of plans and of what else a plan needs while it runs.  Its contents are
 * undefined between two runs, so plans that never run at the same time may share it. */
struct lmd_scratch {
	uint64_t bytes;
	void *ptr;                 /* devices in host memory: aligned to 64 bytes */
	struct lmd_buffer *buffer; /* other devices: DEVICE */
	uint64_t offset;
};

struct lmd_compile {
	uint32_t struct_size;
	uint32_t n_seq;            /* sequence slots are 0 .. n_seq-1 */
	const struct lmd_plan *plan;
	const struct lmd_step_layout *layout; /* of every step of this plan; valid during the call */
	struct lmd_weight *const *weights; /* [n_weight_ref] */
	struct lmd_pool *const *pools;     /* [n_group]; NULL for BATCH */
	struct lmd_devgroup *devgroup;     /* of the collectives; NULL = none.  The device's rank is
					    * plan->key.rank */
	struct lmd_scratch scratch;        /* lives as long as the compiled plan; bytes 0: the backend
					    * takes memory of its own */
};

struct lmd_plan_cost {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t scratch_bytes;   /* what lmd_compile.scratch should have */
	uint64_t bytes;           /* device memory that plan_compile takes besides */
};

/* Source of an input or destination of an output.  Devices in host memory use `ptr`; others use a
 * buffer with an offset.  An output has the rows of its value. */
struct lmd_binding {
	uint32_t id;              /* number of the external input, or enum lmd_output_id */
	uint32_t n_row;           /* available rows (inputs with rows of their own), or capacity in
				   * rows */
	uint64_t row_bytes;       /* distance between rows */
	void *ptr;
	struct lmd_buffer *buffer;
	uint64_t offset;
	uint64_t reserved[2];
};

/* For plan_observe: passed after each op, in order, for the value of every output window. */
struct lmd_observed {
	uint32_t op;              /* index in the plan */
	uint32_t value;
	uint32_t n_row, width;
	const void *data;         /* f32 or i32 rows, converted from the device's type; packed */
	uint64_t reserved[2];
};
typedef bool (*lmd_observe_fn)(void *arg, const struct lmd_observed *o); /* return false to stop */

struct lmd_opstat {
	uint32_t op;
	uint32_t reserved;
	uint64_t n_run, ns;
	uint64_t reserved2[2];
};

/* ---- adapters ---- */

struct lmd_adapter_bind {
	uint32_t struct_size;
	uint32_t slot;            /* >= 1; 0 means no adapter */
	uint32_t site;
	uint32_t rank;            /* 0: B is one vector [N] that is added at the site */
	const float *a;           /* [n_stack, rank, K]; rank 0: unused */
	const float *b;           /* [n_stack, N, rank], rank 0: [n_stack, N]; NULL unbinds */
	uint32_t n, k;            /* EMBED: N is the width, K the number of rows of the table */
	float scale;
	uint32_t n_stack;         /* slices of a stacked weight that each have their own pair; 0 or
				   * 1: one pair for all */
	/* [n_stack, N]: factors of the weight's product and of the adapter's together (DoRA,
	 * arXiv 2402.09353); NULL: 1.  A backend that lacks them refuses them with LMD_UNSUPPORTED.
	 * Since ABI 0.15. */
	const float *gain;
};

struct lmd_backend_ops {
	uint32_t struct_size;
	uint32_t reserved;

	/* Mandatory.  Returns the number of devices and fills up to cap, each with LMD_PUT: the host
	 * has set struct_size in each of out[], which is also the distance between them.  0 with an
	 * error message in why[0..n): there are none. */
	uint32_t (*enumerate)(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			      char *why, size_t n);
	/* Mandatory.  state: factory state_bytes, zeroed. */
	enum lmd_status (*open)(void *state, const struct lmd_host *host,
				const struct lmd_open_params *p, struct lmd_error *err);
	/* Mandatory.  All objects of the device have been destroyed before. */
	void (*close)(void *state);

	/* Optional: NULL = the numbers of lmd_device_info.  Memory of the device now. */
	enum lmd_status (*memory)(void *state, uint64_t *total, uint64_t *free,
				  struct lmd_error *err);

	/* Optional; NULL for devices that compute in host memory.  flags: LMD_BUF_*; `import`: the
	 * memory with LMD_BUF_IMPORT, otherwise NULL.  Contents are undefined. */
	enum lmd_status (*buffer_create)(void *state, uint64_t bytes, uint32_t flags, void *import,
					 struct lmd_buffer **out, struct lmd_error *err);
	void (*buffer_destroy)(void *state, struct lmd_buffer *b);
	/* The address of the first byte, valid until buffer_unmap or buffer_destroy.  A buffer may
	 * stay mapped while the device uses it.  LMD_INVALID: it cannot be mapped. */
	enum lmd_status (*buffer_map)(void *state, struct lmd_buffer *b, void **out,
				      struct lmd_error *err);
	void (*buffer_unmap)(void *state, struct lmd_buffer *b);
	/* If dst or src is NULL, dst_ptr or src_ptr is host memory. */
	enum lmd_status (*buffer_copy)(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				       void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				       const void *src_ptr, uint64_t src_off, uint64_t bytes,
				       struct lmd_event *done, struct lmd_error *err);

	/* Mandatory.  Computes the cost of loading this weight; LMD_UNSUPPORTED names the type or
	 * transform. */
	enum lmd_status (*weight_query)(void *state, const struct lmd_weight_desc *d,
					struct lmd_weight_plan *out, struct lmd_error *err);
	/* Mandatory.  d and its arrays are valid during the call; the data that `pieces`, scale and
	 * bias point to lives as long as the weight if weight_query said keeps_source. */
	enum lmd_status (*weight_load)(void *state, const struct lmd_weight_desc *d,
				       struct lmd_weight **out, struct lmd_error *err);
	/* Optional.  Repacked bytes for the cache file; *n as in encode (tokenizer.h).  The host asks
	 * for those of weights with LMD_PLACE_REPACK.  out: aligned to 64 bytes.  The same weight
	 * with the same layout has the same bytes on every machine. */
	enum lmd_status (*weight_export)(void *state, const struct lmd_weight *w, void *out,
					 size_t cap, size_t *n);
	void (*weight_destroy)(void *state, struct lmd_weight *w);             /* mandatory */

	/* Optional: NULL = unknown. */
	enum lmd_status (*pool_query)(void *state, const struct lmd_pool_desc *d,
				      struct lmd_pool_cost *out, struct lmd_error *err);
	/* Mandatory.  Contents are undefined until written. */
	enum lmd_status (*pool_create)(void *state, const struct lmd_pool_desc *d,
				       struct lmd_pool **out, struct lmd_error *err);
	/* Mandatory. */
	enum lmd_status (*pool_op)(void *state, struct lmd_queue *q, struct lmd_pool *pool,
				   const struct lmd_pool_op *ops, uint32_t n,
				   struct lmd_event *done, struct lmd_error *err);
	void (*pool_destroy)(void *state, struct lmd_pool *pool);              /* mandatory */

	/* Optional: NULL = no adapters. */
	enum lmd_status (*adapter_bind)(void *state, const struct lmd_adapter_bind *b,
					struct lmd_error *err);

	/* Mandatory.  Reports whether the device can run this op of this plan (types, shapes,
	 * kinds). */
	void (*op_support)(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
			   struct lmd_support *out);

	/* Optional: NULL = the plan's values alone.  What plan_compile would take; weights, pools and
	 * scratch of c may be absent. */
	enum lmd_status (*plan_query)(void *state, const struct lmd_compile *c,
				      struct lmd_plan_cost *out, struct lmd_error *err);
	/* Mandatory.  Allocates everything that plan_run needs. */
	enum lmd_status (*plan_compile)(void *state, const struct lmd_compile *c,
					struct lmd_compiled_plan **out, struct lmd_error *err);
	/* Mandatory.  Runs the plan.  The status, returned here or by an event, is LMD_CANCELLED if
	 * step.cancel stopped the plan. */
	enum lmd_status (*plan_run)(void *state, struct lmd_queue *q,
				    struct lmd_compiled_plan *plan, const struct lmd_step *step,
				    const struct lmd_binding *in, uint32_t n_in,
				    const struct lmd_binding *out, uint32_t n_out,
				    struct lmd_event *done);
	/* Optional.  Like plan_run with queue NULL, but runs op by op and shows every value. */
	enum lmd_status (*plan_observe)(void *state, struct lmd_compiled_plan *plan,
					const struct lmd_step *step, const struct lmd_binding *in,
					uint32_t n_in, lmd_observe_fn fn, void *arg);
	/* Optional.  Time of each op since the plan was compiled; returns the number of ops. */
	uint32_t (*plan_stats)(void *state, const struct lmd_compiled_plan *plan,
			       struct lmd_opstat *out, uint32_t cap);
	void (*plan_destroy)(void *state, struct lmd_compiled_plan *plan); /* mandatory */

	/* Optional, all together; NULL: callers pass queue NULL and event NULL. */
	enum lmd_status (*queue_create)(void *state, int priority, struct lmd_queue **out,
					struct lmd_error *err);
	void (*queue_destroy)(void *state, struct lmd_queue *q);
	enum lmd_status (*event_create)(void *state, struct lmd_event **out, struct lmd_error *err);
	void (*event_destroy)(void *state, struct lmd_event *e);
	/* The event fires when all calls made on the queue so far are complete.  An event that has
	 * fired, or was never used, may be recorded or given to a call. */
	enum lmd_status (*event_record)(void *state, struct lmd_queue *q, struct lmd_event *e,
					struct lmd_error *err);
	/* Waits until the event fires.  Returns the status of the work with its error message, or
	 * LMD_TIMEOUT after timeout_ns (0: does not wait).  LMD_INVALID: the event was never used.
	 * An event that has fired gives the same answer again. */
	enum lmd_status (*event_wait)(void *state, struct lmd_event *e, uint64_t timeout_ns,
				      struct lmd_error *err);
	/* Optional.  A pollable descriptor; -1 = none. */
	int (*event_fd)(void *state, struct lmd_event *e);
	/* Calls made on q after this one happen after the event has fired.  The event may be of
	 * another device of this backend. */
	enum lmd_status (*queue_wait_event)(void *state, struct lmd_queue *q, struct lmd_event *e,
					    struct lmd_error *err);

	/* Optional, both together: the collectives ALLREDUCE and ALLGATHER.  states: n >= 2 open devices of this
	 * backend, by rank; LMD_UNSUPPORTED: these cannot form a group.  No other call on them runs
	 * meanwhile.  The plans of a group are destroyed before it. */
	enum lmd_status (*group_create)(void *const *states, uint32_t n, struct lmd_devgroup **out,
					struct lmd_error *err);
	void (*group_destroy)(struct lmd_devgroup *g);

	/* The error message of the last failure of plan_run or plan_observe on this device; never
	 * NULL. */
	const char *(*last_error)(void *state);                                /* mandatory */
};

LMD_END_DECLS

#endif /* LLAMAD_BACKEND_H */
