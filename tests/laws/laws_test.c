/* SPDX-License-Identifier: MIT
 *
 * Tests invariants that hold for every model: the results do not depend on how rows are divided
 * into steps, on which sequences share a step, or on forks, evictions, preemptions and
 * cancellations.  On a backend that promises the same bits for the same row (as `ref` does),
 * results must be bit-exact.
 *
 * Each invariant is tested on a small random model of each kind of memory; LMD_TEST_SEED changes
 * models and inputs. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_MAX 120

static struct lmt_env env;
static char paths[LMT_N_TINY][256];
static uint64_t seed;

static void setup(void)
{
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	seed = lmd_seed("laws", 2024);
	for (int k = 0; k < LMT_N_TINY; k++) {
		snprintf(paths[k], sizeof(paths[k]), "%s/tests/laws/%s.%d.gguf", lmd_build_dir(),
			 lmt_tiny_name((enum lmt_tiny)k), (int)getpid());
		lmt_tiny_write((enum lmt_tiny)k, seed + (uint64_t)k, paths[k]);
	}
}

static void teardown(void)
{
	for (int k = 0; k < LMT_N_TINY; k++)
		(void)remove(paths[k]);
	lmt_env_fini(&env);
}

static void random_tokens(lmd_token *v, uint32_t n, uint64_t salt)
{
	uint64_t s = seed ^ salt * 0x9E3779B97F4A7C15ull;

	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)(lmd_rand(&s) % LMT_VOCAB);
}

static struct lmi_engine_opts opts_of(int kind, uint32_t n_seq, uint32_t n_batch)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);

	o.inst.n_seq = n_seq;
	o.inst.n_batch = n_batch;
	return o;
}

static struct lmi_engine *open_engine(const struct lmi_engine_opts *o)
{
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	ck_assert_msg(lmi_engine_open(&e, o, &err) == LMD_OK, "%s", err.text);
	return e;
}

static struct lmt_rows eval(struct lmi_engine *e, const struct lmi_engine_eval *cmd)
{
	struct lmt_rows r;
	struct lmd_error err;

	ck_assert_msg(lmt_eval(e, cmd, &r, &err) == LMD_OK, "%s", err.text);
	return r;
}

/* Logits of each of n tokens of a sequence that runs alone and in one step. */
static struct lmt_rows plain(int kind, const lmd_token *v, uint32_t n)
{
	struct lmi_engine_opts o = opts_of(kind, 1, n);
	struct lmi_engine_input_seq in = lmt_tokens(v, n);
	struct lmi_engine_eval cmd = {.id = 1, .seqs = &in, .n_seq = 1};
	struct lmi_engine *e = open_engine(&o);
	struct lmt_rows r = eval(e, &cmd);

	ck_assert_uint_eq(r.n_row, n);
	ck_assert_uint_eq(r.n_step, 1);
	lmi_engine_fini(e);
	return r;
}

static void same_rows(const float *want, const float *got, uint32_t n_row, uint32_t width,
		      const char *what)
{
	for (uint32_t i = 0; i < n_row * width; i++)
		if (memcmp(&want[i], &got[i], sizeof(float)) != 0)
			ck_abort_msg("%s: row %u, column %u: %.9g, expected %.9g", what, i / width,
				     i % width, (double)got[i], (double)want[i]);
}

static void expect_all_free(struct lmi_engine *e)
{
	struct lmi_engine_stats st;

	ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_IDLE);
	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.n_active + st.n_waiting, 0);
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		ck_assert_uint_eq(st.n_free[g], st.n_page[g]);
}

/* ---- how rows are divided into steps ---- */

