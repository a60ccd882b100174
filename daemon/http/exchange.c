/* SPDX-License-Identifier: MIT
 *
 * The life of an exchange, and what endpoints ask of it. */
#include "daemon/http/exchange.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/printable.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"
#include "proto/proto.h"

/* Memory of an exchange: that of a parsed body and its request, and some more. */
#define ARENA_FACTOR 4u
#define ARENA_BYTES  (4u << 20)
/* Bounds of JSON in a body. */
#define JSON_DEPTH  64u
#define JSON_VALUES (1u << 20)
#define QUERY_MAX   64u

/* A pending request to the service. */
struct lmi_http_call {
	struct lmi_http_call *prev, *next; /* of the exchange */
	struct lmi_http_exchange *x;       /* NULL: it has ended */
	struct lmi_http_server *h;
	bool deferred; /* not sent yet */
	struct lmi_wire_request req;
	lmi_svc_reply_fn reply;
	void *arg;
};

/* ---- life ---- */

static enum lmi_http_method method_of(const struct lmd_str *name, bool *known)
{
	for (int m = 0; m < LMI_HTTP_N_METHOD; m++)
		if (strlen(lmi_http_method_names[m]) == name->len &&
		    !memcmp(lmi_http_method_names[m], name->ptr, name->len)) {
			*known = true;
			return (enum lmi_http_method)m;
		}
	return LMI_HTTP_GET;
}

struct lmi_http_exchange *lmi_http_exchange_create(struct lmi_http_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct lmd_arena *arena =
		lmi_arena_create(ARENA_FACTOR * c->h->o.body_bytes + ARENA_BYTES);
	struct lmi_http_exchange *x = arena ? lmi_arena_alloc(arena, sizeof(*x), 64) : NULL;
	char *text = x ? lmi_arena_alloc(arena, c->head.n_bytes, 1) : NULL;

	if (!text) {
		lmi_arena_destroy(arena);
		return NULL;
	}
	lmi_http_head_copy(&x->head, &c->head, text);
	(void)evbuffer_drain(in, c->head.n_bytes);
	x->conn = c;
	x->peer = c->peer;
	x->h = c->h;
	x->arena = arena;
	x->method = method_of(&x->head.method, &x->method_known);
	x->path = lmi_arena_strndup(arena, x->head.path.ptr, x->head.path.len);
	x->created = c->h->o.ops.wall_ns(c->h->o.arg) / 1000000000;
	x->begun_ns = lmi_loop_now();
	x->principal = (struct lmi_svc_principal){
		.uid = c->uid,
		.gid = c->gid,
		.pid = c->pid,
		.remote = c->peer.remote,
		/* apart from the numbers of the daemon's other connections */
		.conn = 1ull << 63 | ++c->h->n_exchange};
	c->h->n_running++;
	return x;
}

struct lmi_http_exchange *lmi_http_exchange_create_again(struct lmi_http_server *h,
							 const struct lmi_svc_principal *owner,
							 const struct lmd_str *path,
							 const struct lmd_str *body)
{
	struct lmd_arena *arena = lmi_arena_create(ARENA_FACTOR * h->o.body_bytes + ARENA_BYTES);
	struct lmi_http_exchange *x = arena ? lmi_arena_alloc(arena, sizeof(*x), 64) : NULL;
	struct lmi_http_found found;

	lmi_http_route_find(&found, h->o.apis, LMI_HTTP_POST, path);
	if (x)
		x->path = lmi_arena_strndup(arena, path->ptr, path->len);
	if (!x || !x->path || !found.route || !found.route->handle) {
		lmi_arena_destroy(arena);
		return NULL;
	}
	x->h = h;
	x->arena = arena;
	x->method = LMI_HTTP_POST;
	x->method_known = true;
	x->head.method = (struct lmd_str){.ptr = "POST", .len = 4};
	x->head.path = (struct lmd_str){.ptr = x->path, .len = path->len};
	x->api = found.api;
	x->route = found.route;
	memcpy(x->members, found.members, sizeof(x->members));
	x->principal = *owner;
	x->principal.conn = 1ull << 63 | ++h->n_exchange;
	x->begun_ns = lmi_loop_now();
	x->created = h->o.ops.wall_ns(h->o.arg) / 1000000000;
	h->n_running++;
	/* a body that another configuration would refuse was accepted once */
	x->body = lmi_strndup(body->ptr, body->len);
	x->n_body = x->body_cap = x->body ? body->len : 0;
	h->body_bytes += x->body_cap;
	return x;
}

