/* SPDX-License-Identifier: MIT
 *
 * Q5_K: P = code of 5 bits; D = d * sc, M = -(dmin * mn), with sc and mn of 6 bits for 32
 * values. */
#if KERN_PART == KERN_PART_C

static void unpack_q5_k(const uint8_t *b, const struct kern_row *o)
{
	unpack_k45(b, b + 16, b + 48, o);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q5_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	head_45(w, at, h);
}

INLINE void codes_q5_k(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		      struct codes *c)
{
	codes_45(LMD_DTYPE_Q5_K, h, w, at, j, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q5_k(const uint8_t *b, int j, struct block1 *o)
{
	codes_45(b, b + 16, b + 48, j, o);
}

#else

INLINE void head_q5_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	head_45(w, at, h);
}

INLINE void codes_q5_k(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		      struct codes *c)
{
	codes_45(LMD_DTYPE_Q5_K, h, w, at, p, c);
}

#endif
