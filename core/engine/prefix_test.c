/* SPDX-License-Identifier: MIT
 *
 * The prefix cache of an engine: what is not computed again, by counted rows; that answers and logits
 * have the bits of those without a cache, on every kind of model; and when memory runs out. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_PROMPT 100

static struct story_env env;
static const char *paths[LMT_N_TINY];

static void setup(void)
{
	story_env_init(&env, "prefix");
	for (int k = 0; k < LMT_N_TINY; k++)
		paths[k] = story_model(&env, (enum lmt_tiny)k);
}

static void teardown(void)
{
	story_env_fini(&env);
}

static struct lmi_engine *uncached(void)
{
	struct lmi_engine_opts o = story_opts(&env, 2);

	o.inst.no_prefix_cache = true;
	return story_engine(&o);
}

/* A conversation in which each turn continues the last one: each token is computed once. _i: with
 * memory for one sequence only */
START_TEST(a_conversation_of_20_turns)
{
	struct lmi_engine_opts o = story_opts(&env, _i ? 1 : 2);
	struct lmi_engine *cached, *plain = uncached();
	struct lmi_engine_stats a, b;
	lmd_token v[250];
	uint32_t n = 5;

	cached = story_engine(&o);
	memcpy(v, hello, sizeof(hello));
	for (int turn = 0; turn < 20; turn++) {
		struct lmi_engine_generate cmd = story_command(1, v, n, 6);
		struct story one = story_generate(plain, &cmd), two = story_generate(cached, &cmd);

		ck_assert_str_eq(one.text, two.text);
		ck_assert_uint_eq(one.last.u.done.n_cached, 0);
		ck_assert_uint_eq(two.last.u.done.n_prompt, n);
		/* all rows of the last turn: its last token has none */
		ck_assert_uint_eq(two.last.u.done.n_cached, turn ? n - 5 - 1 : 0);
		memcpy(v + n, two.tokens, two.n_tokens * sizeof(v[0]));
		n += two.n_tokens;
		for (int k = 0; k < 5; k++)
			v[n++] = (lmd_token)(turn * 4 + k);
	}
	lmi_engine_stats(plain, &a);
	lmi_engine_stats(cached, &b);
	ck_assert_uint_eq(b.n_row, n - 5 - 1);
	ck_assert_uint_eq(a.n_shared_rows, 0);
	ck_assert_uint_eq(b.n_row + b.n_shared_rows, a.n_row);
	ck_assert_uint_eq(b.step_allocs, 0);
	ck_assert_uint_eq(b.n_hit, 19);
	(void)story_check_idle(cached);
	lmi_engine_fini(cached);
	lmi_engine_fini(plain);
}
END_TEST

/* The same prompt again: only its last row is computed, also while others run. */
START_TEST(a_prompt_is_computed_once)
{
	struct lmi_engine_opts o = story_opts(&env, 4);
	struct lmi_engine *e = story_engine(&o), *plain = uncached();
	struct lmi_engine_generate cmd;
	struct lmi_engine_stats st;
	struct story s[4] = {0}, want;
	lmd_token v[N_PROMPT];
	uint64_t rnd = env.seed;

	story_random_tokens(v, N_PROMPT, &rnd);
	cmd = story_command(1, v, N_PROMPT, 10);
	want = story_generate(plain, &cmd);
	/* four answers to a new prompt */
	for (uint32_t i = 0; i < 4; i++) {
		cmd.id = i + 1;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	}
	story_run(e, s, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_str_eq(s[i].text, want.text);
		ck_assert_uint_eq(s[i].last.u.done.n_cached, i ? N_PROMPT - 1 : 0);
	}
	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.n_row, N_PROMPT + 3 + 4 * 9);
	/* and later */
	cmd.id = 1;
	s[0] = story_generate(e, &cmd);
	ck_assert_str_eq(s[0].text, want.text);
	ck_assert_uint_eq(s[0].last.u.done.n_cached, N_PROMPT - 1);
	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.n_row, N_PROMPT + 4 + 5 * 9);
	ck_assert_uint_eq(st.n_hit, 4);
	ck_assert_uint_eq(st.n_started, 5);
	(void)story_check_idle(e);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Tenants share nothing, nor do commands that do without the cache. */
