/* SPDX-License-Identifier: MIT
 *
 * Streams as clients read them: cursors, output batching, ends. */
#include <string.h>

#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "service/model.h"
#include "service/service.h"
#include "service/service_state.h"
#include "service/stream.h"
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

/* ---- cursors ---- */

static struct lmi_wire_id begin_slow(void)
{
	fx_load(&fx);
	return fx_begin(&fx, &fx_user, "hello", 200);
}

START_TEST(next_is_idempotent)
{
	struct fx_answer a, b;
	struct lmi_wire_id id;
	struct lmi_wire_request q;

	fx_start(&fx);
	id = begin_slow();
	fx_step(&fx, 20);
	q = fx_next(&id, 5);
	q.u.next.max = 7;
	fx_ask(&fx, &fx_user, &q, &a);
	fx_step(&fx, 3);
	fx_ask(&fx, &fx_user, &q, &b);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 7);
	ck_assert_int_eq(a.r.u.next.last, 12);
	ck_assert_uint_eq(a.bytes.n, b.bytes.n);
	ck_assert_int_eq(memcmp(a.bytes.p, b.bytes.p, a.bytes.n), 0);
	fx_answer_fini(&a);
	fx_answer_fini(&b);
	/* a cursor cannot go back, or beyond the last item */
	q.u.next.after = 12;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert(!a.failed);
	fx_answer_fini(&a);
	q.u.next.after = 4;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	q.u.next.after = 1000;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
}
END_TEST

START_TEST(hold_rule)
{
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	struct fx_answer a;
	uint64_t hold = _i ? 25 : 0;

	fx_start(&fx);
	id = begin_slow();
	q = fx_next(&id, 0);
	q.u.next.has_hold_ms = true;
	q.u.next.hold_ms = (int64_t)hold;
	/* the first token is sent at once */
	fx_ask(&fx, &fx_user, &q, &a);
	for (int i = 0; i < 5 && !a.n; i++)
		fx_step(&fx, 1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 1);
	fx_answer_fini(&a);
	/* later ones once the first unread one is old enough */
	q.u.next.after = 1;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 0);
	for (uint64_t i = 0; i < hold; i++) {
		fx_step(&fx, 1);
		ck_assert_uint_eq(a.n, 0);
	}
	if (hold)
		ck_assert_uint_le(lmi_service_deadline(fx.svc), fx.now);
	fx_step(&fx, 1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, hold + 1);
	fx_answer_fini(&a);
	/* or when max items are there */
	q.u.next.after = (int64_t)hold + 2;
	q.u.next.max = 3;
	q.u.next.hold_ms = 1000;
	fx_ask(&fx, &fx_user, &q, &a);
	fx_step(&fx, 2);
	ck_assert_uint_eq(a.n, 0);
	fx_step(&fx, 1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 3);
	fx_answer_fini(&a);
	/* or at the end */
	q.u.next.after += 3;
	q.u.next.max = 4096;
	fx_ask(&fx, &fx_user, &q, &a);
	fx_step(&fx, 200);
	ck_assert_uint_eq(a.n, 1);
	ck_assert(a.r.u.next.end);
	ck_assert_int_eq(a.r.u.next.last, 201);
	fx_answer_fini(&a);
	/* after the end the reply is empty, at once */
	q.u.next.after = 201;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	ck_assert(a.r.u.next.end);
	ck_assert_uint_eq(a.r.u.next.n_items, 0);
	fx_answer_fini(&a);
}
END_TEST

