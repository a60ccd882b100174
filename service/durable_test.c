/* SPDX-License-Identifier: MIT
 *
 * Durable streams: their files and who owns them, their bounds, and stopping and starting.  Crashes are in
 * durable_crash_test.c. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "service/durable_fixture.h"
#include "service/generate_work.h"

static const struct lmi_svc_principal with_key = {
	.uid = UINT32_MAX, .role = LMI_SVC_ROLE_USER, .conn = 7, .remote = true, .key_label = "laptop"};

/* ---- files ---- */

START_TEST(undisturbed)
{
	struct lmi_wire_id id;
	struct stat sb;

	start();
	id = begin(&fx_user, "a", 20);
	ck_assert_uint_eq(n_files(), 1);
	ck_assert(!stat(dir, &sb) && (sb.st_mode & 07777) == 0700);
	ck_assert(!stat(path, &sb) && (sb.st_mode & 07777) == 0600);
	check_text(&fx_user, &id, 20);
	fx_check_empty(&fx);
	for (int i = 0; i < 5; i++)
		tick();
	ck_assert_int_eq(fx.svc->durables->fd, -1); /* nothing more is written */
	/* what was read is kept for a lease, and then removed */
	ck_assert_uint_eq(n_files(), 1);
	fx.now += (fx.o.limits.lease_default + 1) * FX_MS;
	for (int i = 0; i < 5; i++)
		tick();
	ck_assert_uint_eq(n_files(), 0);
	ck_assert_uint_eq(fx.svc->n_durable, 0);
	ck_assert_uint_eq(fx.svc->durable_bytes, 0);
}
END_TEST

/* Tokens that no reader needs yet are written together: one write for each reply. */
START_TEST(one_write_for_a_reply)
{
	uint64_t after = 0, at = 0, n_reply = 0, n_write = 0;
	struct lmi_wire_id id;

	start();
	id = begin(&fx_user, "a", 60);
	while (fx.svc->streams.first && !fx.svc->streams.first->read_out) {
		struct lmi_wire_request q = fx_next(&id, after);

		q.u.next.has_hold_ms = true;
		q.u.next.hold_ms = 10;
		fx_answer_fini(&fx.a);
		fx_ask(&fx, &fx_user, &q, &fx.a);
		for (int i = 0; i < 1000 && !fx.a.n; i++) {
			tick();
			n_write += fx.svc->durables->at != at;
			at = fx.svc->durables->at;
		}
		ck_assert_msg(fx.a.n && !fx.a.failed, "%s", fx.a.err.text);
		ck_assert_int_gt(fx.a.r.u.next.last, (int64_t)after);
		after = (uint64_t)fx.a.r.u.next.last;
		n_reply++;
	}
	printf("60 tokens: %u replies, %u writes\n", (unsigned)n_reply, (unsigned)n_write);
	ck_assert_uint_lt(n_reply, 20);
	ck_assert_uint_le(n_write, n_reply + 3); /* and the request, the first token and the end */
}
END_TEST

/* Asks for a durable stream, and lets its generation end before anything of it is written. */
static void end_before_the_file(const char *prompt)
{
	struct lmi_wire_request q = durable(prompt, 3);

	fx_expect(prompt, 3, expected);
	fx_answer_fini(&fx.a);
	fx_ask(&fx, &fx_user, &q, &fx.a);
	for (int i = 0; i < 1000 && !(fx.svc->generations && fx.svc->generations->head_waits); i++) {
		(void)(lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io) ||
		       lmi_jobs_run_one(fx.work));
		fx_turn(&fx);
		fx.now += FX_MS;
		ck_assert_msg(!fx.a.n, "answered before it was written: %s", fx.a.err.text);
	}
	ck_assert(fx.svc->generations && fx.svc->generations->head_waits);
}

START_TEST(faster_than_the_file)
{
	struct lmi_wire_id id;

	start();
	end_before_the_file("a");
	fx_wait(&fx, &fx.a);
	ck_assert_msg(!fx.a.failed, "%s", fx.a.err.text);
	id = fx.a.r.u.generate.id;
	check_text(&fx_user, &id, 3);
	/* the file cannot be made */
	end_before_the_file("b");
	ck_assert_uint_eq(n_files(), 1);
	ck_assert(!unlink(path) && !rmdir(dir));
	fx_wait(&fx, &fx.a);
	ck_assert_int_eq(fx.a.err.status, LMD_IO);
	fx_settle(&fx);
	ck_assert_ptr_null(fx.svc->generations);
	fx_check_empty(&fx);
	stop();
}
END_TEST

