/* SPDX-License-Identifier: MIT
 *
 * progress.h - a bar on standard error, when that is a terminal; nothing otherwise. */
#ifndef LLAMAD_LLAMACTL_PROGRESS_H
#define LLAMAD_LLAMACTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_progress {
	bool on, drawn;
	int64_t begun, shown; /* ns; when the phase began and when the bar was last drawn */
	uint64_t first;	      /* done when the phase began */
	const char *phase;
};

void lmi_progress_init(struct lmi_progress *p);
/* total 0: not known.  Bytes are shown with units when there are many, and how long the rest of
 * the phase will take once that can be told.  phase lives as long as it is shown.  May be called
 * often: the bar is drawn ten times a second. */
void lmi_progress_show(struct lmi_progress *p, const char *phase, uint64_t done, uint64_t total);
/* Wipes it. */
void lmi_progress_end(struct lmi_progress *p);

#endif /* LLAMAD_LLAMACTL_PROGRESS_H */