/* Wakeup coalescing: tokens wake no reader while its reply is held back, or while nobody reads. */
START_TEST(tokens_that_wait_wake_nobody)
{
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	struct fx_answer a;
	const uint64_t *until;

	fx_start(&fx);
	id = begin_slow();
	until = &fx.svc->loaded_models->defer_wakeups_until_ns;
	fx_step(&fx, 5);
	ck_assert_uint_eq(*until, fx.svc->now + fx.svc->limits.hold_default * LMI_NS_PER_MS);
	ck_assert_uint_le(lmi_service_deadline(fx.svc), *until);
	q = fx_next(&id, 0);
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	q.u.next.after = a.r.u.next.last;
	fx_answer_fini(&a);
	q.u.next.has_hold_ms = true;
	q.u.next.hold_ms = 40;
	/* a reader without unread items waits for the next one */
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert(!a.n);
	ck_assert_uint_eq(lmi_svc_stream_wakeup_due(fx.svc->streams.last), 0);
	/* then until its reply is due */
	fx_step(&fx, 2);
	ck_assert(!a.n);
	ck_assert_uint_gt(*until, fx.svc->now);
	ck_assert_uint_le(*until, fx.svc->now + 40 * LMI_NS_PER_MS);
	fx_step(&fx, 50);
	ck_assert(a.n);
	fx_answer_fini(&a);
	fx_step(&fx, 250); /* ended */
	ck_assert_uint_eq(*until, 0);
}
END_TEST

/* A reply that is nearly full is sent when it is full. */
START_TEST(a_reply_that_is_nearly_full_is_waited_for)
{
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	struct fx_answer a;

	fx_start(&fx);
	id = begin_slow();
	fx_step(&fx, 10);
	q = fx_next(&id, 2);
	q.u.next.has_hold_ms = true;
	q.u.next.hold_ms = 1000;
	q.u.next.max = 60;
	fx_ask(&fx, &fx_user, &q, &a);
	fx_step(&fx, 20);
	ck_assert(!a.n);
	ck_assert_uint_gt(fx.svc->loaded_models->defer_wakeups_until_ns, fx.svc->now);
	fx_step(&fx, 25);
	ck_assert(!a.n);
	ck_assert_uint_eq(fx.svc->loaded_models->defer_wakeups_until_ns, 0);
	fx_step(&fx, 10);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 60);
	fx_answer_fini(&a);
}
END_TEST

START_TEST(waiting_ends)
{
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	struct fx_answer a;

	fx.o.limits.max_running = 1;
	fx_start(&fx);
	(void)begin_slow();
	id = fx_begin(&fx, &fx_user, "waits", 5); /* waits for the first one */
	q = fx_next(&id, 0);
	q.u.next.has_wait_ms = true;
	q.u.next.wait_ms = 10;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 0);
	ck_assert_uint_eq(lmi_service_deadline(fx.svc), fx.now + 10 * FX_MS);
	fx_step(&fx, 10);
	ck_assert_uint_eq(a.n, 0);
	fx_step(&fx, 1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 0);
	ck_assert(!a.r.u.next.end);
	ck_assert_int_eq(a.r.u.next.last, 0);
	fx_answer_fini(&a);
	q.u.next.wait_ms = 0;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	fx_answer_fini(&a);
}
END_TEST

START_TEST(a_slow_reader_costs_only_itself)
{
	char text[8192];
	struct lmi_wire_id slow, quick;
	struct lmi_wire_item end;
	struct lmi_wire_request q;
	uint64_t n = 0;

	fx.o.limits.stream_bytes = 4096;
	fx_start(&fx);
	fx_load(&fx);
	slow = fx_begin(&fx, &fx_user, "hello", 250);
	quick = fx_begin(&fx, &fx_user, "hello", 250);
	for (int i = 0; i < 300; i++) {
		struct fx_answer a;

		fx_step(&fx, 1);
		q = fx_next(&quick, n);
		q.u.next.has_wait_ms = true;
		fx_ask(&fx, &fx_user, &q, &a);
		n = (uint64_t)a.r.u.next.last;
		fx_answer_fini(&a);
	}
	ck_assert_uint_eq(n, 251);
	end = fx_read(&fx, &fx_user, &slow, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
	ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	ck_assert_uint_gt(strlen(text), 20); /* the earlier text is there */
	fx_check_empty(&fx);
}
END_TEST

/* A stream that gets full is not reported as complete, even if the engine has ended its generation by then. */
START_TEST(a_full_stream_is_not_complete)
{
	char text[8192];
	struct lmi_wire_id id;
	struct lmi_wire_item end;

	fx.o.limits.stream_bytes = 4096;
	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_user, "hello", 120);
	fx_step(&fx, 1);
	for (int i = 0; i < 200; i++)
		(void)lmi_engine_step(fx.svc->loaded_models->engine);
	fx_step(&fx, 1);
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
	ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	fx_check_empty(&fx);
}
END_TEST

