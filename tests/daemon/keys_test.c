/* SPDX-License-Identifier: MIT
 *
 * Clients over TCP and TLS: authentication, permissions, expiry. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "llamad/client.h"
#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

static struct lmt_daemon d;
static struct lmt_client admin; /* on the unix socket */
static char url[64];

static void set_up(void)
{
	lmt_daemon_init(&d);
}

static void tear_down(void)
{
	lmt_daemon_fini(&d);
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static int64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#define ck_assert_says(e, what)                                                                    \
	ck_assert_msg(memmem((e).text.ptr, (e).text.len, what, strlen(what)) != NULL,              \
		      "'%s': %.*s", what, (int)(e).text.len, (e).text.ptr)

#define REFUSED(r, status, say_hello, what)                                                        \
	do {                                                                                       \
		const struct lmi_wire_reply *reply_ = (r);                                         \
                                                                                                   \
		ck_assert(reply_->failed);                                                         \
		ck_assert_says(reply_->error, what);                                               \
		ck_assert_int_eq(reply_->error.code, status);                                      \
		ck_assert_int_eq(reply_->error.hello, say_hello);                                  \
	} while (0)

/* ---- keys ---- */

static const struct lmi_wire_reply *add_key(const char *label, const char *secret, int role,
					    int64_t expires_ms)
{
	uint8_t bytes[LMI_SHA256_BYTES];
	char digest[LMI_SHA256_HEX];
	struct lmi_sha256 h;
	struct lmi_wire_request req;

	ck_assert(lmi_sha256_init(&h));
	lmi_sha256_update(&h, secret, strlen(secret));
	ck_assert(lmi_sha256_final(&h, bytes));
	lmi_sha256_hex(digest, bytes);
	lmi_wire_request_init(&req, LMI_WIRE_OP_KEY_ADD);
	req.u.key_add.label = str(label);
	req.u.key_add.digest = str(digest);
	req.u.key_add.role = role;
	req.u.key_add.expires_ms = expires_ms;
	return lmt_ask(&admin, &req);
}

static bool rm_key(const char *label)
{
	struct lmi_wire_request req;
	const struct lmi_wire_reply *r;

	lmi_wire_request_init(&req, LMI_WIRE_OP_KEY_RM);
	req.u.key_rm.label = str(label);
	r = lmt_ask(&admin, &req);
	ck_assert(!r->failed);
	return r->u.key_rm.found;
}

/* Starts a daemon with the keys u (user, "user secret") and a (admin, "admin secret") that also
 * listens on `listen`; url is the actual address. */
static void start(const char *config, const char *listen, const char *const *extra)
{
	const char *words[16] = {"--listen", listen};
	const char *log, *at;

	lmt_daemon_config(&d, config);
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&admin, &d);
	ck_assert(!add_key("u", "user secret", LMI_WIRE_ROLE_USER, 0)->failed);
	ck_assert(!add_key("a", "admin secret", LMI_WIRE_ROLE_ADMIN, 0)->failed);
	lmt_client_close(&admin);
	lmt_daemon_stop(&d);
	for (int i = 2; extra && *extra; extra++)
		words[i++] = *extra;
	lmt_daemon_start(&d, words);
	log = lmt_daemon_log(&d);
	at = strstr(log, "listening on ");
	ck_assert_ptr_nonnull(at);
	snprintf(url, sizeof(url), "%.*s", (int)strcspn(at + 13, "\n"), at + 13);
	lmt_client_open(&admin, &d);
}

static void stop(void)
{
	lmt_client_close(&admin);
	lmt_daemon_stop(&d);
}

static const struct lmi_wire_reply *hello(struct lmt_client *c, const char *key)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_HELLO);
	req.u.hello.key = str(key);
	return lmt_ask(c, &req);
}

static void dial(struct lmt_client *c)
{
	ck_assert_int_eq(lmt_client_dial(c, url, NULL), 0);
}

/* ---- managing ---- */

