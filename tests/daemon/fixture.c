/* SPDX-License-Identifier: MIT */
#include "tests/daemon/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/tls/tls.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define ARENA_BYTES (64ull << 20)

/* ---- the daemon ---- */

static void put_path(char *out, size_t n, const char *dir, const char *name)
{
	ck_assert_int_lt(snprintf(out, n, "%s/%s", dir, name), (int)n);
}

static int manager(const char *dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	put_path(addr.sun_path, sizeof(addr.sun_path), dir, "notify");
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

void lmt_daemon_init(struct lmt_daemon *d)
{
	*d = (struct lmt_daemon){.dir = "/tmp/llamad-test-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(d->dir));
	put_path(d->socket, sizeof(d->socket), d->dir, "run/llamad.sock");
	snprintf(d->url, sizeof(d->url), "ipc://%s", d->socket);
	put_path(d->state, sizeof(d->state), d->dir, "state");
	put_path(d->config, sizeof(d->config), d->dir, "llamad.conf");
	put_path(d->model, sizeof(d->model), d->dir, "tiny.gguf");
	put_path(d->plugins, sizeof(d->plugins), d->dir, "plugins");
	put_path(d->log, sizeof(d->log), d->dir, "log");
	d->notify = manager(d->dir);
	lmt_tiny_write(LMT_FULL, 1, d->model);
	lmt_daemon_config(d, "");
}

void lmt_daemon_fini(struct lmt_daemon *d)
{
	char command[128];

	if (d->pid) {
		kill(d->pid, SIGKILL);
		waitpid(d->pid, NULL, 0);
	}
	close(d->notify);
	snprintf(command, sizeof(command), "rm -rf %s", d->dir);
	ck_assert_int_eq(system(command), 0);
}

void lmt_daemon_config(struct lmt_daemon *d, const char *text)
{
	FILE *f = fopen(d->config, "w");

	ck_assert_ptr_nonnull(f);
	if (d->endless)
		fputs("[limits]\nstream_bytes = 256M\nlease_default = 5m\n"
		      "[engine]\nctx = 4M\nkv_tokens = 4M\n", f);
	fprintf(f, "[engine]\nbackend = null\nthreads = 1\n%s", text);
	ck_assert_int_eq(fclose(f), 0);
}

#define MAX_WORDS 32

static void spawn(struct lmt_daemon *d, const char *const *extra)
{
	char program[512], notify[128], suppressions[600];
	const char *argv[MAX_WORDS] = {program,    "--config",     d->config,
				       "--socket", d->url,         "--state-dir",
				       d->state,   "--plugin-dir", d->plugins};
	int n = 9;
	struct stat sb;

	put_path(program, sizeof(program), lmd_build_dir(), "llamad");
	snprintf(suppressions, sizeof(suppressions), "suppressions=%s/tests/daemon/lsan.supp",
		 lmd_source_dir());
	put_path(notify, sizeof(notify), d->dir, "notify");
	if (stat(d->plugins, &sb)) /* no folder of its own: use the build's plugins */
		n -= 2;
	for (; extra && *extra; extra++) {
		ck_assert_int_lt(n, MAX_WORDS - 1);
		argv[n++] = *extra;
	}
	argv[n] = NULL;
	d->pid = fork();
	ck_assert_int_ge(d->pid, 0);
	if (!d->pid) {
		int log = open(d->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		if (log < 0 || dup2(log, STDERR_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0)
			_exit(127);
		close(log);
		setenv("NOTIFY_SOCKET", notify, 1);
		setenv("LLAMAD_DUMPABLE", "1", 1); /* lmt_daemon_n_fd looks into it */
		if (d->endless) /* 4M tokens in 200 seconds */
			setenv("LLAMAD_NULL_STEP_US", "50", 1);
		setenv("LSAN_OPTIONS", suppressions, 0);
		unsetenv("JOURNAL_STREAM");
		execv(program, (char *const *)argv);
		_exit(127);
	}
}

/* Waits for the process to end or, if notify >= 0, for a datagram; returns true for a datagram. */
static bool wait_either(const struct lmt_daemon *d, int notify)
{
	struct pollfd p[2] = {{.events = POLLIN}, {.fd = notify, .events = POLLIN}};
	int rv;

	p[0].fd = (int)syscall(SYS_pidfd_open, d->pid, 0);
	ck_assert_int_ge(p[0].fd, 0);
	rv = poll(p, notify >= 0 ? 2 : 1, LMT_PATIENCE_MS);
	close(p[0].fd);
	ck_assert_msg(rv > 0, "the daemon does nothing; its log: %.3000s",
		      lmt_daemon_log((struct lmt_daemon *)(uintptr_t)d));
	return notify >= 0 && (p[1].revents & POLLIN);
}

void lmt_daemon_wait(struct lmt_daemon *d, const char *what)
{
	char text[1024];

	for (;;) {
		ssize_t n;

		ck_assert_msg(wait_either(d, d->notify), "the daemon ended; its log: %.3000s",
			      lmt_daemon_log(d));
		n = recv(d->notify, text, sizeof(text) - 1, 0);
		ck_assert_int_gt((int)n, 0);
		text[n] = 0;
		if (strstr(text, what))
			return;
	}
}

static void forget_messages(struct lmt_daemon *d)
{
	char text[1024];

	while (recv(d->notify, text, sizeof(text), MSG_DONTWAIT) > 0)
		;
}

void lmt_daemon_start(struct lmt_daemon *d, const char *const *extra)
{
	forget_messages(d);
	spawn(d, extra);
	lmt_daemon_wait(d, "READY=1");
}

int lmt_daemon_exit(struct lmt_daemon *d)
{
	int status = 0;

	(void)wait_either(d, -1);
	ck_assert_int_eq(waitpid(d->pid, &status, 0), d->pid);
	d->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int lmt_daemon_refused(struct lmt_daemon *d, const char *const *extra, char *text, size_t n)
{
	const char *log, *line;
	int status;

	spawn(d, extra);
	status = lmt_daemon_exit(d);
	log = lmt_daemon_log(d);
	line = log + strlen(log);
	while (line > log && (line[-1] != '\n' || !line[0]))
		line--;
	snprintf(text, n, "%.*s", (int)strcspn(line, "\n"), line);
	return status;
}

void lmt_daemon_stop(struct lmt_daemon *d)
{
	int status;

	ck_assert_int_eq(kill(d->pid, SIGTERM), 0);
	status = lmt_daemon_exit(d);
	ck_assert_msg(status == 0, "status %d; log: %.3000s", status, lmt_daemon_log(d));
}

const char *lmt_daemon_log(struct lmt_daemon *d)
{
	static char text[65536];
	FILE *f = fopen(d->log, "r");
	size_t n = 0;

	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	return text;
}

uint32_t lmt_daemon_n_fd(const struct lmt_daemon *d)
{
	char path[64];
	uint32_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)d->pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- clients ---- */

int lmt_client_dial(struct lmt_client *c, const char *url, const char *ca)
{
	nng_dialer dialer;
	int rv;

	*c = (struct lmt_client){0};
	ck_assert_int_eq(nng_req0_open(&c->sock), 0);
	/* a lost request is a failure and is not repeated */
	ck_assert_int_eq(nng_socket_set_ms(c->sock, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE),
			 0);
	ck_assert_int_eq(nng_socket_set_ms(c->sock, NNG_OPT_RECVTIMEO, LMT_PATIENCE_MS), 0);
	ck_assert_int_eq(nng_socket_set_ms(c->sock, NNG_OPT_SENDTIMEO, LMT_PATIENCE_MS), 0);
	ck_assert_int_eq(nng_dialer_create(&dialer, c->sock, url), 0);
	if (ca)
		ck_assert_int_eq(nng_dialer_set_string(dialer, NNG_OPT_TLS_CA_FILE, ca), 0);
	rv = nng_dialer_start(dialer, 0);
	if (rv)
		ck_assert_int_eq(nng_close(c->sock), 0);
	return rv;
}

void lmt_client_open(struct lmt_client *c, const struct lmt_daemon *d)
{
	ck_assert_int_eq(lmt_client_dial(c, d->url, NULL), 0);
}

static void forget_reply(struct lmt_client *c)
{
	lmi_arena_destroy(c->arena);
	c->arena = NULL;
	if (c->reply)
		nng_msg_free(c->reply);
	c->reply = NULL;
}

void lmt_client_close(struct lmt_client *c)
{
	forget_reply(c);
	ck_assert_int_eq(nng_close(c->sock), 0);
}

const struct lmi_wire_reply *lmt_ask_bytes(struct lmt_client *c, enum lmi_wire_op op,
					   const void *bytes, size_t n)
{
	struct lmd_error err = {0};
	nng_msg *msg;
	int rv;

	forget_reply(c);
	ck_assert_int_eq(nng_msg_alloc(&msg, 0), 0);
	ck_assert_int_eq(nng_msg_append(msg, bytes, n), 0);
	rv = nng_sendmsg(c->sock, msg, 0);
	ck_assert_msg(rv == 0, "send: %s", nng_strerror(rv));
	rv = nng_recvmsg(c->sock, &c->reply, 0);
	ck_assert_msg(rv == 0, "receive: %s", nng_strerror(rv));
	c->arena = lmi_arena_create(ARENA_BYTES);
	ck_assert_ptr_nonnull(c->arena);
	ck_assert_msg(lmi_wire_reply_decode(&c->r, op, nng_msg_body(c->reply),
					    nng_msg_len(c->reply), c->arena, &err) == LMD_OK,
		      "%s", err.text);
	return &c->r;
}

const struct lmi_wire_reply *lmt_ask(struct lmt_client *c, const struct lmi_wire_request *req)
{
	struct lmi_wire_buf b = {0};
	struct lmd_error err = {0};
	const struct lmi_wire_reply *r;

	ck_assert_msg(lmi_wire_request_encode(&b, req, &err) == LMD_OK, "%s", err.text);
	r = lmt_ask_bytes(c, req->op, b.p, b.n);
	lmi_wire_buf_fini(&b);
	return r;
}

const struct lmi_wire_reply *lmt_ask_op(struct lmt_client *c, enum lmi_wire_op op)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, op);
	return lmt_ask(c, &req);
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* Returns a new request id. */
static struct lmd_str new_rid(void)
{
	static unsigned serial;
	static char rid[32];

	snprintf(rid, sizeof(rid), "test-%d-%u", (int)getpid(), ++serial);
	return str(rid);
}

void lmt_new_rid(struct lmi_wire_request *req)
{
	req->rid = new_rid();
}

void lmt_add_as(struct lmt_client *c, const struct lmt_daemon *d, const char *name)
{
	const struct lmi_wire_rep_next *n;
	const struct lmi_wire_reply *r;
	struct lmi_wire_request req;
	struct lmi_wire_id id;
	int64_t after = 0;

	lmi_wire_request_init(&req, LMI_WIRE_OP_ADD);
	req.rid = new_rid();
	req.u.add.name = str(name);
	req.u.add.path = str(d->model);
	r = lmt_ask(c, &req);
	ck_assert_msg(!r->failed, "add: %.*s", (int)r->error.text.len, r->error.text.ptr);
	id = r->u.add.id;
	do {
		n = lmt_next(c, &id, &after, LMT_PATIENCE_MS);
		if (n->n_items && n->items[n->n_items - 1].kind == LMI_WIRE_ITEM_ERROR)
			ck_abort_msg("add: %.*s", (int)n->items[n->n_items - 1].u.error.text.len,
				     n->items[n->n_items - 1].u.error.text.ptr);
	} while (!n->end);
}

void lmt_add(struct lmt_client *c, const struct lmt_daemon *d)
{
	lmt_add_as(c, d, "tiny");
}

void lmt_generate(struct lmt_client *c, const char *model, int64_t n, struct lmi_wire_id *id)
{
	const struct lmi_wire_reply *r;
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_GENERATE);
	req.rid = new_rid();
	req.u.generate.model = str(model);
	req.u.generate.has_prompt = true;
	req.u.generate.prompt = str("!");
	req.u.generate.has_n = true;
	req.u.generate.n = n;
	req.u.generate.has_temp = true;
	req.u.generate.temp = 0;
	req.u.generate.ignore_eog = true;
	r = lmt_ask(c, &req);
	ck_assert_msg(!r->failed, "generate: %.*s", (int)r->error.text.len, r->error.text.ptr);
	*id = r->u.generate.id;
}

const struct lmi_wire_rep_next *lmt_next(struct lmt_client *c, const struct lmi_wire_id *id,
					 int64_t *after, int64_t wait_ms)
{
	const struct lmi_wire_reply *r;
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_NEXT);
	req.u.next.id = *id;
	req.u.next.after = *after;
	req.u.next.has_wait_ms = true;
	req.u.next.wait_ms = wait_ms;
	req.u.next.has_hold_ms = true;
	req.u.next.hold_ms = 0;
	req.u.next.max = 4096;
	r = lmt_ask(c, &req);
	ck_assert_msg(!r->failed, "next: %.*s", (int)r->error.text.len, r->error.text.ptr);
	*after = r->u.next.last;
	return &r->u.next;
}

/* ---- bytes ---- */

static void put_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t w = send(fd, p, n, MSG_NOSIGNAL);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return; /* closed by the daemon, which the test expects */
		p += w;
		n -= (size_t)w;
	}
}

int lmt_raw_open(const struct lmt_daemon *d, bool hello)
{
	static const uint8_t req[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t rep[8];

	ck_assert_int_ge(fd, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", d->socket);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (hello) {
		put_all(fd, req, sizeof(req));
		ck_assert_int_eq(recv(fd, rep, sizeof(rep), MSG_WAITALL), sizeof(rep));
		ck_assert_int_eq(rep[5], 0x31);
	}
	return fd;
}

static void put_be(uint8_t *p, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
}

void lmt_raw_send(int fd, uint64_t claimed, const void *body, size_t n)
{
	uint8_t head[13] = {1};

	put_be(head + 1, claimed + 4, 8);
	put_be(head + 9, 0x80000001u, 4);
	put_all(fd, head, sizeof(head));
	put_all(fd, body, n);
}

bool lmt_raw_closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	ck_assert_int_eq(poll(&p, 1, LMT_PATIENCE_MS), 1);
	return recv(fd, &c, 1, 0) <= 0;
}
