/* SPDX-License-Identifier: MIT
 *
 * registry_impl.h - internals of the registry, shared by registry.c, scan.c, list.c and
 * lookup_error.c.
 *
 * There are two mutexes. `work` is held while files are read, objects loaded and factories probed,
 * so at most one thread does this. `mu` guards the tables for look-ups and is a leaf: nothing is
 * called through a table while it is held. The tables are written with both held, so holding either
 * is enough to read them. Lock order: work before mu. */
#ifndef LLAMAD_CORE_PLUGIN_REGISTRY_IMPL_H
#define LLAMAD_CORE_PLUGIN_REGISTRY_IMPL_H

#include <pthread.h>

#include "core/plugin/copies.h"
#include "core/plugin/object.h"
#include "core/plugin/registry.h"

/* Maximum number of replaced versions of one file that stay mapped. */
#define LMI_PLUGIN_MAX_RETIRED 64u

enum lmi_plugin_dir_state {
	LMI_PLUGIN_DIR_NEW, /* not scanned yet */
	LMI_PLUGIN_DIR_PRESENT,
	LMI_PLUGIN_DIR_ABSENT,   /* `reason` says why it cannot be read */
	LMI_PLUGIN_DIR_DUPLICATE /* the same folder as an earlier one */
};

struct lmi_plugin_dir {
	char *path;             /* absolute */
	enum lmi_plugin_dir_state state;
	struct lmi_plugin_file_id id;
	char reason[128];
};

/* The content of a path that was accepted last. */
struct lmi_plugin_accepted {
	struct lmi_plugin_accepted *next;
	uint32_t dir;
	uint8_t digest[LMI_PLUGIN_DIGEST_BYTES];
	char base[];
};

struct lmi_plugin_registry {
	pthread_mutex_t work, mu;
	const struct lmd_host *host;
	enum lmi_plugin_trust trust;
	bool pinned, self_test;
	struct lmi_plugin_accepted *accepted; /* `work` must be held */
	struct lmi_plugin_copies copies;      /* for LMI_PLUGIN_IMAGE_FILE */
	uint32_t n_dirs, n_given;          /* n_given: the first ones, which are not default folders */
	struct lmi_plugin_dir *dirs;       /* the array and the paths never change */
	struct lmi_plugin_object *objects; /* in the order in which they were found */
};

/* Add an object at the end, and remove one; both lock mu. */
void lmi_plugin_registry_add(struct lmi_plugin_registry *r, struct lmi_plugin_object *o);
void lmi_plugin_registry_drop(struct lmi_plugin_registry *r, struct lmi_plugin_object *o);

#define LMI_PLUGIN_ACCEPT_ALL ""

/* Scans all folders. accept: which changed files may replace what was accepted, also if the registry
 * is pinned: none (NULL), LMI_PLUGIN_ACCEPT_ALL, or the path or the name of one. `work` must be
 * held. */
enum lmd_status lmi_plugin_scan(struct lmi_plugin_registry *r, const char *accept,
				struct lmd_error *err);
/* Returns whether `accept` names the file. */
bool lmi_plugin_is_accepted(const char *path, const char *base, const char *accept);

/* Returns true if the folder list, and the file of `o` (NULL: none), are unchanged since the last
 * scan. Either lock must be held. */
bool lmi_plugin_scan_is_fresh(const struct lmi_plugin_registry *r,
			      const struct lmi_plugin_object *o);

/* Loads every CHECKED object that has one of these kinds and probes its factories. `work` must be
 * held. */
enum lmd_status lmi_plugin_load_kinds(struct lmi_plugin_registry *r, uint32_t kinds,
				      struct lmd_error *err);

/* Returns the best entry of that kind and name among the loaded objects, or NULL. Sets *complete if
 * no other entry could have won (all candidates are loaded and probed). Entries of score 0 never
 * win. Either lock must be held. */
struct lmi_plugin_entry *lmi_plugin_find_best(const struct lmi_plugin_registry *r, uint32_t kind,
					      const char *name, bool *complete);

/* Compares the entry with a name: 0 = no match, 1 = an alias matches, 2 = its name matches. */
int lmi_plugin_entry_match(const struct lmi_plugin_entry *e, const char *name);

/* Fails with LMD_NOTFOUND and explains the failed look-up. `work` must be held. */
enum lmd_status lmi_plugin_lookup_fail(const struct lmi_plugin_registry *r, uint32_t kind,
				       const char *name, struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_REGISTRY_IMPL_H */
