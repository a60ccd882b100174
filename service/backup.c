/* SPDX-License-Identifier: MIT
 *
 * The ops registry_backup and registry_restore.  Copies lie in the state folder, and only clients on
 * the unix socket may make and use them, so that a stolen key can neither read nor replace other
 * keys. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "service/call.h"
#include "service/durable.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/preset_rows.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/session_work.h"
#include "service/usage.h"

struct backup {
	char name[65];
	uint64_t bytes;
	const char *path;
	uint32_t n_model, n_key;
	struct lmi_store_keys before; /* restore */
	struct lmi_svc_key_usage after;
	struct lmi_svc_preset_row *rows;     /* restore: until the service has them */
};

static void end(struct lmi_svc_call *c)
{
	struct backup *b = c->data;

	lmi_svc_preset_rows_destroy(b->rows);
	lmi_store_keys_fini(&b->before);
	lmi_svc_key_usage_fini(&b->after);
	lmi_svc_call_destroy(c);
}

static enum lmd_status begin(struct lmi_svc_request *a, const struct lmd_str *name,
			     void (*run)(void *arg), void (*done)(struct lmi_svc_call *c),
			     struct lmd_error *err)
{
	struct lmi_svc_call *c;
	struct backup *b;
	enum lmd_status st;

	if (a->principal.remote)
		return lmd_fail(err, LMD_DENIED,
				"op %s: backups of the registry can be managed only on the unix "
				"socket",
				lmi_wire_ops[a->req->op].name);
	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	b = c->data = lmi_arena_alloc(c->request.arena, sizeof(*b), _Alignof(struct backup));
	if (!b) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	*b = (struct backup){0};
	/* a zero byte cuts the name, which then has no suffix or names another file */
	(void)snprintf(b->name, sizeof(b->name), "%.*s", (int)name->len, name->ptr);
	c->done = done;
	lmi_svc_usage_flush(a->svc, a->now);
	st = lmi_svc_call_submit(c, a->svc->o.registry, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

/* ---- registry_backup ---- */

static void run_backup(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct backup *b = c->data;
	struct lmi_store *store = c->request.svc->o.store;

	c->err.status = lmi_store_backup(store, b->name, &b->bytes, &c->err);
	if (c->err.status != LMD_OK)
		return;
	b->path = lmi_arena_printf(c->request.arena, "%s/%s", lmi_store_dir(store), b->name);
	if (!b->path)
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for a path");
}

static void answer_backup(struct lmi_svc_call *c)
{
	const struct backup *b = c->data;
	struct lmi_wire_reply r;

	if (c->err.status != LMD_OK) {
		lmi_svc_request_fail(&c->request, &c->err, 0);
		end(c);
		return;
	}
	lmi_wire_reply_init(&r, c->request.req);
	r.u.registry_backup.path = lmi_svc_str(b->path);
	r.u.registry_backup.size = (int64_t)b->bytes;
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

enum lmd_status lmi_svc_do_registry_backup(struct lmi_svc_request *a, uint32_t *retry_ms,
					   struct lmd_error *err)
{
	(void)retry_ms;
	return begin(a, &a->req->u.registry_backup.name, run_backup, answer_backup, err);
}

/* ---- registry_restore ---- */

static void run_restore(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct backup *b = c->data;
	struct lmi_store *store = c->request.svc->o.store;
	struct lmi_store_models m = {0};

	c->err.status = lmi_store_key_list(store, &b->before, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_restore(store, b->name, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_svc_key_usage_read(&b->after, c->request.svc, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_model_list(store, &m, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_svc_preset_rows_read(&b->rows, c->request.svc, &c->err);
	b->n_key = b->after.keys.n;
	b->n_model = m.n;
	lmi_store_models_fini(&m);
}

static bool is_in(const struct lmi_store_keys *keys, const struct lmi_store_key *key)
{
	for (uint32_t i = 0; i < keys->n; i++)
		if (!strcmp(keys->v[i].label, key->label) && !strcmp(keys->v[i].hash, key->hash) &&
		    keys->v[i].role == key->role)
			return true;
	return false;
}

static void answer_restore(struct lmi_svc_call *c)
{
	const struct lmi_service_hooks *h = &c->request.svc->hooks;
	struct backup *b = c->data;
	struct lmi_wire_reply r;
	struct lmd_error err;

	lmi_svc_names_clear(c->request.svc);
	if (c->err.status != LMD_OK) {
		lmi_svc_request_fail(&c->request, &c->err, 0);
		end(c);
		return;
	}
	if (lmi_svc_quotas_set(c->request.svc, &b->after, true, &err) != LMD_OK)
		c->request.svc->o.host->log(c->request.svc->o.host->ctx, "service", LMD_LOG_ERROR,
					    "%s: some quotas are the old ones", err.text);
	lmi_svc_durables_check_keys(c->request.svc, c->request.svc->now);
	lmi_svc_preset_rows_replace(c->request.svc, b->rows);
	b->rows = NULL;
	for (uint32_t i = 0; i < b->after.keys.n && h->key_added; i++)
		if (!is_in(&b->before, &b->after.keys.v[i]))
			h->key_added(h->arg);
	for (uint32_t i = 0; i < b->before.n; i++) {
		if (is_in(&b->after.keys, &b->before.v[i]))
			continue;
		if (h->key_removed)
			h->key_removed(h->arg, b->before.v[i].label);
		lmi_svc_sessions_forget_key(c->request.svc, b->before.v[i].label);
	}
	lmi_wire_reply_init(&r, c->request.req);
	r.u.registry_restore.models = b->n_model;
	r.u.registry_restore.keys = b->n_key;
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

enum lmd_status lmi_svc_do_registry_restore(struct lmi_svc_request *a, uint32_t *retry_ms,
					    struct lmd_error *err)
{
	(void)retry_ms;
	return begin(a, &a->req->u.registry_restore.name, run_restore, answer_restore, err);
}
