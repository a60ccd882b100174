/* SPDX-License-Identifier: MIT
 *
 * evaluate.h - evaluations: rows of logits or embeddings, for callers in the same process. */
#ifndef LLAMAD_SERVICE_EVALUATE_H
#define LLAMAD_SERVICE_EVALUATE_H

#include "core/engine/engine.h"
#include "llamad/types.h"

struct lmi_service;

/* The caller keeps it, with what it points to, until `done` is called. */
struct lmi_service_evaluation {
	struct lmd_str model;
	const lmd_token *tokens; /* [n_tokens] */
	uint32_t n_tokens;
	int32_t adapter; /* slot of the engine, which the caller holds; 0: those of the model */
	enum lmi_engine_eval_output want;
	uint32_t n_logprobs; /* with LMI_ENGINE_WANT_LOGPROBS */
	int32_t pooling; /* with LMI_ENGINE_WANT_EMBED; LMD_POOL_UNSET: the model's own, otherwise the
			  * mean */
	/* Called once, during lmi_service_evaluate or later, with rows [n_row][width] that the callee
	 * frees with lmi_free, or with NULL and the error.  Must not call the service. */
	void (*done)(void *arg, float *own_rows, uint32_t n_row, uint32_t width,
		     const struct lmd_error *err);
	void *arg;
};

/* Evaluates; loads the model if it is not in memory. */
void lmi_service_evaluate(struct lmi_service *svc, uint64_t now,
			  const struct lmi_service_evaluation *what);

struct lmi_svc_loaded_model;
struct lmi_svc_evaluation;

/* For other files of the service: evaluates with a model that is in memory; what->model is not
 * read.  Returns NULL if `done` was called with an error.  The handle is valid until `done`, which
 * here may call the service. */
struct lmi_svc_evaluation *lmi_svc_evaluation_start(struct lmi_service *svc, uint64_t now,
						    struct lmi_svc_loaded_model *r,
						    const struct lmi_service_evaluation *what);
/* Cancels it: `done` follows. */
void lmi_svc_evaluation_cancel(struct lmi_svc_evaluation *v);
/* For generate_run.c: handles an event whose command is not a generation's. */
void lmi_svc_evaluation_event(struct lmi_service *svc, uint64_t now,
			      const struct lmi_engine_event *ev);

#endif /* LLAMAD_SERVICE_EVALUATE_H */
