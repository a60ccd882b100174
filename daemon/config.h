/* SPDX-License-Identifier: MIT
 *
 * config.h - the configuration of llamad: the file, and the options that take precedence over it.
 *
 * The file is made of sections and keys:
 *
 *     # a comment
 *     [daemon]
 *     state_dir = /var/lib/llamad
 *
 * Each key is one row of a table (config_table.c): its section, type, range, default and text.
 * The parser, the command line options, the manual pages and the example file are all driven by
 * that table.  A file with an error is rejected as a whole.  A struct lmi_config does not change
 * after lmi_config_read. */
#ifndef LLAMAD_DAEMON_CONFIG_H
#define LLAMAD_DAEMON_CONFIG_H

#include <stdio.h>

#include "core/base/default_state.h"
#include "core/cli/opts.h"
#include "service/limits.h"
#include "service/preset.h"

#define LMI_CONFIG_FILE LMI_DEFAULT_CONFIG_FILE

/* Maximum length of a key, including the terminating zero. */
#define LMI_CONFIG_KEY_BYTES 40

/* Maximum length of the environment variable of a key, including the terminating zero. */
#define LMI_CONFIG_VARIABLE_BYTES (LMI_CONFIG_KEY_BYTES + 7)

struct lmd_arena;

struct lmi_config_list {
	const char *const *item;
	uint32_t n;
};

/* Times are in ms, choices are the index of the word. */
struct lmi_config {
	struct lmd_arena *arena; /* holds all strings */
	struct lmi_config *next; /* for a list of the owner */
	const char *file;        /* the file that was read; NULL = none */
	/* Messages for the log, each with file and line, such as the use of a deprecated key. */
	struct lmi_config_list warnings;

	/* [daemon] */
	const char *socket;
	bool socket_in_tmp; /* socket is the fallback /tmp/llamad-UID/llamad.sock */
	struct lmi_config_list listen;
	const char *tls_cert, *tls_key; /* NULL: not set */
	struct lmi_config_list http, http_origins;
	const char *http_model; /* NULL: not set */
	int64_t http_unknown_model; /* 1: requests for a model that does not exist are refused */
	int64_t plain_tcp;              /* 0, 1 */
	const char *state_dir;
	const char *audit_key; /* NULL: not set */
	const char *traces_url; /* NULL: not set */
	int64_t log; /* enum lmd_log_level */
	int64_t drain_ms;

	/* [plugins] */
	struct lmi_config_list plugin_dirs;
	int64_t default_plugins; /* 0, 1 */
	int64_t plugin_trust;    /* enum lmi_plugin_trust */

	/* [models] */
	struct lmi_config_list model_dirs;
	int64_t signatures; /* enum lmi_sign_mode */
	struct lmi_config_list trusted_keys;
	int64_t pull; /* 0, 1 */
	const char *catalogue;         /* NULL: the one that is installed */
	const char *hf_url, *hf_token, *ollama_url; /* NULL: not set; hf_token is a file */
	int64_t pull_rate;             /* bytes per second; 0: not set */

	/* [engine]; 0 and NULL: not set */
	const char *backend;
	const char *devices, *gpu_layers, *split, *override_tensor;
	int64_t device, threads, threads_batch, ctx, batch, kv_tokens;
	const char *cpus;
	int64_t cpu_strict; /* 0, 1 */
	int64_t numa;       /* enum lmi_cpu_numa */
	const char *kv_type, *kv_type_k, *kv_type_v;
	int64_t draft_max;
	int64_t device_sampling; /* enum lmi_engine_device_sampling */
	int64_t isolation;       /* 0 auto, 1 off, 2 process */
	int64_t isolation_timeout_ms;
	int64_t prefix_cache; /* 0 each user's own, 1 shared, 2 off */
	int64_t activations; /* enum lmd_activations */
	int64_t attention;   /* enum lmd_attention */
	int64_t deterministic; /* enum lmd_deterministic */
	int64_t memory;      /* bytes */
	int64_t files;       /* 0 mapped, 1 read, 2 direct */
	int64_t lock;        /* 0, 1 */

	/* [limits] */
	int64_t connections;
	int64_t http_body;
	int64_t http_store, http_store_number, http_store_ms;
	int64_t http_resume, http_resume_number, http_resume_ms;
	int64_t connections_per_user;
	int64_t message_bytes;
	int64_t idle_ms, message_ms;
	struct lmi_service_limits service;

