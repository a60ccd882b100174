/* SPDX-License-Identifier: MIT
 *
 * draft_pair.h - a draft model that is found among the models in memory (draft_model = auto).
 *
 * The pairing begins when a model is loaded and ends when its draft model is unloaded. All functions run
 * on the loop's thread. */
#ifndef LLAMAD_SERVICE_DRAFT_PAIR_H
#define LLAMAD_SERVICE_DRAFT_PAIR_H

#include "core/engine/engine.h"

struct lmi_svc_loaded_model;
struct lmi_svc_model_record;

/* In place of the name of a draft model. */
#define LMI_SVC_DRAFT_AUTO "auto"

struct lmi_svc_draft_pair {
	/* [n] the models that are tried, while it is being opened, and the records with their paths */
	struct lmi_engine_draft_candidate *v;
	struct lmi_svc_model_record **records;
	uint32_t n;
	uint64_t number; /* of the loaded model that is its draft model; 0: none */
};

/* Collects the models that may be the draft model of one that is to be opened, if its options ask for
 * that. Without memory there are none. */
void lmi_svc_draft_pair_begin(struct lmi_svc_loaded_model *r);
/* The model was opened, or not. */
void lmi_svc_draft_pair_opened(struct lmi_svc_loaded_model *r);
/* The model is being unloaded: others no longer use it. */
void lmi_svc_draft_pair_end(const struct lmi_svc_loaded_model *r);
void lmi_svc_draft_pair_fini(struct lmi_svc_draft_pair *p);

#endif /* LLAMAD_SERVICE_DRAFT_PAIR_H */
