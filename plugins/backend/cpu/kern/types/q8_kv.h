/* SPDX-License-Identifier: MIT
 *
 * Q8_KV: P = q; D = d. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_q8_kv(const uint8_t *b, int j, struct kern_plain *o)
{
	(void)j;
	kern_plain_scale(o, 1);
	for (int e = 0; e < 32; e++)
		o->q[e] = (int8_t)b[e];
}
KERN_PLAIN(q8_kv, 1)

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_q8_kv(const uint8_t *const w[8], size_t at, struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = ymm(w[r] + at);
}

#else

INLINE void codes_q8_kv(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_maskz_loadu_epi32(both ? 0xffff : 0xff, w[r] + at);

		c->q[r] = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
	}
}

#endif
