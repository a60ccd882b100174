/* SPDX-License-Identifier: MIT
 *
 * The ops adapters and adapter_set. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "service/adapter_book.h"
#include "service/call.h"
#include "service/loaded_model.h"
#include "service/ops.h"
#include "service/preset.h"
#include "service/service_state.h"

#define FILES_MAX 2048 /* as in the schema */

/* ---- adapters ---- */

static void put_list(struct lmi_wire_adapter *v, uint32_t *n, const struct lmi_svc_adapters *a,
		     bool configured, bool paths)
{
	for (uint32_t i = 0; i < a->n; i++)
		v[(*n)++] = (struct lmi_wire_adapter){
			.name = a->names[i],
			.path = lmi_svc_str(paths ? a->refs[i].path : ""),
			.scale = (double)a->refs[i].scale,
			.configured = configured};
}

/* The names of the files of a choice, without their folders. */
static struct lmd_str files_of(const struct lmi_svc_adapter_choice *c, struct lmd_arena *arena)
{
	char *text = lmi_arena_alloc(arena, FILES_MAX, 1);
	size_t at = 0;

	for (uint32_t i = 0; text && i < c->n; i++) {
		int k = snprintf(text + at, FILES_MAX - at, "%s%.200s:%g", i ? "," : "",
				 lmi_file_base_name(c->refs[i].path), (double)c->refs[i].scale);

		at += k > 0 && (size_t)k < FILES_MAX - at ? (size_t)k : 0;
	}
	return (struct lmd_str){.ptr = text ? text : "", .len = at};
}

static void put_slots(struct lmi_wire_rep_adapters *out, const struct lmi_svc_loaded_model *r,
		      struct lmd_arena *arena)
{
	struct lmi_wire_adapter_slot *v =
		lmi_arena_array(arena, LMI_SVC_ADAPTERS_MAX, sizeof(*v));

	for (uint32_t i = 0; v && i < LMI_SVC_ADAPTERS_MAX; i++) {
		const struct lmi_svc_adapter_slot *s = &r->slots.v[i];

		if (s->choice.n)
			v[out->n_slots++] = (struct lmi_wire_adapter_slot){
				.files = files_of(&s->choice, arena),
				.users = s->n_user,
				.bytes = (int64_t)s->bytes};
	}
	out->slots = v;
	out->loaded = r->slots.n_loaded;
	out->evicted = r->slots.n_evicted;
}

static void reply_list(struct lmi_svc_call *c, const struct lmi_svc_model *m)
{
	const struct lmi_service *svc = c->request.svc;
	const char *name = lmi_svc_model_name(m);
	const struct lmi_svc_preset *own = lmi_svc_preset_find(svc, name, strlen(name));
	const struct lmi_svc_adapter_book *book = lmi_svc_adapter_book_find(svc, name);
	bool paths = c->request.principal.role == LMI_SVC_ROLE_ADMIN;
	struct lmi_svc_adapters configured;
	struct lmi_wire_adapter *v;
	struct lmi_wire_reply r;
	struct lmd_error err;
	uint32_t n = 0;

	if (lmi_svc_adapters_parse(&configured, own ? own->adapters : NULL, &err) != LMD_OK) {
		lmi_svc_request_fail(&c->request, &err, 0);
		return;
	}
	lmi_wire_reply_init(&r, c->request.req);
	v = lmi_arena_array(c->request.arena, configured.n + (book ? book->list.n : 0) + 1u, sizeof(*v));
	if (v) {
		put_list(v, &n, &configured, true, paths);
		if (book)
			put_list(v, &n, &book->list, false, paths);
	}
	r.u.adapters.adapters = v;
	r.u.adapters.n_adapters = n;
	r.u.adapters.chosen =
		lmi_svc_str(lmi_svc_adapter_text(svc, name, &c->request.req->u.adapters.model));
	r.u.adapters.folder = own && own->adapters_dir;
	if (m->current)
		put_slots(&r.u.adapters, m->current, c->request.arena);
	if (v)
		lmi_svc_request_reply(&c->request, &r);
	else
		lmi_svc_request_fail(&c->request,
				     &(struct lmd_error){.status = LMD_NOMEM,
							 .text = "no memory for a list"},
				     0);
	lmi_svc_adapters_fini(&configured);
}

/* ---- adapter_set ---- */

static enum lmd_status check_file(const char *path, struct lmd_error *err)
{
	char shown[160];

	lmi_printable_path(shown, sizeof(shown), path);
	if (*path != '/')
		return lmd_fail(err, LMD_INVALID, "path: '%s' is not an absolute path", shown);
	if (strchr(path, ','))
		return lmd_fail(err, LMD_INVALID, "path: '%s' has a comma", shown);
	if (!access(path, R_OK))
		return LMD_OK;
	return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "path: %s: %s", shown,
			strerror(errno));
}

