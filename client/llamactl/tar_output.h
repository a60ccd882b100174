/* SPDX-License-Identifier: MIT
 *
 * tar_output.h - writes files into an archive that tar reads (POSIX ustar). */
#ifndef LLAMAD_LLAMACTL_TAR_OUTPUT_H
#define LLAMAD_LLAMACTL_TAR_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a file with mode 0600; name has at most 99 bytes, and `seconds` since 1970 is its time.
 * Write errors stay in the stream (ferror). */
void lmi_ctl_tar_put(FILE *f, const char *name, const void *bytes, size_t n, int64_t seconds);
/* Writes the end of the archive. */
void lmi_ctl_tar_end(FILE *f);

#endif /* LLAMAD_LLAMACTL_TAR_OUTPUT_H */
