/* SPDX-License-Identifier: MIT
 *
 * arch_plugins.h - the architectures of the build, for tests that open checkpoints: their plugins
 * have the maps. */
#ifndef LLAMAD_TESTS_ARCH_PLUGINS_H
#define LLAMAD_TESTS_ARCH_PLUGINS_H

#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"

/* Returns a registry whose architectures are loaded, so that later look-ups leave no memory behind;
 * the same one each time, as long as the process. */
static inline struct lmi_plugin_registry *arch_plugins(void)
{
	static struct lmi_plugin_registry *registry;
	const char *build = getenv("LMD_TEST_BUILDDIR"), *dirs[1];
	struct lmi_plugin_registry_opts opts = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true};
	static struct lmd_host *host;
	char dir[512];
	const struct lmi_factory **all = NULL;
	struct lmd_error err = {0};
	uint32_t n = 0;

	if (registry)
		return registry;
	if (lmi_host_create(&host, UINT64_MAX) != LMD_OK)
		abort();
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
	opts.host = host;
	(void)snprintf(dir, sizeof(dir), "%s/plugins/.libs", build ? build : ".");
	dirs[0] = dir;
	if (lmi_plugin_registry_create(&registry, &opts, &err) != LMD_OK ||
	    lmi_factory_take_all(registry, LMD_KIND_ARCH, &all, &n, &err) != LMD_OK || !n) {
		fprintf(stderr, "no architectures: %s\n", err.text);
		abort();
	}
	for (uint32_t i = 0; i < n; i++)
		lmi_factory_give(registry, all[i]);
	lmi_free(all);
	return registry;
}

#endif /* LLAMAD_TESTS_ARCH_PLUGINS_H */
