/* SPDX-License-Identifier: MIT
 *
 * texts.h - the texts that are generated from the table of commands: help, manual page,
 * completion. */
#ifndef LLAMAD_LLAMACTL_TEXTS_H
#define LLAMAD_LLAMACTL_TEXTS_H

#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "core/cli/texts.h"

/* A group of commands in the texts: the next n of lmi_ctl_program. A title of NULL ends the list;
 * the last group, the debug commands, takes one line in the overview. */
struct lmi_ctl_cmd_group {
	const char *title;
	uint32_t n;
};
extern const struct lmi_ctl_cmd_group lmi_ctl_llamactl_groups[];

/* Prints the overview: all commands by group, the debug commands on one line. */
void lmi_ctl_help_program(FILE *f);
/* Prints the commands whose first word is `word` ("debug"), one per line; "" = all commands. */
void lmi_ctl_help_word(FILE *f, const char *word);
void lmi_ctl_help_command(FILE *f, const struct lmi_cli_cmd *cmd);

/* Prints llamactl(1) in roff. */
void lmi_ctl_write_man(FILE *f);
/* Prints the completion script for "bash", "zsh" or "fish". */
void lmi_ctl_write_completion(FILE *f, const char *shell);
/* Prints the words of a kind ("models:" and so on) for completion scripts, one per line. Prints
 * nothing if there are none, and never writes to standard error. */
void lmi_ctl_write_words(struct lmi_ctl *ctl, const char *what);

#endif /* LLAMAD_LLAMACTL_TEXTS_H */
