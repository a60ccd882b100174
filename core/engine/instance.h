/* SPDX-License-Identifier: MIT
 *
 * instance.h - a model that is ready to run on one or more devices, assembled by load.c.
 *
 * It consists of the model file, the architecture and backend plugins in use, the devices, weights,
 * pools, compiled plans with their step blocks, and page tables. It belongs to one engine and is
 * used by one thread at a time. Nothing here knows about requests.
 *
 * With several devices, a plan is cut into segments, one device each, that run in order. Each device has
 * the weights and caches of its ops. Page tables are the same on all of them. */
#ifndef LLAMAD_CORE_ENGINE_INSTANCE_H
#define LLAMAD_CORE_ENGINE_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/devices.h"
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
	struct lmd_buffer *pinned; /* host memory that the device provided; NULL: `own`, or mapped `device` */
	void *host;
	void *own;
	uint64_t bytes;
};

/* Maximum number of steps that are submitted and not finished: one that runs and one after it. */
#define LMI_ENGINE_MAX_STEP 2

/* Maximum number of caches of a model. */
#define LMI_ENGINE_MAX_CACHE 4096

/* Maximum number of different plans of a model. */
#define LMI_ENGINE_MAX_EXEC 16

/* Maximum number of buckets of a device (struct lmd_device_info). */
#define LMI_ENGINE_MAX_BUCKET 16

/* A value that leaves a segment. */
struct lmi_engine_leaving {
	uint32_t out_id;    /* enum lmd_output_id in the segment's plan */
	uint32_t space;	    /* enum lmd_space */
	uint32_t row_bytes; /* rows are packed */
	uint32_t n_row;	    /* that fit */
	struct lmi_engine_shared rows[LMI_ENGINE_MAX_STEP];
};

/* A value that a segment gets from an earlier one. */
struct lmi_engine_arriving {
	uint32_t input;	  /* number in the segment's plan */
	uint32_t segment; /* it comes from */
	uint32_t leaving; /* index there */
	struct lmi_engine_shared rows[LMI_ENGINE_MAX_STEP]; /* unused if the device can use those of
							     * the segment it comes from */
};

/* The part of a plan that runs on one device without interruption. */
struct lmi_engine_segment {
	uint32_t device; /* index in inst->devices */
	const struct lmd_plan *view;
	struct lmd_weight **weights; /* [view->n_weight_ref], borrowed from the device */
	struct lmd_compiled_plan *compiled_plan;
	struct lmi_engine_arriving *in; /* [n_in] */
	struct lmi_engine_leaving *out; /* [n_out] */
	uint32_t n_in, n_out;
	struct lmd_binding *bindings; /* [n_in + 1 + n_out + 2], used while a step is submitted */
	struct lmd_event *left[LMI_ENGINE_MAX_STEP]; /* fires when its values have left it; NULL: no
						      * queue, or nothing leaves */
	bool recorded[LMI_ENGINE_MAX_STEP];
};

/* A compiled plan and its step blocks, one for each slot and device. */
struct lmi_engine_exec {
	struct lmd_plan_key key;
	struct lmi_engine_exec *smaller[LMI_ENGINE_MAX_BUCKET]; /* the same plan for fewer rows:
								 * buckets, ascending */
	uint32_t n_smaller;
	struct lmd_error failed; /* status LMD_OK, or why there is no plan for the key */
	struct lmi_plan *plan;
	const struct lmd_plan *view;
	struct lmi_plan_segments *cut;	  /* NULL: one segment, the whole plan */
	struct lmi_engine_segment *segments; /* [n_segment] */
	uint32_t n_segment;
	struct lmd_step_layout layout;	  /* the same on all devices */
	uint32_t first;			  /* device whose step is filled; the others get copies */
	struct lmi_plan_step *step[LMI_ENGINE_MAX_STEP][LMI_ENGINE_MAX_DEVICE];
	struct lmi_engine_shared block[LMI_ENGINE_MAX_STEP][LMI_ENGINE_MAX_DEVICE];
	uint32_t devices;    /* bit i: a segment runs on device i of the instance */
	uint32_t out_segment; /* it has the output */
	uint32_t out_id;    /* enum lmd_output_id */
	uint32_t out_width; /* columns of its rows */
	uint32_t out_space; /* enum lmd_space */
	uint32_t out_rows;  /* number of rows that fit in the results of a slot */
	/* the segment that has the hidden rows of a plan with LMD_PLAN_HIDDEN; LMD_NONE: there are none */
	uint32_t hidden_segment;
	uint32_t groups; /* bit g: it uses group g; others are left alone */
	bool samples, chains; /* the device can choose tokens; and read them in the next step */
	bool bests;   /* the device can find the best candidates of its rows */
	bool grouped; /* the ranks exchange values by collectives: a segment for each device of the group,
		       * which have to be submitted all, whatever happens to one of them */
	/* the plan with collectives, if a device of the group has refused it; weights may refer to its
	 * operands. NULL: none */
	struct lmi_engine_exec *refused;
	/* the same plan with LMD_PLAN_TREE, one of the instance's; NULL: guesses have no branches (draft_tree.h) */
	struct lmi_engine_exec *tree;
};

