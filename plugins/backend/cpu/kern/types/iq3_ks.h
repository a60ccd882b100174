/* SPDX-License-Identifier: MIT
 *
 * IQ3_KS: P = codebook[3 bits], plus 4 in groups of 32 with the second codebook; D = d * (sc - 16),
 * with sc of 5 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq3_ks(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, (kern_half(b + 2, 4, j) | (b[0] >> j & 1) << 4) - 16);
	kern_plain_3(b + 6, b + 70, j, kern_codebook_iq3k, (b[1] >> j & 1) * KERN_SECOND_3, o->q);
}
KERN_PLAIN(iq3_ks, 8)

#elif KERN_ON_X86

INLINE void head_iq3_ks(const uint8_t *const w[8], size_t at, struct head *h)
{
	const __m256i high = halves_at(w, at), low = dwords_at(w, at + 2);

#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		h->sc[i] = scale_bytes(half_nibbles(low, i), four_bits(high, 4 * i), 16);
}

INLINE void codes_iq3_ks(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_3(LMD_DTYPE_IQ3_KS, b + 6, b + 70, i);
		c->q[r] = second_of_blocks(c->q[r], b + 1, i, KERN_SECOND_3);
	}
	scaled(h, i, c);
}

#endif
