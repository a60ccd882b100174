/* SPDX-License-Identifier: MIT
 *
 * Runs the generations of an exchange; generation_answer.c writes their answer.
 *
 * A stream begins with the first item, not before, so that an error of the request still becomes an
 * error response.  All choices have their seed from the beginning.  The other choices start when
 * the first one was accepted, so that a wrong model name is found once.
 *
 * The items arrive in callbacks of the service, which must not be called from there: what has to
 * call it is done by lmi_http_later().  The memory of all this is in the arena of the exchange; the
 * subscriptions are stopped before it is freed. */
#include "daemon/http/generation_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/arena.h"
#include "daemon/http/model_choice.h"
#include "daemon/http/replay.h"
#include "daemon/loop/loop.h"
#include "service/durable_push.h"

/* Choices of one request that run at a time, so that it does not fill the queue. */
#define AT_A_TIME LMI_HTTP_N_MAX

static void start(struct lmi_http_exchange *x, void *arg);

/* ---- what the service delivers ---- */

static const char *reason_text(enum lmi_wire_cancel_reason reason)
{
	switch (reason) {
	case LMI_WIRE_CANCEL_REASON_SLOW_READER:
		return "cancelled: too much of the answer was left unread";
	case LMI_WIRE_CANCEL_REASON_UNLOAD:
		return "cancelled: the model was unloaded";
	case LMI_WIRE_CANCEL_REASON_PAUSED:
		return "cancelled: the generation stayed paused for longer than the limit pause_max";
	default:
		return "cancelled";
	}
}

static void end_choice(struct lmi_http_choice *c, const struct lmi_wire_item *item)
{
	struct lmi_http_run *r = c->run;
	uint64_t all = lmi_loop_now() - r->x->begun_ns;

	c->ended = true;
	lmi_http_collect_end(&c->end, item, r->x->arena);
	if (all > c->end.prompt_ns + c->end.out_ns)
		c->end.queue_ns = all - c->end.prompt_ns - c->end.out_ns;
	lmi_http_run_count_end(c, all);
	r->x->log_queue_ns = r->choices[0].end.queue_ns;
	/* no item has this time: after a restart the bytes would be others */
	if (r->gen.req.u.generate.durable)
		c->end.queue_ns = 0;
	r->n_ended++;
	if (r->gen.stream) {
		lmi_http_run_begin_stream(r);
		if (r->gen.form->choice_end)
			r->gen.form->choice_end(r->gen.state, c->index, &c->end, &r->out);
		(void)lmi_http_run_flush(r);
	}
	if (r->n_ended == r->gen.n_choice && !r->finished)
		lmi_http_run_finish(r);
	else if (r->n_started < r->gen.n_choice && !r->finished)
		lmi_http_later(r->x, start, r);
}

static bool take_items(void *arg, const struct lmi_wire_item *items, uint32_t n)
{
	struct lmi_http_choice *c = arg;
	struct lmi_http_run *r = c->run;
	uint32_t n_token = 0;
	bool good = true;

	if (r->finished)
		return false;
	if (!r->first_ns)
		r->first_ns = lmi_loop_now() - r->x->begun_ns;
	for (uint32_t i = 0; i < n; i++) {
		n_token += items[i].kind == LMI_WIRE_ITEM_TOKEN;
		c->end.called |=
			items[i].kind == LMI_WIRE_ITEM_CALL_END && items[i].u.call_end.complete;
	}
	lmi_http_run_count_tokens(c, n_token);
	if (r->gen.stream) {
		lmi_http_run_begin_stream(r);
		for (uint32_t i = 0; i < n && r->gen.form->item; i++)
			r->gen.form->item(r->gen.state, c->index, &items[i], &r->out);
		return lmi_http_run_flush(r);
	}
	for (uint32_t i = 0; i < n && good; i++)
		good = lmi_http_collected_add(&c->collected, &items[i]);
	if (!good)
		lmi_http_run_fail(r, LMD_NOMEM, "no memory for the answer", 0);
	return good;
}

static bool items(void *arg, const struct lmi_wire_item *v, uint32_t n)
{
	struct lmi_http_server *h = ((struct lmi_http_choice *)arg)->run->x->h;
	bool more;

	h->in_service++;
	more = take_items(arg, v, n);
	h->in_service--;
	return more;
}

static void with_default(struct lmi_http_exchange *x, const char *model, void *arg)
{
	struct lmi_http_run *r = arg;
	struct lmd_str *name = &r->gen.req.u.generate.model;

	r->looks = false;
	if (model) {
		*name = (struct lmd_str){.ptr = model, .len = strlen(model)};
		r->head.model = r->head.model ? r->head.model : model;
		x->log_model = model;
		lmi_http_later(x, start, r);
		return;
	}
	if (name->len) {
		char text[LMD_ERROR_TEXT];

		snprintf(text, sizeof(text), "the model '%.*s' does not exist",
			 (int)(name->len < 200 ? name->len : 200), name->ptr);
		lmi_http_run_fail(r, LMD_NOTFOUND, text, 0);
		return;
	}
	lmi_http_reply_invalid(x, "model", "is missing, and there is more than one model, or none");
	r->finished = true;
}