static void write_log(const struct lmi_http_exchange *x)
{
	const char *who = x->principal.key_label;
	char path[120], model[100], peer[LMI_CONN_PEER_TEXT];
	bool gone = x->phase != LMI_HTTP_PHASE_DONE;

	if (!*who)
		who = lmi_conn_peer_text(&x->peer, peer);
	lmi_printable(path, sizeof(path), x->head.path.ptr, x->head.path.len);
	if (!x->log_model) {
		LMI_HTTP_LOG(x->h, LMD_LOG_INFO, "%.*s %s; status=%d principal=%s ms=%llu end=%s",
			     (int)(x->head.method.len < 16 ? x->head.method.len : 16),
			     x->head.method.ptr, path, x->code, who,
			     (unsigned long long)((lmi_loop_now() - x->begun_ns) / LMI_NS_PER_MS),
			     gone         ? "gone"
			     : x->log_end ? x->log_end
					  : "done");
		return;
	}
	LMI_HTTP_LOG(x->h, LMD_LOG_INFO,
		     "%s %s; status=%d model=%s principal=%s ms=%llu queue_ms=%llu first_ms=%llu "
		     "prompt=%u out=%u end=%s",
		     lmi_http_method_names[x->method], path, x->code,
		     lmi_printable(model, sizeof(model), x->log_model, strlen(x->log_model)), who,
		     (unsigned long long)((lmi_loop_now() - x->begun_ns) / LMI_NS_PER_MS),
		     (unsigned long long)(x->log_queue_ns / LMI_NS_PER_MS),
		     (unsigned long long)(x->log_first_ns / LMI_NS_PER_MS), x->log_prompt,
		     x->log_out,
		     gone         ? "gone"
		     : x->log_end ? x->log_end
				  : "done");
}

void lmi_http_exchange_destroy(struct lmi_http_exchange *x)
{
	struct lmi_http_server *h = x->h;
	struct lmi_http_call *next;
	bool pending = x->calls != NULL;

	lmi_http_turn_cancel(x);
	if (x->fini)
		x->fini(x->hook_arg);
	lmi_http_replay_release(x);
	if (x->lookup)
		*x->lookup = NULL;
	for (struct lmi_http_call *c = x->calls; c; c = next) {
		next = c->next;
		c->x = NULL; /* freed when it is answered */
		if (c->deferred)
			lmi_free(c);
	}
	for (struct lmi_http_later *l = h->later; l; l = l->next)
		if (l->x == x)
			l->x = NULL;
	if (pending && h->svc)
		lmi_service_disconnected(h->svc, lmi_loop_now(), x->principal.conn);
	write_log(x);
	h->n_running--;
	h->body_bytes -= x->body_cap;
	json_decref(x->kept);
	json_decref(x->json);
	lmi_free(x->body);
	lmi_arena_destroy(x->arena);
}

/* ---- later ---- */

void lmi_http_later(struct lmi_http_exchange *x,
		    void (*fn)(struct lmi_http_exchange *x, void *arg), void *arg)
{
	struct lmi_http_later *l = lmi_alloc(1, sizeof(*l));
	struct lmi_http_server *h = x->h;

	if (!l) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	*l = (struct lmi_http_later){.x = x, .fn = fn, .arg = arg};
	*h->later_end = l;
	h->later_end = &l->next;
	event_active(h->later_event, EV_TIMEOUT, 0);
}

void lmi_http_later_run(struct lmi_http_server *h)
{
	while (h->later) {
		struct lmi_http_later *l = h->later;

		h->later = l->next;
		if (!h->later)
			h->later_end = &h->later;
		if (l->x)
			l->fn(l->x, l->arg);
		lmi_free(l);
	}
}

/* ---- before the body ---- */

