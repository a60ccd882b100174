/* SPDX-License-Identifier: MIT
 *
 * The life cycle of one version of a plugin. Before dlopen every check looks at bytes; afterwards
 * the descriptor's tables are compared with the note and copied. */
#include "core/plugin/object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/plugin/elf_note.h"
#include "core/plugin/self_test.h"
#include "core/plugin/trust.h"

/* File systems take timestamps from a clock that ticks every 1 to 10 ms. */
#define RACY_NS 100000000ll

#define MAX_FACTORIES 4096u

static int64_t ns_between(const struct timespec *a, const struct timespec *b)
{
	int64_t s = (int64_t)b->tv_sec - (int64_t)a->tv_sec;

	/* clamp: differences above an hour do not matter */
	s = s > 3600 ? 3600 : s < -3600 ? -3600 : s;
	return s * 1000000000ll + (b->tv_nsec - a->tv_nsec);
}

struct lmi_plugin_file_id lmi_plugin_file_id(const struct stat *sb, const struct timespec *now)
{
	return (struct lmi_plugin_file_id){
		.dev = sb->st_dev,
		.ino = sb->st_ino,
		.size = sb->st_size,
		.mtime = sb->st_mtim,
		.ctime = sb->st_ctim,
		/* only the kernel can set the change time */
		.racy = ns_between(&sb->st_ctim, now) < RACY_NS,
	};
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool lmi_plugin_file_id_same(const struct lmi_plugin_file_id *old, const struct stat *sb)
{
	return !old->racy && old->dev == sb->st_dev && old->ino == sb->st_ino &&
	       old->size == sb->st_size && same_time(&old->mtime, &sb->st_mtim) &&
	       same_time(&old->ctime, &sb->st_ctim);
}

bool lmi_plugin_file_id_equal(const struct lmi_plugin_file_id *a,
			      const struct lmi_plugin_file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       same_time(&a->mtime, &b->mtime) && same_time(&a->ctime, &b->ctime);
}

struct lmi_plugin_object *lmi_plugin_object_create(const char *dir_path, const char *base,
						   uint32_t dir)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_plugin_object *o = arena ? lmi_arena_alloc(arena, sizeof(*o), 64) : NULL;
	char *path = o ? lmi_arena_printf(arena, "%s%s%s", dir_path, *dir_path ? "/" : "", base)
		       : NULL;

	if (!path) {
		lmi_arena_destroy(arena);
		return NULL;
	}
	o->arena = arena;
	o->path = path;
	o->base = path + strlen(path) - strlen(base);
	o->dir = dir;
	o->image.fd = -1;
	return o;
}

void lmi_plugin_object_destroy(struct lmi_plugin_object *o)
{
	if (!o)
		return;
	lmi_plugin_image_close(&o->image);
	lmi_arena_destroy(o->arena);
}

void lmi_plugin_object_reject(struct lmi_plugin_object *o, const char *reason)
{
	o->state = LMI_PLUGIN_OBJECT_REJECTED;
	snprintf(o->reason, sizeof(o->reason), "%s", reason);
}

/* Stores an error of the file in the object's state; returns an error of the host to the caller. */
static enum lmd_status set_state(struct lmi_plugin_object *o, enum lmd_status st,
				 enum lmi_plugin_object_state good,
				 enum lmi_plugin_object_state *out, const struct lmd_error *why,
				 struct lmd_error *err)
{
	if (st == LMD_NOMEM)
		return lmd_fail(err, st, "%.200s: %.200s", o->path, why->text);
	*out = st == LMD_OK ? good : LMI_PLUGIN_OBJECT_REJECTED;
	if (st != LMD_OK)
		snprintf(o->reason, sizeof(o->reason), "%s", why->text);
	return LMD_OK;
}

/* While the major version is 0, minor versions are incompatible; from 1 on tables only grow at
 * their end. */
static enum lmd_status check_abi(unsigned major, unsigned minor, struct lmd_error *err)
{
	if (major != LMD_ABI_MAJOR || (LMD_ABI_MAJOR == 0 && minor != LMD_ABI_MINOR))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"built for plugin ABI %u.%u, but this program has %d.%d", major,
				minor, LMD_ABI_MAJOR, LMD_ABI_MINOR);
	return LMD_OK;
}

static enum lmd_status check_note(struct lmd_note *note, struct lmd_error *err)
{
	enum lmd_status st = check_abi(note->abi_major, note->abi_minor, err);
	uint32_t known = 0;

	if (st != LMD_OK)
		return st;
	for (uint32_t k = 0; k < 32; k++)
		known |= lmi_plugin_kind(k) ? LMD_KIND_BIT(k) : 0;
	if (!lmi_plugin_name_ok(note->name))
		return lmd_fail(err, LMD_INVALID,
				"note: invalid name '%s' (must match [a-z0-9][a-z0-9_.-]*)",
				note->name);
	if (!note->kinds || (note->kinds & ~known)) {
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "note: kinds %#x contain none or unknown ones (loadable kinds: %#x)",
			      note->kinds, known);
		note->kinds = 0; /* the kind is unknown */
	}
	return st;
}

