/* SPDX-License-Identifier: MIT
 *
 * llamactl plugins reload: makes a daemon scan its plugin folders again. */
#include <stdio.h>

#include "client/llamactl/remote.h"

/* Returns the number of entries. */
static size_t print_list(const char *what, const json_t *list)
{
	size_t i;
	json_t *e;

	json_array_foreach(list, i, e)
	{
		const json_t *file = json_is_object(e) ? json_object_get(e, "file") : e;
		const char *reason = json_string_value(json_object_get(e, "reason"));

		printf("%s %s%s%s\n", what, json_string_value(file), reason ? ": " : "",
		       reason ? reason : "");
	}
	return json_array_size(list);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *file = lmi_arg_pos(&ctl->args, 0);
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "plugins_reload",
						 file ? json_pack("{s:s}", "file", file) : NULL,
						 &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(reply);
	} else {
		if (!(print_list("added  ", json_object_get(reply, "added")) +
		      print_list("removed", json_object_get(reply, "removed")) +
		      print_list("refused", json_object_get(reply, "refused"))))
			puts("nothing changed");
	}
	json_decref(reply);
	return LMD_OK;
}

static const struct lmi_opt opts[] = {LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_plugins_reload = {
	.name = "plugins reload",
	.args = "[FILE]",
	.brief = "Make the daemon scan its plugin folders again",
	.doc = "With FILE, a path or the name of a file in any plugin folder, only a change of this "
	       "file is accepted; other files that have changed stay refused. Models that are loaded from now on use the plugins that are there now; loaded "
	       "models keep theirs until `llamactl reload NAME`.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
