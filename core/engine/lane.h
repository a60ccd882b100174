/* SPDX-License-Identifier: MIT
 *
 * lane.h - whose step runs next on a device that several engines share.
 *
 * Calls on one device come one at a time.  Of those who wait, the one with the least virtual
 * time goes first: the time its steps took, divided by the weight of its class (start-time fair
 * queueing, Goyal, Vin and Cheng 1996).  Who was away does not save up: it comes back with the
 * virtual time at which the last one was let in.
 *
 * The choice is a pure state machine (struct lmi_lane_state: no clock, no thread), driven by
 * tests; struct lmi_lane is that machine with a lock, a clock and sleepers. */
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

/* ---- the machine ---- */

struct lmi_lane_member {
	bool used, waits;
	uint32_t class; /* of the step that it wants to run */
	uint64_t vtime; /* ns, weighted */
	uint64_t since; /* order of asking: ties go to who asked first */
};

struct lmi_lane_state {
	struct lmi_lane_member m[LMI_LANE_MAX];
	uint32_t holder; /* LMI_LANE_MAX: nobody */
	uint64_t n_asked;
	uint64_t floor; /* virtual time of who was let in last */
};

void lmi_lane_state_init(struct lmi_lane_state *s);
/* A member's number, or LMI_LANE_MAX when there are too many. */
uint32_t lmi_lane_state_join(struct lmi_lane_state *s);
/* It neither holds nor waits. */
void lmi_lane_state_part(struct lmi_lane_state *s, uint32_t id);
void lmi_lane_state_want(struct lmi_lane_state *s, uint32_t id, enum lmi_class class);
/* Lets the next one in when nobody is; LMI_LANE_MAX: nobody to let in. */
uint32_t lmi_lane_state_admit(struct lmi_lane_state *s);
/* The holder is out, after cost_ns. */
void lmi_lane_state_leave(struct lmi_lane_state *s, uint64_t cost_ns);

/* ---- with threads ---- */

struct lmi_lane;

enum lmd_status lmi_lane_create(struct lmi_lane **out, const struct lmd_host *host,
				struct lmd_error *err);
/* Nobody is a member any more.  NULL allowed. */
void lmi_lane_destroy(struct lmi_lane *l);
enum lmd_status lmi_lane_join(struct lmi_lane *l, uint32_t *id, struct lmd_error *err);
void lmi_lane_part(struct lmi_lane *l, uint32_t id);
/* Returns when it is the caller's turn.  A NULL lane lets everybody in. */
void lmi_lane_enter(struct lmi_lane *l, uint32_t id, enum lmi_class class);
void lmi_lane_leave(struct lmi_lane *l);

#endif /* LLAMAD_CORE_ENGINE_LANE_H */
