/* SPDX-License-Identifier: MIT
 *
 * Steps in flight: random traffic on the emulated device, which completes at once, late or at random
 * times, gives the bits that ref gives, which runs one step at a time; several threads choose the
 * tokens, or the device does.  Evaluations on every kind of model, with forks; generations with
 * preemption; cancelled commands; faults of the device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sample.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_JOB	24
#define N_MAX	100 /* tokens of a prompt */
#define N_OUT	40  /* tokens of an answer */
#define NEVER	UINT32_MAX

static struct lmt_env env;
static char paths[LMT_N_TINY][256];
static uint64_t seed;

static void setup(void)
{
	struct lmd_error err;

	seed = lmd_seed("in flight", 17);
	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	for (int k = 0; k < LMT_N_TINY; k++) {
		snprintf(paths[k], sizeof(paths[k]), "%s/core/engine/in_flight.%d.%d.gguf",
			 lmd_build_dir(), k, (int)getpid());
		lmt_tiny_write((enum lmt_tiny)k, seed, paths[k]);
	}
}

static void teardown(void)
{
	for (int k = 0; k < LMT_N_TINY; k++)
		(void)remove(paths[k]);
	lmt_env_fini(&env);
}

/* ---- commands ---- */

struct job {
	bool generates;
	uint32_t n_tok, n_predict, fork_at; /* fork_at 0: one sequence */
	uint32_t chunk, start, cancel;	    /* turns */
	uint32_t flags;
	uint32_t chain; /* in chains */
	uint32_t n_draft; /* guesses by look-up; 0: none */
	lmd_token v[N_MAX];
};

/* What became of a job. */
struct result {
	uint32_t n_final, end, n_token;
	bool names_device; /* it failed with a message that does */
	lmd_token token[N_OUT];
	uint32_t n_row[2], width;
	float *rows[2]; /* [N_MAX][width] */
};

#define WHOLE(name, v_) {name, LMD_PARAM_INT, {.i = v_}}
#define REAL(name, v_)	{name, LMD_PARAM_FLOAT, {.f = v_}}
static const struct lmi_sampler_arg k7 = WHOLE("k", 7), p9 = REAL("p", 0.9), t2 = REAL("t", 2),
				    m1 = REAL("p", 0.1), repeat = REAL("repeat", 1.5);
static const struct lmi_sampler_spec greedy[] = {{.name = "greedy"}}, dist[] = {{.name = "dist"}},
				     usual[] = {{"top_k", &k7, 1},
						{"top_p", &p9, 1},
						{"min_p", &m1, 1},
						{"temp", &t2, 1},
						{.name = "dist"}},
				     hot[] = {{"temp", &t2, 1}, {"top_p", &p9, 1}, {.name = "dist"}},
				     penalised[] = {{"penalties", &repeat, 1}, {.name = "dist"}};
/* The last one stays on the host. */
static const struct {
	const struct lmi_sampler_spec *v;
	uint32_t n;
} chains[] = {{greedy, LMD_LEN(greedy)},
	      {dist, LMD_LEN(dist)},
	      {usual, LMD_LEN(usual)},
	      {hot, LMD_LEN(hot)},
	      {penalised, LMD_LEN(penalised)}};

