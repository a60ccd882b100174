/* SPDX-License-Identifier: MIT
 *
 * Q2_K: P = sc * (code of 2 bits); D = d, M = -dmin, times mn; sc and mn of 4 bits for 16
 * values. */
#if KERN_PART == KERN_PART_C

static void unpack_q2_k(const uint8_t *b, const struct kern_row *o)
{
	for (int e = 0; e < 256; e++) {
		int q = b[16 + 32 * (e / 128) + e % 32] >> (e / 32 % 4 * 2) & 3;

		o->p[e] = (int16_t)((b[e / 16] & 15) * q);
		o->mn[e / 16] = b[e / 16] >> 4;
	}
	for (int j = 0; j < 8; j++) {
		o->d[j] = kern_f16(b + 80);
		o->m[j] = -kern_f16(b + 82);
	}
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q2_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = low_halves(halves_at(w, at + 80));
	columns(w, at, false, h->sc);
	h->m = _mm256_xor_ps(low_halves(halves_at(w, at + 82)), _mm256_set1_ps(-0.0f));
}

INLINE void codes_q2_k(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		    struct codes *c)
{
	const __m256i four = _mm256_set1_epi32(15);
	struct head low = {.d = h->d};
	__m256i sc = h->sc[j / 2];

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = and8(_mm256_srli_epi16(ymm(w[r] + at + 16 + 32 * (j / 4)), 2 * (j % 4)),
			       3);
	low.sc[j / 2] = and8(sc, 15);
	halves(&low, j, c);
	c->m = h->m;
	c->mn[0] = _mm256_and_si256(_mm256_srli_epi32(sc, 16 * (j % 2) + 4), four);
	c->mn[1] = _mm256_and_si256(_mm256_srli_epi32(sc, 16 * (j % 2) + 12), four);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q2_k(const uint8_t *b, int j, struct block1 *o)
{
	o->d = half(b + 80);
	o->m = -half(b + 82);
	two_bits(b + 16 + 32 * (j / 4), 2 * (j % 4), 0, o);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		o->sc[h] = b[2 * j + h] & 15;
		o->mn[h] = b[2 * j + h] >> 4;
	}
}

#else

INLINE void head_q2_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = twice_halves(halves_at(w, at + 80));
	columns(w, at, false, h->sc);
	h->m = _mm512_xor_ps(twice_halves(halves_at(w, at + 82)), _mm512_set1_ps(-0.0f));
}

INLINE void codes_q2_k(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		    struct codes *c)
{
	const __m512i four = _mm512_set1_epi32(15);
	struct head low = {.d = h->d};
	__m512i mn = twice(_mm256_srli_epi16(h->sc[p], 4));

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = two_bits(w[r] + at + 16 + 32 * (p / 2), p % 2 * 4);
	low.sc[p] = _mm256_and_si256(h->sc[p], _mm256_set1_epi8(15));
	halves(&low, p, c);
	c->m = h->m;
	c->mn[0] = _mm512_and_si512(_mm512_srlv_epi32(mn, two(0, 16)), four);
	c->mn[1] = _mm512_and_si512(_mm512_srlv_epi32(mn, two(8, 24)), four);
}

#endif
