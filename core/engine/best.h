/* SPDX-License-Identifier: MIT
 *
 * best.h - copies of the best candidates in place of whole rows of logits, for rows whose tokens
 * the host chooses: another TAIL plan of an instance.
 *
 * A sampler chain that begins with top_k, maybe after samplers that only lower the logits of a few
 * tokens, finds the same candidates among the best n of a row as in the whole row, if n is large
 * enough (lmi_sampler_chain_n_best). So only n logits and their ids are copied to the host.
 *
 * Used by the thread that uses the instance. Nothing is allocated after lmi_engine_best_open. */
#ifndef LLAMAD_CORE_ENGINE_BEST_H
#define LLAMAD_CORE_ENGINE_BEST_H

#include "core/engine/instance.h"

/* Candidates of a row, at most: top_k 40 and the 64 last tokens fit. */
#define LMI_ENGINE_N_BEST 128u

struct lmi_engine_best;

/* Creates the plan on a device of the instance, for logits of n_vocab columns. LMD_UNSUPPORTED: the
 * device does not find the best candidates faster than it copies rows. */
enum lmd_status lmi_engine_best_open(struct lmi_engine_best **out, struct lmi_inst *inst,
				     uint32_t device, uint32_t n_vocab, struct lmd_error *err);
/* b may be NULL. */
void lmi_engine_best_close(struct lmi_inst *inst, struct lmi_engine_best *b);

/* Can it find the candidates of the results of a plan? */
bool lmi_engine_best_serves(const struct lmi_engine_best *b, const struct lmi_engine_exec *e);
/* Number of candidates of a row, and of rows of a step at most; 0 for NULL. */
uint32_t lmi_engine_best_n(const struct lmi_engine_best *b);
uint32_t lmi_engine_best_rows(const struct lmi_engine_best *b);
/* Returns the bytes that it takes on a device besides scratch memory; 0: the device does not have
 * it. */
uint64_t lmi_engine_best_bytes(const struct lmi_inst *inst, const struct lmi_inst_device *d,
			       uint32_t n_vocab);

/* Submits it for the n_row rows of the results of a step of plan e in a slot, and the copies. */
enum lmd_status lmi_engine_best_run(struct lmi_inst *inst, struct lmi_engine_best *b,
				    const struct lmi_engine_exec *e, uint32_t slot, uint32_t n_row,
				    struct lmd_error *err);
/* Returns the candidates of a row of a finished step, best first: *ids and *logits,
 * [lmi_engine_best_n]. Returns false if they are not in order, because there are numbers among the
 * logits that have none. */
bool lmi_engine_best_get(const struct lmi_engine_best *b, uint32_t slot, uint32_t row,
			 const int32_t **ids, const float **logits);
/* Copies whole rows of the results of a finished step to where the host expects them. */
enum lmd_status lmi_engine_best_fetch(struct lmi_inst *inst, struct lmi_engine_best *b, uint32_t slot,
				      uint32_t row, uint32_t n_row, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_BEST_H */
