/* SPDX-License-Identifier: MIT
 *
 * Look-ups and references. The usual look-up finds a probed factory under `mu`, sees from a few
 * stat calls that nothing changed on disk, and takes a reference. Everything else (first use of a
 * kind, a change, a failed look-up) takes `work`. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/sanitized.h"
#include "core/plugin/builtin.h"
#include "core/plugin/dirs.h"
#include "core/plugin/registry_impl.h"

void lmi_plugin_registry_add(struct lmi_plugin_registry *r, struct lmi_plugin_object *o)
{
	struct lmi_plugin_object **end = &r->objects;

	pthread_mutex_lock(&r->mu);
	while (*end)
		end = &(*end)->next;
	*end = o;
	pthread_mutex_unlock(&r->mu);
}

void lmi_plugin_registry_drop(struct lmi_plugin_registry *r, struct lmi_plugin_object *o)
{
	struct lmi_plugin_object **at = &r->objects;

	pthread_mutex_lock(&r->mu);
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	pthread_mutex_unlock(&r->mu);
}

int lmi_plugin_entry_match(const struct lmi_plugin_entry *e, const char *name)
{
	if (!strcmp(e->f.name, name))
		return 2;
	for (const char *a = e->f.aliases; a && *a; a += strlen(a) + 1)
		if (!strcmp(a, name))
			return 1;
	return 0;
}

/* Returns true if a wins over b; the `answers` are from lmi_plugin_entry_match. */
static bool better(const struct lmi_plugin_entry *a, int a_answers,
		   const struct lmi_plugin_entry *b, int b_answers)
{
	if (a->f.priority != b->f.priority)
		return a->f.priority > b->f.priority;
	if (a->pub.score != b->pub.score)
		return a->pub.score > b->pub.score;
	if (a_answers != b_answers)
		return a_answers > b_answers;
	if (a->object->dir != b->object->dir)
		return a->object->dir < b->object->dir;
	return strcmp(a->object->base, b->object->base) < 0;
}

struct lmi_plugin_entry *lmi_plugin_find_best(const struct lmi_plugin_registry *r, uint32_t kind,
					      const char *name, bool *complete)
{
	struct lmi_plugin_entry *best = NULL;
	int best_answers = 0;

	*complete = true;
	for (struct lmi_plugin_object *o = r->objects; o; o = o->next) {
		if (o->state == LMI_PLUGIN_OBJECT_CHECKED && (o->note.kinds & LMD_KIND_BIT(kind)))
			*complete = false;
		if (o->state != LMI_PLUGIN_OBJECT_LOADED)
			continue;
		for (uint32_t i = 0; i < o->n_entries; i++) {
			struct lmi_plugin_entry *e = &o->entries[i];
			int answers = e->f.kind == kind ? lmi_plugin_entry_match(e, name) : 0;

			if (!answers)
				continue;
			if (!e->probed)
				*complete = false;
			else if (e->pub.score > 0 &&
				 (!best || better(e, answers, best, best_answers))) {
				best = e;
				best_answers = answers;
			}
		}
	}
	return best;
}

