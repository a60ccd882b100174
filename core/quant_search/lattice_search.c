/* SPDX-License-Identifier: MIT
 *
 * Codebook search for grids; lattice_search.h explains the idea.  Values and weights are scaled to
 * a peak of 1, so that floats neither overflow nor underflow.  A "unit" is 8 values: one cell of 8
 * or two of 4.  It has up to two alternatives: which cell flips a sign to make the number of minus
 * signs even, or the sign of the shift.  Each cell of an alternative has an envelope. */
#include "core/quant_search/lattice_search.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/quant_search/scale_search.h"

#define N         256
#define N_UNITS   (N / 8)
#define MAX_CODES 2048
#define N_CORNERS 24 /* maximum corners of an envelope */
#define N_CAND    32 /* candidate scales of the block that are tried first */
#define N_ROUNDS  6  /* rounds of improving the best candidate */
#define SHIFT     0.125f

/* Lower envelope: point[i] is best from scale from[i] on. */
struct envelope {
	int n;
	float from[N_CORNERS], a[N_CORNERS], b[N_CORNERS];
	uint16_t point[N_CORNERS];
};

struct unit {
	int n_alt;
	bool odd;                  /* the number of negative values is odd and must be even */
	float wx[8];               /* w |x| (w x for types with shifts) */
	struct envelope env[2][2]; /* cell c without [0] and with [1] a flipped sign or shift */
};

struct search {
	const struct lmi_search_lattice_shape *k;
	int n_groups, units_in_group, n_cells;
	struct unit unit[N_UNITS];
	float like[16];             /* the scale that each group would choose alone */
	float level[MAX_CODES * 8]; /* coordinate j of code p at [j * n_codes + p] */
	float a[MAX_CODES], b[MAX_CODES], s[MAX_CODES];
};

/* y[p] += f * level[p], or f * level[p]^2, for 256 codes.  The fixed count lets compilers vectorise
 * the loop. */
static void add_scaled(float *restrict y, const float *restrict level, float f)
{
	for (int p = 0; p < 256; p++)
		y[p] += f * level[p];
}

static void add_squared(float *restrict y, const float *restrict level, float f)
{
	for (int p = 0; p < 256; p++)
		y[p] += f * (level[p] * level[p]);
}

static void take_min(float *restrict y, const float *restrict level, float f)
{
	for (int p = 0; p < 256; p++)
		y[p] = f * level[p] < y[p] ? f * level[p] : y[p];
}

static void unpack_levels(struct search *s)
{
	const struct lmi_search_lattice_shape *k = s->k;

	for (int j = 0; j < k->cell; j++)
		for (int p = 0; p < k->n_codes; p++)
			s->level[j * k->n_codes + p] =
				k->level[k->codes[p] >> k->bits * j & ((1 << k->bits) - 1)];
}

/* Computes A and B of every point for one cell; s[] gets the sum of w g, for shifts. */
static void score_points(struct search *s, const float *wx, const float *w)
{
	const struct lmi_search_lattice_shape *k = s->k;
	size_t bytes = (size_t)k->n_codes * sizeof(float);

	memset(s->a, 0, bytes);
	memset(s->b, 0, bytes);
	memset(s->s, 0, bytes);
	for (int j = 0; j < k->cell; j++) {
		const float *level = s->level + j * k->n_codes;

		for (int p = 0; p < k->n_codes; p += 256) {
			add_scaled(s->a + p, level + p, wx[j]);
			add_squared(s->b + p, level + p, w[j]);
			if (k->sign >= LMI_SEARCH_SHIFT_GROUP)
				add_scaled(s->s + p, level + p, w[j]);
		}
	}
}

