/* SPDX-License-Identifier: MIT
 *
 * prompt_input.h - standard input read as a whole, for prompts and texts. */
#ifndef LLAMAD_LLAMACTL_PROMPT_INPUT_H
#define LLAMAD_LLAMACTL_PROMPT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "llamad/status.h"

/* The longest prompt in bytes: the protocol's limit, which applies to `run` and `generate`. */
#define LMI_CTL_PROMPT_MAX (16u << 20)

/* Waits until standard input has data or is at its end. Returns false if a signal that interrupt.h
 * catches arrived before or during the wait. */
bool lmi_ctl_wait_stdin(void);

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