START_TEST(managing)
{
	const struct lmi_wire_reply *r;

	lmt_daemon_start(&d, NULL);
	lmt_client_open(&admin, &d);
	ck_assert(!add_key("one", "1", LMI_WIRE_ROLE_USER, 0)->failed);
	ck_assert(!add_key("one", "1", LMI_WIRE_ROLE_USER, 0)->failed); /* the same key again */
	REFUSED(add_key("one", "2", LMI_WIRE_ROLE_USER, 0), LMD_INVALID, false,
		"label 'one': already used by another key");
	REFUSED(add_key("two", "1", LMI_WIRE_ROLE_USER, 0), LMD_INVALID, false, "already exists");
	REFUSED(add_key("two", "2", LMI_WIRE_ROLE_USER, wall_ms() - 1), LMD_INVALID, false,
		"expires_ms: ");
	ck_assert(!add_key("two", "2", LMI_WIRE_ROLE_ADMIN, wall_ms() + 100000)->failed);
	r = lmt_ask_op(&admin, LMI_WIRE_OP_KEYS);
	ck_assert(!r->failed);
	ck_assert_uint_eq(r->u.keys.n_keys, 2);
	ck_assert_int_eq(r->u.keys.keys[1].role, LMI_WIRE_ROLE_ADMIN);
	ck_assert(!r->u.keys.keys[1].expired && r->u.keys.keys[1].expires_ms > wall_ms());
	ck_assert(rm_key("one") && !rm_key("one"));
	ck_assert_uint_eq(lmt_ask_op(&admin, LMI_WIRE_OP_KEYS)->u.keys.n_keys, 1);
	stop();
}
END_TEST

START_TEST(no_key_no_start)
{
	const char *words[] = {"--listen", "tcp://127.0.0.1:0", NULL};
	char text[512];

	ck_assert_int_eq(lmt_daemon_refused(&d, words, text, sizeof(text)), 1);
	ck_assert_msg(strstr(text, "need an API key") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "llamactl key add LABEL") != NULL, "%s", text);
	/* an expired key does not count */
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&admin, &d);
	ck_assert(!add_key("short", "1", LMI_WIRE_ROLE_USER, wall_ms() + 200)->failed);
	do
		ck_assert(!lmt_ask_op(&admin, LMI_WIRE_OP_KEYS)->failed);
	while (!admin.r.u.keys.keys[0].expired);
	stop();
	ck_assert_int_eq(lmt_daemon_refused(&d, words, text, sizeof(text)), 1);
	ck_assert_msg(strstr(text, "need an API key") != NULL, "%s", text);
}
END_TEST

/* ---- permissions ---- */

START_TEST(strangers)
{
	static uint8_t bytes[(64 << 10) + 1];
	struct lmt_client c;

	start("", "tcp://127.0.0.1:0", NULL);
	dial(&c);
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_PING)->failed);
	for (int op = LMI_WIRE_OP_NONE + 1; op < LMI_WIRE_N_OP; op++) {
		static const char request[] = "\x82\xa1v\x01\xa2op";
		const char *name = lmi_wire_ops[op].name;
		char text[64];
		int n;

		if (op == LMI_WIRE_OP_PING || op == LMI_WIRE_OP_HELLO)
			continue;
		n = snprintf(text, sizeof(text), "%s%c%s", request, 0xa0 | (int)strlen(name), name);
		/* ops with required fields would be invalid requests */
		ck_assert(lmt_ask_bytes(&c, op, text, (size_t)n)->failed);
		ck_assert(c.r.error.code == LMD_INVALID || c.r.error.code == LMD_DENIED);
	}
	REFUSED(lmt_ask_op(&c, LMI_WIRE_OP_STATUS), LMD_DENIED, true,
		"op status requires a key: send hello with a key on this connection");
	REFUSED(lmt_ask_bytes(&c, LMI_WIRE_OP_PING, bytes, sizeof(bytes)), LMD_INVALID, false,
		"the message has 65537 bytes, the maximum is 65536 before hello");
	REFUSED(hello(&c, ""), LMD_DENIED, false, "hello: the key is missing");
	REFUSED(hello(&c, "user secre"), LMD_DENIED, false, "hello: the key is unknown");
	REFUSED(lmt_ask_op(&c, LMI_WIRE_OP_STATUS), LMD_DENIED, true, "requires a key");
	lmt_client_close(&c);
	stop();
}
END_TEST

