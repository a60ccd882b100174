/* SPDX-License-Identifier: MIT
 *
 * Tokens chosen from the best candidates of a row alone: they are those that are chosen from the
 * whole row; which chains need how many candidates; rows are copied whole when the candidates are
 * of no use. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/best.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sample.h"
#include "tests/chain_fixture.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define VOCAB 9000
#define N_GEN 6
#define N_OUT 40

static struct lmt_env env;
static char path[256];
static uint64_t rnd;

static void setup(void)
{
	struct lmd_error err;

	rnd = lmd_seed("best", 41);
	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	snprintf(path, sizeof(path), "%s/core/engine/best.%d.gguf", lmd_build_dir(), (int)getpid());
	lmt_tiny_write(LMT_FULL, 1, path);
}

static void teardown(void)
{
	(void)remove(path);
	lmt_env_fini(&env);
}

/* ---- chains ---- */

static struct lmi_sampler_chain *make_chain(const char *json, uint64_t seed)
{
	const struct chain_env with = {.host = env.host, .registry = env.registry};

	return chain_make(&with, json, (struct lmi_sampler_chain_opts){.n_vocab = VOCAB, .seed = seed});
}

#define PENALTIES(repeat)                                                                          \
	"{\"sampler\":\"penalties\",\"last_n\":30,\"repeat\":" repeat                              \
	",\"freq\":0.4,\"present\":0.2}"
#define REST "{\"sampler\":\"top_k\",\"k\":40},{\"sampler\":\"typical\",\"p\":0.9},\"dist\"]"

static const struct {
	const char *json;
	uint32_t n; /* candidates that it needs; 0: the whole row */
} chains[] = {
	{"[\"greedy\"]", 1},
	{"[" REST, 40},
	{"[{\"sampler\":\"top_k\",\"k\":5},\"greedy\"]", 5},
	{"[" PENALTIES("1.3") "," REST, 70},
	{"[{\"sampler\":\"logit_bias\",\"bias\":[[3,-1],[7,\"-inf\"]],\"suppress\":[9]}," REST, 43},
	{"[{\"sampler\":\"logit_bias\",\"bias\":[[3,-2.5]]}," PENALTIES("1") "," REST, 71},
	/* these change logits to greater ones, or have no early top_k */
	{"[" PENALTIES("0.9") "," REST, 0},
	{"[{\"sampler\":\"penalties\",\"repeat\":1,\"freq\":-0.1}," REST, 0},
	{"[{\"sampler\":\"logit_bias\",\"bias\":[[3,0.5]]}," REST, 0},
	{"[{\"sampler\":\"temp\",\"t\":0.7}," REST, 0},
	{"[{\"sampler\":\"top_p\",\"p\":0.9}," REST, 0},
	{"[\"dist\"]", 0},
	{"[{\"sampler\":\"top_k\",\"k\":0},\"dist\"]", 0},
};

/* Logits of a kind: spread, peaked, with ties, all equal, with infinities. */
static void make_logits(float *v, int kind)
{
	for (uint32_t i = 0; i < VOCAB; i++) {
		float x = (float)(lmd_rand(&rnd) % 100000) * 1e-4f - 5;

		v[i] = kind == 1 ? x * 4 : kind == 2 ? floorf(x) : kind == 3 ? 1.5f : x;
		if (kind == 4 && lmd_rand(&rnd) % 4)
			v[i] = -INFINITY;
	}
}

static const float *order_by;

static int by_logit(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	if (order_by[x] != order_by[y])
		return order_by[x] > order_by[y] ? -1 : 1;
	return x < y ? -1 : 1;
}

/* _i: chain */
START_TEST(the_best_candidates_are_enough)
{
	static float logits[VOCAB], best[VOCAB];
	static int32_t ids[VOCAB];
	const uint32_t n = chains[_i].n;
	struct lmi_sampler_chain *whole = make_chain(chains[_i].json, (uint64_t)_i);
	struct lmi_sampler_chain *part = make_chain(chains[_i].json, (uint64_t)_i);

	ck_assert_msg(lmi_sampler_chain_n_best(part) == n, "%s: %u candidates, not %u",
		      chains[_i].json, lmi_sampler_chain_n_best(part), n);
	for (int round = 0; round < 100 && n; round++) {
		lmd_token want, have;

		make_logits(logits, round % 5);
		for (uint32_t i = 0; i < VOCAB; i++)
			ids[i] = (int32_t)i;
		order_by = logits;
		qsort(ids, VOCAB, sizeof(*ids), by_logit);
		for (uint32_t i = 0; i < n; i++)
			best[i] = logits[ids[i]];
		ck_assert_int_eq(lmi_sampler_chain_sample(whole, logits, VOCAB, NULL, &want), LMD_OK);
		ck_assert_int_eq(lmi_sampler_chain_sample_best(part, ids, best, n, &have), LMD_OK);
		ck_assert_msg(want == have, "%s, round %d: %d, not %d", chains[_i].json, round, have,
			      want);
		/* now and then a token that is likely next time, or was in no list */
		if (round % 7 == 3)
			want = ids[round];
		lmi_sampler_chain_accept(whole, want, false);
		lmi_sampler_chain_accept(part, want, false);
	}
	lmi_sampler_chain_destroy(whole);
	lmi_sampler_chain_destroy(part);
}
END_TEST

