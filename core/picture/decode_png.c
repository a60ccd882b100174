/* SPDX-License-Identifier: MIT
 *
 * PNG through libpng's simplified interface, which reports errors by return value. */
#include "core/picture/decode.h"

#if LMD_HAVE_PNG
#include <png.h>

enum lmd_status lmi_picture_decode_png(struct lmi_picture_pixels *out, const void *bytes, size_t n,
				       struct lmd_error *err)
{
	png_image image = {.version = PNG_IMAGE_VERSION};
	const png_color white = {255, 255, 255};
	enum lmd_status st;

	if (!png_image_begin_read_from_memory(&image, bytes, n))
		return lmd_fail(err, LMD_CORRUPT, "the PNG file is damaged: %.60s", image.message);
	image.format = PNG_FORMAT_RGB;
	st = lmi_picture_pixels_init(out, image.width, image.height, err);
	if (st == LMD_OK && !png_image_finish_read(&image, &white, out->rgb, 0, NULL)) {
		st = lmd_fail(err, LMD_CORRUPT, "the PNG file is damaged: %.60s", image.message);
		lmi_picture_pixels_fini(out);
	}
	png_image_free(&image);
	return st;
}
#else
enum lmd_status lmi_picture_decode_png(struct lmi_picture_pixels *out, const void *bytes, size_t n,
				       struct lmd_error *err)
{
	(void)out;
	(void)bytes;
	(void)n;
	return lmd_fail(err, LMD_UNSUPPORTED, "the picture is a PNG file, and llamad was built without libpng");
}
#endif