START_TEST(who_shares)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o);
	static const struct {
		uint64_t tenant;
		uint32_t flags, n_cached;
	} cases[] = {
		{1, LMI_ENGINE_GEN_NO_CACHE, 0}, {1, 0, 0}, {1, 0, 4}, {2, 0, 0},
		{1, LMI_ENGINE_GEN_NO_CACHE, 0}, {2, 0, 4}, {1, 0, 4},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 3);

		cmd.tenant = cases[i].tenant;
		cmd.flags |= cases[i].flags;
		ck_assert_uint_eq(story_generate(e, &cmd).last.u.done.n_cached, cases[i].n_cached);
	}
	(void)story_check_idle(e);
	lmi_engine_fini(e);
}
END_TEST

/* A cancelled generation leaves what it computed. */
START_TEST(what_a_cancelled_one_leaves)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *plain = uncached();

	for (int at = 0; at < 6; at++) {
		struct lmi_engine *e = story_engine(&o);
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 100);
		struct lmi_engine_event ev;
		struct story s = {0}, t;
		lmd_token v[64];

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		for (int i = 0; i < at; i++)
			(void)lmi_engine_step(e);
		ck_assert_int_eq(lmi_engine_cancel(e, 1), LMD_OK);
		(void)lmi_engine_step(e);
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_IDLE);
		while (lmi_engine_poll(e, &ev))
			story_tell(&s, &ev);
		ck_assert_int_eq(s.end, LMI_ENGINE_EV_CANCELLED);
		memcpy(v, hello, sizeof(hello));
		memcpy(v + 5, s.tokens, s.n_tokens * sizeof(v[0]));
		v[5 + s.n_tokens] = 3;
		cmd = story_command(1, v, 6 + s.n_tokens, 10);
		t = story_generate(e, &cmd);
		ck_assert_str_eq(t.text, story_generate(plain, &cmd).text);
		ck_assert_uint_eq(t.last.u.done.n_cached, at ? 4 + s.n_tokens : 0);
		lmi_engine_fini(e);
	}
	lmi_engine_fini(plain);
}
END_TEST

/* Prompts that have parts in common, more than memory holds. _i: sequences at a time */
START_TEST(memory_runs_out)
{
	struct lmi_engine_opts o = story_opts(&env, 1 + (uint32_t)_i);
	struct lmi_engine *e, *plain = uncached();
	struct lmi_engine_stats st;
	uint64_t rnd = env.seed + 1;
	lmd_token base[200];

	o.inst.kv_tokens = 256;
	e = story_engine(&o);
	story_random_tokens(base, 200, &rnd);
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t n = 2 + (uint32_t)(lmd_rand(&rnd) % 190), n_cmd = 1 + i % 3;
		struct story s[3] = {0};
		lmd_token v[3][200];

		for (uint32_t k = 0; k < n_cmd; k++) {
			struct lmi_engine_generate cmd = story_command(k + 1, v[k], n, 20);
			uint32_t same = (uint32_t)(lmd_rand(&rnd) % 200);

			story_random_tokens(v[k], 200, &rnd);
			memcpy(v[k], base, same * sizeof(base[0]));
			ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		}
		story_run(e, s, n_cmd);
		for (uint32_t k = 0; k < n_cmd; k++) {
			struct lmi_engine_generate cmd = story_command(1, v[k], n, 20);

			ck_assert_int_eq(s[k].end, LMI_ENGINE_EV_DONE);
			ck_assert_str_eq(s[k].text, story_generate(plain, &cmd).text);
		}
	}
	lmi_engine_stats(e, &st);
	printf("%u sequences: %llu of %llu prompts found %llu rows, %llu pages evicted\n", 1 + _i,
	       (unsigned long long)st.n_hit, (unsigned long long)st.n_started,
	       (unsigned long long)st.n_shared_rows, (unsigned long long)st.n_page_evicted);
	ck_assert(st.n_hit > 20 && st.n_page_evicted > 20 && !st.step_allocs);
	(void)story_check_idle(e);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

