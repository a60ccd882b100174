/* SPDX-License-Identifier: MIT
 *
 * TQ1_0: P = trit - 1; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_tq1_0(const uint8_t *b, const struct kern_row *o)
{
	uint8_t trits[32];

	same_factor(f16(b + 52), o, 8);
	for (int j = 0; j < 8; j++) {
		kern_trits_32(b, j, trits);
		for (int e = 0; e < 32; e++)
			o->p[32 * j + e] = (int16_t)(trits[e] - 1);
	}
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_tq1_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = low_halves(halves_at(w, at + 52));
}

INLINE void codes_tq1_0(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(trits(b, j));
	}
}

#else

INLINE void head_tq1_0(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = twice_halves(halves_at(w, at + 52));
}

INLINE void codes_tq1_0(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		      struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(trits_64(b, p));
	}
}

#endif
