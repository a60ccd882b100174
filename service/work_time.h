/* SPDX-License-Identifier: MIT
 *
 * work_time.h - processor time over a sliding window, in slots of one second.
 *
 * Time is counted in the second in which the work ended, and leaves the window LMI_SVC_WORK_SECONDS
 * seconds later.  A zeroed struct is empty.
 *
 * Pure: the time is an argument, in nanoseconds, and never goes back. */
#ifndef LLAMAD_SERVICE_WORK_TIME_H
#define LLAMAD_SERVICE_WORK_TIME_H

#include <stdint.h>

#define LMI_SVC_WORK_SECONDS 10u

struct lmi_svc_work_time {
	uint64_t ns[LMI_SVC_WORK_SECONDS]; /* of second k in ns[k % LMI_SVC_WORK_SECONDS] */
	uint64_t second;                   /* the latest one */
};

void lmi_svc_work_time_add(struct lmi_svc_work_time *t, uint64_t now, uint64_t ns);
/* Returns the sum of the window that ends now. */
uint64_t lmi_svc_work_time_sum(const struct lmi_svc_work_time *t, uint64_t now);
/* Returns the time, rounded up to milliseconds, after which the sum is below `most` (>= 1) if nothing
 * is added; 0: it is below now. */
uint32_t lmi_svc_work_time_retry_ms(const struct lmi_svc_work_time *t, uint64_t now, uint64_t most);

#endif /* LLAMAD_SERVICE_WORK_TIME_H */
