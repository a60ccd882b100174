/* SPDX-License-Identifier: MIT
 *
 * device_arbiter.h - decides whose step runs next on a device that several engines share.
 *
 * Steps on one device run one at a time. Of the waiting members, the one with the least virtual
 * time goes first: the time its steps took, divided by the weight of its class (start-time fair
 * queueing, Goyal, Vin and Cheng 1996). An idle member earns no credit: it resumes with the virtual
 * time at which the last member was admitted.
 *
 * The decision is a pure state machine (struct lmi_device_arbiter_state: no clock, no threads),
 * driven by tests; struct lmi_device_arbiter adds a lock, a clock and waiting threads. */
#ifndef LLAMAD_CORE_ENGINE_DEVICE_ARBITER_H
#define LLAMAD_CORE_ENGINE_DEVICE_ARBITER_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/status.h"

#define LMI_DEVICE_ARBITER_MAX 64

enum lmi_engine_class {
	LMI_ENGINE_CLASS_INTERACTIVE = 0, /* weight 8 */
	LMI_ENGINE_CLASS_NORMAL = 1,      /* weight 4 */
	LMI_ENGINE_CLASS_BATCH = 2        /* weight 1 */
};
#define LMI_ENGINE_N_CLASS 3

/* ---- the state machine ---- */

struct lmi_device_arbiter_member {
	bool used, waits;
	uint32_t class; /* of the step it wants to run */
	uint64_t vtime; /* ns, weighted */
	uint64_t since; /* order of requests: on a tie the earlier one goes first */
};

struct lmi_device_arbiter_state {
	struct lmi_device_arbiter_member m[LMI_DEVICE_ARBITER_MAX];
	uint32_t holder; /* LMI_DEVICE_ARBITER_MAX: none */
	uint64_t n_asked;
	uint64_t floor; /* virtual time of the last member admitted */
};

void lmi_device_arbiter_state_init(struct lmi_device_arbiter_state *s);
/* Returns the member's number, or LMI_DEVICE_ARBITER_MAX if there are too many. */
uint32_t lmi_device_arbiter_state_join(struct lmi_device_arbiter_state *s);
/* The member must neither hold the device nor wait. */
void lmi_device_arbiter_state_leave(struct lmi_device_arbiter_state *s, uint32_t id);
void lmi_device_arbiter_state_request(struct lmi_device_arbiter_state *s, uint32_t id,
				      enum lmi_engine_class class);
/* Admits the next member if the device is free; returns LMI_DEVICE_ARBITER_MAX if there is none to
 * admit. */
uint32_t lmi_device_arbiter_state_admit(struct lmi_device_arbiter_state *s);
/* The holder releases the device, after cost_ns. */
void lmi_device_arbiter_state_release(struct lmi_device_arbiter_state *s, uint64_t cost_ns);

/* ---- with threads ---- */

struct lmi_device_arbiter;

enum lmd_status lmi_device_arbiter_create(struct lmi_device_arbiter **out,
					  const struct lmd_host *host, struct lmd_error *err);
/* There must be no members left. l may be NULL. */
void lmi_device_arbiter_destroy(struct lmi_device_arbiter *l);
enum lmd_status lmi_device_arbiter_join(struct lmi_device_arbiter *l, uint32_t *id,
					struct lmd_error *err);
void lmi_device_arbiter_leave(struct lmi_device_arbiter *l, uint32_t id);
/* Returns when it is the caller's turn. A NULL lane admits everybody at once. */
void lmi_device_arbiter_acquire(struct lmi_device_arbiter *l, uint32_t id,
				enum lmi_engine_class class);
/* Takes a turn if nobody has one or waits for one; returns whether it did. */
bool lmi_device_arbiter_try_acquire(struct lmi_device_arbiter *l, uint32_t id,
				    enum lmi_engine_class class);
void lmi_device_arbiter_release(struct lmi_device_arbiter *l);
/* Returns true if another member waits for the device, which the caller holds. */
bool lmi_device_arbiter_is_wanted(struct lmi_device_arbiter *l);

#endif /* LLAMAD_CORE_ENGINE_DEVICE_ARBITER_H */
