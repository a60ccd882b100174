/* SPDX-License-Identifier: MIT
 *
 * Q4_K: P = nibble; D = d * sc, M = -(dmin * mn), with sc and mn of 6 bits for 32
 * values. */
#if KERN_PART == KERN_PART_C

static void unpack_q4_k(const uint8_t *b, const struct kern_row *o)
{
	unpack_k45(b, NULL, b + 16, o);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_q4_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	head_45(w, at, h);
}

INLINE void codes_q4_k(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		      struct codes *c)
{
	codes_45(LMD_DTYPE_Q4_K, h, w, at, j, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q4_k(const uint8_t *b, int j, struct block1 *o)
{
	codes_45(b, NULL, b + 16, j, o);
}

#else

INLINE void head_q4_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	head_45(w, at, h);
}

INLINE void codes_q4_k(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		      struct codes *c)
{
	codes_45(LMD_DTYPE_Q4_K, h, w, at, p, c);
}

#endif
