/* SPDX-License-Identifier: MIT
 *
 * The ops about sessions: sessions, session_fork, session_rm, session_read and session_write. Each is
 * work on files (session_work.h) for the caller's own sessions. */
#include <string.h>

#include "core/base/alloc.h"
#include "service/call.h"
#include "service/ops.h"
#include "service/service_state.h"
#include "service/session_work.h"

struct op {
	struct lmi_svc_session_work w;
	struct lmi_svc_call *call;
	char to[LMI_SVC_SESSION_NAME + 1];
	void (*answer)(struct op *o, struct lmi_wire_reply *r);
	/* results */
	struct lmi_svc_session_row *rows;
	struct lmi_wire_session *shown;
	uint32_t n;
	bool found;
	uint8_t *data; /* [n_data] */
	size_t n_data;
};

static void done(struct lmi_svc_session_work *w, uint64_t now)
{
	struct op *o = w->arg;
	struct lmi_svc_call *c = o->call;
	struct lmi_wire_reply r;

	(void)now;
	if (w->err.status == LMD_OK) {
		lmi_wire_reply_init(&r, c->request.req);
		o->answer(o, &r);
		lmi_svc_request_reply(&c->request, &r);
	} else {
		lmi_svc_request_fail(&c->request, &w->err, 0);
	}
	lmi_free(o->rows);
	lmi_free(o->data);
	lmi_svc_call_destroy(c);
}

static void cancel(struct lmi_svc_call *c)
{
	struct op *o = c->data;

	o->w.dropped = true;
}

static enum lmd_status copy_name(char *out, const struct lmd_str *name, struct lmd_error *err)
{
	enum lmd_status st = lmi_svc_session_check_name(name, err);

	if (st == LMD_OK)
		memcpy(out, name->ptr, name->len);
	return st;
}

/* Creates the op with its call; name: NULL, or of the session. */
static enum lmd_status create(struct op **out, struct lmi_svc_request *a, const struct lmd_str *name,
			      struct lmd_error *err)
{
	struct lmi_svc_session_work w = {.kind = LMI_SVC_SESSION_FILES, .done = done};
	enum lmd_status st = lmi_svc_sessions_of(&w.files, a->svc, &a->principal, err);
	struct lmi_svc_call *c;
	struct op *o;

	if (st == LMD_OK && name)
		st = copy_name(w.name, name, err);
	if (st == LMD_OK)
		st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	o = lmi_arena_alloc(c->request.arena, sizeof(*o), _Alignof(struct op));
	if (!o) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	*o = (struct op){.w = w, .call = c};
	o->w.arg = o;
	c->data = o;
	c->cancel = cancel;
	*out = o;
	return LMD_OK;
}

static enum lmd_status start(struct op *o, void (*run)(struct lmi_svc_session_work *w),
			     void (*answer)(struct op *o, struct lmi_wire_reply *r))
{
	o->w.run = run;
	o->answer = answer;
	lmi_svc_session_submit(o->call->request.svc, &o->w);
	return LMD_OK;
}

/* ---- sessions ---- */

static void run_list(struct lmi_svc_session_work *w)
{
	struct op *o = w->arg;
	struct lmi_wire_session *v;

	w->err.status = lmi_svc_session_list(&w->files, true, &o->rows, &o->n, &w->n_bytes, &w->err);
	if (w->err.status != LMD_OK)
		return;
	v = o->shown = lmi_arena_alloc(o->call->request.arena, (o->n + 1) * sizeof(*v),
				       _Alignof(struct lmi_wire_session));
	if (!v) {
		w->err.status = lmd_fail(&w->err, LMD_NOMEM, "no memory for %u sessions", o->n);
		return;
	}
	for (uint32_t i = 0; i < o->n; i++)
		v[i] = (struct lmi_wire_session){.name = lmi_svc_str(o->rows[i].name),
						 .model = lmi_svc_str(o->rows[i].model),
						 .n_tokens = o->rows[i].n_token,
						 .bytes = (int64_t)o->rows[i].bytes,
						 .changed_ms = o->rows[i].changed_s * 1000};
}

static void answer_list(struct op *o, struct lmi_wire_reply *r)
{
	r->u.sessions.sessions = o->shown;
	r->u.sessions.n_sessions = o->n;
	r->u.sessions.bytes = (int64_t)o->w.n_bytes;
	r->u.sessions.max_bytes = (int64_t)o->w.files.max_bytes;
}

