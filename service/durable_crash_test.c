/* SPDX-License-Identifier: MIT
 *
 * Durable streams after a crash: a generation that was interrupted at any moment, or whose file was
 * damaged at any byte, has the items of one that was not, or says why it cannot go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "service/durable_fixture.h"

/* A reader that lost its connection in a crash goes on at its cursor; one that lost everything reads
 * from the start. */
START_TEST(crash_after_every_tick)
{
	for (int n = 0; n < 40; n++) {
		struct lmi_wire_request q;
		struct lmi_wire_id id;
		uint64_t after, seen = 0;
		char head[256] = "";

		start();
		id = begin(&fx_user, "b", 12);
		for (int i = 0; i < n; i++)
			tick();
		q = fx_next(&id, 0);
		q.u.next.has_wait_ms = true;
		q.u.next.wait_ms = 0;
		ck_assert(fx_call(&fx, &fx_user, &q));
		after = (uint64_t)fx.a.r.u.next.last;
		for (uint32_t i = 0; i < fx.a.r.u.next.n_items; i++) {
			const struct lmi_wire_item *it = &fx.a.r.u.next.items[i];

			if (it->kind == LMI_WIRE_ITEM_TOKEN)
				seen += (uint64_t)snprintf(head + seen, sizeof(head) - seen, "%.*s",
							   (int)it->u.token.text.len,
							   it->u.token.text.ptr);
		}
		save();
		stop();
		restore(n_image);
		start();
		q = fx_next(&id, after); /* does not fail: the items are there before a client asks */
		q.u.next.has_wait_ms = true;
		q.u.next.wait_ms = 0;
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "after %d ticks, item %d: %s", n,
			      (int)after, fx.a.err.text);
		ck_assert(!strncmp(head, expected, seen));
		stop();
		restore(n_image);
		start();
		check_text(&fx_user, &id, 12);
		fx_check_empty(&fx);
		stop();
		n_files();
		(void)unlink(path);
	}
}
END_TEST

/* The file of an answer, cut off at every byte, and with a flipped bit in every byte. */
START_TEST(damage_at_every_byte)
{
	struct lmi_wire_id id;
	uint32_t n_lost = 0;
	size_t n;

	start();
	id = begin(&fx_user, "c", 5);
	fx_settle(&fx);
	save();
	n = n_image;
	stop();
	for (size_t i = 0; i < 2 * n; i++) {
		struct lmi_wire_request q;
		size_t at = i % n;

		image[at] ^= (char)(i < n ? 0 : 4);
		restore(i < n ? at : n);
		image[at] ^= (char)(i < n ? 0 : 4);
		start();
		q = fx_next(&id, 0);
		if (fx.svc->streams.n) {
			check_text(&fx_user, &id, 5);
		} else {
			n_lost++;
			ck_assert(!fx_call(&fx, &fx_user, &q));
			ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
			ck_assert_uint_eq(n_files(), 0); /* nothing is left of it */
		}
		stop();
	}
	/* only damage before the end of the first record loses the stream */
	ck_assert_uint_gt(n_lost, 0);
	ck_assert_uint_lt(n_lost, n);
}
END_TEST

/* Samplers, a grammar and token healing begin where they stopped. */
START_TEST(sampled_and_constrained)
{
	static char whole[8192];

	for (int n = 0; n <= 12; n++) {
		struct lmi_wire_request q = durable("ab", 16);
		struct lmi_wire_id id;

		q.u.generate.temp = 5;
		q.u.generate.has_top_k = true;
		q.u.generate.top_k = 40;
		q.u.generate.has_repeat_penalty = true;
		q.u.generate.repeat_penalty = 1.5;
		q.u.generate.has_seed = true;
		q.u.generate.seed = 3;
		q.u.generate.has_regex = true;
		q.u.generate.regex = (struct lmd_str){"[a-m]{30}", 9};
		q.u.generate.heal = true;
		q.u.generate.parse = true;
		start();
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		id = fx.a.r.u.generate.id;
		for (int i = 0; i < 2 * n; i++)
			tick();
		if (n) {
			save();
			stop();
			restore(n_image);
			start();
		}
		(void)fx_read(&fx, &fx_user, &id, n ? text : whole, sizeof(text));
		ck_assert_uint_ge(strlen(whole), 16);
		if (n)
			ck_assert_str_eq(text, whole);
		stop();
	}
}
END_TEST

