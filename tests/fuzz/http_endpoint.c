/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the endpoints of one API of HTTP, each as a whole: the header, the body, its translation, and
 * the error that a server without a service answers.  The first byte chooses an endpoint; the rest is the
 * body or, if it is not JSON, says how to change one of those that
 * clients were recorded with.  A program of this target defines
 * fuzz_routes and fuzz_bodies. */
#include "tests/fuzz/http_endpoint.h"

#include <dirent.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "daemon/front/conn_limiter.h"
#include "daemon/http/http_impl.h"
#include "llamad/host.h"
#include "tests/fuzz/json_change.h"
#include "tests/fuzz/target.h"

#define BODY_BYTES  (1u << 20)
#define TURNS       64
#define ANSWER_BYTES (1u << 20)
#define BODIES_MAX   128

static struct event_base *base;
static struct lmi_conn_limiter limiter = {
	.limits = {.connections = 16, .connections_per_user = 16, .connections_kept = 16}};
static char answer[ANSWER_BYTES];

static void no_log(void *ctx, const char *topic, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)topic;
	(void)level;
	(void)fmt;
}

static const struct lmd_host host = {.log = no_log};

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

/* ---- a request ---- */

/* Writes the path of a route with a text in place of each member; returns its length. */
static size_t put_path(char *out, size_t n, const char *path)
{
	size_t at = 0;

	for (const char *p = path; *p && at + 2 < n; p++) {
		if (*p != '{') {
			out[at++] = *p;
			continue;
		}
		out[at++] = 'a';
		p = strchr(p, '}');
		REQUIRE(p);
	}
	out[at] = 0;
	return at;
}

static void send_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (k <= 0) {
			(void)event_base_loop(base, EVLOOP_NONBLOCK);
			k = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
		if (k <= 0)
			return; /* it was refused before */
		bytes += k;
		n -= (size_t)k;
	}
}

/* The answer is complete, and its body is JSON if it says so.  head_only: it has no body. */
static void check_answer(size_t n, bool head_only)
{
	const char *body, *length;

	answer[n] = 0;
	REQUIRE(n > 12 && !strncmp(answer, "HTTP/1.1 ", 9));
	REQUIRE(answer[9] >= '2' && answer[9] <= '5');
	body = strstr(answer, "\r\n\r\n");
	REQUIRE(body);
	length = strstr(answer, "Content-Length: ");
	if (!length || length > body || !strstr(answer, "application/json"))
		return;
	body += 4;
	REQUIRE(head_only ? body == answer + n
			  : strtoul(length + 16, NULL, 10) == n - (size_t)(body - answer));
	if (body < answer + n) {
		json_t *v = json_loadb(body, n - (size_t)(body - answer), JSON_DECODE_ANY | JSON_ALLOW_NUL,
				       NULL);

		REQUIRE(v);
		json_decref(v);
	}
}

