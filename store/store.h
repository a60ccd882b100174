/* SPDX-License-Identifier: MIT
 *
 * store.h - the registry: what the daemon must not forget, in one sqlite database.
 *
 * Layout of the state folder:
 *     registry.db (-wal, -shm)      the database; mode 0600
 *     registry.lock                 locked while a process has the store open; not empty: the
 *                                   last one did not close it
 *     registry.db.corrupt-STAMP     a database that was moved aside
 *     models/sha256-HEX             imported files, named by their content; mode 0600
 *     models/import-PID-N.part      an import under way
 *
 * A call that returns LMD_OK has its rows on the disk (WAL, synchronous=FULL): a crash of the
 * process or of the machine after it does not undo them.  A call that fails has changed
 * nothing: every writing call is one transaction.  Statuses of all calls on an open store:
 *     LMD_INVALID   an argument outside its stated range; a name that is taken
 *     LMD_NOTFOUND  no such row
 *     LMD_NOMEM     no memory
 *     LMD_BUSY      another connection holds the database longer than busy_ms
 *     LMD_IO        the system refused: disk full, read-only, a failing device
 *     LMD_CORRUPT   the database contradicts itself; it is checked at the next open
 *     LMD_INTERNAL  our bug
 *
 * Times are nanoseconds since 1970-01-01 UTC, 0 = never, given by the caller: there is no clock
 * in here.  Texts are UTF-8 and end with a zero.
 *
 * Threads: a store belongs to one thread at a time.  Functions of digest.h and import.h take no
 * store and run on any thread. */
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
#define LMI_STORE_VALUE_MAX  (1 << 20) /* bytes of facts, a setting, a value of kv */
#define LMI_STORE_FILES_MAX  1024      /* files of one model */
#define LMI_STORE_DIGEST_HEX 65        /* 64 lower-case hex digits and a zero */

/* Open and close */

struct lmi_store_opts {
	int64_t now_ns;   /* stamps the name of a database that is moved aside */
	uint32_t busy_ms; /* how long a call waits for another connection; 0: 5000 */
	const char *vfs;  /* sqlite's way to the file system; NULL: its default */
};

/* What open found. */
struct lmi_store_report {
	bool fresh;               /* a new database was begun */
	bool unclean;             /* the last process did not close it: it was checked */
	bool moved_aside;         /* ... and was corrupt: moved to `moved_to`, a new one begun */
	uint32_t schema_from;     /* its schema before the migrations; 0: new */
	uint32_t schema;          /* its schema now */
	uint32_t n_parts_removed; /* imports that a crash had interrupted */
	char moved_to[64];        /* file name in the state folder; "" */
	char reason[160];         /* why it was moved aside; "" */
};

/* Opens the store in the folder `dir`; the folder itself (not its parents) is made when it is
 * missing, mode 0700.  Migrations up to the schema of this build are applied, all or none.
 *
 * report: NULL allowed; written on success.
 * LMD_BUSY: another process has it open.  LMD_UNSUPPORTED: made by a newer llamad (untouched).
 * LMD_INVALID: registry.db is some other program's database (untouched). */
LMD_NODISCARD enum lmd_status lmi_store_open(struct lmi_store **out, const char *dir,
					     const struct lmi_store_opts *opts,
					     struct lmi_store_report *report,
					     struct lmd_error *err);

/* NULL allowed.  Writes the log back into the database and marks the end as clean, unless the
 * store met LMD_CORRUPT: then the next open checks it. */
void lmi_store_close(struct lmi_store *s);

/* The state folder as given to open; lives as long as the store. */
const char *lmi_store_dir(const struct lmi_store *s);

/* Names: 1..128 bytes of [A-Za-z0-9._:/-], no "..", no '/' at the start.  A name is a row, it is
 * never used as a path. */
LMD_NODISCARD enum lmd_status lmi_store_name_check(const char *name, struct lmd_error *err);

/* Models */

/* A file of a model and how to know it again without reading it. */
struct lmi_store_file {
	const char *path; /* absolute; of an imported file: where it lies now */
	uint64_t size, dev, ino;
	int64_t mtime_ns, ctime_ns;
	char digest[LMI_STORE_DIGEST_HEX]; /* SHA-256 */
};

enum lmi_store_state {
	LMI_STORE_READY,
	LMI_STORE_CHANGED,     /* the file is another one than was added */
	LMI_STORE_MISSING,     /* the file is gone */
	LMI_STORE_QUARANTINED, /* not to be loaded by itself: it took the daemon down */
};
#define LMI_STORE_N_STATE 4

/* "ready", "changed", "missing", "quarantined"; NULL for another number. */
const char *lmi_store_state_text(int state);

