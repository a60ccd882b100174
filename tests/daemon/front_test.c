/* SPDX-License-Identifier: MIT
 *
 * Idle, slow and greedy connections, next to a client that must not be affected: each of its pings
 * is answered within a second. */
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

static struct lmt_daemon d;
static struct lmt_client c;

static void set_up(void)
{
	lmt_daemon_init(&d);
}

static void tear_down(void)
{
	lmt_daemon_fini(&d);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t slowest_ms;

static void ping(void)
{
	uint64_t begin = now_ms();

	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_PING)->failed);
	begin = now_ms() - begin;
	slowest_ms = begin > slowest_ms ? begin : slowest_ms;
	ck_assert_msg(begin < 5000, "a ping took %llu ms", (unsigned long long)begin);
}

static void start(const char *config)
{
	slowest_ms = 0;
	lmt_daemon_config(&d, config);
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	ping();
}

static void stop(const char *name)
{
	printf("%s: slowest ping %llu ms\n", name, (unsigned long long)slowest_ms);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}

static int64_t n_connection(void)
{
	return lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->u.status.connections;
}

/* Returns whether the daemon closes it while the client sends requests. */
static void closed_while_pinging(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	while (!poll(&p, 1, 0))
		ping();
	ck_assert_int_le(recv(fd, &byte, 1, 0), 0);
}

START_TEST(connect_and_close)
{
	uint32_t before;

	start("");
	before = lmt_daemon_n_fd(&d);
	for (int i = 0; i < 300; i++) {
		int fd = lmt_raw_open(&d, false);

		/* closed at once; with unread bytes; after the handshake */
		if (i % 3 == 1)
			(void)send(fd, "\0SP\0\0\x30\0\0\1\0", 10, MSG_NOSIGNAL);
		close(fd);
		if (i % 3 == 2)
			close(lmt_raw_open(&d, true));
		ping();
	}
	while (n_connection() > 1 || lmt_daemon_n_fd(&d) > before)
		ping();
	stop("connect_and_close");
}
END_TEST

#define N_IDLE 1000

START_TEST(a_thousand_idle_ones)
{
	static int fd[N_IDLE];
	struct rlimit files = {.rlim_cur = N_IDLE + 200, .rlim_max = N_IDLE + 200};
	uint32_t before;

	if (setrlimit(RLIMIT_NOFILE, &files)) {
		LMD_SKIP("a_thousand_idle_ones", "no more than %d descriptors", N_IDLE);
		return;
	}
	start("[limits]\nconnections = 2000\nconnections_per_user = 2000\nidle = 1500ms\n"
	      "message_time = 1500ms\n");
	before = lmt_daemon_n_fd(&d);
	for (int i = 0; i < N_IDLE; i++) {
		fd[i] = lmt_raw_open(&d, i % 2 == 0); /* half of them send nothing */
		if (i % 10 == 0)
			ping();
	}
	for (int i = 0; i < N_IDLE; i++) {
		char rest[16];

		if (i % 2) /* the daemon's handshake */
			ck_assert_int_eq(recv(fd[i], rest, 8, MSG_WAITALL), 8);
		closed_while_pinging(fd[i]);
		close(fd[i]);
	}
	while (n_connection() > 1 || lmt_daemon_n_fd(&d) > before)
		ping();
	stop("a_thousand_idle_ones");
}
END_TEST

/* Idle connections are closed each time, and clients can reconnect. */
START_TEST(idle_ones_come_again)
{
	start("[limits]\nidle = 500ms\n");
	for (int i = 0; i < 3; i++) {
		int fd = lmt_raw_open(&d, true);

		ck_assert(lmt_raw_closed(fd));
		close(fd);
	}
	/* the client's own connection was closed as well; nng reconnects */
	lmt_client_close(&c);
	lmt_client_open(&c, &d);
	ping();
	stop("idle_ones_come_again");
}
END_TEST