/* What one submitted step owns until it is finished, besides its block. */
struct lmi_engine_slot {
	/* results: n_out (or n_seq) rows of the widest output so far, on the device that has the
	 * output; out: those of the last step that was submitted */
	struct lmi_engine_shared out_rows[LMI_ENGINE_MAX_DEVICE];
	float *out;
	/* hidden rows of plans with LMD_PLAN_HIDDEN, [n_batch][lmi_inst_hidden_width], on the device that has them;
	 * hidden: those of the last step */
	struct lmi_engine_shared hidden_rows[LMI_ENGINE_MAX_DEVICE];
	float *hidden;
	/* those that a DRAFT plan reads, and those that it puts out, on its device; it runs while the hidden rows
	 * of the model are still read. host NULL: there is no such plan */
	struct lmi_engine_shared before_rows, draft_rows;
	/* external rows, [n_batch][n_input_embd], on the device that reads them; ext =
	 * ext_rows.host, NULL until needed */
	struct lmi_engine_shared ext_rows;
	float *ext;
	uint32_t *pages; /* [inst->n_pages] of page tables that the device has yet to read */
	uint32_t n_page; /* used */
	struct lmi_engine_exec *exec; /* the plan of the step */
	const struct lmi_engine_rows *parts; /* [n_part] of the step, while it is submitted */
	uint32_t n_part;
	bool samples; /* the device chooses tokens */
	bool bests;   /* of some rows only the best candidates are copied */
	bool waited;		 /* the step was not complete when it was waited for */
	struct lmd_error failed; /* status LMD_OK, or why the step could not be submitted */
};

struct lmi_engine_weights;

/* Instances that work for another one (second_instance.h). */
enum lmi_inst_second { LMI_INST_TOWER, LMI_INST_DRAFT, LMI_INST_N_SECOND };

/* Bytes of a device's own memory that stay free for each instance. */
#define LMI_INST_MARGIN (4ull << 20)

/* What one of them will take. */
struct lmi_inst_need {
	struct lmi_engine_device_share devices[LMI_ENGINE_MAX_DEVICE];
	uint32_t n_device;
	uint64_t file; /* bytes of its mapped files */
};

/* A device that an instance uses, and what it owns there. */
struct lmi_inst_device {
	struct lmi_engine_open_device *open;
	const struct lmd_backend_ops *ops;
	void *state;
	const struct lmd_device_info *info;
	const char *name;
	uint32_t arbiter_id;
	bool joined;		 /* arbiter_id is valid */
	bool held;		 /* it is this instance's turn */
	struct lmd_queue *queue; /* NULL: every call is complete when it returns */
	struct lmd_event *event;
	struct lmd_event *done[LMI_ENGINE_MAX_STEP]; /* fires when a step is complete here */
	bool recorded[LMI_ENGINE_MAX_STEP];
	struct lmd_pool *pools[LMD_MAX_GROUP];
	struct lmi_engine_weights *weights;
	/* memory of values, shared by plans, largest last */
	struct lmi_engine_shared scratch[LMI_ENGINE_MAX_EXEC];
	uint32_t n_scratch;
	uint64_t out_bytes;    /* of the results of each slot */
	uint64_t best_bytes;   /* of their best candidates */
	uint64_t hidden_bytes; /* of hidden rows of all slots */
	uint64_t weight_bytes; /* loaded, beyond the files */
	uint64_t scratch_bytes, link_bytes;
	bool opened_repack, tried_repack; /* repack_cache.h */
	/* weights that were exported to the repack cache, and those that came from there */
	uint32_t n_exported, n_from_cache;
	uint64_t free_bytes;		   /* found at the start; UINT64_MAX: unknown */
	struct lmi_engine_memory estimate; /* for the plan that most requests use */
	struct lmi_engine_claim claim;
	struct lmi_engine_shared staging; /* transfer.c; created by the first transfer */
	bool has_no_staging;		  /* it could not be created */
	/* until the second instances are opened, which have claims of their own */
	struct lmi_engine_claim second_claims[LMI_INST_N_SECOND];
};

