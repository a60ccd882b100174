/* SPDX-License-Identifier: MIT
 *
 * Work of clients that have left, and of a service that stops. */
#include <stdio.h>
#include <string.h>

#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* Jobs of a client that has left are dropped from the queue; those of others are not. */
START_TEST(work_of_a_client_that_left)
{
	struct lmi_wire_request q;
	struct fx_answer a[4];
	uint32_t n_work = 0;

	fx_start(&fx);
	fx_load(&fx);
	q = fx_tokenize_long(&fx);
	for (int i = 0; i < 4; i++)
		fx_ask(&fx, i == 3 ? &fx_other : &fx_user, &q, &a[i]);
	while (lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io))
		fx_turn(&fx); /* up to the work queue */
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(a[i].err.status, LMD_CANCELLED);
	while (lmi_jobs_run_one(fx.work))
		n_work++;
	ck_assert_uint_eq(n_work, 1);
	fx_wait(&fx, &a[3]);
	ck_assert(!a[3].failed);
	fx_settle(&fx);
	for (int i = 0; i < 4; i++)
		fx_answer_fini(&a[i]);
}
END_TEST

/* Stopping the service ends queued work at once, with an answer. */
START_TEST(work_when_the_service_stops)
{
	struct lmi_wire_request q;
	struct fx_answer a;

	fx_start(&fx);
	fx_load(&fx);
	q = fx_tokenize_long(&fx);
	fx_ask(&fx, &fx_user, &q, &a);
	while (lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io))
		fx_turn(&fx);
	lmi_service_stop(fx.svc, fx.now);
	ck_assert(!lmi_jobs_run_one(fx.work));
	fx_turn(&fx);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_int_eq(a.err.status, LMD_CANCELLED);
	fx_answer_fini(&a);
}
END_TEST

/* So is the prompt of a generation whose client has left. */
START_TEST(prompt_of_a_client_that_left)
{
	static char text[FX_LONG_TEXT + 1];
	struct lmi_wire_request q;
	struct fx_answer a;

	fx_start(&fx);
	fx_load(&fx);
	memset(text, 'a', FX_LONG_TEXT);
	q = fx_generate(&fx, "tiny", text, 4);
	fx_ask(&fx, &fx_user, &q, &a);
	while (lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io))
		fx_turn(&fx);
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	ck_assert(!lmi_jobs_run_one(fx.work));
	fx_settle(&fx);
	fx_check_empty(&fx);
	fx_answer_fini(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("left");
	TCase *t = tcase_create("left");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, work_of_a_client_that_left);
	tcase_add_test(t, work_when_the_service_stops);
	tcase_add_test(t, prompt_of_a_client_that_left);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
