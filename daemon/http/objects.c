/* SPDX-License-Identifier: MIT
 *
 * Objects as files, and a list of them in memory, so that limits and look-ups need no disk.
 *
 * object_owners.c has the list and reads the folder, object_writer.c writes the files. */
#include "daemon/http/objects_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"

/* Removes the file of an object and forgets it; returns false if the file is still there. */
static bool drop(struct lmi_http_objects *o, struct lmi_http_object_owner *w,
		 struct lmi_http_object **p)
{
	lmi_http_object_writer_forget(o->writer, w->fd, (*p)->id);
	if (unlinkat(w->fd, (*p)->id, 0) && errno != ENOENT)
		return false;
	lmi_http_object_unlist(w, p);
	return true;
}

enum lmd_status lmi_http_objects_open(struct lmi_http_objects **out,
				      const struct lmi_http_objects_opts *opts,
				      struct lmd_error *err)
{
	struct lmi_http_objects *o = lmi_alloc(1, sizeof(*o));
	enum lmd_status st = LMD_OK;

	if (!o)
		return lmd_fail(err, LMD_NOMEM, "no memory for stored objects");
	o->o = *opts;
	if (mkdir(opts->folder, 0700) && errno != EEXIST)
		st = lmi_http_objects_fail(err, opts->folder, "");
	o->fd = open(opts->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (st == LMD_OK && o->fd < 0)
		st = lmi_http_objects_fail(err, opts->folder, "");
	if (st == LMD_OK)
		st = lmi_http_object_owners_read(o, err);
	if (st == LMD_OK)
		st = lmi_http_object_writer_create(&o->writer, opts->host, err);
	if (st == LMD_OK)
		*out = o;
	else
		lmi_http_objects_close(o);
	return st;
}

void lmi_http_objects_close(struct lmi_http_objects *o)
{
	if (!o)
		return;
	lmi_http_object_writer_destroy(o->writer);
	while (o->owners) {
		struct lmi_http_object_owner *w = o->owners;

		o->owners = w->next;
		lmi_http_object_owner_free(w);
	}
	if (o->fd >= 0)
		(void)close(o->fd);
	lmi_free(o);
}

/* ---- writing ---- */

/* Returns the link to the oldest object that is not in use; NULL: there is none. */
static struct lmi_http_object **oldest(struct lmi_http_object_owner *w)
{
	struct lmi_http_object **found = NULL;

	for (struct lmi_http_object **p = &w->objects; *p; p = &(*p)->next)
		found = (*p)->used ? found : p;
	return found;
}

/* Removes the oldest objects until the limits hold for n_more bytes and more_objects more.  Returns false if
 * they still do not. */
static bool make_room(struct lmi_http_objects *o, struct lmi_http_object_owner *w, size_t n_more,
		      uint32_t more_objects)
{
	while (w->number + more_objects > o->o.max_number || w->bytes + n_more > o->o.max_bytes) {
		struct lmi_http_object **p = oldest(w);

		if (!p || !drop(o, w, p))
			return false;
	}
	return true;
}

enum lmd_status lmi_http_objects_put(struct lmi_http_objects *o,
				     const struct lmi_svc_principal *owner, const char *id,
				     const void *bytes, size_t n, struct lmd_error *err)
{
	int64_t now_ns = o->o.wall_ns(o->o.arg);
	char name[LMI_HTTP_OBJECT_OWNER_CHARS];
	struct lmi_http_object *b, **old;
	struct lmi_http_object_owner *w;
	enum lmd_status st = LMD_OK;
	bool used;

	if (!lmi_http_object_id_is_valid(id))
		return lmd_fail(err, LMD_INVALID, "the id of an object is not valid");
	if (n > o->o.max_bytes)
		return lmd_fail(err, LMD_INVALID, "%zu bytes cannot be stored, the maximum is %llu",
				n, (unsigned long long)o->o.max_bytes);
	b = lmi_http_object_owner_name(name, owner) ? lmi_alloc(1, sizeof(*b)) : NULL;
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for an object");
	w = lmi_http_object_owner_find(o, name);
	if (!w)
		st = lmi_http_object_owner_open(o, name, true, &w, err);
	if (st == LMD_OK)
		st = lmi_http_object_writer_put(o->writer, w->fd, id, bytes, n, now_ns, err);
	if (st != LMD_OK) {
		if (err)
			o->o.host->log(o->o.host->ctx, "http", LMD_LOG_WARN,
				       "an object cannot be stored: %s", err->text);
		lmi_free(b);
		return st;
	}
	old = lmi_http_object_find(w, id);
	if (*old) {
		b->used = (*old)->used;
		lmi_http_object_unlist(w, old);
	}
	(void)snprintf(b->id, sizeof(b->id), "%s", id);
	b->bytes = n;
	b->changed_ns = now_ns;
	lmi_http_object_insert(w, b);
	used = b->used;
	b->used = true; /* not removed to make room for itself */
	(void)make_room(o, w, 0, 0);
	b->used = used;
	return LMD_OK;
}

/* Makes room for bytes of an object, which is created if it does not exist, and takes it out of the list. */
static enum lmd_status begin_append(struct lmi_http_objects *o, struct lmi_http_object_owner *w,
				    const char *id, size_t n, struct lmi_http_object **out,
				    struct lmd_error *err)
{
	struct lmi_http_object **p = lmi_http_object_find(w, id), *b = *p;