START_TEST(chunks_change_nothing)
{
	static const uint32_t chunks[] = {1, 2, 3, 7, 16, 31, 32, 33, 64};
	lmd_token v[N_MAX] = {0};
	struct lmi_engine_input_seq in = lmt_tokens(v, N_MAX);
	struct lmi_engine_opts o = opts_of(_i, 1, N_MAX);
	struct lmi_engine *e;
	struct lmt_rows want;

	random_tokens(v, N_MAX, 1);
	want = plain(_i, v, N_MAX);
	e = open_engine(&o);
	for (size_t i = 0; i < LMD_LEN(chunks); i++) {
		struct lmi_engine_eval cmd = {.id = 1, .seqs = &in, .n_seq = 1, .chunk = chunks[i]};
		struct lmt_rows got = eval(e, &cmd);
		char what[64];

		snprintf(what, sizeof(what), "chunks of %u", chunks[i]);
		ck_assert_uint_eq(got.n_row, N_MAX);
		ck_assert_uint_eq(got.n_step, (N_MAX + chunks[i] - 1) / chunks[i]);
		same_rows(want.v, got.v, N_MAX, want.width, what);
		lmi_free(got.v);
		expect_all_free(e);
	}
	lmi_engine_fini(e);
	lmi_free(want.v);
}
END_TEST

START_TEST(prefill_and_one_step_is_the_whole)
{
	lmd_token v[N_MAX] = {0};
	struct lmi_engine_opts o = opts_of(_i, 2, N_MAX);
	struct lmi_engine *e;
	struct lmt_rows want;

	random_tokens(v, N_MAX, 2);
	want = plain(_i, v, N_MAX);
	e = open_engine(&o);
	/* the second sequence has one more token than the first */
	for (uint32_t n = 1; n < N_MAX; n += 17) {
		struct lmi_engine_input_seq in[2] = {lmt_tokens(v, n), lmt_tokens(v, n + 1)};
		struct lmi_engine_eval cmd = {
			.id = 1, .seqs = in, .n_seq = 2, .want = LMI_ENGINE_WANT_LAST};
		struct lmt_rows got;

		in[1].fork_of = 0;
		in[1].fork_at = n;
		got = eval(e, &cmd);
		/* half of a step may be too small for the first one */
		ck_assert(got.n_step == 2 ||
			  (o.halves == LMI_ENGINE_HALVES_ALWAYS && got.n_step > 2));
		ck_assert_uint_eq(got.n_row, 2);
		same_rows(want.v + (size_t)(n - 1) * want.width, got.v, 2, want.width, "prefill");
		lmi_free(got.v);
		expect_all_free(e);
	}
	lmi_engine_fini(e);
	lmi_free(want.v);
}
END_TEST

/* ---- who shares a step ---- */

START_TEST(neighbours_change_nothing)
{
	static const uint32_t n[] = {40, 1, 77, 13};
	lmd_token v[4][N_MAX];
	struct lmi_engine_input_seq in[4];
	struct lmi_engine_eval cmd = {.id = 1, .seqs = in, .n_seq = 4};
	struct lmi_engine_opts o = opts_of(_i, 4, 200);
	struct lmi_engine *e = open_engine(&o);
	struct lmt_rows got;
	size_t at = 0;

	for (int i = 0; i < 4; i++) {
		random_tokens(v[i], n[i], 10 + (uint64_t)i);
		in[i] = lmt_tokens(v[i], n[i]);
	}
	got = eval(e, &cmd);
	ck_assert_uint_eq(got.n_step, o.halves == LMI_ENGINE_HALVES_ALWAYS ? 2 : 1);
	for (int i = 0; i < 4; i++) {
		struct lmt_rows want = plain(_i, v[i], n[i]);

		same_rows(want.v, got.v + at * got.width, n[i], want.width, "beside others");
		at += n[i];
		lmi_free(want.v);
	}
	expect_all_free(e);
	lmi_engine_fini(e);
	lmi_free(got.v);
}
END_TEST

/* ---- forks ---- */