/* Measured on this machine; 0: not measured yet. */
struct lmi_store_measured {
	uint64_t memory_bytes;          /* resident and device bytes of the loaded model */
	uint64_t load_ns;               /* from the request to ready */
	double prefill_tps, decode_tps; /* tokens a second */
	int64_t at_ns;
};

struct lmi_store_model {
	const char *name;
	char digest[LMI_STORE_DIGEST_HEX]; /* lmi_store_digest_join of its files */
	uint64_t size;                     /* bytes of all files */
	const char *format, *arch;         /* "gguf", "llama"; "" when unknown */
	const char *facts; /* a JSON object: parameters, layers, context, quant, file_type,
			    * license, chat_template and what else the reader found */
	enum lmi_store_state state;
	int64_t added_at, used_at;
	bool imported; /* its files are models/sha256-HEX of this store */
	struct lmi_store_measured measured;
	uint32_t n_files;
	const struct lmi_store_file *files; /* in the order of the parts */
};

/* Models of a result: owned by the caller, freed as a whole. */
struct lmi_store_models {
	uint32_t n;
	struct lmi_store_model *v;
	struct lmd_arena *arena;
};

/* A zeroed struct is allowed. */
void lmi_store_models_fini(struct lmi_store_models *m);

/* Adds a model.  Of m are read: name, format, arch, facts (NULL: "{}"), added_at, imported and
 * the files; its digest and size follow from the files, state is "ready".
 * The name must be free among models and aliases.
 * imported: each files[i].path is ignored and becomes models/sha256-<digest>; the file must be
 * there with the stated identity (lmi_store_import made it), else LMD_NOTFOUND: a removal may
 * have come between. */
LMD_NODISCARD enum lmd_status
lmi_store_model_add(struct lmi_store *s, const struct lmi_store_model *m, struct lmd_error *err);

/* The same in place of the model of that name, if there is one: its aliases are the new one's, its
 * imported files go as with lmi_store_model_remove.  The name is with the old model or with the new
 * one at any time. */
LMD_NODISCARD enum lmd_status lmi_store_model_replace(struct lmi_store *s,
						      const struct lmi_store_model *m,
						      struct lmd_error *err);

/* By name; an alias is refused (LMD_INVALID), lest the wrong thing goes.  The aliases of the
 * model go with it.  Imported files that no other row refers to are removed from the disk after
 * the row is; what a crash leaves of them, lmi_store_orphans finds. */
LMD_NODISCARD enum lmd_status lmi_store_model_remove(struct lmi_store *s, const char *name,
						     struct lmd_error *err);

/* From a name, not an alias; `to` must be free among both.  Aliases of the model follow. */
LMD_NODISCARD enum lmd_status lmi_store_model_rename(struct lmi_store *s, const char *from,
						     const char *to, struct lmd_error *err);

/* By name or alias: one model in *out. */
LMD_NODISCARD enum lmd_status lmi_store_model_find(struct lmi_store *s, const char *name,
						   struct lmi_store_models *out,
						   struct lmd_error *err);

/* All, by name. */
LMD_NODISCARD enum lmd_status
lmi_store_model_list(struct lmi_store *s, struct lmi_store_models *out, struct lmd_error *err);

