/* SPDX-License-Identifier: MIT
 *
 * Runs generations for the server.
 *
 * Everything that calls the service or frees memory happens in the event `again`, because callbacks
 * of the service must not call it.  A generation that was stopped while a request to the service is
 * pending is freed when that is answered. */
#include "daemon/http/background.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "daemon/http/collect.h"
#include "daemon/http/http_impl.h"
#include "daemon/http/model_choice.h"
#include "daemon/loop/loop.h"
#include "service/push.h"

enum step {
	STEP_START,  /* begins the generation */
	STEP_LOADED, /* looks for a model in memory */
	STEP_LISTED, /* looks for a model in the registry */
	STEP_WAIT,   /* for the service */
	STEP_END,    /* to be freed */
};

struct lmi_http_background {
	struct lmi_http_background *next;
	struct lmi_http_server *h;
	struct lmi_svc_principal principal;
	struct lmi_http_background_opts o;
	struct lmi_http_generation gen;
	struct lmi_http_answer_head head;
	struct event *again;
	enum step step;
	bool pending;  /* a request that is not a generation */
	bool stopped;  /* to be freed without calling done */
	bool fallback; /* the default model was looked for */
	bool nomem;    /* the answer is not complete */
	int64_t seed;
	struct lmi_svc_push push;
	struct lmi_http_collected collected;
	struct lmi_http_answer_end end;
};

/* ---- the end ---- */

static void background_free(struct lmi_http_background *b)
{
	if (b->again)
		event_free(b->again);
	lmi_http_collected_fini(&b->collected);
	json_decref(b->o.own_json);
	lmi_arena_destroy(b->o.own_arena);
	lmi_free(b);
}

static void go_on(struct lmi_http_background *b, enum step step)
{
	b->step = step;
	event_active(b->again, EV_TIMEOUT, 0);
}

static void fail_until(struct lmi_http_background *b, enum lmd_status st, const char *text,
		       uint32_t retry_ms)
{
	const struct lmi_http_error e = {.code = lmi_http_code_for(b->h, &b->principal, st),
					 .cause = st,
					 .text = text,
					 .retry_ms = retry_ms};

	b->o.done(b->o.arg, &b->head, NULL, 0, &e);
	go_on(b, STEP_END);
}

static void fail(struct lmi_http_background *b, enum lmd_status st, const char *text)
{
	fail_until(b, st, text, 0);
}

static void succeed(struct lmi_http_background *b)
{
	struct lmi_http_answer answer;
	struct lmi_json_text j = {0};
	struct lmd_error err = {0};

	if (b->nomem || !lmi_http_collected_answer(&b->collected, b->o.own_arena, &answer)) {
		fail(b, LMD_NOMEM, "no memory for the answer");
		return;
	}
	answer.end = b->end;
	b->gen.form->whole(b->gen.state, &b->head, &answer, &b->end, &j);
	if (lmi_json_text_finish(&j, &err) != LMD_OK) {
		fail(b, LMD_INTERNAL, "the answer cannot be written as JSON");
	} else {
		b->o.done(b->o.arg, &b->head, j.text, j.bytes, NULL);
		go_on(b, STEP_END);
	}
	lmi_json_text_fini(&j);
}

/* ---- what the service delivers ---- */

static bool on_items(void *arg, const struct lmi_wire_item *items, uint32_t n)
{
	struct lmi_http_background *b = arg;

	for (uint32_t i = 0; i < n; i++) {
		b->end.called |= items[i].kind == LMI_WIRE_ITEM_CALL_END &&
				 items[i].u.call_end.complete;
		b->nomem |= !lmi_http_collected_add(&b->collected, &items[i]);
	}
	return true;
}

static void on_end(void *arg, const struct lmi_wire_item *item, const struct lmd_error *err,
		   uint32_t retry_ms)
{
	struct lmi_http_background *b = arg;
	char text[LMD_ERROR_TEXT];

	if (b->stopped)
		return;
	if (!item && err->status == LMD_NOTFOUND && !b->fallback &&
	    lmi_http_replaces_model(b->h, &b->gen.req.u.generate.model)) {
		go_on(b, STEP_LOADED);
	} else if (!item) {
		/* cancelled without an item: the server is shutting down */
		fail_until(b, b->o.complete && err->status == LMD_CANCELLED ? LMD_BUSY : err->status,
			   err->text, retry_ms);
	} else if (item->kind == LMI_WIRE_ITEM_ERROR) {
		(void)snprintf(text, sizeof(text), "%.*s", (int)item->u.error.text.len,
			       item->u.error.text.ptr);
		fail(b, item->u.error.code, text);
	} else if (item->kind == LMI_WIRE_ITEM_CANCELLED) {
		fail(b, LMD_CANCELLED, "cancelled");
	} else if (b->o.complete && item->u.done.finish == LMI_WIRE_FINISH_SHUTDOWN) {
		fail(b, LMD_BUSY, "the server was stopped");
	} else {
		lmi_http_collect_end(&b->end, item, b->o.own_arena);
		succeed(b);
	}
}

