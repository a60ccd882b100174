/* SPDX-License-Identifier: MIT
 *
 * utf8.h - UTF-8 validation and coding (RFC 3629): no overlong forms, no surrogates, nothing above
 * U+10FFFF. */
#ifndef LLAMAD_CORE_BASE_UTF8_H
#define LLAMAD_CORE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returned for an invalid byte. */
#define LMI_UTF8_BAD UINT32_MAX

/* Length of the character at the start of s, n >= 1; 0 if it is invalid or cut off. */
size_t lmi_utf8_char(const char *s, size_t n);

/* Length of the prefix of s that consists of whole UTF-8 characters: n if all are. */
size_t lmi_utf8_good(const char *s, size_t n);

/* Returns the character at s[*at], *at < n, and advances *at past it. If there is none, returns
 * LMI_UTF8_BAD and advances *at by one byte. */
uint32_t lmi_utf8_next(const char *s, size_t n, size_t *at);

/* Writes up to 4 bytes and returns their number. c must be below 2^21. */
size_t lmi_utf8_put(char *out, uint32_t c);

#endif /* LLAMAD_CORE_BASE_UTF8_H */
