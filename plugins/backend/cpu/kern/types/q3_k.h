/* SPDX-License-Identifier: MIT
 *
 * Q3_K: P = (sc - 32) * (code of 3 bits - 4), with sc of 6 bits for 16 values; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_q3_k(const uint8_t *b, const struct kern_row *o)
{
	for (int j = 0; j < 8; j++) {
		for (int l = 0; l < 32; l++) {
			int i = 2 * j +
				l / 16; /* scales of 16 values: four low bits, then two high bits */
			int sc = (b[96 + i % 8] >> (i / 8 * 4) & 15) |
				 (b[104 + i % 4] >> (i / 4 * 2) & 3) << 4;
			int q = (b[32 + j / 4 * 32 + l] >> (j % 4 * 2) & 3) | (b[l] >> j & 1) << 2;

			o->p[32 * j + l] = (int16_t)((sc - 32) * (q - 4));
		}
	}
	same_factor(kern_f16(b + 108), o, 8);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q3_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at + 94, true, v);
	scales_3(v, h->sc);
	h->d = low_halves(v[3]);
}

INLINE void codes_q3_k(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		    struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m256i low = _mm256_srli_epi16(ymm(w[r] + at + 32 + 32 * (j / 4)), 2 * (j % 4));
		__m256i high = ymm(w[r] + at);

		high = j < 2 ? _mm256_slli_epi16(high, j < 2 ? 2 - j : 0)
			     : _mm256_srli_epi16(high, j < 2 ? 0 : j - 2);
		c->q[r] = _mm256_or_si256(and8(low, 3), and8(high, 4));
	}
	halves(h, j, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q3_k(const uint8_t *b, int j, struct block1 *o)
{
	o->d = half(b + 108);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		const int i = 2 * j + h;
		uint8x16_t q = bits_of(vld1q_u8(b + 32 + 32 * (j / 4) + 16 * h), 2 * (j % 4), 2);

		q = vorrq_u8(q, vshlq_n_u8(bits_of(vld1q_u8(b + 16 * h), j, 1), 2));
		o->q[h] = minus(q, 4);
		o->sc[h] = ((b[96 + i % 8] >> (i / 8 * 4) & 15) |
			    (b[104 + i % 4] >> (i / 4 * 2) & 3) << 4) -
			   32;
	}
}

#else

INLINE void head_q3_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at + 94, true, v);
	scales_3(v, h->sc);
	h->d = twice_halves(v[3]);
}

INLINE void codes_q3_k(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		    struct codes *c)
{
	const short by = (short)(p % 2 * 4);
	const __m512i bits =
		_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi8((char)(1 << 2 * p))),
				   _mm256_set1_epi8((char)(2 << 2 * p)), 1);

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = load_twice(w[r] + at + 32 + 32 * (p / 2));
		__mmask64 third = _mm512_test_epi8_mask(load_twice(w[r] + at), bits);

		v = _mm512_srlv_epi16(v, words(by, (short)(by + 2)));
		v = _mm512_and_si512(v, _mm512_set1_epi8(3));
		c->q[r] = _mm512_mask_add_epi8(v, third, v, _mm512_set1_epi8(4));
	}
	halves(h, p, c);
}

#endif
