/* SPDX-License-Identifier: MIT
 *
 * registry.h - finds plugins and counts their users.
 *
 * A registry scans directories, checks each file before any of its code runs (owner, mode, ELF
 * note, ABI), loads it from a sealed copy, copies its tables to the host's size, and answers
 * look-ups by kind and name. A failed look-up rescans once. A replaced file becomes a new
 * generation: new look-ups get it, references taken before keep the old one. Objects stay mapped
 * until the registry is destroyed.
 *
 * A process may have several registries; there is no global state. All functions may be called from
 * any thread; probing and loading are serialised. */
#ifndef LLAMAD_CORE_PLUGIN_REGISTRY_H
#define LLAMAD_CORE_PLUGIN_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/arch.h"
#include "llamad/backend.h"
#include "llamad/format.h"
#include "llamad/host.h"
#include "llamad/plugin.h"
#include "llamad/sampler.h"
#include "llamad/status.h"
#include "llamad/tokenizer.h"

enum lmi_plugin_trust {
	LMI_PLUGIN_TRUST_OWNER = 0, /* owned by us or root, never group- or world-writable */
	LMI_PLUGIN_TRUST_SYSTEM = 1 /* root-owned and not writable by us */
};

/* Where the code is mapped from (plugin_image.h). */
enum lmi_plugin_image_kind {
	LMI_PLUGIN_IMAGE_DEFAULT = 0, /* sealed memory; a file in sanitized builds */
	LMI_PLUGIN_IMAGE_SEALED = 1,
	LMI_PLUGIN_IMAGE_FILE = 2 /* a private file, for debuggers */
};

struct lmi_plugin_registry_opts {
	const char *const *dirs; /* [n_dirs] scanned in order; copied */
	uint32_t n_dirs;
	enum lmi_plugin_trust trust;
	/* for long-lived processes: a file that was accepted and has changed is refused until
	 * lmi_plugin_registry_rescan, and the version that was accepted stays in use */
	bool pinned;
	/* load each file in a child process first (self_test.h) */
	bool self_test;
	bool no_default_dirs;    /* only `dirs` and linked-in plugins */
	enum lmi_plugin_image_kind image;
	const struct lmd_host *host; /* passed to probe and kept; must outlive the registry */
	/* [n_linked] further descriptors that are part of the program (tests, embedders). They and
	 * those of --enable-builtin=all rank after files of the same priority and score. */
	const struct lmd_plugin *const *linked;
	uint32_t n_linked;
};

/* Returns the name of a loadable kind (enum lmd_kind), such as "arch"; NULL for other numbers. */
const char *lmi_plugin_kind_id(uint32_t kind);

struct lmi_plugin_registry;

enum lmd_status lmi_plugin_registry_create(struct lmi_plugin_registry **out,
					   const struct lmi_plugin_registry_opts *opts,
					   struct lmd_error *err);
/* Every reference must have been given back. */
void lmi_plugin_registry_destroy(struct lmi_plugin_registry *r);

/* Scans the directories again, and accepts files that have changed. Broken files are recorded and
 * are not an error. */
enum lmd_status lmi_plugin_registry_rescan(struct lmi_plugin_registry *r, struct lmd_error *err);
/* Like lmi_plugin_registry_rescan, but accepts a change of one file only: an absolute path, or the
 * name of a file in any of the directories. LMD_NOTFOUND: there is no such file. */
enum lmd_status lmi_plugin_registry_rescan_file(struct lmi_plugin_registry *r, const char *file,
						struct lmd_error *err);

/* One factory in use: the host's own copy of its table, and a reference to the object. */
struct lmi_factory {
	const struct lmd_factory *f;  /* name, state_bytes */
	const char *plugin;           /* name of the object */
	const char *version;
	const char *file;             /* path it was loaded from; "(built in)" */
	const uint8_t *digest;        /* [32] SHA-256 of the file; zeros if it is built in */
	uint64_t generation;          /* version count of one path, from 1 */
	bool untrusted;               /* root does not own the file, which is in one of `dirs` */
	int score;                    /* returned by probe */
	union {                       /* by kind; members that the plugin's table lacks are NULL */
		const void *any;
		const struct lmd_backend_ops *backend;
		const struct lmd_arch_ops *arch;
		const struct lmd_tokenizer_ops *tokenizer;
		const struct lmd_sampler_ops *sampler;
		const struct lmd_format_ops *format;
	} ops;
};

/* Takes a reference to the best factory of that kind and name (or alias) that can run here.
 * Ranking: highest priority, then highest score, then a name before an alias, then the first
 * folder. The folders and the winner's file are compared with the last scan, so that replacements
 * and removals are noticed here. If a replacement is rejected, the old version stays in use. With
 * `pinned`, replacements are accepted only by a rescan.
 * LMD_NOTFOUND: the message names the kind and name, the searched directories, and the reason if a
 * plugin of that name exists but was rejected or scored 0. */
enum lmd_status lmi_factory_take(struct lmi_plugin_registry *r, enum lmd_kind kind,
				 const char *name, const struct lmi_factory **out,
				 struct lmd_error *err);
void lmi_factory_give(struct lmi_plugin_registry *r, const struct lmi_factory *f);

/* Takes a reference to every factory of a kind that can run here and that a look-up of its name
 * finds, for kinds that are asked in turn. Ranking: highest priority, then highest score, then the
 * first folder, then the file name, then the order in the plugin. *out is an array of *n; give
 * every element back and free it with lmi_free. LMD_OK with 0 elements if there is none. */
enum lmd_status lmi_factory_take_all(struct lmi_plugin_registry *r, enum lmd_kind kind,
				     const struct lmi_factory ***out, uint32_t *n,
				     struct lmd_error *err);

/* Returns the host that was given to lmi_plugin_registry_create. */
const struct lmd_host *lmi_plugin_registry_host(const struct lmi_plugin_registry *r);
enum lmi_plugin_trust lmi_plugin_registry_trust(const struct lmi_plugin_registry *r);

/* Returns the name of the factory of a kind with the highest score, for "auto"; NULL if none. Valid
 * as long as the registry. */
const char *lmi_factory_best(struct lmi_plugin_registry *r, enum lmd_kind kind);

/* For `llamactl plugins`: one row per object, loaded or rejected. */
struct lmi_plugin_info {
	const char *file;
	const char *name;       /* "" if unreadable */
	const char *version;
	uint32_t kinds;         /* LMD_KIND_BIT */
	uint16_t abi_major, abi_minor;
	const char *state;      /* "loaded", "refused", "shadowed", "retired" */
	const char *reason;     /* "" or an explanation */
	uint64_t generation;
	uint32_t n_users;       /* references to its factories */
	uint32_t n_factories;
};
struct lmi_factory_info {
	uint32_t kind;
	const char *name;
	int score;
	const char *reason;     /* why the score is 0, or what shadows it; else "" */
};
/* Calls `plugin` for every object and then `factory` for each of its factories (NULL: skip);
 * strings are valid during the call. Loads and probes everything. The callbacks must not call the
 * registry. */
void lmi_plugin_registry_list(struct lmi_plugin_registry *r,
			      void (*plugin)(void *arg, const struct lmi_plugin_info *info),
			      void (*factory)(void *arg, const struct lmi_factory_info *info),
			      void *arg);

/* Lists the objects known so far, without scanning, loading, probing or factories. */
void lmi_plugin_registry_known(struct lmi_plugin_registry *r,
			       void (*plugin)(void *arg, const struct lmi_plugin_info *info),
			       void *arg);

#endif /* LLAMAD_CORE_PLUGIN_REGISTRY_H */
