/* SPDX-License-Identifier: MIT
 *
 * Stored responses: those that a later request names as its previous response, and those that are
 * computed in the background.
 *
 * A stored response is an object {"response": RESPONSE, "input": ITEMS} with the id of the response.
 * A conversation is a chain of responses, each of which has the id of the previous one; a deleted
 * response ends the chain with an error, because nothing of it is left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/background.h"
#include "daemon/http/exchange.h"
#include "daemon/http/objects.h"
#include "daemon/http/openai/responses.h"

/* Bounds of a chain of responses. */
#define CHAIN_MAX   256
#define CHAIN_BYTES (16u << 20)
/* Memory for a request in the background, beyond that of its body. */
#define ARENA_BYTES (36u << 20)
#define LIST_MAX    100

/* ---- writing ---- */

/* Where a response is stored. */
struct place {
	struct lmi_http_objects *objects;
	struct lmi_svc_principal principal;
	struct lmi_openai_response_state *state;
	json_t *input; /* list of items; owned by the exchange or the background */
};

/* Stores a response; `response` is borrowed. */
static enum lmd_status put(struct lmi_http_objects *objects, const struct lmi_svc_principal *p,
			   json_t *response, json_t *input, struct lmd_error *err)
{
	json_t *whole = json_pack("{s:O,s:O}", "response", response, "input", input);
	char *text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
	const char *id = json_string_value(json_object_get(response, "id"));
	enum lmd_status st = LMD_OK;

	if (text && id)
		st = lmi_http_objects_put(objects, p, id, text, strlen(text), err);
	else
		st = lmd_fail(err, LMD_NOMEM, "no memory for a response");
	free(text);
	json_decref(whole);
	return st;
}

static void save(void *arg, const struct lmi_http_answer_head *head, const char *json, size_t n)
{
	const struct place *p = arg;
	json_t *response = json_loadb(json, n, JSON_ALLOW_NUL, NULL);
	struct lmd_error err;

	(void)head;
	(void)put(p->objects, &p->principal, response, p->input, &err);
	json_decref(response);
}

/* Makes a place in the arena of the state; returns NULL if out of memory. */
static struct place *make_place(struct lmi_http_exchange *x, struct lmi_openai_response_state *s,
				json_t **own_input)
{
	struct place *p = lmi_arena_alloc(s->arena, sizeof(*p), 8);
	char id[LMI_HTTP_ID_CHARS + 1];

	*own_input = lmi_http_make_id(id) ? lmi_openai_input_items(lmi_http_get(s->body, "input"), id)
					  : NULL;
	if (!p || !*own_input)
		return NULL;
	*p = (struct place){.objects = lmi_http_objects_of(x),
			    .principal = *lmi_http_principal(x),
			    .state = s,
			    .input = *own_input};
	s->save = save;
	s->save_arg = p;
	return p;
}

static void reply_nomem(struct lmi_http_exchange *x)
{
	struct lmd_error err;

	(void)lmd_fail(&err, LMD_NOMEM, "no memory for a response");
	lmi_http_reply_status(x, &err, 0);
}

bool lmi_openai_store_response(struct lmi_http_exchange *x, struct lmi_openai_response_state *s)
{
	json_t *input;

	if (make_place(x, s, &input))
		return lmi_http_keep_json(x, input);
	json_decref(input);
	reply_nomem(x);
	return false;
}

/* ---- in the background ---- */

static void done(void *arg, const struct lmi_http_answer_head *head, const char *json, size_t n,
		 const struct lmi_http_error *e)
{
	struct place *p = arg;
	struct lmi_json_text j = {0};

	(void)json; /* the form has stored it */
	(void)n;
	if (!e)
		return;
	p->state->head = *head;
	lmi_openai_put_response(p->state, "failed", NULL, e, &j);
	if (lmi_json_text_finish(&j, NULL) == LMD_OK)
		save(p, head, j.text, j.bytes);
	lmi_json_text_fini(&j);
}

/* Translates the request once more, with memory that outlives the exchange. */
static enum lmd_status translate_again(struct lmi_http_exchange *x, struct lmi_http_generation *gen,
				       const json_t *before, struct lmd_arena *arena,
				       struct lmd_error *err)
{
	const char *param;
	enum lmd_status st;

