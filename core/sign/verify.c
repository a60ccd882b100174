/* SPDX-License-Identifier: MIT
 *
 * Checks a model against its manifest, in this order: the envelope, the key, the signature over the
 * bytes of the manifest, and only then its contents and the files.  No byte of a model is
 * interpreted here. */
#include "core/sign/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/sign/remember.h"

#define SHOW 112

const char *lmi_sign_state_word(enum lmi_sign_state s)
{
	switch (s) {
	case LMI_SIGN_VALID:
		return "valid";
	case LMI_SIGN_NONE:
		return "none";
	case LMI_SIGN_UNKNOWN_KEY:
		return "unknown-key";
	case LMI_SIGN_BAD_MANIFEST:
		return "bad-manifest";
	case LMI_SIGN_CHANGED:
		return "changed";
	case LMI_SIGN_UNKNOWN:
		break;
	}
	return "unknown";
}

void lmi_sign_result_fini(struct lmi_sign_result *r)
{
	lmi_free(r->ids);
	r->ids = NULL;
}

/* ---- where the manifest is ---- */

static bool exists(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0;
}

/* Length of the folder of a path with its slash; 0: the current folder. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

bool lmi_sign_find(char out[LMI_SIGN_PATH_MAX], const char *path)
{
	char beside[LMI_SIGN_PATH_MAX];
	struct stat sb;
	size_t n = strlen(path);

	if (n > LMI_SIGN_PATH_MAX - 16)
		n = LMI_SIGN_PATH_MAX - 16; /* such a path cannot be opened either */
	if (stat(path, &sb) == 0 && S_ISDIR(sb.st_mode)) {
		while (n > 1 && path[n - 1] == '/')
			n--;
		(void)snprintf(out, LMI_SIGN_PATH_MAX, "%.*s/%s", (int)n, path,
			       LMI_SIGN_FOLDER_NAME);
		return exists(out);
	}
	(void)snprintf(out, LMI_SIGN_PATH_MAX, "%.*s%s", (int)n, path, LMI_SIGN_SUFFIX);
	if (exists(out))
		return true;
	n = folder_length(path);
	n = n > LMI_SIGN_PATH_MAX - 16 ? LMI_SIGN_PATH_MAX - 16 : n;
	(void)snprintf(beside, sizeof(beside), "%.*s%s", (int)n, path, LMI_SIGN_FOLDER_NAME);
	if (!exists(beside))
		return false;
	memcpy(out, beside, sizeof(beside));
	return true;
}

/* ---- the manifest ---- */

/* One check. */
struct check {
	struct lmi_sign_result *r;
	const struct lmi_sign_subject *s;
	struct lmi_sign_manifest m;
	struct lmi_sign_input *in;		/* [n_files] */
	char (*paths)[LMI_SIGN_PATH_MAX];	/* [n_files] */
	uint8_t (*found)[LMI_SHA256_BYTES];	/* [n_chunks] */
	uint8_t (*content)[LMI_SHA256_BYTES];	/* [n_files] */
	int64_t clock_ns;			/* when hashing began */
	struct lmd_error *err;
};

static enum lmd_status fail_state(struct check *c, enum lmi_sign_state state, enum lmd_status st)
{
	c->r->state = state;
	return st;
}

static const struct lmi_sign_public *find_key(const char *id, const struct lmi_sign_public *keys,
					      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(keys[i].id, id))
			return &keys[i];
	return NULL;
}

static enum lmd_status check_signature(struct check *c, const char *text, size_t n,
				       const struct lmi_sign_public *keys, uint32_t n_keys)
{
	struct lmi_sign_envelope e;
	const struct lmi_sign_public *key;
	enum lmd_status st = lmi_sign_envelope_parse(&e, text, n, c->err);
	char show[SHOW];

	(void)lmi_printable_path(show, sizeof(show), c->r->manifest);
	if (st != LMD_OK) {
		lmd_error_prefix(c->err, show);
		return fail_state(c, LMI_SIGN_BAD_MANIFEST, st);
	}
	memcpy(c->r->key_id, e.key_id, sizeof(e.key_id));
	key = find_key(e.key_id, keys, n_keys);
	if (!key)
		return fail_state(
			c, LMI_SIGN_UNKNOWN_KEY,
			lmd_fail(c->err, LMD_DENIED,
				 "%s: signed with the key %s, which is none of the %u trusted keys; "
				 "if you trust its owner, add the public key",
				 show, e.key_id, n_keys));
	if (!lmi_sign_bytes_ok(key, text, e.signed_bytes, e.signature))
		return fail_state(
			c, LMI_SIGN_BAD_MANIFEST,
			lmd_fail(c->err, LMD_CORRUPT,
				 "%s: the signature was not made for this text with the key %s: the "
				 "manifest was changed; get it again from its author",
				 show, e.key_id));
	st = lmi_sign_manifest_parse(&c->m, text, e.signed_bytes, c->err);
	if (st == LMD_OK)
		return LMD_OK;
	lmd_error_prefix(c->err, show);
	return st == LMD_CORRUPT ? fail_state(c, LMI_SIGN_BAD_MANIFEST, st) : st;
}

