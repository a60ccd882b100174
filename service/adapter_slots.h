/* SPDX-License-Identifier: MIT
 *
 * adapter_slots.h - the adapters of a loaded model: which are in the slots of its engine, who uses them,
 * and which are loaded next.
 *
 * A model has LMI_SVC_ADAPTERS_MAX slots, each with the adapters of one choice. A request holds the slot of
 * its choice until it has ended. If no slot has it, the files are read by a job and bound by the engine
 * while it serves others, in an empty slot or in place of what was used longest ago and is not held; if the
 * memory of the model does not suffice, more of those make room. If all slots are held, the request
 * waits. A load that fails ends the requests that wait for it. The loop's thread only. */
#ifndef LLAMAD_SERVICE_ADAPTER_SLOTS_H
#define LLAMAD_SERVICE_ADAPTER_SLOTS_H

#include "core/base/jobs.h"
#include "core/engine/engine.h"
#include "service/adapter_choice.h"

struct lmi_svc_loaded_model;
struct lmi_engine_adapter_data;

/* Waits for a slot; a member of a larger object. */
struct lmi_svc_adapter_waiter {
	struct lmi_svc_adapter_waiter *next;
	bool in_list;
	struct lmi_svc_adapter_choice choice; /* belongs to the one that waits */
	/* Called with the slot of the engine, which is held, or with the error. */
	void (*ready)(struct lmi_svc_adapter_waiter *w, uint64_t now, int32_t slot,
		      const struct lmd_error *err);
};

struct lmi_svc_adapter_slot {
	struct lmi_svc_adapter_choice choice; /* n == 0: the slot is empty */
	uint64_t bytes; /* on each device; 0: not known, it was loaded with the model */
	uint32_t n_user;
	uint64_t used; /* when it was taken last, as a serial number */
};

enum lmi_svc_adapter_load {
	LMI_SVC_ADAPTER_IDLE,
	LMI_SVC_ADAPTER_EVICT, /* the engine empties the slot `at` to make room */
	LMI_SVC_ADAPTER_READ,  /* a job reads the files */
	LMI_SVC_ADAPTER_BIND   /* the engine binds them in the slot `at` */
};

struct lmi_svc_adapter_slots {
	bool open; /* the engine was opened with adapters */
	struct lmi_svc_adapter_slot v[LMI_SVC_ADAPTERS_MAX];
	uint64_t serial;
	uint32_t n_loaded, n_evicted; /* so far */
	struct lmi_svc_adapter_waiter *waiters;
	bool pumping;
	bool changed; /* a waiter came or a slot was given back: the next tick looks at the waiters */
	/* the load in progress, for `choice` */
	enum lmi_svc_adapter_load state;
	struct lmi_svc_adapter_choice choice;
	uint32_t at;
	uint64_t command;
	struct lmi_job job;
	struct lmd_error err;
	struct lmi_engine_adapter_data *data;
};

/* Notes what the engine was opened with: number i of the list in slot i. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_slots_init(struct lmi_svc_adapter_slots *s,
							 const struct lmi_svc_adapters *opened_with,
							 struct lmd_error *err);
void lmi_svc_adapter_slots_fini(struct lmi_svc_adapter_slots *s);

/* Calls w->ready for w->choice, which is not empty, later. The model must be ready and its slots open. */
void lmi_svc_adapter_slots_wait(struct lmi_svc_loaded_model *r, struct lmi_svc_adapter_waiter *w);
/* Removes a waiter, if it is in the list. */
void lmi_svc_adapter_slots_leave(struct lmi_svc_loaded_model *r, struct lmi_svc_adapter_waiter *w);
/* Holds a slot once more that is held already; 0: nothing to do. */
void lmi_svc_adapter_slots_hold(struct lmi_svc_loaded_model *r, int32_t slot);
/* Gives a slot back; 0: nothing to do. Calls nobody: the next tick serves those that wait, so that lists of
 * generations may be walked meanwhile. */
void lmi_svc_adapter_slots_give(struct lmi_svc_loaded_model *r, int32_t slot);
/* Serves those that wait if something has changed. The caller holds the model. */
void lmi_svc_adapter_slots_tick(struct lmi_svc_loaded_model *r, uint64_t now);
/* Takes an event of the engine. Returns false if it is none of a load. */
bool lmi_svc_adapter_slots_event(struct lmi_svc_loaded_model *r, uint64_t now,
				 const struct lmi_engine_event *ev);

/* Returns what is in a slot of the engine; NULL: nothing, or slot is 0. */
const struct lmi_svc_adapter_choice *
lmi_svc_adapter_slots_get(const struct lmi_svc_loaded_model *r, int32_t slot);

#endif /* LLAMAD_SERVICE_ADAPTER_SLOTS_H */
