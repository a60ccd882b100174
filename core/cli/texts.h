/* SPDX-License-Identifier: MIT
 *
 * texts.h - what is written from rows of options: help and manual pages. */
#ifndef LLAMAD_CORE_CLI_TEXTS_H
#define LLAMAD_CORE_CLI_TEXTS_H

#include <stdio.h>

#include "core/cli/opts.h"

/* Column at which descriptions begin. */
#define LMI_HELP_DOC_COL 26

/* Writes words from column `at`, wrapped at 80, further lines indented by `indent`, and a
 * newline. */
void lmi_text_wrap(FILE *f, const char *text, int at, int indent);

/* An empty line, "TITLE:", and the options that have a doc; nothing when n is 0. */
void lmi_help_options(FILE *f, const char *title, const struct lmi_opt *o, uint32_t n);

/* "(default 8, 1 to 128k)" of an option, "" when there is nothing to say. */
void lmi_opt_bounds(const struct lmi_opt *o, char *buf, size_t n);

/* A value of an option as the user would type it, with the largest unit that fits: "128k". */
void lmi_opt_number(const struct lmi_opt *o, double v, char *buf, size_t n);

/* Text with what roff would take for markup escaped: backslashes, hyphens, and dots and
 * quotes at the beginning of a line.  A line break of `s` stays one. */
void lmi_roff_text(FILE *f, const char *s);
/* The same for paragraphs that are separated by empty lines. */
void lmi_roff_paragraphs(FILE *f, const char *doc);
/* One row of a list in a manual page. */
struct lmi_roff_item {
	const char *what, *text;
};
/* .SH TITLE and a .TP item for each row, `what` in bold. */
void lmi_roff_list(FILE *f, const char *title, const struct lmi_roff_item *items, uint32_t n);
/* .SH EXAMPLES: a text, and below it the lines of `what` as they are typed. */
void lmi_roff_examples(FILE *f, const struct lmi_roff_item *items, uint32_t n);
/* A .TP item with spelling, doc and bounds; nothing for an option without doc. */
void lmi_roff_option(FILE *f, const struct lmi_opt *o);

#endif /* LLAMAD_CORE_CLI_TEXTS_H */
