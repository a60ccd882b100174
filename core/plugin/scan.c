/* SPDX-License-Identifier: MIT
 *
 * Scans folders for new, replaced, removed and unchanged files.
 *
 * A path has at most one current object (CHECKED or LOADED), one REFUSED row and some RETIRED
 * versions. A replacement takes over only when it is as ready as the version it replaces: if the
 * old version was LOADED, the new one is loaded first, and if any check fails the old one stays in
 * use beside the REFUSED row. A version that comes back (same digest) is the old object again, not
 * a second copy. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/plugin/registry_impl.h"
#include "core/plugin/trust.h"

/* Maximum number of files examined per folder. */
#define MAX_FILES 4096u

#define LOG(r, level, ...) (r)->host->log((r)->host->ctx, "plugin", level, __VA_ARGS__)

struct names {
	char **v;
	uint32_t n;
};

static void names_free(struct names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		lmi_free(names->v[i]);
	lmi_free(names->v);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "x.so", but neither ".x.so" nor ".so". */
static bool is_plugin_name(const char *name)
{
	size_t n = strlen(name);

	return n > 3 && *name != '.' && !strcmp(name + n - 3, ".so");
}

static enum lmd_status list_names(struct lmi_plugin_registry *r, const struct lmi_plugin_dir *d,
				  DIR *dir, struct names *out, struct lmd_error *err)
{
	const struct dirent *de;
	uint32_t room = 0;

	while ((de = readdir(dir))) {
		if (!is_plugin_name(de->d_name))
			continue;
		if (out->n == MAX_FILES) {
			LOG(r, LMD_LOG_WARN, "too many plugins in a folder: using only the first "
					     "%u dir=%s",
			    MAX_FILES, d->path);
			break;
		}
		if (out->n == room) {
			char **v = lmi_realloc(out->v, room ? 2 * room : 16, sizeof(*v));

			if (!v)
				goto no_memory;
			out->v = v;
			room = room ? 2 * room : 16;
		}
		out->v[out->n] = lmi_strndup(de->d_name, strlen(de->d_name));
		if (!out->v[out->n])
			goto no_memory;
		out->n++;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_text);
	return LMD_OK;
no_memory:
	return lmd_fail(err, LMD_NOMEM, "%.200s: no memory for its list", d->path);
}

/* The known objects of one path. */
struct path_rows {
	struct lmi_plugin_object *current; /* CHECKED or LOADED */
	struct lmi_plugin_object *refused;
	uint64_t generation;        /* highest so far */
	uint32_t n_retired;
};

static struct path_rows find_rows(const struct lmi_plugin_registry *r, uint32_t dir,
				  const char *base)
{
	struct path_rows rows = {0};

	for (struct lmi_plugin_object *o = r->objects; o; o = o->next) {
		if (o->dir != dir || strcmp(o->base, base))
			continue;
		if (o->generation > rows.generation)
			rows.generation = o->generation;
		switch (o->state) {
		case LMI_PLUGIN_OBJECT_CHECKED:
		case LMI_PLUGIN_OBJECT_LOADED:
			rows.current = o;
			break;
		case LMI_PLUGIN_OBJECT_REJECTED:
			rows.refused = o;
			break;
		case LMI_PLUGIN_OBJECT_RETIRED:
			rows.n_retired++;
			break;
		}
	}
	return rows;
}

static bool same_content(const struct lmi_plugin_object *a, const struct lmi_plugin_object *b)
{
	return !memcmp(a->digest, b->digest, sizeof(a->digest));
}

/* Returns the RETIRED version with the same content, or NULL. */
static struct lmi_plugin_object *find_retired(const struct lmi_plugin_registry *r,
					      const struct lmi_plugin_object *like)
{
	for (struct lmi_plugin_object *o = r->objects; o; o = o->next)
		if (o->state == LMI_PLUGIN_OBJECT_RETIRED && o->dir == like->dir &&
		    !strcmp(o->base, like->base) && same_content(o, like))
			return o;
	return NULL;
}

static void drop(struct lmi_plugin_registry *r, struct lmi_plugin_object *o)
{
	if (!o)
		return;
	lmi_plugin_registry_drop(r, o);
	lmi_plugin_object_destroy(o);
}

/* Hides the object from look-ups; it stays mapped for its users. */
static void retire(struct lmi_plugin_registry *r, struct lmi_plugin_object *o, const char *reason)
{
	uint32_t users;

	if (!o)
		return;
	if (o->state != LMI_PLUGIN_OBJECT_LOADED) {
		drop(r, o);
		return;
	}
	pthread_mutex_lock(&r->mu);
	o->state = LMI_PLUGIN_OBJECT_RETIRED;
	snprintf(o->reason, sizeof(o->reason), "%s", reason);
	users = o->n_users;
	pthread_mutex_unlock(&r->mu);
	LOG(r, LMD_LOG_INFO, "retired: %s file=%s generation=%llu users=%u", reason, o->path,
	    (unsigned long long)o->generation, users);
}

/* Marks an object as current again: its content was found unchanged, or a retired version came
 * back. */
static void revive(struct lmi_plugin_registry *r, struct lmi_plugin_object *o,
		   const struct lmi_plugin_file_id *id)
{
	pthread_mutex_lock(&r->mu);
	o->id = *id;
	o->seen = true;
	if (o->state == LMI_PLUGIN_OBJECT_RETIRED) {
		o->state = LMI_PLUGIN_OBJECT_LOADED;
		o->reason[0] = 0;
	}
	pthread_mutex_unlock(&r->mu);
}

static void publish(struct lmi_plugin_registry *r, struct lmi_plugin_object *o)
{
	o->seen = true;
	lmi_plugin_registry_add(r, o);
	if (o->state == LMI_PLUGIN_OBJECT_REJECTED)
		LOG(r, LMD_LOG_WARN, "refused: %s file=%s", o->reason, o->path);
	else
		LOG(r, LMD_LOG_DEBUG, "found: %s %s file=%s generation=%llu", o->note.name,
		    o->note.version, o->path, (unsigned long long)o->generation);
}

/* ---- accepted contents ---- */

static struct lmi_plugin_accepted *find_accepted(const struct lmi_plugin_registry *r,
						 const struct lmi_plugin_object *o)
{
	struct lmi_plugin_accepted *a = r->accepted;

	while (a && (a->dir != o->dir || strcmp(a->base, o->base)))
		a = a->next;
	return a;
}

/* Notes the content of a path as accepted. */
static enum lmd_status accept_content(struct lmi_plugin_registry *r,
				      const struct lmi_plugin_object *o, struct lmd_error *err)
{
	struct lmi_plugin_accepted *a = find_accepted(r, o);
	size_t n = strlen(o->base) + 1;

	if (!a) {
		a = lmi_alloc(sizeof(*a) + n, 1);
		if (!a)
			return lmd_fail(err, LMD_NOMEM, "%.200s: no memory", o->path);
		a->dir = o->dir;
		memcpy(a->base, o->base, n);
		a->next = r->accepted;
		r->accepted = a;
	}
	memcpy(a->digest, o->digest, sizeof(a->digest));
	return LMD_OK;
}

static void hex8(char out[17], const uint8_t *digest)
{
	for (int i = 0; i < 8; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* Refuses a file that is not the one that was accepted at its path. */
static void refuse_change(const struct lmi_plugin_registry *r, struct lmi_plugin_object *o)
{
	const struct lmi_plugin_accepted *a = find_accepted(r, o);
	char was[17], is[17], text[200];

	if (!a || o->state != LMI_PLUGIN_OBJECT_CHECKED ||
	    !memcmp(a->digest, o->digest, sizeof(a->digest)))
		return;
	hex8(was, a->digest);
	hex8(is, o->digest);
	(void)snprintf(text, sizeof(text),
		       "the file has changed since it was accepted (SHA-256 %s..., now %s...); it is "
		       "used after a reload of the plugins",
		       was, is);
	lmi_plugin_object_reject(o, text);
	o->awaits_reload = true;
}

/* Recognises an unchanged file that was rejected before. A file that was rejected after loading is
 * not run again. */
static bool same_refusal(const struct lmi_plugin_object *refused, const struct lmi_plugin_object *o)
{
	if (!refused || !lmi_plugin_file_id_equal(&refused->id, &o->id) ||
	    refused->awaits_reload != o->awaits_reload)
		return false;
	return o->state == LMI_PLUGIN_OBJECT_CHECKED ? same_content(refused, o)
						     : !strcmp(refused->reason, o->reason);
}

/* Decides what happens to `own_o`, just read from its path; takes ownership. */
static enum lmd_status take_over(struct lmi_plugin_registry *r, struct lmi_plugin_object *own_o,
				 const struct path_rows *rows, bool accept, struct lmd_error *err)
{
	struct lmi_plugin_object *o = own_o, *cur = rows->current, *old = NULL;
	enum lmd_status st = LMD_OK;

	/* a content that was refused for itself stays so */
	if (r->pinned && !accept &&
	    !(rows->refused && !rows->refused->awaits_reload && same_content(rows->refused, o)))
		refuse_change(r, o);
	if (same_refusal(rows->refused, o)) {
		revive(r, rows->refused, &o->id);
		lmi_plugin_object_destroy(o);
		return LMD_OK;
	}
	if (o->state == LMI_PLUGIN_OBJECT_CHECKED)
		old = cur && same_content(cur, o) ? cur : find_retired(r, o);
	if (old) {
		if (old != cur)
			retire(r, cur, "an older version came back");
		st = accept_content(r, old, err);
		revive(r, old, &o->id);
		drop(r, rows->refused);
		lmi_plugin_object_destroy(o);
		return st;
	}
	o->generation = rows->generation + 1;
	if (o->state == LMI_PLUGIN_OBJECT_CHECKED && cur &&
	    cur->state == LMI_PLUGIN_OBJECT_LOADED) {
		if (rows->n_retired >= LMI_PLUGIN_MAX_RETIRED)
			lmi_plugin_object_reject(
				o, "too many replaced versions of this file are still "
				   "mapped; restart to load this one");
		else
			st = lmi_plugin_object_load(o, r->self_test ? r->host : NULL, &o->state,
						    err);
	}
	if (st == LMD_OK && o->state != LMI_PLUGIN_OBJECT_REJECTED)
		st = accept_content(r, o, err);
	if (st != LMD_OK) {
		lmi_plugin_object_destroy(o);
		return st;
	}
	drop(r, rows->refused);
	if (o->state == LMI_PLUGIN_OBJECT_REJECTED) {
		o->generation = 0;
		lmi_plugin_image_close(&o->image);
		if (cur && cur->state != LMI_PLUGIN_OBJECT_LOADED && !o->awaits_reload)
			drop(r, cur);
	} else {
		retire(r, cur, "replaced by a newer version");
	}
	publish(r, o);
	return LMD_OK;
}

bool lmi_plugin_is_accepted(const char *path, const char *base, const char *accept)
{
	return accept && (!*accept || !strcmp(accept, *accept == '/' ? path : base));
}

/* dir_why: why nothing from the folder may be loaded, or NULL. */
static enum lmd_status scan_file(struct lmi_plugin_registry *r, uint32_t i_dir, int dir_fd,
				 const char *base, const char *dir_why, const char *accept,
				 struct lmd_error *err)
{
	struct path_rows rows = find_rows(r, i_dir, base);
	const struct lmi_plugin_object *last = rows.refused ? rows.refused : rows.current;
	enum lmd_status st = LMD_OK;
	struct lmi_plugin_object *o;
	struct timespec now;
	char no_stat[128], path[PATH_MAX];
	bool accepted;
	struct stat sb;

	(void)snprintf(path, sizeof(path), "%s/%s", r->dirs[i_dir].path, base);
	accepted = lmi_plugin_is_accepted(path, base, accept);
	clock_gettime(CLOCK_REALTIME, &now);
	if (fstatat(dir_fd, base, &sb, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return LMD_OK; /* removed just now: treat as not seen */
		snprintf(no_stat, sizeof(no_stat), "stat: %s", strerror(errno));
		dir_why = no_stat;
	}
	if (rows.current)
		rows.current->seen = true;
	if (rows.refused)
		rows.refused->seen = true;
	/* the row of a bad folder has no id: it lasts as long as the folder's fault */
	if (dir_why ? rows.refused && !rows.refused->id.ino && !strcmp(last->reason, dir_why)
		    : last && last->id.ino && lmi_plugin_file_id_same(&last->id, &sb) &&
			      !(accepted && last->awaits_reload))
		return LMD_OK;
	o = lmi_plugin_object_create(r->dirs[i_dir].path, base, i_dir);
	if (!o)
		return lmd_fail(err, LMD_NOMEM, "%.200s/%.200s: no memory", r->dirs[i_dir].path,
				base);
	if (dir_why) {
		lmi_plugin_object_reject(o, dir_why);
	} else {
		o->id = lmi_plugin_file_id(&sb, &now);
		o->untrusted = i_dir < r->n_given;
		st = lmi_plugin_object_read(o, dir_fd, r->trust,
					    *r->copies.path ? r->copies.path : NULL, err);
	}
	if (st != LMD_OK) {
		lmi_plugin_object_destroy(o);
		return st;
	}
	return take_over(r, o, &rows, accepted, err);
}

static bool is_duplicate(const struct lmi_plugin_registry *r, uint32_t i, const struct stat *sb)
{
	for (uint32_t k = 0; k < i; k++)
		if (r->dirs[k].state == LMI_PLUGIN_DIR_PRESENT && r->dirs[k].id.dev == sb->st_dev &&
		    r->dirs[k].id.ino == sb->st_ino)
			return true;
	return false;
}

static void set_dir(struct lmi_plugin_registry *r, uint32_t i, enum lmi_plugin_dir_state state,
		    const struct lmi_plugin_file_id *id, const char *reason)
{
	pthread_mutex_lock(&r->mu);
	r->dirs[i].state = state;
	r->dirs[i].id = *id;
	snprintf(r->dirs[i].reason, sizeof(r->dirs[i].reason), "%s", reason);
	pthread_mutex_unlock(&r->mu);
}

static enum lmd_status scan_dir(struct lmi_plugin_registry *r, uint32_t i, const char *accept,
				struct lmd_error *err)
{
	const struct lmi_plugin_dir *d = &r->dirs[i];
	struct lmi_plugin_file_id id = {0};
	struct lmd_error why = {0};
	struct names names = {0};
	enum lmd_status st;
	struct timespec now;
	const char *dir_why;
	struct stat sb;
	DIR *dir = NULL;
	int fd;

	clock_gettime(CLOCK_REALTIME, &now);
	fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &sb) || !(dir = fdopendir(fd))) {
		int e = errno;

		if (fd >= 0)
			close(fd);
		set_dir(r, i, LMI_PLUGIN_DIR_ABSENT, &id,
			e == ENOENT ? "does not exist" : strerror(e));
		return LMD_OK;
	}
	id = lmi_plugin_file_id(&sb, &now);
	if (is_duplicate(r, i, &sb)) {
		set_dir(r, i, LMI_PLUGIN_DIR_DUPLICATE, &id, "");
		closedir(dir);
		return LMD_OK;
	}
	dir_why = lmi_plugin_trust_check(r->trust, fd, &sb, "its folder", &why) == LMD_OK
			  ? NULL
			  : why.text;
	set_dir(r, i, LMI_PLUGIN_DIR_PRESENT, &id, dir_why ? dir_why : "");
	st = list_names(r, d, dir, &names, err);
	for (uint32_t k = 0; k < names.n && st == LMD_OK; k++)
		st = scan_file(r, i, fd, names.v[k], dir_why, accept, err);
	names_free(&names);
	closedir(dir);
	return st;
}

enum lmd_status lmi_plugin_scan(struct lmi_plugin_registry *r, const char *accept,
				struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_plugin_object *next;

	for (struct lmi_plugin_object *o = r->objects; o; o = o->next)
		o->seen = o->dir == LMI_PLUGIN_BUILTIN || o->state == LMI_PLUGIN_OBJECT_RETIRED;
	for (uint32_t i = 0; i < r->n_dirs && st == LMD_OK; i++)
		st = scan_dir(r, i, accept, err);
	for (struct lmi_plugin_object *o = r->objects; o && st == LMD_OK; o = next) {
		next = o->next;
		if (!o->seen)
			retire(r, o, "the file is gone");
	}
	return st;
}

bool lmi_plugin_scan_is_fresh(const struct lmi_plugin_registry *r,
			      const struct lmi_plugin_object *o)
{
	struct stat sb;

	for (uint32_t i = 0; i < r->n_dirs; i++) {
		const struct lmi_plugin_dir *d = &r->dirs[i];

		if (stat(d->path, &sb)) {
			if (d->state != LMI_PLUGIN_DIR_ABSENT)
				return false;
		} else if (d->state == LMI_PLUGIN_DIR_NEW || d->state == LMI_PLUGIN_DIR_ABSENT ||
			   !lmi_plugin_file_id_same(&d->id, &sb)) {
			return false;
		}
	}
	return !o || o->dir == LMI_PLUGIN_BUILTIN ||
	       (!lstat(o->path, &sb) && lmi_plugin_file_id_same(&o->id, &sb));
}
