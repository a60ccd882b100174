/* SPDX-License-Identifier: MIT
 *
 * interrupt.h - Ctrl-C and SIGTERM while a command works: the command stops what it is doing,
 * cleans up and returns LMD_CANCELLED; the program then exits with status 130 or 143. */
#ifndef LLAMAD_LLAMACTL_INTERRUPT_H
#define LLAMAD_LLAMACTL_INTERRUPT_H

#include <stdbool.h>

/* Until lmi_ctl_interrupt_install is called, makes SIGINT and SIGTERM exit at once with status 130
 * and 143. For commands that have nothing to clean up.  A signal that the caller ignores stays
 * ignored. */
void lmi_ctl_interrupt_exit(void);

/* Installs the handler. From then on SIGINT and SIGTERM set a flag and interrupt blocking calls of
 * this thread. */
void lmi_ctl_interrupt_install(void);

/* Makes the handler also add 1 to this eventfd, which ends a wait for it; -1: no eventfd. Call it
 * with -1 before the descriptor is closed. */
void lmi_ctl_interrupt_wake(int eventfd);

/* Makes the handler also set this word (core/base/cancel.h), which ends the work of the thread to which it
 * is attached; NULL: no word. Call it with NULL before the word is gone. */
struct lmi_cancel;
void lmi_ctl_interrupt_cancel(struct lmi_cancel *word);

/* Returns the signal that came since the last call of lmi_ctl_interrupt_clear, 0 if none did. */
int lmi_ctl_interrupt_signal(void);
bool lmi_ctl_interrupted(void);
void lmi_ctl_interrupt_clear(void);

#endif /* LLAMAD_LLAMACTL_INTERRUPT_H */
