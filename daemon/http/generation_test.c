/* SPDX-License-Identifier: MIT
 *
 * Generations over HTTP, with an API made for this test, a service without threads, and clients on a
 * unix socket.  The test runs the event loop and the steps of the service in turn. */
#include "daemon/http/generation.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/exchange.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"
#include "tests/service_fixture.h"

/* ---- the API: {"model", "prompt", "n", "choices", "stream", "seed"} ---- */

static void write_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	lmi_json_text_object(out);
	lmi_json_text_key(out, "error");
	lmi_json_text_str(out, e->text);
	lmi_json_text_key(out, "prompt");
	lmi_json_text_int(out, (int64_t)e->n_prompt);
	lmi_json_text_key(out, "ctx");
	lmi_json_text_int(out, (int64_t)e->n_ctx);
	lmi_json_text_end(out);
}

static const struct lmi_http_api api = {"test", "Test", write_error};

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	(void)state;
	lmi_json_text_object(&o->json);
	lmi_json_text_key(&o->json, "model");
	lmi_json_text_str(&o->json, head->model);
	lmi_json_text_key(&o->json, "seed");
	lmi_json_text_int(&o->json, head->seeds[head->n_choice - 1]);
	lmi_json_text_end(&o->json);
	lmi_http_out_line(o);
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	const struct lmd_str *s =
		it->kind == LMI_WIRE_ITEM_TOKEN ? &it->u.token.text : &it->u.text.text;

	(void)state;
	lmi_json_text_object(&o->json);
	lmi_json_text_key(&o->json, "c");
	lmi_json_text_int(&o->json, choice);
	lmi_json_text_key(&o->json, "t");
	lmi_json_text_strn(&o->json, s->ptr, s->len);
	lmi_json_text_end(&o->json);
	lmi_http_out_line(o);
}

static void put_end(struct lmi_json_text *j, const struct lmi_http_answer_end *end)
{
	lmi_json_text_object(j);
	lmi_json_text_key(j, "finish");
	lmi_json_text_int(j, end->finish);
	lmi_json_text_key(j, "prompt");
	lmi_json_text_int(j, end->n_prompt);
	lmi_json_text_key(j, "out");
	lmi_json_text_int(j, end->n_out);
	lmi_json_text_end(j);
}

static void all_end(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o)
{
	(void)state;
	put_end(&o->json, sum);
	lmi_http_out_line(o);
	lmi_http_out_raw(o, "END\n");
}

static void stream_error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o)
{
	(void)state;
	write_error(&o->json, e);
	lmi_http_out_line(o);
}

static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *choices, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *out)
{
	(void)state;
	lmi_json_text_object(out);
	lmi_json_text_key(out, "model");
	lmi_json_text_str(out, head->model);
	lmi_json_text_key(out, "texts");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < head->n_choice; i++)
		lmi_json_text_strn(out, choices[i].text.ptr, choices[i].text.len);
	lmi_json_text_end(out);
	lmi_json_text_key(out, "end");
	put_end(out, sum);
	lmi_json_text_end(out);
}

static const struct lmi_http_form form = {.stream_type = "application/x-ndjson",
					  .begin = begin,
					  .item = item,
					  .end = all_end,
					  .error = stream_error,
					  .whole = whole};

static const struct lmi_http_form events = {.stream_type = "text/event-stream",
					    .begin = begin,
					    .item = item,
					    .end = all_end,
					    .error = stream_error,
					    .whole = whole};

static struct lmd_str text_of(const json_t *body, const char *name)
{
	const char *s = json_string_value(json_object_get(body, name));

	return (struct lmd_str){.ptr = s, .len = s ? strlen(s) : 0};
}

