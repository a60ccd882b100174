/* SPDX-License-Identifier: MIT
 *
 * A ring of seconds. */
#include "service/work_time.h"

#include <stdbool.h>

#include "core/base/clock.h"

#define SECOND_NS (1000u * LMI_NS_PER_MS)

void lmi_svc_work_time_add(struct lmi_svc_work_time *t, uint64_t now, uint64_t ns)
{
	uint64_t second = now / SECOND_NS;

	for (uint32_t i = 0; i < LMI_SVC_WORK_SECONDS && t->second < second; i++)
		t->ns[++t->second % LMI_SVC_WORK_SECONDS] = 0;
	if (t->second < second) { /* all slots have been cleared */
		t->second = second;
		t->ns[second % LMI_SVC_WORK_SECONDS] = 0;
	}
	t->ns[t->second % LMI_SVC_WORK_SECONDS] += ns;
}

/* Returns the time of a second; 0 if it is not in the ring. */
static uint64_t ns_of(const struct lmi_svc_work_time *t, uint64_t second)
{
	bool kept = second <= t->second && second + LMI_SVC_WORK_SECONDS > t->second;

	return kept ? t->ns[second % LMI_SVC_WORK_SECONDS] : 0;
}

static uint64_t first_second(uint64_t last)
{
	return last < LMI_SVC_WORK_SECONDS ? 0 : last - LMI_SVC_WORK_SECONDS + 1;
}

uint64_t lmi_svc_work_time_sum(const struct lmi_svc_work_time *t, uint64_t now)
{
	uint64_t last = now / SECOND_NS, sum = 0;

	for (uint64_t s = first_second(last); s <= last; s++)
		sum += ns_of(t, s);
	return sum;
}

uint32_t lmi_svc_work_time_retry_ms(const struct lmi_svc_work_time *t, uint64_t now, uint64_t most)
{
	uint64_t last = now / SECOND_NS, sum = lmi_svc_work_time_sum(t, now), left = 0;

	for (uint64_t s = first_second(last); s <= last && sum >= most; s++) {
		sum -= ns_of(t, s);
		left = (s + LMI_SVC_WORK_SECONDS) * SECOND_NS - now; /* until second s has left */
	}
	return (uint32_t)((left + LMI_NS_PER_MS - 1) / LMI_NS_PER_MS);
}
