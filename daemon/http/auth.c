/* SPDX-License-Identifier: MIT
 *
 * Who sent a request: the user of a unix socket, or the owner of an API key. */
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"

#define CHALLENGE "WWW-Authenticate: Bearer\r\n"

struct waiter {
	struct waiter *next;
	struct lmi_http_exchange *x; /* NULL: it has ended */
};

/* A look-up of a key.  Requests with the same key that arrive meanwhile wait for it, so that a
 * client that opens many connections at once is not mistaken for one that guesses keys. */
struct lmi_http_lookup {
	struct lmi_http_lookup *next; /* of the server */
	struct lmi_http_server *h;    /* NULL: it has ended */
	struct lmi_conn_peer peer;    /* of the first request */
	char digest[LMI_SHA256_HEX];
	struct waiter *waiters;
};

static void take_key(struct lmi_http_exchange *x, const struct lmi_front_login *key)
{
	x->principal.role = key->role;
	memcpy(x->principal.key_label, key->label, sizeof(x->principal.key_label));
}

static void report(const struct lmi_http_exchange *x, const char *reason)
{
	const struct lmi_http_opts *o = &x->h->o;

	o->ops.refused(o->arg, &x->conn->peer, x->principal.key_label, x->path, reason);
}

/* Continues if the principal may use the route, otherwise responds. */
static void check_role(struct lmi_http_exchange *x)
{
	enum lmi_svc_role role = x->principal.role;

	if (x->route->access == LMI_HTTP_PUBLIC || role == LMI_SVC_ROLE_ADMIN ||
	    (x->route->access == LMI_HTTP_USER && role == LMI_SVC_ROLE_USER))
		lmi_http_conn_continue(x->conn);
	else if (role == LMI_SVC_ROLE_NONE) {
		report(x, "the API key is missing");
		lmi_http_respond_text(x, 401, CHALLENGE,
				      "the API key is missing: send 'Authorization: Bearer KEY' or "
				      "'x-api-key: KEY'");
	} else {
		report(x, "the role admin is required");
		lmi_http_respond_text(x, 403, "", "%.200s requires the role admin: yours is user",
				      x->path);
	}
}

/* On this machine no key is needed as long as none exists.  Clients that insist on sending one then
 * send any text. */
static bool needs_no_key(const struct lmi_http_exchange *x)
{
	const struct lmi_http_opts *o = &x->h->o;

	return x->conn->socket->addr.loopback && !o->ops.has_key(o->arg);
}

static void without_key(struct lmi_http_exchange *x)
{
	const struct lmi_http_conn *c = x->conn;

	if (c->socket->addr.path)
		x->principal.role = lmi_conn_limiter_is_admin(x->h->limiter, &c->peer)
					    ? LMI_SVC_ROLE_ADMIN
					    : LMI_SVC_ROLE_USER;
	else if (needs_no_key(x))
		x->principal.role = LMI_SVC_ROLE_USER;
	check_role(x);
}

/* Returns the key in the header, "" if there is none. */
static struct lmd_str find_key(const struct lmi_http_head *head)
{
	const struct lmd_str *v = lmi_http_head_field(head, "authorization");
	struct lmd_str key = {.ptr = ""};

	if (v && v->len > 7 && !strncasecmp(v->ptr, "Bearer ", 7)) {
		key = (struct lmd_str){.ptr = v->ptr + 7, .len = v->len - 7};
		while (key.len && *key.ptr == ' ') {
			key.ptr++;
			key.len--;
		}
	} else if ((v = lmi_http_head_field(head, "x-api-key"))) {
		key = *v;
	}
	return key;
}

static bool make_digest(char out[LMI_SHA256_HEX], const struct lmd_str *secret)
{
	uint8_t bytes[LMI_SHA256_BYTES];
	struct lmi_sha256 s;

	if (!lmi_sha256_init(&s))
		return false;
	lmi_sha256_update(&s, secret->ptr, secret->len);
	if (!lmi_sha256_final(&s, bytes))
		return false;
	lmi_sha256_hex(out, bytes);
	return true;
}

static void not_known(struct lmi_http_exchange *x, const struct lmd_error *err)
{
	char peer[LMI_CONN_PEER_TEXT];

	if (err->status != LMD_DENIED) { /* the key was not checked */
		lmi_http_reply_status(x, err, 0);
		return;
	}
	LMI_HTTP_LOG(x->h, LMD_LOG_WARN, "login from %s failed: %s",
		     lmi_conn_peer_text(&x->conn->peer, peer), err->text);
	lmi_http_respond_text(x, 401, CHALLENGE, "the API key is unknown or has expired");
}

