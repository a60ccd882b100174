/* SPDX-License-Identifier: MIT
 *
 * SIMD search for blocks whose groups share a scale; the inner loops are those of simd_groups.h.
 *
 * The search for a block: each group finds its best scale alone; the f16 scale of the block is the
 * greatest of them divided by the greatest integer; each group takes the best of a few integers
 * around its own; the scale of the block is solved for again, and so on.  The result does not
 * depend on neighbouring blocks, so it does not matter how a row is split. */
#include "core/quant_search/simd_search_impl.h"

#include <math.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/quant_search/scale_search.h"

#define N_ROUNDS 3 /* rounds of "integers, then scales"; the same for every block */

#define ALIGNED _Alignas(64)

/* Can a block be fitted here?  both_signs: only if it has values of both signs.  Compares the bit
 * patterns as integers, which order like the magnitudes, with NaN above all. */
static bool is_ordinary(const float *x, size_t n, bool both_signs)
{
	uint32_t first = lmi_f32_bits(x[0]), differ = 0;
	int32_t top = 0, present = 0, below = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = lmi_f32_bits(x[i]);
		int32_t mag = (int32_t)(bits & 0x7FFFFFFFu);

		top = mag > top ? mag : top;
		differ |= bits ^ first;
		present += mag != 0;
		below += mag != 0 && bits >> 31;
	}
	if (both_signs && (!below || below == present))
		return false;
	return differ && present >= LMI_SEARCH_SIMD_MIN_NONZERO &&
	       top >= (int32_t)lmi_f32_bits(LMI_SEARCH_SIMD_MIN_PEAK) &&
	       top <= (int32_t)lmi_f32_bits(LMI_SEARCH_SIMD_MAX_PEAK);
}

/* The lanes of a block: [at, at + n). */
struct span {
	int at, n;
};

/* Current solution for all lanes; dmin and m are used only with minima. */
struct state {
	ALIGNED float d[LMI_SEARCH_SIMD_GROUPS],
		dmin[LMI_SEARCH_SIMD_GROUPS]; /* of the block, repeated in each of its lanes */
	ALIGNED float s[LMI_SEARCH_SIMD_GROUPS], m[LMI_SEARCH_SIMD_GROUPS]; /* integers */
};

static void put_scale(const struct state *t, float *scale, float *off)
{
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++) {
		scale[l] = t->d[l] * t->s[l];
		if (off)
			off[l] = t->dmin[l] * t->m[l];
	}
}

static double total(const float *err, struct span b)
{
	double sum = 0;

	for (int l = b.at; l < b.at + b.n; l++)
		sum += err[l];
	return sum;
}

struct search {
	const struct lmi_search_simd_groups_ops *v;
	const struct lmi_search_superblock_shape *k;
	const struct lmi_search_simd_batch *b;
	struct lmi_search_levels l;
	struct span block[LMI_SEARCH_SIMD_BLOCKS];
	int n_block;
	struct state now, best;
	double best_err[LMI_SEARCH_SIMD_BLOCKS];
};

/* Tries the integers s + ds, m + dm in all lanes; keeps them where the error is lower. */
static void try_integers(struct search *f, const struct state *from, float ds, float dm,
			 struct state *to, float *least)
{
	ALIGNED float scale[LMI_SEARCH_SIMD_GROUPS], off[LMI_SEARCH_SIMD_GROUPS],
		err[LMI_SEARCH_SIMD_GROUPS];
	struct state t = *from;

	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++) {
		t.s[l] = lmi_search_fit_nearest(from->s[l] + ds, (float)f->k->s_lo,
						(float)f->k->s_hi);
		t.m[l] = lmi_search_fit_nearest(from->m[l] + dm, 0, (float)f->k->s_hi);
	}
	put_scale(&t, scale, off);
	if (f->k->s_lo < 0)
		f->v->err(f->b, &f->l, scale, err);
	else
		f->v->err_affine(f->b, f->l.hi, scale, off, err);
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++) {
		if (err[l] >= least[l])
			continue;
		least[l] = err[l];
		to->s[l] = t.s[l];
		to->m[l] = t.m[l];
	}
}

