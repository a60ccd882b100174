/* SPDX-License-Identifier: MIT
 *
 * model.h - the models in memory, their loading and unloading.
 *
 * A model is a record of the registry that was requested.  It has at most one loaded model that
 * accepts new work (`current`), at most one that is being loaded, and any number that are draining.
 * All changes are made on the loop's thread; opening and closing engines are jobs.
 *
 *     absent -> loading -> ready -> draining -> unloading -> absent
 *                  |-> failed: no new attempt before a pause has passed, except by op load
 *
 * A model whose device was lost is failed as well; when the device can be opened again, the model is
 * loaded again without a request.
 *
 * A reload opens a new engine while the current one continues to serve; when the new one is ready,
 * the old one drains. */
#ifndef LLAMAD_SERVICE_MODEL_H
#define LLAMAD_SERVICE_MODEL_H

#include "service/loaded_model.h"
#include "service/model_record.h"
#include "store/store.h"

/* Waits for a model to be loaded; a member of a larger object. */
struct lmi_svc_load_waiter {
	struct lmi_svc_load_waiter *next;
	bool in_list;
	/* Called with a reference to the loaded model, or with NULL and the error. */
	void (*ready)(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		      const struct lmd_error *err, uint32_t retry_ms);
	/* Called during loading, with the number of bytes.  May be NULL. */
	void (*progress)(struct lmi_svc_load_waiter *w, uint64_t now, uint64_t done,
			 uint64_t total);
};

struct lmi_svc_model {
	struct lmi_svc_model *next;
	struct lmi_svc_model_record *record;
	struct lmi_svc_load load;
	struct lmi_svc_loaded_model *current, *loading;
	struct lmi_svc_load_waiter *load_waiters; /* waiters for `loading` */
	bool asked; /* op load or reload asked for the next load, which quarantine does not prevent */
	uint32_t n_fail;
	uint64_t fail_until;
	struct lmd_error fail;
	char lost_device[56]; /* it was on this device, and is loaded again at fail_until; "": it is not */
	bool wants_adapters; /* a request asked for one: the next load has slots for them */
};

/* Finds or creates the model of a record; takes ownership of the record.  If the digest of an
 * existing model has changed, its current engine is drained. */
enum lmd_status lmi_svc_model_get_or_create(struct lmi_service *svc,
					    struct lmi_svc_model_record *own_record,
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

/* Adds a waiter for an engine that is loaded with slots for adapters, in place of one without. If one is
 * being loaded already, w waits for that one. */
enum lmd_status lmi_svc_model_load_slots(struct lmi_service *svc, struct lmi_svc_model *m,
					 struct lmi_svc_load_waiter *w, struct lmd_error *err);

/* Call this if the engine is broken: the model becomes failed, and is loaded again by op load or by
 * the next request after a pause; if a device was lost, at the end of the pause even without one. */
void lmi_svc_model_lost(struct lmi_service *svc, struct lmi_svc_loaded_model *r,
			const struct lmd_error *err);
/* Finds the models that were on a device when it was lost, also those without work. */
void lmi_svc_models_check_devices(struct lmi_service *svc);
/* Does not load the model again by itself.  Returns whether it would have been. */
bool lmi_svc_model_forget_loss(struct lmi_svc_model *m);
/* Ends the pause after a failed load, and quarantine for the next one: somebody asks for it. */
void lmi_svc_model_end_pause(struct lmi_svc_model *m);

/* Changes the idle time after which the model is unloaded; < 0: never. */
void lmi_svc_loaded_model_keep(struct lmi_svc_loaded_model *r, int64_t keep_ms);
/* Unloads models that were idle for too long, and retries jobs that did not fit into the queue. */
void lmi_svc_models_tick(struct lmi_service *svc, uint64_t now);
uint64_t lmi_svc_models_deadline(const struct lmi_service *svc);
/* Frees models that have no engine, no waiter and no failure to remember. */
void lmi_svc_models_collect(struct lmi_service *svc);
/* Drains all engines; the caller runs jobs until none is left. */
void lmi_svc_models_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_MODEL_H */
