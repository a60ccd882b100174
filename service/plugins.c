/* SPDX-License-Identifier: MIT
 *
 * The ops plugins and plugins_reload.  Both are jobs, since reading and probing files is slow.
 * After a reload, models whose plugins were replaced are loaded again while their engines continue
 * to serve.  The reply is sent after that, so later requests use the new code. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "service/call.h"
#include "service/model.h"
#include "service/ops.h"
#include "service/request.h"
#include "service/service_state.h"

#define ROWS_MAX LMI_WIRE_LIMIT_ROWS

/* A copy of the list of plugins. */
struct list {
	struct lmd_arena *arena;
	struct lmi_wire_plugin *v;
	struct lmi_wire_factory **factories; /* [n] */
	uint32_t n, cap;
	bool no_memory, with_factories;
};

struct found {
	struct list before, after;
	uint32_t n_reload; /* models that are being loaded */
};

static struct lmd_str copy(struct list *l, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	char *p = lmi_arena_strndup(l->arena, s ? s : "", n);

	l->no_memory |= !p;
	return (struct lmd_str){.ptr = p ? p : "", .len = p ? n : 0};
}

#define MAX_KINDS 32u /* bits of LMD_KIND_BIT */

static void kinds(struct list *l, struct lmi_wire_plugin *p, uint32_t bits)
{
	struct lmd_str *v = lmi_arena_array(l->arena, MAX_KINDS, sizeof(*v));

	l->no_memory |= !v;
	for (uint32_t k = 0; v && k < MAX_KINDS; k++)
		if ((bits & LMD_KIND_BIT(k)) && lmi_plugin_kind_id(k))
			v[p->n_kinds++] = lmi_svc_str(lmi_plugin_kind_id(k));
	p->kinds = v;
}

static void add_plugin(void *arg, const struct lmi_plugin_info *info)
{
	struct list *l = arg;
	struct lmi_wire_plugin *p;

	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 64;
		struct lmi_wire_plugin *v = lmi_arena_array(l->arena, cap, sizeof(*v));

		if (!v || l->n == ROWS_MAX) {
			l->no_memory |= !v;
			return;
		}
		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->cap = cap;
	}
	p = &l->v[l->n++];
	*p = (struct lmi_wire_plugin){.file = copy(l, info->file),
				      .name = copy(l, info->name),
				      .version = copy(l, info->version),
				      .state = copy(l, info->state),
				      .reason = copy(l, info->reason),
				      .generation = (int64_t)info->generation,
				      .users = info->n_users};
	p->abi = lmi_svc_str(lmi_arena_printf(l->arena, "%u.%u", info->abi_major, info->abi_minor));
	kinds(l, p, info->kinds);
	if (!l->with_factories || !info->n_factories)
		return;
	p->factories = lmi_arena_array(l->arena, info->n_factories, sizeof(*p->factories));
	l->no_memory |= !p->factories;
}

/* Adds a factory to the plugin that was added last, which has reserved space for it. */
static void add_factory(void *arg, const struct lmi_factory_info *info)
{
	struct list *l = arg;
	struct lmi_wire_plugin *p = l->n ? &l->v[l->n - 1] : NULL;
	const char *kind = lmi_plugin_kind_id(info->kind);
	struct lmi_wire_factory *f;

	if (!p || !p->factories || p->n_factories == 1024)
		return;
	f = (struct lmi_wire_factory *)p->factories + p->n_factories++;
	*f = (struct lmi_wire_factory){
		.kind = lmi_svc_str(kind ? kind : ""),
		.name = copy(l, info->name),
		.score = info->score,
		.reason = copy(l, info->reason)};
}

static enum lmd_status take_list(struct lmi_svc_call *c, struct list *l, bool with_factories)
{
	l->arena = c->request.arena;
	l->with_factories = with_factories;
	lmi_plugin_registry_list(c->request.svc->o.plugins, add_plugin, with_factories ? add_factory : NULL,
				 l);
	return l->no_memory ? lmd_fail(&c->err, LMD_NOMEM, "no memory for a list of plugins")
			    : LMD_OK;
}

static enum lmd_status begin(struct lmi_svc_call **out, struct lmi_svc_request *a,
			     struct lmd_error *err)
{
	enum lmd_status st = lmi_svc_call_create(out, a, err);

	if (st != LMD_OK)
		return st;
	(*out)->data = lmi_arena_alloc((*out)->request.arena, sizeof(struct found), _Alignof(struct found));
	if ((*out)->data)
		return LMD_OK;
	lmi_svc_call_destroy(*out);
	return lmd_fail(err, LMD_NOMEM, "no memory for a call");
}

/* ---- plugins ---- */

static void run_list(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct found *f = c->data;

	c->err.status = take_list(c, &f->after, c->request.message.u.plugins.factories);
}

static void answer_list(struct lmi_svc_call *c)
{
	const struct found *f = c->data;
	struct lmi_wire_reply r;

	if (c->err.status == LMD_OK) {
		lmi_wire_reply_init(&r, c->request.req);
		r.u.plugins.plugins = f->after.v;
		r.u.plugins.n_plugins = f->after.n;
		lmi_svc_request_reply(&c->request, &r);
	} else {
		lmi_svc_request_fail(&c->request, &c->err, 0);
	}
	lmi_svc_call_destroy(c);
}

enum lmd_status lmi_svc_do_plugins(struct lmi_svc_request *a, uint32_t *retry_ms,
				   struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	c->done = answer_list;
	st = lmi_svc_call_submit(c, a->svc->o.io, run_list, err);
	if (st != LMD_OK)
		lmi_svc_call_destroy(c);
	return st;
}

