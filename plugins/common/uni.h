/* SPDX-License-Identifier: MIT
 *
 * uni.h - the parts of Unicode 15.1 that tokenizers need, and UTF-8 as the tokenizers read it.
 *
 * The byte-level and word-piece kinds read UTF-8 leniently: a byte that starts no sequence counts
 * as U+FFFD and consumes one byte; overlong forms and surrogates are accepted as the code point
 * that they encode; values above U+10FFFF are not accepted.
 *
 * Pure functions over constant tables; callable from any thread. */
#ifndef LLAMAD_PLUGINS_COMMON_UNI_H
#define LLAMAD_PLUGINS_COMMON_UNI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"

/* General categories, in the numbering of uni.gen.c. */
enum lmi_ucd_cat {
	LMI_CN, LMI_LU, LMI_LL, LMI_LT, LMI_LM, LMI_LO, LMI_MN, LMI_MC, LMI_ME, LMI_ND, LMI_NL,
	LMI_NO, LMI_PC, LMI_PD, LMI_PS, LMI_PE, LMI_PI, LMI_PF, LMI_PO, LMI_SM, LMI_SC, LMI_SK,
	LMI_SO, LMI_ZS, LMI_ZL, LMI_ZP, LMI_CC, LMI_CF, LMI_CS, LMI_CO,
	LMI_WS_CONTROL, /* control characters that are white space: U+0009..U+000D, U+0085 */
	LMI_N_UCD_CAT
};

/* Sets of categories, one bit each. */
#define LMI_BITS(from, to) ((2u << (to)) - (1u << (from)))
#define LMI_UCD_L          LMI_BITS(LMI_LU, LMI_LO)
#define LMI_UCD_M          LMI_BITS(LMI_MN, LMI_ME)
#define LMI_UCD_N          LMI_BITS(LMI_ND, LMI_NO)
#define LMI_UCD_P          LMI_BITS(LMI_PC, LMI_PO)
#define LMI_UCD_S          LMI_BITS(LMI_SM, LMI_SO)
#define LMI_UCD_Z          LMI_BITS(LMI_ZS, LMI_ZP)
#define LMI_UCD_C          (LMI_BITS(LMI_CC, LMI_CO) | 1u << LMI_WS_CONTROL) /* without Cn */
#define LMI_UCD_SPACE      (LMI_UCD_Z | 1u << LMI_WS_CONTROL) /* property White_Space */

struct lmi_ucd_pair {
	uint32_t from, to;
};

struct lmi_ucd_range {
	uint32_t first, last, base;
};

extern const uint8_t lmi_ucd_index[4352] LMD_HIDDEN;
extern const uint8_t lmi_ucd_block[][256] LMD_HIDDEN;
extern const struct lmi_ucd_pair lmi_ucd_lower_table[] LMD_HIDDEN;
extern const uint32_t lmi_ucd_n_lower LMD_HIDDEN;
extern const struct lmi_ucd_range lmi_ucd_base_table[] LMD_HIDDEN;
extern const uint32_t lmi_ucd_n_base LMD_HIDDEN;

/* enum lmi_ucd_cat of a code point; LMI_CN above U+10FFFF. */
static inline unsigned lmi_ucd_cat(uint32_t cp)
{
	return cp < 0x110000 ? lmi_ucd_block[lmi_ucd_index[cp >> 8]][cp & 255] : (unsigned)LMI_CN;
}

/* Returns true if the category of cp is in the set. */
static inline bool lmi_ucd_is(uint32_t cp, uint32_t set)
{
	return (set >> lmi_ucd_cat(cp)) & 1;
}

/* lmi_ucd_lower returns the first code point of the lower-case form, lmi_ucd_base that of the
 * canonical decomposition. */
uint32_t lmi_ucd_lower(uint32_t cp);
uint32_t lmi_ucd_base(uint32_t cp);

/* Length of the sequence that a lead byte announces; 1 for ASCII and continuation bytes. */
static inline size_t lmi_utf8_len(unsigned char lead)
{
	return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

#define LMI_UCD_TOP  0x10ffffu /* the last code point */
#define LMI_UTF8_TOP 0x1fffffu /* the greatest value that four bytes can encode */

/* Reads one code point up to `top` leniently at s < end and advances *s past it. */
uint32_t lmi_utf8_get_top(const char **s, const char *end, uint32_t top);

static inline uint32_t lmi_utf8_get(const char **s, const char *end)
{
	if ((unsigned char)**s < 0x80)
		return (unsigned char)*(*s)++;
	return lmi_utf8_get_top(s, end, LMI_UCD_TOP);
}

/* Returns the code point before *s in canonical UTF-8 text; moves *s to its start. */
uint32_t lmi_utf8_get_back(const char **s, const char *begin);

/* Writes a code point up to LMI_UTF8_TOP (surrogates included) in 1..4 bytes; returns the
 * length. */
size_t lmi_ucd_put_utf8(char out[4], uint32_t cp);

/* Returns true if reading leniently and writing again gives the same bytes. */
bool lmi_utf8_canonical(const char *s, size_t n, uint32_t top);

/* Reads leniently and writes canonically; out must hold 3 * n bytes. Returns the length. */
size_t lmi_utf8_clean(char *out, const char *s, size_t n, uint32_t top);

#endif /* LLAMAD_PLUGINS_COMMON_UNI_H */