/* ---- generations ---- */

#define WHOLE(name, v_) {name, LMD_PARAM_INT, {.i = v_}}
#define REAL(name, v_)	{name, LMD_PARAM_FLOAT, {.f = v_}}

static void take_events(struct lmi_engine *e, lmd_token out[N_GEN][N_OUT], uint32_t *n,
			uint32_t *n_done)
{
	struct lmi_engine_event ev;

	while (lmi_engine_poll(e, &ev)) {
		uint32_t i = (uint32_t)ev.id - 1;

		ck_assert_int_ne(ev.kind, LMI_ENGINE_EV_FAILED);
		*n_done += ev.kind == LMI_ENGINE_EV_DONE;
		if (ev.kind == LMI_ENGINE_EV_TOKEN) {
			ck_assert_uint_lt(n[i], N_OUT);
			out[i][n[i]++] = ev.u.text.token;
		}
		lmi_engine_event_release(&ev);
	}
}

/* Some generations with chains that stay on the host, and some that do not. */
static void generate(const char *settings, lmd_token out[N_GEN][N_OUT], struct lmi_engine_stats *st)
{
	static const struct lmi_sampler_arg k7 = WHOLE("k", 7), t2 = REAL("t", 2), y = REAL("p", 0.9),
					    last = WHOLE("last_n", 16), repeat = REAL("repeat", 1.5);
	static const struct lmi_sampler_arg penalties[] = {last, repeat};
	static const struct lmi_sampler_spec
		some[] = {{"penalties", penalties, 2}, {"top_k", &k7, 1}, {"temp", &t2, 1},
			  {.name = "dist"}},
		other[] = {{"top_k", &k7, 1}, {"typical", &y, 1}, {.name = "dist"}},
		whole[] = {{"temp", &t2, 1}, {"typical", &y, 1}, {.name = "dist"}};
	struct lmi_engine_opts o = lmt_opts(&env, path);
	uint32_t n[N_GEN] = {0}, n_done = 0;
	struct lmi_engine *e = NULL;
	struct lmd_error err;
	lmd_token prompt[N_GEN + 3];

	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	o.inst.backend = "emu";
	o.no_tokenizer = false;
	o.inst.n_ctx = 128;
	o.inst.n_seq = N_GEN;
	o.inst.n_batch = 32;
	ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < N_GEN; i++) {
		const bool is_whole = i == N_GEN - 1;
		struct lmi_engine_generate cmd = {.id = i + 1,
						  .seq = lmt_tokens(prompt, i + 3),
						  .n_predict = N_OUT,
						  .specs = is_whole ? whole : i % 2 ? other : some,
						  .n_specs = is_whole || i % 2 ? 3 : 4,
						  .seed = i,
						  .flags = LMI_ENGINE_GEN_IGNORE_EOG};

		for (uint32_t k = 0; k < i + 3; k++)
			prompt[k] = (lmd_token)(10 + 7 * i + k);
		ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
	}
	for (uint32_t turn = 0; n_done < N_GEN; turn++) {
		(void)lmi_engine_step(e);
		take_events(e, out, n, &n_done);
		ck_assert_uint_lt(turn, 5000);
	}
	for (uint32_t i = 0; i < N_GEN; i++)
		ck_assert_uint_eq(n[i], N_OUT);
	lmi_engine_stop(e);
	lmi_engine_stats(e, st);
	lmi_engine_fini(e);
}

START_TEST(only_candidates_are_copied)
{
	static const struct {
		const char *settings;
		bool is_short;
	} ways[] = {
		{"late=0", true}, {"late=1", true}, {"late=1,seed=5,buckets=1", true},
		{"late=1,fault=22", false}, /* candidates out of order: the rows are fetched */
		{"late=1,lacks=15", false}, /* REDUCE */
	};
	static lmd_token want[N_GEN][N_OUT], have[N_GEN][N_OUT];
	struct lmi_engine_stats st;

	generate("late=1,best=0", want, &st);
	ck_assert_uint_eq(st.n_short, 0);
	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		generate(ways[i].settings, have, &st);
		ck_assert_msg(!memcmp(want, have, sizeof(want)), "%s: other tokens",
			      ways[i].settings);
		ck_assert_uint_eq(st.n_short, ways[i].is_short ? (N_GEN - 1) * N_OUT : 0);
		ck_assert_uint_eq(st.step_allocs, 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("best");
	TCase *t = tcase_create("best");

	tcase_set_timeout(t, 60);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_best_candidates_are_enough, 0, LMD_LEN(chains));
	tcase_add_test(t, only_candidates_are_copied);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