static void look_for_default(struct lmi_http_exchange *x, void *arg)
{
	struct lmi_http_run *r = arg;

	r->fallback = true;
	lmi_http_default_model(x, with_default, r);
}

static void suspend(struct lmi_http_exchange *x, void *arg)
{
	(void)arg;
	lmi_http_replay_suspend(x);
}

static void take_end(struct lmi_http_choice *c, const struct lmi_wire_item *item,
		     const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_http_run *r = c->run;
	char text[LMD_ERROR_TEXT];

	if (r->finished)
		return;
	if (!item && err->status == LMD_NOTFOUND && !r->fallback && !c->index &&
	    lmi_http_replaces_model(r->x->h, &r->gen.req.u.generate.model)) {
		r->n_started = 0;
		r->looks = true;
		lmi_http_later(r->x, look_for_default, r);
	} else if (!item && r->accepted && r->gen.req.u.generate.durable) {
		r->finished = true;
		lmi_http_later(r->x, suspend, NULL);
	} else if (!item) {
		lmi_http_run_fail(r, err->status, err->text, retry_ms);
	} else if (item->kind == LMI_WIRE_ITEM_ERROR) {
		snprintf(text, sizeof(text), "%.*s", (int)item->u.error.text.len,
			 item->u.error.text.ptr);
		lmi_http_run_fail(r, item->u.error.code, text, 0);
	} else if (item->kind == LMI_WIRE_ITEM_CANCELLED) {
		lmi_http_run_fail(r, LMD_CANCELLED, reason_text(item->u.cancelled.reason), 0);
	} else {
		end_choice(c, item);
	}
}

static void end(void *arg, const struct lmi_wire_item *item, const struct lmd_error *err,
		uint32_t retry_ms)
{
	struct lmi_http_choice *c = arg;
	struct lmi_http_server *h = c->run->x->h;

	h->in_service++;
	take_end(c, item, err, retry_ms);
	h->in_service--;
}

static void begun(void *arg, const struct lmi_wire_reply *reply)
{
	struct lmi_http_choice *c = arg;
	struct lmi_http_run *r = c->run;

	r->accepted = true;
	if (r->gen.req.u.generate.durable)
		lmi_http_replay_set_id(r->x, &reply->u.generate.id);
	if (!c->index && r->gen.n_choice > 1)
		lmi_http_later(r->x, start, r);
}

static const struct lmi_svc_push_ops push_ops = {.begun = begun, .items = items, .end = end};

/* ---- the beginning ---- */

static void set_prompt(struct lmi_wire_req_generate *q, const struct lmi_http_prompt_text *p)
{
	q->has_prompt = !p->is_tokens;
	q->prompt = p->text;
	q->has_tokens = p->is_tokens;
	q->tokens = p->tokens;
	q->n_tokens = p->n_token;
}

static void start_choice(struct lmi_http_run *r, uint32_t i)
{
	struct lmi_wire_request q = r->gen.req;
	struct lmi_http_exchange *x = r->x;
	struct lmi_http_choice *c = &r->choices[i];

	c->run = r;
	c->index = i;
	c->push = (struct lmi_svc_push){.ops = &push_ops, .arg = c, .hold_ms = r->gen.hold_ms};
	q.u.generate.has_seed = true;
	q.u.generate.seed = r->seeds[i];
	if (r->gen.n_prompt)
		set_prompt(&q.u.generate, &r->gen.prompts[i / lmi_http_run_per_prompt(r)]);
	if (q.u.generate.durable) {
		struct lmd_str note;

		if (!lmi_http_durable_note(x, r->id, r->head.model, &note)) {
			lmi_http_run_fail(r, LMD_NOMEM, "no memory for a durable stream", 0);
			return;
		}
		c->push.note = note.ptr;
		c->push.n_note = note.len;
	}
	lmi_service_push(x->h->svc, lmi_loop_now(), &x->principal, &q, &c->push);
}

/* Starts the first choice or, after that was accepted, others. */
static void start(struct lmi_http_exchange *x, void *arg)
{
	struct lmi_http_run *r = arg;
	uint32_t n = r->n_started ? r->gen.n_choice : 1;

	if (!x->h->svc)
		lmi_http_run_fail(r, LMD_CANCELLED, "shutting down", 0);
	while (r->n_started < n && r->n_started - r->n_ended < AT_A_TIME && !r->finished &&
	       !r->looks)
		start_choice(r, r->n_started++);
}

/* Goes on after a restart of the daemon, with the bytes that clients have seen. */
static void start_again(struct lmi_http_run *r)
{
	struct lmi_http_choice *c = &r->choices[0];

	c->run = r;
	c->push = (struct lmi_svc_push){.ops = &push_ops, .arg = c};
	r->n_started = 1;
	r->accepted = r->fallback = true;
	lmi_http_run_begin_stream(r);
	(void)lmi_http_run_flush(r);
	lmi_service_durable_push(r->x->h->svc, lmi_loop_now(), &r->x->principal,
				 &r->x->again->stream, &c->push);
}

