/* SPDX-License-Identifier: MIT
 *
 * Finds the files of a model and builds one table over all of them.  An index may only name files
 * in its own folder; other names are rejected. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/json_tree.h"
#include "core/base/show.h"
#include "core/format/safetensors/safetensors.h"

#define INDEX       "model.safetensors.index.json"
#define ONE         "model.safetensors"
#define SUFFIX      ".safetensors"
#define INDEX_BYTES (64u << 20)
#define INDEX_NODES (1u << 19)
#define FOLDER_MAX  65536u /* number of directory entries that are examined */

struct shards {
	struct lmi_st *st;
	struct lmi_model *m;
	const char *folder;
	uint32_t first; /* first part number */
	struct lmi_jtree index;
	const char **names; /* [n], file names */
	uint32_t n;
	struct lmd_error *err;
};

static const char *path_of(struct shards *s, const char *name)
{
	return lmi_arena_printf(s->m->arena, "%s/%s", s->folder, name);
}

/* True for a file name without directory that does not begin with a dot. */
static bool is_plain(const char *s, size_t n)
{
	return n > sizeof(SUFFIX) - 1 && n <= LMI_ST_NAME_BYTES && !memchr(s, '/', n) &&
	       !memchr(s, 0, n) && s[0] != '.' &&
	       !memcmp(s + n - (sizeof(SUFFIX) - 1), SUFFIX, sizeof(SUFFIX) - 1);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum lmd_status no_memory(struct shards *s)
{
	return lmd_fail(s->err, LMD_NOMEM, "%.120s: no memory for the list of files", s->folder);
}

/* Lists the distinct file names of the weight_map. */
static enum lmd_status list_index(struct shards *s)
{
	const struct lmi_jnode *map = lmi_jnode_get(s->index.root, "weight_map");
	const struct lmi_jnode *k = lmi_jnode_first(map);
	uint32_t n = 0;
	char show[80];

	if (!lmi_jnode_is(map, LMI_JOBJECT) || !map->n)
		return lmd_fail(s->err, LMD_CORRUPT,
				"\"weight_map\" is %s, must be an object with members",
				lmi_jnode_is(map, LMI_JOBJECT) ? "empty" : lmi_jnode_kind(map));
	s->names = lmi_alloc(map->n, sizeof(*s->names));
	if (!s->names)
		return no_memory(s);
	for (uint32_t i = 0; i < map->n; i++) {
		const struct lmi_jnode *v = lmi_jnode_next(k);

		if (!lmi_jnode_is(v, LMI_JSTRING) || !is_plain(v->u.s, v->n))
			return lmd_fail(s->err, LMD_INVALID,
					"\"weight_map\": \"%.60s\" is in %s%s%s, must be in "
					"NAME" SUFFIX " in the same folder",
					k->u.s, lmi_jnode_is(v, LMI_JSTRING) ? "\"" : "",
					lmi_jnode_is(v, LMI_JSTRING)
						? lmi_show(show, sizeof(show), v->u.s, v->n)
						: lmi_jnode_kind(v),
					lmi_jnode_is(v, LMI_JSTRING) ? "\"" : "");
		s->names[n++] = v->u.s;
		k = lmi_jnode_next(v);
	}
	qsort(s->names, n, sizeof(*s->names), by_name);
	for (uint32_t i = 0; i < n; i++)
		if (!i || strcmp(s->names[i], s->names[s->n - 1]) != 0)
			s->names[s->n++] = s->names[i];
	if (s->n > LMI_ST_MAX_SHARDS)
		return lmd_fail(s->err, LMD_INVALID,
				"\"weight_map\": %u files, must be at most %u", s->n,
				LMI_ST_MAX_SHARDS);
	return LMD_OK;
}

static enum lmd_status read_index(struct shards *s, const char *path, struct lmi_file *own_file)
{
	static const struct lmi_jtree_opts opts = {
		.max_bytes = INDEX_BYTES, .max_nodes = INDEX_NODES, .unique_keys = true};
	struct lmi_map map = {0};
	enum lmd_status st;
	char show[112];

	if (own_file->bytes < 2 || own_file->bytes > INDEX_BYTES)
		st = lmd_fail(s->err, LMD_INVALID, "%llu bytes, must be 2..%u",
			      (unsigned long long)own_file->bytes, INDEX_BYTES);
	else
		st = lmi_map_read(&map, own_file, 0, own_file->bytes, s->err);
	lmi_file_close(own_file);
	if (st == LMD_OK)
		st = lmi_jtree_parse(&s->index, (const char *)map.ptr, (size_t)map.bytes, &opts,
				     s->err);
	lmi_map_close(&map);
	if (st == LMD_OK)
		st = list_index(s);
	if (st != LMD_OK)
		lmd_error_prefix(s->err, lmi_show_path(show, sizeof(show), path));
	return st;
}

static enum lmd_status one_name(struct shards *s, const char *name)
{
	s->names = lmi_alloc(1, sizeof(*s->names));
	if (!s->names)
		return no_memory(s);
	s->names[0] = name;
	s->n = 1;
	return LMD_OK;
}

/* Without an index and the usual file name: uses the only file with the suffix. */
static enum lmd_status find_only_file(struct shards *s)
{
	DIR *d = opendir(s->folder);
	const char *found = NULL;
	struct dirent *e;
	uint32_t n = 0, seen = 0;

	if (!d)
		return lmd_fail(s->err, LMD_IO, "%.200s: %s", s->folder, strerror(errno));
	while (seen++ < FOLDER_MAX && (e = readdir(d)) != NULL) {
		if (!is_plain(e->d_name, strlen(e->d_name)))
			continue;
		if (!n++)
			found = lmi_arena_strndup(s->m->arena, e->d_name, strlen(e->d_name));
	}
	(void)closedir(d);
	if (n == 1)
		return found ? one_name(s, found) : no_memory(s);
	return lmd_fail(s->err, n ? LMD_INVALID : LMD_NOTFOUND,
			n ? "%.200s: %u files *" SUFFIX " without " INDEX "; pass one of them"
			  : "%.200s: contains neither " ONE " nor " INDEX,
			s->folder, n);
}

static enum lmd_status find_files(struct shards *s, const char *name)
{
	struct lmd_error none = {0};
	struct lmi_file f;
	const char *path;
	enum lmd_status st;

	if (name)
		return one_name(s, name);
	path = path_of(s, ONE);
	if (!path)
		return no_memory(s);
	st = lmi_file_open(&f, path, &none);
	lmi_file_close(&f);
	if (st != LMD_NOTFOUND)
		return one_name(s, ONE); /* other errors are reported when it is read */
	path = path_of(s, INDEX);
	if (!path)
		return no_memory(s);
	st = lmi_file_open(&f, path, s->err);
	if (st == LMD_OK)
		return read_index(s, path, &f);
	return st == LMD_NOTFOUND ? find_only_file(s) : st;
}

static enum lmd_status open_part(struct shards *s, uint32_t i)
{
	struct lmi_model_part *p = &s->m->parts[s->first + i];
	enum lmd_status st;
	char show[112];

	p->path = lmi_arena_printf(s->m->arena, "%s/%s", s->folder, s->names[i]);
	if (!p->path)
		return no_memory(s);
	st = lmi_file_open(&p->file, p->path, s->err);
	if (st != LMD_OK)
		return st;
	st = lmi_st_read_header(s->st, s->m->arena, &p->file, s->first + i, s->err);
	if (st != LMD_OK)
		lmd_error_prefix(s->err, lmi_show_path(show, sizeof(show), p->path));
	return st;
}

static enum lmd_status build_names(struct shards *s)
{
	char show[80], path[112];

	if (!lmi_strmap_init(&s->st->names, s->m->arena, s->st->n))
		return lmi_model_no_memory(s->m, s->st->n * 48ull, s->err);
	for (uint32_t i = 0; i < s->st->n; i++) {
		const struct lmi_st_tensor *t = &s->st->v[i];

		if (!lmi_strmap_add(&s->st->names, t->name, i))
			return lmd_fail(
				s->err, LMD_CORRUPT, "%s: tensor %s is also in another file",
				lmi_show_path(path, sizeof(path), s->m->parts[t->part].path),
				lmi_show(show, sizeof(show), t->name, strlen(t->name)));
	}
	return LMD_OK;
}

/* Checks that every tensor is where the index says. */
static enum lmd_status check_index(struct shards *s)
{
	const struct lmi_jnode *map = lmi_jnode_get(s->index.root, "weight_map");
	const struct lmi_jnode *k = lmi_jnode_first(map);
	char show[80];

	for (uint32_t i = 0; map && i < map->n; i++) {
		const struct lmi_jnode *v = lmi_jnode_next(k);
		const struct lmi_st_tensor *t =
			memchr(k->u.s, 0, k->n) ? NULL : lmi_st_find(s->st, k->u.s);
		const char *is = t ? strrchr(s->m->parts[t->part].path, '/') + 1 : NULL;

		if (!t || strcmp(is, v->u.s) != 0)
			return lmd_fail(s->err, LMD_CORRUPT,
					INDEX ": tensor %s is not in %.80s%s%.80s",
					lmi_show(show, sizeof(show), k->u.s, k->n), v->u.s,
					is ? " but in " : "", is ? is : "");
		k = lmi_jnode_next(v);
	}
	return LMD_OK;
}

enum lmd_status lmi_st_open(struct lmi_st *st, struct lmi_model *m, const char *folder,
			    const char *name, uint32_t first_part, struct lmd_error *err)
{
	struct shards s = {.st = st, .m = m, .folder = folder, .first = first_part, .err = err};
	enum lmd_status r = find_files(&s, name);

	if (r == LMD_OK)
		r = lmi_model_reserve_parts(m, first_part + s.n, err);
	for (uint32_t i = 0; r == LMD_OK && i < s.n; i++)
		r = open_part(&s, i);
	if (r == LMD_OK)
		r = build_names(&s);
	if (r == LMD_OK)
		r = check_index(&s);
	lmi_free(s.names);
	lmi_jtree_fini(&s.index);
	return r;
}

const struct lmi_st_tensor *lmi_st_find(const struct lmi_st *st, const char *name)
{
	uint32_t i;

	return lmi_strmap_find(&st->names, name, &i) ? &st->v[i] : NULL;
}

void lmi_st_fini(struct lmi_st *st)
{
	lmi_free(st->v);
	*st = (struct lmi_st){0};
}
