/* SPDX-License-Identifier: MIT
 *
 * Q6_K: P = sc * (code of 6 bits - 32), with sc of 8 bits for 16 values; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_q6_k(const uint8_t *b, const struct kern_row *o)
{
	for (int e = 0; e < 256; e++) {
		int half = e / 128, quarter = e / 32 % 4, l = e % 32;
		int low = b[64 * half + 32 * (quarter % 2) + l] >> (quarter / 2 * 4) & 15;
		int high = b[128 + 32 * half + l] >> (2 * quarter) & 3;

		o->p[e] = (int16_t)((int8_t)b[192 + e / 16] * ((low | high << 4) - 32));
	}
	same_factor(kern_f16(b + 208), o, 8);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q6_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	columns(w, at + 192, false, h->sc);
	h->d = low_halves(halves_at(w, at + 208));
}

INLINE void codes_q6_k(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		    struct codes *c)
{
	const int half = j / 4, quarter = j % 4;

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m256i low = ymm(w[r] + at + 64 * half + 32 * (quarter % 2));
		__m256i high = ymm(w[r] + at + 128 + 32 * half);

		low = quarter < 2 ? low : _mm256_srli_epi16(low, 4);
		high = quarter == 0   ? _mm256_slli_epi16(high, 4)
		       : quarter == 1 ? _mm256_slli_epi16(high, 2)
		       : quarter == 2 ? high
				      : _mm256_srli_epi16(high, 2);
		c->q[r] = _mm256_or_si256(and8(low, 15), and8(high, 0x30));
	}
	halves(h, j, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q6_k(const uint8_t *b, int j, struct block1 *o)
{
	const int quarter = j % 4;

	o->d = half(b + 208);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		uint8x16_t low = vld1q_u8(b + 64 * (j / 4) + 32 * (quarter % 2) + 16 * h);
		uint8x16_t high = vld1q_u8(b + 128 + 32 * (j / 4) + 16 * h);

		low = bits_of(low, quarter / 2 * 4, 4);
		high = vshlq_n_u8(bits_of(high, 2 * quarter, 2), 4);
		o->q[h] = minus(vorrq_u8(low, high), 32);
		o->sc[h] = (int8_t)b[192 + 2 * j + h];
	}
}

#else

INLINE void head_q6_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	columns(w, at + 192, false, h->sc);
	h->d = twice_halves(halves_at(w, at + 208));
}

INLINE void codes_q6_k(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		    struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i low = _mm512_loadu_si512(w[r] + at + 64 * (p / 2));
		__m512i high = load_twice(w[r] + at + 128 + 32 * (p / 2));

		if (p % 2) {
			low = _mm512_srli_epi16(low, 4);
			high = _mm512_srlv_epi16(high, words(0, 2));
		} else {
			high = _mm512_sllv_epi16(high, words(4, 2));
		}
		low = _mm512_and_si512(low, _mm512_set1_epi8(15));
		c->q[r] = _mm512_or_si512(low, _mm512_and_si512(high, _mm512_set1_epi8(0x30)));
	}
	halves(h, p, c);
}

#endif