START_TEST(roles)
{
	struct lmt_client c, same;
	struct lmi_wire_request req;
	struct lmi_wire_id id;
	int64_t after = 0;

	start("", "tcp://127.0.0.1:0", NULL);
	lmt_add(&admin, &d);
	dial(&c);
	ck_assert(!hello(&c, "user secret")->failed);
	ck_assert_int_eq(c.r.u.hello.role, LMI_WIRE_ROLE_USER);
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->failed);
	REFUSED(lmt_ask_op(&c, LMI_WIRE_OP_SHUTDOWN), LMD_DENIED, false, "requires the role admin");
	REFUSED(lmt_ask_op(&c, LMI_WIRE_OP_KEYS), LMD_DENIED, false, "requires the role admin");
	ck_assert(!hello(&c, "")->failed); /* it is authenticated */
	/* a stream belongs to the key: another connection with that key can read it, another key
	 * cannot */
	lmt_generate(&c, "tiny", 5, &id);
	dial(&same);
	ck_assert(!hello(&same, "user secret")->failed);
	while (!lmt_next(&same, &id, &after, 1000)->end)
		;
	ck_assert(!hello(&same, "admin secret")->failed);
	ck_assert_int_eq(same.r.u.hello.role, LMI_WIRE_ROLE_ADMIN);
	lmi_wire_request_init(&req, LMI_WIRE_OP_NEXT);
	req.u.next.id = id;
	REFUSED(lmt_ask(&same, &req), LMD_NOTFOUND, false, "no stream has the id");
	/* an admin with a key cannot manage keys, or give paths unless model_dir is configured */
	REFUSED(lmt_ask_op(&same, LMI_WIRE_OP_KEYS), LMD_DENIED, false, "only on the unix socket");
	lmi_wire_request_init(&req, LMI_WIRE_OP_ADD);
	lmt_new_rid(&req);
	req.u.add.name = str("more");
	req.u.add.path = str(d.model);
	REFUSED(lmt_ask(&same, &req), LMD_DENIED, false, "unless model_dir is configured");
	ck_assert(!lmt_ask_op(&same, LMI_WIRE_OP_DRAIN)->failed);
	lmt_client_close(&same);
	lmt_client_close(&c);
	stop();
}
END_TEST

START_TEST(an_admin_with_a_model_folder)
{
	char config[128];
	struct lmt_client c;

	snprintf(config, sizeof(config), "[models]\nmodel_dir = %s\n", d.dir);
	start(config, "tcp://[::1]:0", NULL);
	dial(&c);
	ck_assert(!hello(&c, "admin secret")->failed);
	lmt_add(&c, &d);
	lmt_client_close(&c);
	stop();
}
END_TEST

/* ---- keys that end ---- */

START_TEST(removed_while_connected)
{
	struct lmt_client c, other;
	struct lmi_wire_id id;
	int64_t after = 0;

	d.endless = true;
	start("", "tcp://127.0.0.1:0", NULL);
	lmt_add(&admin, &d);
	dial(&c);
	dial(&other);
	ck_assert(!hello(&c, "user secret")->failed);
	ck_assert(!hello(&other, "admin secret")->failed);
	lmt_generate(&c, "tiny", -1, &id);
	(void)lmt_next(&c, &id, &after, 1000);
	ck_assert_int_eq(lmt_ask_op(&admin, LMI_WIRE_OP_STATUS)->u.status.running, 1);
	ck_assert(rm_key("u"));
	REFUSED(lmt_ask_op(&c, LMI_WIRE_OP_STATUS), LMD_DENIED, true, "requires a key");
	REFUSED(hello(&c, "user secret"), LMD_DENIED, false, "hello: the key is unknown");
	while (lmt_ask_op(&admin, LMI_WIRE_OP_STATUS)->u.status.running)
		;
	ck_assert(!lmt_ask_op(&other, LMI_WIRE_OP_STATUS)->failed);
	/* the same connection with another key */
	ck_assert(!hello(&c, "admin secret")->failed);
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->failed);
	lmt_client_close(&c);
	lmt_client_close(&other);
	stop();
}
END_TEST

START_TEST(expired_while_connected)
{
	struct lmt_client c;
	const struct lmi_wire_reply *r;

	start("", "tcp://127.0.0.1:0", NULL);
	ck_assert(!add_key("short", "short secret", LMI_WIRE_ROLE_USER, wall_ms() + 700)->failed);
	dial(&c);
	ck_assert(!hello(&c, "short secret")->failed);
	do
		r = lmt_ask_op(&c, LMI_WIRE_OP_STATUS);
	while (!r->failed);
	REFUSED(r, LMD_DENIED, true, "requires a key");
	REFUSED(hello(&c, "short secret"), LMD_DENIED, false, "the key 'short' has expired");
	lmt_client_close(&c);
	stop();
}
END_TEST

START_TEST(guessing)
{
	struct lmt_client c, other;
	int n = 0;

	start("", "tcp://127.0.0.1:0", NULL);
	dial(&other);
	ck_assert(!hello(&other, "user secret")->failed);
	dial(&c);
	while (hello(&c, "a guess")->error.code == LMD_DENIED)
		n++;
	ck_assert_int_eq(n, 10);
	ck_assert_int_eq(c.r.error.code, LMD_BUSY);
	ck_assert_says(c.r.error, "wrong keys from 127.0.0.1: at most 10 attempts");
	ck_assert(c.r.error.has_retry_ms && c.r.error.retry_ms > 0);
	/* neither on another connection nor with the correct key */
	lmt_client_close(&c);
	dial(&c);
	ck_assert_int_eq(hello(&c, "user secret")->error.code, LMD_BUSY);
	/* authenticated connections are not affected */
	ck_assert(!lmt_ask_op(&other, LMI_WIRE_OP_STATUS)->failed);
	lmt_client_close(&c);
	lmt_client_close(&other);
	stop();
}
END_TEST

