/* SPDX-License-Identifier: MIT
 *
 * The session of a generation: before it is queued, what the session has of its prompt comes back
 * into memory; at its end, its rows are saved under the session's name, before its final item. Neither
 * changes the answer: a session that does not fit is computed again, and one that cannot be saved is
 * reported with the end. */
#include <string.h>

#include "core/base/alloc.h"
#include "service/generate_work.h"
#include "service/session_work.h"

struct lmi_svc_gen_session {
	struct lmi_svc_session_work work;
	lmd_token *tokens; /* [n_tokens] of the prompt and the answer, room for cap */
	uint32_t n_tokens, cap;
	bool no_memory;
	struct lmi_svc_end end; /* while it is saved */
};

static bool reserve(struct lmi_svc_gen_session *s, uint32_t n)
{
	uint32_t cap = s->cap ? s->cap : 256;
	lmd_token *v;

	while (cap < s->n_tokens + n)
		cap *= 2;
	if (cap == s->cap)
		return true;
	v = lmi_realloc(s->tokens, cap, sizeof(*v));
	s->no_memory |= !v;
	if (!v)
		return false;
	s->tokens = v;
	s->cap = cap;
	return true;
}

void lmi_svc_gen_session_free(struct lmi_svc_generation *g)
{
	if (!g->session)
		return;
	lmi_free(g->session->tokens);
	lmi_free(g->session);
	g->session = NULL;
}

void lmi_svc_gen_session_drop(struct lmi_svc_generation *g)
{
	if (g->session)
		g->session->work.dropped = true;
}

void lmi_svc_gen_session_token(struct lmi_svc_generation *g, lmd_token token)
{
	if (g->session && reserve(g->session, 1))
		g->session->tokens[g->session->n_tokens++] = token;
}

static void log_error(const struct lmi_svc_generation *g, const char *what)
{
	const struct lmd_host *h = g->request.svc->o.host;
	const struct lmi_svc_session_work *w = &g->session->work;

	h->log(h->ctx, "service", LMD_LOG_INFO, "session %s was not %s: %s", w->name, what,
	       w->err.text);
}

static void fill_work(struct lmi_svc_generation *g, enum lmi_svc_session_kind kind)
{
	struct lmi_svc_gen_session *s = g->session;

	s->work.kind = kind;
	s->work.loaded = g->loaded;
	s->work.tokens = s->tokens;
	s->work.n_tokens = s->n_tokens;
	s->work.tenant = lmi_svc_gen_tenant(g);
	s->work.adapter = g->adapter;
	s->work.arg = g;
	s->work.moved = false;
	g->n_hold++;
	lmi_svc_session_submit(g->request.svc, &s->work);
}

/* ---- before ---- */

static void restored(struct lmi_svc_session_work *w, uint64_t now)
{
	struct lmi_svc_generation *g = w->arg;

	g->n_hold--;
	if (g->ended) {
		lmi_svc_gen_release(g);
		return;
	}
	if (w->err.status != LMD_OK && w->err.status != LMD_NOTFOUND)
		log_error(g, "restored");
	lmi_svc_gen_prefix_restore(g, now);
}

void lmi_svc_gen_session_restore(struct lmi_svc_generation *g, uint64_t now)
{
	const struct lmi_wire_req_generate *q = lmi_svc_gen_request(g);
	struct lmi_svc_gen_session *s;
	struct lmd_error err;
	enum lmd_status st;

	if (!q->has_session) {
		lmi_svc_gen_prefix_restore(g, now);
		return;
	}
	s = g->session = lmi_alloc(1, sizeof(*s));
	st = s ? lmi_svc_sessions_of(&s->work.files, g->request.svc, &g->request.principal, &err)
	       : lmd_fail(&err, LMD_NOMEM, "no memory for a session");
	/* a generation that goes on has more than its prompt */
	if (st == LMD_OK && !reserve(s, (uint32_t)(g->tokens.n + g->taken.n)))
		st = lmd_fail(&err, LMD_NOMEM, "no memory for the tokens of a session");
	if (st != LMD_OK) {
		lmi_svc_gen_fail(g, now, &err, 0);
		return;
	}
	memcpy(s->work.name, q->session.ptr, q->session.len);
	memcpy(s->tokens, g->tokens.id, g->tokens.n * sizeof(*s->tokens));
	if (g->taken.n)
		memcpy(s->tokens + g->tokens.n, g->taken.id, g->taken.n * sizeof(*s->tokens));
	s->n_tokens = (uint32_t)(g->tokens.n + g->taken.n);
	s->work.done = restored;
	fill_work(g, LMI_SVC_SESSION_RESTORE);
}

/* ---- after ---- */

static void saved(struct lmi_svc_session_work *w, uint64_t now)
{
	struct lmi_svc_generation *g = w->arg;
	struct lmi_svc_end end = g->session->end;

	g->n_hold--;
	if (g->ended) {
		lmi_svc_gen_release(g);
		return;
	}
	end.n_saved = w->err.status == LMD_OK ? w->n_token : 0;
	end.error = w->err;
	if (w->err.status != LMD_OK)
		log_error(g, "saved");
	lmi_svc_gen_finish(g, now, &end);
}

bool lmi_svc_gen_session_save(struct lmi_svc_generation *g, const struct lmi_svc_end *end)
{
	struct lmi_svc_gen_session *s = g->session;

	if (!s || end->kind != LMI_SVC_END_DONE || g->saving)
		return false;
	s->end = *end;
	s->work.done = saved;
	g->saving = true;
	s->work.err.status = LMD_OK;
	if (s->no_memory || end->n_shift) {
		/* what is in memory is not what the client saw */
		(void)lmd_fail(&s->end.error, end->n_shift ? LMD_UNSUPPORTED : LMD_NOMEM,
			       end->n_shift ? "the context was full and was shifted"
					    : "no memory for the tokens of the session");
		lmi_svc_gen_finish(g, g->request.svc->now, &s->end);
		return true;
	}
	fill_work(g, LMI_SVC_SESSION_SAVE);
	return true;
}
