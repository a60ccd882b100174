/* SPDX-License-Identifier: MIT
 *
 * The daemon as a process: start and stop, errors at the start, signals, clients that disappear,
 * invalid messages. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

static struct lmt_daemon d;
static struct lmt_client c;
static char text[512];

static void set_up(void)
{
	lmt_daemon_init(&d);
}

static void tear_down(void)
{
	lmt_daemon_fini(&d);
}

#define ck_assert_says(text, what)                                                                 \
	ck_assert_msg(strstr(text, what) != NULL, "'%s': %.400s", what, text)

/* ---- start and stop ---- */

START_TEST(start_and_stop)
{
	const struct lmi_wire_reply *r;
	struct stat sb;

	lmt_daemon_start(&d, NULL);
	ck_assert_int_eq(stat(d.socket, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0660);
	ck_assert_int_eq(stat(d.state, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0700);
	lmt_client_open(&c, &d);
	r = lmt_ask_op(&c, LMI_WIRE_OP_PING);
	ck_assert(!r->failed && r->u.ping.state == LMI_WIRE_SERVER_STATE_READY);
	r = lmt_ask_op(&c, LMI_WIRE_OP_STATUS);
	ck_assert(!r->failed);
	ck_assert_int_eq(r->u.status.pid, d.pid);
	ck_assert_int_eq(r->u.status.connections, 1);
	r = lmt_ask_op(&c, LMI_WIRE_OP_HELLO);
	ck_assert_msg(!r->failed, "%.*s", (int)r->error.text.len, r->error.text.ptr);
	ck_assert(r->u.hello.role == LMI_WIRE_ROLE_ADMIN);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
	ck_assert_int_ne(stat(d.socket, &sb), 0);
	ck_assert_says(lmt_daemon_log(&d), "ready on ipc://");
	ck_assert_says(lmt_daemon_log(&d), "stopped");
	/* start again in the same folder */
	lmt_daemon_start(&d, NULL);
	lmt_daemon_stop(&d);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* An idle daemon needs little memory, and its memory does not grow. */
START_TEST(idle_memory)
{
	long kib[2];

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	for (int k = 0; k < 2; k++) {
		char path[64], line[128];
		FILE *f;

		for (int i = 0; i < 2000; i++)
			lmt_ask_op(&c, LMI_WIRE_OP_STATUS);
		snprintf(path, sizeof(path), "/proc/%d/status", (int)d.pid);
		f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		kib[k] = 0;
		while (!kib[k] && fgets(line, sizeof(line), f))
			(void)sscanf(line, "VmRSS: %ld kB", &kib[k]);
		fclose(f);
	}
	printf("idle memory: %ld KiB, %ld KiB\n", kib[0], kib[1]);
	ck_assert_int_gt(kib[0], 0);
	ck_assert_int_lt(kib[1], 64 * 1024);
	ck_assert_int_le(kib[1], kib[0] + 1024);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST
#endif

START_TEST(command_line)
{
	static const struct {
		const char *words[3];
		int status;
		const char *says;
	} cases[] = {
		{{"--no-such"}, 2, "unknown option '--no-such'; see llamad --help"},
		{{"start"}, 2, "unexpected argument 'start'"},
		{{"--log", "loud"}, 2, "option '--log': 'loud' is not one of"},
		{{"--config", "/no/such/file"}, 1, "/no/such/file"},
		{{"--socket", "tcp://127.0.0.1:1"}, 1, "is not ipc:// and an absolute path"},
		{{"--check-config", "--config", "/no/such/file"}, 1, "/no/such/file"},
		{{"--version"}, 0, "llamad 0."},
		{{"--help"}, 0, "Exit status"},
		{{"--check-config"}, 0, "repack_cache = "},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		const char *words[] = {cases[i].words[0], cases[i].words[1], cases[i].words[2],
				       NULL};
		int status = lmt_daemon_refused(&d, words, text, sizeof(text));

		ck_assert_msg(status == cases[i].status, "case %zu: status %d: %s", i, status,
			      text);
		ck_assert_msg(strstr(text, cases[i].says) != NULL, "case %zu: %s", i, text);
	}
}
END_TEST

START_TEST(second_daemon)
{
	struct lmt_daemon other = d;
	char state[160];
	const char *same_state[] = {"--socket", "ipc:///tmp/llamad-test-none.sock", NULL};
	const char *same_socket[] = {"--state-dir", state, NULL};

	lmt_daemon_start(&d, NULL);
	snprintf(state, sizeof(state), "%s/other", d.dir);
	other.pid = 0;
	ck_assert_int_eq(lmt_daemon_refused(&other, same_state, text, sizeof(text)), 1);
	ck_assert_says(text, "another llamad (pid ");
	ck_assert_says(text, d.state);
	ck_assert_int_eq(lmt_daemon_refused(&other, same_socket, text, sizeof(text)), 1);
	ck_assert_says(text, "another llamad is listening on ipc://");
	/* the first one is not affected */
	lmt_client_open(&c, &d);
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_PING)->failed);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

START_TEST(after_kill_9)
{
	struct stat sb;

	lmt_daemon_start(&d, NULL);
	kill(d.pid, SIGKILL);
	ck_assert_int_eq(lmt_daemon_exit(&d), 256 + SIGKILL);
	ck_assert_int_eq(stat(d.socket, &sb), 0); /* the stale socket */
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_PING)->failed);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

START_TEST(state_folder_that_cannot_be_written)
{
	const char *words[] = {"--state-dir", "/proc/llamad", NULL};

	ck_assert_int_eq(lmt_daemon_refused(&d, words, text, sizeof(text)), 1);
	ck_assert_says(text, "/proc/llamad: cannot create the folder");
}
END_TEST

START_TEST(state_folder_on_a_small_disk)
{
	static const struct {
		const char *options;
		unsigned long flags;
	} cases[] = {{"size=4k,mode=700", 0}, {"size=64k,mode=700", MS_RDONLY}};

	ck_assert_int_eq(mkdir(d.state, 0700), 0);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		int status;

		if (mount("none", d.state, "tmpfs", cases[i].flags, cases[i].options)) {
			LMD_SKIP("state_folder_on_a_small_disk", "mount: %s", strerror(errno));
			return;
		}
		status = lmt_daemon_refused(&d, NULL, text, sizeof(text));
		umount2(d.state, MNT_DETACH);
		ck_assert_msg(status == 1, "case %zu: status %d: %s", i, status, text);
		ck_assert_says(text, d.state);
	}
	/* the same folder, with free space */
	lmt_daemon_start(&d, NULL);
	lmt_daemon_stop(&d);
}
END_TEST

START_TEST(damaged_registry)
{
	char path[192];
	struct stat sb;
	FILE *f;

	/* after a clean end its tables are in the file */
	lmt_daemon_start(&d, NULL);
	lmt_daemon_stop(&d);
	lmt_daemon_start(&d, NULL);
	kill(d.pid, SIGKILL);
	lmt_daemon_exit(&d);
	snprintf(path, sizeof(path), "%s/registry.db-wal", d.state);
	unlink(path);
	path[strlen(path) - 4] = 0;
	ck_assert_int_eq(stat(path, &sb), 0);
	f = fopen(path, "r+");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, 4096, SEEK_SET), 0);
	for (long i = 4096; i < sb.st_size; i++)
		ck_assert_int_eq(fputc(0xA5, f), 0xA5);
	fclose(f);
	lmt_daemon_start(&d, NULL);
	ck_assert_says(lmt_daemon_log(&d), "the registry was damaged and has been replaced");
	ck_assert_says(lmt_daemon_log(&d), "registry.db.corrupt-");
	lmt_daemon_stop(&d);
}
END_TEST

