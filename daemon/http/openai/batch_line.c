/* SPDX-License-Identifier: MIT
 *
 * Runs the request of one line of a batch.  A generation runs as one in the background; embeddings are a
 * request to the service. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/json_body.h"
#include "daemon/http/openai/batch_impl.h"
#include "daemon/http/openai/openai_impl.h"

/* Memory of one request. */
#define ARENA_BYTES (36u << 20)

/* ---- results ---- */

static void add_error(struct lmi_openai_batch_line *l, const struct lmi_http_error *e)
{
	struct lmi_json_text j = {0};
	struct lmd_error err = {0};

	lmi_openai_error(&j, e);
	if (lmi_json_text_finish(&j, &err) == LMD_OK)
		lmi_openai_batch_add(l, e->code, j.text, j.bytes);
	else
		lmi_openai_batch_fail(l->b, &err);
	lmi_json_text_fini(&j);
	lmi_openai_batch_line_done(l);
}

static void add_status(struct lmi_openai_batch_line *l, enum lmd_status st, const char *param,
		       const char *text)
{
	const struct lmi_http_error e = {
		.code = lmi_http_code_for(l->b->o.h, &l->b->principal, st),
		.cause = st,
		.text = text,
		.param = param};

	add_error(l, &e);
}

/* ---- generations ---- */

static void generated(void *arg, const struct lmi_http_answer_head *head, const char *json, size_t n,
		      const struct lmi_http_error *e)
{
	struct lmi_openai_batch_line *l = arg;

	(void)head;
	if (e && e->cause == LMD_BUSY && lmi_openai_batch_line_refused(l, e->retry_ms))
		return;
	if (e) {
		add_error(l, e);
		return;
	}
	lmi_openai_batch_add(l, 200, json, n);
	lmi_openai_batch_line_done(l);
}

static enum lmd_status generate(struct lmi_openai_batch_line *l, const json_t *body,
				const char **param, struct lmd_error *err)
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
						   .created = lmi_http_server_now(b->o.h),
						   .complete = true,
						   .done = generated,
						   .arg = l},
		err);
}

/* ---- embeddings ---- */

static void embedded(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct lmi_openai_batch_line *l = arg;
	const struct lmd_str *model = &l->embedding.req.u.embed.model;
	struct lmi_json_text j = {0};
	struct lmd_error cause = {0};
	char *name;

	/* cancelled: the server ends */
	if (!reply && (err->status == LMD_BUSY || err->status == LMD_CANCELLED) &&
	    lmi_openai_batch_line_refused(l, retry_ms))
		return;
	if (!reply) {
		add_status(l, err->status, NULL, err->text);
		return;
	}
	name = lmi_arena_strndup(l->arena, model->ptr, model->len);
	l->embedding.write(&l->embedding, name ? name : "", &reply->u.embed, &j);
	if (lmi_json_text_finish(&j, &cause) == LMD_OK)
		lmi_openai_batch_add(l, 200, j.text, j.bytes);
	else
		lmi_openai_batch_fail(l->b, &cause);
	lmi_json_text_fini(&j);
	lmi_openai_batch_line_done(l);
}

static enum lmd_status embed(struct lmi_openai_batch_line *l, const json_t *body, const char **param,
			     struct lmd_error *err)
{
	const char *otherwise = lmi_http_server_model(l->b->o.h);
	struct lmi_http_reader r = {.err = err};
	struct lmd_str *model = &l->embedding.req.u.embed.model;

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

/* ---- both ---- */

/* Checks a line and runs its request; returns an error of either. */
static enum lmd_status run(struct lmi_openai_batch_line *l, const char **param, struct lmd_error *err)
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

void lmi_openai_batch_line_run(struct lmi_openai_batch_line *l)
{
	struct lmd_error err = {0};
	const char *param = NULL;
	enum lmd_status st = run(l, &param, &err);

	if (st == LMD_OK || (st == LMD_BUSY && lmi_openai_batch_line_refused(l, 0)))
		return;
	add_status(l, st, param, err.text);
}
