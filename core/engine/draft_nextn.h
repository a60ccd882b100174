/* SPDX-License-Identifier: MIT
 *
 * draft_nextn.h - tokens are guessed from the hidden rows that the steps of a model put out
 * (LMD_PLAN_HIDDEN).
 *
 * Draft layers (multi-token prediction, NextN) belong to the model's own instance: its weights, its devices,
 * and caches of their own in the pages of its sequences. A draft model that reads hidden rows (EAGLE-3) has an
 * instance of its own. A draft row needs the hidden row of the token before it. All functions but those that
 * open and close run on the engine's thread. */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_NEXTN_H
#define LLAMAD_CORE_ENGINE_DRAFT_NEXTN_H

#include "core/engine/draft_model.h"
#include "core/engine/step.h"

struct lmi_engine_nextn;

/* If the draft layers of an instance whose sizes are being chosen have a window, lets their group keep the pages that
 * are needed until draft rows are computed, and sets inst->sees. */
enum lmd_status lmi_engine_nextn_keep_pages(struct lmi_inst *inst, struct lmd_error *err);
/* Prepares the plan of the draft layers of an instance that was opened for them. n_vocab: tokens that may
 * be guessed. LMD_UNSUPPORTED: it has none that can be run. */
enum lmd_status lmi_engine_nextn_open(struct lmi_engine_nextn **out, struct lmi_inst *inst,
				      uint32_t n_vocab, struct lmd_error *err);
/* Opens opts->draft_path, a draft model that reads hidden rows of the target, which was opened with the same
 * options. LMD_UNSUPPORTED: the two do not fit. Error messages name the file. */
enum lmd_status lmi_engine_nextn_open_file(struct lmi_engine_nextn **out, struct lmi_inst *target,
					   const struct lmi_engine_model_opts *opts, uint32_t n_vocab,
					   struct lmd_error *err);
/* Returns the instance of the draft model; NULL: draft layers of the model itself. */
struct lmi_inst *lmi_engine_nextn_inst(const struct lmi_engine_nextn *m);
/* All drafters must have been destroyed. m may be NULL. */
void lmi_engine_nextn_close(struct lmi_engine_nextn *m);

/* A step has computed rows of a sequence that a drafter of lmi_engine_drafter_nextn guesses for; the
 * first n_kept count. hidden: their hidden rows. slot: a free one, in which draft rows are computed when
 * there are many. Allocates nothing. */
void lmi_engine_nextn_feed(struct lmi_engine_nextn *m, uint32_t slot, void *drafter,
			   const struct lmi_engine_rows *rows, uint32_t n_kept,
			   const float *hidden);
/* Guesses for n sequences, which share the steps. v[i].kv_seq: that of the sequence now. slot: a free
 * one. Allocates nothing. */
void lmi_engine_nextn_guess(struct lmi_engine_nextn *m, uint32_t slot,
			    struct lmi_engine_draft_want *v, uint32_t n);

void lmi_engine_nextn_count(const struct lmi_engine_nextn *m, struct lmi_engine_draft_count *out);

#endif /* LLAMAD_CORE_ENGINE_DRAFT_NEXTN_H */