/* Handles the result for one exchange. */
static void take_login(struct lmi_http_exchange *x, const char *digest,
		       const struct lmi_front_login *login, const struct lmd_error *err)
{
	struct lmi_http_conn *c = x->conn;

	x->lookup = NULL;
	c->key_known = login != NULL;
	if (!login) {
		not_known(x, err);
		return;
	}
	c->key = *login;
	memcpy(c->key_digest, digest, sizeof(c->key_digest));
	take_key(x, login);
	check_role(x);
}

static void on_login(void *arg, const struct lmi_front_login *login, const struct lmd_error *err)
{
	struct lmi_http_lookup *l = arg;
	struct lmi_http_server *h = l->h;
	struct waiter *next;

	if (h) {
		struct lmi_http_lookup **p = &h->lookups;

		while (*p != l)
			p = &(*p)->next;
		*p = l->next;
		if (login || err->status != LMD_DENIED) /* only wrong keys count */
			lmi_conn_limiter_auth_ok(h->limiter, &l->peer);
	}
	/* handling one exchange can end another, whose waiter then says so */
	for (struct waiter *w = l->waiters; w; w = w->next)
		if (w->x)
			take_login(w->x, l->digest, login, err);
	for (struct waiter *w = l->waiters; w; w = next) {
		next = w->next;
		lmi_free(w);
	}
	lmi_free(l);
}

static void wait_for(struct lmi_http_lookup *l, struct lmi_http_exchange *x, struct waiter *own_w)
{
	own_w->x = x;
	own_w->next = l->waiters;
	l->waiters = own_w;
	x->lookup = &own_w->x;
}

static void look_up(struct lmi_http_exchange *x, const struct lmd_str *key, const char *digest)
{
	struct waiter *w = lmi_alloc(1, sizeof(*w));
	struct lmi_http_server *h = x->h;
	struct lmi_http_lookup *l = h->lookups;
	struct lmd_error err = {0};
	uint32_t retry_ms = 0;

	while (l && memcmp(l->digest, digest, sizeof(l->digest)) != 0)
		l = l->next;
	if (l && w) {
		wait_for(l, x, w);
		return;
	}
	l = w ? lmi_alloc(1, sizeof(*l)) : NULL;
	if (!l) {
		lmi_free(w);
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	if (lmi_conn_limiter_auth_attempt(h->limiter, &x->conn->peer, lmi_loop_now(), &retry_ms,
					  &err) != LMD_OK) {
		const struct lmi_http_error e = {
			.code = 429, .cause = LMD_BUSY, .text = err.text, .retry_ms = retry_ms};

		lmi_free(w);
		lmi_free(l);
		report(x, err.text);
		lmi_http_respond_error(x, &e, "");
		return;
	}
	*l = (struct lmi_http_lookup){.next = h->lookups, .h = h, .peer = x->conn->peer};
	memcpy(l->digest, digest, sizeof(l->digest));
	h->lookups = l;
	wait_for(l, x, w);
	h->o.ops.login(h->o.arg, &l->peer, key, on_login, l);
}

void lmi_http_auth_end(struct lmi_http_server *h)
{
	for (struct lmi_http_lookup *l = h->lookups; l; l = l->next)
		l->h = NULL;
	h->lookups = NULL;
}

void lmi_http_auth(struct lmi_http_exchange *x)
{
	const struct lmd_str key = find_key(&x->head);
	struct lmi_http_server *h = x->h;
	struct lmi_http_conn *c = x->conn;
	char digest[LMI_SHA256_HEX];

	if (!key.len || x->route->access == LMI_HTTP_PUBLIC || needs_no_key(x)) {
		without_key(x);
		return;
	}
	if (!make_digest(digest, &key)) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	if (c->key_known && c->key.expires_ns && h->o.ops.wall_ns(h->o.arg) >= c->key.expires_ns)
		c->key_known = false;
	if (c->key_known && !memcmp(c->key_digest, digest, sizeof(digest))) {
		take_key(x, &c->key);
		check_role(x);
		return;
	}
	look_up(x, &key, digest);
}
