/* SPDX-License-Identifier: MIT
 *
 * Durable streams of a daemon that is killed: every client has the items of an undisturbed run.
 *
 * LMD_TEST_LONG=1: more kills. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_STREAM 16
#define N_TOKEN	 6000

static struct lmt_daemon d;
static struct lmt_client c;

struct stream {
	struct lmi_wire_id id;
	int64_t after;
	lmd_token last; /* token of the last item */
	uint32_t n;     /* tokens */
	bool end;
};
static struct stream streams[N_STREAM];

static void set_up(void)
{
	lmt_daemon_init(&d);
	d.endless = true;
	lmt_daemon_config(&d, "[limits]\ndurable_streams = 16\ndurable_bytes = 64M\nmax_running = 16\n");
}

static void tear_down(void)
{
	lmt_daemon_fini(&d);
}

static void begin(struct stream *s)
{
	const struct lmi_wire_reply *r;
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_GENERATE);
	lmt_new_rid(&q);
	q.u.generate.model = (struct lmd_str){"tiny", 4};
	q.u.generate.has_prompt = true;
	q.u.generate.prompt = (struct lmd_str){"!", 1};
	q.u.generate.has_n = true;
	q.u.generate.n = N_TOKEN;
	q.u.generate.has_temp = true;
	q.u.generate.ignore_eog = true;
	q.u.generate.durable = true;
	r = lmt_ask(&c, &q);
	ck_assert_msg(!r->failed, "%.*s", (int)r->error.text.len, r->error.text.ptr);
	*s = (struct stream){.id = r->u.generate.id, .last = -1};
}

/* Reads once, and checks that the items are the next ones: the backend counts. */
static void read_some(struct stream *s)
{
	const struct lmi_wire_rep_next *r;
	int64_t n = s->after;

	if (s->end)
		return;
	r = lmt_next(&c, &s->id, &s->after, 1000);
	for (uint32_t i = 0; i < r->n_items; i++) {
		const struct lmi_wire_item *it = &r->items[i];

		ck_assert_int_eq(it->n, ++n);
		if (it->kind == LMI_WIRE_ITEM_DONE) {
			ck_assert_int_eq(it->u.done.n_out, N_TOKEN);
			continue;
		}
		ck_assert_msg(it->kind == LMI_WIRE_ITEM_TOKEN, "item %lld: %.*s", (long long)n,
			      (int)it->u.error.text.len, it->u.error.text.ptr);
		if (s->last >= 0)
			ck_assert_int_eq(it->u.token.token, (s->last + 1) % (lmd_token)LMT_VOCAB);
		s->last = it->u.token.token;
		s->n++;
	}
	s->end = r->end;
	if (s->end)
		ck_assert_uint_eq(s->n, N_TOKEN);
}

static void restart(int signo)
{
	lmt_client_close(&c);
	ck_assert_int_eq(kill(d.pid, signo), 0);
	ck_assert_int_eq(lmt_daemon_exit(&d), signo == SIGKILL ? 256 + SIGKILL : 0);
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
}

static bool all_ended(void)
{
	for (int i = 0; i < N_STREAM; i++)
		if (!streams[i].end)
			return false;
	return true;
}

static void read_all(void)
{
	while (!all_ended())
		for (int i = 0; i < N_STREAM; i++)
			read_some(&streams[i]);
}

START_TEST(killed)
{
	int n_kill = getenv("LMD_TEST_LONG") ? 500 : 10;
	unsigned seed = 7;
	int n_round = 0;

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	for (int k = 0; k < n_kill; k++) {
		if (!k || all_ended()) {
			for (int i = 0; i < N_STREAM; i++)
				begin(&streams[i]);
			n_round++;
		}
		for (int i = rand_r(&seed) % 40; i > 0; i--)
			read_some(&streams[rand_r(&seed) % N_STREAM]);
		restart(SIGKILL);
	}
	read_all();
	printf("%d kills in %d rounds of %d streams\n", n_kill, n_round, N_STREAM);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* An upgrade: the daemon is stopped, does not wait for the streams, and another one starts. */
START_TEST(stopped)
{
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	for (int i = 0; i < N_STREAM; i++)
		begin(&streams[i]);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < N_STREAM; i++)
			read_some(&streams[i]);
		restart(SIGTERM);
	}
	read_all();
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("durable");
	TCase *t = tcase_create("durable");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, getenv("LMD_TEST_LONG") ? 3600 : 300);
	tcase_add_test(t, killed);
	tcase_add_test(t, stopped);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