/* A tool call is required of an answer that the template begins within the reasoning. */
START_TEST(required_call)
{
	struct lmi_wire_chat_message m = {.role = {"user", 4}, .content = {"ab", 2}};
	uint32_t n_resumed = 0;

	for (int n = 0; n < 24; n += 3) {
		struct lmi_wire_request q = durable("", 40);
		struct lmi_wire_item last;
		struct lmi_wire_id id;

		q.u.generate.messages = &m;
		q.u.generate.n_messages = 1;
		q.u.generate.has_template = true;
		q.u.generate.template =
			lmi_svc_str("{{ messages[0].content }}<tool_call><think>");
		q.u.generate.has_tools = q.u.generate.has_required_call = true;
		q.u.generate.tools = lmi_svc_str("[{\"name\":\"f\"}]");
		q.u.generate.required_call = lmi_svc_str("f");
		q.u.generate.parse = true;
		start();
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		id = fx.a.r.u.generate.id;
		for (int i = 0; i < 2 * n; i++)
			tick();
		save();
		stop();
		restore(n_image);
		start();
		n_resumed += fx.svc->durables->taken.n && fx.svc->durables->generation;
		last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_msg(last.kind == LMI_WIRE_ITEM_DONE, "item of kind %d: %.*s", (int)last.kind,
			      (int)last.u.error.text.len, last.u.error.text.ptr);
		ck_assert_int_eq(last.u.done.n_out, 40);
		stop();
	}
	ck_assert_uint_gt(n_resumed, 0);
}
END_TEST

/* A generation that goes on saves the session that an undisturbed one would have saved. */
START_TEST(session_after_a_crash)
{
	fx.o.inst.backend = "ref";
	fx.o.limits.session_bytes = 64 << 20;
	for (int n = 2; n < 30; n += 3) {
		struct lmi_wire_request q = durable("the beginning", 12);
		struct lmi_wire_item last;
		struct lmi_wire_id id;

		q.u.generate.ignore_eog = true;
		q.u.generate.has_session = true;
		q.u.generate.session = (struct lmd_str){"story", 5};
		start();
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		id = fx.a.r.u.generate.id;
		for (int i = 0; i < n; i++)
			tick();
		save();
		stop();
		restore(n_image);
		start();
		last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_msg(last.kind == LMI_WIRE_ITEM_DONE, "after %d ticks", n);
		ck_assert_int_eq(last.u.done.n_out, 12);
		/* the last token has no row */
		ck_assert_msg(last.u.done.n_saved == 13 + 11, "after %d ticks: %d: %.*s", n,
			      (int)last.u.done.n_saved, (int)last.u.done.session_error.len,
			      last.u.done.session_error.ptr);
		stop();
		n_files();
		(void)unlink(path);
	}
}
END_TEST

/* A client that did not hear of its stream repeats its request. */
START_TEST(request_repeated_after_a_crash)
{
	struct lmi_wire_request q = durable("e", 9);
	struct lmi_wire_id id;

	start();
	fx_expect("e", 9, expected);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	save();
	stop();
	restore(n_image);
	start();
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert(!memcmp(&fx.a.r.u.generate.id, &id, sizeof(id)));
	ck_assert_uint_eq(fx.svc->streams.n, 1);
	check_text(&fx_user, &id, 9);
}
END_TEST

/* ---- what is not continued ---- */

