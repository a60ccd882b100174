/* SPDX-License-Identifier: MIT
 *
 * Every limit that a client can reach, at the bound and one beyond: the first succeeds, the second
 * fails with an error message that names the object, the value and the bound. */
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <string.h>
#include <unistd.h>

#include "llamad/client.h"
#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

static struct lmt_daemon d;
static struct lmt_client c;     /* valid requests */
static struct lmd_client *json; /* any members, without checks of bounds */
static struct lmd_error err;

static void set_up(void)
{
	lmt_daemon_init(&d);
}

static void tear_down(void)
{
	lmt_daemon_fini(&d);
}

static void start(const char *config)
{
	const struct lmd_client_opts o = {.struct_size = sizeof(o), .url = d.url};

	lmt_daemon_config(&d, config);
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	ck_assert_msg(lmd_client_open(&json, &o, &err) == LMD_OK, "%s", err.text);
}

static void stop(void)
{
	lmd_client_close(json);
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
}

/* Returns the reply as an object, or NULL and the error. */
static json_t *call(const char *op, json_t *own_members)
{
	char *members = json_dumps(own_members, JSON_COMPACT), *reply = NULL;
	json_t *j = NULL;

	json_decref(own_members);
	ck_assert_ptr_nonnull(members);
	if (lmd_client_call(json, op, members, &reply, &err) == LMD_OK) {
		j = json_loads(reply, JSON_ALLOW_NUL, NULL);
		ck_assert_ptr_nonnull(j);
		lmd_client_free(reply);
	}
	free(members);
	return j;
}

static void says(const char *name, const char *what)
{
	ck_assert_msg(strstr(err.text, what) != NULL, "%s: '%s' in: %s", name, what, err.text);
}

static void says_number(const char *name, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	says(name, text);
}

/* ---- requests ---- */

/* Returns the value of a member with size n. */
enum kind { NUMBER, TEXT, TEXTS, ONE_TEXT, BIASES, SAMPLERS };

static json_t *text_of(int64_t n)
{
	char *s = malloc((size_t)n + 1);
	json_t *j;

	memset(s, 'a', (size_t)n);
	j = json_stringn(s, (size_t)n);
	free(s);
	return j;
}

static json_t *element(enum kind kind, int64_t i, int64_t n)
{
	switch (kind) {
	case BIASES:
		return json_pack("[I, f]", (json_int_t)(i % 90), 0.5); /* tokens of the vocabulary */
	case SAMPLERS:
		return json_string(i + 1 < n ? "top_k" : "greedy");
	default:
		return json_string("never");
	}
}

static json_t *member(enum kind kind, int64_t n)
{
	json_t *list;

	if (kind == NUMBER)
		return json_integer(n);
	if (kind == TEXT)
		return text_of(n);
	if (kind == ONE_TEXT)
		return json_pack("[o]", text_of(n));
	list = json_array();
	for (int64_t i = 0; i < n; i++)
		json_array_append_new(list, element(kind, i, n));
	return list;
}

/* `bound` is accepted, `past` is not. */
static const struct {
	const char *op, *member;
	enum kind kind;
	int64_t bound, past;
	const char *says; /* NULL: the member's name, value and bound */
} rows[] = {
	{"generate", "prompt", TEXT, 40, 41, NULL},
	{"generate", "n", NUMBER, 50, 51, NULL},
	{"generate", "n", NUMBER, -1, -2, NULL},
	{"generate", "stop", TEXTS, 16, 17, NULL},
	{"generate", "stop", ONE_TEXT, 256, 257, NULL},
	{"generate", "logit_bias", BIASES, 1024, 1025, "logit_bias"},
	{"generate", "chain", SAMPLERS, 32, 33, NULL},
	{"generate", "timeout_ms", NUMBER, 5000, 5001, NULL},
	{"generate", "timeout_ms", NUMBER, 1000, 0, "timeout_ms: 0 is below 1"},
	{"generate", "lease_ms", NUMBER, 20000, 20001, NULL},
	{"generate", "lease_ms", NUMBER, 100, 99, NULL},
	{"generate", "temp", NUMBER, 5, 6, NULL},
	{"generate", "rid", TEXT, 64, 65, NULL},
	{"generate", "grammar", TEXT, 0, (256 << 10) + 1, "grammar"},
	{"tokenize", "text", TEXT, 40, 41, NULL},
	{"models", "model", TEXT, 128, 129, NULL},
	{"key_add", "label", TEXT, 63, 64, NULL},
	{"key_add", "digest", TEXT, 64, 65, NULL},
	{"key_add", "digest", TEXT, 64, 63, NULL},
	{"hello", "key", TEXT, 256, 257, NULL},
	{"hello", "client", TEXT, 128, 129, NULL},
};

