/* SPDX-License-Identifier: MIT
 *
 * Batches with a service without threads: their lines, their end when memory or the disk runs out, and going
 * on in a later server. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "daemon/front/conn_limiter.h"
#include "daemon/http/http_impl.h"
#include "daemon/http/openai/batch_impl.h"
#include "daemon/http/openai/openai.h"
#include "proto/buf.h"
#include "tests/faults.h"
#include "tests/service_fixture.h"

#define TURNS 20000

static struct fx fx;
static struct event_base *base;
static struct lmi_http_server *server;
static struct lmi_conn_limiter limiter;
static char folder[300];
static char batch[LMI_OPENAI_ID_BYTES];

static int64_t now_s = 1700000000;

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return now_s * 1000000000;
}

static bool has_key(void *arg)
{
	(void)arg;
	return false;
}

static void open_server(void)
{
	static const struct lmi_http_routes *const apis[] = {&lmi_openai_routes, NULL};
	struct lmi_http_opts o = {
		.host = fx.env.host,
		.apis = apis,
		.version = "test",
		.body_bytes = 1 << 20,
		.store_folder = folder,
		.store_bytes = 60000,
		.store_number = 40,
		.store_age_s = 24 * 3600,
		.limiter = &limiter,
		.ops = {.has_key = has_key, .wall_ns = wall_ns},
	};
	struct lmd_error err = {0};

	fx_start(&fx);
	fx_load(&fx);
	base = event_base_new();
	o.base = base;
	o.service = fx.svc;
	ck_assert_msg(lmi_http_open(&server, &o, &err) == LMD_OK, "%s", err.text);
}

static void close_server(void)
{
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	lmi_http_service_ended(server);
	lmi_http_close(server);
	server = NULL;
	event_base_free(base);
}

static void setup(void)
{
	now_s = 1700000000;
	fx_init(&fx);
	(void)snprintf(folder, sizeof(folder), "%s/http", fx.dir);
	open_server();
}

static void teardown(void)
{
	close_server();
	fx_fini(&fx);
}

/* Runs the loop, what is to be written, and one step. */
static void turn(void)
{
	lmi_http_objects_flush(server->objects);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)fx_job(&fx);
	fx_step(&fx, 1);
}

static struct lmi_openai_batch *running(void)
{
	return lmi_openai_batch_find(server, &fx_user, batch);
}

static void finish(void)
{
	for (int i = 0; i < TURNS && running(); i++)
		turn();
	ck_assert_ptr_null(running());
}

static void run_until_done(uint32_t n)
{
	struct lmi_openai_batch *b;

	for (int i = 0; i < TURNS && (b = running()) && b->shown.n_completed < n; i++)
		turn();
	ck_assert_ptr_nonnull(running());
}

/* Starts a batch of n lines, each with an answer of that many tokens. */
static enum lmd_status start(uint32_t n, int n_token, struct lmd_error *err)
{
	char line[256], input[LMI_OPENAI_ID_BYTES], chars[LMI_HTTP_ID_CHARS + 1];
	struct lmi_wire_buf text = {0};
	struct lmi_openai_batch_opts o = {.h = server,
					  .objects = server->objects,
					  .principal = &fx_user,
					  .endpoint = LMI_OPENAI_BATCH_COMPLETIONS};
	enum lmd_status st;

	for (uint32_t i = 0; i < n; i++) {
		(void)snprintf(line, sizeof(line),
			       "{\"custom_id\":\"r%u\",\"body\":{\"model\":\"tiny\",\"prompt\":\"abc\","
			       "\"max_tokens\":%d,\"temperature\":0,\"ignore_eos\":true}}\n",
			       i, n_token);
		ck_assert(lmi_wire_buf_add(&text, line, strlen(line)));
	}
	ck_assert_int_eq(lmi_openai_file_put(server->objects, &fx_user, "in", 2, "batch", 1700000000, text.p,
					     text.n, input, err),
			 LMD_OK);
	ck_assert(lmi_http_make_id(chars));
	(void)snprintf(batch, sizeof(batch), LMI_OPENAI_BATCH_PREFIX "%s", chars);
	o.object = json_pack("{s:s,s:s,s:s,s:n,s:s,s:I}", "id", batch, "status", "in_progress",
			     "input_file_id", input, "errors", "endpoint", "/v1/completions",
			     "expires_at", (json_int_t)1700003600);
	o.own_input = lmi_alloc(text.n + 1, 1);
	if (text.n)
		memcpy(o.own_input, text.p, text.n);
	o.n_input = text.n;
	st = lmi_openai_batch_start(&o, err);
	json_decref(o.object);
	lmi_wire_buf_fini(&text);
	return st;
}

