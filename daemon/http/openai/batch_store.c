/* SPDX-License-Identifier: MIT
 *
 * What a batch keeps on the disk, so that it goes on after the daemon was stopped or killed:
 *
 * - the batch, as clients see it;
 * - its two files of results.  Each result is appended as soon as it is there; a line is done when its
 *   result is on the disk.  Clients find the files when the batch has ended, because only then they are
 *   described;
 * - how it runs: its owner, the names of these files, and how often it was started in vain.
 *
 * A start is stored before the first request runs.  If the daemon ends without saying so, the next start
 * counts it; after START_MAX of them without any result in between the batch fails, so that a request that
 * ends the daemon does not do so forever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "daemon/http/openai/batch_impl.h"
#include "proto/buf.h"

#define START_MAX 3u

/* ---- how it runs ---- */

static const char *run_id(const struct lmi_openai_batch *b, char id[LMI_HTTP_OBJECT_ID_MAX + 1])
{
	(void)snprintf(id, LMI_HTTP_OBJECT_ID_MAX + 1, LMI_OPENAI_BATCH_RUN_PREFIX "%s",
		       lmi_openai_batch_chars(b));
	return id;
}

static uint32_t n_done(const struct lmi_openai_batch *b)
{
	return b->progress.n_completed + b->progress.n_failed;
}

static struct lmi_openai_batch_counts counts_of(const struct lmi_openai_batch *b)
{
	return (struct lmi_openai_batch_counts){.n_completed = b->progress.n_completed,
						.n_failed = b->progress.n_failed,
						.output_bytes = b->output.bytes,
						.error_bytes = b->errors.bytes};
}

static enum lmd_status put(struct lmi_openai_batch *b, const char *id, const json_t *v,
			   struct lmd_error *err)
{
	char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;
	enum lmd_status st = LMD_NOMEM;

	if (text)
		st = lmi_http_objects_put(b->o.objects, &b->principal, id, text, strlen(text), err);
	else
		(void)lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	free(text);
	return st;
}

enum lmd_status lmi_openai_batch_store_run(struct lmi_openai_batch *b, bool ended,
					   struct lmd_error *err)
{
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	json_t *v = json_pack("{s:I,s:I,s:s,s:s,s:s,s:I,s:I}", "uid", (json_int_t)b->principal.uid, "gid",
			      (json_int_t)b->principal.gid, "key", b->principal.key_label, "output",
			      b->output.id, "errors", b->errors.id, "starts",
			      (json_int_t)(ended ? 0 : b->n_start), "done", (json_int_t)b->n_at_start);
	enum lmd_status st = put(b, run_id(b, id), v, err);

	json_decref(v);
	return st;
}

/* Reads a file of results.  What follows the whole results is removed from it. */
static enum lmd_status read_file(struct lmi_openai_batch *b, struct lmi_openai_batch_file *f, bool failed,
				 struct lmd_error *err)
{
	char id[LMI_OPENAI_ID_BYTES], *text;
	size_t n, good;
	enum lmd_status st;

	lmi_openai_data_id(id, f->id);
	f->bytes = 0;
	st = lmi_http_objects_get(b->o.objects, &b->principal, id, &text, &n, err);
	if (st != LMD_OK)
		return st == LMD_NOTFOUND ? LMD_OK : st;
	good = lmi_openai_batch_progress_read(&b->progress, lmi_openai_batch_chars(b), text, n, failed);
	if (good < n)
		st = lmi_http_objects_put(b->o.objects, &b->principal, id, text, good, err);
	f->bytes = good;
	lmi_free(text);
	return st;
}

static bool copy_id(struct lmi_openai_batch_file *f, const json_t *v)
{
	const char *s = json_string_value(v);

	if (!s || strlen(s) >= sizeof(f->id) ||
	    strncmp(s, LMI_OPENAI_FILE_PREFIX, strlen(LMI_OPENAI_FILE_PREFIX)) != 0)
		return false;
	(void)snprintf(f->id, sizeof(f->id), "%s", s);
	return true;
}

static enum lmd_status read_run(struct lmi_openai_batch *b, struct lmd_error *err)
{
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	json_t *v = lmi_openai_object_load(b->o.objects, &b->principal, run_id(b, id), err);
	enum lmd_status st = v ? LMD_OK : err->status;
	json_int_t starts, done;

	if (st == LMD_NOTFOUND) { /* it was stored, but its start was not */
		st = LMD_OK;
		b->o.go_on = false;
	} else if (st == LMD_OK) {
		starts = json_integer_value(json_object_get(v, "starts"));
		done = json_integer_value(json_object_get(v, "done"));
		if (!copy_id(&b->output, json_object_get(v, "output")) ||
		    !copy_id(&b->errors, json_object_get(v, "errors")))
			st = lmd_fail(err, LMD_CORRUPT, "the stored batch is damaged");
		if (st == LMD_OK)
			st = read_file(b, &b->output, false, err);
		if (st == LMD_OK)
			st = read_file(b, &b->errors, true, err);
		if (st == LMD_OK && done == (json_int_t)n_done(b) && starts > 0)
			b->n_start = starts < START_MAX ? (uint32_t)starts : START_MAX;
	}
	json_decref(v);
	return st;
}

