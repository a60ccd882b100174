/* SPDX-License-Identifier: MIT
 *
 * llamactl version: prints the version of the program and of its plugin ABI. */
#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "llamad/version.h"

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_json j;

	(void)err;
	if (!lmi_arg_flag(&ctl->args, "json")) {
		printf("llamactl %s\nplugin ABI %d.%d\n", LMD_VERSION, LMD_ABI_MAJOR,
		       LMD_ABI_MINOR);
		return LMD_OK;
	}
	lmi_json_init(&j, stdout);
	lmi_json_object(&j, NULL);
	lmi_json_str(&j, "version", LMD_VERSION);
	lmi_json_flat_array(&j, "abi");
	lmi_json_int(&j, NULL, LMD_ABI_MAJOR);
	lmi_json_int(&j, NULL, LMD_ABI_MINOR);
	lmi_json_end(&j);
	lmi_json_end(&j);
	lmi_json_fini(&j);
	return LMD_OK;
}

static const struct lmi_opt opts[] = {LMI_OPT_JSON};

const struct lmi_cmd lmi_cmd_version = {
	.name = "version",
	.brief = "Print the version of llamactl and of its plugin ABI",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
