/* SPDX-License-Identifier: MIT
 *
 * Token after token through the KV cache; also embeddings from decoder models. */
#include "core/engine/driver.h"

static enum lmd_status check(const struct lmi_inst *inst, const struct lmi_session *s,
			     struct lmd_error *err)
{
	if (s->gen && inst->looks_ahead)
		return lmi_driver_refuse(inst, "rows attend to later rows, so no token can be "
					       "appended",
					 err);
	return LMD_OK;
}

const struct lmi_driver lmi_driver_autoregressive = {
	.name = "autoregressive",
	.check = check,
	.start = lmi_driver_forward,
};
