/* SPDX-License-Identifier: MIT
 *
 * Appending to the audit log.  A record is synced before audit.head names it, so that after a crash
 * the log has at most one record more than audit.head says, and perhaps an incomplete one. */
#include "store/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/json_text.h"
#include "core/base/printable.h"
#include "store/audit_chain.h"

struct lmi_store_audit {
	char *dir;
	int dir_fd, log, head_fd;
	uint64_t bytes, rotate_bytes;
	uint64_t first; /* the number of the first record in audit.log */
	uint64_t n_removed; /* bytes of an incomplete record that open has removed */
	struct lmi_store_audit_head head;
	struct lmi_store_audit_key key;
	bool has_key;
};

static const struct lmi_store_audit_key *key_of(const struct lmi_store_audit *a)
{
	return a->has_key ? &a->key : NULL;
}

static enum lmd_status fail(struct lmd_error *err, const char *what)
{
	return lmd_fail(err, LMD_IO, "%s: %s", what, strerror(errno));
}

/* ---- open ---- */

/* Reads a line of *n bytes, of which the first LMI_STORE_AUDIT_LINE are stored.  Returns false if it
 * has no newline. */
static bool read_line(FILE *f, char line[LMI_STORE_AUDIT_LINE + 1], size_t *n)
{
	int c;

	for (*n = 0; (c = getc(f)) != EOF && c != '\n'; (*n)++)
		if (*n < LMI_STORE_AUDIT_LINE)
			line[*n] = (char)c;
	line[*n < LMI_STORE_AUDIT_LINE ? *n : LMI_STORE_AUDIT_LINE] = 0;
	return c == '\n';
}

/* Goes through audit.log: a.bytes becomes the length of its complete lines, and the head that of its
 * last record if that is the one after audit.head's. */
