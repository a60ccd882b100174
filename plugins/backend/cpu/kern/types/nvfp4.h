/* SPDX-License-Identifier: MIT
 *
 * NVFP4: a scale for each 16 values; P = twice the E2M1 number of the nibble; D = scale / 2, and
 * for the last 16 of 32 values a D of their own in the place of M. */
#if KERN_PART == KERN_PART_C

static void unpack_nvfp4(const uint8_t *b, const struct kern_row *o)
{
	for (int g = 0; g < 4; g++) {
		(g % 2 ? o->m : o->d)[g / 2] = kern_half_e4m3(b[g]);
		for (int j = 0; j < 16; j++)
			o->p[16 * g + j] =
				kern_codebook_fp4[b[4 + 8 * g + j % 8] >> (j / 8 * 4) & 15];
	}
}

#elif KERN_PART == KERN_PART_AVX2

INLINE void head_nvfp4(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->s[0] = dwords_at(w, at);
}

/* Groups of 16: the low nibbles of eight bytes, then their high nibbles. */
INLINE void codes_nvfp4(const struct head *h, const uint8_t *const w[8], size_t at, int j,
			struct codes *c)
{
	c->d = half_e4m3(h->s[0], 2 * j);
	c->m = half_e4m3(h->s[0], 2 * j + 1);
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m256i v = nibbles(w[r] + at + 4 + 16 * j);

		v = _mm256_permute4x64_epi64(v, 0xd8);
		c->q[r] = look_up(LMD_DTYPE_NVFP4, v);
	}
}

#elif KERN_PART == KERN_PART_NEON

INLINE void row_nvfp4(const uint8_t *b, int j, struct block1 *o)
{
	int64x2_t low, high;

	o->d = kern_half_e4m3(b[2 * j]);
	o->m = kern_half_e4m3(b[2 * j + 1]);
	books(b + 4 + 16 * j, kern_codebook_fp4, o);
	/* Groups of 16: the low nibbles of eight bytes, then their high nibbles. */
	low = vreinterpretq_s64_s8(o->q[0]);
	high = vreinterpretq_s64_s8(o->q[1]);
	o->q[0] = vreinterpretq_s8_s64(vzip1q_s64(low, high));
	o->q[1] = vreinterpretq_s8_s64(vzip2q_s64(low, high));
}

#else

INLINE void head_nvfp4(const uint8_t *const w[8], size_t at, struct head *h)
{
	h->sc[0] = dwords_at(w, at);
}

/* Reads a whole block.  Groups of 16: the low nibbles of eight bytes, then their high nibbles. */
INLINE void codes_nvfp4(const struct head *h, const uint8_t *const w[8], size_t at, int p,
			struct codes *c)
{
	const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
	const __m512i four = _mm512_set1_epi8(15);

	(void)p;
	c->d = _mm512_insertf32x8(_mm512_castps256_ps512(half_e4m3(h->sc[0], 0)),
				  half_e4m3(h->sc[0], 2), 1);
	c->m = _mm512_insertf32x8(_mm512_castps256_ps512(half_e4m3(h->sc[0], 1)),
				  half_e4m3(h->sc[0], 3), 1);
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = load_twice(w[r] + at + 4);

		v = _mm512_and_si512(_mm512_srlv_epi16(v, words(0, 4)), four);
		c->q[r] = look_up(LMD_DTYPE_NVFP4, _mm512_permutexvar_epi64(order, v));
	}
}

#endif
