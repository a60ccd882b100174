/* SPDX-License-Identifier: MIT
 *
 * A ring of seconds. */
#include "service/window.h"

#include <stdbool.h>

#include "core/base/clock.h"

#define SECOND_NS (1000u * LMI_NS_PER_MS)

void lmi_svc_window_add(struct lmi_svc_window *w, uint64_t now, uint64_t amount)
{
	uint64_t second = now / SECOND_NS;

	for (uint32_t i = 0; i < LMI_SVC_WINDOW_SLOTS && w->second < second; i++)
		w->v[++w->second % LMI_SVC_WINDOW_SLOTS] = 0;
	if (w->second < second) { /* all slots have been cleared */
		w->second = second;
		w->v[second % LMI_SVC_WINDOW_SLOTS] = 0;
	}
	w->v[w->second % LMI_SVC_WINDOW_SLOTS] += amount;
}

/* Returns the amount of a second; 0 if it is not in the ring. */
static uint64_t amount_of(const struct lmi_svc_window *w, uint64_t second)
{
	bool kept = second <= w->second && second + LMI_SVC_WINDOW_SLOTS > w->second;

	return kept ? w->v[second % LMI_SVC_WINDOW_SLOTS] : 0;
}

void lmi_svc_window_take_back(struct lmi_svc_window *w, uint64_t when, uint64_t amount)
{
	uint64_t *v = &w->v[when / SECOND_NS % LMI_SVC_WINDOW_SLOTS];

	if (amount_of(w, when / SECOND_NS) >= amount)
		*v -= amount;
}

static uint64_t first_second(uint64_t last, uint32_t n_second)
{
	return last < n_second ? 0 : last - n_second + 1;
}

uint64_t lmi_svc_window_sum(const struct lmi_svc_window *w, uint64_t now, uint32_t n_second)
{
	uint64_t last = now / SECOND_NS, sum = 0;

	for (uint64_t s = first_second(last, n_second); s <= last; s++)
		sum += amount_of(w, s);
	return sum;
}

uint32_t lmi_svc_window_retry_ms(const struct lmi_svc_window *w, uint64_t now, uint32_t n_second,
				 uint64_t most)
{
	uint64_t last = now / SECOND_NS, sum = lmi_svc_window_sum(w, now, n_second), left = 0;

	for (uint64_t s = first_second(last, n_second); s <= last && sum >= most; s++) {
		sum -= amount_of(w, s);
		left = (s + n_second) * SECOND_NS - now; /* until second s has left */
	}
	return (uint32_t)((left + LMI_NS_PER_MS - 1) / LMI_NS_PER_MS);
}
