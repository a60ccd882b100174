/* SPDX-License-Identifier: MIT
 *
 * POST and GET of /v1/batches: requests in the lines of a file, whose answers become another file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "daemon/http/json_body.h"
#include "daemon/http/openai/batch_run.h"
#include "daemon/http/openai/files.h"
#include "daemon/http/openai/openai_impl.h"

/* Bounds and default of completion_window, in hours. */
#define WINDOW_MIN_H	 1u
#define WINDOW_MAX_H	 (7u * 24)
#define WINDOW_DEFAULT	 "24h"

/* ---- POST /v1/batches ---- */

/* Reads a number of hours or days, such as "24h" or "7d"; returns it in hours, or 0 if it is none that is
 * allowed. */
static uint32_t hours_of(const char *window)
{
	size_t n = strspn(window, "0123456789");
	unsigned long v;

	if (!n || n > 3 || (strcmp(window + n, "h") != 0 && strcmp(window + n, "d") != 0))
		return 0;
	v = strtoul(window, NULL, 10) * (window[n] == 'd' ? 24 : 1);
	return v >= WINDOW_MIN_H && v <= WINDOW_MAX_H ? (uint32_t)v : 0;
}

/* Reads the window; writes its length in hours. */
static const char *read_window(struct lmi_http_reader *r, const json_t *v, uint32_t *hours)
{
	static const struct lmi_http_at at = {.name = "completion_window"};
	const char *window = v ? lmi_http_read_line(r, &at, v, 1, 16).ptr : WINDOW_DEFAULT;

	*hours = r->status == LMD_OK ? hours_of(window) : 0;
	if (r->status == LMD_OK && !*hours)
		lmi_http_fail(r, &at,
			      "'%s' is not supported: it must be a number of hours or days from %uh to %ud, "
			      "such as 24h",
			      window, WINDOW_MIN_H, WINDOW_MAX_H / 24);
	return window;
}

/* Reads the request; returns the batch, which the caller owns, or NULL after a response. */
static json_t *read_body(struct lmi_http_exchange *x, const char **input, size_t *endpoint)
{
	static const struct lmi_http_at at_input = {.name = "input_file_id"},
					at_endpoint = {.name = "endpoint"},
					at_metadata = {.name = "metadata"};
	const char *words[LMI_OPENAI_BATCH_N_ENDPOINT + 1] = {0};
	const json_t *body = lmi_http_body_object(x), *metadata;
	const char *window;
	uint32_t hours;
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	char chars[LMI_HTTP_ID_CHARS + 1], id[LMI_OPENAI_ID_BYTES];

	if (!body)
		return NULL;
	memcpy(words, lmi_openai_batch_endpoints, sizeof(lmi_openai_batch_endpoints));
	metadata = lmi_http_get(body, "metadata");
	*input = lmi_http_read_line(&r, &at_input, lmi_http_get(body, "input_file_id"), 1,
				    LMI_HTTP_OBJECT_ID_MAX)
			 .ptr;
	*endpoint = lmi_http_read_word(&r, &at_endpoint, lmi_http_get(body, "endpoint"), words);
	window = read_window(&r, lmi_http_get(body, "completion_window"), &hours);
	if (metadata)
		(void)lmi_http_is_object(&r, &at_metadata, metadata);
	if (r.status != LMD_OK) {
		lmi_http_reply_invalid(x, r.param, "%s", err.text);
		return NULL;
	}
	if (!lmi_http_make_id(chars)) {
		(void)lmd_fail(&err, LMD_INTERNAL, "no random numbers");
		lmi_http_reply_status(x, &err, 0);
		return NULL;
	}
	(void)snprintf(id, sizeof(id), LMI_OPENAI_BATCH_PREFIX "%s", chars);
	return json_pack("{s:s,s:s,s:s,s:n,s:s,s:s,s:s,s:n,s:n,s:I,s:I,s:I,s:O?}", "id", id, "object",
			 "batch", "endpoint", words[*endpoint], "errors", "input_file_id", *input,
			 "completion_window", window, "status",
			 "in_progress", "output_file_id", "error_file_id", "created_at",
			 (json_int_t)lmi_http_created(x), "in_progress_at",
			 (json_int_t)lmi_http_created(x), "expires_at",
			 (json_int_t)lmi_http_created(x) + (json_int_t)hours * 3600, "metadata", metadata);
}

