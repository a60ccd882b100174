/* SPDX-License-Identifier: MIT
 *
 * IQ2_BN: P = code of 2 bits - 1; D = d. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq2_bn(const uint8_t *b, int j, struct kern_plain *o)
{
	kern_plain_scale(o, 1);
	for (int e = 0; e < 32; e++)
		o->q[e] = (int8_t)((b[e % 16] >> (4 * j + e / 16 * 2) & 3) - 1);
}
KERN_PLAIN(iq2_bn, 2)

#elif KERN_ON_X86

INLINE void head_iq2_bn(const uint8_t *const w[8], size_t at, struct head *h)
{
	(void)w;
	(void)at;
	(void)h;
}

INLINE void codes_iq2_bn(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = plus_one(pairs_of_16(b, i));
	}
	c->d = h->d;
}

#endif