/* The client has read enough. */
static void drained(void *arg)
{
	struct lmi_http_run *r = arg;
	struct lmi_http_server *h = r->x->h;

	for (uint32_t i = 0; i < r->n_started && h->svc && !r->finished; i++)
		lmi_service_push_resume(h->svc, lmi_loop_now(), &r->choices[i].push);
}

static void fini(void *arg)
{
	struct lmi_http_run *r = arg;
	struct lmi_http_server *h = r->x->h;

	if (r->ping)
		event_free(r->ping);
	r->ping = NULL;
	r->x->log_first_ns = r->first_ns;
	r->x->log_out = r->n_token;
	for (uint32_t i = 0; i < r->n_started; i++) {
		if (h->svc)
			lmi_service_push_stop(h->svc, lmi_loop_now(), &r->choices[i].push);
		lmi_http_collected_fini(&r->choices[i].collected);
	}
	lmi_http_out_fini(&r->out);
}

bool lmi_http_make_id(char id[LMI_HTTP_ID_CHARS + 1])
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	uint8_t bytes[LMI_HTTP_ID_CHARS];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (int i = 0; i < LMI_HTTP_ID_CHARS; i++)
		id[i] = set[bytes[i] % (sizeof(set) - 1)];
	id[LMI_HTTP_ID_CHARS] = 0;
	return true;
}

/* Chooses a seed for each choice. */
static bool make_seeds(struct lmi_http_run *r)
{
	const struct lmi_wire_req_generate *q = &r->gen.req.u.generate;
	uint64_t seed = (uint64_t)q->seed;

	if (!q->has_seed && getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		return false;
	/* 32 bits, so that a client that reads numbers as doubles can send it again */
	seed = q->has_seed ? seed : seed >> 32;
	for (uint32_t i = 0; i < r->gen.n_choice; i++)
		r->seeds[i] = (int64_t)((seed + i % lmi_http_run_per_prompt(r)) & INT64_MAX);
	return true;
}

void lmi_http_reply_translation(struct lmi_http_exchange *x, const struct lmd_error *err,
				const char *param)
{
	const struct lmi_http_error e = {.code = lmi_http_code(err->status),
					 .cause = err->status,
					 .text = err->text,
					 .param = param};

	lmi_http_reply_error(x, &e);
}

void lmi_http_generate_translated(struct lmi_http_exchange *x,
				  const struct lmi_http_generation *gen)
{
	struct lmi_http_run *r = lmi_arena_alloc(x->arena, sizeof(*r), 64);
	struct lmd_str *model;

	if (!r) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	r->gen = *gen;
	r->choices = lmi_arena_array(x->arena, r->gen.n_choice, sizeof(*r->choices));
	r->seeds = lmi_arena_array(x->arena, r->gen.n_choice, sizeof(*r->seeds));
	if (!r->choices || !r->seeds) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	if (!lmi_http_make_id(r->id) || !make_seeds(r)) {
		lmi_http_respond_text(x, 500, "", "no random numbers");
		return;
	}
	if (x->again && !lmi_http_replay_begin_again(x, r->gen.form->stream_type)) {
		lmi_http_respond_text(x, 503, "", "out of memory");
		return;
	}
	if (!x->again && r->gen.stream &&
	    (lmi_http_replay_resume(x) ||
	     !lmi_http_replay_begin(x, r->gen.form->stream_type, r->gen.req.u.generate.durable)))
		return;
	r->x = x;
	if (r->gen.is_slot && x->h->svc && !lmi_service_has_sessions(x->h->svc))
		r->gen.req.u.generate.has_session = false;
	if (x->h->o.ops.generated)
		r->traceparent = lmi_http_header(x, "traceparent");
	model = &r->gen.req.u.generate.model;
	if (x->again) {
		(void)snprintf(r->id, sizeof(r->id), "%s", x->again->id);
		r->head.model = x->log_model = x->again->model;
		x->created = x->again->created;
		r->seeds[0] = (int64_t)x->again->seed;
	} else if (model->len)
		r->head.model = x->log_model = lmi_arena_strndup(x->arena, model->ptr, model->len);
	r->head.id = r->id;
	r->head.created = x->created;
	r->head.n_choice = r->gen.n_choice;
	r->head.seeds = r->seeds;
	x->fini = fini;
	x->drained = drained;
	x->hook_arg = r;
	x->cancel_on_eof = true;
	lmi_http_run_start_pings(r);
	if (x->again)
		start_again(r);
	else if (model->len)
		start(x, r);
	else
		look_for_default(x, r);
}

void lmi_http_generate(struct lmi_http_exchange *x, lmi_http_translate_fn translate)
{
	struct lmi_http_generation gen = {.n_choice = 1};
	const json_t *body = lmi_http_body_object(x);
	const char *param = NULL;
	struct lmd_error err = {0};

	if (!body)
		return;
	lmi_wire_request_init(&gen.req, LMI_WIRE_OP_GENERATE);
	if (translate(&gen, body, x->arena, &param, &err) == LMD_OK)
		lmi_http_generate_translated(x, &gen);
	else
		lmi_http_reply_translation(x, &err, param);
}