START_TEST(a_fork_in_the_middle_of_a_chunk)
{
	static const uint32_t at[] = {1, 5, 31, 32, 33, 59};
	lmd_token a[60], b[N_MAX];
	struct lmi_engine_opts o = opts_of(_i, 3, N_MAX);
	struct lmi_engine *e = open_engine(&o);
	struct lmi_engine_stats st;
	uint64_t shared = 0;

	random_tokens(a, 60, 20);
	for (size_t k = 0; k < LMD_LEN(at); k++) {
		struct lmi_engine_input_seq in[3] = {lmt_tokens(a, 60), lmt_tokens(b, 100),
						     lmt_tokens(a, 60)};
		struct lmi_engine_eval cmd = {.id = 1, .seqs = in, .n_seq = 3};
		struct lmt_rows got, want;

		random_tokens(b, 100, 21 + k);
		memcpy(b, a, at[k] * sizeof(*a));
		want = plain(_i, b, 100);
		in[1].fork_of = in[2].fork_of = 0;
		in[1].fork_at = in[2].fork_at = at[k];
		got = eval(e, &cmd);
		ck_assert_uint_eq(got.n_row, 60 + 2 * (100 - at[k]) - 40);
		same_rows(want.v + (size_t)at[k] * want.width, got.v + (size_t)60 * got.width,
			  100 - at[k], want.width, "the fork");
		same_rows(got.v + (size_t)at[k] * got.width,
			  got.v + (size_t)(160 - at[k]) * got.width, 60 - at[k], got.width,
			  "the second fork");
		lmi_free(want.v);
		want = plain(_i, a, 60);
		same_rows(want.v, got.v, 60, want.width, "the parent");
		lmi_free(want.v);
		lmi_free(got.v);
		expect_all_free(e);
		shared += 2 * at[k];
	}
	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.n_shared_rows, shared); /* shared, not computed again */
	lmi_engine_fini(e);
}
END_TEST

/* ---- too little memory ---- */

START_TEST(preemption_changes_nothing)
{
	lmd_token v[5][100];
	struct lmi_engine_input_seq in[5];
	struct lmi_engine_eval cmd = {.id = 1, .seqs = in, .n_seq = 5, .chunk = 9};
	struct lmi_engine_opts o = opts_of(_i, 5, 40);
	struct lmi_engine_stats st;
	struct lmi_engine *e;
	struct lmt_rows got;
	bool paged = _i != LMT_STATE;

	o.inst.kv_tokens = 120; /* less than the 500 tokens of all sequences */
	e = open_engine(&o);
	for (int i = 0; i < 5; i++) {
		random_tokens(v[i], 100, 30 + (uint64_t)i);
		in[i] = lmt_tokens(v[i], 100);
	}
	got = eval(e, &cmd);
	ck_assert_uint_eq(got.n_row, 500);
	for (int i = 0; i < 5; i++) {
		struct lmt_rows want = plain(_i, v[i], 100);

		same_rows(want.v, got.v + (size_t)i * 100 * got.width, 100, want.width, "set back");
		lmi_free(want.v);
	}
	lmi_engine_stats(e, &st);
	ck_assert(!paged || o.halves == LMI_ENGINE_HALVES_ALWAYS || st.n_preempted > 0);
	expect_all_free(e);
	lmi_engine_fini(e);
	lmi_free(got.v);
}
END_TEST

