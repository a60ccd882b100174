/* SPDX-License-Identifier: MIT
 *
 * The segments of a JPEG file up to its picture, and the first directory (IFD0) of its EXIF data, which is
 * a TIFF file in either byte order. Only the tag Orientation is read: a SHORT, which lies in the directory
 * itself. */
#include "core/picture/orientation.h"

#include <string.h>

#define TAG   0x0112u
#define SHORT 3u

/* ---- the file ---- */

struct bytes {
	const uint8_t *p;
	size_t n;
	bool big; /* big-endian */
};

/* Returns the number of `size` bytes (2 or 4) at `at`; the caller has checked that they are there. */
static uint32_t number(const struct bytes *b, size_t at, uint32_t size)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < size; i++)
		v = v << 8 | b->p[at + (b->big ? i : size - 1 - i)];
	return v;
}

static unsigned in_directory(const struct bytes *tiff, size_t at)
{
	uint32_t n;

	if (at > tiff->n || tiff->n - at < 2)
		return LMI_PICTURE_UPRIGHT;
	n = number(tiff, at, 2);
	at += 2;
	for (uint32_t i = 0; i < n && tiff->n - at >= 12; i++, at += 12) { /* tag, type, count, value */
		uint32_t value;

		if (number(tiff, at, 2) != TAG)
			continue;
		value = number(tiff, at + 8, 2);
		return number(tiff, at + 2, 2) == SHORT && number(tiff, at + 4, 4) == 1 && value >= 1 && value <= 8
			       ? value
			       : LMI_PICTURE_UPRIGHT;
	}
	return LMI_PICTURE_UPRIGHT;
}

static unsigned in_exif(const uint8_t *p, size_t n)
{
	struct bytes tiff = {.p = p, .n = n, .big = n && *p == 'M'};

	if (n < 8 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
		return LMI_PICTURE_UPRIGHT;
	return in_directory(&tiff, number(&tiff, 4, 4));
}

unsigned lmi_picture_orientation(const void *bytes, size_t n)
{
	static const uint8_t exif[6] = "Exif\0";
	const struct bytes b = {.p = bytes, .n = n, .big = true};
	size_t at = 2; /* after SOI */

	while (at + 4 <= n && b.p[at] == 0xff) {
		uint8_t marker = b.p[at + 1];
		size_t size;

		if (marker == 0xff) { /* fill byte */
			at++;
			continue;
		}
		size = number(&b, at + 2, 2);
		if (marker == 0xda || size < 2 || size > n - at - 2) /* SOS: the picture */
			break;
		if (marker == 0xe1 && size >= 2 + sizeof(exif) && !memcmp(b.p + at + 4, exif, sizeof(exif)))
			return in_exif(b.p + at + 4 + sizeof(exif), size - 2 - sizeof(exif));
		at += 2 + size;
	}
	return LMI_PICTURE_UPRIGHT;
}

/* ---- the picture ---- */

void lmi_picture_put_row(struct lmi_picture_pixels *out, const uint8_t *row, uint32_t y, unsigned orientation)
{
	bool turned = lmi_picture_is_turned(orientation);
	bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
	bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
	uint32_t w = turned ? out->h : out->w, h = turned ? out->w : out->h;
	uint32_t line = from_bottom ? h - 1 - y : y;

	for (uint32_t i = 0; i < w; i++) {
		uint32_t column = from_right ? w - 1 - i : i;
		size_t at = turned ? (size_t)column * out->w + line : (size_t)line * out->w + column;

		memcpy(out->rgb + at * 3, row + (size_t)i * 3, 3);
	}
}
