/* SPDX-License-Identifier: MIT
 *
 * Rope tables.  Frequencies, context extension and the assignment of pairs to planes are known only
 * here.  Everything is computed in double; backends see a frequency and a plane for each pair.
 * YaRN: arXiv 2309.00071, equations 17 to 23; the share of the unscaled frequency falls from 1 at
 * the pair that rotates beta_fast times in the original context to 0 at the pair that rotates
 * beta_slow times. */
#include <math.h>

#include "core/base/arena.h"
#include "core/plan/plan_priv.h"

#define MAX_ROT 65536u

/* Returns the pair (a real number) that rotates `turns` times in n_ctx positions. */
static double pair_of_turns(const struct lmd_rope_params *p, double turns)
{
	return p->n_rot * log(p->n_ctx_orig / (turns * 2 * M_PI)) / (2 * log(p->base));
}

struct ramp {
	double low, high;
};

static struct ramp yarn_ramp(const struct lmd_rope_params *p)
{
	struct ramp r = {
		.low = fmax(0, floor(pair_of_turns(p, p->beta_fast))),
		.high = fmin(p->n_rot - 1, ceil(pair_of_turns(p, p->beta_slow))),
	};

	return r;
}

static double frequency(const struct lmd_rope_params *p, const struct ramp *ramp, uint32_t pair)
{
	uint32_t columns = p->n_rot, i = pair;
	double plain, scaled, share;

	if (p->sections_kind == LMD_SECTIONS_2D) { /* two ropes of half the columns */
		columns = p->n_rot / 2;
		i = pair % (columns / 2);
	}
	plain = pow(p->base, -2.0 * i / columns);
	if (p->n_factors)
		plain /= (double)p->factors[pair];
	scaled = plain * p->freq_scale;
	if (p->ext_factor == 0)
		return scaled;
	share = (i - ramp->low) / fmax(0.001, ramp->high - ramp->low);
	share = (1 - fmin(1, fmax(0, share))) * p->ext_factor;
	return scaled * (1 - share) + plain * share;
}

static uint8_t block_plane(const uint32_t section[4], uint32_t sum, uint32_t pair)
{
	uint32_t at = pair % sum;
	uint8_t plane = 0;

	while (plane < 3 && at >= section[plane])
		at -= section[plane++];
	return plane;
}

static uint8_t plane_of(const struct lmd_rope_params *p, uint32_t sum, uint32_t pair)
{
	switch ((enum lmd_rope_sections)p->sections_kind) {
	case LMD_SECTIONS_NONE:
		return 0;
	case LMD_SECTIONS_BLOCKS:
		return block_plane(p->sections, sum, pair);
	case LMD_SECTIONS_INTERLEAVED:
		pair %= sum;
		return pair < 3 * p->sections[pair % 3] ? (uint8_t)(pair % 3) : 3;
	case LMD_SECTIONS_2D:
		return pair >= p->n_rot / 4;
	}
	return 0;
}

static bool positive(double v)
{
	return isfinite(v) && v > 0;
}

static enum lmd_status check(const struct lmd_rope_params *p, uint32_t *sum, struct lmd_error *err)
{
	if (!p->n_rot || p->n_rot % 2 || p->n_rot > MAX_ROT)
		return lmd_fail(err, LMD_INVALID,
				"rope: n_rot %u, expected an even number up to %u",
				p->n_rot, MAX_ROT);
	if (p->pairing > LMD_ROPE_HALVES || p->sections_kind > LMD_SECTIONS_2D)
		return lmd_fail(err, LMD_INVALID,
				"rope: pairing %u, sections %u; expected 0..1 and "
				"0..3",
				p->pairing, p->sections_kind);
	if (!positive(p->base) || !positive(p->freq_scale) || !isfinite(p->ext_factor) ||
	    !isfinite(p->attn_factor))
		return lmd_fail(err, LMD_INVALID,
				"rope: base %g, freq_scale %g must be positive, "
				"ext_factor %g, attn_factor %g finite",
				p->base, p->freq_scale, p->ext_factor, p->attn_factor);
	if (p->ext_factor != 0 &&
	    (!p->n_ctx_orig || p->base == 1 || !positive(p->beta_fast) || !positive(p->beta_slow)))
		return lmd_fail(err, LMD_INVALID,
				"rope: YaRN over a context of %u, base %g, "
				"beta_fast %g, beta_slow %g",
				p->n_ctx_orig, p->base, p->beta_fast, p->beta_slow);
	if (p->n_factors && (p->n_factors != p->n_rot / 2 || !p->factors))
		return lmd_fail(err, LMD_INVALID, "rope: %u factors for %u pairs", p->n_factors,
				p->n_rot / 2);
	for (uint32_t i = 0; i < p->n_factors; i++)
		if (!positive((double)p->factors[i]))
			return lmd_fail(err, LMD_INVALID, "rope: factor %u is %g", i,
					(double)p->factors[i]);
	*sum = 0;
	for (int i = 0; i < 4; i++) {
		if (p->sections[i] > MAX_ROT)
			return lmd_fail(err, LMD_INVALID,
					"rope: section %d has %u pairs, at most %u", i,
					p->sections[i], MAX_ROT);
		*sum += p->sections[i];
	}
	if ((p->sections_kind == LMD_SECTIONS_BLOCKS ||
	     p->sections_kind == LMD_SECTIONS_INTERLEAVED) &&
	    !*sum)
		return lmd_fail(err, LMD_INVALID, "rope: sections of 0 pairs for %u pairs",
				p->n_rot / 2);
	if (p->sections_kind == LMD_SECTIONS_2D && p->n_rot % 4)
		return lmd_fail(err, LMD_INVALID,
				"rope: n_rot %u with sections in two dimensions, "
				"expected a multiple of 4",
				p->n_rot);
	return LMD_OK;
}

enum lmd_status lmi_rope_make(struct lmd_rope *out, struct lmd_arena *arena,
			      const struct lmd_rope_params *p, struct lmd_error *err)
{
	struct ramp ramp = {0};
	uint32_t n = p->n_rot / 2, sum = 0;
	enum lmd_status st = check(p, &sum, err);
	double magnitude, *freq;
	uint8_t *plane;

	if (st != LMD_OK)
		return st;
	freq = lmi_arena_array(arena, n, sizeof(*freq));
	plane = lmi_arena_array(arena, n, sizeof(*plane));
	if (!freq || !plane)
		return lmd_fail(err, LMD_NOMEM, "rope: out of memory for %u pairs", n);
	magnitude = p->attn_factor;
	if (p->ext_factor != 0) {
		ramp = yarn_ramp(p);
		magnitude *= 1 + 0.1 * log(1 / p->freq_scale);
	}
	for (uint32_t i = 0; i < n; i++) {
		freq[i] = frequency(p, &ramp, i);
		plane[i] = plane_of(p, sum, i);
	}
	*out = (struct lmd_rope){
		.n_rot = p->n_rot,
		.pairing = p->pairing,
		.freq = freq,
		.plane = plane,
		.magnitude = (float)magnitude,
	};
	return LMD_OK;
}
