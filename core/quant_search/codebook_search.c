/* SPDX-License-Identifier: MIT
 *
 * Codebook search; codebook_search.h has the contract.  The values of a unit are scaled by a power
 * of two so that their greatest magnitude is near 1 and single precision is sufficient everywhere;
 * d is rounded as it will be stored wherever an error is computed. */
#include "core/quant_search/codebook_search.h"

#include <math.h>

#include "core/quant_search/scale_search.h"

#define CACHED	 4096  /* groups of a row whose scales are kept; for further groups they are
			* computed again */
#define N_CAND   9     /* default number of candidate scales of a group */
#define N_D	 9     /* default number of candidates for d */
#define N_ROUNDS 3     /* rounds of "integers, then d" */
#define LEAST_W	 1e-9f /* every value has at least this weight */

struct lmi_search_codebook {
	const struct lmi_search_codebook_shape *shape;
	const float *src, *importance;
	size_t n;
	float up, down; /* a power of two and its inverse: from scaled values to those of src */
	float w_inv;    /* 1 / the greatest importance; 0: equal weights */
	float v[2][LMI_SEARCH_CODEBOOK_MAX_CODES], mid[LMI_SEARCH_CODEBOOK_MAX_CODES];
	float lo, span;
	uint8_t at[LMI_SEARCH_CODEBOOK_BLOCK]; /* code of the value lo + i in the first codebook */
	float t[CACHED][2];            /* best scale of a group with each codebook */
};

/* A group, loaded. */
struct group {
	float x[LMI_SEARCH_CODEBOOK_MAX_GROUP], w[LMI_SEARCH_CODEBOOK_MAX_GROUP];
	float t[2];
};

/* The choice of a group for a given d. */
struct choice {
	float err, xv, vv; /* sums of w (x - dsv)^2, w x v, w v^2 */
	int s, second;
};

/* ---- codebooks ---- */

static void fill_codebooks(struct lmi_search_codebook *f)
{
	const struct lmi_search_codebook_shape *k = f->shape;
	int q = 0;

	for (int i = 0; i < k->n_code; i++) {
		f->v[0][i] = k->book ? (float)k->book[i] : k->value(i);
		f->v[1][i] = f->v[0][i] + (float)k->shift;
	}
	for (int i = 0; i < k->n_code; i++)
		f->mid[i] = i + 1 < k->n_code ? 0.5f * (f->v[0][i] + f->v[0][i + 1]) : INFINITY;
	f->lo = f->v[0][0];
	f->span = f->v[0][k->n_code - 1] - f->lo;
	for (int i = 0; i < LMI_SEARCH_CODEBOOK_BLOCK; i++) {
		while (q + 1 < k->n_code && f->mid[q] <= f->lo + (float)i)
			q++;
		f->at[i] = (uint8_t)q;
	}
}

void lmi_search_codebook_nearest(const struct lmi_search_codebook *f, const float *x,
				 const float *w, int n, float inv, int second, float *v,
				 uint16_t *q)
{
	const float *book = f->v[second];
	float off = second ? (float)f->shape->shift : 0;

	(void)w;
	for (int i = 0; i < n; i++) {
		float u = x[i] * inv - off, c = u - f->lo;
		int code;

		c = c > 0 ? c : 0;
		c = c < f->span ? c : f->span;
		code = f->at[(int)c];
		code += u > f->mid[code];
		v[i] = book[code];
		if (q)
			q[i] = (uint16_t)code;
	}
}

float lmi_search_codebook_value(const struct lmi_search_codebook *f, int second, int q)
{
	return f->v[second][q];
}

const void *lmi_search_codebook_ctx(const struct lmi_search_codebook *f)
{
	return f->shape->ctx;
}

static void code(const struct lmi_search_codebook *f, const struct group *g, float scale,
		 int second, float *v, uint16_t *q)
{
	lmi_search_codebook_code_fn fn =
		f->shape->code ? f->shape->code : lmi_search_codebook_nearest;

	fn(f, g->x, g->w, f->shape->group, scale != 0 ? 1 / scale : 0, second, v, q);
}

