/* SPDX-License-Identifier: MIT
 *
 * llamactl debug echo-model: writes the model that repeats the user's message. */
#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/echo_model.h"
#include "client/llamactl/json_out.h"

static enum lmd_status run_echo_model(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	enum lmd_status st = lmi_ctl_echo_model_write(path, err);
	struct lmi_ctl_json j;

	if (st != LMD_OK || !lmi_arg_flag(&ctl->args, "json"))
		return st;
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "path", path);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
	return LMD_OK;
}

static const struct lmi_opt opts[] = {LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_echo_model = {
	.name = "debug echo-model",
	.args = "OUT",
	.brief = "Write a tiny model that repeats the user's message",
	.doc = "For authors of clients: exact, predictable answers of a daemon without a "
	       "download. OUT is a model file of about 1.7 MB with computed weights. The answer "
	       "to a message is that message, one token for each byte, at any temperature. "
	       "Messages are cut at 1000 bytes. With --ignore-eos the message is repeated until "
	       "the limit of tokens is reached.\n\nWith --json: an object with path.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run_echo_model,
};
