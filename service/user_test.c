/* SPDX-License-Identifier: MIT
 *
 * The caps of a user: running and queued generations, pending requests, streams, bytes. */
#include <stdio.h>
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

/* ---- queue ---- */

START_TEST(sessions_and_queue)
{
	struct lmi_wire_id id[160];
	struct lmi_wire_request q;
	char text[64];

	fx.o.limits.streams = 1000;
	fx.o.limits.first_token_ms = 1000000;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 160; i++) {
		id[i] = fx_begin(&fx, &fx_admin, "hello", 12);
		ck_assert_uint_eq(fx_stats(&fx).n_running, i < 32 ? (unsigned)i + 1 : 32);
		ck_assert_uint_eq(fx_stats(&fx).n_waiting, i < 32 ? 0 : (unsigned)i - 31);
	}
	q = fx_generate(&fx, "tiny", "too much", 1);
	ck_assert(!fx_call(&fx, &fx_admin, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_uint_ge(fx.a.retry_ms, 100);
	/* in order of arrival: a later one never ends first */
	for (int i = 0; i < 160; i++)
		ck_assert_int_eq(fx_read(&fx, &fx_admin, &id[i], text, sizeof(text)).u.done.n_out,
				 12);
	fx_check_empty(&fx);
	ck_assert(fx_call(&fx, &fx_admin, &q)); /* failed requests left no trace */
}
END_TEST

/* Requests that wait for a job count; those of one user leave room for others. */
START_TEST(pending_requests_of_one_user)
{
	struct lmi_wire_request q;
	struct fx_answer a[4];

	fx.o.limits.calls_per_user = 3;
	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	for (int i = 0; i < 3; i++) {
		fx_ask(&fx, &fx_user, &q, &a[i]);
		ck_assert_uint_eq(a[i].n, 0);
	}
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, "(calls_per_user)") != NULL, "%s", fx.a.err.text);
	fx_ask(&fx, &fx_other, &q, &a[3]);
	for (int i = 0; i < 4; i++) {
		fx_wait(&fx, &a[i]);
		ck_assert(!a[i].failed);
		fx_answer_fini(&a[i]);
	}
	ck_assert(fx_call(&fx, &fx_user, &q));
}
END_TEST

/* One user cannot take all places; another one, and an administrator, always find some. */
START_TEST(places_of_one_user)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id[121];
	struct fx_answer a;

	fx.o.limits.streams = 1000;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 24 + 96; i++)
		id[i] = fx_begin(&fx, &fx_user, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 24);
	q = fx_generate(&fx, "tiny", "too much", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "the maximum of one user is 120"));
	ck_assert_uint_ge(fx.a.retry_ms, 100);
	for (int i = 0; i < 6; i++) /* all places but the two of administrators */
		(void)fx_begin(&fx, &fx_other, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 30);
	(void)fx_begin(&fx, &fx_other, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 30);
	(void)fx_begin(&fx, &fx_admin, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 31);
	/* an administrator sees every stream and can end it; other users cannot */
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	fx_ask(&fx, &fx_admin, &q, &a);
	ck_assert_uint_ge(a.r.u.streams.n_streams, 128);
	fx_answer_fini(&a);
	q = fx_on(&fx, LMI_WIRE_OP_CANCEL, NULL);
	q.u.cancel.id = id[0];
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert(fx_call(&fx, &fx_admin, &q));
}
END_TEST

/* A stream that was cancelled holds no place that its owner needs. */
START_TEST(cancelled_streams_are_forgotten)
{
	struct lmi_wire_request q = {0};
	struct lmi_wire_id id;

	fx.o.limits.streams = 4;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 20; i++) {
		id = fx_begin(&fx, &fx_user, "hello", 1000);
		q = fx_on(&fx, LMI_WIRE_OP_CANCEL, NULL);
		q.u.cancel.id = id;
		ck_assert(fx_call(&fx, &fx_user, &q));
		fx_step(&fx, 2);
	}
}
END_TEST

