/* SPDX-License-Identifier: MIT
 *
 * loop.h - the event loop of the main thread, which owns everything except the engines.  It waits
 * for descriptors, signals and a deadline, and calls a tick function after each wait.
 *
 * All functions except lmi_loop_now must be called from the thread that created the loop. */
#ifndef LLAMAD_DAEMON_LOOP_LOOP_H
#define LLAMAD_DAEMON_LOOP_LOOP_H

#include <stdint.h>

#include "llamad/status.h"

struct event_base;
struct lmi_loop;
typedef void (*lmi_loop_fn)(void *arg);

enum lmd_status lmi_loop_create(struct lmi_loop **out, struct lmd_error *err);
/* NULL allowed. */
void lmi_loop_destroy(struct lmi_loop *l);

/* Returns the event base of the loop, for listeners that use libevent themselves. */
struct event_base *lmi_loop_base(struct lmi_loop *l);

/* Calls fn whenever fd is readable (level-triggered).  If fn is NULL, the loop only ticks.  Returns
 * LMD_NOMEM if out of memory. */
enum lmd_status lmi_loop_watch(struct lmi_loop *l, int fd, lmi_loop_fn fn, void *arg,
			       struct lmd_error *err);
/* Stops watching fd; call it before fd is closed.  Does nothing if fd is not watched. */
void lmi_loop_unwatch(struct lmi_loop *l, int fd);
/* Calls fn in the loop after the signal has arrived. */
enum lmd_status lmi_loop_signal(struct lmi_loop *l, int signo, lmi_loop_fn fn, void *arg,
				struct lmd_error *err);

/* Returns the monotonic time in nanoseconds.  Any thread. */
uint64_t lmi_loop_now(void);

/* Until lmi_loop_stop: calls tick, then waits for events until the time that tick returned
 * (UINT64_MAX: no deadline). */
void lmi_loop_run(struct lmi_loop *l, uint64_t (*tick)(void *arg, uint64_t now), void *arg);
void lmi_loop_stop(struct lmi_loop *l);

#endif /* LLAMAD_DAEMON_LOOP_LOOP_H */
