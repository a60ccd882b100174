/* SPDX-License-Identifier: MIT
 *
 * instance.h - a model that is ready to run on a device: what load.c puts together.
 *
 * Model file, architecture and backend as plugins in use, device, weights, pools, compiled
 * plans with their step blocks, page tables.  It belongs to one engine and is used by one
 * thread at a time.  Nothing here knows of requests. */
#ifndef LLAMAD_CORE_ENGINE_INSTANCE_H
#define LLAMAD_CORE_ENGINE_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/guard.h"
#include "core/engine/lane.h"
#include "core/format/format.h"
#include "core/kv/kv.h"
#include "core/plan/plan.h"
#include "core/plugin/registry.h"
#include "llamad/arch.h"
#include "llamad/backend.h"

/* A file that is added to a model: adapter or control vector. */
struct lmi_adapter_ref {
	const char *path;
	float scale; /* times the file's own */
};

/* Told while a model is opened, in the thread that opens it: `done` of `total` bytes of a phase.
 * false gives up: LMD_CANCELLED. */
enum lmi_load_phase {
	LMI_LOAD_READ,	 /* files are read into memory, or locked there */
	LMI_LOAD_WEIGHTS /* the backend takes the weights */
};
typedef bool (*lmi_load_fn)(void *arg, enum lmi_load_phase phase, uint64_t done, uint64_t total);

/* Memory of a model at work in bytes, known before it is taken; the device's, but for `file`. */
struct lmi_memory {
	uint64_t file;	    /* of the files, mapped: shared with whoever else reads them */
	uint64_t copied;    /* of the files, read into memory */
	uint64_t weights;   /* in a layout of the backend's own, beyond the files */
	uint64_t adapters;  /* of adapter_files */
	uint64_t sequences; /* keys, values and states */
	uint64_t step;	    /* values of a step */
	uint64_t results;   /* of a step */
	uint64_t budget;    /* what all but `file` may take; UINT64_MAX: not known */
};

struct lmi_inst_opts {
	struct lmi_registry *registry; /* outlives the instance */
	const struct lmd_host *host;   /* likewise */
	const char *path;	       /* of the model file */
	const char *label;	       /* what others call the model, for the log; NULL = none */
	const char *backend;	       /* name; NULL or "auto": the best there is */
	uint32_t device;	       /* number of the backend's device */
	uint32_t n_thread;	       /* CPUs: threads; 0 = one for each processor */
	uint32_t activations;	       /* enum lmd_activations */
	uint32_t attention;	       /* enum lmd_attention */
	uint32_t n_ctx;		       /* tokens of a sequence; 0 = the model's, or what fits */
	uint32_t n_seq;		       /* sequences at a time; 0 = 1 */
	uint32_t n_batch;	       /* rows of a step; 0 = 512, or n_whole when rows see ahead */
	uint32_t n_whole;	       /* tokens of the longest sequence to come; 0 = n_ctx */
	uint32_t n_out;		       /* rows of a step that leave; 0 = what 64 MiB hold, or all
					 * when rows see ahead */
	uint64_t kv_tokens;	       /* tokens of all sequences; 0 = n_seq times n_ctx */
	bool share_kv;		       /* kv_tokens 0: as many as half of the memory holds */
	int32_t kv_dtype;	       /* enum lmd_dtype; -1 = what the device likes */
	int32_t pooling;	       /* enum lmd_pooling, or LMD_POOL_UNSET */
	uint64_t memory_limit;	       /* bytes; 0 = what the machine says is available */
	uint32_t open_flags;	       /* LMI_OPEN_* of format.h */
	lmi_load_fn progress;	       /* NULL: nobody waits */
	void *progress_arg;
	bool adapters;		       /* rows may carry adapters (lmi_inst_bind) */
	const struct lmi_adapter_ref *adapter_files; /* [n_adapter_files]: all rows that name no
						      * slot carry these together, in slot 1 */
	uint32_t n_adapter_files;
	bool keep_values;	       /* plans whose values share no memory (observation) */
	bool apart;		       /* plans of plain ops: what goes into a weight is a value */
	struct lmi_lane *lane;	       /* of the device, shared by engines; NULL = none */
};

/* A compiled plan and its step block. */
struct lmi_exec {
	struct lmd_plan_key key;
	struct lmd_error failed; /* status LMD_OK, or why there is no plan for the key */
	struct lmi_plan *plan;
	const struct lmd_plan *view;
	struct lmd_cplan *cplan;
	struct lmd_weight **weights; /* [view->n_wref], borrowed from the instance */
	struct lmi_step *step;
	uint32_t out_id;    /* enum lmd_out */
	uint32_t out_width; /* columns of its rows */
	uint32_t out_space; /* enum lmd_space */
	uint32_t out_rows;  /* room for them in the instance's out */
};

#define LMI_MAX_EXEC 16

struct lmi_weights;

struct lmi_inst {
	const struct lmd_host *host;
	struct lmi_registry *registry;
	struct lmi_model *file;
	const struct lmd_model *model;
	struct lmd_arena *arena; /* of the architecture's description */
	const struct lmi_factory *arch, *backend;
	struct lmd_arch_desc desc;
	struct lmd_team *team;
	uint32_t n_thread;
	void *dev; /* state of the backend; open when dev_open */
	bool dev_open;
	struct lmd_device_info info;
	struct lmi_weights *weights;
	struct lmd_pool *pools[LMD_MAX_GROUP];
	struct lmi_kv *kv;
	struct lmi_exec *execs[LMI_MAX_EXEC];
	uint32_t n_exec;
	struct lmi_lane *lane;
	uint32_t lane_id;
	enum lmi_class lane_class; /* of the step that runs next; the engine sets it */
	struct lmi_guard guard;	   /* of the mapped files */

