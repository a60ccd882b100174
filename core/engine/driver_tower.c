/* SPDX-License-Identifier: MIT
 *
 * Turns pictures into rows for a language model, as part of that model's engine (tower.h). By itself it
 * serves no command. */
#include "core/engine/driver.h"

static enum lmd_status check(const struct lmi_inst *inst, const struct lmi_engine_job *s,
			     struct lmd_error *err)
{
	(void)s;
	return lmi_driver_unsupported(
		inst, "a vision tower runs only as part of a language model: load that, with this file as its mmproj",
		err);
}

const struct lmi_driver lmi_driver_tower = {
	.name = "tower",
	.check = check,
	.start = lmi_driver_forward,
};
