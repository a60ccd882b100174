/* SPDX-License-Identifier: MIT
 *
 * instance.h - a model that is ready to run on a device, assembled by load.c.
 *
 * It consists of the model file, the architecture and backend plugins in use, the device, weights,
 * pools, compiled plans with their step blocks, and page tables. It belongs to one engine and is
 * used by one thread at a time. Nothing here knows about requests. */
#ifndef LLAMAD_CORE_ENGINE_INSTANCE_H
#define LLAMAD_CORE_ENGINE_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/device_arbiter.h"
#include "core/engine/engine.h"
#include "core/engine/guard.h"
#include "core/kv/kv.h"
#include "core/plan/plan.h"
#include "core/plugin/registry.h"
#include "llamad/arch.h"
#include "llamad/backend.h"

/* Rows that host and device exchange.  On a device in host memory `host` is all there is. */
struct lmi_engine_shared {
	struct lmd_buffer *device; /* what bindings name */
	struct lmd_buffer *pinned; /* host memory that the device provided; NULL: `own` */
	void *host;
	void *own;
	uint64_t bytes;
};

/* Maximum number of steps that are submitted and not finished: one that runs and one after it. */
#define LMI_ENGINE_MAX_STEP 2

/* Maximum number of buckets of a device (struct lmd_device_info). */
#define LMI_ENGINE_MAX_BUCKET 16

/* A compiled plan and its step blocks, one for each slot. */
struct lmi_engine_exec {
	struct lmd_plan_key key;
	struct lmi_engine_exec *smaller[LMI_ENGINE_MAX_BUCKET]; /* the same plan for fewer rows:
								 * buckets, ascending */
	uint32_t n_smaller;
	struct lmd_error failed; /* status LMD_OK, or why there is no plan for the key */
	struct lmi_plan *plan;
	const struct lmd_plan *view;
	struct lmd_compiled_plan *compiled_plan;
	struct lmd_weight **weights; /* [view->n_weight_ref], borrowed from the instance */
	struct lmd_step_layout layout;
	struct lmi_plan_step *step[LMI_ENGINE_MAX_STEP];
	struct lmi_engine_shared block[LMI_ENGINE_MAX_STEP]; /* memory of the step blocks */
	uint32_t out_id;    /* enum lmd_output_id */
	uint32_t out_width; /* columns of its rows */
	uint32_t out_space; /* enum lmd_space */
	uint32_t out_rows;  /* number of rows that fit in the results of a slot */
};

/* What one submitted step owns until it is finished, besides its block. */
struct lmi_engine_slot {
	/* results: n_out (or n_seq) rows of the widest output so far; out = out_rows.host */
	struct lmi_engine_shared out_rows;
	float *out;
	/* external rows, [n_batch][n_input_embd]; ext = ext_rows.host, NULL until needed */
	struct lmi_engine_shared ext_rows;
	float *ext;
	uint32_t *pages; /* [inst->n_pages] of page tables that the device has yet to read */
	uint32_t n_page; /* used */
	struct lmd_event *event; /* fires after the step; NULL: no queue */
	bool recorded;		 /* the event was recorded */
	bool waited;		 /* the step was not complete when it was waited for */
	struct lmd_error failed; /* status LMD_OK, or why the step could not be submitted */
};

#define LMI_ENGINE_MAX_EXEC 16

struct lmi_engine_weights;

struct lmi_inst {
	const struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	struct lmi_model *file;
	const struct lmd_model *model;
	struct lmd_arena *arena; /* arena of the architecture's description */
	const struct lmi_factory *arch, *backend;
	struct lmd_arch_desc desc;
	struct lmd_team *team;
	uint32_t n_thread;
	void *dev; /* state of the backend; open if dev_open */
	bool dev_open;
	struct lmd_device_info info;
	struct lmi_engine_weights *weights;
	struct lmd_pool *pools[LMD_MAX_GROUP];
	struct lmi_kv *kv;
	struct lmi_engine_exec *execs[LMI_ENGINE_MAX_EXEC];
	uint32_t n_exec;
	uint32_t n_compiled; /* plans, including those of all buckets */
	struct lmi_device_arbiter *arbiter;
	uint32_t arbiter_id;
	enum lmi_engine_class step_class; /* class of the next step; set by the engine */
	struct lmi_engine_guard guard;    /* guards the mapped files */

