/* SPDX-License-Identifier: MIT
 *
 * gpu.h - the host's side of the GPU backends: devices, memory, queues, weights, pools and plans.
 *
 * A plan is compiled to a list of launches whose arguments never change; a step copies the step
 * block to the device and launches them.  The kernels read all counts from the block.
 *
 * Threads: as backend.h says. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_GPU_H
#define LLAMAD_PLUGINS_BACKEND_GPU_GPU_H

#include <pthread.h>
#include <stdbool.h>

#include "backend/common/pool_check.h"
#include "backend/common/site.h"
#include "backend/gpu/driver.h"
#include "backend/gpu/kern/args.h"
#include "llamad/backend.h"

/* ---- devices (device.c) ---- */

enum gpu_kernel {
#define GPU_ENUM(name, args) GPU_K_##name,
	GPU_KERNELS(GPU_ENUM) GPU_MATRIX_KERNELS(GPU_ENUM)
#undef GPU_ENUM
		GPU_N_KERNEL
};
#define GPU_NO_KERNEL  GPU_N_KERNEL
#define GPU_N_PORTABLE GPU_K_tile_q4_0 /* the kernels before it run on every device */

struct gpu_dev {
	const struct lmd_host *host;
	const struct gpu_vendor *vendor;
	const struct gpu_driver *drv;
	int number; /* the driver's */
	uint32_t index;
	gpu_context context;
	gpu_module module;
	gpu_function kernels[GPU_N_KERNEL];
	uint32_t warp, processors;
	gpu_stream stream;      /* of calls without a queue */
	pthread_mutex_t stage_lock;
	struct gpu_stage *stages; /* of upload.c, that nobody uses */
	struct device_site *sites; /* where adapters apply: adapter.c */
	gpu_ptr chained;        /* i32: the token last sampled for each sequence slot */
	uint32_t tiles;         /* the first of its GPU_TILE_KERNELS; GPU_NO_KERNEL = it has none */
	bool flash;             /* it has the kernels of kern/nv/flash.h */
	bool wgmma;             /* it has those of kern/nv/wgmma16.h, and LLAMAD_GPU asks for them */
	bool int8;              /* activations before block types are rounded to 8 bits */
	bool exact;             /* deterministic = exact: docs/exact.md */
	bool invariant; /* deterministic = batch: a row's bits do not depend on the others of a step */
	bool no_graphs;         /* the driver cannot capture launches */
	bool lost;
	struct lmd_error error; /* of the last plan_run or plan_observe */
};

extern const struct lmd_backend_ops gpu_backend_ops;
/* The plugin's probe: opens the driver's library, once in a process, and does not start the driver.  Returns
 * 1 - these backends are chosen by themselves only when they have run on hardware (docs/backends.md) - or 0,
 * with the reason in why[0..n). */
int gpu_probe(const struct lmd_host *host, char *why, size_t n);

/* Appends what there is to know of a device to its name in name[0..n); bus: its address, or "". */
void gpu_describe(const struct gpu_driver *d, int dev, const char *bus, char *name, size_t n);
/* Makes the device the calling thread's; every call begins with it. */
enum lmd_status gpu_enter(struct gpu_dev *dev, struct lmd_error *err);
/* The status of a driver's code; `what` names the call. */
enum lmd_status gpu_check(struct gpu_dev *dev, int code, const char *what, struct lmd_error *err);
/* Returns the kernels of the plugin; NULL if they have no name of this number. */
const char *gpu_kernel_name(uint32_t kernel);

/* ---- uploads of weights (upload.c) ---- */

/* Two pieces of pinned memory, from which the device copies while the host writes the other one. */
#define GPU_STAGE_BYTES (2u << 20)
struct gpu_stage;
enum lmd_status gpu_stage_take(struct gpu_dev *dev, struct gpu_stage **out, struct lmd_error *err);
void gpu_stage_give(struct gpu_dev *dev, struct gpu_stage *s); /* accepts NULL */
void gpu_stage_fini(struct gpu_dev *dev);                      /* when all are given back */
/* The piece to be written next, GPU_STAGE_BYTES, with anything in it; waits for its last copy. */
enum lmd_status gpu_stage_room(struct gpu_dev *dev, struct gpu_stage *s, char **out,
			       struct lmd_error *err);
