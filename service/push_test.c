/* SPDX-License-Identifier: MIT
 *
 * Generations whose items are pushed to a subscriber. */
#include "service/push.h"

#include <string.h>

#include "core/base/clock.h"
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

/* A subscriber that records everything, and can take only `room` items. */
struct taker {
	struct lmi_svc_push push;
	uint64_t room;
	uint32_t n_begun, n_end, n_call;
	uint64_t n; /* items, without the final one */
	char text[8192];
	size_t n_text;
	struct lmi_wire_item last;
	struct lmd_error err;
	int64_t seed;
};

static void begun(void *arg, const struct lmi_wire_reply *reply)
{
	struct taker *t = arg;

	ck_assert_uint_eq(t->n_begun++ + t->n, 0);
	ck_assert_int_eq(reply->op, LMI_WIRE_OP_GENERATE);
	t->seed = reply->u.generate.seed;
}

static bool items(void *arg, const struct lmi_wire_item *v, uint32_t n)
{
	struct taker *t = arg;

	ck_assert_uint_eq(t->n_begun, 1);
	ck_assert_uint_eq(t->n_end, 0);
	ck_assert_uint_gt(n, 0);
	t->n_call++;
	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_str *s = v[i].kind == LMI_WIRE_ITEM_TOKEN ? &v[i].u.token.text
									   : &v[i].u.text.text;

		ck_assert(!lmi_wire_item_final(v[i].kind));
		ck_assert_uint_eq((uint64_t)v[i].n, ++t->n);
		ck_assert_uint_lt(t->n_text + s->len, sizeof(t->text));
		memcpy(t->text + t->n_text, s->ptr, s->len);
		t->n_text += s->len;
		t->text[t->n_text] = 0;
	}
	return t->n < t->room;
}

static void end(void *arg, const struct lmi_wire_item *item, const struct lmd_error *err,
		uint32_t retry_ms)
{
	struct taker *t = arg;

	(void)retry_ms;
	ck_assert_uint_eq(t->n_end++, 0);
	ck_assert(!item != !err);
	if (item) {
		ck_assert(lmi_wire_item_final(item->kind));
		ck_assert_uint_eq((uint64_t)item->n, t->n + 1);
		t->last = *item;
	} else {
		t->err = *err;
	}
}

static const struct lmi_svc_push_ops ops = {.begun = begun, .items = items, .end = end};

/* Begins a generation without a request id, as the callers of this interface do. */
static void begin(struct taker *t, const char *model, const char *prompt, int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, model, prompt, n);

	*t = (struct taker){.push = {.ops = &ops, .arg = t}, .room = UINT64_MAX};
	q.rid = (struct lmd_str){0};
	lmi_service_push(fx.svc, fx.now, &fx_user, &q, &t->push);
}

static void run(const struct taker *t)
{
	for (int i = 0; i < 100000 && !t->n_end; i++) {
		(void)fx_job(&fx);
		fx_step(&fx, 1);
	}
	ck_assert_uint_eq(t->n_end, 1);
}

START_TEST(pull_and_push_give_the_same_items)
{
	char text[512];
	struct taker t;
	struct lmi_wire_id id;
	struct lmi_wire_item last;

	fx_start(&fx);
	begin(&t, "tiny", "hello", 90);
	run(&t);
	id = fx_begin(&fx, &fx_user, "hello", 90);
	last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_str_eq(t.text, text);
	ck_assert_uint_eq(t.n, 90);
	ck_assert_int_eq(last.n, t.last.n);
	ck_assert_int_eq(t.last.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(last.u.done.finish, t.last.u.done.finish);
	ck_assert_int_eq(last.u.done.n_out, t.last.u.done.n_out);
	ck_assert_int_eq(last.u.done.n_prompt, t.last.u.done.n_prompt);
	fx_check_empty(&fx);
}
END_TEST

/* The stream of a subscriber is freed after its end, without a lease. */
START_TEST(nothing_stays_after_the_end)
{
	struct taker t;
	uint32_t n;

	fx_start(&fx);
	fx_load(&fx);
	n = fx_stats(&fx).n_stream;
	for (int i = 0; i < 50; i++) {
		begin(&t, "tiny", "hello", 3);
		run(&t);
		fx_step(&fx, 1);
		ck_assert_uint_eq(fx_stats(&fx).n_stream, n);
	}
	fx_check_empty(&fx);
}
END_TEST

START_TEST(a_request_that_fails)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_PING, NULL);
	struct taker t;

	fx_start(&fx);
	begin(&t, "no-such-model", "hello", 3);
	run(&t);
	ck_assert_uint_eq(t.n_begun, 0);
	ck_assert_int_eq(t.err.status, LMD_NOTFOUND);
	begin(&t, "tiny", "hello", 3);
	lmi_service_push_stop(fx.svc, fx.now, &t.push);
	begin(&t, "tiny", "hello", -7); /* not a valid request */
	ck_assert_uint_eq(t.n_end, 1);
	ck_assert_int_eq(t.err.status, LMD_INVALID);
	t = (struct taker){.push = {.ops = &ops, .arg = &t}};
	lmi_service_push(fx.svc, fx.now, &fx_user, &q, &t.push);
	ck_assert_uint_eq(t.n_end, 1);
	ck_assert_int_eq(t.err.status, LMD_UNSUPPORTED);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* Items are held back as those of op next are. */
