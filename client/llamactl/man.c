/* SPDX-License-Identifier: MIT
 *
 * Writes the manual page llamactl(1) from the table of commands (make update-man). */
#include <stdio.h>
#include <string.h>

#include "client/llamactl/option_groups.h"
#include "client/llamactl/texts.h"
#include "llamad/version.h"

static void put_upper(FILE *f, const char *s)
{
	for (; *s; s++)
		putc(*s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s, f);
}

/* Writes where the options of the command that are not listed with it are described. */
static void put_group_names(FILE *f, const struct lmi_cli_cmd *c)
{
	const char *before = ".PP\nFurther options: see ";

	for (const struct lmi_ctl_option_group *g = lmi_ctl_option_groups; g->title; g++) {
		if (!lmi_ctl_has_option_group(c, g))
			continue;
		fprintf(f, "%s\\fB", before);
		put_upper(f, g->title);
		fputs("\\fR", f);
		before = " and ";
	}
	if (*before == ' ')
		fputs(".\n", f);
}

/* Writes a section for the options of each group, with the commands that have them. */
static void put_option_groups(FILE *f)
{
	for (const struct lmi_ctl_option_group *g = lmi_ctl_option_groups; g->title; g++) {
		const char *before = "\"\nFor ";

		fputs(".SH \"", f);
		put_upper(f, g->title);
		for (uint32_t i = 0; i < lmi_ctl_program.n_cmds; i++) {
			if (!lmi_ctl_has_option_group(lmi_ctl_program.cmds[i], g))
				continue;
			fprintf(f, "%s\\fB%s\\fR", before, lmi_ctl_program.cmds[i]->name);
			before = ", ";
		}
		fputs(".\n", f);
		for (uint32_t i = 0; i < g->n_opts; i++)
			lmi_cli_roff_option(f, &g->opts[i]);
	}
}

static void put_command(FILE *f, const struct lmi_cli_cmd *c)
{
	fputs(".SS \"", f);
	lmi_cli_roff_text(f, c->name);
	if (c->args) {
		putc(' ', f);
		lmi_cli_roff_text(f, c->args);
	}
	fputs("\"\n", f);
	lmi_cli_roff_text(f, c->brief);
	fputs(".\n", f);
	if (c->doc) {
		fputs(".PP\n", f);
		lmi_cli_roff_paragraphs(f, c->doc);
	}
	for (uint32_t i = 0; i < c->n_opts; i++)
		if (!lmi_ctl_option_group_of(c, &c->opts[i]))
			lmi_cli_roff_option(f, &c->opts[i]);
	put_group_names(f, c);
}

static const struct lmi_cli_roff_item examples[] = {
	{"llamactl run smollm2\n"
	 "llamactl run model.gguf \"Why is the sky blue?\"",
	 "Have a conversation with a model that is downloaded by name, and get one answer from a file:"},
	{"llamactl serve smollm2 --port 8080", "Serve it over HTTP:"},
	{"llamad &\n"
	 "llamactl add mine /srv/models/model.gguf\n"
	 "llamactl generate mine -p \"Why is the sky blue?\"",
	 "Use a daemon, which keeps the model in memory for all clients:"},
	{"llamactl list\n"
	 "llamactl ps\n"
	 "llamactl unload mine",
	 "List the registered and the loaded models, and unload one:"},
	{"llamactl alias mine chat", "Give a model a second name that programs can rely on:"},
	{"llamactl generate mine -p \"A person\" -j schema.json | jq .name",
	 "Constrain the answer to a JSON schema:"},
	{"llamactl quantize model-f16.gguf model-q4.gguf Q4_K_M\n"
	 "llamactl perplexity model-q4.gguf --text text.txt",
	 "Quantise a model and measure the loss:"},
	{"llamactl tokenize mine \"Hello\" --json\n"
	 "llamactl detokenize mine 19556 905",
	 "Convert text to token ids and back:"},
	{"umask 077; llamactl key add laptop >laptop.key\n"
	 "llamactl --socket tls+tcp://host:7443 --key-file laptop.key list",
	 "Create a key on the daemon's machine and use it on another one:"},
};

