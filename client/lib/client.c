/* SPDX-License-Identifier: MIT
 *
 * A client: its options, its authentication, and the exchange of requests and replies over its
 * transport. */
#include "client/lib/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "client/lib/address.h"
#include "client/lib/conn.h"
#include "core/base/alloc.h"

#define ARENA_MAX   ((uint64_t)256 << 20)
#define HELLO_TRIES 3

uint64_t lmi_client_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- opening ---- */

/* Sends hello with the key, which authenticates this connection. */
static enum lmd_status hello(struct lmd_client *c, struct lmd_error *err)
{
	struct lmi_client_answer a;
	struct lmi_wire_request req;
	const struct lmi_wire_rep_hello *r = &a.r.u.hello;
	enum lmd_status st;

	lmi_wire_request_init(&req, LMI_WIRE_OP_HELLO);
	req.u.hello.client = (struct lmd_str){.ptr = c->name, .len = strlen(c->name)};
	req.u.hello.key = (struct lmd_str){.ptr = c->key, .len = strlen(c->key)};
	req.u.hello.version = (struct lmd_str){.ptr = PACKAGE_VERSION,
					       .len = sizeof(PACKAGE_VERSION) - 1};
	st = lmi_client_exchange(c, &req, 0, &a, err);
	if (st != LMD_OK)
		return st;
	if (r->v_min > LMI_WIRE_V || r->v_max < LMI_WIRE_V)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "%s speaks protocol versions %lld to %lld, this client speaks %d",
			      c->url,
			      (long long)r->v_min, (long long)r->v_max, LMI_WIRE_V);
	if (!*c->version) { /* set only once, since other threads may read them */
		(void)snprintf(c->version, sizeof(c->version), "%.*s", (int)r->version.len,
			       r->version.ptr);
		c->admin = r->role == LMI_WIRE_ROLE_ADMIN;
	}
	lmi_client_reply_fini(&a);
	return st;
}

/* Copies a string of the options; returns LMD_INVALID if it is longer than the protocol allows. */
static enum lmd_status copy_option(char *out, size_t size, const char *what, const char *text,
				   struct lmd_error *err)
{
	size_t n = text ? strlen(text) : 0;

	if (n >= size)
		return lmd_fail(err, LMD_INVALID, "the %s has %zu bytes, the maximum is %zu", what,
				n, size - 1);
	if (n)
		memcpy(out, text, n + 1);
	return LMD_OK;
}

/* Copies the caller's struct, which may be that of an older header, and fills in defaults. */
static struct lmd_client_opts widen(const struct lmd_client_opts *given)
{
	struct lmd_client_opts o = {.struct_size = sizeof(o)};

	lmi_client_struct_take(&o, sizeof(o), given);
	if (!o.connect_ms)
		o.connect_ms = 5000;
	if (!o.call_ms)
		o.call_ms = 30000;
	return o;
}

enum lmd_status lmi_client_open_url(struct lmd_client **out, const struct lmd_client_opts *opts,
				    struct lmd_error *err)
{
	const struct lmd_client_opts o = widen(opts);
	struct lmd_client *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st = LMD_OK;

	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a client");
	if (!o.url)
		st = lmd_client_default_url(c->url, sizeof(c->url), err);
	else
		st = copy_option(c->url, sizeof(c->url), "URL", o.url, err);
	if (st == LMD_OK)
		st = lmi_client_url_check(c->url, err);
	if (st == LMD_OK)
		st = copy_option(c->name, sizeof(c->name), "name of the program", o.name, err);
	if (st == LMD_OK && strncmp(c->url, "ipc://", strlen("ipc://")))
		st = copy_option(c->key, sizeof(c->key), "key", o.key, err);
	if (st == LMD_OK)
		st = lmi_client_connect(&c->transport, c->url, &o, err);
	if (st == LMD_OK)
		st = hello(c, err);
	if (st != LMD_OK) {
		lmd_client_close(c);
		return st;
	}
	*out = c;
	return LMD_OK;
}

enum lmd_status lmi_client_create(struct lmd_client **out,
				  struct lmi_client_transport *own_transport, const char *url,
				  struct lmd_error *err)
{
	struct lmd_client *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st;

	if (!c) {
		own_transport->ops->close(own_transport);
		return lmd_fail(err, LMD_NOMEM, "no memory for a client");
	}
	c->transport = own_transport;
	(void)snprintf(c->url, sizeof(c->url), "%s", url);
	st = hello(c, err);
	if (st == LMD_OK)
		*out = c;
	else
		lmd_client_close(c);
	return st;
}