/* ---- configuration ---- */

START_TEST(reload)
{
	const struct lmi_wire_reply *r;

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_daemon_config(&d, "[limits]\nconnections = 77\n");
	kill(d.pid, SIGHUP);
	lmt_daemon_wait(&d, "RELOADING=1\nMONOTONIC_USEC=");
	lmt_daemon_wait(&d, "READY=1");
	ck_assert_says(lmt_daemon_log(&d), "configuration reloaded");
	/* a file with an error is rejected as a whole */
	lmt_daemon_config(&d, "[limits]\nconnections = 1\nconnections = 2\n");
	kill(d.pid, SIGHUP);
	lmt_daemon_wait(&d, "READY=1");
	ck_assert_says(lmt_daemon_log(&d), "not reloaded, keeping the current one: ");
	ck_assert_says(lmt_daemon_log(&d), "the key 'connections' is already set in line");
	lmt_daemon_config(&d, "[daemon]\nsocket = ipc:///tmp/other\n[limits]\nconnections = 1\n");
	kill(d.pid, SIGHUP); /* the option --socket takes precedence */
	lmt_daemon_wait(&d, "READY=1");
	lmt_daemon_config(&d, "[limits]\nmessage_bytes = 1M\nconnections = 9\n");
	kill(d.pid, SIGHUP);
	lmt_daemon_wait(&d, "READY=1");
	ck_assert_says(lmt_daemon_log(&d), "'message_bytes' in [limits] has changed");
	/* by request */
	r = lmt_ask_op(&c, LMI_WIRE_OP_CONFIG_RELOAD);
	ck_assert(r->failed && r->error.code == LMD_UNSUPPORTED);
	lmt_daemon_config(&d, "[limits]\nconnections = 5\nsessions = 3\n");
	r = lmt_ask_op(&c, LMI_WIRE_OP_CONFIG_RELOAD);
	ck_assert(!r->failed);
	ck_assert_uint_eq(r->u.config_reload.n_changed, 2);
	ck_assert_int_eq(memcmp(r->u.config_reload.changed[0].ptr, "connections", 11), 0);
	ck_assert_int_eq(memcmp(r->u.config_reload.changed[1].ptr, "max_running", 11), 0);
	ck_assert_says(lmt_daemon_log(&d), "the key 'sessions' in [limits] is deprecated: use "
					   "'max_running'");
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* ---- connections ---- */

START_TEST(connections_leave_nothing)
{
	const struct lmi_wire_reply *r;
	uint32_t before, after;

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_ask_op(&c, LMI_WIRE_OP_PING);
	before = lmt_daemon_n_fd(&d);
	for (int i = 0; i < 1000; i++) {
		/* without a handshake, with one, with a request whose reply is not read */
		int fd = lmt_raw_open(&d, i % 3 != 0);

		if (i % 3 == 2)
			lmt_raw_send(fd, 1, "\xc0", 1);
		close(fd);
	}
	/* each request is a round trip, during which the connections end */
	do
		r = lmt_ask_op(&c, LMI_WIRE_OP_STATUS);
	while (r->u.status.connections > 1);
	do
		after = lmt_daemon_n_fd(&d);
	while (after > before && !lmt_ask_op(&c, LMI_WIRE_OP_PING)->failed);
	ck_assert_uint_eq(after, before);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* Sends a ping; returns false if the reply is that there are too many connections. */
static bool let_in(int fd)
{
	char reply[1024];
	ssize_t n = recv(fd, reply, sizeof(reply), 0);

	ck_assert_int_gt(n, 13);
	if (memmem(reply, (size_t)n, "state", 5))
		return true;
	ck_assert(memmem(reply, (size_t)n, "busy", 4));
	ck_assert(memmem(reply, (size_t)n, ": 10 are open, the maximum is 10", 32));
	return false;
}

START_TEST(too_many_connections)
{
	static const char ping[] = "\x82\xa1v\x01\xa2op\xa4ping";
	int fd[14];
	uint32_t n_in = 0;

	/* eight more are kept for administrators, such as the user of this test */
	lmt_daemon_config(&d, "[limits]\nconnections = 2\n");
	lmt_daemon_start(&d, NULL);
	for (int i = 0; i < 14; i++) {
		fd[i] = lmt_raw_open(&d, true);
		lmt_raw_send(fd[i], sizeof(ping) - 1, ping, sizeof(ping) - 1);
		n_in += let_in(fd[i]);
	}
	ck_assert_uint_eq(n_in, 10);
	/* rejected connections are closed; the others are served */
	for (int i = 0; i < 14; i++)
		if (i >= 10)
			ck_assert(lmt_raw_closed(fd[i]));
	/* after one is closed, another is accepted */
	close(fd[0]);
	for (n_in = 0; !n_in;) {
		int again = lmt_raw_open(&d, true);

		lmt_raw_send(again, sizeof(ping) - 1, ping, sizeof(ping) - 1);
		n_in = let_in(again);
		close(again);
	}
	for (int i = 1; i < 14; i++)
		close(fd[i]);
	ck_assert_says(lmt_daemon_log(&d), "connections rejected: ");
	lmt_daemon_stop(&d);
}
END_TEST

/* A client that sends requests and never reads: others are served, and its memory is bounded. */
START_TEST(a_client_that_does_not_read)
{
	static const char limits[] = "\x82\xa1v\x01\xa2op\xa6limits";
	int fd;

	lmt_daemon_config(&d, "[limits]\nidle = 0\n"); /* only the bytes can close it */
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	fd = lmt_raw_open(&d, true);
	for (int i = 0; i < 12000; i++) {
		lmt_raw_send(fd, sizeof(limits) - 1, limits, sizeof(limits) - 1);
		if (i % 100 == 0)
			ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_PING)->failed);
	}
	while (lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->u.status.connections > 1)
		;
	ck_assert_says(lmt_daemon_log(&d), "connections closed because the client did not read");
	close(fd);
	/* the shutdown does not wait for such a client */
	fd = lmt_raw_open(&d, true);
	for (int i = 0; i < 500; i++)
		lmt_raw_send(fd, sizeof(limits) - 1, limits, sizeof(limits) - 1);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
	close(fd);
}
END_TEST