static struct story ask(struct lmi_engine *e, const lmd_token *v, uint32_t n, uint64_t client,
			uint64_t pin_ns)
{
	struct lmi_engine_generate cmd = story_command(1, v, n, 2);

	cmd.client = client;
	cmd.pin_ns = pin_ns;
	return story_generate(e, &cmd);
}

/* A pinned prompt outlives others that need more memory than there is; its time over, it does not.
 * _i: kind of model */
START_TEST(a_pinned_prompt_stays)
{
	static const uint64_t hour = 3600ull * 1000000000, moment = 1;
	struct lmi_engine_opts o = story_opts(&env, 1);
	uint64_t rnd = env.seed + 2;
	struct lmi_engine_stats st;
	struct lmi_engine *e;
	lmd_token v[48], w[200];

	o.inst.path = paths[_i];
	o.inst.kv_tokens = 256;
	for (int time = 0; time < 3; time++) {
		uint64_t pin_ns = time == 0 ? 0 : time == 1 ? hour : moment;
		struct story s;
		uint32_t pinned;

		e = story_engine(&o);
		story_random_tokens(v, 48, &rnd);
		pinned = ask(e, v, 48, 1, pin_ns).last.u.done.n_pinned;
		ck_assert_uint_eq(pinned > 0, pin_ns > 0);
		for (int i = 0; i < 10; i++) {
			story_random_tokens(w, 200, &rnd);
			ck_assert_uint_eq(ask(e, w, 200, 2, 0).last.u.done.n_pinned, 0);
		}
		lmi_engine_stats(e, &st);
		s = ask(e, v, 48, 1, 0);
		if (time == 1) {
			ck_assert_uint_gt(st.n_pinned, 0);
			ck_assert_uint_ge(s.last.u.done.n_cached, pinned);
		} else {
			ck_assert_uint_eq(st.n_pinned, 0);
			ck_assert_uint_eq(s.last.u.done.n_cached, 0);
		}
		(void)story_check_idle(e);
		lmi_engine_fini(e);
	}
}
END_TEST

/* Pins do not keep a sequence from running, and a client has a share of the memory. */
START_TEST(pins_have_bounds)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e, *plain = uncached();
	uint64_t rnd = env.seed + 3, hour = 3600ull * 1000000000;
	struct lmi_engine_stats st;

	o.inst.kv_tokens = 256;
	e = story_engine(&o);
	for (uint64_t i = 0; i < 12; i++) {
		struct lmi_engine_generate cmd;
		lmd_token v[240];
		struct story s;

		story_random_tokens(v, 240, &rnd);
		s = ask(e, v, 240, i, hour);
		cmd = story_command(1, v, 240, 2);
		ck_assert_str_eq(s.text, story_generate(plain, &cmd).text);
		lmi_engine_stats(e, &st);
		ck_assert_uint_le(s.last.u.done.n_pinned, 256 / LMI_ENGINE_PIN_PART);
		ck_assert_uint_le(st.n_pinned, st.n_page[0]);
	}
	ck_assert_uint_gt(st.n_pinned, 0);
	(void)story_check_idle(e);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* The answer tells where its prompt differs from what is known. */
START_TEST(where_a_prefix_breaks)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	uint64_t rnd = env.seed + 4;
	lmd_token v[N_PROMPT];

	story_random_tokens(v, N_PROMPT, &rnd);
	ck_assert_uint_eq(ask(e, v, N_PROMPT, 1, 0).last.u.done.broke_at, 0);
	ck_assert_uint_eq(ask(e, v, N_PROMPT, 1, 0).last.u.done.broke_at, N_PROMPT);
	for (uint32_t at = 1; at < N_PROMPT - 1; at += 7) {
		(void)ask(e, v, N_PROMPT, 1, 0); /* memory is needed for the others */
		v[at] = (v[at] + 1) % 95;
		ck_assert_uint_eq(ask(e, v, N_PROMPT, 1, 0).last.u.done.broke_at, at);
		v[at] = (v[at] + 94) % 95;
	}
	lmi_engine_fini(e);
}
END_TEST

