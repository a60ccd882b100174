/* SPDX-License-Identifier: MIT
 *
 * PNG through libpng's simplified interface, which reports errors by return value.  It reads a file, here a
 * stream over the bytes in memory, so that the reading can be cut off: libpng takes a few kilobytes at a
 * time, and each byte becomes at most about a thousand bytes of pixels. */
#include "core/picture/decode.h"

#ifdef LMD_HAVE_PNG
#include <png.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cancel.h"

#define PIXEL_BYTES_PER_BYTE 1000u /* at most, of a deflated stream */

struct source {
	const uint8_t *p;
	size_t n;
	bool cancelled;
};

static ssize_t read_source(void *cookie, char *to, size_t n)
{
	struct source *s = cookie;

	if (n > s->n)
		n = s->n;
	/* each call: libpng reads 4 KiB, which are fewer steps than the bound of a gap */
	if (!lmi_cancel_step((uint64_t)n * PIXEL_BYTES_PER_BYTE)) {
		s->cancelled = true;
		return 0;
	}
	memcpy(to, s->p, n);
	s->p += n;
	s->n -= n;
	return (ssize_t)n;
}

static enum lmd_status read_image(struct lmi_picture_pixels *out, png_image *image, FILE *f,
				  struct lmd_error *err)
{
	const png_color white = {255, 255, 255};
	enum lmd_status st;

	if (!png_image_begin_read_from_stdio(image, f))
		return lmd_fail(err, LMD_CORRUPT, "the PNG file is damaged: %.60s", image->message);
	image->format = PNG_FORMAT_RGB;
	st = lmi_picture_pixels_init(out, image->width, image->height, err);
	if (st == LMD_OK && !png_image_finish_read(image, &white, out->rgb, 0, NULL)) {
		st = lmd_fail(err, LMD_CORRUPT, "the PNG file is damaged: %.60s", image->message);
		lmi_picture_pixels_fini(out);
	}
	png_image_free(image);
	return st;
}

enum lmd_status lmi_picture_decode_png(struct lmi_picture_pixels *out, const void *bytes, size_t n,
				       struct lmd_error *err)
{
	png_image image = {.version = PNG_IMAGE_VERSION};
	struct source source = {bytes, n, false};
	FILE *f = fopencookie(&source, "rb", (cookie_io_functions_t){.read = read_source});
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "out of memory");
	(void)setvbuf(f, NULL, _IONBF, 0);
	st = read_image(out, &image, f, err);
	(void)fclose(f);
	if (source.cancelled && st != LMD_OK)
		st = lmd_fail(err, LMD_CANCELLED, "reading a picture was cancelled");
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