START_TEST(a_window_gives_pages_back)
{
	lmd_token v[240] = {0};
	struct lmi_engine_input_seq in = lmt_tokens(v, 240);
	struct lmi_engine_eval cmd = {.id = 1, .seqs = &in, .n_seq = 1, .chunk = 5};
	struct lmi_engine_opts o = opts_of(LMT_WINDOW, 1, 8);
	struct lmt_rows want, got = {0};
	struct lmi_engine *e = open_engine(&o);
	const struct lmi_inst *inst = e->inst;
	struct lmd_error err;
	struct lmi_engine_event ev;
	uint32_t most[LMD_MAX_GROUP] = {0};
	bool done = false;

	random_tokens(v, 240, 40);
	want = plain(LMT_WINDOW, v, 240);
	got.v = lmi_alloc((size_t)240 * want.width, sizeof(float));
	ck_assert_int_eq(lmi_engine_eval(e, &cmd, &err), LMD_OK);
	while (!done) {
		struct lmi_engine_stats st;

		(void)lmi_engine_step(e);
		lmi_engine_stats(e, &st);
		for (uint32_t g = 0; g < inst->desc.n_group; g++)
			if (st.n_page[g] - st.n_free[g] > most[g])
				most[g] = st.n_page[g] - st.n_free[g];
		while (lmi_engine_poll(e, &ev)) {
			done = done || ev.kind == LMI_ENGINE_EV_DONE;
			ck_assert_int_ne(ev.kind, LMI_ENGINE_EV_FAILED);
			if (ev.kind == LMI_ENGINE_EV_ROWS)
				memcpy(got.v + (size_t)ev.u.rows.first * want.width, ev.u.rows.v,
				       (size_t)ev.u.rows.n * want.width * sizeof(float));
			lmi_engine_event_release(&ev);
		}
	}
	for (uint32_t g = 0; g < inst->desc.n_group; g++) {
		uint32_t all = (240 + inst->page_tokens - 1) / inst->page_tokens;

		ck_assert_uint_eq(most[g] == all, !inst->desc.groups[g].window);
		ck_assert(!inst->desc.groups[g].window || most[g] <= 2);
	}
	same_rows(want.v, got.v, 240, want.width, "windows");
	expect_all_free(e);
	lmi_engine_fini(e);
	lmi_free(want.v);
	lmi_free(got.v);
}
END_TEST

/* ---- adapters ---- */

static void bind(struct lmi_engine *e, uint32_t slot, float scale, float *mem)
{
	struct lmi_engine_adapter ad = {.slot = slot,
					.site = "blk.0.ffn_down",
					.rank = 2,
					.n = LMT_EMBD,
					.k = 96,
					.a = mem,
					.b = mem + 2 * 96,
					.scale = scale};
	struct lmd_error err;
	uint64_t s = seed;

	for (uint32_t i = 0; i < 2 * (96 + LMT_EMBD); i++)
		mem[i] = (float)(lmd_rand(&s) >> 40) * 0x1p-24f - 0.5f;
	ck_assert_msg(lmi_inst_bind(e->inst, &ad, &err) == LMD_OK, "%s", err.text);
}

START_TEST(an_adapter_on_half_of_the_rows)
{
	static const int kinds[] = {LMT_FULL, LMT_WINDOW, LMT_HYBRID};
	int kind = kinds[_i];
	lmd_token v[4][50];
	struct lmi_engine_input_seq in[4];
	struct lmi_engine_eval cmd = {.id = 1, .seqs = in, .n_seq = 4};
	struct lmi_engine_opts o = opts_of(kind, 4, 200);
	float mem[2][2 * (96 + LMT_EMBD)];
	struct lmi_engine *e;
	struct lmt_rows mixed;

	o.inst.adapters = true;
	e = open_engine(&o);
	bind(e, 1, 1.0f, mem[0]);
	bind(e, 2, 0.0f, mem[1]); /* no effect */
	for (int i = 0; i < 4; i++) {
		random_tokens(v[i], 50, 50 + (uint64_t)i);
		in[i] = lmt_tokens(v[i], 50);
		in[i].adapter = i % 2 ? 1 : i / 2 ? 2 : 0;
	}
	mixed = eval(e, &cmd);
	ck_assert_uint_eq(mixed.n_step, o.halves == LMI_ENGINE_HALVES_ALWAYS ? 2 : 1);
	for (int i = 0; i < 4; i++) {
		const float *mine = mixed.v + (size_t)i * 50 * mixed.width;
		struct lmt_rows want = plain(kind, v[i], 50), alone;
		struct lmi_engine_eval one = {.id = 2, .seqs = &in[i], .n_seq = 1};

		alone = eval(e, &one);
		same_rows(alone.v, mine, 50, alone.width, "adapters side by side");
		if (i % 2)
			ck_assert_int_ne(memcmp(want.v, mine, want.width * sizeof(float)), 0);
		else
			same_rows(want.v, mine, 50, want.width, "no adapter, or one with scale 0");
		lmi_free(alone.v);
		lmi_free(want.v);
	}
	lmi_engine_fini(e);
	lmi_free(mixed.v);
}
END_TEST

