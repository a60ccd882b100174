/* SPDX-License-Identifier: MIT
 *
 * llamactl plugins: lists the plugins that were found, their files, and why one is not used. */
#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/plugins_matrix.h"
#include "client/llamactl/remote.h"
#include "core/plugin/registry.h"

struct out {
	struct lmi_ctl_json j;
	bool json;
	bool all;          /* --factories */
	bool in_plugin;    /* JSON: the last object is still open */
	uint32_t n_plugin;
};

static void json_end_plugin(struct out *o)
{
	if (!o->in_plugin)
		return;
	lmi_ctl_json_end(&o->j);
	lmi_ctl_json_end(&o->j);
	o->in_plugin = false;
}

static void json_plugin(struct out *o, const struct lmi_plugin_info *p)
{
	struct lmi_ctl_json *j = &o->j;
	char abi[16];

	json_end_plugin(o);
	snprintf(abi, sizeof(abi), "%u.%u", p->abi_major, p->abi_minor);
	lmi_ctl_json_object(j, NULL);
	lmi_ctl_json_str(j, "file", p->file);
	lmi_ctl_json_str(j, "name", p->name);
	lmi_ctl_json_flat_array(j, "kinds");
	for (uint32_t k = 0; k < 32; k++)
		if ((p->kinds >> k & 1) && lmi_plugin_kind_id(k))
			lmi_ctl_json_str(j, NULL, lmi_plugin_kind_id(k));
	lmi_ctl_json_end(j);
	lmi_ctl_json_str(j, "version", p->version);
	lmi_ctl_json_str(j, "abi", *p->name ? abi : "");
	lmi_ctl_json_str(j, "state", p->state);
	lmi_ctl_json_str(j, "reason", p->reason);
	lmi_ctl_json_uint(j, "generation", p->generation);
	lmi_ctl_json_array(j, "factories");
	o->in_plugin = true;
}

static void text_plugin(const struct out *o, const struct lmi_plugin_info *p)
{
	const char *sep = "";

	printf("%-20s %-10s %-9s", *p->name ? p->name : "?", *p->version ? p->version : "-",
	       p->state);
	for (uint32_t k = 0; k < 32; k++) {
		if (!(p->kinds >> k & 1) || !lmi_plugin_kind_id(k))
			continue;
		printf("%s%s", sep, lmi_plugin_kind_id(k));
		sep = ",";
	}
	printf("%s%s\n", *sep ? "  " : "", p->file);
	if (*p->reason)
		printf("    %s\n", p->reason);
	else if (!o->all && p->n_factories)
		printf("    %u %s, ABI %u.%u\n", p->n_factories,
		       p->n_factories == 1 ? "factory" : "factories", p->abi_major, p->abi_minor);
}

static void on_plugin(void *arg, const struct lmi_plugin_info *p)
{
	struct out *o = arg;

	o->n_plugin++;
	if (o->json)
		json_plugin(o, p);
	else
		text_plugin(o, p);
}

static void on_factory(void *arg, const struct lmi_factory_info *f)
{
	struct out *o = arg;
	const char *kind = lmi_plugin_kind_id(f->kind) ? lmi_plugin_kind_id(f->kind) : "?";

	if (!o->json) {
		if (o->all)
			printf("    %-10s %-28s score %d%s%s\n", kind, f->name, f->score,
			       *f->reason ? "; " : "", f->reason);
		return;
	}
	lmi_ctl_json_flat_object(&o->j, NULL);
	lmi_ctl_json_str(&o->j, "kind", kind);
	lmi_ctl_json_str(&o->j, "name", f->name);
	lmi_ctl_json_int(&o->j, "score", f->score);
	lmi_ctl_json_str(&o->j, "reason", f->reason);
	lmi_ctl_json_end(&o->j);
}

