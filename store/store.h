/* SPDX-License-Identifier: MIT
 *
 * store.h - the model store: the persistent data of the daemon, in one sqlite database.
 *
 * Layout of the state folder:
 *     registry.db (-wal, -shm)      the database; mode 0600
 *     registry.lock                 locked while a process has the store open; if it is not empty,
 *                                   the last process did not close the store
 *     registry.db.corrupt-STAMP     a corrupt database that was moved aside
 *     models/sha256-HEX             imported files, named by their content; mode 0600
 *     models/import-PID-N.part      an unfinished import
 *
 * When a call returns LMD_OK, its rows are on the disk (WAL, synchronous=FULL): a later crash of
 * the process or the machine does not undo them.  A call that fails has changed nothing, since
 * every writing call is one transaction.  Statuses of all calls on an open store:
 *     LMD_INVALID   an argument is out of range, or a name is in use
 *     LMD_NOTFOUND  no such row
 *     LMD_NOMEM     out of memory
 *     LMD_BUSY      another connection holds the database longer than busy_ms
 *     LMD_IO        a system error: disk full, read-only, a failing device
 *     LMD_CORRUPT   the database is inconsistent; the next call moves it aside and continues with a
 *                   new one that has the rows that could still be read
 *     LMD_INTERNAL  a bug in llamad
 *
 * Times are nanoseconds since 1970-01-01 UTC, 0 = never, and are given by the caller; the store
 * reads no clock.  Texts are UTF-8 with a terminating zero.
 *
 * Threads: a store may be used by one thread at a time, unless a function says otherwise.  Functions of
 * digest.h and import.h need no store and may run on any thread. */
#ifndef LLAMAD_STORE_STORE_H
#define LLAMAD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmd_arena;
struct lmi_store;

/* Bounds. */
#define LMI_STORE_NAME_MAX   128       /* bytes of a name or alias */
#define LMI_STORE_PATH_MAX   4095      /* bytes of a path */
#define LMI_STORE_WORD_MAX   64        /* bytes of format, arch */
#define LMI_STORE_TEXT_MAX   256       /* bytes of a label, principal, key of settings and kv */
#define LMI_STORE_VALUE_MAX  (1 << 20) /* bytes of facts */
#define LMI_STORE_FILES_MAX  1024      /* files of one model */
#define LMI_STORE_DIGEST_HEX 65        /* 64 lower-case hex digits and a zero */

/* Open and close */

struct lmi_store_report;

struct lmi_store_opts {
	int64_t now_ns;   /* for the name of a database that is moved aside */
	uint32_t busy_ms; /* how long a call waits for another connection; 0 = 5000 */
	const char *vfs;  /* name of sqlite's VFS; NULL = its default */
	/* Changes nothing in the state folder: LMD_CORRUPT if the database is damaged, and calls that write
	 * fail. Only an index (-shm) may be created, if the last process did not close the database. */
	bool read_only;
	/* called when a database that turned out to be corrupt in use has been replaced, by the
	 * thread that uses the store; may be NULL.  The report is that of the replacement. */
	void (*replaced)(void *arg, const struct lmi_store_report *report);
	void *arg;
};

/* The results of open. */
struct lmi_store_report {
	bool fresh;               /* a new database was created */
	bool unclean;             /* the last process did not close the database */
	bool checked;             /* the structure of the database was checked: always, except for
				   * a large one that was closed properly */
	bool moved_aside;         /* it was corrupt and was moved to `moved_to`; a new one was
				   * created with the rows that could still be read */
	uint64_t n_rows_kept;     /* their number */
	uint32_t schema_from;     /* its schema before the migrations; 0: new */
	uint32_t schema;          /* its schema now */
	uint32_t n_parts_removed; /* unfinished imports that were removed */
	char moved_to[64];        /* file name in the state folder, or "" */
	char reason[160];         /* why it was moved aside, or "" */
};

/* Opens the store in the folder `dir`, which is created with mode 0700 if it is missing (but not
 * its parents).  Applies all migrations up to the schema of this build, or none.
 *
 * report: written on success; NULL allowed.  LMD_BUSY: another process has the store open.
 * LMD_UNSUPPORTED: created by a newer llamad; nothing was changed.  LMD_INVALID: registry.db is
 * another program's database; nothing was changed. */
LMD_NODISCARD enum lmd_status lmi_store_open(struct lmi_store **out, const char *dir,
					     const struct lmi_store_opts *opts,
					     struct lmi_store_report *report,
					     struct lmd_error *err);

