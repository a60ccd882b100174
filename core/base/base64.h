/* SPDX-License-Identifier: MIT
 *
 * base64.h - decodes base64 (RFC 4648, section 4). */
#ifndef LLAMAD_CORE_BASE_BASE64_H
#define LLAMAD_CORE_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a bound for the number of bytes that n characters stand for. */
static inline size_t lmi_base64_bytes_max(size_t n)
{
	return n / 4 * 3 + 3;
}

/* Decodes a text, in which blanks and line ends are skipped, and the padding at its end may be missing.
 * out: [lmi_base64_bytes_max(n)]. Returns false if there are other characters, or half a byte at the
 * end. */
bool lmi_base64_decode(const char *text, size_t n, unsigned char *out, size_t *n_out);

#endif /* LLAMAD_CORE_BASE_BASE64_H */
