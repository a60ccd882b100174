/* SPDX-License-Identifier: MIT
 *
 * The sizes are those of the processors that the models were trained with (Hugging Face transformers). */
#include "core/picture/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/picture/resize.h"

/* ---- patches ---- */

/* Cuts the window of w x h pixels at (x0, y0) into patches, block by block. */
static enum lmd_status cut(struct lmi_picture_part *p, const struct lmi_picture_pixels *in, uint32_t x0,
			   uint32_t y0, uint32_t w, uint32_t h, const struct lmd_picture *how,
			   struct lmd_error *err)
{
	uint32_t side = how->patch, m = how->merge, blocks_w = w / side / m;
	size_t bytes = (size_t)3 * side * side;
	uint8_t *to;

	p->patches_w = w / side;
	p->patches_h = h / side;
	p->patches = to = lmi_alloc((size_t)p->patches_w * p->patches_h, bytes);
	if (!to)
		return lmd_fail(err, LMD_NOMEM, "no memory for the patches of a picture");
	for (uint32_t i = 0; i < p->patches_w * p->patches_h; i++) {
		uint32_t block = i / (m * m), at = i % (m * m);
		size_t y = y0 + (size_t)(block / blocks_w * m + at / m) * side;
		size_t x = x0 + (size_t)(block % blocks_w * m + at % m) * side;

		for (uint32_t c = 0; c < 3; c++)
			for (uint32_t k = 0; k < side * side; k++)
				*to++ = in->rgb[((y + k / side) * in->w + x + k % side) * 3 + c];
	}
	return LMD_OK;
}

static enum lmd_status add_parts(struct lmi_picture_layout *out, uint32_t n, struct lmd_error *err)
{
	out->parts = lmi_alloc(n, sizeof(*out->parts));
	out->n = out->parts ? n : 0;
	return out->parts ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for %u parts of a picture", n);
}

/* Resizes the picture, which becomes the only part. */
static enum lmd_status one_part(struct lmi_picture_layout *out, const struct lmi_picture_pixels *in,
				uint32_t w, uint32_t h, const struct lmd_picture *how, struct lmd_error *err)
{
	struct lmi_picture_pixels sized = {0};
	enum lmd_status st = add_parts(out, 1, err);

	if (st == LMD_OK)
		st = lmi_picture_resize(&sized, in, w, h, how->filter, err);
	if (st == LMD_OK)
		st = cut(&out->parts[0], &sized, 0, 0, w, h, how, err);
	if (st == LMD_OK)
		(void)snprintf(out->parts[0].before, sizeof(out->parts[0].before), "%s", how->before);
	lmi_picture_pixels_fini(&sized);
	return st;
}

/* ---- PAD ---- */

static uint8_t mean_colour(const struct lmd_picture *how, uint32_t c)
{
	float v = how->mean[c] * 255.0f;

	return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)v;
}

static enum lmd_status pad(struct lmi_picture_layout *out, const struct lmi_picture_pixels *in,
			   const struct lmd_picture *how, struct lmd_error *err)
{
	uint32_t side = in->w > in->h ? in->w : in->h, x0 = (side - in->w) / 2, y0 = (side - in->h) / 2;
	struct lmi_picture_pixels square = {0};
	enum lmd_status st;

	if ((uint64_t)side * side > LMI_PICTURE_MAX_PIXELS) {
		/* the longer side becomes so much shorter anyway that this loses nothing */
		struct lmi_picture_pixels less = {0};
		uint32_t limit = (uint32_t)sqrt(LMI_PICTURE_MAX_PIXELS);
		uint32_t w = (uint32_t)((uint64_t)in->w * limit / side);
		uint32_t h = (uint32_t)((uint64_t)in->h * limit / side);

		st = lmi_picture_resize(&less, in, w ? w : 1, h ? h : 1, how->filter, err);
		if (st == LMD_OK)
			st = pad(out, &less, how, err);
		lmi_picture_pixels_fini(&less);
		return st;
	}
	st = lmi_picture_pixels_init(&square, side, side, err);
	if (st != LMD_OK)
		return st;
	for (size_t i = 0; i < (size_t)side * side * 3; i++)
		square.rgb[i] = mean_colour(how, (uint32_t)(i % 3));
	for (size_t y = 0; y < in->h; y++)
		memcpy(square.rgb + ((y0 + y) * side + x0) * 3, in->rgb + y * in->w * 3,
		       (size_t)in->w * 3);
	st = one_part(out, &square, how->size, how->size, how, err);
	lmi_picture_pixels_fini(&square);
	return st;
}

/* ---- TILES: transformers, Idefics3ImageProcessor ---- */

static uint32_t up_to_multiple(double v, uint32_t of)
{
	uint32_t n = (uint32_t)ceil(v / of);

	return (n ? n : 1) * of;
}

/* The sizes of the picture with its longer side as `longest`, and then in whole tiles. */
static void tile_sizes(const struct lmi_picture_pixels *in, const struct lmd_picture *how, uint32_t size[2],
		       uint32_t tiled[2])
{
	double aspect = (double)in->w / in->h;
	bool wide = in->w >= in->h;
	double other = wide ? how->longest / aspect : how->longest * aspect;
	uint32_t less = (uint32_t)other + (uint32_t)other % 2;

	less = less ? less : 1;
	size[0] = wide ? how->longest : less;
	size[1] = wide ? less : how->longest;
	aspect = (double)size[0] / size[1];
	if (size[0] >= size[1]) {
		tiled[0] = up_to_multiple(size[0], how->size);
		tiled[1] = up_to_multiple(floor(tiled[0] / aspect), how->size);
	} else {
		tiled[1] = up_to_multiple(size[1], how->size);
		tiled[0] = up_to_multiple(floor(tiled[1] * aspect), how->size);
	}
}

