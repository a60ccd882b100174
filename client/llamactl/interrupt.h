/* SPDX-License-Identifier: MIT
 *
 * interrupt.h - Ctrl-C and SIGTERM while a command works: the command stops what it is doing,
 * cleans up and returns LMD_CANCELLED; the program then ends by that signal (exit status 130 or
 * 143 in a shell). */
#ifndef LLAMAD_LLAMACTL_INTERRUPT_H
#define LLAMAD_LLAMACTL_INTERRUPT_H

#include <stdbool.h>

/* Installs the handler.  From now on SIGINT and SIGTERM set a flag and interrupt blocking calls
 * of this thread. */
void lmi_interrupt_catch(void);

/* The handler also adds 1 to this eventfd, so that a wait for it ends; -1: none.  Call it with -1
 * before the descriptor is closed. */
void lmi_interrupt_wake(int eventfd);

/* Returns the signal that came since the last call of lmi_interrupt_clear, 0 if none did. */
int lmi_interrupt_signal(void);
bool lmi_interrupted(void);
void lmi_interrupt_clear(void);

#endif /* LLAMAD_LLAMACTL_INTERRUPT_H */