/* Finds the best integers near the current ones; err is set to the remaining errors. */
static void improve_integers(struct search *f, float *err)
{
	const struct state from = f->now;

	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++)
		err[l] = INFINITY;
	try_integers(f, &from, 0, 0, &f->now, err);
	for (int ds = -1; ds <= 1; ds++)
		for (int dm = f->k->s_lo < 0 ? 0 : -1; dm <= (f->k->s_lo < 0 ? 0 : 1); dm++)
			if (ds || dm)
				try_integers(f, &from, (float)ds, (float)dm, &f->now, err);
}

static void keep_better(struct search *f, const float *err)
{
	for (int i = 0; i < f->n_block; i++) {
		struct span b = f->block[i];
		double sum = total(err, b);

		if (sum >= f->best_err[i])
			continue;
		f->best_err[i] = sum;
		for (int l = b.at; l < b.at + b.n; l++) {
			f->best.d[l] = f->now.d[l];
			f->best.dmin[l] = f->now.dmin[l];
			f->best.s[l] = f->now.s[l];
			f->best.m[l] = f->now.m[l];
		}
	}
}

static void set_block(struct search *f, int i, float d, float dmin)
{
	struct span b = f->block[i];

	for (int l = b.at; l < b.at + b.n; l++) {
		f->now.d[l] = d;
		f->now.dmin[l] = dmin;
	}
}

/* Solves for the best scales of the blocks, given the codes. */
static void solve_scale(struct search *f)
{
	ALIGNED float scale[LMI_SEARCH_SIMD_GROUPS], xv[LMI_SEARCH_SIMD_GROUPS],
		vv[LMI_SEARCH_SIMD_GROUPS];

	put_scale(&f->now, scale, NULL);
	f->v->sums(f->b, &f->l, scale, xv, vv);
	for (int i = 0; i < f->n_block; i++) {
		struct span b = f->block[i];
		double x = 0, v = 0;

		for (int l = b.at; l < b.at + b.n; l++) {
			x += (double)xv[l] * f->now.s[l];
			v += (double)vv[l] * f->now.s[l] * f->now.s[l];
		}
		set_block(f, i, v > 0 ? lmi_search_fit_f16((float)(x / v)) : f->now.d[b.at], 0);
	}
}

/* Sums over the values of each lane that do not depend on codes. */
struct constants {
	double w[LMI_SEARCH_SIMD_GROUPS], x[LMI_SEARCH_SIMD_GROUPS];
};

static void solve_affine(struct search *f, const struct constants *c)
{
	ALIGNED float scale[LMI_SEARCH_SIMD_GROUPS], off[LMI_SEARCH_SIMD_GROUPS],
		q[LMI_SEARCH_SIMD_GROUPS], qq[LMI_SEARCH_SIMD_GROUPS], xq[LMI_SEARCH_SIMD_GROUPS];

	put_scale(&f->now, scale, off);
	f->v->sums_affine(f->b, f->l.hi, scale, off, q, qq, xq);
	for (int i = 0; i < f->n_block; i++) {
		struct span b = f->block[i];
		double vv = 0, vm = 0, mm = 0, xv = 0, xm = 0, det;
		float d = f->now.d[b.at], dmin = f->now.dmin[b.at];

		for (int l = b.at; l < b.at + b.n; l++) {
			double s = f->now.s[l], m = -f->now.m[l];

			vv += s * s * qq[l];
			vm += s * m * q[l];
			mm += m * m * c->w[l];
			xv += s * xq[l];
			xm += m * c->x[l];
		}
		det = vv * mm - vm * vm;
		if (det > 1e-9 * vv * mm) {
			d = lmi_search_fit_f16((float)((xv * mm - xm * vm) / det));
			dmin = lmi_search_fit_f16((float)((xm * vv - xv * vm) / det));
		} else if (vv > 0) {
			d = lmi_search_fit_f16((float)(xv / vv));
		}
		if (d < 0 || dmin < 0) {
			d = f->now.d[b.at];
			dmin = f->now.dmin[b.at];
		}
		set_block(f, i, d, dmin);
	}
}

static void begin(struct search *f, const struct lmi_search_simd_groups_ops *v,
		  const struct lmi_search_superblock_shape *k,
		  const struct lmi_search_simd_batch *b, int n)
{
	*f = (struct search){.v = v, .k = k, .b = b, .l = lmi_search_simd_levels(k), .n_block = n};
	for (int i = 0; i < n; i++) {
		f->block[i] = (struct span){i * LMI_SEARCH_SUPERBLOCK / k->group,
					    LMI_SEARCH_SUPERBLOCK / k->group};
		f->best_err[i] = INFINITY;
	}
}