static json_t *request(const char *op)
{
	static const char digest[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

	if (!strcmp(op, "generate"))
		return json_pack("{s:s, s:s, s:i}", "model", "tiny", "prompt", "!", "n", 1);
	if (!strcmp(op, "tokenize"))
		return json_pack("{s:s}", "model", "tiny");
	if (!strcmp(op, "key_add"))
		return json_pack("{s:s, s:s}", "label", "some key", "digest", digest);
	return json_object();
}

/* Sends a request whose member has size n. */
static json_t *ask(size_t i, int64_t n)
{
	json_t *m = request(rows[i].op);

	json_object_set_new(m, rows[i].member, member(rows[i].kind, n));
	return call(rows[i].op, m);
}

static void forget(const json_t *reply)
{
	json_t *id = json_object_get(reply, "id");

	if (id)
		json_decref(call("cancel", json_pack("{s:O}", "id", id)));
}

START_TEST(requests)
{
	start("ctx = 64\n[limits]\ntext_bytes = 40\noutput_max = 50\noutput_default = 50\n"
	      "timeout_default = 5s\ntimeout_max = 5s\nlease_max = 20s\n");
	lmt_add(&c, &d);
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		char name[64];
		json_t *r;

		snprintf(name, sizeof(name), "row %zu: %s: %s", i, rows[i].op, rows[i].member);
		if (rows[i].bound) {
			r = ask(i, rows[i].bound);
			/* a name that passes the check is not in the registry */
			ck_assert_msg(r || err.status == LMD_NOTFOUND ||
					      !strcmp(rows[i].op, "key_add"),
				      "%s: %s", name, err.text);
			forget(r);
			json_decref(r);
		}
		r = ask(i, rows[i].past);
		ck_assert_msg(!r, "%s: %lld is taken", name, (long long)rows[i].past);
		ck_assert_msg(err.status == LMD_INVALID, "%s: %s", name, err.text);
		says(name, rows[i].says ? rows[i].says : rows[i].member);
		if (!rows[i].says) {
			says_number(name, rows[i].past);
			says_number(name, rows[i].bound);
		}
	}
	LMD_CASES("limits of requests", LMD_LEN(rows), 0, 0);
	stop();
}
END_TEST

/* Waits for the end of a stream; its error is in err. */
static enum lmi_wire_item_kind end_of(const struct lmi_wire_id *id)
{
	const struct lmi_wire_rep_next *r;
	struct lmi_wire_item last = {0};
	int64_t after = 0;

	do {
		r = lmt_next(&c, id, &after, 1000);
		if (r->n_items)
			last = r->items[r->n_items - 1];
		if (last.kind == LMI_WIRE_ITEM_ERROR)
			snprintf(err.text, sizeof(err.text), "%.*s", (int)last.u.error.text.len,
				 last.u.error.text.ptr);
	} while (!r->end);
	return last.kind;
}

/* Whether a prompt fits is known only when the model is loaded; before that its stream reports
 * it. */
START_TEST(prompt_tokens)
{
	lmd_token tokens[65];

	start("ctx = 64\n");
	lmt_add(&c, &d);
	for (size_t i = 0; i < LMD_LEN(tokens); i++)
		tokens[i] = 5;
	for (int cold = 0; cold < 2; cold++) {
		for (uint32_t n = 65; n >= 63; n--) {
			const struct lmi_wire_reply *r;
			struct lmi_wire_request q;
			struct lmi_wire_id id;

			lmi_wire_request_init(&q, LMI_WIRE_OP_GENERATE);
			lmt_new_rid(&q);
			q.u.generate.model = (struct lmd_str){.ptr = "tiny", .len = 4};
			q.u.generate.has_tokens = true;
			q.u.generate.tokens = tokens;
			q.u.generate.n_tokens = n;
			r = lmt_ask(&c, &q);
			id = r->u.generate.id;
			if (r->failed)
				snprintf(err.text, sizeof(err.text), "%.*s", (int)r->error.text.len,
					 r->error.text.ptr);
			if (n < 65)
				ck_assert_int_eq(end_of(&id), LMI_WIRE_ITEM_DONE);
			else if (!r->failed)
				ck_assert_int_eq(end_of(&id), LMI_WIRE_ITEM_ERROR);
		}
		ck_assert_str_eq(err.text, "prompt: a length of 65 tokens exceeds the available "
					   "context size of 64");
	}
	stop();
}
END_TEST

