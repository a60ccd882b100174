/* SPDX-License-Identifier: MIT
 *
 * unicode.h - the parts of Unicode 15.1 that tokenizers need, and UTF-8 as the tokenizers read it.
 *
 * The byte-level and word-piece kinds read UTF-8 leniently: a byte that starts no sequence counts
 * as U+FFFD and consumes one byte; overlong forms and surrogates are accepted as the code point
 * that they encode; values above U+10FFFF are not accepted.
 *
 * Pure functions over constant tables; callable from any thread. */
#ifndef LLAMAD_PLUGINS_COMMON_UNICODE_H
#define LLAMAD_PLUGINS_COMMON_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"

/* General categories, in the numbering of uni.gen.c. */
enum tok_ucd_cat {
	TOK_CN,
	TOK_LU,
	TOK_LL,
	TOK_LT,
	TOK_LM,
	TOK_LO,
	TOK_MN,
	TOK_MC,
	TOK_ME,
	TOK_ND,
	TOK_NL,
	TOK_NO,
	TOK_PC,
	TOK_PD,
	TOK_PS,
	TOK_PE,
	TOK_PI,
	TOK_PF,
	TOK_PO,
	TOK_SM,
	TOK_SC,
	TOK_SK,
	TOK_SO,
	TOK_ZS,
	TOK_ZL,
	TOK_ZP,
	TOK_CC,
	TOK_CF,
	TOK_CS,
	TOK_CO,
	TOK_WS_CONTROL, /* control characters that are white space: U+0009..U+000D, U+0085 */
	TOK_N_UCD_CAT
};

/* Sets of categories, one bit each. */
#define TOK_BITS(from, to) ((2u << (to)) - (1u << (from)))
#define TOK_UCD_L          TOK_BITS(TOK_LU, TOK_LO)
#define TOK_UCD_M          TOK_BITS(TOK_MN, TOK_ME)
#define TOK_UCD_N          TOK_BITS(TOK_ND, TOK_NO)
#define TOK_UCD_P          TOK_BITS(TOK_PC, TOK_PO)
#define TOK_UCD_S          TOK_BITS(TOK_SM, TOK_SO)
#define TOK_UCD_Z          TOK_BITS(TOK_ZS, TOK_ZP)
#define TOK_UCD_C          (TOK_BITS(TOK_CC, TOK_CO) | 1u << TOK_WS_CONTROL) /* without Cn */
#define TOK_UCD_SPACE      (TOK_UCD_Z | 1u << TOK_WS_CONTROL) /* property White_Space */

struct tok_ucd_pair {
	uint32_t from, to;
};

struct tok_ucd_range {
	uint32_t first, last, base;
};

extern const uint8_t tok_ucd_index[4352] LMD_HIDDEN;
extern const uint8_t tok_ucd_block[][256] LMD_HIDDEN;
extern const struct tok_ucd_pair tok_ucd_lower_table[] LMD_HIDDEN;
extern const uint32_t tok_ucd_n_lower LMD_HIDDEN;
extern const struct tok_ucd_range tok_ucd_base_table[] LMD_HIDDEN;
extern const uint32_t tok_ucd_n_base LMD_HIDDEN;

/* enum tok_ucd_cat of a code point; TOK_CN above U+10FFFF. */
static inline unsigned tok_ucd_cat(uint32_t cp)
{
	return cp < 0x110000 ? tok_ucd_block[tok_ucd_index[cp >> 8]][cp & 255] : (unsigned)TOK_CN;
}

/* Returns true if the category of cp is in the set. */
static inline bool tok_ucd_is(uint32_t cp, uint32_t set)
{
	return (set >> tok_ucd_cat(cp)) & 1;
}

/* tok_ucd_lower returns the first code point of the lower-case form, tok_ucd_base_char that of the
 * canonical decomposition. */
uint32_t tok_ucd_lower(uint32_t cp);
uint32_t tok_ucd_base_char(uint32_t cp);

/* Length of the sequence that a lead byte announces; 1 for ASCII and continuation bytes. */
static inline size_t tok_utf8_len(unsigned char lead)
{
	return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

#define TOK_UCD_TOP  0x10ffffu /* the last code point */
#define TOK_UTF8_TOP 0x1fffffu /* the greatest value that four bytes can encode */

/* Reads one code point up to `top` leniently at s < end and advances *s past it. */
uint32_t tok_utf8_get_top(const char **s, const char *end, uint32_t top);

static inline uint32_t tok_utf8_get(const char **s, const char *end)
{
	if ((unsigned char)**s < 0x80)
		return (unsigned char)*(*s)++;
	return tok_utf8_get_top(s, end, TOK_UCD_TOP);
}

/* Returns the code point before *s in canonical UTF-8 text; moves *s to its start. */
uint32_t tok_utf8_get_back(const char **s, const char *begin);

/* Writes a code point up to TOK_UTF8_TOP (surrogates included) in 1..4 bytes; returns the
 * length. */
size_t tok_ucd_put_utf8(char out[4], uint32_t cp);

/* Returns true if reading leniently and writing again gives the same bytes. */
bool tok_utf8_canonical(const char *s, size_t n, uint32_t top);

/* Reads leniently and writes canonically; out must hold 3 * n bytes. Returns the length. */
size_t tok_utf8_canonicalise(char *out, const char *s, size_t n, uint32_t top);

#endif /* LLAMAD_PLUGINS_COMMON_UNICODE_H */
