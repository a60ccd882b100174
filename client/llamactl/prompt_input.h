/* SPDX-License-Identifier: MIT
 *
 * prompt_input.h - standard input, read whole for prompts and texts or line by line. */
#ifndef LLAMAD_LLAMACTL_PROMPT_INPUT_H
#define LLAMAD_LLAMACTL_PROMPT_INPUT_H

#include <stddef.h>
#include <sys/types.h>

#include "llamad/status.h"

/* The longest prompt in bytes: the protocol's limit, which applies to `run` and `generate`. */
#define LMI_CTL_PROMPT_MAX (16u << 20)

/* As getline(3) of standard input, without a bound of its own.  On a terminal Ctrl-D ends a line that
 * has no newline.  Returns -1 at the end, after a signal that interrupt.h catches, and if there is
 * no memory. */
ssize_t lmi_ctl_read_line(char **line, size_t *cap);

/* As read(2) of standard input; -1 also if a signal that interrupt.h catches has arrived. */
ssize_t lmi_ctl_read_input(char *p, size_t n);

/* Reads standard input to its end, at most 1 GiB.  The caller frees *out with free(). */
enum lmd_status lmi_ctl_read_stdin(char **out, size_t *n, struct lmd_error *err);

/* Returns the prompt of a command: `given` (the value of --prompt), or if that is NULL all of
 * standard input, at most LMI_CTL_PROMPT_MAX bytes. On a terminal a hint on standard error says
 * that the prompt is being read and how to end it.
 *
 * out: the text, of n bytes; never NULL on success
 * own: memory to be given to free() when the text is no longer needed, or NULL
 * return: LMD_CANCELLED after Ctrl-C (see interrupt.h) */
enum lmd_status lmi_ctl_read_prompt(const char *given, const char **out, size_t *n, char **own,
				    struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_PROMPT_INPUT_H */