	lmi_engine_load_fn progress; /* only while opening */
	void *progress_arg;

	uint32_t n_ctx, n_seq, n_batch, n_out, kv_dtype;
	bool ctx_cut;	  /* n_ctx is limited by memory, not by the model */
	bool looks_ahead; /* some group is not causal: a sequence must run in one step */
	bool keep_values, unfused, cache_prefixes;
	bool has_adapters; /* rows of plans may have adapters */
	int32_t own_adapter; /* slot for rows that name none */
	bool copies; /* estimating for files that would be read into memory */
	uint64_t available; /* the limit, or the machine's available memory at the start; 0:
			     * unknown */
	uint64_t file_bytes, weight_bytes, kv_bytes, budget;
	struct lmi_engine_memory estimate; /* for the plan that most requests use */
	uint64_t scratch_bytes; /* for all plans */
	struct lmd_queue *queue; /* NULL: every call is complete when it returns */
	struct lmd_event *event;
	struct lmi_engine_slot slot[LMI_ENGINE_MAX_STEP];
	uint32_t n_slot;    /* usable ones: 1 without a queue */
	uint32_t n_running; /* steps submitted and not finished */
	uint32_t n_pages;   /* length of each slot's pages */
	uint64_t out_bytes; /* of the results of each slot */
};

/* ---- device_memory.c ---- */

#define LMI_ENGINE_SHARED_DEVICE 1u /* with a buffer in the device's memory */

enum lmd_status lmi_engine_shared_create(struct lmi_inst *inst, struct lmi_engine_shared *m,
					 uint64_t bytes, uint32_t sides, struct lmd_error *err);
/* m may be zeroed. */
void lmi_engine_shared_destroy(struct lmi_inst *inst, struct lmi_engine_shared *m);
/* Copy the first bytes to or from the device, on the instance's queue; nothing to do on a device in
 * host memory. */
enum lmd_status lmi_engine_shared_upload(struct lmi_inst *inst, const struct lmi_engine_shared *m,
					 uint64_t bytes, struct lmd_error *err);
enum lmd_status lmi_engine_shared_download(struct lmi_inst *inst, const struct lmi_engine_shared *m,
					   uint64_t bytes, struct lmd_error *err);

/* Returns the free bytes of a device with memory of its own. */
uint64_t lmi_engine_device_free(const struct lmi_inst *inst);

/* Creates the instance's queue and the events of its slots if the device has queues. */
enum lmd_status lmi_engine_queue_open(struct lmi_inst *inst, struct lmd_error *err);
void lmi_engine_queue_close(struct lmi_inst *inst);
/* Waits until all calls on the queue are complete; returns their status. */
enum lmd_status lmi_engine_queue_finish(struct lmi_inst *inst, struct lmd_error *err);

/* Opens everything, and prepares the plan that most requests use. If that plan cannot be made, the
 * requests that need it fail; but insufficient memory is reported here, before it is allocated.
 * Error messages name the path of the model. Calls may block on the disk. */
enum lmd_status lmi_inst_open(struct lmi_inst **out, const struct lmi_engine_model_opts *opts,
			      struct lmd_error *err);
/* inst may be NULL. */
void lmi_inst_close(struct lmi_inst *inst);

/* Returns the number of the compiled plan for a key; compiles it, for all buckets of the device, if it
 * is new. LMD_BUSY: it is new, but steps are running; call again when they are finished. */
enum lmd_status lmi_inst_exec(struct lmi_inst *inst, const struct lmd_plan_key *key, uint32_t *exec,
			      struct lmd_error *err);