static enum lmd_status read_manifest(struct check *c, const struct lmi_sign_public *keys,
				     uint32_t n_keys)
{
	enum lmd_status st;
	char show[SHOW], *text;
	size_t n;

	if (!lmi_sign_find(c->r->manifest, c->s->path))
		return fail_state(
			c, LMI_SIGN_NONE,
			lmd_fail(c->err, LMD_DENIED,
				 "%s: the model is not signed, no manifest is there; sign it with "
				 "`llamactl sign`, or allow unsigned models for this once",
				 lmi_printable_path(show, sizeof(show), c->r->manifest)));
	st = lmi_file_read_all(c->r->manifest, LMI_SIGN_MANIFEST_BYTES, &text, &n, c->err);
	if (st == LMD_INVALID) /* too long, or not a regular file */
		return fail_state(c, LMI_SIGN_BAD_MANIFEST, LMD_CORRUPT);
	if (st != LMD_OK)
		return st;
	st = check_signature(c, text, n, keys, n_keys);
	lmi_free(text);
	return st;
}

/* ---- the files ---- */

/* Writes the path of file i; an explicit list is matched in order. */
static void path_of(const struct check *c, uint32_t i, char out[LMI_SIGN_PATH_MAX])
{
	const char *path = c->s->path;
	struct stat sb;
	size_t n;

	if (c->s->n_files > 1) {
		(void)snprintf(out, LMI_SIGN_PATH_MAX, "%s", c->s->files[i]);
		return;
	}
	n = strlen(path);
	if (stat(path, &sb) == 0 && S_ISDIR(sb.st_mode)) {
		(void)snprintf(out, LMI_SIGN_PATH_MAX, "%s%s%s", path,
			       n && path[n - 1] == '/' ? "" : "/", c->m.files[i].name);
		return;
	}
	if (c->m.n_files == 1 && strcmp(lmi_file_base_name(c->r->manifest), LMI_SIGN_FOLDER_NAME)) {
		(void)snprintf(out, LMI_SIGN_PATH_MAX, "%s", path);
		return;
	}
	(void)snprintf(out, LMI_SIGN_PATH_MAX, "%.*s%s", (int)folder_length(path), path,
		       c->m.files[i].name);
}

static enum lmd_status open_file(struct check *c, uint32_t i)
{
	const struct lmi_sign_file *f = &c->m.files[i];
	struct lmi_sign_input *in = &c->in[i];
	char show[SHOW], manifest[SHOW];
	struct lmi_file file;
	enum lmd_status st;
	struct stat sb;

	path_of(c, i, c->paths[i]);
	*in = (struct lmi_sign_input){.path = c->paths[i], .fd = -1, .first_chunk = f->first_chunk};
	(void)lmi_printable_path(show, sizeof(show), in->path);
	(void)lmi_printable_path(manifest, sizeof(manifest), c->r->manifest);
	st = lmi_file_open(&file, in->path, c->err);
	if (st == LMD_NOTFOUND || st == LMD_INVALID)
		return fail_state(c, LMI_SIGN_CHANGED,
				  lmd_fail(c->err, LMD_CORRUPT,
					   "%s: the signed manifest %s lists this file, but it is "
					   "missing or not a regular file",
					   show, manifest));
	if (st != LMD_OK)
		return st;
	in->fd = file.fd;
	in->bytes = file.bytes;
	if (fstat(file.fd, &sb) < 0)
		return lmd_fail(c->err, LMD_IO, "%s: fstat failed", show);
	lmi_sign_identity_of(&c->r->ids[i], &sb);
	if (file.bytes != f->bytes)
		return fail_state(c, LMI_SIGN_CHANGED,
				  lmd_fail(c->err, LMD_CORRUPT,
					   "%s: has %llu bytes, but %llu were signed with the key %s "
					   "(%s); download it again",
					   show, (unsigned long long)file.bytes,
					   (unsigned long long)f->bytes, c->m.key_id, manifest));
	if (!lmi_sign_content(c->content[i], f->bytes, c->m.chunk_bytes,
			      (const uint8_t(*)[LMI_SHA256_BYTES])&c->m.chunks[f->first_chunk],
			      f->n_chunks))
		return lmi_cancel_step(0)
			       ? lmd_fail(c->err, LMD_NOMEM, "no memory for a SHA-256")
			       : lmd_fail(c->err, LMD_CANCELLED, "cancelled");
	in->skip = lmi_sign_is_remembered(&c->r->ids[i], c->content[i]);
	c->r->hashed += in->skip ? 0 : in->bytes;
	return LMD_OK;
}

static enum lmd_status fail_chunk(struct check *c, uint32_t chunk)
{
	char found[LMI_SHA256_HEX], expected[LMI_SHA256_HEX], show[96];
	uint32_t i = c->m.n_files;
	uint32_t k;

