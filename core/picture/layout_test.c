/* SPDX-License-Identifier: MIT
 *
 * Pictures: decoded and resized as Pillow does it; damaged and hostile files; the parts, texts and patches
 * of each kind of fitting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LMD_HAVE_JPEG
#include <jpeglib.h>
#endif
#ifdef LMD_HAVE_PNG
#include <png.h>
#endif

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/cancel.h"
#include "core/picture/decode.h"
#include "core/picture/layout.h"
#include "core/picture/resize.h"
#include "tests/lmd_check.h"
#include "tests/pictures/resized.gen.h"

struct file {
	const char *name;
	const uint8_t *bytes, *rgb;
	size_t n;
	int tolerance;
};

#define FILE_OF(name, tolerance)                                                                   \
	{                                                                                          \
		#name, file_##name, rgb_##name, sizeof(file_##name), tolerance                     \
	}
static const struct file files[] = {
	FILE_OF(png, 0),	   FILE_OF(png_alpha, 0), FILE_OF(png_gray, 0),
	FILE_OF(png_palette, 0), FILE_OF(jpeg, 2),      FILE_OF(jpeg_progressive, 2), /* versions differ */
};

static bool is_built(const char *name)
{
#ifndef LMD_HAVE_PNG
	if (!strncmp(name, "png", 3))
		return false;
#endif
#ifndef LMD_HAVE_JPEG
	if (!strncmp(name, "jpeg", 4))
		return false;
#endif
	return name != NULL;
}

static void compare(const char *what, const uint8_t *got, const uint8_t *want, size_t n, int tolerance)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(abs(got[i] - want[i]) <= tolerance, "%s: value %zu is %d, expected %d", what, i,
			      got[i], want[i]);
}

START_TEST(decodes_like_pillow)
{
	const struct file *f = &files[_i];
	struct lmi_picture_pixels p = {0};
	struct lmd_error err;
	enum lmd_status st = lmi_picture_decode(&p, f->bytes, f->n, &err);

	if (!is_built(f->name)) {
		ck_assert_int_eq(st, LMD_UNSUPPORTED);
		return;
	}
	ck_assert_msg(st == LMD_OK, "%s: %s", f->name, err.text);
	ck_assert_uint_eq(p.w, 12);
	ck_assert_uint_eq(p.h, 8);
	compare(f->name, p.rgb, f->rgb, sizeof(rgb_png), f->tolerance);
	lmi_picture_pixels_fini(&p);
}
END_TEST

/* Files that end early, and files with one other byte: an error, or a picture of that size. */
START_TEST(damaged_files)
{
	const struct file *f = &files[_i];
	uint8_t *copy = lmi_alloc(f->n, 1);
	struct lmi_picture_pixels p = {0};
	struct lmd_error err;
	enum lmd_status st;

	for (size_t n = 0; n + 16 < f->n; n++) {
		st = lmi_picture_decode(&p, f->bytes, n, &err);
		ck_assert_msg(st != LMD_OK, "%s: %zu of %zu bytes", f->name, n, f->n);
	}
	for (size_t i = 0; i < f->n; i++) {
		memcpy(copy, f->bytes, f->n);
		copy[i] ^= 0x55;
		if (lmi_picture_decode(&p, copy, f->n, &err) == LMD_OK)
			lmi_picture_pixels_fini(&p);
	}
	lmi_free(copy);
}
END_TEST

static void refuse(const void *bytes, size_t n, enum lmd_status want, const char *text)
{
	struct lmi_picture_pixels p = {0};
	struct lmd_error err;

	ck_assert_int_eq(lmi_picture_decode(&p, bytes, n, &err), want);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' lacks '%s'", err.text, text);
}

START_TEST(other_formats)
{
	uint8_t huge[sizeof(file_png)];

	refuse("", 0, LMD_UNSUPPORTED, "0 bytes are no picture");
	refuse("hello", 5, LMD_UNSUPPORTED, "PNG and JPEG can be read");
	refuse("GIF89a", 6, LMD_UNSUPPORTED, "a GIF file");
	refuse("RIFF\0\0\0\0WEBPVP8 ", 16, LMD_UNSUPPORTED, "a WebP file");
	if (!is_built("png")) {
		refuse(file_png, sizeof(file_png), LMD_UNSUPPORTED, "built without libpng");
		return;
	}
	memcpy(huge, file_png, sizeof(huge));
	huge[16 + 1] = 1; /* a width of 65548 pixels; its checksum is wrong now as well */
	ck_assert_int_ne(lmi_picture_decode(&(struct lmi_picture_pixels){0}, huge, sizeof(huge), NULL), LMD_OK);
}
END_TEST

