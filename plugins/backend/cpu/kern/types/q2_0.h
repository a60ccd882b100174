/* SPDX-License-Identifier: MIT
 *
 * Q2_0: P = code of 2 bits - 1; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_q2_0(const uint8_t *b, const struct kern_row *o)
{
	same_factor(kern_f16(b), o, 2);
	for (int e = 0; e < 64; e++)
		o->p[e] = (int16_t)((b[2 + e / 4] >> (e % 4 * 2) & 3) - 1);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q2_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = low_halves(halves_at(w, at));
}

INLINE void codes_q2_0(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(spread(b + 2 + 8 * j));
	}
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q2_0(const uint8_t *b, int j, struct block1 *o)
{
	o->d = half(b);
	spread(b + 2 + 8 * j, o);
}

#else

INLINE void head_q2_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = twice_halves(halves_at(w, at));
}

INLINE void codes_q2_0(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(spread(b + 2 + 16 * p));
	}
}

#endif
