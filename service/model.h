/* SPDX-License-Identifier: MIT
 *
 * model.h - the models in memory, their loading and unloading.
 *
 * A model is a row of the registry that was requested.  It has at most one engine that accepts new
 * work (`current`), at most one that is being loaded (`coming`), and any number that are draining.
 * All changes are made on the loop's thread; opening and closing engines are jobs.
 *
 *     absent -> loading -> ready -> draining -> unloading -> absent
 *                  |-> failed: no new attempt before a pause has passed, except by op load.  A
 *                      model whose device was lost is failed as well
 *
 * A reload opens a new engine while the current one continues to serve; when the new one is ready,
 * the old one drains. */
#ifndef LLAMAD_SERVICE_MODEL_H
#define LLAMAD_SERVICE_MODEL_H

#include <stdatomic.h>

#include "core/engine/engine.h"
#include "service/service.h"
#include "store/store.h"

struct lmi_svc_model;
struct lmi_svc_loaded_model;

/* A model's row of the registry; reference counted. */
struct lmi_svc_model_row {
	uint32_t n_user;
	struct lmi_store_models m; /* one model */
};
void lmi_svc_model_record_give(struct lmi_svc_model_row *row);

/* Waits for a model to be loaded; a member of a larger object. */
struct lmi_svc_load_waiter {
	struct lmi_svc_load_waiter *next;
	bool waits; /* is in a list */
	/* Called with a reference to the loaded model, or with NULL and the error. */
	void (*ready)(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		      const struct lmd_error *err, uint32_t retry_ms);
	/* Called during loading, with the number of bytes.  May be NULL. */
	void (*progress)(struct lmi_svc_load_waiter *w, uint64_t now, uint64_t done,
			 uint64_t total);
};

/* Waits until an engine has been closed. */
struct lmi_svc_unload_waiter {
	struct lmi_svc_unload_waiter *next;
	void (*gone)(struct lmi_svc_unload_waiter *g, uint64_t now);
};

enum lmi_svc_resident_state {
	LMI_SVC_RESIDENT_LOADING,
	LMI_SVC_RESIDENT_READY,
	LMI_SVC_RESIDENT_DRAINING,  /* accepts no new users */
	LMI_SVC_RESIDENT_UNLOADING, /* has no users; the job that closes it is pending or running */
};

/* Options for opening a model; zero means the option of the service. */
struct lmi_svc_load {
	uint32_t n_ctx, n_seq, n_batch, n_thread, device;
	uint32_t activations; /* enum lmd_activations; UINT32_MAX: the service's */
	int32_t kv_dtype;     /* enum lmd_dtype; -1: the service's */
	uint64_t memory_limit;
	char backend[48]; /* "": the service's */
	int64_t keep_ms;  /* idle time after which it is unloaded; < 0: never */
};

struct lmi_svc_loaded_model {
	struct lmi_svc_loaded_model *prev, *next; /* list of all loaded models */
	struct lmi_service *svc;
	struct lmi_svc_model *model;
	struct lmi_engine *engine; /* NULL while it is being loaded */
	enum lmi_svc_resident_state state;
	uint64_t number;            /* serial number, from 1 */
	uint32_t n_user;            /* references of streams and jobs */
	uint32_t n_running;         /* running generations */
	uint64_t ready_ns, idle_ns; /* when it became ready; when it lost its last user */
	uint32_t n_progress;        /* progress counter of the engine when last read */
	uint64_t progress_ns;       /* when that counter last changed */
	bool lost;                  /* its device or file was lost; it drains */
	uint64_t defer_wakeups_until_ns;           /* wakeups are deferred until then; 0: they are not */
	struct lmi_svc_unload_waiter *gone;
	/* the job that opens or closes it */
	struct lmi_job job;
	bool job_waits; /* the queue was full; retry in the next tick */
	struct lmi_svc_model_row *row;
	struct lmi_svc_load load;
	struct lmd_error err; /* status LMD_OK: it was opened */
	/* progress: written by the job, read when the message is delivered */
	struct lmi_mailbox_message message;
	_Atomic bool posted;
	_Atomic uint64_t load_done, load_total;
	uint64_t load_ns;
	struct lmi_svc_loaded_model *after; /* opened after this one has been closed */
	bool again;                 /* it did not fit and is retried after closing another one */
};

