/* SPDX-License-Identifier: MIT
 *
 * charsmap.h - the replacement table of a SentencePiece model: strings and what to write for
 * them, as a compact double array of 32-bit units followed by the replacements.
 *
 * Layout: u32 size of the array in bytes, the array, replacement strings each ended by NUL.
 * A unit: bits 0-7 the label, bit 8 "a string ends here", bit 9 the offset is times 256,
 * bits 10-30 the offset to the children; a value unit has bit 31 and the position of the
 * replacement below it.  All little-endian.  A walk that leaves the array finds nothing. */
#ifndef LLAMAD_PLUGINS_COMMON_CHARSMAP_H
#define LLAMAD_PLUGINS_COMMON_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_CHARSMAP_DEPTH 256 /* longest string that is looked for */

struct lmi_charsmap {
	const unsigned char *unit; /* [n_unit][4] */
	size_t n_unit;             /* 0 = no table */
	const char *text;
	size_t n_text;
};

/* Points into blob.  An empty blob is no table. */
enum lmd_status lmi_charsmap_open(struct lmi_charsmap *m, struct lmd_str blob,
				  struct lmd_error *err);

/* The longest string of the table that s[0..n) begins with: its length, and the
 * replacement; 0 if there is none. */
size_t lmi_charsmap_find(const struct lmi_charsmap *m, const char *s, size_t n,
			 struct lmd_str *with);

/* The same for the shortest. */
size_t lmi_charsmap_first(const struct lmi_charsmap *m, const char *s, size_t n,
			  struct lmd_str *with);

#endif /* LLAMAD_PLUGINS_COMMON_CHARSMAP_H */
