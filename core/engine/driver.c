/* SPDX-License-Identifier: MIT
 *
 * The table of drivers, and the forward plan that all drivers share. */
#include "core/engine/driver.h"

static const struct lmi_driver *const drivers[] = {
	[LMD_DRIVER_AUTOREGRESSIVE] = &lmi_driver_autoregressive,
	[LMD_DRIVER_ENCODER] = &lmi_driver_encoder,
	[LMD_DRIVER_ENCDEC] = &lmi_driver_encdec,
	[LMD_DRIVER_DIFFUSION] = &lmi_driver_diffusion,
	[LMD_DRIVER_CODEC] = &lmi_driver_codec,
	[LMD_DRIVER_TOWER] = &lmi_driver_tower,
};

const struct lmi_driver *lmi_driver_of(uint32_t driver)
{
	return driver < LMD_LEN(drivers) ? drivers[driver] : NULL;
}

enum lmd_status lmi_driver_unsupported(const struct lmi_inst *inst, const char *what,
				       struct lmd_error *err)
{
	return lmd_fail(err, LMD_UNSUPPORTED, "architecture %s: %s", inst->model->arch, what);
}

static enum lmi_sched_out outputs(const struct lmi_engine_job *s)
{
	if (s->gen)
		return LMI_SCHED_OUT_LAST;
	switch (s->want) {
	case LMI_ENGINE_WANT_LOGITS:
	case LMI_ENGINE_WANT_NLL:
	case LMI_ENGINE_WANT_LOGPROBS:
		return LMI_SCHED_OUT_ALL;
	case LMI_ENGINE_WANT_LAST:
		return LMI_SCHED_OUT_LAST;
	case LMI_ENGINE_WANT_EMBED:
		break;
	}
	return s->pooling == LMD_POOL_NONE ? LMI_SCHED_OUT_ALL : LMI_SCHED_OUT_NONE;
}

enum lmd_status lmi_driver_forward(struct lmi_inst *inst, const struct lmi_engine_seq *q,
				   struct lmi_sched_seq *out, struct lmd_error *err)
{
	const struct lmi_engine_job *s = q->session;
	struct lmd_plan_key key = {.kind = LMD_PLAN_FORWARD, .flags = LMD_PLAN_LOGITS};
	enum lmd_status st = LMD_OK;

	if (!s->gen && s->want == LMI_ENGINE_WANT_EMBED) {
		key.flags = LMD_PLAN_EMBED;
		key.pooling = s->pooling;
	}
	if (q->adapter || inst->has_adapters)
		key.flags |= LMD_PLAN_LORA;
	/* rows of pictures may need weights of their own */
	if (q->ext && inst->desc.n_variant > 1 && (inst->desc.traits & LMD_TRAIT_NO_MIX))
		key.variant = 1;
	if (q->ext || q->n_picture)
		st = lmi_inst_reserve_external_rows(inst, err);
	if (st == LMD_OK)
		st = lmi_inst_exec(inst, &key, &out->plan, err);
	if (st != LMD_OK)
		return st;
	out->n_known = s->gen ? q->n_tokens : q->n_rows; /* more than its prompt after a pause */
	out->n_limit = s->gen ? q->cap : q->n_rows;
	out->out = outputs(s);
	out->out_from = q->out_from;
	out->max_chunk = s->chunk;
	out->chunk_from = s->chunk_from;
	out->whole = s->whole;
	out->spans = q->spans;
	out->n_span = q->n_span;
	return LMD_OK;
}
