/* SPDX-License-Identifier: MIT
 *
 * progress.h - a bar on standard error, when that is a terminal; nothing otherwise. */
#ifndef LLAMAD_LLAMACTL_PROGRESS_H
#define LLAMAD_LLAMACTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_progress {
	bool on, drawn;
};

void lmi_progress_init(struct lmi_progress *p);
/* total 0: not known.  Bytes are shown with units when there are many. */
void lmi_progress_show(struct lmi_progress *p, const char *phase, uint64_t done, uint64_t total);
/* Wipes it. */
void lmi_progress_end(struct lmi_progress *p);

#endif /* LLAMAD_LLAMACTL_PROGRESS_H */
