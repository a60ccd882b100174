/* SPDX-License-Identifier: MIT
 *
 * IQ2_KL: P = pairs of numbers of a codebook, by 5 bits; D = d * (sc - 32), with sc of 6 bits
 * for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq2_kl(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, (kern_half(b + 2, 4, j) | kern_field(b, 2, j) << 4) - 32);
	for (int e = 0; e < 16; e++) {
		int q = kern_field(b + 6 + 16 * (j / 2) + e, 4, j % 2) | (b[70 + e] >> j & 1) << 4;

		o->q[2 * e] = kern_codebook_iq2kl[0][q];
		o->q[2 * e + 1] = kern_codebook_iq2kl[1][q];
	}
}
KERN_PLAIN(iq2_kl, 8)

#elif KERN_ON_X86

INLINE void head_iq2_kl(const uint8_t *const w[8], size_t at, struct head *h)
{
	const __m256i high = halves_at(w, at), low = dwords_at(w, at + 2);

#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		h->sc[i] = scale_bytes(half_nibbles(low, i), four_pairs(high, 8 * i), 32);
}

INLINE void codes_iq2_kl(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_pairs(LMD_DTYPE_IQ2_KL, b + 6, b + 70, i);
	}
	scaled(h, i, c);
}

#endif