static void lengths_and_nothing(int fd, int how)
{
	static const uint8_t zeros[100];

	if (how == 0) /* a part of the length */
		ck_assert_int_eq(send(fd, "\1\0\0", 3, MSG_NOSIGNAL), 3);
	else /* a length; some bytes; most of them */
		lmt_raw_send(fd, 1u << 20, zeros, how == 1 ? 0 : sizeof(zeros));
}

START_TEST(slow_senders)
{
	int fd[32];

	start("[limits]\nmessage_time = 400ms\nconnections_per_user = 40\n");
	for (int i = 0; i < 31; i++) {
		fd[i] = lmt_raw_open(&d, true);
		lengths_and_nothing(fd[i], i % 3);
	}
	/* one that sends a byte from time to time */
	fd[31] = lmt_raw_open(&d, true);
	lmt_raw_send(fd[31], 1u << 20, "", 0);
	for (int i = 0; i < 31; i++) {
		struct pollfd p = {.fd = fd[i], .events = POLLIN};

		while (!poll(&p, 1, 0)) {
			(void)send(fd[31], "x", 1, MSG_NOSIGNAL);
			ping();
		}
		ck_assert(lmt_raw_closed(fd[i]));
		close(fd[i]);
	}
	closed_while_pinging(fd[31]);
	close(fd[31]);
	while (n_connection() > 1)
		ping();
	stop("slow_senders");
}
END_TEST

/* A connection that sends a long message fast enough. */
START_TEST(a_long_message_takes_longer)
{
	static uint8_t piece[12000];
	struct pollfd p;
	uint64_t begin;
	int fd, n = 0;

	start("[limits]\nmessage_time = 400ms\n");
	fd = lmt_raw_open(&d, true);
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	lmt_raw_send(fd, 8 * sizeof(piece), piece, sizeof(piece));
	begin = now_ms();
	while (++n < 8) {
		for (uint64_t at = now_ms(); now_ms() < at + 150;)
			ping();
		ck_assert_int_eq(poll(&p, 1, 0), 0);
		ck_assert_int_eq(send(fd, piece, sizeof(piece), MSG_NOSIGNAL), sizeof(piece));
	}
	ck_assert_uint_gt(now_ms() - begin, 800);
	ck_assert(!lmt_raw_closed(fd)); /* an error reply, since the bytes were not a request */
	close(fd);
	stop("a_long_message_takes_longer");
}
END_TEST

/* A waiting next counts as work, and so does a running stream without one. */
START_TEST(work_is_not_idle)
{
	struct lmi_wire_id id, waits;
	struct lmt_client other;
	struct lmi_wire_request req;
	int64_t after = 0;
	uint64_t until;

	d.endless = true;
	start("[limits]\nidle = 1s\nmax_running = 1\n");
	lmt_add(&c, &d);
	lmt_client_open(&other, &d);
	lmt_generate(&other, "tiny", -1, &id);
	until = now_ms() + 2200;
	while (now_ms() < until)
		ping();
	ck_assert_int_eq(n_connection(), 2);
	ck_assert_int_eq(lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->u.status.running, 1);
	/* a queued generation produces nothing */
	lmt_generate(&other, "tiny", 1, &waits);
	until = now_ms() + 2200;
	ck_assert_uint_eq(lmt_next(&other, &waits, &after, 2200)->n_items, 0);
	ck_assert_uint_ge(now_ms(), until);
	ping();
	lmi_wire_request_init(&req, LMI_WIRE_OP_CANCEL);
	req.u.cancel.id = id;
	ck_assert(!lmt_ask(&other, &req)->failed);
	lmt_client_close(&other);
	stop("work_is_not_idle");
}
END_TEST

