/* SPDX-License-Identifier: MIT
 *
 * IQ4_XS: P = codebook[nibble]; D = d * (sc - 32), with sc of 6 bits for 32 values. */
#if KERN_PART == KERN_PART_C

static void unpack_iq4_xs(const uint8_t *b, const struct kern_row *o)
{
	uint32_t high = (uint32_t)b[2] | (uint32_t)b[3] << 8;

	for (uint32_t j = 0; j < 8; j++) {
		uint32_t sc = (b[4 + j / 2] >> (j % 2 * 4) & 15) | (high >> (2 * j) & 3) << 4;

		o->d[j] = kern_f16(b) * ((float)sc - 32);
		o->m[j] = 0;
		books(b + 8 + 16 * j, kern_codebook_iq4, o->p + 32 * j);
	}
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_iq4_xs(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
	h->d = low_halves(v[0]);
	h->s[0] = _mm256_srli_epi32(v[0], 16);
	h->s[1] = v[1];
}

INLINE void codes_iq4_xs(const struct head *h, const uint8_t *const w[8], size_t at, int j,
			 struct codes *c)
{
	__m256i low = _mm256_and_si256(_mm256_srli_epi32(h->s[1], 4 * j), _mm256_set1_epi32(15));
	__m256i high = _mm256_and_si256(_mm256_srli_epi32(h->s[0], 2 * j), _mm256_set1_epi32(3));
	__m256i sc = _mm256_or_si256(low, _mm256_slli_epi32(high, 4));

	sc = _mm256_sub_epi32(sc, _mm256_set1_epi32(32));
	c->d = _mm256_mul_ps(h->d, _mm256_cvtepi32_ps(sc));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = look_up_4(LMD_DTYPE_IQ4_XS, w[r] + at + 8, j);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_iq4_xs(const uint8_t *b, int j, struct block1 *o)
{
	const uint32_t high = (uint32_t)b[2] | (uint32_t)b[3] << 8;
	const uint32_t sc = (b[4 + j / 2] >> (j % 2 * 4) & 15) | (high >> (2 * j) & 3) << 4;

	o->d = half(b) * ((float)sc - 32);
	books(b + 8 + 16 * j, kern_codebook_iq4, o);
}

#else

INLINE void head_iq4_xs(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
	h->d = twice_halves(v[0]);
	h->s[0] = twice(_mm256_srli_epi32(v[0], 16));
	h->s[1] = twice(v[1]);
}

INLINE void codes_iq4_xs(const struct head *h, const uint8_t *const w[8], size_t at, int p,
			 struct codes *c)
{
	__m512i low = _mm512_srlv_epi32(h->s[1], two(8 * p, 8 * p + 4));
	__m512i high = _mm512_srlv_epi32(h->s[0], two(4 * p, 4 * p + 2)), sc;

	low = _mm512_and_si512(low, _mm512_set1_epi32(15));
	high = _mm512_and_si512(high, _mm512_set1_epi32(3));
	sc = _mm512_or_si512(low, _mm512_slli_epi32(high, 4));
	sc = _mm512_sub_epi32(sc, _mm512_set1_epi32(32));
	c->d = _mm512_mul_ps(h->d, _mm512_cvtepi32_ps(sc));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = look_up_4(LMD_DTYPE_IQ4_XS, w[r] + at + 8, p);
}

#endif
