/* SPDX-License-Identifier: MIT
 *
 * Tokens that a device chooses: the stages of SAMPLE on ref choose what the chain of the host chooses,
 * for logits of all kinds and a large vocabulary; which chains are mapped. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/sample.h"
#include "core/engine/sample_stages.h"
#include "core/engine/tail.h"
#include "tests/chain_fixture.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define VOCAB 9000
#define N_ROW 4

static struct lmt_env env;
static struct lmi_inst *inst;
static struct lmi_engine_tail *tail;
static char path[256];
static uint64_t rnd;

static void setup(void)
{
	struct lmi_engine_opts o;
	struct lmd_error err;

	rnd = lmd_seed("tail", 31);
	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	snprintf(path, sizeof(path), "%s/core/engine/tail.%d.gguf", lmd_build_dir(), (int)getpid());
	lmt_tiny_write(LMT_FULL, 1, path);
	o = lmt_opts(&env, path);
	o.inst.backend = "ref";
	o.inst.n_seq = N_ROW;
	o.inst.n_ctx = 64;
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_ptr_null(inst->tail); /* it has no queue */
	ck_assert_msg(lmi_engine_tail_open(&tail, inst, 0, VOCAB, &err) == LMD_OK, "%s", err.text);
	lmi_engine_shared_destroy(&inst->devices[0], &inst->slot[0].out_rows[0]);
	ck_assert_int_eq(lmi_engine_shared_create(&inst->devices[0], &inst->slot[0].out_rows[0],
						  N_ROW * VOCAB * sizeof(float),
						  LMI_ENGINE_SHARED_HOST, &err),
			 LMD_OK);
}

static void teardown(void)
{
	lmi_engine_tail_close(inst, tail);
	lmi_inst_close(inst);
	(void)remove(path);
	lmt_env_fini(&env);
}

static struct lmi_sampler_chain *make_chain(const char *json, uint64_t seed)
{
	const struct chain_env with = {.host = env.host, .registry = env.registry};

	return chain_make(&with, json, (struct lmi_sampler_chain_opts){.n_vocab = VOCAB, .seed = seed});
}

/* Logits of a kind: spread, peaked, with ties, all equal, with NaN and infinities. */
static void make_logits(float *v, int kind)
{
	for (uint32_t i = 0; i < VOCAB; i++) {
		float x = (float)(lmd_rand(&rnd) % 100000) * 1e-4f - 5;

		v[i] = kind == 1 ? x * 4 : kind == 2 ? floorf(x) : kind == 3 ? 1.5f : x;
		if (kind == 4 && lmd_rand(&rnd) % 4 == 0)
			v[i] = lmd_rand(&rnd) % 2 ? NAN : -INFINITY;
	}
}

static const char *const mapped[] = {
	"[\"greedy\"]",
	"[\"dist\"]",
	"[{\"sampler\":\"top_k\",\"k\":40},{\"sampler\":\"top_p\",\"p\":0.95},"
	"{\"sampler\":\"min_p\",\"p\":0.05},{\"sampler\":\"temp\",\"t\":0.8},\"dist\"]",
	"[{\"sampler\":\"temp\",\"t\":1.7},{\"sampler\":\"top_k\",\"k\":300},"
	"{\"sampler\":\"top_p\",\"p\":0.7},\"dist\"]",
	"[{\"sampler\":\"top_p\",\"p\":0.9},\"dist\"]",
	"[{\"sampler\":\"min_p\",\"p\":0.02},{\"sampler\":\"temp\",\"t\":3},\"dist\"]",
	"[{\"sampler\":\"temp\",\"t\":0},\"dist\"]",
	"[{\"sampler\":\"temp\",\"t\":0.3},{\"sampler\":\"temp\",\"t\":2},\"dist\"]",
	"[{\"sampler\":\"top_k\",\"k\":5},\"greedy\"]",
	"[{\"sampler\":\"top_k\",\"k\":0},{\"sampler\":\"top_p\",\"p\":0},\"dist\"]",
	"[{\"sampler\":\"dist\",\"seed\":77}]",
};

