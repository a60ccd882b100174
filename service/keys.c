/* SPDX-License-Identifier: MIT
 *
 * The ops key_add, key_set, key_rm and keys.  API keys can be managed only on the unix socket, so that a
 * stolen key cannot be used to create others. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/comma_list.h"
#include "service/call.h"
#include "service/ops.h"
#include "service/durable.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/session_work.h"
#include "service/usage.h"

#define MODELS_MAX 64 /* of a key, as in the schema */

struct key_call {
	char label[LMI_WIRE_LIMIT_LABEL_BYTES + 1];
	struct lmi_store_key key; /* key_add */
	bool changed;               /* the registry is */
	struct lmi_svc_key_usage after; /* key_add, key_set, key_rm: all keys of the changed registry */
	struct lmi_store_keys keys;     /* keys */
	char *models;               /* key_set: the new list, in the arena */
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
	lmi_svc_key_usage_fini(&k->after);
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
	lmi_svc_usage_flush(c->request.svc, c->request.now);
	st = lmi_svc_call_submit(c, c->request.svc->o.registry, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

/* Joins the names of models with commas, in the arena; NULL if there is no memory. */
static char *join_models(struct lmi_svc_call *c, const struct lmd_str *v, uint32_t n)
{
	size_t bytes = 1, at = 0;
	char *out;

	for (uint32_t i = 0; i < n; i++)
		bytes += v[i].len + 1;
	out = lmi_arena_alloc(c->request.arena, bytes, 1);
	if (!out)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		out[at] = ',';
		at += i > 0;
		memcpy(out + at, v[i].ptr, v[i].len);
		at += v[i].len;
	}
	out[at] = 0;
	return out;
}

static enum lmd_status check_models(const struct lmd_str *v, uint32_t n, struct lmd_error *err)
{
	char name[LMI_STORE_NAME_MAX + 1];

	for (uint32_t i = 0; i < n; i++) {
		enum lmd_status st;

		(void)snprintf(name, sizeof(name), "%.*s", (int)v[i].len, v[i].ptr);
		st = lmi_store_name_check(name, err);
		if (st == LMD_OK && memchr(v[i].ptr, 0, v[i].len))
			st = lmd_fail(err, LMD_INVALID, "name: contains a zero byte");
		if (st != LMD_OK) {
			lmd_error_prefix(err, "models");
			return st;
		}
	}
	return LMD_OK;
}

/* Reads the keys within the job that has changed them. */
static void read_changed(struct lmi_svc_call *c)
{
	struct key_call *k = c->data;

	k->changed = c->err.status == LMD_OK;
	if (k->changed)
		c->err.status = lmi_svc_key_usage_read(&k->after, c->request.svc, &c->err);
}

static void take_quotas(struct lmi_svc_call *c)
{
	struct key_call *k = c->data;

	if (c->err.status == LMD_OK)
		c->err.status = lmi_svc_quotas_set(c->request.svc, &k->after, false, &c->err);
	lmi_svc_durables_check_keys(c->request.svc, c->request.svc->now);
}

/* ---- key_add ---- */

static void add_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct key_call *k = c->data;

	c->err.status = lmi_store_quota_models_check(c->request.svc->o.store, k->key.quota.models,
						     &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_key_add(c->request.svc->o.store, &k->key, &c->err);
	read_changed(c);
}

static void add_done(struct lmi_svc_call *c)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	const struct key_call *k = c->data;
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	take_quotas(c);
	if (k->changed && h->key_added)
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
	enum lmd_status st = check_models(q->models, q->n_models, err);

