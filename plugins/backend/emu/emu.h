/* SPDX-License-Identifier: MIT
 *
 * emu.h - a device that does not exist: the arithmetic of ref behind memory that the host cannot
 * touch and queues that complete late, to test how the host treats a device (README.md).
 *
 * All memory of the device lies in one mapping that is inaccessible outside of the calls.  Work on
 * queues runs in the thread that waits for it, so that a seed repeats a run exactly.
 *
 * Threads: as backend.h says; `lock` guards the mapping, since some calls may run beside others. */
#ifndef LLAMAD_EMU_H
#define LLAMAD_EMU_H

#include <pthread.h>
#include <stdbool.h>

#include "llamad/backend.h"

/* ---- settings, from LLAMAD_EMU ---- */

#define EMU_MAX_DEVICE 8

struct emu_settings {
	uint32_t devices;     /* number of devices */
	uint64_t memory;      /* bytes of each */
	bool late;            /* work is done when somebody waits for it, not at once */
	uint64_t seed;        /* late, not 0: some work is done earlier, at random */
	uint32_t fail_alloc;  /* this allocation of a device fails; 0 = none */
	uint32_t lose_step;   /* the device is lost at this step; 0 = never */
	uint32_t hang_step;   /* the device never completes this step; 0 = it does */
	uint32_t lose_device; /* only this one is lost; EMU_MAX_DEVICE = every one */
	bool buckets;         /* plans are compiled for certain numbers of rows */
	uint32_t lacks;       /* the devices do not have this op; 0 = all */
	uint32_t fault;       /* enum emu_fault; 0 = none */
	uint32_t page;        /* rows of its pages, no other number; 0 = 32, and any other */
	bool peer;            /* a device copies from the memory of another one */
	bool best;            /* a device finds the best candidates of rows of logits */
	bool group;           /* devices form groups with collectives */
	uint32_t refuse;      /* this one compiles no plan with collectives; EMU_MAX_DEVICE = none */
};

/* Mistakes that a driver could make, each found by a conformance case (README.md, emu_test.sh). */
enum emu_fault {
	EMU_FAULT_EARLY_EVENT = 1,  /* a recorded event fires before the work before it */
	EMU_FAULT_NO_WAIT = 2,      /* a queue does not wait for an event */
	EMU_FAULT_UNUSED_EVENT = 3, /* an event that was never used has fired */
	EMU_FAULT_OFFSET = 4,       /* copies ignore the offset in their source */
	EMU_FAULT_PINNED = 5,       /* copies to host memory of the device get lost */
	EMU_FAULT_PAGE = 6,         /* pages are not copied */
	EMU_FAULT_ROWS = 7,         /* exported rows begin with the first of the page */
	EMU_FAULT_SLOT = 8,         /* state slots are copied in the wrong direction */
	EMU_FAULT_ZERO = 9,         /* state slots are not zeroed */
	EMU_FAULT_TABLE = 10,       /* changes of page tables in a step are ignored */
	EMU_FAULT_FAR = 11,         /* no row sees a key after the first 1024 */
	EMU_FAULT_CANCEL = 12,      /* the step after a cancelled one is cancelled as well */
	EMU_FAULT_TIMEOUT = 13,     /* an event has fired when a wait for it has timed out */
	EMU_FAULT_SECOND = 14,      /* devices after the first do not write results */
	EMU_FAULT_OTHER = 15,       /* devices after the first lose what is copied to them */
	EMU_FAULT_PEER = 16,        /* copies from another device's memory are not done */
	EMU_FAULT_CHAIN = 17,       /* a plan right after another one reads zeros as inputs */
	EMU_FAULT_LOST = 18,        /* a device that was lost goes on after it has told so once */
	EMU_FAULT_PART = 19,        /* the second rank of a group does not get its tokens, positions
				     * and inputs */
	EMU_FAULT_RANKS = 20,       /* a group has its devices in the wrong order */
	EMU_FAULT_FAILED = 21,      /* other ranks do not hear that one has failed */
	EMU_FAULT_BEST = 22,        /* the best candidates of a row are not in order */
	EMU_N_FAULT
};
enum lmd_status emu_settings_read(struct emu_settings *out, struct lmd_error *err);

