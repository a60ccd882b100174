/* SPDX-License-Identifier: MIT
 *
 * llamactl help: prints the same texts as --help. */
#include <string.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/texts.h"

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *word = lmi_arg_pos(&ctl->args, 0), *second = lmi_arg_pos(&ctl->args, 1);
	const struct lmi_cmd *cmd;
	char name[64];

	if (lmi_arg_flag(&ctl->args, "all") && word)
		return lmi_usage(ctl, err, "--all lists all commands; omit '%s'", word);
	if (lmi_arg_flag(&ctl->args, "all")) {
		lmi_help_word(stdout, "");
		return LMD_OK;
	}
	if (!word) {
		lmi_help_program(stdout);
		return LMD_OK;
	}
	snprintf(name, sizeof(name), "%s%s%s", word, second ? " " : "", second ? second : "");
	cmd = lmi_cmd_find(&lmi_llamactl, name);
	if (cmd) {
		lmi_help_command(stdout, cmd);
		return LMD_OK;
	}
	for (uint32_t i = 0; !second && i < lmi_llamactl.n_cmds; i++) {
		if (!strncmp(lmi_llamactl.cmds[i]->name, name, strlen(name)) &&
		    lmi_llamactl.cmds[i]->name[strlen(name)] == ' ') {
			lmi_help_word(stdout, name);
			return LMD_OK;
		}
	}
	return lmi_usage(ctl, err, "there is no command '%s'; see llamactl --help", name);
}

static const struct lmi_opt opts[] = {
	{.name = "all",
	 .type = LMI_OPT_FLAG,
	 .doc = "List every command on a line of its own, including the debug commands."},
};

const struct lmi_cmd lmi_cmd_help = {
	.name = "help",
	.args = "[COMMAND] [WORD]",
	.brief = "Describe a command, or list all commands",
	.doc = "WORD is the second word of a command: `llamactl help debug plan`. If COMMAND is "
	       "only the first word of several commands, they are listed: `llamactl help key`.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
