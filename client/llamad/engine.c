/* SPDX-License-Identifier: MIT */
#include "client/llamad/engine.h"

#include <stdio.h>
#include <string.h>

#include "client/embedded/embedded.h"
#include "client/lib/client.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/quant/quant.h"
#include "core/sign/policy.h"

static enum lmd_status fill_model(struct lmi_engine_model_opts *m, const struct lmd_engine_opts *o,
				  struct lmd_error *err)
{
	const struct lmi_dtype_cache_names types = {
		.both = o->kv_type, .k = o->kv_type_k, .v = o->kv_type_v};
	int32_t k_dtype, v_dtype;
	enum lmd_status st = lmi_dtype_parse_cache(&types, false, &k_dtype, &v_dtype, err);

	if (st != LMD_OK)
		return st;
	*m = (struct lmi_engine_model_opts){.backend = o->backend,
					    .device = o->device,
					    .n_thread = o->n_thread,
					    .n_thread_batch = o->n_thread_batch,
					    .n_ctx = o->n_ctx,
					    .n_seq = o->n_seq,
					    .memory_limit = o->memory_limit,
					    .k_dtype = k_dtype,
					    .v_dtype = v_dtype,
					    .pooling = LMD_POOL_UNSET};
	return LMD_OK;
}

/* The policy is the process's and may outlive every client, so that it has no host to log with. */
static void on_warning(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "llamad: warn: signatures: %s\n", text);
}

enum lmd_status lmi_llamad_open_engine(struct lmd_client **out, const struct lmd_engine_opts *opts,
				       struct lmd_error *err)
{
	struct lmd_engine_opts o = {.struct_size = sizeof(o)};
	struct lmi_embedded_opts e = {.own = true};
	struct lmi_plugin_registry_opts plugins = {0};
	struct lmd_host *host = NULL;
	enum lmd_status st;

	lmi_client_struct_take(&o, sizeof(o), opts);
	st = fill_model(&e.model, &o, err);
	e.config = o.config;
	if (st == LMD_OK)
		st = lmi_sign_policy_set_env(on_warning, NULL, err);
	if (st != LMD_OK)
		return st;
	if (lmi_host_create(&host, UINT64_MAX) != LMD_OK)
		return lmd_fail(err, LMD_NOMEM, "no memory for an engine");
	lmi_host_set_log_level(host, LMD_LOG_ERROR + (int)(o.log_level < 4 ? o.log_level : 4));
	plugins.host = e.host = host;
	plugins.dirs = o.plugin_dirs;
	plugins.n_dirs = o.n_plugin_dirs;
	st = lmi_plugin_registry_create(&e.plugins, &plugins, err);
	if (st == LMD_OK)
		return lmi_embedded_open(out, &e, err);
	lmi_host_destroy(host);
	return st;
}
