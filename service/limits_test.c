/* SPDX-License-Identifier: MIT
 *
 * Limits just below and just above the bound: those whose default is part of what clients can rely on, at the
 * default, and those that no other test has.  docs/testing.md lists the tests of all limits. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/limits.h"
#include "service/pictures.h"
#include "service/service_state.h"
#include "tests/service_fixture.h"
#include "tests/tiny_tower.h"

#define SECOND (1000 * FX_MS)

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* ---- time ---- */

/* Reads what is there; returns whether the stream has ended, with its last item. */
static bool has_ended(const struct lmi_wire_id *id, uint64_t *after, struct lmi_wire_item *last)
{
	struct lmi_wire_request q = fx_next(id, *after);

	q.u.next.has_wait_ms = true;
	q.u.next.wait_ms = 0;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	*after = (uint64_t)fx.a.r.u.next.last;
	if (fx.a.r.u.next.n_items)
		*last = fx.a.r.u.next.items[fx.a.r.u.next.n_items - 1];
	return fx.a.r.u.next.end;
}

/* A request that sets no deadline has ten minutes, also while its tokens are read. */
START_TEST(deadline)
{
	struct lmi_wire_item last = {0};
	struct lmi_wire_request q;
	uint64_t begin, after = 0;
	struct lmi_wire_id id;

	fx_start(&fx);
	fx_load(&fx);
	q = fx_generate(&fx, "tiny", "hello", 200);
	q.u.generate.has_lease_ms = true;
	q.u.generate.lease_ms = 600000;
	begin = fx.now;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.generate.id;
	fx_step(&fx, 5);
	ck_assert(!has_ended(&id, &after, &last));
	ck_assert_uint_gt(after, 0);
	fx.now = begin + 300 * SECOND;
	ck_assert(!has_ended(&id, &after, &last));
	fx.now = begin + 600 * SECOND - FX_MS;
	fx_step(&fx, 1);
	ck_assert(!has_ended(&id, &after, &last));
	fx.now = begin + 600 * SECOND;
	fx_step(&fx, 2);
	ck_assert(has_ended(&id, &after, &last));
	ck_assert_int_eq(last.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(last.u.done.finish, LMI_WIRE_FINISH_DEADLINE);
	fx_check_empty(&fx);
}
END_TEST

/* A reader that does not say how long it waits is answered after wait_default, another one after wait_max at the
 * latest. */
START_TEST(waiting_of_readers)
{
	struct fx_answer a;

	fx.o.limits.max_running = 1;
	fx.o.limits.wait_max = 20000;
	fx_start(&fx);
	fx_load(&fx);
	for (int asks = 0; asks < 2; asks++) {
		struct lmi_wire_id id;
		struct lmi_wire_request q;
		const uint64_t ms = asks ? 20000 : 5000;
		uint64_t begin;

		(void)fx_begin(&fx, &fx_user, "hello", 200);
		id = fx_begin(&fx, &fx_user, "waits", 5);
		q = fx_next(&id, 0);
		q.u.next.has_wait_ms = asks;
		q.u.next.wait_ms = 60000;
		begin = fx.now;
		fx_ask(&fx, &fx_user, &q, &a);
		fx.now = begin + ms * FX_MS - 1;
		fx_turn(&fx);
		ck_assert_uint_eq(a.n, 0);
		fx.now = begin + ms * FX_MS;
		fx_turn(&fx);
		ck_assert_uint_eq(a.n, 1);
		ck_assert(!a.failed && !a.r.u.next.n_items && !a.r.u.next.end);
		fx_answer_fini(&a);
		lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
		fx_settle(&fx);
	}
}
END_TEST

/* Tokens are held back for hold_max at the longest, and a reply has `items` at the most. */
START_TEST(replies)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	struct fx_answer a;

	fx.o.limits.hold_max = 20;
	fx.o.limits.items = 30;
	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_user, "hello", 200);
	fx_step(&fx, 3);
	q = fx_next(&id, 0);
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	q = fx_next(&id, (uint64_t)a.r.u.next.last);
	fx_answer_fini(&a);
	q.u.next.has_hold_ms = true;
	q.u.next.hold_ms = 1000;
	fx_ask(&fx, &fx_user, &q, &a);
	fx_step(&fx, 20);
	ck_assert_uint_eq(a.n, 0);
	fx_step(&fx, 1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 21);
	q.u.next.after = a.r.u.next.last;
	fx_answer_fini(&a);
	fx_step(&fx, 29);
	q.u.next.max = 4096;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 29);
	fx_answer_fini(&a);
	fx_step(&fx, 5);
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 30);
	fx_answer_fini(&a);
}
END_TEST

/* ---- numbers ---- */

