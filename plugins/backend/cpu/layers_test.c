/* SPDX-License-Identifier: MIT
 *
 * Whole layers on the CPU backend: counts their barriers, and checks that neither merging the work
 * of two ops in one phase nor the way work is divided changes a bit. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_LAYER 3
#define N_MAX   200

static const enum lmt_tiny kinds[] = {LMT_FULL, LMT_SANDWICH, LMT_WINDOW};

static struct lmt_env env;
static char paths[LMD_LEN(kinds)][256];
static uint64_t seed;
static uint32_t n_barrier; /* entries into barriers, over all threads */
static void (*barrier)(void *ctx, struct lmd_team *team);

static void counted(void *ctx, struct lmd_team *team)
{
	(void)__atomic_fetch_add(&n_barrier, 1, __ATOMIC_RELAXED);
	barrier(ctx, team);
}

static void setup(void)
{
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	barrier = env.host->team_barrier;
	env.host->team_barrier = counted;
	seed = lmd_seed("layers", 77);
	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/plugins/backend/cpu/%s.%d.gguf",
			 lmd_build_dir(), lmt_tiny_name(kinds[i]), (int)getpid());
		lmt_tiny_write(kinds[i], seed + i, paths[i]);
	}
}

static void teardown(void)
{
	for (size_t i = 0; i < LMD_LEN(kinds); i++)
		(void)remove(paths[i]);
	lmt_env_fini(&env);
}

static struct lmi_engine *open_engine(int kind, uint32_t n_thread, uint32_t kv_dtype)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	o.inst.backend = "cpu";
	o.inst.n_thread = n_thread;
	o.inst.n_seq = 3;
	o.inst.n_batch = N_MAX;
	o.inst.k_dtype = o.inst.v_dtype = (int32_t)kv_dtype;
	ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
	return e;
}

static struct lmt_rows eval(struct lmi_engine *e, const struct lmi_engine_input_seq *seqs,
			    uint32_t n_seq, uint32_t chunk)
{
	struct lmi_engine_eval cmd = {.id = 1, .seqs = seqs, .n_seq = n_seq, .chunk = chunk};
	struct lmt_rows r;
	struct lmd_error err;

	ck_assert_msg(lmt_eval(e, &cmd, &r, &err) == LMD_OK, "%s", err.text);
	return r;
}

static void random_tokens(lmd_token *v, uint32_t n, uint64_t salt)
{
	uint64_t s = seed ^ salt * 0x9E3779B97F4A7C15ull;

	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)(lmd_rand(&s) % LMT_VOCAB);
}

/* Barriers per layer in a step of `rows` tokens, not counting those of EMBED and HEAD. */
static double barriers(int kind, uint32_t n_thread, uint32_t rows, uint32_t chunk)
{
	struct lmi_engine *e = open_engine(kind, n_thread, LMD_DTYPE_F16);
	lmd_token v[N_MAX] = {0};
	struct lmi_engine_input_seq in = lmt_tokens(v, rows);
	struct lmt_rows r;
	uint32_t n;

	random_tokens(v, rows, 3);
	n_barrier = 0;
	r = eval(e, &in, 1, chunk);
	n = n_barrier / n_thread;
	ck_assert_uint_eq(n_barrier % n_thread, 0);
	ck_assert_uint_eq(n % r.n_step, 0);
	n /= r.n_step;
	lmi_free(r.v);
	lmi_engine_fini(e);
	return (double)(n - 2) / N_LAYER;
}

/* README.md promises five phases a layer when decoding, with few and with many keys. */
START_TEST(five_phases_a_layer)
{
	static const uint32_t threads[] = {1, 2, 5};

	for (int kind = 0; kind < 2; kind++) {
		for (size_t i = 0; i < LMD_LEN(threads); i++)
			ck_assert_double_eq_tol(barriers(kind, threads[i], N_MAX, 1), 5, 1e-9);
	}
}
END_TEST

/* Rows computed one by one, where ATTN does the work of ROPE_KV, have the same bits as the rows of
 * a prompt, where it does not. */
START_TEST(one_by_one_matches_prompt)
{
	static const uint32_t types[] = {LMD_DTYPE_F32, LMD_DTYPE_F16};
	static const uint32_t threads[] = {1, 2, 5};
	static const uint32_t len[3] = {N_MAX, 40, 133};
	lmd_token v[3][N_MAX];
	struct lmi_engine_input_seq in[3];

	for (uint32_t i = 0; i < 3; i++) {
		random_tokens(v[i], len[i], 10 + i);
		in[i] = lmt_tokens(v[i], len[i]);
	}
	for (size_t t = 0; t < LMD_LEN(types); t++) {
		struct lmt_rows want = {0};

		for (size_t i = 0; i < LMD_LEN(threads); i++) {
			struct lmi_engine *e = open_engine(_i, threads[i], types[t]);
			struct lmt_rows all = eval(e, in, 3, 0), one = eval(e, in, 3, 1);
			size_t bytes = (size_t)all.n_row * all.width * sizeof(float);

			ck_assert_uint_eq(all.n_row, len[0] + len[1] + len[2]);
			if (!want.v)
				want = all;
			ck_assert_msg(!memcmp(want.v, all.v, bytes), "%u threads, together",
				      threads[i]);
			ck_assert_msg(!memcmp(want.v, one.v, bytes), "%u threads, one by one",
				      threads[i]);
			if (want.v != all.v)
				lmi_free(all.v);
			lmi_free(one.v);
			lmi_engine_fini(e);
		}
		lmi_free(want.v);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("layers on cpu");
	TCase *t = tcase_create("layers");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, five_phases_a_layer);
	tcase_add_loop_test(t, one_by_one_matches_prompt, 0, (int)LMD_LEN(kinds));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
