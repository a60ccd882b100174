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
#define MAC	   ",\"mac\":\""
#define N_PREV	   (sizeof(PREV) - 1 + 64 + 1)
#define N_MAC	   (sizeof(MAC) - 1 + 64 + 2)
#define HEAD_BYTES (20 + 1 + 64 + 1)
#define PATH_BYTES 4352
/* Before the text of audit.head in its MAC; no record begins so. */
#define HEAD_WORD "audit.head "

void lmi_store_audit_head_init(struct lmi_store_audit_head *h)
{
	*h = (struct lmi_store_audit_head){0};
	memset(h->hash, '0', sizeof(h->hash) - 1);
}

bool lmi_store_audit_hash(char out[LMI_SHA256_HEX], const struct lmi_store_audit_key *key,
			  const void *bytes, size_t n)
{
	uint8_t digest[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	if (key) {
		if (!lmi_sha256_hmac(digest, key->bytes, sizeof(key->bytes), bytes, n))
			return false;
	} else {
		if (!lmi_sha256_init(&h))
			return false;
		lmi_sha256_update(&h, bytes, n);
		if (!lmi_sha256_final(&h, digest))
			return false;
	}
	lmi_sha256_hex(out, digest);
	return true;
}

/* Returns the hash at the end of a line, and where the bytes end that it is of; NULL: there is none. */
static const char *find_hash(const char *line, size_t n, const char **end, bool *keyed)
{
	if (n < N_PREV + N_MAC + 1 || memcmp(line + n - 2, "\"}", 2) != 0)
		return NULL;
	*end = line + n - N_MAC;
	*keyed = !memcmp(*end, MAC, sizeof(MAC) - 1);
	if (*keyed)
		return *end + sizeof(MAC) - 1;
	(*end)--;
	return memcmp(*end, HASH, sizeof(HASH) - 1) ? NULL : *end + sizeof(HASH) - 1;
}

bool lmi_store_audit_follow(struct lmi_store_audit_head *h, const char *line, size_t n,
			    const struct lmi_store_audit_key *key, const char **why)
{
	char begin[40], hash[LMI_SHA256_HEX];
	const char *stated, *end, *prev;
	bool keyed;
	size_t n_begin = (size_t)snprintf(begin, sizeof(begin), "{\"seq\":%llu,",
					  (unsigned long long)h->seq + 1);

	*why = "is not a record";
	stated = find_hash(line, n, &end, &keyed);
	if (!stated || n < n_begin + N_PREV)
		return false;
	prev = end - N_PREV;
	if (memcmp(prev, PREV, sizeof(PREV) - 1) != 0 || end[-1] != '"')
		return false;
	*why = "has no key, and records before it have one";
	if (h->keyed && !keyed)
		return false;
	*why = "cannot be checked: there is no memory";
	if (keyed && !key)
		(void)snprintf(hash, sizeof(hash), "%.64s", stated);
	else if (!lmi_store_audit_hash(hash, keyed ? key : NULL, line, (size_t)(end - line)))
		return false;
	*why = keyed ? "was changed, or its key is another one" : "was changed: its hash is another one";
	if (memcmp(hash, stated, 64) != 0 || !lmi_sha256_is_hex(hash))
		return false;
	*why = "is not the next one: a record before it was removed, added or moved";
	if (memcmp(line, begin, n_begin) != 0 || memcmp(h->hash, prev + sizeof(PREV) - 1, 64) != 0)
		return false;
	h->seq++;
	h->keyed = keyed;
	memcpy(h->hash, hash, sizeof(hash));
	return true;
}

/* ---- audit.head ---- */

size_t lmi_store_audit_head_text(char out[LMI_STORE_AUDIT_HEAD_TEXT],
				 const struct lmi_store_audit_head *h,
				 const struct lmi_store_audit_key *key)
{
	char text[sizeof(HEAD_WORD) + HEAD_BYTES], mac[LMI_SHA256_HEX];
	int n = snprintf(text, sizeof(text), HEAD_WORD "%020llu %s", (unsigned long long)h->seq, h->hash);

	if (!key)
		return (size_t)snprintf(out, LMI_STORE_AUDIT_HEAD_TEXT, "%s\n", text + strlen(HEAD_WORD));
	if (!lmi_store_audit_hash(mac, key, text, (size_t)n))
		return 0;
	return (size_t)snprintf(out, LMI_STORE_AUDIT_HEAD_TEXT, "%s %s\n", text + strlen(HEAD_WORD), mac);
}

/* Takes what a text of audit.head says, if it is what the daemon writes. */
static enum lmd_status parse_head(struct lmi_store_audit_head *h, const char *text, size_t n,
				  const struct lmi_store_audit_key *key)
{
	char hash[LMI_SHA256_HEX] = "", mac[LMI_SHA256_HEX] = "", again[LMI_STORE_AUDIT_HEAD_TEXT];
	struct lmi_store_audit_head got = {0};
	unsigned long long seq = 0;
	size_t n_plain;

	if (sscanf(text, "%20llu %64s %64s", &seq, hash, mac) < 2 || !lmi_sha256_is_hex(hash))
		return LMD_CORRUPT;
	got.seq = seq;
	got.keyed = *mac;
	memcpy(got.hash, hash, sizeof(hash));
	n_plain = lmi_store_audit_head_text(again, &got, NULL);
	if (got.keyed && (n != n_plain + 65 || !lmi_sha256_is_hex(mac) || text[n - 1] != '\n' ||
			  memcmp(text, again, n_plain - 1) != 0 || text[n_plain - 1] != ' '))
		return LMD_CORRUPT;
	if (!got.keyed && (n != n_plain || memcmp(text, again, n) != 0))
		return LMD_CORRUPT;
	if (got.keyed && key &&
	    (lmi_store_audit_head_text(again, &got, key) != n || memcmp(text, again, n) != 0))
		return LMD_DENIED;
	*h = got;
	return LMD_OK;
}

enum lmd_status lmi_store_audit_head_read(struct lmi_store_audit_head *h, const char *dir,
					  const struct lmi_store_audit_key *key,
					  struct lmd_error *err)
{
	char path[PATH_BYTES], text[LMI_STORE_AUDIT_HEAD_TEXT + 1];
	enum lmd_status st;
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
	st = parse_head(h, text, n, key);
	if (st == LMD_CORRUPT)
		return lmd_fail(err, st, "%.200s was changed", path);
	if (st == LMD_DENIED)
		return lmd_fail(err, st, "%.200s was changed, or its key is another one", path);
	return st;
}

/* ---- all files ---- */

struct reading {
	struct lmi_store_audit_head at, head; /* head: that of audit.head */
	const struct lmi_store_audit_key *key;
	struct lmi_store_audit_result *result;
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
		if (!lmi_store_audit_follow(&r->at, line, n, r->key, &why)) {
			st = lmd_fail(err, LMD_CORRUPT, "%.100s: the line after record %llu %s", name,
				      (unsigned long long)r->at.seq, why);
			break;
		}
		r->result->n = r->at.seq;
		r->result->n_plain += !r->at.keyed;
		r->result->n_unchecked += r->at.keyed && !r->key;
		if (r->record)
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

/* Compares the end of what was read with audit.head, which was read before: had_head. */
static enum lmd_status check_head(const struct reading *r, enum lmd_status had_head,
				  const struct lmd_error *why, struct lmd_error *err)
{
	if (had_head != LMD_OK)
		return lmd_fail(err, had_head == LMD_IO ? LMD_IO : LMD_CORRUPT, "%s", why->text);
	if (r->at.seq < r->head.seq)
		return lmd_fail(err, LMD_CORRUPT,
				"the log ends with record %llu: those up to %llu are missing",
				(unsigned long long)r->at.seq, (unsigned long long)r->head.seq);
	if (!r->head_fits)
		return lmd_fail(err, LMD_CORRUPT, "record %llu is not the one of audit.head",
				(unsigned long long)r->head.seq);
	return LMD_OK;
}

enum lmd_status lmi_store_audit_verify(const char *dir, const struct lmi_store_audit_key *key,
				       void (*record)(void *arg, const char *line, size_t n),
				       void *arg, struct lmi_store_audit_result *result,
				       struct lmd_error *err)
{
	struct reading r = {.record = record, .arg = arg, .key = key, .result = result};
	struct lmd_error why;
	/* first, since a daemon may append meanwhile */
	enum lmd_status had_head = lmi_store_audit_head_read(&r.head, dir, key, &why);
	enum lmd_status st;

	*result = (struct lmi_store_audit_result){0};
	lmi_store_audit_head_init(&r.at);
	r.head_fits = had_head == LMD_OK && !r.head.seq && !strcmp(r.head.hash, r.at.hash);
	st = read_all(&r, dir, err);
	if (st == LMD_NOTFOUND && had_head == LMD_OK)
		return lmd_fail(err, LMD_CORRUPT, "audit.log is missing: audit.head names record %llu",
				(unsigned long long)r.head.seq);
	if (st == LMD_OK)
		st = check_head(&r, had_head, &why, err);
	if (st != LMD_OK || !key)
		return st;
	if (!r.at.keyed)
		return lmd_fail(err, LMD_CORRUPT,
				"no record was made with a key: the daemon has none (audit_key), or the "
				"log was replaced");
	/* a head without a MAC is one that anybody can make for a log that lacks its latest records */
	return r.head.keyed
		       ? LMD_OK
		       : lmd_fail(err, LMD_CORRUPT, "audit.head was replaced: it was made without the key");
}
