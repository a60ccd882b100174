/* SPDX-License-Identifier: MIT
 *
 * trial.h - computes one row with a new engine, so that the opening fails for everything that the
 * first request would fail for: tensors that are missing or of a type that the backend does not
 * support, plans that do not compile, weights that cannot be read. */
#ifndef LLAMAD_CORE_ENGINE_TRIAL_H
#define LLAMAD_CORE_ENGINE_TRIAL_H

#include "core/engine/engine.h"

/* Returns false to cut the trial short, which then returns LMD_CANCELLED. */
typedef bool (*lmi_engine_trial_fn)(void *arg);

/* Runs the trial and reads its events.  Call it after lmi_engine_open and before any command; the
 * row leaves nothing behind in the KV cache.  go_on: called about ten times a second; may be NULL.
 * Models without a vocabulary are not tried. */
enum lmd_status lmi_engine_trial(struct lmi_engine *e, lmi_engine_trial_fn go_on, void *arg,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_TRIAL_H */
