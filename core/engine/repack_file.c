/* SPDX-License-Identifier: MIT
 *
 * Reading and writing of repack files. The table is behind the weights, so that a writer needs to know
 * nothing of them in advance. */
#include "core/engine/repack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/fingerprint.h"

#define FILE_VERSION 1u
#define ENTRY_BYTES  LMI_ENGINE_REPACK_ENTRY
#define PIECE_BYTES  (1u << 20)

/* Offsets in the head. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 8,
	AT_N = 12,
	AT_TABLE = 16,
	AT_BYTES = 24,
	AT_KEY = 32,
	AT_DIGEST = 64, /* of the bytes before it and of the table */
	HEAD_BYTES = 96
};

static const char magic[8] = {'l', 'm', 'd', 'r', 'e', 'p', 'k', '1'};

static enum lmd_status path_of(char path[PATH_MAX], const char *dir, const uint8_t *key,
			       struct lmd_error *err)
{
	char hex[LMI_SHA256_HEX];

	lmi_sha256_hex(hex, key);
	return snprintf(path, PATH_MAX, "%s/%s", dir, hex) < PATH_MAX
		       ? LMD_OK
		       : lmd_fail(err, LMD_INVALID, "%.200s: the path of the repack cache is too long", dir);
}

static enum lmd_status digest_of(uint8_t out[LMI_SHA256_BYTES], const uint8_t *head, const uint8_t *table,
				 size_t n, struct lmd_error *err)
{
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, head, AT_DIGEST);
	lmi_sha256_update(&h, table, n);
	return lmi_sha256_final(&h, out)
		       ? LMD_OK
		       : lmd_fail(err, LMD_CANCELLED, "the digest of repacked weights was cancelled");
}

static void put_entry(uint8_t *b, const struct lmi_engine_repack_entry *e)
{
	memcpy(b, e->id, LMI_SHA256_BYTES);
	lmi_put_le64(b + 32, e->at);
	lmi_put_le64(b + 40, e->bytes);
	lmi_put_le64(b + 48, e->checksum);
	lmi_put_le32(b + 56, e->layout);
	lmi_put_le32(b + 60, 0);
}

static void get_entry(struct lmi_engine_repack_entry *e, const uint8_t *b)
{
	memcpy(e->id, b, LMI_SHA256_BYTES);
	e->at = lmi_get_le64(b + 32);
	e->bytes = lmi_get_le64(b + 40);
	e->checksum = lmi_get_le64(b + 48);
	e->layout = lmi_get_le32(b + 56);
}

/* ---- reading ---- */

static enum lmd_status corrupt(struct lmd_error *err, const char *why)
{
	return lmd_fail(err, LMD_CORRUPT, "%s", why);
}

/* Opens the file if nobody else can have written it. */
static enum lmd_status open_own(struct lmi_file *f, const char *path, struct lmd_error *err)
{
	struct stat sb;

	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return errno == ENOENT ? lmd_fail(err, LMD_NOTFOUND, "no such file")
		       : errno == ELOOP ? corrupt(err, "it is a symbolic link")
					: lmd_fail(err, LMD_IO, "%s", strerror(errno));
	if (fstat(f->fd, &sb))
		return lmd_fail(err, LMD_IO, "%s", strerror(errno));
	if (!S_ISREG(sb.st_mode))
		return corrupt(err, "it is not a regular file");
	if (sb.st_uid != geteuid() || sb.st_mode & (S_IWGRP | S_IWOTH))
		return corrupt(err, "it belongs to another user, or others may write to it");
	f->bytes = (uint64_t)sb.st_size;
	return LMD_OK;
}

static enum lmd_status check_head(const uint8_t *b, const struct lmi_file *f, const uint8_t *key,
				  uint32_t *n, uint64_t *table, struct lmd_error *err)
{
	*n = lmi_get_le32(b + AT_N);
	*table = lmi_get_le64(b + AT_TABLE);
	if (memcmp(b + AT_MAGIC, magic, sizeof(magic)) != 0 || lmi_get_le32(b + AT_VERSION) != FILE_VERSION)
		return corrupt(err, "it is no file of this version");
	if (memcmp(b + AT_KEY, key, LMI_SHA256_BYTES) != 0)
		return corrupt(err, "it belongs to another model or backend");
	if (!*n || *n > LMI_ENGINE_REPACK_WEIGHTS || *table > f->bytes ||
	    f->bytes - *table != (uint64_t)*n * ENTRY_BYTES || lmi_get_le64(b + AT_BYTES) != f->bytes)
		return corrupt(err, "its length is not the one that its head announces");
	return LMD_OK;
}

