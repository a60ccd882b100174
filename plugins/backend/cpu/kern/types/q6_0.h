/* SPDX-License-Identifier: MIT
 *
 * Q6_0: P = code of 6 bits - 32; D = d. Byte i of 8 has the two high bits of values i, i + 16, i
 * + 8 and i + 24. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_q6_0(const uint8_t *b, int j, struct kern_plain *o)
{
	(void)j;
	o->d = kern_f16(b);
	o->sc[0] = o->sc[1] = 1;
	for (int e = 0; e < 32; e++) {
		int high = b[2 + e % 8] >> (4 * (e / 8 % 2) + 2 * (e / 16)) & 3;

		o->q[e] = (int8_t)((kern_half(b + 10, 16, e) | high << 4) - 32);
	}
}
KERN_PLAIN(q6_0, 1)

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_q6_0(const uint8_t *const w[8], size_t at, struct codes *c)
{
	const __m256i by = _mm256_setr_epi64x(0, 4, 2, 6);

	c->d = low_halves(halves_at(w, at));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;
		__m256i high = _mm256_broadcastq_epi64(_mm_loadl_epi64((const void *)(b + 2)));

		high = and8(_mm256_srlv_epi64(high, by), 3);
		c->q[r] = _mm256_or_si256(nibbles(b + 10), _mm256_slli_epi16(high, 4));
	}
}

#else

INLINE void codes_q6_0(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	const __m512i by = _mm512_setr_epi64(0, 4, 2, 6, 0, 4, 2, 6);
	__m256i d[2] = {halves_at(w, at), _mm256_setzero_si256()};

	if (both)
		d[1] = halves_at(w, at + 26);
	c->d = of_halves(_mm512_cvtepi32_epi16(
		_mm512_inserti64x4(_mm512_castsi256_si512(d[0]), d[1], 1)));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;
		__m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(b + 10)));
		__m512i high = _mm512_broadcastq_epi64(_mm_loadl_epi64((const void *)(b + 2)));

		if (both) {
			v = _mm512_mask_broadcast_i32x4(
				v, 0xff00, _mm_loadu_si128((const void *)(b + 36)));
			high = _mm512_mask_broadcastq_epi64(
				high, 0xf0, _mm_loadl_epi64((const void *)(b + 28)));
		}
		high = _mm512_and_si512(_mm512_srlv_epi64(high, by), _mm512_set1_epi8(3));
		c->q[r] = _mm512_or_si512(nibbles(v), _mm512_slli_epi16(high, 4));
	}
}

#endif