/* A request id is found again until `rids` others came after it. */
START_TEST(request_ids)
{
	struct lmi_wire_request first;
	struct lmi_wire_id id;

	fx.o.limits.rids = 16;
	fx_start(&fx);
	fx_load(&fx);
	first = fx_generate(&fx, "tiny", "hello", 1);
	for (int others = 14; others <= 15; others++) {
		struct lmi_wire_request again = first;
		struct lmi_wire_id other;

		first.rid.ptr = others == 14 ? "first" : "second";
		first.rid.len = strlen(first.rid.ptr);
		again.rid = first.rid;
		ck_assert_msg(fx_call(&fx, &fx_user, &first), "%s", fx.a.err.text);
		id = fx.a.r.u.generate.id;
		for (int i = 0; i <= others; i++)
			(void)fx_begin(&fx, i % 2 ? &fx_user : &fx_other, "hello", 1);
		ck_assert_msg(fx_call(&fx, &fx_user, &again), "%s", fx.a.err.text);
		other = fx.a.r.u.generate.id;
		ck_assert_int_eq(memcmp(&id, &other, sizeof(id)) == 0, others == 14);
	}
}
END_TEST

/* A user's own shares of the places and of the queue. */
START_TEST(shares_of_one_user)
{
	struct lmi_wire_request q;

	fx.o.limits.max_running_per_user = 2;
	fx.o.limits.queue_per_user = 3;
	fx_start(&fx);
	fx_load(&fx);
	for (unsigned i = 0; i < 5; i++) {
		(void)fx_begin(&fx, &fx_user, "hello", 200);
		ck_assert_uint_eq(fx_stats(&fx).n_running, i < 2 ? i + 1 : 2);
	}
	q = fx_generate(&fx, "tiny", "too much", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "the maximum of one user is 5"));
	ck_assert(fx_call(&fx, &fx_other, &q));
}
END_TEST

/* ---- constraints ---- */

static char why[LMD_ERROR_TEXT]; /* a request was refused */

/* Runs a generation; returns whether it ends as it should. */
static bool is_taken(const struct lmi_wire_request *q)
{
	struct lmi_wire_item end;
	struct lmi_wire_id id;
	char text[64];

	if (!fx_call(&fx, &fx_user, q)) {
		ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
		snprintf(why, sizeof(why), "%s", fx.a.err.text);
		return false;
	}
	id = fx.a.r.u.generate.id;
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	if (end.kind == LMI_WIRE_ITEM_DONE)
		return true;
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
	ck_assert_int_eq(end.u.error.code, LMD_INVALID);
	snprintf(why, sizeof(why), "%.*s", (int)end.u.error.text.len, end.u.error.text.ptr);
	return false;
}

static bool takes_schema(const char *text, size_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "a", 1);

	q.u.generate.has_json_schema = true;
	q.u.generate.json_schema = (struct lmd_str){.ptr = text, .len = n};
	return is_taken(&q);
}

/* The bytes of a JSON schema or grammar, at the default. */
START_TEST(bytes_of_a_constraint)
{
	const size_t most = 256 << 10;
	char *text = lmi_alloc(most + 2, 1);
	struct lmi_wire_request q;

	fx_start(&fx);
	fx_load(&fx);
	for (size_t n = most; n <= most + 1; n++) {
		int at = snprintf(text, most, "{\"type\":\"string\",\"description\":\"");

		memset(text + at, 'a', n - (size_t)at - 2);
		memcpy(text + n - 2, "\"}", 2);
		ck_assert_msg(takes_schema(text, n) == (n == most), "%zu bytes: %s", n, why);
	}
	ck_assert_ptr_nonnull(strstr(why, "json_schema: 262145 bytes, the maximum is 262144"));
	for (size_t n = most; n <= most + 1; n++) {
		static const char rule[] = "root ::= \"a\"\n";

		memset(text, '#', n);
		memcpy(text, rule, strlen(rule));
		q = fx_generate(&fx, "tiny", "a", 1);
		q.u.generate.has_grammar = true;
		q.u.generate.grammar = (struct lmd_str){.ptr = text, .len = n};
		ck_assert_msg(is_taken(&q) == (n == most), "%zu bytes: %s", n, why);
	}
	ck_assert_ptr_nonnull(strstr(why, "grammar: 262145 bytes, the maximum is 262144"));
	lmi_free(text);
}
END_TEST

/* The depth of a JSON schema. */
START_TEST(depth_of_a_schema)
{
	char text[1024];

	fx_start(&fx);
	fx_load(&fx);
	for (int depth = 63; depth <= 65; depth++) {
		size_t n = 0;

		for (int i = 1; i < depth; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"items\":");
		n += (size_t)snprintf(text + n, sizeof(text) - n, "{%.*s", depth,
				      "}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}");
		ck_assert_msg(takes_schema(text, n) == (depth <= 64), "%d levels: %s", depth, why);
	}
	ck_assert_msg(strstr(why, "nested more than 64") != NULL, "%s", why);
}
END_TEST

/* ---- age ---- */

