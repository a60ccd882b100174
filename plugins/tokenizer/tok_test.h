/* SPDX-License-Identifier: MIT
 *
 * tok_test.h - a host, and a registry with the tokenizers of the build, for tests. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_TOK_TEST_H
#define LLAMAD_PLUGINS_TOKENIZER_TOK_TEST_H

#include <glob.h>
#include <stdio.h>

#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/text/tokenizer.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;
static struct lmi_plugin_registry *registry;

static inline void tok_setup(void)
{
	struct lmi_plugin_registry_opts opts = {.no_default_dirs = true};
	struct lmd_error err;
	char pattern[512];
	glob_t dirs = {0};

	snprintf(pattern, sizeof(pattern), "%s/plugins/tokenizer/*/.libs", lmd_build_dir());
	(void)glob(pattern, 0, NULL, &dirs); /* none if the plugins are built in */
	opts.dirs = (const char *const *)dirs.gl_pathv;
	opts.n_dirs = (uint32_t)dirs.gl_pathc;
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
	opts.host = host;
	ck_assert_msg(lmi_plugin_registry_create(&registry, &opts, &err) == LMD_OK, "%s", err.text);
	globfree(&dirs);
}

static inline void tok_teardown(void)
{
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(host);
}

#endif /* LLAMAD_PLUGINS_TOKENIZER_TOK_TEST_H */
