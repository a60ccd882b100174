/* SPDX-License-Identifier: MIT
 *
 * TQ2_0: P = code of 2 bits - 1; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_tq2_0(const uint8_t *b, const struct kern_row *o)
{
	same_factor(kern_f16(b + 64), o, 8);
	for (int e = 0; e < 256; e++)
		o->p[e] = (int16_t)((b[32 * (e / 128) + e % 32] >> (e / 32 % 4 * 2) & 3) - 1);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_tq2_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = low_halves(halves_at(w, at + 64));
}

INLINE void codes_tq2_0(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(and8(_mm256_srli_epi16(ymm(b + 32 * (j / 4)), 2 * (j % 4)), 3));
	}
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_tq2_0(const uint8_t *b, int j, struct block1 *o)
{
	o->d = half(b + 64);
	two_bits(b + 32 * (j / 4), 2 * (j % 4), 1, o);
}

#else

INLINE void head_tq2_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = twice_halves(halves_at(w, at + 64));
}

INLINE void codes_tq2_0(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(two_bits(b + 32 * (p / 2), p % 2 * 4));
	}
}

#endif
