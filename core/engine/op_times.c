/* SPDX-License-Identifier: MIT
 *
 * How long the operations of an engine's plans took, and how long its threads waited. */
#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/engine/observe.h"

static void add_segment(const struct lmi_inst *inst, const struct lmi_engine_segment *s,
			struct lmi_engine_times *out)
{
	const struct lmi_inst_device *d = &inst->devices[s->device];
	struct lmd_opstat *v;
	uint32_t n;

	if (!s->compiled_plan || !d->ops->plan_stats)
		return;
	v = lmi_alloc(s->view->n_op + 1u, sizeof(*v));
	n = v ? d->ops->plan_stats(d->state, s->compiled_plan, v, s->view->n_op) : 0;
	for (uint32_t i = 0; i < n && i < s->view->n_op; i++) {
		uint32_t code = v[i].op < s->view->n_op ? s->view->ops[v[i].op].code : 0;

		if (code > LMD_N_OP)
			continue;
		out->op[code].n_run += v[i].n_run;
		out->op[code].ns += v[i].ns;
	}
	lmi_free(v);
}

static void add_exec(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
		     struct lmi_engine_times *out)
{
	for (uint32_t i = 0; i < e->n_segment && e->segments; i++)
		add_segment(inst, &e->segments[i], out);
	for (uint32_t i = 0; i < e->n_smaller; i++)
		add_exec(inst, e->smaller[i], out);
}

void lmi_engine_measure(struct lmi_engine *e)
{
	lmi_team_measure(e->inst->devices[0].open->team);
}

void lmi_engine_times(const struct lmi_engine *e, struct lmi_engine_times *out)
{
	*out = (struct lmi_engine_times){.team = lmi_team_times(e->inst->devices[0].open->team)};
	for (uint32_t i = 0; i < e->inst->n_exec; i++)
		add_exec(e->inst, e->inst->execs[i], out);
}
