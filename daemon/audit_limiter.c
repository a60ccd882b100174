/* SPDX-License-Identifier: MIT
 *
 * A bucket is stored as the time at which it will be full: each request moves it on by the time of one
 * token.  An entry whose bucket is full and that has nothing to report is free. */
#include "daemon/audit_limiter.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"

#define TOKEN_NS   (LMI_DAEMON_AUDIT_MS * (uint64_t)LMI_NS_PER_MS)
#define SUMMARY_NS (LMI_DAEMON_AUDIT_SUMMARY_MS * (uint64_t)LMI_NS_PER_MS)
#define OTHERS	   (LMI_DAEMON_AUDIT_PRINCIPALS - 1)

/* Returns the entry of a principal, a new one if there is room, or the shared one. */
static uint32_t find(struct lmi_daemon_audit_limiter *l, const char *principal, uint64_t now)
{
	uint32_t free_entry = OTHERS;

	for (uint32_t i = 0; i < OTHERS; i++) {
		if (!strncmp(l->v[i].principal, principal, sizeof(l->v[i].principal) - 1))
			return i;
		if (free_entry == OTHERS && l->v[i].full_ns <= now && !l->v[i].dropped)
			free_entry = i;
	}
	(void)snprintf(l->v[free_entry].principal, sizeof(l->v[free_entry].principal), "%s",
		       free_entry == OTHERS ? "others" : principal);
	return free_entry;
}

bool lmi_daemon_audit_limiter_take(struct lmi_daemon_audit_limiter *l, const char *principal,
				   uint64_t now)
{
	uint32_t i = find(l, principal, now);
	uint64_t full = l->v[i].full_ns > now ? l->v[i].full_ns : now;

	if (full - now <= (LMI_DAEMON_AUDIT_BURST - 1) * TOKEN_NS) {
		l->v[i].full_ns = full + TOKEN_NS;
		return true;
	}
	if (!l->v[i].dropped++)
		l->v[i].first_dropped_ns = now;
	return false;
}

bool lmi_daemon_audit_limiter_dropped(struct lmi_daemon_audit_limiter *l, uint64_t now,
				      struct lmi_daemon_audit_dropped *out)
{
	for (uint32_t i = 0; i < LMI_DAEMON_AUDIT_PRINCIPALS; i++) {
		if (!l->v[i].dropped || now < l->v[i].first_dropped_ns + SUMMARY_NS)
			continue;
		*out = (struct lmi_daemon_audit_dropped){l->v[i].principal, l->v[i].dropped};
		l->v[i].dropped = 0;
		return true;
	}
	return false;
}

uint64_t lmi_daemon_audit_limiter_deadline(const struct lmi_daemon_audit_limiter *l)
{
	uint64_t until = UINT64_MAX;

	for (uint32_t i = 0; i < LMI_DAEMON_AUDIT_PRINCIPALS; i++)
		if (l->v[i].dropped && l->v[i].first_dropped_ns + SUMMARY_NS < until)
			until = l->v[i].first_dropped_ns + SUMMARY_NS;
	return until;
}
