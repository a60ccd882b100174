/* SPDX-License-Identifier: MIT
 *
 * Ops pause and unpause: a paused generation says nothing and has the same answer in the end; how long it
 * may be paused, and whose it is. */
#include <string.h>

#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
	fx.o.inst.backend = "ref";
}

static void teardown(void)
{
	fx_fini(&fx);
}

static bool call(enum lmi_wire_op op, const struct lmi_wire_id *id,
		 const struct lmi_svc_principal *who)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, op);
	if (op == LMI_WIRE_OP_PAUSE)
		q.u.pause.id = *id;
	else
		q.u.unpause.id = *id;
	return fx_call(&fx, who, &q);
}

/* The number of the last item of the user's only stream. */
static int64_t last_item(bool paused)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_STREAMS);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.streams.n_streams, 1);
	ck_assert_int_eq(fx.a.r.u.streams.streams[0].paused, paused);
	return fx.a.r.u.streams.streams[0].last;
}

/* _i: paused before it runs, in the middle, twice, until the end of another one */
START_TEST(the_same_answer)
{
	char want[64], have[64], other[64];
	struct lmi_wire_id id, id2;
	int64_t n;

	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_other, "it was a dark", 20);
	(void)fx_read(&fx, &fx_other, &id, want, sizeof(want));
	id = fx_begin(&fx, &fx_user, "it was a dark", 20);
	if (_i)
		fx_step(&fx, 7);
	for (int k = 0; k < (_i == 2 ? 2 : 1); k++) {
		ck_assert_msg(call(LMI_WIRE_OP_PAUSE, &id, &fx_user), "%s", fx.a.err.text);
		ck_assert_int_eq(fx.a.r.u.pause.left_ms, 600000 - (k ? 5 : 0));
		if (!k)
			fx_step(&fx, 5);
	}
	n = last_item(true);
	fx_step(&fx, 20);
	ck_assert_int_eq(last_item(true), n);
	if (_i == 3) {
		id2 = fx_begin(&fx, &fx_other, "another one", 30);
		(void)fx_read(&fx, &fx_other, &id2, other, sizeof(other));
	}
	ck_assert(call(LMI_WIRE_OP_UNPAUSE, &id, &fx_user));
	ck_assert(fx.a.r.u.unpause.was_paused);
	(void)last_item(false);
	ck_assert(call(LMI_WIRE_OP_UNPAUSE, &id, &fx_user));
	ck_assert(!fx.a.r.u.unpause.was_paused);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, have, sizeof(have)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_str_eq(have, want);
	ck_assert(!call(LMI_WIRE_OP_PAUSE, &id, &fx_user));
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "ended"));
	fx_check_empty(&fx);
}
END_TEST

/* Its end comes at the limit, by a cancellation, or with the daemon; it counts for its user, and is nobody
 * else's. */
START_TEST(bounds)
{
	struct lmi_wire_item end;
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char text[300];

	fx.o.limits.pause_max = 5000;
	fx.o.limits.max_running_per_user = 1;
	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_user, "it was a dark", 100);
	fx_step(&fx, 5);
	ck_assert(!call(LMI_WIRE_OP_PAUSE, &id, &fx_other));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(call(LMI_WIRE_OP_PAUSE, &id, &fx_user));
	fx_step(&fx, 3);
	q = fx_generate(&fx, "tiny", "the second of this user", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	fx_step(&fx, 3);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
	ck_assert_uint_eq(fx_stats(&fx).n_waiting, 1);
	fx.now += 5001 * FX_MS;
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
	ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_PAUSED);
	fx_settle(&fx);
	id = fx_begin(&fx, &fx_user, "it was a dark", 100);
	fx_step(&fx, 5);
	ck_assert(call(LMI_WIRE_OP_PAUSE, &id, &fx_user));
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert(fx_call(&fx, &fx_user, &q));
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
	id = fx_begin(&fx, &fx_user, "it was a dark", 100);
	fx_step(&fx, 5);
	ck_assert(call(LMI_WIRE_OP_PAUSE, &id, &fx_user));
	fx_step(&fx, 2); /* the fixture ends the service */
}
END_TEST

/* Its time is not counted as that of a request that runs. */
START_TEST(usage)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char text[64];

	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_user, "it was a dark", 20);
	fx_step(&fx, 5);
	ck_assert(call(LMI_WIRE_OP_PAUSE, &id, &fx_user));
	fx.now += 9000 * FX_MS;
	lmi_wire_request_init(&q, LMI_WIRE_OP_USAGE);
	ck_assert(fx_call(&fx, &fx_user, &q)); /* counts what runs */
	fx.now += 8000 * FX_MS;
	ck_assert(call(LMI_WIRE_OP_UNPAUSE, &id, &fx_user));
	fx.now += 700 * FX_MS;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.usage.n_usage, 1);
	ck_assert_int_ge(fx.a.r.u.usage.usage[0].run_ms, 700);
	ck_assert_int_lt(fx.a.r.u.usage.usage[0].run_ms, 5000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pause");
	TCase *t = tcase_create("pause");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_same_answer, 0, 4);
	tcase_add_test(t, bounds);
	tcase_add_test(t, usage);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