struct lmi_engine_place;
struct lmi_engine_draft_model;
struct lmi_engine_tower;
struct lmi_engine_nextn;
struct lmi_engine_history;
struct lmi_engine_lookup_file;
struct lmi_engine_rows;
struct lmi_engine_tail;
struct lmi_engine_best;
struct lmi_engine_repack_file;

/* What is in a slot of adapters. */
struct lmi_inst_adapter_slot {
	uint64_t key;	/* lmi_engine_adapter_key; 0: nothing that was read from files */
	uint64_t bytes; /* on each device */
	bool binding;	/* a command is changing it */
	/* [n_invocation] the tokens from which on it is active; n_invocation 0: it always is */
	lmd_token *invocation;
	uint32_t n_invocation;
};

struct lmi_inst {
	const struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	struct lmi_model *file;
	const struct lmd_model *model;
	struct lmd_arena *arena; /* arena of the architecture's description */
	const struct lmi_factory *arch;
	struct lmd_arch_desc desc;
	const struct lmi_inst *target; /* for which this is a draft model; NULL: it is none */
	/* of its draft model's file: it reads hidden rows, made of these streams; tokens of a block */
	bool knows_draft; /* the file has been read */
	bool reads_hidden;
	uint32_t n_tap, taps[LMD_MAX_TAP], draft_block;
	bool has_draft; /* its drafters are known when it is opened, so the plan with masks is estimated */
	struct lmi_engine_devices *set, *own_set; /* own_set: if the caller gave none */
	struct lmi_inst_device devices[LMI_ENGINE_MAX_DEVICE];
	uint32_t n_device;
	struct lmi_engine_device_params device_params; /* of further devices */
	char isolate_name[LMI_ENGINE_ISOLATE_NAME + 1];
	bool isolated, isolate_untrusted; /* which devices are in processes of that name */
	struct lmi_engine_place *place; /* which op runs where */
	struct lmi_engine_memory_plan *sizes;
	uint32_t page_tokens;
	struct lmi_kv *kv;
	struct lmi_engine_exec *execs[LMI_ENGINE_MAX_EXEC];
	uint32_t n_exec;
	uint32_t n_compiled; /* plans, including those of all buckets */
	uint32_t n_held;		  /* nested turns on the devices */
	enum lmi_engine_class step_class; /* class of the next step; set by the engine */
	struct lmi_engine_guard guard;    /* guards the mapped files */

	lmi_engine_load_fn progress; /* only while opening */
	void *progress_arg;
	struct lmi_engine_loss *loss; /* also */
	const struct lmi_engine_repack_opts *repack; /* also; NULL: no repack cache */
	struct lmi_engine_repack_file *repack_files[LMI_ENGINE_MAX_DEVICE]; /* of each device; NULL: none */
	bool wrote_repack; /* the file was written while the model was opened */

