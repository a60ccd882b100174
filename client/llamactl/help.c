/* SPDX-License-Identifier: MIT
 *
 * --help, written from the table and wrapped at 80 columns. */
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/texts.h"

#define WIDTH   80
#define DOC_COL 26

/* Writes words from column `at`, wrapped, further lines indented by `indent`. */
static void wrap(FILE *f, const char *text, int at, int indent)
{
	bool first = true;

	for (const char *p = text; *p; p += strspn(p, " ")) {
		int n = (int)strcspn(p, " \n");

		if (!first && at + 1 + n > WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
		} else if (!first) {
			putc(' ', f);
			at++;
		}
		fprintf(f, "%.*s", n, p);
		at += n;
		p += n;
		first = false;
		if (*p == '\n') {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
			first = true;
			p++;
		}
	}
	putc('\n', f);
}

/* A bound as the user would type it. */
static void put_number(char *buf, size_t n, const struct lmi_opt *o, double v)
{
	static const char units[] = "\0kMGT";
	int unit = 0;

	if (o->type == LMI_OPT_SIZE)
		while (v >= 1024 && unit < 4 && (double)(int64_t)(v / 1024) == v / 1024) {
			v /= 1024;
			unit++;
		}
	snprintf(buf, n, "%.10g%.1s", v, &units[unit]);
}

void lmi_opt_bounds(const struct lmi_opt *o, char *buf, size_t n)
{
	char def[80] = "", range[80] = "", lo[32], hi[32];

	if (o->def)
		snprintf(def, sizeof(def), "default %s", o->def);
	if (o->min != 0 || o->max != 0) {
		put_number(lo, sizeof(lo), o, o->min);
		put_number(hi, sizeof(hi), o, o->max);
		snprintf(range, sizeof(range), "%s%s to %s", *def ? ", " : "", lo, hi);
	}
	if (*def || *range)
		snprintf(buf, n, "(%s%s)", def, range);
	else
		*buf = 0;
}

static void help_option(FILE *f, const struct lmi_opt *o)
{
	char text[1024], bounds[192];
	int at;

	if (!o->doc)
		return;
	at = o->letter ? fprintf(f, "  -%c", o->letter) : fprintf(f, "    ");
	if (o->name)
		at += fprintf(f, "%c --%s", o->letter ? ',' : ' ', o->name);
	if (o->type != LMI_OPT_FLAG)
		at += fprintf(f, " %s", o->value);
	lmi_opt_bounds(o, bounds, sizeof(bounds));
	snprintf(text, sizeof(text), "%s%s%s", o->doc, *bounds ? " " : "", bounds);
	if (at + 2 > DOC_COL) {
		putc('\n', f);
		at = 0;
	}
	fprintf(f, "%*s", DOC_COL - at, "");
	wrap(f, text, DOC_COL, DOC_COL);
}

static void help_options(FILE *f, const char *title, const struct lmi_opt *o, uint32_t n)
{
	if (n)
		fprintf(f, "\n%s:\n", title);
	for (uint32_t i = 0; i < n; i++)
		help_option(f, &o[i]);
}

void lmi_help_command(FILE *f, const struct lmi_cmd *cmd)
{
	fprintf(f, "Usage: llamactl %s [OPTION]...%s%s\n\n", cmd->name, cmd->args ? " " : "",
		cmd->args ? cmd->args : "");
	fprintf(f, "%s.\n", cmd->brief);
	if (cmd->doc) {
		putc('\n', f);
		wrap(f, cmd->doc, 0, 0);
	}
	help_options(f, "Options", cmd->opts, cmd->n_opts);
	help_options(f, "Common options", lmi_common_opts, lmi_n_common_opts);
}

void lmi_help_program(FILE *f, const char *group)
{
	size_t n_group = group ? strlen(group) : 0;

	fprintf(f, "Usage: llamactl %s%sCOMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n",
		group ? group : "", group ? " " : "");
	for (uint32_t i = 0; i < lmi_n_cmds; i++) {
		const struct lmi_cmd *c = lmi_cmds[i];
		int at;

		if (n_group && (strncmp(c->name, group, n_group) || c->name[n_group] != ' '))
			continue;
		at = fprintf(f, "  %s", c->name);
		fprintf(f, "%*s", DOC_COL - at, "");
		wrap(f, c->brief, DOC_COL, DOC_COL);
	}
	help_options(f, "Common options", lmi_common_opts, lmi_n_common_opts);
	fputs("\n'llamactl COMMAND --help' describes a command.\n"
	      "Exit status: 0 done, 1 refused or failed, 2 wrong usage.\n",
	      f);
}
