/* SPDX-License-Identifier: MIT
 *
 * Creates what most commands need: a host and a plugin registry set up by the common options. */
#include "client/llamactl/ctl.h"
#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "llamad/client.h"

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
	struct lmi_plugin_registry_opts opts = {
		.trust = lmi_arg_int(&ctl->args, "plugin-trust") ? LMI_PLUGIN_TRUST_SYSTEM
								 : LMI_PLUGIN_TRUST_OWNER,
		.no_default_dirs = lmi_arg_flag(&ctl->args, "no-default-plugins"),
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

void lmi_ctl_fini(struct lmi_ctl *ctl)
{
	for (uint32_t i = 0; i < ctl->n_adapters; i++)
		lmi_free((char *)(uintptr_t)ctl->adapters[i].path);
	lmi_free(ctl->adapters);
	lmd_client_close(ctl->client);
	lmi_plugin_registry_destroy(ctl->registry);
	lmi_host_destroy(ctl->host);
	lmi_args_fini(&ctl->args);
}