static enum lmd_status call(struct lmd_client *c, const char *op, const char *members,
			    struct lmd_error *err)
{
	char *reply = NULL;
	enum lmd_status st = lmd_client_call(c, op, members, &reply, err);

	if (st == LMD_OK)
		lmd_client_free(reply);
	return st;
}

/* The library sends hello again after a reconnect. */
START_TEST(connecting_again)
{
	struct lmd_client_opts o = {.struct_size = sizeof(o), .url = d.url};
	struct lmd_client *c, *local;
	struct lmd_error err = {0};

	start("[limits]\nidle = 500ms\n", "tcp://127.0.0.1:0", NULL);
	ck_assert_msg(lmd_client_open(&local, &o, &err) == LMD_OK, "%s", err.text);
	o.url = url;
	o.key = "user secret";
	ck_assert_msg(lmd_client_open(&c, &o, &err) == LMD_OK, "%s", err.text);
	for (int i = 0; i < 2; i++) {
		int64_t until = wall_ms() + 1200;

		while (wall_ms() < until) /* the daemon closes the idle connection */
			ck_assert_int_eq(call(local, "ping", NULL, &err), LMD_OK);
		ck_assert_msg(call(c, "status", NULL, &err) == LMD_OK, "%s", err.text);
	}
	ck_assert_int_eq(call(local, "key_rm", "{\"label\": \"u\"}", &err), LMD_OK);
	ck_assert_int_eq(call(c, "status", NULL, &err), LMD_DENIED);
	ck_assert_str_eq(err.text, "hello: the key is unknown");
	lmd_client_close(local);
	lmd_client_close(c);
	o.key = NULL;
	ck_assert_int_eq(lmd_client_open(&c, &o, &err), LMD_DENIED);
	ck_assert_msg(strstr(err.text, "key is missing") != NULL, "%s", err.text);
	stop();
}
END_TEST

/* ---- TLS ---- */

#define KEY_OPTS "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

/* Creates an authority and its certificate for localhost; returns false if openssl is missing. */
static bool make_certificate(const char *name)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "cd %s && umask 077 && exec >%s.log 2>&1 && command -v openssl && "
		 "openssl req -x509 -days 2 " KEY_OPTS
		 " -keyout %s-ca.key -out %s-ca.pem -subj /CN=%s && "
		 "openssl req " KEY_OPTS " -keyout %s.key -out %s.csr -subj /CN=localhost && "
		 "echo subjectAltName=DNS:localhost >%s.ext && openssl x509 -req -days 2 "
		 "-in %s.csr -CA %s-ca.pem -CAkey %s-ca.key -CAcreateserial -extfile %s.ext "
		 "-out %s.pem",
		 d.dir, name, name, name, name, name, name, name, name, name, name, name, name);
	return system(command) == 0;
}

static char path[4][128];

static const char *file(int i, const char *name)
{
	snprintf(path[i], sizeof(path[i]), "%s/%s", d.dir, name);
	return path[i];
}

/* Makes url the address with the name in the certificate; some machines have ::1 as its first address. */
static void by_name(void)
{
	char port[16];

	snprintf(port, sizeof(port), "%s", strrchr(url, ':') + 1);
	snprintf(url, sizeof(url), "tls+tcp4://localhost:%s", port);
}

