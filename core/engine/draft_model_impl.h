/* SPDX-License-Identifier: MIT
 *
 * draft_model_impl.h - the state of a draft model, shared by draft_model.c (opening) and draft_guess.c
 * (guessing). */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_MODEL_IMPL_H
#define LLAMAD_CORE_ENGINE_DRAFT_MODEL_IMPL_H

#include <stdatomic.h>

#include "core/engine/draft_model.h"
#include "core/engine/second_instance.h"
#include "core/engine/step.h"

struct lmi_engine_draft_model {
	struct lmi_inst *inst, *target;
	uint32_t exec;		      /* the plan that computes logits */
	uint32_t n_vocab;	      /* tokens that the target knows as well */
	uint32_t n_ctx;		      /* longest sequence */
	struct lmi_engine_rows *rows; /* [inst->n_seq] of a step */
	double token_ns;	      /* time of one guessed token; 0: unknown */
	double row_ns;		      /* time of one row of a text that it has not seen; 0: unknown */
	bool failed;		      /* a step failed: it guesses no more */
	struct lmi_engine_draft_count count;
	_Atomic uint32_t n_drafter; /* created on the submitting thread, destroyed on the engine's */
};

/* Derives the options of opts->draft_path from those of its target, whose sizes are chosen. */
void lmi_engine_draft_opts(struct lmi_engine_second_opts *o, const struct lmi_inst *target,
			   const struct lmi_engine_model_opts *opts);
/* Opens opts->draft_path on the devices of the target, with sizes that follow from the target's. */
enum lmd_status lmi_engine_draft_inst_open(struct lmi_inst **out, struct lmi_inst *target,
					   const struct lmi_engine_model_opts *opts,
					   struct lmd_error *err);
/* Puts the path of a draft model before the message of a failure; returns st. */
enum lmd_status lmi_engine_draft_cause(const char *path, enum lmd_status st,
				       const struct lmd_error *cause, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_DRAFT_MODEL_IMPL_H */
