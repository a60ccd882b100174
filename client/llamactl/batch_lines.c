/* SPDX-License-Identifier: MIT
 *
 * The requests of a batch. The file is read twice: once to find and check its lines before anything
 * is sent, of which only places and ids are kept, and then line by line as they are sent. */
#include "client/llamactl/batch_lines.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/printable.h"

#define CHUNK_BYTES (1u << 18)

/* A parsed line; borrowed from `whole`. */
struct parts {
	json_t *whole, *body;
	const char *custom_id, *url;
};

static enum lmd_status wrong(const struct lmi_ctl_batch_lines *l, uint32_t number,
			     struct lmd_error *err, const char *text)
{
	char path[160];

	return lmd_fail(err, LMD_INVALID, "%s, line %u: %s",
			lmi_printable_path(path, sizeof(path), l->path), number, text);
}

/* ---- one line ---- */

/* Takes a line apart; returns what is wrong with it, or NULL. */
static const char *take_apart(struct parts *p, const struct lmi_ctl_batch_lines *l)
{
	json_t *id, *url, *method;

	if (!json_is_object(p->whole))
		return "it is not a JSON object";
	p->body = json_object_get(p->whole, "body");
	if (!p->body) {
		p->body = p->whole;
		p->url = l->endpoint;
		return p->url ? NULL : "it has no body; --endpoint takes lines that are bodies";
	}
	id = json_object_get(p->whole, "custom_id");
	url = json_object_get(p->whole, "url");
	method = json_object_get(p->whole, "method");
	if (!json_is_object(p->body))
		return "body is not an object";
	if (id && (!json_is_string(id) || !json_string_length(id) ||
		   json_string_length(id) > LMI_CTL_BATCH_ID_BYTES ||
		   strlen(json_string_value(id)) != json_string_length(id)))
		return "custom_id is not a text of 1 to 512 bytes";
	if (method && (!json_is_string(method) || strcmp(json_string_value(method), "POST") != 0))
		return "method is not POST";
	if (url && (!json_is_string(url) || *json_string_value(url) != '/'))
		return "url is not a path that begins with /";
	p->custom_id = json_string_value(id);
	p->url = url ? json_string_value(url) : l->endpoint;
	return p->url ? NULL : "it has no url, and --endpoint is not given";
}

/* Parses a line whose bytes are in l->buf; release p->whole. */
static enum lmd_status parse(struct parts *p, const struct lmi_ctl_batch_lines *l,
			     const struct lmi_ctl_batch_line *at, struct lmd_error *err)
{
	json_error_t e;
	const char *text;

	*p = (struct parts){
		.whole = json_loadb(l->buf, at->bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e)};
	if (!p->whole) {
		char shown[JSON_ERROR_TEXT_LENGTH + 20];

		(void)snprintf(shown, sizeof(shown), "it is not JSON: %s", e.text);
		return wrong(l, at->number, err, shown);
	}
	text = take_apart(p, l);
	if (!text && json_is_true(json_object_get(p->body, "stream")))
		text = "a request of a batch is not streamed";
	if (!text)
		return LMD_OK;
	json_decref(p->whole);
	p->whole = NULL;
	return wrong(l, at->number, err, text);
}

static enum lmd_status load(struct lmi_ctl_batch_lines *l, const struct lmi_ctl_batch_line *at,
			    struct parts *p, struct lmd_error *err)
{
	enum lmd_status st = lmi_file_read(&l->file, at->at, l->buf, at->bytes, err);

	return st == LMD_OK ? parse(p, l, at, err) : st;
}

/* ---- all lines ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Adds a line unless it is empty; `blank` tells that all of it is blanks. */
static enum lmd_status add_line(struct lmi_ctl_batch_lines *l, uint64_t from, uint64_t to,
				uint32_t number, bool blank, struct lmd_error *err)
{
	if (blank)
		return LMD_OK;
	if (to - from > LMI_CTL_BATCH_LINE_BYTES)
		return wrong(l, number, err, "it is longer than 16 MiB");
	if (l->n == LMI_CTL_BATCH_LINES)
		return wrong(l, number, err, "it exceeds the limit of 1000000 requests");
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 1024;
		struct lmi_ctl_batch_line *more = lmi_realloc(l->line, cap, sizeof(*more));

		if (!more)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u lines", cap);
		l->line = more;
		l->cap = cap;
	}
	l->line[l->n++] = (struct lmi_ctl_batch_line){
		.at = from, .bytes = (uint32_t)(to - from), .number = number};
	return LMD_OK;
}

