/* SPDX-License-Identifier: MIT
 *
 * Q1_0: P = 1 or -1; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_q1_0(const uint8_t *b, const struct kern_row *o)
{
	same_factor(kern_f16(b), o, 4);
	for (int e = 0; e < 128; e++)
		o->p[e] = (int16_t)(2 * (b[2 + e / 8] >> (e % 8) & 1) - 1);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q1_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = low_halves(halves_at(w, at));
}

INLINE void codes_q1_0(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(and8(bytes_of_bits(load32(b + 2 + 4 * j)), 2));
	}
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q1_0(const uint8_t *b, int j, struct block1 *o)
{
	uint8x16_t bit[2];

	o->d = half(b);
	bytes_of_bits(load32(b + 2 + 4 * j), bit);
	o->q[0] = minus(vandq_u8(bit[0], vdupq_n_u8(2)), 1);
	o->q[1] = minus(vandq_u8(bit[1], vdupq_n_u8(2)), 1);
}

#else

INLINE void head_q1_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = twice_halves(halves_at(w, at));
}

INLINE void codes_q1_0(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		      struct codes *c)
{
	const __m512i one = _mm512_set1_epi8(1);

	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at + 2 + 8 * p;
		uint64_t plus = load32(b) | (uint64_t)load32(b + 4) << 32;

		c->q[r] = _mm512_mask_add_epi8(one, plus, one, _mm512_set1_epi8(2));
	}
}

#endif