/* Answers a request that a browser sends before it sends the one of a page. */
static void preflight(struct lmi_http_exchange *x, uint32_t allowed)
{
	char fields[512], methods[64];

	lmi_http_methods_text(methods, sizeof(methods), allowed);
	snprintf(fields, sizeof(fields),
		 "Allow: %s\r\nAccess-Control-Allow-Methods: %s\r\n"
		 "Access-Control-Allow-Headers: Authorization, Content-Type, X-Api-Key, "
		 "Anthropic-Version, Anthropic-Beta, OpenAI-Organization, OpenAI-Project, "
		 "X-Conversation-Id, X-Event-Ids, Last-Event-ID\r\n"
		 "Access-Control-Max-Age: 600\r\n",
		 methods, methods);
	lmi_http_respond(x, 204, NULL, fields, NULL, 0);
}

/* Returns whether the request may come from where it does; otherwise responds. */
static bool check_origin(struct lmi_http_exchange *x)
{
	const struct lmd_str *origin = lmi_http_head_field(&x->head, "origin");
	const struct lmi_http_opts *o = &x->h->o;
	char shown[100];

	if (x->conn->socket->addr.loopback && x->head.host.len &&
	    !lmi_http_host_is_local(&x->head.host)) {
		lmi_http_respond_text(x, 403, "",
				      "Host: '%s' is not a name of this machine: use localhost or "
				      "127.0.0.1",
				      lmi_printable(shown, sizeof(shown), x->head.host.ptr,
						    x->head.host.len));
		return false;
	}
	if (!origin)
		return true;
	x->cors = lmi_http_origin_allowed(o->origins, o->n_origin, origin);
	if (x->cors || lmi_http_origin_is_host(origin, &x->head.host))
		return true;
	lmi_http_respond_text(x, 403, "",
			      "Origin: '%s' is not allowed: add it to http_origin in the "
			      "configuration",
			      lmi_printable(shown, sizeof(shown), origin->ptr, origin->len));
	return false;
}

void lmi_http_exchange_admit(struct lmi_http_exchange *x)
{
	struct lmi_http_found found;
	char fields[160] = "Allow: ";

	lmi_http_route_find(&found, x->h->o.apis, x->method, &x->head.path);
	x->api = found.api;
	x->route = found.route;
	memcpy(x->members, found.members, sizeof(x->members));
	if (!check_origin(x))
		return;
	if (!x->method_known) {
		lmi_http_respond_text(x, 501, "", "the method is not known");
	} else if (x->head.has_length && x->head.length > x->h->o.body_bytes) {
		lmi_http_respond_text(x, 413, "", "the body has %llu bytes, the maximum is %llu",
				      (unsigned long long)x->head.length,
				      (unsigned long long)x->h->o.body_bytes);
	} else if (x->method == LMI_HTTP_OPTIONS && !x->route) {
		preflight(x, found.allowed ? found.allowed : (1u << LMI_HTTP_N_METHOD) - 1);
	} else if (!found.allowed) {
		lmi_http_respond_text(x, 404, "", "there is no endpoint %.200s", x->path);
	} else if (!x->route) {
		lmi_http_methods_text(fields + strlen(fields), 100, found.allowed);
		memcpy(fields + strlen(fields), "\r\n", 3);
		lmi_http_respond_text(x, 405, fields, "%s is not allowed for %.200s",
				      lmi_http_method_names[x->method], x->path);
	} else {
		lmi_http_auth(x);
	}
}

/* ---- the body ---- */

bool lmi_http_exchange_add(struct lmi_http_exchange *x, const char *bytes, size_t n)
{
	uint64_t max = x->h->o.body_bytes;
	size_t cap = x->body_cap ? x->body_cap : 4096;
	char *p;

	if (x->n_body + n > max) {
		lmi_http_respond_text(x, 413, "", "the body has more than %llu bytes",
				      (unsigned long long)max);
		return false;
	}
	while (cap - x->n_body < n)
		cap *= 2;
	if (cap != x->body_cap) {
		bool room = x->h->body_bytes + cap - x->body_cap <= LMI_HTTP_BODIES * max + cap;

		p = room ? lmi_realloc(x->body, cap, 1) : NULL;
		if (!p) {
			lmi_http_respond_text(x, 503, "Retry-After: 1\r\n",
					      room ? "out of memory"
						   : "the server is busy: too many long bodies "
						     "are being received");
			return false;
		}
		x->h->body_bytes += cap - x->body_cap;
		x->body = p;
		x->body_cap = cap;
	}
	memcpy(x->body + x->n_body, bytes, n);
	x->n_body += n;
	return true;
}

