/* SPDX-License-Identifier: MIT
 *
 * The results of a batch. A line is written by one call of write(2), so that the file ends with a
 * whole line unless the machine or the disk fails; what is left of an incomplete one is removed when
 * the batch goes on. Results that are to be replaced are removed by a new file that takes the place
 * of the old one, which is complete at every moment. */
#include "client/llamactl/batch_output.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/printable.h"
#include "proto/buf.h"

#define ID_HEX 24

static enum lmd_status fail_errno(const struct lmi_ctl_batch_output *o, struct lmd_error *err)
{
	char path[160];
	int e = errno;

	return lmd_fail(err, e == EWOULDBLOCK ? LMD_BUSY : LMD_IO, "%s: %s",
			lmi_printable_path(path, sizeof(path), o->path),
			e == EWOULDBLOCK ? "another process is writing it" : strerror(e));
}

/* ---- what the file has ---- */

/* A result in the file; [n] bytes with the newline. */
struct old_line {
	const char *text;
	size_t n;
	struct lmi_ctl_batch_line *line; /* NULL: of another batch */
	bool failed;
};

static bool is_success(long code)
{
	return code >= 200 && code < 300;
}

/* Reads a line of the file; returns false if it is no result. */
static bool read_old(struct old_line *old, struct lmi_ctl_batch_lines *lines)
{
	json_t *v = json_loadb(old->text, old->n, JSON_ALLOW_NUL, NULL);
	const char *id = json_string_value(json_object_get(v, "custom_id"));
	json_t *response = json_object_get(v, "response"), *error = json_object_get(v, "error");
	bool good = json_is_object(v) && response && error;

	old->line = id ? lmi_ctl_batch_lines_find(lines, id) : NULL;
	old->failed = json_is_object(error) ||
		      !is_success((long)json_integer_value(json_object_get(response, "status_code")));
	json_decref(v);
	return good;
}

/* Calls fn for every line of the file; *end: where the last complete line ends. */
static enum lmd_status for_each(const struct lmi_ctl_batch_output *o, const struct lmi_map *m,
				struct lmi_ctl_batch_lines *lines, uint64_t *end,
				enum lmd_status (*fn)(void *arg, const struct old_line *old,
						      struct lmd_error *err),
				void *arg, struct lmd_error *err)
{
	const char *p = (const char *)m->ptr, *stop = p + m->bytes, *next;
	enum lmd_status st = LMD_OK;
	char path[160];

	for (unsigned number = 1; st == LMD_OK && p < stop; p = next, number++) {
		struct old_line old = {.text = p};

		next = memchr(p, '\n', (size_t)(stop - p));
		if (!next)
			break;
		old.n = (size_t)(++next - p);
		if (!read_old(&old, lines))
			return lmd_fail(err, LMD_INVALID,
					"%s, line %u: it is not the result of a batch; choose another "
					"file",
					lmi_printable_path(path, sizeof(path), o->path), number);
		st = fn(arg, &old, err);
	}
	*end = (uint64_t)(p - (const char *)m->ptr);
	return st;
}

static enum lmd_status note(void *arg, const struct old_line *old, struct lmd_error *err)
{
	bool *any_failed = arg;

	(void)err;
	if (old->line) {
		old->line->state = old->failed ? LMI_CTL_BATCH_FAILED : LMI_CTL_BATCH_ANSWERED;
		*any_failed = *any_failed || old->failed;
	}
	return LMD_OK;
}

static enum lmd_status keep(void *arg, const struct old_line *old, struct lmd_error *err)
{
	if (old->line && old->failed) {
		old->line->state = LMI_CTL_BATCH_OPEN;
		return LMD_OK;
	}
	return lmi_new_file_write(arg, old->text, old->n, err);
}

/* ---- opening ---- */

static enum lmd_status open_locked(struct lmi_ctl_batch_output *o, struct lmd_error *err)
{
	int fd = open(o->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
		o->fd = fd;
		return LMD_OK;
	}
	(void)fail_errno(o, err);
	if (fd >= 0)
		(void)close(fd);
	return err->status;
}

/* Replaces the file by one without the results of lines that failed. */
static enum lmd_status remove_failed(struct lmi_ctl_batch_output *o, const struct lmi_map *m,
				     struct lmi_ctl_batch_lines *lines, struct lmd_error *err)
{
	struct lmi_new_file f;
	uint64_t end;
	int old = o->fd;
	enum lmd_status st = lmi_new_file_open(&f, o->path, 0666, err);

	if (st != LMD_OK)
		return st;
	st = for_each(o, m, lines, &end, keep, &f, err);
	if (st == LMD_OK)
		st = lmi_new_file_commit(&f, err);
	lmi_new_file_abort(&f);
	if (st == LMD_OK) {
		o->fd = -1;
		st = open_locked(o, err);
		(void)close(old);
	}
	return st;
}