static enum lmd_status translate(struct lmi_http_generation *out, const json_t *body,
				 struct lmd_arena *arena, const char **param, struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &out->req.u.generate;

	(void)arena;
	q->model = text_of(body, "model");
	q->has_prompt = true;
	q->prompt = text_of(body, "prompt");
	q->has_n = true;
	q->n = json_integer_value(json_object_get(body, "n"));
	q->has_temp = true;
	q->temp = 0;
	q->ignore_eog = true;
	q->has_seed = json_object_get(body, "seed") != NULL;
	q->seed = json_integer_value(json_object_get(body, "seed"));
	if (json_object_get(body, "choices"))
		out->n_choice = (uint32_t)json_integer_value(json_object_get(body, "choices"));
	out->stream = json_is_true(json_object_get(body, "stream"));
	out->form = json_object_get(body, "ping_ms") ? &events : &form;
	out->ping_ms = (uint32_t)json_integer_value(json_object_get(body, "ping_ms"));
	if (q->prompt.len)
		return LMD_OK;
	*param = "prompt";
	return lmd_fail(err, LMD_INVALID, "is missing");
}

static void generate(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, translate);
}

static const struct lmi_http_route routes[] = {
	{LMI_HTTP_POST, "/generate", LMI_HTTP_USER, generate, "Generates.", NULL, NULL}};
static const struct lmi_http_routes table = {.api = &api, .v = routes, .n = 1};
static const struct lmi_http_routes *const apis[] = {&table, NULL};

/* ---- the fixture ---- */

static struct fx fx;
static struct event_base *base;
static struct lmi_http_server *server;
static char address[64];
static const char *addresses[] = {address};

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return 1700000000000000000;
}

static bool has_key(void *arg)
{
	(void)arg;
	return false;
}

static void setup(void)
{
	(void)signal(SIGPIPE, SIG_IGN); /* as the daemon does */
	fx_init(&fx);
}

static struct lmi_conn_limiter limiter = {.limits = {.connections = 16, .connections_per_user = 16}};

static void open_server(void)
{
	struct lmi_http_opts o = {
		.host = fx.env.host,
		.apis = apis,
		.addresses = addresses,
		.n_address = 1,
		.version = "test",
		.body_bytes = 1 << 20,
		.limiter = &limiter,
		.ops = {.has_key = has_key, .wall_ns = wall_ns},
	};
	struct lmd_error err = {0};

	fx_start(&fx);
	fx_load(&fx);
	base = event_base_new();
	/* the path of a socket is short */
	snprintf(address, sizeof(address), "unix:/tmp/llamad-http-test.%d", (int)getpid());
	o.base = base;
	o.service = fx.svc;
	ck_assert_msg(lmi_http_open(&server, &o, &err) == LMD_OK, "%s", err.text);
}

static void teardown(void)
{
	lmi_http_close(server);
	server = NULL;
	fx_fini(&fx);
	event_base_free(base);
}

/* Runs the loop and one step. */
static void turn(void)
{
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)fx_job(&fx);
	fx_step(&fx, 1);
}

/* A client and what it has received. */
struct client {
	int fd;
	char text[1 << 16];
	size_t n;
	bool eof;
};
static struct client a, b;