/* Puts an adapter for one base tensor into a slot >= 1: scale * b (a x) is added to the tensor's
 * product. site: the tensor's name without ".weight". a [rank, k], b [n, rank]; the backend copies
 * them as described in backend.h; rank 0: b is one vector [n]. No step may be running. LMD_INVALID:
 * opened without adapters; LMD_NOTFOUND: no adapter can be applied there. */
struct lmi_engine_adapter {
	uint32_t slot;
	const char *site;
	uint32_t rank, n, k;
	uint32_t n_stack; /* slices of a stack of experts, each with its own pair; 0 counts as 1 */
	const float *a, *b;
	float scale;
};
enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_engine_adapter *ad,
			      struct lmd_error *err);
/* Reads files and puts them all into one slot; adapter.c. */
enum lmd_status lmi_inst_add_adapters(struct lmi_inst *inst,
				      const struct lmi_engine_adapter_ref *refs, uint32_t n,
				      uint32_t slot, struct lmd_error *err);

/* Computes the memory these files would take in a slot, without reading their numbers. */
enum lmd_status lmi_inst_measure_adapters(struct lmi_inst *inst,
					  const struct lmi_engine_adapter_ref *refs, uint32_t n,
					  uint64_t *bytes, struct lmd_error *err);

/* Resolves a requested pooling (enum lmd_pooling): LMD_POOL_UNSET means the model's own. */
int32_t lmi_inst_pooling(const struct lmi_inst *inst, int32_t asked);

/* Allocates space for external rows. LMD_BUSY as above. */
enum lmd_status lmi_inst_reserve_external_rows(struct lmi_inst *inst, struct lmd_error *err);

/* ---- exec.c ---- */

/* Returns the variant of a plan for the smallest bucket that n_row rows fit in. */
struct lmi_engine_exec *lmi_engine_exec_for(struct lmi_engine_exec *e, uint32_t n_row);
void lmi_engine_exec_close(struct lmi_inst *inst, struct lmi_engine_exec *e);
/* Frees the plans, to which weights refer as long as they live. e may be NULL. */
void lmi_engine_exec_destroy(struct lmi_engine_exec *e);

/* Returns the key of the plan that most requests use: logits, or for encoders the embedding. */
struct lmd_plan_key lmi_inst_main_key(const struct lmi_inst *inst);
/* Fills in weights, step and results of m for that plan, which is built and discarded. All are 0 if
 * the model has no such plan. */
enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmi_engine_memory *m,
				 struct lmd_error *err);

/* ---- resolve_sizes.c ---- */

struct lmi_engine_memory_plan;

/* Returns how many bytes of files may be read into memory; 0 = unknown. */
uint64_t lmi_inst_max_copy(const struct lmi_inst *inst, const struct lmi_engine_model_opts *opts);
/* Describes the model, checks its tensors and chooses all sizes: rows of a step, budget, context
 * length, pages (*place). Allocates nothing that grows with the model. */
enum lmd_status lmi_inst_resolve_sizes(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts,
				       struct lmi_engine_memory_plan *place, struct lmd_error *err);
/* Creates the pools and page tables of that size. */
enum lmd_status lmi_inst_open_pools(struct lmi_inst *inst,
				    const struct lmi_engine_memory_plan *place,
				    struct lmd_error *err);

/* ---- weights.c ---- */

enum lmd_status lmi_engine_weights_create(struct lmi_engine_weights **out, struct lmi_inst *inst,
					  struct lmd_error *err);
void lmi_engine_weights_destroy(struct lmi_engine_weights *w);
/* Loads the weights that the plan refers to and that are not yet loaded; fills in
 * out[n_weight_ref]. The plan must live as long as the instance. fn may be NULL. */
enum lmd_status lmi_engine_weights_load(struct lmi_engine_weights *w, const struct lmd_plan *plan,
					struct lmd_weight **out, lmi_engine_load_fn fn, void *arg,
					struct lmd_error *err);
/* Returns the bytes they take beyond the mapped file. */
enum lmd_status lmi_engine_weights_query(struct lmi_engine_weights *w, const struct lmd_plan *plan,
					 uint64_t *bytes, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_INSTANCE_H */
