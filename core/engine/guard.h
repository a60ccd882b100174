/* SPDX-License-Identifier: MIT
 *
 * guard.h - mapped files that shrink while they are read.
 *
 * Reading a mapping beyond the new end of its file raises SIGBUS in whichever thread reads,
 * which may be a thread of a team in the middle of a backend.  The handler puts a page of
 * zeros where the file ended, notes that the mapping is bad, and lets the thread go on: no
 * stack is unwound, no lock stays held, and the engine finds the note when the step is over.
 * A SIGBUS at any other address goes to the handler that was there before.
 *
 * Signal handlers belong to the process, so the list of guarded ranges does too: a fixed table
 * of LMI_GUARD_RANGES entries, changed under a lock, read by the handler without one. */
#ifndef LLAMAD_CORE_ENGINE_GUARD_H
#define LLAMAD_CORE_ENGINE_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_GUARD_RANGES 4096

/* What is guarded together: the files of one model. */
struct lmi_guard {
	_Atomic uint64_t n_fault; /* pages that were missing */
};

/* Guards [ptr, ptr + bytes), which stays mapped until lmi_guard_drop.  The first call
 * installs the handler.  LMD_NOMEM when the table is full.  Any thread. */
enum lmd_status lmi_guard_add(struct lmi_guard *g, const void *ptr, size_t bytes,
			      struct lmd_error *err);
/* Forgets all ranges of g.  Nobody may be reading them. */
void lmi_guard_drop(struct lmi_guard *g);

static inline bool lmi_guard_is_bad(const struct lmi_guard *g)
{
	return atomic_load_explicit(&g->n_fault, memory_order_acquire) != 0;
}

#endif /* LLAMAD_CORE_ENGINE_GUARD_H */