static void dial(struct client *c)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	memset(c, 0, sizeof(*c));
	snprintf(un.sun_path, sizeof(un.sun_path), "%.100s", address + 5);
	c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(c->fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

static void post(struct client *c, const char *body)
{
	char text[4096];
	int n = snprintf(text, sizeof(text),
			 "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
			 strlen(body), body);

	ck_assert_int_eq(send(c->fd, text, (size_t)n, 0), n);
}

static void receive(struct client *c)
{
	ssize_t got = recv(c->fd, c->text + c->n, sizeof(c->text) - 1 - c->n, 0);

	if (got > 0)
		c->n += (size_t)got;
	if (!got)
		c->eof = true;
	c->text[c->n] = 0;
}

/* Runs until the text has arrived. */
static void expect(struct client *c, const char *text)
{
	for (int i = 0; i < 3000 && !strstr(c->text, text); i++) {
		turn();
		receive(c);
	}
	ck_assert_msg(strstr(c->text, text) != NULL, "'%s' is not in: %s", text, c->text);
}

static const char *ask(const char *body, const char *until)
{
	dial(&a);
	post(&a, body);
	expect(&a, until);
	close(a.fd);
	return a.text;
}

/* ---- tests ---- */

START_TEST(an_answer)
{
	const char *text;

	open_server();
	text = ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}", "\"end\"");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200 OK\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "{\"model\":\"tiny\",\"texts\":[\"def\"],\"end\":{"));
	ck_assert_ptr_nonnull(strstr(text, "\"prompt\":3,\"out\":3}}"));
	text = ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":2,\"choices\":3}", "\"end\"");
	ck_assert_ptr_nonnull(strstr(text, "\"texts\":[\"de\",\"de\",\"de\"]"));
	ck_assert_ptr_nonnull(strstr(text, "\"prompt\":3,\"out\":6}}"));
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(a_stream)
{
	const char *text;

	open_server();
	text = ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3,\"stream\":true,\"seed\":7}",
		   "\r\n0\r\n\r\n");
	ck_assert_ptr_nonnull(strstr(text, "Content-Type: application/x-ndjson\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "Transfer-Encoding: chunked\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "{\"model\":\"tiny\",\"seed\":7}\n{\"c\":0,\"t\":\"d\"}\n"));
	ck_assert_ptr_nonnull(strstr(text, "{\"c\":0,\"t\":\"f\"}\n"));
	ck_assert_ptr_nonnull(strstr(text, "END\n\r\n0\r\n\r\n"));
	text = ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":2,\"stream\":true,\"seed\":7,"
		   "\"choices\":2}",
		   "\r\n0\r\n\r\n");
	ck_assert_ptr_nonnull(strstr(text, "\"seed\":8}\n"));
	ck_assert_ptr_nonnull(strstr(text, "{\"c\":1,\"t\":\"e\"}\n"));
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* While nothing is generated, a stream of events has comments, and the answer follows them. */
START_TEST(comments_keep_a_stream_alive)
{
	open_server();
	dial(&a);
	post(&a, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":2,\"stream\":true,\"seed\":7,"
		 "\"ping_ms\":2}");
	while (!strstr(a.text, ": keep-alive\n\n\r\n")) { /* each loop waits for an event */
		(void)event_base_loop(base, EVLOOP_ONCE);
		receive(&a);
	}
	ck_assert_ptr_nonnull(strstr(a.text, "Content-Type: text/event-stream\r\n"));
	ck_assert_ptr_nonnull(strstr(a.text, "{\"model\":\"tiny\",\"seed\":7}\n"));
	expect(&a, "{\"c\":0,\"t\":\"e\"}\n");
	expect(&a, "END\n\r\n0\r\n\r\n");
	close(a.fd);
	/* no comments without the wish, and none in an answer that is not a stream */
	ck_assert_ptr_null(strstr(ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":90,\"ping_ms\":1}",
				      "\"end\""),
				  "keep-alive\n"));
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* Sends a request whose body counts as long. */
static void post_long(struct client *c)
{
	static char text[LMI_FRONT_LONG_BYTES + 300];
	static const char body[] = "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}";
	int n_pad = LMI_FRONT_LONG_BYTES;
	int n = snprintf(text, sizeof(text),
			 "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%*s%s",
			 n_pad + strlen(body), n_pad, "", body);

	dial(c);
	ck_assert_int_eq(send(c->fd, text, (size_t)n, 0), n);
}

/* Requests with long bodies wait for their turns, in order; others pass, and clients may leave. */
START_TEST(turns_of_long_bodies)
{
	static struct client first, leaves;

	open_server();
	server->pacer.next_ns = UINT64_MAX;
	post_long(&first);
	while (!server->turns)
		turn();
	post_long(&leaves);
	while (!server->turns->next_turn)
		turn();
	post_long(&b);
	while (!server->turns->next_turn->next_turn)
		turn();
	(void)ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}", "\"end\"");
	(void)shutdown(leaves.fd, SHUT_RDWR);
	close(leaves.fd);
	receive(&first);
	ck_assert_uint_eq(first.n, 0);
	/* the first one takes its time, and so the other one has to wait */
	server->pacer.next_ns = 0;
	lmi_http_turn_next(server);
	ck_assert_uint_gt(server->pacer.next_ns, lmi_loop_now());
	ck_assert_ptr_nonnull(server->turns);
	expect(&first, "\"end\"");
	while (server->turns)
		turn();
	expect(&b, "\"end\"");
	close(first.fd);
	close(b.fd);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* A name that does not exist, or none, means the default model. */
