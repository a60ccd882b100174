/* SPDX-License-Identifier: MIT
 *
 * vkb.h - internals of the Vulkan backend: a device, its memory and its objects.
 *
 * Shaders reach memory by address; only the arguments of an op and the environment of a step are
 * uniform buffers.  A compiled plan is an argument buffer and command buffers that are submitted
 * again for each step (record.c); what a step changes is written into the plan's environment before
 * it (plan.h).
 *
 * Threads: as backend.h says.  `lock` guards the memory and the queues, since buffers, weights and
 * waiting may run beside other calls. */
#ifndef LLAMAD_VULKAN_VKB_H
#define LLAMAD_VULKAN_VKB_H

#include <pthread.h>
#include <stdbool.h>

#include "api.h"
#include "backend/common/site.h"
#include "llamad/backend.h"

/* ---- memory (memory.c) ---- */

/* Kinds of memory: the device's own, and memory that the host writes and reads. */
enum vkb_kind { VKB_DEVICE, VKB_HOST, VKB_N_KIND };

struct vkb_chunk;

/* A piece of memory; aligned to 256 bytes. */
struct vkb_mem {
	struct vkb_chunk *chunk; /* NULL: none */
	VkBuffer buffer;
	uint64_t offset, bytes;
	VkDeviceAddress address;
	char *host;              /* NULL: the host cannot reach it */
};

/* ---- pipelines (pipeline.c) ---- */

#define VKB_MODULES(X)                                                                             \
	X(attn)                                                                                    \
	X(attn_fast)                                                                               \
	X(attn_fast_sub)                                                                           \
	X(attn_join)                                                                               \
	X(conv)                                                                                    \
	X(copy)                                                                                    \
	X(dequant)                                                                                 \
	X(embed)                                                                                   \
	X(embed_all)                                                                               \
	X(ew)                                                                                      \
	X(gather)                                                                                  \
	X(glu)                                                                                     \
	X(index)                                                                                   \
	X(lora)                                                                                    \
	X(mix)                                                                                     \
	X(moe)                                                                                     \
	X(norm)                                                                                    \
	X(pages)                                                                                   \
	X(patch)                                                                                   \
	X(peer)                                                                                    \
	X(product)                                                                                 \
	X(product8)                                                                                \
	X(product8_dot)                                                                            \
	X(product8_sub)                                                                            \
	X(product8_tile)                                                                           \
	X(product8_tile_dot)                                                                       \
	X(product_all)                                                                             \
	X(product_tile)                                                                            \
	X(product_tile_all)                                                                        \
	X(reduce)                                                                                  \
	X(rope_kv)                                                                                 \
	X(round)                                                                                   \
	X(route)                                                                                   \
	X(sample)                                                                                  \
	X(scan)                                                                                    \
	X(softmax)

#define VKB_MODULE_ID(name) VKB_##name,
enum vkb_module { VKB_MODULES(VKB_MODULE_ID) VKB_N_MODULE };

struct vkb_pipeline {
	struct vkb_pipeline *next;
	enum vkb_module module;
	uint32_t spec[2];        /* values of specialisation constants 0 and 1 */
	VkPipeline handle;       /* VK_NULL_HANDLE until a step needs it */
};

/* Push constants; as in shaders/lib.glsl. */
struct vkb_push {
	VkDeviceAddress args, env, points;
	uint32_t phase, part, parts;
};

/* ---- devices ---- */

struct vkb_counts {
	uint64_t submissions, barriers, dispatches, steps;
};