enum lmd_status lmi_openai_batch_begin(struct lmi_openai_batch *b, struct lmd_error *err)
{
	enum lmd_status st = b->o.go_on ? read_run(b, err) : LMD_OK;
	char chars[LMI_HTTP_ID_CHARS + 1];
	struct lmd_error cause;

	if (st != LMD_OK)
		return st;
	if (!b->o.go_on) {
		if (!lmi_http_make_id(chars))
			return lmd_fail(err, LMD_INTERNAL, "no random numbers");
		(void)snprintf(b->output.id, sizeof(b->output.id), LMI_OPENAI_FILE_PREFIX "%s", chars);
		if (!lmi_http_make_id(chars))
			return lmd_fail(err, LMD_INTERNAL, "no random numbers");
		(void)snprintf(b->errors.id, sizeof(b->errors.id), LMI_OPENAI_FILE_PREFIX "%s", chars);
	}
	if (b->n_start >= START_MAX) {
		(void)lmd_fail(&cause, LMD_INTERNAL,
			       "the daemon ended unexpectedly %u times while it ran this batch, without a "
			       "result in between; %u of %u requests are done",
			       b->n_start, n_done(b), b->progress.n_line);
		lmi_openai_batch_fail(b, &cause);
	}
	b->n_start++;
	b->n_at_start = n_done(b);
	b->seen = counts_of(b);
	b->shown = b->seen;
	return LMD_OK;
}

/* ---- results ---- */

/* Appends the result of a line to its file. */
static void append(struct lmi_openai_batch *b, uint32_t number, bool failed, const struct lmi_wire_buf *text)
{
	struct lmi_openai_batch_file *f = failed ? &b->errors : &b->output;
	char id[LMI_OPENAI_ID_BYTES];
	struct lmd_error err = {0};

	lmi_openai_data_id(id, f->id);
	if (lmi_http_objects_append(b->o.objects, &b->principal, id, text->p, text->n, &err) != LMD_OK) {
		lmi_openai_batch_fail(b, &err);
		return;
	}
	lmi_http_objects_use(b->o.objects, &b->principal, id, true);
	(void)lmi_openai_batch_progress_mark(&b->progress, number, failed);
	f->bytes += text->n;
}

static void fail_nomem(struct lmi_openai_batch *b, uint32_t number)
{
	struct lmd_error err = {0};

	(void)lmd_fail(&err, LMD_NOMEM, "out of memory: the result of line %u cannot be stored", number + 1);
	lmi_openai_batch_fail(b, &err);
}

void lmi_openai_batch_add(struct lmi_openai_batch_line *l, int code, const char *body, size_t n)
{
	struct lmi_wire_buf text = {0};

	if (lmi_openai_batch_result(&text, l->id, json_object_get(l->v, "custom_id"), code, body, n))
		append(l->b, l->number, code >= 300, &text);
	else
		fail_nomem(l->b, l->number);
	lmi_wire_buf_fini(&text);
}

void lmi_openai_batch_add_expired(struct lmi_openai_batch *b, uint32_t number, struct lmd_str line)
{
	json_t *v = json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	char id[LMI_OPENAI_BATCH_LINE_ID];
	struct lmi_wire_buf text = {0};

	lmi_openai_batch_line_id(id, lmi_openai_batch_chars(b), number);
	if (lmi_openai_batch_result_error(
		    &text, id, json_object_get(v, "custom_id"), "batch_expired",
		    "This request could not be executed before the completion window expired."))
		append(b, number, true, &text);
	else
		fail_nomem(b, number);
	lmi_wire_buf_fini(&text);
	json_decref(v);
}

/* Returns the status of a file of results, and how much of it is on the disk. */
static enum lmd_status check_file(struct lmi_openai_batch *b, const struct lmi_openai_batch_file *f,
				  uint64_t *n, struct lmd_error *err)
{
	char id[LMI_OPENAI_ID_BYTES];

	lmi_openai_data_id(id, f->id);
	return lmi_http_objects_check(b->o.objects, &b->principal, id, n, err);
}

bool lmi_openai_batch_results_wait(struct lmi_openai_batch *b)
{
	struct lmd_error err;
	uint64_t n;

	return check_file(b, &b->output, &n, &err) == LMD_BUSY ||
	       check_file(b, &b->errors, &n, &err) == LMD_BUSY;
}

void lmi_openai_batch_refresh(struct lmi_openai_batch *b)
{
	uint64_t output, errors;
	struct lmd_error err;

	if (check_file(b, &b->output, &output, &err) == LMD_IO ||
	    check_file(b, &b->errors, &errors, &err) == LMD_IO) {
		lmi_openai_batch_fail(b, &err);
		return;
	}
	if (output < b->seen.output_bytes || errors < b->seen.error_bytes)
		return;
	b->shown = b->seen;
	b->seen = counts_of(b);
	if (output >= b->seen.output_bytes && errors >= b->seen.error_bytes)
		b->shown = b->seen;
}

/* ---- the batch ---- */