/* Lists the plugins of a daemon. */
static enum lmd_status run_remote(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"NAME", "name", LMI_CTL_COL_TEXT},   {"VERSION", "version", LMI_CTL_COL_TEXT},
		{"STATE", "state", LMI_CTL_COL_TEXT}, {"KINDS", "kinds", LMI_CTL_COL_TEXT},
		{"ABI", "abi", LMI_CTL_COL_TEXT},     {"USERS", "users", LMI_CTL_COL_COUNT},
		{"FILE", "file", LMI_CTL_COL_PATH},   {"REASON", "reason", LMI_CTL_COL_TEXT},
	};
	static const struct lmi_ctl_column offered[] = {
		{"KIND", "kind", LMI_CTL_COL_TEXT},
		{"NAME", "name", LMI_CTL_COL_TEXT},
		{"SCORE", "score", LMI_CTL_COL_COUNT},
		{"REASON", "reason", LMI_CTL_COL_TEXT},
	};
	bool all = lmi_arg_flag(&ctl->args, "factories");
	json_t *reply, *p;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(
		ctl, "plugins",
		json_pack("{s:b}", "factories", all || lmi_arg_flag(&ctl->args, "json")), &reply,
		err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(json_object_get(reply, "plugins"));
	} else {
		lmi_ctl_remote_table(json_object_get(reply, "plugins"), cols, LMD_LEN(cols));
		json_array_foreach(json_object_get(reply, "plugins"), i, p) {
			if (!all || !json_array_size(json_object_get(p, "factories")))
				continue;
			printf("\n%s\n", json_string_value(json_object_get(p, "file")));
			lmi_ctl_remote_table(json_object_get(p, "factories"), offered,
					     LMD_LEN(offered));
		}
	}
	json_decref(reply);
	return LMD_OK;
}

/* Returns true if the daemon's plugins are listed: unless options name folders. */
static bool is_remote(struct lmi_ctl *ctl)
{
	const struct lmi_args *a = &ctl->args;

	return lmi_ctl_socket(ctl) ||
	       (!lmi_arg_given(a, "plugin-dir") && !lmi_arg_given(a, "no-default-plugins") &&
		!lmi_arg_given(a, "plugin-trust") && lmi_ctl_has_daemon(ctl));
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct out o = {.json = lmi_arg_flag(&ctl->args, "json"),
			.all = lmi_arg_flag(&ctl->args, "factories")};
	struct lmi_plugin_registry *r;
	enum lmd_status st;

	if (lmi_arg_flag(&ctl->args, "matrix")) {
		st = lmi_ctl_registry(ctl, &r, err);
		return st == LMD_OK ? lmi_ctl_plugins_matrix(ctl, r, err) : st;
	}
	if (is_remote(ctl))
		return run_remote(ctl, err);
	st = lmi_ctl_registry(ctl, &r, err);
	if (st != LMD_OK)
		return st;
	if (o.json) {
		lmi_ctl_json_init(&o.j, stdout);
		lmi_ctl_json_array(&o.j, NULL);
	}
	lmi_plugin_registry_list(r, on_plugin, on_factory, &o);
	if (o.json) {
		json_end_plugin(&o);
		lmi_ctl_json_end(&o.j);
		lmi_ctl_json_fini(&o.j);
	}
	return LMD_OK;
}

static const struct lmi_opt opts[] = {
	LMI_OPT_JSON,
	{.name = "factories",
	 .type = LMI_OPT_FLAG,
	 .doc = "List every architecture, tokenizer, sampler, backend and format of each plugin."},
	{.name = "matrix",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print which operations and weight types the backends of this program support: "
		"native, parts (split into simpler operations), mixed (native or parts, "
		"depending on the arguments), no, or how many of the cases are supported."},
};

const struct lmi_cli_cmd lmi_ctl_cmd_plugins = {
	.name = "plugins",
	.brief = "List the plugins and their state",
	.doc = "Lists the plugins of the running daemon if there is one and no option names "
	       "folders, otherwise those that this program finds.\n\nStates: loaded; shadowed "
	       "(everything it offers comes from a better or earlier file); refused (with the "
	       "reason; none of its code has run, unless the reason was found in the loaded "
	       "object); retired (replaced or removed while in use). The state and the score of a "
	       "backend do not say whether it has a device: see `llamactl devices` and `llamactl "
	       "doctor`.\n\nWith --json each object "
	       "has file, name, kinds, version, abi, state, reason, generation and factories; "
	       "with --matrix it has op, case, weights and backends (backend, support and reason "
	       "of each).",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
