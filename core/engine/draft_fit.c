/* SPDX-License-Identifier: MIT
 *
 * The sizes of a model beside its draft model. What the draft takes depends on the context of the model, which
 * depends on what the draft leaves. So the sizes are chosen for the model alone first. If the draft does not fit
 * beside that, the context that both can have is computed from what a token takes of each, and the draft is
 * measured once more. What the model gets in the end is never more than what the draft was measured for. */
#include <string.h>

#include "core/engine/draft_model_impl.h"
#include "core/engine/memory_plan.h"

/* Chooses sizes with a context of at most max_ctx tokens as if there were no draft, and measures the draft for
 * them. 0: any. */
static enum lmd_status measure_up_to(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts,
				     uint32_t max_ctx, struct lmd_error *model, struct lmd_error *draft)
{
	struct lmi_engine_second_opts o;

	inst->max_ctx = max_ctx;
	inst->second_needs[LMI_INST_DRAFT] = (struct lmi_inst_need){0};
	model->status = lmi_engine_place_choose(inst, opts, model);
	draft->status = LMD_OK;
	if (model->status != LMD_OK)
		return model->status;
	lmi_engine_draft_opts(&o, inst, opts);
	draft->status = lmi_engine_second_measure(inst, LMI_INST_DRAFT, &o, opts->label, draft);
	return draft->status;
}

static const struct lmi_engine_memory *need_on(const struct lmi_inst_need *need, const char *device)
{
	static const struct lmi_engine_memory none;

	for (uint32_t i = 0; i < need->n_device; i++)
		if (!strcmp(need->devices[i].name, device))
			return &need->devices[i].memory;
	return &none;
}

/* Returns the context, in whole pages and at most `most`, that both can have on a device if each token takes of it
 * what it takes on average in the present sizes. */
static uint32_t ctx_on(const struct lmi_inst *inst, const struct lmi_inst_device *d, uint32_t most)
{
	const struct lmi_engine_memory *m = &d->estimate,
				       *n = need_on(&inst->second_needs[LMI_INST_DRAFT], d->name);
	const uint64_t both = m->sequences + n->sequences;
	uint64_t rest = lmi_engine_memory_sum(m) - m->sequences + lmi_engine_memory_sum(n) - n->sequences;
	double ctx;

	if (!lmi_inst_device_in_host_memory(d) && lmi_engine_memory_sum(n))
		rest += LMI_INST_MARGIN;
	if (m->budget != UINT64_MAX && m->budget < rest)
		return 0;
	if (m->budget == UINT64_MAX || !both)
		return most;
	ctx = (double)(m->budget - rest) / (double)both * inst->sizes->n_ctx;
	return ctx < most ? (uint32_t)ctx / inst->page_tokens * inst->page_tokens : most;
}

static uint32_t ctx_of_both(const struct lmi_inst *inst, uint32_t most)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		most = ctx_on(inst, &inst->devices[i], most);
	return most;
}

/* Measures the draft for the context of the model alone, or for a shorter one if that is too much for it. */
static enum lmd_status measure_first(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts,
				     struct lmd_error *model, struct lmd_error *draft)
{
	enum lmd_status st = measure_up_to(inst, opts, 0, model, draft);

	while (draft->status == LMD_NOMEM && !opts->n_ctx && inst->sizes->n_ctx > inst->page_tokens)
		st = measure_up_to(inst, opts, inst->sizes->n_ctx / 2, model, draft);
	return st;
}

/* Chooses a context of at most `ctx` tokens that both have room for. */
static enum lmd_status shorten(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts, uint32_t ctx,
			       struct lmd_error *err)
{
	struct lmd_error model = {0}, draft = {0};
	enum lmd_status st;

	for (;; ctx = (uint32_t)(ctx * 3ull / 4) / inst->page_tokens * inst->page_tokens) {
		ctx = ctx < inst->page_tokens ? inst->page_tokens : ctx;
		st = measure_up_to(inst, opts, ctx, &model, &draft);
		if (draft.status != LMD_OK)
			(void)lmi_engine_draft_cause(opts->draft_path, st, &draft, err);
		else if (st == LMD_OK)
			st = lmi_engine_place_choose(inst, opts, err);
		else
			(void)lmd_fail(err, st, "%s", model.text);
		if (st != LMD_NOMEM || ctx == inst->page_tokens)
			return st;
	}
}

enum lmd_status lmi_engine_draft_fit(struct lmi_inst *inst, const struct lmi_engine_model_opts *opts,
				     struct lmd_error *err)
{
	const bool is_auto = opts->gpu_layers && !strcmp(opts->gpu_layers, "auto");
	struct lmd_error model = {0}, draft = {0};
	enum lmd_status st = measure_first(inst, opts, &model, &draft);
	uint32_t n_ctx = inst->sizes->n_ctx, both;

	if (model.status != LMD_OK)
		return lmd_fail(err, model.status, "%s", model.text);
	if (st == LMD_DEVICE || (st != LMD_OK && inst->only_estimate))
		return lmi_engine_draft_cause(opts->draft_path, st, &draft, err);
	if (st != LMD_OK) { /* what is wrong is reported when it is opened */
		inst->max_ctx = 0;
		return lmi_engine_place_choose(inst, opts, err);
	}
	both = ctx_of_both(inst, inst->max_ctx ? 2 * n_ctx : n_ctx);
	inst->max_ctx = n_ctx; /* layers that move to another device must not make it longer */
	if (opts->n_ctx || opts->share_kv || both == n_ctx)
		return lmi_engine_place_choose(inst, opts, err);
	st = is_auto ? lmi_engine_place_choose(inst, opts, err) : LMD_NOMEM;
	return st == LMD_NOMEM ? shorten(inst, opts, both, err) : st;
}