/* Removes a name. Adapters that were chosen with it are chosen no longer. */
static bool remove_name(struct lmi_service *svc, struct lmi_svc_adapter_book *b, const char *name)
{
	struct lmi_svc_adapter_choice c;

	if (!lmi_svc_adapter_book_remove(b, name))
		return false;
	if (!b->chosen)
		return true;
	if (lmi_svc_adapter_choose_text(&c, svc, b->model, b->chosen, NULL) == LMD_OK) {
		lmi_svc_adapter_choice_fini(&c);
		return true;
	}
	lmi_free(b->chosen);
	b->chosen = NULL;
	return true;
}

static enum lmd_status set_name(struct lmi_service *svc, struct lmi_svc_adapter_book *b,
				const struct lmi_wire_req_adapter_set *q, bool *found,
				struct lmd_arena *arena, struct lmd_error *err)
{
	const char *name = lmi_arena_strndup(arena, q->name.ptr, q->name.len);
	const char *path = lmi_arena_strndup(arena, q->path.ptr, q->path.len);
	char shown[80];
	enum lmd_status st;

	if (!name || !path)
		return lmd_fail(err, LMD_NOMEM, "no memory for a name");
	if (!lmi_svc_adapters_is_name(&q->name))
		return lmd_fail(err, LMD_INVALID,
				"name: '%s' is not a name of 1 to %d letters, digits, '-', '_' and '.'",
				lmi_printable(shown, sizeof(shown), q->name.ptr, q->name.len),
				LMI_SVC_ADAPTER_NAME);
	if (!*path) {
		*found = remove_name(svc, b, name);
		return LMD_OK;
	}
	st = check_file(path, err);
	return st == LMD_OK ? lmi_svc_adapter_book_put(b, name, path, (float)q->scale, found, err) : st;
}

static enum lmd_status set_chosen(struct lmi_service *svc, struct lmi_svc_adapter_book *b,
				  const struct lmd_str *text, struct lmd_error *err)
{
	struct lmi_svc_adapter_choice c = {.n = 0};
	char *copy = text->len ? lmi_strndup(text->ptr, text->len) : NULL;
	enum lmd_status st = LMD_OK;

	if (text->len && !copy)
		return lmd_fail(err, LMD_NOMEM, "no memory for the adapters of a model");
	if (copy)
		st = lmi_svc_adapter_choose_text(&c, svc, b->model, copy, err);
	lmi_svc_adapter_choice_fini(&c);
	if (st != LMD_OK) {
		lmi_free(copy);
		return st;
	}
	lmi_free(b->chosen);
	b->chosen = copy;
	return LMD_OK;
}

static void set(struct lmi_svc_call *c, const struct lmi_svc_model *m)
{
	const struct lmi_wire_req_adapter_set *q = &c->request.req->u.adapter_set;
	struct lmi_service *svc = c->request.svc;
	struct lmi_svc_adapter_book *b;
	struct lmi_wire_reply r;
	struct lmd_error err;
	bool found = false;
	enum lmd_status st = lmi_svc_adapter_book_get(&b, svc, lmi_svc_model_name(m), &err);

	if (st == LMD_OK && !q->name.len && !q->has_chosen)
		st = lmd_fail(&err, LMD_INVALID, "neither name nor chosen is set");
	if (st == LMD_OK && q->name.len)
		st = set_name(svc, b, q, &found, c->request.arena, &err);
	if (st == LMD_OK && q->has_chosen)
		st = set_chosen(svc, b, &q->chosen, &err);
	if (st != LMD_OK) {
		lmi_svc_request_fail(&c->request, &err, 0);
		return;
	}
	lmi_wire_reply_init(&r, c->request.req);
	r.u.adapter_set.found = found;
	lmi_svc_request_reply(&c->request, &r);
}

/* ---- both ---- */

static void found_model(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
			const struct lmd_error *err)
{
	struct lmi_svc_call *c =
		(struct lmi_svc_call *)((char *)l - offsetof(struct lmi_svc_call, lookup));

	(void)now;
	if (!m || !c->request.reply) /* unknown, or the connection has ended */
		lmi_svc_request_fail(&c->request, err, 0);
	else if (c->request.req->op == LMI_WIRE_OP_ADAPTERS)
		reply_list(c, m);
	else
		set(c, m);
	lmi_svc_call_destroy(c);
}

static enum lmd_status begin(struct lmi_svc_request *a, const struct lmd_str *model,
			     struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = lmi_svc_call_create(&c, a, err);

	if (st != LMD_OK)
		return st;
	c->lookup.found = found_model;
	c->lookup.principal = &c->request.principal;
	lmi_svc_lookup_start(a->svc, a->now, &c->lookup, model);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_adapters(struct lmi_svc_request *a, uint32_t *retry_ms,
				    struct lmd_error *err)
{
	(void)retry_ms;
	return begin(a, &a->req->u.adapters.model, err);
}

enum lmd_status lmi_svc_do_adapter_set(struct lmi_svc_request *a, uint32_t *retry_ms,
				       struct lmd_error *err)
{
	(void)retry_ms;
	return begin(a, &a->req->u.adapter_set.model, err);
}