static const struct lmi_svc_push_ops push_ops = {.items = on_items, .end = on_end};

/* ---- the default model ---- */

static void use_model(struct lmi_http_background *b, const struct lmd_str *name, enum step otherwise)
{
	struct lmd_str *model = &b->gen.req.u.generate.model;
	char *copy = name ? lmi_arena_strndup(b->o.own_arena, name->ptr, name->len) : NULL;

	if (copy) {
		*model = (struct lmd_str){.ptr = copy, .len = name->len};
		b->head.model = b->head.model ? b->head.model : copy;
		go_on(b, STEP_START);
	} else if (otherwise != STEP_END) {
		go_on(b, otherwise);
	} else {
		fail(b, LMD_NOTFOUND, "the model does not exist");
	}
}

static void on_models(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		      uint32_t retry_ms)
{
	struct lmi_http_background *b = arg;

	(void)err;
	(void)retry_ms;
	b->pending = false;
	if (b->stopped)
		go_on(b, STEP_END);
	else
		use_model(b, reply ? lmi_http_only_model(&reply->u.models) : NULL, STEP_END);
}

static void on_ps(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		  uint32_t retry_ms)
{
	struct lmi_http_background *b = arg;
	const struct lmd_str *found = NULL;
	uint32_t n = 0;

	(void)err;
	(void)retry_ms;
	b->pending = false;
	if (b->stopped) {
		go_on(b, STEP_END);
		return;
	}
	if (reply)
		found = lmi_http_only_loaded(&reply->u.ps, &n);
	use_model(b, found, n ? STEP_END : STEP_LISTED);
}

static void look_for(struct lmi_http_background *b, enum lmi_wire_op op, lmi_svc_reply_fn reply)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, op);
	if (op == LMI_WIRE_OP_MODELS)
		q.u.models.max = 2;
	b->pending = true;
	b->step = STEP_WAIT;
	lmi_service_call(b->h->svc, lmi_loop_now(), &b->principal, &q, reply, b);
}

/* ---- steps ---- */

static void start(struct lmi_http_background *b)
{
	b->push = (struct lmi_svc_push){.ops = &push_ops, .arg = b};
	b->step = STEP_WAIT;
	lmi_service_push(b->h->svc, lmi_loop_now(), &b->principal, &b->gen.req, &b->push);
}

static void look_for_default(struct lmi_http_background *b)
{
	const struct lmd_str model = {.ptr = b->h->o.model,
				      .len = b->h->o.model ? strlen(b->h->o.model) : 0};

	b->fallback = true;
	if (model.len)
		use_model(b, &model, STEP_END);
	else
		look_for(b, LMI_WIRE_OP_PS, on_ps);
}

static void unlink_and_free(struct lmi_http_background *b)
{
	struct lmi_http_background **p = &b->h->backgrounds;

	while (*p != b)
		p = &(*p)->next;
	*p = b->next;
	b->h->n_background--;
	if (b->h->svc) {
		lmi_service_push_stop(b->h->svc, lmi_loop_now(), &b->push);
		lmi_service_disconnected(b->h->svc, lmi_loop_now(), b->principal.conn);
	}
	background_free(b);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct lmi_http_background *b = arg;

	(void)fd;
	(void)what;
	if (b->stopped || b->step == STEP_END) {
		if (!b->pending)
			unlink_and_free(b);
		return;
	}
	if (!b->h->svc) {
		fail(b, LMD_CANCELLED, "shutting down");
		return;
	}
	switch (b->step) {
	case STEP_START:
		if (b->gen.req.u.generate.model.len)
			start(b);
		else
			look_for_default(b);
		return;
	case STEP_LOADED:
		look_for_default(b);
		return;
	case STEP_LISTED:
		look_for(b, LMI_WIRE_OP_MODELS, on_models);
		return;
	case STEP_WAIT:
	case STEP_END:
		return;
	}
}

/* ---- what others call ---- */

enum lmd_status lmi_http_background_start(struct lmi_http_server *h,
					  const struct lmi_http_background_opts *opts,
					  struct lmd_error *err)
{
	struct lmi_http_background *b = lmi_alloc(1, sizeof(*b));
	const struct lmd_str *model = &opts->gen->req.u.generate.model;
	enum lmd_status st = LMD_OK;

	if (h->n_background >= LMI_HTTP_BACKGROUND_MAX)
		st = lmd_fail(err, LMD_BUSY, "%u requests run in the background, the maximum is %u",
			      h->n_background, LMI_HTTP_BACKGROUND_MAX);
	if (b)
		b->again = evtimer_new(h->o.base, on_again, b);
	if (st == LMD_OK && (!b || !b->again))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a request");
	if (st != LMD_OK) {
		json_decref(opts->own_json);
		lmi_arena_destroy(opts->own_arena);
		if (b && b->again)
			event_free(b->again);
		lmi_free(b);
		return st;
	}
	b->h = h;
	b->o = *opts;
	b->principal = *opts->principal;
	b->principal.conn = 1ull << 63 | ++h->n_exchange;
	b->gen = *opts->gen;
	b->head = (struct lmi_http_answer_head){
		.id = opts->id, .created = opts->created, .n_choice = 1, .seeds = &b->seed};
	if (model->len)
		b->head.model = lmi_arena_strndup(opts->own_arena, model->ptr, model->len);
	b->next = h->backgrounds;
	h->backgrounds = b;
	h->n_background++;
	go_on(b, STEP_START);
	return LMD_OK;
}