static void copy(const char *from, const char *to)
{
	char command[256];

	snprintf(command, sizeof(command), "cd %s && cp -p %s %s", d.dir, from, to);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(tls)
{
	const char *extra[] = {"--tls-cert", file(0, "use.pem"), "--tls-key", file(1, "use.key"),
			       NULL};
	struct lmt_client c, before;

	if (!make_certificate("one") || !make_certificate("two")) {
		LMD_SKIP("tls", "openssl makes no certificates here");
		return;
	}
	copy("one.pem", "use.pem");
	copy("one.key", "use.key");
	start("", "tls+tcp://127.0.0.1:0", extra);
	/* both the name and the authority are checked */
	ck_assert_int_ne(lmt_client_dial(&c, url, file(2, "one-ca.pem")), 0);
	by_name();
	ck_assert_int_ne(lmt_client_dial(&c, url, file(3, "two-ca.pem")), 0);
	ck_assert_int_eq(lmt_client_dial(&before, url, path[2]), 0);
	REFUSED(lmt_ask_op(&before, LMI_WIRE_OP_STATUS), LMD_DENIED, true, "requires a key");
	ck_assert(!hello(&before, "user secret")->failed);
	ck_assert(!lmt_ask_op(&before, LMI_WIRE_OP_LIMITS)->failed);
	/* another certificate without a restart; files that do not match are rejected */
	copy("two.pem", "use.pem");
	copy("two.key", "use.key");
	kill(d.pid, SIGHUP);
	lmt_daemon_wait(&d, "READY=1");
	ck_assert_int_ne(lmt_client_dial(&c, url, path[2]), 0);
	ck_assert_int_eq(lmt_client_dial(&c, url, path[3]), 0);
	ck_assert(!hello(&c, "user secret")->failed);
	ck_assert(!lmt_ask_op(&before, LMI_WIRE_OP_STATUS)->failed);
	lmt_client_close(&c);
	copy("two.log", "use.key");
	kill(d.pid, SIGHUP);
	lmt_daemon_wait(&d, "READY=1");
	ck_assert_msg(strstr(lmt_daemon_log(&d), "not reloaded") != NULL, "%s", lmt_daemon_log(&d));
	ck_assert_int_eq(lmt_client_dial(&c, url, path[3]), 0);
	ck_assert(!hello(&c, "user secret")->failed);
	lmt_client_close(&c);
	lmt_client_close(&before);
	stop();
}
END_TEST

START_TEST(tls_files)
{
	const char *words[] = {
		"--listen",  "tls+tcp://127.0.0.1:0", "--tls-cert", file(0, "one.pem"),
		"--tls-key", file(1, "one.key"),      NULL};
	char text[512];

	if (!make_certificate("one")) {
		LMD_SKIP("tls_files", "openssl makes no certificates here");
		return;
	}
	start("", "tcp://127.0.0.1:0", NULL);
	stop();
	ck_assert_int_eq(chmod(path[1], 0644), 0);
	ck_assert_int_eq(lmt_daemon_refused(&d, words, text, sizeof(text)), 1);
	ck_assert_msg(strstr(text, "mode 0644 lets other users access the key") != NULL, "%s", text);
	ck_assert_int_eq(unlink(path[1]), 0);
	ck_assert_int_eq(lmt_daemon_refused(&d, words, text, sizeof(text)), 1);
	ck_assert_msg(strstr(text, "tls_key: ") && strstr(text, "No such file"), "%s", text);
	words[5] = path[0];
	ck_assert_int_eq(lmt_daemon_refused(&d, words, text, sizeof(text)), 1);
	ck_assert_msg(strstr(text, "not a certificate and its private key in PEM") != NULL, "%s", text);
}
END_TEST

/* Bytes that are not TLS, and a handshake that never comes, do not delay others. */
START_TEST(no_tls_at_all)
{
	const char *extra[] = {"--tls-cert", file(0, "one.pem"), "--tls-key", file(1, "one.key"),
			       NULL};
	char plain[64];
	struct lmt_client c;

	if (!make_certificate("one")) {
		LMD_SKIP("no_tls_at_all", "openssl makes no certificates here");
		return;
	}
	start("[limits]\nmessage_time = 300ms\n", "tls+tcp://127.0.0.1:0", extra);
	snprintf(plain, sizeof(plain), "tcp://%s", url + strlen("tls+tcp://"));
	for (int i = 0; i < 20; i++)
		ck_assert_int_ne(lmt_client_dial(&c, plain, NULL), 0);
	do
		ck_assert(!lmt_ask_op(&admin, LMI_WIRE_OP_STATUS)->failed);
	while (admin.r.u.status.connections > 1);
	by_name();
	ck_assert_int_eq(lmt_client_dial(&c, url, file(2, "one-ca.pem")), 0);
	ck_assert(!hello(&c, "user secret")->failed);
	lmt_client_close(&c);
	stop();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("keys");
	TCase *t = tcase_create("keys");

	tcase_set_timeout(t, 180);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, managing);
	tcase_add_test(t, no_key_no_start);
	tcase_add_test(t, strangers);
	tcase_add_test(t, roles);
	tcase_add_test(t, an_admin_with_a_model_folder);
	tcase_add_test(t, removed_while_connected);
	tcase_add_test(t, expired_while_connected);
	tcase_add_test(t, guessing);
	tcase_add_test(t, connecting_again);
	tcase_add_test(t, tls);
	tcase_add_test(t, tls_files);
	tcase_add_test(t, no_tls_at_all);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
