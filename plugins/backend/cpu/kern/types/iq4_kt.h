/* SPDX-License-Identifier: MIT
 *
 * IQ4_KT: P = four values for each index of 15 bits of one of two parts of the trellis
 * (codebooks.h); D = d * (sc - 64), with sc of 7 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq4_kt(const uint8_t *b, int j, struct kern_plain *o)
{
	const uint32_t v = (uint32_t)kern_word(b + 4 * j) | (uint32_t)kern_word(b + 4 * j + 2) << 16;

	kern_plain_scale(o, (int)(v >> 1 & 127) - 64);
	for (int i = 0; i < 8; i++) {
		const int p = 8 * j + i;
		uint32_t x = b[32 + p] | (uint32_t)kern_half(b + 96, 32, p) << 8;

		x |= (v >> (8 + 3 * i) & 7) << 12 | (v & 1) << 15;
		kern_trellis(x, 4, o->q + 4 * i);
	}
}
KERN_PLAIN(iq4_kt, 8)

#elif KERN_ON_X86

INLINE void head_iq4_kt(const uint8_t *const w[8], size_t at, struct head *h)
{
	scales_kt(w, at, h->sc);
}

INLINE void codes_iq4_kt(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = as_codes(trellis_4(parted_points_4(b, i)));
	}
	scaled(h, i, c);
}

#if KERN_PART == KERN_PART_AVX512
INLINE void numbers_iq4_kt(const uint8_t *b, int i, __m512i x[4])
{
	numbers_4(parted_points_4(b, i), x);
}
#endif

#endif
