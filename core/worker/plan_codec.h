/* SPDX-License-Identifier: MIT
 *
 * plan_codec.h - plans and weight references as bytes of a message, for a process of the same program. */
#ifndef LLAMAD_CORE_WORKER_PLAN_CODEC_H
#define LLAMAD_CORE_WORKER_PLAN_CODEC_H

#include "core/worker/bytes.h"
#include "llamad/plan.h"

/* ops: false = everything but the list of ops. */
void lmi_worker_put_plan(struct lmi_worker_out *o, const struct lmd_plan *p, bool ops);
/* Reads what lmi_worker_put_plan wrote; arrays and texts are copied to the arena. */
void lmi_worker_get_plan(struct lmi_worker_in *i, struct lmd_arena *a, struct lmd_plan *out);

void lmi_worker_put_weight_ref(struct lmi_worker_out *o, const struct lmd_weight_ref *w);
void lmi_worker_get_weight_ref(struct lmi_worker_in *i, struct lmd_arena *a,
			       struct lmd_weight_ref *out);

#endif /* LLAMAD_CORE_WORKER_PLAN_CODEC_H */
