/* SPDX-License-Identifier: MIT
 *
 * opcase_exec.h - an instance of a case while it runs on a device: what opcase_run.c,
 * opcase_pools.c and opcase_segments.c share. */
#ifndef LLAMAD_CORE_CONFORMANCE_OPCASE_EXEC_H
#define LLAMAD_CORE_CONFORMANCE_OPCASE_EXEC_H

#include "core/conformance/opcase_priv.h"

struct oc_segments;

struct oc_exec {
	struct oc_backend *be;
	const struct oc *c;
	struct lmd_error *err;
	struct lmd_queue *q; /* NULL: the device has none */
	struct lmd_event *event;
	struct lmd_weight **weights; /* of the whole plan */
	struct lmd_pool *pools[LMD_MAX_GROUP];
	struct lmd_compiled_plan *plan, *other;
	struct lmd_binding in[OC_MAX_INPUT], out[OC_MAX_TAP]; /* of the whole plan */
	struct oc_segments *segments; /* NULL: the plan runs in one piece */
};

/* Loads the weights of a plan, which is the whole one or a segment of it; *out: [n_weight_ref], also
 * after a failure. */
enum lmd_status oc_exec_load_weights(struct oc_exec *x, const struct lmd_plan *view,
				     struct lmd_weight ***out);
/* v may be NULL. */
void oc_exec_free_weights(struct oc_exec *x, const struct lmd_plan *view, struct lmd_weight **v);
/* Makes memory of the device's kind for a binding of 4-byte numbers; devices in host memory use
 * `host`. */
enum lmd_status oc_exec_bind(struct oc_exec *x, struct lmd_binding *b, void *host, uint32_t id,
			     uint32_t n_row, uint32_t width, bool upload);
/* Waits until all calls on the queue are complete. */
enum lmd_status oc_exec_finish(struct oc_exec *x);

/* Makes the pools of the plan and fills their caches (opcase_pools.c). */
enum lmd_status oc_pools_make(struct oc_exec *x);
/* Sets the tables of a group by operations on its pool, and takes the changes out of the step. */
enum lmd_status oc_pools_set_table(struct oc_exec *x, uint32_t group);
/* Adds the rows that the sequences have in the caches, and the slots that the step may have written. */
enum lmd_status oc_pools_collect(struct oc_exec *x, struct oc_result *out);

/* Runs the plan of the case in segments of one op after the other (opcase_segments.c): every value goes
 * from segment to segment through memory that the host names.  x->in and x->out are bound. */
enum lmd_status oc_segments_run(struct oc_exec *x);
/* Frees what oc_segments_run has made; the work is complete. */
void oc_segments_close(struct oc_exec *x);

#endif /* LLAMAD_CORE_CONFORMANCE_OPCASE_EXEC_H */