static void ask(struct lmi_http_server *server, const struct lmi_http_route *route, const char *body,
		size_t n)
{
	static struct lmi_http_listen_socket listen_socket;
	const struct sockaddr_un un = {.sun_family = AF_UNIX};
	char path[256], head[512];
	size_t n_answer = 0;
	int fds[2];

	listen_socket = (struct lmi_http_listen_socket){
		.h = server, .addr = {.path = "fuzz", .loopback = true}};
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
	lmi_http_conn_accept(&listen_socket, fds[0], (const struct sockaddr *)&un);
	(void)put_path(path, sizeof(path), route->path);
	(void)snprintf(head, sizeof(head),
		       "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
		       lmi_http_method_names[route->method], path, n);
	send_all(fds[1], head, strlen(head));
	send_all(fds[1], body, n);
	(void)shutdown(fds[1], SHUT_WR);
	for (int i = 0; i < TURNS && server->conns; i++) {
		ssize_t k;

		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		while ((k = recv(fds[1], answer + n_answer, sizeof(answer) - 1 - n_answer, 0)) > 0)
			n_answer += (size_t)k;
	}
	(void)close(fds[1]);
	for (int i = 0; i < TURNS && server->conns; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	REQUIRE(!server->conns);
	check_answer(n_answer, route->method == LMI_HTTP_HEAD);
}

/* ---- changes of recorded bodies ---- */

static const struct lmi_http_route *route_of(const char *path)
{
	for (uint32_t i = 0; i < fuzz_routes->n; i++)
		if (!strcmp(fuzz_routes->v[i].path, path) && fuzz_routes->v[i].method == LMI_HTTP_POST)
			return &fuzz_routes->v[i];
	return NULL;
}

/* The bodies of the target, and those that clients of the API were recorded with. */
static struct fuzz_body bodies[BODIES_MAX];
static size_t n_bodies;

static void add_recorded(const char *folder, const char *name)
{
	char file[4096];
	const char *path;
	json_t *v;

	(void)snprintf(file, sizeof(file), "%s/%s", folder, name);
	v = json_load_file(file, JSON_ALLOW_NUL, NULL);
	path = json_string_value(json_object_get(v, "path"));
	if (path && route_of(path) && n_bodies < BODIES_MAX) {
		bodies[n_bodies].path = route_of(path)->path;
		bodies[n_bodies].text = json_dumps(json_object_get(v, "body"), JSON_COMPACT);
		REQUIRE(bodies[n_bodies].text);
		n_bodies++;
	}
	json_decref(v);
}

static void find_bodies(void)
{
	const char *top = getenv("LMD_TEST_SRCDIR");
	struct dirent **names;
	char folder[3000];
	int n;

	if (n_bodies)
		return;
	for (const struct fuzz_body *p = fuzz_bodies; p->path && n_bodies < BODIES_MAX; p++)
		bodies[n_bodies++] = *p;
	(void)snprintf(folder, sizeof(folder), "%s/tests/http/bodies", top ? top : ".");
	n = scandir(folder, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (strstr(names[i]->d_name, ".json"))
			add_recorded(folder, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* Bytes that are not JSON choose a body and change it. */
static char *changed(const uint8_t *data, size_t size, const struct lmi_http_route **route)
{
	const struct fuzz_body *from = &bodies[data[0] % n_bodies];
	json_t *v = json_loads(from->text, 0, NULL);
	char *text;

	REQUIRE(v);
	*route = route_of(from->path);
	REQUIRE(*route);
	fuzz_json_change(v, data, size);
	text = json_dumps(v, JSON_COMPACT);
	REQUIRE(text);
	json_decref(v);
	return text;
}

/* ---- the target ---- */

/* Opens the server once, because it describes all endpoints of the API. */
static struct lmi_http_server *open_server(uint64_t *n_live)
{
	static struct lmi_http_server *server;
	static uint64_t n_opened;
	static const struct lmi_http_routes *apis[2];
	struct lmi_http_opts o = {.host = &host,
				  .apis = apis,
				  .version = "test",
				  .model = "m",
				  .body_bytes = BODY_BYTES,
				  .limiter = &limiter,
				  .ops = {.has_key = has_key, .wall_ns = wall_ns}};
	struct lmi_alloc_stats stats;
	struct lmd_error err;

	if (!server) {
		apis[0] = fuzz_routes;
		base = o.base = event_base_new();
		REQUIRE(base);
		REQUIRE(lmi_http_open(&server, &o, &err) == LMD_OK);
		ask(server, &fuzz_routes->v[0], "", 0); /* the limiter remembers the peer */
		lmi_alloc_stats(&stats);
		n_opened = stats.n_live;
	}
	*n_live = n_opened;
	return server;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct lmi_http_route *route;
	struct lmi_http_server *server;
	struct lmi_alloc_stats stats;
	char *text = NULL;
	uint64_t n_live;
	json_t *v;

	if (!size)
		return 0;
	find_bodies();
	server = open_server(&n_live);
	route = &fuzz_routes->v[data[0] % fuzz_routes->n];
	v = json_loadb((const char *)data + 1, size - 1, JSON_ALLOW_NUL, NULL);
	if (!v && size > 2)
		text = changed(data, size, &route);
	json_decref(v);
	if (text)
		ask(server, route, text, strlen(text));
	else
		ask(server, route, (const char *)data + 1, size - 1);
	free(text);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == n_live);
	return 0;
}

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	const struct fuzz_body *from;
	const struct lmi_http_route *route;
	size_t n;

	find_bodies();
	if (k >= n_bodies)
		return false;
	from = &bodies[k];
	n = strlen(from->text);
	route = route_of(from->path);
	REQUIRE(route);
	*out = (struct fuzz_bytes){malloc(n + 1), n + 1};
	REQUIRE(out->p);
	out->p[0] = (uint8_t)(route - fuzz_routes->v);
	memcpy(out->p + 1, from->text, n);
	return true;
}
