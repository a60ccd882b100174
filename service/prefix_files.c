/* SPDX-License-Identifier: MIT
 *
 * Files of the disk tier. The index in memory knows which was used when; the time of change of a file keeps
 * that order over a restart. A file is written under a temporary name and renamed, so that a killed daemon
 * leaves whole files and temporary ones, which the next start removes. */
#include "service/prefix_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "service/prefix_files_impl.h"

/* Offsets in the head. */
enum {
	AT_MAGIC = 0,
	AT_N_BYTES = 8,
	AT_CHAIN = 16,
	AT_GROUP = 48,
	AT_DIGEST = 52, /* of the bytes before it and the rows */
	HEAD_BYTES = LMI_SVC_PREFIX_HEAD_BYTES
};
_Static_assert(AT_GROUP == AT_CHAIN + LMI_SHA256_BYTES &&
		       HEAD_BYTES == AT_DIGEST + LMI_SHA256_BYTES,
	       "the head has no gaps");

static const char magic[8] = {'l', 'm', 'd', 'r', 'o', 'w', 's', '1'};

/* ---- paths ---- */

static void folder_of(char out[PATH_MAX], const struct lmi_svc_prefix_files *f, uint64_t tenant)
{
	(void)snprintf(out, PATH_MAX, "%s/prefixes/%016llx", f->state_dir,
		       (unsigned long long)tenant);
}

/* serial: of a temporary file; 0: the file itself. */
static enum lmd_status path_of(char out[PATH_MAX], const struct lmi_svc_prefix_files *f,
			       const struct lmi_svc_prefix_key *key, uint64_t serial,
			       struct lmd_error *err)
{
	char hex[LMI_SHA256_HEX], temp[32] = "";
	int n;

	lmi_sha256_hex(hex, key->chain);
	if (serial)
		(void)snprintf(temp, sizeof(temp), ".%llu", (unsigned long long)serial);
	n = snprintf(out, PATH_MAX, "%s/prefixes/%016llx/%s-%u%s", f->state_dir,
		     (unsigned long long)key->tenant, hex, key->group, temp);
	return n > 0 && n < PATH_MAX
		       ? LMD_OK
		       : lmd_fail(err, LMD_INVALID, "the path of the state folder is too long");
}

static enum lmd_status fail_errno(struct lmd_error *err, const char *path)
{
	int e = errno;

	return lmd_fail(err, e == ENOSPC || e == EDQUOT ? LMD_BUSY : e == ENOENT ? LMD_NOTFOUND
										 : LMD_IO,
			"%s: %s", path, strerror(e));
}

/* Without the lock. */
static void remove_all(struct lmi_svc_prefix_files *f, struct lmi_svc_prefix_entry *all)
{
	char path[PATH_MAX];
	struct lmi_svc_prefix_entry *next;

	for (struct lmi_svc_prefix_entry *e = all; e; e = next) {
		next = e->newer;
		if (path_of(path, f, &e->key, 0, NULL) == LMD_OK)
			(void)unlink(path);
		lmi_free(e);
	}
}

enum lmd_status lmi_svc_prefix_files_create(struct lmi_svc_prefix_files **out, const char *state_dir,
					    uint64_t max_bytes, struct lmd_error *err)
{
	struct lmi_svc_prefix_files *f = lmi_alloc(1, sizeof(*f));
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the index of saved prefixes");
	st = lmi_svc_prefix_index_init(&f->index, max_bytes, err);
	if (st != LMD_OK) {
		lmi_free(f);
		return st;
	}
	f->state_dir = state_dir;
	(void)pthread_mutex_init(&f->scan_lock, NULL);
	(void)pthread_mutex_init(&f->lock, NULL);
	*out = f;
	return LMD_OK;
}

void lmi_svc_prefix_files_destroy(struct lmi_svc_prefix_files *f)
{
	struct lmi_svc_prefix_entry *e;

	if (!f)
		return;
	while ((e = lmi_svc_prefix_index_take_any(&f->index)))
		lmi_free(e);
	(void)pthread_mutex_destroy(&f->scan_lock);
	(void)pthread_mutex_destroy(&f->lock);
	lmi_svc_prefix_index_fini(&f->index);
	lmi_free(f);
}

bool lmi_svc_prefix_files_limit(struct lmi_svc_prefix_files *f, uint64_t max_bytes)
{
	bool full;

	(void)pthread_mutex_lock(&f->lock);
	f->index.max_bytes = max_bytes;
	full = lmi_svc_prefix_index_is_full(&f->index);
	(void)pthread_mutex_unlock(&f->lock);
	return full;
}