static struct lmt_rows eval_last(struct lmi_engine *e, const lmd_token *v, uint32_t n, bool cache)
{
	struct lmi_engine_input_seq in = lmt_tokens(v, n);
	struct lmi_engine_eval cmd = {.id = 1,
				      .seqs = &in,
				      .n_seq = 1,
				      .want = LMI_ENGINE_WANT_LAST,
				      .pooling = LMD_POOL_UNSET,
				      .cache = cache};
	struct lmt_rows rows = {0};
	struct lmd_error err;

	ck_assert_msg(lmt_eval(e, &cmd, &rows, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(rows.n_row, 1);
	return rows;
}

/* Every kind of model: the logits have the bits of those without a cache. _i: kind of model, and
 * backend */
START_TEST(shared_rows_have_the_same_bits)
{
	static const char *const backends[] = {"ref", "cpu"};
	int kind = _i % LMT_N_TINY;
	struct lmi_engine_opts o = lmt_opts(&env.env, paths[kind]);
	struct lmi_engine *e, *plain;
	struct lmi_engine_stats a, b;
	const uint32_t n_round = lmd_rounds(100);
	uint64_t rnd = lmd_seed("prefix bits", 3);
	lmd_token base[200];

	o.inst.backend = backends[_i / LMT_N_TINY];
	o.inst.n_seq = 3;
	o.inst.n_batch = 64;
	e = story_engine(&o);
	o.inst.no_prefix_cache = true;
	plain = story_engine(&o);
	story_random_tokens(base, 200, &rnd);
	for (uint32_t i = 0; i < n_round; i++) {
		uint32_t n = 2 + (uint32_t)(lmd_rand(&rnd) % 190);
		uint32_t same = (uint32_t)(lmd_rand(&rnd) % 200);
		struct lmt_rows x, y;
		lmd_token v[200];

		story_random_tokens(v, 200, &rnd);
		memcpy(v, base, same * sizeof(v[0]));
		if (i % 5 == 4)
			memcpy(base, v, sizeof(v));
		x = eval_last(e, v, n, true);
		y = eval_last(plain, v, n, true);
		ck_assert_msg(!memcmp(x.v, y.v, x.width * sizeof(float)),
			      "%s on %s: the logits of prompt %u differ",
			      lmt_tiny_name((enum lmt_tiny)kind), o.inst.backend, i);
		lmi_free(x.v);
		lmi_free(y.v);
	}
	lmi_engine_stats(e, &a);
	lmi_engine_stats(plain, &b);
	printf("%s: %llu of %llu prompts found %llu of %llu rows\n",
	       lmt_tiny_name((enum lmt_tiny)kind), (unsigned long long)a.n_hit,
	       (unsigned long long)a.n_started, (unsigned long long)a.n_shared_rows,
	       (unsigned long long)b.n_row);
	ck_assert_uint_eq(a.n_row + a.n_shared_rows, b.n_row);
	ck_assert_uint_gt(a.n_hit, 3);
	(void)story_check_idle(e);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* An engine is closed while it has cached pages, and right after an answer. */
START_TEST(the_cache_goes_with_its_engine)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_alloc_stats before, after;

	o.in_line = false;
	lmi_engine_fini(story_engine(&o)); /* plugins are loaded now */
	lmi_alloc_stats(&before);
	for (int i = 0; i < 50; i++) {
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
		struct lmi_engine *e = story_engine(&o);
		struct lmi_engine_event ev = {0};

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		while (!lmi_engine_wait(e, &ev, -1) || ev.kind < LMI_ENGINE_EV_DONE)
			;
		lmi_engine_fini(e);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(before.n_live, after.n_live);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("prefix cache");
	TCase *t = tcase_create("prefix cache");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_conversation_of_20_turns, 0, 2);
	tcase_add_test(t, a_prompt_is_computed_once);
	tcase_add_test(t, who_shares);
	tcase_add_test(t, what_a_cancelled_one_leaves);
	tcase_add_loop_test(t, memory_runs_out, 0, 3);
	tcase_add_loop_test(t, a_pinned_prompt_stays, 0, LMT_N_TINY);
	tcase_add_test(t, pins_have_bounds);
	tcase_add_test(t, where_a_prefix_breaks);
	tcase_add_loop_test(t, shared_rows_have_the_same_bits, 0, 2 * LMT_N_TINY);
	tcase_add_test(t, the_cache_goes_with_its_engine);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
