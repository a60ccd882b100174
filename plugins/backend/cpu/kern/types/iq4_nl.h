/* SPDX-License-Identifier: MIT
 *
 * IQ4_NL: P = codebook[nibble]; D = d. */
#if KERN_PART == KERN_PART_C

static void unpack_iq4_nl(const uint8_t *b, const struct kern_row *o)
{
	o->d[0] = kern_f16(b);
	o->m[0] = 0;
	books(b + 2, kern_codebook_iq4, o->p);
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void codes_iq4_nl(const uint8_t *const w[8], size_t at, struct codes *c)
{
	block_of_32(LMD_DTYPE_IQ4_NL, w, at, c);
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_iq4_nl(const uint8_t *b, int j, struct block1 *o)
{
	(void)j;
	o->d = half(b);
	books(b + 2, kern_codebook_iq4, o);
}

#else

INLINE void codes_iq4_nl(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	word_blocks(LMD_DTYPE_IQ4_NL, w, at, both, c);
}

#endif
