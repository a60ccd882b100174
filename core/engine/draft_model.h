/* SPDX-License-Identifier: MIT
 *
 * draft_model.h - a second, smaller model that guesses tokens for an engine's own model, the target.
 *
 * It is an instance with memory of its own. It runs on the engine's thread, within the target's turn
 * on the devices, between the target's steps. Sequences that want guesses at the same time share its
 * steps. */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_MODEL_H
#define LLAMAD_CORE_ENGINE_DRAFT_MODEL_H

#include "core/engine/instance.h"

struct lmi_tokenizer;
struct lmi_engine_draft_model;
struct lmi_engine_tree; /* draft_tree.h */

/* Opens opts->draft_path for a target that was opened with the same options; tok: the target's
 * tokenizer. LMD_UNSUPPORTED: its vocabulary differs, or its sequences cannot be shortened. Error
 * messages name the file. */
enum lmd_status lmi_engine_draft_model_open(struct lmi_engine_draft_model **out,
					    struct lmi_inst *target,
					    const struct lmi_engine_model_opts *opts,
					    const struct lmi_tokenizer *tok, struct lmd_error *err);
/* Chooses devices and sizes of a model that is being opened (lmi_engine_place_choose), so that opts->draft_path fits
 * beside it. A draft model that cannot be estimated takes nothing: opening it will tell why; but that is an error
 * if the model is only estimated. */
enum lmd_status lmi_engine_draft_fit(struct lmi_inst *target, const struct lmi_engine_model_opts *opts,
				     struct lmd_error *err);
/* All drafters must have been destroyed. m may be NULL. */
void lmi_engine_draft_model_close(struct lmi_engine_draft_model *m);

/* What one sequence wants of the draft model. */
struct lmi_engine_draft_want {
	void *drafter; /* of lmi_engine_drafter_model, or of lmi_engine_drafter_nextn */
	const lmd_token *tokens; /* [n_tokens] as in struct lmi_engine_drafter */
	uint32_t n_tokens, most;
	/* where the next best tokens beside each guess are noted; NULL: nowhere. With those of them that are
	 * guesses as well, out has most_all tokens at most */
	struct lmi_engine_tree *tree;
	uint32_t most_all;
	/* [most] the guesses, at tokens + n_tokens: each is computed from those before it */
	lmd_token *out;
	uint32_t n;	/* their number */
	uint32_t part, n_added; /* used while guessing */
	uint32_t kv_seq; /* of the target's sequence, for draft layers: draft_nextn.h */
};
/* Guesses for n sequences, which share the steps of the draft model. Engine's thread; allocates
 * nothing. */
void lmi_engine_draft_model_guess(struct lmi_engine_draft_model *m,
				  struct lmi_engine_draft_want *v, uint32_t n);

/* What a draft model has computed. */
struct lmi_engine_draft_count {
	uint64_t n_step, n_row;
};
void lmi_engine_draft_model_count(const struct lmi_engine_draft_model *m,
				  struct lmi_engine_draft_count *out);

/* Logs that a step failed, after which an instance guesses no more. what: "the draft model". */
void lmi_engine_draft_failed(const struct lmi_inst *inst, const char *what, const struct lmd_error *err);

struct lmi_inst *lmi_engine_draft_model_inst(const struct lmi_engine_draft_model *m);

#endif /* LLAMAD_CORE_ENGINE_DRAFT_MODEL_H */
