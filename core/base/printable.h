/* SPDX-License-Identifier: MIT
 *
 * printable.h - makes bytes from outside fit for one line of text. */
#ifndef LLAMAD_CORE_BASE_PRINTABLE_H
#define LLAMAD_CORE_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes text safe for an error message or a log line: writes at most n - 1 bytes of s to buf,
 * control and non-ASCII bytes as \xNN, with "..." at the end if it was cut. n >= 8. Returns buf. */
const char *lmi_printable(char *buf, size_t n, const char *s, size_t len);

/* Like lmi_printable, for a path: if it is cut, its end is kept. */
const char *lmi_printable_path(char *buf, size_t n, const char *path);

/* Returns true if the message already contains the path, plain or as lmi_printable_path writes
 * it. */
bool lmi_printable_has_path(const char *sentence, const char *path);

/* Writes a finite number with as many digits as it takes to read it back, at least nine if it has so many. Returns
 * buf. */
const char *lmi_printable_number(char buf[32], double x);

#endif /* LLAMAD_CORE_BASE_PRINTABLE_H */