static const struct lmi_cli_roff_item files[] = {
	{"/run/llamad/llamad.sock", "Socket of the system's daemon, used if it exists."},
	{"$XDG_RUNTIME_DIR/llamad/llamad.sock", "Socket of the user's own daemon, used "
						"otherwise."},
	{"/var/lib/llamad, $XDG_STATE_HOME/llamad, ~/.local/state/llamad",
	 "Models when no daemon answers: of root, or of the user."},
	{"$XDG_STATE_HOME/llamactl/history, ~/.local/state/llamactl/history",
	 "Messages of earlier conversations."},
	{"PREFIX/lib/llamad/plugins", "Plugins; the folder is found relative to the program. See "
				      "--plugin-dir."},
};

static const struct lmi_cli_roff_item environment[] = {
	{"LLAMAD_SOCKET", "As --socket."},
	{"LLAMAD_KEY", "Secret of a key, for tcp and tls+tcp without --key-file."},
	{"LLAMAD_SIGNATURES, LLAMAD_TRUSTED_KEYS",
	 "As --signatures, and as one --trusted-key."},
	{"XDG_RUNTIME_DIR", "Folder of the user's own sockets."},
	{"STATE_DIRECTORY, XDG_STATE_HOME", "Folder of the user's own models, when no daemon "
					    "answers, and of the history of conversations."},
	{"HF_HUB_OFFLINE", "If it is 1, llamactl itself does not use the network."},
	{"HF_TOKEN, HF_ENDPOINT, LLAMAD_CATALOGUE",
	 "Token and mirror of Hugging Face and file of short names, for downloads that no daemon "
	 "makes."},
	{"LLAMACTL_HISTORY", "File of the history of conversations; empty: no history is kept."},
	{"NO_COLOR", "Answers and reasoning are shown without styles if it is set."},
	{"TERM", "Progress bars are drawn on a terminal unless TERM is dumb."},
};

/* Writes the commands of each group as a section: "MODELS OF THE DAEMON". */
static void put_groups(FILE *f)
{
	const struct lmi_cli_cmd *const *c = lmi_ctl_program.cmds;

	for (const struct lmi_ctl_cmd_group *g = lmi_ctl_llamactl_groups; g->title; c += g++->n) {
		fputs(".SH \"", f);
		put_upper(f, g->title);
		fputs("\"\n", f);
		for (uint32_t i = 0; i < g->n; i++)
			put_command(f, c[i]);
	}
}

void lmi_ctl_write_man(FILE *f)
{
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Written by 'llamactl --emit-man' from its table of commands.\n",
	      f);
	fprintf(f, ".TH LLAMACTL 1 \"\" \"llamad %s\"\n", LMD_VERSION);
	fputs(".SH NAME\nllamactl \\- run, inspect and serve language models\n"
	      ".SH SYNOPSIS\n\\fBllamactl\\fR [\\fIOPTION\\fR]... \\fICOMMAND\\fR "
	      "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
	      ".SH DESCRIPTION\nllamactl is the command line of llamad.\n"
	      "Standard output carries only results; messages go to standard "
	      "error,\nwhere the last line names the file or object at fault.\n"
	      "Options and arguments may be mixed; \\fB\\-\\-\\fR ends the options.\n"
	      "Numbers of bytes or tokens may have a unit k, M, G or T (powers of 1024).\n"
	      ".PP\n"
	      "\\fBllamactl \\-\\-help\\fR lists the commands, "
	      "\\fBllamactl\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR describes one.\n"
	      "This page lists the common options first, then the commands in groups, and then\n"
	      "the options that commands share.\n"
	      ".SH \"COMMON OPTIONS\"\n",
	      f);
	for (uint32_t i = 0; i < lmi_ctl_program.n_opts; i++)
		lmi_cli_roff_option(f, &lmi_ctl_program.opts[i]);
	put_groups(f);
	put_option_groups(f);
	lmi_cli_roff_examples(f, examples, LMD_LEN(examples));
	lmi_cli_roff_list(f, "FILES", files, LMD_LEN(files));
	lmi_cli_roff_list(f, "ENVIRONMENT", environment, LMD_LEN(environment));
	fputs(".SH \"EXIT STATUS\"\n"
	      ".TP\n0\nSuccess.\n"
	      ".TP\n1\nThe request was rejected or failed; standard error says why.\n"
	      ".TP\n2\nThe command line is wrong.\n"
	      ".TP\n130, 143, 141\n"
	      "Stopped by Ctrl-C, by SIGTERM, or because the reader of standard output closed the "
	      "pipe.\n",
	      f);
	fputs(".SH \"SEE ALSO\"\n\\fBllamad\\fR(8), \\fBllamad.conf\\fR(5)\n", f);
}