/* Closes the store: writes the log into the database and marks it as clean, unless the last call
 * returned LMD_CORRUPT; then the next open checks it.  NULL allowed. */
void lmi_store_close(struct lmi_store *s);

/* Returns the state folder as given to open; valid as long as the store. */
const char *lmi_store_dir(const struct lmi_store *s);

/* Returns the report of the latest replacement of a corrupt database since the process opened the
 * store, or NULL.  Valid until the next call that takes the store. */
const struct lmi_store_report *lmi_store_replacement(const struct lmi_store *s);

/* Returns how often a database that turned out to be corrupt in use has been replaced.  Any thread. */
uint32_t lmi_store_n_replaced(const struct lmi_store *s);

/* Writes a consistent copy of the database to the file `name` in the state folder, which must not
 * exist, and syncs it.  `bytes`: its size. */
LMD_NODISCARD enum lmd_status lmi_store_backup(struct lmi_store *s, const char *name,
					       uint64_t *bytes, struct lmd_error *err);
/* Replaces all rows by those of the file `name` in the state folder, a copy made by
 * lmi_store_backup of this or an older schema; the file is checked first and is not changed.  On
 * failure the rows stay as they were. */
LMD_NODISCARD enum lmd_status lmi_store_restore(struct lmi_store *s, const char *name,
						struct lmd_error *err);
/* Names of copies: 1..64 bytes of [A-Za-z0-9._-], not beginning with '.' or '-', ending in
 * ".backup". */
LMD_NODISCARD enum lmd_status lmi_store_backup_name_check(const char *name, struct lmd_error *err);

/* Checks a name: 1..128 bytes of [A-Za-z0-9._:/-], no "..", no '/' at the start.  Names are never
 * used as paths. */
LMD_NODISCARD enum lmd_status lmi_store_name_check(const char *name, struct lmd_error *err);

/* Models */

/* A file of a model, with its identity for detecting changes without reading it. */
struct lmi_store_file {
	const char *path; /* absolute; for an imported file its present path */
	uint64_t size, dev, ino;
	int64_t mtime_ns, ctime_ns;
	char digest[LMI_STORE_DIGEST_HEX]; /* SHA-256 */
};

/* Measurements on this machine; 0 = not measured yet. */
struct lmi_store_measured {
	uint64_t memory_bytes;          /* resident and device bytes of the loaded model */
	uint64_t load_ns;               /* from the request to ready */
	double prefill_tps, decode_tps; /* tokens per second */
	int64_t at_ns;
};

struct lmi_store_model {
	const char *name;
	char digest[LMI_STORE_DIGEST_HEX]; /* lmi_store_digest_join of its files */
	uint64_t size;                     /* bytes of all files */
	const char *format, *arch;         /* "gguf", "llama"; "" if unknown */
	const char *facts; /* properties as a JSON object: parameters, layers, context, quant,
			    * file_type, license, chat_template, ... */
	int64_t added_at;
	bool imported; /* its files are models/sha256-HEX in this store */
	struct lmi_store_measured measured;
	uint32_t n_files;
	const struct lmi_store_file *files; /* [n_files], in order of the parts */
};

/* A list of models, owned by the caller and freed as a whole. */
struct lmi_store_models {
	uint32_t n;
	struct lmi_store_model *v;
	struct lmd_arena *arena;
};

/* A zeroed struct is allowed. */
void lmi_store_models_fini(struct lmi_store_models *m);

/* Adds a model.  Uses name, format, arch, facts (NULL: "{}"), added_at, imported and the files of
 * m; digest and size are computed from the files.  No model and no alias may have the name.  With
 * imported, files[i].path is ignored and becomes models/sha256-<digest>; the file must exist with the
 * given identity (from lmi_store_import), otherwise LMD_NOTFOUND, since it may have been removed
 * meanwhile. */
LMD_NODISCARD enum lmd_status
lmi_store_model_add(struct lmi_store *s, const struct lmi_store_model *m, struct lmd_error *err);

/* Adds a model, or replaces the model of that name: the aliases move to the new one, and imported
 * files are removed as by lmi_store_model_remove.  At any time the name refers to either the old or
 * the new model. */
LMD_NODISCARD enum lmd_status lmi_store_model_replace(struct lmi_store *s,
						      const struct lmi_store_model *m,
						      struct lmd_error *err);