START_TEST(the_default_model)
{
	const char *text;

	open_server(); /* tiny is the only model in memory */
	text = ask("{\"prompt\":\"abc\",\"n\":3}", "\"end\"");
	ck_assert_ptr_nonnull(strstr(text, "{\"model\":\"tiny\",\"texts\":[\"def\"]"));
	text = ask("{\"model\":\"gpt\",\"prompt\":\"abc\",\"n\":3}", "\"end\"");
	ck_assert_ptr_nonnull(strstr(text, "{\"model\":\"gpt\",\"texts\":[\"def\"]"));
	server->o.refuse_unknown = true;
	text = ask("{\"model\":\"gpt\",\"prompt\":\"abc\",\"n\":3}", "}");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 404 "));
	ck_assert_ptr_nonnull(strstr(text, "'gpt' does not exist"));
	text = ask("{\"prompt\":\"abc\",\"n\":3}", "\"end\"");
	ck_assert_ptr_nonnull(strstr(text, "{\"model\":\"tiny\",\"texts\":[\"def\"]"));
	server->o.refuse_unknown = false;
	(void)fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny"); /* two are registered, none is in memory */
	text = ask("{\"model\":\"gpt\",\"prompt\":\"abc\",\"n\":3}", "}");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 404 "));
	ck_assert_ptr_nonnull(strstr(text, "the model 'gpt' does not exist"));
	text = ask("{\"prompt\":\"abc\",\"n\":3}", "}");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 400 "));
}
END_TEST

START_TEST(errors)
{
	char body[2048];
	const char *text;

	open_server();
	text = ask("{\"model\":\"tiny\"}", "}");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 400 "));
	ck_assert_ptr_nonnull(strstr(text, "\"error\":\"is missing\""));
	ck_assert_ptr_nonnull(strstr(ask("[]", "}"), "not a JSON object"));
	ck_assert_ptr_nonnull(strstr(ask("{\"a\":", "}"), "not valid JSON"));
	ck_assert_ptr_nonnull(strstr(ask("{\"a\":1,\"a\":2}", "}"), "not valid JSON"));
	for (int levels = 64; levels <= 65; levels++) { /* the object is the first */
		char begin[65] = "", end[65] = "";

		memset(begin, '[', (size_t)levels - 1);
		memset(end, ']', (size_t)levels - 1);
		snprintf(body, sizeof(body), "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3,\"x\":%s%s}",
			 begin, end);
		ck_assert_ptr_nonnull(strstr(ask(body, levels == 64 ? "\"end\"" : "}"),
					     levels == 64 ? "\"def\"" : "more than 64 levels"));
	}
	/* the prompt is too long: the numbers are members of the error, also for a stream */
	snprintf(body, sizeof(body), "{\"model\":\"tiny\",\"prompt\":\"%01500d\",\"stream\":true}",
		 0);
	text = ask(body, "}");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 400 "));
	ck_assert_ptr_nonnull(strstr(text, "\"prompt\":1500,\"ctx\":"));
	ck_assert_ptr_null(strstr(text, "\"ctx\":0"));
	text = ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":-5}", "}");
	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 400 "));
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* A client that disconnects ends its generations within one step. */
START_TEST(disconnecting_cancels)
{
	char body[200];
	uint64_t n_step;

	open_server();
	snprintf(body, sizeof(body),
		 "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":250,\"choices\":2,\"stream\":%s}",
		 _i % 2 ? "true" : "false");
	dial(&a);
	post(&a, body);
	for (int i = 0; i < 4 + _i; i++)
		turn();
	if (_i < 4)
		close(a.fd);
	else
		shutdown(a.fd, SHUT_WR);
	n_step = fx_stats(&fx).n_step;
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	fx_step(&fx, 1);
	ck_assert_uint_le(fx_stats(&fx).n_step, n_step + 1);
	fx_step(&fx, 1);
	fx_check_empty(&fx);
	if (_i >= 4)
		close(a.fd);
}
END_TEST

