/* SPDX-License-Identifier: MIT
 *
 * Q4_0: P = nibble - 8; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_q4_0(const uint8_t *b, const struct kern_row *o)
{
	o->d[0] = kern_f16(b);
	o->m[0] = 0;
	codes(b + 2, NULL, 8, o->p);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_q4_0(const uint8_t *const w[8], size_t at, struct codes *c)
{
	block_of_32(LMD_DTYPE_Q4_0, w, at, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_q4_0(const uint8_t *b, int j, struct block1 *o)
{
	(void)j;
	o->d = half(b);
	codes(b + 2, NULL, 8, o);
}

#else

INLINE void codes_q4_0(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	word_blocks(LMD_DTYPE_Q4_0, w, at, both, c);
}

#endif