static void must_start(uint32_t n, int n_token)
{
	struct lmd_error err = {0};

	ck_assert_msg(start(n, n_token, &err) == LMD_OK, "%s", err.text);
}

static json_t *load(void)
{
	struct lmd_error err = {0};
	json_t *v = lmi_openai_object_load(server->objects, &fx_user, batch, &err);

	ck_assert_msg(v != NULL, "%s", err.text);
	return v;
}

static const char *status_of(const json_t *v)
{
	return json_string_value(json_object_get(v, "status"));
}

/* Reads a file of results; returns the number of its lines and, in each_once, whether they are different. */
static uint32_t read_results(const json_t *v, const char *member, bool *each_once)
{
	const char *id = json_string_value(json_object_get(v, member));
	struct lmi_openai_batch_progress p;
	struct lmd_error err = {0};
	char *text;
	size_t n;
	uint32_t lines;

	if (!id)
		return 0;
	ck_assert_msg(lmi_openai_file_get(server->objects, &fx_user, id, &text, &n, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert(lmi_openai_batch_progress_init(&p, 1000));
	*each_once = lmi_openai_batch_progress_read(&p, batch + strlen(LMI_OPENAI_BATCH_PREFIX), text, n,
						    false) == n;
	lines = p.n_completed;
	lmi_openai_batch_progress_fini(&p);
	lmi_free(text);
	return lines;
}

static void check_completed(uint32_t n)
{
	json_t *v = load();
	bool each_once = false;

	ck_assert_str_eq(status_of(v), "completed");
	ck_assert_uint_eq(read_results(v, "output_file_id", &each_once), n);
	ck_assert(each_once);
	ck_assert(json_is_null(json_object_get(v, "errors")));
	json_decref(v);
}

/* Returns the message of the error of a batch that has failed. */
static char *error_of(const json_t *v)
{
	const json_t *errors = json_object_get(v, "errors"),
		     *one = json_array_get(json_object_get(errors, "data"), 0);
	const char *message = json_string_value(json_object_get(one, "message"));

	ck_assert_str_eq(status_of(v), "failed");
	ck_assert_str_eq(json_string_value(json_object_get(errors, "object")), "list");
	ck_assert_str_eq(json_string_value(json_object_get(one, "code")), "server_error");
	ck_assert_ptr_nonnull(message);
	ck_assert(json_is_integer(json_object_get(v, "failed_at")));
	return strdup(message);
}

/* ---- tests ---- */

START_TEST(all_lines)
{
	must_start(9, 5);
	finish();
	check_completed(9);
	must_start(0, 5);
	finish();
	fx_check_empty(&fx);
}
END_TEST

/* The server ends in the middle: the next one goes on by itself, and runs no line again that is done. */
START_TEST(restarted)
{
	uint64_t n_before, n_done;

	must_start(30, 5);
	run_until_done(7);
	n_done = running()->shown.n_completed;
	close_server();
	open_server();
	n_before = fx_stats(&fx).n_done;
	for (int i = 0; i < TURNS && !running(); i++)
		turn();
	ck_assert_ptr_nonnull(running());
	ck_assert_uint_ge(running()->shown.n_completed, n_done);
	finish();
	check_completed(30);
	ck_assert_uint_le(fx_stats(&fx).n_done - n_before, 30 - n_done);
}
END_TEST

/* The disk as it was while the server ran, as after it was killed. */
static void kill_server(void)
{
	char command[1000];

	lmi_http_objects_flush(server->objects);
	(void)snprintf(command, sizeof(command), "rm -rf '%s.as' && cp -a '%s' '%s.as'", folder, folder,
		       folder);
	ck_assert_int_eq(system(command), 0);
	close_server();
	(void)snprintf(command, sizeof(command), "rm -rf '%s' && mv '%s.as' '%s'", folder, folder, folder);
	ck_assert_int_eq(system(command), 0);
	open_server();
}

START_TEST(killed)
{
	uint64_t n_before, n_done;

	must_start(30, 5);
	run_until_done(7);
	n_done = running()->shown.n_completed;
	kill_server();
	n_before = fx_stats(&fx).n_done;
	for (int i = 0; i < TURNS && !running(); i++)
		turn();
	ck_assert_ptr_nonnull(running());
	ck_assert_uint_ge(running()->shown.n_completed, n_done);
	finish();
	check_completed(30);
	ck_assert_uint_le(fx_stats(&fx).n_done - n_before, 30 - n_done);
}
END_TEST

/* A batch during which the server is killed again and again, without a result in between, fails; what was
 * done is kept. */
START_TEST(killed_again_and_again)
{
	bool each_once = false;
	char *message;
	json_t *v;

	must_start(30, 5);
	run_until_done(2);
	for (int i = 0; i < 6; i++) {
		kill_server();
		for (int k = 0; k < TURNS && !running(); k++)
			turn();
		if (!running() || running()->failed)
			break;
		lmi_http_objects_flush(server->objects); /* its start */
	}
	finish();
	v = load();
	message = error_of(v);
	ck_assert_msg(strstr(message, "ended unexpectedly 3 times") != NULL, "%s", message);
	ck_assert_uint_ge(read_results(v, "output_file_id", &each_once), 2);
	ck_assert(each_once);
	free(message);
	json_decref(v);
}
END_TEST

/* A line that is refused waits without holding its place, and runs when it is due. */
START_TEST(refused_for_a_while)
{
	must_start(6, 5);
	for (int i = 0; i < TURNS && running()->phase == LMI_OPENAI_BATCH_STARTING; i++) {
		lmi_http_objects_flush(server->objects);
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	}
	ck_assert_ptr_nonnull(running());
	ck_assert_uint_eq(running()->n_line, LMI_OPENAI_BATCH_AT_A_TIME);
	/* the rest is refused by the bound of requests in the background */
	server->n_background += LMI_HTTP_BACKGROUND_MAX;
	for (int i = 0; i < TURNS && running()->wait.n < 2; i++)
		turn();
	ck_assert_uint_eq(running()->wait.n, 2);
	ck_assert_uint_eq(running()->progress.n_failed, 0);
	for (int i = 0; i < TURNS && running()->shown.n_completed < 4; i++)
		turn();
	ck_assert_uint_eq(running()->n_line, 0);
	server->n_background -= LMI_HTTP_BACKGROUND_MAX;
	while (running()) /* until they are due, after a second */
		turn();
	check_completed(6);
}
END_TEST

/* Reads what became of the 30 lines of a batch that expired after n of them were done. */
static void check_expired(uint32_t n)
{
	json_t *v = load(), *counts = json_object_get(v, "request_counts"), *line;
	const char *id = json_string_value(json_object_get(v, "error_file_id"));
	struct lmd_error err = {0};
	bool each_once = true;
	uint32_t n_expired = 0;
	size_t bytes;
	char *text;

	ck_assert_str_eq(status_of(v), "expired");
	ck_assert_int_eq(json_integer_value(json_object_get(v, "expired_at")), now_s);
	ck_assert(json_is_null(json_object_get(v, "errors")));
	ck_assert_uint_eq(read_results(v, "output_file_id", &each_once),
			  json_integer_value(json_object_get(counts, "completed")));
	ck_assert(each_once);
	ck_assert_int_ge(json_integer_value(json_object_get(counts, "completed")), n);
	ck_assert_int_eq(json_integer_value(json_object_get(counts, "completed")) +
				 json_integer_value(json_object_get(counts, "failed")),
			 30);
	ck_assert_uint_eq(read_results(v, "error_file_id", &each_once),
			  json_integer_value(json_object_get(counts, "failed")));
	ck_assert(each_once);
	ck_assert_ptr_nonnull(id);
	ck_assert_msg(lmi_openai_file_get(server->objects, &fx_user, id, &text, &bytes, &err) == LMD_OK,
		      "%s", err.text);
	for (char *p = text, *end; p < text + bytes; p = end + 1, n_expired++) {
		end = memchr(p, '\n', (size_t)(text + bytes - p));
		line = json_loadb(p, (size_t)(end - p), 0, NULL);
		ck_assert_str_eq(json_string_value(json_object_get(json_object_get(line, "error"), "code")),
				 "batch_expired");
		ck_assert_ptr_nonnull(json_string_value(json_object_get(line, "custom_id")));
		json_decref(line);
	}
	ck_assert_uint_eq(n_expired, json_integer_value(json_object_get(counts, "failed")));
	ck_assert_uint_gt(n_expired, 0);
	lmi_free(text);
	json_decref(v);
	fx_check_empty(&fx);
}

/* The window ends: requests that run get their answers, and the others an error. */
START_TEST(expired)
{
	must_start(30, 5);
	run_until_done(7);
	now_s = 1700003599; /* a second before */
	run_until_done(9);
	ck_assert(!running()->expired);
	now_s++;
	finish();
	check_expired(9);
}
END_TEST

/* The window ends while lines wait. */
START_TEST(expired_while_refused)
{
	must_start(30, 5);
	server->n_background += LMI_HTTP_BACKGROUND_MAX;
	for (int i = 0; i < TURNS && !running()->wait.n; i++)
		turn();
	ck_assert_uint_gt(running()->wait.n, 0);
	now_s = 1700003600;
	event_active(running()->again, EV_TIMEOUT, 0);
	finish();
	server->n_background -= LMI_HTTP_BACKGROUND_MAX;
	check_expired(0);
}
END_TEST

/* The window ends while no server runs. */
START_TEST(expired_meanwhile)
{
	uint64_t n_before;

	must_start(30, 5);
	run_until_done(7);
	close_server();
	now_s = 1700003600;
	open_server();
	n_before = fx_stats(&fx).n_done;
	for (int i = 0; i < TURNS && !running(); i++)
		turn();
	finish();
	ck_assert_uint_eq(fx_stats(&fx).n_done, n_before);
	check_expired(7);
}
END_TEST

/* Whichever allocation fails, the batch ends, its results are those of its counts, and nothing is left
 * behind. */
START_TEST(memory_runs_out)
{
	uint32_t n_failed = 0;

	for (uint64_t nth = 1; nth < 150; nth++) {
		bool each_once = true;
		json_t *v;

		must_start(3, 3);
		lmi_alloc_fail_nth(nth, nth % 5 == 0);
		for (int i = 0; i < 60; i++)
			turn();
		lmi_alloc_fail_nth(0, false);
		for (int i = 0; i < TURNS && running(); i++) {
			running()->store_again_ms = running()->store_again_ms ? 1 : 0;
			event_active(running()->again, EV_TIMEOUT, 0);
			turn();
		}
		ck_assert_msg(!running(), "allocation %u", (unsigned)nth);
		v = load();
		if (!strcmp(status_of(v), "failed")) {
			free(error_of(v));
			n_failed++;
		} else {
			ck_assert_str_eq(status_of(v), "completed");
		}
		ck_assert_uint_eq(read_results(v, "output_file_id", &each_once),
				  json_integer_value(json_object_get(
					  json_object_get(v, "request_counts"), "completed")));
		ck_assert(each_once);
		json_decref(v);
		fx_check_empty(&fx);
		ck_assert_ptr_null(server->backgrounds);
	}
	ck_assert_uint_gt(n_failed, 0);
}
END_TEST

/* A disk that fails in the middle ends the batch; what was written can be read. */
START_TEST(the_disk_fails)
{
	bool each_once = false;
	char *message;
	uint32_t n;
	json_t *v;

	must_start(40, 5);
	run_until_done(3);
	fault_arm(FAULT_SYNC, 0);
	finish();
	ck_assert(fault_disarm());
	v = load();
	message = error_of(v);
	ck_assert_msg(strstr(message, "Input/output error") != NULL, "%s", message);
	free(message);
	n = read_results(v, "output_file_id", &each_once);
	ck_assert(each_once && n >= 3 && n < 40);
	ck_assert_uint_eq(n, json_integer_value(json_object_get(json_object_get(v, "request_counts"),
								"completed")));
	json_decref(v);
	fx_check_empty(&fx);
}
END_TEST

/* What an owner may store is used up by objects in use. */
START_TEST(no_room)
{
	bool each_once = false;
	char *message;
	json_t *v;

	must_start(200, 5);
	finish();
	v = load();
	message = error_of(v);
	ck_assert_msg(strstr(message, "there is no room") != NULL, "%s", message);
	free(message);
	ck_assert_uint_gt(read_results(v, "output_file_id", &each_once), 0);
	ck_assert(each_once);
	json_decref(v);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("batches");
	TCase *t = tcase_create("batches");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, all_lines);
	tcase_add_test(t, restarted);
	tcase_add_test(t, killed);
	tcase_add_test(t, killed_again_and_again);
	tcase_add_test(t, refused_for_a_while);
	tcase_add_test(t, expired);
	tcase_add_test(t, expired_while_refused);
	tcase_add_test(t, expired_meanwhile);
	tcase_add_test(t, memory_runs_out);
	tcase_add_test(t, the_disk_fails);
	tcase_add_test(t, no_room);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
