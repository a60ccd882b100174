/* SPDX-License-Identifier: MIT
 *
 * The registry by request: models, info, rm, alias.  Each is a job of the registry's thread;
 * states in memory are added when it is back. */
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/format.h"
#include "core/quant/quant.h"
#include "service/service_impl.h"

/* What a job finds; in the call's arena. */
struct found {
	struct lmi_store_models models;
	struct lmi_store_aliases aliases;
	char name[LMI_STORE_NAME_MAX + 1], other[LMI_STORE_NAME_MAX + 1];
	char *before; /* alias: the model that had it */
	bool alias;
	int64_t bytes;
	struct lmi_once once; /* rm */
	struct lmi_rep_info info;
};

static void end(struct lmi_call *c)
{
	struct found *f = c->data;

	lmi_store_models_fini(&f->models);
	lmi_store_aliases_fini(&f->aliases);
	lmi_call_destroy(c);
}

/* True when the job failed; the call is over then. */
static bool failed(struct lmi_call *c)
{
	if (c->err.status == LMD_OK)
		return false;
	lmi_call_fail(c, &c->err, 0);
	end(c);
	return true;
}

/* A call with room for what it finds; names are copied with a terminating zero. */
static enum lmd_status begin(struct lmi_call **out, const struct lmi_ask *a,
			     const struct lmd_str *name, const struct lmd_str *other,
			     struct lmd_error *err)
{
	struct found *f;
	enum lmd_status st;

	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "there is no registry");
	st = lmi_call_create(out, a, err);
	if (st != LMD_OK)
		return st;
	f = (*out)->data = lmi_arena_alloc((*out)->arena, sizeof(*f), _Alignof(struct found));
	if (!f) {
		lmi_call_destroy(*out);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	(void)snprintf(f->name, sizeof(f->name), "%.*s", (int)name->len, name->ptr);
	(void)snprintf(f->other, sizeof(f->other), "%.*s", (int)other->len, other->ptr);
	return LMD_OK;
}

static enum lmd_status submit(struct lmi_call *c, struct lmi_jobs *jobs, void (*run)(void *arg),
			      void (*done)(struct lmi_call *c), struct lmd_error *err)
{
	enum lmd_status st;

	c->done = done;
	st = lmi_call_submit(c, jobs, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}

static const struct lmd_str none = {.ptr = ""};

/* ---- rows ---- */

static enum lmi_wire_model_state state_of(const struct lmi_service *svc,
					  const struct lmi_store_model *m, struct lmd_str *reason)
{
	const struct lmi_model *in = NULL;

	for (const struct lmi_model *k = svc->models; k && !in; k = k->next)
		if (!strcmp(lmi_model_name(k), m->name))
			in = k;
	if (m->state == LMI_STORE_QUARANTINED)
		return LMI_WIRE_MODEL_STATE_QUARANTINED;
	if (!in)
		return LMI_WIRE_MODEL_STATE_ABSENT;
	if (lmi_model_state(svc, in) == LMI_WIRE_MODEL_STATE_FAILED)
		*reason = lmi_str(in->fail.text);
	return lmi_model_state(svc, in);
}

static enum lmd_status fill_row(struct lmi_call *c, struct lmi_wire_model *out,
				const struct lmi_store_model *m)
{
	const struct found *f = c->data;
	struct lmd_str *aliases;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->aliases.n; i++)
		n += !strcmp(f->aliases.v[i].name, m->name);
	aliases = lmi_arena_array(c->arena, n + 1u, sizeof(*aliases));
	*out = (struct lmi_wire_model){.name = lmi_str(m->name),
				       .size = (int64_t)m->size,
				       .arch = lmi_str(m->arch),
				       .format = lmi_str(m->format),
				       .reason = none,
				       .digest = none};
	if (!aliases)
		return LMD_NOMEM;
	n = 0;
	for (uint32_t i = 0; i < f->aliases.n && n < 64; i++)
		if (!strcmp(f->aliases.v[i].name, m->name))
			aliases[n++] = lmi_str(f->aliases.v[i].alias);
	out->aliases = aliases;
	out->n_aliases = n;
	out->state = state_of(c->svc, m, &out->reason);
	if (m->digest[0]) {
		const char *digest = lmi_arena_printf(c->arena, "sha256:%s", m->digest);

		if (!digest)
			return LMD_NOMEM;
		out->digest = lmi_str(digest);
	}
	if (c->who.role == LMI_ROLE_ADMIN && m->n_files) {
		out->has_path = true;
		out->path = lmi_str(m->files[0].path);
	}
	return LMD_OK;
}

