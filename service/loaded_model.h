/* SPDX-License-Identifier: MIT
 *
 * loaded_model.h - one engine with its users, and the jobs that open and close it.
 *
 * It knows nothing of the model to which it belongs, which hears of changes through a table of
 * functions. */
#ifndef LLAMAD_SERVICE_LOADED_MODEL_H
#define LLAMAD_SERVICE_LOADED_MODEL_H

#include <limits.h>
#include <stdatomic.h>

#include "core/base/sha256.h"
#include "core/engine/engine.h"
#include "service/adapter_slots.h"
#include "service/adapters.h"
#include "service/draft_pair.h"
#include "service/model_record.h"
#include "service/service.h"

struct lmi_svc_loaded_model;
struct lmi_svc_model;

/* Waits until an engine has been closed. */
struct lmi_svc_unload_waiter {
	struct lmi_svc_unload_waiter *next;
	void (*unloaded)(struct lmi_svc_unload_waiter *g, uint64_t now);
};

enum lmi_svc_loaded_model_state {
	LMI_SVC_MODEL_LOADING,
	LMI_SVC_MODEL_READY,
	LMI_SVC_MODEL_DRAINING,  /* accepts no new users */
	LMI_SVC_MODEL_UNLOADING, /* has no users; the job that closes it is pending or running */
};

/* In which process the backend of a model runs. */
enum lmi_svc_isolation {
	LMI_SVC_ISOLATION_UNSET = 0, /* as the service's options say */
	LMI_SVC_ISOLATION_OFF = 1,
	LMI_SVC_ISOLATION_PROCESS = 2, /* in one of its own */
	LMI_SVC_ISOLATION_AUTO = 3 /* in one of its own if root does not own the backend's file */
};

/* Bytes of a list of processors. */
#define LMI_SVC_CPUS_BYTES 1024

/* Options for opening a model; zero means the option of the service. */
struct lmi_svc_load {
	uint32_t n_ctx, n_seq, n_batch, n_thread, n_thread_batch, device;
	char cpus[LMI_SVC_CPUS_BYTES + 1];
	uint32_t activations; /* enum lmd_activations; UINT32_MAX: the service's */
	int32_t k_dtype, v_dtype; /* enum lmd_dtype of keys and values; -1: the service's */
	uint64_t memory_limit;
	char backend[48]; /* "": the service's, also for the following ones */
	char devices[513], gpu_layers[17], split[257], override_tensor[4097];
	char draft_path[LMI_STORE_PATH_MAX + 1]; /* of the draft model, or LMI_SVC_DRAFT_AUTO; "": the
						  * service's */
	char mmproj_path[LMI_STORE_PATH_MAX + 1]; /* of its vision tower; "": the file beside it, if there is
						   * one */
	bool lookahead; /* it looks ahead */
	char lookup_path[LMI_STORE_PATH_MAX + 1]; /* of its lookup file; "": the service's */
	enum lmi_svc_isolation isolation;
	int64_t keep_ms;  /* idle time after which it is unloaded; < 0: never */
};

/* What the model is told about its engine, on the loop's thread. */
struct lmi_svc_loaded_model_events {
	/* The job that opens it is done; err has its result. */
	void (*opened)(struct lmi_svc_loaded_model *r);
	/* load_done and load_total have changed. */
	void (*progress)(struct lmi_svc_loaded_model *r);
	/* It accepts no new users from now on. */
	void (*draining)(struct lmi_svc_loaded_model *r);
};

