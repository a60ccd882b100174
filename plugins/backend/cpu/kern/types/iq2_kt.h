/* SPDX-License-Identifier: MIT
 *
 * IQ2_KT: P = eight values for each index of 16 bits (codebooks.h); D = d * codebook[sc], with
 * sc of 4 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq2_kt(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, kern_codebook_iq4[kern_half(b, 4, j)]);
	for (int i = 0; i < 4; i++)
		kern_trellis(kern_word(b + 4 + 8 * j + 2 * i), 8, o->q + 8 * i);
}
KERN_PLAIN(iq2_kt, 8)

#elif KERN_ON_X86

INLINE void head_iq2_kt(const uint8_t *const w[8], size_t at, struct head *h)
{
	const __m256i v = dwords_at(w, at);

#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		h->sc[i] = scales_of_book(half_nibbles(v, i));
}

INLINE void codes_iq2_kt(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = as_codes(trellis_8(words_of_points(b + 4, i)));
	}
	scaled(h, i, c);
}

#if KERN_PART == KERN_PART_AVX512
INLINE void numbers_iq2_kt(const uint8_t *b, int i, __m512i x[4])
{
	numbers_8(words_of_points(b + 4, i), x);
}
#endif

#endif
