/* SPDX-License-Identifier: MIT
 *
 * unicode.h - UTF-8 decoding, character classes and case mapping, as in Python's str. */
#ifndef LLAMAD_CORE_UNICODE_UNICODE_H
#define LLAMAD_CORE_UNICODE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at s[*at], *at < n, and moves *at past it.  A byte that does not start a
 * valid character is decoded as U+FFFD by itself. */
uint32_t lmi_unicode_next(const char *s, size_t n, size_t *at);
/* Decodes the character that ends before s[*at], *at > 0, and moves *at to its start. */
uint32_t lmi_unicode_prev(const char *s, size_t *at);
size_t lmi_unicode_count(const char *s, size_t n);
/* Byte offset of character number k, or n if there are fewer. */
size_t lmi_unicode_offset(const char *s, size_t n, size_t k);

/* Columns that the character takes on a terminal: 0, 1 or 2. */
unsigned lmi_unicode_columns(uint32_t c);

bool lmi_unicode_space(uint32_t c);
bool lmi_unicode_newline(uint32_t c); /* where str.splitlines splits; \r\n counts once */
bool lmi_unicode_alpha(uint32_t c);
bool lmi_unicode_decimal(uint32_t c);
bool lmi_unicode_digit(uint32_t c);
bool lmi_unicode_numeric(uint32_t c);
bool lmi_unicode_upper(uint32_t c);
bool lmi_unicode_lower(uint32_t c);
bool lmi_unicode_title(uint32_t c); /* Lt */
bool lmi_unicode_cased(uint32_t c);
bool lmi_unicode_printable(uint32_t c);
bool lmi_unicode_word(uint32_t c); /* \w: letter, number or _ */
bool lmi_unicode_ident(uint32_t c, bool first);

enum lmi_unicode_case {
	LMI_UNICODE_CASE_UPPER,
	LMI_UNICODE_CASE_LOWER,
	LMI_UNICODE_CASE_TITLE,
	LMI_UNICODE_CASE_FOLD
};

/* Maps one character to up to 3 characters; returns their number. */
int lmi_unicode_map(enum lmi_unicode_case to, uint32_t c, uint32_t out[3]);

#endif /* LLAMAD_CORE_UNICODE_UNICODE_H */