/* A client that does not read costs only itself. */
START_TEST(a_slow_reader)
{
	size_t unsent, most = 0;
	int small = 2048;

	fx.o.limits.stream_bytes = 4096;
	open_server();
	dial(&a);
	(void)setsockopt(a.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	/* fills what the sockets and the server keep for a connection */
	for (int i = 0; i < 60; i++)
		post(&a, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":250,\"stream\":true}");
	for (int i = 0; i < 20000; i++) {
		turn();
		unsent = server->conns ? lmi_http_conn_unsent(server->conns) : 0;
		most = unsent > most ? unsent : most;
	}
	/* the server keeps no more than its bound and the output of one tick */
	ck_assert_uint_gt(most, LMI_HTTP_OUT_HIGH);
	ck_assert_uint_lt(most, LMI_HTTP_OUT_HIGH + (64 << 10));
	dial(&b);
	post(&b, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}");
	expect(&b, "\"texts\":[\"def\"]");
	ck_assert(!b.eof);
	close(b.fd);
	close(a.fd);
	turn();
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* Requests of one connection are answered in order, also if they arrive together. */
START_TEST(pipelining)
{
	char *first, *second;

	open_server();
	dial(&a);
	post(&a, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}");
	post(&a, "{\"model\":\"tiny\",\"prompt\":\"hij\",\"n\":3}");
	post(&a, "{\"model\":\"tiny\",\"prompt\":\"xyz\",\"n\":1,\"stream\":true}");
	expect(&a, "END\n\r\n0\r\n\r\n");
	first = strstr(a.text, "[\"def\"]");
	second = strstr(a.text, "[\"klm\"]");
	ck_assert(first && second && first < second);
	close(a.fd);
}
END_TEST

/* The end of the service answers what is pending; later requests are refused. */
START_TEST(the_service_ends)
{
	open_server();
	dial(&a);
	post(&a, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":250}");
	dial(&b);
	post(&b, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":250,\"stream\":true}");
	for (int i = 0; i < 10; i++)
		turn();
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	lmi_http_service_ended(server);
	lmi_http_flush(server, 1000);
	receive(&a);
	receive(&b);
	ck_assert_ptr_nonnull(strstr(a.text, "HTTP/1.1 "));
	ck_assert_ptr_nonnull(strstr(b.text, "\r\n0\r\n\r\n"));
	post(&a, "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}");
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	receive(&a);
	ck_assert_ptr_nonnull(strstr(a.text, "HTTP/1.1 503 "));
	close(a.fd);
	close(b.fd);
}
END_TEST

/* Whichever allocation fails, the client gets a response or the end of the connection, and nothing
 * is left behind. */
START_TEST(memory_runs_out)
{
	open_server();
	(void)ask("{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3}", "\"end\"");
	for (uint64_t nth = 1; nth < 100; nth++) {
		dial(&a);
		post(&a, nth % 2 ? "{\"model\":\"tiny\",\"prompt\":\"abc\",\"n\":3,\"choices\":2}"
				 : "{\"prompt\":\"abc\",\"n\":3,\"stream\":true}");
		lmi_alloc_fail_nth(nth, false);
		for (int i = 0; i < 40; i++) {
			turn();
			receive(&a);
		}
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(a.eof || !strncmp(a.text, "HTTP/1.1 ", 9), "%d: %s", (int)nth, a.text);
		close(a.fd);
		turn();
		turn();
		ck_assert_ptr_null(server->conns);
		ck_assert_uint_eq(server->n_running, 0);
		fx_check_empty(&fx);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("generation");
	TCase *t = tcase_create("generation");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_answer);
	tcase_add_test(t, a_stream);
	tcase_add_test(t, comments_keep_a_stream_alive);
	tcase_add_test(t, turns_of_long_bodies);
	tcase_add_test(t, the_default_model);
	tcase_add_test(t, errors);
	tcase_add_loop_test(t, disconnecting_cancels, 0, 6);
	tcase_add_test(t, a_slow_reader);
	tcase_add_test(t, pipelining);
	tcase_add_test(t, the_service_ends);
	tcase_add_test(t, memory_runs_out);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