/* ---- memory ---- */

struct emu_block {
	size_t at, bytes;
	bool used, dirty;
};

struct emu_memory {
	char *base;
	size_t bytes, used;
	struct emu_block *blocks; /* by address, without gaps */
	uint32_t n_block, cap_block;
	uint32_t n_alloc, fail_alloc;
	uint32_t n_inside;        /* calls that are using the device */
	pthread_mutex_t lock;
};
enum lmd_status emu_memory_open(struct emu_memory *m, const struct emu_settings *s,
				struct lmd_error *err);
void emu_memory_close(struct emu_memory *m);
/* Make the memory accessible and inaccessible; calls nest. */
void emu_enter(struct emu_memory *m);
void emu_leave(struct emu_memory *m);
/* Returns zeroed memory of the device, aligned to 64 bytes; NULL = there is not enough. */
void *emu_alloc(struct emu_memory *m, size_t bytes);
void emu_free(struct emu_memory *m, void *p);

/* ---- objects ---- */

struct emu_dev {
	const struct lmd_host *host;
	struct lmd_host inner;    /* what ref gets: allocates from the device's memory */
	struct emu_settings set;
	struct emu_memory mem;
	void *ref;                /* state of the ref backend, in the device's memory */
	struct lmd_queue *queues; /* all of them */
	struct emu_work *free_work; /* so that a step allocates nothing */
	uint64_t rng;
	uint32_t n_step, index;
	bool lost;
	bool was_cancelled;       /* with EMU_FAULT_CANCEL: the last step */
	bool ran_plan;            /* the last work was a plan */
	struct lmd_error error;   /* of the last plan_run or plan_observe */
};

struct lmd_buffer {
	struct emu_dev *dev;      /* whose it is */
	char *mem;
	uint64_t bytes;
	uint32_t flags;
	bool own;                 /* host memory that this allocated */
};

struct emu_group;

struct emu_plan {
	const struct lmd_plan *plan;
	struct emu_group *group;  /* of its collectives, or NULL */
	struct lmd_compiled_plan *ref;
	struct lmd_step_layout layout;
	char *block;              /* the device's copy of the step block */
	char *values;             /* [plan->scratch_bytes] */
	char *own_values;         /* values, if the caller gave no scratch */
};

/* LMD_DEVICE if the device is lost. */
enum lmd_status emu_alive(struct emu_dev *dev, struct lmd_error *err);

/* ---- weights (weight.c) ---- */

enum lmd_status emu_weight_query(void *state, const struct lmd_weight_desc *d,
				 struct lmd_weight_plan *out, struct lmd_error *err);
enum lmd_status emu_weight_load(void *state, const struct lmd_weight_desc *d,
				struct lmd_weight **out, struct lmd_error *err);
enum lmd_status emu_weight_export(void *state, const struct lmd_weight *w, void *out, size_t cap, size_t *n);
void emu_weight_destroy(void *state, struct lmd_weight *w);
/* Returns the weight that ref made of it. */
struct lmd_weight *emu_weight_ref(const struct lmd_weight *w);

/* ---- work (work.c) ---- */

#define EMU_MAX_BINDING 24

enum emu_work_kind { EMU_COPY, EMU_POOL, EMU_PLAN, EMU_RECORD, EMU_WAIT };

struct emu_work {
	struct emu_work *next;
	enum emu_work_kind kind;
	struct lmd_event *event;  /* fires after it; WAIT: is waited for; or NULL */
	/* COPY */
	struct emu_dev *peer;     /* the source is this other device's memory; or NULL */
	char *dst_ptr;
	const char *src_ptr;
	uint64_t bytes;
	/* POOL */
	struct lmd_pool *pool;
	struct lmd_pool_op *ops;
	struct lmd_pool_op few_ops[4]; /* `ops`, if there are no more */
	uint32_t n_op;
	/* PLAN */
	struct emu_plan *plan;
	uint64_t run;             /* the number of the call, if the plan has a group */
	struct lmd_step step;
	struct lmd_binding in[EMU_MAX_BINDING], out[EMU_MAX_BINDING];
	uint32_t n_in, n_out;
};