/* Changes the scores to those with one sign flipped, the one that costs least. */
static void flip_scores(struct search *s, const float *wx)
{
	const struct lmi_search_lattice_shape *k = s->k;

	for (int p = 0; p < k->n_codes; p += 256) {
		for (int i = p; i < p + 256; i++)
			s->s[i] = wx[0] * s->level[i];
		for (int j = 1; j < k->cell; j++)
			take_min(s->s + p, s->level + j * k->n_codes + p, wx[j]);
		add_scaled(s->a + p, s->s + p, -2);
	}
}

/* Changes the scores to those of the grid moved by `shift`. */
static void shift_scores(struct search *s, const float *wx, const float *w, float shift)
{
	float sum_wx = 0, sum_w = 0;

	for (int j = 0; j < s->k->cell; j++) {
		sum_wx += wx[j];
		sum_w += w[j];
	}
	for (int p = 0; p < s->k->n_codes; p += 256) {
		add_scaled(s->b + p, s->s + p, 2 * shift);
		for (int i = p; i < p + 256; i++) {
			s->a[i] += shift * sum_wx;
			s->b[i] += shift * shift * sum_w;
		}
	}
}

static void add_corner(const struct search *s, struct envelope *e, float from, int point)
{
	e->from[e->n] = from;
	e->a[e->n] = s->a[point];
	e->b[e->n] = s->b[point];
	e->point[e->n] = (uint16_t)point;
	e->n++;
}

/* Walks from corner to corner between scales lo and hi: the next line is the one with a smaller
 * slope that crosses the current line first. */
static void make_envelope(const struct search *s, float lo, float hi, struct envelope *e)
{
	int n = s->k->n_codes, at = 0;

	e->n = 0;
	for (int p = 1; p < n; p++)
		if (lo * s->b[p] - 2 * s->a[p] < lo * s->b[at] - 2 * s->a[at])
			at = p;
	add_corner(s, e, 0, at);
	while (e->n < N_CORNERS) {
		float a = s->a[at], b = s->b[at], first = hi;
		int next = -1;

		for (int p = 0; p < n; p++) {
			/* crosses before `first`; written without the division */
			if (s->b[p] < b && 2 * (a - s->a[p]) < first * (b - s->b[p])) {
				first = 2 * (a - s->a[p]) / (b - s->b[p]);
				next = p;
			}
		}
		if (next < 0)
			return;
		add_corner(s, e, first, next);
		at = next;
	}
}

static int corner_at(const struct envelope *e, float t)
{
	int i = e->n - 1;

	while (i > 0 && e->from[i] > t)
		i--;
	return i;
}

/* Returns the envelope of cell c of a unit in alternative alt. */
static const struct envelope *env_of(const struct search *s, const struct unit *u, int alt, int c)
{
	if (s->k->sign >= LMI_SEARCH_SHIFT_GROUP)
		return &u->env[c][alt];
	return &u->env[c][u->odd && alt == c];
}

struct sums {
	double a, b;
};

static double cost(struct sums v, double t)
{
	return t * (t * v.b - 2 * v.a);
}

static struct sums unit_sums(const struct search *s, const struct unit *u, int alt, float t)
{
	struct sums v = {0, 0};

	for (int c = 0; c < s->n_cells; c++) {
		const struct envelope *e = env_of(s, u, alt, c);
		int i = corner_at(e, t);

		v.a += e->a[i];
		v.b += e->b[i];
	}
	return v;
}

/* Returns the better alternative of a unit for scale t. */
static int best_alt(const struct search *s, const struct unit *u, float t)
{
	return u->n_alt > 1 && cost(unit_sums(s, u, 1, t), t) < cost(unit_sums(s, u, 0, t), t);
}

/* Returns A and B of a group at scale t; *alt is set to the shift of the group. */
static struct sums group_sums(const struct search *s, int g, float t, int *alt)
{
	const struct unit *u = s->unit + g * s->units_in_group;
	int common = s->k->sign == LMI_SEARCH_SHIFT_GROUP;
	struct sums v[2] = {{0, 0}, {0, 0}};

