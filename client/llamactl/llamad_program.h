/* SPDX-License-Identifier: MIT
 *
 * llamad_program.h - runs llamad and other programs. */
#ifndef LLAMAD_LLAMACTL_LLAMAD_PROGRAM_H
#define LLAMAD_LLAMACTL_LLAMAD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of llamad: beside this program, or the name alone, which PATH then finds. */
void lmi_ctl_find_llamad(char *out, size_t size);
/* Returns whether it is there; the package llamactl does not need the package llamad. */
bool lmi_ctl_has_llamad(void);

/* Runs a program without input. Writes at most size - 1 bytes of its standard output and standard
 * error, the last ones if there are more, and a terminating zero. Returns its exit status, 128 + N
 * if signal N ended it, or -1 with errno if it cannot be run. After timeout_ms it is killed, and
 * errno is ETIMEDOUT. */
int lmi_ctl_capture(const char *const *argv, char *out, size_t size, int timeout_ms);

/* Reads to the end, and keeps the last whole lines if there are more than size - 1 bytes, with a
 * terminating zero. Returns false after timeout_ms. */
bool lmi_ctl_read_last(int fd, char *out, size_t size, int timeout_ms);

#endif /* LLAMAD_LLAMACTL_LLAMAD_PROGRAM_H */
