/* SPDX-License-Identifier: MIT
 *
 * Messages that several connections complete at the same moment add up. */
#include "daemon/front/pacer.h"

void lmi_front_pacer_charge(struct lmi_front_pacer *p, uint64_t now, uint64_t spent_ns)
{
	uint64_t pause = (LMI_FRONT_PACER_SHARE - 1) * spent_ns;
	uint64_t from = p->next_ns > now ? p->next_ns : now;

	if (spent_ns > LMI_FRONT_PACER_MAX_NS || from + pause > now + LMI_FRONT_PACER_MAX_NS)
		p->next_ns = now + LMI_FRONT_PACER_MAX_NS;
	else
		p->next_ns = from + pause;
}
