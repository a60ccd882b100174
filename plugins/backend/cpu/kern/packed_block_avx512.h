/* SPDX-License-Identifier: MIT
 *
 * packed_block_avx512.h - a block of 32 of a group of repacked weights (packed.h) in vectors. */
#ifndef LLAMAD_CPU_KERN_PACKED_BLOCK_AVX512_H
#define LLAMAD_CPU_KERN_PACKED_BLOCK_AVX512_H

#include "codes_avx512.h"
#include "packed.h"
#include "panel_avx512.h"

#define PASS 8u /* largest number of rows of x in a pass */

INLINE __m512i vector(const char *p)
{
	return _mm512_loadu_si512((const void *)p);
}

/* Vectors j and j + 4 of the codes of a block, j < 4, as bytes: values 4j to 4j+3, and those 16 further,
 * of the sixteen rows. */
INLINE void packed_words(uint32_t dtype, const char *p, int j, __m512i *low, __m512i *high)
{
	const __m512i four = _mm512_set1_epi8(15), fifth = _mm512_set1_epi8(0x10),
		      top = _mm512_set1_epi8(0x30);
	const uint32_t bits = kern_packed_bits(dtype);
	__m512i v = vector(p + 64 * j);

	if (bits == 8) {
		*low = v;
		*high = vector(p + 256 + 64 * j);
		return;
	}
	*low = _mm512_and_si512(v, four);
	*high = _mm512_and_si512(_mm512_srli_epi16(v, 4), four);
	if (kern_has_iq4_codebook(dtype) || dtype == LMD_DTYPE_MXFP4) {
		*low = look_up(dtype, *low);
		*high = look_up(dtype, *high);
	}
	if (bits == 5) { /* code | (v & fifth) */
		v = vector(p + 256);
		*low = _mm512_ternarylogic_epi32(*low, _mm512_slli_epi16(v, 4 - j), fifth, 0xf8);
		*high = _mm512_ternarylogic_epi32(*high, _mm512_srli_epi16(v, j), fifth, 0xf8);
	}
	if (bits == 6) {
		const int left = j < 2 ? 4 - 2 * j : 0, right = j < 2 ? 0 : 2 * j - 4;

		v = _mm512_srli_epi16(_mm512_slli_epi16(vector(p + 256), left), right);
		*low = _mm512_ternarylogic_epi32(*low, v, top, 0xf8);
		v = _mm512_srli_epi16(_mm512_slli_epi16(vector(p + 320), left), right);
		*high = _mm512_ternarylogic_epi32(*high, v, top, 0xf8);
	}
}

/* All codes of a block: vector j has values 4j to 4j+3. */
INLINE void packed_codes(uint32_t dtype, const char *p, __m512i q[8])
{
#pragma GCC unroll 4
	for (int j = 0; j < 4; j++)
		packed_words(dtype, p, j, &q[j], &q[j + 4]);
}

/* Factors of a block of sixteen rows. */
struct factors {
	__m512 d, m;   /* M only for types that have it */
	__m512i sc[2]; /* of the halves */
};

INLINE __m512 sixteen_halves(const char *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}

INLINE __m512i sixteen_bytes(const char *p)
{
	return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}

INLINE __m512i sixteen_signed(const char *p)
{
	return _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p));
}

/* p: kern_packed_scale() of block b. */
INLINE void packed_factors(uint32_t dtype, const char *p, size_t b, struct factors *f)
{
	const size_t i = b % 8;

	f->m = _mm512_setzero_ps();
	f->sc[0] = f->sc[1] = _mm512_setzero_si512();
	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_F16:
		f->d = sixteen_halves(p);
		return;
	case KERN_SCALES_DM:
		f->d = sixteen_halves(p);
		f->m = sixteen_halves(p + 32);
		return;
	case KERN_SCALES_E8:
		f->d = power(sixteen_bytes(p));
		return;
	case KERN_SCALES_K:
		f->d = _mm512_mul_ps(sixteen_halves(p),
				     _mm512_cvtepi32_ps(sixteen_signed(p + 32 + 16 * i)));
		return;
	case KERN_SCALES_K_DM:
		f->d = _mm512_mul_ps(sixteen_halves(p),
				     _mm512_cvtepi32_ps(sixteen_bytes(p + 64 + 32 * i)));
		f->m = _mm512_mul_ps(sixteen_halves(p + 32),
				     _mm512_cvtepi32_ps(sixteen_bytes(p + 80 + 32 * i)));
		return;
	case KERN_SCALES_HALVES:
		f->d = sixteen_halves(p);
		f->sc[0] = sixteen_signed(p + 32 + 32 * i);
		f->sc[1] = sixteen_signed(p + 48 + 32 * i);
		return;
	case KERN_SCALES_TWO_E8:
	case KERN_SCALES_HALVES_DM: /* no such types here */
		return;
	}
}

/* What block b adds to the outputs of sixteen rows and a row of x. */
INLINE __m512 packed_term(uint32_t dtype, const struct factors *f, __m512i s, const char *x,
			  uint32_t k, size_t b)
{
	__m512 t = _mm512_mul_ps(f->d, all_floats(x + KERN_Q8_D(k), b));

	t = _mm512_mul_ps(t, _mm512_cvtepi32_ps(s));
	if (kern_has_min(dtype))
		t = _mm512_add_ps(t, _mm512_mul_ps(f->m, all_floats(x + KERN_Q8_E(k), b)));
	return t;
}

#endif /* LLAMAD_CPU_KERN_PACKED_BLOCK_AVX512_H */
