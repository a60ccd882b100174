/* SPDX-License-Identifier: MIT
 *
 * IQ5_K: P = (sc - 32) * (codebook[5 bits] + 2 in groups of 16 with the second codebook), with
 * sc of 6 bits for 16 values; D = d. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq5_k(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scales_k6(b, j, o);
	kern_plain_5(b + 16, b + 144, j, kern_codebook_iq5k, 0, o->q);
	kern_plain_second(b + 2, j, KERN_SECOND_5, o->q);
}
KERN_PLAIN(iq5_k, 8)

#elif KERN_ON_X86

INLINE void head_iq5_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = block_factors(head_k6(w, at, h->sc));
}

INLINE void codes_iq5_k(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_5(LMD_DTYPE_IQ5_K, b + 16, b + 144, i);
		c->q[r] = second_of_halves(c->q[r], b + 2, i, KERN_SECOND_5);
	}
	halves(h, i, c);
}

#endif
