/* SPDX-License-Identifier: MIT
 *
 * The stream of each API allocates at most once for each chunk that it sends. */
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "daemon/http/anthropic/anthropic.h"
#include "daemon/http/http.h"
#include "daemon/http/llamacpp/llamacpp.h"
#include "daemon/http/ollama/ollama.h"
#include "daemon/http/openai/openai.h"
#include "service/preset.h"
#include "tests/service_fixture.h"

/* Tokens before the measurement, and in it. */
#define FIRST 30
#define TOKENS 100

static const struct lmi_http_routes *const apis[] = {&lmi_openai_routes, &lmi_anthropic_routes,
						     &lmi_ollama_routes, &lmi_llamacpp_routes, NULL};
static struct lmi_conn_limiter limiter = {.limits = {.connections = 16, .connections_per_user = 16}};
static const struct lmi_svc_preset preset = {.name = "tiny", .template = "chatml"};
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
	struct lmi_http_opts o = {
		.apis = apis,
		.addresses = addresses,
		.n_address = 1,
		.version = "test",
		.body_bytes = 1 << 20,
		.limiter = &limiter,
		.ops = {.has_key = has_key, .wall_ns = wall_ns},
	};
	struct lmd_error err = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	fx_init(&fx);
	fx.o.presets = &preset;
	fx.o.n_presets = 1;
	fx_start(&fx);
	fx_load(&fx);
	base = event_base_new();
	/* the path of a socket is short */
	snprintf(address, sizeof(address), "unix:/tmp/llamad-stream-test.%d", (int)getpid());
	o.host = fx.env.host;
	o.base = base;
	o.service = fx.svc;
	ck_assert_msg(lmi_http_open(&server, &o, &err) == LMD_OK, "%s", err.text);
}

static void teardown(void)
{
	lmi_http_close(server);
	fx_fini(&fx);
	event_base_free(base);
}

static const struct {
	const char *path, *body;
} streams[] = {
	{"/v1/completions", "{\"model\":\"tiny\",\"prompt\":\"abc\",\"max_tokens\":200,\"stream\":true,"
			    "\"ignore_eos\":true}"},
	{"/v1/chat/completions",
	 "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}],\"stream\":true,"
	 "\"max_tokens\":200,\"ignore_eos\":true}"},
	{"/v1/responses", "{\"model\":\"tiny\",\"input\":\"abc\",\"stream\":true,\"ignore_eos\":true,"
			  "\"max_output_tokens\":200}"},
	{"/v1/messages", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}],"
			 "\"max_tokens\":200,\"stream\":true}"},
	{"/api/generate", "{\"model\":\"tiny\",\"prompt\":\"abc\",\"raw\":true,\"options\":"
			  "{\"num_predict\":200,\"seed\":1}}"},
	{"/api/chat", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}],"
		      "\"options\":{\"num_predict\":200,\"seed\":1}}"},
	{"/completion", "{\"prompt\":\"abc\",\"n_predict\":200,\"stream\":true,\"ignore_eos\":true}"},
};

/* Runs the loop and one step; returns the bytes that have arrived. */
static size_t turn(int fd, char *text, size_t n)
{
	ssize_t got;

	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)fx_job(&fx);
	fx_step(&fx, 1);
	got = recv(fd, text, n - 1, 0);
	text[got > 0 ? got : 0] = 0;
	return got > 0 ? (size_t)got : 0;
}

/* Sends request i; counts the chunks of TOKENS tokens and the allocations meanwhile. */
static size_t count_chunks(int i, uint64_t *n_alloc, char first[512])
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char text[1 << 16], request[1024];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), n;
	size_t n_chunk = 0;

	snprintf(un.sun_path, sizeof(un.sun_path), "%.100s", address + 5);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	n = snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
		     streams[i].path, strlen(streams[i].body), streams[i].body);
	ck_assert_int_eq(send(fd, request, (size_t)n, 0), n);
	for (int k = 0; k < 1000 && !turn(fd, text, sizeof(text)); k++)
		;
	(void)snprintf(first, 512, "%.500s", text);
	for (int k = 0; k < FIRST; k++)
		(void)turn(fd, text, sizeof(text));
	*n_alloc = lmi_alloc_thread_count();
	for (int k = 0; k < TOKENS; k++)
		n_chunk += turn(fd, text, sizeof(text)) > 0;
	*n_alloc = lmi_alloc_thread_count() - *n_alloc;
	close(fd);
	return n_chunk;
}

START_TEST(one_for_each_chunk)
{
	uint64_t n_alloc = 0;
	size_t n_chunk = 0;
	char first[512];

	/* Anthropic's API has neither a seed nor ignore_eos: an answer may end early */
	for (int i = 0; i < 10 && n_chunk < TOKENS / 2; i++)
		n_chunk = count_chunks(_i, &n_alloc, first);
	printf("%s: %llu allocations for %zu chunks\n", streams[_i].path, (unsigned long long)n_alloc,
	       n_chunk);
	ck_assert_msg(n_chunk >= TOKENS / 2, "%s", first);
	ck_assert_uint_le(n_alloc, n_chunk);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stream allocations");
	TCase *t = tcase_create("stream allocations");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	if (fx_on_null())
		tcase_add_loop_test(t, one_for_each_chunk, 0, (int)LMD_LEN(streams));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
