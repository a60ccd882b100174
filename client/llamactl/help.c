/* SPDX-License-Identifier: MIT
 *
 * Writes --help from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "client/llamactl/option_groups.h"
#include "client/llamactl/texts.h"

/* Prints the options of the command that the group describes, or that no group does. */
static void help_group(FILE *f, const struct lmi_cli_cmd *cmd, const char *title, const struct lmi_ctl_option_group *g)
{
	for (uint32_t i = 0; i < cmd->n_opts; i++) {
		const struct lmi_opt *o = &cmd->opts[i];

		if (!o->doc || lmi_ctl_option_group_of(cmd, o) != g)
			continue;
		lmi_cli_help_options(f, title, o, 1);
		title = NULL;
	}
}

void lmi_ctl_help_command(FILE *f, const struct lmi_cli_cmd *cmd)
{
	fprintf(f, "Usage: llamactl %s [OPTION]...%s%s\n\n", cmd->name, cmd->args ? " " : "",
		cmd->args ? cmd->args : "");
	fprintf(f, "%s.\n", cmd->brief);
	if (cmd->doc) {
		putc('\n', f);
		lmi_cli_text_wrap(f, cmd->doc, 0, 0);
	}
	help_group(f, cmd, "Options", NULL);
	for (const struct lmi_ctl_option_group *g = lmi_ctl_option_groups; g->title; g++)
		help_group(f, cmd, g->title, g);
	lmi_cli_help_options(f, "Common options", lmi_ctl_program.opts, lmi_ctl_program.n_opts);
}

static void help_line(FILE *f, const struct lmi_cli_cmd *c)
{
	int at = fprintf(f, "  %s", c->name);

	fprintf(f, "%*s", LMI_CLI_HELP_DOC_COL - at, "");
	lmi_cli_text_wrap(f, c->brief, LMI_CLI_HELP_DOC_COL, LMI_CLI_HELP_DOC_COL);
}

/* Prints the commands of a group on one line, by their second words. */
static void help_words(FILE *f, const struct lmi_cli_cmd *const *cmds, uint32_t n)
{
	const char *first = cmds[0]->name;
	int len = (int)strcspn(first, " ");
	char text[512];
	int at, used = 0;

	for (uint32_t i = 0; i < n && used < (int)sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s", i ? ", " : "",
				 cmds[i]->name + len + 1);
	if (used < (int)sizeof(text))
		(void)snprintf(text + used, sizeof(text) - (size_t)used,
			       "; see llamactl %.*s --help", len, first);
	at = fprintf(f, "  %.*s WORD", len, first);
	fprintf(f, "%*s", LMI_CLI_HELP_DOC_COL - at, "");
	lmi_cli_text_wrap(f, text, LMI_CLI_HELP_DOC_COL, LMI_CLI_HELP_DOC_COL);
}

/* Prints only the names of the common options, so that the commands stay on the screen. */
static void help_common(FILE *f)
{
	char text[512];
	int used = 0;

	for (uint32_t i = 0; i < lmi_ctl_program.n_opts && used < (int)sizeof(text); i++) {
		const struct lmi_opt *o = &lmi_ctl_program.opts[i];

		if (o->doc)
			used += snprintf(text + used, sizeof(text) - (size_t)used, "%s--%s%s%s",
					 i ? ", " : "", o->name, o->type == LMI_OPT_FLAG ? "" : " ",
					 o->type == LMI_OPT_FLAG ? "" : o->value);
	}
	fputs("\nCommon options, described by the help of each command:\n  ", f);
	lmi_cli_text_wrap(f, text, 2, 2);
}

static void help_end(FILE *f)
{
	help_common(f);
	fputs("\n'llamactl COMMAND --help' describes a command.\nExit status: 0 success, 1 "
	      "error, 2 wrong usage, 130 stopped by Ctrl-C.\n",
	      f);
}

void lmi_ctl_help_program(FILE *f)
{
	const struct lmi_cli_cmd *const *c = lmi_ctl_program.cmds;

	fputs("Usage: llamactl COMMAND [OPTION]... [ARGUMENT]...\n\n"
	      "  llamactl run smollm2                            download a model and chat\n"
	      "  llamactl run model.gguf \"Why is the sky blue?\"  get one answer, from a file\n"
	      "  llamactl serve smollm2                          serve it at 127.0.0.1:8080\n",
	      f);
	for (const struct lmi_ctl_cmd_group *g = lmi_ctl_llamactl_groups; g->title; c += g++->n) {
		fprintf(f, "\n%s:\n", g->title);
		if (!g[1].title)
			help_words(f, c, g->n);
		else
			for (uint32_t i = 0; i < g->n; i++)
				help_line(f, c[i]);
	}
	help_end(f);
}

void lmi_ctl_help_word(FILE *f, const char *word)
{
	size_t n = strlen(word);

	fprintf(f, "Usage: llamactl %s%sCOMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n", word,
		n ? " " : "");
	for (uint32_t i = 0; i < lmi_ctl_program.n_cmds; i++) {
		const struct lmi_cli_cmd *c = lmi_ctl_program.cmds[i];

		if (!n || (!strncmp(c->name, word, n) && c->name[n] == ' '))
			help_line(f, c);
	}
	help_end(f);
}
