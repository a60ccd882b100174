/* SPDX-License-Identifier: MIT
 *
 * Files of the disk tier. The index in memory is a hash table and, for each tenant, a list by time of use; the
 * time of change of a file keeps that order over a restart. A file is written under a temporary name and
 * renamed, so that a killed daemon leaves whole files and temporary ones, which the next start
 * removes.
 *
 * Half of the limits is divided equally among the tenants that have files. Of what a tenant has within
 * its share nothing is removed for others, so that one cannot push out what all others have. */
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

#define N_BUCKET   65536u
#define EXCESS_MAX 1024u   /* files that are removed at a time */

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

/* ---- index; with the lock ---- */

static struct lmi_svc_prefix_entry **bucket_of(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *k)
{
	/* the chain is a SHA-256: its bits need no further hash */
	return &f->bucket[(lmi_get_le32(k->chain) ^ k->group ^ (uint32_t)k->tenant) % N_BUCKET];
}

static bool same_key(const struct lmi_svc_prefix_key *a, const struct lmi_svc_prefix_key *b)
{
	return a->tenant == b->tenant && a->group == b->group &&
	       !memcmp(a->chain, b->chain, sizeof(a->chain));
}

static struct lmi_svc_prefix_entry *find(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *key)
{
	struct lmi_svc_prefix_entry *e = *bucket_of(f, key);

	while (e && !same_key(&e->key, key))
		e = e->bucket_next;
	return e;
}

static void list_remove(struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_tenant *t = e->tenant;

	*(e->older ? &e->older->newer : &t->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &t->newest) = e->older;
}

static void list_append(struct lmi_svc_prefix_files *f, struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_tenant *t = e->tenant;

	e->used = ++f->n_use;
	e->newer = NULL;
	e->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = e;
	t->newest = e;
}

static struct lmi_svc_prefix_tenant *find_tenant(const struct lmi_svc_prefix_files *f, uint64_t id)
{
	struct lmi_svc_prefix_tenant *t = f->tenants;

	while (t && t->id != id)
		t = t->next;
	return t;
}

static struct lmi_svc_prefix_tenant *take_tenant(struct lmi_svc_prefix_files *f, uint64_t id)
{
	struct lmi_svc_prefix_tenant *t = find_tenant(f, id);

	if (t || !(t = lmi_alloc(1, sizeof(*t))))
		return t;
	t->id = id;
	t->next = f->tenants;
	f->tenants = t;
	f->n_tenant++;
	return t;
}

static void drop_tenant(struct lmi_svc_prefix_files *f, struct lmi_svc_prefix_tenant *t)
{
	struct lmi_svc_prefix_tenant **p = &f->tenants;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	f->n_tenant--;
	lmi_free(t);
}

bool lmi_svc_prefix_files_add(struct lmi_svc_prefix_files *f, struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_entry **b = bucket_of(f, &e->key);

	if (find(f, &e->key) || !(e->tenant = take_tenant(f, e->key.tenant)))
		return false;
	e->bucket_next = *b;
	*b = e;
	list_append(f, e);
	e->tenant->n_file++;
	e->tenant->n_bytes += e->bytes;
	f->stats.n_file++;
	f->stats.n_bytes += e->bytes;
	return true;
}

static void take_out(struct lmi_svc_prefix_files *f, struct lmi_svc_prefix_entry *e)
{
	struct lmi_svc_prefix_entry **b = bucket_of(f, &e->key);

	while (*b != e)
		b = &(*b)->bucket_next;
	*b = e->bucket_next;
	list_remove(e);
	e->tenant->n_bytes -= e->bytes;
	f->stats.n_file--;
	f->stats.n_bytes -= e->bytes;
	if (!--e->tenant->n_file)
		drop_tenant(f, e->tenant);
}

static bool is_full(const struct lmi_svc_prefix_files *f)
{
	return f->stats.n_bytes > f->max_bytes || f->stats.n_file > LMI_SVC_PREFIX_FILES_MAX;
}

/* Returns what was used longest ago of the tenants that have more than their share. If the limits are
 * exceeded, one has. */
static struct lmi_svc_prefix_entry *oldest_excess(const struct lmi_svc_prefix_files *f)
{
	uint64_t most_bytes = f->max_bytes / (2 * f->n_tenant);
	uint64_t most_files = LMI_SVC_PREFIX_FILES_MAX / (2 * f->n_tenant);
	struct lmi_svc_prefix_entry *best = NULL;

