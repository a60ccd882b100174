/* SPDX-License-Identifier: MIT
 *
 * Reads ids and outputs one frame of numbers for each. */
#include "core/engine/driver.h"

static enum lmd_status check(const struct lmi_inst *inst, const struct lmi_session *s,
			     struct lmd_error *err)
{
	if (s->gen || s->want != LMI_WANT_EMBED || s->pooling > LMD_POOL_NONE)
		return lmi_driver_refuse(inst, "a codec outputs frames (embeddings without "
					       "pooling)",
					 err);
	return LMD_OK;
}

const struct lmi_driver lmi_driver_codec = {
	.name = "codec",
	.check = check,
	.start = lmi_driver_forward,
};
