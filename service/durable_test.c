/* SPDX-License-Identifier: MIT
 *
 * Durable streams: a generation that was interrupted at any moment, or whose file was damaged at any
 * byte, has the items of one that was not.
 *
 * A crash is made of a copy of the file: the service is destroyed, the file gets the bytes that it
 * had at the moment of the crash, and another service starts. */
#include "service/durable.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "service/generate_work.h"
#include "service/service_state.h"
#include "tests/service_fixture.h"

#define FILE_MAX_BYTES 65536

static struct fx fx;
static char dir[300], path[600], expected[8192], text[8192];
static char image[FILE_MAX_BYTES]; /* of the file */
static size_t n_image;

static const struct lmi_svc_principal with_key = {
	.uid = UINT32_MAX, .role = LMI_SVC_ROLE_USER, .conn = 7, .remote = true, .key_label = "laptop"};

static void set_up(void)
{
	fx_init(&fx);
	snprintf(dir, sizeof(dir), "%.280s/streams", fx.dir);
	fx.o.journals = fx.journals;
	fx.o.journal_dir = dir;
}

static void tear_down(void)
{
	fx_fini(&fx);
}

/* ---- files ---- */

/* Returns the number of files, and the path of one in `path`. */
static uint32_t n_files(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t n = 0;

	while (d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", dir, e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static void save(void)
{
	FILE *f;

	ck_assert_uint_eq(n_files(), 1);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	n_image = fread(image, 1, sizeof(image), f);
	ck_assert_uint_lt(n_image, sizeof(image));
	fclose(f);
}

/* Makes the first n bytes of the image the file. */
static void restore(size_t n)
{
	FILE *f;

	(void)mkdir(dir, 0700);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(image, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* The service takes the time of the clock; the test goes on from there. */
static void start(void)
{
	fx_start(&fx);
	fx.now = fx.env.host->now_ns(fx.env.host->ctx);
}

static void stop(void)
{
	fx_answer_fini(&fx.a);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
}

/* ---- streams ---- */

static struct lmi_wire_request durable(const char *prompt, int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", prompt, n);

	q.u.generate.durable = true;
	return q;
}

static struct lmi_wire_id begin(const struct lmi_svc_principal *who, const char *prompt, int64_t n)
{
	struct lmi_wire_request q = durable(prompt, n);

	fx_expect(prompt, (uint32_t)n, expected);
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

static void check_text(const struct lmi_svc_principal *who, const struct lmi_wire_id *id, uint32_t n)
{
	struct lmi_wire_item last = fx_read(&fx, who, id, text, sizeof(text));

	ck_assert_msg(last.kind == LMI_WIRE_ITEM_DONE, "item of kind %d: %.*s", (int)last.kind,
		      (int)last.u.error.text.len, last.u.error.text.ptr);
	ck_assert_str_eq(text, expected);
	ck_assert_int_eq(last.u.done.n_out, n);
	ck_assert_int_eq(last.u.done.finish, LMI_WIRE_FINISH_LENGTH);
}

static void tick(void)
{
	(void)fx_job(&fx);
	fx_turn(&fx);
	fx.now += FX_MS;
}

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

/* ---- crashes ---- */

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
	tcase_add_test(t, faster_than_the_file);
	tcase_add_test(t, crash_after_every_tick);
	tcase_add_test(t, damage_at_every_byte);
	tcase_add_test(t, sampled_and_constrained);
	tcase_add_test(t, required_call);
	tcase_add_test(t, stop_and_start);
	tcase_add_test(t, session_after_a_crash);
	tcase_add_test(t, request_repeated_after_a_crash);
	tcase_add_test(t, another_model_under_the_name);
	tcase_add_test(t, the_model_is_gone);
	tcase_add_test(t, no_room_for_the_model);
	tcase_add_test(t, too_many_open_files);
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
