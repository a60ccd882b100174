/* SPDX-License-Identifier: MIT
 *
 * tok_test.h - a host, and a registry with the tokenizers of the build, for tests. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_TOK_TEST_H
#define LLAMAD_PLUGINS_TOKENIZER_TOK_TEST_H

#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/text/tokenizer.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;
static struct lmi_registry *registry;

static inline void tok_setup(void)
{
	static const char *const names[] = {"bpe", "spm", "none", "wordpiece", "unigram", "rwkv",
					    "plamo2", "hf"};
	char path[LMD_LEN(names)][512];
	const char *dirs[LMD_LEN(names)];
	struct lmi_registry_opts opts = {.dirs = dirs, .no_default_dirs = true};
	struct lmd_error err;

	for (size_t i = 0; i < LMD_LEN(names); i++) {
		snprintf(path[i], sizeof(path[i]), "%s/plugins/tokenizer/%s/.libs", lmd_build_dir(),
			 names[i]);
		dirs[i] = path[i];
	}
	opts.n_dirs = LMD_LEN(names);
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
	opts.host = host;
	ck_assert_msg(lmi_registry_create(&registry, &opts, &err) == LMD_OK, "%s", err.text);
}

static inline void tok_teardown(void)
{
	lmi_registry_destroy(registry);
	lmi_host_destroy(host);
}

#endif /* LLAMAD_PLUGINS_TOKENIZER_TOK_TEST_H */
