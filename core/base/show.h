/* SPDX-License-Identifier: MIT
 *
 * show.h - bytes from outside made fit for one line of text. */
#ifndef LLAMAD_CORE_BASE_SHOW_H
#define LLAMAD_CORE_BASE_SHOW_H

#include <stdbool.h>
#include <stddef.h>

/* A text that may stand in an error sentence or a log line: at most n - 1 bytes of s in
 * buf, control and non-ASCII bytes as \xNN, "..." at the end when it was cut.  n >= 8.
 * Returns buf. */
const char *lmi_show(char *buf, size_t n, const char *s, size_t len);

/* The same for a path: when it is cut, its end is kept. */
const char *lmi_show_path(char *buf, size_t n, const char *path);

/* Is the path in a sentence already, as it is or as lmi_show_path shows it? */
bool lmi_shows_path(const char *sentence, const char *path);

#endif /* LLAMAD_CORE_BASE_SHOW_H */
