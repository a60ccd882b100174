/* SPDX-License-Identifier: MIT
 *
 * The devices that models can run on. */
#include "client/llamactl/remote.h"

static enum lmd_status devices(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"DEVICE", "name", LMI_CTL_COL_TEXT},
		{"STATE", "state", LMI_CTL_COL_TEXT},
		{"LOSSES", "losses", LMI_CTL_COL_COUNT | LMI_CTL_COL_SPARE},
		{"OPENS IN", "retry_ms", LMI_CTL_COL_TIME | LMI_CTL_COL_SPARE},
		{"MEMORY", "memory_total", LMI_CTL_COL_BYTES},
		{"FREE", "memory_free", LMI_CTL_COL_BYTES},
		{"MODELS", "models", LMI_CTL_COL_COUNT},
		{"THEIR MEMORY", "memory_models", LMI_CTL_COL_BYTES},
		{"QUEUE", "queue", LMI_CTL_COL_TEXT},
		{"FEATURES", "features", LMI_CTL_COL_TEXT | LMI_CTL_COL_SPARE},
		{"DESCRIPTION", "description", LMI_CTL_COL_TEXT | LMI_CTL_COL_SPARE},
	};
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "devices", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(json_object_get(reply, "devices"));
	else
		lmi_ctl_remote_table(json_object_get(reply, "devices"), cols, LMD_LEN(cols));
	json_decref(reply);
	return LMD_OK;
}

static const struct lmi_opt opts[] = {LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_devices = {
	.name = "devices",
	.brief = "List the devices that models can run on",
	.doc = "Devices are named by backend and index, such as cpu0. THEIR MEMORY is an estimate of the "
	       "memory that the models on a device take. QUEUE tells whether the device has a queue for "
	       "steps, or each call returns when its step is complete (direct). A device that was lost is "
	       "opened again after a pause: LOSSES is how often it was lost, and OPENS IN the time until it "
	       "is opened again. A narrow terminal gets fewer columns; --json has all.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = devices,
};
