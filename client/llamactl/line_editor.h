/* SPDX-License-Identifier: MIT
 *
 * line_editor.h - reads messages of a conversation: on a terminal with editing and a history
 * (libedit), otherwise lines of standard input. */
#ifndef LLAMAD_LLAMACTL_LINE_EDITOR_H
#define LLAMAD_LLAMACTL_LINE_EDITOR_H

#include <stddef.h>

#include "llamad/status.h"

struct lmi_ctl_line_editor;

enum lmi_ctl_line {
	LMI_CTL_LINE_TEXT,
	LMI_CTL_LINE_END,     /* end of the input: Ctrl-D on an empty line */
	LMI_CTL_LINE_STOPPED, /* Ctrl-C on an empty line, or SIGTERM */
};

/* Opens the editor, with the history of earlier conversations. */
enum lmd_status lmi_ctl_line_editor_open(struct lmi_ctl_line_editor **out, struct lmd_error *err);
/* Writes the history, readable by its owner alone. */
void lmi_ctl_line_editor_close(struct lmi_ctl_line_editor *e);

/* Reads a line; *text has no newline at its end, but may contain some (Alt-Enter), and is valid
 * until the next call. Ctrl-C discards what was typed; on an empty line it returns STOPPED. */
enum lmi_ctl_line lmi_ctl_line_editor_read(struct lmi_ctl_line_editor *e, const char *prompt,
					   const char **text, size_t *n);
/* Between these two the terminal does not show what is typed, which would stand in the middle of an answer;
 * the next line begins with it.  They do nothing unless standard input is a terminal. */
void lmi_ctl_line_editor_hide(struct lmi_ctl_line_editor *e);
void lmi_ctl_line_editor_show(struct lmi_ctl_line_editor *e);
/* Appends a message to the history. */
void lmi_ctl_line_editor_remember(struct lmi_ctl_line_editor *e, const char *text);

#endif /* LLAMAD_LLAMACTL_LINE_EDITOR_H */