/* What LLAMAD_VULKAN switches off (settings.c). */
struct vkb_settings {
	bool staging;            /* copies go through host memory also if the device's can be mapped */
	uint64_t chunk;          /* bytes of a chunk of memory */
	uint64_t piece;          /* most bytes of an allocation; 0: what the driver allows */
	bool cache;              /* the pipeline cache is kept on disk */
	bool dot;                /* the integer dot product is used */
	bool import;             /* host memory is imported */
	uint32_t devices; /* as many are shown, some of them several times; 0: those there are */
	uint32_t split;          /* 0: as is best for the device */
	uint32_t tile;           /* 0: as is best for the device, 1: yes, 2: no */
	uint32_t shares;         /* 0: as is best for the device */
	uint32_t priority;       /* among programs: 1 low, 2 medium, 3 high; 0: the driver's */
	bool counts;             /* what steps took is logged when the device is closed */
	uint64_t work;           /* millions of multiply-adds of a submission; 0: by the device */
	uint64_t lost;           /* the process loses the device at this submission; 0: never */
};

struct vkb_queue;

struct vkb_dev {
	const struct lmd_host *host;
	struct vkb_settings set;
	struct vkb_instance in;
	struct vkb_functions fn;
	VkPhysicalDevice physical;
	VkDevice handle;
	VkQueue queue;
	uint32_t family;
	char name[64];
	VkPhysicalDeviceMemoryProperties memory;
	uint64_t max_allocation;
	bool has_budget;
	uint64_t import_align;                                /* of host memory that is imported */
	PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer; /* NULL: it cannot be imported */
	bool int8;               /* products round activations to 8 bits */
	enum vkb_module product8; /* their shader */
	enum vkb_module attn_fast; /* of attention over one cache of floats */
	uint64_t most_work;      /* multiply-adds of a submission */
	uint32_t shares;         /* workgroups that share the keys of a row of few */
	uint32_t split;          /* lanes that share an output of theirs */
	bool tile;               /* products of many rows use tiles in shared memory */
	bool has_dot;            /* the integer dot product is used */
	uint32_t type_of[VKB_N_KIND];
	bool mappable;           /* device memory is mapped */
	pthread_mutex_t lock;
	struct vkb_chunk *chunks;
	struct vkb_queue *queues;
	struct vkb_queue *own;   /* for calls without a queue */
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkPipelineCache cache;
	VkShaderModule modules[VKB_N_MODULE];
	struct vkb_pipeline *pipelines;
	struct vkb_mem chained;  /* last token of each sequence slot */
	struct vkb_mem points;   /* the numbers of backend/common/device_points.h */
	struct vkb_counts counts; /* of all steps, but submissions of all calls */
	struct device_site *sites; /* of adapters */
	bool lost;
	struct lmd_error error;  /* of the last plan_run or plan_observe */
};
#define VKB_MAX_SEQ 16384u
#define VKB_N_SLOT  256u /* adapter slots; as in shaders/adapter.glsl */
#define VKB_ADAPTER_WORDS 12u

/* Takes memory of a kind; bytes 0 gives a piece of 1 byte.  LMD_NOMEM. */
enum lmd_status vkb_alloc(struct vkb_dev *dev, enum vkb_kind kind, uint64_t bytes,
			  struct vkb_mem *out, struct lmd_error *err);
void vkb_free(struct vkb_dev *dev, struct vkb_mem *m);
void vkb_memory_close(struct vkb_dev *dev);
/* Bytes of all chunks of the device's memory. */
uint64_t vkb_used(struct vkb_dev *dev);

enum lmd_status vkb_settings_read(struct vkb_settings *out, struct lmd_error *err);

/* Uploads the table that decoders read (points.c). */
enum lmd_status vkb_points_open(struct vkb_dev *dev, struct lmd_error *err);

/* The pipeline cache (cache.c).  changed: the file is written. */
void vkb_cache_open(struct vkb_dev *dev);
void vkb_cache_close(struct vkb_dev *dev, bool changed);

enum lmd_status vkb_pipelines_open(struct vkb_dev *dev, struct lmd_error *err);
void vkb_pipelines_close(struct vkb_dev *dev);
/* Finds a pipeline, which is made when it is first needed: a plan names many that its steps may never
 * use, and drivers take up to seconds to compile one.  It is valid until the device is closed. */
