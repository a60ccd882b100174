/* SPDX-License-Identifier: MIT
 *
 * The C client library with a daemon: timeouts. */
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
	Suite *s = suite_create("client");
	TCase *t = tcase_create("client");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, time_outs_are_told_apart);
	tcase_add_test(t, nothing_is_lost_between_time_outs);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