/* Ids are 16 bytes chosen by the server. */
START_TEST(ids)
{
	static const struct {
		const char *id;
		enum lmd_status status;
		const char *says;
	} cases[] = {
		{"0123456789abcdef0123456789abcdef", LMD_NOTFOUND, "no stream has the id 0123456789"},
		{"0123456789abcdef0123456789abcd", LMD_INVALID, "id"},
		{"0123456789abcdef0123456789abcdef01", LMD_INVALID, "id"},
	};

	start("");
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		ck_assert_ptr_null(call("next", json_pack("{s:s}", "id", cases[i].id)));
		ck_assert_msg(err.status == cases[i].status, "%s", err.text);
		says("id", cases[i].says);
	}
	stop();
}
END_TEST

/* ---- what is under way ---- */

START_TEST(queue_and_streams)
{
	struct lmi_wire_id id, first;
	int64_t after = 0;
	json_t *r;

	d.endless = true;
	start("[limits]\nmax_running = 1\nqueue = 5\nstreams = 1\n");
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", -1, &first);
	(void)lmt_next(&c, &first, &after, LMT_PATIENCE_MS); /* it runs */
	/* this user is an administrator, who may have four times as many */
	for (int i = 0; i < 3; i++)
		lmt_generate(&c, "tiny", -1, &id);
	r = call("generate", request("generate"));
	ck_assert_msg(!r && err.status == LMD_BUSY, "%s", err.text);
	says("streams", "too many streams: you have 4, the maximum is 4");
	lmt_daemon_config(&d, "[limits]\nmax_running = 1\nqueue = 2\nstreams = 9\n");
	ck_assert(!lmt_ask_op(&c, LMI_WIRE_OP_CONFIG_RELOAD)->failed);
	r = call("generate", request("generate"));
	ck_assert_msg(!r && err.status == LMD_BUSY, "%s", err.text);
	says("queue", "1 generations are running and 3 are queued, the maximum is 1 (max_running) and 2");
	stop();
}
END_TEST

static const char next_of[] = "\x84\xa1v\x01\xa2op\xa4next\xa7wait_ms\xcd\x27\x10\xa2id\xc4\x10";

START_TEST(calls)
{
	uint8_t request_bytes[sizeof(next_of) - 1 + 16];
	struct lmi_wire_id id, waits;
	char reply[512];
	ssize_t n;
	int fd;

	d.endless = true;
	start("[limits]\nmax_running = 1\ncalls = 3\n");
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", -1, &id);
	lmt_generate(&c, "tiny", -1, &waits);
	memcpy(request_bytes, next_of, sizeof(next_of) - 1);
	memcpy(request_bytes + sizeof(next_of) - 1, waits.b, 16);
	fd = lmt_raw_open(&d, true);
	for (int i = 0; i < 4; i++)
		lmt_raw_send(fd, sizeof(request_bytes), request_bytes, sizeof(request_bytes));
	/* three are pending, the fourth gets a reply */
	n = recv(fd, reply, sizeof(reply), 0);
	ck_assert_int_gt(n, 13);
	ck_assert(memmem(reply, (size_t)n, "busy", 4));
	ck_assert_msg(memmem(reply, (size_t)n, "3 are pending, the maximum is 3", 31),
		      "%.*s", (int)n - 13, reply + 13);
	close(fd);
	stop();
}
END_TEST