/* Begins to copy its first bytes to the device. */
enum lmd_status gpu_stage_send(struct gpu_dev *dev, struct gpu_stage *s, gpu_ptr to, uint64_t bytes,
			       struct lmd_error *err);
/* Waits for all copies. */
enum lmd_status gpu_stage_end(struct gpu_dev *dev, struct gpu_stage *s, struct lmd_error *err);

/* ---- memory (memory.c) ---- */

struct lmd_buffer {
	struct gpu_dev *dev;
	gpu_ptr at; /* what kernels use */
	char *host; /* mapped address, or NULL */
	uint64_t bytes;
};

/* Allocates memory of the device; bytes 0 gives 0. */
enum lmd_status gpu_alloc(struct gpu_dev *dev, uint64_t bytes, const char *what, gpu_ptr *out,
			  struct lmd_error *err);
void gpu_free(struct gpu_dev *dev, gpu_ptr p);
/* Copies to or from the device; complete when they return. */
enum lmd_status gpu_upload(struct gpu_dev *dev, gpu_ptr to, const void *from, uint64_t bytes,
			   struct lmd_error *err);
enum lmd_status gpu_download(struct gpu_dev *dev, void *to, gpu_ptr from, uint64_t bytes,
			     struct lmd_error *err);

enum lmd_status gpu_memory(void *state, uint64_t *total, uint64_t *free, struct lmd_error *err);
enum lmd_status gpu_buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				  struct lmd_buffer **out, struct lmd_error *err);
void gpu_buffer_destroy(void *state, struct lmd_buffer *b);
enum lmd_status gpu_buffer_map(void *state, struct lmd_buffer *b, void **out,
			       struct lmd_error *err);
void gpu_buffer_unmap(void *state, struct lmd_buffer *b);
enum lmd_status gpu_buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				const void *src_ptr, uint64_t src_off, uint64_t bytes,
				struct lmd_event *done, struct lmd_error *err);

/* ---- queues (queue.c) ---- */

/* The stream of a queue, of the device itself for NULL. */
gpu_stream gpu_queue_stream(struct gpu_dev *dev, struct lmd_queue *q);
/* Ends a call: records the event, or waits for the work if there is no queue. */
enum lmd_status gpu_queue_done(struct gpu_dev *dev, struct lmd_queue *q, struct lmd_event *done,
			       struct lmd_error *err);

enum lmd_status gpu_queue_create(void *state, int priority, struct lmd_queue **out,
				 struct lmd_error *err);
void gpu_queue_destroy(void *state, struct lmd_queue *q);
enum lmd_status gpu_event_create(void *state, struct lmd_event **out, struct lmd_error *err);
void gpu_event_destroy(void *state, struct lmd_event *e);
enum lmd_status gpu_event_record(void *state, struct lmd_queue *q, struct lmd_event *e,
				 struct lmd_error *err);
enum lmd_status gpu_event_wait(void *state, struct lmd_event *e, uint64_t timeout_ns,
			       struct lmd_error *err);
enum lmd_status gpu_queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *e,
				     struct lmd_error *err);

/* The next event that is recorded on a queue has the result of a run of a device group as well. */
void gpu_queue_note(struct lmd_queue *q, const struct lmd_devgroup *g, uint32_t rank, uint64_t turn);

/* ---- groups of devices (devgroup.c) ---- */

enum lmd_status gpu_devgroup_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				    struct lmd_error *err);
void gpu_devgroup_destroy(struct lmd_devgroup *g);
/* Memory that other devices of a group write or read. */
enum lmd_status gpu_peer_alloc(struct gpu_dev *dev, uint64_t bytes, gpu_ptr *out,
			       struct lmd_error *err);
/* struct gpu_peers of a rank, in its device's memory; 0, with a message, if the device is not that
 * rank of n. */
gpu_ptr gpu_devgroup_peers(const struct lmd_devgroup *g, const struct gpu_dev *dev, uint32_t rank,
			   uint32_t n, struct lmd_error *err);
