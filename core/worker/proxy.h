/* SPDX-License-Identifier: MIT
 *
 * proxy.h - the device of a worker as this process sees it, and its objects. */
#ifndef LLAMAD_CORE_WORKER_PROXY_H
#define LLAMAD_CORE_WORKER_PROXY_H

#include "core/worker/link.h"

#define LMI_WORKER_N_REGION 256

/* Memory of this process where bytes of a file are, or others of a model. */
struct lmi_worker_region {
	const char *ptr;
	uint64_t bytes;
	uint64_t file; /* number in the worker; LMI_WORKER_NONE: the bytes are in no file */
};

struct lmi_worker_proxy {
	struct lmi_worker_link link;
	bool started;
	_Atomic uint64_t n_number; /* numbers of objects so far */
	struct lmi_worker_region regions[LMI_WORKER_N_REGION];
	uint32_t n_region;
	struct lmi_worker_out declared; /* the plan of the last DECLARE; under the link's lock */
	struct lmd_error error;		/* of the last plan_run */
};

/* An object of the worker. */
struct lmd_buffer {
	uint64_t number, bytes;
	char *mem;
};
struct lmd_weight {
	uint64_t number;
};
struct lmd_pool {
	uint64_t number;
};
struct lmd_compiled_plan {
	uint64_t number;
};

uint64_t lmi_worker_number(struct lmi_worker_proxy *w);
/* Asks for an answer of n bytes and copies it. Called between link_begin and link_end. */
enum lmd_status lmi_worker_ask_for(struct lmi_worker_proxy *w, uint32_t kind, int fd, void *answer,
				   size_t n, struct lmd_error *err);
/* Tells the worker that an object is no longer needed. */
void lmi_worker_forget(struct lmi_worker_proxy *w, uint32_t kind, uint64_t number);

/* ---- proxy_weight.c ---- */

enum lmd_status lmi_worker_weight_query(void *state, const struct lmd_weight_desc *d,
					struct lmd_weight_plan *out, struct lmd_error *err);
enum lmd_status lmi_worker_weight_load(void *state, const struct lmd_weight_desc *d,
				       struct lmd_weight **out, struct lmd_error *err);
void lmi_worker_weight_destroy(void *state, struct lmd_weight *w);

/* ---- proxy_plan.c ---- */

void lmi_worker_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
			   struct lmd_support *out);
enum lmd_status lmi_worker_plan_query(void *state, const struct lmd_compile *c,
				      struct lmd_plan_cost *out, struct lmd_error *err);
enum lmd_status lmi_worker_plan_compile(void *state, const struct lmd_compile *c,
					struct lmd_compiled_plan **out, struct lmd_error *err);
enum lmd_status lmi_worker_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *plan,
				    const struct lmd_step *step, const struct lmd_binding *in,
				    uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				    struct lmd_event *done);
void lmi_worker_plan_destroy(void *state, struct lmd_compiled_plan *plan);

#endif /* LLAMAD_CORE_WORKER_PROXY_H */