/* Removes a model by name, and its aliases.  An alias returns LMD_INVALID, to avoid mistakes.
 * Imported files that no other row refers to are removed from the disk after the row; if a crash
 * prevents that, they stay, and importing the same content again uses them. */
LMD_NODISCARD enum lmd_status lmi_store_model_remove(struct lmi_store *s, const char *name,
						     struct lmd_error *err);

/* Finds a model by name or alias; *out has one model. */
LMD_NODISCARD enum lmd_status lmi_store_model_find(struct lmi_store *s, const char *name,
						   struct lmi_store_models *out,
						   struct lmd_error *err);

/* Lists all models, sorted by name. */
LMD_NODISCARD enum lmd_status
lmi_store_model_list(struct lmi_store *s, struct lmi_store_models *out, struct lmd_error *err);

/* Updates a model, found by name or alias. */
LMD_NODISCARD enum lmd_status lmi_store_model_measured(struct lmi_store *s, const char *name,
						       const struct lmi_store_measured *m,
						       struct lmd_error *err);

/* Checks that the open file `fd` has the size, dev, ino, mtime and ctime of the row; otherwise
 * returns LMD_CORRUPT with an error message about the difference.  Map the same descriptor that was
 * checked.  Any thread. */
LMD_NODISCARD enum lmd_status lmi_store_file_same(const struct lmi_store_file *f, int fd,
						  struct lmd_error *err);

/* Checks all files of a model by path.  Returns LMD_NOTFOUND if one does not exist, LMD_CORRUPT if
 * one is not the file that was added.  Any thread. */
LMD_NODISCARD enum lmd_status lmi_store_model_changed(const struct lmi_store_model *m,
						      struct lmd_error *err);

/* Aliases: additional names of models.  An alias of an alias refers to its model. */

struct lmi_store_alias {
	const char *alias, *name;
};

struct lmi_store_aliases {
	uint32_t n;
	struct lmi_store_alias *v;
	struct lmd_arena *arena;
};

void lmi_store_aliases_fini(struct lmi_store_aliases *a);

