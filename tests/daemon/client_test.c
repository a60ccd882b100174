/* SPDX-License-Identifier: MIT
 *
 * The C client library with a daemon: timeouts, and a daemon that dies, stops, restarts or does not
 * answer.  Each call has to end; one that does not fails the test by the time limit of the test
 * program. */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llamad/client.h"
#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

static struct lmt_daemon d;
static struct lmt_client c;
static struct lmd_client *client;
static struct lmd_error err;

static void start(const char *config, const char *step_us)
{
	const struct lmd_client_opts o = {.struct_size = sizeof(o), .url = d.url};

	setenv("LLAMAD_NULL_STEP_US", step_us, 1);
	lmt_daemon_init(&d);
	lmt_daemon_config(&d, config);
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	ck_assert_msg(lmd_client_open(&client, &o, &err) == LMD_OK, "%s", err.text);
}

static void stop(void)
{
	lmd_client_close(client);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
	lmt_daemon_fini(&d);
}

static struct lmd_stream *generate(int64_t n)
{
	const struct lmd_generate g = {
		.struct_size = sizeof(g), .model = "tiny", .prompt = "hello", .n_predict = n};
	struct lmd_stream *s = NULL;

	ck_assert_msg(lmd_client_generate(client, &g, &s, &err) == LMD_OK, "%s", err.text);
	return s;
}

/* Waits in short intervals, like a program with an event loop: its own timeouts are not errors, the
 * server's is. */
START_TEST(time_outs_are_told_apart)
{
	struct lmd_stream *s;
	struct lmd_item it = {0};
	enum lmd_status st;
	uint32_t n_none = 0;

	start("[limits]\nfirst_token = 100ms\n", "60000000"); /* a step that hangs */
	s = generate(5);
	while ((st = lmd_stream_next(s, &it, 5, &err)) == LMD_OK) {
		ck_assert_uint_eq(it.kind, LMD_ITEM_NONE);
		ck_assert_uint_eq(it.number, 0);
		ck_assert_uint_eq(it.n_text, 0);
		n_none++;
	}
	ck_assert_uint_gt(n_none, 0);
	ck_assert_int_eq(st, LMD_TIMEOUT);
	ck_assert_msg(strstr(err.text, "limit first_token") != NULL, "%s", err.text);
	lmd_stream_close(s);
	stop();
}
END_TEST

START_TEST(nothing_is_lost_between_time_outs)
{
	struct lmd_stream *s;
	struct lmd_item it = {0};
	uint64_t last = 0;

	start("", "2000");
	s = generate(20);
	do {
		ck_assert_msg(lmd_stream_next(s, &it, 0, &err) == LMD_OK, "%s", err.text);
		ck_assert_uint_eq(it.number, last + (it.kind != LMD_ITEM_NONE));
		last = it.number;
	} while (it.kind != LMD_ITEM_DONE);
	ck_assert_uint_eq(it.n_out, 20);
	lmd_stream_close(s);
	stop();
}
END_TEST

/* ---- a daemon that does not answer ---- */

static enum lmd_status status(struct lmd_client *of)
{
	char *reply = NULL;
	enum lmd_status st = lmd_client_call(of, "status", NULL, &reply, &err);

	lmd_client_free(reply);
	return st;
}

static enum lmd_status open_client(struct lmd_client **out, const char *url)
{
	const struct lmd_client_opts o = {
		.struct_size = sizeof(o), .url = url, .connect_ms = 3000, .call_ms = 5000};

	return lmd_client_open(out, &o, &err);
}

/* Starts a daemon whose steps hang, and a client with short time-outs. */
static void start_impatient(void)
{
	start("", "60000000");
	lmd_client_close(client);
	ck_assert_msg(open_client(&client, d.url) == LMD_OK, "%s", err.text);
}

static void *read_stream(void *arg)
{
	struct lmd_item it;

	return (void *)(uintptr_t)lmd_stream_next(arg, &it, -1, &err);
}

START_TEST(a_killed_daemon_ends_all_calls)
{
	struct lmd_stream *s;
	pthread_t reader;
	void *st;

	start_impatient();
	s = generate(5);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_stream, s), 0);
	ck_assert_int_eq(kill(d.pid, SIGKILL), 0);
	ck_assert_int_eq(pthread_join(reader, &st), 0);
	ck_assert_int_eq((enum lmd_status)(uintptr_t)st, LMD_IO);
	ck_assert_msg(strstr(err.text, "is llamad running?") != NULL, "%s", err.text);
	ck_assert_int_eq(status(client), LMD_IO);
	lmd_stream_close(s);
	ck_assert_int_eq(lmt_daemon_exit(&d), 256 + SIGKILL);
	lmt_daemon_start(&d, NULL);
	ck_assert_msg(status(client) == LMD_OK, "%s", err.text);
	stop();
}
END_TEST

START_TEST(a_stopped_daemon_ends_all_calls)
{
	struct lmd_client *late = NULL;

	start_impatient();
	ck_assert_int_eq(kill(d.pid, SIGSTOP), 0);
	ck_assert_int_eq(status(client), LMD_TIMEOUT);
	ck_assert_int_eq(status(client), LMD_TIMEOUT);
	ck_assert_int_eq(open_client(&late, d.url), LMD_TIMEOUT);
	ck_assert_msg(strstr(err.text, "no connection within 3000 ms") != NULL, "%s", err.text);
	ck_assert_int_eq(kill(d.pid, SIGCONT), 0);
	while (status(client) != LMD_OK)
		ck_assert_int_eq(err.status, LMD_TIMEOUT);
	stop();
}
END_TEST

START_TEST(a_socket_file_that_is_gone)
{
	struct lmd_client *late = NULL;

	start_impatient();
	ck_assert_int_eq(unlink(d.socket), 0);
	ck_assert_msg(status(client) == LMD_OK, "%s", err.text);
	ck_assert_int_eq(open_client(&late, d.url), LMD_IO);
	stop();
}
END_TEST

/* A host that accepts connections and then neither answers nor closes them. */
START_TEST(a_tcp_peer_that_is_silent)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	struct lmd_client *late = NULL;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char url[64];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, n), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	(void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
	ck_assert_int_eq(open_client(&late, url), LMD_TIMEOUT);
	ck_assert_msg(strstr(err.text, "no connection within 3000 ms") != NULL, "%s", err.text);
	close(fd);
	ck_assert_int_eq(open_client(&late, url), LMD_IO);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("client");
	TCase *t = tcase_create("client");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, time_outs_are_told_apart);
	tcase_add_test(t, nothing_is_lost_between_time_outs);
	tcase_add_test(t, a_killed_daemon_ends_all_calls);
	tcase_add_test(t, a_stopped_daemon_ends_all_calls);
	tcase_add_test(t, a_socket_file_that_is_gone);
	tcase_add_test(t, a_tcp_peer_that_is_silent);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