/* Returns the number of lines, at most one more than are allowed. */
static uint32_t count_lines(const char *text, size_t n)
{
	uint32_t lines = 0;

	for (const char *p = text, *end = text + n; p && p < end && lines <= LMI_OPENAI_BATCH_LINES;
	     lines++) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	return lines;
}

void lmi_openai_batch_create(struct lmi_http_exchange *x)
{
	struct lmi_http_objects *objects = lmi_openai_objects(x, "batches");
	struct lmi_openai_batch_opts o = {.objects = objects,
					  .h = lmi_http_server_of(x),
					  .principal = lmi_http_principal(x)};
	struct lmd_error err = {0};
	enum lmd_status st;
	const char *input;
	size_t endpoint;

	if (!objects)
		return;
	o.object = read_body(x, &input, &endpoint);
	if (!o.object)
		return;
	o.endpoint = (enum lmi_openai_batch_endpoint)endpoint;
	st = lmi_openai_file_get(objects, o.principal, input, &o.own_input, &o.n_input, &err);
	if (st == LMD_OK && count_lines(o.own_input, o.n_input) > LMI_OPENAI_BATCH_LINES) {
		lmi_free(o.own_input);
		st = lmd_fail(&err, LMD_INVALID, "the file has more than %u lines",
			      LMI_OPENAI_BATCH_LINES);
	}
	if (st == LMD_OK)
		st = lmi_openai_batch_start(&o, &err);
	if (st == LMD_OK)
		lmi_openai_reply_json(x, o.object);
	else
		lmi_http_reply_status(x, &err, 0);
	json_decref(o.object);
}

/* ---- GET, and cancel ---- */

static struct lmi_openai_batch *find(struct lmi_http_exchange *x, const json_t *v)
{
	const char *id = json_string_value(json_object_get(v, "id"));

	return id ? lmi_openai_batch_find(lmi_http_server_of(x), lmi_http_principal(x), id) : NULL;
}

/* Brings a stored batch up to date. */
static void update(struct lmi_http_exchange *x, json_t *v)
{
	struct lmi_openai_batch *b = find(x, v);

	if (b && lmi_openai_batch_object(b) != v)
		(void)json_object_update(v, lmi_openai_batch_object(b));
}

void lmi_openai_batch_list(struct lmi_http_exchange *x)
{
	lmi_openai_reply_list(x, LMI_OPENAI_BATCH_PREFIX, update);
}

/* Loads the batch that the path names; returns NULL after a response. */
static json_t *load_named(struct lmi_http_exchange *x, const char **id)
{
	struct lmi_http_objects *objects = lmi_openai_objects(x, "batches");
	struct lmd_error err = {0};
	json_t *v = NULL;

	*id = lmi_http_path_member(x, "batch_id");
	if (!objects)
		return NULL;
	if (!strncmp(*id, LMI_OPENAI_BATCH_PREFIX, strlen(LMI_OPENAI_BATCH_PREFIX)))
		v = lmi_openai_object_load(objects, lmi_http_principal(x), *id, &err);
	else
		(void)lmd_fail(&err, LMD_NOTFOUND, "the batch %.63s does not exist", *id);
	if (v && lmi_openai_batch_go_on(lmi_http_server_of(x), objects, lmi_http_principal(x), v, &err) ==
			 LMD_OK) {
		update(x, v);
		return v;
	}
	json_decref(v);
	lmi_http_reply_status(x, &err, 0);
	return NULL;
}

void lmi_openai_batch_info(struct lmi_http_exchange *x)
{
	const char *id;
	json_t *v = load_named(x, &id);

	if (v)
		lmi_openai_reply_json(x, v);
	json_decref(v);
}

void lmi_openai_batch_cancel(struct lmi_http_exchange *x)
{
	struct lmi_openai_batch *b;
	const char *id;
	json_t *v = load_named(x, &id);

	if (!v)
		return;
	b = lmi_openai_batch_find(lmi_http_server_of(x), lmi_http_principal(x), id);
	if (b) {
		lmi_openai_batch_stop(b);
		update(x, v);
	}
	lmi_openai_reply_json(x, v);
	json_decref(v);
}
