/* SPDX-License-Identifier: MIT
 *
 * One pass over a whole sequence that outputs embeddings or scores. */
#include "core/engine/driver.h"

static enum lmd_status check(const struct lmi_inst *inst, const struct lmi_session *s,
			     struct lmd_error *err)
{
	if (s->gen || s->want != LMI_WANT_EMBED)
		return lmi_driver_refuse(inst, "an encoder outputs embeddings, not logits", err);
	return LMD_OK;
}

const struct lmi_driver lmi_driver_encoder = {
	.name = "encoder",
	.check = check,
	.start = lmi_driver_forward,
};
