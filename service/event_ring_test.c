/* SPDX-License-Identifier: MIT
 *
 * Op events: what is reported, to whom, from which cursor on, and how a client waits. */
#include "service/event_ring.h"

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

static struct lmi_wire_request events(int64_t after, int64_t wait_ms)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_EVENTS);
	q.u.events.after = after;
	q.u.events.wait_ms = wait_ms;
	return q;
}

/* Returns the kinds of all events after the cursor that `who` sees, such as "load start end". */
static const char *kinds(const struct lmi_svc_principal *who, int64_t after)
{
	static char text[4096];
	struct lmi_wire_request q = events(after, 0);
	size_t n = 0;

	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	text[0] = 0;
	for (uint32_t i = 0; i < fx.a.r.u.events.n_events; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "",
				      lmi_wire_word(&lmi_wire_words_event_kind,
						    (int)fx.a.r.u.events.events[i].kind));
	return text;
}

static struct lmi_wire_id run(const struct lmi_svc_principal *who, const char *prompt, int64_t n)
{
	struct lmi_wire_id id = fx_begin(&fx, who, prompt, n);
	char text[256];

	ck_assert_int_eq(fx_read(&fx, who, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	return id;
}

START_TEST(a_generation)
{
	const struct lmi_wire_server_event *e;
	struct lmi_wire_id id;

	fx_start(&fx);
	ck_assert_str_eq(kinds(&fx_admin, 0), "");
	ck_assert_int_eq(fx.a.r.u.events.last, 0);
	id = run(&fx_user, "abc", 5);
	ck_assert_str_eq(kinds(&fx_admin, 0), "load start end");
	ck_assert_int_eq(fx.a.r.u.events.last, 3);
	e = &fx.a.r.u.events.events[1];
	ck_assert_int_eq(e->n, 2);
	ck_assert_int_eq(e->n_prompt, 3);
	ck_assert(e->has_id && !memcmp(&e->id, &id, sizeof(id)));
	ck_assert(!strncmp(e->principal.ptr, "uid:1000", 8));
	e = &fx.a.r.u.events.events[2];
	ck_assert_int_eq(e->n_out, 5);
	ck_assert(!strncmp(e->text.ptr, "length", 6));
	ck_assert(!strncmp(e->model.ptr, "tiny", 4));
	ck_assert_str_eq(kinds(&fx_admin, 2), "end");
	ck_assert_str_eq(kinds(&fx_admin, 3), "");
	(void)fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	ck_assert_str_eq(kinds(&fx_admin, 3), "unload");
}
END_TEST

START_TEST(who_sees_what)
{
	fx_start(&fx);
	(void)run(&fx_user, "abc", 2);
	(void)run(&fx_other, "abd", 2);
	ck_assert_str_eq(kinds(&fx_admin, 0), "load start end start end");
	ck_assert_str_eq(kinds(&fx_user, 0), "load start end");
	ck_assert_int_eq(fx.a.r.u.events.last, 5); /* past what it may not see */
	ck_assert_str_eq(kinds(&fx_other, 1), "start end");
	ck_assert_int_eq(fx.a.r.u.events.events[0].n, 4);
}
END_TEST

START_TEST(queue_and_eviction)
{
	struct lmi_wire_id first, second;
	struct lmi_wire_request q;
	char text[256];

	fx.o.limits.max_running = 1;
	fx.o.limits.models = 1;
	fx_start(&fx);
	fx_load(&fx);
	first = fx_begin(&fx, &fx_user, "abc", 20);
	fx_step(&fx, 3);
	second = fx_begin(&fx, &fx_user, "abd", 2);
	fx_step(&fx, 1);
	ck_assert_str_eq(kinds(&fx_admin, 0), "load start queue");
	ck_assert_int_eq(fx.a.r.u.events.events[2].position, 0);
	(void)fx_read(&fx, &fx_user, &first, text, sizeof(text));
	(void)fx_read(&fx, &fx_user, &second, text, sizeof(text));
	q = fx_generate(&fx, "other", "abc", 2);
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	(void)fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, text, sizeof(text));
	ck_assert_str_eq(kinds(&fx_admin, 3), "end start end evict unload load start end");
	ck_assert(!strncmp(fx.a.r.u.events.events[3].model.ptr, "tiny", 4));
	ck_assert(!strncmp(fx.a.r.u.events.events[3].text.ptr, "other", 5));
	ck_assert_str_eq(kinds(&fx_user, 6), "evict unload load start end");
	ck_assert_uint_eq(fx.a.r.u.events.events[0].text.len, 0); /* the name of another model */
}
END_TEST

START_TEST(a_client_waits)
{
	struct lmi_wire_request q = events(0, 5000);
	struct fx_answer waiting = {0};

	fx_start(&fx);
	fx_ask(&fx, &fx_admin, &q, &waiting);
	fx_turn(&fx);
	ck_assert_uint_eq(waiting.n, 0);
	fx_load(&fx);
	fx_turn(&fx);
	ck_assert_uint_eq(waiting.n, 1);
	ck_assert_uint_eq(waiting.r.u.events.n_events, 1);
	ck_assert_int_eq(waiting.r.u.events.last, 1);
	fx_answer_fini(&waiting);
	/* nothing happens */
	memset(&waiting, 0, sizeof(waiting));
	q = events(1, 5000);
	fx_ask(&fx, &fx_admin, &q, &waiting);
	ck_assert_uint_le(lmi_service_deadline(fx.svc), fx.now + 5000 * FX_MS);
	fx.now += 4999 * FX_MS;
	fx_turn(&fx);
	ck_assert_uint_eq(waiting.n, 0);
	fx.now += 2 * FX_MS;
	fx_turn(&fx);
	ck_assert_uint_eq(waiting.n, 1);
	ck_assert(!waiting.failed);
	ck_assert_uint_eq(waiting.r.u.events.n_events, 0);
	ck_assert_int_eq(waiting.r.u.events.last, 1);
	fx_answer_fini(&waiting);
	/* the client leaves */
	memset(&waiting, 0, sizeof(waiting));
	q = events(1, 5000);
	fx_ask(&fx, &fx_admin, &q, &waiting);
	lmi_service_disconnected(fx.svc, fx.now, fx_admin.conn);
	fx_turn(&fx);
	ck_assert(waiting.failed);
	fx_check_empty(&fx);
	fx_answer_fini(&waiting);
	/* a cursor of an earlier run of the daemon */
	q = events(99, 0);
	ck_assert(!fx_call(&fx, &fx_admin, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "begin at 0"));
	/* the daemon is being stopped */
	memset(&waiting, 0, sizeof(waiting));
	q = events(1, 5000);
	fx_ask(&fx, &fx_admin, &q, &waiting);
	fx_turn(&fx);
	lmi_service_close(fx.svc);
	fx_turn(&fx);
	ck_assert_uint_eq(waiting.n, 0);
	ck_assert(lmi_service_is_idle(fx.svc)); /* it does not wait for those that wait */
	lmi_service_stop(fx.svc, fx.now);
	fx_turn(&fx);
	ck_assert(waiting.n == 1 && waiting.failed);
	fx_check_empty(&fx);
	fx_answer_fini(&waiting);
}
END_TEST

START_TEST(more_than_are_kept)
{
	struct lmi_wire_request q = events(0, 0);

	fx_start(&fx);
	for (uint32_t i = 0; i < LMI_SVC_EVENTS + 10; i++)
		lmi_svc_event_ring_model(fx.svc, LMI_WIRE_EVENT_KIND_LOAD, "m", NULL);
	q.u.events.max = 100;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_int_eq(fx.a.r.u.events.lost, 10);
	ck_assert_uint_eq(fx.a.r.u.events.n_events, 100);
	ck_assert_int_eq(fx.a.r.u.events.events[0].n, 11);
	ck_assert_int_eq(fx.a.r.u.events.last, 110);
	q.u.events.max = 4096;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.events.n_events, LMI_SVC_EVENTS);
	ck_assert_int_eq(fx.a.r.u.events.last, LMI_SVC_EVENTS + 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("events");
	TCase *t = tcase_create("events");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_generation);
	tcase_add_test(t, who_sees_what);
	tcase_add_test(t, queue_and_eviction);
	tcase_add_test(t, a_client_waits);
	tcase_add_test(t, more_than_are_kept);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
