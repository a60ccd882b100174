/* SPDX-License-Identifier: MIT
 *
 * Next tokens that worker threads find: a generation whose grammar is slow lets the others go on,
 * ends with its own error, can be cancelled at any moment, and has the tokens that it would have had
 * without workers. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/engine/engine_impl.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "mask workers");
}

static void teardown(void)
{
	story_env_fini(&env);
}

/* ---- a gate before each job ---- */

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n_waiting;
	bool open;
};

static struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};

static void wait_at_gate(void *arg)
{
	struct gate *g = arg;

	(void)pthread_mutex_lock(&g->lock);
	g->n_waiting++;
	(void)pthread_cond_broadcast(&g->changed);
	while (!g->open)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	g->n_waiting--;
	(void)pthread_mutex_unlock(&g->lock);
}

static void wait_for_job(struct gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	while (!g->n_waiting)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	(void)pthread_mutex_unlock(&g->lock);
}

static void set_open(struct gate *g, bool open)
{
	(void)pthread_mutex_lock(&g->lock);
	g->open = open;
	(void)pthread_cond_broadcast(&g->changed);
	(void)pthread_mutex_unlock(&g->lock);
}

/* ---- generations ---- */

/* Each of its tokens leads to a mask that has not been computed before. */
static const char letters[] =
	"root ::= [a-m] [b-n] [c-o] [d-p] [e-q] [f-r] [g-s] [h-t] [i-u] [j-v] [k-w] [l-x]";

/* Starts a generation from the prompt `hello`. gbnf NULL: without a grammar. */
static void send(struct lmi_engine *e, uint64_t id, const char *gbnf, enum lmi_engine_jump jump,
		 int64_t n_predict)
{
	struct lmi_engine_generate cmd = story_command(id, hello, 5, n_predict);
	struct lmi_engine_constrain_opts o = {.prompt = hello, .n_prompt = 5, .jump = jump};
	struct lmd_error err;
	size_t n;

	if (gbnf) {
		o.grammar.gbnf = (struct lmd_str){.ptr = gbnf, .len = strlen(gbnf)};
		ck_assert_msg(lmi_engine_constrain(e, &o, &cmd.constraint, &n, &err) == LMD_OK,
			      "%s", err.text);
	}
	ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
}

static void poll_all(struct lmi_engine *e, struct story *s)
{
	struct lmi_engine_event ev;

	while (lmi_engine_poll(e, &ev))
		story_tell(&s[ev.id - 1], &ev);
}

static void same(const struct story *a, const struct story *b)
{
	ck_assert_int_eq(a->end, b->end);
	ck_assert_str_eq(a->text, b->text);
	ck_assert_uint_eq(a->n_tokens, b->n_tokens);
	ck_assert_mem_eq(a->tokens, b->tokens, a->n_tokens * sizeof(a->tokens[0]));
}

static struct story alone(const char *gbnf, enum lmi_engine_jump jump, int64_t n_predict)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct story s;

	memset(&s, 0, sizeof(s));
	send(e, 1, gbnf, jump, n_predict);
	story_run(e, &s, 1);
	lmi_engine_fini(e);
	return s;
}

/* An engine without a thread of its own, whose workers wait at the gate. */
static struct lmi_engine *gated_engine(uint32_t n_seq, uint32_t n_mask_thread)
{
	struct lmi_engine_opts o = story_opts(&env, n_seq);
	struct lmi_engine *e;

	o.n_mask_thread = n_mask_thread;
	e = story_engine(&o);
	set_open(&gate, false);
	e->mask_workers.hook = wait_at_gate;
	e->mask_workers.hook_arg = &gate;
	return e;
}

