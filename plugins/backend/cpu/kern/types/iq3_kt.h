/* SPDX-License-Identifier: MIT
 *
 * IQ3_KT: P = magnitudes of eight values for each index of 16 bits (codebooks.h), with signs; D
 * = d * sc, with sc of 4 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq3_kt(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, kern_half(b, 4, j));
	for (int i = 0; i < 4; i++)
		kern_trellis(kern_word(b + 4 + 8 * j + 2 * i), 8, o->q + 8 * i);
	for (int e = 0; e < 32; e++)
		if ((o->q[e] < 0) != (b[68 + e] >> j & 1))
			o->q[e] = (int8_t)-o->q[e];
}
KERN_PLAIN(iq3_kt, 8)

#elif KERN_ON_X86

INLINE void head_iq3_kt(const uint8_t *const w[8], size_t at, struct head *h)
{
	const __m256i v = dwords_at(w, at);

#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		h->sc[i] = half_nibbles(v, i);
}

INLINE void codes_iq3_kt(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = trellis_8(words_of_points(b + 4, i));
		c->q[r] = as_codes(with_signs(c->q[r], b + 68, i));
	}
	scaled(h, i, c);
}

#endif
