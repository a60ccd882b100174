/* SPDX-License-Identifier: MIT
 *
 * Nearest-point search in trellis codebooks.  Points are sorted into cells, by the side of the cuts
 * on which each of their values lies.  A search scans the cell of its target and the cells beyond
 * the nearest cuts, as long as those cuts are nearer than the best point so far.  The tables are
 * built for each row, which is cheap compared with the searches; if there is no memory for them,
 * every search generates all points again. */
#include "core/quant_search/trellis.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

#define N_CELL 256
#define CHUNK  64 /* points processed side by side */
#define NEAR   4  /* number of cuts that the final search crosses, in all combinations */
#define QUICK  1  /* number of cuts to cross while scales are compared */

struct cells {
	const struct lmi_search_trellis_shape *t;
	uint32_t first, n;
	uint16_t *index; /* [n] indices of the points, ordered by cell; NULL: no memory */
	float *v;        /* [dim][n] */
	uint32_t begin[N_CELL + 1];
};

struct search {
	struct cells c[2];
};

static void point(const struct cells *c, uint32_t index, float *v)
{
	uint32_t x = c->first + index;

	for (int d = 0; d < c->t->dim; d++) {
		int value = lmi_search_trellis_next(&x);

		v[d] = (float)(c->t->magnitude && value < 0 ? -value : value);
	}
}

static int level(const struct lmi_search_trellis_shape *t, float v)
{
	int l = 0;

	while (l < t->n_cut && v >= t->cut[l])
		l++;
	return l;
}

static uint32_t cell_of(const struct lmi_search_trellis_shape *t, const float *v)
{
	uint32_t cell = 0;

	for (int d = 0; d < t->dim; d++)
		cell = cell * (uint32_t)(t->n_cut + 1) + (uint32_t)level(t, v[d]);
	return cell;
}

static void cells_init(struct cells *c, const struct lmi_search_trellis_shape *t, uint32_t first)
{
	uint32_t at[N_CELL];
	float v[8];

	*c = (struct cells){.t = t, .first = first, .n = 1u << t->bits};
	c->index = lmi_alloc(c->n, sizeof(*c->index));
	c->v = lmi_alloc((size_t)c->n * (size_t)t->dim, sizeof(*c->v));
	if (!c->index || !c->v) {
		lmi_free(c->index);
		c->index = NULL;
		return;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		point(c, i, v);
		c->begin[cell_of(t, v) + 1]++;
	}
	for (int i = 0; i < N_CELL; i++) {
		c->begin[i + 1] += c->begin[i];
		at[i] = c->begin[i];
	}
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t to;

		point(c, i, v);
		to = at[cell_of(t, v)]++;
		c->index[to] = (uint16_t)i;
		for (int d = 0; d < t->dim; d++)
			c->v[(size_t)d * c->n + to] = v[d];
	}
}

static void cells_fini(struct cells *c)
{
	lmi_free(c->index);
	lmi_free(c->v);
}

struct nearest {
	float err;
	uint32_t at; /* position in cell order */
};

static void scan(const struct cells *c, uint32_t cell, const float *u, const float *w,
		 struct nearest *best)
{
	for (uint32_t i = c->begin[cell]; i < c->begin[cell + 1]; i += CHUNK) {
		uint32_t left = c->begin[cell + 1] - i, n = left < CHUNK ? left : CHUNK;
		float err[CHUNK] = {0};

		for (int d = 0; d < c->t->dim; d++) {
			const float *v = c->v + (size_t)d * c->n + i;

			for (uint32_t k = 0; k < n; k++)
				err[k] += w[d] * (u[d] - v[k]) * (u[d] - v[k]);
		}
		for (uint32_t k = 0; k < n; k++)
			if (err[k] < best->err)
				*best = (struct nearest){.err = err[k], .at = i + k};
	}
}

/* A cut that has not been crossed yet. */
struct crossing {
	float cost; /* w (distance)^2 */
	int32_t step; /* change of the cell index */
};