	(void)retry_ms;
	if (st == LMD_OK)
		st = begin(&c, a, &q->label, err);
	if (st != LMD_OK)
		return st;
	k = c->data;
	k->key = (struct lmi_store_key){
		.label = k->label,
		.role = q->role == LMI_WIRE_ROLE_ADMIN ? LMI_STORE_ADMIN : LMI_STORE_USER,
		.created_at = k->now_ns,
		.expires_at = q->expires_ms * (int64_t)LMI_NS_PER_MS,
		.quota = {.rpm = (uint64_t)q->rpm,
			  .tpm = (uint64_t)q->tpm,
			  .tpd = (uint64_t)q->tpd,
			  .models = join_models(c, q->models, q->n_models)},
	};
	if (!k->key.quota.models) {
		end(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	(void)snprintf(k->key.hash, sizeof(k->key.hash), "%.*s", (int)q->digest.len, q->digest.ptr);
	if (q->expires_ms && k->key.expires_at <= k->now_ns) {
		end(c);
		return lmd_fail(err, LMD_INVALID, "expires_ms: %lld is in the past",
				(long long)q->expires_ms);
	}
	return submit(c, add_run, add_done, err);
}

/* ---- key_set ---- */

static const struct lmi_store_key *find_key(const struct lmi_store_keys *keys, const char *label)
{
	for (uint32_t i = 0; i < keys->n; i++)
		if (!strcmp(keys->v[i].label, label))
			return &keys->v[i];
	return NULL;
}

static void set_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct lmi_wire_req_key_set *q = &c->request.message.u.key_set;
	struct lmi_store *store = c->request.svc->o.store;
	struct key_call *k = c->data;
	const struct lmi_store_key *key;
	struct lmi_store_quota quota = {0};

	c->err.status = lmi_store_key_list(store, &k->keys, &c->err);
	if (c->err.status != LMD_OK)
		return;
	key = find_key(&k->keys, k->label);
	if (key)
		quota = key->quota;
	if (q->has_rpm)
		quota.rpm = (uint64_t)q->rpm;
	if (q->has_tpm)
		quota.tpm = (uint64_t)q->tpm;
	if (q->has_tpd)
		quota.tpd = (uint64_t)q->tpd;
	if (q->has_models) {
		quota.models = k->models;
		c->err.status = lmi_store_quota_models_check(store, k->models, &c->err);
	}
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_key_set_quota(store, k->label, &quota, &c->err);
	read_changed(c);
}

static void set_done(struct lmi_svc_call *c)
{
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	take_quotas(c);
	if (c->err.status == LMD_OK)
		lmi_svc_request_reply(&c->request, &r);
	else
		lmi_svc_request_fail(&c->request, &c->err, 0);
	end(c);
}

enum lmd_status lmi_svc_do_key_set(struct lmi_svc_request *a, uint32_t *retry_ms,
				   struct lmd_error *err)
{
	const struct lmi_wire_req_key_set *q = &a->req->u.key_set;
	struct lmi_svc_call *c;
	struct key_call *k;
	enum lmd_status st = check_models(q->models, q->n_models, err);

	(void)retry_ms;
	if (st == LMD_OK)
		st = begin(&c, a, &q->label, err);
	if (st != LMD_OK)
		return st;
	k = c->data;
	k->models = join_models(c, q->models, q->n_models);
	if (!k->models) {
		end(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	return submit(c, set_run, set_done, err);
}

/* ---- key_rm ---- */

static void rm_run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct key_call *k = c->data;

	c->err.status = lmi_store_key_remove(c->request.svc->o.store, k->label, &c->err);
	read_changed(c);
}

static void rm_done(struct lmi_svc_call *c)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	const struct key_call *k = c->data;
	struct lmi_wire_reply r;

	lmi_wire_reply_init(&r, c->request.req);
	r.u.key_rm.found = k->changed;
	take_quotas(c);
	if (k->changed && h->key_removed) /* also if the others could not be read */
		h->key_removed(h->arg, k->label);
	if (k->changed)
		lmi_svc_sessions_forget_key(c->request.svc, k->label);
	if (k->changed || c->err.status == LMD_NOTFOUND)
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

static bool split_models(struct lmi_svc_call *c, const char *list, struct lmi_wire_key *out)
{
	const char *rest = lmi_comma_list_begin(list);
	struct lmd_str *v = lmi_arena_array(c->request.arena, MODELS_MAX, sizeof(*v));

	out->models = v;
	while (v && out->n_models < MODELS_MAX && lmi_comma_list_next(&rest, &v[out->n_models]))
		out->n_models++;
	return v != NULL;
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
			.rpm = (int64_t)key->quota.rpm,
			.tpm = (int64_t)key->quota.tpm,
			.tpd = (int64_t)key->quota.tpd,
		};
		if (!split_models(c, key->quota.models, &rows[i]))
			return lmd_fail(&c->err, LMD_NOMEM, "no memory for %u keys", n);
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