	while (i > 1 && c->m.files[i - 1].first_chunk > chunk)
		i--;
	i--;
	k = chunk - c->m.files[i].first_chunk;
	lmi_sha256_hex(found, c->found[chunk]);
	lmi_sha256_hex(expected, c->m.chunks[chunk]);
	return fail_state(c, LMI_SIGN_CHANGED,
			  lmd_fail(c->err, LMD_CORRUPT,
				   "%s: chunk %u of %u, from byte %llu on, has SHA-256 %s, but %s was "
				   "signed with the key %s: the file is damaged or was changed; "
				   "download it again",
				   lmi_printable_path(show, sizeof(show), c->in[i].path), k + 1,
				   c->m.files[i].n_chunks,
				   (unsigned long long)k * c->m.chunk_bytes, found, expected,
				   c->m.key_id));
}

/* A file that changed while it was read may be anything now. */
static enum lmd_status check_unchanged(struct check *c, uint32_t i)
{
	struct lmi_sign_identity now;
	char show[SHOW];
	struct stat sb;

	if (fstat(c->in[i].fd, &sb) < 0)
		return lmd_fail(c->err, LMD_IO, "%s: fstat failed", c->in[i].path);
	lmi_sign_identity_of(&now, &sb);
	if (!lmi_sign_identity_same(&now, &c->r->ids[i]))
		return fail_state(c, LMI_SIGN_CHANGED,
				  lmd_fail(c->err, LMD_CORRUPT,
					   "%s: the file changed while it was being checked",
					   lmi_printable_path(show, sizeof(show), c->in[i].path)));
	if (!c->in[i].skip && lmi_sign_identity_is_before(&now, c->clock_ns))
		lmi_sign_remember(&now, c->content[i]);
	return LMD_OK;
}

static enum lmd_status check_files(struct check *c, const struct lmi_sign_work *work)
{
	struct lmi_sign_hash h = {.files = c->in,
				  .n_files = c->m.n_files,
				  .n_chunks = c->m.n_chunks,
				  .chunk_bytes = c->m.chunk_bytes,
				  .digests = c->found,
				  .expected = (const uint8_t(*)[LMI_SHA256_BYTES])c->m.chunks};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < c->m.n_files; i++)
		st = open_file(c, i);
	/* a chunk of a file that is skipped counts as found */
	for (uint32_t i = 0; st == LMD_OK && i < c->m.n_files; i++)
		if (c->in[i].skip)
			memcpy(c->found[c->m.files[i].first_chunk],
			       c->m.chunks[c->m.files[i].first_chunk],
			       (size_t)c->m.files[i].n_chunks * LMI_SHA256_BYTES);
	if (st == LMD_OK)
		st = lmi_sign_hash_run(&h, work, c->err);
	if (st == LMD_OK && h.bad_chunk != UINT32_MAX)
		st = fail_chunk(c, h.bad_chunk);
	for (uint32_t i = 0; st == LMD_OK && i < c->m.n_files; i++)
		st = check_unchanged(c, i);
	for (uint32_t i = 0; i < c->m.n_files; i++) {
		struct lmi_file f = {.fd = c->in[i].path ? c->in[i].fd : -1};

		lmi_file_close(&f);
	}
	return st;
}

static enum lmd_status check_body(struct check *c, const struct lmi_sign_work *work)
{
	const struct lmi_sign_manifest *m = &c->m;
	enum lmd_status st;

	c->r->n_files = m->n_files;
	c->r->bytes = m->bytes;
	if (c->s->n_files > 1 && c->s->n_files != m->n_files)
		return fail_state(c, LMI_SIGN_CHANGED,
				  lmd_fail(c->err, LMD_CORRUPT,
					   "%s: the model has %u files, but %u were signed",
					   c->s->path, c->s->n_files, m->n_files));
	c->in = lmi_alloc(m->n_files, sizeof(*c->in));
	c->paths = lmi_alloc(m->n_files, sizeof(*c->paths));
	c->found = lmi_alloc(m->n_chunks + 1u, sizeof(*c->found));
	c->content = lmi_alloc(m->n_files, sizeof(*c->content));
	c->r->ids = lmi_alloc(m->n_files, sizeof(*c->r->ids));
	if (c->in && c->paths && c->found && c->content && c->r->ids)
		st = check_files(c, work);
	else
		st = lmd_fail(c->err, LMD_NOMEM, "no memory to check %u files", m->n_files);
	lmi_free(c->in);
	lmi_free(c->paths);
	lmi_free(c->found);
	lmi_free(c->content);
	return st;
}

enum lmd_status lmi_sign_verify(struct lmi_sign_result *r, const struct lmi_sign_subject *s,
				const struct lmi_sign_public *keys, uint32_t n_keys,
				const struct lmi_sign_work *work, struct lmd_error *err)
{
	struct check c = {.r = r, .s = s, .err = err, .clock_ns = lmi_sign_file_clock()};
	enum lmd_status st;

	*r = (struct lmi_sign_result){0};
	st = read_manifest(&c, keys, n_keys);
	if (st == LMD_OK)
		st = check_body(&c, work);
	if (st == LMD_OK)
		r->state = LMI_SIGN_VALID;
	lmi_sign_manifest_fini(&c.m);
	return st;
}