enum lmd_status vkb_pipeline(struct vkb_dev *dev, enum vkb_module module, uint32_t spec0,
			     uint32_t spec1, struct vkb_pipeline **out, struct lmd_error *err);
/* Makes it, unless that was done. */
enum lmd_status vkb_pipeline_make(struct vkb_dev *dev, struct vkb_pipeline *p,
				  struct lmd_error *err);

/* ---- adapters (adapter.c) ---- */

/* The address of a site's table, which is made if there is none. */
enum lmd_status vkb_site_table(struct vkb_dev *dev, uint32_t site, VkDeviceAddress *out,
			       struct lmd_error *err);
/* LMD_INVALID unless the adapter of a slot, if there is one, fits a weight [n_stack, n, k]. */
enum lmd_status vkb_site_check(const struct vkb_dev *dev, uint32_t slot, uint32_t site, uint32_t n,
			       uint32_t k, uint32_t n_stack, struct lmd_error *err);
void vkb_sites_close(struct vkb_dev *dev);

/* ---- queues (queue.c) ---- */

/* Runs of a group (group.h), which may fail after they were accepted. */
struct vkb_note {
	struct lmd_devgroup *group; /* NULL: none */
	uint32_t rank;
	uint64_t first, last;
};

struct vkb_event {
	struct vkb_dev *dev;
	struct vkb_queue *q;     /* NULL: never used */
	uint64_t value;          /* fires when the queue's semaphore has it */
	struct vkb_note note;
	struct lmd_error result; /* status LMD_OK, or how the work before it failed */
};

struct vkb_meeting;

/* Recorded command buffers: ends[i] is the number of those up to the end of submission i. */
struct vkb_commands {
	const VkCommandBuffer *cmds;
	const uint32_t *ends;    /* [n] */
	const bool *meets;       /* [n] the submission begins after an exchange of ranks */
	uint32_t n;
	struct vkb_counts counts;
	const struct vkb_meeting *meeting; /* NULL: there are none */
};

/* A command buffer that a call records and submits. */
struct vkb_batch {
	struct vkb_dev *dev;
	struct vkb_queue *q;
	VkCommandBuffer cmd;
	bool waits;              /* the call was made without a queue */
};

enum lmd_status vkb_queue_make(struct vkb_dev *dev, struct vkb_queue **out, struct lmd_error *err);
void vkb_queue_free(struct vkb_dev *dev, struct vkb_queue *q);
void vkb_queues_close(struct vkb_dev *dev);
/* Sets a timeline semaphore from the host.  What fails here fails for those who wait for the device, too. */
void vkb_signal(const struct vkb_dev *dev, VkSemaphore s, uint64_t value);
/* No later event reports runs of the group. */
void vkb_queues_forget(struct vkb_dev *dev, const struct lmd_devgroup *g);
/* Begins a batch on q, or on the device's own queue if q is NULL.  What it records happens after
 * everything that was submitted before. */
enum lmd_status vkb_begin(struct vkb_dev *dev, struct vkb_queue *q, struct vkb_batch *b,
			  struct lmd_error *err);
/* Ends the batch and submits it, followed by `then` if that is not NULL; waits for it if the call had no
 * queue. */
enum lmd_status vkb_submit(struct vkb_batch *b, const struct vkb_commands *then, struct vkb_event *done,
			   struct lmd_error *err);
/* Drops the batch. */
void vkb_abandon(struct vkb_batch *b);
/* All memory accesses before are complete and visible to those after. */
void vkb_barrier(struct vkb_dev *dev, VkCommandBuffer cmd);
/* Records a copy of host memory, which the call has read when it returns. */
enum lmd_status vkb_upload(struct vkb_batch *b, const struct vkb_mem *to, uint64_t at,
			   const void *from, uint64_t bytes, struct lmd_error *err);
