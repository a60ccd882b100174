/* SPDX-License-Identifier: MIT
 *
 * device_holdoff.h - how long a device that was lost stays closed.
 *
 * The first loss costs a second, and each further one twice as much as the one before, up to five
 * minutes.  A device that has worked for ten minutes after its last pause begins again with a second.
 * Pure: the caller passes the time, in ns of a clock that never goes back.  A zeroed struct is that of a
 * device that was never lost. */
#ifndef LLAMAD_CORE_ENGINE_DEVICE_HOLDOFF_H
#define LLAMAD_CORE_ENGINE_DEVICE_HOLDOFF_H

#include <stdint.h>

#define LMI_DEVICE_HOLDOFF_FIRST_NS  1000000000ull
#define LMI_DEVICE_HOLDOFF_MAX_NS    300000000000ull
#define LMI_DEVICE_HOLDOFF_FORGET_NS 600000000000ull

struct lmi_device_holdoff {
	uint32_t n_in_row;  /* losses without ten minutes of work between them */
	uint64_t pause_ns;  /* after the last one */
	uint64_t until_ns;  /* end of that pause */
};

/* Records a loss: the device stays closed until h->until_ns. */
void lmi_device_holdoff_lost(struct lmi_device_holdoff *h, uint64_t now_ns);
/* Returns the rest of the pause; 0: the device may be opened. */
uint64_t lmi_device_holdoff_left(const struct lmi_device_holdoff *h, uint64_t now_ns);

#endif /* LLAMAD_CORE_ENGINE_DEVICE_HOLDOFF_H */
