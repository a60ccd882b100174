/* SPDX-License-Identifier: MIT
 *
 * Backups of the daemon's registry, which lie in its state folder. */
#include <stdio.h>
#include <time.h>

#include "client/llamactl/remote.h"

static const struct lmi_opt json_opts[] = {LMI_OPT_JSON};

static enum lmd_status backup(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	time_t now = time(NULL);
	char text[48], size[24];
	struct tm tm;
	json_t *reply;
	enum lmd_status st;

	if (!name) {
		if (!gmtime_r(&now, &tm) ||
		    !strftime(text, sizeof(text), "registry-%Y%m%dT%H%M%SZ.backup", &tm))
			return lmd_fail(err, LMD_INTERNAL, "the time has no text; give a NAME");
		name = text;
	}
	st = lmi_ctl_remote_call(ctl, "registry_backup", json_pack("{s:s}", "name", name), &reply,
				 err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	else
		printf("%s, %s\n", json_string_value(json_object_get(reply, "path")),
		       lmi_ctl_show_bytes(size, sizeof(size),
					  json_integer_value(json_object_get(reply, "size"))));
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_registry_backup = {
	.name = "registry backup",
	.args = "[NAME]",
	.brief = "Copy the registry of models and keys",
	.doc = "Writes a consistent copy into the daemon's state folder while it runs, and prints "
	       "its path. NAME must end in .backup and must not exist; it defaults to "
	       "registry-TIME.backup. Only through the unix socket.\n\nWith --json: an object with "
	       "path and size.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = backup,
};

static enum lmd_status restore(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(
		ctl, "registry_restore", json_pack("{s:s}", "name", lmi_arg_pos(&ctl->args, 0)),
		&reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	else
		printf("models: %lld, keys: %lld\n",
		       (long long)json_integer_value(json_object_get(reply, "models")),
		       (long long)json_integer_value(json_object_get(reply, "keys")));
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_registry_restore = {
	.name = "registry restore",
	.args = "NAME",
	.brief = "Replace the registry by a copy",
	.doc = "Replaces all models, aliases and keys of the daemon by those of a copy in its state "
	       "folder, which is checked first. Models in memory stay there. Clients whose key is "
	       "not in the copy are disconnected. Only through the unix socket.\n\nWith --json: an "
	       "object with models and keys, the numbers of both.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = restore,
};