/* As the expected pictures: 23 x 17. */
static void source(struct lmi_picture_pixels *p, uint32_t w, uint32_t h)
{
	ck_assert_int_eq(lmi_picture_pixels_init(p, w, h, NULL), LMD_OK);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++) {
			uint8_t *v = p->rgb + ((size_t)y * w + x) * 3;

			v[0] = (uint8_t)(x * 9 + 40);
			v[1] = (uint8_t)(y * 13 + 200);
			v[2] = (uint8_t)(x * y * 7 + 3);
		}
}

START_TEST(resizes_like_pillow)
{
	static const struct {
		uint32_t w, h, filter;
		const uint8_t *rgb;
	} cases[] = {
		{8, 6, LMD_PICTURE_BICUBIC, resized_bicubic_8},
		{31, 20, LMD_PICTURE_BICUBIC, resized_bicubic_31},
		{8, 6, LMD_PICTURE_BILINEAR, resized_bilinear_8},
		{31, 20, LMD_PICTURE_BILINEAR, resized_bilinear_31},
		{8, 6, LMD_PICTURE_LANCZOS, resized_lanczos_8},
		{31, 20, LMD_PICTURE_LANCZOS, resized_lanczos_31},
	};
	struct lmi_picture_pixels in = {0}, out = {0};

	source(&in, 23, 17);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		ck_assert_int_eq(lmi_picture_resize(&out, &in, cases[i].w, cases[i].h, cases[i].filter, NULL),
				 LMD_OK);
		/* Pillow rounds its weights to 22 bits */
		compare("resized", out.rgb, cases[i].rgb, (size_t)cases[i].w * cases[i].h * 3, 1);
		lmi_picture_pixels_fini(&out);
	}
	lmi_picture_pixels_fini(&in);
}
END_TEST

/* ---- fitting ---- */

static struct lmd_picture how_of(uint32_t fit)
{
	return (struct lmd_picture){.struct_size = sizeof(struct lmd_picture),
				    .fit = fit,
				    .patch = 4,
				    .merge = 2,
				    .size = 16,
				    .longest = 32,
				    .min_pixels = 16 * 16,
				    .max_pixels = 64 * 64,
				    .mean = {0.5f, 0.25f, 0},
				    .deviation = {1, 1, 1},
				    .before = "<b>",
				    .after = "<a>",
				    .tile = "<r%r c%c>",
				    .line_end = "\n",
				    .whole = "<w>"};
}

static struct lmi_picture_layout lay_out(uint32_t fit, uint32_t w, uint32_t h)
{
	struct lmd_picture how = how_of(fit);
	struct lmi_picture_layout l = {0};
	struct lmi_picture_pixels p = {0};
	struct lmd_error err;

	source(&p, w, h);
	ck_assert_msg(lmi_picture_layout_make(&l, &p, &how, &err) == LMD_OK, "%s", err.text);
	lmi_picture_pixels_fini(&p);
	ck_assert_str_eq(l.after, "<a>");
	return l;
}

/* A picture of the right size is not changed: its patches in the order of their blocks. */
START_TEST(patches_in_blocks)
{
	struct lmi_picture_layout l = lay_out(LMD_PICTURE_SQUARE, 16, 16);
	struct lmi_picture_pixels p = {0};
	const uint8_t *v = l.parts[0].patches;

	source(&p, 16, 16);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_uint_eq(l.parts[0].patches_w, 4);
	ck_assert_uint_eq(l.parts[0].patches_h, 4);
	ck_assert_str_eq(l.parts[0].before, "<b>");
	for (uint32_t block = 0; block < 4; block++)
		for (uint32_t i = 0; i < 4; i++)
			for (uint32_t c = 0; c < 3; c++)
				for (uint32_t y = 0; y < 4; y++)
					for (uint32_t x = 0; x < 4; x++, v++)
						ck_assert_uint_eq(*v, p.rgb[((block / 2 * 8 + i / 2 * 4 + y) * 16 +
									     block % 2 * 8 + i % 2 * 4 + x) * 3 + c]);
	lmi_picture_pixels_fini(&p);
	lmi_picture_layout_fini(&l);
}
END_TEST