/* Records a copy to host memory.  It is written when an event after it has been waited for. */
enum lmd_status vkb_download(struct vkb_batch *b, void *to, const struct vkb_mem *from, uint64_t at,
			     uint64_t bytes, struct lmd_error *err);
/* Takes host memory that is kept until the batch is complete.  Then its contents go to `to` if that is
 * not NULL. */
enum lmd_status vkb_stage(struct vkb_batch *b, uint64_t bytes, void *to, struct vkb_mem *out,
			  struct lmd_error *err);
/* Waits until nothing is left to be written to host memory, since the next call reads some. */
enum lmd_status vkb_settle(struct vkb_dev *dev, struct lmd_error *err);
/* Waits for everything on all queues. */
void vkb_drain(struct vkb_dev *dev);

/* ---- backend functions ---- */

enum lmd_status vkb_alive(const struct vkb_dev *dev, struct lmd_error *err);

extern const struct lmd_backend_ops vkb_backend_ops;

enum lmd_status vkb_buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
				  struct lmd_buffer **out, struct lmd_error *err);
void vkb_buffer_destroy(void *state, struct lmd_buffer *b);
enum lmd_status vkb_buffer_map(void *state, struct lmd_buffer *b, void **out, struct lmd_error *err);
void vkb_buffer_unmap(void *state, struct lmd_buffer *b);
enum lmd_status vkb_buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				const void *src_ptr, uint64_t src_off, uint64_t bytes,
				struct lmd_event *done, struct lmd_error *err);
/* The memory of a buffer of this backend. */
const struct vkb_mem *vkb_buffer_mem(const struct lmd_buffer *b);

enum lmd_status vkb_queue_create(void *state, int priority, struct lmd_queue **out,
				 struct lmd_error *err);
void vkb_queue_destroy(void *state, struct lmd_queue *q);
enum lmd_status vkb_event_create(void *state, struct lmd_event **out, struct lmd_error *err);
void vkb_event_destroy(void *state, struct lmd_event *e);
enum lmd_status vkb_event_record(void *state, struct lmd_queue *q, struct lmd_event *e,
				 struct lmd_error *err);
enum lmd_status vkb_event_wait(void *state, struct lmd_event *e, uint64_t timeout_ns,
			       struct lmd_error *err);
enum lmd_status vkb_queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *e,
				     struct lmd_error *err);

enum lmd_status vkb_weight_query(void *state, const struct lmd_weight_desc *d,
				 struct lmd_weight_plan *out, struct lmd_error *err);
enum lmd_status vkb_weight_load(void *state, const struct lmd_weight_desc *d,
				struct lmd_weight **out, struct lmd_error *err);
void vkb_weight_destroy(void *state, struct lmd_weight *w);

enum lmd_status vkb_pool_query(void *state, const struct lmd_pool_desc *d,
			       struct lmd_pool_cost *out, struct lmd_error *err);
enum lmd_status vkb_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err);
enum lmd_status vkb_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			    struct lmd_error *err);
void vkb_pool_destroy(void *state, struct lmd_pool *pool);

enum lmd_status vkb_adapter_bind(void *state, const struct lmd_adapter_bind *b,
				 struct lmd_error *err);

void vkb_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out);
enum lmd_status vkb_plan_query(void *state, const struct lmd_compile *c, struct lmd_plan_cost *out,
			       struct lmd_error *err);
enum lmd_status vkb_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err);
enum lmd_status vkb_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *plan,
			     const struct lmd_step *step, const struct lmd_binding *in, uint32_t n_in,
			     const struct lmd_binding *out, uint32_t n_out, struct lmd_event *done);
enum lmd_status vkb_plan_observe(void *state, struct lmd_compiled_plan *plan,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg);
void vkb_plan_destroy(void *state, struct lmd_compiled_plan *plan);

#endif /* LLAMAD_VULKAN_VKB_H */
