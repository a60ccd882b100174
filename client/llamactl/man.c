/* SPDX-License-Identifier: MIT
 *
 * The manual page llamactl(1), written from the table (make update-man). */
#include <string.h>

#include "client/llamactl/texts.h"
#include "llamad/version.h"

static void put_command(FILE *f, const struct lmi_cmd *c)
{
	fputs(".SS \"", f);
	lmi_roff_text(f, c->name);
	if (c->args) {
		putc(' ', f);
		lmi_roff_text(f, c->args);
	}
	fputs("\"\n", f);
	lmi_roff_text(f, c->brief);
	fputs(".\n", f);
	if (c->doc) {
		fputs(".PP\n", f);
		lmi_roff_paragraphs(f, c->doc);
	}
	for (uint32_t i = 0; i < c->n_opts; i++)
		lmi_roff_option(f, &c->opts[i]);
}

void lmi_write_man(FILE *f)
{
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Written by 'llamactl --emit-man' from its table of commands.\n",
	      f);
	fprintf(f, ".TH LLAMACTL 1 \"\" \"llamad %s\"\n", LMD_VERSION);
	fputs(".SH NAME\nllamactl \\- run, inspect and serve language models\n"
	      ".SH SYNOPSIS\n\\fBllamactl\\fR [\\fIOPTION\\fR]... \\fICOMMAND\\fR "
	      "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
	      ".SH DESCRIPTION\nllamactl is the command line of llamad.\n"
	      "Results go to standard output and nothing else does; messages go to standard "
	      "error,\nthe last line names the file or thing at fault.\n"
	      "Options and arguments may be mixed; \\fB\\-\\-\\fR ends the options.\n"
	      "Numbers of bytes or tokens take the units k, M, G and T (powers of 1024).\n"
	      ".SH \"COMMON OPTIONS\"\n",
	      f);
	for (uint32_t i = 0; i < lmi_llamactl.n_opts; i++)
		lmi_roff_option(f, &lmi_llamactl.opts[i]);
	fputs(".SH COMMANDS\n", f);
	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++)
		put_command(f, lmi_llamactl.cmds[i]);
	fputs(".SH \"EXIT STATUS\"\n"
	      ".TP\n0\nDone.\n"
	      ".TP\n1\nRefused or failed; standard error says why.\n"
	      ".TP\n2\nThe command line is wrong.\n"
	      ".TP\n130, 143, 141\n"
	      "Stopped by Ctrl-C, by SIGTERM, or because the reader of standard output has gone.\n",
	      f);
}
