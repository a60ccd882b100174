/* SPDX-License-Identifier: MIT
 *
 * llamad_program.h - runs llamad and other programs. */
#ifndef LLAMAD_LLAMACTL_LLAMAD_PROGRAM_H
#define LLAMAD_LLAMACTL_LLAMAD_PROGRAM_H

#include <stddef.h>

/* Writes the path of llamad: beside this program, or the name alone, which PATH then finds. */
void lmi_ctl_find_llamad(char *out, size_t size);

/* Runs a program without input. Writes at most size - 1 bytes of its standard output and standard
 * error, the last ones if there are more, and a terminating zero. Returns its exit status, 128 + N
 * if signal N ended it, or -1 with errno if it cannot be run. */
int lmi_ctl_capture(const char *const *argv, char *out, size_t size);

#endif /* LLAMAD_LLAMACTL_LLAMAD_PROGRAM_H */
