/* SPDX-License-Identifier: MIT
 *
 * IQ4_K: P = (sc - 32) * (codebook[nibble] + 4 in groups of 16 with the second codebook), with
 * sc of 6 bits for 16 values; D = d. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq4_k(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scales_k6(b, j, o);
	kern_plain_4(b + 16, j, kern_codebook_iq4, 0, o->q);
	kern_plain_second(b + 2, j, KERN_SECOND_4, o->q);
}
KERN_PLAIN(iq4_k, 8)

#elif KERN_ON_X86

INLINE void head_iq4_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = block_factors(head_k6(w, at, h->sc));
}

INLINE void codes_iq4_k(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_4(LMD_DTYPE_IQ4_K, b + 16, i);
		c->q[r] = second_of_halves(c->q[r], b + 2, i, KERN_SECOND_4);
	}
	halves(h, i, c);
}

#endif