	if (!arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for a response");
	lmi_wire_request_init(&gen->req, LMI_WIRE_OP_GENERATE);
	st = lmi_openai_translate_response_after(gen, lmi_http_body_object(x), before, arena, &param,
						 err);
	if (st == LMD_OK)
		gen->stream = false;
	return st;
}

/* Writes the response as it is at the beginning; the caller frees it. */
static json_t *queued(struct lmi_http_exchange *x, struct lmi_openai_response_state *s,
		      const char *id, const struct lmd_str *model)
{
	struct lmi_json_text j = {0};
	json_t *response = NULL;

	s->head.id = id;
	s->head.created = lmi_http_created(x);
	s->head.model = model->len ? lmi_arena_strndup(s->arena, model->ptr, model->len) : "default";
	lmi_openai_put_response(s, "queued", NULL, NULL, &j);
	if (lmi_json_text_finish(&j, NULL) == LMD_OK)
		response = json_loadb(j.text, j.bytes, JSON_ALLOW_NUL, NULL);
	lmi_json_text_fini(&j);
	return response;
}

static void reply_value(struct lmi_http_exchange *x, const json_t *v)
{
	struct lmi_json_text j = {.max_bytes = CHAIN_BYTES};

	lmi_openai_put_json(&j, v);
	lmi_http_reply(x, 200, &j);
}

void lmi_openai_respond_later(struct lmi_http_exchange *x, const json_t *before)
{
	struct lmd_arena *arena = lmi_arena_create(ARENA_BYTES);
	char *id = arena ? lmi_arena_alloc(arena, LMI_HTTP_ID_CHARS + 1, 1) : NULL;
	struct lmi_http_generation gen = {.n_choice = 1};
	json_t *input = NULL, *kept = NULL, *response = NULL;
	struct lmd_error err = {0};
	enum lmd_status st = translate_again(x, &gen, before, arena, &err);
	struct place *p = st == LMD_OK ? make_place(x, gen.state, &input) : NULL;

	if (p && id && lmi_http_make_id(id)) {
		response = queued(x, gen.state, id, &gen.req.u.generate.model);
		kept = json_pack("[O,O,O]", lmi_http_body_object(x), before, input);
	}
	if (st == LMD_OK && (!response || !kept))
		st = lmd_fail(&err, LMD_NOMEM, "no memory for a response");
	if (st == LMD_OK)
		st = put(p->objects, &p->principal, response, input, &err);
	json_decref(input);
	if (st == LMD_OK) {
		const struct lmi_http_background_opts opts = {.principal = &p->principal,
							      .gen = &gen,
							      .own_arena = arena,
							      .own_json = kept,
							      .id = id,
							      .created = lmi_http_created(x),
							      .done = done,
							      .arg = p};

		st = lmi_http_background_start(lmi_http_server_of(x), &opts, &err);
	} else {
		json_decref(kept);
		lmi_arena_destroy(arena);
	}
	if (st == LMD_OK)
		reply_value(x, response);
	else
		lmi_http_reply_status(x, &err, 1000);
	json_decref(response);
}

/* ---- reading ---- */

/* Returns a stored response with its input, which the caller owns; NULL after an error. */
static json_t *load(struct lmi_http_exchange *x, const char *id, size_t *n, struct lmd_error *err)
{
	struct lmi_http_objects *objects = lmi_http_objects_of(x);
	json_t *v = NULL;
	char *text;

	if (!objects || strncmp(id, LMI_OPENAI_RESPONSE_PREFIX, strlen(LMI_OPENAI_RESPONSE_PREFIX))) {
		(void)lmd_fail(err, LMD_NOTFOUND, "the response %.63s does not exist%s", id,
			       objects ? "" : "; this server stores none");
		return NULL;
	}
	if (lmi_http_objects_get(objects, lmi_http_principal(x), id, &text, n, err) != LMD_OK)
		return NULL;
	v = json_loadb(text, *n, JSON_ALLOW_NUL, NULL);
	lmi_free(text);
	if (!json_is_object(json_object_get(v, "response")) ||
	    !json_is_array(json_object_get(v, "input"))) {
		(void)lmd_fail(err, LMD_CORRUPT, "the stored response %.63s is damaged", id);
		json_decref(v);
		return NULL;
	}
	return v;
}

static const char *status_of(const json_t *response)
{
	const char *status = json_string_value(json_object_get(response, "status"));

	return status ? status : "";
}

/* Returns the part of an id that the background knows. */
static const char *short_id(const char *id)
{
	return id + strlen(LMI_OPENAI_RESPONSE_PREFIX);
}

/* Sets the status of a response that was queued when it was stored. */
static void update_status(struct lmi_http_exchange *x, const char *id, json_t *response)
{
	if (strcmp(status_of(response), "queued") != 0)
		return;
	if (lmi_http_background_find(lmi_http_server_of(x), lmi_http_principal(x), short_id(id))) {
		(void)json_object_set_new(response, "status", json_string("in_progress"));
		return;
	}
	(void)json_object_set_new(response, "status", json_string("failed"));
	(void)json_object_set_new(response, "error",
				  json_pack("{s:s,s:s}", "code", "server_error", "message",
					    "the server was stopped before the response was complete"));
}

/* Appends the items of a response. */
static bool extend(json_t *list, const json_t *stored)
{
	return !json_array_extend(list, json_object_get(stored, "input")) &&
	       !json_array_extend(list,
				  json_object_get(json_object_get(stored, "response"), "output"));
}

/* Reads a chain of responses, the newest first; returns their number, 0 after an error. */
static uint32_t load_chain(struct lmi_http_exchange *x, const char *id, json_t **chain,
			   struct lmd_error *err)
{
	size_t bytes = 0, n_bytes = 0;
	uint32_t n = 0;

