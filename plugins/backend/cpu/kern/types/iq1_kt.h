/* SPDX-License-Identifier: MIT
 *
 * IQ1_KT: P = eight values for each index of 13 bits (codebooks.h); D = d * codebook[sc], with
 * sc of 4 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq1_kt(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, kern_codebook_iq4[b[j] & 15]);
	for (int i = 0; i < 4; i++) {
		uint32_t v = b[8 + 4 * j + i] | (uint32_t)kern_half(b + 40, 16, 4 * j + i) << 8;

		v |= (uint32_t)(b[j] >> (4 + i) & 1) << 12;
		kern_trellis(v, 8, o->q + 8 * i);
	}
}
KERN_PLAIN(iq1_kt, 8)

#elif KERN_ON_X86

INLINE void head_iq1_kt(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		h->sc[i] = scales_of_book(half_nibbles(v[i], 0));
}

INLINE void codes_iq1_kt(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = as_codes(trellis_8(parted_points_8(b, i)));
	}
	scaled(h, i, c);
}

#if KERN_PART == KERN_PART_AVX512
INLINE void numbers_iq1_kt(const uint8_t *b, int i, __m512i x[4])
{
	numbers_8(parted_points_8(b, i), x);
}
#endif

#endif