/* Updates by name or alias. */
LMD_NODISCARD enum lmd_status lmi_store_model_used(struct lmi_store *s, const char *name,
						   int64_t at_ns, struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_model_measured(struct lmi_store *s, const char *name,
						       const struct lmi_store_measured *m,
						       struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_model_set_state(struct lmi_store *s, const char *name,
							enum lmi_store_state state,
							struct lmd_error *err);
/* New identities for the same content: after a copy of the folder, a touch.  n and each digest
 * must be those of the row, else LMD_INVALID: other content is another model.  The state
 * becomes "ready". */
LMD_NODISCARD enum lmd_status lmi_store_model_identify(struct lmi_store *s, const char *name,
						       const struct lmi_store_file *files,
						       uint32_t n, struct lmd_error *err);

/* Is the open file `fd` the one of the row, as far as size, dev, ino, mtime and ctime tell?
 * LMD_CORRUPT with a sentence on what differs.  The descriptor that was checked is the one to
 * map.  Any thread. */
LMD_NODISCARD enum lmd_status lmi_store_file_same(const struct lmi_store_file *f, int fd,
						  struct lmd_error *err);

/* All files of a model, opened by path and closed again: LMD_OK when each is what was added,
 * LMD_NOTFOUND when one is gone, LMD_CORRUPT when one is another.  Any thread. */
LMD_NODISCARD enum lmd_status lmi_store_model_changed(const struct lmi_store_model *m,
						      struct lmd_error *err);

/* Imported files without a row: counts them, and with `remove` removes them.  A file that was
 * just imported has no row yet: call it when no import is under way. */
LMD_NODISCARD enum lmd_status lmi_store_orphans(struct lmi_store *s, bool remove, uint32_t *n_files,
						uint64_t *bytes, struct lmd_error *err);

/* Aliases: a second name of a model.  An alias of an alias is set to its model. */

struct lmi_store_alias {
	const char *alias, *name;
};

struct lmi_store_aliases {
	uint32_t n;
	struct lmi_store_alias *v;
	struct lmd_arena *arena;
};

void lmi_store_aliases_fini(struct lmi_store_aliases *a);

/* Sets or moves it; a name that a model has is refused. */
LMD_NODISCARD enum lmd_status lmi_store_alias_set(struct lmi_store *s, const char *alias,
						  const char *name, struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_alias_remove(struct lmi_store *s, const char *alias,
						     struct lmd_error *err);
/* By alias. */
LMD_NODISCARD enum lmd_status
lmi_store_alias_list(struct lmi_store *s, struct lmi_store_aliases *out, struct lmd_error *err);

/* Keys: known by the SHA-256 of the secret, which is nowhere stored. */

enum lmi_store_role {
	LMI_STORE_USER,
	LMI_STORE_ADMIN,
};

struct lmi_store_key {
	char hash[LMI_STORE_DIGEST_HEX];
	const char *label; /* for people, and to remove it by */
	enum lmi_store_role role;
	int64_t created_at, expires_at; /* expires_at 0: never; the caller compares */
};

struct lmi_store_keys {
	uint32_t n;
	struct lmi_store_key *v;
	struct lmd_arena *arena;
};

void lmi_store_keys_fini(struct lmi_store_keys *k);

/* A hash or a label that is there is refused, but adding the very same key again is not. */
LMD_NODISCARD enum lmd_status lmi_store_key_add(struct lmi_store *s, const struct lmi_store_key *k,
						struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_key_remove(struct lmi_store *s, const char *label,
						   struct lmd_error *err);
/* One key in *out. */
LMD_NODISCARD enum lmd_status lmi_store_key_find(struct lmi_store *s, const char *hash,
						 struct lmi_store_keys *out, struct lmd_error *err);
/* By time of creation. */
LMD_NODISCARD enum lmd_status lmi_store_key_list(struct lmi_store *s, struct lmi_store_keys *out,
						 struct lmd_error *err);

/* Usage: tokens per principal and day (days since 1970-01-01 UTC). */

struct lmi_store_usage {
	const char *principal;
	int32_t day;
	uint64_t tokens;
};

/* Adds n counts in one transaction; a sum stays at 2^63 - 1 rather than wrap. */
LMD_NODISCARD enum lmd_status lmi_store_usage_add(struct lmi_store *s,
						  const struct lmi_store_usage *u, uint32_t n,
						  struct lmd_error *err);
/* Sum over days first..last, both included; 0 when there is none. */
LMD_NODISCARD enum lmd_status lmi_store_usage_sum(struct lmi_store *s, const char *principal,
						  int32_t first, int32_t last, uint64_t *tokens,
						  struct lmd_error *err);
/* Forgets the days before `day`. */
LMD_NODISCARD enum lmd_status lmi_store_usage_forget(struct lmi_store *s, int32_t day,
						     struct lmd_error *err);

/* Settings (texts that an operator set) and kv (bytes that parts of the daemon keep, each in a
 * space of its own).  Keys: 1..256 bytes. */

struct lmi_store_value {
	void *bytes; /* followed by a zero that is not counted; lmi_free'd by fini */
	size_t n;
};

void lmi_store_value_fini(struct lmi_store_value *v);

LMD_NODISCARD enum lmd_status lmi_store_setting_set(struct lmi_store *s, const char *key,
						    const char *value, struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_setting_get(struct lmi_store *s, const char *key,
						    struct lmi_store_value *out,
						    struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_setting_remove(struct lmi_store *s, const char *key,
						       struct lmd_error *err);

LMD_NODISCARD enum lmd_status lmi_store_kv_set(struct lmi_store *s, const char *space,
					       const char *key, const void *bytes, size_t n,
					       struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_kv_get(struct lmi_store *s, const char *space,
					       const char *key, struct lmi_store_value *out,
					       struct lmd_error *err);
LMD_NODISCARD enum lmd_status lmi_store_kv_remove(struct lmi_store *s, const char *space,
						  const char *key, struct lmd_error *err);

#endif /* LLAMAD_STORE_STORE_H */