	if (b) {
		bool used = b->used, room;

		b->used = true; /* not removed to make room for itself */
		room = make_room(o, w, n, 0);
		b->used = used;
		if (!room)
			return lmd_fail(
				err, LMD_BUSY,
				"there is no room for %zu bytes: what is stored reaches the "
				"maximum, %llu bytes or %u objects, and is in use",
				n, (unsigned long long)o->o.max_bytes, o->o.max_number);
		p = lmi_http_object_find(w, id);
		*p = b->next;
		w->bytes -= b->bytes;
		w->number--;
	} else {
		if (!make_room(o, w, n, 1))
			return lmd_fail(
				err, LMD_BUSY,
				"there is no room for one more object: what is stored reaches the "
				"maximum, %llu bytes or %u objects, and is in use",
				(unsigned long long)o->o.max_bytes, o->o.max_number);
		b = lmi_alloc(1, sizeof(*b));
		if (!b)
			return lmd_fail(err, LMD_NOMEM, "no memory for an object");
		(void)snprintf(b->id, sizeof(b->id), "%s", id);
	}
	*out = b;
	return LMD_OK;
}

enum lmd_status lmi_http_objects_append(struct lmi_http_objects *o,
					const struct lmi_svc_principal *owner, const char *id,
					const void *bytes, size_t n, struct lmd_error *err)
{
	int64_t now_ns = o->o.wall_ns(o->o.arg);
	enum lmd_status st = LMD_OK;
	char name[LMI_HTTP_OBJECT_OWNER_CHARS];
	struct lmi_http_object *b = NULL;
	struct lmi_http_object_owner *w;

	if (!lmi_http_object_id_is_valid(id))
		return lmd_fail(err, LMD_INVALID, "the id of an object is not valid");
	if (!lmi_http_object_owner_name(name, owner))
		return lmd_fail(err, LMD_NOMEM, "no memory for an object");
	w = lmi_http_object_owner_find(o, name);
	if (!w)
		st = lmi_http_object_owner_open(o, name, true, &w, err);
	if (st == LMD_OK)
		st = begin_append(o, w, id, n, &b, err);
	if (st != LMD_OK)
		return st;
	st = lmi_http_object_writer_append(o->writer, w->fd, id, bytes, n, now_ns, err);
	if (st != LMD_OK && !b->changed_ns) {
		lmi_free(b);
		return st;
	}
	if (st == LMD_OK) {
		b->bytes += n;
		b->changed_ns = now_ns;
	}
	lmi_http_object_insert(w, b);
	return st;
}

/* ---- reading and removing ---- */

/* Returns the owner of an object, and sets *p to the link to it. */
static enum lmd_status look_up(struct lmi_http_objects *o, const struct lmi_svc_principal *owner,
			       const char *id, struct lmi_http_object_owner **w,
			       struct lmi_http_object ***p, struct lmd_error *err)
{
	char name[LMI_HTTP_OBJECT_OWNER_CHARS];

	*w = lmi_http_object_owner_name(name, owner) ? lmi_http_object_owner_find(o, name) : NULL;
	if (*w && lmi_http_object_id_is_valid(id)) {
		*p = lmi_http_object_find(*w, id);
		if (**p)
			return LMD_OK;
	}
	return lmd_fail(err, LMD_NOTFOUND, "%.63s does not exist", id);
}

static enum lmd_status read_object(struct lmi_http_objects *o, struct lmi_http_object_owner *w,
				   const struct lmi_http_object *b, char **text, size_t *n,
				   struct lmd_error *err)
{
	size_t at = 0, bytes = (size_t)b->bytes;
	enum lmd_status st = LMD_OK;
	const char *id = b->id;
	ssize_t k = 1;
	char *buf;
	int fd;

