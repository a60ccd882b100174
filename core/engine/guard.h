/* SPDX-License-Identifier: MIT
 *
 * guard.h - protects against mapped files that are truncated while they are read.
 *
 * Reading a mapping beyond the new end of its file raises SIGBUS in the reading thread, which may
 * be a thread of a team in the middle of a backend. The handler maps a page of zeros there, marks
 * the mapping as bad, and lets the thread continue: no stack is unwound, no lock stays held, and
 * the engine finds the mark when the step is over. A SIGBUS at any other address goes to the
 * previous handler.
 *
 * Signal handlers belong to the process, so the list of guarded ranges does too: a fixed table of
 * LMI_ENGINE_GUARD_RANGES entries, changed under a lock, read by the handler without one. */
#ifndef LLAMAD_CORE_ENGINE_GUARD_H
#define LLAMAD_CORE_ENGINE_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_ENGINE_GUARD_RANGES 4096

/* Ranges that are guarded together: the files of one model. */
struct lmi_engine_guard {
	_Atomic uint64_t n_fault; /* number of missing pages that were read */
};

/* Guards [ptr, ptr + bytes), which must stay mapped until lmi_engine_guard_drop. The first call
 * installs the handler. LMD_NOMEM if the table is full. Any thread. */
enum lmd_status lmi_engine_guard_add(struct lmi_engine_guard *g, const void *ptr, size_t bytes,
				     struct lmd_error *err);
/* Removes all ranges of g. No thread may be reading them. */
void lmi_engine_guard_drop(struct lmi_engine_guard *g);

static inline bool lmi_engine_guard_is_bad(const struct lmi_engine_guard *g)
{
	return atomic_load_explicit(&g->n_fault, memory_order_acquire) != 0;
}

#endif /* LLAMAD_CORE_ENGINE_GUARD_H */