struct lmi_svc_loaded_model {
	char mmproj[LMI_STORE_PATH_MAX + 1]; /* path of the vision tower, while it is opened; "": none */
	struct lmi_svc_loaded_model *prev, *next; /* list of all loaded models */
	struct lmi_service *svc;
	struct lmi_svc_model *model;
	struct lmi_engine *engine; /* NULL while it is being loaded */
	struct lmi_svc_placement *placement; /* of the engine; NULL: no memory for it */
	enum lmi_svc_loaded_model_state state;
	bool asked;                 /* op load or reload asked for it */
	struct lmi_engine_loss loss; /* the device because of which it could not be opened */
	uint64_t number;            /* serial number, from 1 */
	uint32_t n_user;            /* references of streams and jobs */
	uint32_t n_running;         /* running generations */
	uint64_t passed_over;	    /* the last round in which it could take no generation */
	uint64_t ready_ns, idle_ns; /* when it became ready; when it lost its last user */
	uint32_t n_progress;        /* progress counter of the engine when last read */
	uint64_t progress_ns;       /* when that counter last changed */
	uint64_t ns_per_token; /* of prompts that were computed; 0: not measured */
	uint64_t copy_ns_per_mib; /* of rows between device and host; 0: not measured */
	bool has_rows_digest;
	uint8_t rows_digest[LMI_SHA256_BYTES]; /* prefix_tier.c */
	bool has_template_caps; /* op info was asked for them */
	uint32_t template_caps;	/* lmi_svc_template_caps of the model's own template */
	bool lost;                  /* its device or file was lost; it drains */
	uint64_t defer_wakeups_until_ns; /* wakeups are deferred until then; 0: they are not */
	struct lmi_svc_unload_waiter *unload_waiters;
	const struct lmi_svc_loaded_model_events *events; /* for its model */
	/* the job that opens or closes it */
	struct lmi_job job;
	bool job_waits; /* the queue was full; retry in the next tick */
	struct lmi_svc_model_record *record;
	struct lmi_svc_load load;
	struct lmi_engine_model_opts inst; /* as configured when it was created */
	struct lmi_svc_adapters adapters; /* that it is opened with */
	struct lmi_svc_adapter_slots slots;
	struct lmi_svc_draft_pair pair;
	struct lmi_engine_repack_opts repack; /* max_bytes 0: without the repack cache */
	char repack_dir[PATH_MAX];	      /* its folder, while the model is opened */
	struct lmd_error err; /* status LMD_OK: it was opened */
	/* progress: written by the job, read when the message is delivered */
	struct lmi_mailbox_message message;
	_Atomic bool posted;
	_Atomic uint64_t load_done, load_total;
	uint64_t load_ns;
	struct lmi_svc_loaded_model *open_next; /* opened after this one has been closed */
	bool retried;                           /* it did not fit and is retried after closing another one */
};

/* Adds an engine that is to be opened to the service's list; lmi_svc_loaded_model_submit opens it.
 * Takes a reference to the record.  Returns NULL if there is no memory. */
struct lmi_svc_loaded_model *
lmi_svc_loaded_model_create(struct lmi_service *svc, struct lmi_svc_model_record *record,
			    const struct lmi_svc_load *load,
			    const struct lmi_svc_loaded_model_events *events,
			    struct lmi_svc_model *model);
/* Removes it from the service's list and frees it; its engine must be closed. */
void lmi_svc_loaded_model_destroy(struct lmi_service *svc, struct lmi_svc_loaded_model *r);

/* Finds the device of a loaded model that was lost since the model was opened, of several the one that
 * stays closed for the longest time; out->device is "" if there is none. */
void lmi_svc_loaded_model_find_loss(const struct lmi_svc_loaded_model *r,
				    struct lmi_engine_loss *out);

/* Drains the engine: it accepts no new users and is closed when it has none. */
void lmi_svc_loaded_model_retire(struct lmi_svc_loaded_model *r);
void lmi_svc_loaded_model_ref(struct lmi_svc_loaded_model *r);
void lmi_svc_loaded_model_unref(struct lmi_svc_loaded_model *r, uint64_t now);

/* Returns the engine that has been idle for the longest time, or NULL. */
struct lmi_svc_loaded_model *lmi_svc_loaded_model_find_idle(const struct lmi_service *svc);
/* Submits the job that opens or closes the engine, depending on its state.  If the queue is full,
 * it is retried in the next tick. */
void lmi_svc_loaded_model_submit(struct lmi_service *svc, struct lmi_svc_loaded_model *r);

#endif /* LLAMAD_SERVICE_LOADED_MODEL_H */