static enum lmd_status read_table(struct lmi_engine_repack_file *f, const uint8_t *head, uint32_t n,
				  uint64_t table, struct lmd_error *err)
{
	const size_t bytes = (size_t)n * ENTRY_BYTES;
	uint8_t digest[LMI_SHA256_BYTES], *b = lmi_alloc(1, bytes);
	enum lmd_status st = LMD_OK;

	f->v = lmi_alloc(n, sizeof(*f->v));
	if (!b || !f->v)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a table of %u weights", n);
	if (st == LMD_OK)
		st = lmi_file_read(&f->file, table, b, bytes, err);
	if (st == LMD_OK)
		st = digest_of(digest, head, b, bytes, err);
	if (st == LMD_OK && memcmp(digest, head + AT_DIGEST, sizeof(digest)) != 0)
		st = corrupt(err, "damaged: its table does not have its checksum");
	for (uint32_t i = 0; i < n && st == LMD_OK; i++) {
		struct lmi_engine_repack_entry *e = &f->v[f->n++];

		get_entry(e, b + (size_t)i * ENTRY_BYTES);
		if (!e->bytes || e->at % LMI_ENGINE_REPACK_ALIGN || e->at < HEAD_BYTES || e->at > table ||
		    e->bytes > table - e->at)
			st = corrupt(err, "damaged: a weight lies outside of it");
	}
	lmi_free(b);
	return st;
}

/* Reads the bytes of a weight; reading them through the mapping would end with a signal if the file became
 * shorter. */
static enum lmd_status check_bytes(const struct lmi_engine_repack_file *f,
				   const struct lmi_engine_repack_entry *e, uint8_t *piece,
				   struct lmd_error *err)
{
	struct lmi_fingerprint p;
	enum lmd_status st = LMD_OK;

	lmi_fingerprint_init(&p);
	for (uint64_t at = 0; at < e->bytes && st == LMD_OK; at += PIECE_BYTES) {
		size_t n = e->bytes - at < PIECE_BYTES ? (size_t)(e->bytes - at) : PIECE_BYTES;

		st = lmi_file_read(&f->file, e->at + at, piece, n, err);
		if (st == LMD_OK)
			lmi_fingerprint_add(&p, piece, n);
		if (st == LMD_OK && !lmi_cancel_step(n / 16))
			st = lmd_fail(err, LMD_CANCELLED, "cancelled while repacked weights were read");
	}
	if (st == LMD_OK && lmi_fingerprint_get(&p) != e->checksum)
		st = corrupt(err, "damaged: a weight does not have its checksum");
	return st;
}

static enum lmd_status check_all(const struct lmi_engine_repack_file *f, struct lmd_error *err)
{
	uint8_t *piece = lmi_alloc(1, PIECE_BYTES);
	enum lmd_status st = piece ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory to read it");

	for (uint32_t i = 0; i < f->n && st == LMD_OK; i++)
		st = check_bytes(f, &f->v[i], piece, err);
	lmi_free(piece);
	return st;
}

static enum lmd_status open_path(struct lmi_engine_repack_file *f, const char *path, const uint8_t *key,
				 struct lmd_error *err)
{
	uint8_t head[HEAD_BYTES];
	uint64_t table;
	uint32_t n;
	enum lmd_status st = open_own(&f->file, path, err);

	if (st == LMD_OK && f->file.bytes < HEAD_BYTES)
		st = corrupt(err, "it is too short");
	if (st == LMD_OK)
		st = lmi_file_read(&f->file, 0, head, sizeof(head), err);
	if (st == LMD_OK)
		st = check_head(head, &f->file, key, &n, &table, err);
	if (st == LMD_OK)
		st = read_table(f, head, n, table, err);
	if (st == LMD_OK)
		st = check_all(f, err);
	return st == LMD_OK ? lmi_map_open(&f->map, &f->file, f->file.bytes, err) : st;
}