/* ---- ends ---- */

/* A generation cancelled at any step, queued or running, ends within one step. */
START_TEST(cancel_within_one_step)
{
	char text[512];

	fx.o.limits.max_running = 2;
	fx_start(&fx);
	fx_load(&fx);
	for (int at = 0; at < 30; at++) {
		struct lmi_wire_id a = fx_begin(&fx, &fx_user, "hello", 200);
		struct lmi_wire_id b = fx_begin(&fx, &fx_user, "hello", 200);
		struct lmi_wire_id c = fx_begin(&fx, &fx_user, "waits", 2);
		struct lmi_wire_request q;
		struct lmi_wire_item end;
		uint64_t n_step;

		fx_step(&fx, at);
		n_step = fx_stats(&fx).n_step;
		lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
		q.u.cancel.id = at % 3 ? a : c;
		ck_assert(fx_call(&fx, &fx_user, &q));
		ck_assert(!fx.a.r.u.cancel.ended);
		fx_step(&fx, 1);
		/* a device with a queue may have had one more of them in it */
		ck_assert_uint_le(fx_stats(&fx).n_step, n_step + (fx_on_null() ? 1 : 2));
		end = fx_read(&fx, &fx_user, at % 3 ? &a : &c, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
		ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_ASKED);
		/* cancelling an ended stream removes it */
		ck_assert(fx_call(&fx, &fx_user, &q));
		ck_assert(fx.a.r.u.cancel.ended);
		ck_assert(!fx_call(&fx, &fx_user, &q));
		ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
		q.u.cancel.id = b;
		ck_assert(fx_call(&fx, &fx_user, &q));
		fx_settle(&fx);
		lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
		fx_settle(&fx);
		fx_check_empty(&fx);
		ck_assert_uint_eq(fx_stats(&fx).n_stream, 1); /* that of the load */
	}
}
END_TEST