	while (id) {
		const json_t *response;
		const char *status;

		if (n == CHAIN_MAX || bytes > CHAIN_BYTES) {
			(void)lmd_fail(err, LMD_INVALID,
				       "the conversation has more than %u responses, or %u bytes",
				       CHAIN_MAX, CHAIN_BYTES);
			goto fail;
		}
		chain[n] = load(x, id, &n_bytes, err);
		if (!chain[n]) {
			err->status = err->status == LMD_NOTFOUND ? LMD_INVALID : err->status;
			goto fail;
		}
		bytes += n_bytes;
		response = json_object_get(chain[n++], "response");
		status = status_of(response);
		if (strcmp(status, "completed") != 0 && strcmp(status, "incomplete") != 0) {
			(void)lmd_fail(err, LMD_INVALID, "the response %.63s has the status %.20s", id,
				       status);
			goto fail;
		}
		id = json_string_value(json_object_get(response, "previous_response_id"));
	}
	return n;
fail:
	while (n)
		json_decref(chain[--n]);
	return 0;
}

json_t *lmi_openai_load_history(struct lmi_http_exchange *x, const char *previous,
				struct lmd_error *err)
{
	json_t *chain[CHAIN_MAX], *list = NULL;
	uint32_t n = load_chain(x, previous, chain, err);
	bool good;

