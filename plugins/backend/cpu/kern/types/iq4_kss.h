/* SPDX-License-Identifier: MIT
 *
 * IQ4_KSS: IQ4_KS with the bits of the scales in the words of the codes.
 * Bit 0 of word k of a group of 32 is bit k of its scale, of which bit 0 selects the second
 * codebook.  The other bits, exclusive-ored with themselves shifted right, are codes in the order
 * of nibbles of IQ4_KS. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq4_kss(const uint8_t *b, int j, struct kern_plain *o)
{
	const uint8_t *p = b + 16 * j;
	uint8_t qs[16];
	int s = 0;

	for (int k = 0; k < 8; k++) {
		unsigned v = (unsigned)p[2 * k] | (unsigned)p[2 * k + 1] << 8;

		s |= (int)(v & 1) << k;
		v &= 0xfffe;
		v ^= v >> 1;
		qs[2 * k] = (uint8_t)v;
		qs[2 * k + 1] = (uint8_t)(v >> 8);
	}
	kern_plain_scale(o, (s & 254) - 127);
	kern_plain_4(qs, 0, kern_codebook_iq4, (s & 1) * KERN_SECOND_4, o->q);
}
KERN_PLAIN(iq4_kss, 8)

#elif KERN_ON_X86

INLINE void head_iq4_kss(const uint8_t *const w[8], size_t at, struct head *h)
{
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		h->sc[i] = scales_ks(lowest_bits(w, at + 64 * (size_t)i));
}

INLINE void codes_iq4_kss(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_kss(LMD_DTYPE_IQ4_KSS, b, i);
	}
	scaled(h, i, c);
}

#endif
