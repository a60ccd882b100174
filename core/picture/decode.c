/* SPDX-License-Identifier: MIT
 *
 * Tells the formats apart, and bounds the sizes of pictures. */
#include "core/picture/decode.h"

#include <string.h>

#include "core/base/alloc.h"

/* Formats by their first bytes; decode NULL: known by name only. */
static const struct {
	const char *name;
	uint32_t at, n;
	const char *magic;
	enum lmd_status (*decode)(struct lmi_picture_pixels *, const void *, size_t, struct lmd_error *);
} formats[] = {
	{"PNG", 0, 8, "\x89PNG\r\n\x1a\n", lmi_picture_decode_png},
	{"JPEG", 0, 3, "\xff\xd8\xff", lmi_picture_decode_jpeg},
	{"GIF", 0, 4, "GIF8", NULL},
	{"WebP", 8, 4, "WEBP", NULL},
	{"BMP", 0, 2, "BM", NULL},
	{"TIFF", 0, 4, "II*\0", NULL},
	{"TIFF", 0, 4, "MM\0*", NULL},
	{"AVIF or HEIF", 4, 4, "ftyp", NULL},
};

enum lmd_status lmi_picture_decode(struct lmi_picture_pixels *out, const void *bytes, size_t n,
				   struct lmd_error *err)
{
	for (size_t i = 0; i < LMD_LEN(formats); i++) {
		if (n < formats[i].at + formats[i].n ||
		    memcmp((const char *)bytes + formats[i].at, formats[i].magic, formats[i].n) != 0)
			continue;
		if (formats[i].decode)
			return formats[i].decode(out, bytes, n, err);
		return lmd_fail(err, LMD_UNSUPPORTED, "the picture is a %s file; PNG and JPEG can be read",
				formats[i].name);
	}
	return lmd_fail(err, LMD_UNSUPPORTED,
			"%zu bytes are no picture in a known format; PNG and JPEG can be read", n);
}

enum lmd_status lmi_picture_pixels_init(struct lmi_picture_pixels *out, uint32_t w, uint32_t h,
					struct lmd_error *err)
{
	if (!w || !h || w > LMI_PICTURE_MAX_SIDE || h > LMI_PICTURE_MAX_SIDE ||
	    (uint64_t)w * h > LMI_PICTURE_MAX_PIXELS)
		return lmd_fail(err, LMD_INVALID,
				"the picture has %u x %u pixels; a side may have 1 to %u, all together %u",
				w, h, LMI_PICTURE_MAX_SIDE, LMI_PICTURE_MAX_PIXELS);
	out->w = w;
	out->h = h;
	out->rgb = lmi_alloc((size_t)w * h, 3);
	return out->rgb ? LMD_OK
			: lmd_fail(err, LMD_NOMEM, "no memory for a picture of %u x %u pixels", w, h);
}

void lmi_picture_pixels_fini(struct lmi_picture_pixels *p)
{
	lmi_free(p->rgb);
	*p = (struct lmi_picture_pixels){0};
}