/* ---- models ---- */

static void run_models(void *arg)
{
	struct lmi_call *c = arg;
	struct found *f = c->data;
	struct lmi_store *store = c->svc->o.store;

	if (c->copy.req.u.models.has_model)
		c->err.status = lmi_store_model_find(store, f->name, &f->models, &c->err);
	else
		c->err.status = lmi_store_model_list(store, &f->models, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_alias_list(store, &f->aliases, &c->err);
}

static void answer_models(struct lmi_call *c)
{
	const struct lmi_req_models *q = &c->copy.req.u.models;
	struct found *f = c->data;
	struct lmi_wire_model *v;
	struct lmi_reply r;
	uint32_t n = 0;

	if (failed(c))
		return;
	lmi_reply_init(&r, &c->copy.req);
	v = lmi_arena_array(c->arena, f->models.n + 1u, sizeof(*v));
	for (uint32_t i = 0; v && i < f->models.n; i++) {
		if (f->other[0] && strcmp(f->models.v[i].name, f->other) <= 0)
			continue;
		if (n == q->max) {
			r.u.models.more = true;
			break;
		}
		if (fill_row(c, &v[n++], &f->models.v[i]) != LMD_OK)
			v = NULL;
	}
	if (!v) {
		c->err.status =
			lmd_fail(&c->err, LMD_NOMEM, "no memory for %u models", f->models.n);
		(void)failed(c);
		return;
	}
	r.u.models.models = v;
	r.u.models.n_models = n;
	lmi_call_reply(c, &r);
	end(c);
}

enum lmd_status lmi_do_models(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err)
{
	const struct lmi_req_models *q = &a->req->u.models;
	struct lmi_call *c;
	enum lmd_status st = begin(&c, a, q->has_model ? &q->model : &none, &q->after, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, a->svc->o.registry, run_models, answer_models, err) : st;
}

/* ---- rm ---- */

static bool is_alias(const struct lmi_store_aliases *list, const char *name)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i].alias, name))
			return true;
	return false;
}