/* Counts a call of plan_run of a rank, whether it is accepted or not: returns the turn, from 1 on. */
uint64_t gpu_devgroup_turn(struct lmd_devgroup *g, uint32_t rank);
/* Says that a rank does not run its plan in a turn. */
void gpu_devgroup_refuse(struct lmd_devgroup *g, uint32_t rank, uint64_t turn);
/* LMD_CANCELLED if one of the ranks does not. */
enum lmd_status gpu_devgroup_check(const struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
				   struct lmd_error *err);
/* How the run of a rank, which is complete, has ended. */
enum lmd_status gpu_devgroup_result(const struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
				    struct lmd_error *err);

/* ---- weights (weight.c) ---- */

struct lmd_weight {
	struct gpu_weight dev; /* as kernels see it */
	gpu_ptr memory;        /* all of it in one allocation */
	gpu_ptr flat;          /* all elements as f32; 0 until somebody needs them */
	bool own_flat;
	const char *name;
};

enum lmd_status gpu_weight_query(void *state, const struct lmd_weight_desc *d,
				 struct lmd_weight_plan *out, struct lmd_error *err);
enum lmd_status gpu_weight_load(void *state, const struct lmd_weight_desc *d,
				struct lmd_weight **out, struct lmd_error *err);
void gpu_weight_destroy(void *state, struct lmd_weight *w);
/* Makes w->flat. */
enum lmd_status gpu_weight_flatten(struct gpu_dev *dev, struct lmd_weight *w,
				   struct lmd_error *err);
/* Kernel of products with a type; GPU_NO_KERNEL: it is decoded to f32 when it is loaded. */
uint32_t gpu_weight_kernel(uint32_t dtype);
/* Kernel of coalesced products of 1 row, followed by those of 4 and of 8, and the number of values
 * that it reads at once (32: x is rounded to 8 bits); GPU_NO_KERNEL: rows of k values have none. */
uint32_t gpu_weight_fast(uint32_t dtype, uint32_t k, uint32_t *unit);
/* Kernel of products in exact arithmetic; GPU_NO_KERNEL: the type has none. */
uint32_t gpu_weight_exact(uint32_t dtype);
/* Kernel of products of many rows on matrix units; GPU_NO_KERNEL: type or device have none. */
uint32_t gpu_weight_tile(const struct gpu_dev *dev, uint32_t dtype);

/* ---- pools (pool.c) ---- */

struct gpu_pool_cache {
	uint32_t id, n_row; /* rows of a unit */
	struct lmd_cache desc;
	struct gpu_cache dev;
};

struct lmd_pool {
	struct lmd_group desc;
	struct host_mem_pool_shape shape;
	uint32_t n_cache;
	uint64_t unit_bytes;
	gpu_ptr mem, table;
	struct gpu_pool_cache caches[];
};

enum lmd_status gpu_pool_query(void *state, const struct lmd_pool_desc *d,
			       struct lmd_pool_cost *out, struct lmd_error *err);
enum lmd_status gpu_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err);
enum lmd_status gpu_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			    struct lmd_error *err);
void gpu_pool_destroy(void *state, struct lmd_pool *pool);

/* ---- adapters (adapter.c) ---- */

#define GPU_N_SLOT   256u /* adapter slots */
#define GPU_MAX_RANK 1024u

/* Returns the device's table of a site: struct gpu_adapter [GPU_N_SLOT]. */
enum lmd_status gpu_adapter_table(struct gpu_dev *dev, uint32_t site, gpu_ptr *out,
				  struct lmd_error *err);
enum lmd_status gpu_adapter_bind(void *state, const struct lmd_adapter_bind *b,
				 struct lmd_error *err);
void gpu_adapter_fini(struct gpu_dev *dev);

/* ---- plans (plan.c, run.c, observe.c) ---- */

void gpu_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out);
enum lmd_status gpu_plan_query(void *state, const struct lmd_compile *c, struct lmd_plan_cost *out,
			       struct lmd_error *err);
enum lmd_status gpu_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err);
enum lmd_status gpu_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *plan,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done);
enum lmd_status gpu_plan_observe(void *state, struct lmd_compiled_plan *plan,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg);
void gpu_plan_destroy(void *state, struct lmd_compiled_plan *plan);

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_GPU_H */
