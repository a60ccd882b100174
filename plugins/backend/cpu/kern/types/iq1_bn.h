/* SPDX-License-Identifier: MIT
 *
 * IQ1_BN: P = trit - 1; D = d. Group g of 16 values has five trits in each of bytes 3g to 3g +
 * 2, and trit g of the last byte. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq1_bn(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, 1);
	for (int e = 0; e < 32; e++) {
		const int v = b[kern_trit_bytes[32 * j + e]] * kern_trit_powers[32 * j + e];

		o->q[e] = (int8_t)(((v & 255) * 3 >> 8) - 1);
	}
}
KERN_PLAIN(iq1_bn, 2)

#elif KERN_ON_X86

INLINE void head_iq1_bn(const uint8_t *const w[8], size_t at, struct head *h)
{
	(void)w;
	(void)at;
	(void)h;
}

INLINE void codes_iq1_bn(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(trits_of_13(b, i));
	}
	c->d = h->d;
}

#endif
