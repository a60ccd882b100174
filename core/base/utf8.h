/* SPDX-License-Identifier: MIT
 *
 * utf8.h - which bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above
 * U+10FFFF. */
#ifndef LLAMAD_CORE_BASE_UTF8_H
#define LLAMAD_CORE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* What is no character. */
#define LMI_UTF8_BAD UINT32_MAX

/* Length of the character that s begins with, n >= 1; 0 when it is none or cut off. */
size_t lmi_utf8_char(const char *s, size_t n);

/* Bytes at the start of s that are whole UTF-8 characters: n when all are. */
size_t lmi_utf8_good(const char *s, size_t n);

/* The character at s[*at], *at < n; moves *at behind it.  Where none begins: LMI_UTF8_BAD, and
 * *at goes on by one byte. */
uint32_t lmi_utf8_next(const char *s, size_t n, size_t *at);

/* Writes up to 4 bytes, returns their number.  c is below 2^21. */
size_t lmi_utf8_put(char *out, uint32_t c);

#endif /* LLAMAD_CORE_BASE_UTF8_H */