/* ---- streams ---- */

/* Reads the available items and checks that the tokens count upwards; the vocabulary has 96. */
struct reader {
	struct lmi_wire_id id;
	int64_t after;
	int64_t n_token;
	lmd_token last;
	bool end;
	struct lmi_wire_item final;
};

static void read_on(struct lmt_client *client, struct reader *r)
{
	const struct lmi_wire_rep_next *n = lmt_next(client, &r->id, &r->after, 1000);

	for (uint32_t i = 0; i < n->n_items; i++) {
		const struct lmi_wire_item *item = &n->items[i];

		if (item->kind == LMI_WIRE_ITEM_TOKEN) {
			if (r->n_token)
				ck_assert_int_eq(item->u.token.token, (r->last + 1) % 96);
			r->last = item->u.token.token;
			r->n_token++;
		}
		if (item->kind == LMI_WIRE_ITEM_ERROR)
			ck_abort_msg("the stream failed: %.*s", (int)item->u.error.text.len,
				     item->u.error.text.ptr);
		if (lmi_wire_item_final(item->kind))
			r->final = *item;
	}
	r->end = n->end;
}

START_TEST(a_stream)
{
	struct reader r = {0};

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", 100, &r.id);
	while (!r.end)
		read_on(&c, &r);
	ck_assert_int_eq(r.n_token, 100);
	ck_assert_int_eq(r.final.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(r.final.u.done.finish, LMI_WIRE_FINISH_LENGTH);
	ck_assert_int_eq(r.final.u.done.n_out, 100);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* Invalid requests; each is answered with an error or closes the connection. */
static const struct {
	const char *name;
	uint64_t claimed; /* length stated in the frame; 0: that of the body */
	const void *body;
	size_t n;
	bool answered;
} garbage[] = {
	{"empty", 0, "", 0, true},
	{"one byte", 0, "\xc1", 1, true},
	{"nil", 0, "\xc0", 1, true},
	{"cut map", 0, "\x83\xa1v\x01", 4, true},
	{"array of 2^32-1", 0, "\xdd\xff\xff\xff\xff", 5, true},
	{"map of 2^32-1", 0, "\xdf\xff\xff\xff\xff", 5, true},
	{"bin of 2^32-1", 0, "\xc6\xff\xff\xff\xff", 5, true},
	{"nested arrays", 0,
	 "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	 "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	 "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91",
	 54, true},
	{"unknown op", 0, "\x82\xa1v\x01\xa2op\xa4 nop", 12, true},
	{"trailing bytes", 0, "\x82\xa1v\x01\xa2op\xa4ping\xc0", 13, true},
	{"a text", 0, "GET / HTTP/1.1\r\n\r\n", 18, true},
	{"giant frame", 1ull << 40, "x", 1, false},
	{"largest frame", UINT64_MAX - 4, "x", 1, false},
};

START_TEST(garbage_while_another_client_streams)
{
	struct reader r = {0};
	uint64_t seed = lmd_seed("garbage_while_another_client_streams", 5);

	lmt_daemon_config(&d, "ctx = 1M\n[limits]\nstream_bytes = 16M\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", 50000, &r.id);
	for (size_t i = 0; i < LMD_LEN(garbage); i++) {
		int fd = lmt_raw_open(&d, true);

		lmt_raw_send(fd, garbage[i].claimed ? garbage[i].claimed : garbage[i].n,
			     garbage[i].body, garbage[i].n);
		ck_assert_msg(lmt_raw_closed(fd) != garbage[i].answered, "%s", garbage[i].name);
		close(fd);
		read_on(&c, &r);
	}
	/* truncated frames, an incomplete header, random bytes */
	for (int i = 0; i < 64; i++) {
		uint8_t bytes[64];
		int fd = lmt_raw_open(&d, i % 8 != 0);

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)lmd_rand(&seed);
		if (i % 4 == 1)
			lmt_raw_send(fd, sizeof(bytes) * 2, bytes, sizeof(bytes));
		else if (i % 4 == 2)
			lmt_raw_send(fd, sizeof(bytes), bytes, sizeof(bytes));
		else
			(void)send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		close(fd);
		read_on(&c, &r);
	}
	while (!r.end)
		read_on(&c, &r);
	ck_assert_int_eq(r.n_token, 50000);
	ck_assert_int_eq(r.final.kind, LMI_WIRE_ITEM_DONE);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* An error reply repeats the op and rid of the message, if it has them. */
START_TEST(errors_name_their_request)
{
	static const char bad[] = "\x83\xa1v\x01\xa2op\xa4next\xa3rid\xa3xyz";
	const struct lmi_wire_reply *r;

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	r = lmt_ask_bytes(&c, LMI_WIRE_OP_NEXT, bad, sizeof(bad) - 1);
	ck_assert(r->failed);
	ck_assert_int_eq(r->op, LMI_WIRE_OP_NEXT);
	ck_assert_uint_eq(r->rid.len, 3);
	ck_assert_int_eq(memcmp(r->rid.ptr, "xyz", 3), 0);
	ck_assert_int_eq(r->error.code, LMD_INVALID);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* ---- stopping with work ---- */

START_TEST(drain_lets_a_stream_end)
{
	struct reader r = {0};

	lmt_daemon_config(&d, "ctx = 1M\n[limits]\nstream_bytes = 16M\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", 20000, &r.id);
	read_on(&c, &r);
	kill(d.pid, SIGTERM);
	lmt_daemon_wait(&d, "STOPPING=1");
	if (!r.end) { /* new work fails, the stream continues */
		struct lmi_wire_request req;

		lmi_wire_request_init(&req, LMI_WIRE_OP_GENERATE);
		req.rid = (struct lmd_str){.ptr = "late", .len = 4};
		req.u.generate.model = (struct lmd_str){.ptr = "tiny", .len = 4};
		req.u.generate.has_prompt = true;
		req.u.generate.prompt = (struct lmd_str){.ptr = "x", .len = 1};
		ck_assert_int_eq(lmt_ask(&c, &req)->error.code, LMD_CANCELLED);
	}
	while (!r.end)
		read_on(&c, &r);
	ck_assert_int_eq(r.n_token, 20000);
	ck_assert_int_eq(r.final.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(r.final.u.done.finish, LMI_WIRE_FINISH_LENGTH);
	ck_assert_int_eq(lmt_daemon_exit(&d), 0);
	lmt_client_close(&c);
}
END_TEST

START_TEST(drain_ends_what_takes_too_long)
{
	struct reader r = {0};

	d.endless = true;
	lmt_daemon_config(&d, "[daemon]\ndrain = 50ms\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", -1, &r.id);
	read_on(&c, &r);
	kill(d.pid, SIGTERM);
	while (!r.end)
		read_on(&c, &r);
	ck_assert_int_eq(r.final.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(r.final.u.done.finish, LMI_WIRE_FINISH_SHUTDOWN);
	ck_assert_int_eq(lmt_daemon_exit(&d), 0);
	lmt_client_close(&c);
}
END_TEST

START_TEST(second_signal_stops_at_once)
{
	struct reader r = {0};

	d.endless = true;
	lmt_daemon_config(&d, "[daemon]\ndrain = 1h\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", -1, &r.id);
	read_on(&c, &r);
	kill(d.pid, SIGTERM);
	lmt_daemon_wait(&d, "STOPPING=1");
	kill(d.pid, SIGINT);
	ck_assert_int_eq(lmt_daemon_exit(&d), 0);
	lmt_client_close(&c);
}
END_TEST

/* Long texts of a client that has left do not keep the daemon from ending: without a limit it would
 * tokenise all of them first, which takes minutes. */
START_TEST(work_of_a_client_that_left)
{
	const size_t n = 15u << 20;
	struct lmi_wire_buf buf = {0};
	struct lmi_wire_request req;
	char *letters = malloc(n);
	struct timespec from, to;
	int fd;

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	memset(letters, 'a', n);
	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	req.u.tokenize.model = (struct lmd_str){.ptr = "tiny", .len = 4};
	req.u.tokenize.text = (struct lmd_str){.ptr = letters, .len = n};
	ck_assert_int_eq(lmi_wire_request_encode(&buf, &req, NULL), LMD_OK);
	fd = lmt_raw_open(&d, true);
	for (int i = 0; i < 8; i++)
		lmt_raw_send(fd, buf.n, buf.p, buf.n);
	close(fd);
	(void)lmt_ask_op(&c, LMI_WIRE_OP_PING);
	lmt_client_close(&c);
	clock_gettime(CLOCK_MONOTONIC, &from);
	kill(d.pid, SIGTERM);
	ck_assert_int_eq(lmt_daemon_exit(&d), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ck_assert_msg(to.tv_sec - from.tv_sec < 30, "the end took %d s",
		      (int)(to.tv_sec - from.tv_sec));
	lmi_wire_buf_fini(&buf);
	free(letters);
}
END_TEST

START_TEST(shutdown_by_request)
{
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_SHUTDOWN)->failed);
	ck_assert_int_eq(lmt_daemon_exit(&d), 0);
	lmt_client_close(&c);
}
END_TEST

/* ---- clients that vanish ---- */

/* Returns a metric of the op stats. */
static double metric(const char *name)
{
	const struct lmi_wire_reply *r = lmt_ask_op(&c, LMI_WIRE_OP_STATS);

	ck_assert(!r->failed);
	for (uint32_t i = 0; i < r->u.stats.n_metrics; i++) {
		const struct lmi_wire_metric *m = &r->u.stats.metrics[i];

		if (m->name.len == strlen(name) && !memcmp(m->name.ptr, name, m->name.len))
			return m->value;
	}
	ck_abort_msg("there is no metric %s", name);
	return 0;
}

/* A model of the registry is loaded when the daemon starts; one that does not exist is logged. */
START_TEST(preload)
{
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
	lmt_daemon_config(&d, "[model nosuch]\npreload = on\n[model tiny]\npreload = on\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	while (!lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->u.status.resident)
		;
	ck_assert_says(lmt_daemon_log(&d), "model not preloaded; model=nosuch: ");
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

/* A client in another process is killed while it reads a stream: the generation ends and its pages
 * are freed. */
START_TEST(killed_client)
{
	const struct lmi_wire_reply *r;
	int ready[2], status;
	double n_step;
	pid_t child;
	char byte;

	d.endless = true;
	lmt_daemon_config(&d, "");
	lmt_daemon_start(&d, NULL);
	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (!child) {
		struct reader mine = {0};

		lmt_client_open(&c, &d);
		lmt_add(&c, &d);
		lmt_generate(&c, "tiny", -1, &mine.id);
		while (!mine.n_token) /* loading takes its time */
			read_on(&c, &mine);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			read_on(&c, &mine);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	lmt_client_open(&c, &d);
	r = lmt_ask_op(&c, LMI_WIRE_OP_STATUS);
	ck_assert_int_eq(r->u.status.running, 1);
	ck_assert_int_eq(r->u.status.connections, 2);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	/* without a request, and much sooner than the lease of 10 s */
	do
		r = lmt_ask_op(&c, LMI_WIRE_OP_STATUS);
	while (r->u.status.running || r->u.status.connections > 1);
	ck_assert(metric("llamad_kv_pages_total") > 0);
	while (metric("llamad_kv_pages_used") > 0)
		;
	do /* metrics of engines are those of their last step */
		n_step = metric("llamad_steps_total");
	while (n_step == 0);
	for (int i = 0; i < 100; i++)
		lmt_ask_op(&c, LMI_WIRE_OP_PING);
	ck_assert(metric("llamad_steps_total") == n_step);
	ck_assert(metric("llamad_cancelled_total") == 1);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("llamad");
	TCase *t = tcase_create("process");

	tcase_set_timeout(t, 180);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, start_and_stop);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	tcase_add_test(t, idle_memory);
#endif
	tcase_add_test(t, command_line);
	tcase_add_test(t, second_daemon);
	tcase_add_test(t, after_kill_9);
	tcase_add_test(t, state_folder_that_cannot_be_written);
	tcase_add_test(t, state_folder_on_a_small_disk);
	tcase_add_test(t, damaged_registry);
	tcase_add_test(t, reload);
	tcase_add_test(t, preload);
	suite_add_tcase(s, t);
	t = tcase_create("clients");
	tcase_set_timeout(t, 180);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, connections_leave_nothing);
	tcase_add_test(t, too_many_connections);
	tcase_add_test(t, a_client_that_does_not_read);
	tcase_add_test(t, a_stream);
	tcase_add_test(t, garbage_while_another_client_streams);
	tcase_add_test(t, errors_name_their_request);
	tcase_add_test(t, drain_lets_a_stream_end);
	tcase_add_test(t, drain_ends_what_takes_too_long);
	tcase_add_test(t, second_signal_stops_at_once);
	tcase_add_test(t, work_of_a_client_that_left);
	tcase_add_test(t, shutdown_by_request);
	tcase_add_test(t, killed_client);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
