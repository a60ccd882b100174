/* SPDX-License-Identifier: MIT
 *
 * Runs the requests of a batch.  A generation runs as one in the background; embeddings are a request
 * to the service.  A request that is refused because the server is busy is repeated later.
 *
 * Everything that calls the service happens in the event `again`, because its callbacks must not. */
#include "daemon/http/openai/batch_run.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/embedding.h"
#include "daemon/http/json_body.h"
#include "daemon/http/openai/batch_progress.h"
#include "daemon/http/openai/files.h"
#include "daemon/http/openai/openai_impl.h"
#include "proto/buf.h"

/* Memory of one request. */
#define ARENA_BYTES (36u << 20)
/* A request is repeated this often, and after this time. */
#define TRIES_MAX 600u
#define RETRY_S   1
/* The progress is saved after this many lines, and ever less often. */
#define SAVE_LINES 16u
/* Of the ids of objects with the progress of a batch. */
#define PROGRESS_PREFIX "batchrun_"

const char *const lmi_openai_batch_endpoints[LMI_OPENAI_BATCH_N_ENDPOINT] = {
	"/v1/chat/completions", "/v1/completions", "/v1/embeddings"};

/* A request that runs, or that waits to be repeated. */
struct line {
	struct line *next;
	struct lmi_openai_batch *b;
	uint32_t number; /* from 0, without empty lines */
	json_t *v; /* the line; NULL: it is no JSON object */
	char id[LMI_HTTP_ID_CHARS + 1];
	uint32_t tries;
	bool waits;
	struct lmi_http_embedding embedding;
	struct lmd_arena *arena; /* of the embedding */
};

struct lmi_openai_batch {
	struct lmi_http_lasting lasting;
	struct lmi_openai_batch_opts o;
	struct lmi_svc_principal principal;
	struct event *again;
	size_t at; /* of the next line */
	struct line *lines;
	uint32_t n_line, number; /* number: of the next line */
	uint32_t n_saved;        /* lines that were done when the progress was saved */
	struct lmi_openai_batch_progress progress;
	bool stopped, revoked;
};

/* ---- the whole ---- */

static void line_free(struct line *l)
{
	struct line **p = &l->b->lines;

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	l->b->n_line--;
	json_decref(l->v);
	lmi_arena_destroy(l->arena);
	lmi_free(l);
}

static void batch_free(struct lmi_openai_batch *b)
{
	while (b->lines)
		line_free(b->lines);
	if (b->again)
		event_free(b->again);
	json_decref(b->o.object);
	lmi_free(b->o.own_input);
	lmi_openai_batch_progress_fini(&b->progress);
	lmi_free(b);
}


static void set(struct lmi_openai_batch *b, const char *key, json_t *own_value)
{
	(void)json_object_set_new(b->o.object, key, own_value);
}

static json_int_t now_s(const struct lmi_openai_batch *b)
{
	return lmi_http_server_now(b->o.h);
}

json_t *lmi_openai_batch_object(struct lmi_openai_batch *b)
{
	set(b, "request_counts",
	    json_pack("{s:i,s:i,s:i}", "total", (int)b->progress.n_line, "completed",
		      (int)b->progress.n_completed, "failed", (int)b->progress.n_failed));
	return b->o.object;
}

/* Stores the results of one kind; returns false if that is not possible. */
static bool store(struct lmi_openai_batch *b, const struct lmi_wire_buf *lines, const char *member,
		  const char *name, struct lmd_error *err)
{
	char id[LMI_OPENAI_ID_BYTES], filename[64];

	if (!lines->n)
		return true;
	(void)snprintf(filename, sizeof(filename), "%.31s_%s.jsonl",
		       json_string_value(json_object_get(b->o.object, "id")), name);
	if (lmi_openai_file_put(b->o.objects, &b->principal, filename, strlen(filename),
				"batch_output", now_s(b), lines->p, lines->n, id, err) != LMD_OK)
		return false;
	set(b, member, json_string(id));
	return true;
}

