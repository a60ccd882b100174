/* SPDX-License-Identifier: MIT
 *
 * driver.h - who makes a model of one kind run: which plans a sequence needs and in which
 * order, by enum lmd_driver.  One file for each kind, one line in the table. */
#ifndef LLAMAD_CORE_ENGINE_DRIVER_H
#define LLAMAD_CORE_ENGINE_DRIVER_H

#include "core/engine/session.h"

struct lmi_driver {
	const char *name;
	/* Can it serve this session?  The thread that submits. */
	enum lmd_status (*check)(const struct lmi_inst *inst, const struct lmi_session *s,
				 struct lmd_error *err);
	/* The plans of a sequence (compiled when they are new) and what the scheduler is told of
	 * it; sharing is filled in by the engine.  The engine's thread. */
	enum lmd_status (*start)(struct lmi_inst *inst, const struct lmi_seq *q,
				 struct lmi_sched_seq *out, struct lmd_error *err);
};

/* The driver of a model; never NULL for numbers of enum lmd_driver. */
const struct lmi_driver *lmi_driver_of(uint32_t driver);

extern const struct lmi_driver lmi_driver_autoregressive, lmi_driver_encoder, lmi_driver_encdec,
	lmi_driver_diffusion, lmi_driver_codec;

/* What all share: the FORWARD plan for what the session wants, and its rows. */
enum lmd_status lmi_driver_forward(struct lmi_inst *inst, const struct lmi_seq *q,
				   struct lmi_sched_seq *out, struct lmd_error *err);
/* "architecture bert: cannot generate text, only embeddings": for checks. */
enum lmd_status lmi_driver_refuse(const struct lmi_inst *inst, const char *what,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_DRIVER_H */
