/* SPDX-License-Identifier: MIT
 *
 * orientation.h - how a camera was held: the tag Orientation in the EXIF data of a JPEG file.
 *
 * Source: CIPA DC-008 (Exif 2.32), 4.5.2 (the marker APP1), 4.6.2 (the IFD) and 4.6.4 (tag 0x0112). */
#ifndef LLAMAD_CORE_PICTURE_ORIENTATION_H
#define LLAMAD_CORE_PICTURE_ORIENTATION_H

#include <stdbool.h>

#include "core/picture/decode.h"

/* Where the first row and the first column of the stored picture belong: 1 top and left, 2 top and right,
 * 3 bottom and right, 4 bottom and left, 5 left and top, 6 right and top, 7 right and bottom, 8 left and
 * bottom. */
#define LMI_PICTURE_UPRIGHT 1u

/* Returns the orientation, 1 to 8, of a JPEG file; LMI_PICTURE_UPRIGHT if the bytes before its picture have
 * none or are damaged. The bytes are untrusted; the work is linear in their number. */
unsigned lmi_picture_orientation(const void *bytes, size_t n);

/* Returns whether the rows of the stored picture are the columns of the one that is seen. */
static inline bool lmi_picture_is_turned(unsigned orientation)
{
	return orientation >= 5;
}

/* Puts row y of the stored picture, out->w pixels (turned: out->h), to its place in the one that is seen. */
void lmi_picture_put_row(struct lmi_picture_pixels *out, const uint8_t *row, uint32_t y,
			 unsigned orientation);

#endif /* LLAMAD_CORE_PICTURE_ORIENTATION_H */