static void make_jobs(struct job *j, bool generate, uint64_t *rnd)
{
	for (uint32_t i = 0; i < N_JOB; i++) {
		bool cancels = lmd_rand(rnd) % 5 == 0;

		j[i] = (struct job){
			.generates = generate && lmd_rand(rnd) % 4,
			.n_tok = 2 + (uint32_t)(lmd_rand(rnd) % (N_MAX - 2)),
			.n_predict = 1 + (uint32_t)(lmd_rand(rnd) % N_OUT),
			.chunk = lmd_rand(rnd) % 3 ? 0 : 1 + (uint32_t)(lmd_rand(rnd) % 20),
			.start = (uint32_t)(lmd_rand(rnd) % 60),
			.cancel = NEVER,
			.flags = LMI_ENGINE_GEN_IGNORE_EOG,
			.chain = (uint32_t)(lmd_rand(rnd) % LMD_LEN(chains))};
		if (lmd_rand(rnd) % 2)
			j[i].fork_at = 1 + (uint32_t)(lmd_rand(rnd) % (j[i].n_tok - 1));
		if (lmd_rand(rnd) % 5 == 0)
			j[i].flags |= LMI_ENGINE_GEN_NO_CACHE;
		if (cancels)
			j[i].cancel = j[i].start + 1 + (uint32_t)(lmd_rand(rnd) % 30);
		for (uint32_t k = 0; k < j[i].n_tok; k++)
			j[i].v[k] = (lmd_token)(lmd_rand(rnd) % 95);
	}
}

static void start_job(struct lmi_engine *e, const struct job *j, uint32_t i)
{
	static const lmd_token ends[] = {7, 40, 77};
	struct lmi_engine_input_seq in[2] = {lmt_tokens(j->v, j->n_tok), lmt_tokens(j->v, j->n_tok)};
	struct lmd_error err;
	enum lmd_status st;

	if (j->generates) {
		const struct lmi_engine_generate cmd = {.id = i + 1,
							.seq = in[0],
							.n_predict = j->n_predict,
							.specs = chains[j->chain].v,
							.n_specs = chains[j->chain].n,
							.stop_tokens = ends,
							.n_stop_tokens = LMD_LEN(ends),
							.draft = LMI_ENGINE_DRAFT_LOOKUP,
							.n_draft = j->n_draft,
							.seed = i,
							.flags = j->flags};

		st = lmi_engine_generate(e, &cmd, &err);
	} else {
		const struct lmi_engine_eval cmd = {.id = i + 1,
						    .seqs = in,
						    .n_seq = j->fork_at ? 2 : 1,
						    .chunk = j->chunk,
						    .pooling = LMD_POOL_UNSET};

		in[1].fork_of = 0;
		in[1].fork_at = j->fork_at;
		st = lmi_engine_eval(e, &cmd, &err);
	}
	ck_assert_msg(st == LMD_OK, "%s", err.text);
}

static void take_rows(struct result *r, const struct lmi_engine_event *ev)
{
	uint32_t q = ev->u.rows.seq;

	ck_assert_uint_lt(q, 2);
	if (!r->rows[q])
		r->rows[q] = lmi_alloc((size_t)N_MAX * ev->u.rows.width, sizeof(float));
	ck_assert_ptr_nonnull(r->rows[q]);
	r->width = ev->u.rows.width;
	ck_assert_uint_le(ev->u.rows.first + ev->u.rows.n, N_MAX);
	memcpy(r->rows[q] + (size_t)ev->u.rows.first * r->width, ev->u.rows.v,
	       (size_t)ev->u.rows.n * r->width * sizeof(float));
	r->n_row[q] += ev->u.rows.n;
}

static void take_events(struct lmi_engine *e, struct result *r)
{
	struct lmi_engine_event ev;

	while (lmi_engine_poll(e, &ev)) {
		struct result *x = &r[ev.id - 1];

		ck_assert(ev.id >= 1 && ev.id <= N_JOB);
		ck_assert_uint_eq(x->n_final, 0);
		if (ev.kind == LMI_ENGINE_EV_ROWS) {
			take_rows(x, &ev);
		} else if (ev.kind == LMI_ENGINE_EV_TOKEN) {
			ck_assert_uint_lt(x->n_token, N_OUT);
			x->token[x->n_token++] = ev.u.text.token;
		} else if (ev.kind != LMI_ENGINE_EV_TEXT) {
			x->n_final++;
			x->end = ev.kind;
			x->names_device = ev.kind == LMI_ENGINE_EV_FAILED &&
					  strstr(ev.u.error.text, "emu0");
		}
		lmi_engine_event_release(&ev);
	}
}

