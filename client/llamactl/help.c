/* SPDX-License-Identifier: MIT
 *
 * --help, written from the table. */
#include <string.h>

#include "client/llamactl/texts.h"

void lmi_help_command(FILE *f, const struct lmi_cmd *cmd)
{
	fprintf(f, "Usage: llamactl %s [OPTION]...%s%s\n\n", cmd->name, cmd->args ? " " : "",
		cmd->args ? cmd->args : "");
	fprintf(f, "%s.\n", cmd->brief);
	if (cmd->doc) {
		putc('\n', f);
		lmi_text_wrap(f, cmd->doc, 0, 0);
	}
	lmi_help_options(f, "Options", cmd->opts, cmd->n_opts);
	lmi_help_options(f, "Common options", lmi_llamactl.opts, lmi_llamactl.n_opts);
}

void lmi_help_program(FILE *f, const char *group)
{
	size_t n_group = group ? strlen(group) : 0;

	fprintf(f, "Usage: llamactl %s%sCOMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n",
		group ? group : "", group ? " " : "");
	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++) {
		const struct lmi_cmd *c = lmi_llamactl.cmds[i];
		int at;

		if (n_group && (strncmp(c->name, group, n_group) || c->name[n_group] != ' '))
			continue;
		at = fprintf(f, "  %s", c->name);
		fprintf(f, "%*s", LMI_HELP_DOC_COL - at, "");
		lmi_text_wrap(f, c->brief, LMI_HELP_DOC_COL, LMI_HELP_DOC_COL);
	}
	lmi_help_options(f, "Common options", lmi_llamactl.opts, lmi_llamactl.n_opts);
	fputs("\n'llamactl COMMAND --help' describes a command.\n"
	      "Exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 stopped by Ctrl-C.\n",
	      f);
}
