/* SPDX-License-Identifier: MIT
 *
 * proxy.h - the device of a worker as this process sees it, and its objects. */
#ifndef LLAMAD_CORE_WORKER_PROXY_H
#define LLAMAD_CORE_WORKER_PROXY_H

#include "core/worker/link.h"

/* Memory of this process where bytes of a file are, or others of a model. */
struct lmi_worker_region {
	const char *ptr;
	uint64_t bytes;
	uint64_t file; /* number in the worker; LMI_WORKER_NONE: the bytes are in no file */
};

struct lmi_worker_proxy {
	struct lmi_worker_link link;
	bool started;
	bool own_memory; /* the device does not compute in host memory */
	uint32_t n_row; /* of the next step; set by the thread that runs it */
	pthread_mutex_t number_lock; /* for the following three */
	uint64_t n_number;	     /* numbers of objects so far */
	uint64_t *free_numbers;	     /* [n_free] those of them that no object has */
	size_t n_free, cap_free;
	struct lmi_worker_region *regions; /* [n_region] */
	uint32_t n_region, cap_region;
	struct lmi_worker_out declared; /* the plan of the last DECLARE; under the link's lock */
	struct lmd_error error;		/* of the last plan_run */
};

/* An object of the worker. */
struct lmd_buffer {
	uint64_t number, bytes;
	char *mem; /* that both processes map; NULL: memory of the device */
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

/* Take a number for an object, and give back one whose object is gone. Any thread. */
uint64_t lmi_worker_number_take(struct lmi_worker_proxy *w);
void lmi_worker_number_give(struct lmi_worker_proxy *w, uint64_t number);
/* Asks for an answer of n bytes and copies it. Called between link_begin and link_end. */
enum lmd_status lmi_worker_ask_for(struct lmi_worker_proxy *w, uint32_t kind, int fd, void *answer,
				   size_t n, struct lmd_error *err);
/* Tells the worker that an object is no longer needed. */
void lmi_worker_forget(struct lmi_worker_proxy *w, uint32_t kind, uint64_t number);

/* ---- proxy_buffer.c ---- */

enum lmd_status lmi_worker_buffer_create(void *state, uint64_t bytes, uint32_t flags, void *import,
					 struct lmd_buffer **out, struct lmd_error *err);
void lmi_worker_buffer_destroy(void *state, struct lmd_buffer *b);
enum lmd_status lmi_worker_buffer_map(void *state, struct lmd_buffer *b, void **out,
				      struct lmd_error *err);
void lmi_worker_buffer_unmap(void *state, struct lmd_buffer *b);
enum lmd_status lmi_worker_buffer_copy(void *state, struct lmd_queue *q, struct lmd_buffer *dst,
				       void *dst_ptr, uint64_t dst_off, struct lmd_buffer *src,
				       const void *src_ptr, uint64_t src_off, uint64_t bytes,
				       struct lmd_event *done, struct lmd_error *err);

/* ---- proxy_weight.c ---- */

enum lmd_status lmi_worker_weight_query(void *state, const struct lmd_weight_desc *d,
					struct lmd_weight_plan *out, struct lmd_error *err);
enum lmd_status lmi_worker_weight_load(void *state, const struct lmd_weight_desc *d,
				       struct lmd_weight **out, struct lmd_error *err);
enum lmd_status lmi_worker_weight_export(void *state, const struct lmd_weight *w, void *out, size_t cap,
					 size_t *n);
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