/* Sets the integers of the groups for block scales d and dmin; a, b: the groups' own best
 * values. */
static void start(struct search *f, int i, float d, float dmin, const float *a, const float *b)
{
	float id, im;

	d = lmi_search_fit_f16(d);
	dmin = lmi_search_fit_f16(dmin);
	set_block(f, i, d, dmin);
	id = d != 0 ? 1 / d : 0;
	im = dmin > 0 ? 1 / dmin : 0;
	for (int l = f->block[i].at; l < f->block[i].at + f->block[i].n; l++) {
		f->now.s[l] =
			lmi_search_fit_nearest(a[l] * id, (float)f->k->s_lo, (float)f->k->s_hi);
		f->now.m[l] = lmi_search_fit_nearest(b[l] * im, 0, (float)f->k->s_hi);
	}
}

static void finish(struct search *f, struct lmi_search_superblock *out)
{
	ALIGNED float scale[LMI_SEARCH_SIMD_GROUPS], off[LMI_SEARCH_SIMD_GROUPS];
	int8_t q[LMI_SEARCH_SIMD_GROUPS * LMI_SEARCH_SIMD_VALUES];

	put_scale(&f->best, scale, off);
	f->v->codes(f->b, &f->l, scale, off, q);
	for (int i = 0; i < f->n_block; i++) {
		struct span b = f->block[i];

		out[i].d = f->best.d[b.at];
		out[i].dmin = f->best.dmin[b.at];
		for (int g = 0; g < b.n; g++) {
			int l = b.at + g;

			out[i].s[g] = (int16_t)f->best.s[l];
			out[i].m[g] = (int16_t)f->best.m[l];
		}
		memcpy(out[i].q, q + b.at * f->k->group, LMI_SEARCH_SUPERBLOCK);
	}
}

static void search_scale(const struct lmi_search_simd_groups_ops *v,
			 const struct lmi_search_superblock_shape *k,
			 const struct lmi_search_simd_batch *b, int n,
			 struct lmi_search_superblock *out)
{
	ALIGNED float a[LMI_SEARCH_SIMD_GROUPS], err[LMI_SEARCH_SIMD_GROUPS];
	const float none[LMI_SEARCH_SIMD_GROUPS] = {0};
	struct search f;
	float end[2], step[2] = {-1, 1};

	begin(&f, v, k, b, n);
	end[0] = f.l.lo;
	end[1] = f.l.hi;
	if (k->book) {
		step[0] = -f.l.step[0];
		step[1] = f.l.step[14];
	}
	v->best_candidates(b, &f.l, end, step, -1, LMI_SEARCH_FIT_CANDIDATES, a);
	for (int side = 0; side < 2; side++) {
		float top = (float)(side ? k->s_hi : k->s_lo);

		for (int i = 0; i < n; i++)
			start(&f, i, lmi_search_fit_peak(a + f.block[i].at, f.block[i].n) / top, 0, a, none);
		for (int round = 0; round < N_ROUNDS; round++) {
			improve_integers(&f, err);
			keep_better(&f, err);
			if (round + 1 < N_ROUNDS)
				solve_scale(&f);
		}
	}
	finish(&f, out);
}

static void search_affine(const struct lmi_search_simd_groups_ops *v,
			  const struct lmi_search_superblock_shape *k,
			  const struct lmi_search_simd_batch *b, int n,
			  struct lmi_search_superblock *out)
{
	ALIGNED float a[LMI_SEARCH_SIMD_GROUPS], m[LMI_SEARCH_SIMD_GROUPS],
		err[LMI_SEARCH_SIMD_GROUPS];
	struct constants c = {{0}, {0}};
	struct search f;

	begin(&f, v, k, b, n);
	for (int i = 0; i < b->n; i++) {
		for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++) {
			float w = b->weighted ? b->w[i][l] : 1;

			c.w[l] += w;
			c.x[l] += (double)w * b->x[i][l];
		}
	}
	v->slopes(b, (float)k->q_hi, LMI_SEARCH_FIT_CANDIDATES, a, m);
	for (int try = 0; try < 2; try++) {
		float top = (float)k->s_hi * (try ? 0.84f : 1);

		for (int i = 0; i < n; i++)
			start(&f, i, lmi_search_fit_peak(a + f.block[i].at, f.block[i].n) / top,
			      lmi_search_fit_peak(m + f.block[i].at, f.block[i].n) / top, a, m);
		for (int round = 0; round < N_ROUNDS; round++) {
			improve_integers(&f, err);
			keep_better(&f, err);
			if (round + 1 < N_ROUNDS)
				solve_affine(&f, &c);
		}
	}
	finish(&f, out);
}