/* Writes the text before a tile. */
static void tile_text(char *out, size_t n, const char *text, const char *form, uint32_t line, uint32_t column)
{
	size_t at = (size_t)snprintf(out, n, "%s", text);

	for (; *form && at + 1 < n; form++) {
		if (form[0] == '%' && (form[1] == 'r' || form[1] == 'c'))
			at += (size_t)snprintf(out + at, n - at, "%u", *++form == 'r' ? line : column);
		else
			out[at++] = *form;
		out[at < n ? at : n - 1] = 0;
	}
}

static enum lmd_status tiles(struct lmi_picture_layout *out, const struct lmi_picture_pixels *in,
			     const struct lmd_picture *how, struct lmd_error *err)
{
	struct lmi_picture_pixels sized = {0}, tiled = {0}, whole = {0};
	uint32_t size[2], at[2], s = how->size, n_w, n_h;
	struct lmi_picture_part *p;
	enum lmd_status st;

	tile_sizes(in, how, size, at);
	n_w = at[0] / s;
	n_h = at[1] / s;
	st = lmi_picture_resize(&sized, in, size[0], size[1], how->filter, err);
	if (st == LMD_OK)
		st = lmi_picture_resize(&tiled, &sized, at[0], at[1], how->filter, err);
	if (st == LMD_OK && n_w * n_h == 1)
		st = one_part(out, &tiled, s, s, how, err);
	else if (st == LMD_OK)
		st = add_parts(out, n_w * n_h + 1, err);
	for (uint32_t i = 0; st == LMD_OK && out->n > 1 && i < n_w * n_h; i++) {
		p = &out->parts[i];
		tile_text(p->before, sizeof(p->before), i && i % n_w == 0 ? how->line_end : "", how->tile,
			  i / n_w + 1, i % n_w + 1);
		st = cut(p, &tiled, i % n_w * s, i / n_w * s, s, s, how, err);
	}
	if (st == LMD_OK && out->n > 1) {
		p = &out->parts[out->n - 1];
		(void)snprintf(p->before, sizeof(p->before), "%s%s", how->line_end, how->whole);
		st = lmi_picture_resize(&whole, &tiled, s, s, how->filter, err);
		if (st == LMD_OK)
			st = cut(p, &whole, 0, 0, s, s, how, err);
	}
	lmi_picture_pixels_fini(&sized);
	lmi_picture_pixels_fini(&tiled);
	lmi_picture_pixels_fini(&whole);
	return st;
}

/* ---- FREE: transformers, smart_resize of Qwen2VLImageProcessor ---- */

static void free_size(const struct lmi_picture_pixels *in, const struct lmd_picture *how, uint32_t size[2])
{
	double f = how->patch * how->merge, side[2] = {in->w, in->h}, to[2], area = side[0] * side[1];

	for (int i = 0; i < 2; i++)
		to[i] = nearbyint(side[i] / f) * f;
	if (to[0] * to[1] > how->max_pixels) {
		double by = sqrt(area / how->max_pixels);

		for (int i = 0; i < 2; i++)
			to[i] = fmax(f, floor(side[i] / by / f) * f);
	} else if (to[0] * to[1] < how->min_pixels) {
		double by = sqrt(how->min_pixels / area);

		for (int i = 0; i < 2; i++)
			to[i] = ceil(side[i] * by / f) * f;
	}
	for (int i = 0; i < 2; i++)
		size[i] = (uint32_t)to[i];
}

/* ---- all of them ---- */

enum lmd_status lmi_picture_layout_make(struct lmi_picture_layout *out, const struct lmi_picture_pixels *in,
					const struct lmd_picture *how, struct lmd_error *err)
{
	struct lmi_picture_layout made = {.after = how->after};
	uint32_t size[2], lo = in->w < in->h ? in->w : in->h, hi = in->w < in->h ? in->h : in->w;
	enum lmd_status st = LMD_INTERNAL;

	if (hi / lo > LMI_PICTURE_MAX_ASPECT)
		return lmd_fail(err, LMD_INVALID,
				"the picture has %u x %u pixels: its longer side may be %u times the other",
				in->w, in->h, LMI_PICTURE_MAX_ASPECT);
	switch ((enum lmd_picture_fit)how->fit) {
	case LMD_PICTURE_SQUARE:
		st = one_part(&made, in, how->size, how->size, how, err);
		break;
	case LMD_PICTURE_PAD:
		st = pad(&made, in, how, err);
		break;
	case LMD_PICTURE_TILES:
		st = tiles(&made, in, how, err);
		break;
	case LMD_PICTURE_FREE:
		free_size(in, how, size);
		st = one_part(&made, in, size[0], size[1], how, err);
		break;
	}
	if (st != LMD_OK) {
		lmi_picture_layout_fini(&made);
		return st;
	}
	*out = made;
	return LMD_OK;
}

void lmi_picture_layout_fini(struct lmi_picture_layout *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		lmi_free(l->parts[i].patches);
	lmi_free(l->parts);
	*l = (struct lmi_picture_layout){0};
}
