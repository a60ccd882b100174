/* SPDX-License-Identifier: MIT
 *
 * driver.h - runs models of one kind: selects the plans that a sequence needs and their order, by
 * enum lmd_driver. One file per kind, one line in the table. */
#ifndef LLAMAD_CORE_ENGINE_DRIVER_H
#define LLAMAD_CORE_ENGINE_DRIVER_H

#include "core/engine/engine_job.h"

struct lmi_driver {
	const char *name;
	/* Checks whether it can serve this session. Called on the submitting thread. */
	enum lmd_status (*check)(const struct lmi_inst *inst, const struct lmi_engine_job *s,
				 struct lmd_error *err);
	/* Prepares the plans of a sequence (compiling new ones) and fills in the scheduler's
	 * description; the engine fills in sharing. Called on the engine's thread. */
	enum lmd_status (*start)(struct lmi_inst *inst, const struct lmi_engine_seq *q,
				 struct lmi_sched_seq *out, struct lmd_error *err);
};

/* Returns the driver of a model; never NULL for values of enum lmd_driver. */
const struct lmi_driver *lmi_driver_of(uint32_t driver);

extern const struct lmi_driver lmi_driver_autoregressive, lmi_driver_encoder, lmi_driver_encdec,
	lmi_driver_diffusion, lmi_driver_codec, lmi_driver_tower;

/* Common to all drivers: sets up the FORWARD plan for the session's output, and its rows. */
enum lmd_status lmi_driver_forward(struct lmi_inst *inst, const struct lmi_engine_seq *q,
				   struct lmi_sched_seq *out, struct lmd_error *err);
/* Fails a check with "architecture bert: cannot generate text, only embeddings". */
enum lmd_status lmi_driver_unsupported(const struct lmi_inst *inst, const char *what,
				       struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_DRIVER_H */
