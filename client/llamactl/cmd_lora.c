/* SPDX-License-Identifier: MIT
 *
 * The adapters of a model of the daemon: what there is, and names for further files. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/engine/adapter_ref.h"

static const struct lmi_opt json_opts[] = {LMI_OPT_JSON};

/* ---- list ---- */

static enum lmd_status list(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column names[] = {
		{"NAME", "name", LMI_CTL_COL_TEXT},
		{"SCALE", "scale", LMI_CTL_COL_TEXT},
		{"PATH", "path", LMI_CTL_COL_TEXT},
	};
	static const struct lmi_ctl_column slots[] = {
		{"IN MEMORY", "files", LMI_CTL_COL_TEXT},
		{"USERS", "users", LMI_CTL_COL_COUNT},
		{"SIZE", "bytes", LMI_CTL_COL_BYTES},
	};
	json_t *reply, *row;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(
		ctl, "adapters", json_pack("{s:s}", "model", lmi_arg_pos(&ctl->args, 0)), &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(reply);
		json_decref(reply);
		return LMD_OK;
	}
	json_array_foreach(json_object_get(reply, "adapters"), i, row)
	{
		char text[32];

		(void)snprintf(text, sizeof(text), "%g",
			       json_number_value(json_object_get(row, "scale")));
		(void)json_object_set_new(row, "scale", json_string(text));
	}
	lmi_ctl_remote_table(json_object_get(reply, "adapters"), names, LMD_LEN(names));
	lmi_ctl_remote_table(json_object_get(reply, "slots"), slots, LMD_LEN(slots));
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_lora_list = {
	.name = "lora list",
	.args = "MODEL",
	.brief = "List the adapters of a model, and those in memory",
	.doc = "Lists those of the key `adapters` of the configuration and of lora add, but not the files "
	       "of adapters_dir. Only an admin sees paths.\n\nWith --json: an object with adapters (name, "
	       "path, scale, configured), chosen, folder, slots (files, users, bytes), loaded and "
	       "evicted.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = list,
};

/* ---- add, rm, set ---- */

static enum lmd_status add(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *file = lmi_arg_pos(&ctl->args, 2);
	struct lmi_engine_adapter_ref ref;
	char path[PATH_MAX];
	bool exists;
	enum lmd_status st = lmi_engine_adapter_ref_parse(
		&ref, &(struct lmd_str){.ptr = file, .len = strlen(file)}, err);

	if (st != LMD_OK)
		return st;
	exists = realpath(ref.path, path) != NULL;
	lmi_free((char *)ref.path);
	if (!exists)
		return lmd_fail(err, LMD_NOTFOUND, "%.300s: there is no such file or folder", file);
	return lmi_ctl_remote_run(ctl, "adapter_set",
				  json_pack("{s:s, s:s, s:s, s:f}", "model",
					    lmi_arg_pos(&ctl->args, 0), "name",
					    lmi_arg_pos(&ctl->args, 1), "path", path, "scale",
					    (double)ref.scale),
				  err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_lora_add = {
	.name = "lora add",
	.args = "MODEL NAME FILE[:SCALE]",
	.brief = "Give an adapter a name that requests for a model can use",
	.doc = "FILE is a GGUF file or a PEFT folder, which the daemon reads when a request asks for the "
	       "name. The name holds until the daemon ends; the keys `adapters` and `adapters_dir` of its "
	       "configuration are for those that stay.\n\nWith --json: an object with found, whether it "
	       "replaced another one.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = add,
};

static enum lmd_status rm(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 1);
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(
		ctl, "adapter_set",
		json_pack("{s:s, s:s}", "model", lmi_arg_pos(&ctl->args, 0), "name", name), &reply, err);

	if (st != LMD_OK)
		return st;
	if (!json_is_true(json_object_get(reply, "found")))
		st = lmd_fail(err, LMD_NOTFOUND,
			      "lora add has given no adapter the name '%.64s'; see llamactl lora list", name);
	else if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	json_decref(reply);
	return st;
}

const struct lmi_cli_cmd lmi_ctl_cmd_lora_rm = {
	.name = "lora rm",
	.args = "MODEL NAME",
	.brief = "Remove a name that lora add has given",
	.doc = "Requests that already use the adapter continue with it.\n\nWith --json: an object with found.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = rm,
};

static enum lmd_status set(struct lmi_ctl *ctl, struct lmd_error *err)
{
	return lmi_ctl_remote_run(ctl, "adapter_set",
				  json_pack("{s:s, s:s}", "model", lmi_arg_pos(&ctl->args, 0), "chosen",
					    lmi_arg_pos(&ctl->args, 1)),
				  err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_lora_set = {
	.name = "lora set",
	.args = "MODEL ADAPTERS",
	.brief = "Set the adapters of requests that name none",
	.doc = "ADAPTERS is NAME[:SCALE],...; empty: those of the configuration. It holds until the daemon "
	       "ends, and not for aliases with adapters of their own.\n\n    llamactl lora set llama "
	       "sql:0.5,polite\n\nWith --json: an object with found.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = set,
};
