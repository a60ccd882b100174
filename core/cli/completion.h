/* SPDX-License-Identifier: MIT
 *
 * completion.h - what shells offer after the Tab key, written from the rows of a program.
 *
 * What may stand at a place is a *kind*, one or more of these words with a blank between:
 *
 *     file, dir   a path
 *     none        something that nobody can foresee: a number, a text
 *     =a|b|c      one of these words
 *     OTHER       the lines that `PROGRAM --emit-words OTHER:LAST` prints; LAST is the last
 *     argument
 *                 before.  Options of `forward` that stand on the line are given to it as well.
 */
#ifndef LLAMAD_CORE_CLI_COMPLETION_H
#define LLAMAD_CORE_CLI_COMPLETION_H

#include <stdio.h>

#include "core/cli/opts.h"

#define LMI_CLI_COMPLETION_KIND_SIZE 512

struct lmi_cli_completion {
	const struct lmi_cli_program *prog;
	/* The kind of an option's value (opt is not NULL; CHOICE is never asked) or of argument
	 * number `arg`, whose word in cmd->args is `word`.  cmd is NULL for common options. */
	const char *(*kind)(const struct lmi_cli_cmd *cmd, const struct lmi_opt *opt,
			    const char *word, uint32_t arg);
	const char *const *forward; /* long names; NULL at the end */
};

void lmi_cli_completion_bash(FILE *f, const struct lmi_cli_completion *c);
void lmi_cli_completion_zsh(FILE *f, const struct lmi_cli_completion *c);
void lmi_cli_completion_fish(FILE *f, const struct lmi_cli_completion *c);

/* ---- for the writers above ---- */

/* The kind of an option's value, in buf or static; not for flags. */
const char *lmi_cli_completion_opt_kind(const struct lmi_cli_completion *c,
					const struct lmi_cli_cmd *cmd, const struct lmi_opt *o,
					char buf[LMI_CLI_COMPLETION_KIND_SIZE]);
/* The kind of argument i of cmd; NULL when it takes no more.  *repeated: this one and all after
 * it. */
const char *lmi_cli_completion_arg_kind(const struct lmi_cli_completion *c,
					const struct lmi_cli_cmd *cmd, uint32_t i, bool *repeated);
/* The first sentence of a doc, without its full stop; in buf. */
const char *lmi_cli_completion_brief(const char *doc, char *buf, size_t n);
/* Does a command come after the first word of command i, and is that the first command of its first
 * word?  The length of the word, or 0. */
size_t lmi_cli_completion_first_word(const struct lmi_cli_program *prog, uint32_t i);

#endif /* LLAMAD_CORE_CLI_COMPLETION_H */
