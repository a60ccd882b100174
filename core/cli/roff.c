/* SPDX-License-Identifier: MIT
 *
 * Writes parts of manual pages. */
#include <stdio.h>
#include <string.h>

#include "core/cli/texts.h"

/* Escapes everything that roff would take for markup: backslashes, hyphens, and dots and quotes at
 * the start of a line. Line breaks of `s` are kept. */
void lmi_cli_roff_text(FILE *f, const char *s)
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

/* Lines that begin with four spaces are typed as they stand. */
static void put_paragraph(FILE *f, const char *text)
{
	bool typed = !strncmp(text, "    ", 4);

	if (typed)
		fputs(".RS 4\n.nf\n", f);
	for (const char *p = text; *p;) {
		char line[4096];
		size_t n = strcspn(p, "\n");

		if (typed && !strncmp(p, "    ", 4)) {
			p += 4;
			n -= 4;
		}
		(void)snprintf(line, sizeof(line), "%.*s", (int)n, p);
		lmi_cli_roff_text(f, line);
		putc('\n', f);
		p += n + (p[n] == '\n');
	}
	if (typed)
		fputs(".fi\n.RE\n", f);
}

void lmi_cli_roff_paragraphs(FILE *f, const char *doc)
{
	while (*doc) {
		const char *end = strstr(doc, "\n\n");
		int n = end ? (int)(end - doc) : (int)strlen(doc);
		char text[4096];

		snprintf(text, sizeof(text), "%.*s", n, doc);
		put_paragraph(f, text);
		doc += n;
		while (*doc == '\n')
			doc++;
		if (*doc)
			fputs(".PP\n", f);
	}
}

void lmi_cli_roff_option(FILE *f, const struct lmi_opt *o)
{
	char bounds[192];

	if (!o->doc)
		return;
	fputs(".TP\n", f);
	if (o->letter)
		fprintf(f, "\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : "");
	if (o->name) {
		fputs("\\fB\\-\\-", f);
		lmi_cli_roff_text(f, o->name);
		fputs("\\fR", f);
	}
	if (o->type != LMI_OPT_FLAG) {
		fputs(" \\fI", f);
		lmi_cli_roff_text(f, o->value);
		fputs("\\fR", f);
	}
	putc('\n', f);
	lmi_cli_roff_text(f, o->doc);
	lmi_opt_bounds(o, bounds, sizeof(bounds));
	if (*bounds) {
		putc(' ', f);
		lmi_cli_roff_text(f, bounds);
	}
	putc('\n', f);
}

void lmi_cli_roff_list(FILE *f, const char *title, const struct lmi_cli_roff_item *items,
		       uint32_t n)
{
	fprintf(f, ".SH \"%s\"\n", title);
	for (uint32_t i = 0; i < n; i++) {
		fputs(".TP\n\\fB", f);
		lmi_cli_roff_text(f, items[i].what);
		fputs("\\fR\n", f);
		lmi_cli_roff_text(f, items[i].text);
		putc('\n', f);
	}
}

void lmi_cli_roff_examples(FILE *f, const struct lmi_cli_roff_item *items, uint32_t n)
{
	fputs(".SH EXAMPLES\n", f);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			fputs(".PP\n", f);
		lmi_cli_roff_text(f, items[i].text);
		fputs("\n.PP\n.RS 4\n.nf\n", f);
		lmi_cli_roff_text(f, items[i].what);
		fputs("\n.fi\n.RE\n", f);
	}
}
