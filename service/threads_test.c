/* SPDX-License-Identifier: MIT
 *
 * The service with real threads and descriptors: many clients, half of which disconnect early,
 * while models are reloaded.  Also run with the thread sanitizer. */
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init_threads(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static uint32_t n_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint32_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

START_TEST(many_clients)
{
	enum { N = 40 };
	struct lmi_svc_principal who[N];
	struct fx_answer a[N];
	struct lmi_wire_request q;
	char text[256], want[256];

	fx_start(&fx);
	for (uint32_t i = 0; i < N; i++) {
		who[i] = fx_user;
		who[i].conn = 100 + i;
		q = fx_generate(&fx, i % 3 ? "tiny" : "other", "hello", 60);
		fx_ask(&fx, &who[i], &q, &a[i]);
	}
	for (uint32_t i = 0; i < N; i++) {
		fx_wait(&fx, &a[i]);
		ck_assert_msg(!a[i].failed, "%s", a[i].err.text);
	}
	q = fx_on(&fx, LMI_WIRE_OP_RELOAD, "tiny");
	(void)fx_call(&fx, &fx_admin, &q);
	for (uint32_t i = 1; i < N; i += 2)
		lmi_service_disconnected(fx.svc, fx.now, who[i].conn);
	fx_expect("hello", 60, want);
	for (uint32_t i = 0; i < N; i += 2) {
		ck_assert_int_eq(
			fx_read(&fx, &who[i], &a[i].r.u.generate.id, text, sizeof(text)).kind,
			LMI_WIRE_ITEM_DONE);
		ck_assert_str_eq(text, want);
	}
	for (uint32_t i = 0; i < N; i++)
		fx_answer_fini(&a[i]);
	fx_settle(&fx);
}
END_TEST

/* A thousand connections, half of which end during a stream. */
START_TEST(connections_come_and_go)
{
	struct lmi_svc_principal who = fx_user;
	struct lmi_service_stats s;
	uint32_t n_fd = 0;
	char text[256];

	fx_start(&fx);
	for (uint64_t i = 0; i < 1000; i++) {
		struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", i % 2 ? 20 : 200);
		struct lmi_wire_id id;

		who.conn = 1000 + i;
		ck_assert_msg(fx_call(&fx, &who, &q), "%s", fx.a.err.text);
		id = fx.a.r.u.generate.id;
		if (i % 2) {
			(void)fx_read(&fx, &who, &id, text, sizeof(text));
		} else {
			q = fx_next(&id, 0);
			ck_assert(fx_call(&fx, &who, &q));
		}
		lmi_service_disconnected(fx.svc, fx.now, who.conn);
		if (!i)
			n_fd = n_descriptors();
	}
	fx_settle(&fx);
	s = fx_stats(&fx);
	ck_assert_uint_eq(s.n_stream, 0);
	ck_assert_uint_eq(s.n_parked, 0);
	ck_assert_uint_eq(s.n_page, s.n_page_free);
	ck_assert_uint_eq(n_descriptors(), n_fd);
}
END_TEST

/* Without work no watched descriptor is readable, so a loop sleeps. */
START_TEST(a_loop_that_sleeps)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 50);
	struct lmi_wire_id id;
	char text[256];

	fx_start(&fx);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	fx_settle(&fx);
	lmi_service_tick(fx.svc, fx.now);
	ck_assert_uint_eq(fx.n_fd, 1);
	for (uint32_t i = 0; i <= fx.n_fd; i++) {
		struct pollfd p = {.fd = i ? fx.fds[i - 1] : lmi_mailbox_fd(&fx.mailbox),
				   .events = POLLIN};

		ck_assert_int_eq(poll(&p, 1, 0), 0);
	}
}
END_TEST

/* Destroys the service while everything is running. */
START_TEST(destroyed_while_it_works)
{
	struct fx_answer a[8];
	struct lmi_wire_request q;

	fx_start(&fx);
	for (int i = 0; i < 8; i++) {
		q = fx_generate(&fx, i % 2 ? "tiny" : "other", "hello", 200);
		fx_ask(&fx, &fx_user, &q, &a[i]);
	}
	for (int i = 0; i < _i; i++)
		if (!i || fx_stats(&fx).n_running || fx_stats(&fx).n_waiting)
			fx_loop(&fx);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_eq(a[i].n, 1);
		fx_answer_fini(&a[i]);
	}
}
END_TEST

/* A step that hangs: generations that wait for their first token time out, running or queued. */
START_TEST(a_step_that_hangs)
{
	struct lmi_wire_id id[2];
	struct lmi_wire_item end;
	struct lmi_wire_request q;
	char text[64];

	setenv("LLAMAD_NULL_STEP_US", "60000000", 1);
	fx.o.limits.max_running = 1;
	fx.o.limits.first_token_ms = 200;
	fx_start(&fx);
	for (int i = 0; i < 2; i++) {
		q = fx_generate(&fx, "tiny", "hello", 5);
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		id[i] = fx.a.r.u.generate.id;
	}
	for (int i = 0; i < 2; i++) {
		end = fx_read(&fx, &fx_user, &id[i], text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
		ck_assert_int_eq(end.u.error.code, LMD_TIMEOUT);
		ck_assert_msg(strstr(end.u.error.text.ptr, "no progress for 200 ms before the "
							   "first token (limit first_token)") !=
				      NULL,
			      "%.*s", (int)end.u.error.text.len, end.u.error.text.ptr);
	}
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_failed, 2);
	unsetenv("LLAMAD_NULL_STEP_US");
}
END_TEST

/* 7 steps of 400 ms for a prompt, and a limit of 2 s. */
START_TEST(steps_that_take_time)
{
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	char text[64];

	setenv("LLAMAD_NULL_STEP_US", "400000", 1);
	fx.o.limits.max_running = 1;
	fx.o.limits.first_token_ms = 2000;
	fx.o.inst.n_batch = 4;
	fx_start(&fx);
	q = fx_generate(&fx, "tiny", "a prompt of 28 characters...", 2);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	fx_settle(&fx);
	unsetenv("LLAMAD_NULL_STEP_US");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("service threads");
	TCase *t = tcase_create("threads");

	tcase_set_timeout(t, 240);
	tcase_add_checked_fixture(t, setup, teardown);
	if (fx_on_null())
		tcase_add_test(t, many_clients);
	tcase_add_test(t, connections_come_and_go);
	tcase_add_test(t, a_loop_that_sleeps);
	if (fx_on_null())
		tcase_add_test(t, a_step_that_hangs);
	tcase_add_test(t, steps_that_take_time);
	tcase_add_loop_test(t, destroyed_while_it_works, 0, 12);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
