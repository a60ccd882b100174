/* SPDX-License-Identifier: MIT
 *
 * The manual page llamactl(1), written from the table (make update-man). */
#include <string.h>

#include "client/llamactl/texts.h"
#include "llamad/version.h"

/* Text with what roff would take for markup escaped: backslashes, hyphens, and dots and
 * quotes at the beginning of a line.  A line break of `s` stays one. */
static void put(FILE *f, const char *s)
{
	bool line_start = true;

	for (; *s; s++) {
		if (line_start && (*s == '.' || *s == '\''))
			fputs("\\&", f);
		if (*s == '\\')
			fputs("\\e", f);
		else if (*s == '-')
			fputs("\\-", f);
		else
			putc(*s, f);
		line_start = *s == '\n';
	}
}

static void put_paragraphs(FILE *f, const char *doc)
{
	while (*doc) {
		const char *end = strstr(doc, "\n\n");
		int n = end ? (int)(end - doc) : (int)strlen(doc);
		char text[4096];

		snprintf(text, sizeof(text), "%.*s", n, doc);
		put(f, text);
		putc('\n', f);
		doc += n;
		while (*doc == '\n')
			doc++;
		if (*doc)
			fputs(".PP\n", f);
	}
}

static void put_option(FILE *f, const struct lmi_opt *o)
{
	char bounds[192];

	if (!o->doc)
		return;
	fputs(".TP\n", f);
	if (o->letter)
		fprintf(f, "\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : "");
	if (o->name) {
		fputs("\\fB\\-\\-", f);
		put(f, o->name);
		fputs("\\fR", f);
	}
	if (o->type != LMI_OPT_FLAG) {
		fputs(" \\fI", f);
		put(f, o->value);
		fputs("\\fR", f);
	}
	putc('\n', f);
	put(f, o->doc);
	lmi_opt_bounds(o, bounds, sizeof(bounds));
	if (*bounds) {
		putc(' ', f);
		put(f, bounds);
	}
	putc('\n', f);
}

static void put_command(FILE *f, const struct lmi_cmd *c)
{
	fputs(".SS \"", f);
	put(f, c->name);
	if (c->args) {
		putc(' ', f);
		put(f, c->args);
	}
	fputs("\"\n", f);
	put(f, c->brief);
	fputs(".\n", f);
	if (c->doc) {
		fputs(".PP\n", f);
		put_paragraphs(f, c->doc);
	}
	for (uint32_t i = 0; i < c->n_opts; i++)
		put_option(f, &c->opts[i]);
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
	for (uint32_t i = 0; i < lmi_n_common_opts; i++)
		put_option(f, &lmi_common_opts[i]);
	fputs(".SH COMMANDS\n", f);
	for (uint32_t i = 0; i < lmi_n_cmds; i++)
		put_command(f, lmi_cmds[i]);
	fputs(".SH \"EXIT STATUS\"\n"
	      ".TP\n0\nDone.\n"
	      ".TP\n1\nRefused or failed; standard error says why.\n"
	      ".TP\n2\nThe command line is wrong.\n",
	      f);
}
