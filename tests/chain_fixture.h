/* SPDX-License-Identifier: MIT
 *
 * chain_fixture.h - for tests: a host with the samplers of this build, and chains from JSON. */
#ifndef LLAMAD_TESTS_CHAIN_FIXTURE_H
#define LLAMAD_TESTS_CHAIN_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/engine/sample.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

struct chain_env {
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
};

static inline void chain_env_init(struct chain_env *env)
{
	char plugins[4200];
	const char *dirs[] = {plugins};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true};
	struct lmd_error err = {0};

	snprintf(plugins, sizeof(plugins), "%s/plugins/sampler/basic/.libs", lmd_build_dir());
	ck_assert_int_eq(lmi_host_create(&env->host, UINT64_MAX), LMD_OK);
	opts.host = env->host;
	ck_assert_msg(lmi_plugin_registry_create(&env->registry, &opts, &err) == LMD_OK, "%s",
		      err.text);
}

static inline void chain_env_fini(struct chain_env *env)
{
	lmi_plugin_registry_destroy(env->registry);
	lmi_host_destroy(env->host);
}

/* opts: registry, host and specs are filled in. */
static inline enum lmd_status chain_try(struct lmi_sampler_chain **out, const struct chain_env *env,
					const char *json, struct lmi_sampler_chain_opts opts,
					struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_sampler_spec *specs;
	enum lmd_status st;

	if (!arena)
		return LMD_NOMEM;
	opts.registry = env->registry;
	opts.host = env->host;
	st = lmi_sampler_specs_parse(json, strlen(json), arena, &specs, &opts.n_specs, err);
	if (st == LMD_OK) {
		opts.specs = specs;
		st = lmi_sampler_chain_create(out, &opts, err);
	}
	lmi_arena_destroy(arena);
	return st;
}

static inline struct lmi_sampler_chain *chain_make(const struct chain_env *env, const char *json,
						   struct lmi_sampler_chain_opts opts)
{
	struct lmi_sampler_chain *ch = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(chain_try(&ch, env, json, opts, &err) == LMD_OK, "%s: %s", json, err.text);
	return ch;
}

#endif /* LLAMAD_TESTS_CHAIN_FIXTURE_H */