LMD_EXPORT void lmd_client_close(struct lmd_client *c)
{
	if (!c)
		return;
	if (c->transport)
		c->transport->ops->close(c->transport);
	explicit_bzero(c->key, sizeof(c->key));
	lmi_free(c);
}

LMD_EXPORT void lmd_client_server(const struct lmd_client *c, struct lmd_server *out)
{
	const struct lmd_server all = {.struct_size = out->struct_size,
				       .admin = c->admin,
				       .version = c->version,
				       .url = c->url};

	lmi_client_struct_give(out, &all, sizeof(all));
}

/* ---- requests ---- */

enum lmd_status lmi_client_idempotency_key(char out[LMI_CLIENT_IDEMPOTENCY_KEY_SIZE],
					   struct lmd_error *err)
{
	uint8_t b[(LMI_CLIENT_IDEMPOTENCY_KEY_SIZE - 1) / 2];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return lmd_fail(err, LMD_IO, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(b); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", b[i]);
	return LMD_OK;
}

static int nibble(char ch)
{
	return ch >= '0' && ch <= '9'   ? ch - '0'
	       : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
	       : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
					: -1;
}

bool lmi_client_id(struct lmi_wire_id *id, const char *hex, size_t n)
{
	if (n != 2 * sizeof(id->b))
		return false;
	for (size_t i = 0; i < sizeof(id->b); i++) {
		int hi = nibble(hex[2 * i]), lo = nibble(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		id->b[i] = (uint8_t)(hi * 16 + lo);
	}
	return true;
}

void lmi_client_reply_fini(struct lmi_client_answer *a)
{
	if (a->msg.own)
		a->msg.free(a->msg.own);
	lmi_arena_destroy(a->arena);
	*a = (struct lmi_client_answer){0};
}

/* Sets *say_hello if the request failed because the connection is not authenticated. */
static enum lmd_status call_once(struct lmd_client *c, enum lmi_wire_op op, const void *p, size_t n,
				 uint32_t extra_ms, struct lmi_client_answer *out, bool *say_hello,
				 struct lmd_error *err)
{
	enum lmd_status st;

	*say_hello = false;
	*out = (struct lmi_client_answer){.arena = lmi_arena_create(ARENA_MAX)};
	if (!out->arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a reply");
	st = c->transport->ops->exchange(c->transport, p, n, extra_ms, &out->msg, err);
	if (st == LMD_OK)
		st = lmi_wire_reply_decode(&out->r, op, out->msg.p, out->msg.n, out->arena, err);
	if (st == LMD_OK && out->r.failed) {
		*say_hello = out->r.error.hello && op != LMI_WIRE_OP_HELLO && *c->key;
		st = lmd_fail(err, out->r.error.code, "%.*s", (int)out->r.error.text.len,
			      out->r.error.text.ptr);
	}
	if (st != LMD_OK)
		lmi_client_reply_fini(out);
	return st;
}

enum lmd_status lmi_client_exchange_bytes(struct lmd_client *c, enum lmi_wire_op op, const void *p,
					  size_t n, uint32_t extra_ms,
					  struct lmi_client_answer *out, struct lmd_error *err)
{
	bool say_hello;
	enum lmd_status st = call_once(c, op, p, n, extra_ms, out, &say_hello, err);

	/* nng has reconnected; it may do so again between hello and the request */
	for (int k = 0; say_hello && k < HELLO_TRIES; k++) {
		st = hello(c, err);
		if (st != LMD_OK)
			break;
		st = call_once(c, op, p, n, extra_ms, out, &say_hello, err);
	}
	return st;
}

enum lmd_status lmi_client_exchange(struct lmd_client *c, struct lmi_wire_request *req,
				    uint32_t extra_ms, struct lmi_client_answer *out,
				    struct lmd_error *err)
{
	struct lmi_wire_buf b = {0};
	char rid[LMI_CLIENT_IDEMPOTENCY_KEY_SIZE];
	enum lmd_status st = LMD_OK;

	*out = (struct lmi_client_answer){0};
	if (lmi_wire_ops[req->op].changes == LMI_WIRE_CHANGES_ONCE && !req->rid.len) {
		st = lmi_client_idempotency_key(rid, err);
		req->rid = (struct lmd_str){.ptr = rid, .len = sizeof(rid) - 1};
	}
	if (st == LMD_OK)
		st = lmi_wire_request_encode(&b, req, err);
	if (st == LMD_OK)
		st = lmi_client_exchange_bytes(c, req->op, b.p, b.n, extra_ms, out, err);
	if (req->rid.ptr == rid)
		req->rid = (struct lmd_str){0};
	lmi_wire_buf_fini(&b);
	return st;
}