static void save(struct lmi_openai_batch *b)
{
	char *text = json_dumps(lmi_openai_batch_object(b), JSON_COMPACT);
	const char *id = json_string_value(json_object_get(b->o.object, "id"));
	struct lmd_error err;

	if (text)
		(void)lmi_http_objects_put(b->o.objects, &b->principal, id, text, strlen(text), &err);
	free(text);
}

/* ---- going on after the server was stopped ---- */

static const char *progress_id(const struct lmi_openai_batch *b, char id[LMI_HTTP_OBJECT_ID_MAX + 1])
{
	const char *own = json_string_value(json_object_get(b->o.object, "id"));

	(void)snprintf(id, LMI_HTTP_OBJECT_ID_MAX + 1, PROGRESS_PREFIX "%s",
		       own + strlen(LMI_OPENAI_BATCH_PREFIX));
	return id;
}

static void save_progress(struct lmi_openai_batch *b)
{
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	struct lmi_wire_buf text = {0};
	struct lmd_error err;

	b->n_saved = b->progress.n_completed + b->progress.n_failed;
	/* otherwise the input file, which is older, could be removed */
	if (lmi_openai_batch_progress_emit(&b->progress, &text))
		(void)lmi_http_objects_put_if_room(b->o.objects, &b->principal, progress_id(b, id),
						   text.p, text.n, &err);
	lmi_wire_buf_fini(&text);
}

/* Saves the progress when it has grown by a quarter, so that all savings together write a few times
 * the bytes of the last one. */
static void save_sometimes(struct lmi_openai_batch *b)
{
	uint32_t n = b->progress.n_completed + b->progress.n_failed;

	if (!b->revoked && n >= b->n_saved + b->n_saved / 4 + SAVE_LINES)
		save_progress(b);
}

static void load_progress(struct lmi_openai_batch *b)
{
	char id[LMI_HTTP_OBJECT_ID_MAX + 1], *text;
	struct lmd_error err;
	size_t n;

	if (lmi_http_objects_get(b->o.objects, &b->principal, progress_id(b, id), &text, &n,
				 &err) != LMD_OK)
		return;
	(void)lmi_openai_batch_progress_parse(&b->progress, text, n, &err); /* or from the start */
	b->n_saved = b->progress.n_completed + b->progress.n_failed;
	lmi_free(text);
}

static void remove_progress(struct lmi_openai_batch *b)
{
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	struct lmd_error err;

	(void)lmi_http_objects_remove(b->o.objects, &b->principal, progress_id(b, id), &err);
}

/* The server ends; the requests that run have no result. */
static void end(struct lmi_http_lasting *l)
{
	struct lmi_openai_batch *b = (struct lmi_openai_batch *)l;

	if (!b->revoked) {
		save_progress(b);
		save(b);
	}
	batch_free(b);
}

static void finish(struct lmi_openai_batch *b)
{
	const char *status = b->stopped ? "cancelled" : "completed";
	struct lmd_error err = {0};
	char at[32];

	if (!b->revoked) {
		bool good;

		/* Removed first: the progress counts towards the owner's quota. */
		remove_progress(b);
		good = store(b, &b->progress.out, "output_file_id", "output", &err) &&
		       store(b, &b->progress.errors, "error_file_id", "error", &err);

		if (!good) {
			status = "failed";
			set(b, "errors",
			    json_pack("{s:s,s:[{s:s,s:s}]}", "object", "list", "data", "code",
				      "server_error", "message", err.text));
		}
		(void)snprintf(at, sizeof(at), "%s_at", status);
		set(b, "status", json_string(status));
		set(b, at, json_integer(now_s(b)));
		save(b);
	}
	lmi_http_lasting_remove(b->o.h, &b->lasting);
	batch_free(b);
}

/* ---- results ---- */

