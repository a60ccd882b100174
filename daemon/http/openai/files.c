/* SPDX-License-Identifier: MIT
 *
 * POST, GET and DELETE of /v1/files: the input of batches, and what they write. */
#include "daemon/http/openai/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "daemon/http/json_body.h"
#include "daemon/http/json_out.h"
#include "daemon/http/multipart.h"
#include "daemon/http/openai/openai_impl.h"
#include "daemon/http/openai/responses.h"

#define LIST_MAX      100
#define NAME_BYTES  255
#define REPLY_BYTES   (16u << 20)

struct lmi_http_objects *lmi_openai_objects(struct lmi_http_exchange *x, const char *what)
{
	struct lmi_http_objects *o = lmi_http_objects_of(x);
	struct lmd_error err;

	if (o)
		return o;
	(void)lmd_fail(&err, LMD_UNSUPPORTED,
		       "%s are not stored here: set http_store in [limits] of the configuration", what);
	lmi_http_reply_status(x, &err, 0);
	return NULL;
}

void lmi_openai_reply_json(struct lmi_http_exchange *x, const json_t *v)
{
	struct lmi_json_text j = {.max_bytes = REPLY_BYTES};

	lmi_openai_put_json(&j, v);
	lmi_http_reply(x, 200, &j);
}

static bool is_file(const char *id)
{
	return !strncmp(id, LMI_OPENAI_FILE_PREFIX, strlen(LMI_OPENAI_FILE_PREFIX));
}

void lmi_openai_data_id(char out[LMI_OPENAI_ID_BYTES], const char *file)
{
	(void)snprintf(out, LMI_OPENAI_ID_BYTES, "data-%.*s", LMI_HTTP_ID_CHARS,
		       file + strlen(LMI_OPENAI_FILE_PREFIX));
}

/* ---- storing ---- */

enum lmd_status lmi_openai_file_describe(struct lmi_http_objects *objects,
					 const struct lmi_svc_principal *owner, const char *id,
					 const struct lmd_str *filename, const char *purpose,
					 int64_t created, uint64_t n, struct lmd_error *err)
{
	json_t *v = json_pack("{s:s,s:s,s:I,s:I,s:s%,s:s,s:s}", "id", id, "object", "file", "bytes",
			      (json_int_t)n, "created_at", (json_int_t)created, "filename",
			      filename->ptr, filename->len, "purpose", purpose, "status", "processed");
	char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;
	enum lmd_status st;

	st = text ? lmi_http_objects_put(objects, owner, id, text, strlen(text), err)
		  : lmd_fail(err, LMD_NOMEM, "no memory for a file");
	free(text);
	json_decref(v);
	return st;
}

enum lmd_status lmi_openai_file_put(struct lmi_http_objects *objects,
				    const struct lmi_svc_principal *owner, const char *filename,
				    size_t n_filename, const char *purpose, int64_t created,
				    const void *bytes, size_t n, char id[LMI_OPENAI_ID_BYTES],
				    struct lmd_error *err)
{
	const struct lmd_str name = {.ptr = filename, .len = n_filename};
	char chars[LMI_HTTP_ID_CHARS + 1], data[LMI_OPENAI_ID_BYTES];
	enum lmd_status st;

	if (!lmi_http_make_id(chars))
		return lmd_fail(err, LMD_INTERNAL, "no random numbers");
	(void)snprintf(id, LMI_OPENAI_ID_BYTES, LMI_OPENAI_FILE_PREFIX "%s", chars);
	lmi_openai_data_id(data, id);
	st = lmi_http_objects_put(objects, owner, data, bytes, n, err);
	if (st != LMD_OK)
		return st;
	st = lmi_openai_file_describe(objects, owner, id, &name, purpose, created, n, err);
	if (st != LMD_OK)
		(void)lmi_http_objects_remove(objects, owner, data, NULL);
	return st;
}

