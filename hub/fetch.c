/* SPDX-License-Identifier: MIT
 *
 * The transfer of one file: continued where the last one ended, checked before it gets its name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/resumable_file.h"
#include "hub/http.h"
#include "hub/hub_impl.h"

#define SEGMENT  (8u << 20) /* bytes after which the journal is written */
#define PIECE    (1u << 20)
#define BUSY_TICKS 60 /* of 50 ms */
#define IDLE_MAX 5 /* tries in a row in which nothing arrived */

struct fetch {
	const struct lmi_hub_file *f;
	const struct lmi_hub_opts *o;
	const struct lmi_hub_transfer *t;
	struct lmi_resumable_file file;
	uint64_t size;       /* 0: unknown */
	uint64_t in_segment; /* bytes since the last segment */
	bool begun;          /* the first piece of this try has arrived */
	bool failed;         /* on_data failed: trying again does not help */
	char etag[160];
	char login[LMI_HUB_AUTHORIZATION_MAX]; /* at a registry; "": none */
};

static void report(const struct fetch *w, uint64_t done, bool checking)
{
	if (w->t && w->t->progress)
		w->t->progress(w->t->arg, done, w->size, checking);
}

/* ---- before the transfer ---- */

/* What the bytes depend on: the digest or, if that is unknown, address, version and size. */
static bool make_key(const struct fetch *w, uint8_t key[LMI_RESUMABLE_FILE_KEY])
{
	struct lmi_sha256 h;
	char text[64];

	if (!lmi_sha256_init(&h))
		return false;
	(void)snprintf(text, sizeof(text), "llamad-hub-1 %llu ", (unsigned long long)w->size);
	lmi_sha256_update(&h, text, strlen(text));
	if (*w->f->sha256) {
		lmi_sha256_update(&h, w->f->sha256, strlen(w->f->sha256));
	} else {
		lmi_sha256_update(&h, w->f->url, strlen(w->f->url));
		lmi_sha256_update(&h, "\n", 1);
		lmi_sha256_update(&h, w->etag, strlen(w->etag));
	}
	return lmi_sha256_final(&h, key);
}

/* Asks for size and version of a file whose digest is unknown. */
static enum lmd_status probe(struct fetch *w, struct lmd_error *err)
{
	struct lmi_hub_request q = {.url = w->f->url, .head = true};
	struct lmi_hub_reply r;
	enum lmd_status st;

	q.bearer = w->f->with_token ? w->o->hf_token : NULL;
	st = lmi_hub_get(&r, &q, w->o, false, err);
	if (st != LMD_OK)
		return st;
	memcpy(w->etag, r.etag, sizeof(w->etag));
	w->size = r.size ? r.size : w->size;
	lmi_hub_reply_fini(&r);
	return LMD_OK;
}

static enum lmd_status check_space(const struct fetch *w, struct lmd_error *err)
{
	uint64_t missing = w->size - w->file.file.bytes, left;
	struct statvfs v;

	if (fstatvfs(w->file.file.fd, &v) < 0)
		return LMD_OK; /* the write will tell */
	left = (uint64_t)v.f_bavail * v.f_frsize;
	if (left >= missing)
		return LMD_OK;
	return lmd_fail(err, LMD_NOMEM,
			"%s: %llu MB are missing and the disk has %llu MB left", w->f->name,
			(unsigned long long)(missing / 1000000 + 1),
			(unsigned long long)(left / 1000000));
}

/* ---- the transfer ---- */

/* At the first piece of a reply: the server continues, or sends the file from its beginning. */
static enum lmd_status begin_reply(struct fetch *w, const struct lmi_hub_reply *r,
				   struct lmd_error *err)
{
	uint64_t have = w->file.file.bytes;

	w->begun = true;
	if (r->size && w->size && r->size != w->size)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: the server has %llu bytes instead of the announced %llu",
				w->f->name, (unsigned long long)r->size,
				(unsigned long long)w->size);
	w->size = w->size ? w->size : r->size;
	if (r->code == 200 && have)
		return lmi_resumable_file_restart(&w->file, err);
	if (r->code == 206 && r->from != have)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: the server sent the bytes from %llu instead of %llu",
				w->f->name, (unsigned long long)r->from, (unsigned long long)have);
	return LMD_OK;
}

