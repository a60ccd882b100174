/* SPDX-License-Identifier: MIT */
#include "core/engine/device_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lmd_check.h"

const lmd_token lmt_hello[LMT_N_HELLO] = {40, 69, 76, 76, 79};
struct lmt_env lmt_device_env;
char lmt_paths[LMT_N_TINY][256];

void lmt_device_setup(void)
{
	uint64_t seed = lmd_seed("device", 3);
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&lmt_device_env, &err) == LMD_OK, "%s", err.text);
	for (int k = 0; k < LMT_N_TINY; k++) {
		snprintf(lmt_paths[k], sizeof(lmt_paths[k]), "%s/core/engine/device.%d.%d.gguf",
			 lmd_build_dir(), k, (int)getpid());
		lmt_tiny_write((enum lmt_tiny)k, seed, lmt_paths[k]);
	}
}

void lmt_device_teardown(void)
{
	for (int k = 0; k < LMT_N_TINY; k++)
		(void)remove(lmt_paths[k]);
	lmt_env_fini(&lmt_device_env);
}

/* Opens an engine for each call. */
static enum lmd_status hello_logits(struct lmi_engine_opts *o, const char *settings,
				    struct lmt_rows *rows, struct lmd_error *err)
{
	const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};

	o->inst.n_ctx = 64;
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	return lmt_eval_once(o, &cmd, rows, err);
}

enum lmd_status lmt_logits(int kind, const char *backend, uint32_t device, const char *settings,
			   struct lmt_rows *rows, struct lmd_error *err)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[kind]);

	o.inst.backend = backend;
	o.inst.device = device;
	return hello_logits(&o, settings, rows, err);
}

enum lmd_status lmt_placed(int kind, const char *list, const char *layers, const char *split,
			   const char *override, const char *settings, struct lmt_rows *rows,
			   struct lmd_error *err)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[kind]);

	o.inst.device_list = list;
	o.inst.gpu_layers = layers;
	o.inst.split = split;
	o.inst.override_tensor = override;
	return hello_logits(&o, settings, rows, err);
}

void lmt_check_same(const struct lmt_rows *want, const struct lmt_rows *have, const char *what)
{
	ck_assert_uint_eq(have->n_row, want->n_row);
	ck_assert_msg(!memcmp(have->v, want->v, (size_t)want->n_row * want->width * sizeof(float)),
		      "%s: other bits", what);
}

void lmt_place(struct lmi_engine_opts *o, struct lmi_engine_placement *where)
{
	struct lmi_engine_memory m;
	struct lmd_error err = {0};
	uint32_t n_ctx;

	ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, where, &o->inst, &err) == LMD_OK, "%s",
		      err.text);
}