enum lmd_status lmi_openai_file_get(struct lmi_http_objects *objects,
				    const struct lmi_svc_principal *owner, const char *id, char **text,
				    size_t *n, struct lmd_error *err)
{
	char data[LMI_OPENAI_ID_BYTES];

	if (!is_file(id))
		return lmd_fail(err, LMD_NOTFOUND, "the file %.63s does not exist", id);
	lmi_openai_data_id(data, id);
	return lmi_http_objects_get(objects, owner, data, text, n, err);
}

json_t *lmi_openai_object_load(struct lmi_http_objects *objects,
			       const struct lmi_svc_principal *owner, const char *id,
			       struct lmd_error *err)
{
	char *text;
	json_t *v;
	size_t n;

	if (lmi_http_objects_get(objects, owner, id, &text, &n, err) != LMD_OK)
		return NULL;
	v = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
	lmi_free(text);
	if (!json_is_object(v)) {
		(void)lmd_fail(err, LMD_CORRUPT, "the stored object %.63s is damaged", id);
		json_decref(v);
		return NULL;
	}
	return v;
}

/* ---- POST /v1/files ---- */

static bool purpose_is_valid(const struct lmi_http_part *p)
{
	static const char *const words[] = {"batch", "user_data", "assistants", "fine-tune", "evals"};

	for (size_t i = 0; i < LMD_LEN(words); i++)
		if (p->content.len == strlen(words[i]) &&
		    !memcmp(p->content.ptr, words[i], p->content.len))
			return true;
	return false;
}

void lmi_openai_file_upload(struct lmi_http_exchange *x)
{
	struct lmi_http_objects *objects = lmi_openai_objects(x, "files");
	struct lmi_http_part parts[LMI_HTTP_PARTS_MAX];
	const struct lmi_http_part *file, *purpose;
	char id[LMI_OPENAI_ID_BYTES];
	struct lmd_error err = {0};
	uint32_t n;
	json_t *v;

	if (!objects)
		return;
	if (lmi_http_multipart(parts, &n, lmi_http_header(x, "content-type"), lmi_http_body(x),
			       &err) != LMD_OK) {
		lmi_http_reply_invalid(x, NULL, "%s", err.text);
		return;
	}
	file = lmi_http_part_find(parts, n, "file");
	purpose = lmi_http_part_find(parts, n, "purpose");
	if (!file || !file->filename.len || file->filename.len > NAME_BYTES) {
		lmi_http_reply_invalid(x, "file", "is missing, or has no name of 1 to %d bytes",
				       NAME_BYTES);
		return;
	}
	if (!purpose || !purpose_is_valid(purpose)) {
		lmi_http_reply_invalid(x, "purpose",
				       "must be batch, user_data, assistants, fine-tune or evals");
		return;
	}
	if (lmi_openai_file_put(objects, lmi_http_principal(x), file->filename.ptr, file->filename.len,
				lmi_arena_strndup(lmi_http_arena(x), purpose->content.ptr,
						  purpose->content.len),
				lmi_http_created(x), file->content.ptr, file->content.len, id,
				&err) != LMD_OK) {
		lmi_http_reply_status(x, &err, err.status == LMD_BUSY ? 1000 : 0);
		return;
	}
	v = lmi_openai_object_load(objects, lmi_http_principal(x), id, &err);
	if (v)
		lmi_openai_reply_json(x, v);
	else
		lmi_http_reply_status(x, &err, 0);
	json_decref(v);
}

/* ---- GET and DELETE ---- */

struct listing {
	char ids[LIST_MAX][LMI_HTTP_OBJECT_ID_MAX + 1];
	uint32_t n, max;
	const char *after; /* NULL, or not found yet */
	bool more;
};

static bool add(void *arg, const char *id)
{
	struct listing *l = arg;

	if (l->after) {
		l->after = strcmp(id, l->after) ? l->after : NULL;
		return true;
	}
	l->more = l->n == l->max;
	if (l->more)
		return false;
	(void)snprintf(l->ids[l->n++], sizeof(l->ids[0]), "%s", id);
	return true;
}

