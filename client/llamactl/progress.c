/* SPDX-License-Identifier: MIT */
#include "client/llamactl/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/remote.h"
#include "core/base/clock.h"

#define BAR	    30
#define REDRAW_NS   100000000  /* ns between two redraws */
#define ESTIMATE_NS 2000000000 /* ns of a phase before the time left is estimated */
#define SHOW_AFTER_NS 300000000 /* most work is done before anybody could read a bar */

static int64_t now(void)
{
	return (int64_t)lmi_clock_monotonic_ns();
}

void lmi_ctl_progress_init(struct lmi_ctl_progress *p)
{
	const char *term = getenv("TERM");

	*p = (struct lmi_ctl_progress){.on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb"),
				       .made_ns = now()};
}

/* Writes ", 2m05s left", or nothing; for a download also its rate. */
static const char *remaining_time(const struct lmi_ctl_progress *p, char *out, size_t n,
				  uint64_t done, uint64_t total, int64_t at)
{
	char text[24], rate[24];
	double ns = (double)(at - p->begun_ns), part = (double)(done - p->first);

	out[0] = 0;
	if (done > p->first && done < total && ns > ESTIMATE_NS) {
		(void)lmi_ctl_show_bytes(rate, sizeof(rate), (int64_t)(part / ns * 1e9));
		ns *= (double)(total - done) / part;
		(void)lmi_ctl_show_ms(text, sizeof(text), (int64_t)(ns / 1e6) + 1000);
		if (!strcmp(p->phase, "download"))
			(void)snprintf(out, n, ", %s/s, %s left", rate, text);
		else
			(void)snprintf(out, n, ", %s left", text);
	}
	return out;
}

void lmi_ctl_progress_show(struct lmi_ctl_progress *p, const char *phase, uint64_t done,
			   uint64_t total)
{
	char bar[BAR + 1], a[24], b[24], left[72];
	int64_t at;
	uint64_t n;

	if (!p->on)
		return;
	at = now();
	if (at - p->made_ns < SHOW_AFTER_NS)
		return;
	if (!p->phase || strcmp(p->phase, phase) != 0) {
		p->phase = phase;
		p->begun_ns = at;
		p->first = done;
	} else if (at - p->drawn_ns < REDRAW_NS && done < total) {
		return;
	}
	p->drawn_ns = at;
	p->drawn = true;
	if (!total) {
		fprintf(stderr, "\r\033[K%s ...", phase);
		return;
	}
	done = done < total ? done : total;
	n = (uint64_t)((double)done / (double)total * BAR);
	memset(bar, '.', BAR);
	memset(bar, '#', (size_t)n);
	bar[BAR] = 0;
	fprintf(stderr, "\r\033[K%-8s %s %3u %%  %s of %s%s", phase, bar,
		(unsigned)((double)done / (double)total * 100),
		lmi_ctl_show_bytes(a, sizeof(a), (int64_t)done),
		lmi_ctl_show_bytes(b, sizeof(b), (int64_t)total),
		remaining_time(p, left, sizeof(left), done, total, at));
}

void lmi_ctl_progress_end(struct lmi_ctl_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