static bool all_done(const struct result *r)
{
	for (uint32_t i = 0; i < N_JOB; i++)
		if (!r[i].n_final)
			return false;
	return true;
}

/* After how many turns the step that runs is cut short, as by a command that was cancelled and ended in
 * the moment before; 0: never. Only in the first turns, so that all get on. */
static uint32_t cut_every;
#define LAST_CUT 300

/* Runs all jobs; the same commands come in the same turns. */
static void run(const struct lmi_engine_opts *o, const struct job *j, struct result *r,
		struct lmi_engine_stats *stats)
{
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	memset(r, 0, N_JOB * sizeof(*r));
	ck_assert_msg(lmi_engine_open(&e, o, &err) == LMD_OK, "%s", err.text);
	e->shared_logits = 0; /* threads choose, however few the logits are */
	for (uint32_t turn = 0; !all_done(r); turn++) {
		for (uint32_t i = 0; i < N_JOB; i++) {
			if (j[i].start == turn)
				start_job(e, &j[i], i);
			if (j[i].cancel == turn)
				ck_assert_int_eq(lmi_engine_cancel(e, i + 1), LMD_OK);
		}
		(void)lmi_engine_step(e);
		if (cut_every && turn % cut_every == 0 && turn < LAST_CUT)
			atomic_store(&e->cancel_word, 1);
		take_events(e, r);
		ck_assert_uint_lt(turn, 20000);
	}
	while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE)
		take_events(e, r); /* steps of cancelled commands */
	lmi_engine_stop(e);
	lmi_engine_stats(e, stats);
	lmi_engine_fini(e);
}

