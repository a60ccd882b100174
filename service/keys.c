/* SPDX-License-Identifier: MIT
 *
 * The ops key_add, key_rm and keys.  API keys can be managed only on the unix socket, so that a
 * stolen key cannot be used to create others. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/call.h"
#include "service/ops.h"
#include "service/request.h"
#include "service/service_state.h"

struct key_call {
	char label[LMI_WIRE_LIMIT_LABEL_BYTES + 1];
	struct lmi_store_key key; /* key_add */
	struct lmi_store_keys keys;
	int64_t now_ns;
};

static int64_t wall_ns(const struct lmi_service *svc)
{
	return svc->hooks.wall_ns ? svc->hooks.wall_ns(svc->hooks.arg) : 0;
}

static void end(struct lmi_svc_call *c)
{
	struct key_call *k = c->data;

	lmi_store_keys_fini(&k->keys);
	lmi_svc_call_destroy(c);
}

/* Creates a call with a label; label may be NULL. */
static enum lmd_status begin(struct lmi_svc_call **out, struct lmi_svc_request *a,
			     const struct lmd_str *label, struct lmd_error *err)
{
	struct key_call *k;
	enum lmd_status st;

	if (a->principal.remote)
		return lmd_fail(err, LMD_DENIED, "op %s: keys can be managed only on the unix socket",
				lmi_wire_ops[a->req->op].name);
	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	if (label && memchr(label->ptr, 0, label->len))
		return lmd_fail(err, LMD_INVALID, "label: contains a zero byte");
	st = lmi_svc_call_create(out, a, err);
	if (st != LMD_OK)
		return st;
	k = lmi_arena_alloc((*out)->request.arena, sizeof(*k), _Alignof(struct key_call));
	(*out)->data = k;
	if (!k) {
		lmi_svc_call_destroy(*out);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	k->now_ns = wall_ns(a->svc);
	if (label)
		(void)snprintf(k->label, sizeof(k->label), "%.*s", (int)label->len, label->ptr);
	return LMD_OK;
}

static enum lmd_status submit(struct lmi_svc_call *c, void (*run)(void *arg),
			      void (*done)(struct lmi_svc_call *c), struct lmd_error *err)
{
	enum lmd_status st;

	c->done = done;
	st = lmi_svc_call_submit(c, c->request.svc->o.registry, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

/* ---- key_add ---- */

static void add_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct key_call *k = c->data;

	c->err.status = lmi_store_key_add(c->request.svc->o.store, &k->key, &c->err);
}

static void add_done(struct lmi_svc_call *c)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	if (c->err.status == LMD_OK && h->key_added)
		h->key_added(h->arg);
	if (c->err.status == LMD_OK)
		lmi_svc_request_reply(&c->request, &r);
	else
		lmi_svc_request_fail(&c->request, &c->err, 0);
	end(c);
}

enum lmd_status lmi_svc_do_key_add(struct lmi_svc_request *a, uint32_t *retry_ms,
				   struct lmd_error *err)
{
	const struct lmi_wire_req_key_add *q = &a->req->u.key_add;
	struct lmi_svc_call *c;
	struct key_call *k;
	enum lmd_status st = begin(&c, a, &q->label, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	k = c->data;
	k->key = (struct lmi_store_key){
		.label = k->label,
		.role = q->role == LMI_WIRE_ROLE_ADMIN ? LMI_STORE_ADMIN : LMI_STORE_USER,
		.created_at = k->now_ns,
		.expires_at = q->expires_ms * (int64_t)LMI_NS_PER_MS,
	};
	(void)snprintf(k->key.hash, sizeof(k->key.hash), "%.*s", (int)q->digest.len, q->digest.ptr);
	if (q->expires_ms && k->key.expires_at <= k->now_ns) {
		end(c);
		return lmd_fail(err, LMD_INVALID, "expires_ms: %lld is in the past",
				(long long)q->expires_ms);
	}
	return submit(c, add_run, add_done, err);
}

/* ---- key_rm ---- */

static void rm_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct key_call *k = c->data;

	c->err.status = lmi_store_key_remove(c->request.svc->o.store, k->label, &c->err);
}

static void rm_done(struct lmi_svc_call *c)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	const struct key_call *k = c->data;
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	r.u.key_rm.found = c->err.status == LMD_OK;
	if (r.u.key_rm.found && h->key_removed)
		h->key_removed(h->arg, k->label);
	if (r.u.key_rm.found || c->err.status == LMD_NOTFOUND)
		lmi_svc_request_reply(&c->request, &r);
	else
		lmi_svc_request_fail(&c->request, &c->err, 0);
	end(c);
}

enum lmd_status lmi_svc_do_key_rm(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, &a->req->u.key_rm.label, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, rm_run, rm_done, err) : st;
}

/* ---- keys ---- */

static void list_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct key_call *k = c->data;

	c->err.status = lmi_store_key_list(c->request.svc->o.store, &k->keys, &c->err);
}

static enum lmd_status fill(struct lmi_svc_call *c, struct lmi_wire_reply *r)
{
	const struct key_call *k = c->data;
	uint32_t n = k->keys.n < LMI_WIRE_LIMIT_ROWS ? k->keys.n : LMI_WIRE_LIMIT_ROWS;
	struct lmi_wire_key *rows = lmi_arena_array(c->request.arena, n + 1u, sizeof(*rows));

	if (!rows)
		return lmd_fail(&c->err, LMD_NOMEM, "no memory for %u keys", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_store_key *key = &k->keys.v[i];

		rows[i] = (struct lmi_wire_key){
			.label = lmi_svc_str(key->label),
			.role = key->role == LMI_STORE_ADMIN ? LMI_WIRE_ROLE_ADMIN
							     : LMI_WIRE_ROLE_USER,
			.created_ms = key->created_at / (int64_t)LMI_NS_PER_MS,
			.expires_ms = key->expires_at / (int64_t)LMI_NS_PER_MS,
			.expired = key->expires_at && key->expires_at <= k->now_ns,
		};
	}
	r->u.keys.keys = rows;
	r->u.keys.n_keys = n;
	return LMD_OK;
}

static void list_done(struct lmi_svc_call *c)
{
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	if (c->err.status == LMD_OK)
		c->err.status = fill(c, &r);
	if (c->err.status == LMD_OK)
		lmi_svc_request_reply(&c->request, &r);
	else
		lmi_svc_request_fail(&c->request, &c->err, 0);
	end(c);
}

enum lmd_status lmi_svc_do_keys(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, NULL, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, list_run, list_done, err) : st;
}