START_TEST(a_connection_is_gone)
{
	struct lmi_svc_principal later = fx_user;
	struct lmi_wire_request q;
	struct fx_answer a, b, c;
	struct lmi_wire_id mine, moved, leased;

	later.conn = 9;
	fx_start(&fx);
	fx_load(&fx);
	mine = fx_begin(&fx, &fx_user, "hello", 200);
	moved = fx_begin(&fx, &fx_user, "hello", 200);
	q = fx_generate(&fx, "tiny", "hello", 200);
	q.u.generate.has_lease_ms = true;
	q.u.generate.lease_ms = 5000;
	ck_assert(fx_call(&fx, &fx_user, &q));
	leased = fx.a.r.u.generate.id;
	fx_step(&fx, 10);
	q = fx_next(&moved, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	q.u.next.after = fx.a.r.u.next.last;
	fx_ask(&fx, &fx_user, &q, &b);
	fx_ask(&fx, &later, &q, &c);
	q = fx_next(&mine, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	q.u.next.after = fx.a.r.u.next.last;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n + b.n + c.n, 0);
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_int_eq(a.err.status, LMD_CANCELLED);
	ck_assert_uint_eq(b.n, 1);
	ck_assert_int_eq(b.err.status, LMD_CANCELLED);
	ck_assert_uint_eq(c.n, 0);
	fx_step(&fx, 2);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 2);
	q = fx_next(&mine, 0);
	ck_assert(!fx_call(&fx, &later, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	q = fx_next(&leased, 0);
	ck_assert(fx_call(&fx, &later, &q));
	lmi_service_disconnected(fx.svc, fx.now, later.conn);
	ck_assert_uint_eq(c.n, 1);
	fx_answer_fini(&c);
	fx.now += 5001 * FX_MS; /* the lease expires */
	fx_step(&fx, 3);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(a_lease_ends)
{
	struct lmi_wire_id id;
	struct lmi_wire_item end;
	char text[512];

	fx.o.limits.lease_default = 1000;
	fx_start(&fx);
	id = begin_slow();
	fx_step(&fx, 3);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
	fx.now += 1000 * FX_MS;
	fx_turn(&fx);
	fx_turn(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 0);
	/* a late reader gets the reason */
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_LEASE);
	fx.now += 1000 * FX_MS;
	fx_turn(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_stream, 0);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(deadlines)
{
	struct lmi_wire_id run, wait;
	struct lmi_wire_item end;
	struct lmi_wire_request q;
	char text[512];

	fx.o.limits.max_running = 1;
	fx.o.limits.first_token_ms = 50;
	fx_start(&fx);
	fx_load(&fx);
	/* a queued generation does not time out while the one before it makes progress */
	q = fx_generate(&fx, "tiny", "hello", 200);
	q.u.generate.has_timeout_ms = true;
	q.u.generate.timeout_ms = 100;
	ck_assert(fx_call(&fx, &fx_user, &q));
	run = fx.a.r.u.generate.id;
	wait = fx_begin(&fx, &fx_user, "hello", 5);
	fx_step(&fx, 99);
	ck_assert_uint_eq(fx_stats(&fx).n_waiting, 1);
	fx_step(&fx, 10);
	ck_assert_uint_eq(fx_stats(&fx).n_waiting, 0);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 0);
	end = fx_read(&fx, &fx_user, &wait, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(end.u.done.n_out, 5);
	end = fx_read(&fx, &fx_user, &run, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(end.u.done.finish, LMI_WIRE_FINISH_DEADLINE);
	ck_assert_int_gt(end.u.done.n_out, 50);
	fx_check_empty(&fx);
}
END_TEST

/* A prompt whose prefill takes ten times the limit, step by step. */
START_TEST(a_long_prompt_gets_on)
{
	char prompt[201] = "", text[64];
	struct lmi_wire_id id;

	memset(prompt, 'a', sizeof(prompt) - 1);
	fx.o.limits.max_running = 1;
	fx.o.limits.first_token_ms = 5;
	fx.o.inst.n_batch = 4;
	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_user, prompt, 3);
	fx_step(&fx, 45);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
	ck_assert_uint_eq(fx_stats(&fx).n_out_tokens, 0);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 3);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(the_daemon_stops)
{
	struct lmi_wire_id id[3];
	struct lmi_wire_request q;
	char text[512];

	fx.o.limits.max_running = 2;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 3; i++)
		id[i] = fx_begin(&fx, &fx_user, "hello", 200);
	fx_step(&fx, 5);
	lmi_service_close(fx.svc);
	q = fx_generate(&fx, "tiny", "late", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_CANCELLED);
	ck_assert_str_eq(fx.a.err.text, "shutting down");
	ck_assert(!lmi_service_is_idle(fx.svc));
	lmi_service_stop(fx.svc, fx.now);
	fx_settle(&fx);
	for (int i = 0; i < 3; i++) {
		struct lmi_wire_item end = fx_read(&fx, &fx_user, &id[i], text, sizeof(text));

		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
		ck_assert_int_eq(end.u.done.finish, LMI_WIRE_FINISH_SHUTDOWN);
		ck_assert_int_eq(end.u.done.n_out > 0, i < 2);
	}
	ck_assert(lmi_service_is_idle(fx.svc));
	fx_check_empty(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("streams");
	TCase *t = tcase_create("streams");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, next_is_idempotent);
	tcase_add_loop_test(t, hold_rule, 0, 2);
	tcase_add_test(t, tokens_that_wait_wake_nobody);
	tcase_add_test(t, a_reply_that_is_nearly_full_is_waited_for);
	tcase_add_test(t, waiting_ends);
	tcase_add_test(t, a_slow_reader_costs_only_itself);
	tcase_add_test(t, a_full_stream_is_not_complete);
	tcase_add_test(t, cancel_within_one_step);
	tcase_add_test(t, a_connection_is_gone);
	tcase_add_test(t, a_lease_ends);
	tcase_add_test(t, deadlines);
	tcase_add_test(t, a_long_prompt_gets_on);
	tcase_add_test(t, the_daemon_stops);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