static void run_rm(void *arg)
{
	struct lmi_call *c = arg;
	struct found *f = c->data;
	struct lmi_store *store = c->svc->o.store;
	const struct lmi_store_model *m;

	c->err.status = lmi_store_alias_list(store, &f->aliases, &c->err);
	if (c->err.status != LMD_OK)
		return;
	f->alias = is_alias(&f->aliases, f->name);
	if (f->alias) {
		c->err.status = lmi_store_alias_remove(store, f->name, &c->err);
		return;
	}
	c->err.status = lmi_store_model_find(store, f->name, &f->models, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_model_remove(store, f->name, &c->err);
	if (c->err.status != LMD_OK)
		return;
	m = &f->models.v[0];
	for (uint32_t i = 0; m->imported && i < m->n_files; i++)
		if (access(m->files[i].path, F_OK))
			f->bytes += (int64_t)m->files[i].size;
}

static void answer_rm(struct lmi_call *c)
{
	struct found *f = c->data;
	const struct lmi_once_said said = {.flag = f->alias, .number = f->bytes};

	lmi_names_forget(c->svc);
	if (c->err.status == LMD_OK)
		lmi_once_say(&f->once, &said);
	else
		lmi_once_fail(c->svc, &f->once, &c->err, 0);
	end(c);
}

enum lmd_status lmi_do_rm(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err)
{
	struct lmi_call *c;
	struct found *f;
	enum lmd_status st = begin(&c, a, &a->req->u.rm.name, &none, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	f = c->data;
	for (const struct lmi_resident *r = a->svc->residents; r; r = r->next) {
		if (strcmp(lmi_model_name(r->model), f->name))
			continue;
		st = lmd_fail(err, LMD_BUSY, "model %s is in memory: unload it first", f->name);
		end(c);
		return st;
	}
	lmi_once_init(&f->once, a); /* this answers, and not the call */
	c->reply = NULL;
	return submit(c, a->svc->o.registry, run_rm, answer_rm, err);
}

/* ---- alias ---- */

static void run_alias(void *arg)
{
	struct lmi_call *c = arg;
	struct found *f = c->data;
	struct lmi_store *store = c->svc->o.store;

	c->err.status = lmi_store_alias_list(store, &f->aliases, &c->err);
	for (uint32_t i = 0; c->err.status == LMD_OK && i < f->aliases.n; i++)
		if (!strcmp(f->aliases.v[i].alias, f->name))
			f->before = lmi_arena_printf(c->arena, "%s", f->aliases.v[i].name);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_alias_set(store, f->name, f->other, &c->err);
}

static void answer_alias(struct lmi_call *c)
{
	const struct found *f = c->data;
	struct lmi_reply r;

	lmi_names_forget(c->svc);
	if (failed(c))
		return;
	lmi_reply_init(&r, &c->copy.req);
	r.u.alias.has_before = f->before != NULL;
	r.u.alias.before = lmi_str(f->before);
	lmi_call_reply(c, &r);
	end(c);
}

enum lmd_status lmi_do_alias(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err)
{
	const struct lmi_req_alias *q = &a->req->u.alias;
	struct lmi_call *c;
	enum lmd_status st = begin(&c, a, &q->alias, &q->model, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, a->svc->o.registry, run_alias, answer_alias, err) : st;
}

/* ---- info ---- */

#define SHOWN_BYTES    4096u /* of a value */
#define SHOWN_ELEMENTS 64u

static int64_t int_key(const struct lmd_model *m, const char *suffix)
{
	const struct lmd_meta *v;
	char key[96];

	(void)snprintf(key, sizeof(key), "%s.%s", m->arch, suffix);
	v = m->find_meta(m, key);
	return v && v->type == LMD_META_I64 && v->v.i >= 0 ? v->v.i : 0;
}

static const char *type_word(uint32_t type)
{
	switch ((enum lmd_meta_type)type) {
	case LMD_META_BOOL:
		return "bool";
	case LMD_META_I64:
	case LMD_META_U64:
		return "int";
	case LMD_META_F64:
		return "float";
	case LMD_META_STR:
		return "string";
	case LMD_META_ARR_BOOL:
		return "bools";
	case LMD_META_ARR_I64:
		return "ints";
	case LMD_META_ARR_F64:
		return "floats";
	case LMD_META_ARR_STR:
		return "strings";
	}
	return "unknown";
}

/* One element; returns the bytes written, at most n. */
static size_t show_element(char *out, size_t n, const struct lmd_meta *v, uint64_t i)
{
	const struct lmd_str *s = &v->v.s;
	int k = 0;

	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_BOOL:
		k = snprintf(out, n, "%s", v->v.i ? "true" : "false");
		break;
	case LMD_META_I64:
		k = snprintf(out, n, "%lld", (long long)v->v.i);
		break;
	case LMD_META_U64:
		k = snprintf(out, n, "%llu", (unsigned long long)v->v.u);
		break;
	case LMD_META_F64:
		k = snprintf(out, n, "%.9g", v->v.f);
		break;
	case LMD_META_ARR_BOOL:
		k = snprintf(out, n, "%s", ((const uint8_t *)v->v.a)[i] ? "true" : "false");
		break;
	case LMD_META_ARR_I64:
		k = snprintf(out, n, "%lld", (long long)((const int64_t *)v->v.a)[i]);
		break;
	case LMD_META_ARR_F64:
		k = snprintf(out, n, "%.9g", ((const double *)v->v.a)[i]);
		break;
	case LMD_META_ARR_STR:
		s = (const struct lmd_str *)v->v.a + i;
		/* fall through */
	case LMD_META_STR:
		k = (int)(s->len < n ? s->len : n);
		if (k)
			memcpy(out, s->ptr, (size_t)k);
		break;
	}
	return (size_t)k < n ? (size_t)k : n;
}

static enum lmd_status fill_meta(struct lmi_call *c, struct lmi_wire_meta *out,
				 const struct lmd_meta *v)
{
	bool list = v->type >= LMD_META_ARR_BOOL;
	uint64_t n = list ? (v->n < SHOWN_ELEMENTS ? v->n : SHOWN_ELEMENTS) : 1;
	char buf[SHOWN_BYTES];
	size_t at = 0;
	char *text;

	for (uint64_t i = 0; i < n && at + 2 < sizeof(buf); i++) {
		if (i)
			buf[at++] = ' ';
		at += show_element(buf + at, sizeof(buf) - at, v, i);
	}
	text = lmi_arena_strndup(c->arena, buf, at);
	out->key = lmi_str(lmi_arena_printf(c->arena, "%s", v->key));
	out->type = lmi_str(type_word(v->type));
	out->value = (struct lmd_str){.ptr = text, .len = at};
	return text && out->key.len ? LMD_OK : LMD_NOMEM;
}

static uint64_t elements(const struct lmd_tensor *t)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < t->n_dim; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

static enum lmd_status fill_types(struct lmi_call *c, struct lmi_rep_info *out,
				  const struct lmd_model *m)
{
	struct lmi_wire_tensor_type *v = lmi_arena_array(c->arena, LMD_DTYPE_END, sizeof(*v));
	uint32_t n = 0;

	if (!v)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];
		const struct lmi_dtype *d = lmi_dtype(t->dtype);
		struct lmd_str name = lmi_str(d ? d->name : "unknown");
		uint32_t k = 0;

		while (k < n && v[k].type.ptr != name.ptr)
			k++;
		n += k == n;
		v[k].type = name;
		v[k].tensors++;
		v[k].elements += (int64_t)elements(t);
		v[k].bytes += (int64_t)t->bytes;
		out->elements += (int64_t)elements(t);
		out->weight_bytes += (int64_t)t->bytes;
	}
	out->types = v;
	out->n_types = n;
	return LMD_OK;
}