/* ---- ends ---- */

START_TEST(a_cancel_takes_effect_after_the_step)
{
	lmd_token v[100] = {0};
	struct lmi_engine_input_seq in = lmt_tokens(v, 100);
	struct lmi_engine_opts o = opts_of(_i, 2, 64);
	struct lmi_engine *e = open_engine(&o);
	struct lmd_error err;
	struct lmi_engine_event ev;

	if (o.halves == LMI_ENGINE_HALVES_ALWAYS) {
		LMD_SKIP("a_cancel_takes_effect_after_the_step", "the commands take turns");
		lmi_engine_fini(e);
		return;
	}
	random_tokens(v, 100, 60);
	for (uint32_t after = 0; after <= 20; after++) {
		struct lmi_engine_eval a = {.id = 7, .seqs = &in, .n_seq = 1, .chunk = 5};
		struct lmi_engine_eval b = {.id = 8, .seqs = &in, .n_seq = 1, .chunk = 5};
		uint32_t n_rows[2] = {0}, n_final[2] = {0}, kind[2] = {0};

		ck_assert_int_eq(lmi_engine_eval(e, &a, &err), LMD_OK);
		ck_assert_int_eq(lmi_engine_eval(e, &b, &err), LMD_OK);
		for (uint32_t step = 0; step < 25; step++) {
			if (step == after)
				ck_assert_int_eq(lmi_engine_cancel(e, 7), LMD_OK);
			(void)lmi_engine_step(e);
			while (lmi_engine_poll(e, &ev)) {
				uint32_t i = ev.id == 8;

				if (ev.kind == LMI_ENGINE_EV_ROWS) {
					n_rows[i] += ev.u.rows.n;
				} else {
					n_final[i]++;
					kind[i] = ev.kind;
				}
				lmi_engine_event_release(&ev);
			}
		}
		ck_assert_uint_eq(n_final[0], 1);
		ck_assert_uint_eq(n_final[1], 1);
		ck_assert_uint_eq(kind[0],
				  after < 20 ? LMI_ENGINE_EV_CANCELLED : LMI_ENGINE_EV_DONE);
		ck_assert_uint_eq(n_rows[0], 5 * after);
		ck_assert_uint_eq(kind[1], LMI_ENGINE_EV_DONE);
		ck_assert_uint_eq(n_rows[1], 100);
		expect_all_free(e);
	}
	lmi_engine_fini(e);
}
END_TEST

struct worker {
	struct lmi_engine *e;
	const lmd_token *v;
	struct lmt_rows want;
	uint32_t n_bad, n_done;
};

/* Reads one engine's events and compares each row. */
static void *work(void *arg)
{
	struct worker *w = arg;
	uint32_t n_early = 0;

	for (uint64_t id = 1; id <= 6; id++) {
		struct lmi_engine_input_seq in = lmt_tokens(w->v, N_MAX);
		struct lmi_engine_eval cmd = {.id = id, .seqs = &in, .n_seq = 1, .chunk = 11};
		struct lmd_error err;
		struct lmi_engine_event ev = {0};

		if (lmi_engine_eval(w->e, &cmd, &err) != LMD_OK)
			return NULL;
		while (ev.kind != LMI_ENGINE_EV_DONE) {
			/* a wait may return early because of an event that was already read */
			if (!lmi_engine_wait(w->e, &ev, 60000)) {
				if (++n_early > 100)
					return NULL;
				continue;
			}
			if (ev.kind == LMI_ENGINE_EV_FAILED)
				return NULL;
			if (ev.kind != LMI_ENGINE_EV_ROWS)
				continue;
			w->n_bad +=
				memcmp(ev.u.rows.v,
				       w->want.v + (size_t)ev.u.rows.first * w->want.width,
				       (size_t)ev.u.rows.n * w->want.width * sizeof(float)) != 0;
			lmi_engine_event_release(&ev);
		}
		w->n_done++;
	}
	return NULL;
}