START_TEST(kinds_of_fitting)
{
	struct lmi_picture_layout l = lay_out(LMD_PICTURE_TILES, 64, 20);
	struct lmd_picture how = how_of(LMD_PICTURE_SQUARE);
	struct lmi_picture_pixels thin = {0};
	struct lmd_error err;

	/* 32 x 10, and so two tiles and the whole */
	ck_assert_uint_eq(l.n, 3);
	ck_assert_str_eq(l.parts[0].before, "<r1 c1>");
	ck_assert_str_eq(l.parts[1].before, "<r1 c2>");
	ck_assert_str_eq(l.parts[2].before, "\n<w>");
	lmi_picture_layout_fini(&l);
	l = lay_out(LMD_PICTURE_TILES, 20, 24); /* 26 x 32: two lines of two */
	ck_assert_uint_eq(l.n, 5);
	ck_assert_str_eq(l.parts[2].before, "\n<r2 c1>");
	ck_assert_str_eq(l.parts[3].before, "<r2 c2>");
	lmi_picture_layout_fini(&l);
	/* smart_resize of transformers */
	l = lay_out(LMD_PICTURE_FREE, 100, 37);
	ck_assert_uint_eq(l.parts[0].patches_w * 4, 96);
	ck_assert_uint_eq(l.parts[0].patches_h * 4, 40);
	lmi_picture_layout_fini(&l);
	l = lay_out(LMD_PICTURE_FREE, 200, 37); /* 200 x 40 exceed 64 x 64 pixels */
	ck_assert_uint_eq(l.parts[0].patches_w * 4, 144);
	ck_assert_uint_eq(l.parts[0].patches_h * 4, 24);
	lmi_picture_layout_fini(&l);
	l = lay_out(LMD_PICTURE_FREE, 20, 9);
	ck_assert_uint_eq(l.parts[0].patches_w * 4, 24);
	ck_assert_uint_eq(l.parts[0].patches_h * 4, 16);
	lmi_picture_layout_fini(&l);
	/* 16 x 8 in the middle of a square of the mean colour */
	l = lay_out(LMD_PICTURE_PAD, 16, 8);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_uint_eq(l.parts[0].patches[0], 127);
	ck_assert_uint_eq(l.parts[0].patches[16], 63);
	ck_assert_uint_eq(l.parts[0].patches[32], 0);
	ck_assert_uint_eq(l.parts[0].patches[2 * 48], 40); /* the third patch begins the picture */
	lmi_picture_layout_fini(&l);
	source(&thin, 402, 2);
	ck_assert_int_eq(lmi_picture_layout_make(&l, &thin, &how, &err), LMD_INVALID);
	ck_assert_msg(strstr(err.text, "402 x 2 pixels") != NULL, "%s", err.text);
	lmi_picture_pixels_fini(&thin);
}
END_TEST

/* Nothing is left of work that is cancelled, and no call is far from the one before. */
START_TEST(work_is_cancelled)
{
	struct lmi_cancel word = {0};
	struct lmi_picture_pixels p, out = {0};
	struct lmi_picture_layout l = {0};
	struct lmd_error err;

	source(&p, 3000, 1000);
	(void)lmi_cancel_attach(&word);
	for (uint32_t fit = 0; fit <= LMD_PICTURE_FREE; fit++) {
		struct lmd_picture how = how_of(fit);

		lmi_cancel_counts_reset();
		ck_assert_int_eq(lmi_picture_layout_make(&l, &p, &how, &err), LMD_OK);
		lmi_picture_layout_fini(&l);
		ck_assert_uint_gt(lmi_cancel_counts().n_step, 3000u * 1000);
		ck_assert_uint_lt(lmi_cancel_counts().max_gap, LMI_CANCEL_GAP_MAX);
		lmi_cancel_set(&word);
		ck_assert_int_eq(lmi_picture_layout_make(&l, &p, &how, &err), LMD_CANCELLED);
		ck_assert_ptr_null(l.parts);
		word = (struct lmi_cancel){0};
	}
	lmi_cancel_set(&word);
	for (size_t i = 0; i < LMD_LEN(files); i++) {
		if (!is_built(files[i].name))
			continue;
		ck_assert_int_eq(lmi_picture_decode(&out, files[i].bytes, files[i].n, &err), LMD_CANCELLED);
		ck_assert_ptr_null(out.rgb);
	}
	(void)lmi_cancel_attach(NULL);
	lmi_picture_pixels_fini(&p);
}
END_TEST

#ifdef LMD_HAVE_PNG
/* A few kilobytes that become the largest picture are read in short pieces. */
START_TEST(a_large_png_is_cancelled)
{
	enum { W = LMI_PICTURE_MAX_SIDE, H = LMI_PICTURE_MAX_PIXELS / W };
	png_image image = {
		.version = PNG_IMAGE_VERSION, .width = W, .height = H, .format = PNG_FORMAT_GRAY};
	uint8_t *grey = lmi_alloc((size_t)W * H, 1), *file;
	struct lmi_picture_pixels p = {0};
	struct lmi_cancel_counts c;
	png_alloc_size_t n = 0;
	struct lmd_error err;

	ck_assert_ptr_nonnull(grey);
	ck_assert(png_image_write_to_memory(&image, NULL, &n, 0, grey, 0, NULL));
	file = lmi_alloc(n, 1);
	ck_assert(png_image_write_to_memory(&image, file, &n, 0, grey, 0, NULL));
	lmi_cancel_counts_reset();
	ck_assert_msg(lmi_picture_decode(&p, file, n, &err) == LMD_OK, "%s", err.text);
	c = lmi_cancel_counts();
	ck_assert_uint_eq(p.w, W);
	ck_assert_uint_lt(c.max_gap, LMI_CANCEL_GAP_MAX);
	ck_assert_uint_gt(c.n_call, n / 4096);
	lmi_picture_pixels_fini(&p);
	lmi_free(file);
	lmi_free(grey);
}
END_TEST
#endif

