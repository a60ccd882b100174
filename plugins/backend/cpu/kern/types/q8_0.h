/* SPDX-License-Identifier: MIT
 *
 * Q8_0: P = q; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_q8_0(const uint8_t *b, const struct kern_row *o)
{
	o->d[0] = kern_f16(b);
	o->m[0] = 0;
	for (int j = 0; j < 32; j++)
		o->p[j] = (int8_t)b[2 + j];
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_q8_0(const uint8_t *const w[8], size_t at, struct codes *c)
{
	block_of_32(LMD_DTYPE_Q8_0, w, at, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q8_0(const uint8_t *b, int j, struct block1 *o)
{
	const int8_t *q = (const int8_t *)b + 2;

	(void)j;
	o->d = half(b);
	o->q[0] = vld1q_s8(q);
	o->q[1] = vld1q_s8(q + 16);
}

#else

INLINE void codes_q8_0(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0x110011, 0x110011, 0x110011, 0x110011,
						0, 0, 0, 0, 0, 0, 0, 0);
	const __mmask32 have = both ? UINT32_MAX : 0x1ffff;
	__m512i d = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *p = w[r] + at;
		__m512i v = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(p + 2)));

		v = _mm512_inserti64x4(v,
				       both ? _mm256_loadu_si256((const void *)(p + 36))
					    : _mm256_setzero_si256(),
				       1);
		c->q[r] = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
		d = _mm512_mask_permutexvar_epi16(d, 0x101u << r, first,
						  _mm512_maskz_loadu_epi16(have, p));
	}
	c->d = of_halves(_mm512_castsi512_si256(d));
}

#endif
