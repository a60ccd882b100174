/* SPDX-License-Identifier: MIT
 *
 * resize.h - other sizes of pictures, by convolution. */
#ifndef LLAMAD_CORE_PICTURE_RESIZE_H
#define LLAMAD_CORE_PICTURE_RESIZE_H

#include "core/picture/decode.h"
#include "llamad/arch.h"

/* Resizes a picture with the filter (enum lmd_picture_filter), which grows with the scale when the picture
 * becomes smaller. Columns come first, then lines; each result is rounded to 8 bits, as Pillow does.
 * LMD_INVALID: a side of the result is out of bounds; LMD_NOMEM. */
enum lmd_status lmi_picture_resize(struct lmi_picture_pixels *out, const struct lmi_picture_pixels *in,
				   uint32_t w, uint32_t h, uint32_t filter, struct lmd_error *err);

#endif /* LLAMAD_CORE_PICTURE_RESIZE_H */
