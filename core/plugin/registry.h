/* SPDX-License-Identifier: MIT
 *
 * registry.h - which plugins there are and who uses them.
 *
 * A registry scans directories, checks each file before any of its code runs (owner,
 * mode, ELF note, ABI), loads it from a sealed copy, copies its tables to the host's
 * width, and answers look-ups by kind and name.  A look-up that misses rescans once.
 * A replaced file becomes a new generation: new look-ups get it, references taken before
 * keep the old one.  Objects stay mapped until the registry is destroyed.
 *
 * Several registries may live in one process; there is no global state.
 * All functions may be called from any thread; probing and loading are serialised. */
#ifndef LLAMAD_CORE_PLUGIN_REGISTRY_H
#define LLAMAD_CORE_PLUGIN_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/arch.h"
#include "llamad/backend.h"
#include "llamad/host.h"
#include "llamad/plugin.h"
#include "llamad/sampler.h"
#include "llamad/status.h"
#include "llamad/tokenizer.h"

enum lmi_trust {
	LMI_TRUST_OWNER = 0, /* own uid or root, never group- or world-writable */
	LMI_TRUST_SYSTEM = 1 /* root-owned and not writable by us */
};

/* Where the code runs from (carrier.h). */
enum lmi_carrier_kind {
	LMI_CARRIER_DEFAULT = 0, /* sealed memory; a file in builds with a sanitizer */
	LMI_CARRIER_SEALED = 1,
	LMI_CARRIER_FILE = 2     /* a private file, for debuggers */
};

struct lmi_registry_opts {
	const char *const *dirs; /* [n_dirs] scanned in order; copied */
	uint32_t n_dirs;
	enum lmi_trust trust;
	bool no_default_dirs;    /* only `dirs` (and what is linked in) */
	enum lmi_carrier_kind carrier;
	const struct lmd_host *host; /* given to probe and kept; outlives the registry */
	/* [n_linked] further descriptors that are part of the program (tests, embedders); they and
	 * those of --enable-builtin=all rank behind files of the same priority and score */
	const struct lmd_plugin *const *linked;
	uint32_t n_linked;
};

struct lmi_registry;

enum lmd_status lmi_registry_create(struct lmi_registry **out, const struct lmi_registry_opts *opts,
				    struct lmd_error *err);
/* Every reference must have been given back. */
void lmi_registry_destroy(struct lmi_registry *r);

/* Looks at the directories again.  Broken files are recorded, not an error. */
enum lmd_status lmi_registry_rescan(struct lmi_registry *r, struct lmd_error *err);

/* One factory in use: the host's own copy of its table, and a reference on the object. */
struct lmi_factory {
	const struct lmd_factory *f;  /* name, state_bytes */
	const char *plugin;           /* name of the object */
	const char *version;
	const char *file;             /* path it came from; "(built in)" */
	uint64_t generation;          /* counts the versions of one path, from 1 */
	int score;                    /* of probe */
	union {                       /* by kind; members beyond the plugin's size are NULL */
		const void *any;
		const struct lmd_backend_ops *backend;
		const struct lmd_arch_ops *arch;
		const struct lmd_tokenizer_ops *tokenizer;
		const struct lmd_sampler_ops *sampler;
	} ops;
};

/* The best factory of that kind and name (or alias) that can run here; takes a reference.
 * Best: the greatest priority, then the greatest score, then a name before an alias, then
 * the first folder.  The folders and the winner's file are compared with the last scan: what
 * was replaced or removed meanwhile is noticed here.  A replacement that is refused leaves
 * the old version serving.
 * LMD_NOTFOUND names the thing, the directories that were searched, and the reason when
 * a plugin of that name exists but was refused or scored 0. */
enum lmd_status lmi_factory_take(struct lmi_registry *r, enum lmd_kind kind, const char *name,
				 const struct lmi_factory **out, struct lmd_error *err);
void lmi_factory_give(struct lmi_registry *r, const struct lmi_factory *f);

/* The name of the factory of a kind with the greatest score, for "auto"; NULL if none.
 * Lives as long as the registry. */
const char *lmi_factory_best(struct lmi_registry *r, enum lmd_kind kind);

/* For `llamactl plugins`: one row per object found, loaded or refused. */
struct lmi_plugin_info {
	const char *file;
	const char *name;       /* "" if unreadable */
	const char *version;
	uint32_t kinds;         /* LMD_KIND_BIT */
	uint16_t abi_major, abi_minor;
	const char *state;      /* "loaded", "refused", "shadowed", "retired" */
	const char *reason;     /* "" or a sentence */
	uint64_t generation;
	uint32_t n_users;       /* references on its factories */
	uint32_t n_factories;
};
struct lmi_factory_info {
	uint32_t kind;
	const char *name;
	int score;
	const char *reason;     /* why the score is 0, or by what it is shadowed; "" */
};
/* Calls back for every object, then for its factories (NULL: not wanted); strings are valid
 * in the call.  Loads and probes everything.  The callbacks must not call the registry. */
void lmi_registry_list(struct lmi_registry *r,
		       void (*plugin)(void *arg, const struct lmi_plugin_info *info),
		       void (*factory)(void *arg, const struct lmi_factory_info *info), void *arg);

/* The same without looking, loading and probing: what is known by now, no factories. */
void lmi_registry_known(struct lmi_registry *r,
			void (*plugin)(void *arg, const struct lmi_plugin_info *info), void *arg);

#endif /* LLAMAD_CORE_PLUGIN_REGISTRY_H */
