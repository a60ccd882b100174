/* SPDX-License-Identifier: MIT
 *
 * layout.h - a picture as a vision tower expects it: one or more parts of the right size, cut into
 * patches, and the text around them in the prompt. */
#ifndef LLAMAD_CORE_PICTURE_LAYOUT_H
#define LLAMAD_CORE_PICTURE_LAYOUT_H

#include "core/picture/decode.h"
#include "llamad/arch.h"

/* The longer side may be so many times the shorter one. */
#define LMI_PICTURE_MAX_ASPECT 200u

struct lmi_picture_part {
	char before[64]; /* text before its rows */
	uint32_t patches_w, patches_h;
	uint8_t *patches; /* [patches_w * patches_h][3 * patch * patch] in the order of struct lmd_picture */
};

struct lmi_picture_layout {
	struct lmi_picture_part *parts; /* [n] */
	uint32_t n;
	const char *after; /* text after the last one; belongs to the description */
};

/* Fits and cuts a picture. LMD_INVALID: its sides are out of proportion; LMD_NOMEM. Any thread. */
enum lmd_status lmi_picture_layout_make(struct lmi_picture_layout *out, const struct lmi_picture_pixels *in,
					const struct lmd_picture *how, struct lmd_error *err);
/* l may be zeroed. */
void lmi_picture_layout_fini(struct lmi_picture_layout *l);

#endif /* LLAMAD_CORE_PICTURE_LAYOUT_H */
