/* SPDX-License-Identifier: MIT
 *
 * texts.h - help and manual pages generated from option rows. */
#ifndef LLAMAD_CORE_CLI_TEXTS_H
#define LLAMAD_CORE_CLI_TEXTS_H

#include <stdio.h>

#include "core/cli/opts.h"

/* Column at which descriptions start. */
#define LMI_CLI_HELP_DOC_COL 26

/* Writes words from column `at`, wrapped at 80, with continuation lines indented by `indent`, and a
 * final newline.  Lines that begin with four spaces are written as they stand. */
void lmi_cli_text_wrap(FILE *f, const char *text, int at, int indent);
/* As above, wrapped at `width` columns. */
void lmi_cli_text_wrap_to(FILE *f, const char *text, int at, int indent, int width);

/* Writes an empty line and "TITLE:", unless title is NULL, and the options that have a doc; nothing if n is 0. */
void lmi_cli_help_options(FILE *f, const char *title, const struct lmi_opt *o, uint32_t n);

/* Writes "(default 8, 1 to 128k)" for an option, or "" if it has neither default nor limits. */
void lmi_opt_bounds(const struct lmi_opt *o, char *buf, size_t n);

/* Writes a value of an option as the user would type it, with the largest unit that fits:
 * "128k". */
void lmi_opt_number(const struct lmi_opt *o, double v, char *buf, size_t n);

/* Escapes everything that roff would take for markup: backslashes, hyphens, and dots and quotes at
 * the start of a line. Line breaks of `s` are kept. */
void lmi_cli_roff_text(FILE *f, const char *s);
/* Writes paragraphs, separated by empty lines in `doc`, escaped like lmi_cli_roff_text; in one that begins with four
 * spaces, lines are not filled. */
void lmi_cli_roff_paragraphs(FILE *f, const char *doc);
/* One row of a list in a manual page. */
struct lmi_cli_roff_item {
	const char *what, *text;
};
/* Writes .SH TITLE and a .TP item for each row, `what` in bold. */
void lmi_cli_roff_list(FILE *f, const char *title, const struct lmi_cli_roff_item *items,
		       uint32_t n);
/* Writes .SH EXAMPLES: a text, and below it the lines of `what` as they are typed. */
void lmi_cli_roff_examples(FILE *f, const struct lmi_cli_roff_item *items, uint32_t n);
/* Writes a .TP item with spelling, doc and limits; nothing for an option without doc. */
void lmi_cli_roff_option(FILE *f, const struct lmi_opt *o);

#endif /* LLAMAD_CORE_CLI_TEXTS_H */