/* Sets or moves an alias.  Returns LMD_INVALID if a model has that name. */
LMD_NODISCARD enum lmd_status lmi_store_alias_set(struct lmi_store *s, const char *alias,
						  const char *name, struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_alias_remove(struct lmi_store *s, const char *alias,
						     struct lmd_error *err);
/* Lists all aliases, sorted by alias. */
LMD_NODISCARD enum lmd_status
lmi_store_alias_list(struct lmi_store *s, struct lmi_store_aliases *out, struct lmd_error *err);

/* Presets: aliases with a Modelfile (modelfile.h), which says how requests by that name differ. */

struct lmi_store_preset {
	const char *name; /* the alias */
	const char *text; /* the Modelfile */
};

struct lmi_store_presets {
	uint32_t n;
	struct lmi_store_preset *v;
	struct lmd_arena *arena;
};

void lmi_store_presets_fini(struct lmi_store_presets *p);

/* Sets or moves the alias `name` and sets its Modelfile, which the caller has checked.  Removing the
 * alias or its model removes it.  Returns LMD_INVALID if a model has that name. */
LMD_NODISCARD enum lmd_status lmi_store_preset_set(struct lmi_store *s, const char *name,
						   const char *model, const char *text,
						   struct lmd_error *err);
/* Lists all presets, sorted by name. */
LMD_NODISCARD enum lmd_status lmi_store_preset_list(struct lmi_store *s,
						    struct lmi_store_presets *out,
						    struct lmd_error *err);

/* What no row refers to: files of models that a crash left, and interrupted downloads. */
struct lmi_store_prune {
	bool dry_run; /* remove nothing */
	bool all;     /* also if the registry has no model, so that every file in models/ counts */
	/* called for each file, with its path in the state folder and the bytes that it takes on the
	 * disk */
	void (*found)(void *arg, const char *path, uint64_t bytes);
	void *arg;
};
/* Removes it.  No import and no download may be running.  LMD_INVALID: the registry has no model, but
 * models/ has files, and `all` is not set; nothing was removed.  LMD_IO: some files could not be
 * removed; the others were. */
LMD_NODISCARD enum lmd_status lmi_store_prune(struct lmi_store *s, const struct lmi_store_prune *o,
					      struct lmd_error *err);

/* API keys: identified by the SHA-256 of the secret, which is not stored. */

enum lmi_store_role {
	LMI_STORE_USER,
	LMI_STORE_ADMIN,
};

/* What a key may use; 0 and "": no limit. */
struct lmi_store_quota {
	uint64_t rpm, tpm, tpd; /* requests per minute, tokens per minute and per day */
	const char *models;     /* names of models, separated by commas; NULL is "" */
};

#define LMI_STORE_QUOTA_MAX	 1000000000000u /* of rpm, tpm, tpd */
#define LMI_STORE_QUOTA_MODELS_MAX 8192		/* bytes of models */

struct lmi_store_key {
	char hash[LMI_STORE_DIGEST_HEX];
	const char *label; /* name for people and for removal */
	enum lmi_store_role role;
	int64_t created_at, expires_at; /* expires_at 0: never; checked by the caller */
	struct lmi_store_quota quota;
};

struct lmi_store_keys {
	uint32_t n;
	struct lmi_store_key *v;
	struct lmd_arena *arena;
};

void lmi_store_keys_fini(struct lmi_store_keys *k);

/* Checks the models of a new quota.  Returns LMD_INVALID, naming it, if one of them is neither a model
 * nor an alias. */
LMD_NODISCARD enum lmd_status lmi_store_quota_models_check(struct lmi_store *s, const char *models,
							   struct lmd_error *err);
/* Adds a key.  Returns LMD_INVALID if the hash or the label exists, unless the same key is added
 * again. */
LMD_NODISCARD enum lmd_status lmi_store_key_add(struct lmi_store *s, const struct lmi_store_key *k,
						struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_key_remove(struct lmi_store *s, const char *label,
						   struct lmd_error *err);
/* Finds a key; *out has one key. */
LMD_NODISCARD enum lmd_status lmi_store_key_find(struct lmi_store *s, const char *hash,
						 struct lmi_store_keys *out, struct lmd_error *err);
/* Sets the quota of the key `label`. */
LMD_NODISCARD enum lmd_status lmi_store_key_set_quota(struct lmi_store *s, const char *label,
						      const struct lmi_store_quota *q,
						      struct lmd_error *err);
/* Lists all keys, sorted by time of creation. */
LMD_NODISCARD enum lmd_status lmi_store_key_list(struct lmi_store *s, struct lmi_store_keys *out,
						 struct lmd_error *err);

/* Usage: counts per principal, key, model and day (days since 1970-01-01 UTC). */

struct lmi_store_usage {
	const char *principal, *model;
	int32_t day;
	uint64_t n_request;
	uint64_t n_prompt, n_cached, n_out; /* tokens; n_cached of n_prompt were in the prefix cache */
	uint64_t queue_ns, run_ns;          /* time in the queue, and with the engine */
	uint64_t work_ns;                   /* processor time of work threads */
	const char *key; /* hash of the principal's key, NULL or "": none; not set in lists */
};

/* A list of counts, owned by the caller and freed as a whole. */
struct lmi_store_usages {
	uint32_t n;
	bool more; /* there are more than `max` */
	struct lmi_store_usage *v;
	struct lmd_arena *arena;
};

void lmi_store_usages_fini(struct lmi_store_usages *u);

struct lmi_store_usage_filter {
	const char *principal, *model, *key; /* NULL: all */
	int32_t first;                 /* day */
	uint32_t max;                  /* number of rows */
};

/* Lists counts, the latest day first, then by principal and model; those of several keys are added. */
LMD_NODISCARD enum lmd_status lmi_store_usage_list(struct lmi_store *s,
						   const struct lmi_store_usage_filter *f,
						   struct lmi_store_usages *out,
						   struct lmd_error *err);

/* Adds n counts in one transaction; each sum saturates at 2^63 - 1. */
LMD_NODISCARD enum lmd_status lmi_store_usage_add(struct lmi_store *s,
						  const struct lmi_store_usage *u, uint32_t n,
						  struct lmd_error *err);
/* Returns the sum of n_prompt and n_out over the days first..last inclusive; 0 if there are none.  key
 * NULL: with any key. */
LMD_NODISCARD enum lmd_status lmi_store_usage_sum(struct lmi_store *s, const char *principal,
						  const char *key, int32_t first, int32_t last,
						  uint64_t *tokens, struct lmd_error *err);
/* Deletes the counts of days before `day`. */
LMD_NODISCARD enum lmd_status lmi_store_usage_forget(struct lmi_store *s, int32_t day,
						     struct lmd_error *err);

#endif /* LLAMAD_STORE_STORE_H */
