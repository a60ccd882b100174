/* SPDX-License-Identifier: MIT
 *
 * POST /api/pull: op pull, whose progress becomes lines of JSON.  A name is looked up in the
 * catalogue and, if it is not there, in Ollama's registry; the model keeps the name of the request,
 * by which the client will ask for it. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "daemon/http/ollama/ollama_impl.h"

struct pull {
	struct lmi_http_exchange *x;
	struct lmd_str name, source;
	bool stream, begun, again; /* again: the source is Ollama's registry */
};

static void start(struct pull *p);

/* ---- lines ---- */

static void write_line(struct pull *p, struct lmi_json_text *j)
{
	struct lmd_error err;

	if (!p->begun)
		lmi_http_stream_begin(p->x, "application/x-ndjson");
	p->begun = true;
	if (lmi_json_text_finish(j, &err) == LMD_OK) {
		(void)lmi_http_stream_write(p->x, j->text, strlen(j->text));
		(void)lmi_http_stream_write(p->x, "\n", 1);
	}
	lmi_json_text_fini(j);
}

static void write_status(struct pull *p, const char *status, int64_t done, int64_t total)
{
	struct lmi_json_text j = {0};

	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "status", status);
	if (total) {
		lmi_http_json_put_int(&j, "total", total);
		lmi_http_json_put_int(&j, "completed", done);
	}
	lmi_json_text_end(&j);
	write_line(p, &j);
}

static void fail(struct pull *p, const struct lmd_error *err, uint32_t retry_ms)
{
	const struct lmi_http_error e = {.text = err->text};
	struct lmi_json_text j = {0};

	if (!p->begun) {
		lmi_http_reply_status(p->x, err, retry_ms);
		return;
	}
	lmi_ollama_error(&j, &e);
	write_line(p, &j);
	lmi_http_stream_end(p->x);
}

static void succeed(struct pull *p)
{
	struct lmi_json_text j = {0};

	if (p->stream) {
		write_status(p, "success", 0, 0);
		lmi_http_stream_end(p->x);
		return;
	}
	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "status", "success");
	lmi_json_text_end(&j);
	lmi_http_reply(p->x, 200, &j);
}

/* ---- the job ---- */

static void write_progress(struct pull *p, enum lmi_wire_phase phase, int64_t done, int64_t total)
{
	if (!p->stream)
		return;
	if (phase == LMI_WIRE_PHASE_DOWNLOAD)
		write_status(p, "pulling model", done, total);
	else if (phase == LMI_WIRE_PHASE_HASH)
		write_status(p, "verifying sha256 digest", 0, 0);
	else
		write_status(p, "pulling manifest", 0, 0);
}

/* Handles a final item; returns whether it was one. */
static bool end(struct pull *p, const struct lmi_wire_item *it)
{
	struct lmd_error err = {0};

	if (it->kind == LMI_WIRE_ITEM_DONE) {
		succeed(p);
		return true;
	}
	if (it->kind == LMI_WIRE_ITEM_CANCELLED) {
		(void)lmd_fail(&err, LMD_CANCELLED, "the download was cancelled");
		fail(p, &err, 0);
		return true;
	}
	if (it->kind != LMI_WIRE_ITEM_ERROR)
		return false;
	(void)lmd_fail(&err, (enum lmd_status)it->u.error.code, "%.*s", (int)it->u.error.text.len,
		       it->u.error.text.ptr);
	if (err.status == LMD_NOTFOUND && !p->again)
		start(p); /* a name that is not in the catalogue */
	else
		fail(p, &err, 0);
	return true;
}

static void next(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		 uint32_t retry_ms)
{
	struct pull *p = arg;
	struct lmi_wire_request req;
	int64_t after = 0;

	if (!reply) {
		fail(p, err, retry_ms);
		return;
	}
	lmi_wire_request_init(&req, LMI_WIRE_OP_NEXT);
	if (reply->op == LMI_WIRE_OP_NEXT) {
		for (uint32_t i = 0; i < reply->u.next.n_items; i++) {
			const struct lmi_wire_item *it = &reply->u.next.items[i];

			if (end(p, it))
				return;
			if (it->kind == LMI_WIRE_ITEM_PROGRESS)
				write_progress(p, it->u.progress.phase, it->u.progress.done,
					       it->u.progress.total);
		}
		after = reply->u.next.last;
		req.u.next.id = reply->u.next.id;
	} else {
		req.u.next.id = reply->u.pull.id;
	}
	req.u.next.after = after;
	lmi_http_call(p->x, &req, next, p);
}

/* Tries the catalogue, or the source that was given, and then the registry. */
static void start(struct pull *p)
{
	struct lmi_wire_request req;

	lmi_wire_request_init(&req, LMI_WIRE_OP_PULL);
	req.u.pull.source = p->name;
	if (p->source.ptr) {
		req.u.pull.source = p->source;
		p->again = true;
	} else {
		const char *s = lmi_arena_printf(lmi_http_arena(p->x), "ollama:%.*s",
						 (int)p->name.len, p->name.ptr);

		p->source = lmi_http_str(s ? s : "");
	}
	req.u.pull.has_name = true;
	req.u.pull.name = p->name;
	if (p->name.len > 7 && !memcmp(p->name.ptr + p->name.len - 7, ":latest", 7))
		req.u.pull.name.len -= 7;
	lmi_http_call(p->x, &req, next, p);
}

void lmi_ollama_pull(struct lmi_http_exchange *x)
{
	static const struct lmi_http_at at_model = {.name = "model"}, at_stream = {.name = "stream"};
	const json_t *body = lmi_http_body_object(x), *v;
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct pull *p;

	if (!body)
		return;
	p = lmi_http_alloc(&r, 1, sizeof(*p));
	v = lmi_http_get(body, "model") ? lmi_http_get(body, "model") : lmi_http_get(body, "name");
	if (p)
		*p = (struct pull){.x = x, .stream = true};
	if (p)
		p->name = lmi_http_read_line(&r, &at_model, v, 1, LMI_WIRE_LIMIT_NAME_BYTES);
	v = lmi_http_get(body, "stream");
	if (p && v)
		p->stream = lmi_http_read_bool(&r, &at_stream, v);
	if (r.status != LMD_OK)
		lmi_http_reply_invalid(x, r.param, "%s", err.text);
	else
		start(p);
}