/* Prepares the memory of a plan and makes its step; computes it.  Called with the memory accessible. */
enum lmd_status emu_plan_begin(struct emu_dev *dev, struct emu_work *w, struct lmd_step *step,
			       struct lmd_error *err);
enum lmd_status emu_plan_compute(struct emu_dev *dev, struct emu_work *w, const struct lmd_step *step,
				 struct lmd_error *err);
/* Does a piece of work, but not a plan of a group.  Called with the memory accessible. */
enum lmd_status emu_work_run(struct emu_dev *dev, struct emu_work *w, struct lmd_error *err);
void emu_work_free(struct emu_dev *dev, struct emu_work *w);
/* Returns a copy of *w with an array of its own; NULL = no memory. */
struct emu_work *emu_work_copy(struct emu_dev *dev, const struct emu_work *w);
/* Makes work objects in advance. */
enum lmd_status emu_work_reserve(struct emu_dev *dev, struct lmd_error *err);
void emu_work_fini(struct emu_dev *dev);

/* ---- queues (queue.c) ---- */

/* Takes ownership of a copy of *w: appends it to the queue, or runs it now if q is NULL. */
enum lmd_status emu_submit(struct emu_dev *dev, struct lmd_queue *q, const struct emu_work *w,
			   struct lmd_error *err);
/* Does all work that was submitted. */
void emu_drain(struct emu_dev *dev);
/* Returns the plan of that run of a group which waits on a queue of the device; NULL: there is none. */
struct emu_work *emu_find_run(const struct emu_dev *dev, const struct emu_group *g, uint64_t run);
/* Does the work before a plan that waits on a queue of the device. */
void emu_run_until(struct emu_dev *dev, const struct emu_work *w);

enum lmd_status emu_queue_create(void *state, int priority, struct lmd_queue **out,
				 struct lmd_error *err);
void emu_queue_destroy(void *state, struct lmd_queue *q);
enum lmd_status emu_event_create(void *state, struct lmd_event **out, struct lmd_error *err);
void emu_event_destroy(void *state, struct lmd_event *e);
enum lmd_status emu_event_record(void *state, struct lmd_queue *q, struct lmd_event *e,
				 struct lmd_error *err);
enum lmd_status emu_event_wait(void *state, struct lmd_event *e, uint64_t timeout_ns,
			       struct lmd_error *err);
enum lmd_status emu_queue_wait_event(void *state, struct lmd_queue *q, struct lmd_event *e,
				     struct lmd_error *err);

/* ---- groups (group.c) ---- */

enum lmd_status emu_group_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				 struct lmd_error *err);
void emu_group_destroy(struct lmd_devgroup *g);
/* Returns the group that ref made of it; NULL for NULL. */
struct lmd_devgroup *emu_group_ref(const struct emu_group *g);
/* Make the memory of all its devices accessible and inaccessible.  g may be NULL. */
void emu_group_enter(struct emu_group *g);
void emu_group_leave(struct emu_group *g);
/* Is the device that rank of the group? */
bool emu_group_has(const struct emu_group *g, const struct emu_dev *dev, uint32_t rank);
/* Counts the call of a rank's plan; returns its number, also for a call that will be refused. */
uint64_t emu_group_call(struct emu_group *g, uint32_t rank);
/* Has every rank been called for this run? */
bool emu_group_is_ready(const struct emu_group *g, uint64_t run);
/* Computes the plans of a run on all devices unless that has happened; returns the result of the rank
 * whose plan this is, which is at the head of its queue. */
enum lmd_status emu_group_run(struct emu_group *g, struct emu_work *w, struct lmd_error *err);

extern const struct lmd_backend_ops emu_backend_ops;
extern const struct lmd_backend_ops ref_backend_ops; /* backend/ref */

#endif /* LLAMAD_EMU_H */