/* ---- one group alone ---- */

struct probe {
	float gain, t; /* the part of sum w x^2 that is explained with the scale t */
};

static void probe(const struct lmi_search_codebook *f, const struct group *g, float t, int second,
		  struct probe *best)
{
	float v[LMI_SEARCH_CODEBOOK_MAX_GROUP], xv[4] = {0}, vv[4] = {0}, a, b;

	code(f, g, t, second, v, NULL);
	for (int i = 0; i < f->shape->group; i += 4) {
		for (int k = 0; k < 4; k++) {
			xv[k] += g->w[i + k] * g->x[i + k] * v[i + k];
			vv[k] += g->w[i + k] * v[i + k] * v[i + k];
		}
	}
	a = (xv[0] + xv[1]) + (xv[2] + xv[3]);
	b = (vv[0] + vv[1]) + (vv[2] + vv[3]);
	if (b > 0 && a * (a / b) > best->gain)
		*best = (struct probe){.gain = a * (a / b), .t = a / b};
}

/* Returns the best scale of a group with a codebook; 0 if all values are 0. */
static float best_scale_alone(const struct lmi_search_codebook *f, const struct group *g,
			      int second)
{
	const struct lmi_search_codebook_shape *k = f->shape;
	float top = f->v[second][k->n_code - 1], low = -f->v[second][0], most = 0, least = 0;
	int n_cand = k->n_cand ? k->n_cand : N_CAND;
	struct probe best = {0};

	for (int i = 0; i < k->group; i++) {
		most = g->x[i] > most ? g->x[i] : most;
		least = g->x[i] < least ? g->x[i] : least;
	}
	for (int sign = k->one_sign ? 1 : -1; sign <= 1; sign += 2) {
		float a = (sign > 0 ? most : -least) / top, b = (sign > 0 ? -least : most) / low;
		float t = (float)sign * (a > b ? a : b);

		for (int i = 0; t != 0 && i < n_cand; i++)
			probe(f, g,
			      t * (k->cand_lo + (k->cand_hi - k->cand_lo) * (float)i /
							(float)(n_cand > 1 ? n_cand - 1 : 1)),
			      second, &best);
	}
	for (int i = 0; i < 2 && best.t != 0; i++)
		probe(f, g, best.t, second, &best);
	return best.t;
}

static void load(const struct lmi_search_codebook *f, size_t i_group, struct group *g)
{
	int n = f->shape->group;
	size_t at = i_group * (size_t)n;

	lmi_search_fit_clean(f->src + at, g->x, (size_t)n);
	for (int i = 0; i < n; i++) {
		float w = f->w_inv > 0 ? f->importance[at + (size_t)i] : 0;

		g->x[i] *= f->down;
		w = w > 0 ? fminf(w, 0x1p100f) * f->w_inv : 0;
		g->w[i] = f->w_inv > 0 ? w + LEAST_W : 1;
	}
	if (i_group < CACHED) {
		g->t[0] = f->t[i_group][0];
		g->t[1] = f->t[i_group][1];
	}
}

static void find_scales(const struct lmi_search_codebook *f, struct group *g)
{
	for (int b = 0; b < 2; b++)
		g->t[b] = b < f->shape->n_book ? best_scale_alone(f, g, b) : 0;
}

/* Loads a group with its scales. */
static void load_with_scales(const struct lmi_search_codebook *f, size_t i_group, struct group *g)
{
	load(f, i_group, g);
	if (i_group >= CACHED)
		find_scales(f, g);
}

/* ---- d and the integers ---- */

static int scale_of(const struct lmi_search_codebook_shape *k, int i)
{
	return k->s_book ? k->s_book[i] : k->s_lo + k->s_step * i;
}

/* Returns the index of the greatest scale that is not above r, or 0. */
static int scale_index_below(const struct lmi_search_codebook_shape *k, float r)
{
	float i;
	int j = 0;

	if (k->s_book) {
		while (j + 1 < k->n_s && (float)k->s_book[j + 1] <= r)
			j++;
		return j;
	}
	i = (r - (float)k->s_lo) / (float)k->s_step;
	return i > 0 ? i < (float)(k->n_s - 1) ? (int)i : k->n_s - 1 : 0;
}