static enum lmd_status open_file(const struct lmi_plugin_object *o, int dir_fd, int *out,
				 struct lmd_error *err)
{
	/* O_NONBLOCK: opening a FIFO must not wait for a writer */
	int fd = openat(dir_fd, o->base,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ELOOP)
		return lmd_fail(err, LMD_INVALID, "is a symbolic link; links are not followed");
	if (fd < 0)
		return lmd_fail(err, LMD_IO, "opening: %s", strerror(errno));
	*out = fd;
	return LMD_OK;
}

static enum lmd_status read_file(struct lmi_plugin_object *o, int fd, enum lmi_plugin_trust trust,
				 const char *folder, struct lmd_error *err)
{
	struct timespec now;
	struct stat sb, after;
	enum lmd_status st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (fstat(fd, &sb))
		return lmd_fail(err, LMD_IO, "stat: %s", strerror(errno));
	o->id = lmi_plugin_file_id(&sb, &now);
	o->untrusted &= sb.st_uid != 0;
	if (!S_ISREG(sb.st_mode))
		return lmd_fail(err, LMD_INVALID, "not a regular file (mode %06o)",
				(unsigned)sb.st_mode);
	st = lmi_plugin_trust_check(trust, fd, &sb, "file", err);
	if (st == LMD_OK)
		st = lmi_plugin_image_copy(&o->image, fd, folder, o->base, err);
	if (st != LMD_OK)
		return st;
	if (fstat(fd, &after) || after.st_size != sb.st_size ||
	    !same_time(&after.st_mtim, &sb.st_mtim) || (off_t)o->image.n != sb.st_size) {
		o->id.racy = true;
		return lmd_fail(err, LMD_BUSY, "the file changed while it was being read");
	}
	st = lmi_plugin_elf_note(o->image.bytes, o->image.n, &o->note, err);
	if (st == LMD_OK)
		st = check_note(&o->note, err);
	if (st == LMD_OK)
		memcpy(o->digest, o->image.digest, sizeof(o->digest));
	return st;
}

enum lmd_status lmi_plugin_object_read(struct lmi_plugin_object *o, int dir_fd,
				       enum lmi_plugin_trust trust, const char *folder,
				       struct lmd_error *err)
{
	struct lmd_error why = {0};
	enum lmd_status st;
	int fd = -1;

	st = open_file(o, dir_fd, &fd, &why);
	if (st == LMD_OK)
		st = read_file(o, fd, trust, folder, &why);
	if (fd >= 0)
		close(fd);
	if (st != LMD_OK)
		lmi_plugin_image_close(&o->image);
	if (st == LMD_IO) /* such as a lack of descriptors: may pass without a change of the file */
		o->id.racy = true;
	return set_state(o, st, LMI_PLUGIN_OBJECT_CHECKED, &o->state, &why, err);
}

static enum lmd_status check_descriptor(const struct lmi_plugin_object *o,
					const struct lmd_plugin *p, struct lmd_error *err)
{
	const uint32_t need = offsetof(struct lmd_plugin, factories) + sizeof(p->factories);
	enum lmd_status st;

	if (p->magic != LMD_PLUGIN_MAGIC)
		return lmd_fail(err, LMD_INVALID, "llamad_plugin: magic is %#x, must be %#x",
				p->magic, LMD_PLUGIN_MAGIC);
	st = check_abi(p->abi_major, p->abi_minor, err);
	if (st != LMD_OK)
		return st;
	if (p->struct_size < need)
		return lmd_fail(err, LMD_INVALID,
				"llamad_plugin: size is %u bytes, must be at least %u",
				p->struct_size, need);
	if (!p->name || !lmi_plugin_name_ok(p->name) || !p->version || !p->license)
		return lmd_fail(err, LMD_INVALID,
				"llamad_plugin: name, version or license is missing");
	if (*o->note.name && (strcmp(p->name, o->note.name) || strcmp(p->version, o->note.version)))
		return lmd_fail(err, LMD_INVALID,
				"the note says %s %s, but llamad_plugin says %.48s %.32s",
				o->note.name, o->note.version, p->name, p->version);
	if (!p->factories || !p->n_factories || p->n_factories > MAX_FACTORIES)
		return lmd_fail(err, LMD_INVALID, "llamad_plugin: %u factories, must be 1..%u",
				p->factories ? p->n_factories : 0, MAX_FACTORIES);
	return LMD_OK;
}

