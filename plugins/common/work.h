/* SPDX-License-Identifier: MIT
 *
 * work.h - counts the work of a loop for the host, which may end it.
 *
 * Loops whose length is decided by outside input call tok_work_step; it asks the host only once in
 * TOK_WORK_BATCH steps. */
#ifndef LLAMAD_PLUGINS_COMMON_WORK_H
#define LLAMAD_PLUGINS_COMMON_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/host.h"

#define TOK_WORK_BATCH (1u << 16)

/* Zeroed: nothing counted yet. */
struct tok_work {
	uint64_t n;  /* steps that the host has not been told of */
	bool stopped;
};

/* Tells the host of n steps; returns false if the work must end with LMD_CANCELLED. */
static inline bool tok_work_tell(const struct lmd_host *host, uint64_t n)
{
	return !host->work_step || host->work_step(host->ctx, n);
}

/* Counts n steps, as defined by work_step in llamad/host.h. Returns false, from then on, if the
 * work must end. */
static inline bool tok_work_step(struct tok_work *w, const struct lmd_host *host, uint64_t n)
{
	w->n += n;
	if (LMD_LIKELY(w->n < TOK_WORK_BATCH))
		return !w->stopped;
	w->stopped = w->stopped || !tok_work_tell(host, w->n);
	w->n = 0;
	return !w->stopped;
}

/* Steps of a pass over n bytes that handles many bytes at a time. */
static inline uint64_t tok_work_scan(size_t n)
{
	return n / 16;
}

#endif /* LLAMAD_PLUGINS_COMMON_WORK_H */