	uint32_t n_ctx, n_seq, n_batch, n_out;
	uint32_t k_dtype, v_dtype; /* enum lmd_dtype of keys and values */
	bool ctx_cut;	  /* n_ctx is limited by memory, not by the model */
	bool looks_ahead; /* some group is not causal: a sequence must run in one step */
	bool keep_values, unfused, cache_prefixes;
	uint32_t n_rank; /* > 1: the matrices are divided in so many parts, for the devices in turn */
	struct lmd_devgroup *group; /* of the first n_group devices, for collectives; NULL: none */
	uint32_t n_group;
	bool has_adapters; /* rows of plans may have adapters */
	bool reads_rows;   /* plans get external rows, of which the memory is part of the estimate */
	int32_t own_adapter; /* slot for rows that name none */
	struct lmi_inst_adapter_slot adapter_slots[LMI_ENGINE_N_ADAPTER_SLOT];
	struct lmi_inst_need second_needs[LMI_INST_N_SECOND]; /* of those that are to be opened */
	uint32_t max_ctx; /* if n_ctx is chosen: at most that, because of the draft model; 0: any */
	bool only_estimate;
	bool copies; /* estimating for files that would be read into memory */
	uint64_t available; /* the limit, or the machine's available memory at the start; 0:
			     * unknown */
	uint64_t file_bytes, kv_bytes;
	struct lmi_engine_memory estimate; /* of all devices */
	struct lmi_engine_slot slot[LMI_ENGINE_MAX_STEP];
	uint32_t n_slot;    /* usable ones: 1 if a device has no queue */
	uint32_t n_running; /* steps submitted and not finished */
	uint32_t n_pages;   /* length of each slot's pages */
	struct lmi_engine_draft_model *draft; /* draft_model.h; NULL: none */
	struct lmi_engine_nextn *nextn; /* draft_nextn.h; NULL: none */
	uint32_t draft_device; /* of the plan of the draft layers */
	uint8_t *tree_row;     /* one row of all caches, while it is moved; NULL: guesses have no branches */
	bool draft_dropped; /* new generations do not use `draft`; the submitting thread's */
	struct lmi_engine_tower *tower;	      /* tower.h; NULL: none */
	struct lmi_engine_history *history;   /* answer_history.h; NULL: none */
	struct lmi_engine_lookup_file *lookup_file; /* NULL: none */
	bool lookahead; /* generations look ahead */
	/* the window of a group that keeps more rows than that; 0: it does not */
	uint32_t sees[LMD_MAX_GROUP];
	enum lmi_engine_device_sampling device_sampling;
	struct lmi_engine_tail *tail; /* tail.h; NULL: the host chooses all tokens */
	struct lmi_engine_best *best; /* best.h; NULL: rows of logits are copied whole */
	bool samples;		      /* there is a tail, or would be */
	uint32_t sampler;	      /* its device */
	struct lmd_error no_tail;     /* status LMD_OK, or why the device does not */
};

/* ---- devices of an instance: inst_devices.c ---- */

/* Opens one more device and creates what an instance needs there; LMD_BUSY: there are too many. */
enum lmd_status lmi_inst_add_device(struct lmi_inst *inst, const char *backend, uint32_t index,
				    uint32_t *number, struct lmd_error *err);
/* Opens the devices that the options name. */
enum lmd_status lmi_inst_open_devices(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				      struct lmd_error *err);
void lmi_inst_close_devices(struct lmi_inst *inst);
/* Makes a group of the devices if the model is divided among them by tensors and they have collectives;
 * without one, values are exchanged through copies. */
enum lmd_status lmi_inst_open_group(struct lmi_inst *inst, struct lmd_error *err);
/* Take and end a turn on all devices; turns nest. The calls of a backend that may not run beside
 * others (backend.h) need one. */
void lmi_inst_hold(struct lmi_inst *inst);
void lmi_inst_let_go(struct lmi_inst *inst);
/* Takes a turn within that of `outer`, of the same set of devices, which holds its own. Returns false
 * if another model uses a device that `outer` does not. End it with lmi_inst_let_go. */
bool lmi_inst_hold_within(struct lmi_inst *inst, const struct lmi_inst *outer);
/* Does another model wait for a device that this one holds? */
bool lmi_inst_is_wanted(const struct lmi_inst *inst);
/* Runs fn on the threads of the first device if nobody else uses them, otherwise on this one. */
void lmi_inst_run_team(struct lmi_inst *inst, lmd_part_fn fn, void *arg);
/* Returns the status of a call on the device. If the device is lost, tells the others, and puts its name
 * before the message in err, which may be NULL. */
enum lmd_status lmi_inst_check(struct lmi_inst *inst, struct lmi_inst_device *d,
			       enum lmd_status st, struct lmd_error *err);

/* ---- device_memory.c ---- */

#define LMI_ENGINE_SHARED_DEVICE 1u /* with a buffer in the device's memory */
#define LMI_ENGINE_SHARED_HOST   2u /* with memory that the host can use */

bool lmi_inst_device_in_host_memory(const struct lmi_inst_device *d);

enum lmd_status lmi_engine_shared_create(struct lmi_inst_device *d, struct lmi_engine_shared *m,
					 uint64_t bytes, uint32_t sides, struct lmd_error *err);