/* A message of the maximum length, and one byte more. */
START_TEST(message_bytes)
{
	static uint8_t bytes[(64 << 10) + 1];
	const struct lmi_wire_reply *r;

	start("[limits]\nmessage_bytes = 64K\n");
	for (size_t n = sizeof(bytes) - 1; n <= sizeof(bytes); n++) {
		r = lmt_ask_bytes(&c, LMI_WIRE_OP_PING, bytes, n);
		ck_assert(r->failed && r->error.code == LMD_INVALID);
		ck_assert_msg(
			(n == sizeof(bytes)) ==
				(memmem(r->error.text.ptr, r->error.text.len,
					"the message has 65537 bytes, the maximum is 65536", 49) != NULL),
			"%zu: %.*s", n, (int)r->error.text.len, r->error.text.ptr);
	}
	ping(); /* on the same connection */
	ck_assert_int_eq(n_connection(), 1);
	stop("message_bytes");
}
END_TEST

/* Long messages of two clients, which wait for their share of the loop's time, are all answered; short ones do
 * not wait. */
START_TEST(long_messages)
{
	static lmd_token tokens[200000];
	struct lmt_client other;
	struct lmi_wire_request req;

	for (size_t i = 0; i < LMD_LEN(tokens); i++)
		tokens[i] = (lmd_token)(i * 7919 % 100000);
	start("[limits]\nmessage_time = 400ms\n");
	lmt_client_open(&other, &d);
	lmi_wire_request_init(&req, LMI_WIRE_OP_DETOKENIZE);
	req.u.detokenize.model = (struct lmd_str){.ptr = "none", .len = 4};
	req.u.detokenize.tokens = tokens;
	req.u.detokenize.n_tokens = LMD_LEN(tokens);
	for (int i = 0; i < 8; i++) {
		const struct lmi_wire_reply *r = lmt_ask(i % 2 ? &other : &c, &req);

		ck_assert(r->failed && r->error.code == LMD_NOTFOUND);
		ping();
	}
	lmt_client_close(&other);
	stop("long_messages");
}
END_TEST

/* Clients that complete a long message at the same moment all get an answer, each in its turn. */
START_TEST(long_messages_at_once)
{
	enum { N = 8 };
	static lmd_token tokens[60000];
	struct lmi_wire_request req;
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	int fd[N];
	char *body;
	size_t n;

	for (size_t i = 0; i < LMD_LEN(tokens); i++)
		tokens[i] = (lmd_token)(i * 7919 % 100000);
	start("[limits]\nmessage_time = 5s\n");
	lmi_wire_request_init(&req, LMI_WIRE_OP_DETOKENIZE);
	req.u.detokenize.model = (struct lmd_str){.ptr = "none", .len = 4};
	req.u.detokenize.tokens = tokens;
	req.u.detokenize.n_tokens = LMD_LEN(tokens);
	ck_assert_msg(lmi_wire_request_encode(&b, &req, &err) == LMD_OK, "%s", err.text);
	n = b.n + 4;
	body = malloc(n);
	ck_assert_ptr_nonnull(body);
	memcpy(body, "\x80\0\0\1", 4);
	memcpy(body + 4, b.p, b.n);
	for (int i = 0; i < N; i++) {
		fd[i] = lmt_raw_open(&d, true);
		lmt_raw_send(fd[i], n, body, n - 1);
	}
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(send(fd[i], body + n - 1, 1, MSG_NOSIGNAL), 1);
	for (int i = 0; i < N; i++) {
		uint8_t head[13];

		ck_assert_int_eq(recv(fd[i], head, sizeof(head), MSG_WAITALL), sizeof(head));
		ck_assert_mem_eq(head + 9, body, 4);
		close(fd[i]);
	}
	free(body);
	lmi_wire_buf_fini(&b);
	stop("long_messages_at_once");
}
END_TEST

#define N_IN_TURN 60

