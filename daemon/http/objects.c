/* SPDX-License-Identifier: MIT
 *
 * Objects as files, and a list of them in memory, so that limits and look-ups need no disk.
 *
 * The folder of an owner is "uid-NUMBER", "key-" and the beginning of the SHA-256 of the key's
 * label, or "local" for clients on this machine without a key.  The time of an object is the
 * modification time of its file, so that it survives a restart.  object_writer.c writes the files;
 * leftovers of an interrupted write are removed at the start. */
#include "daemon/http/objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/sha256.h"
#include "daemon/http/object_writer.h"

#define OWNER_CHARS 40

struct object {
	struct object *next; /* older */
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	uint64_t bytes;
	int64_t changed_ns;
	bool used;
};

struct owner {
	struct owner *next;
	char name[OWNER_CHARS];
	int fd;                 /* of the folder */
	struct object *objects; /* the newest first */
	uint64_t bytes;
	uint32_t number;
};

struct lmi_http_objects {
	struct lmi_http_objects_opts o;
	int fd;
	struct owner *owners;
	struct lmi_http_object_writer *writer;
};

/* ---- names ---- */

static bool id_is_valid(const char *id)
{
	static const char set[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t n = strlen(id);

	return n && n <= LMI_HTTP_OBJECT_ID_MAX && strspn(id, set) == n;
}

static bool name_of_key(char out[OWNER_CHARS], const char *label)
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
	(void)snprintf(out, OWNER_CHARS, "key-%.32s", hex);
	return true;
}

static bool name_of(char out[OWNER_CHARS], const struct lmi_svc_principal *p)
{
	if (*p->key_label)
		return name_of_key(out, p->key_label);
	if (p->uid == UINT32_MAX)
		(void)snprintf(out, OWNER_CHARS, "local");
	else
		(void)snprintf(out, OWNER_CHARS, "uid-%u", p->uid);
	return true;
}

static enum lmd_status fail_errno(struct lmd_error *err, const char *folder, const char *name)
{
	return lmd_fail(err, LMD_IO, "%s/%s: %s", folder, name, strerror(errno));
}

/* ---- the list ---- */

static struct owner *find_owner(const struct lmi_http_objects *o, const char *name)
{
	struct owner *w = o->owners;

	while (w && strcmp(w->name, name) != 0)
		w = w->next;
	return w;
}

/* Returns the link to an object, or to the end of the list. */
static struct object **find(struct owner *w, const char *id)
{
	struct object **p = &w->objects;

	while (*p && strcmp((*p)->id, id) != 0)
		p = &(*p)->next;
	return p;
}

static void unlist(struct owner *w, struct object **p)
{
	struct object *b = *p;

	w->bytes -= b->bytes;
	w->number--;
	*p = b->next;
	lmi_free(b);
}

/* Inserts an object in the order of time. */
static void insert(struct owner *w, struct object *b)
{
	struct object **p = &w->objects;

	while (*p && (*p)->changed_ns > b->changed_ns)
		p = &(*p)->next;
	b->next = *p;
	*p = b;
	w->bytes += b->bytes;
	w->number++;
}

static void owner_free(struct owner *w)
{
	while (w->objects)
		unlist(w, &w->objects);
	if (w->fd >= 0)
		(void)close(w->fd);
	lmi_free(w);
}

/* Removes the file of an object and forgets it; returns false if the file is still there. */
static bool drop(struct lmi_http_objects *o, struct owner *w, struct object **p)
{
	lmi_http_object_writer_forget(o->writer, w->fd, (*p)->id);
	if (unlinkat(w->fd, (*p)->id, 0) && errno != ENOENT)
		return false;
	unlist(w, p);
	return true;
}

/* ---- reading the folder ---- */

static enum lmd_status add_file(struct lmi_http_objects *o, struct owner *w, const char *name,
				struct lmd_error *err)
{
	struct object *b;
	struct stat st;

