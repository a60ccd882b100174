/* SPDX-License-Identifier: MIT
 *
 * decode.h - pictures in files as pixels: PNG and JPEG.
 *
 * The bytes are untrusted. The size is bounded before memory is taken; so is the number of scans of a
 * progressive JPEG, each of which costs a pass over all pixels. A JPEG file is turned and mirrored as its EXIF
 * data says. */
#ifndef LLAMAD_CORE_PICTURE_DECODE_H
#define LLAMAD_CORE_PICTURE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

/* Limits of what is decoded. */
#define LMI_PICTURE_MAX_SIDE   16384u
#define LMI_PICTURE_MAX_PIXELS (40u << 20)
#define LMI_PICTURE_MAX_SCANS  64
#define LMI_PICTURE_MAX_WORK   (10ull * LMI_PICTURE_MAX_PIXELS) /* scans times pixels */

/* 8 bits for each of red, green and blue, line by line from the top. */
struct lmi_picture_pixels {
	uint32_t w, h;
	uint8_t *rgb; /* [h][w][3] */
};

/* Decodes a file; free the result with lmi_picture_pixels_fini. Transparent pixels are put on white.
 * LMD_CORRUPT: the bytes are damaged; LMD_UNSUPPORTED: the format is another one, or this build cannot
 * read it; LMD_INVALID: the picture is too large; LMD_NOMEM, LMD_CANCELLED. Any thread. */
enum lmd_status lmi_picture_decode(struct lmi_picture_pixels *out, const void *bytes, size_t n,
				   struct lmd_error *err);
void lmi_picture_pixels_fini(struct lmi_picture_pixels *p);

/* ---- for the decoders ---- */

/* Checks the size and takes the memory. */
enum lmd_status lmi_picture_pixels_init(struct lmi_picture_pixels *out, uint32_t w, uint32_t h,
					struct lmd_error *err);
/* decode_png.c, decode_jpeg.c */
enum lmd_status lmi_picture_decode_png(struct lmi_picture_pixels *out, const void *bytes, size_t n,
				       struct lmd_error *err);
enum lmd_status lmi_picture_decode_jpeg(struct lmi_picture_pixels *out, const void *bytes, size_t n,
					struct lmd_error *err);

#endif /* LLAMAD_CORE_PICTURE_DECODE_H */