START_TEST(hold)
{
	struct lmi_wire_request q;
	struct taker t = {.push = {.ops = &ops, .arg = &t, .hold_ms = 25}, .room = UINT64_MAX};

	fx_start(&fx);
	fx_load(&fx);
	q = fx_generate(&fx, "tiny", "hello", 200);
	lmi_service_push(fx.svc, fx.now, &fx_user, &q, &t.push);
	for (int i = 0; i < 100 && !t.n; i++) {
		(void)fx_job(&fx);
		fx_step(&fx, 1);
	}
	ck_assert_uint_eq(t.n, 1); /* the first token is not held back */
	fx_step(&fx, 25);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_le(lmi_service_deadline(fx.svc), fx.now);
	fx_step(&fx, 1);
	ck_assert_uint_eq(t.n, 27);
	ck_assert_uint_eq(t.n_call, 2);
	lmi_service_push_stop(fx.svc, fx.now, &t.push);
	fx_settle(&fx);
}
END_TEST

START_TEST(pause_and_resume)
{
	char want[256];
	struct taker t;

	fx_start(&fx);
	fx_load(&fx);
	begin(&t, "tiny", "hello", 60);
	t.room = 5;
	fx_step(&fx, 100); /* the generation ends meanwhile */
	ck_assert_uint_eq(t.n, 5);
	ck_assert_uint_eq(t.n_end, 0);
	t.room = 6;
	lmi_service_push_resume(fx.svc, fx.now, &t.push);
	ck_assert_uint_ge(t.n, 6);
	ck_assert_uint_eq(t.n_end, 0);
	t.room = UINT64_MAX;
	lmi_service_push_resume(fx.svc, fx.now, &t.push);
	ck_assert_uint_eq(t.n_end, 1);
	lmi_service_push_resume(fx.svc, fx.now, &t.push); /* nothing happens */
	lmi_service_push_stop(fx.svc, fx.now, &t.push);
	fx_expect("hello", 60, want);
	ck_assert_str_eq(t.text, want);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(a_subscriber_that_takes_nothing_costs_only_itself)
{
	struct taker slow, quick;

	fx.o.limits.stream_bytes = 4096;
	fx_start(&fx);
	fx_load(&fx);
	begin(&slow, "tiny", "hello", 250);
	begin(&quick, "tiny", "hello", 250);
	slow.room = 1;
	run(&quick);
	ck_assert_uint_eq(quick.n, 250);
	ck_assert_uint_eq(slow.n_end, 0);
	slow.room = UINT64_MAX;
	lmi_service_push_resume(fx.svc, fx.now, &slow.push);
	ck_assert_uint_eq(slow.n_end, 1);
	ck_assert_int_eq(slow.last.kind, LMI_WIRE_ITEM_CANCELLED);
	ck_assert_int_eq(slow.last.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* Stopping at any moment ends the generation within one step; no function is called after it. */
START_TEST(stop_within_one_step)
{
	struct taker t, other;

	fx.o.limits.max_running = 1;
	fx_start(&fx);
	fx_load(&fx);
	for (int at = 0; at < 30; at++) {
		struct taker *who = at % 3 ? &t : &other;
		uint64_t n_step, n;
		uint32_t n_stream = fx_stats(&fx).n_stream;

		begin(&t, "tiny", "hello", 200);
		begin(&other, "tiny", "hello", 200); /* queued */
		for (int i = 0; i < at; i++) {
			(void)fx_job(&fx);
			fx_step(&fx, 1);
		}
		n = who->n;
		n_step = fx_stats(&fx).n_step;
		lmi_service_push_stop(fx.svc, fx.now, &who->push);
		memset(&who->push, 0xAA, sizeof(who->push)); /* the caller may free it */
		fx_step(&fx, 1);
		/* a device with a queue may have had one more of them in it */
		ck_assert_uint_le(fx_stats(&fx).n_step, n_step + (fx_on_null() ? 1 : 2));
		ck_assert_uint_eq(who->n, n);
		ck_assert_uint_eq(who->n_end, 0);
		who = who == &t ? &other : &t;
		lmi_service_push_stop(fx.svc, fx.now, &who->push);
		fx_settle(&fx);
		fx_check_empty(&fx);
		ck_assert_uint_eq(fx_stats(&fx).n_stream, n_stream);
	}
}
END_TEST

/* Each subscription ends with exactly one call when the service is destroyed or its connection
 * ends. */
START_TEST(the_end_of_the_service)
{
	struct taker t[3];

	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 3; i++)
		begin(&t[i], "tiny", "hello", 200);
	t[1].room = 1;
	fx_step(&fx, 10);
	if (_i)
		lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(t[i].n_end, 1);
}
END_TEST

/* Nobody else can take the items of a subscriber. */
START_TEST(a_reader_of_a_pushed_stream)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	struct taker t;

	fx_start(&fx);
	fx_load(&fx);
	begin(&t, "tiny", "hello", 200);
	t.room = 1;
	for (int i = 0; i < 10; i++) {
		(void)fx_job(&fx);
		fx_step(&fx, 1);
	}
	memcpy(id.b, fx.svc->streams.last->id, sizeof(id.b));
	q = fx_next(&id, 0);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	/* but its owner may cancel it */
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert(fx_call(&fx, &fx_user, &q));
	fx_settle(&fx);
	ck_assert_uint_eq(t.n_end, 0); /* paused */
	ck_assert(fx_call(&fx, &fx_user, &q)); /* the second time removes the stream */
	ck_assert_uint_eq(t.n_end, 1);
	fx_check_empty(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("push");
	TCase *t = tcase_create("push");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, pull_and_push_give_the_same_items);
	tcase_add_test(t, nothing_stays_after_the_end);
	tcase_add_test(t, a_request_that_fails);
	tcase_add_test(t, hold);
	tcase_add_test(t, pause_and_resume);
	tcase_add_test(t, a_subscriber_that_takes_nothing_costs_only_itself);
	tcase_add_test(t, stop_within_one_step);
	tcase_add_loop_test(t, the_end_of_the_service, 0, 2);
	tcase_add_test(t, a_reader_of_a_pushed_stream);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