/* Adds a line of results; body: JSON. */
static void add_result(struct line *l, int code, const char *body, size_t n)
{
	struct lmi_openai_batch_progress *p = &l->b->progress;
	struct lmi_wire_buf *to = code < 300 ? &p->out : &p->errors;
	json_t *custom = json_object_get(l->v, "custom_id"), *v;
	char head[160], *text;
	bool good;

	v = custom ? json_incref(custom) : json_null();
	text = json_dumps(v, JSON_ENCODE_ANY);
	json_decref(v);
	(void)snprintf(head, sizeof(head), "{\"id\":\"batch_req_%s\",\"custom_id\":", l->id);
	good = text && lmi_wire_buf_add(to, head, strlen(head)) &&
	       lmi_wire_buf_add(to, text, strlen(text));
	(void)snprintf(head, sizeof(head), ",\"response\":{\"status_code\":%d,\"request_id\":\"%s\",\"body\":",
		       code, l->id);
	good = good && lmi_wire_buf_add(to, head, strlen(head)) && lmi_wire_buf_add(to, body, n) &&
	       lmi_wire_buf_add(to, "},\"error\":null}\n", 16);
	free(text);
	p->n_completed += good && code < 300;
	p->n_failed += !good || code >= 300;
}

static void add_error(struct line *l, const struct lmi_http_error *e)
{
	struct lmi_json_text j = {0};

	lmi_openai_error(&j, e);
	if (lmi_json_text_finish(&j, NULL) == LMD_OK)
		add_result(l, e->code, j.text, j.bytes);
	else
		l->b->progress.n_failed++;
	lmi_json_text_fini(&j);
}

static void add_status(struct line *l, enum lmd_status st, const char *param, const char *text)
{
	const struct lmi_http_error e = {
		.code = lmi_http_code(st), .cause = st, .text = text, .param = param};

	add_error(l, &e);
}

/* Frees the line and goes on with the next one. */
static void line_done(struct line *l)
{
	struct lmi_openai_batch *b = l->b;

	lmi_openai_batch_progress_mark(&b->progress, l->number);
	line_free(l);
	save_sometimes(b);
	event_active(b->again, EV_TIMEOUT, 0);
}

/* Repeats a request later if the server was busy; returns whether it will. */
static bool repeat(struct line *l, enum lmd_status st)
{
	const struct timeval t = {.tv_sec = RETRY_S};

	if (st != LMD_BUSY || l->b->stopped || l->tries++ >= TRIES_MAX)
		return false;
	l->waits = true;
	(void)evtimer_add(l->b->again, &t);
	return true;
}

/* ---- requests ---- */

static void generated(void *arg, const struct lmi_http_answer_head *head, const char *json, size_t n,
		      const struct lmi_http_error *e)
{
	struct line *l = arg;

	(void)head;
	if (e && repeat(l, e->cause))
		return;
	if (e)
		add_error(l, e);
	else
		add_result(l, 200, json, n);
	line_done(l);
}

static enum lmd_status generate(struct line *l, const json_t *body, const char **param,
				struct lmd_error *err)
{
	struct lmi_openai_batch *b = l->b;
	struct lmd_arena *arena = lmi_arena_create(ARENA_BYTES);
	struct lmi_http_generation gen = {.n_choice = 1};
	char *id = arena ? lmi_arena_strndup(arena, l->id, strlen(l->id)) : NULL;
	enum lmd_status st;

	if (!id) {
		lmi_arena_destroy(arena);
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	}
	st = (b->o.endpoint == LMI_OPENAI_BATCH_CHAT ? lmi_openai_translate_chat
						      : lmi_openai_translate_completion)(
		&gen, body, arena, param, err);
	if (st == LMD_OK && (gen.n_choice > 1 || gen.stream)) {
		*param = gen.stream ? "stream" : "n";
		st = lmd_fail(err, LMD_INVALID, "a request of a batch has one answer, as a whole");
	}
	if (st != LMD_OK) {
		lmi_arena_destroy(arena);
		return st;
	}
	gen.req.u.generate.class = LMI_WIRE_CLASS_BATCH;
	return lmi_http_background_start(
		b->o.h,
		&(struct lmi_http_background_opts){.principal = &b->principal,
						   .gen = &gen,
						   .own_arena = arena,
						   .own_json = json_incref((json_t *)body),
						   .id = id,
						   .created = now_s(b),
						   .complete = true,
						   .done = generated,
						   .arg = l},
		err);
}

