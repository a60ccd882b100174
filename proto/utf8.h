/* SPDX-License-Identifier: MIT
 *
 * utf8.h - which bytes are UTF-8 (RFC 3629). */
#ifndef LLAMAD_PROTO_UTF8_H
#define LLAMAD_PROTO_UTF8_H

#include <stddef.h>

/* Bytes at the start of s that are whole UTF-8 characters: n when all are. */
size_t lmi_utf8_good(const char *s, size_t n);

/* Length of the character that s begins with, n >= 1; 0 when it is none. */
size_t lmi_utf8_char(const char *s, size_t n);

#endif /* LLAMAD_PROTO_UTF8_H */