START_TEST(stop_and_start)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	struct fx_answer waiting;

	start();
	id = begin(&fx_user, "d", 20);
	for (int i = 0; i < 8; i++)
		tick();
	q = fx_next(&id, fx.svc->streams.first->out.last);
	fx_ask(&fx, &fx_user, &q, &waiting);
	ck_assert(lmi_service_is_idle(fx.svc)); /* nobody has to wait for its end */
	lmi_service_stop(fx.svc, fx.now);
	for (int i = 0; i < 20; i++)
		tick();
	ck_assert(waiting.n == 1 && waiting.failed && waiting.err.status == LMD_BUSY);
	ck_assert_uint_eq(waiting.retry_ms, LMI_SVC_DURABLE_RETRY_MS);
	ck_assert(!fx_call(&fx, &fx_user, &q) && fx.a.err.status == LMD_BUSY);
	stop();
	ck_assert_uint_eq(n_files(), 1);
	start();
	check_text(&fx_user, &id, 20);
	/* once more, with an end that was read */
	stop();
	ck_assert_uint_eq(n_files(), 0);
}
END_TEST

/* ---- what is not continued ---- */

static void add_key(char digit)
{
	struct lmi_store_key k = {.label = "laptop", .created_at = 1, .role = LMI_STORE_USER};
	struct lmd_error err = {0};

	memset(k.hash, digit, sizeof(k.hash) - 1);
	ck_assert_msg(lmi_store_key_add(fx.store, &k, &err) == LMD_OK, "%s", err.text);
}

START_TEST(removed_key)
{
	for (int again = 0; again < 3; again++) {
		struct lmi_wire_id id;

		add_key('a');
		start();
		id = begin(&with_key, "g", 6);
		for (int i = 0; i < 4; i++)
			tick();
		save();
		stop();
		restore(n_image);
		if (again)
			ck_assert_int_eq(lmi_store_key_remove(fx.store, "laptop", NULL), LMD_OK);
		if (again == 2) /* another key with the same label */
			add_key('b');
		start();
		ck_assert_uint_eq(fx.svc->streams.n, again ? 0 : 1);
		ck_assert_uint_eq(n_files(), again ? 0 : 1);
		if (!again)
			check_text(&with_key, &id, 6);
		stop();
		(void)!lmi_store_key_remove(fx.store, "laptop", NULL);
	}
}
END_TEST

START_TEST(key_removed_in_use)
{
	struct lmi_wire_request q;

	add_key('a');
	start();
	(void)begin(&with_key, "h", 100);
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_RM);
	q.u.key_rm.label = (struct lmd_str){"laptop", 6};
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	fx_settle(&fx);
	ck_assert_uint_eq(fx.svc->streams.n, 0);
	ck_assert_uint_eq(n_files(), 0);
}
END_TEST

static int64_t later(void *arg)
{
	return (int64_t)time(NULL) * 1000000000 + *(int64_t *)arg;
}

START_TEST(old_files)
{
	int64_t ahead = 0;
	const struct lmi_service_hooks hooks = {.wall_ns = later, .arg = &ahead};

	fx.o.hooks = &hooks;
	start();
	(void)begin(&fx_user, "i", 6);
	fx_settle(&fx);
	save();
	stop();
	restore(n_image);
	ahead = (int64_t)(fx.o.limits.durable_age_ms - 60000) * 1000000;
	start();
	ck_assert_uint_eq(fx.svc->streams.n, 1);
	stop();
	restore(n_image);
	ahead = (int64_t)(fx.o.limits.durable_age_ms + 60000) * 1000000;
	start();
	ck_assert_uint_eq(fx.svc->streams.n, 0);
	ck_assert_uint_eq(n_files(), 0);
}
END_TEST

/* ---- bounds ---- */

START_TEST(full_disk)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct lmi_wire_item last;
	struct lmi_wire_id id;
	struct stat sb = {0};

	(void)signal(SIGXFSZ, SIG_IGN);
	start();
	id = begin(&fx_user, "j", 200);
	for (int i = 0; i < 60; i++) {
		struct rlimit r = none;

		ck_assert(i > 8 || (n_files() == 1 && !stat(path, &sb)));
		r.rlim_cur = i < 8 ? RLIM_INFINITY : (rlim_t)sb.st_size;
		(void)(lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io) ||
		       lmi_jobs_run_one(fx.work));
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
		(void)lmi_jobs_run_one(fx.journals);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
		fx_turn(&fx);
		fx.now += FX_MS;
	}
	last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_msg(last.kind == LMI_WIRE_ITEM_ERROR && last.u.error.code == LMD_IO, "%s", text);
	ck_assert_ptr_nonnull(strstr(last.u.error.text.ptr, "cannot write: File too large"));
	fx_expect("j", 200, expected);
	ck_assert(*text && !strncmp(text, expected, strlen(text)));
	fx_settle(&fx);
	fx_check_empty(&fx);
	ck_assert_uint_eq(n_files(), 0);
}
END_TEST

