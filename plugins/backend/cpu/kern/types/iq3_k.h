/* SPDX-License-Identifier: MIT
 *
 * IQ3_K: P = sc * (codebook[3 bits] + 4 in groups of 16 with the second codebook), with an odd sc of
 * either sign for 16 values; D = d. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq3_k(const uint8_t *b, int j, struct kern_plain *o)
{
	o->d = kern_f16(b);
	for (int h = 0; h < 2; h++) {
		o->sc[h] = 2 * kern_field(b + 6, 4, 2 * j + h) + 1;
		if (kern_field(b + 4, 1, 2 * j + h))
			o->sc[h] = -o->sc[h];
	}
	kern_plain_3(b + 14, b + 78, j, kern_codebook_iq3k, 0, o->q);
	kern_plain_second(b + 2, j, KERN_SECOND_3, o->q);
}
KERN_PLAIN(iq3_k, 8)

#elif KERN_ON_X86

INLINE void head_iq3_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	const __m256i one = _mm256_set1_epi8(1);
	__m256i v[4];

	columns(w, at, false, v);
	h->d = block_factors(v[0]);
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		__m256i s = four_nibbles(v[(i + 1) / 2 + 1], i % 2 ? 0 : 16);
		__m256i minus = _mm256_sub_epi8(_mm256_setzero_si256(), four_bits(v[1], 4 * i));

		s = _mm256_or_si256(_mm256_add_epi8(s, s), one);
		h->sc[i] = _mm256_sub_epi8(_mm256_xor_si256(s, minus), minus);
	}
}

INLINE void codes_iq3_k(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_3(LMD_DTYPE_IQ3_K, b + 14, b + 78, i);
		c->q[r] = second_of_halves(c->q[r], b + 2, i, KERN_SECOND_3);
	}
	halves(h, i, c);
}

#endif
