/* SPDX-License-Identifier: MIT
 *
 * devices.h - the devices of a process, which its models share.
 *
 * A device is opened when the first model needs it and closed when the last one is done with it. It has one
 * arbiter, which lets the models take turns, and one ledger of the memory that they take. Models that
 * ask for the same threads and arithmetic use the same state of the backend; others, and models with
 * adapters, whose slots are numbers of the state, get a state of their own on the same device.
 *
 * A model can have the backend in a process of its own (core/worker/worker.h). Then its device has a name
 * of its own, "cpu0@MODEL", and is lost alone, but takes turns with the others on cpu0.
 *
 * A device that is lost is closed when the last model has left it, and opened again, but not at once
 * (device_holdoff.h).
 *
 * Devices are named by backend and index: "cpu0", "emu1". All functions may be called from any
 * thread. */
#ifndef LLAMAD_CORE_ENGINE_DEVICES_H
#define LLAMAD_CORE_ENGINE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/team.h"
#include "core/engine/device_arbiter.h"
#include "llamad/backend.h"

struct lmi_plugin_registry;
struct lmi_factory;

#define LMI_ENGINE_DEVICE_NAME 56
/* Of which the name of a worker takes at most so many bytes. */
#define LMI_ENGINE_ISOLATE_NAME 24

/* A device, as all models on it see it. */
struct lmi_engine_device {
	uint32_t number; /* in its set, < LMI_ENGINE_DEVICES_MAX; models take several devices in this
			  * order */
	char name[LMI_ENGINE_DEVICE_NAME];
	struct lmd_device_info info;
	struct lmi_device_arbiter *arbiter;
};

/* A device that a backend has opened with certain parameters. */
struct lmi_engine_open_device {
	struct lmi_engine_device *device;
	const struct lmi_factory *backend;
	const struct lmd_backend_ops *ops; /* of the backend, or of its worker */
	void *state;
	bool isolated; /* in a worker: `state` is for lmi_worker_* */
	struct lmd_team *team; /* NULL: one thread. Used by the model whose turn it is */
	struct lmi_team_threads threads; /* of the team, or of the worker */
	uint64_t number; /* of this opening in its set, from 1 */
};

struct lmi_engine_device_params {
	const char *backend;
	uint32_t index;
	struct lmi_team_threads threads;
	uint32_t activations; /* enum lmd_activations */
	uint32_t attention;   /* enum lmd_attention */
	uint32_t deterministic; /* enum lmd_deterministic */
	bool alone;	      /* a state that no other model uses */
	bool at_once;	      /* even if the device was lost a moment ago */
	/* in a process of its own, for the model of this name, of which LMI_ENGINE_ISOLATE_NAME bytes are
	 * used; NULL: in this one */
	const char *isolate;
	uint64_t isolation_timeout_ns; /* of that process (core/worker/worker.h) */
};

/* Different devices that have been used in one process. */
#define LMI_ENGINE_DEVICES_MAX 64

struct lmi_engine_devices;

enum lmd_status lmi_engine_devices_create(struct lmi_engine_devices **out,
					  struct lmi_plugin_registry *registry,
					  const struct lmd_host *host, struct lmd_error *err);
/* No device may be open. set may be NULL. */
void lmi_engine_devices_destroy(struct lmi_engine_devices *set);

/* LMD_NOTFOUND: there is no such backend or device; LMD_BUSY: it was lost and stays closed for a while
 * (lmi_engine_device_losses); other errors are the backend's. */
enum lmd_status lmi_engine_device_open(struct lmi_engine_devices *set,
				       const struct lmi_engine_device_params *p,
				       struct lmi_engine_open_device **out, struct lmd_error *err);
/* All objects that the caller created on it have been destroyed. d may be NULL. */
void lmi_engine_device_close(struct lmi_engine_devices *set, struct lmi_engine_open_device *d);
/* Chooses the threads that compute the next step, which has n_row rows. The caller has the turn. */
void lmi_engine_device_choose_threads(struct lmi_engine_open_device *d, uint32_t n_row);
/* Reports that the device is lost: nobody else gets this state of the backend, and the device stays
 * closed for a while. A loss that was reported before is ignored. why: the backend's message, for the
 * log. */
void lmi_engine_device_set_lost(struct lmi_engine_devices *set, struct lmi_engine_open_device *d,
				const char *why);
/* Was the device of this opening, which has not been closed, lost since? *wait_ns: how long it stays
 * closed. */
bool lmi_engine_device_is_lost(struct lmi_engine_devices *set, uint64_t number, uint64_t *wait_ns);
/* Returns the number of losses of all devices so far. */
uint32_t lmi_engine_devices_n_loss(const struct lmi_engine_devices *set);
/* Returns how often a device was lost, and in *wait_ns how long it stays closed; 0: not at all. */
uint32_t lmi_engine_device_losses(struct lmi_engine_devices *set, const char *name,
				  uint64_t *wait_ns);

/* Returns the name of the device that the parameters mean. */
void lmi_engine_device_name(const struct lmi_engine_device_params *p,
			    char out[LMI_ENGINE_DEVICE_NAME]);

/* Finds the backend and the index that a name such as "cpu0" or "cpu" (index 0) stands for. name_n:
 * its length. LMD_INVALID: it is no name. */
enum lmd_status lmi_engine_device_parse(const char *name, size_t name_n, char *backend, size_t cap,
					uint32_t *index, struct lmd_error *err);

/* ---- the ledger ---- */

/* Memory of one model on one device. A claim of a model that is being loaded counts as taken
 * although the device still has it; afterwards the device itself shows it. */
struct lmi_engine_claim {
	uint64_t bytes;
	bool loading;
};

/* Free bytes of a device, without those that are claimed by models being loaded; UINT64_MAX:
 * unknown. On a device in host memory: what the machine still has. */
uint64_t lmi_engine_device_free(struct lmi_engine_devices *set,
				const struct lmi_engine_open_device *d);
/* Replaces a claim. LMD_NOMEM: with `check`, less than that is free; the claim is unchanged. */
enum lmd_status lmi_engine_device_claim(struct lmi_engine_devices *set,
					struct lmi_engine_open_device *d,
					struct lmi_engine_claim *claim, uint64_t bytes,
					bool loading, bool check, struct lmd_error *err);

/* ---- for users ---- */

struct lmi_engine_device_row {
	char name[LMI_ENGINE_DEVICE_NAME]; /* "cpu0" */
	char backend[48];
	uint32_t index;
	char description[64];
	uint32_t caps; /* LMD_DEV_* */
	bool queues;   /* work is queued; otherwise a call returns when it is complete */
	bool open, lost;
	uint32_t n_model;
	uint32_t n_bucket;
	uint64_t memory_total, memory_free, memory_models; /* bytes; 0 = unknown */
	uint32_t n_loss;  /* how often it was lost */
	uint64_t wait_ns; /* how long it stays closed for that reason */
};

/* Describes every device of every backend that can run here. *out: [*n], to be freed with
 * lmi_free. */
enum lmd_status lmi_engine_devices_list(struct lmi_engine_devices *set,
					struct lmi_engine_device_row **out, uint32_t *n,
					struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_DEVICES_H */
