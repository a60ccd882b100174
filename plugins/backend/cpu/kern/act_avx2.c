/* SPDX-License-Identifier: MIT
 *
 * Rounds activations to 8 or 16 bits with AVX2; gives the same bytes as act_c.c, also for NaN and
 * infinity.  The processor's min and max return their second operand if one is NaN, hence the
 * order of the operands. */
#include <string.h>

#include "variants.h"
#include "x86.h"

INLINE __m256 at(const float *x, int i)
{
	return _mm256_loadu_ps(x + 8 * i);
}

INLINE float greatest(__m256 v)
{
	__m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

	m = _mm_max_ps(m, _mm_movehl_ps(m, m));
	m = _mm_max_ss(m, _mm_movehdup_ps(m));
	return _mm_cvtss_f32(m);
}

INLINE int32_t sum(__m128i v)
{
	v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4e));
	v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0xb1));
	return _mm_cvtsi128_si32(v);
}

INLINE void put_float(char *p, float v)
{
	memcpy(p, &v, sizeof(v));
}

/* Rounds block b of a row of k values and leaves in v what that leaves out. */
INLINE void block(__m256 v[4], char *base, uint32_t k, size_t b)
{
	const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256 top = _mm256_setzero_ps(), inv;
	__m256i i[4], q, s;
	float amax, d;
	int32_t half[2], n;

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++)
		top = _mm256_max_ps(_mm256_and_ps(v[j], magnitude), top);
	amax = greatest(top);
	d = amax / 127.0f;
	inv = _mm256_set1_ps(amax > 0 ? 127.0f / amax : 0.0f);
#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		__m256 t = _mm256_round_ps(_mm256_mul_ps(v[j], inv),
					   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

		t = _mm256_min_ps(t, _mm256_set1_ps(127));
		t = _mm256_max_ps(t, _mm256_set1_ps(-127));
		i[j] = _mm256_cvtps_epi32(t);
		v[j] = _mm256_sub_ps(v[j], _mm256_mul_ps(_mm256_set1_ps(d), t));
	}
	q = _mm256_packs_epi16(_mm256_packs_epi32(i[0], i[1]), _mm256_packs_epi32(i[2], i[3]));
	q = _mm256_permutevar8x32_epi32(q, order);
	s = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q), _mm256_set1_epi16(1));
	half[0] = -sum(_mm256_castsi256_si128(s));
	half[1] = -sum(_mm256_extracti128_si256(s, 1));
	n = half[0] + half[1];
	_mm256_storeu_si256((void *)(base + 32 * b), q);
	put_float(base + KERN_Q8_D(k) + 4 * b, d);
	put_float(base + KERN_Q8_E(k) + 4 * b, d * (float)-n);
	memcpy(base + KERN_Q8_N(k) + 4 * b, &n, sizeof(n));
	memcpy(base + KERN_Q8_H(k) + 8 * b, half, sizeof(half));
}

static void row(const float *x, uint32_t k, uint32_t n_q8, void *out)
{
	for (uint32_t b = 0; b < k / 32; b++, x += 32) {
		__m256 v[4] = {at(x, 0), at(x, 1), at(x, 2), at(x, 3)};

		for (uint32_t i = 0; i < n_q8; i++)
			block(v, (char *)out + i * KERN_Q8_BYTES(k), k, b);
	}
}

const struct kern_act kern_act_avx2 = {.flags = LMD_CPU_AVX2, .isa = "avx2", .row = row};