	for (int i = 0; i < s->units_in_group; i++) {
		for (int k = 0; k <= common; k++) {
			struct sums x = unit_sums(s, &u[i], common ? k : best_alt(s, &u[i], t), t);

			v[k].a += x.a;
			v[k].b += x.b;
		}
	}
	*alt = common && cost(v[1], t) < cost(v[0], t);
	return v[*alt];
}

static float scale_of(const struct search *s, int i)
{
	return s->k->scale0 + s->k->step * (float)i;
}

/* The scales of a block, their cost (minus a constant), and the block scale that is best for the
 * points chosen with them. */
struct choice {
	float d, next;
	double cost;
	uint8_t s[16];
};

/* Chooses the best scale of each group for block scale d. */
static struct choice choose(const struct search *s, float d)
{
	struct choice c = {.d = d};
	double num = 0, den = 0;
	int alt, last = s->k->n_scales - 1;

	for (int g = 0; g < s->n_groups; g++) {
		double least = INFINITY;
		struct sums best = {0, 0};

		for (int i = 0; i <= last; i++) {
			float t = d * scale_of(s, i);
			struct sums v;

			/* too far from the group's own choice, and not the nearest available
			 * scale */
			if ((i < last && t < 0.4f * s->like[g]) || (i && t > 2 * s->like[g]))
				continue;
			v = group_sums(s, g, t, &alt);
			if (cost(v, t) < least) {
				least = cost(v, t);
				best = v;
				c.s[g] = (uint8_t)i;
			}
		}
		c.cost += least;
		num += best.a * scale_of(s, c.s[g]);
		den += best.b * scale_of(s, c.s[g]) * scale_of(s, c.s[g]);
	}
	c.next = den > 0 && num > 0 ? (float)(num / den) : d;
	return c;
}

static bool keep_best(const struct search *s, float d, struct choice *best)
{
	struct choice c = choose(s, d);

	if (c.cost >= best->cost)
		return false;
	*best = c;
	return true;
}

static void fill_unit(struct search *s, struct unit *u, const float *x, const float *w, float lo,
		      float hi)
{
	const struct lmi_search_lattice_shape *k = s->k;
	bool shifts = k->sign >= LMI_SEARCH_SHIFT_GROUP;
	int n_minus = 0;

	for (int j = 0; j < 8; j++) {
		n_minus += x[j] < 0;
		u->wx[j] = w[j] * (shifts ? x[j] : fabsf(x[j]));
	}
	u->odd = k->sign == LMI_SEARCH_SIGN_EVEN && n_minus % 2;
	u->n_alt = shifts || (u->odd && s->n_cells > 1) ? 2 : 1;
	for (int c = 0; c < s->n_cells; c++) {
		const float *wx = u->wx + c * k->cell, *cw = w + c * k->cell;

		score_points(s, wx, cw);
		if (shifts)
			shift_scores(s, wx, cw, SHIFT);
		make_envelope(s, lo, hi, &u->env[c][0]);
		if (shifts) {
			score_points(s, wx, cw);
			shift_scores(s, wx, cw, -SHIFT);
			make_envelope(s, lo, hi, &u->env[c][1]);
		} else if (u->odd) {
			flip_scores(s, wx);
			make_envelope(s, lo, hi, &u->env[c][1]);
		}
	}
}

/* Computes the envelopes of all units; returns the greatest scale that a group would choose
 * alone. */