START_TEST(no_file_at_all)
{
	struct lmi_wire_request q = durable("k", 5);

	start();
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_IO);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "cannot open the file"));
	fx_settle(&fx);
	fx_check_empty(&fx);
	ck_assert_uint_eq(fx.svc->n_durable, 0);
}
END_TEST

static void check_refused(const struct lmi_svc_principal *who, enum lmd_status st, const char *says)
{
	struct lmi_wire_request q = durable("l", 5);

	ck_assert(!fx_call(&fx, who, &q));
	ck_assert_msg(fx.a.err.status == st && strstr(fx.a.err.text, says), "%d: %s",
		      (int)fx.a.err.status, fx.a.err.text);
}

START_TEST(number_of_streams)
{
	struct lmi_wire_id id;

	fx.o.limits.durable_streams = 4;
	start();
	for (int i = 0; i < 3; i++)
		(void)begin(&fx_user, "m", 5);
	check_refused(&fx_user, LMD_BUSY, "you have 3 durable streams, the maximum of a user is 3");
	id = begin(&fx_other, "m", 5);
	check_refused(&fx_other, LMD_BUSY, "there are 4 durable streams, the maximum is 4");
	check_refused(&fx_admin, LMD_BUSY, "there are 4 durable streams, the maximum is 4");
	/* one that was read to its end makes way */
	check_text(&fx_other, &id, 5);
	(void)begin(&fx_admin, "m", 5);
	ck_assert_uint_eq(fx.svc->streams.n, 4);
	check_refused(&fx_admin, LMD_BUSY, "there are 4 durable streams, the maximum is 4");
}
END_TEST

/* Runs a stream that exceeds a bound of the bytes. */
static void check_too_long(const struct lmi_svc_principal *who, const char *says)
{
	struct lmi_wire_request q = durable("n", 400);
	struct lmi_wire_item last;
	struct lmi_wire_id id;

	q.u.generate.has_logprobs = true;
	q.u.generate.logprobs = 20;
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.generate.id;
	last = fx_read(&fx, who, &id, text, sizeof(text));
	ck_assert_msg(last.kind == LMI_WIRE_ITEM_ERROR && last.u.error.code == LMD_BUSY,
		      "item of kind %d", (int)last.kind);
	ck_assert_ptr_nonnull(strstr(last.u.error.text.ptr, says));
}

START_TEST(bytes_of_streams)
{
	fx.o.limits.durable_bytes = 65536;
	fx.o.limits.durable_percent_per_user = 50;
	start();
	check_too_long(&fx_user, "the maximum of a user is 32768");
	fx_settle(&fx);
	check_too_long(&fx_admin, "the maximum is 65536 (durable_bytes)");
	fx_settle(&fx);
	ck_assert_uint_eq(fx.svc->durable_bytes, 0);
}
END_TEST

START_TEST(switched_off)
{
	struct lmi_wire_request q = durable("o", 5);

	start();
	(void)begin(&fx_user, "o", 5);
	stop();
	ck_assert_uint_eq(n_files(), 1);
	fx.o.limits.durable_streams = 0;
	start();
	ck_assert_uint_eq(n_files(), 0);
	check_refused(&fx_user, LMD_UNSUPPORTED, "no durable streams");
	stop();
	fx.o.journals = NULL;
	start();
	check_refused(&fx_user, LMD_UNSUPPORTED, "no durable streams");
	stop();
	fx.o.journals = fx.journals;
	fx.o.limits.durable_streams = 4;
	start();
	q.u.generate.prompt_tokens = true;
	ck_assert(!fx_call(&fx, &fx_user, &q) && fx.a.err.status == LMD_INVALID);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("durable");
	TCase *t = tcase_create("durable");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, undisturbed);
	tcase_add_test(t, one_write_for_a_reply);
	tcase_add_test(t, faster_than_the_file);
	tcase_add_test(t, stop_and_start);
	tcase_add_test(t, removed_key);
	tcase_add_test(t, key_removed_in_use);
	tcase_add_test(t, old_files);
	tcase_add_test(t, full_disk);
	tcase_add_test(t, no_file_at_all);
	tcase_add_test(t, number_of_streams);
	tcase_add_test(t, bytes_of_streams);
	tcase_add_test(t, switched_off);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