void lmi_openai_reply_list(struct lmi_http_exchange *x, const char *prefix,
			   void (*update)(struct lmi_http_exchange *x, json_t *object))
{
	struct lmi_http_objects *objects = lmi_openai_objects(x, "objects");
	const char *limit = lmi_http_query(x, "limit"), *purpose = lmi_http_query(x, "purpose");
	long max = limit ? strtol(limit, NULL, 10) : 20;
	struct listing l = {.max = (uint32_t)max, .after = lmi_http_query(x, "after")};
	json_t *data = json_array(), *list, *v;
	struct lmd_error err;

	if (objects && (max < 1 || max > LIST_MAX)) {
		lmi_http_reply_invalid(x, "limit", "%ld is not in the range 1 to %d", max, LIST_MAX);
		objects = NULL;
	}
	if (!objects) {
		json_decref(data);
		return;
	}
	lmi_http_objects_list(objects, lmi_http_principal(x), prefix, add, &l);
	for (uint32_t i = 0; i < l.n; i++) {
		const char *own;

		v = lmi_openai_object_load(objects, lmi_http_principal(x), l.ids[i], &err);
		own = json_string_value(json_object_get(v, "purpose"));
		if (v && update)
			update(x, v);
		if (v && (!purpose || (own && !strcmp(own, purpose))))
			(void)json_array_append(data, v);
		json_decref(v);
	}
	list = json_pack("{s:s,s:O,s:s?,s:s?,s:b}", "object", "list", "data", data, "first_id",
			 l.n ? l.ids[0] : NULL, "last_id", l.n ? l.ids[l.n - 1] : NULL, "has_more",
			 (int)l.more);
	lmi_openai_reply_json(x, list);
	json_decref(list);
	json_decref(data);
}

void lmi_openai_file_list(struct lmi_http_exchange *x)
{
	lmi_openai_reply_list(x, LMI_OPENAI_FILE_PREFIX, NULL);
}

/* Loads the file that the path names; returns NULL after a response. */
static json_t *load_named(struct lmi_http_exchange *x, const char **id)
{
	struct lmi_http_objects *objects = lmi_openai_objects(x, "files");
	struct lmd_error err = {0};
	json_t *v = NULL;

	*id = lmi_http_path_member(x, "file_id");
	if (!objects)
		return NULL;
	if (is_file(*id))
		v = lmi_openai_object_load(objects, lmi_http_principal(x), *id, &err);
	else
		(void)lmd_fail(&err, LMD_NOTFOUND, "the file %.63s does not exist", *id);
	if (!v)
		lmi_http_reply_status(x, &err, 0);
	return v;
}

void lmi_openai_file_info(struct lmi_http_exchange *x)
{
	const char *id;
	json_t *v = load_named(x, &id);

	if (v)
		lmi_openai_reply_json(x, v);
	json_decref(v);
}

void lmi_openai_file_content(struct lmi_http_exchange *x)
{
	const char *id;
	json_t *v = load_named(x, &id);
	struct lmd_error err = {0};
	char *text;
	size_t n;

	if (!v)
		return;
	json_decref(v);
	if (lmi_openai_file_get(lmi_http_objects_of(x), lmi_http_principal(x), id, &text, &n, &err) !=
	    LMD_OK) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_http_reply_text(x, 200, "application/octet-stream", text, n);
	lmi_free(text);
}

void lmi_openai_file_delete(struct lmi_http_exchange *x)
{
	const char *id;
	json_t *v = load_named(x, &id);
	struct lmi_http_objects *objects = lmi_http_objects_of(x);
	char data[LMI_OPENAI_ID_BYTES];
	struct lmi_json_text j = {0};
	struct lmd_error err = {0};

	if (!v)
		return;
	json_decref(v);
	lmi_openai_data_id(data, id);
	if (lmi_http_objects_remove(objects, lmi_http_principal(x), data, &err) == LMD_IO ||
	    lmi_http_objects_remove(objects, lmi_http_principal(x), id, &err) != LMD_OK) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_json_text_object(&j);
	lmi_http_json_put_text(&j, "id", id);
	lmi_http_json_put_text(&j, "object", "file");
	lmi_http_json_put_bool(&j, "deleted", true);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}
