/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a picture. One that is decoded has a size within the limits, and is cut into
 * parts for a tower of each kind of fitting. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/picture/layout.h"
#include "tests/fuzz/target.h"
#include "tests/pictures/oriented.gen.h"
#include "tests/pictures/resized.gen.h"

/* Larger ones would take most of the time. */
#define MAX_PIXELS (64u * 64)

static void cut(const struct lmi_picture_pixels *p, uint32_t fit)
{
	const struct lmd_picture how = {.struct_size = sizeof(how),
					.fit = fit,
					.filter = fit % 3,
					.patch = 4,
					.merge = 2,
					.size = 16,
					.longest = 32,
					.min_pixels = 256,
					.max_pixels = 4096,
					.deviation = {1, 1, 1},
					.before = "",
					.after = "",
					.tile = "%r %c",
					.line_end = "\n",
					.whole = ""};
	struct lmi_picture_layout l;

	if (lmi_picture_layout_make(&l, p, &how, NULL) != LMD_OK)
		return;
	REQUIRE(l.n >= 1 && l.n <= 5);
	for (uint32_t i = 0; i < l.n; i++) {
		REQUIRE(l.parts[i].patches_w && l.parts[i].patches_w % 2 == 0);
		REQUIRE(l.parts[i].patches_h && l.parts[i].patches_h % 2 == 0);
		REQUIRE(memchr(l.parts[i].before, 0, sizeof(l.parts[i].before)));
	}
	lmi_picture_layout_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmi_picture_pixels p = {0};
	struct lmd_error err = {0};

	if (lmi_picture_decode(&p, data, size, &err) != LMD_OK) {
		REQUIRE(err.text[0] && !p.rgb);
		return 0;
	}
	REQUIRE(p.w && p.h && (uint64_t)p.w * p.h <= LMI_PICTURE_MAX_PIXELS);
	for (uint32_t fit = 0; fit <= LMD_PICTURE_FREE && (uint64_t)p.w * p.h <= MAX_PIXELS; fit++)
		cut(&p, fit);
	lmi_picture_pixels_fini(&p);
	return 0;
}

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	static const struct {
		const uint8_t *p;
		size_t n;
	} seeds[] = {{file_png, sizeof(file_png)},
		     {file_png_alpha, sizeof(file_png_alpha)},
		     {file_png_palette, sizeof(file_png_palette)},
		     {file_jpeg, sizeof(file_jpeg)},
		     {file_jpeg_progressive, sizeof(file_jpeg_progressive)},
		     {file_3, sizeof(file_3)},
		     {file_6, sizeof(file_6)}};

	if (k >= sizeof(seeds) / sizeof(seeds[0]))
		return false;
	*out = (struct fuzz_bytes){.p = malloc(seeds[k].n), .n = seeds[k].n};
	REQUIRE(out->p != NULL);
	memcpy(out->p, seeds[k].p, seeds[k].n);
	return true;
}
