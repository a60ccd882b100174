/* SPDX-License-Identifier: MIT
 *
 * Full passes over a whole sequence, in which masked tokens are replaced step by step. Only the
 * pass is implemented; choosing tokens needs its own request type, so plain generation is
 * unsupported. */
#include "core/engine/driver.h"

static enum lmd_status check(const struct lmi_inst *inst, const struct lmi_session *s,
			     struct lmd_error *err)
{
	if (s->gen)
		return lmi_driver_refuse(inst,
					 "generation is not supported for diffusion models, only "
					 "logits of given tokens",
					 err);
	return LMD_OK;
}

const struct lmi_driver lmi_driver_diffusion = {
	.name = "diffusion",
	.check = check,
	.start = lmi_driver_forward,
};
