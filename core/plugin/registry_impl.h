/* SPDX-License-Identifier: MIT
 *
 * registry_impl.h - the inside of a registry, for registry.c, scan.c and list.c.
 *
 * Two mutexes.  `work` is held while files are read, objects loaded and factories probed: at
 * most one thread does these.  `mu` guards the tables for look-ups and is a leaf: nothing
 * is called through a table while it is held.  The tables are written with both held, so
 * holding either is enough to read them.  Order: work before mu. */
#ifndef LLAMAD_CORE_PLUGIN_REGISTRY_IMPL_H
#define LLAMAD_CORE_PLUGIN_REGISTRY_IMPL_H

#include <pthread.h>

#include "core/plugin/object.h"
#include "core/plugin/registry.h"

/* Versions of one file that stay mapped although replaced. */
#define LMI_MAX_RETIRED 64u

enum lmi_dir_state {
	LMI_DIR_NEW,       /* not scanned yet */
	LMI_DIR_PRESENT,
	LMI_DIR_ABSENT,    /* `reason` says why it cannot be read */
	LMI_DIR_DUPLICATE  /* the same folder as an earlier one */
};

struct lmi_dir {
	char *path;             /* absolute */
	enum lmi_dir_state state;
	struct lmi_file_id id;
	char reason[128];
};

struct lmi_registry {
	pthread_mutex_t work, mu;
	const struct lmd_host *host;
	enum lmi_trust trust;
	char *copies;            /* folder of FILE carriers, or NULL */
	uint32_t n_dirs;
	struct lmi_dir *dirs;    /* the array and the paths never change */
	struct lmi_object *objects; /* in the order they were found */
};

/* Appends an object, or takes it out; locks mu. */
void lmi_registry_add(struct lmi_registry *r, struct lmi_object *o);
void lmi_registry_drop(struct lmi_registry *r, struct lmi_object *o);

/* Looks at all folders.  `work` is held. */
enum lmd_status lmi_scan(struct lmi_registry *r, struct lmd_error *err);

/* Is the folder list, and the file of `o` (NULL: none), as the last scan saw it?  Either lock. */
bool lmi_scan_is_fresh(const struct lmi_registry *r, const struct lmi_object *o);

/* Loads what is CHECKED and has one of these kinds; probes their factories.  `work` is held. */
enum lmd_status lmi_load_kinds(struct lmi_registry *r, uint32_t kinds, struct lmd_error *err);

/* The best entry of that kind and name among the loaded objects, or NULL; *complete: no other
 * could have won (all candidates are loaded and probed).  Entries of score 0 never win.
 * Either lock. */
struct lmi_entry *lmi_find_best(const struct lmi_registry *r, uint32_t kind, const char *name,
				bool *complete);

/* Does the entry answer to this name?  0 no, 1 by an alias, 2 by its name. */
int lmi_entry_answers(const struct lmi_entry *e, const char *name);

/* LMD_NOTFOUND with the sentence of a miss.  `work` is held. */
enum lmd_status lmi_say_miss(const struct lmi_registry *r, uint32_t kind, const char *name,
			     struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_REGISTRY_IMPL_H */
