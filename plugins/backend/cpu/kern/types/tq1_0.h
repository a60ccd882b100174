/* SPDX-License-Identifier: MIT
 *
 * TQ1_0: P = trit - 1; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_tq1_0(const uint8_t *b, const struct kern_row *o)
{
	uint8_t trits[32];

	same_factor(kern_f16(b + 52), o, 8);
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

#elif KERN_PART == KERN_PART_NEON

INLINE void row_tq1_0(const uint8_t *b, int j, struct block1 *o)
{
	static const uint8_t power_of_3[8] = {1, 3, 9, 27, 81, 1, 9, 81};
	static const uint8_t powers[16] = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
	uint8x16_t v[2], p = vdupq_n_u8(power_of_3[j]);

	o->d = half(b + 52);
	if (j < 5) {
		v[0] = vmulq_u8(vld1q_u8(b), p);
		v[1] = vmulq_u8(vld1q_u8(b + 16), p);
	} else { /* two trits of 16 bytes; the last block has one, and four of 4 bytes */
		v[0] = vmulq_u8(vld1q_u8(b + 32), p);
		v[1] = j < 7 ? vmulq_u8(v[0], vdupq_n_u8(3))
			     : vmulq_u8(vreinterpretq_u8_u32(vdupq_n_u32(load32(b + 48))),
					vld1q_u8(powers));
	}
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		/* 3 * v reaches 256 from 86 on, and 512 from 171 on. */
		uint8x16_t trit = vaddq_u8(vcgeq_u8(v[h], vdupq_n_u8(86)),
					   vcgeq_u8(v[h], vdupq_n_u8(171)));

		o->q[h] = vsubq_s8(vdupq_n_s8(-1), vreinterpretq_s8_u8(trit));
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

		c->q[r] = trit_codes(b, p);
	}
}

#endif
