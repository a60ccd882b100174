/* SPDX-License-Identifier: MIT
 *
 * Pauses that double, for devices that are lost again and again. */
#include "core/engine/device_holdoff.h"

#include <stdbool.h>

static bool is_forgotten(const struct lmi_device_holdoff *h, uint64_t now_ns)
{
	return now_ns > h->until_ns && now_ns - h->until_ns >= LMI_DEVICE_HOLDOFF_FORGET_NS;
}

void lmi_device_holdoff_lost(struct lmi_device_holdoff *h, uint64_t now_ns)
{
	uint64_t pause = 2 * h->pause_ns;

	if (!h->n_in_row || is_forgotten(h, now_ns)) {
		h->n_in_row = 0;
		pause = LMI_DEVICE_HOLDOFF_FIRST_NS;
	}
	if (h->n_in_row < UINT32_MAX)
		h->n_in_row++;
	h->pause_ns = pause < LMI_DEVICE_HOLDOFF_MAX_NS ? pause : LMI_DEVICE_HOLDOFF_MAX_NS;
	h->until_ns = now_ns + h->pause_ns;
}

uint64_t lmi_device_holdoff_left(const struct lmi_device_holdoff *h, uint64_t now_ns)
{
	return now_ns < h->until_ns ? h->until_ns - now_ns : 0;
}