	/* [model NAME] */
	const struct lmi_svc_preset *presets;
	uint32_t n_presets;
};

/* Determines the default socket and state folder: those given by systemd ($RUNTIME_DIRECTORY,
 * $STATE_DIRECTORY), otherwise the system's folders for root and the user's folders for others. */
struct lmi_config_env {
	const char *(*get)(void *arg, const char *name); /* like getenv */
	void *arg;
	uint32_t uid;
};
void lmi_config_env_init(struct lmi_config_env *env); /* the environment of this process */

/* Reads `file` (NULL: LMI_CONFIG_FILE if it exists, otherwise only defaults), then applies the
 * environment, which has a variable for each key (lmi_config_variable), then the options in `args`
 * (NULL: none).  Returns LMD_INVALID, or LMD_NOTFOUND or LMD_IO for the file, with an error message
 * that names file, line, key, value and bound. */
enum lmd_status lmi_config_read(struct lmi_config **out, const char *file,
				const struct lmi_args *args, const struct lmi_config_env *env,
				struct lmd_error *err);
/* NULL allowed. */
void lmi_config_destroy(struct lmi_config *c);

/* Checks whether a running daemon can change from one configuration to the other.  If not,
 * returns LMD_UNSUPPORTED and names the first changed key that requires a restart. */
enum lmd_status lmi_config_may_replace(const struct lmi_config *from, const struct lmi_config *to,
				       struct lmd_error *err);

/* Returns whether a key of that section differs. */
bool lmi_config_section_changed(const struct lmi_config *from, const struct lmi_config *to,
				const char *section);
/* Writes the names of the keys that differ to keys[max]; returns their number. */
uint32_t lmi_config_changes(const struct lmi_config *from, const struct lmi_config *to,
			    char (*keys)[LMI_CONFIG_KEY_BYTES], uint32_t max);

/* Prints the configuration in the format of the file. */
void lmi_config_print(FILE *f, const struct lmi_config *c);
/* Prints an example file: all keys with their descriptions, commented out, with defaults. */
void lmi_config_example(FILE *f);
/* Print llamad.conf(5) and llamad(8) in roff. */
void lmi_config_man(FILE *f);
void lmi_daemon_man(FILE *f);

/* Parses the types of keys and values in the KV cache, enum lmd_dtype; -1: not set. */
enum lmd_status lmi_config_kv_types(const struct lmi_config *c, int32_t *k_dtype, int32_t *v_dtype,
				    struct lmd_error *err);

/* ---- rows ---- */

struct lmi_config_row {
	const char *section;
	struct lmi_opt opt;  /* the name is that of the option; the key has '_' in place of '-' */
	const char *old_key; /* deprecated name of the key; NULL = none */
	uint32_t at;         /* offset in struct lmi_config of a const char *, an int64_t or a
			      * struct lmi_config_list, depending on the type of opt */
	bool option;         /* is also an option of llamad */
	bool path;           /* is a path or a URL with one; may be relative as an option */
	bool live;           /* can be changed by a reload */
	const char *unset;   /* describes the default; NULL: the default is opt.def */
};

#define LMI_CONFIG_ROWS_MAX 144

struct lmi_config_table {
	struct lmi_config_row row[LMI_CONFIG_ROWS_MAX];
	uint32_t n;
	/* strings of the rows that are made from the limits of the service */
	char name[LMI_CONFIG_ROWS_MAX][LMI_CONFIG_KEY_BYTES];
	char def[LMI_CONFIG_ROWS_MAX][24];
};
/* Fills the table.  Rows point into *t. */
void lmi_config_table_init(struct lmi_config_table *t);

/* The options of llamad, for lmi_args_parse. */
#define LMI_DAEMON_OPTIONS_MAX 64
struct lmi_daemon_options {
	struct lmi_opt opt[LMI_DAEMON_OPTIONS_MAX];
	struct lmi_cli_program prog;
};
void lmi_daemon_options_init(struct lmi_daemon_options *o);

/* Writes the key of a row to buf and returns buf. */
const char *lmi_config_key(const struct lmi_config_row *row, char *buf, size_t n);

/* Writes the environment variable of a row, such as LLAMAD_KV_TOKENS, to buf and returns buf. */
const char *lmi_config_variable(const struct lmi_config_row *row, char *buf, size_t n);

#endif /* LLAMAD_DAEMON_CONFIG_H */