/* The bytes of pending requests are bounded for each user. */
START_TEST(bytes_of_one_user)
{
	struct lmi_wire_request q;
	struct fx_answer a[4], other;

	fx.o.limits.bytes_per_user = 2 * FX_LONG_TEXT + FX_LONG_TEXT / 2;
	fx_start(&fx);
	fx_load(&fx);
	q = fx_tokenize_long(&fx);
	for (int i = 0; i < 3; i++)
		fx_ask(&fx, &fx_user, &q, &a[i]);
	ck_assert_int_eq(a[2].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[2].err.text, "bytes_per_user"));
	ck_assert_uint_ge(a[2].retry_ms, 100);
	fx_ask(&fx, &fx_other, &q, &other);
	fx_wait(&fx, &other);
	ck_assert(!other.failed);
	fx_wait(&fx, &a[0]);
	fx_wait(&fx, &a[1]);
	fx_ask(&fx, &fx_user, &q, &a[3]); /* there is room again */
	fx_wait(&fx, &a[3]);
	ck_assert(!a[3].failed);
	for (int i = 0; i < 4; i++)
		fx_answer_fini(&a[i]);
	fx_answer_fini(&other);
}
END_TEST

/* The bytes of a generation's request count as well. */
START_TEST(bytes_of_generations)
{
	static char prompt[4000];
	struct lmi_wire_request q;
	struct fx_answer a[2];

	memset(prompt, 'a', sizeof(prompt) - 1);
	fx.o.limits.bytes_per_user = sizeof(prompt) + sizeof(prompt) / 2;
	fx_start(&fx);
	fx_load(&fx);
	q = fx_generate(&fx, "tiny", prompt, 5);
	/* a job, so that the request is kept until it has run */
	q.u.generate.has_grammar = true;
	q.u.generate.grammar = (struct lmd_str){"root ::= \"a\"", 12};
	fx_ask(&fx, &fx_user, &q, &a[0]);
	q.rid = (struct lmd_str){"another", 7};
	fx_ask(&fx, &fx_user, &q, &a[1]);
	ck_assert_int_eq(a[1].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[1].err.text, "bytes_per_user"));
	ck_assert_uint_ge(a[1].retry_ms, 100);
	fx_wait(&fx, &a[0]);
	fx_answer_fini(&a[0]);
	fx_answer_fini(&a[1]);
}
END_TEST

/* The bytes of all users together are bounded, and some are kept for administrators. */
START_TEST(bytes_of_all_users)
{
	static char text[1 << 16];
	struct lmi_wire_request q;
	struct fx_answer a[3];

	memset(text, 'a', sizeof(text));
	fx.o.limits.buffer_bytes = 2 * sizeof(text) + sizeof(text) / 10;
	fx.o.limits.stream_bytes = 4096;
	fx_start(&fx);
	fx_load(&fx);
	q = fx_tokenize_long(&fx);
	q.u.tokenize.text = (struct lmd_str){text, sizeof(text)};
	fx_ask(&fx, &fx_user, &q, &a[0]);
	fx_ask(&fx, &fx_other, &q, &a[1]);
	ck_assert_int_eq(a[1].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[1].err.text, "buffer_bytes"));
	ck_assert_uint_ge(a[1].retry_ms, 100);
	fx_ask(&fx, &fx_admin, &q, &a[2]);
	fx_wait(&fx, &a[0]);
	fx_wait(&fx, &a[2]);
	ck_assert(!a[0].failed && !a[2].failed);
	fx_answer_fini(&a[1]);
	fx_ask(&fx, &fx_other, &q, &a[1]); /* there is room again */
	fx_wait(&fx, &a[1]);
	ck_assert(!a[1].failed);
	for (int i = 0; i < 3; i++)
		fx_answer_fini(&a[i]);
}
END_TEST

