/* SPDX-License-Identifier: MIT
 *
 * config.h - what llamad is told: the configuration file, and the options that win over it.
 *
 * The file is made of sections and keys:
 *
 *     # a comment
 *     [daemon]
 *     state_dir = /var/lib/llamad
 *
 * Each key is one row of a table (config_table.c): its section, kind, range, default and text.
 * Parsing, options of the command line, the manual pages and the example file are made from
 * the rows.  A configuration is read as a whole or refused as a whole, and never changes
 * once it is made. */
#ifndef LLAMAD_DAEMON_CONFIG_H
#define LLAMAD_DAEMON_CONFIG_H

#include <stdio.h>

#include "core/cli/opts.h"
#include "service/limits.h"

#define LMI_CONFIG_FILE "/etc/llamad/llamad.conf"

/* Longest file and line, in bytes. */
#define LMI_CONFIG_BYTES (1u << 20)
#define LMI_CONFIG_LINE  4096u
/* Room for a key and its terminating zero. */
#define LMI_CONFIG_KEY_BYTES 40

struct lmd_arena;

struct lmi_config_list {
	const char *const *item;
	uint32_t n;
};

/* Times in ms, choices as the index of the word. */
struct lmi_config {
	struct lmd_arena *arena; /* of all strings */
	const char *file;        /* that was read; NULL = none */

	/* [daemon] */
	const char *socket;
	bool socket_in_tmp; /* socket is the fallback /tmp/llamad-UID/llamad.sock */
	struct lmi_config_list listen;
	const char *tls_cert, *tls_key; /* NULL: not set */
	int64_t plain_tcp;              /* 0, 1 */
	const char *state_dir;
	int64_t log; /* enum lmd_log_level */
	int64_t drain_ms;

	/* [plugins] */
	struct lmi_config_list plugin_dirs;
	int64_t default_plugins; /* 0, 1 */
	int64_t plugin_trust;    /* enum lmi_trust */

	/* [models] */
	struct lmi_config_list model_dirs;

	/* [engine]; 0 and NULL: not set */
	const char *backend;
	int64_t device, threads, ctx, kv_tokens;
	const char *kv_type;
	int64_t activations; /* enum lmd_activations */
	int64_t attention;   /* enum lmd_attention */
	int64_t memory;      /* bytes */
	int64_t files;       /* 0 mapped, 1 read, 2 direct */
	int64_t lock;        /* 0, 1 */

	/* [limits] */
	int64_t connections;
	int64_t connections_per_user;
	int64_t message_bytes;
	int64_t idle_ms, message_ms;
	struct lmi_service_limits service;
};

/* Where an unset socket or state directory lies: what systemd says ($RUNTIME_DIRECTORY,
 * $STATE_DIRECTORY), the system's folders for root, the user's folders for everybody else. */
struct lmi_config_env {
	const char *(*get)(void *arg, const char *name); /* as getenv */
	void *arg;
	uint32_t uid;
};
void lmi_config_env_init(struct lmi_config_env *env); /* of this process */

/* Reads `file` (NULL: LMI_CONFIG_FILE if there is one, else defaults alone), then the options
 * of `args` (NULL: none).  LMD_INVALID, or LMD_NOTFOUND and LMD_IO for the file, with a
 * sentence that names file, line, key, value and bound. */
enum lmd_status lmi_config_read(struct lmi_config **out, const char *file,
				const struct lmi_args *args, const struct lmi_config_env *env,
				struct lmd_error *err);
/* NULL allowed. */
void lmi_config_destroy(struct lmi_config *c);

/* Whether a running daemon can go over from one to the other: LMD_UNSUPPORTED names the first
 * key that differs and needs a restart. */
enum lmd_status lmi_config_may_replace(const struct lmi_config *from, const struct lmi_config *to,
				       struct lmd_error *err);

/* Keys that differ: their names in keys[max]; returns how many. */
uint32_t lmi_config_changes(const struct lmi_config *from, const struct lmi_config *to,
			    char (*keys)[LMI_CONFIG_KEY_BYTES], uint32_t max);

/* The configuration as a file that would give it. */
void lmi_config_print(FILE *f, const struct lmi_config *c);
/* An example: every key with its text, commented out at its default. */
void lmi_config_example(FILE *f);
/* llamad.conf(5) and llamad(8) in roff. */
void lmi_config_man(FILE *f);
void lmi_daemon_man(FILE *f);

/* ---- rows ---- */

struct lmi_config_row {
	const char *section;
	struct lmi_opt opt; /* name as the option is spelled; the key has '_' for '-' */
	uint32_t at;        /* offset in struct lmi_config: of a const char *, a number of 64
			     * bits, or a struct lmi_config_list, by the type of opt */
	bool option;        /* also an option of llamad */
	bool path;          /* or URL with one: as an option it may be relative */
	bool live;          /* a running daemon can change it */
	const char *unset;  /* what holds without a value; NULL: opt.def says it */
};

#define LMI_CONFIG_ROWS_MAX 64

struct lmi_config_table {
	struct lmi_config_row row[LMI_CONFIG_ROWS_MAX];
	uint32_t n;
	/* of rows that are made from other tables */
	char name[LMI_CONFIG_ROWS_MAX][LMI_CONFIG_KEY_BYTES];
	char def[LMI_CONFIG_ROWS_MAX][24];
};
/* All rows; they point into *t. */
void lmi_config_table_init(struct lmi_config_table *t);

/* The options of llamad, for lmi_args_parse. */
#define LMI_OPTIONS_MAX 32
struct lmi_options {
	struct lmi_opt opt[LMI_OPTIONS_MAX];
	struct lmi_program prog;
};
void lmi_options_init(struct lmi_options *o);

/* The key of a row; returns buf. */
const char *lmi_config_key(const struct lmi_config_row *row, char *buf, size_t n);

#endif /* LLAMAD_DAEMON_CONFIG_H */