/* m may be zeroed. */
void lmi_engine_shared_destroy(struct lmi_inst_device *d, struct lmi_engine_shared *m);
/* Copy the first bytes to the device, or bytes from an offset on from it, on its queue; nothing to do
 * on a device in host memory. */
enum lmd_status lmi_engine_shared_upload(struct lmi_inst_device *d,
					 const struct lmi_engine_shared *m, uint64_t bytes,
					 struct lmd_error *err);
enum lmd_status lmi_engine_shared_download(struct lmi_inst_device *d,
					   const struct lmi_engine_shared *m, uint64_t from,
					   uint64_t bytes, struct lmd_error *err);

/* Creates the instance's queue and the events of its slots if the device has queues. */
enum lmd_status lmi_engine_queue_open(struct lmi_inst_device *d, struct lmd_error *err);
void lmi_engine_queue_close(struct lmi_inst_device *d);
/* Waits until all calls on the queue are complete; returns their status. */
enum lmd_status lmi_engine_queue_finish(struct lmi_inst_device *d, struct lmd_error *err);
/* Waits for the queues of several devices (bit i: device i), also for those after one that failed: the calls use
 * memory of the host. Returns st and leaves err if st is a failure, otherwise the first failure of a queue. */
enum lmd_status lmi_inst_finish_queues(struct lmi_inst *inst, uint32_t devices, enum lmd_status st,
				       struct lmd_error *err);

/* ---- kv_types.c ---- */

/* Sets the types of keys and values: those of the options, or the preference of the first device.
 * LMD_UNSUPPORTED: one of the devices that were asked for cannot store them; the message names those
 * that it can store. */
enum lmd_status lmi_engine_kv_types_choose(struct lmi_inst *inst,
					   const struct lmi_engine_model_opts *o,
					   struct lmd_error *err);

/* ---- place.c: which op runs where ---- */

/* Reads how many parts matrices are divided in, from the option `split` and the open devices; 1: they
 * are not. */
enum lmd_status lmi_engine_place_ranks(const struct lmi_inst *inst,
				       const struct lmi_engine_model_opts *o, uint32_t *n,
				       struct lmd_error *err);
/* Reads the options about devices; further devices may be opened. */
enum lmd_status lmi_engine_place_create(struct lmi_inst *inst,
					const struct lmi_engine_model_opts *o,
					struct lmd_error *err);
void lmi_engine_place_destroy(struct lmi_engine_place *p);
/* Chooses the devices of layers, caches and inputs, for the sizes in inst: as many layers on the
 * first devices as asked for or as fit. Sets inst->sizes and the estimates. */
enum lmd_status lmi_engine_place_choose(struct lmi_inst *inst,
					const struct lmi_engine_model_opts *o,
					struct lmd_error *err);
/* Decomposes the ops of a plan for their devices; *device_of: [n_op], NULL: all run on device 0. */
enum lmd_status lmi_engine_place_plan(struct lmi_inst *inst, struct lmi_plan *plan,
				      uint8_t **device_of, struct lmd_error *err);
/* Opens the device that runs what others lack; returns whether that may help. */
bool lmi_engine_place_add_fallback(struct lmi_inst *inst);
/* Begin and end the placement of the plan that most requests use, which decides where caches are. The
 * first does nothing when that is decided. */
void lmi_engine_place_begin(struct lmi_inst *inst);
void lmi_engine_place_end(struct lmi_inst *inst, const struct lmi_engine_exec *e);
/* Returns the index of the device that has a cache, or reads the external rows. */
uint32_t lmi_engine_place_cache(const struct lmi_inst *inst, uint32_t cache);
uint32_t lmi_engine_place_input(const struct lmi_inst *inst);
void lmi_engine_place_report(const struct lmi_inst *inst, struct lmi_engine_placement *out);

/* Opens everything, and prepares the plan that most requests use. If that plan cannot be made, the
 * requests that need it fail; but insufficient memory is reported here, before it is allocated.
 * Error messages name the path of the model. Calls may block on the disk. */
enum lmd_status lmi_inst_open(struct lmi_inst **out, const struct lmi_engine_model_opts *opts,
			      struct lmd_error *err);
/* inst may be NULL. */
void lmi_inst_close(struct lmi_inst *inst);
/* As lmi_engine_estimate, with devices as they are opened for these options. */
enum lmd_status lmi_inst_estimate(struct lmi_engine_memory *out, uint32_t *n_ctx,
				  struct lmi_engine_placement *where,
				  const struct lmi_engine_model_opts *opts, struct lmd_error *err);