static void free_results(struct result *r)
{
	for (uint32_t i = 0; i < N_JOB; i++) {
		lmi_free(r[i].rows[0]);
		lmi_free(r[i].rows[1]);
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A cancelled command may have got further in one of them. */
static void compare(const struct job *j, const struct result *want, const struct result *have,
		    uint32_t i)
{
	bool whole = j->cancel == NEVER;

	if (whole) {
		ck_assert_msg(want->end == LMI_ENGINE_EV_DONE && have->end == LMI_ENGINE_EV_DONE,
			      "job %u ended with %u and %u", i, want->end, have->end);
		ck_assert_uint_eq(want->n_token, have->n_token);
	}
	for (uint32_t k = 0; k < least(want->n_token, have->n_token); k++)
		ck_assert_msg(want->token[k] == have->token[k], "job %u: token %u is %d, not %d", i,
			      k, have->token[k], want->token[k]);
	for (int q = 0; q < 2; q++) {
		uint32_t from = q ? j->fork_at : 0;
		uint32_t n = least(want->n_row[q], have->n_row[q]);

		if (whole)
			ck_assert_uint_eq(want->n_row[q], have->n_row[q]);
		if (n)
			ck_assert_msg(!memcmp(want->rows[q] + (size_t)from * want->width,
					      have->rows[q] + (size_t)from * want->width,
					      (size_t)n * want->width * sizeof(float)),
				      "job %u: rows of sequence %d differ", i, q);
	}
}

static struct lmi_engine_opts opts_of(int kind, const char *backend, enum lmi_engine_halves halves)
{
	struct lmi_engine_opts o = lmt_opts(&env, paths[kind]);

	o.inst.backend = backend;
	o.inst.n_ctx = 160;
	o.inst.n_seq = 6;
	o.inst.n_batch = 32;
	o.inst.n_thread = strcmp(backend, "emu") ? 1 : 3;
	o.inst.kv_tokens = 250; /* too few for all: some are preempted */
	o.no_tokenizer = kind != LMT_FULL;
	o.halves = halves;
	return o;
}

static void expect_all_free(const struct lmi_engine_stats *st)
{
	ck_assert_uint_eq(st->n_active + st->n_waiting, 0);
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		ck_assert_uint_eq(st->n_free[g], st->n_page[g]);
}

static const char *const settings[] = {"late=0", "late=1", "late=1,seed=3", "late=1,seed=4",
				       "late=1,seed=55,buckets=1"};

/* _i: kind of model */
START_TEST(the_bits_are_those_of_one_step_at_a_time)
{
	static struct job jobs[N_JOB];
	static struct result want[N_JOB], have[N_JOB];
	struct lmi_engine_stats st;
	uint64_t rnd = seed + (uint64_t)_i, n_overlapped = 0, n_preempted = 0, n_on_device = 0;
	const uint32_t n_round = lmd_rounds(3);

	for (uint32_t round = 0; round < n_round; round++) {
		struct lmi_engine_opts o = opts_of(_i, "ref", LMI_ENGINE_HALVES_AUTO);

		make_jobs(jobs, _i == LMT_FULL, &rnd);
		run(&o, jobs, want, &st);
		ck_assert_uint_eq(st.n_overlapped + st.n_on_device, 0);
		expect_all_free(&st);
		for (size_t k = 0; k < LMD_LEN(settings) * 2; k++) {
			o = opts_of(_i, "emu", k % 2 ? LMI_ENGINE_HALVES_ALWAYS
						     : LMI_ENGINE_HALVES_NEVER);
			ck_assert_int_eq(setenv("LLAMAD_EMU", settings[k / 2], 1), 0);
			run(&o, jobs, have, &st);
			expect_all_free(&st);
			n_overlapped += st.n_overlapped;
			n_preempted += st.n_preempted;
			n_on_device += st.n_on_device;
			ck_assert(k % 2 == 0 || st.n_overlapped > 20);
			for (uint32_t i = 0; i < N_JOB; i++)
				compare(&jobs[i], &want[i], &have[i], i);
			free_results(have);
		}
		free_results(want);
	}
	ck_assert(_i != LMT_FULL || n_on_device * 3 > 1000 * n_round);
	printf("%s: %llu steps submitted while another ran, %llu preempted, %llu tokens chosen on "
	       "the device\n",
	       lmt_tiny_name((enum lmt_tiny)_i), (unsigned long long)n_overlapped,
	       (unsigned long long)n_preempted, (unsigned long long)n_on_device);
}
END_TEST

/* All chains run on the device: no step waits for the host, whatever it completes when. */
START_TEST(the_device_goes_on_by_itself)
{
	static struct job jobs[N_JOB];
	static struct result want[N_JOB], have[N_JOB];
	struct lmi_engine_opts o = opts_of(LMT_FULL, "emu", LMI_ENGINE_HALVES_AUTO);
	struct lmi_engine_stats st;
	uint64_t rnd = seed + 11;

	make_jobs(jobs, true, &rnd);
	for (uint32_t i = 0; i < N_JOB; i++) {
		jobs[i].generates = true;
		jobs[i].cancel = NEVER;
		jobs[i].chain %= LMD_LEN(chains) - 1;
	}
	o.inst.kv_tokens = 0;
	o.inst.device_sampling = LMI_ENGINE_DEVICE_SAMPLING_OFF;
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings[_i], 1), 0);
	run(&o, jobs, want, &st);
	ck_assert_uint_eq(st.n_on_device, 0);
	o.inst.device_sampling = LMI_ENGINE_DEVICE_SAMPLING_AUTO;
	run(&o, jobs, have, &st);
	for (uint32_t i = 0; i < N_JOB; i++)
		compare(&jobs[i], &want[i], &have[i], i);
	ck_assert_uint_eq(st.n_on_device, st.n_generated);
	ck_assert_uint_eq(st.step_allocs, 0);
	ck_assert_uint_gt(st.n_overlapped, st.n_step / 2);
	expect_all_free(&st);
	printf("%llu of %llu steps were submitted while another ran, for %llu tokens\n",
	       (unsigned long long)st.n_overlapped, (unsigned long long)st.n_step,
	       (unsigned long long)st.n_generated);
}
END_TEST