static enum lmd_status add_entry(struct lmi_plugin_object *o, const struct lmd_plugin *p,
				 uint32_t i, struct lmd_error *err)
{
	struct lmi_plugin_entry *e = &o->entries[i];
	const struct lmi_plugin_kind *kind;
	struct lmd_error why = {0};
	enum lmd_status st;
	void *ops;

	st = lmi_factory_adapt(p, i, &e->f, err);
	if (st != LMD_OK)
		return st;
	kind = lmi_plugin_kind(e->f.kind);
	ops = lmi_arena_alloc(o->arena, kind->ops_bytes, 16);
	if (!ops)
		return lmd_fail(err, LMD_NOMEM, "no memory for its tables");
	st = lmi_plugin_ops_table_adapt(kind, e->f.ops, ops, &why);
	if (st != LMD_OK)
		return lmd_fail(err, st, "factory '%s': %s", e->f.name, why.text);
	e->f.ops = ops;
	e->object = o;
	e->pub = (struct lmi_factory){
		.f = &e->f,
		.plugin = p->name,
		.version = p->version,
		.file = o->path,
		.digest = o->digest,
		.untrusted = o->untrusted,
		.ops.any = ops,
	};
	return LMD_OK;
}

static enum lmd_status add_entries(struct lmi_plugin_object *o, const struct lmd_plugin *p,
				   uint32_t *kinds, struct lmd_error *err)
{
	enum lmd_status st = check_descriptor(o, p, err);
	uint32_t all = 0;

	if (st != LMD_OK)
		return st;
	o->entries = lmi_arena_alloc(o->arena, p->n_factories * sizeof(*o->entries), 16);
	if (!o->entries)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u factories", p->n_factories);
	for (uint32_t i = 0; i < p->n_factories && st == LMD_OK; i++) {
		st = add_entry(o, p, i, err);
		all |= st == LMD_OK ? LMD_KIND_BIT(o->entries[i].f.kind) : 0;
	}
	if (st != LMD_OK)
		return st;
	if (*o->note.name && all != o->note.kinds)
		return lmd_fail(err, LMD_INVALID, "the note says kinds %#x, but the factories have "
						  "%#x",
				o->note.kinds, all);
	*kinds = all;
	o->n_entries = p->n_factories;
	return LMD_OK;
}

static enum lmd_status map(struct lmi_plugin_object *o, struct lmd_error *err)
{
	const struct lmd_plugin *p;
	uint32_t kinds;
	enum lmd_status st = lmi_plugin_image_open(&o->image, err);

	if (st != LMD_OK)
		return st;
	p = dlsym(o->image.handle, "llamad_plugin");
	return p ? add_entries(o, p, &kinds, err)
		 : lmd_fail(err, LMD_INVALID, "symbol llamad_plugin is missing");
}

struct self_test {
	struct lmi_plugin_object *o;
	const struct lmd_host *host;
};

/* In a child process: maps the object and calls what the registry would call next. */
static enum lmd_status test_in_child(void *arg, struct lmd_error *err)
{
	const struct self_test *t = arg;
	enum lmd_status st = map(t->o, err);
	char why[160];

	for (uint32_t i = 0; st == LMD_OK && i < t->o->n_entries; i++)
		if (t->o->entries[i].f.probe)
			(void)t->o->entries[i].f.probe(t->host, why, sizeof(why));
	if (st == LMD_OK)
		lmi_plugin_image_close(&t->o->image); /* what runs at the end can crash as well */
	return st;
}

enum lmd_status lmi_plugin_object_load(struct lmi_plugin_object *o,
				       const struct lmd_host *test_host,
				       enum lmi_plugin_object_state *out, struct lmd_error *err)
{
	struct self_test test = {o, test_host};
	struct lmd_error why = {0};
	enum lmd_status st = LMD_OK;

	if (test_host)
		st = lmi_plugin_self_test(test_in_child, &test, &why);
	if (st == LMD_OK)
		st = map(o, &why);
	if (st == LMD_NOMEM) /* the next attempt needs the copy */
		lmi_plugin_image_unload(&o->image);
	else if (st != LMD_OK)
		lmi_plugin_image_close(&o->image);
	return set_state(o, st, LMI_PLUGIN_OBJECT_LOADED, out, &why, err);
}

enum lmd_status lmi_plugin_object_adopt(struct lmi_plugin_object *o, const struct lmd_plugin *p,
					struct lmd_error *err)
{
	struct lmd_error why = {0};
	enum lmd_status st = add_entries(o, p, &o->note.kinds, &why);

	if (p->name && p->version) {
		snprintf(o->note.name, sizeof(o->note.name), "%s", p->name);
		snprintf(o->note.version, sizeof(o->note.version), "%s", p->version);
	}
	o->note.abi_major = p->abi_major;
	o->note.abi_minor = p->abi_minor;
	return set_state(o, st, LMI_PLUGIN_OBJECT_LOADED, &o->state, &why, err);
}