struct lmi_http_server *lmi_http_server_of(const struct lmi_http_exchange *x)
{
	return x->h;
}

static struct lmi_http_background *find(const struct lmi_http_server *h,
					const struct lmi_svc_principal *p, const char *id)
{
	struct lmi_http_background *b = h->backgrounds;

	while (b && (b->stopped || b->step == STEP_END || strcmp(b->o.id, id) != 0 ||
		     b->principal.uid != p->uid || strcmp(b->principal.key_label, p->key_label) != 0))
		b = b->next;
	return b;
}

void *lmi_http_background_find(const struct lmi_http_server *h,
			       const struct lmi_svc_principal *principal, const char *id)
{
	const struct lmi_http_background *b = find(h, principal, id);

	return b ? b->o.arg : NULL;
}

static void stop(struct lmi_http_background *b)
{
	b->stopped = true;
	go_on(b, STEP_END);
}

void lmi_http_background_stop(struct lmi_http_server *h, const struct lmi_svc_principal *principal,
			      const char *id)
{
	struct lmi_http_background *b = find(h, principal, id);

	if (b)
		stop(b);
}

void lmi_http_background_revoke(struct lmi_http_server *h, const char *label)
{
	for (struct lmi_http_background *b = h->backgrounds; b; b = b->next)
		if (!b->stopped && !strcmp(b->principal.key_label, label))
			stop(b);
	for (struct lmi_http_lasting *l = h->lasting, *next; l; l = next) {
		next = l->next;
		l->revoke(l, label);
	}
}

void lmi_http_background_end_all(struct lmi_http_server *h)
{
	while (h->backgrounds) {
		struct lmi_http_background *b = h->backgrounds;

		h->backgrounds = b->next;
		background_free(b);
	}
	while (h->lasting) {
		struct lmi_http_lasting *l = h->lasting;

		h->lasting = l->next;
		l->end(l);
	}
}

/* ---- work of an API that outlives its exchange ---- */

void lmi_http_lasting_add(struct lmi_http_server *h, struct lmi_http_lasting *l)
{
	l->next = h->lasting;
	h->lasting = l;
}

void lmi_http_lasting_remove(struct lmi_http_server *h, struct lmi_http_lasting *l)
{
	struct lmi_http_lasting **p = &h->lasting;

	while (*p && *p != l)
		p = &(*p)->next;
	if (*p)
		*p = l->next;
}

struct lmi_http_lasting *lmi_http_lasting_first(const struct lmi_http_server *h)
{
	return h->lasting;
}

struct event *lmi_http_event(struct lmi_http_server *h, void (*fn)(int fd, short what, void *arg),
			     void *arg)
{
	return evtimer_new(h->o.base, fn, arg);
}

void lmi_http_lasting_principal(struct lmi_http_server *h, struct lmi_svc_principal *p)
{
	p->conn = 1ull << 63 | ++h->n_exchange;
}

enum lmd_status lmi_http_lasting_call(struct lmi_http_server *h, const struct lmi_svc_principal *p,
				      const struct lmi_wire_request *req, lmi_svc_reply_fn reply,
				      void *arg, struct lmd_error *err)
{
	if (!h->svc)
		return lmd_fail(err, LMD_CANCELLED, "shutting down");
	lmi_service_call(h->svc, lmi_loop_now(), p, req, reply, arg);
	return LMD_OK;
}

bool lmi_http_server_ended(const struct lmi_http_server *h)
{
	return !h->svc;
}

int64_t lmi_http_server_now(const struct lmi_http_server *h)
{
	return h->o.ops.wall_ns(h->o.arg) / 1000000000;
}

uint64_t lmi_http_server_clock_ms(void)
{
	return lmi_loop_now() / LMI_NS_PER_MS;
}

struct lmi_http_objects *lmi_http_server_objects(const struct lmi_http_server *h)
{
	return h->objects;
}

enum lmi_svc_role lmi_http_server_role(const struct lmi_http_server *h, uint32_t uid)
{
	const struct lmi_conn_peer peer = {.uid = uid};

	if (uid == UINT32_MAX)
		return h->o.ops.has_key(h->o.arg) ? LMI_SVC_ROLE_NONE : LMI_SVC_ROLE_USER;
	return lmi_conn_limiter_is_admin(h->limiter, &peer) ? LMI_SVC_ROLE_ADMIN : LMI_SVC_ROLE_USER;
}

const char *lmi_http_server_model(const struct lmi_http_server *h)
{
	return h->o.model;
}
