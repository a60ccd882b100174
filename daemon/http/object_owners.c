/* SPDX-License-Identifier: MIT
 *
 * The owners of objects and their lists, and the folder that they are read from.
 *
 * The folder of an owner is "uid-NUMBER", "key-" and the beginning of the SHA-256 of the key's
 * label, or "local" for clients on this machine without a key.  The time of an object is the
 * modification time of its file, so that it survives a restart.  The
 * leftovers of an interrupted write are removed at the start. */
#include "daemon/http/objects_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/sha256.h"

/* ---- names ---- */

bool lmi_http_object_id_is_valid(const char *id)
{
	static const char set[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t n = strlen(id);

	return n && n <= LMI_HTTP_OBJECT_ID_MAX && strspn(id, set) == n;
}

bool lmi_http_object_owner_of_key(char out[LMI_HTTP_OBJECT_OWNER_CHARS], const char *label)
{
	uint8_t bytes[LMI_SHA256_BYTES];
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 s;

	if (!lmi_sha256_init(&s))
		return false;
	lmi_sha256_update(&s, label, strlen(label));
	if (!lmi_sha256_final(&s, bytes))
		return false;
	lmi_sha256_hex(hex, bytes);
	(void)snprintf(out, LMI_HTTP_OBJECT_OWNER_CHARS, "key-%.32s", hex);
	return true;
}

bool lmi_http_object_owner_name(char out[LMI_HTTP_OBJECT_OWNER_CHARS],
				const struct lmi_svc_principal *p)
{
	if (*p->key_label)
		return lmi_http_object_owner_of_key(out, p->key_label);
	if (p->uid == UINT32_MAX)
		(void)snprintf(out, LMI_HTTP_OBJECT_OWNER_CHARS, "local");
	else
		(void)snprintf(out, LMI_HTTP_OBJECT_OWNER_CHARS, "uid-%u", p->uid);
	return true;
}

enum lmd_status lmi_http_objects_fail(struct lmd_error *err, const char *folder, const char *name)
{
	return lmd_fail(err, LMD_IO, "%s/%s: %s", folder, name, strerror(errno));
}

/* ---- the list ---- */

struct lmi_http_object_owner *lmi_http_object_owner_find(const struct lmi_http_objects *o,
							 const char *name)
{
	struct lmi_http_object_owner *w = o->owners;

	while (w && strcmp(w->name, name) != 0)
		w = w->next;
	return w;
}

struct lmi_http_object **lmi_http_object_find(struct lmi_http_object_owner *w, const char *id)
{
	struct lmi_http_object **p = &w->objects;

	while (*p && strcmp((*p)->id, id) != 0)
		p = &(*p)->next;
	return p;
}

void lmi_http_object_unlist(struct lmi_http_object_owner *w, struct lmi_http_object **p)
{
	struct lmi_http_object *b = *p;

	w->bytes -= b->bytes;
	w->number--;
	*p = b->next;
	lmi_free(b);
}

void lmi_http_object_insert(struct lmi_http_object_owner *w, struct lmi_http_object *b)
{
	struct lmi_http_object **p = &w->objects;

	while (*p && (*p)->changed_ns > b->changed_ns)
		p = &(*p)->next;
	b->next = *p;
	*p = b;
	w->bytes += b->bytes;
	w->number++;
}

void lmi_http_object_owner_free(struct lmi_http_object_owner *w)
{
	while (w->objects)
		lmi_http_object_unlist(w, &w->objects);
	if (w->fd >= 0)
		(void)close(w->fd);
	lmi_free(w);
}

/* ---- reading the folder ---- */

static enum lmd_status add_file(struct lmi_http_objects *o, struct lmi_http_object_owner *w,
				const char *name, struct lmd_error *err)
{
	struct lmi_http_object *b;
	struct stat st;

	if (!strcmp(name, LMI_HTTP_OBJECT_TEMPORARY))
		(void)unlinkat(w->fd, name, 0);
	if (!lmi_http_object_id_is_valid(name) || fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return LMD_OK;
	b = lmi_alloc(1, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for the objects in %s", o->o.folder);
	(void)snprintf(b->id, sizeof(b->id), "%s", name);
	b->bytes = (uint64_t)st.st_size;
	b->changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	lmi_http_object_insert(w, b);
	return LMD_OK;
}

/* Calls fn for each entry of a folder. */
static enum lmd_status
each_entry(struct lmi_http_objects *o, struct lmi_http_object_owner *w, int fd,
	   enum lmd_status (*fn)(struct lmi_http_objects *o, struct lmi_http_object_owner *w,
				 const char *name, struct lmd_error *err),
	   struct lmd_error *err)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	enum lmd_status st = LMD_OK;
	struct dirent *e;

	if (!d) {
		if (copy >= 0)
			(void)close(copy);
		return lmi_http_objects_fail(err, o->o.folder, w ? w->name : "");
	}
	while (st == LMD_OK && (e = readdir(d)))
		st = fn(o, w, e->d_name, err);
	(void)closedir(d);
	return st;
}

enum lmd_status lmi_http_object_owner_open(struct lmi_http_objects *o, const char *name,
					   bool create, struct lmi_http_object_owner **out,
					   struct lmd_error *err)
{
	struct lmi_http_object_owner *w = lmi_alloc(1, sizeof(*w));
	enum lmd_status st;

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for the objects in %s", o->o.folder);
	(void)snprintf(w->name, sizeof(w->name), "%s", name);
	if (create)
		(void)mkdirat(o->fd, name, 0700);
	w->fd = openat(o->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	st = w->fd < 0 ? lmi_http_objects_fail(err, o->o.folder, name)
		       : each_entry(o, w, w->fd, add_file, err);
	if (st != LMD_OK) {
		lmi_http_object_owner_free(w);
		return st;
	}
	w->next = o->owners;
	o->owners = w;
	*out = w;
	return LMD_OK;
}

static enum lmd_status add_owner(struct lmi_http_objects *o, struct lmi_http_object_owner *none,
				 const char *name, struct lmd_error *err)
{
	bool ours =
		!strncmp(name, "uid-", 4) || !strncmp(name, "key-", 4) || !strcmp(name, "local");
	struct lmi_http_object_owner *w;

	(void)none;
	if (!ours || strlen(name) >= LMI_HTTP_OBJECT_OWNER_CHARS)
		return LMD_OK;
	return lmi_http_object_owner_open(o, name, false, &w, err);
}

enum lmd_status lmi_http_object_owners_read(struct lmi_http_objects *o, struct lmd_error *err)
{
	return each_entry(o, NULL, o->fd, add_owner, err);
}