/* Generations that may guess go on by themselves on the device while guesses do not help, and the
 * tokens are the same. */
START_TEST(guesses_and_the_device)
{
	static struct job jobs[N_JOB];
	static struct result want[N_JOB], have[N_JOB];
	struct lmi_engine_opts o = opts_of(LMT_FULL, "emu", LMI_ENGINE_HALVES_AUTO);
	struct lmi_engine_stats st;
	uint64_t rnd = seed + 17;

	make_jobs(jobs, true, &rnd);
	for (uint32_t i = 0; i < N_JOB; i++)
		jobs[i].cancel = NEVER;
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings[_i], 1), 0);
	run(&o, jobs, want, &st);
	ck_assert_uint_eq(st.n_drafted, 0);
	/* a third never guesses, a third always, and a third decides by measured times */
	for (uint32_t i = 0; i < N_JOB; i++) {
		jobs[i].n_draft = i % 3 ? 6 : 0;
		jobs[i].flags |= i % 3 == 1 ? LMI_ENGINE_GEN_DRAFT_ALWAYS : 0;
	}
	run(&o, jobs, have, &st);
	for (uint32_t i = 0; i < N_JOB; i++)
		compare(&jobs[i], &want[i], &have[i], i);
	ck_assert_uint_gt(st.n_on_device, 0);
	ck_assert_uint_gt(st.n_drafted, 0);
	expect_all_free(&st);
	printf("%llu tokens chosen on the device, %llu of %llu guesses right\n",
	       (unsigned long long)st.n_on_device, (unsigned long long)st.n_accepted,
	       (unsigned long long)st.n_drafted);
	free_results(want);
	free_results(have);
}
END_TEST

/* The device of the first rank chooses tokens for all of them. */
START_TEST(ranks_go_on_by_themselves)
{
	static const char *const ways[] = {"devices=2,late=1,seed=3", "devices=2,late=0,buckets=1",
					   "devices=2,late=1,group=0",
					   "devices=2,late=1,seed=4,group=0,peer=0"};
	static struct job jobs[N_JOB];
	static struct result want[N_JOB], have[N_JOB];
	struct lmi_engine_opts o = opts_of(LMT_FULL, "ref", LMI_ENGINE_HALVES_AUTO);
	struct lmi_engine_stats st;
	uint64_t rnd = seed + 19;

	make_jobs(jobs, true, &rnd);
	for (uint32_t i = 0; i < N_JOB; i++) {
		jobs[i].cancel = NEVER;
		jobs[i].chain %= LMD_LEN(chains) - 1;
	}
	o.inst.backend = NULL;
	o.inst.split = "tensor:2";
	o.inst.device_list = "ref0";
	run(&o, jobs, want, &st);
	o.inst.device_list = "emu0,emu1";
	ck_assert_int_eq(setenv("LLAMAD_EMU", ways[_i], 1), 0);
	run(&o, jobs, have, &st);
	for (uint32_t i = 0; i < N_JOB; i++)
		compare(&jobs[i], &want[i], &have[i], i);
	ck_assert_uint_eq(st.n_on_device, st.n_generated);
	ck_assert_uint_gt(st.n_overlapped, st.n_step / 4);
	expect_all_free(&st);
	printf("%s: %llu of %llu steps were submitted while another ran\n", ways[_i],
	       (unsigned long long)st.n_overlapped, (unsigned long long)st.n_step);
	free_results(want);
	free_results(have);
}
END_TEST

