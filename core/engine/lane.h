/* SPDX-License-Identifier: MIT
 *
 * lane.h - decides whose step runs next on a device that several engines share.
 *
 * Steps on one device run one at a time. Of the waiting members, the one with the least virtual
 * time goes first: the time its steps took, divided by the weight of its class (start-time fair
 * queueing, Goyal, Vin and Cheng 1996). An idle member earns no credit: it resumes with the virtual
 * time at which the last member was admitted.
 *
 * The decision is a pure state machine (struct lmi_lane_state: no clock, no threads), driven by
 * tests; struct lmi_lane adds a lock, a clock and waiting threads. */
#ifndef LLAMAD_CORE_ENGINE_LANE_H
#define LLAMAD_CORE_ENGINE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/status.h"

#define LMI_LANE_MAX 64

enum lmi_class {
	LMI_CLASS_INTERACTIVE = 0, /* weight 8 */
	LMI_CLASS_NORMAL = 1,	   /* weight 4 */
	LMI_CLASS_BATCH = 2	   /* weight 1 */
};
#define LMI_N_CLASS 3

/* ---- the state machine ---- */

struct lmi_lane_member {
	bool used, waits;
	uint32_t class; /* of the step it wants to run */
	uint64_t vtime; /* ns, weighted */
	uint64_t since; /* order of requests: on a tie the earlier one goes first */
};

struct lmi_lane_state {
	struct lmi_lane_member m[LMI_LANE_MAX];
	uint32_t holder; /* LMI_LANE_MAX: none */
	uint64_t n_asked;
	uint64_t floor; /* virtual time of the last member admitted */
};

void lmi_lane_state_init(struct lmi_lane_state *s);
/* Returns the member's number, or LMI_LANE_MAX if there are too many. */
uint32_t lmi_lane_state_join(struct lmi_lane_state *s);
/* The member must neither hold the device nor wait. */
void lmi_lane_state_part(struct lmi_lane_state *s, uint32_t id);
void lmi_lane_state_want(struct lmi_lane_state *s, uint32_t id, enum lmi_class class);
/* Admits the next member if the device is free; returns LMI_LANE_MAX if there is none to admit. */
uint32_t lmi_lane_state_admit(struct lmi_lane_state *s);
/* The holder releases the device, after cost_ns. */
void lmi_lane_state_leave(struct lmi_lane_state *s, uint64_t cost_ns);

/* ---- with threads ---- */

struct lmi_lane;

enum lmd_status lmi_lane_create(struct lmi_lane **out, const struct lmd_host *host,
				struct lmd_error *err);
/* There must be no members left. l may be NULL. */
void lmi_lane_destroy(struct lmi_lane *l);
enum lmd_status lmi_lane_join(struct lmi_lane *l, uint32_t *id, struct lmd_error *err);
void lmi_lane_part(struct lmi_lane *l, uint32_t id);
/* Returns when it is the caller's turn. A NULL lane admits everybody at once. */
void lmi_lane_enter(struct lmi_lane *l, uint32_t id, enum lmi_class class);
void lmi_lane_leave(struct lmi_lane *l);

#endif /* LLAMAD_CORE_ENGINE_LANE_H */