START_TEST(another_model_under_the_name)
{
	struct lmi_wire_item last;
	struct lmi_wire_id id;

	start();
	id = begin(&fx_user, "f", 20);
	for (int i = 0; i < 8; i++)
		tick();
	save();
	stop();
	restore(n_image);
	ck_assert_int_eq(lmi_store_model_remove(fx.store, "tiny", NULL), LMD_OK);
	ck_assert_int_eq(lmi_store_model_remove(fx.store, "other", NULL), LMD_OK);
	fx_add_model(&fx, "tiny", fx.other);
	start();
	last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert(last.kind == LMI_WIRE_ITEM_ERROR && last.u.error.code == LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(last.u.error.text.ptr, "begun with the model sha256:"));
	ck_assert_ptr_nonnull(strstr(last.u.error.text.ptr, "tiny is now sha256:"));
	ck_assert(!strncmp(text, expected, strlen(text)));
}
END_TEST

START_TEST(the_model_is_gone)
{
	struct lmi_wire_item last;
	struct lmi_wire_id id;

	start();
	id = begin(&fx_user, "f", 20);
	for (int i = 0; i < 8; i++)
		tick();
	save();
	stop();
	restore(n_image);
	ck_assert_int_eq(lmi_store_model_remove(fx.store, "tiny", NULL), LMD_OK);
	start();
	last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert(last.kind == LMI_WIRE_ITEM_ERROR && last.u.error.code == LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(last.u.error.text.ptr, "begun with the model sha256:"));
	ck_assert_ptr_nonnull(strstr(last.u.error.text.ptr, "'tiny'"));
	ck_assert(!strncmp(text, expected, strlen(text)));
}
END_TEST

/* Two streams need a model each, and there is room for one: the second waits until the first has
 * ended. */
START_TEST(no_room_for_the_model)
{
	struct lmi_wire_request q = durable("q", 20);
	struct lmi_wire_id first, second;
	struct lmi_wire_item last;

	start();
	first = begin(&fx_user, "p", 60);
	q.u.generate.model = (struct lmd_str){"other", 5};
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	second = fx.a.r.u.generate.id;
	for (int i = 0; i < 6; i++)
		tick();
	lmi_service_stop(fx.svc, fx.now);
	for (int i = 0; i < 20; i++)
		tick();
	stop();
	ck_assert_uint_eq(n_files(), 2);
	fx.o.limits.models = 1;
	start();
	for (int i = 0; i < 12; i++)
		tick();
	ck_assert_uint_eq(fx.svc->streams.n, 2);
	for (const struct lmi_svc_stream *s = fx.svc->streams.first; s; s = s->next)
		ck_assert(!s->out.ended);
	check_text(&fx_user, &first, 60);
	fx.now += 2000 * FX_MS;
	last = fx_read(&fx, &fx_user, &second, text, sizeof(text));
	ck_assert_msg(last.kind == LMI_WIRE_ITEM_DONE, "%.*s", (int)last.u.error.text.len,
		      last.u.error.text.ptr);
	ck_assert_int_eq(last.u.done.n_out, 20);
}
END_TEST

/* A file that cannot be opened now, because the process has too many, is there at the next start. */
START_TEST(too_many_open_files)
{
	struct lmi_wire_id id;
	struct rlimit before, few;
	int lowest;

	start();
	id = begin(&fx_user, "r", 20);
	for (int i = 0; i < 8; i++)
		tick();
	save();
	stop();
	restore(n_image);
	lowest = dup(STDERR_FILENO);
	ck_assert_int_ge(lowest, 0);
	ck_assert_int_eq(close(lowest), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)lowest + 1; /* enough for the folder */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	start();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_uint_eq(fx.svc->streams.n, 0);
	ck_assert_uint_eq(n_files(), 1);
	stop();
	start();
	check_text(&fx_user, &id, 20);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("durable_crash");
	TCase *t = tcase_create("durable_crash");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, crash_after_every_tick);
	tcase_add_test(t, damage_at_every_byte);
	tcase_add_test(t, sampled_and_constrained);
	tcase_add_test(t, required_call);
	tcase_add_test(t, session_after_a_crash);
	tcase_add_test(t, request_repeated_after_a_crash);
	tcase_add_test(t, another_model_under_the_name);
	tcase_add_test(t, the_model_is_gone);
	tcase_add_test(t, no_room_for_the_model);
	tcase_add_test(t, too_many_open_files);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
