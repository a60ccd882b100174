/* SPDX-License-Identifier: MIT
 *
 * Q5_1: P = code of 5 bits; D = d, M = m. */
#if KERN_PART == KERN_PART_C

static void unpack_q5_1(const uint8_t *b, const struct kern_row *o)
{
	o->d[0] = kern_f16(b);
	o->m[0] = kern_f16(b + 2);
	codes(b + 8, b + 4, 0, o->p);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_q5_1(const uint8_t *const w[8], size_t at, struct codes *c)
{
	block_of_32(LMD_DTYPE_Q5_1, w, at, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q5_1(const uint8_t *b, int j, struct block1 *o)
{
	(void)j;
	o->d = half(b);
	o->m = half(b + 2);
	codes(b + 8, b + 4, 0, o);
}

#else

INLINE void codes_q5_1(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	dword_blocks(LMD_DTYPE_Q5_1, w, at, both, c);
}

#endif