static void probe(struct lmi_plugin_registry *r, struct lmi_plugin_entry *e)
{
	char why[sizeof(e->why)] = "";
	int score = 100;

	if (e->f.probe)
		score = e->f.probe(r->host, why, sizeof(why));
	why[sizeof(why) - 1] = 0;
	for (char *c = why; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	pthread_mutex_lock(&r->mu);
	e->pub.score = score > 0 ? score : 0;
	e->pub.generation = e->object->generation;
	if (score <= 0)
		snprintf(e->why, sizeof(e->why), "%s", *why ? why : "it gives no reason");
	e->probed = true;
	pthread_mutex_unlock(&r->mu);
}

enum lmd_status lmi_plugin_load_kinds(struct lmi_plugin_registry *r, uint32_t kinds,
				      struct lmd_error *err)
{
	for (struct lmi_plugin_object *o = r->objects; o; o = o->next) {
		if (o->state == LMI_PLUGIN_OBJECT_CHECKED && (o->note.kinds & kinds)) {
			enum lmi_plugin_object_state state = o->state;
			/* readers skip a CHECKED object, so it is filled without mu */
			enum lmd_status st = lmi_plugin_object_load(
				o, r->self_test ? r->host : NULL, &state, err);

			if (st != LMD_OK)
				return st;
			pthread_mutex_lock(&r->mu);
			o->state = state;
			pthread_mutex_unlock(&r->mu);
			if (o->state == LMI_PLUGIN_OBJECT_REJECTED)
				r->host->log(r->host->ctx, "plugin", LMD_LOG_WARN,
					     "refused: %s file=%s", o->reason, o->path);
		}
		for (uint32_t i = 0; o->state == LMI_PLUGIN_OBJECT_LOADED && i < o->n_entries; i++)
			if (!o->entries[i].probed &&
			    (kinds & LMD_KIND_BIT(o->entries[i].f.kind)))
				probe(r, &o->entries[i]);
	}
	return LMD_OK;
}

/* Takes a reference on the best entry. Returns NULL if there is none, or if with `fresh_only` a
 * scan might change the answer. */
static struct lmi_plugin_entry *take_best(struct lmi_plugin_registry *r, uint32_t kind,
					  const char *name, bool fresh_only)
{
	struct lmi_plugin_entry *e;
	bool complete;

	pthread_mutex_lock(&r->mu);
	e = lmi_plugin_find_best(r, kind, name, &complete);
	if (e && fresh_only && (!complete || !lmi_plugin_scan_is_fresh(r, e->object)))
		e = NULL;
	if (e)
		e->object->n_users++;
	pthread_mutex_unlock(&r->mu);
	return e;
}

enum lmd_status lmi_factory_take(struct lmi_plugin_registry *r, enum lmd_kind kind,
				 const char *name, const struct lmi_factory **out,
				 struct lmd_error *err)
{
	struct lmi_plugin_entry *e;
	enum lmd_status st;

	if (!lmi_plugin_kind(kind))
		return lmd_fail(err, LMD_INVALID, "kind %d cannot be looked up", (int)kind);
	e = take_best(r, kind, name, true);
	if (e) {
		*out = &e->pub;
		return LMD_OK;
	}
	pthread_mutex_lock(&r->work);
	st = lmi_plugin_scan(r, NULL, err);
	if (st == LMD_OK)
		st = lmi_plugin_load_kinds(r, LMD_KIND_BIT(kind), err);
	if (st == LMD_OK) {
		e = take_best(r, kind, name, false);
		if (e)
			*out = &e->pub;
		else
			st = lmi_plugin_lookup_fail(r, kind, name, err);
	}
	pthread_mutex_unlock(&r->work);
	return st;
}

/* Returns true if a look-up of the name of `e` finds `e`. */
static bool is_winner(const struct lmi_plugin_registry *r, const struct lmi_plugin_entry *e)
{
	bool complete;

	return lmi_plugin_find_best(r, e->f.kind, e->f.name, &complete) == e;
}

/* Collects the winners of a kind, best first, with a reference to each. `mu` must be held; `v` has
 * room for all factories of that kind. */
static uint32_t collect(const struct lmi_plugin_registry *r, uint32_t kind,
			const struct lmi_factory **v)
{
	uint32_t n = 0;

	for (struct lmi_plugin_object *o = r->objects; o; o = o->next) {
		for (uint32_t i = 0; o->state == LMI_PLUGIN_OBJECT_LOADED && i < o->n_entries;
		     i++) {
			const struct lmi_plugin_entry *e = &o->entries[i];
			uint32_t at = n;

			if (e->f.kind != kind || !e->pub.score || !is_winner(r, e))
				continue;
			for (; at && better(e, 2, (const struct lmi_plugin_entry *)v[at - 1], 2);
			     at--)
				v[at] = v[at - 1];
			v[at] = &e->pub;
			o->n_users++;
			n++;
		}
	}
	return n;
}

static uint32_t count(const struct lmi_plugin_registry *r, uint32_t kind)
{
	uint32_t n = 0;

	for (const struct lmi_plugin_object *o = r->objects; o; o = o->next)
		for (uint32_t i = 0; o->state == LMI_PLUGIN_OBJECT_LOADED && i < o->n_entries; i++)
			n += o->entries[i].f.kind == kind;
	return n;
}

enum lmd_status lmi_factory_take_all(struct lmi_plugin_registry *r, enum lmd_kind kind,
				     const struct lmi_factory ***out, uint32_t *n,
				     struct lmd_error *err)
{
	const struct lmi_factory **v = NULL;
	enum lmd_status st;
	uint32_t room = 0;

	if (!lmi_plugin_kind(kind))
		return lmd_fail(err, LMD_INVALID, "kind %d cannot be looked up", (int)kind);
	pthread_mutex_lock(&r->work); /* nobody else loads objects meanwhile */
	st = lmi_plugin_scan(r, NULL, err);
	if (st == LMD_OK)
		st = lmi_plugin_load_kinds(r, LMD_KIND_BIT(kind), err);
	if (st == LMD_OK)
		room = count(r, kind);
	if (room) {
		v = lmi_alloc(room, sizeof(*v));
		if (!v)
			st = lmd_fail(err, LMD_NOMEM, "no memory for a list of %u plugins", room);
	}
	if (st == LMD_OK) {
		pthread_mutex_lock(&r->mu);
		*n = collect(r, kind, v);
		pthread_mutex_unlock(&r->mu);
		*out = v;
	}
	pthread_mutex_unlock(&r->work);
	return st;
}

const struct lmd_host *lmi_plugin_registry_host(const struct lmi_plugin_registry *r)
{
	return r->host;
}

enum lmi_plugin_trust lmi_plugin_registry_trust(const struct lmi_plugin_registry *r)
{
	return r->trust;
}

void lmi_factory_give(struct lmi_plugin_registry *r, const struct lmi_factory *f)
{
	struct lmi_plugin_object *o;

	if (!f)
		return;
	o = ((const struct lmi_plugin_entry *)f)->object;
	pthread_mutex_lock(&r->mu);
	assert(o->n_users && "a factory must be given back exactly once");
	o->n_users--;
	pthread_mutex_unlock(&r->mu);
}

static const struct lmi_plugin_entry *greatest_score(const struct lmi_plugin_registry *r,
						     uint32_t kind)
{
	const struct lmi_plugin_entry *best = NULL;

	for (const struct lmi_plugin_object *o = r->objects; o; o = o->next) {
		for (uint32_t i = 0; o->state == LMI_PLUGIN_OBJECT_LOADED && i < o->n_entries;
		     i++) {
			const struct lmi_plugin_entry *e = &o->entries[i];

			if (e->f.kind != kind || !e->pub.score)
				continue;
			if (!best || e->pub.score > best->pub.score ||
			    (e->pub.score == best->pub.score && better(e, 2, best, 2)))
				best = e;
		}
	}
	return best;
}

const char *lmi_factory_best(struct lmi_plugin_registry *r, enum lmd_kind kind)
{
	const struct lmi_plugin_entry *best = NULL;

	if (!lmi_plugin_kind(kind))
		return NULL;
	pthread_mutex_lock(&r->work);
	if (lmi_plugin_scan(r, NULL, NULL) == LMD_OK &&
	    lmi_plugin_load_kinds(r, LMD_KIND_BIT(kind), NULL) == LMD_OK)
		best = greatest_score(r, kind);
	pthread_mutex_unlock(&r->work);
	return best ? best->f.name : NULL;
}

enum lmd_status lmi_plugin_registry_rescan(struct lmi_plugin_registry *r, struct lmd_error *err)
{
	enum lmd_status st;

	pthread_mutex_lock(&r->work);
	st = lmi_plugin_scan(r, LMI_PLUGIN_ACCEPT_ALL, err);
	pthread_mutex_unlock(&r->work);
	return st;
}

enum lmd_status lmi_plugin_registry_rescan_file(struct lmi_plugin_registry *r, const char *file,
						struct lmd_error *err)
{
	enum lmd_status st;
	bool found = false;

	pthread_mutex_lock(&r->work);
	st = lmi_plugin_scan(r, file, err);
	for (const struct lmi_plugin_object *o = r->objects; o; o = o->next)
		found |= o->dir != LMI_PLUGIN_BUILTIN && o->state != LMI_PLUGIN_OBJECT_RETIRED &&
			 lmi_plugin_is_accepted(o->path, o->base, file);
	if (st == LMD_OK && !found)
		st = lmd_fail(err, LMD_NOTFOUND, "no plugin folder has a file %.200s", file);
	pthread_mutex_unlock(&r->work);
	return st;
}

/* ---- life cycle ---- */

static enum lmd_status add_dir(struct lmi_plugin_registry *r, const char *path,
			       struct lmd_error *err)
{
	struct lmi_plugin_dir *v = lmi_realloc(r->dirs, r->n_dirs + 1, sizeof(*v));
	char cwd[PATH_MAX] = "";
	char *abs;
	size_t n;

	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for folder %.200s", path);
	r->dirs = v;
	if (*path != '/' && !getcwd(cwd, sizeof(cwd)))
		return lmd_fail(err, LMD_IO, "%.200s: %s", path, strerror(errno));
	n = strlen(cwd) + strlen(path) + 2;
	abs = lmi_alloc(n, 1);
	if (!abs)
		return lmd_fail(err, LMD_NOMEM, "no memory for folder %.200s", path);
	snprintf(abs, n, "%s%s%s", cwd, *path == '/' ? "" : "/", path);
	while (strlen(abs) > 1 && abs[strlen(abs) - 1] == '/')
		abs[strlen(abs) - 1] = 0;
	r->dirs[r->n_dirs++].path = abs;
	return LMD_OK;
}

static enum lmd_status add_default_dirs(struct lmi_plugin_registry *r, struct lmd_error *err)
{
	char exe[PATH_MAX], *dirs[LMI_PLUGIN_MAX_DEFAULT_DIRS];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	enum lmd_status st = LMD_OK;
	int n;

	exe[len > 0 ? len : 0] = 0;
	n = lmi_plugin_default_dirs(len > 0 ? exe : NULL, LMD_PLUGINDIR, dirs);
	if (n < 0)
		return lmd_fail(err, LMD_NOMEM, "no memory for the default folders");
	for (int i = 0; i < n; i++) {
		if (st == LMD_OK)
			st = add_dir(r, dirs[i], err);
		lmi_free(dirs[i]);
	}
	return st;
}

static enum lmd_status link_in(struct lmi_plugin_registry *r, const struct lmd_plugin *p,
			       struct lmd_error *err)
{
	struct lmi_plugin_object *o =
		lmi_plugin_object_create("", "(built in)", LMI_PLUGIN_BUILTIN);
	enum lmd_status st;

	if (!o)
		return lmd_fail(err, LMD_NOMEM, "no memory for a built-in plugin");
	o->generation = 1;
	st = lmi_plugin_object_adopt(o, p, err);
	if (st == LMD_OK)
		lmi_plugin_registry_add(r, o);
	else
		lmi_plugin_object_destroy(o);
	return st;
}

enum lmd_status lmi_plugin_registry_create(struct lmi_plugin_registry **out,
					   const struct lmi_plugin_registry_opts *opts,
					   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_plugin_registry *r;

	if (!opts->host)
		return lmd_fail(err, LMD_INVALID, "a plugin registry needs a host");
	r = lmi_alloc(1, sizeof(*r));
	if (!r)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plugin registry");
	pthread_mutex_init(&r->work, NULL);
	pthread_mutex_init(&r->mu, NULL);
	r->host = opts->host;
	r->trust = opts->trust;
	r->pinned = opts->pinned;
	r->self_test = opts->self_test;
	if (opts->image == LMI_PLUGIN_IMAGE_FILE ||
	    (opts->image == LMI_PLUGIN_IMAGE_DEFAULT && LMI_SANITIZED))
		st = lmi_plugin_copies_create(&r->copies, err);
	for (uint32_t i = 0; i < opts->n_dirs && st == LMD_OK; i++)
		st = add_dir(r, opts->dirs[i], err);
	r->n_given = r->n_dirs;
	if (st == LMD_OK && !opts->no_default_dirs)
		st = add_default_dirs(r, err);
	for (uint32_t i = 0; i < opts->n_linked && st == LMD_OK; i++)
		st = link_in(r, opts->linked[i], err);
	for (uint32_t i = 0; lmi_plugin_builtins[i] && st == LMD_OK; i++)
		st = link_in(r, lmi_plugin_builtins[i], err);
	if (st == LMD_OK)
		st = lmi_plugin_scan(r, LMI_PLUGIN_ACCEPT_ALL, err);
	if (st != LMD_OK) {
		lmi_plugin_registry_destroy(r);
		return st;
	}
	*out = r;
	return LMD_OK;
}

void lmi_plugin_registry_destroy(struct lmi_plugin_registry *r)
{
	if (!r)
		return;
	for (struct lmi_plugin_object *o = r->objects, *next; o; o = next) {
		next = o->next;
		assert(!o->n_users && "all factories must be given back before the registry is "
				      "destroyed");
		lmi_plugin_object_destroy(o);
	}
	lmi_plugin_copies_remove(&r->copies, r->host);
	for (struct lmi_plugin_accepted *a = r->accepted, *next; a; a = next) {
		next = a->next;
		lmi_free(a);
	}
	for (uint32_t i = 0; i < r->n_dirs; i++)
		lmi_free(r->dirs[i].path);
	lmi_free(r->dirs);
	pthread_mutex_destroy(&r->work);
	pthread_mutex_destroy(&r->mu);
	lmi_free(r);
}
