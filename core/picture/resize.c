/* SPDX-License-Identifier: MIT
 *
 * Each pass makes lines of other lengths and transposes them, so that both passes are the same. */
#include "core/picture/resize.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

static const double pi = 3.14159265358979323846;

static double bilinear(double x)
{
	x = fabs(x);
	return x < 1 ? 1 - x : 0;
}

/* Keys' cubic with a = -0.5. */
static double bicubic(double x)
{
	x = fabs(x);
	if (x < 1)
		return (1.5 * x - 2.5) * x * x + 1;
	return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static double sinc(double x)
{
	return x == 0 ? 1 : sin(pi * x) / (pi * x);
}

static double lanczos(double x)
{
	return x > -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const struct {
	double (*fn)(double);
	double support;
} filters[] = {
	[LMD_PICTURE_BICUBIC] = {bicubic, 2},
	[LMD_PICTURE_BILINEAR] = {bilinear, 1},
	[LMD_PICTURE_LANCZOS] = {lanczos, 3},
};

/* The weights of one column of the result. */
struct window {
	uint32_t first, n;
	double *weight; /* [n] of a block for all columns */
};

static struct window *make_windows(uint32_t from, uint32_t to, uint32_t filter, double **block)
{
	double scale = (double)from / to, wide = scale < 1 ? 1 : scale;
	double support = filters[filter].support * wide;
	uint32_t most = (uint32_t)ceil(support) * 2 + 1;
	struct window *v = lmi_alloc(to, sizeof(*v));

	*block = lmi_alloc(to, most * sizeof(**block));
	if (!v || !*block) {
		lmi_free(v);
		lmi_free(*block);
		return NULL;
	}
	for (uint32_t i = 0; i < to; i++) {
		double centre = (i + 0.5) * scale, sum = 0;
		int64_t lo = (int64_t)(centre - support + 0.5), hi = (int64_t)(centre + support + 0.5);

		lo = lo < 0 ? 0 : lo;
		hi = hi > (int64_t)from ? (int64_t)from : hi;
		v[i] = (struct window){.first = (uint32_t)lo,
				       .n = hi - lo < (int64_t)most ? (uint32_t)(hi - lo) : most,
				       .weight = *block + (size_t)i * most};
		for (uint32_t k = 0; k < v[i].n; k++) {
			v[i].weight[k] = filters[filter].fn(((double)lo + k - centre + 0.5) / wide);
			sum += v[i].weight[k];
		}
		for (uint32_t k = 0; k < v[i].n && sum != 0; k++)
			v[i].weight[k] /= sum;
	}
	return v;
}

static uint8_t round_to_byte(double v)
{
	return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5);
}

/* Resizes the lines of `in` [h][w] and transposes: out is [to][h]. */
static enum lmd_status pass(uint8_t *out, const uint8_t *in, uint32_t w, uint32_t h, uint32_t to,
			    uint32_t filter)
{
	double *block;
	struct window *v = make_windows(w, to, filter, &block);

	if (!v)
		return LMD_NOMEM;
	for (uint32_t y = 0; y < h; y++) {
		const uint8_t *line = in + (size_t)y * w * 3;

		for (uint32_t x = 0; x < to; x++) {
			double sum[3] = {0};

			for (uint32_t k = 0; k < v[x].n; k++)
				for (int c = 0; c < 3; c++)
					sum[c] += v[x].weight[k] * line[(v[x].first + k) * 3 + (uint32_t)c];
			for (int c = 0; c < 3; c++)
				out[((size_t)x * h + y) * 3 + (uint32_t)c] = round_to_byte(sum[c]);
		}
	}
	lmi_free(v);
	lmi_free(block);
	return LMD_OK;
}

enum lmd_status lmi_picture_resize(struct lmi_picture_pixels *out, const struct lmi_picture_pixels *in,
				   uint32_t w, uint32_t h, uint32_t filter, struct lmd_error *err)
{
	struct lmi_picture_pixels result = {0};
	uint8_t *between;
	enum lmd_status st = lmi_picture_pixels_init(&result, w, h, err);

	if (st != LMD_OK)
		return st;
	between = (uint64_t)w * in->h <= 4ull * LMI_PICTURE_MAX_PIXELS ? lmi_alloc((size_t)w * in->h, 3)
								       : NULL;
	st = between ? pass(between, in->rgb, in->w, in->h, w, filter) : LMD_NOMEM;
	if (st == LMD_OK)
		st = pass(result.rgb, between, in->h, w, h, filter);
	lmi_free(between);
	if (st != LMD_OK) {
		lmi_picture_pixels_fini(&result);
		return lmd_fail(err, st, "no memory to resize a picture to %u x %u pixels", w, h);
	}
	*out = result;
	return LMD_OK;
}