static void embedded(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct line *l = arg;
	struct lmi_json_text j = {0};
	const struct lmd_str *model = &l->embedding.req.u.embed.model;

	(void)retry_ms;
	/* cancelled: the server ends */
	if (!reply && repeat(l, err->status == LMD_CANCELLED ? LMD_BUSY : err->status))
		return;
	if (!reply) {
		add_status(l, err->status, NULL, err->text);
	} else {
		char *name = lmi_arena_strndup(l->arena, model->ptr, model->len);

		l->embedding.write(&l->embedding, name ? name : "", &reply->u.embed, &j);
		if (lmi_json_text_finish(&j, NULL) == LMD_OK)
			add_result(l, 200, j.text, j.bytes);
		else
			add_status(l, LMD_NOMEM, NULL, "no memory for the answer");
		lmi_json_text_fini(&j);
	}
	line_done(l);
}

static enum lmd_status embed(struct line *l, const json_t *body, const char **param,
			     struct lmd_error *err)
{
	const char *otherwise = lmi_http_server_model(l->b->o.h);
	struct lmi_http_reader r = {.err = err};
	struct lmd_str *model = &l->embedding.req.u.embed.model;

	lmi_arena_destroy(l->arena);
	r.arena = l->arena = lmi_arena_create(ARENA_BYTES);
	if (!r.arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	lmi_wire_request_init(&l->embedding.req, LMI_WIRE_OP_EMBED);
	lmi_openai_read_embeddings(&r, body, &l->embedding);
	*param = r.param;
	if (r.status == LMD_OK && !model->len && otherwise)
		*model = lmi_http_str(otherwise);
	if (r.status == LMD_OK && !model->len) {
		*param = "model";
		return lmd_fail(err, LMD_INVALID, "is missing");
	}
	return r.status != LMD_OK
		       ? r.status
		       : lmi_http_lasting_call(l->b->o.h, &l->b->principal, &l->embedding.req,
					       embedded, l, err);
}

/* Checks a line and runs its request; returns an error of either. */
static enum lmd_status run(struct line *l, const char **param, struct lmd_error *err)
{
	const char *want = lmi_openai_batch_endpoints[l->b->o.endpoint];
	const char *url = json_string_value(json_object_get(l->v, "url"));
	const char *method = json_string_value(json_object_get(l->v, "method"));
	const json_t *body = json_object_get(l->v, "body");

