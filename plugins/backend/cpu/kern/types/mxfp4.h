/* SPDX-License-Identifier: MIT
 *
 * MXFP4: an exponent e followed by 16 bytes of codes; P = twice the E2M1 number of the nibble;
 * D = 2^(e - 128). */
#if KERN_PART == KERN_PART_C

static void unpack_mxfp4(const uint8_t *b, const struct kern_row *o)
{
	o->d[0] = kern_power(b[0]);
	o->m[0] = 0;
	books(b + 1, kern_codebook_fp4, o->p);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_mxfp4(const uint8_t *const w[8], size_t at, struct codes *c)
{
	__m256i e = _mm256_setr_epi32(w[0][at], w[1][at], w[2][at], w[3][at], w[4][at], w[5][at],
				      w[6][at], w[7][at]);
	__m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);

	/* 2^(e - 128), which is denormal for e = 0 and 1. */
	c->d = _mm256_castsi256_ps(
		_mm256_blendv_epi8(_mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23),
				   _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e), tiny));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = look_up(LMD_DTYPE_MXFP4, nibbles(w[r] + at + 1));
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_mxfp4(const uint8_t *b, int j, struct block1 *o)
{
	(void)j;
	o->d = kern_power(b[0]);
	books(b + 1, kern_codebook_fp4, o);
}

#else

INLINE void codes_mxfp4(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	__m512i e = _mm512_inserti64x4(_mm512_castsi256_si512(exponents(w, at)),
				       both ? exponents(w, at + 17) : _mm256_setzero_si256(), 1);

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(w[r] + at + 1)));

		if (both)
			v = _mm512_mask_broadcast_i32x4(
				v, 0xff00, _mm_loadu_si128((const void *)(w[r] + at + 18)));
		c->q[r] = look_up(LMD_DTYPE_MXFP4, nibbles(v));
	}
	c->d = power(e);
}

#endif
