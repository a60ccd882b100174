/* SPDX-License-Identifier: MIT
 *
 * progress.h - a progress bar on standard error if that is a terminal, otherwise nothing. */
#ifndef LLAMAD_LLAMACTL_PROGRESS_H
#define LLAMAD_LLAMACTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_ctl_progress {
	bool on, drawn;
	/* ns: when the work began, when the phase began, and when the bar was last drawn */
	int64_t made_ns, begun_ns, drawn_ns;
	uint64_t first;             /* amount done when the phase began */
	const char *phase;
};

void lmi_ctl_progress_init(struct lmi_ctl_progress *p);
/* Shows the bar. total 0: unknown. Large byte counts have units; the time left is shown once it
 * can be estimated. phase must live as long as it is shown. May be called often: the bar is drawn
 * at most ten times a second, and only after the first 300 ms. */
void lmi_ctl_progress_show(struct lmi_ctl_progress *p, const char *phase, uint64_t done,
			   uint64_t total);
/* Erases the bar. */
void lmi_ctl_progress_end(struct lmi_ctl_progress *p);

#endif /* LLAMAD_LLAMACTL_PROGRESS_H */