/* RFC 4648, section 10, and what it leaves open. */
#ifdef LMD_HAVE_JPEG
/* Encodes a grey square of so many pixels a side, once as the mean and once for each of n - 1 coefficients; with
 * colours, these come once more for each of the other two. */
static unsigned char *progressive(int side, int n, bool colours, unsigned long *bytes)
{
	static jpeg_scan_info scans[3 * 64];
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;
	unsigned char *out = NULL, *line = calloc((size_t)side, 3);
	int n_scan = 0, n_colour = colours ? 3 : 1;

	ck_assert_ptr_nonnull(line);
	c.err = jpeg_std_error(&errors);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &out, bytes);
	c.image_width = c.image_height = (JDIMENSION)side;
	c.input_components = n_colour;
	c.in_color_space = colours ? JCS_RGB : JCS_GRAYSCALE;
	jpeg_set_defaults(&c);
	scans[n_scan++] = (jpeg_scan_info){.comps_in_scan = n_colour, .component_index = {0, 1, 2}};
	for (int i = 0; i < n_colour; i++)
		for (int k = 1; k < n; k++)
			scans[n_scan++] = (jpeg_scan_info){
				.comps_in_scan = 1, .component_index = {i}, .Ss = k, .Se = k};
	c.scan_info = scans;
	c.num_scans = n_scan;
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height)
		(void)jpeg_write_scanlines(&c, &line, 1);
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	free(line);
	return out;
}

/* Each scan of a progressive file costs a pass over all pixels. */
START_TEST(scans_are_bounded)
{
	static const struct {
		int side, n;
		bool colours;
		const char *error;
	} cases[] = {
		{64, LMI_PICTURE_MAX_SCANS, false, NULL},
		{64, LMI_PICTURE_MAX_SCANS, true, "the JPEG file has more than 64 scans"},
		{4096, 25, false, NULL},
		{4096, 26, false,
		 "the JPEG file has 26 or more scans of 4096 x 4096 pixels; all together may have 419430400"},
	};
	struct lmi_picture_pixels p = {0};
	struct lmd_error err = {0};
	unsigned long n = 0;
	unsigned char *bytes =
		progressive(cases[_i].side, cases[_i].n, cases[_i].colours, &n);
	enum lmd_status st = lmi_picture_decode(&p, bytes, n, &err);

	if (cases[_i].error) {
		ck_assert_int_eq(st, LMD_INVALID);
		ck_assert_str_eq(err.text, cases[_i].error);
	} else {
		ck_assert_msg(st == LMD_OK, "%s", err.text);
		lmi_picture_pixels_fini(&p);
	}
	free(bytes);
}
END_TEST
#endif

START_TEST(base64)
{
	static const struct {
		const char *text, *bytes; /* NULL: refused */
	} rows[] = {{"", ""},		 {"Zg==", "f"},	     {"Zm8=", "fo"},   {"Zm9v", "foo"},
		    {"Zm9vYg==", "foob"}, {"Zm9vYmE=", "fooba"}, {"Zm9vYmFy", "foobar"},
		    {"Zm9vYmE", "fooba"}, {" Zm\n9v", "foo"},    {"Z", NULL},	       {"Zg===", NULL},
		    {"Z=g=", NULL},	 {"Zm9v!", NULL},	     {"Zg==Zg==", NULL}};
	unsigned char out[32];
	size_t n;

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		bool ok = lmi_base64_decode(rows[i].text, strlen(rows[i].text), out, &n);

		ck_assert_msg(ok == (rows[i].bytes != NULL), "%s", rows[i].text);
		if (ok)
			ck_assert_msg(n == strlen(rows[i].bytes) && !memcmp(out, rows[i].bytes, n), "%s",
				      rows[i].text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("picture files");
	TCase *t = tcase_create("picture files");

	tcase_add_loop_test(t, decodes_like_pillow, 0, LMD_LEN(files));
	tcase_add_loop_test(t, damaged_files, 0, LMD_LEN(files));
	tcase_add_test(t, other_formats);
	tcase_add_test(t, resizes_like_pillow);
	tcase_add_test(t, patches_in_blocks);
	tcase_add_test(t, kinds_of_fitting);
	tcase_add_test(t, work_is_cancelled);
#ifdef LMD_HAVE_PNG
	tcase_add_test(t, a_large_png_is_cancelled);
#endif
#ifdef LMD_HAVE_JPEG
	tcase_add_loop_test(t, scans_are_bounded, 0, 4);
#endif
	tcase_add_test(t, base64);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