	if (!n)
		return NULL;
	list = json_array();
	good = list != NULL;
	while (n) {
		good = good && extend(list, chain[n - 1]);
		json_decref(chain[--n]);
	}
	if (good)
		return list;
	json_decref(list);
	(void)lmd_fail(err, LMD_NOMEM, "no memory for the previous responses");
	return NULL;
}

/* ---- the endpoints ---- */

/* Loads the response that the path names; returns NULL after a response. */
static json_t *load_named(struct lmi_http_exchange *x, const char **id)
{
	struct lmd_error err = {0};
	size_t n;
	json_t *v;

	*id = lmi_http_path_member(x, "response_id");
	v = load(x, *id, &n, &err);
	if (!v) {
		lmi_http_reply_status(x, &err, 0);
		return NULL;
	}
	update_status(x, *id, json_object_get(v, "response"));
	return v;
}

/* GET /v1/responses/{response_id}. */
void lmi_openai_response_get(struct lmi_http_exchange *x)
{
	const char *id, *stream = lmi_http_query(x, "stream");
	json_t *v;

	if (stream && !strcmp(stream, "true")) {
		lmi_http_reply_invalid(x, "stream", "a stored response cannot be streamed");
		return;
	}
	v = load_named(x, &id);
	if (v)
		reply_value(x, json_object_get(v, "response"));
	json_decref(v);
}

/* DELETE /v1/responses/{response_id}. */
void lmi_openai_response_delete(struct lmi_http_exchange *x)
{
	const char *id;
	json_t *v = load_named(x, &id);
	struct lmd_error err = {0};
	struct lmi_json_text j = {0};

	if (!v)
		return;
	json_decref(v);
	lmi_http_background_stop(lmi_http_server_of(x), lmi_http_principal(x), short_id(id));
	if (lmi_http_objects_remove(lmi_http_objects_of(x), lmi_http_principal(x), id, &err) !=
	    LMD_OK) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "id", id);
	lmi_http_json_put_text(&j, "object", "response");
	lmi_http_json_put_bool(&j, "deleted", true);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

/* POST /v1/responses/{response_id}/cancel. */
void lmi_openai_response_cancel(struct lmi_http_exchange *x)
{
	const char *id;
	json_t *v = load_named(x, &id), *response = json_object_get(v, "response");
	struct lmd_error err = {0};

	if (!v)
		return;
	if (!json_is_true(json_object_get(response, "background"))) {
		lmi_http_reply_invalid(x, NULL, "the response was not requested in the background");
	} else if (strcmp(status_of(response), "in_progress") != 0) {
		reply_value(x, response);
	} else {
		lmi_http_background_stop(lmi_http_server_of(x), lmi_http_principal(x), short_id(id));
		(void)json_object_set_new(response, "status", json_string("cancelled"));
		if (put(lmi_http_objects_of(x), lmi_http_principal(x), response,
			json_object_get(v, "input"), &err) == LMD_OK)
			reply_value(x, response);
		else
			lmi_http_reply_status(x, &err, 0);
	}
	json_decref(v);
}

/* Returns the index of an item, or n. */
static size_t index_of(const json_t *items, const char *id)
{
	size_t n = json_array_size(items), i = 0;

	while (i < n) {
		const char *other = json_string_value(json_object_get(json_array_get(items, i), "id"));

		if (other && !strcmp(other, id))
			return i;
		i++;
	}
	return n;
}

/* Puts up to `limit` items, in the order that the client wants, into a list that is returned. */
static json_t *page(const json_t *items, bool ascending, const char *after, size_t limit, bool *more)
{
	size_t n = json_array_size(items), at = after ? index_of(items, after) : n, i = 0;
	json_t *out = json_array();

	if (after && at < n)
		i = (ascending ? at : n - 1 - at) + 1;
	for (; i < n && json_array_size(out) < limit; i++)
		(void)json_array_append(out, json_array_get(items, ascending ? i : n - 1 - i));
	*more = i < n;
	return out;
}

/* GET /v1/responses/{response_id}/input_items. */
void lmi_openai_response_items(struct lmi_http_exchange *x)
{
	const char *id, *order = lmi_http_query(x, "order"), *limit = lmi_http_query(x, "limit");
	long max = limit ? strtol(limit, NULL, 10) : 20;
	struct lmi_json_text j = {.max_bytes = CHAIN_BYTES};
	json_t *v, *data;
	size_t n;
	bool more;

	if (max < 1 || max > LIST_MAX) {
		lmi_http_reply_invalid(x, "limit", "%ld is not in the range 1 to %d", max, LIST_MAX);
		return;
	}
	v = load_named(x, &id);
	if (!v)
		return;
	data = page(json_object_get(v, "input"), order && !strcmp(order, "asc"),
		    lmi_http_query(x, "after"), (size_t)max, &more);
	n = json_array_size(data);
	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "object", "list");
	lmi_json_text_key(&j, "data");
	lmi_openai_put_json(&j, data);
	lmi_json_text_key(&j, "first_id");
	lmi_openai_put_json(&j, json_object_get(json_array_get(data, 0), "id"));
	lmi_json_text_key(&j, "last_id");
	lmi_openai_put_json(&j, json_object_get(json_array_get(data, n ? n - 1 : 0), "id"));
	lmi_http_json_put_bool(&j, "has_more", more);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
	json_decref(data);
	json_decref(v);
}