/* Tokens that a device would have chosen in steps that are cut short are chosen again. */
START_TEST(steps_are_cut_short)
{
	static struct job jobs[N_JOB];
	static struct result want[N_JOB], have[N_JOB];
	struct lmi_engine_opts o = opts_of(LMT_FULL, "emu", LMI_ENGINE_HALVES_AUTO);
	struct lmi_engine_stats st;
	uint64_t rnd = seed + 13, n_row;
	uint32_t n_again = 0;

	make_jobs(jobs, true, &rnd);
	for (uint32_t i = 0; i < N_JOB; i++)
		jobs[i].cancel = NEVER;
	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1", 1), 0);
	run(&o, jobs, want, &st);
	n_row = st.n_row;
	for (cut_every = 3; cut_every < 40; cut_every *= 2) {
		run(&o, jobs, have, &st);
		for (uint32_t i = 0; i < N_JOB; i++)
			compare(&jobs[i], &want[i], &have[i], i);
		n_again += st.n_row > n_row;
		ck_assert_uint_gt(st.n_on_device, 100);
		expect_all_free(&st);
		free_results(have);
	}
	ck_assert_uint_gt(n_again, 0);
	cut_every = 0;
	free_results(want);
}
END_TEST

/* Generations alone: nothing is allocated from choosing a step to queueing its events. */
START_TEST(a_step_allocates_nothing)
{
	static struct job jobs[N_JOB];
	static struct result have[N_JOB];
	struct lmi_engine_stats st;
	uint64_t rnd = _i ? 103 : seed + 99;

	make_jobs(jobs, true, &rnd);
	for (uint32_t i = 0; i < N_JOB; i++)
		jobs[i].generates = true;
	for (size_t k = 0; k < LMD_LEN(settings); k++) {
		struct lmi_engine_opts o = opts_of(LMT_FULL, "emu", LMI_ENGINE_HALVES_ALWAYS);

		ck_assert_int_eq(setenv("LLAMAD_EMU", settings[k], 1), 0);
		run(&o, jobs, have, &st);
		ck_assert_uint_eq(st.step_allocs, 0);
		ck_assert_uint_gt(st.n_overlapped, 100);
		free_results(have);
	}
}
END_TEST

/* Every command gets one final event, whenever the device is lost: also those that wait for memory then,
 * and those that are submitted later. Its message names the device. */
START_TEST(a_lost_device_ends_everything)
{
	static struct job jobs[N_JOB];
	static struct result have[N_JOB];
	struct lmi_engine_stats st;
	uint64_t rnd = seed + 7;

	make_jobs(jobs, true, &rnd);
	for (uint32_t step = 1; step < 60; step += 3) {
		for (int late = 0; late < 3; late++) {
			struct lmi_engine_opts o =
				opts_of(LMT_FULL, "emu", LMI_ENGINE_HALVES_ALWAYS);
			struct lmi_alloc_stats before, after;
			char text[64];
			uint32_t n_failed = 0;

			snprintf(text, sizeof(text), "lose_step=%u,late=%d,seed=%u", step, late != 0,
				 late == 2 ? step : 0);
			ck_assert_int_eq(setenv("LLAMAD_EMU", text, 1), 0);
			lmi_alloc_stats(&before);
			run(&o, jobs, have, &st);
			for (uint32_t i = 0; i < N_JOB; i++) {
				bool failed = have[i].end == LMI_ENGINE_EV_FAILED;

				ck_assert_uint_eq(failed, have[i].names_device);
				n_failed += failed;
			}
			ck_assert_uint_gt(n_failed, 0);
			free_results(have);
			lmi_alloc_stats(&after);
			if (step > 1 || late) /* the first one maps the plugin */
				ck_assert_uint_eq(before.n_live, after.n_live);
		}
	}
}
END_TEST