/* Fits blocks that are not ordinary one by one, ordinary blocks together. */
static void fit_blocks(const struct lmi_search_simd_groups_ops *v,
		       const struct lmi_search_superblock_shape *k, const float *src,
		       const float *importance, int n, bool affine,
		       struct lmi_search_superblock *out)
{
	int per = LMI_SEARCH_SIMD_GROUPS * k->group /
		  LMI_SEARCH_SUPERBLOCK; /* number of blocks that fill the lanes */
	/* with few codes, superblock_search.c's search of all scales is best for values of one
	 * sign */
	bool few = !affine && !k->book && k->q_hi - k->q_lo < 8;
	float x[LMI_SEARCH_SUPERBLOCK], w[LMI_SEARCH_SIMD_BLOCKS * LMI_SEARCH_SUPERBLOCK];
	struct lmi_search_simd_batch b;

	for (int i = 0; i < n;) {
		int run = 0;

		while (run < per && i + run < n &&
		       is_ordinary(src + (i + run) * LMI_SEARCH_SUPERBLOCK, LMI_SEARCH_SUPERBLOCK,
				   few))
			run++;
		if (!run) {
			lmi_search_fit_load(src, importance, (size_t)i * LMI_SEARCH_SUPERBLOCK, x,
					    w, LMI_SEARCH_SUPERBLOCK);
			if (affine)
				lmi_search_superblock_affine(k, x, w, &out[i]);
			else
				lmi_search_superblock_scale(k, x, w, &out[i]);
			i++;
			continue;
		}
		for (int j = 0; importance && j < run; j++)
			lmi_search_fit_weights(importance + (i + j) * LMI_SEARCH_SUPERBLOCK,
					       w + j * LMI_SEARCH_SUPERBLOCK,
					       LMI_SEARCH_SUPERBLOCK);
		lmi_search_simd_load(v, &b, src + i * LMI_SEARCH_SUPERBLOCK, importance ? w : NULL,
				     run * LMI_SEARCH_SUPERBLOCK / k->group, k->group);
		if (affine)
			search_affine(v, k, &b, run, out + i);
		else
			search_scale(v, k, &b, run, out + i);
		i += run;
	}
}

void lmi_search_simd_scale(const struct lmi_search_simd_groups_ops *lanes,
			   const struct lmi_search_superblock_shape *k, const float *src,
			   const float *importance, int n, struct lmi_search_superblock *out)
{
	fit_blocks(lanes ? lanes : lmi_search_simd_groups_variants()[0], k, src, importance, n,
		   false, out);
}

void lmi_search_simd_affine(const struct lmi_search_simd_groups_ops *lanes,
			    const struct lmi_search_superblock_shape *k, const float *src,
			    const float *importance, int n, struct lmi_search_superblock *out)
{
	fit_blocks(lanes ? lanes : lmi_search_simd_groups_variants()[0], k, src, importance, n,
		   true, out);
}

void lmi_search_simd_encode(lmi_search_simd_fn fit, const struct lmi_search_superblock_shape *shape,
			    const float *src, const float *importance, size_t n, void *dst,
			    size_t block_bytes,
			    void (*pack)(void *dst, const struct lmi_search_superblock *k))
{
	struct lmi_search_superblock k[LMI_SEARCH_SIMD_BLOCKS];
	char *b = dst;

	while (n) {
		int m = n / LMI_SEARCH_SUPERBLOCK < LMI_SEARCH_SIMD_BLOCKS
				? (int)(n / LMI_SEARCH_SUPERBLOCK)
				: LMI_SEARCH_SIMD_BLOCKS;

		fit(NULL, shape, src, importance, m, k);
		for (int i = 0; i < m; i++, b += block_bytes)
			pack(b, &k[i]);
		src += m * LMI_SEARCH_SUPERBLOCK;
		importance = importance ? importance + m * LMI_SEARCH_SUPERBLOCK : NULL;
		n -= (size_t)m * LMI_SEARCH_SUPERBLOCK;
	}
}
