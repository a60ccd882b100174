/* SPDX-License-Identifier: MIT
 *
 * engine_fixture.h - a registry with the plugins of this build, engines in line, and
 * evaluations whose rows come back in one array: for tests. */
#ifndef LLAMAD_TESTS_ENGINE_FIXTURE_H
#define LLAMAD_TESTS_ENGINE_FIXTURE_H

#include "core/engine/engine.h"
#include "core/plugin/host_services.h"

struct lmt_env {
	struct lmd_host *host;
	struct lmi_registry *registry;
};

enum lmd_status lmt_env_init(struct lmt_env *env, struct lmd_error *err);
void lmt_env_fini(struct lmt_env *env);

/* Options for a small model on `ref` with float arithmetic and one thread. */
struct lmi_engine_opts lmt_opts(const struct lmt_env *env, const char *path);

/* Runs turns until the command ends; rows of all sequences in order, *v on the heap
 * (lmi_free).  For engines in line. */
struct lmt_rows {
	float *v;
	uint32_t n_row, width;
	uint32_t n_step; /* turns that ran a step */
};
enum lmd_status lmt_eval(struct lmi_engine *e, const struct lmi_eval *cmd, struct lmt_rows *out,
			 struct lmd_error *err);

/* Opens, evaluates, closes. */
enum lmd_status lmt_eval_once(const struct lmi_engine_opts *o, const struct lmi_eval *cmd,
			      struct lmt_rows *out, struct lmd_error *err);

/* A plain sequence of tokens. */
struct lmi_input_seq lmt_tokens(const lmd_token *v, uint32_t n);

/* The folder of a parity model, made by the pack's script below the build folder when it is not
 * there: DIR/NAME.gguf.  NULL without the pack or without Python. */
const char *lmt_parity_models(void);

#endif /* LLAMAD_TESTS_ENGINE_FIXTURE_H */