START_TEST(others_go_on)
{
	struct story want[2] = {alone(letters, LMI_ENGINE_JUMP_TOKEN, 100),
				alone(NULL, LMI_ENGINE_JUMP_TOKEN, 60)};
	struct lmi_engine *e = gated_engine(2, 1);
	static struct story got[2];
	uint32_t n_before, n_slow;

	memset(got, 0, sizeof(got));
	send(e, 1, letters, LMI_ENGINE_JUMP_TOKEN, 100);
	send(e, 2, NULL, LMI_ENGINE_JUMP_TOKEN, 60);
	while (!e->mask_workers.n_pending) {
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
		poll_all(e, got);
	}
	n_before = got[1].n_tokens;
	n_slow = got[0].n_tokens;
	/* each step has a token for the fast one, and none for the one that waits for its mask */
	for (uint32_t i = 1; i <= 20; i++) {
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
		poll_all(e, got);
		ck_assert_uint_eq(got[1].n_tokens, n_before + i);
		ck_assert_uint_eq(got[0].n_tokens, n_slow);
	}
	set_open(&gate, true);
	story_run(e, got, 2);
	same(&want[0], &got[0]);
	same(&want[1], &got[1]);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(cancelled_at_the_worker)
{
	struct lmi_engine *e = gated_engine(3, 1);
	static struct story got[3];

	memset(got, 0, sizeof(got));
	send(e, 1, letters, LMI_ENGINE_JUMP_TOKEN, 100);
	send(e, 2, letters, LMI_ENGINE_JUMP_TEXT, 100);
	send(e, 3, NULL, LMI_ENGINE_JUMP_TOKEN, 100);
	while (e->mask_workers.n_pending < 2)
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
	wait_for_job(&gate);
	/* one of the two is with the worker, the other one in its queue */
	ck_assert_int_eq(lmi_engine_cancel(e, 1), LMD_OK);
	ck_assert_int_eq(lmi_engine_cancel(e, 2), LMD_OK);
	(void)lmi_engine_step(e);
	poll_all(e, got);
	ck_assert_int_eq(got[0].end, LMI_ENGINE_EV_CANCELLED);
	ck_assert_int_eq(got[1].end, LMI_ENGINE_EV_CANCELLED);
	ck_assert_uint_eq(e->mask_workers.n_pending, 1);
	set_open(&gate, true);
	story_run(e, got, 3);
	ck_assert_int_eq(got[2].end, LMI_ENGINE_EV_DONE);
	lmi_engine_fini(e);
}
END_TEST

/* The engine is closed while jobs are queued. */
START_TEST(closed_with_jobs)
{
	struct lmi_engine *e = gated_engine(3, 1);

	for (uint64_t id = 1; id <= 3; id++)
		send(e, id, letters, LMI_ENGINE_JUMP_TOKEN, 100);
	while (e->mask_workers.n_pending < 3)
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
	wait_for_job(&gate);
	set_open(&gate, true);
	lmi_engine_fini(e);
}
END_TEST

/* An ambiguous grammar uses up its share; its request fails and no other one does. */
START_TEST(a_share_that_is_used_up)
{
	static char slow[100000] = "a ::= [^x]?\nroot ::=";
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e;
	static struct story got[2];

	for (char *p = slow + strlen(slow); p < slow + 80000; p = stpcpy(p, " a"))
		;
	memset(got, 0, sizeof(got));
	o.n_mask_thread = 2;
	e = story_engine(&o);
	send(e, 1, slow, LMI_ENGINE_JUMP_OFF, 200);
	send(e, 2, NULL, LMI_ENGINE_JUMP_OFF, 100);
	story_run(e, got, 2);
	ck_assert_int_eq(got[1].end, LMI_ENGINE_EV_DONE);
	ck_assert_uint_eq(got[1].n_tokens, 100);
	ck_assert_int_eq(got[0].end, LMI_ENGINE_EV_FAILED);
	ck_assert_int_eq(got[0].last.u.error.status, LMD_TIMEOUT);
	ck_assert_ptr_nonnull(strstr(got[0].last.u.error.text, "share of time"));
	lmi_engine_fini(e);
}
END_TEST

/* ---- the same tokens, whatever the timing ---- */

struct kind {
	const char *gbnf;
	enum lmi_engine_jump jump;
};

static const struct kind kinds[] = {
	{letters, LMI_ENGINE_JUMP_TOKEN},
	{letters, LMI_ENGINE_JUMP_OFF},
	{"root ::= \"name: \" [a-z]{3} \"; kind: \" (\"old\" | \"olive\") \"; done\"",
	 LMI_ENGINE_JUMP_TOKEN},
	{"root ::= \"say: hello world, \" [a-c]{2} \" hello\"", LMI_ENGINE_JUMP_TEXT},
	{"root ::= (\"ab\" [c-f] | \"x\" [0-9]{2,5})+ \"!\"", LMI_ENGINE_JUMP_TOKEN},
	{NULL, LMI_ENGINE_JUMP_TOKEN},
};

#define N_KIND LMD_LEN(kinds)

static void run_with_threads(const struct story *want, uint32_t n_seq, uint32_t n_mask_thread)
{
	struct lmi_engine_opts o = story_opts(&env, n_seq);
	static struct story got[2 * N_KIND];
	struct lmi_engine *e;
	uint32_t n_final = 0;

	o.in_line = false;
	o.n_mask_thread = n_mask_thread;
	e = story_engine(&o);
	memset(got, 0, sizeof(got));
	for (uint32_t i = 0; i < 2 * N_KIND; i++)
		send(e, i + 1, kinds[i % N_KIND].gbnf, kinds[i % N_KIND].jump, 40);
	while (n_final < 2 * N_KIND) {
		struct lmi_engine_event ev;

		if (!lmi_engine_wait(e, &ev, -1))
			continue;
		story_tell(&got[ev.id - 1], &ev);
		n_final += ev.kind == LMI_ENGINE_EV_DONE || ev.kind == LMI_ENGINE_EV_FAILED;
	}
	for (uint32_t i = 0; i < 2 * N_KIND; i++)
		same(&want[i % N_KIND], &got[i]);
	lmi_engine_fini(e);
}

START_TEST(timing_changes_no_token)
{
	static const uint32_t n_seq[] = {1, 3, 12}, n_thread[] = {1, 2, 4};
	static struct story want[N_KIND];

	for (uint32_t i = 0; i < N_KIND; i++)
		want[i] = alone(kinds[i].gbnf, kinds[i].jump, 40);
	for (size_t i = 0; i < LMD_LEN(n_seq); i++)
		for (size_t k = 0; k < LMD_LEN(n_thread); k++)
			run_with_threads(want, n_seq[i], n_thread[k]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mask_workers");
	TCase *t = tcase_create("mask_workers");

	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, others_go_on);
	tcase_add_test(t, cancelled_at_the_worker);
	tcase_add_test(t, closed_with_jobs);
	tcase_add_test(t, a_share_that_is_used_up);
	tcase_add_test(t, timing_changes_no_token);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