	*text = lmi_http_object_writer_get(o->writer, w->fd, id, n);
	if (*text)
		return LMD_OK;
	buf = lmi_alloc(bytes + 1, 1);
	if (!buf)
		return lmd_fail(err, LMD_NOMEM, "no memory for %s", id);
	fd = openat(w->fd, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	while (fd >= 0 && at < bytes && k) {
		k = read(fd, buf + at, bytes - at);
		if (k < 0 && errno != EINTR)
			break;
		at += k > 0 ? (size_t)k : 0;
	}
	if (fd < 0 || k < 0)
		st = lmi_http_objects_fail(err, o->o.folder, id);
	else if (at < bytes)
		st = lmd_fail(err, LMD_IO, "%s/%s: the file has become shorter", o->o.folder, id);
	if (fd >= 0)
		(void)close(fd);
	if (st != LMD_OK) {
		lmi_free(buf);
		return st;
	}
	*text = buf;
	*n = bytes;
	return LMD_OK;
}

enum lmd_status lmi_http_objects_get(struct lmi_http_objects *o,
				     const struct lmi_svc_principal *owner, const char *id,
				     char **text, size_t *n, struct lmd_error *err)
{
	struct lmi_http_object **p;
	struct lmi_http_object_owner *w;
	enum lmd_status st = look_up(o, owner, id, &w, &p, err);

	return st == LMD_OK ? read_object(o, w, *p, text, n, err) : st;
}

void lmi_http_objects_each(struct lmi_http_objects *o, const char *prefix,
			   void (*fn)(void *arg, const char *id, const char *text, size_t n),
			   void *arg)
{
	for (struct lmi_http_object_owner *w = o->owners; w; w = w->next) {
		for (const struct lmi_http_object *b = w->objects; b; b = b->next) {
			struct lmd_error err;
			char *text;
			size_t n;

			if (strncmp(b->id, prefix, strlen(prefix)) != 0 ||
			    read_object(o, w, b, &text, &n, &err) != LMD_OK)
				continue;
			fn(arg, b->id, text, n);
			lmi_free(text);
		}
	}
}

enum lmd_status lmi_http_objects_remove(struct lmi_http_objects *o,
					const struct lmi_svc_principal *owner, const char *id,
					struct lmd_error *err)
{
	struct lmi_http_object **p;
	struct lmi_http_object_owner *w;
	enum lmd_status st = look_up(o, owner, id, &w, &p, err);

	if (st == LMD_OK && !drop(o, w, p))
		st = lmi_http_objects_fail(err, o->o.folder, id);
	return st;
}

enum lmd_status lmi_http_objects_check(struct lmi_http_objects *o,
				       const struct lmi_svc_principal *owner, const char *id,
				       uint64_t *n_written, struct lmd_error *err)
{
	struct lmi_http_object **p;
	struct lmi_http_object_owner *w;
	struct stat st;
	size_t waiting;
	int error;

	*n_written = 0;
	if (look_up(o, owner, id, &w, &p, err) != LMD_OK)
		return LMD_OK;
	waiting = lmi_http_object_writer_waiting(o->writer, w->fd, id, &error);
	if (waiting) {
		*n_written = error ? 0 : (*p)->bytes - waiting;
		return LMD_BUSY;
	}
	if (error) {
		if (!fstatat(w->fd, id, &st, AT_SYMLINK_NOFOLLOW))
			*n_written = (uint64_t)st.st_size;
		w->bytes -= (*p)->bytes;
		(*p)->bytes = *n_written;
		w->bytes += (*p)->bytes;
		return lmd_fail(err, LMD_IO, "%s cannot be stored: %s", id, strerror(error));
	}
	*n_written = (*p)->bytes;
	return LMD_OK;
}

void lmi_http_objects_use(struct lmi_http_objects *o, const struct lmi_svc_principal *owner,
			  const char *id, bool used)
{
	struct lmi_http_object **p;
	struct lmi_http_object_owner *w;

	if (look_up(o, owner, id, &w, &p, NULL) == LMD_OK)
		(*p)->used = used;
}

int lmi_http_objects_fd(const struct lmi_http_objects *o)
{
	return lmi_http_object_writer_fd(o->writer);
}

void lmi_http_objects_flush(struct lmi_http_objects *o)
{
	lmi_http_object_writer_flush(o->writer);
}

void lmi_http_objects_list(struct lmi_http_objects *o, const struct lmi_svc_principal *owner,
			   const char *prefix, bool (*fn)(void *arg, const char *id), void *arg)
{
	char name[LMI_HTTP_OBJECT_OWNER_CHARS];
	const struct lmi_http_object_owner *w = lmi_http_object_owner_name(name, owner)
							? lmi_http_object_owner_find(o, name)
							: NULL;

	for (const struct lmi_http_object *b = w ? w->objects : NULL; b; b = b->next)
		if (!strncmp(b->id, prefix, strlen(prefix)) && !fn(arg, b->id))
			return;
}

/* ---- the end of objects ---- */

void lmi_http_objects_expire(struct lmi_http_objects *o)
{
	int64_t oldest_ns = o->o.wall_ns(o->o.arg) - (int64_t)o->o.max_age_s * INT64_C(1000000000);

	for (struct lmi_http_object_owner *w = o->owners; w; w = w->next) {
		struct lmi_http_object **p = &w->objects;

		while (*p)
			if ((*p)->used || (*p)->changed_ns > oldest_ns || !drop(o, w, p))
				p = &(*p)->next;
	}
}

void lmi_http_objects_forget_key(struct lmi_http_objects *o, const char *label)
{
	char name[LMI_HTTP_OBJECT_OWNER_CHARS];
	struct lmi_http_object_owner *w = lmi_http_object_owner_of_key(name, label)
						  ? lmi_http_object_owner_find(o, name)
						  : NULL,
				     **link = &o->owners;
	struct lmi_http_object **p = w ? &w->objects : NULL;

	while (p && *p)
		if (!drop(o, w, p))
			p = &(*p)->next;
	if (!w || w->objects)
		return;
	(void)unlinkat(o->fd, w->name, AT_REMOVEDIR);
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	lmi_http_object_owner_free(w);
}