static enum lmd_status read_all(struct lmi_ctl_batch_output *o, struct lmi_ctl_batch_lines *lines,
				bool again, struct lmd_error *err)
{
	struct lmi_file f;
	struct lmi_map m = {0};
	bool any_failed = false;
	uint64_t end = 0;
	enum lmd_status st = lmi_file_open(&f, o->path, err);

	if (st != LMD_OK)
		return st;
	if (f.bytes)
		st = lmi_map_open(&m, &f, f.bytes, err);
	if (st == LMD_OK && f.bytes)
		st = for_each(o, &m, lines, &end, note, &any_failed, err);
	if (st == LMD_OK && again && any_failed)
		st = remove_failed(o, &m, lines, err);
	else if (st == LMD_OK && end < f.bytes && ftruncate(o->fd, (off_t)end))
		st = fail_errno(o, err);
	lmi_map_close(&m);
	lmi_file_close(&f);
	return st;
}

enum lmd_status lmi_ctl_batch_output_open(struct lmi_ctl_batch_output *o, const char *path,
					  struct lmi_ctl_batch_lines *lines, bool again,
					  struct lmd_error *err)
{
	enum lmd_status st;

	*o = (struct lmi_ctl_batch_output){.path = path, .fd = -1};
	st = open_locked(o, err);
	if (st == LMD_OK)
		st = read_all(o, lines, again, err);
	if (st != LMD_OK)
		lmi_ctl_batch_output_close(o);
	return st;
}

void lmi_ctl_batch_output_close(struct lmi_ctl_batch_output *o)
{
	if (o->fd >= 0)
		(void)close(o->fd);
	o->fd = -1;
}

/* ---- results ---- */

static bool add_text(struct lmi_wire_buf *b, const char *text)
{
	return lmi_wire_buf_add(b, text, strlen(text));
}

static bool add_json(struct lmi_wire_buf *b, json_t *own)
{
	char *text = own ? json_dumps(own, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	bool good = text && add_text(b, text);

	free(text);
	json_decref(own);
	return good;
}

/* Adds a text that may be anything. */
static bool add_string(struct lmi_wire_buf *b, const char *s, size_t n)
{
	json_t *v = json_stringn(s, n);

	return add_json(b, v ? v : json_null());
}

/* Adds the body of a response: JSON with the bytes that it has, but on one line; anything else as a
 * string. */
static bool add_body(struct lmi_wire_buf *b, const char *body, size_t n)
{
	json_t *v = json_loadb(body, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	size_t at = b->n;

	if (!v)
		return add_string(b, body, n);
	json_decref(v);
	if (!lmi_wire_buf_add(b, body, n))
		return false;
	for (char *p = (char *)b->p + at, *end = (char *)b->p + b->n; p < end; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' '; /* within a string of JSON they would be escaped */
	return true;
}

/* Writes a random id. */
static bool add_id(struct lmi_wire_buf *b)
{
	uint8_t bytes[ID_HEX / 2];
	char hex[ID_HEX + 1];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return add_text(b, "{\"id\":\"batch_req_") && add_text(b, hex) && add_text(b, "\"");
}

static bool add_response(struct lmi_wire_buf *b, const struct lmi_ctl_batch_result *r)
{
	char code[64];

	(void)snprintf(code, sizeof(code), "{\"status_code\":%ld,\"request_id\":", r->code);
	return add_text(b, code) && add_string(b, r->request_id, strlen(r->request_id)) &&
	       add_text(b, ",\"body\":") && add_body(b, r->body, r->n) &&
	       add_text(b, "},\"error\":null}\n");
}

static bool add_error(struct lmi_wire_buf *b, const struct lmi_ctl_batch_result *r)
{
	return add_text(b, "null,\"error\":") &&
	       add_json(b, json_pack("{s:s,s:s}", "code", r->error_code, "message", r->error)) &&
	       add_text(b, "}\n");
}

enum lmd_status lmi_ctl_batch_output_add(struct lmi_ctl_batch_output *o,
					 struct lmi_ctl_batch_line *line,
					 const struct lmi_ctl_batch_result *r, struct lmd_error *err)
{
	struct lmi_wire_buf b = {0};
	enum lmd_status st = LMD_OK;

	if (!add_id(&b) || !add_text(&b, ",\"custom_id\":") ||
	    !add_string(&b, line->custom_id, strlen(line->custom_id)) ||
	    !add_text(&b, ",\"response\":") || !(r->code ? add_response(&b, r) : add_error(&b, r)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a result of %zu bytes", r->n);
	else if (!lmi_file_write_all(o->fd, b.p, b.n))
		st = fail_errno(o, err);
	else
		line->state = is_success(r->code) ? LMI_CTL_BATCH_ANSWERED : LMI_CTL_BATCH_FAILED;
	lmi_wire_buf_fini(&b);
	return st;
}