static enum lmd_status end_segment(struct fetch *w, struct lmd_error *err)
{
	if (!w->in_segment)
		return LMD_OK;
	w->in_segment = 0;
	return lmi_resumable_file_end_segment(&w->file, err);
}

static enum lmd_status add_data(struct fetch *w, const struct lmi_hub_reply *r, const void *data,
				size_t n, struct lmd_error *err)
{
	enum lmd_status st = w->begun ? LMD_OK : begin_reply(w, r, err);

	if (st == LMD_OK && w->size && n > w->size - w->file.file.bytes)
		st = lmd_fail(err, LMD_CORRUPT,
			      "%s: the server sends more than the announced %llu bytes", w->f->name,
			      (unsigned long long)w->size);
	if (st == LMD_OK)
		st = lmi_resumable_file_write(&w->file, data, n, err);
	if (st != LMD_OK)
		return st;
	w->in_segment += n;
	if (w->in_segment >= SEGMENT)
		st = end_segment(w, err);
	report(w, w->file.file.bytes, false);
	return st;
}

static enum lmd_status on_data(void *arg, const struct lmi_hub_reply *r, const void *data, size_t n,
			       struct lmd_error *err)
{
	struct fetch *w = arg;
	enum lmd_status st = add_data(w, r, data, n, err);

	w->failed = st != LMD_OK;
	return st;
}

/* One request for what is missing.  LMD_OK: there was a reply, of any code. */
static enum lmd_status try_once(struct fetch *w, struct lmi_hub_request *q, struct lmi_hub_reply *r,
				struct lmd_error *err)
{
	struct lmd_error second;
	enum lmd_status st;

	q->from = w->file.file.bytes;
	q->authorization = w->login;
	q->bearer = w->f->with_token ? w->o->hf_token : NULL;
	w->begun = false;
	st = lmi_hub_request(r, q, w->o, err);
	if (end_segment(w, &second) != LMD_OK && st == LMD_OK) {
		*err = second;
		lmi_hub_reply_fini(r);
		return second.status;
	}
	return st;
}

static enum lmd_status transfer(struct fetch *w, struct lmd_error *err)
{
	struct lmi_hub_request q = {
		.url = w->f->url, .etag = w->etag, .sink = on_data, .arg = w};
	unsigned n_idle = 0, n_challenge = 0;
	uint64_t most = w->file.file.bytes; /* a server that begins again makes no progress */

	while (!w->size || w->file.file.bytes < w->size) {
		struct lmi_hub_reply r;
		enum lmd_status st = try_once(w, &q, &r, err);
		bool done = st == LMD_OK && (r.code == 200 || r.code == 206);
		bool again = !w->failed && (lmi_hub_may_pass(st, r.code) || (done && w->size));

		if (st == LMD_OK && r.code == 401 && *r.challenge && !n_challenge++) {
			st = lmi_hub_registry_login(w->login, w->f->url, r.challenge, NULL, w->o,
						    err);
			lmi_hub_reply_fini(&r);
			if (st != LMD_OK)
				return st;
			continue;
		}
		if (st == LMD_OK && !done)
			st = lmi_hub_code_error(&q, &r, err);
		lmi_hub_reply_fini(&r);
		if (done && !w->size) /* a server that does not say how much it is */
			return LMD_OK;
		n_idle = w->file.file.bytes > most ? 0 : n_idle + 1;
		most = w->file.file.bytes > most ? w->file.file.bytes : most;
		n_challenge = n_idle ? n_challenge : 0;
		if (!again || n_idle == IDLE_MAX)
			return st != LMD_OK ? st
					    : lmd_fail(err, LMD_IO, "%s: the server sends nothing",
						       w->f->name);
		if (w->file.file.bytes == w->size)
			break;
		if ((n_idle || r.retry_after_s) && !lmi_hub_wait(n_idle ? n_idle : 1, r.retry_after_s))
			return lmd_fail(err, LMD_CANCELLED, "cancelled");
	}
	return LMD_OK;
}

/* ---- after the transfer ---- */

