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

#include "core/engine/guard.h"
#include "core/engine/device_arbiter.h"
#include "core/format/format.h"
#include "core/kv/kv.h"
#include "core/plan/plan.h"
#include "core/plugin/registry.h"
#include "llamad/arch.h"
#include "llamad/backend.h"

/* A file applied to a model: adapter or control vector. */
struct lmi_engine_adapter_ref {
	const char *path;
	float scale; /* multiplies the file's own scale */
};

/* Progress callback while a model is opened, called on the opening thread: `done` of `total` bytes
 * of a phase. Returning false cancels with LMD_CANCELLED. */
enum lmi_engine_load_phase {
	LMI_ENGINE_LOAD_READ,   /* reading files into memory, or locking them there */
	LMI_ENGINE_LOAD_WEIGHTS /* passing weights to the backend */
};
typedef bool (*lmi_engine_load_fn)(void *arg, enum lmi_engine_load_phase phase, uint64_t done,
				   uint64_t total);

/* Memory of a loaded model in bytes, known before it is allocated. All but `file` is memory of the
 * device. */
struct lmi_engine_memory {
	uint64_t file;	    /* mapped files; shared with other readers */
	uint64_t copied;    /* files read into memory */
	uint64_t weights;   /* weights in the backend's own layout, beyond the files */
	uint64_t adapters;  /* of adapter_files */
	uint64_t sequences; /* keys, values and states */
	uint64_t step;	    /* values of a step */
	uint64_t results;   /* results of a step */
	uint64_t budget;    /* limit for everything but `file`; UINT64_MAX: unknown */
};

struct lmi_inst_opts {
	struct lmi_plugin_registry *registry; /* must outlive the instance */
	const struct lmd_host *host;   /* must outlive the instance */
	const char *path;	       /* of the model file */
	const char *label;	       /* the model's name for its users, for the log; may be NULL */
	const char *backend;	       /* name; NULL or "auto": the best available */
	uint32_t device;	       /* number of the backend's device */
	uint32_t n_thread;	       /* CPU threads; 0 = one per processor */
	uint32_t activations;	       /* enum lmd_activations */
	uint32_t attention;	       /* enum lmd_attention */
	uint32_t n_ctx;		       /* context length of a sequence; 0 = the model's, or what
				        * fits */
	uint32_t n_seq;		       /* sequences at a time; 0 = 1 */
	uint32_t n_batch;	       /* rows of a step; 0 = 512, or n_whole if rows attend to
				        * later ones */
	uint32_t n_whole;	       /* tokens of the longest expected sequence; 0 = n_ctx */
	uint32_t n_out;		       /* output rows of a step; 0 = as many as fit in 64 MiB, or
				        * all if rows attend to later ones */
	uint64_t kv_tokens;	       /* tokens of all sequences; 0 = n_seq times n_ctx */
	bool share_kv;		       /* if kv_tokens is 0: as many as fit in half of the memory */
	int32_t kv_dtype;	       /* enum lmd_dtype; -1 = the device's preference */
	int32_t pooling;	       /* enum lmd_pooling, or LMD_POOL_UNSET */
	uint64_t memory_limit;	       /* bytes; 0 = the machine's available memory */
	uint32_t open_flags;           /* LMI_ENGINE_OPEN_* of format.h */
	lmi_engine_load_fn progress;   /* may be NULL */
	void *progress_arg;
	bool adapters;		       /* rows may carry adapters (lmi_inst_bind) */
	const struct lmi_engine_adapter_ref
		*adapter_files; /* [n_adapter_files], applied together in slot
						      * 1 to all rows that name no slot */
	uint32_t n_adapter_files;
	bool keep_values;	       /* values of a plan share no memory (for observation) */
	bool unfused;                  /* unfused plans of plain ops: the input of each weight is a
				        * value */
	struct lmi_device_arbiter
		*arbiter; /* queue of the device, shared by engines; NULL = none */
};