/* Forks take more pages at once than fit in a step: they are set by an operation before it. */
START_TEST(forks_of_long_sequences)
{
	static lmd_token v[3][240];
	struct lmi_engine_input_seq in[3];
	const struct lmi_engine_eval cmd = {
		.id = 1, .seqs = in, .n_seq = 3, .pooling = LMD_POOL_UNSET};
	struct lmi_engine_opts o = opts_of(_i, "ref", LMI_ENGINE_HALVES_NEVER);
	struct lmt_rows want, have;
	struct lmd_error err;
	uint64_t rnd = seed;

	o.no_tokenizer = true;
	o.inst.n_ctx = LMT_CTX;
	o.inst.n_seq = 2; /* so the usual changes of a step are few */
	o.inst.kv_tokens = 0;
	for (int q = 0; q < 3; q++) {
		for (int i = 0; i < 240; i++)
			v[q][i] = q && i < 200 ? v[0][i] : (lmd_token)(lmd_rand(&rnd) % 95);
		in[q] = lmt_tokens(v[q], 240);
		in[q].fork_of = q ? 0 : LMI_ENGINE_NO_FORK;
		in[q].fork_at = q ? 200 - 30 * (uint32_t)q : 0;
	}
	ck_assert_msg(lmt_eval_once(&o, &cmd, &want, &err) == LMD_OK, "%s", err.text);
	for (size_t k = 0; k < LMD_LEN(settings) * 2; k++) {
		o.inst.backend = "emu";
		o.halves = k % 2 ? LMI_ENGINE_HALVES_ALWAYS : LMI_ENGINE_HALVES_NEVER;
		ck_assert_int_eq(setenv("LLAMAD_EMU", settings[k / 2], 1), 0);
		ck_assert_msg(lmt_eval_once(&o, &cmd, &have, &err) == LMD_OK, "%s", err.text);
		ck_assert_uint_eq(want.n_row, have.n_row);
		ck_assert_mem_eq(want.v, have.v, (size_t)want.n_row * want.width * sizeof(float));
		lmi_free(have.v);
	}
	lmi_free(want.v);
}
END_TEST

/* An engine that is stopped with steps in flight. */
START_TEST(stopping_waits_for_the_steps)
{
	static struct job jobs[N_JOB];
	struct lmd_error err;
	uint64_t rnd = seed + 8;

	make_jobs(jobs, true, &rnd);
	for (uint32_t turns = 0; turns < 12; turns++) {
		struct lmi_engine_opts o = opts_of(LMT_FULL, "emu", LMI_ENGINE_HALVES_ALWAYS);
		static struct result have[N_JOB];
		struct lmi_engine *e = NULL;

		memset(have, 0, sizeof(have));
		ck_assert_int_eq(setenv("LLAMAD_EMU", settings[turns % LMD_LEN(settings)], 1), 0);
		ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
		for (uint32_t i = 0; i < N_JOB; i++)
			start_job(e, &jobs[i], i);
		for (uint32_t k = 0; k < turns; k++)
			(void)lmi_engine_step(e);
		lmi_engine_stop(e);
		take_events(e, have);
		ck_assert(all_done(have));
		lmi_engine_fini(e);
		free_results(have);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("in_flight");
	TCase *bits = lmd_part(s, "bits", setup, teardown);
	TCase *alone = lmd_part(s, "alone", setup, teardown);
	TCase *ends = lmd_part(s, "ends", setup, teardown);

	tcase_add_loop_test(bits, the_bits_are_those_of_one_step_at_a_time, 0, LMT_N_TINY);
	tcase_add_loop_test(bits, forks_of_long_sequences, 0, LMT_N_TINY);
	tcase_add_loop_test(alone, the_device_goes_on_by_itself, 0, LMD_LEN(settings));
	tcase_add_loop_test(alone, guesses_and_the_device, 0, LMD_LEN(settings));
	tcase_add_loop_test(alone, ranks_go_on_by_themselves, 0, 4);
	tcase_add_test(ends, steps_are_cut_short);
	tcase_add_loop_test(ends, a_step_allocates_nothing, 0, 2);
	tcase_add_test(ends, a_lost_device_ends_everything);
	tcase_add_test(ends, stopping_waits_for_the_steps);
	return lmd_check_run(srunner_create(s));
}