static void recover(struct lmi_store_audit *a)
{
	char line[LMI_STORE_AUDIT_LINE + 1];
	struct lmi_store_audit_head next = a->head;
	const char *why;
	int fd = openat(a->dir_fd, "audit.log", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	size_t n;

	while (f && read_line(f, line, &n)) {
		if (!a->bytes)
			(void)sscanf(line, "{\"seq\":%20llu,", (unsigned long long *)&a->first);
		a->bytes += n + 1;
		if (n <= LMI_STORE_AUDIT_LINE && lmi_store_audit_follow(&next, line, n, key_of(a), &why))
			a->head = next;
	}
	if (f)
		(void)fclose(f);
	else if (fd >= 0)
		(void)close(fd);
}

static enum lmd_status write_head(struct lmi_store_audit *a, struct lmd_error *err)
{
	char text[LMI_STORE_AUDIT_HEAD_TEXT];
	size_t n = lmi_store_audit_head_text(text, &a->head, key_of(a));

	if (!n)
		return lmd_fail(err, LMD_NOMEM, "no memory for audit.head");
	if (pwrite(a->head_fd, text, n, 0) != (ssize_t)n || ftruncate(a->head_fd, (off_t)n) ||
	    fsync(a->head_fd))
		return fail(err, "audit.head");
	return LMD_OK;
}

static enum lmd_status refuse(const struct lmi_store_audit *a, const char *why, struct lmd_error *err)
{
	return lmd_fail(err, LMD_DENIED,
			"%.200s: %s; check with `llamactl audit verify --key FILE`, or move audit*.log and "
			"audit.head elsewhere to begin a new audit log",
			a->dir, why);
}

/* Reads audit.head.  A log that was made without a key gets one only if it is whole and no record has a
 * MAC: else a shortened log with an audit.head that was made without the key would get a new MAC. */
static enum lmd_status find_head(struct lmi_store_audit *a, struct lmd_error *err)
{
	struct lmi_store_audit_result r;
	enum lmd_status st = lmi_store_audit_head_read(&a->head, a->dir, key_of(a), err);

	if (st == LMD_OK && a->head.keyed)
		return a->has_key ? LMD_OK : refuse(a, "the audit log has a key: set audit_key", err);
	if (st == LMD_DENIED)
		return refuse(a, "audit.head was changed, or audit_key is another one", err);
	if (st != LMD_OK && st != LMD_NOTFOUND && st != LMD_CORRUPT)
		return st;
	if (st != LMD_OK) /* what is in the log follows from nothing, or is found as damaged */
		lmi_store_audit_head_init(&a->head);
	if (!a->has_key)
		return LMD_OK;
	st = lmi_store_audit_verify(a->dir, NULL, NULL, NULL, &r, err);
	if (st == LMD_IO || st == LMD_NOMEM)
		return st;
	if (r.n && (st != LMD_OK || r.n_plain != r.n))
		return refuse(a, "the audit log was changed", err);
	return LMD_OK;
}

static enum lmd_status open_files(struct lmi_store_audit *a, struct lmd_error *err)
{
	enum lmd_status st = find_head(a, err);
	struct stat sb;

	if (st != LMD_OK)
		return st;
	recover(a);
	a->log = openat(a->dir_fd, "audit.log", O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	if (a->log < 0 || fstat(a->log, &sb))
		return fail(err, "audit.log");
	a->n_removed = (uint64_t)sb.st_size - a->bytes;
	if (ftruncate(a->log, (off_t)a->bytes) || fsync(a->log))
		return fail(err, "audit.log");
	a->head_fd = openat(a->dir_fd, "audit.head", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (a->head_fd < 0 || fsync(a->dir_fd))
		return fail(err, "audit.head");
	return a->has_key ? write_head(a, err) : LMD_OK;
}

enum lmd_status lmi_store_audit_open(struct lmi_store_audit **out, const char *dir,
				     const struct lmi_store_audit_key *key, uint64_t rotate_bytes,
				     struct lmd_error *err)
{
	struct lmi_store_audit *a = lmi_alloc(1, sizeof(*a));
	enum lmd_status st;

	if (!a)
		return lmd_fail(err, LMD_NOMEM, "no memory for the audit log");
	a->dir_fd = a->log = a->head_fd = -1;
	a->has_key = key;
	if (key)
		a->key = *key;
	a->rotate_bytes = rotate_bytes ? rotate_bytes : LMI_STORE_AUDIT_BYTES;
	a->dir = lmi_strndup(dir, strlen(dir));
	if (!a->dir)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the audit log");
	else if ((a->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		st = fail(err, dir);
	else
		st = open_files(a, err);
	if (st != LMD_OK) {
		lmi_store_audit_close(a);
		return st;
	}
	*out = a;
	return LMD_OK;
}

uint64_t lmi_store_audit_repaired(const struct lmi_store_audit *a)
{
	return a->n_removed;
}

uint64_t lmi_store_audit_last(const struct lmi_store_audit *a, const char **hash)
{
	*hash = a->head.hash;
	return a->head.seq;
}

void lmi_store_audit_close(struct lmi_store_audit *a)
{
	if (!a)
		return;
	if (a->dir_fd >= 0)
		(void)close(a->dir_fd);
	if (a->log >= 0)
		(void)close(a->log);
	if (a->head_fd >= 0)
		(void)close(a->head_fd);
	lmi_free(a->dir);
	explicit_bzero(&a->key, sizeof(a->key));
	lmi_free(a);
}

/* ---- append ---- */

static void put(struct lmi_json_text *j, const char *key, const char *text)
{
	char shown[LMI_STORE_AUDIT_FIELD];

	text = text ? text : "";
	lmi_json_text_key(j, key);
	lmi_json_text_str(j, lmi_printable(shown, sizeof(shown), text, strlen(text)));
}

static void put_time(struct lmi_json_text *j, int64_t at_ns)
{
	time_t t = (time_t)(at_ns / 1000000000);
	char text[48] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
			       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			       tm.tm_sec, (int)(at_ns / 1000000 % 1000));
	put(j, "time", text);
}

/* Writes the line of the next record, and its hash. */
static enum lmd_status write_record(const struct lmi_store_audit *a,
				    const struct lmi_store_audit_event *e,
				    char line[LMI_STORE_AUDIT_LINE], size_t *n,
				    char hash[LMI_SHA256_HEX], struct lmd_error *err)
{
	struct lmi_json_text j = {0};
	enum lmd_status st;

	lmi_json_text_flat_object(&j);
	put_time(&j, e->at_ns);
	put(&j, "event", e->event);
	put(&j, "principal", e->principal);
	put(&j, "subject", e->subject);
	put(&j, "detail", e->detail);
	lmi_json_text_end(&j);
	st = lmi_json_text_finish(&j, err);
	if (st == LMD_OK) {
		/* without the braces of the object */
		*n = (size_t)snprintf(line, LMI_STORE_AUDIT_LINE, "{\"seq\":%llu,%.*s,\"prev\":\"%s\"",
				      (unsigned long long)a->head.seq + 1,
				      (int)(strrchr(j.text, '}') - j.text - 1), j.text + 1,
				      a->head.hash);
		if (!lmi_store_audit_hash(hash, key_of(a), line, *n))
			st = lmd_fail(err, LMD_NOMEM, "no memory for a record of the audit log");
		else
			*n += (size_t)snprintf(line + *n, LMI_STORE_AUDIT_LINE - *n,
					       ",\"%s\":\"%s\"}\n",
					       a->has_key ? "mac" : "hash", hash);
	}
	lmi_json_text_fini(&j);
	return st;
}

/* Gives audit.log the name of its first record and begins a new one. */
static enum lmd_status rotate(struct lmi_store_audit *a, struct lmd_error *err)
{
	char name[40];
	int log;

	(void)snprintf(name, sizeof(name), "audit-%020llu.log", (unsigned long long)a->first);
	if (renameat(a->dir_fd, "audit.log", a->dir_fd, name))
		return fail(err, name);
	log = openat(a->dir_fd, "audit.log", O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	if (log < 0 || fsync(a->dir_fd))
		return fail(err, "audit.log");
	(void)close(a->log);
	a->log = log;
	a->bytes = 0;
	return LMD_OK;
}

enum lmd_status lmi_store_audit_append(struct lmi_store_audit *a,
				       const struct lmi_store_audit_event *e, struct lmd_error *err)
{
	char line[LMI_STORE_AUDIT_LINE], hash[LMI_SHA256_HEX];
	size_t n = 0;
	enum lmd_status st = a->bytes >= a->rotate_bytes ? rotate(a, err) : LMD_OK;

	if (st == LMD_OK)
		st = write_record(a, e, line, &n, hash, err);
	if (st != LMD_OK)
		return st;
	if (!lmi_file_write_all(a->log, line, n) || fsync(a->log)) {
		st = fail(err, "audit.log");
		(void)!ftruncate(a->log, (off_t)a->bytes); /* of an incomplete record */
		return st;
	}
	a->first = a->bytes ? a->first : a->head.seq + 1;
	a->bytes += n;
	a->head.seq++;
	a->head.keyed = a->has_key;
	memcpy(a->head.hash, hash, sizeof(hash));
	return write_head(a, err);
}