enum lmd_status lmi_openai_batch_store(struct lmi_openai_batch *b, struct lmd_error *err)
{
	const json_t *v = lmi_openai_batch_object(b);

	return put(b, json_string_value(json_object_get(v, "id")), v, err);
}

/* Describes a file of results, if it has any. */
static enum lmd_status store_file(struct lmi_openai_batch *b, struct lmi_openai_batch_file *f,
				  const char *name, json_t *batch, const char *member,
				  struct lmd_error *err)
{
	struct lmd_str name_str;
	char filename[64];
	enum lmd_status st;

	if (!f->bytes)
		return LMD_OK;
	(void)snprintf(filename, sizeof(filename), LMI_OPENAI_BATCH_PREFIX "%.32s_%s.jsonl",
		       lmi_openai_batch_chars(b), name);
	name_str = lmi_http_str(filename);
	st = lmi_openai_file_describe(b->o.objects, &b->principal, f->id, &name_str, "batch_output",
				      lmi_http_server_now(b->o.h), f->bytes, err);
	if (st == LMD_OK && json_object_set_new(batch, member, json_string(f->id)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	return st;
}

/* Counts what is in the files after one of them could not be written. */
static void count_again(struct lmi_openai_batch *b)
{
	struct lmi_openai_batch_progress before = b->progress;
	struct lmd_error err;

	if (!lmi_openai_batch_progress_init(&b->progress, before.n_line)) {
		b->progress = before;
		return;
	}
	lmi_openai_batch_progress_fini(&before);
	(void)read_file(b, &b->output, false, &err);
	(void)read_file(b, &b->errors, true, &err);
}

enum lmd_status lmi_openai_batch_store_end(struct lmi_openai_batch *b, struct lmd_error *err)
{
	const char *status = b->failed	 ? "failed"
			     : b->stopped ? "cancelled"
			     : b->expired ? "expired"
					  : "completed";
	enum lmd_status st = LMD_OK;
	uint64_t n;
	json_t *v;
	char at[32];

	if (check_file(b, &b->output, &n, err) == LMD_IO || check_file(b, &b->errors, &n, err) == LMD_IO)
		count_again(b);
	b->shown = counts_of(b);
	v = json_copy(lmi_openai_batch_object(b));
	(void)snprintf(at, sizeof(at), "%s_at", status);
	if (!v || json_object_set_new(v, "status", json_string(status)) ||
	    json_object_set_new(v, at, json_integer(lmi_http_server_now(b->o.h))))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a batch");
	if (st == LMD_OK)
		st = store_file(b, &b->output, "output", v, "output_file_id", err);
	if (st == LMD_OK)
		st = store_file(b, &b->errors, "error", v, "error_file_id", err);
	if (st == LMD_OK)
		st = put(b, json_string_value(json_object_get(v, "id")), v, err);
	/* so that clients see the failure, also if the disk takes nothing more */
	if (b->failed && v)
		(void)json_object_update(b->o.object, v);
	json_decref(v);
	return st;
}

enum lmd_status lmi_openai_batch_check(struct lmi_openai_batch *b, struct lmd_error *err)
{
	char run[LMI_HTTP_OBJECT_ID_MAX + 1], data[2][LMI_OPENAI_ID_BYTES];
	const char *ids[] = {json_string_value(json_object_get(b->o.object, "id")), b->output.id,
			     b->errors.id, run_id(b, run), data[0], data[1]};
	size_t n = LMD_LEN(ids) - (b->failed ? 3 : 0); /* what was lost of the results is known */
	enum lmd_status st = LMD_OK;
	uint64_t written;

	lmi_openai_data_id(data[0], b->output.id);
	lmi_openai_data_id(data[1], b->errors.id);
	for (size_t i = 0; i < n; i++) {
		enum lmd_status one =
			lmi_http_objects_check(b->o.objects, &b->principal, ids[i], &written, err);

		if (one == LMD_IO)
			return one;
		st = one != LMD_OK ? one : st;
	}
	return st;
}

void lmi_openai_batch_remove_run(struct lmi_openai_batch *b)
{
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	struct lmd_error err;

	(void)lmi_http_objects_remove(b->o.objects, &b->principal, run_id(b, id), &err);
}

static void use_file(struct lmi_openai_batch *b, const char *file, bool used)
{
	char id[LMI_OPENAI_ID_BYTES];

	lmi_openai_data_id(id, file);
	lmi_http_objects_use(b->o.objects, &b->principal, id, used);
	lmi_http_objects_use(b->o.objects, &b->principal, file, used);
}

void lmi_openai_batch_use(struct lmi_openai_batch *b, bool used)
{
	const char *input = json_string_value(json_object_get(b->o.object, "input_file_id"));
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];

	lmi_http_objects_use(b->o.objects, &b->principal, run_id(b, id), used);
	lmi_http_objects_use(b->o.objects, &b->principal,
			     json_string_value(json_object_get(b->o.object, "id")), used);
	if (input && strlen(input) > strlen(LMI_OPENAI_FILE_PREFIX))
		use_file(b, input, used);
	use_file(b, b->output.id, used);
	use_file(b, b->errors.id, used);
}
