/* SPDX-License-Identifier: MIT
 *
 * window.h - a sum over a sliding window of at most 61 seconds, in slots of one second.
 *
 * An amount is counted in the second in which it is added, and leaves a window of n seconds n
 * seconds after the start of that second: a window of n + 1 seconds has all of the last n seconds.  A
 * zeroed struct is empty.
 *
 * Pure: the time is an argument, in nanoseconds, and never goes back. */
#ifndef LLAMAD_SERVICE_WINDOW_H
#define LLAMAD_SERVICE_WINDOW_H

#include <stdint.h>

#define LMI_SVC_WINDOW_SLOTS 61u
#define LMI_SVC_WORK_SECONDS 10u /* the window of processor time */

struct lmi_svc_window {
	uint64_t v[LMI_SVC_WINDOW_SLOTS]; /* of second k in v[k % LMI_SVC_WINDOW_SLOTS] */
	uint64_t second;                  /* the latest one */
};

void lmi_svc_window_add(struct lmi_svc_window *w, uint64_t now, uint64_t amount);
/* Takes back what was added at the time `when`, unless it has left every window. */
void lmi_svc_window_take_back(struct lmi_svc_window *w, uint64_t when, uint64_t amount);
/* Returns the sum of the window of n_second <= LMI_SVC_WINDOW_SLOTS that ends now. */
uint64_t lmi_svc_window_sum(const struct lmi_svc_window *w, uint64_t now, uint32_t n_second);
/* Returns the time, rounded up to milliseconds, after which the sum is below `most` (>= 1) if nothing
 * is added; 0: it is below now. */
uint32_t lmi_svc_window_retry_ms(const struct lmi_svc_window *w, uint64_t now, uint32_t n_second,
				 uint64_t most);

#endif /* LLAMAD_SERVICE_WINDOW_H */