void lmi_svc_prefix_files_trim(struct lmi_svc_prefix_files *f)
{
	struct lmi_svc_prefix_entry *excess;

	do {
		(void)pthread_mutex_lock(&f->lock);
		excess = lmi_svc_prefix_index_take_excess(&f->index);
		(void)pthread_mutex_unlock(&f->lock);
		remove_all(f, excess);
	} while (excess);
}

void lmi_svc_prefix_files_stats(struct lmi_svc_prefix_files *f,
				struct lmi_svc_prefix_files_stats *out)
{
	(void)pthread_mutex_lock(&f->lock);
	*out = f->stats;
	out->n_file = f->index.n_entry;
	out->n_bytes = f->index.n_bytes;
	out->n_evicted = f->index.n_evicted;
	(void)pthread_mutex_unlock(&f->lock);
}

bool lmi_svc_prefix_files_has(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *key)
{
	bool has;

	(void)pthread_mutex_lock(&f->lock);
	has = lmi_svc_prefix_index_find(&f->index, key) != NULL;
	(void)pthread_mutex_unlock(&f->lock);
	return has;
}

void lmi_svc_prefix_files_touch(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *key)
{
	char path[PATH_MAX];
	struct lmi_svc_prefix_entry *e;

	(void)pthread_mutex_lock(&f->lock);
	e = lmi_svc_prefix_index_find(&f->index, key);
	if (e)
		lmi_svc_prefix_index_touch(&f->index, e);
	(void)pthread_mutex_unlock(&f->lock);
	if (e && path_of(path, f, key, 0, NULL) == LMD_OK)
		(void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ---- writing ---- */

static bool digest_of(uint8_t out[LMI_SHA256_BYTES], const uint8_t head[HEAD_BYTES],
		      const void *bytes, size_t n)
{
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, head, AT_DIGEST);
	lmi_sha256_update(&h, bytes, n);
	return lmi_sha256_final(&h, out);
}

static enum lmd_status make_folders(const struct lmi_svc_prefix_files *f, uint64_t tenant,
				    struct lmd_error *err)
{
	char path[PATH_MAX];
	struct stat sb;

	if (snprintf(path, sizeof(path), "%s/prefixes", f->state_dir) >= (int)sizeof(path) - 100)
		return lmd_fail(err, LMD_INVALID, "the path of the state folder is too long");
	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_errno(err, path);
	folder_of(path, f, tenant);
	if (!mkdir(path, 0700))
		return LMD_OK;
	if (errno != EEXIST || lstat(path, &sb))
		return fail_errno(err, path);
	/* the next start looks into folders only */
	return S_ISDIR(sb.st_mode) ? LMD_OK
				   : lmd_fail(err, LMD_IO, "%s: it is not a folder; remove it", path);
}

static enum lmd_status write_file(const struct lmi_svc_prefix_files *f,
				  const struct lmi_svc_prefix_key *key, uint64_t serial,
				  const void *bytes, size_t n, struct lmd_error *err)
{
	char temp[PATH_MAX], path[PATH_MAX];
	uint8_t head[HEAD_BYTES];
	enum lmd_status st = path_of(path, f, key, 0, err);
	int fd;

	memcpy(head + AT_MAGIC, magic, sizeof(magic));
	lmi_put_le64(head + AT_N_BYTES, n);
	memcpy(head + AT_CHAIN, key->chain, sizeof(key->chain));
	lmi_put_le32(head + AT_GROUP, key->group);
	if (st == LMD_OK && !digest_of(head + AT_DIGEST, head, bytes, n))
		st = lmd_fail(err, LMD_CANCELLED, "the digest of a page was cancelled");
	if (st == LMD_OK)
		st = make_folders(f, key->tenant, err);
	if (st == LMD_OK)
		st = path_of(temp, f, key, serial, err);
	if (st != LMD_OK)
		return st;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(err, temp);
	if (!lmi_file_write_all(fd, head, sizeof(head)) || !lmi_file_write_all(fd, bytes, n))
		st = fail_errno(err, temp);
	if (close(fd) && st == LMD_OK)
		st = fail_errno(err, temp);
	if (st == LMD_OK && rename(temp, path))
		st = fail_errno(err, path);
	if (st != LMD_OK)
		(void)unlink(temp);
	return st;
}

enum lmd_status lmi_svc_prefix_files_put(struct lmi_svc_prefix_files *f,
					 const struct lmi_svc_prefix_key *key, const void *bytes,
					 size_t n, struct lmd_error *err)
{
	struct lmi_svc_prefix_entry *e = lmi_alloc(1, sizeof(*e)), *old, *excess = NULL;
	uint64_t most, serial;
	enum lmd_status st;
	bool added;

	if (!e)
		return lmd_fail(err, LMD_NOMEM, "no memory for an entry of the index");
	e->key = *key;
	e->bytes = n + HEAD_BYTES;
	(void)pthread_mutex_lock(&f->lock);
	old = lmi_svc_prefix_index_find(&f->index, key);
	most = f->index.max_bytes;
	serial = ++f->serial;
	(void)pthread_mutex_unlock(&f->lock);
	if (old || e->bytes > most) {
		lmi_free(e);
		if (!old)
			return lmd_fail(err, LMD_BUSY,
					"a page of %zu bytes exceeds the limit prefix_disk_bytes of "
					"%llu",
					n, (unsigned long long)most);
		lmi_svc_prefix_files_touch(f, key);
		return LMD_OK;
	}
	st = write_file(f, key, serial, bytes, n, err);
	if (st != LMD_OK) {
		lmi_free(e);
		return st;
	}
	(void)pthread_mutex_lock(&f->lock);
	added = lmi_svc_prefix_index_add(&f->index, e);
	if (added) {
		f->stats.n_put++;
		excess = lmi_svc_prefix_index_take_excess(&f->index);
	}
	(void)pthread_mutex_unlock(&f->lock);
	if (!added) /* written twice at the same time; or no memory, and the next start finds it */
		lmi_free(e);
	remove_all(f, excess);
	return LMD_OK;
}

/* ---- reading ---- */

static enum lmd_status read_file(const char *path, const struct lmi_svc_prefix_key *key, void *bytes,
				 size_t n, struct lmd_error *err)
{
	uint8_t head[HEAD_BYTES], digest[LMI_SHA256_BYTES];
	struct lmi_file file;
	enum lmd_status st = lmi_file_open(&file, path, err);

	if (st != LMD_OK)
		return st;
	if (file.bytes != n + (uint64_t)HEAD_BYTES)
		st = lmd_fail(err, LMD_CORRUPT, "%s: %llu bytes; its rows have %zu and its head %d",
			      lmi_file_base_name(path), (unsigned long long)file.bytes, n,
			      (int)HEAD_BYTES);
	if (st == LMD_OK)
		st = lmi_file_read(&file, 0, head, sizeof(head), err);
	if (st == LMD_OK)
		st = lmi_file_read(&file, HEAD_BYTES, bytes, n, err);
	lmi_file_close(&file);
	if (st != LMD_OK)
		return st;
	if (!digest_of(digest, head, bytes, n))
		return lmd_fail(err, LMD_CANCELLED, "the digest of a page was cancelled");
	if (memcmp(head, magic, sizeof(magic)) != 0 || lmi_get_le64(head + AT_N_BYTES) != n ||
	    memcmp(head + AT_CHAIN, key->chain, sizeof(key->chain)) != 0 ||
	    lmi_get_le32(head + AT_GROUP) != key->group ||
	    memcmp(head + AT_DIGEST, digest, sizeof(digest)) != 0)
		return lmd_fail(err, LMD_CORRUPT, "%s: damaged: its rows do not have their checksum",
				lmi_file_base_name(path));
	return LMD_OK;
}

enum lmd_status lmi_svc_prefix_files_get(struct lmi_svc_prefix_files *f,
					 const struct lmi_svc_prefix_key *key, void *bytes, size_t n,
					 struct lmd_error *err)
{
	char path[PATH_MAX];
	struct lmi_svc_prefix_entry *e = NULL;
	enum lmd_status st = path_of(path, f, key, 0, err);

	if (st == LMD_OK && !lmi_svc_prefix_files_has(f, key))
		st = lmd_fail(err, LMD_NOTFOUND, "the page is not on the disk");
	if (st != LMD_OK)
		return st;
	st = read_file(path, key, bytes, n, err);
	if (st == LMD_CANCELLED)
		return st;
	(void)pthread_mutex_lock(&f->lock);
	f->stats.n_get += st == LMD_OK;
	f->stats.n_damaged += st != LMD_OK && st != LMD_NOTFOUND;
	if (st != LMD_OK && (e = lmi_svc_prefix_index_find(&f->index, key))) {
		lmi_svc_prefix_index_take(&f->index, e);
		e->newer = NULL;
	}
	(void)pthread_mutex_unlock(&f->lock);
	remove_all(f, e);
	return st;
}

void lmi_svc_prefix_files_forget(struct lmi_svc_prefix_files *f, uint64_t tenant)
{
	struct lmi_svc_prefix_entry *all = NULL, *e;
	char path[PATH_MAX];

	(void)pthread_mutex_lock(&f->scan_lock); /* which might still find files of it */
	(void)pthread_mutex_lock(&f->lock);
	while ((e = lmi_svc_prefix_index_take_of(&f->index, tenant))) {
		e->newer = all;
		all = e;
	}
	(void)pthread_mutex_unlock(&f->lock);
	(void)pthread_mutex_unlock(&f->scan_lock);
	remove_all(f, all);
	folder_of(path, f, tenant);
	(void)rmdir(path);
}