	lmi_load_fn progress; /* while it is opened */
	void *progress_arg;

	uint32_t n_ctx, n_seq, n_batch, n_out, kv_dtype;
	bool ctx_cut;	  /* n_ctx is what memory holds, not what the model could */
	bool looks_ahead; /* some group is not causal: a sequence runs in one step */
	bool keep_values, apart;
	bool has_adapters; /* plans let rows carry adapters */
	int32_t own_adapter; /* slot of rows that name none */
	bool copies; /* an estimate for files that would be read into memory */
	uint64_t available; /* the limit, or what the machine had at the start; 0: not known */
	uint64_t file_bytes, weight_bytes, kv_bytes, budget;
	struct lmi_memory estimate; /* of the plan that most requests use */
	uint64_t scratch_bytes; /* of all plans */
	/* results of a step: n_out (or n_seq) rows of the widest output so far */
	float *out;
	uint64_t out_bytes;
	/* external rows of a step, [n_batch][n_input_embd]; NULL until somebody has some */
	float *ext;
};

/* Opens everything, with the plan that most requests use; that this one cannot be made is told to
 * whoever asks for it, but memory that does not suffice is told here, before it is taken.
 * Sentences begin with what was asked for.  Calls may block on the disk. */
enum lmd_status lmi_inst_open(struct lmi_inst **out, const struct lmi_inst_opts *opts,
			      struct lmd_error *err);
/* NULL allowed. */
void lmi_inst_close(struct lmi_inst *inst);

/* What opening with these options would take, without taking it: no data is read, no pool made.
 * n_ctx: the context length that fits. */
enum lmd_status lmi_inst_estimate(struct lmi_memory *out, uint32_t *n_ctx,
				  const struct lmi_inst_opts *opts, struct lmd_error *err);

/* All that is taken from the budget. */
uint64_t lmi_memory_sum(const struct lmi_memory *m);

/* The number of the compiled plan for a key, made when it is new.  No step may be running. */
enum lmd_status lmi_inst_exec(struct lmi_inst *inst, const struct lmd_plan_key *key, uint32_t *exec,
			      struct lmd_error *err);

/* Puts an adapter for one base tensor into a slot >= 1: to what the tensor gives is added
 * scale * b (a x).  site: the tensor's name without ".weight".  a [rank, k], b [n, rank]; copied
 * by the backend as backend.h says; rank 0: b is one vector [n].  No step may be running.
 * LMD_INVALID: opened without adapters; LMD_NOTFOUND: no adapter can sit there. */
struct lmi_adapter {
	uint32_t slot;
	const char *site;
	uint32_t rank, n, k;
	uint32_t n_stack; /* slices of a stack of experts, each with a pair; 0 counts as 1 */
	const float *a, *b;
	float scale;
};
enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_adapter *ad,
			      struct lmd_error *err);
/* Reads files and puts them all into a slot; adapter.c. */
enum lmd_status lmi_inst_add_adapters(struct lmi_inst *inst, const struct lmi_adapter_ref *refs,
				      uint32_t n, uint32_t slot, struct lmd_error *err);

/* What these files will take in a slot; no number is read. */
enum lmd_status lmi_inst_measure_adapters(struct lmi_inst *inst, const struct lmi_adapter_ref *refs,
					  uint32_t n, uint64_t *bytes, struct lmd_error *err);

/* The pooling that is meant when `asked` (enum lmd_pooling) was asked for. */
int32_t lmi_inst_pooling(const struct lmi_inst *inst, int32_t asked);

/* Says that external rows will come: makes room for them. */
enum lmd_status lmi_inst_want_rows(struct lmi_inst *inst, struct lmd_error *err);

/* ---- exec.c ---- */

/* The plan that most requests use: logits, or for encoders the embedding. */
struct lmd_plan_key lmi_inst_main_key(const struct lmi_inst *inst);
/* Fills weights, step and results of m for it, from a plan that is built and thrown away.
 * Zeros when the model has no such plan. */
enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmi_memory *m,
				 struct lmd_error *err);

/* ---- settle.c ---- */

struct lmi_place;

/* Bytes of files that may be read into memory; 0 = not known. */
uint64_t lmi_inst_max_copy(const struct lmi_inst *inst, const struct lmi_inst_opts *opts);
/* Describes the model, checks its tensors and chooses all sizes: rows of a step, budget, context
 * length, pages (*place).  Takes no memory that grows with the model. */
enum lmd_status lmi_inst_settle(struct lmi_inst *inst, const struct lmi_inst_opts *opts,
				struct lmi_place *place, struct lmd_error *err);
/* The pools and page tables of that size. */
enum lmd_status lmi_inst_open_pools(struct lmi_inst *inst, const struct lmi_place *place,
				    struct lmd_error *err);

/* ---- weights.c ---- */

enum lmd_status lmi_weights_create(struct lmi_weights **out, struct lmi_inst *inst,
				   struct lmd_error *err);
void lmi_weights_destroy(struct lmi_weights *w);
/* Loads what the plan's wrefs name and is not there yet; fills out[n_wref].  The plan lives as
 * long as the instance.  fn NULL: nobody is told. */
enum lmd_status lmi_weights_load(struct lmi_weights *w, const struct lmd_plan *plan,
				 struct lmd_weight **out, lmi_load_fn fn, void *arg,
				 struct lmd_error *err);
/* What they take beyond the mapped file. */
enum lmd_status lmi_weights_query(struct lmi_weights *w, const struct lmd_plan *plan,
				  uint64_t *bytes, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_INSTANCE_H */
