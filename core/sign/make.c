/* SPDX-License-Identifier: MIT
 *
 * Makes a manifest: finds the files of a model, hashes them and signs the list. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/sign/verify.h"

#define SHOW 112

struct make {
	char folder[LMI_SIGN_PATH_MAX]; /* with a slash at its end, or empty */
	char **names;			/* [n], ascending */
	uint32_t n;
	struct lmd_error *err;
};

static enum lmd_status add(struct make *k, const char *name)
{
	char show[SHOW], **v;
	size_t n = strlen(name);

	if (!lmi_sign_name_ok(name, n))
		return lmd_fail(k->err, LMD_INVALID,
				"%s: a file that is signed must have a name of 1 to %u bytes "
				"without control characters",
				lmi_printable(show, sizeof(show), name, n), LMI_SIGN_NAME_MAX);
	if (k->n == LMI_SIGN_FILES_MAX)
		return lmd_fail(k->err, LMD_INVALID, "%s: more than %u files", k->folder,
				LMI_SIGN_FILES_MAX);
	v = lmi_realloc(k->names, k->n + 1u, sizeof(*v));
	if (!v)
		return lmd_fail(k->err, LMD_NOMEM, "no memory for a list of files");
	k->names = v;
	v[k->n] = lmi_strndup(name, n);
	if (!v[k->n])
		return lmd_fail(k->err, LMD_NOMEM, "no memory for a list of files");
	k->n++;
	return LMD_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool belongs(const struct make *k, const char *name)
{
	char path[LMI_SIGN_PATH_MAX + 256];
	size_t n = strlen(name), m = strlen(LMI_SIGN_SUFFIX);
	struct stat sb;

	if (name[0] == '.' || (n > m && !strcmp(name + n - m, LMI_SIGN_SUFFIX)))
		return false;
	(void)snprintf(path, sizeof(path), "%s%s", k->folder, name);
	return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

static enum lmd_status list_folder(struct make *k)
{
	DIR *d = opendir(k->folder);
	enum lmd_status st = LMD_OK;
	char show[SHOW];

	(void)lmi_printable_path(show, sizeof(show), k->folder);
	if (!d)
		return lmd_fail(k->err, LMD_IO, "%s: cannot open: %s", show, strerror(errno));
	for (struct dirent *e; st == LMD_OK && (e = readdir(d));)
		if (belongs(k, e->d_name))
			st = add(k, e->d_name);
	closedir(d);
	if (st == LMD_OK && !k->n)
		st = lmd_fail(k->err, LMD_INVALID, "%s: has no file to sign", show);
	if (st == LMD_OK)
		qsort(k->names, k->n, sizeof(*k->names), by_name);
	return st;
}

/* If the name is that of the first part of a GGUF set, BASE-00001-of-NNNNN.gguf, sets the length of
 * BASE and the number of parts. */
static bool is_first_part(const char *name, size_t *base, unsigned *n_parts)
{
	static const char end[] = ".gguf";
	size_t n = strlen(name), tail = sizeof("-00001-of-00001.gguf") - 1;
	int used = 0;

	if (n <= tail || strcmp(name + n - (sizeof(end) - 1), end))
		return false;
	*base = n - tail;
	return sscanf(name + *base, "-00001-of-%5u.gguf%n", n_parts, &used) == 1 &&
	       (size_t)used == tail && *n_parts > 1;
}

static enum lmd_status list_file(struct make *k, const char *path)
{
	const char *name = lmi_file_base_name(path);
	char part[LMI_SIGN_NAME_MAX + 32];
	enum lmd_status st = LMD_OK;
	unsigned n_parts;
	size_t base;

	if (!is_first_part(name, &base, &n_parts))
		return add(k, name);
	for (unsigned i = 1; st == LMD_OK && i <= n_parts; i++) {
		(void)snprintf(part, sizeof(part), "%.*s-%05u-of-%05u.gguf", (int)base, name, i,
			       n_parts);
		st = add(k, part);
	}
	return st;
}

/* ---- hashing ---- */

struct arrays {
	struct lmi_sign_manifest m;
	struct lmi_sign_input *in;
	char (*paths)[LMI_SIGN_PATH_MAX + 256];
};

static enum lmd_status open_all(struct make *k, struct arrays *a)
{
	enum lmd_status st = LMD_OK;
	uint64_t n_chunks = 0;

	for (uint32_t i = 0; st == LMD_OK && i < k->n; i++) {
		struct lmi_sign_file *f = &a->m.files[i];
		uint64_t n;
		struct lmi_file file;

		(void)snprintf(a->paths[i], sizeof(a->paths[i]), "%s%s", k->folder, k->names[i]);
		st = lmi_file_open(&file, a->paths[i], k->err);
		if (st != LMD_OK)
			break;
		a->in[i] = (struct lmi_sign_input){.path = a->paths[i],
						   .fd = file.fd,
						   .bytes = file.bytes,
						   .first_chunk = (uint32_t)n_chunks};
		a->m.n_files = i + 1;
		n = lmi_sign_n_chunks(file.bytes, a->m.chunk_bytes);
		n_chunks += n;
		*f = (struct lmi_sign_file){.name = k->names[i],
					    .bytes = file.bytes,
					    .first_chunk = a->in[i].first_chunk,
					    .n_chunks = (uint32_t)n};
		if (n_chunks > LMI_SIGN_CHUNKS_MAX)
			st = lmd_fail(k->err, LMD_INVALID,
				      "%s: more than %u chunks of %u bytes; choose larger chunks",
				      a->paths[i], LMI_SIGN_CHUNKS_MAX, a->m.chunk_bytes);
	}
	a->m.n_chunks = (uint32_t)n_chunks;
	return st;
}

static enum lmd_status hash_all(struct make *k, struct arrays *a, const struct lmi_sign_work *work)
{
	struct lmi_sign_hash h = {.files = a->in,
				  .n_files = a->m.n_files,
				  .n_chunks = a->m.n_chunks,
				  .chunk_bytes = a->m.chunk_bytes};

	a->m.chunks = lmi_alloc(a->m.n_chunks + 1u, sizeof(*a->m.chunks));
	if (!a->m.chunks)
		return lmd_fail(k->err, LMD_NOMEM, "no memory for %u chunks", a->m.n_chunks);
	h.digests = a->m.chunks;
	return lmi_sign_hash_run(&h, work, k->err);
}

static enum lmd_status check_sizes(struct make *k, const struct arrays *a)
{
	for (uint32_t i = 0; i < a->m.n_files; i++) {
		struct stat sb;

		if (fstat(a->in[i].fd, &sb) < 0 || (uint64_t)sb.st_size != a->in[i].bytes)
			return lmd_fail(k->err, LMD_BUSY,
					"%s: the file changed while it was being signed",
					a->paths[i]);
	}
	return LMD_OK;
}

static enum lmd_status write_manifest(struct make *k, const struct arrays *a, const char *path,
				      const struct lmi_sign_private *key)
{
	struct lmi_new_file f;
	char *text = NULL;
	size_t n = 0;
	enum lmd_status st = lmi_sign_manifest_emit(&text, &n, &a->m, key, k->err);

	if (st != LMD_OK)
		return st;
	st = lmi_new_file_open(&f, path, 0644, k->err);
	if (st == LMD_OK) {
		st = lmi_new_file_write(&f, text, n, k->err);
		if (st == LMD_OK)
			st = lmi_new_file_commit(&f, k->err);
		else
			lmi_new_file_abort(&f);
	}
	lmi_free(text);
	return st;
}

static enum lmd_status sign_all(struct make *k, const char *manifest,
				const struct lmi_sign_private *key, uint32_t chunk_bytes,
				const struct lmi_sign_work *work)
{
	struct arrays a = {.m = {.chunk_bytes = chunk_bytes},
			   .in = lmi_alloc(k->n, sizeof(*a.in)),
			   .paths = lmi_alloc(k->n, sizeof(*a.paths))};
	enum lmd_status st;

	a.m.files = lmi_alloc(k->n, sizeof(*a.m.files));
	if (a.in && a.paths && a.m.files)
		st = open_all(k, &a);
	else
		st = lmd_fail(k->err, LMD_NOMEM, "no memory for %u files", k->n);
	if (st == LMD_OK)
		st = hash_all(k, &a, work);
	if (st == LMD_OK)
		st = check_sizes(k, &a);
	if (st == LMD_OK)
		st = write_manifest(k, &a, manifest, key);
	for (uint32_t i = 0; i < a.m.n_files; i++) {
		struct lmi_file f = {.fd = a.in[i].fd};

		lmi_file_close(&f);
	}
	lmi_free(a.in);
	lmi_free(a.paths);
	lmi_sign_manifest_fini(&a.m);
	return st;
}

enum lmd_status lmi_sign_make(char *path_out, const char *path, const struct lmi_sign_private *key,
			      uint32_t chunk_bytes, const struct lmi_sign_work *work,
			      struct lmd_error *err)
{
	struct make k = {.err = err};
	size_t n = strlen(path);
	enum lmd_status st;
	struct stat sb;

	if (n > LMI_SIGN_PATH_MAX - 300)
		return lmd_fail(err, LMD_INVALID, "path of %zu bytes, must be at most %u", n,
				LMI_SIGN_PATH_MAX - 300);
	if (stat(path, &sb) == 0 && S_ISDIR(sb.st_mode)) {
		while (n > 1 && path[n - 1] == '/')
			n--;
		(void)snprintf(k.folder, sizeof(k.folder), "%.*s/", (int)n, path);
		(void)snprintf(path_out, LMI_SIGN_PATH_MAX, "%.4200s%s", k.folder,
			       LMI_SIGN_FOLDER_NAME);
		st = list_folder(&k);
	} else {
		(void)snprintf(k.folder, sizeof(k.folder), "%.*s",
			       (int)(lmi_file_base_name(path) - path), path);
		(void)snprintf(path_out, LMI_SIGN_PATH_MAX, "%s%s", path, LMI_SIGN_SUFFIX);
		st = list_file(&k, path);
	}
	if (st == LMD_OK)
		st = sign_all(&k, path_out, key, chunk_bytes, work);
	for (uint32_t i = 0; i < k.n; i++)
		lmi_free(k.names[i]);
	lmi_free(k.names);
	return st;
}