/* ---- plugins_reload ---- */

/* A model that is loaded again because its plugins were replaced. */
struct renewal {
	struct lmi_svc_load_waiter load_waiter;
	struct lmi_svc_call *call;
};

static enum lmd_status rescan(struct lmi_svc_call *c)
{
	const struct lmi_wire_req_plugins_reload *q = &c->request.message.u.plugins_reload;
	struct lmi_plugin_registry *plugins = c->request.svc->o.plugins;
	const char *file;

	if (!q->has_file)
		return lmi_plugin_registry_rescan(plugins, &c->err);
	file = lmi_arena_strndup(c->request.arena, q->file.ptr, q->file.len);
	if (!file)
		return lmd_fail(&c->err, LMD_NOMEM, "no memory for the name of a plugin");
	return lmi_plugin_registry_rescan_file(plugins, file, &c->err);
}

static void run_reload(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct found *f = c->data;

	f->before.arena = c->request.arena;
	lmi_plugin_registry_known(c->request.svc->o.plugins, add_plugin, &f->before);
	c->err.status = rescan(c);
	if (c->err.status == LMD_OK)
		c->err.status = take_list(c, &f->after, false);
}

static bool is_state(const struct lmi_wire_plugin *p, const char *word)
{
	return p->state.len == strlen(word) && !memcmp(p->state.ptr, word, p->state.len);
}

static bool has(const struct list *l, const struct lmi_wire_plugin *like)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->v[i].generation == like->generation && l->v[i].file.len == like->file.len &&
		    !is_state(&l->v[i], "retired") &&
		    !memcmp(l->v[i].file.ptr, like->file.ptr, like->file.len))
			return true;
	return false;
}

/* Writes the files of usable plugins in `of` that are not in `other`; returns their number. */
static uint32_t differ(const struct list *of, const struct list *other, struct lmd_str *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < of->n; i++) {
		const struct lmi_wire_plugin *p = &of->v[i];

		if (!is_state(p, "retired") && !is_state(p, "refused") && !has(other, p))
			out[n++] = p->file;
	}
	return n;
}

static void answer_reload(struct lmi_svc_call *c)
{
	struct found *f = c->data;
	uint32_t n_max = f->before.n + f->after.n + 1;
	struct lmd_str *added = lmi_arena_array(c->request.arena, n_max, sizeof(*added));
	struct lmd_str *removed = lmi_arena_array(c->request.arena, n_max, sizeof(*removed));
	struct lmi_wire_plugin *refused = lmi_arena_array(c->request.arena, n_max, sizeof(*refused));
	struct lmi_wire_reply r;

	if (!added || !removed || !refused) {
		(void)lmd_fail(&c->err, LMD_NOMEM, "no memory for a list of plugins");
		lmi_svc_request_fail(&c->request, &c->err, 0);
		lmi_svc_call_destroy(c);
		return;
	}
	lmi_wire_reply_init(&r, c->request.req);
	r.u.plugins_reload.added = added;
	r.u.plugins_reload.n_added = differ(&f->after, &f->before, added);
	r.u.plugins_reload.removed = removed;
	r.u.plugins_reload.n_removed = differ(&f->before, &f->after, removed);
	for (uint32_t i = 0; i < f->after.n; i++)
		if (is_state(&f->after.v[i], "refused"))
			refused[r.u.plugins_reload.n_refused++] = f->after.v[i];
	r.u.plugins_reload.refused = refused;
	lmi_svc_request_reply(&c->request, &r);
	lmi_svc_call_destroy(c);
}

static void renewed(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		    const struct lmd_error *err, uint32_t retry_ms)
{
	struct renewal *n = (struct renewal *)((char *)w - offsetof(struct renewal, load_waiter));
	struct lmi_svc_call *c = n->call;
	struct found *f = c->data;

	(void)err; /* the old engine stays; the error is in the log and stored with the model */
	(void)retry_ms;
	if (r)
		lmi_svc_loaded_model_unref(r, now);
	if (!--f->n_reload)
		answer_reload(c);
}

static void renew(struct lmi_svc_call *c)
{
	struct lmi_service *svc = c->request.svc;
	struct found *f = c->data;
	struct lmd_error err;

	if (c->err.status != LMD_OK) {
		lmi_svc_request_fail(&c->request, &c->err, 0);
		lmi_svc_call_destroy(c);
		return;
	}
	f->n_reload = 1; /* held by this function */
	for (struct lmi_svc_model *m = svc->models; m; m = m->next) {
		struct renewal *n;

		if (!m->current || m->loading || !lmi_engine_is_stale(m->current->engine))
			continue;
		n = lmi_arena_alloc(c->request.arena, sizeof(*n), _Alignof(struct renewal));
		if (!n)
			break; /* loaded again for a later request */
		n->call = c;
		n->load_waiter.ready = renewed;
		f->n_reload++;
		if (lmi_svc_model_reload(svc, svc->now, m, NULL, &n->load_waiter, &err) != LMD_OK)
			f->n_reload--;
	}
	if (!--f->n_reload)
		answer_reload(c);
}

enum lmd_status lmi_svc_do_plugins_reload(struct lmi_svc_request *a, uint32_t *retry_ms,
					  struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = begin(&c, a, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	c->done = renew;
	st = lmi_svc_call_submit(c, a->svc->o.io, run_reload, err);
	if (st != LMD_OK)
		lmi_svc_call_destroy(c);
	return st;
}