	if (!strcmp(name, LMI_HTTP_OBJECT_TEMPORARY))
		(void)unlinkat(w->fd, name, 0);
	if (!id_is_valid(name) || fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return LMD_OK;
	b = lmi_alloc(1, sizeof(*b));
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for the objects in %s", o->o.folder);
	(void)snprintf(b->id, sizeof(b->id), "%s", name);
	b->bytes = (uint64_t)st.st_size;
	b->changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	insert(w, b);
	return LMD_OK;
}

/* Calls fn for each entry of a folder. */
static enum lmd_status each_entry(struct lmi_http_objects *o, struct owner *w, int fd,
				  enum lmd_status (*fn)(struct lmi_http_objects *o, struct owner *w,
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
		return fail_errno(err, o->o.folder, w ? w->name : "");
	}
	while (st == LMD_OK && (e = readdir(d)))
		st = fn(o, w, e->d_name, err);
	(void)closedir(d);
	return st;
}

/* Opens the folder of an owner; create: makes it if it does not exist. */
static enum lmd_status open_owner(struct lmi_http_objects *o, const char *name, bool create,
				  struct owner **out, struct lmd_error *err)
{
	struct owner *w = lmi_alloc(1, sizeof(*w));
	enum lmd_status st;

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for the objects in %s", o->o.folder);
	(void)snprintf(w->name, sizeof(w->name), "%s", name);
	if (create)
		(void)mkdirat(o->fd, name, 0700);
	w->fd = openat(o->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	st = w->fd < 0 ? fail_errno(err, o->o.folder, name) : each_entry(o, w, w->fd, add_file, err);
	if (st != LMD_OK) {
		owner_free(w);
		return st;
	}
	w->next = o->owners;
	o->owners = w;
	*out = w;
	return LMD_OK;
}

static enum lmd_status add_owner(struct lmi_http_objects *o, struct owner *none, const char *name,
				 struct lmd_error *err)
{
	bool ours = !strncmp(name, "uid-", 4) || !strncmp(name, "key-", 4) || !strcmp(name, "local");
	struct owner *w;

	(void)none;
	if (!ours || strlen(name) >= OWNER_CHARS)
		return LMD_OK;
	return open_owner(o, name, false, &w, err);
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
		st = fail_errno(err, opts->folder, "");
	o->fd = open(opts->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (st == LMD_OK && o->fd < 0)
		st = fail_errno(err, opts->folder, "");
	if (st == LMD_OK)
		st = each_entry(o, NULL, o->fd, add_owner, err);
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
		struct owner *w = o->owners;

		o->owners = w->next;
		owner_free(w);
	}
	if (o->fd >= 0)
		(void)close(o->fd);
	lmi_free(o);
}

/* ---- writing ---- */

/* Returns the link to the oldest object that is not in use; NULL: there is none. */
static struct object **oldest(struct owner *w)
{
	struct object **found = NULL;