enum lmd_status lmi_engine_repack_file_open(struct lmi_engine_repack_file *out, const char *dir,
					    const uint8_t key[LMI_SHA256_BYTES], struct lmd_error *err)
{
	struct lmi_engine_repack_file f = {.file = {.fd = -1}};
	struct lmd_error why = {0};
	char path[PATH_MAX];
	enum lmd_status st = path_of(path, dir, key, err);

	if (st != LMD_OK)
		return st;
	st = open_path(&f, path, key, &why);
	if (st != LMD_OK) {
		lmi_engine_repack_file_close(&f);
		return lmd_fail(err, st, "%.250s: %.200s", path, why.text);
	}
	(void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* best effort: the order of removal */
	*out = f;
	return LMD_OK;
}

void lmi_engine_repack_file_close(struct lmi_engine_repack_file *f)
{
	lmi_map_close(&f->map);
	lmi_file_close(&f->file);
	lmi_free(f->v);
	*f = (struct lmi_engine_repack_file){.file = {.fd = -1}};
}

const struct lmi_engine_repack_entry *
lmi_engine_repack_file_find(const struct lmi_engine_repack_file *f, const uint8_t id[LMI_SHA256_BYTES],
			    const void **bytes)
{
	for (uint32_t i = 0; i < f->n; i++) {
		if (memcmp(f->v[i].id, id, LMI_SHA256_BYTES) != 0)
			continue;
		*bytes = f->map.ptr + f->v[i].at;
		return &f->v[i];
	}
	return NULL;
}

/* ---- writing ---- */

enum lmd_status lmi_engine_repack_writer_open(struct lmi_engine_repack_writer *w, const char *dir,
					      const uint8_t key[LMI_SHA256_BYTES], uint32_t n,
					      struct lmd_error *err)
{
	char path[PATH_MAX];
	enum lmd_status st = path_of(path, dir, key, err);

	*w = (struct lmi_engine_repack_writer){.file = {.fd = -1}, .cap = n, .at = HEAD_BYTES};
	memcpy(w->key, key, LMI_SHA256_BYTES);
	if (st == LMD_OK && mkdir(dir, 0700) && errno != EEXIST)
		st = lmd_fail(err, LMD_IO, "%.300s: %s", dir, strerror(errno));
	if (st == LMD_OK)
		st = lmi_new_file_open(&w->file, path, 0600, err);
	if (st == LMD_OK) {
		w->v = lmi_alloc(n + (size_t)1, sizeof(*w->v));
		if (!w->v)
			st = lmd_fail(err, LMD_NOMEM, "no memory for a table of %u weights", n);
	}
	if (st != LMD_OK)
		lmi_engine_repack_writer_abort(w);
	return st;
}

enum lmd_status lmi_engine_repack_writer_add(struct lmi_engine_repack_writer *w,
					     const uint8_t id[LMI_SHA256_BYTES], uint32_t layout,
					     const void *bytes, uint64_t n, struct lmd_error *err)
{
	struct lmi_engine_repack_entry *e = &w->v[w->n];
	struct lmi_fingerprint p;
	enum lmd_status st = LMD_OK;

	if (w->n == w->cap || w->n == LMI_ENGINE_REPACK_WEIGHTS)
		return lmd_fail(err, LMD_INTERNAL, "more than %u repacked weights", w->n);
	*e = (struct lmi_engine_repack_entry){.bytes = n, .layout = layout};
	e->at = (w->at + LMI_ENGINE_REPACK_ALIGN - 1) / LMI_ENGINE_REPACK_ALIGN * LMI_ENGINE_REPACK_ALIGN;
	memcpy(e->id, id, LMI_SHA256_BYTES);
	lmi_fingerprint_init(&p);
	for (uint64_t at = 0; at < n && st == LMD_OK; at += PIECE_BYTES) {
		size_t some = n - at < PIECE_BYTES ? (size_t)(n - at) : PIECE_BYTES;

		lmi_fingerprint_add(&p, (const char *)bytes + at, some);
		st = lmi_new_file_write_at(&w->file, e->at + at, (const char *)bytes + at, some, err);
		if (st == LMD_OK && !lmi_cancel_step(some / 8))
			st = lmd_fail(err, LMD_CANCELLED, "cancelled while repacked weights were written");
	}
	e->checksum = lmi_fingerprint_get(&p);
	w->at = e->at + n;
	w->n += st == LMD_OK;
	return st;
}

/* Writes the table and the head. */
static enum lmd_status finish(struct lmi_engine_repack_writer *w, struct lmd_error *err)
{
	const size_t bytes = (size_t)w->n * ENTRY_BYTES;
	uint64_t table = (w->at + ENTRY_BYTES - 1) / ENTRY_BYTES * ENTRY_BYTES;
	uint8_t head[HEAD_BYTES] = {0}, *b = lmi_alloc(1, bytes + 1);
	enum lmd_status st;

	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for a table of %u weights", w->n);
	for (uint32_t i = 0; i < w->n; i++)
		put_entry(b + (size_t)i * ENTRY_BYTES, &w->v[i]);
	memcpy(head + AT_MAGIC, magic, sizeof(magic));
	lmi_put_le32(head + AT_VERSION, FILE_VERSION);
	lmi_put_le32(head + AT_N, w->n);
	lmi_put_le64(head + AT_TABLE, table);
	lmi_put_le64(head + AT_BYTES, table + bytes);
	memcpy(head + AT_KEY, w->key, LMI_SHA256_BYTES);
	st = digest_of(head + AT_DIGEST, head, b, bytes, err);
	if (st == LMD_OK)
		st = lmi_new_file_write_at(&w->file, table, b, bytes, err);
	if (st == LMD_OK)
		st = lmi_new_file_write_at(&w->file, 0, head, sizeof(head), err);
	lmi_free(b);
	return st;
}

enum lmd_status lmi_engine_repack_writer_commit(struct lmi_engine_repack_writer *w, struct lmd_error *err)
{
	enum lmd_status st = finish(w, err);

	if (st == LMD_OK)
		st = lmi_new_file_commit(&w->file, err);
	lmi_engine_repack_writer_abort(w); /* does nothing to a file that was committed */
	return st;
}

void lmi_engine_repack_writer_abort(struct lmi_engine_repack_writer *w)
{
	lmi_new_file_abort(&w->file);
	lmi_free(w->v);
	*w = (struct lmi_engine_repack_writer){.file = {.fd = -1}};
}