static void try_scale(const struct lmi_search_codebook *f, const struct group *g, float d, int s,
		      int second, struct choice *best)
{
	float v[LMI_SEARCH_CODEBOOK_MAX_GROUP], e2[4] = {0}, xv[4] = {0}, vv[4] = {0};
	float scale = d * (float)s, err;

	code(f, g, scale, second, v, NULL);
	for (int i = 0; i < f->shape->group; i += 4) {
		for (int k = 0; k < 4; k++) {
			float x = g->x[i + k], w = g->w[i + k], e = x - scale * v[i + k];

			e2[k] += w * e * e;
			xv[k] += w * x * v[i + k];
			vv[k] += w * v[i + k] * v[i + k];
		}
	}
	err = (e2[0] + e2[1]) + (e2[2] + e2[3]);
	if (err < best->err)
		*best = (struct choice){.err = err,
					.xv = (xv[0] + xv[1]) + (xv[2] + xv[3]),
					.vv = (vv[0] + vv[1]) + (vv[2] + vv[3]),
					.s = s,
					.second = second};
}

/* Finds the best integer near those that give the group's own scales, and its codebook. */
static struct choice choose(const struct lmi_search_codebook *f, const struct group *g, float d)
{
	const struct lmi_search_codebook_shape *k = f->shape;
	struct choice best = {.err = INFINITY, .s = scale_of(k, 0)};

	for (int b = 0; b < k->n_book; b++) {
		int i = scale_index_below(k, d != 0 ? g->t[b] / d : 0);

		try_scale(f, g, d, scale_of(k, i), b, &best);
		if (i + 1 < k->n_s)
			try_scale(f, g, d, scale_of(k, i + 1), b, &best);
	}
	return best;
}

struct total {
	double err, num, den; /* the error; num / den is the best d for these codes */
};

static struct total total(const struct lmi_search_codebook *f, float d)
{
	struct total sum = {0};
	struct group g;

	for (size_t i = 0; i < f->n / (size_t)f->shape->group; i++) {
		struct choice c;

		load_with_scales(f, i, &g);
		c = choose(f, &g, d);
		sum.err += (double)c.err;
		sum.num += (double)c.s * (double)c.xv;
		sum.den += (double)c.s * (double)c.s * (double)c.vv;
	}
	return sum;
}

/* Returns d as it will be stored. */
static float stored(const struct lmi_search_codebook *f, float d)
{
	return f->shape->half ? lmi_search_fit_f16(d * f->up) : d * f->up;
}

struct best_d {
	float d; /* as stored */
	struct total t;
};

static void try_d(const struct lmi_search_codebook *f, float d, struct best_d *best)
{
	float as_stored = stored(f, d);
	struct total t;

	if (as_stored == best->d)
		return;
	t = total(f, as_stored * f->down);
	if (t.err < best->t.err)
		*best = (struct best_d){.d = as_stored, .t = t};
}

/* Returns the greatest scale that any group would choose alone, with its sign. */
static float greatest_scale(struct lmi_search_codebook *f)
{
	float top = 0;
	struct group g;

	for (size_t i = 0; i < f->n / (size_t)f->shape->group; i++) {
		struct choice c[2] = {{.err = INFINITY}, {.err = INFINITY}};
		float t;

		load(f, i, &g);
		find_scales(f, &g);
		for (int b = 0; b < 2; b++) {
			if (i < CACHED)
				f->t[i][b] = g.t[b];
			if (b < f->shape->n_book)
				try_scale(f, &g, g.t[b], 1, b, &c[b]);
		}
		t = g.t[c[1].err < c[0].err];
		if (fabsf(t) > fabsf(top))
			top = t;
	}
	return top;
}

