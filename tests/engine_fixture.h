/* SPDX-License-Identifier: MIT
 *
 * engine_fixture.h - for tests: a registry with the plugins of this build, engines without threads,
 * and evaluations that return their rows in one array. */
#ifndef LLAMAD_TESTS_ENGINE_FIXTURE_H
#define LLAMAD_TESTS_ENGINE_FIXTURE_H

#include "core/engine/devices.h"
#include "core/engine/engine.h"
#include "core/plugin/host_services.h"

struct lmt_env {
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
};

enum lmd_status lmt_env_init(struct lmt_env *env, struct lmd_error *err);
void lmt_env_fini(struct lmt_env *env);

/* Options for a small model on `ref` with float arithmetic and one thread. */
struct lmi_engine_opts lmt_opts(const struct lmt_env *env, const char *path);

/* Runs steps until the command ends; returns the rows of all sequences in order (free v with
 * lmi_free).  For engines without threads. */
struct lmt_rows {
	float *v;
	uint32_t n_row, width;
	uint32_t n_step; /* number of steps */
};
enum lmd_status lmt_eval(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
			 struct lmt_rows *out, struct lmd_error *err);

/* Opens, evaluates, closes. */
enum lmd_status lmt_eval_once(const struct lmi_engine_opts *o, const struct lmi_engine_eval *cmd,
			      struct lmt_rows *out, struct lmd_error *err);

/* The device of that name; a name that is not there gives an empty row. */
struct lmi_engine_device_row lmt_device_row(struct lmi_engine_devices *set, const char *name);

/* A plain sequence of tokens. */
struct lmi_engine_input_seq lmt_tokens(const lmd_token *v, uint32_t n);

/* Returns the folder of the parity models (DIR/NAME.gguf) below the build folder; the pack's script
 * creates it if it is missing.  Returns NULL without the pack or without Python. */
const char *lmt_parity_models(void);

#endif /* LLAMAD_TESTS_ENGINE_FIXTURE_H */
