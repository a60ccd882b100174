/* SPDX-License-Identifier: MIT
 *
 * model.h - which models are in memory, and how they come and go.
 *
 * A model is a row of the registry that somebody asked for.  It has at most one engine that takes
 * new work (`current`), at most one on its way (`coming`), and any number that finish what
 * they have.  All changes are made here, on the loop's thread; opening and closing engines are
 * jobs.
 *
 *     absent -> loading -> ready -> draining -> unloading -> absent
 *                  |-> failed, and no new attempt before a pause has passed, unless a load is
 *                      asked for; a model whose device is lost fails, too
 *
 * A reload brings a new engine while the current one goes on serving; when it is there, the
 * old one drains. */
#ifndef LLAMAD_SERVICE_MODEL_H
#define LLAMAD_SERVICE_MODEL_H

#include <stdatomic.h>

#include "core/engine/engine.h"
#include "service/service.h"
#include "store/store.h"

struct lmi_model;
struct lmi_resident;

/* What a registry said of a model; shared by those who need it. */
struct lmi_row {
	uint32_t n_user;
	struct lmi_store_models m; /* one model */
};
void lmi_row_give(struct lmi_row *row);

/* Who waits for a model; a member of a larger object. */
struct lmi_waiter {
	struct lmi_waiter *next;
	bool waits; /* it is in a list */
	/* With a reference on the engine, or NULL and why. */
	void (*ready)(struct lmi_waiter *w, uint64_t now, struct lmi_resident *r,
		      const struct lmd_error *err, uint32_t retry_ms);
	/* While it loads: `done` of `total` bytes of what is under way.  NULL: not told. */
	void (*progress)(struct lmi_waiter *w, uint64_t now, uint64_t done, uint64_t total);
};

/* Who waits until an engine is gone. */
struct lmi_gone {
	struct lmi_gone *next;
	void (*gone)(struct lmi_gone *g, uint64_t now);
};

enum lmi_resident_state {
	LMI_RES_LOADING,
	LMI_RES_READY,
	LMI_RES_DRAINING,  /* no new users */
	LMI_RES_UNLOADING, /* no users; the job that closes it waits or runs */
};

/* How a model is to be opened; zeroed: as the service's options say. */
struct lmi_load {
	uint32_t n_ctx, n_seq, n_batch, n_thread, device;
	uint32_t activations; /* enum lmd_activations; UINT32_MAX: the service's */
	int32_t kv_dtype;     /* enum lmd_dtype; -1: the service's */
	uint64_t memory_limit;
	char backend[48]; /* "": the service's */
	int64_t keep_ms;  /* < 0: for ever */
};

struct lmi_resident {
	struct lmi_resident *prev, *next; /* of the service */
	struct lmi_service *svc;
	struct lmi_model *model;
	struct lmi_engine *engine; /* NULL while it loads */
	enum lmi_resident_state state;
	uint64_t number;            /* 1 for the first engine of the service */
	uint32_t n_user;            /* streams and jobs */
	uint32_t n_running;         /* generations of them */
	uint64_t ready_ns, idle_ns; /* became ready; lost its last user */
	uint32_t n_progress;        /* of the engine, when it was last looked at */
	uint64_t progress_ns;       /* when that number was seen to change */
	bool lost;                  /* its device or file is gone: it ends what it has */
	uint64_t doze_ns;           /* until then its engine's tokens wake nobody; 0: they do */
	struct lmi_gone *gone;
	/* the job that opens or closes it */
	struct lmi_job job;
	bool job_waits; /* the queue was full: try again */
	struct lmi_row *row;
	struct lmi_load load;
	struct lmd_error err; /* status LMD_OK: it was opened */
	/* how far it is: written by the job, read when the message comes */
	struct lmi_message message;
	_Atomic bool posted;
	_Atomic uint64_t load_done, load_total;
	uint64_t load_ns;
	struct lmi_resident *after; /* opened when this one is closed */
	bool again;                 /* it did not fit, and something was closed for it */
};

struct lmi_model {
	struct lmi_model *next;
	struct lmi_row *row;
	struct lmi_load load;
	struct lmi_resident *current, *coming;
	struct lmi_waiter *wants; /* for `coming`, or for the place that it needs */
	uint32_t n_fail;
	uint64_t fail_until;
	struct lmd_error fail;
};

/* The model of a row, made when it is new; takes the row.  A row of other content makes the
 * current engine drain. */
enum lmd_status lmi_model_of(struct lmi_service *svc, uint64_t now, struct lmi_row *own_row,
			     struct lmi_model **out, struct lmd_error *err);
const char *lmi_model_name(const struct lmi_model *m);
/* The model of that name, if somebody asked for it before. */
struct lmi_model *lmi_model_find(struct lmi_service *svc, const char *name);

/* Calls back, now or later, with an engine that takes work.  w->ready is set. */
void lmi_model_want(struct lmi_service *svc, uint64_t now, struct lmi_model *m,
		    struct lmi_waiter *w);
/* It waits no more. */
void lmi_model_unwant(struct lmi_model *m, struct lmi_waiter *w);
/* A new engine in place of the current one; the want hears of the new one.  LMD_BUSY: one is on
 * its way. */
enum lmd_status lmi_model_reload(struct lmi_service *svc, uint64_t now, struct lmi_model *m,
				 const struct lmi_load *load, struct lmi_waiter *w,
				 struct lmd_error *err);

/* Its engine is broken: the model has failed, and is loaded anew by the next request after a pause
 * or by the next load. */
void lmi_resident_lost(struct lmi_service *svc, uint64_t now, struct lmi_resident *r,
		       const struct lmd_error *err);
/* The next request tries to load it at once, whatever failed before. */
void lmi_model_forgive(struct lmi_model *m);

/* No new users; closed when it has none. */
void lmi_resident_retire(struct lmi_service *svc, uint64_t now, struct lmi_resident *r);
void lmi_resident_take(struct lmi_resident *r);
void lmi_resident_give(struct lmi_resident *r, uint64_t now);

/* ---- between model.c and resident.c ---- */

/* The idle engine that nobody used for the longest time, or NULL. */
struct lmi_resident *lmi_resident_victim(const struct lmi_service *svc);
/* Gives its job, to open or to close by its state, to the io threads; a full queue is asked again
 * in the next turn. */
void lmi_resident_submit(struct lmi_service *svc, struct lmi_resident *r);
/* Takes it out of the service's list and frees it. */
void lmi_resident_unlink(struct lmi_service *svc, struct lmi_resident *r);
/* The job of opening is done; on the owner's thread. */
void lmi_model_opened(void *arg);

/* Expired keep times, jobs that found no room. */
void lmi_models_turn(struct lmi_service *svc, uint64_t now);
uint64_t lmi_models_deadline(const struct lmi_service *svc);
/* Forgets models that are absent and have nothing to remember. */
void lmi_models_tidy(struct lmi_service *svc);
/* All engines are gone: closes what has no users; the caller runs jobs until none is left. */
void lmi_models_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_MODEL_H */
