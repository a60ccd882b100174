/* SPDX-License-Identifier: MIT
 *
 * loop.h - the loop of the thread that owns everything but the engines: it waits for
 * descriptors, signals and a deadline, and lets its owner have a turn after each wait.
 *
 * All functions belong to the thread that created the loop, except lmi_loop_now. */
#ifndef LLAMAD_DAEMON_LOOP_H
#define LLAMAD_DAEMON_LOOP_H

#include <stdint.h>

#include "llamad/status.h"

struct lmi_loop;
typedef void (*lmi_loop_fn)(void *arg);

enum lmd_status lmi_loop_create(struct lmi_loop **out, struct lmd_error *err);
/* NULL allowed. */
void lmi_loop_destroy(struct lmi_loop *l);

/* Calls fn whenever fd is readable (level-triggered); fn NULL: a turn is all that is wanted.
 * LMD_NOMEM. */
enum lmd_status lmi_loop_watch(struct lmi_loop *l, int fd, lmi_loop_fn fn, void *arg,
			       struct lmd_error *err);
/* Before fd is closed.  Nothing when it is not watched. */
void lmi_loop_unwatch(struct lmi_loop *l, int fd);
/* Calls fn in the loop when the signal came. */
enum lmd_status lmi_loop_signal(struct lmi_loop *l, int signo, lmi_loop_fn fn, void *arg,
				struct lmd_error *err);

/* Monotonic nanoseconds. */
uint64_t lmi_loop_now(void);

/* Calls turn, waits for whatever comes until the time that it returned (UINT64_MAX: no
 * limit), and again, until lmi_loop_stop. */
void lmi_loop_run(struct lmi_loop *l, uint64_t (*turn)(void *arg, uint64_t now), void *arg);
void lmi_loop_stop(struct lmi_loop *l);

#endif /* LLAMAD_DAEMON_LOOP_H */