/* _i: chain */
START_TEST(a_device_chooses_the_tokens_of_the_host)
{
	const struct lmi_engine_exec e = {.out_rows = N_ROW};
	struct lmi_engine_rows parts[N_ROW + 1];
	struct lmi_sampler_chain *chain[N_ROW];
	struct lmd_error err;

	for (uint32_t r = 0; r < N_ROW; r++)
		chain[r] = make_chain(mapped[((uint32_t)_i + r) % LMD_LEN(mapped)],
				      lmd_rand(&rnd));
	for (int round = 0; round < 20; round++) {
		float *logits = inst->slot[0].out_rows[0].host;
		lmd_token want[N_ROW];

		for (uint32_t r = 0; r < N_ROW; r++) {
			make_logits(logits + (size_t)r * VOCAB, round % 5);
			parts[r] = (struct lmi_engine_rows){.kv_seq = r, .n = 1, .n_out = 1};
			parts[r].stages = lmi_sampler_chain_stages(chain[r]);
			parts[r].draw = lmi_sampler_chain_step(chain[r]);
			ck_assert_ptr_nonnull(parts[r].stages);
			ck_assert_uint_eq(parts[r].draw, (uint64_t)round);
			ck_assert_int_eq(lmi_sampler_chain_sample(chain[r],
								  logits + (size_t)r * VOCAB, VOCAB,
								  NULL, &want[r]), LMD_OK);
		}
		parts[N_ROW] = (struct lmi_engine_rows){.kv_seq = 0, .n = 3}; /* has no output */
		ck_assert_msg(lmi_engine_tail_run(inst, tail, &e, 0, parts, N_ROW + 1, &err) ==
				      LMD_OK, "%s", err.text);
		for (uint32_t r = 0; r < N_ROW; r++) {
			ck_assert_msg(lmi_engine_tail_tokens(tail, 0)[r] == want[r],
				      "round %d: %s chose %d, not %d", round,
				      mapped[((uint32_t)_i + r) % LMD_LEN(mapped)],
				      lmi_engine_tail_tokens(tail, 0)[r], want[r]);
			lmi_sampler_chain_accept(chain[r], want[r], false);
		}
	}
	for (uint32_t r = 0; r < N_ROW; r++)
		lmi_sampler_chain_destroy(chain[r]);
}
END_TEST

static const char *const unmapped[] = {
	"[{\"sampler\":\"penalties\",\"repeat\":1.1},\"dist\"]",
	"[{\"sampler\":\"typical\",\"p\":0.5},\"dist\"]",
	"[{\"sampler\":\"min_p\",\"p\":0.1},{\"sampler\":\"top_p\",\"p\":0.9},\"dist\"]",
	"[{\"sampler\":\"top_p\",\"p\":0.9,\"min_keep\":2},\"dist\"]",
	"[{\"sampler\":\"temp\",\"t\":0.5},\"greedy\"]",
	"[{\"sampler\":\"temp\",\"t\":1},{\"sampler\":\"temp\",\"t\":1},"
	"{\"sampler\":\"temp\",\"t\":1},\"dist\"]",
	"[{\"sampler\":\"top_k\",\"k\":20000000},\"dist\"]",
	"[\"mirostat\"]",
};

/* _i: chain */
START_TEST(other_chains_stay_on_the_host)
{
	struct lmi_sampler_chain *c = make_chain(unmapped[_i], 1);

	ck_assert_ptr_null(lmi_sampler_chain_stages(c));
	lmi_sampler_chain_destroy(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tail");
	TCase *t = tcase_create("tail");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_device_chooses_the_tokens_of_the_host, 0, LMD_LEN(mapped));
	tcase_add_loop_test(t, other_chains_stay_on_the_host, 0, LMD_LEN(unmapped));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
