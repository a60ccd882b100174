/* SPDX-License-Identifier: MIT
 *
 * charsmap.h - the replacement table of a SentencePiece model: strings and their replacements,
 * stored as a compact double array of 32-bit units followed by the replacement strings.
 *
 * Layout: the size of the array in bytes (u32), the array, and the NUL-terminated replacement
 * strings. A unit has the label in bits 0-7, "a string ends here" in bit 8, "the offset is
 * multiplied by 256" in bit 9, and the offset to the children in bits 10-30. A value unit has bit
 * 31 set and the position of the replacement in the bits below. Everything is little-endian. A
 * walk that leaves the array finds nothing. */
#ifndef LLAMAD_PLUGINS_COMMON_CHARSMAP_H
#define LLAMAD_PLUGINS_COMMON_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_CHARSMAP_DEPTH 256 /* longest string that is searched for */

struct lmi_charsmap {
	const unsigned char *unit; /* [n_unit][4] */
	size_t n_unit;             /* 0 if there is no table */
	const char *text;
	size_t n_text;
};

/* Opens a table; m refers to blob, which must outlive it. An empty blob gives an empty table. */
enum lmd_status lmi_charsmap_open(struct lmi_charsmap *m, struct lmd_str blob,
				  struct lmd_error *err);

/* Finds the longest string of the table that is a prefix of s[0..n). Returns its length and sets
 * its replacement; returns 0 if there is none. */
size_t lmi_charsmap_find(const struct lmi_charsmap *m, const char *s, size_t n,
			 struct lmd_str *with);

/* Finds the shortest string of the table that is a prefix of s[0..n); otherwise like
 * lmi_charsmap_find. */
size_t lmi_charsmap_first(const struct lmi_charsmap *m, const char *s, size_t n,
			  struct lmd_str *with);

#endif /* LLAMAD_PLUGINS_COMMON_CHARSMAP_H */