void lmi_http_exchange_run(struct lmi_http_exchange *x)
{
	x->begun_ns = lmi_loop_now();
	if (x->route->handle)
		x->route->handle(x);
	else
		lmi_http_respond_text(x, 501, "", "not implemented: %s", x->route->summary);
}

/* ---- what endpoints ask of the request ---- */

const struct lmi_http_route *lmi_http_route_of(const struct lmi_http_exchange *x)
{
	return x->route;
}

const struct lmi_svc_principal *lmi_http_principal(const struct lmi_http_exchange *x)
{
	return &x->principal;
}

const char *lmi_http_path_member(const struct lmi_http_exchange *x, const char *name)
{
	const char *p = x->route->path;
	size_t n = strlen(name);

	for (uint32_t i = 0; i < LMI_HTTP_MEMBERS && (p = strchr(p, '{')); i++, p++) {
		const struct lmd_str *m = &x->members[i];
		char *out;

		if (strncmp(p + 1, name, n) || p[1 + n] != '}')
			continue;
		out = lmi_arena_alloc(x->arena, m->len + 1, 1);
		return out && lmi_http_percent_decode(out, m->ptr, m->len, false) ? out : "";
	}
	return "";
}

static char *decode(struct lmi_http_exchange *x, const char *text, size_t n)
{
	char *out = lmi_arena_alloc(x->arena, n + 1, 1);

	return out && lmi_http_percent_decode(out, text, n, true) ? out : NULL;
}

static void read_query(struct lmi_http_exchange *x)
{
	const char *p = x->head.query.ptr ? x->head.query.ptr : "", *end = p + x->head.query.len;

	x->query_read = true;
	x->query = lmi_arena_array(x->arena, QUERY_MAX, sizeof(*x->query));
	while (x->query && p < end && x->n_query < QUERY_MAX) {
		const char *amp = memchr(p, '&', (size_t)(end - p)), *eq;
		struct lmi_http_query *q = &x->query[x->n_query];

		amp = amp ? amp : end;
		eq = memchr(p, '=', (size_t)(amp - p));
		q->name = decode(x, p, (size_t)((eq ? eq : amp) - p));
		q->value = eq ? decode(x, eq + 1, (size_t)(amp - eq - 1)) : "";
		x->n_query += q->name && q->value;
		p = amp + 1;
	}
}

const char *lmi_http_query(const struct lmi_http_exchange *x, const char *name)
{
	if (!x->query_read)
		read_query((struct lmi_http_exchange *)x);
	for (uint32_t i = 0; i < x->n_query; i++)
		if (!strcmp(x->query[i].name, name))
			return x->query[i].value;
	return NULL;
}

const char *lmi_http_header(const struct lmi_http_exchange *x, const char *name)
{
	const struct lmd_str *v = lmi_http_head_field(&x->head, name);

	return v ? lmi_arena_strndup(x->arena, v->ptr, v->len) : NULL;
}

struct lmd_str lmi_http_body(const struct lmi_http_exchange *x)
{
	return (struct lmd_str){.ptr = x->body ? x->body : "", .len = x->n_body};
}

/* Checks the bounds before anything is allocated for the values. */
static const char *json_too_large(const char *p, size_t n)
{
	uint32_t depth = 0, n_value = 1;
	bool in_string = false;

	for (size_t i = 0; i < n; i++) {
		if (in_string) {
			in_string = p[i] != '"';
			i += p[i] == '\\';
			continue;
		}
		in_string = p[i] == '"';
		n_value += p[i] == ',' || p[i] == '[' || p[i] == '{';
		depth += p[i] == '[' || p[i] == '{';
		depth -= (p[i] == ']' || p[i] == '}') && depth;
		if (depth > JSON_DEPTH)
			return "the body has more than 64 levels of arrays and objects";
		if (n_value > JSON_VALUES)
			return "the body has more than 1048576 values";
	}
	return NULL;
}