enum lmd_status lmi_svc_do_sessions(struct lmi_svc_request *a, uint32_t *retry_ms,
				    struct lmd_error *err)
{
	struct op *o;
	enum lmd_status st = create(&o, a, NULL, err);

	(void)retry_ms;
	return st == LMD_OK ? start(o, run_list, answer_list) : st;
}

/* ---- session_fork ---- */

static void run_fork(struct lmi_svc_session_work *w)
{
	const struct op *o = w->arg;

	w->err.status = lmi_svc_session_fork(&w->files, w->name, o->to, &w->n_token, &w->n_bytes,
					     &w->err);
}

static void answer_fork(struct op *o, struct lmi_wire_reply *r)
{
	r->u.session_fork.n_tokens = o->w.n_token;
	r->u.session_fork.bytes = (int64_t)o->w.n_bytes;
}

enum lmd_status lmi_svc_do_session_fork(struct lmi_svc_request *a, uint32_t *retry_ms,
					struct lmd_error *err)
{
	char to[LMI_SVC_SESSION_NAME + 1] = {0};
	struct op *o;
	enum lmd_status st = copy_name(to, &a->req->u.session_fork.to, err);

	(void)retry_ms;
	if (st == LMD_OK)
		st = create(&o, a, &a->req->u.session_fork.name, err);
	if (st != LMD_OK)
		return st;
	memcpy(o->to, to, sizeof(to));
	return start(o, run_fork, answer_fork);
}

/* ---- session_rm ---- */

static void run_rm(struct lmi_svc_session_work *w)
{
	struct op *o = w->arg;

	w->err.status = lmi_svc_session_rm(&w->files, w->name, &o->found, &w->err);
}

static void answer_rm(struct op *o, struct lmi_wire_reply *r)
{
	r->u.session_rm.found = o->found;
}

enum lmd_status lmi_svc_do_session_rm(struct lmi_svc_request *a, uint32_t *retry_ms,
				      struct lmd_error *err)
{
	struct op *o;
	enum lmd_status st = create(&o, a, &a->req->u.session_rm.name, err);

	(void)retry_ms;
	return st == LMD_OK ? start(o, run_rm, answer_rm) : st;
}

/* ---- session_read ---- */

static void run_read(struct lmi_svc_session_work *w)
{
	struct op *o = w->arg;
	const struct lmi_wire_req_session_read *q = &o->call->request.message.u.session_read;

	o->n_data = (size_t)q->max;
	o->data = lmi_alloc(1, o->n_data + 1);
	w->err.status = o->data ? lmi_svc_session_read(&w->files, w->name, (uint64_t)q->offset,
						       o->data, &o->n_data, &w->n_bytes, &w->err)
				: lmd_fail(&w->err, LMD_NOMEM, "no memory for %zu bytes", o->n_data);
}

static void answer_read(struct op *o, struct lmi_wire_reply *r)
{
	r->u.session_read.data = (struct lmd_str){.ptr = (const char *)o->data, .len = o->n_data};
	r->u.session_read.bytes = (int64_t)o->w.n_bytes;
}

enum lmd_status lmi_svc_do_session_read(struct lmi_svc_request *a, uint32_t *retry_ms,
					struct lmd_error *err)
{
	struct op *o;
	enum lmd_status st = create(&o, a, &a->req->u.session_read.name, err);

	(void)retry_ms;
	return st == LMD_OK ? start(o, run_read, answer_read) : st;
}

/* ---- session_write ---- */

static void run_write(struct lmi_svc_session_work *w)
{
	const struct op *o = w->arg;
	const struct lmi_wire_req_session_write *q = &o->call->request.message.u.session_write;

	w->err.status = lmi_svc_session_write(&w->files, w->name, (uint64_t)q->offset, q->data.ptr,
					      q->data.len, q->last, &w->n_token, &w->err);
}

static void answer_write(struct op *o, struct lmi_wire_reply *r)
{
	r->u.session_write.n_tokens = o->w.n_token;
}

enum lmd_status lmi_svc_do_session_write(struct lmi_svc_request *a, uint32_t *retry_ms,
					 struct lmd_error *err)
{
	struct op *o;
	enum lmd_status st = create(&o, a, &a->req->u.session_write.name, err);

	(void)retry_ms;
	return st == LMD_OK ? start(o, run_write, answer_write) : st;
}