START_TEST(two_engines_in_one_process)
{
	static const int kinds[2] = {LMT_FULL, LMT_HYBRID};
	lmd_token v[2][N_MAX];
	struct worker w[2] = {0};
	pthread_t t[2];
	struct lmi_engine_devices *devices;
	struct lmd_error err;

	ck_assert_int_eq(lmi_engine_devices_create(&devices, env.registry, env.host, &err),
			 LMD_OK);
	for (int i = 0; i < 2; i++) {
		struct lmi_engine_opts o = opts_of(kinds[i], 1, 64);

		o.in_line = false;
		o.inst.devices = devices;
		o.inst.n_thread = 2;
		random_tokens(v[i], N_MAX, 70 + (uint64_t)i);
		w[i] = (struct worker){.v = v[i], .want = plain(kinds[i], v[i], N_MAX)};
		w[i].e = open_engine(&o);
	}
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, work, &w[i]), 0);
	for (int i = 0; i < 2; i++) {
		(void)pthread_join(t[i], NULL);
		ck_assert_uint_eq(w[i].n_done, 6);
		ck_assert_uint_eq(w[i].n_bad, 0);
		lmi_engine_fini(w[i].e);
		lmi_free(w[i].want.v);
	}
	lmi_engine_devices_destroy(devices);
}
END_TEST

START_TEST(everything_is_given_back)
{
	struct lmi_alloc_stats before, after;
	lmd_token v[30] = {0};
	struct lmi_engine_input_seq in = lmt_tokens(v, 30);
	struct lmi_engine_eval cmd = {.id = 1, .seqs = &in, .n_seq = 1};
	struct lmi_engine_opts o = opts_of(_i, 3, 16);
	struct lmd_error err;

	random_tokens(v, 30, 80);
	lmi_engine_fini(open_engine(&o)); /* plugins stay loaded */
	lmi_alloc_stats(&before);
	for (int way = 0; way < 3; way++) {
		struct lmi_engine *e = open_engine(&o);

		ck_assert_int_eq(lmi_engine_eval(e, &cmd, &err), LMD_OK);
		if (way > 0) /* leave events unread */
			(void)lmi_engine_step(e);
		if (way > 1)
			lmi_engine_stop(e);
		lmi_engine_fini(e);
	}
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("laws");
	TCase *t = tcase_create("laws");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, chunks_change_nothing, 0, LMT_N_TINY);
	tcase_add_loop_test(t, prefill_and_one_step_is_the_whole, 0, LMT_N_TINY);
	tcase_add_loop_test(t, neighbours_change_nothing, 0, LMT_N_TINY);
	tcase_add_loop_test(t, a_fork_in_the_middle_of_a_chunk, 0, LMT_N_TINY);
	tcase_add_loop_test(t, preemption_changes_nothing, 0, LMT_N_TINY);
	tcase_add_test(t, a_window_gives_pages_back);
	tcase_add_loop_test(t, an_adapter_on_half_of_the_rows, 0, 3);
	tcase_add_loop_test(t, a_cancel_takes_effect_after_the_step, 0, LMT_N_TINY);
	tcase_add_test(t, two_engines_in_one_process);
	tcase_add_loop_test(t, everything_is_given_back, 0, LMT_N_TINY);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
