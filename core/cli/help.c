/* SPDX-License-Identifier: MIT
 *
 * Prints the --help of options, wrapped at 80 columns. */
#include <stdio.h>
#include <string.h>

#include "core/cli/texts.h"

#define WIDTH	80
#define DOC_COL LMI_CLI_HELP_DOC_COL

void lmi_cli_text_wrap(FILE *f, const char *text, int at, int indent)
{
	lmi_cli_text_wrap_to(f, text, at, indent, WIDTH);
}

void lmi_cli_text_wrap_to(FILE *f, const char *text, int at, int indent, int width)
{
	bool first = true;

	for (const char *p = text; *p; p += first ? 0 : strspn(p, " ")) {
		/* a line that begins with four spaces is typed as it stands */
		int n = (int)strcspn(p, first && !strncmp(p, "    ", 4) ? "\n" : " \n");

		if (!first && at + 1 + n > width) {
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

void lmi_opt_number(const struct lmi_opt *o, double v, char *buf, size_t n)
{
	static const char *const size[] = {"", "k", "M", "G", "T"}, *const span[] = {"ms", "s", "m",
										     "h"};
	static const double size_step[] = {1024, 1024, 1024, 1024}, span_step[] = {1000, 60, 60};
	const char *const *unit = o->type == LMI_OPT_TIME ? span : size;
	const double *step = o->type == LMI_OPT_TIME ? span_step : size_step;
	int last = o->type == LMI_OPT_TIME ? 3 : o->type == LMI_OPT_SIZE ? 4 : 0, i = 0;

	for (; v != 0 && i < last && (double)(int64_t)(v / step[i]) == v / step[i]; i++)
		v /= step[i];
	snprintf(buf, n, "%.10g%s", v, v != 0 || last != 3 ? unit[i] : "");
}

void lmi_opt_bounds(const struct lmi_opt *o, char *buf, size_t n)
{
	char def[112] = "", range[80] = "", lo[32], hi[32];

	if (o->def_text)
		snprintf(def, sizeof(def), "default: %s", o->def_text);
	else if (o->def)
		snprintf(def, sizeof(def), "default %s", o->def);
	if (o->min != 0 || o->max != 0) {
		lmi_opt_number(o, o->min, lo, sizeof(lo));
		lmi_opt_number(o, o->max, hi, sizeof(hi));
		snprintf(range, sizeof(range), "%s%s to %s",
			 o->def_text ? "; " : *def ? ", " : "", lo, hi);
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
	lmi_cli_text_wrap(f, text, DOC_COL, DOC_COL);
}

void lmi_cli_help_options(FILE *f, const char *title, const struct lmi_opt *o, uint32_t n)
{
	if (n && title)
		fprintf(f, "\n%s:\n", title);
	for (uint32_t i = 0; i < n; i++)
		help_option(f, &o[i]);
}