/* Finds the nearest cut of each dimension; writes the `n` with the lowest cost. */
static void find_crossings(const struct lmi_search_trellis_shape *t, const float *u, const float *w,
			   int n, struct crossing *out)
{
	int32_t step = 1;
	int have = 0;

	for (int d = t->dim - 1; d >= 0; d--, step *= t->n_cut + 1) {
		int l = level(t, u[d]), at;
		float down = l ? u[d] - t->cut[l - 1] : INFINITY;
		float up = l < t->n_cut ? t->cut[l] - u[d] : INFINITY;
		float dist = down < up ? down : up;
		struct crossing x = {.cost = w[d] * dist * dist, .step = down < up ? -step : step};

		for (at = have < n ? have++ : n; at > 0 && out[at - 1].cost > x.cost; at--)
			if (at < n)
				out[at] = out[at - 1];
		if (at < n)
			out[at] = x;
	}
}

static uint32_t find(const struct cells *c, const float *u, const float *w, int n_crossing)
{
	struct nearest best = {.err = INFINITY};
	struct crossing crossing[NEAR];
	uint32_t cell = cell_of(c->t, u);

	scan(c, cell, u, w, &best);
	find_crossings(c->t, u, w, n_crossing, crossing);
	for (int mask = 1; mask < 1 << n_crossing; mask++) {
		float cost = 0;
		int32_t to = (int32_t)cell;

		for (int i = 0; i < n_crossing; i++) {
			cost += mask >> i & 1 ? crossing[i].cost : 0;
			to += mask >> i & 1 ? crossing[i].step : 0;
		}
		if (cost < best.err)
			scan(c, (uint32_t)to, u, w, &best);
	}
	return c->index[best.at];
}

static uint32_t find_exhaustive(const struct cells *c, const float *u, const float *w)
{
	float best = INFINITY, v[8];
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		float err = 0;

		point(c, i, v);
		for (int d = 0; d < c->t->dim; d++)
			err += w[d] * (u[d] - v[d]) * (u[d] - v[d]);
		at = err < best ? i : at;
		best = err < best ? err : best;
	}
	return at;
}

static void codes(const struct lmi_search_codebook *f, const float *x, const float *w, int n,
		  float inv, int second, float *v, uint16_t *q)
{
	const struct search *s = lmi_search_codebook_ctx(f);
	const struct cells *c = &s->c[second];
	int dim = c->t->dim;

	for (int i = 0; i < n; i += dim) {
		unsigned minus = 0;
		uint32_t index;
		float u[8];

		for (int d = 0; d < dim; d++) {
			u[d] = x[i + d] * inv;
			u[d] = fabsf(u[d]) < 1e6f ? u[d] : 0; /* catches NaN as well */
			if (c->t->magnitude && u[d] < 0) {
				u[d] = -u[d];
				minus |= 1u << d;
			}
		}
		index = c->index ? find(c, u, w + i, q ? NEAR : QUICK)
				    : find_exhaustive(c, u, w + i);
		point(c, index, v + i);
		for (int d = 0; d < dim; d++)
			v[i + d] = minus >> d & 1 ? -v[i + d] : v[i + d];
		if (q) {
			q[i] = (uint16_t)index;
			q[i + 1] = (uint16_t)minus;
		}
	}
}

/* The range of the points except outliers, for the candidate scales. */
static const int8_t range[2] = {-100, 100};

float lmi_search_trellis_row(const struct lmi_search_trellis_shape *t,
			     const struct lmi_search_codebook_shape *shape, const float *src,
			     const float *importance, size_t n, void *dst, size_t block_bytes,
			     lmi_search_codebook_pack_fn pack)
{
	struct lmi_search_codebook_shape k = *shape;
	struct search s;
	float d;

	memset(&s, 0, sizeof(s));
	for (int i = 0; i < t->n_codebook; i++)
		cells_init(&s.c[i], t, i ? LMI_SEARCH_TRELLIS_SECOND : LMI_SEARCH_TRELLIS_FIRST);
	k.group = 32;
	k.n_code = 2;
	k.book = range;
	k.n_book = t->n_codebook;
	k.code = codes;
	k.one_sign = t->magnitude;
	k.cand_lo = 0.7f;
	k.cand_hi = 1.5f;
	k.n_cand = 4;
	k.n_d = 3;
	k.ctx = &s;
	d = lmi_search_codebook_row(&k, src, importance, n, dst, block_bytes, pack);
	for (int i = 0; i < t->n_codebook; i++)
		cells_fini(&s.c[i]);
	return d;
}