static float fill_all(struct search *s, const float *x, const float *w)
{
	const struct lmi_search_lattice_shape *k = s->k;
	float greatest = 0, top_level = 0;
	int alt;

	for (int i = 0; i < 8; i++)
		top_level = fmaxf(top_level, k->level[i]);
	for (int g = 0; g < s->n_groups; g++) {
		float peak = 1e-6f, like = 0;
		double least = INFINITY;

		for (int i = 0; i < k->group; i++)
			peak = fmaxf(peak, fabsf(x[g * k->group + i]));
		peak /= top_level;
		for (int i = 0; i < s->units_in_group; i++) {
			int at = g * k->group + 8 * i;

			fill_unit(s, &s->unit[g * s->units_in_group + i], x + at, w + at,
				  0.25f * peak, 1.8f * peak);
		}
		for (int i = 0; i < 24; i++) {
			float t = peak * (0.25f + 0.055f * (float)i);
			double c = cost(group_sums(s, g, t, &alt), t);

			if (c < least) {
				least = c;
				like = t;
			}
		}
		s->like[g] = like;
		greatest = fmaxf(greatest, like);
	}
	return greatest;
}

/* Writes points, signs and shifts of a group for its scale. */
static void write_group(const struct search *s, int g, float t, const float *x,
			struct lmi_search_lattice_block *out)
{
	int common;

	(void)group_sums(s, g, t, &common);
	for (int i = 0; i < s->units_in_group; i++) {
		int at = g * s->units_in_group + i;
		const struct unit *u = &s->unit[at];
		int alt = s->k->sign == LMI_SEARCH_SHIFT_GROUP ? common : best_alt(s, u, t);

		out->minus[at] = (uint8_t)alt;
		out->signs[at] = 0;
		for (int j = 0; j < 8; j++)
			out->signs[at] |= (uint8_t)((x[8 * at + j] < 0) << j);
		for (int c = 0; c < s->n_cells; c++) {
			const struct envelope *e = env_of(s, u, alt, c);
			int p = e->point[corner_at(e, t)], flip = 0;

			out->point[at * s->n_cells + c] = (uint16_t)p;
			if (!u->odd || alt != c)
				continue;
			for (int j = 1; j < s->k->cell; j++)
				if (u->wx[c * s->k->cell + j] * s->level[j * s->k->n_codes + p] <
				    u->wx[c * s->k->cell + flip] *
					    s->level[flip * s->k->n_codes + p])
					flip = j;
			out->signs[at] ^= (uint8_t)(1 << (c * s->k->cell + flip));
		}
	}
}

/* Returns the peak of |v| and writes v / peak. */
static float scale_to_one(const float *v, float *to)
{
	float peak = 0;

	for (int i = 0; i < N; i++)
		peak = fmaxf(peak, fabsf(v[i]));
	for (int i = 0; i < N; i++)
		to[i] = peak > 1e-30f ? v[i] / peak : 0;
	return peak > 1e-30f ? peak : 0;
}

/* Returns a block scale rounded as it will be stored, in scaled units. */
static float stored(float d, float peak)
{
	return lmi_search_fit_f16(d * peak) / peak;
}

void lmi_search_lattice(const struct lmi_search_lattice_shape *shape, const float *x,
			const float *w, struct lmi_search_lattice_block *out)
{
	struct search s = {.k = shape,
			   .n_groups = N / shape->group,
			   .units_in_group = shape->group / 8,
			   .n_cells = 8 / shape->cell};
	float nx[N], nw[N], peak = scale_to_one(x, nx), top;
	struct choice best = {0};

	memset(out, 0, sizeof(*out));
	(void)scale_to_one(w, nw);
	if (peak <= 0)
		return;
	unpack_levels(&s);
	top = fill_all(&s, nx, nw) / scale_of(&s, shape->n_scales - 1);
	for (int i = 0; i < N_CAND; i++)
		keep_best(&s, stored(top * (0.4f + 0.035f * (float)i), peak), &best);
	for (int round = 0; round < N_ROUNDS; round++) {
		float d = stored(best.next, peak);

		if (d == best.d || !keep_best(&s, d, &best))
			break;
	}
	memcpy(out->s, best.s, sizeof(out->s));
	out->d = lmi_search_fit_f16(best.d * peak);
	for (int g = 0; g < s.n_groups; g++)
		write_group(&s, g, best.d * scale_of(&s, out->s[g]), nx, out);
}