static enum lmd_status fill_info(struct lmi_call *c, struct lmi_rep_info *out,
				 const struct lmd_model *m)
{
	struct lmi_wire_meta *v;
	enum lmd_status st = fill_types(c, out, m);

	out->n_ctx_train = int_key(m, "context_length");
	out->n_layer = int_key(m, "block_count");
	out->n_embd = int_key(m, "embedding_length");
	out->n_vocab = m->tok->n_tokens;
	if (m->chat_template.ptr && m->chat_template.len <= 1u << 20) {
		out->has_chat_template = true;
		out->chat_template.len = m->chat_template.len;
		out->chat_template.ptr =
			lmi_arena_strndup(c->arena, m->chat_template.ptr, m->chat_template.len);
		if (!out->chat_template.ptr)
			return LMD_NOMEM;
	}
	if (st != LMD_OK || !c->copy.req.u.info.keys)
		return st;
	v = lmi_arena_array(c->arena, m->n_meta + 1u, sizeof(*v));
	if (!v)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < m->n_meta && out->n_meta < 16384 && st == LMD_OK; i++)
		st = fill_meta(c, &v[out->n_meta++], &m->meta[i]);
	out->meta = v;
	return st;
}

static void run_info(void *arg)
{
	struct lmi_call *c = arg;
	struct found *f = c->data;
	struct lmi_model *file;

	c->err.status =
		lmi_model_open(&file, f->models.v[0].files[0].path, LMI_OPEN_HEADER_ONLY, &c->err);
	if (c->err.status != LMD_OK)
		return;
	if (fill_info(c, &f->info, lmi_model_view(file)) != LMD_OK)
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for what the file says");
	lmi_model_close(file);
}

static void answer_info(struct lmi_call *c)
{
	struct found *f = c->data;
	struct lmi_reply r;

	if (failed(c))
		return;
	lmi_reply_init(&r, &c->copy.req);
	r.u.info = f->info;
	if (fill_row(c, &r.u.info.model, &f->models.v[0]) != LMD_OK) {
		c->err.status = lmd_fail(&c->err, LMD_NOMEM, "no memory for a model");
		(void)failed(c);
		return;
	}
	for (const struct lmi_resident *res = c->svc->residents; res; res = res->next) {
		if (strcmp(lmi_model_name(res->model), f->models.v[0].name))
			continue;
		lmi_fill_resident(c->svc, res, &r.u.info.resident);
		r.u.info.has_resident = true;
		break;
	}
	lmi_call_reply(c, &r);
	end(c);
}

static void run_find(void *arg)
{
	struct lmi_call *c = arg;
	struct found *f = c->data;

	c->err.status = lmi_store_model_find(c->svc->o.store, f->name, &f->models, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_alias_list(c->svc->o.store, &f->aliases, &c->err);
}

static void found_info(struct lmi_call *c)
{
	struct lmd_error err;

	if (failed(c))
		return;
	c->done = answer_info;
	if (lmi_call_submit(c, c->svc->o.io, run_info, &err) == LMD_OK)
		return;
	lmi_call_fail(c, &err, lmi_retry_ms(c->svc));
	end(c);
}

enum lmd_status lmi_do_info(const struct lmi_ask *a, uint32_t *retry_ms, struct lmd_error *err)
{
	struct lmi_call *c;
	enum lmd_status st = begin(&c, a, &a->req->u.info.model, &none, err);

	(void)retry_ms;
	return st == LMD_OK ? submit(c, a->svc->o.registry, run_find, found_info, err) : st;
}
