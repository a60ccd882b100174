/* SPDX-License-Identifier: MIT
 *
 * remote.h - shared by the commands that talk to a running llamad: the connection of --socket,
 * replies as JSON or as a table, jobs with a progress bar. */
#ifndef LLAMAD_LLAMACTL_REMOTE_H
#define LLAMAD_LLAMACTL_REMOTE_H

#include <jansson.h>
#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "llamad/client.h"

/* Returns the address of the daemon: that of --socket, or else of the environment variable
 * LLAMAD_SOCKET; NULL: neither was given, the default applies. */
const char *lmi_ctl_socket(const struct lmi_ctl *ctl);

/* Connects to the daemon of lmi_ctl_socket or else of the default address. Created at the first call,
 * closed after the command. */
enum lmd_status lmi_ctl_client(struct lmi_ctl *ctl, struct lmd_client **out,
			       struct lmd_error *err);
/* Returns true if an address was given or a daemon listens at the default address. */
bool lmi_ctl_has_daemon(struct lmi_ctl *ctl);

#define LMI_CTL_SECRET_BYTES 512
/* Reads the secret of a key, the first line of a file that other users cannot read. The caller clears
 * out. */
enum lmd_status lmi_ctl_read_secret(char out[LMI_CTL_SECRET_BYTES], const char *path,
				    struct lmd_error *err);
/* Finds the secret of a key: the first line of --key-file, which is written to buf, or else the
 * environment variable LLAMAD_KEY; NULL: there is none. The caller clears buf. */
enum lmd_status lmi_ctl_secret(struct lmi_ctl *ctl, char buf[LMI_CTL_SECRET_BYTES],
			       const char **out, struct lmd_error *err);

/* Makes one request; takes ownership of own_members (NULL: none, or out of memory, which is an
 * error). The reply comes without its envelope (v, op, rid). */
enum lmd_status lmi_ctl_remote_call(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				    json_t **reply, struct lmd_error *err);
/* Makes a request whose reply matters only to programs: printed with --json. */
enum lmd_status lmi_ctl_remote_run(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				   struct lmd_error *err);
/* Makes a request that starts a job: shows its progress if standard error is a terminal, and waits
 * for its end. Ctrl-C cancels the job. */
enum lmd_status lmi_ctl_remote_job(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				   struct lmd_error *err);

/* Does the same, and passes each item with progress to a function. */
enum lmd_status lmi_ctl_remote_watch(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				     void (*progress)(void *arg, const struct lmd_item *it),
				     void *arg, struct lmd_error *err);

/* Prints one JSON value on standard output. */
void lmi_ctl_remote_print(const json_t *value);

enum lmi_ctl_column_kind {
	LMI_CTL_COL_TEXT,   /* as it is */
	LMI_CTL_COL_COUNT,  /* right-aligned */
	LMI_CTL_COL_BYTES,  /* 97.5M */
	LMI_CTL_COL_TIME,   /* milliseconds as 3m12s; negative: "never" */
	LMI_CTL_COL_DIGEST, /* the first 12 digits */
	LMI_CTL_COL_STATE,  /* state of a model: lmi_ctl_show_state */
	LMI_CTL_COL_PATH,   /* shortened in the middle if the table is wider than the terminal */
	LMI_CTL_COL_SPARE = 16 /* added to another one: left out if the table is wider */
};
struct lmi_ctl_column {
	const char *title, *member;
	enum lmi_ctl_column_kind kind;
};
/* Prints rows with titles, as wide as needed; control characters become ?. If rows are wider than
 * `columns` (0: no limit), spare columns are left out, the last ones first, and the column of kind
 * LMI_CTL_COL_PATH is shortened so that they fit. */
void lmi_ctl_table_print(FILE *out, int columns, const json_t *rows,
			 const struct lmi_ctl_column *cols, size_t n_cols);
/* Does so on standard output, with the width of the terminal. */
void lmi_ctl_remote_table(const json_t *rows, const struct lmi_ctl_column *cols, size_t n_cols);

/* Write "97.5M" and "3m12s"; return out. */
const char *lmi_ctl_show_bytes(char *out, size_t size, int64_t bytes);
/* Writes a size for running text, where a bare number would lack its unit: "97.5M", "24 bytes". */
const char *lmi_ctl_show_size(char *out, size_t size, uint64_t bytes);
const char *lmi_ctl_show_ms(char *out, size_t size, int64_t ms);
/* Returns the state of a model in plain words: "not loaded" for the protocol's "absent", otherwise
 * the protocol's word. NULL stays NULL. */
const char *lmi_ctl_show_state(const char *state);
/* Copies `text` with "..." instead of its middle so that it takes at most `width` columns (at
 * least 4), a third of them for its beginning; UTF-8 characters stay whole. Returns out. */
const char *lmi_ctl_show_shortened(char *out, size_t size, const char *text, int width);
/* Returns the width of the terminal on standard output, or 0 if it is not a terminal. */
int lmi_ctl_terminal_width(void);

/* With --json, prints the row of `list_op` whose `member` is `name` after a job that changed it, or
 * an empty object if the row no longer exists. */
enum lmd_status lmi_ctl_remote_print_row(struct lmi_ctl *ctl, const char *list_op,
					 const char *member, const char *name,
					 struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_REMOTE_H */