/* Ends the claims for a second instance, which is opened next. */
void lmi_inst_drop_claims(struct lmi_inst *inst, enum lmi_inst_second which);

/* Returns memory of the device for the values of a plan; zeroed: there is none that is large enough. */
struct lmd_scratch lmi_inst_scratch(const struct lmi_inst_device *d, const struct lmd_plan *p);

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
	const float *gain; /* [n_stack][n]; NULL: none */
	float scale;
};
enum lmd_status lmi_inst_bind(struct lmi_inst *inst, const struct lmi_engine_adapter *ad,
			      struct lmd_error *err);
/* Reads files and puts them all into one slot; adapter.c. */
enum lmd_status lmi_inst_add_adapters(struct lmi_inst *inst,
				      const struct lmi_engine_adapter_ref *refs, uint32_t n,
				      uint32_t slot, struct lmd_error *err);

/* Returns what rows computed with a slot have as part of their identity in the KV cache; 0: no adapter. */
static inline uint64_t lmi_inst_adapter_key(const struct lmi_inst *inst, int32_t slot)
{
	const struct lmi_inst_adapter_slot *s =
		slot > 0 && slot < LMI_ENGINE_N_ADAPTER_SLOT ? &inst->adapter_slots[slot] : NULL;

	if (s && s->n_invocation)
		return 0; /* the rows before the invocation are those of the model */
	return s && s->key ? s->key : (uint64_t)slot;
}

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

/* ---- draft_file.c ---- */

/* Finds out whether the draft model in a file reads hidden rows of the instance, whose description is known, and
 * which. Does nothing if the file cannot be read. */
void lmi_engine_draft_file_read(struct lmi_inst *inst, const char *path);

/* ---- exec_hidden.c ---- */

/* Returns the number of columns of the hidden rows that FORWARD plans put out. */
uint32_t lmi_inst_hidden_width(const struct lmi_inst *inst);
/* Returns the number of columns of the hidden rows that a plan puts out: of the target's streams, or of the draft's own. */
uint32_t lmi_engine_hidden_width(const struct lmi_inst *inst, const struct lmi_engine_exec *e);
/* Adds LMD_PLAN_HIDDEN to a key if the instance has draft layers or a draft model that read the hidden rows of
 * the model's steps. */
void lmi_engine_hidden_add(const struct lmi_inst *inst, struct lmd_plan_key *k);
/* Sets the segment that has the hidden rows of a plan; returns the bytes that those of a step take, 0: it
 * has none. */
uint64_t lmi_engine_hidden_find(const struct lmi_inst *inst, struct lmi_engine_exec *e);
/* Creates their memory, unless it exists. LMD_UNSUPPORTED: draft layers on several devices. */
enum lmd_status lmi_engine_hidden_open(struct lmi_inst *inst, struct lmi_engine_exec *e,
				       struct lmd_error *err);
/* The draft layers are not used after all: makes the plan that most requests use once more, without hidden rows, and
 * frees theirs. No step may be running. */
enum lmd_status lmi_engine_hidden_drop(struct lmi_inst *inst, struct lmd_error *err);
/* Returns the hidden rows of a slot that steps of a plan put out on a device. */
struct lmi_engine_shared *lmi_engine_hidden_rows(struct lmi_engine_slot *t,
						 const struct lmi_engine_exec *e, uint32_t device);
/* Returns the bytes of input 0 of a DRAFT plan for a row; 0: it has none. */
uint64_t lmi_engine_hidden_input(const struct lmi_engine_exec *e);
/* Returns the groups whose caches a plan uses: bit g. */
uint32_t lmi_engine_hidden_groups(const struct lmd_plan *p);

/* Returns the key of the plan that most requests use: logits, or for encoders the embedding. */
struct lmd_plan_key lmi_inst_main_key(const struct lmi_inst *inst);
/* Fills in weights, step and results of each device's estimate for that plan, which is built and
 * discarded. All are 0 if the model has no such plan. */
enum lmd_status lmi_inst_measure(struct lmi_inst *inst, struct lmd_error *err);

/* ---- links.c: values between segments ---- */

