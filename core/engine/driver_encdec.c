/* SPDX-License-Identifier: MIT
 *
 * Runs the encoder's rows once into the CROSS groups, then the decoder token by token. */
#include "core/engine/driver.h"

static enum lmd_status check(const struct lmi_inst *inst, const struct lmi_session *s,
			     struct lmd_error *err)
{
	if (!s->gen && s->want == LMI_WANT_EMBED)
		return lmi_driver_refuse(inst, "an encoder-decoder outputs logits, not embeddings",
					 err);
	return LMD_OK;
}

static enum lmd_status start(struct lmi_inst *inst, const struct lmi_seq *q,
			     struct lmi_sched_seq *out, struct lmd_error *err)
{
	const struct lmd_plan_key key = {.kind = LMD_PLAN_ENCODE,
					 .flags = inst->has_adapters ? LMD_PLAN_LORA : 0};
	enum lmd_status st = lmi_inst_exec(inst, &key, &out->encode_plan, err);

	out->n_encode = q->n_enc;
	return st == LMD_OK ? lmi_driver_forward(inst, q, out, err) : st;
}

const struct lmi_driver lmi_driver_encdec = {
	.name = "encdec",
	.check = check,
	.start = start,
};