static enum lmd_status compute_digest(const struct fetch *w, char hex[LMI_SHA256_HEX],
				      struct lmd_error *err)
{
	const struct lmi_file file = {.fd = w->file.file.fd, .bytes = w->file.file.bytes};
	uint8_t digest[LMI_SHA256_BYTES];
	uint8_t *buf = lmi_alloc(PIECE, 1);
	struct lmi_sha256 h;
	enum lmd_status st = LMD_OK;

	if (!buf || !lmi_sha256_init(&h)) {
		lmi_free(buf);
		return lmd_fail(err, LMD_NOMEM, "no memory to compute a digest");
	}
	for (uint64_t at = 0; at < file.bytes && st == LMD_OK;) {
		size_t n = file.bytes - at < PIECE ? (size_t)(file.bytes - at) : PIECE;

		st = lmi_file_read(&file, at, buf, n, err);
		lmi_sha256_update(&h, buf, n);
		at += n;
		report(w, at, true);
		if (st == LMD_OK && !lmi_cancel_step(n / 16))
			st = lmd_fail(err, LMD_CANCELLED, "cancelled");
	}
	lmi_free(buf);
	if (st != LMD_OK)
		lmi_sha256_fini(&h);
	else if (!lmi_sha256_final(&h, digest))
		st = lmd_fail(err, LMD_INTERNAL, "the digest cannot be computed");
	else
		lmi_sha256_hex(hex, digest);
	return st;
}

static enum lmd_status check(const struct fetch *w, char hex[LMI_SHA256_HEX], struct lmd_error *err)
{
	enum lmd_status st = compute_digest(w, hex, err);

	if (st != LMD_OK || !*w->f->sha256 || !strcmp(hex, w->f->sha256))
		return st;
	return lmd_fail(err, LMD_CORRUPT,
			"%s: what arrived has the digest %s instead of the announced %s", w->f->name,
			hex, w->f->sha256);
}

static enum lmd_status run(struct fetch *w, char hex[LMI_SHA256_HEX], struct lmd_error *err)
{
	enum lmd_status st = w->size ? check_space(w, err) : LMD_OK;

	report(w, w->file.file.bytes, false);
	if (st == LMD_OK)
		st = transfer(w, err);
	if (st == LMD_OK)
		st = check(w, hex, err);
	return st == LMD_OK ? lmi_resumable_file_commit(&w->file, err) : st;
}

/* A transfer of the same file that was just cancelled ends within a moment. */
static enum lmd_status open_file(struct fetch *w, const char *path,
				 const struct lmi_resumable_file_opts *o, struct lmd_error *err)
{
	const struct timespec tick = {.tv_nsec = 50000000};
	enum lmi_resumable_file_found found;
	enum lmd_status st;

	for (unsigned i = 0;; i++) {
		st = lmi_resumable_file_open(&w->file, path, 0600, o, &found, err);
		if (st != LMD_BUSY || i == BUSY_TICKS || !lmi_cancel_step(1))
			return st;
		(void)nanosleep(&tick, NULL);
	}
}

enum lmd_status lmi_hub_fetch(const struct lmi_hub_file *f, const char *path,
			      const struct lmi_hub_opts *o, const struct lmi_hub_transfer *t,
			      char sha256[LMI_SHA256_HEX], struct lmd_error *err)
{
	struct fetch w = {.f = f, .o = o, .t = t, .size = f->size};
	struct lmi_resumable_file_opts file_opts = {0};
	enum lmd_status st = *f->sha256 ? LMD_OK : probe(&w, err);

	if (st != LMD_OK)
		return st;
	if (!make_key(&w, file_opts.key))
		return lmd_fail(err, LMD_NOMEM, "no memory to compute a digest");
	/* without digest and version nobody knows whether the file is still the same */
	file_opts.restart = !*f->sha256 && !*w.etag;
	st = open_file(&w, path, &file_opts, err);
	if (st != LMD_OK)
		return st;
	st = run(&w, sha256, err);
	if (st == LMD_CORRUPT)
		lmi_resumable_file_abort(&w.file);
	else if (st != LMD_OK)
		lmi_resumable_file_keep(&w.file);
	return st;
}