/* One user's readers of streams do not take all places of pending requests. */
START_TEST(readers_of_one_user)
{
	struct fx_answer a[13], other, admin;
	struct lmi_wire_request q;
	struct lmi_wire_id id, id2;

	fx.o.limits.calls = 16;
	fx_start(&fx);
	fx_load(&fx);
	id2 = fx_begin(&fx, &fx_other, "hello", 1000);
	for (int i = 0; i < 13; i++) {
		id = fx_begin(&fx, &fx_user, "hello", 1000);
		q = fx_next(&id, 0);
		q.u.next.has_wait_ms = true;
		q.u.next.wait_ms = 60000;
		q.u.next.has_hold_ms = true;
		q.u.next.hold_ms = 1000;
		fx_ask(&fx, &fx_user, &q, &a[i]);
	}
	ck_assert_int_eq(a[12].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[12].err.text, "calls_per_user"));
	q = fx_next(&id2, 0);
	fx_ask(&fx, &fx_other, &q, &other);
	ck_assert(other.err.status != LMD_BUSY);
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	fx_ask(&fx, &fx_admin, &q, &admin);
	ck_assert(!admin.failed);
	for (int i = 0; i < 12; i++)
		fx_wait(&fx, &a[i]);
	fx_wait(&fx, &other);
	for (int i = 0; i < 13; i++)
		fx_answer_fini(&a[i]);
	fx_answer_fini(&other);
	fx_answer_fini(&admin);
}
END_TEST

/* Errors of users do not count as failures of the daemon. */
START_TEST(errors_of_users_are_counted_apart)
{
	struct lmi_service_stats s;
	struct lmi_wire_request q;
	char prompt[301] = "";

	memset(prompt, 'a', sizeof(prompt) - 1);
	fx_start(&fx);
	fx_load(&fx);
	q = fx_generate(&fx, "nothere", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	q = fx_generate(&fx, "tiny", prompt, 5); /* the context has 256 */
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	s = fx_stats(&fx);
	ck_assert_uint_eq(s.n_request, 2);
	ck_assert_uint_eq(s.n_failed, 0);
	ck_assert_uint_eq(s.n_invalid, 2);
	fx_check_empty(&fx);
}
END_TEST

/* ---- streams ---- */

/* An administrator sees the streams of a user who has too many, and can end one. */
START_TEST(streams_of_one_user)
{
	struct lmi_wire_request generate, q;
	struct lmi_wire_id id;

	fx.o.limits.streams = 3;
	fx_start(&fx);
	fx_load(&fx);
	generate = fx_generate(&fx, "tiny", "hello", 1000);
	id = fx_begin(&fx, &fx_user, "hello", 1000);
	for (int i = 1; i < 3; i++)
		(void)fx_begin(&fx, &fx_user, "hello", 1000);
	ck_assert(!fx_call(&fx, &fx_user, &generate));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, "you have 3, the maximum is 3") != NULL, "%s",
		      fx.a.err.text);
	ck_assert_uint_gt(fx.a.retry_ms, 0);
	(void)fx_begin(&fx, &fx_other, "hello", 1000);
	/* an administrator may have four times as many */
	for (int i = 0; i < 4 * 3; i++)
		(void)fx_begin(&fx, &fx_admin, "hello", 1000);
	ck_assert(!fx_call(&fx, &fx_admin, &generate));
	ck_assert_msg(strstr(fx.a.err.text, "you have 12, the maximum is 12") != NULL, "%s",
		      fx.a.err.text);
	ck_assert_uint_ge(fx.svc->held.n_stream, 16);
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.streams.n_streams, fx.svc->held.n_stream);
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	fx_settle(&fx);
	(void)fx_begin(&fx, &fx_user, "hello", 1000);
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	fx_settle(&fx);
	lmi_service_disconnected(fx.svc, fx.now, fx_other.conn);
	lmi_service_disconnected(fx.svc, fx.now, fx_admin.conn);
	fx_settle(&fx);
	ck_assert_uint_eq(fx.svc->held.n_stream, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("user");
	TCase *t = tcase_create("user");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, sessions_and_queue);
	tcase_add_test(t, pending_requests_of_one_user);
	tcase_add_test(t, places_of_one_user);
	tcase_add_test(t, cancelled_streams_are_forgotten);
	tcase_add_test(t, bytes_of_one_user);
	tcase_add_test(t, bytes_of_generations);
	tcase_add_test(t, bytes_of_all_users);
	tcase_add_test(t, readers_of_one_user);
	tcase_add_test(t, errors_of_users_are_counted_apart);
	tcase_add_test(t, streams_of_one_user);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
