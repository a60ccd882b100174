/* SPDX-License-Identifier: MIT
 *
 * IQ2_KS: P = codebook[2 bits], plus 5 in groups of 32 with the second codebook; D = d * (sc - 16),
 * with sc of 5 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq2_ks(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, (kern_field(b + 2, 4, j) | (b[1] >> j & 1) << 4) - 16);
	kern_plain_2(b + 6, j, kern_codebook_iq2k, (b[0] >> j & 1) * KERN_SECOND_2, o->q);
}
KERN_PLAIN(iq2_ks, 8)

#elif KERN_ON_X86

INLINE void head_iq2_ks(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
	h->sc[0] = scale_bytes(four_nibbles(v[0], 16), four_bits(v[0], 8), 16);
	h->sc[1] = scale_bytes(four_nibbles(v[1], 0), four_bits(v[0], 12), 16);
}

INLINE void codes_iq2_ks(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_2(LMD_DTYPE_IQ2_KS, b + 6, i);
		c->q[r] = second_of_blocks(c->q[r], b, i, KERN_SECOND_2);
	}
	scaled(h, i, c);
}

#endif
