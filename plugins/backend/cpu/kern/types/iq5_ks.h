/* SPDX-License-Identifier: MIT
 *
 * IQ5_KS: P = codebook[5 bits], plus 2 in groups of 32 with the second codebook; D = d * (2 sc - 127),
 * with sc of 7 bits for 32 values. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq5_ks(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, (b[j] & 254) - 127);
	kern_plain_5(b + 8, b + 136, j, kern_codebook_iq5k, (b[j] & 1) * KERN_SECOND_5, o->q);
}
KERN_PLAIN(iq5_ks, 8)

#elif KERN_ON_X86

INLINE void head_iq5_ks(const uint8_t *const w[8], size_t at, struct head *h)
{
	scales_ks(w, at, h->sc);
}

INLINE void codes_iq5_ks(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_5(LMD_DTYPE_IQ5_KS, b + 8, b + 136, i);
		c->q[r] = second_of_bytes(c->q[r], b, i, KERN_SECOND_5);
	}
	scaled(h, i, c);
}

#endif
