/* SPDX-License-Identifier: MIT
 *
 * seam.h - places of a word that no merge can reach across.
 *
 * A merge that joined what is on both sides of a place would have a left part that ends with the
 * character in front of it, or with some last bytes of that, and a right part that begins with the
 * one behind, or with some first bytes of that.  Where no merge of the vocabulary has such parts,
 * the tokens of the word are those of its two sides in a row: exactly, whatever the ranks.  So the
 * long words of scripts without blanks fall into short ones, and short ones are met again.
 *
 * Places between two ASCII characters are not looked at: almost all of them have a merge. */
#ifndef LLAMAD_PLUGINS_COMMON_SEAM_H
#define LLAMAD_PLUGINS_COMMON_SEAM_H

#include "common/mem.h"

/* Zeroed: there are no seams. */
struct lmi_seams {
	uint8_t *joint;  /* bit by the hash of two characters: a merge may join them */
	uint8_t *broken; /* bit by two bytes: a merge may, of which a part is no whole characters */
};

/* False without memory. */
bool lmi_seams_init(struct lmi_seams *s, const struct lmd_host *host);
void lmi_seams_fini(struct lmi_seams *s, const struct lmd_host *host);

/* Enters a merge; its parts are any bytes, at least one each. */
void lmi_seams_add(struct lmi_seams *s, const char *left, size_t n_left, const char *right,
		   size_t n_right);

/* The first seam behind `at`, which is a seam itself or the beginning of the word; its end if
 * there is none.  The word is UTF-8 as lmi_utf8_canonical has it. */
const char *lmi_seam_next(const struct lmi_seams *s, const char *at, const char *end);

#endif /* LLAMAD_PLUGINS_COMMON_SEAM_H */
