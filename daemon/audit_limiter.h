/* SPDX-License-Identifier: MIT
 *
 * audit_limiter.h - how many refused requests of a principal the audit log records, so that no client
 * can fill it: a token bucket for each principal, and a count of those that found it empty.
 *
 * Pure: the time, in nanoseconds, is an argument. */
#ifndef LLAMAD_DAEMON_AUDIT_LIMITER_H
#define LLAMAD_DAEMON_AUDIT_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

/* Refused requests that are recorded at once, the time until one more is, and the time after which the
 * number of the others is written. */
#define LMI_DAEMON_AUDIT_BURST	    20u
#define LMI_DAEMON_AUDIT_MS	    10000u
#define LMI_DAEMON_AUDIT_SUMMARY_MS 60000u
/* Principals at a time; the last entry is shared by all others. */
#define LMI_DAEMON_AUDIT_PRINCIPALS 16u
#define LMI_DAEMON_AUDIT_PRINCIPAL_BYTES 80u

struct lmi_daemon_audit_limiter {
	struct {
		char principal[LMI_DAEMON_AUDIT_PRINCIPAL_BYTES];
		uint64_t full_ns; /* when the bucket will be full */
		uint64_t dropped, first_dropped_ns;
	} v[LMI_DAEMON_AUDIT_PRINCIPALS];
};

/* Counts a refused request.  Returns whether to record it. */
bool lmi_daemon_audit_limiter_take(struct lmi_daemon_audit_limiter *l, const char *principal,
				   uint64_t now);

struct lmi_daemon_audit_dropped {
	const char *principal; /* valid until the next call */
	uint64_t n;
};

/* Takes a number of requests without a record that is due.  Returns false if there is none. */
bool lmi_daemon_audit_limiter_dropped(struct lmi_daemon_audit_limiter *l, uint64_t now,
				      struct lmi_daemon_audit_dropped *out);
/* Returns when the next one is due; UINT64_MAX: never. */
uint64_t lmi_daemon_audit_limiter_deadline(const struct lmi_daemon_audit_limiter *l);

#endif /* LLAMAD_DAEMON_AUDIT_LIMITER_H */
