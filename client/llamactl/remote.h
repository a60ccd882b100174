/* SPDX-License-Identifier: MIT
 *
 * remote.h - what the commands that ask a running llamad share: the connection of --socket,
 * replies as JSON or as a table, jobs with a progress bar. */
#ifndef LLAMAD_LLAMACTL_REMOTE_H
#define LLAMAD_LLAMACTL_REMOTE_H

#include <jansson.h>

#include "client/llamactl/ctl.h"
#include "llamad/client.h"

/* The daemon of --socket, else the one where daemons listen by default.  Made at the first
 * call, closed after the command. */
enum lmd_status lmi_ctl_client(struct lmi_ctl *ctl, struct lmd_client **out,
			       struct lmd_error *err);
/* Is a daemon meant?  --socket was given, or one listens at the default place. */
bool lmi_ctl_has_daemon(struct lmi_ctl *ctl);

/* One request; own_members (NULL: none, or out of memory: refused) is taken.  The envelope of
 * the reply (v, op, rid) is left out. */
enum lmd_status lmi_remote_call(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				json_t **reply, struct lmd_error *err);
/* The same for an op whose reply matters to programs alone: printed with --json. */
enum lmd_status lmi_remote_do(struct lmi_ctl *ctl, const char *op, json_t *own_members,
			      struct lmd_error *err);
/* The same for an op that answers a stream without text: shows its progress when standard error
 * is a terminal, and waits for its end.  Ctrl-C cancels it. */
enum lmd_status lmi_remote_job(struct lmi_ctl *ctl, const char *op, json_t *own_members,
			       struct lmd_error *err);

/* One JSON value on standard output. */
void lmi_remote_print(const json_t *value);

enum lmi_column_kind {
	LMI_COL_TEXT,  /* as it is */
	LMI_COL_COUNT, /* right-aligned */
	LMI_COL_BYTES, /* 97.5M */
	LMI_COL_TIME,  /* of milliseconds: 3m12s; negative: "never" */
	LMI_COL_DIGEST, /* its first 12 digits */
	LMI_COL_STATE,	/* of a model: lmi_show_state */
	LMI_COL_PATH	/* shortened in its middle where the table is wider than the terminal */
};
struct lmi_column {
	const char *title, *member;
	enum lmi_column_kind kind;
};
/* Rows with titles, as wide as needed; control characters are shown as ?.  On a terminal the
 * column of kind LMI_COL_PATH gives way so that a row fits on a line. */
void lmi_remote_table(const json_t *rows, const struct lmi_column *cols, size_t n_cols);

/* "97.5M", "3m12s"; return out. */
const char *lmi_show_bytes(char *out, size_t size, int64_t bytes);
/* The same for running text, where a number alone would lack its unit: "97.5M", "24 bytes". */
const char *lmi_show_size(char *out, size_t size, uint64_t bytes);
const char *lmi_show_ms(char *out, size_t size, int64_t ms);
/* A state of a model as people call it: "not loaded" for the protocol's "absent", otherwise the
 * protocol's word.  NULL stays NULL. */
const char *lmi_show_state(const char *state);
/* Copies `text` with "..." in the place of its middle so that it takes at most `width` columns (at
 * least 4), a third of them for its beginning; characters of UTF-8 stay whole.  Returns out. */
const char *lmi_show_shortened(char *out, size_t size, const char *text, int width);
/* Columns of the terminal that standard output is, or 0 when it is none. */
int lmi_terminal_width(void);

#endif /* LLAMAD_LLAMACTL_REMOTE_H */