/* Finds where the lines are. */
static enum lmd_status find_lines(struct lmi_ctl_batch_lines *l, struct lmd_error *err)
{
	uint64_t at = 0, from = 0;
	uint32_t number = 1;
	bool blank = true;
	enum lmd_status st = LMD_OK;

	while (at < l->file.bytes && st == LMD_OK) {
		uint64_t left = l->file.bytes - at;
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;

		st = lmi_file_read(&l->file, at, l->buf, n, err);
		for (size_t i = 0; i < n && st == LMD_OK; i++) {
			if (l->buf[i] != '\n') {
				blank = blank && is_blank(l->buf[i]);
				continue;
			}
			st = add_line(l, from, at + i, number++, blank, err);
			from = at + i + 1;
			blank = true;
		}
		at += n;
	}
	return st == LMD_OK ? add_line(l, from, l->file.bytes, number, blank, err) : st;
}

static enum lmd_status check_line(struct lmi_ctl_batch_lines *l, uint32_t i, struct lmd_error *err)
{
	struct lmi_ctl_batch_line *at = &l->line[i];
	struct parts p;
	enum lmd_status st = load(l, at, &p, err);

	if (st != LMD_OK)
		return st;
	at->custom_id = p.custom_id ? lmi_arena_strndup(l->ids, p.custom_id, strlen(p.custom_id))
				    : lmi_arena_printf(l->ids, "line-%u", at->number);
	json_decref(p.whole);
	if (!at->custom_id)
		return lmd_fail(err, LMD_NOMEM, "no memory for the ids of a batch");
	if (!lmi_strmap_add(&l->by_id, at->custom_id, i))
		return wrong(l, at->number, err, "an earlier line has its custom_id");
	return LMD_OK;
}

enum lmd_status lmi_ctl_batch_lines_open(struct lmi_ctl_batch_lines *l, struct lmd_error *err)
{
	enum lmd_status st;

	l->file.fd = -1;
	l->buf = lmi_alloc(LMI_CTL_BATCH_LINE_BYTES, 1);
	l->ids = lmi_arena_create(0);
	if (!l->buf || !l->ids)
		return lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	st = lmi_file_open(&l->file, l->path, err);
	if (st == LMD_OK)
		st = find_lines(l, err);
	if (st == LMD_OK && !l->n)
		st = lmd_fail(err, LMD_INVALID, "%s has no requests", l->path);
	if (st == LMD_OK && !lmi_strmap_init(&l->by_id, l->ids, l->n))
		st = lmd_fail(err, LMD_NOMEM, "no memory for the ids of %u lines", l->n);
	for (uint32_t i = 0; i < l->n && st == LMD_OK; i++)
		st = check_line(l, i, err);
	return st;
}

void lmi_ctl_batch_lines_fini(struct lmi_ctl_batch_lines *l)
{
	if (l->file.fd >= 0)
		lmi_file_close(&l->file);
	lmi_free(l->line);
	lmi_free(l->buf);
	lmi_arena_destroy(l->ids);
}

struct lmi_ctl_batch_line *lmi_ctl_batch_lines_find(struct lmi_ctl_batch_lines *l,
						    const char *custom_id)
{
	uint32_t i;

	return lmi_strmap_find(&l->by_id, custom_id, &i) ? &l->line[i] : NULL;
}

enum lmd_status lmi_ctl_batch_lines_read(struct lmi_ctl_batch_lines *l, uint32_t i,
					 struct lmi_ctl_batch_request *out, struct lmd_error *err)
{
	struct parts p;
	enum lmd_status st = load(l, &l->line[i], &p, err);

	if (st != LMD_OK)
		return st;
	if (l->model && !json_object_get(p.body, "model"))
		(void)json_object_set_new(p.body, "model", json_string(l->model));
	out->path = lmi_strndup(p.url, strlen(p.url));
	out->body = json_dumps(p.body, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(p.whole);
	if (out->path && out->body)
		return LMD_OK;
	lmi_ctl_batch_request_fini(out);
	return lmd_fail(err, LMD_NOMEM, "no memory for a request");
}

void lmi_ctl_batch_request_fini(struct lmi_ctl_batch_request *q)
{
	lmi_free(q->path);
	free(q->body);
	*q = (struct lmi_ctl_batch_request){0};
}