static float fit_d(struct lmi_search_codebook *f)
{
	const struct lmi_search_codebook_shape *k = f->shape;
	int ends[2] = {scale_of(k, 0), scale_of(k, k->n_s - 1)}, n_d = k->n_d ? k->n_d : N_D;
	struct best_d best = {.d = 0, .t.err = INFINITY};
	float top = greatest_scale(f);

	if (top == 0)
		return 0;
	best.t = total(f, 0);
	for (int e = 0; e < 2; e++) {
		/* there are few integers: their position matters more than what is clipped */
		float step = 0.5f / (float)k->n_s;

		if (!ends[e])
			continue;
		for (int i = 0; i < n_d; i++)
			try_d(f, top / (float)ends[e] * (1 + step * (float)(i - n_d / 4)), &best);
		if (-ends[0] == ends[1])
			break; /* the other end would give the same result */
	}
	for (int i = 0; i < N_ROUNDS && best.t.den > 0; i++)
		try_d(f, (float)(best.t.num / best.t.den), &best);
	return best.d;
}

static void fit_block(const struct lmi_search_codebook *f, size_t i_block, float d,
		      struct lmi_search_codebook_block *b)
{
	int n = LMI_SEARCH_CODEBOOK_BLOCK / f->shape->group;
	float v[LMI_SEARCH_CODEBOOK_MAX_GROUP], scaled = d * f->down;
	struct group g;

	b->d = d;
	for (int i = 0; i < n; i++) {
		struct choice c;

		load_with_scales(f, i_block * (size_t)n + (size_t)i, &g);
		c = choose(f, &g, scaled);
		b->s[i] = (int16_t)c.s;
		b->second[i] = (uint8_t)c.second;
		code(f, &g, scaled * (float)c.s, c.second, v, b->q + i * f->shape->group);
	}
}

/* ---- units ---- */

/* Fits the unit of n values starting at src; returns d. */
static float unit(struct lmi_search_codebook *f, const float *src, const float *importance,
		  size_t n, uint8_t *dst, size_t block_bytes, lmi_search_codebook_pack_fn pack)
{
	float most = 0, top_w = 0, d;
	int e;

	for (size_t i = 0; i < n; i++) {
		float x;

		lmi_search_fit_clean(src + i, &x, 1);
		most = fmaxf(most, fabsf(x));
		if (importance && importance[i] > 0)
			top_w = fmaxf(top_w, fminf(importance[i], 0x1p100f));
	}
	(void)frexpf(most, &e);
	e = e < -100 ? -100 : e;
	f->src = src;
	f->importance = importance;
	f->n = n;
	f->up = ldexpf(1, e);
	f->down = ldexpf(1, -e);
	f->w_inv = top_w > 0x1p-120f ? 1 / top_w : 0;
	d = fit_d(f);
	for (size_t i = 0; i < n / LMI_SEARCH_CODEBOOK_BLOCK; i++) {
		struct lmi_search_codebook_block b;

		fit_block(f, i, d, &b);
		pack(dst + i * block_bytes, &b);
	}
	return d;
}

void lmi_search_codebook_blocks(const struct lmi_search_codebook_shape *shape, const float *src,
				const float *importance, size_t n, void *dst, size_t block_bytes,
				lmi_search_codebook_pack_fn pack)
{
	struct lmi_search_codebook f = {.shape = shape};
	uint8_t *to = dst;

	fill_codebooks(&f);
	for (size_t i = 0; i < n; i += LMI_SEARCH_CODEBOOK_BLOCK, to += block_bytes)
		(void)unit(&f, src + i, importance ? importance + i : NULL,
			   LMI_SEARCH_CODEBOOK_BLOCK, to, block_bytes,
			   pack); /* the block contains d */
}

float lmi_search_codebook_row(const struct lmi_search_codebook_shape *shape, const float *src,
			      const float *importance, size_t n, void *dst, size_t block_bytes,
			      lmi_search_codebook_pack_fn pack)
{
	struct lmi_search_codebook f = {.shape = shape};

	fill_codebooks(&f);
	return unit(&f, src, importance, n, dst, block_bytes, pack);
}