struct lmi_svc_model {
	struct lmi_svc_model *next;
	struct lmi_svc_model_row *row;
	struct lmi_svc_load load;
	struct lmi_svc_loaded_model *current, *coming;
	struct lmi_svc_load_waiter *wants; /* waiters for `coming` */
	uint32_t n_fail;
	uint64_t fail_until;
	struct lmd_error fail;
};

/* Finds or creates the model of a row; takes ownership of the row.  If the digest of an existing
 * model has changed, its current engine is drained. */
enum lmd_status lmi_svc_model_get_or_create(struct lmi_service *svc, uint64_t now,
					    struct lmi_svc_model_row *own_row,
					    struct lmi_svc_model **out, struct lmd_error *err);
const char *lmi_svc_model_name(const struct lmi_svc_model *m);
/* Returns the model of that name, or NULL if it was not requested before. */
struct lmi_svc_model *lmi_svc_model_find(struct lmi_service *svc, const char *name);

/* Loads the model if necessary, and calls w->ready during the call or later. */
void lmi_svc_model_add_waiter(struct lmi_service *svc, uint64_t now, struct lmi_svc_model *m,
			      struct lmi_svc_load_waiter *w);
/* Removes a waiter. */
void lmi_svc_model_remove_waiter(struct lmi_svc_model *m, struct lmi_svc_load_waiter *w);
/* Loads a new engine that replaces the current one; w waits for the new one.  Returns LMD_BUSY if
 * one is already being loaded. */
enum lmd_status lmi_svc_model_reload(struct lmi_service *svc, uint64_t now, struct lmi_svc_model *m,
				     const struct lmi_svc_load *load, struct lmi_svc_load_waiter *w,
				     struct lmd_error *err);

/* Call this if the engine is broken: the model becomes failed, and is loaded again by op load or by
 * the next request after a pause. */
void lmi_svc_resident_lost(struct lmi_service *svc, uint64_t now, struct lmi_svc_loaded_model *r,
			   const struct lmd_error *err);
/* Ends the pause after a failed load. */
void lmi_svc_model_end_pause(struct lmi_svc_model *m);

/* Drains the engine: it accepts no new users and is closed when it has none. */
void lmi_svc_resident_retire(struct lmi_service *svc, uint64_t now, struct lmi_svc_loaded_model *r);
void lmi_svc_resident_ref(struct lmi_svc_loaded_model *r);
void lmi_svc_resident_unref(struct lmi_svc_loaded_model *r, uint64_t now);

/* ---- between model.c and resident.c ---- */

/* Returns the engine that has been idle for the longest time, or NULL. */
struct lmi_svc_loaded_model *lmi_svc_resident_find_idle(const struct lmi_service *svc);
/* Submits the job that opens or closes the engine, depending on its state.  If the queue is full,
 * it is retried in the next tick. */
void lmi_svc_resident_submit(struct lmi_service *svc, struct lmi_svc_loaded_model *r);
/* Removes it from the service's list and frees it. */
void lmi_svc_resident_unlink(struct lmi_service *svc, struct lmi_svc_loaded_model *r);
/* Called on the loop's thread when the job that opens an engine is done. */
void lmi_svc_model_on_opened(void *arg);

/* Unloads models that were idle for too long, and retries jobs that did not fit into the queue. */
void lmi_svc_models_tick(struct lmi_service *svc, uint64_t now);
uint64_t lmi_svc_models_deadline(const struct lmi_service *svc);
/* Frees models that have no engine, no waiter and no failure to remember. */
void lmi_svc_models_collect(struct lmi_service *svc);
/* Drains all engines; the caller runs jobs until none is left. */
void lmi_svc_models_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_MODEL_H */