	for (struct object **p = &w->objects; *p; p = &(*p)->next)
		found = (*p)->used ? found : p;
	return found;
}

/* Removes the oldest objects until the limits hold for n_more bytes and more_objects more.  Returns false if
 * they still do not. */
static bool make_room(struct lmi_http_objects *o, struct owner *w, size_t n_more, uint32_t more_objects)
{
	while (w->number + more_objects > o->o.max_number || w->bytes + n_more > o->o.max_bytes) {
		struct object **p = oldest(w);

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
	char name[OWNER_CHARS];
	struct object *b, **old;
	struct owner *w;
	enum lmd_status st = LMD_OK;
	bool used;

	if (!id_is_valid(id))
		return lmd_fail(err, LMD_INVALID, "the id of an object is not valid");
	if (n > o->o.max_bytes)
		return lmd_fail(err, LMD_INVALID, "%zu bytes cannot be stored, the maximum is %llu", n,
				(unsigned long long)o->o.max_bytes);
	b = name_of(name, owner) ? lmi_alloc(1, sizeof(*b)) : NULL;
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for an object");
	w = find_owner(o, name);
	if (!w)
		st = open_owner(o, name, true, &w, err);
	if (st == LMD_OK)
		st = lmi_http_object_writer_put(o->writer, w->fd, id, bytes, n, now_ns, err);
	if (st != LMD_OK) {
		if (err)
			o->o.host->log(o->o.host->ctx, "http", LMD_LOG_WARN,
				       "an object cannot be stored: %s", err->text);
		lmi_free(b);
		return st;
	}
	old = find(w, id);
	if (*old) {
		b->used = (*old)->used;
		unlist(w, old);
	}
	(void)snprintf(b->id, sizeof(b->id), "%s", id);
	b->bytes = n;
	b->changed_ns = now_ns;
	insert(w, b);
	used = b->used;
	b->used = true; /* not removed to make room for itself */
	(void)make_room(o, w, 0, 0);
	b->used = used;
	return LMD_OK;
}

/* Makes room for bytes of an object, which is created if it does not exist, and takes it out of the list. */
static enum lmd_status begin_append(struct lmi_http_objects *o, struct owner *w, const char *id, size_t n,
				    struct object **out, struct lmd_error *err)
{
	struct object **p = find(w, id), *b = *p;

	if (b) {
		bool used = b->used, room;

		b->used = true; /* not removed to make room for itself */
		room = make_room(o, w, n, 0);
		b->used = used;
		if (!room)
			return lmd_fail(err, LMD_BUSY,
					"there is no room for %zu bytes: what is stored reaches the "
					"maximum, %llu bytes or %u objects, and is in use",
					n, (unsigned long long)o->o.max_bytes, o->o.max_number);
		p = find(w, id);
		*p = b->next;
		w->bytes -= b->bytes;
		w->number--;
	} else {
		if (!make_room(o, w, n, 1))
			return lmd_fail(err, LMD_BUSY,
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
	char name[OWNER_CHARS];
	struct object *b = NULL;
	struct owner *w;

	if (!id_is_valid(id))
		return lmd_fail(err, LMD_INVALID, "the id of an object is not valid");
	if (!name_of(name, owner))
		return lmd_fail(err, LMD_NOMEM, "no memory for an object");
	w = find_owner(o, name);
	if (!w)
		st = open_owner(o, name, true, &w, err);
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
	insert(w, b);
	return st;
}

/* ---- reading and removing ---- */

/* Returns the owner of an object, and sets *p to the link to it. */
static enum lmd_status look_up(struct lmi_http_objects *o, const struct lmi_svc_principal *owner,
			       const char *id, struct owner **w, struct object ***p,
			       struct lmd_error *err)
{
	char name[OWNER_CHARS];

	*w = name_of(name, owner) ? find_owner(o, name) : NULL;
	if (*w && id_is_valid(id)) {
		*p = find(*w, id);
		if (**p)
			return LMD_OK;
	}
	return lmd_fail(err, LMD_NOTFOUND, "%.63s does not exist", id);
}

static enum lmd_status read_object(struct lmi_http_objects *o, struct owner *w, const struct object *b,
				   char **text, size_t *n, struct lmd_error *err)
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
		st = fail_errno(err, o->o.folder, id);
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
	struct object **p;
	struct owner *w;
	enum lmd_status st = look_up(o, owner, id, &w, &p, err);

	return st == LMD_OK ? read_object(o, w, *p, text, n, err) : st;
}

void lmi_http_objects_each(struct lmi_http_objects *o, const char *prefix,
			   void (*fn)(void *arg, const char *id, const char *text, size_t n),
			   void *arg)
{
	for (struct owner *w = o->owners; w; w = w->next) {
		for (const struct object *b = w->objects; b; b = b->next) {
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
	struct object **p;
	struct owner *w;
	enum lmd_status st = look_up(o, owner, id, &w, &p, err);

	if (st == LMD_OK && !drop(o, w, p))
		st = fail_errno(err, o->o.folder, id);
	return st;
}

enum lmd_status lmi_http_objects_check(struct lmi_http_objects *o,
				       const struct lmi_svc_principal *owner, const char *id,
				       uint64_t *n_written, struct lmd_error *err)
{
	struct object **p;
	struct owner *w;
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
	struct object **p;
	struct owner *w;

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
	char name[OWNER_CHARS];
	const struct owner *w = name_of(name, owner) ? find_owner(o, name) : NULL;

	for (const struct object *b = w ? w->objects : NULL; b; b = b->next)
		if (!strncmp(b->id, prefix, strlen(prefix)) && !fn(arg, b->id))
			return;
}

/* ---- the end of objects ---- */

void lmi_http_objects_expire(struct lmi_http_objects *o)
{
	int64_t oldest_ns =
		o->o.wall_ns(o->o.arg) - (int64_t)o->o.max_age_s * INT64_C(1000000000);

	for (struct owner *w = o->owners; w; w = w->next) {
		struct object **p = &w->objects;

		while (*p)
			if ((*p)->used || (*p)->changed_ns > oldest_ns || !drop(o, w, p))
				p = &(*p)->next;
	}
}

void lmi_http_objects_forget_key(struct lmi_http_objects *o, const char *label)
{
	char name[OWNER_CHARS];
	struct owner *w = name_of_key(name, label) ? find_owner(o, name) : NULL, **link = &o->owners;
	struct object **p = w ? &w->objects : NULL;

	while (p && *p)
		if (!drop(o, w, p))
			p = &(*p)->next;
	if (!w || w->objects)
		return;
	(void)unlinkat(o->fd, w->name, AT_REMOVEDIR);
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	owner_free(w);
}
