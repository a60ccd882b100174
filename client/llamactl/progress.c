/* SPDX-License-Identifier: MIT */
#include "client/llamactl/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/remote.h"

#define BAR 30

void lmi_progress_init(struct lmi_progress *p)
{
	const char *term = getenv("TERM");

	*p = (struct lmi_progress){.on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb")};
}

void lmi_progress_show(struct lmi_progress *p, const char *phase, uint64_t done, uint64_t total)
{
	char bar[BAR + 1], a[24], b[24];
	uint64_t n;

	if (!p->on)
		return;
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
	fprintf(stderr, "\r\033[K%-6s %s %3u %%  %s of %s", phase, bar,
		(unsigned)((double)done / (double)total * 100),
		lmi_show_bytes(a, sizeof(a), (int64_t)done),
		lmi_show_bytes(b, sizeof(b), (int64_t)total));
}

void lmi_progress_end(struct lmi_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