START_TEST(slow_reader)
{
	const struct lmi_wire_rep_next *n;
	struct lmi_wire_item last = {0};
	struct lmi_wire_id id;
	int64_t after = 0;

	start("ctx = 1M\n[limits]\nstream_bytes = 4096\n");
	lmt_add(&c, &d);
	lmt_generate(&c, "tiny", -1, &id);
	while (lmt_ask_op(&c, LMI_WIRE_OP_STATUS)->u.status.running)
		;
	do {
		n = lmt_next(&c, &id, &after, 1000);
		if (n->n_items)
			last = n->items[n->n_items - 1];
	} while (!n->end);
	ck_assert_int_eq(last.kind, LMI_WIRE_ITEM_CANCELLED);
	ck_assert_int_eq(last.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	stop();
}
END_TEST

/* ---- connections ---- */

/* Sends a ping; returns whether it succeeds, and the reply or error message in text. */
static bool is_served(int fd, char *text, size_t size)
{
	static const char ping[] = "\x82\xa1v\x01\xa2op\xa4ping";
	ssize_t n;

	lmt_raw_send(fd, sizeof(ping) - 1, ping, sizeof(ping) - 1);
	n = recv(fd, text, size - 1, 0);
	ck_assert_int_gt(n, 13);
	for (ssize_t i = 0; i < n; i++) /* a text to search in */
		text[i] = text[i] ? text[i] : ' ';
	text[n] = 0;
	return strstr(text, "ready") != NULL;
}

#define CONNECTIONS_MAX 300

/* All connections here are on the unix socket; root and the daemon's user have eight more. */
START_TEST(connections)
{
	static const struct {
		const char *config;
		int most;
		const char *says;
	} cases[] = {
		{"[limits]\nconnections = 2\nconnections_per_user = 100\n", 10,
		 "connections: 10 are open, the maximum is 10"},
		/* the share of one user does not hold for administrators */
		{"[limits]\nconnections = 5\nconnections_per_user = 5\n", 13,
		 "13 are open, the maximum is 13"},
		/* the default */
		{"", 256 + 8, "264 are open, the maximum is 264"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		int fd[CONNECTIONS_MAX];
		char text[512];

		lmt_daemon_config(&d, cases[i].config);
		lmt_daemon_start(&d, NULL);
		for (int k = 0; k <= cases[i].most; k++) {
			fd[k] = lmt_raw_open(&d, true);
			ck_assert_msg(is_served(fd[k], text, sizeof(text)) == (k < cases[i].most),
				      "case %zu, %d: %s", i, k, text);
		}
		ck_assert_msg(strstr(text, cases[i].says) != NULL, "case %zu: %s", i, text);
		for (int k = 0; k <= cases[i].most; k++)
			close(fd[k]);
		lmt_daemon_stop(&d);
	}
}
END_TEST

/* Connects to the HTTP API on the unix socket `path`; returns whether a request is answered, and the
 * answer. */
static bool http_is_served(const char *path, int *fd, char *text, size_t size)
{
	static const char get[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	ssize_t n;

	*fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	ck_assert_int_eq(connect(*fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	/* a rejected connection may have been closed already */
	(void)send(*fd, get, sizeof(get) - 1, MSG_NOSIGNAL);
	n = recv(*fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return strstr(text, " 200 ") != NULL;
}

/* A user has one number of connections, not one for each protocol. */
START_TEST(connections_of_both_protocols)
{
	enum { N = 11 }; /* for an administrator: 3 and the 8 that are kept */
	char config[256], path[80], text[1024];
	int fd[N], over;

	snprintf(path, sizeof(path), "%s/http.sock", d.dir);
	snprintf(config, sizeof(config),
		 "[daemon]\nhttp = unix:%s\n[limits]\nconnections = 3\n", path);
	lmt_daemon_config(&d, config);
	lmt_daemon_start(&d, NULL);
	for (int i = 0; i < N; i++) {
		bool served;

		if (i % 2) {
			served = http_is_served(path, &fd[i], text, sizeof(text));
		} else {
			fd[i] = lmt_raw_open(&d, true);
			served = is_served(fd[i], text, sizeof(text));
		}
		ck_assert_msg(served, "connection %d: %s", i, text);
	}
	ck_assert_msg(!http_is_served(path, &over, text, sizeof(text)), "%s", text);
	close(over);
	over = lmt_raw_open(&d, true);
	ck_assert(!is_served(over, text, sizeof(text)));
	ck_assert_msg(strstr(text, "11 are open, the maximum is 11") != NULL, "%s", text);
	close(over);
	for (int i = 0; i < N; i++)
		close(fd[i]);
	lmt_daemon_stop(&d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("limits");
	TCase *t = tcase_create("limits");

	tcase_set_timeout(t, 180);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, requests);
	tcase_add_test(t, prompt_tokens);
	tcase_add_test(t, ids);
	tcase_add_test(t, queue_and_streams);
	tcase_add_test(t, calls);
	tcase_add_test(t, slow_reader);
	tcase_add_test(t, connections);
	tcase_add_test(t, connections_of_both_protocols);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
