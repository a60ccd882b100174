/* SPDX-License-Identifier: MIT
 *
 * texts.h - what is written from the table of commands: help, manual page, completion. */
#ifndef LLAMAD_LLAMACTL_TEXTS_H
#define LLAMAD_LLAMACTL_TEXTS_H

#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "core/cli/texts.h"

/* Commands that stand together in the texts: the next n of lmi_llamactl.  A title of NULL ends the
 * list; the last group, of debugging, is one line in the overview. */
struct lmi_cmd_group {
	const char *title;
	uint32_t n;
};
extern const struct lmi_cmd_group lmi_llamactl_groups[];

/* The overview: all commands by group, those of debugging in one line. */
void lmi_help_program(FILE *f);
/* The commands whose first word is `word` ("debug"); word "" = all, a line for each. */
void lmi_help_word(FILE *f, const char *word);
void lmi_help_command(FILE *f, const struct lmi_cmd *cmd);

/* llamactl(1) in roff. */
void lmi_write_man(FILE *f);
/* Completion for "bash", "zsh" or "fish". */
void lmi_write_completion(FILE *f, const char *shell);
/* For completions: the words of a kind, "models:" and so on, one on a line.  Prints nothing where
 * there are none, and nothing on standard error. */
void lmi_write_words(struct lmi_ctl *ctl, const char *what);

#endif /* LLAMAD_LLAMACTL_TEXTS_H */
