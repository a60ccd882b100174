/* SPDX-License-Identifier: MIT
 *
 * Reading and checking the audit log.  Only the bytes are looked at: what a record says between its
 * number and its hashes does not matter here. */
#include "store/audit_chain.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define PREV	   ",\"prev\":\""
#define HASH	   ",\"hash\":\""
#define N_PREV	   (sizeof(PREV) - 1 + 64 + 1)
#define N_HASH	   (sizeof(HASH) - 1 + 64 + 2)
#define HEAD_BYTES (20 + 1 + 64 + 1)
#define PATH_BYTES 4352

void lmi_store_audit_head_init(struct lmi_store_audit_head *h)
{
	h->seq = 0;
	memset(h->hash, '0', sizeof(h->hash) - 1);
	h->hash[sizeof(h->hash) - 1] = 0;
}

bool lmi_store_audit_hash(char out[LMI_SHA256_HEX], const void *bytes, size_t n)
{
	uint8_t digest[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, bytes, n);
	if (!lmi_sha256_final(&h, digest))
		return false;
	lmi_sha256_hex(out, digest);
	return true;
}

bool lmi_store_audit_follow(struct lmi_store_audit_head *h, const char *line, size_t n,
			    const char **why)
{
	char begin[40], hash[LMI_SHA256_HEX];
	const char *tail, *prev;
	int n_begin = snprintf(begin, sizeof(begin), "{\"seq\":%llu,", (unsigned long long)h->seq + 1);

	*why = "is not a record";
	if (n < (size_t)n_begin + N_PREV + N_HASH)
		return false;
	tail = line + n - N_HASH;
	prev = tail - N_PREV;
	if (memcmp(tail, HASH, sizeof(HASH) - 1) || memcmp(line + n - 2, "\"}", 2) ||
	    memcmp(prev, PREV, sizeof(PREV) - 1) || tail[-1] != '"')
		return false;
	*why = "cannot be checked: there is no memory";
	if (!lmi_store_audit_hash(hash, line, (size_t)(tail - line)))
		return false;
	*why = "was changed: its hash is another one";
	if (memcmp(hash, tail + sizeof(HASH) - 1, 64))
		return false;
	*why = "is not the next one: a record before it was removed, added or moved";
	if (memcmp(line, begin, (size_t)n_begin) || memcmp(h->hash, prev + sizeof(PREV) - 1, 64))
		return false;
	h->seq++;
	memcpy(h->hash, hash, sizeof(hash));
	return true;
}

enum lmd_status lmi_store_audit_head_read(struct lmi_store_audit_head *h, const char *dir,
					  struct lmd_error *err)
{
	char path[PATH_BYTES], text[HEAD_BYTES + 2], again[HEAD_BYTES + 2];
	unsigned long long seq = 0;
	char hash[LMI_SHA256_HEX];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/audit.head", dir);
	f = fopen(path, "re");
	if (!f)
		return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%.200s: %s", path,
				strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = 0;
	if (n == HEAD_BYTES && sscanf(text, "%20llu %64s", &seq, hash) == 2) {
		(void)snprintf(again, sizeof(again), "%020llu %s\n", seq, hash);
		if (!memcmp(text, again, HEAD_BYTES) && lmi_sha256_is_hex(hash)) {
			h->seq = seq;
			memcpy(h->hash, hash, sizeof(h->hash));
			return LMD_OK;
		}
	}
	return lmd_fail(err, LMD_CORRUPT, "%.200s was changed", path);
}

/* ---- all files ---- */

struct reading {
	struct lmi_store_audit_head at, head; /* head: that of audit.head */
	bool head_fits;
	void (*record)(void *arg, const char *line, size_t n);
	void *arg;
	bool cut; /* the last line is incomplete */
};

static enum lmd_status read_file(struct reading *r, const char *dir, const char *name,
				 struct lmd_error *err)
{
	char path[PATH_BYTES], line[LMI_STORE_AUDIT_LINE + 1];
	enum lmd_status st = LMD_OK;
	const char *why = "";
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%.200s: %s", path,
				strerror(errno));
	while (st == LMD_OK && !r->cut) {
		int c = 0;

		for (n = 0; n < sizeof(line) && (c = getc(f)) != EOF && c != '\n';)
			line[n++] = (char)c;
		if (!n && c == EOF)
			break;
		r->cut = c == EOF;
		if (r->cut)
			break;
		if (!lmi_store_audit_follow(&r->at, line, n, &why))
			st = lmd_fail(err, LMD_CORRUPT, "%.100s: the line after record %llu %s", name,
				      (unsigned long long)r->at.seq, why);
		else if (r->record)
			r->record(r->arg, line, n);
		if (r->at.seq == r->head.seq)
			r->head_fits = !strcmp(r->at.hash, r->head.hash);
	}
	if (st == LMD_OK && ferror(f))
		st = lmd_fail(err, LMD_IO, "%.200s: read error", path);
	(void)fclose(f);
	return st;
}

static int is_old(const struct dirent *e)
{
	return strlen(e->d_name) == 30 && !strncmp(e->d_name, "audit-", 6) &&
	       strspn(e->d_name + 6, "0123456789") == 20 && !strcmp(e->d_name + 26, ".log");
}

static enum lmd_status read_all(struct reading *r, const char *dir, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct dirent **old;
	int n = scandir(dir, &old, is_old, alphasort);

	if (n < 0)
		return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%.200s: %s", dir,
				strerror(errno));
	for (int i = 0; i < n; i++) {
		if (st == LMD_OK && r->cut)
			st = lmd_fail(err, LMD_CORRUPT, "the last record before %s is incomplete",
				      old[i]->d_name);
		if (st == LMD_OK)
			st = read_file(r, dir, old[i]->d_name, err);
		free(old[i]);
	}
	free(old);
	if (st == LMD_OK && !r->cut)
		st = read_file(r, dir, "audit.log", err);
	/* a new one follows with the next record */
	return st == LMD_NOTFOUND && n ? LMD_OK : st;
}

enum lmd_status lmi_store_audit_verify(const char *dir,
				       void (*record)(void *arg, const char *line, size_t n),
				       void *arg, uint64_t *n, struct lmd_error *err)
{
	struct reading r = {.record = record, .arg = arg};
	struct lmd_error why;
	/* first, since a daemon may append meanwhile */
	enum lmd_status had_head = lmi_store_audit_head_read(&r.head, dir, &why);
	enum lmd_status st;

	lmi_store_audit_head_init(&r.at);
	st = read_all(&r, dir, err);
	*n = r.at.seq;
	if (st == LMD_NOTFOUND && had_head == LMD_OK)
		return lmd_fail(err, LMD_CORRUPT, "audit.log is missing: audit.head names record %llu",
				(unsigned long long)r.head.seq);
	if (st != LMD_OK)
		return st;
	if (had_head != LMD_OK)
		return lmd_fail(err, had_head == LMD_NOTFOUND ? LMD_CORRUPT : had_head, "%s", why.text);
	if (r.at.seq < r.head.seq)
		return lmd_fail(err, LMD_CORRUPT,
				"the log ends with record %llu: those up to %llu are missing",
				(unsigned long long)r.at.seq, (unsigned long long)r.head.seq);
	if (!r.head_fits)
		return lmd_fail(err, LMD_CORRUPT, "record %llu is not the one of audit.head",
				(unsigned long long)r.head.seq);
	return LMD_OK;
}