/* Sends so many generations in one write, which the daemon reads at once. */
static void send_many(int fd)
{
	static char bytes[16000];
	size_t n = 0;

	for (uint32_t i = 0; i < N_IN_TURN; i++) {
		struct lmi_wire_buf b = {0};
		struct lmi_wire_request req;
		struct lmd_error err = {0};

		lmi_wire_request_init(&req, LMI_WIRE_OP_GENERATE);
		lmt_new_rid(&req);
		req.u.generate.model = (struct lmd_str){.ptr = "tiny", .len = 4};
		req.u.generate.has_prompt = true;
		req.u.generate.prompt = (struct lmd_str){.ptr = "a", .len = 1};
		req.u.generate.raw = true;
		ck_assert_msg(lmi_wire_request_encode(&b, &req, &err) == LMD_OK, "%s", err.text);
		ck_assert(b.n < 256 && n + 13 + b.n <= sizeof(bytes));
		memcpy(bytes + n, "\1\0\0\0\0\0\0\0", 8);
		bytes[n + 8] = (char)(b.n + 4);
		memcpy(bytes + n + 9, "\x80\0\0\1", 4);
		memcpy(bytes + n + 13, b.p, b.n);
		n += 13 + b.n;
		lmi_wire_buf_fini(&b);
	}
	ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static uint32_t n_generations(const struct lmi_wire_rep_streams *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_streams; i++)
		n += r->streams[i].kind == LMI_WIRE_STREAM_KIND_GENERATE;
	return n;
}

/* Receives the reply to the op streams; returns the number of generations. */
static uint32_t receive_streams(int fd)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmd_error err = {0};
	struct lmi_wire_reply r;
	static char body[65536];
	uint8_t head[13];
	uint32_t n;

	ck_assert_int_eq(recv(fd, head, sizeof(head), MSG_WAITALL), sizeof(head));
	n = ((uint32_t)head[7] << 8 | head[8]) - 4;
	ck_assert_int_eq(recv(fd, body, n, MSG_WAITALL), n);
	ck_assert_msg(lmi_wire_reply_decode(&r, LMI_WIRE_OP_STREAMS, body, n, arena, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert(!r.failed);
	n = n_generations(&r.u.streams);
	lmi_arena_destroy(arena);
	return n;
}

/* A client that sends many requests at once does not delay another one until all of them were handled. */
START_TEST(turns_of_short_messages)
{
	struct lmi_wire_buf b = {0};
	struct lmi_wire_request req;
	struct lmd_error err = {0};
	uint32_t n = 0;
	int other;

	start("");
	lmt_add(&c, &d);
	lmi_wire_request_init(&req, LMI_WIRE_OP_STREAMS);
	ck_assert_msg(lmi_wire_request_encode(&b, &req, &err) == LMD_OK, "%s", err.text);
	other = lmt_raw_open(&d, true);
	/* which of the two is read first is a matter of chance */
	for (int i = 0; i < 200 && (!n || n == N_IN_TURN); i++) {
		int fd = lmt_raw_open(&d, true);

		ck_assert_int_eq(kill(d.pid, SIGSTOP), 0);
		send_many(fd);
		lmt_raw_send(other, b.n, b.p, b.n);
		ck_assert_int_eq(kill(d.pid, SIGCONT), 0);
		n = receive_streams(other);
		close(fd);
		while (n_generations(&lmt_ask_op(&c, LMI_WIRE_OP_STREAMS)->u.streams))
			ping();
	}
	ck_assert_msg(n && n < N_IN_TURN, "the other client always came before or after all requests");
	printf("turns_of_short_messages: another client came after %u of %d\n", n, N_IN_TURN);
	close(other);
	lmi_wire_buf_fini(&b);
	stop("turns_of_short_messages");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("front");
	TCase *t = tcase_create("connections");

	tcase_set_timeout(t, 180);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, connect_and_close);
	tcase_add_test(t, a_thousand_idle_ones);
	tcase_add_test(t, idle_ones_come_again);
	tcase_add_test(t, slow_senders);
	tcase_add_test(t, a_long_message_takes_longer);
	tcase_add_test(t, work_is_not_idle);
	tcase_add_test(t, message_bytes);
	tcase_add_test(t, long_messages);
	tcase_add_test(t, long_messages_at_once);
	tcase_add_test(t, turns_of_short_messages);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
