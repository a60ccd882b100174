/* SPDX-License-Identifier: MIT
 *
 * texts.h - what is written from the table of commands: help, manual page, completion. */
#ifndef LLAMAD_LLAMACTL_TEXTS_H
#define LLAMAD_LLAMACTL_TEXTS_H

#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "core/cli/texts.h"

/* Overview: all commands, or those whose name begins with the word `group` ("debug");
 * group NULL = all. */
void lmi_help_program(FILE *f, const char *group);
void lmi_help_command(FILE *f, const struct lmi_cmd *cmd);

/* llamactl(1) in roff. */
void lmi_write_man(FILE *f);
/* Completion for bash. */
void lmi_write_completion(FILE *f);

#endif /* LLAMAD_LLAMACTL_TEXTS_H */
