/* SPDX-License-Identifier: MIT
 *
 * tail.h - tokens that a device chooses: the TAIL plan of an instance.
 *
 * It runs on the queue right after a plan with logits, over the rows of its output, so that only the
 * tokens are copied to the host. A later step may read them on the device (LMD_TOKEN_CHAINED). Rows whose
 * tokens the host chooses take part as well; what they get is ignored.
 *
 * Used by the thread that uses the instance. Nothing is allocated after lmi_engine_tail_open. */
#ifndef LLAMAD_CORE_ENGINE_TAIL_H
#define LLAMAD_CORE_ENGINE_TAIL_H

#include "core/engine/instance.h"
#include "core/engine/step.h"

struct lmi_engine_tail;

/* Creates the TAIL plan on a device of the instance, for logits of n_vocab columns. LMD_UNSUPPORTED: the
 * device cannot choose tokens. */
enum lmd_status lmi_engine_tail_open(struct lmi_engine_tail **out, struct lmi_inst *inst,
				     uint32_t device, uint32_t n_vocab, struct lmd_error *err);
/* Does the same as far as nothing is allocated on the device. */
enum lmd_status lmi_engine_tail_check(struct lmi_inst *inst, uint32_t device, uint32_t n_vocab,
				      struct lmd_error *err);
/* t may be NULL. */
void lmi_engine_tail_close(struct lmi_inst *inst, struct lmi_engine_tail *t);

/* Can it choose from the results of a plan? May the tokens be read on the device by that plan? */
bool lmi_engine_tail_serves(const struct lmi_engine_tail *t, const struct lmi_engine_exec *e);
bool lmi_engine_tail_chains(const struct lmi_inst *inst, const struct lmi_engine_tail *t,
			    const struct lmi_engine_exec *e);

/* Submits it for the results of a step of plan e in a slot. The parts are used only during the call. */
enum lmd_status lmi_engine_tail_run(struct lmi_inst *inst, struct lmi_engine_tail *t,
				    const struct lmi_engine_exec *e, uint32_t slot,
				    const struct lmi_engine_rows *parts, uint32_t n_part,
				    struct lmd_error *err);
/* Returns the tokens of a finished step, one for each output row. */
const int32_t *lmi_engine_tail_tokens(const struct lmi_engine_tail *t, uint32_t slot);

#endif /* LLAMAD_CORE_ENGINE_TAIL_H */