	for (const struct lmi_svc_prefix_tenant *t = f->tenants; t; t = t->next)
		if ((t->n_bytes > most_bytes || t->n_file > most_files) &&
		    (!best || t->oldest->used < best->used))
			best = t->oldest;
	return best;
}

/* Takes out what exceeds the limits, but at most EXCESS_MAX files; returns it as a list by `newer`. */
static struct lmi_svc_prefix_entry *take_excess(struct lmi_svc_prefix_files *f)
{
	struct lmi_svc_prefix_entry *all = NULL;

	for (uint32_t n = 0; n < EXCESS_MAX && is_full(f); n++) {
		struct lmi_svc_prefix_entry *e = oldest_excess(f);

		take_out(f, e);
		f->stats.n_evicted++;
		e->newer = all;
		all = e;
	}
	return all;
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

	if (f)
		f->bucket = lmi_alloc(N_BUCKET, sizeof(*f->bucket));
	if (!f || !f->bucket) {
		lmi_free(f);
		return lmd_fail(err, LMD_NOMEM, "no memory for the index of saved prefixes");
	}
	f->state_dir = state_dir;
	f->max_bytes = max_bytes;
	(void)pthread_mutex_init(&f->scan_lock, NULL);
	(void)pthread_mutex_init(&f->lock, NULL);
	*out = f;
	return LMD_OK;
}

void lmi_svc_prefix_files_destroy(struct lmi_svc_prefix_files *f)
{
	if (!f)
		return;
	while (f->tenants) {
		struct lmi_svc_prefix_entry *e = f->tenants->oldest;

		take_out(f, e);
		lmi_free(e);
	}
	(void)pthread_mutex_destroy(&f->scan_lock);
	(void)pthread_mutex_destroy(&f->lock);
	lmi_free(f->bucket);
	lmi_free(f);
}

bool lmi_svc_prefix_files_limit(struct lmi_svc_prefix_files *f, uint64_t max_bytes)
{
	bool full;

	(void)pthread_mutex_lock(&f->lock);
	f->max_bytes = max_bytes;
	full = is_full(f);
	(void)pthread_mutex_unlock(&f->lock);
	return full;
}

void lmi_svc_prefix_files_trim(struct lmi_svc_prefix_files *f)
{
	struct lmi_svc_prefix_entry *excess;

	do {
		(void)pthread_mutex_lock(&f->lock);
		excess = take_excess(f);
		(void)pthread_mutex_unlock(&f->lock);
		remove_all(f, excess);
	} while (excess);
}

void lmi_svc_prefix_files_stats(struct lmi_svc_prefix_files *f,
				struct lmi_svc_prefix_files_stats *out)
{
	(void)pthread_mutex_lock(&f->lock);
	*out = f->stats;
	(void)pthread_mutex_unlock(&f->lock);
}

bool lmi_svc_prefix_files_has(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *key)
{
	bool has;

	(void)pthread_mutex_lock(&f->lock);
	has = find(f, key) != NULL;
	(void)pthread_mutex_unlock(&f->lock);
	return has;
}

void lmi_svc_prefix_files_touch(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *key)
{
	char path[PATH_MAX];
	struct lmi_svc_prefix_entry *e;

	(void)pthread_mutex_lock(&f->lock);
	e = find(f, key);
	if (e) {
		list_remove(e);
		list_append(f, e);
	}
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
	old = find(f, key);
	most = f->max_bytes;
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
	added = lmi_svc_prefix_files_add(f, e);
	if (added) {
		f->stats.n_put++;
		excess = take_excess(f);
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
	if (st != LMD_OK && (e = find(f, key))) {
		take_out(f, e);
		e->newer = NULL;
	}
	(void)pthread_mutex_unlock(&f->lock);
	remove_all(f, e);
	return st;
}

void lmi_svc_prefix_files_forget(struct lmi_svc_prefix_files *f, uint64_t tenant)
{
	struct lmi_svc_prefix_entry *all = NULL;
	struct lmi_svc_prefix_tenant *t;
	char path[PATH_MAX];

	(void)pthread_mutex_lock(&f->scan_lock); /* which might still find files of it */
	(void)pthread_mutex_lock(&f->lock);
	while ((t = find_tenant(f, tenant))) {
		struct lmi_svc_prefix_entry *e = t->oldest;

		take_out(f, e);
		e->newer = all;
		all = e;
	}
	(void)pthread_mutex_unlock(&f->lock);
	(void)pthread_mutex_unlock(&f->scan_lock);
	remove_all(f, all);
	folder_of(path, f, tenant);
	(void)rmdir(path);
}
