/* SPDX-License-Identifier: MIT
 *
 * Creates what most commands need: a host and a plugin registry set up by the common options. */
#include "client/llamactl/ctl.h"
#include "client/llamactl/own_models.h"
#include "core/base/alloc.h"
#include "core/checkpoint/formats.h"
#include "core/checkpoint/open.h"
#include "core/engine/engine.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "llamad/client.h"
#include "llamad/format.h"

enum lmd_status lmi_ctl_host(struct lmi_ctl *ctl, const struct lmd_host **out,
			     struct lmd_error *err)
{
	if (!ctl->host) {
		if (lmi_host_create(&ctl->host, UINT64_MAX) != LMD_OK)
			return lmd_fail(err, LMD_NOMEM, "no memory for the host");
		/* the words of --log are in the order of enum lmd_log_level */
		lmi_host_set_log_level(ctl->host, (int)lmi_arg_int(&ctl->args, "log"));
	}
	*out = ctl->host;
	return LMD_OK;
}

enum lmd_status lmi_ctl_registry(struct lmi_ctl *ctl, struct lmi_plugin_registry **out,
				 struct lmd_error *err)
{
	static const struct lmd_plugin *const linked[] = {&lmi_formats_builtin};
	struct lmi_plugin_registry_opts opts = {
		.trust = lmi_arg_int(&ctl->args, "plugin-trust") ? LMI_PLUGIN_TRUST_SYSTEM
								 : LMI_PLUGIN_TRUST_OWNER,
		.no_default_dirs = lmi_arg_flag(&ctl->args, "no-default-plugins"),
		.linked = linked,
		.n_linked = LMD_LEN(linked),
	};
	enum lmd_status st = lmi_ctl_host(ctl, &opts.host, err);

	if (st == LMD_OK && !ctl->registry) {
		opts.n_dirs = lmi_arg_list(&ctl->args, "plugin-dir", &opts.dirs);
		st = lmi_plugin_registry_create(&ctl->registry, &opts, err);
	}
	if (st == LMD_OK)
		*out = ctl->registry;
	return st;
}

/* Returns the registry if plugins may make a difference for the path, otherwise NULL. */
static enum lmd_status formats_for(struct lmi_ctl *ctl, const char *path,
				   struct lmi_plugin_registry **out, struct lmd_error *err)
{
	*out = NULL;
	return lmi_model_open_score(NULL, path) == LMD_FORMAT_SURE ? LMD_OK
								 : lmi_ctl_registry(ctl, out, err);
}

enum lmd_status lmi_ctl_open_model(struct lmi_ctl *ctl, struct lmi_model **out, const char *path,
				   uint32_t open_flags, struct lmd_error *err)
{
	struct lmi_plugin_registry *plugins;
	enum lmd_status st = formats_for(ctl, path, &plugins, err);

	return st == LMD_OK ? lmi_model_open_any(out, plugins, path, open_flags, err) : st;
}

enum lmd_status lmi_ctl_open_files(struct lmi_ctl *ctl, struct lmi_model **out, const char *const *files,
				   uint32_t n_files, struct lmd_error *err)
{
	struct lmi_open_opts how = {.flags = LMI_OPEN_HEADER_ONLY, .files = files, .n_files = n_files};
	enum lmd_status st = formats_for(ctl, files[0], &how.plugins, err);

	return st == LMD_OK ? lmi_model_open_with(out, files[0], &how, err) : st;
}

bool lmi_ctl_is_model(struct lmi_ctl *ctl, const char *path)
{
	struct lmi_plugin_registry *plugins;

	return formats_for(ctl, path, &plugins, NULL) == LMD_OK &&
	       lmi_model_open_score(plugins, path) > LMD_FORMAT_NO;
}

void lmi_ctl_fini(struct lmi_ctl *ctl)
{
	for (uint32_t i = 0; i < ctl->n_adapters; i++)
		lmi_free((char *)(uintptr_t)ctl->adapters[i].path);
	lmi_free(ctl->adapters);
	lmd_client_close(ctl->client);
	lmi_ctl_own_models_fini(ctl);
	lmi_plugin_registry_destroy(ctl->registry);
	lmi_host_destroy(ctl->host);
	lmi_args_fini(&ctl->args);
}