/* A compiled plan and its step block. */
struct lmi_engine_exec {
	struct lmd_plan_key key;
	struct lmd_error failed; /* status LMD_OK, or why there is no plan for the key */
	struct lmi_plan *plan;
	const struct lmd_plan *view;
	struct lmd_compiled_plan *compiled_plan;
	struct lmd_weight **weights; /* [view->n_weight_ref], borrowed from the instance */
	struct lmi_plan_step *step;
	uint32_t out_id;    /* enum lmd_output_id */
	uint32_t out_width; /* columns of its rows */
	uint32_t out_space; /* enum lmd_space */
	uint32_t out_rows;  /* number of rows that fit in the instance's out */
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
	struct lmi_device_arbiter *arbiter;
	uint32_t arbiter_id;
	enum lmi_engine_class step_class; /* class of the next step; set by the engine */
	struct lmi_engine_guard guard;    /* guards the mapped files */

	lmi_engine_load_fn progress; /* only while opening */
	void *progress_arg;

	uint32_t n_ctx, n_seq, n_batch, n_out, kv_dtype;
	bool ctx_cut;	  /* n_ctx is limited by memory, not by the model */
	bool looks_ahead; /* some group is not causal: a sequence must run in one step */
	bool keep_values, unfused;
	bool has_adapters; /* rows of plans may have adapters */
	int32_t own_adapter; /* slot for rows that name none */
	bool copies; /* estimating for files that would be read into memory */
	uint64_t available; /* the limit, or the machine's available memory at the start; 0:
			     * unknown */
	uint64_t file_bytes, weight_bytes, kv_bytes, budget;
	struct lmi_engine_memory estimate; /* for the plan that most requests use */
	uint64_t scratch_bytes; /* for all plans */
	/* results of a step: n_out (or n_seq) rows of the widest output so far */
	float *out;
	uint64_t out_bytes;
	/* external rows of a step, [n_batch][n_input_embd]; NULL until needed */
	float *ext;
};

/* Opens everything, and prepares the plan that most requests use. If that plan cannot be made, the
 * requests that need it fail; but insufficient memory is reported here, before it is allocated.
 * Error messages name the path of the model. Calls may block on the disk. */
enum lmd_status lmi_inst_open(struct lmi_inst **out, const struct lmi_inst_opts *opts,
			      struct lmd_error *err);
/* inst may be NULL. */
void lmi_inst_close(struct lmi_inst *inst);

/* Estimates the memory that opening with these options would take, without allocating it: reads no
 * data and creates no pool. n_ctx: the context length that fits. */
enum lmd_status lmi_inst_estimate(struct lmi_engine_memory *out, uint32_t *n_ctx,
				  const struct lmi_inst_opts *opts, struct lmd_error *err);

/* Sums up everything that counts against the budget. */
uint64_t lmi_engine_memory_sum(const struct lmi_engine_memory *m);

/* Returns the number of the compiled plan for a key; compiles it if it is new. No step may be
 * running. */
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

/* Allocates space for external rows. */
enum lmd_status lmi_inst_reserve_external_rows(struct lmi_inst *inst, struct lmd_error *err);

/* ---- exec.c ---- */

/* Returns the key of the plan that most requests use: logits, or for encoders the embedding. */
struct lmd_plan_key lmi_inst_main_key(const struct lmi_inst *inst);
/* Fills in weights, step and results of m for that plan, which is built and discarded. All are 0 if
 * the model has no such plan. */
enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmi_engine_memory *m,
				 struct lmd_error *err);

/* ---- resolve_sizes.c ---- */

struct lmi_engine_memory_plan;

/* Returns how many bytes of files may be read into memory; 0 = unknown. */
uint64_t lmi_inst_max_copy(const struct lmi_inst *inst, const struct lmi_inst_opts *opts);
/* Describes the model, checks its tensors and chooses all sizes: rows of a step, budget, context
 * length, pages (*place). Allocates nothing that grows with the model. */
enum lmd_status lmi_inst_resolve_sizes(struct lmi_inst *inst, const struct lmi_inst_opts *opts,
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
