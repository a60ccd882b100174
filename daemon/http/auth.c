/* SPDX-License-Identifier: MIT
 *
 * Who sent a request: the user of a unix socket, or the owner of an API key. */
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"

#define CHALLENGE "WWW-Authenticate: Bearer\r\n"

/* A look-up of a key. */
struct lookup {
	struct lmi_http_exchange *x; /* NULL: it has ended */
	char digest[LMI_SHA256_HEX];
};

static void take_key(struct lmi_http_exchange *x, const struct lmi_front_login *key)
{
	x->principal.role = key->role;
	memcpy(x->principal.key_label, key->label, sizeof(x->principal.key_label));
}

/* Continues if the principal may use the route, otherwise responds. */
static void check_role(struct lmi_http_exchange *x)
{
	enum lmi_svc_role role = x->principal.role;

	if (x->route->access == LMI_HTTP_PUBLIC || role == LMI_SVC_ROLE_ADMIN ||
	    (x->route->access == LMI_HTTP_USER && role == LMI_SVC_ROLE_USER))
		lmi_http_conn_continue(x->conn);
	else if (role == LMI_SVC_ROLE_NONE)
		lmi_http_respond_text(x, 401, CHALLENGE,
				      "the API key is missing: send 'Authorization: Bearer KEY' or "
				      "'x-api-key: KEY'");
	else
		lmi_http_respond_text(x, 403, "", "%.200s requires the role admin: yours is user",
				      x->path);
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
		x->principal.role = lmi_conn_limiter_is_admin(&x->h->limiter, &c->peer)
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
		lmi_conn_limiter_auth_ok(&x->h->limiter, &x->conn->peer);
		lmi_http_reply_status(x, err, 0);
		return;
	}
	LMI_HTTP_LOG(x->h, LMD_LOG_WARN, "login from %s failed: %s",
		     lmi_conn_peer_text(&x->conn->peer, peer), err->text);
	lmi_http_respond_text(x, 401, CHALLENGE, "the API key is unknown or has expired");
}

static void on_login(void *arg, const struct lmi_front_login *login, const struct lmd_error *err)
{
	struct lookup *l = arg;
	struct lmi_http_exchange *x = l->x;

	if (x) {
		struct lmi_http_conn *c = x->conn;

		x->lookup = NULL;
		c->key_known = login != NULL;
		if (login) {
			lmi_conn_limiter_auth_ok(&c->h->limiter, &c->peer);
			c->key = *login;
			memcpy(c->key_digest, l->digest, sizeof(c->key_digest));
			take_key(x, login);
			check_role(x);
		} else {
			not_known(x, err);
		}
	}
	lmi_free(l);
}

static void look_up(struct lmi_http_exchange *x, const struct lmd_str *key, const char *digest)
{
	struct lookup *l = lmi_alloc(1, sizeof(*l));
	struct lmi_http_server *h = x->h;
	struct lmd_error err = {0};
	uint32_t retry_ms = 0;

	if (!l) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	if (lmi_conn_limiter_auth_attempt(&h->limiter, &x->conn->peer, lmi_loop_now(), &retry_ms,
					  &err) != LMD_OK) {
		const struct lmi_http_error e = {
			.code = 429, .cause = LMD_BUSY, .text = err.text, .retry_ms = retry_ms};

		lmi_free(l);
		lmi_http_respond_error(x, &e, "");
		return;
	}
	l->x = x;
	x->lookup = &l->x;
	memcpy(l->digest, digest, sizeof(l->digest));
	h->o.ops.login(h->o.arg, key, on_login, l);
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