	if (!l->v)
		return lmd_fail(err, LMD_INVALID, "the line is not a JSON object");
	*param = "url";
	if (url && strcmp(url, want) != 0)
		return lmd_fail(err, LMD_INVALID, "is not that of the batch, %s", want);
	*param = "method";
	if (method && strcmp(method, "POST") != 0)
		return lmd_fail(err, LMD_INVALID, "must be POST");
	*param = "body";
	if (!json_is_object(body))
		return lmd_fail(err, LMD_INVALID, "must be an object");
	*param = NULL;
	return l->b->o.endpoint == LMI_OPENAI_BATCH_EMBEDDINGS ? embed(l, body, param, err)
								: generate(l, body, param, err);
}

static void run_line(struct line *l)
{
	struct lmd_error err = {0};
	const char *param = NULL;
	enum lmd_status st;

	l->waits = false;
	st = run(l, &param, &err);
	if (st == LMD_OK || repeat(l, st))
		return;
	add_status(l, st, param, err.text);
	line_done(l);
}

/* Returns the next line that is not empty, or ptr NULL. */
static struct lmd_str next_line(const char *text, size_t n, size_t *at)
{
	while (*at < n) {
		const char *p = text + *at, *stop = memchr(p, '\n', n - *at);
		size_t len = stop ? (size_t)(stop - p) : n - *at;

		*at += len + 1;
		while (len && strchr(" \t\r", p[len - 1]))
			len--;
		if (len)
			return (struct lmd_str){.ptr = p, .len = len};
	}
	return (struct lmd_str){0};
}

/* Returns false if there is none left. */
static bool begin_line(struct lmi_openai_batch *b)
{
	struct lmd_str s = next_line(b->o.own_input, b->o.n_input, &b->at);
	uint32_t number = b->number++;
	struct line *l;

	if (!s.ptr)
		return false;
	if (lmi_openai_batch_progress_is_done(&b->progress, number))
		return true;
	l = lmi_alloc(1, sizeof(*l));
	if (!l || !lmi_http_make_id(l->id)) {
		lmi_free(l);
		lmi_openai_batch_progress_mark(&b->progress, number);
		b->progress.n_failed++;
		return true;
	}
	l->b = b;
	l->number = number;
	l->next = b->lines;
	b->lines = l;
	b->n_line++;
	l->v = json_loadb(s.ptr, s.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(l->v)) {
		json_decref(l->v);
		l->v = NULL;
	}
	run_line(l);
	return true;
}

static void on_again(int fd, short what, void *arg)
{
	struct lmi_openai_batch *b = arg;

	(void)fd;
	(void)what;
	if (lmi_http_server_ended(b->o.h))
		return;
	for (struct line *l = b->lines, *next; l; l = next) {
		next = l->next;
		if (l->waits && b->stopped)
			line_free(l);
		else if (l->waits)
			run_line(l);
	}
	while (!b->stopped && b->n_line < LMI_OPENAI_BATCH_AT_A_TIME && begin_line(b))
		;
	if (!b->n_line && (b->stopped || b->at >= b->o.n_input))
		finish(b);
}

/* ---- what others call ---- */

/* Requests that run have been stopped without a call, so that their lines end here; embeddings are
 * answered later, and end then. */
static void revoke(struct lmi_http_lasting *lasting, const char *label)
{
	struct lmi_openai_batch *b = (struct lmi_openai_batch *)lasting;

	if (strcmp(b->principal.key_label, label) != 0 || b->revoked)
		return;
	b->revoked = b->stopped = true;
	for (struct line *l = b->lines, *next; l; l = next) {
		next = l->next;
		if (b->o.endpoint != LMI_OPENAI_BATCH_EMBEDDINGS || l->waits)
			line_free(l);
	}
	event_active(b->again, EV_TIMEOUT, 0);
}

enum lmd_status lmi_openai_batch_start(const struct lmi_openai_batch_opts *opts,
				       struct lmd_error *err)
{
	struct lmi_openai_batch *b = lmi_alloc(1, sizeof(*b));
	uint32_t n_line = 0;
	size_t at = 0;

	while (next_line(opts->own_input, opts->n_input, &at).ptr)
		n_line++;
	if (b)
		b->again = lmi_http_event(opts->h, on_again, b);
	if (!b || !b->again || !lmi_openai_batch_progress_init(&b->progress, n_line)) {
		if (b && b->again)
			event_free(b->again);
		lmi_free(opts->own_input);
		lmi_free(b);
		return lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	}
	b->o = *opts;
	b->principal = *opts->principal;
	lmi_http_lasting_principal(opts->h, &b->principal);
	(void)json_incref(b->o.object);
	b->lasting = (struct lmi_http_lasting){.end = end, .revoke = revoke};
	if (opts->go_on)
		load_progress(b);
	lmi_http_lasting_add(opts->h, &b->lasting);
	save(b);
	event_active(b->again, EV_TIMEOUT, 0);
	return LMD_OK;
}

struct lmi_openai_batch *lmi_openai_batch_find(const struct lmi_http_server *h,
					       const struct lmi_svc_principal *p, const char *id)
{
	for (struct lmi_http_lasting *l = lmi_http_lasting_first(h); l; l = l->next) {
		struct lmi_openai_batch *b = (struct lmi_openai_batch *)l;

		if (l->end == end && b->principal.uid == p->uid &&
		    !strcmp(b->principal.key_label, p->key_label) &&
		    !strcmp(json_string_value(json_object_get(b->o.object, "id")), id))
			return b;
	}
	return NULL;
}

void lmi_openai_batch_stop(struct lmi_openai_batch *b)
{
	b->stopped = true;
	set(b, "status", json_string("cancelling"));
	set(b, "cancelling_at", json_integer(now_s(b)));
	event_active(b->again, EV_TIMEOUT, 0);
}