static int64_t ahead_ns;

static int64_t later(void *arg)
{
	(void)arg;
	return (int64_t)time(NULL) * 1000000000 + ahead_ns;
}

/* A session is kept for session_age after it was written. */
START_TEST(age_of_sessions)
{
	static const struct lmi_service_hooks hooks = {.wall_ns = later};
	struct lmi_wire_request q;
	char text[64];

	fx.o.hooks = &hooks;
	fx.o.inst.backend = "ref";
	fx.o.limits.session_bytes = 64 << 20;
	fx.o.limits.session_age = 3600 * 1000;
	fx_start(&fx);
	q = fx_generate(&fx, "tiny", "the beginning", 4);
	q.u.generate.has_session = true;
	q.u.generate.session = (struct lmd_str){.ptr = "story", .len = 5};
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	(void)fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, text, sizeof(text));
	for (int old = 0; old < 2; old++) {
		/* a minute for the time that the test takes */
		ahead_ns = (int64_t)(3600 + (old ? 60 : -60)) * 1000000000;
		lmi_wire_request_init(&q, LMI_WIRE_OP_SESSIONS);
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		ck_assert_uint_eq(fx.a.r.u.sessions.n_sessions, old ? 0 : 1);
	}
}
END_TEST

#if LMD_HAVE_PNG
/* A picture of 12 x 8 pixels; a PNG file. */
#define PICTURE                                                                                            \
	"iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAIAAABChommAAAAG0lEQVR42mPUcGPgZGDHj1gYeNkZGAig4a0IAKn8A+MvoG14" \
	"AAAAAElFTkSuQmCC"

/* Asks about a picture; returns the last item of the answer.  *bytes: what its request counts while it waits. */
static struct lmi_wire_item ask_about_a_picture(uint64_t *bytes)
{
	static const struct lmi_wire_picture picture = {.data = {.ptr = PICTURE, .len = sizeof(PICTURE) - 1}};
	static const struct lmi_wire_chat_message message = {.role = {.ptr = "user", .len = 4},
							     .content = {.ptr = "abc", .len = 3},
							     .pictures = &picture,
							     .n_pictures = 1};
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "", 3);
	uint64_t before = atomic_load(&fx.svc->picture_bytes);
	struct fx_answer a = {0};
	struct lmi_wire_item end;
	char text[256];

	q.u.generate.has_prompt = false;
	q.u.generate.has_messages = q.u.generate.has_template = true;
	q.u.generate.template = (struct lmd_str){.ptr = "chatml", .len = 6};
	q.u.generate.messages = &message;
	q.u.generate.n_messages = 1;
	fx_ask(&fx, &fx_user, &q, &a);
	while (fx_job(&fx))
		;
	*bytes = atomic_load(&fx.svc->picture_bytes) - before;
	fx_wait(&fx, &a);
	ck_assert_msg(!a.failed, "%s", a.err.text);
	end = fx_read(&fx, &fx_user, &a.r.u.generate.id, text, sizeof(text));
	fx_answer_fini(&a);
	ck_assert_uint_eq(atomic_load(&fx.svc->picture_bytes), before);
	return end;
}

/* Decoded pictures of requests that wait are counted together; a request that is alone may have any number. */
START_TEST(bytes_of_pictures)
{
	char tower[sizeof(fx.model) + 16];
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	uint64_t n, none;

	(void)snprintf(tower, sizeof(tower), "%s.mmproj", fx.model);
	lmt_tower_write(LMT_TOWER_MLP, tower);
	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.mmproj = (struct lmd_str){.ptr = tower, .len = strlen(tower)};
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.load.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &id, NULL, 0).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(ask_about_a_picture(&n).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_uint_gt(n, 0);
	/* as if others had so many */
	atomic_store(&fx.svc->picture_bytes, LMI_SVC_PICTURES_BYTES - n);
	ck_assert_int_eq(ask_about_a_picture(&n).kind, LMI_WIRE_ITEM_DONE);
	atomic_store(&fx.svc->picture_bytes, LMI_SVC_PICTURES_BYTES - n + 1);
	{
		struct lmi_wire_item end = ask_about_a_picture(&none);

		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
		ck_assert_int_eq(end.u.error.code, LMD_BUSY);
	}
	atomic_store(&fx.svc->picture_bytes, 0);
	(void)remove(tower);
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("limits");
	TCase *t = tcase_create("limits");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, deadline);
	tcase_add_test(t, waiting_of_readers);
	tcase_add_test(t, replies);
	tcase_add_test(t, request_ids);
	tcase_add_test(t, shares_of_one_user);
	tcase_add_test(t, bytes_of_a_constraint);
	tcase_add_test(t, depth_of_a_schema);
	tcase_add_test(t, age_of_sessions);
#if LMD_HAVE_PNG
	tcase_add_test(t, bytes_of_pictures);
#endif
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