/* Returns the body if it is an object, or an array if that is what is required. */
static const json_t *body_of(struct lmi_http_exchange *x, bool list)
{
	const char *text = x->body ? x->body : "", *large = json_too_large(text, x->n_body);
	json_error_t e;

	if (x->json)
		return x->json;
	if (large) {
		lmi_http_reply_invalid(x, NULL, "%s", large);
		return NULL;
	}
	x->json = json_loadb(text, x->n_body, JSON_REJECT_DUPLICATES, &e);
	if (x->json && (list ? json_is_array(x->json) : json_is_object(x->json)))
		return x->json;
	if (x->json)
		lmi_http_reply_invalid(x, NULL, "the body is not a JSON %s",
				       list ? "array" : "object");
	else
		lmi_http_reply_invalid(x, NULL, "the body is not valid JSON: line %d column %d: %s",
				       e.line, e.column, e.text);
	json_decref(x->json);
	x->json = NULL;
	return NULL;
}

const json_t *lmi_http_body_object(struct lmi_http_exchange *x)
{
	return body_of(x, false);
}

const json_t *lmi_http_body_list(struct lmi_http_exchange *x)
{
	return body_of(x, true);
}

bool lmi_http_keep_json(struct lmi_http_exchange *x, json_t *own_value)
{
	if (!x->kept)
		x->kept = json_array();
	if (!json_array_append_new(x->kept, own_value))
		return true;
	lmi_http_respond_text(x, 503, "", "out of memory");
	return false;
}

struct lmi_http_objects *lmi_http_objects_of(const struct lmi_http_exchange *x)
{
	return x->h->objects;
}

struct lmd_arena *lmi_http_arena(struct lmi_http_exchange *x)
{
	return x->arena;
}

int64_t lmi_http_created(const struct lmi_http_exchange *x)
{
	return x->created;
}

/* ---- the service ---- */

static void on_reply(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct lmi_http_call *c = arg;
	struct lmi_http_exchange *x = c->x;

	if (x) {
		*(c->prev ? &c->prev->next : &x->calls) = c->next;
		if (c->next)
			c->next->prev = c->prev;
		c->h->in_service++;
		if (x->phase != LMI_HTTP_PHASE_DONE)
			c->reply(c->arg, reply, err, retry_ms);
		c->h->in_service--;
	}
	lmi_free(c);
}

static void start_call(struct lmi_http_exchange *x, void *arg)
{
	struct lmi_http_call *c = arg;
	struct lmd_error err;

	c->deferred = false;
	if (x->h->svc) {
		lmi_service_call(x->h->svc, lmi_loop_now(), &x->principal, &c->req, on_reply, c);
		return;
	}
	(void)lmd_fail(&err, LMD_CANCELLED, "shutting down");
	on_reply(c, NULL, &err, 0);
}

/* Gives the request an id of its own: over HTTP none is repeated. */
static void set_rid(struct lmi_http_exchange *x, struct lmi_wire_request *q)
{
	q->rid.ptr = lmi_arena_printf(x->arena, "http%llx.%llx", (unsigned long long)x->principal.conn,
				      (unsigned long long)x->h->n_call++);
	q->rid.len = q->rid.ptr ? strlen(q->rid.ptr) : 0;
}

void lmi_http_call(struct lmi_http_exchange *x, const struct lmi_wire_request *req,
		   lmi_svc_reply_fn reply, void *arg)
{
	struct lmi_http_call *c = lmi_alloc(1, sizeof(*c));
	struct lmd_error err;

	if (!c) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for a request");
		reply(arg, NULL, &err, 0);
		return;
	}
	*c = (struct lmi_http_call){
		.x = x, .h = x->h, .req = *req, .reply = reply, .arg = arg, .next = x->calls};
	if (!req->rid.len && lmi_wire_ops[req->op].changes == LMI_WIRE_CHANGES_ONCE)
		set_rid(x, &c->req);
	if (c->next)
		c->next->prev = c;
	x->calls = c;
	c->deferred = x->h->in_service > 0;
	if (c->deferred)
		lmi_http_later(x, start_call, c);
	else
		start_call(x, c);
}
