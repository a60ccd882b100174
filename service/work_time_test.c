/* SPDX-License-Identifier: MIT
 *
 * The share of a user in the processor time of the work threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/service_state.h"
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

#define SECOND_NS (1000 * FX_MS)

START_TEST(a_window_of_time)
{
	struct lmi_svc_window t = {0};

	lmi_svc_window_add(&t, 100 * SECOND_NS + 500 * FX_MS, 7);
	lmi_svc_window_add(&t, 103 * SECOND_NS, 5);
	ck_assert_uint_eq(lmi_svc_window_sum(&t, 103 * SECOND_NS, LMI_SVC_WORK_SECONDS), 12);
	ck_assert_uint_eq(lmi_svc_window_sum(&t, 110 * SECOND_NS - 1, LMI_SVC_WORK_SECONDS), 12);
	ck_assert_uint_eq(lmi_svc_window_sum(&t, 110 * SECOND_NS, LMI_SVC_WORK_SECONDS), 5);
	ck_assert_uint_eq(lmi_svc_window_sum(&t, 113 * SECOND_NS, LMI_SVC_WORK_SECONDS), 0);
	ck_assert_uint_eq(lmi_svc_window_retry_ms(&t, 103 * SECOND_NS, LMI_SVC_WORK_SECONDS, 13), 0);
	ck_assert_uint_eq(lmi_svc_window_retry_ms(&t, 103 * SECOND_NS, LMI_SVC_WORK_SECONDS, 12), 7000);
	ck_assert_uint_eq(lmi_svc_window_retry_ms(&t, 103 * SECOND_NS, LMI_SVC_WORK_SECONDS, 5), 10000);
	ck_assert_uint_eq(lmi_svc_window_retry_ms(&t, 113 * SECOND_NS, LMI_SVC_WORK_SECONDS, 1), 0);
	lmi_svc_window_add(&t, 1000 * SECOND_NS, 3); /* all others have left long ago */
	ck_assert_uint_eq(lmi_svc_window_sum(&t, 1000 * SECOND_NS, LMI_SVC_WORK_SECONDS), 3);
}
END_TEST

/* One percent of two threads for ten seconds. */
#define WORK_SHARE (200 * FX_MS)

START_TEST(processor_time_of_one_user)
{
	struct lmi_wire_request q;
	uint32_t retry_ms;

	fx.o.limits.work_percent_per_user = 1;
	fx_start(&fx);
	fx_load(&fx);
	q = fx_tokenize_long(&fx);
	lmi_svc_user_charge_work(fx.svc, &fx_user, 2 * WORK_SHARE);
	ck_assert(fx_call(&fx, &fx_user, &q)); /* nobody else is there */
	fx.now += 20 * SECOND_NS - fx.now % SECOND_NS; /* all of it is charged in one second */
	fx_turn(&fx);
	lmi_svc_user_charge_work(fx.svc, &fx_other, 1);
	lmi_svc_user_charge_work(fx.svc, &fx_user, WORK_SHARE / 2);
	ck_assert(fx_call(&fx, &fx_user, &q));
	lmi_svc_user_charge_work(fx.svc, &fx_user, WORK_SHARE / 2);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, "the maximum is 200 ms") != NULL, "%s", fx.a.err.text);
	retry_ms = fx.a.retry_ms;
	ck_assert(retry_ms > 9000 && retry_ms <= 10000);
	q = fx_generate(&fx, "tiny", "hello", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.retry_ms, retry_ms);
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q)); /* no such work */
	lmi_svc_user_charge_work(fx.svc, &fx_admin, 2 * WORK_SHARE);
	q = fx_tokenize_long(&fx);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert(fx_call(&fx, &fx_other, &q));
	/* the time until a retry is honest */
	fx.now += (retry_ms - 100) * FX_MS;
	fx_turn(&fx);
	lmi_svc_user_charge_work(fx.svc, &fx_other, 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	retry_ms = fx.a.retry_ms;
	ck_assert(retry_ms >= 1 && retry_ms <= 100);
	fx.now += retry_ms * FX_MS;
	ck_assert(fx_call(&fx, &fx_user, &q));
}
END_TEST

/* Returns the processor time of a user in the window. */
static uint64_t work_of(const struct lmi_svc_principal *who)
{
	for (const struct lmi_svc_user *u = fx.svc->users; u; u = u->next)
		if (u->owner.uid == who->uid)
			return lmi_svc_window_sum(&u->work, fx.now, LMI_SVC_WORK_SECONDS);
	return 0;
}

START_TEST(jobs_are_charged)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	uint64_t before;
	char text[64], *prompt = malloc(FX_LONG_TEXT + 1);

	fx_start(&fx);
	fx_load(&fx);
	q = fx_tokenize_long(&fx);
	ck_assert(fx_call(&fx, &fx_user, &q));
	before = work_of(&fx_user);
	ck_assert_uint_gt(before, 0);
	/* a prompt that is too long for the context is tokenised all the same */
	memset(prompt, 'a', FX_LONG_TEXT);
	prompt[FX_LONG_TEXT] = 0;
	id = fx_begin(&fx, &fx_user, prompt, 1);
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_uint_gt(work_of(&fx_user), before);
	fx.now += 20 * SECOND_NS;
	ck_assert_uint_eq(work_of(&fx_user), 0);
	free(prompt);
}
END_TEST

static unsigned n_users(void)
{
	unsigned n = 0;

	for (const struct lmi_svc_user *u = fx.svc->users; u; u = u->next)
		n++;
	return n;
}

/* Users are known as long as they hold something or their work counts, and no longer. */
START_TEST(idle_users_are_forgotten)
{
	struct lmi_svc_user *holds;

	fx_start(&fx);
	fx.now += 20 * SECOND_NS;
	fx_turn(&fx);
	ck_assert_uint_eq(n_users(), 0);
	holds = lmi_svc_user_ref(fx.svc, &fx_admin);
	ck_assert_ptr_nonnull(holds);
	lmi_svc_user_charge_work(fx.svc, &fx_user, 1);
	lmi_svc_user_charge_work(fx.svc, &fx_other, 0);
	ck_assert_uint_eq(n_users(), 2);
	fx.now += (LMI_SVC_WORK_SECONDS - 1) * SECOND_NS - fx.now % SECOND_NS;
	fx_turn(&fx);
	ck_assert_uint_eq(n_users(), 2);
	fx.now += 2 * SECOND_NS;
	fx_turn(&fx);
	ck_assert_uint_eq(n_users(), 1);
	ck_assert_ptr_eq(fx.svc->users, holds);
	lmi_svc_user_unref(holds);
	fx.now += 2 * SECOND_NS;
	fx_turn(&fx);
	ck_assert_uint_eq(n_users(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("work_time");
	TCase *t = tcase_create("work_time");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_window_of_time);
	tcase_add_test(t, processor_time_of_one_user);
	tcase_add_test(t, jobs_are_charged);
	tcase_add_test(t, idle_users_are_forgotten);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