/* Fills in which values go where. */
enum lmd_status lmi_engine_links_plan(struct lmi_engine_exec *e, struct lmd_error *err);
/* Returns the bytes that they take on a device. */
uint64_t lmi_engine_links_bytes(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
				uint32_t device);
/* Create and free their memory. */
enum lmd_status lmi_engine_links_open(struct lmi_inst *inst, struct lmi_engine_exec *e,
				      struct lmd_error *err);
void lmi_engine_links_close(struct lmi_inst *inst, struct lmi_engine_exec *e);
/* Submits the copies of the values that a segment needs, and fills in the first *n of its bindings. */
enum lmd_status lmi_engine_links_bring(struct lmi_inst *inst, struct lmi_engine_exec *e,
				       struct lmi_engine_segment *s, uint32_t slot, uint32_t *n,
				       struct lmd_error *err);
/* Fills in the bindings of the values that leave a segment; returns their number. */
uint32_t lmi_engine_links_bind_out(struct lmi_inst *inst, struct lmi_engine_segment *s,
				   uint32_t slot, struct lmd_binding *out);
/* Submits what follows the segment's plan: copies to host memory, if others need them there. */
enum lmd_status lmi_engine_links_leave(struct lmi_inst *inst, struct lmi_engine_exec *e,
				       struct lmi_engine_segment *s, uint32_t slot,
				       struct lmd_error *err);
/* Returns the first failure of a segment whose values leave it, when the step is complete. */
enum lmd_status lmi_engine_links_result(struct lmi_inst *inst, struct lmi_engine_exec *e,
					uint32_t slot, struct lmd_error *err);

/* ---- observe_segments.c ---- */

/* Runs a segment op by op and shows its values. input: the external rows if it reads them, otherwise
 * NULL. *stopped: fn returned false. */
enum lmd_status lmi_engine_observe_segment(struct lmi_inst *inst, struct lmi_engine_exec *e,
					   uint32_t index, uint32_t slot,
					   const struct lmd_binding *input, lmd_observe_fn fn,
					   void *arg, bool *stopped, struct lmd_error *err);

/* ---- resolve_sizes.c ---- */

struct lmi_engine_memory_plan;

/* Returns how many bytes of files may be read into memory; 0 = unknown. */
uint64_t lmi_inst_max_copy(const struct lmi_inst *inst, const struct lmi_engine_model_opts *opts);
/* Describes the model, checks its tensors and chooses all sizes: rows of a step, budget, devices,
 * context length, pages (inst->sizes). Allocates nothing that grows with the model. */
enum lmd_status lmi_inst_resolve_sizes(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts,
				       struct lmd_error *err);
/* Computes the sizes for the present placement: LMD_NOMEM if they do not fit. */
enum lmd_status lmi_inst_fit(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts,
			     struct lmd_error *err);
/* Creates the pools and page tables of that size. */
enum lmd_status lmi_inst_open_pools(struct lmi_inst *inst, struct lmd_error *err);
/* Creates the pools of one device. */
enum lmd_status lmi_inst_open_device_pools(struct lmi_inst *inst, uint32_t device,
					   struct lmd_error *err);

/* ---- weights.c ---- */

enum lmd_status lmi_engine_weights_create(struct lmi_engine_weights **out, struct lmi_inst *inst,
					  struct lmi_inst_device *d, struct lmd_error *err);
void lmi_engine_weights_destroy(struct lmi_engine_weights *w);
/* Loads the weights that the plan refers to and that are not yet loaded; fills in
 * out[n_weight_ref]. The plan must live as long as the instance. fn may be NULL; it gets *done, which
 * counts on, and total. */
enum lmd_status lmi_engine_weights_load(struct lmi_engine_weights *w, const struct lmd_plan *plan,
					struct lmd_weight **out, lmi_engine_load_fn fn, void *arg,
					uint64_t *done, uint64_t total, struct lmd_error *err);
/* Returns about how many bytes of the file the weights of a plan refer to. */
uint64_t lmi_engine_weights_file_bytes(const struct lmi_engine_weights *w,
				       const struct lmd_plan *plan);
/* Returns the bytes that the weights of these plans take on the device, beyond the mapped file. */
enum lmd_status lmi_engine_weights_query(struct lmi_engine_weights *w,
					 const struct lmd_plan *const *plans, uint32_t n_plan,
					 uint64_t *bytes, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_INSTANCE_H */
