/* SPDX-License-Identifier: MIT
 *
 * uni.h - UTF-8 decoding, character classes and case mapping, as in Python's str. */
#ifndef LLAMAD_TEMPLATE_UNI_H
#define LLAMAD_TEMPLATE_UNI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at s[*at], *at < n, and moves *at past it.  A byte that does not start a
 * valid character is decoded as U+FFFD by itself. */
uint32_t lmi_uni_next(const char *s, size_t n, size_t *at);
/* Decodes the character that ends before s[*at], *at > 0, and moves *at to its start. */
uint32_t lmi_uni_prev(const char *s, size_t *at);
size_t lmi_uni_count(const char *s, size_t n);
/* Byte offset of character number k, or n if there are fewer. */
size_t lmi_uni_offset(const char *s, size_t n, size_t k);

bool lmi_uni_space(uint32_t c);
bool lmi_uni_newline(uint32_t c); /* where str.splitlines splits; \r\n counts once */
bool lmi_uni_alpha(uint32_t c);
bool lmi_uni_decimal(uint32_t c);
bool lmi_uni_digit(uint32_t c);
bool lmi_uni_numeric(uint32_t c);
bool lmi_uni_upper(uint32_t c);
bool lmi_uni_lower(uint32_t c);
bool lmi_uni_title(uint32_t c);   /* Lt */
bool lmi_uni_cased(uint32_t c);
bool lmi_uni_printable(uint32_t c);
bool lmi_uni_word(uint32_t c);    /* \w: letter, number or _ */
bool lmi_uni_ident(uint32_t c, bool first);

enum lmi_case {
	LMI_CASE_UPPER,
	LMI_CASE_LOWER,
	LMI_CASE_TITLE,
	LMI_CASE_FOLD
};

/* Maps one character to up to 3 characters; returns their number. */
int lmi_uni_map(enum lmi_case to, uint32_t c, uint32_t out[3]);

#endif /* LLAMAD_TEMPLATE_UNI_H */
