/* SPDX-License-Identifier: MIT
 *
 * Unpacks blocks to integers with their factors and offsets; unpack.h defines them for each
 * type. */
#include "unpack.h"

#include <string.h>

#include "codebooks.h"

static float f16(const uint8_t *b)
{
	uint32_t h = (uint32_t)b[0] | (uint32_t)b[1] << 8, exp = h >> 10 & 31, man = h & 1023, bits;
	float v = (float)man * 0x1p-24f;

	if (exp) {
		bits = (exp == 31 ? 255u : exp + 112) << 23 | man << 13;
		memcpy(&v, &bits, sizeof(v));
	}
	return h & 0x8000 ? -v : v;
}

/* Unpacks 16 bytes of nibbles, low nibbles first; bit j of `fifth` is the fifth bit of code j. */
static void codes(const uint8_t *qs, const uint8_t *fifth, int minus, int16_t *p)
{
	for (int j = 0; j < 32; j++) {
		int q = j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;

		if (fifth)
			q |= (fifth[j / 8] >> (j % 8) & 1) << 4;
		p[j] = (int16_t)(q - minus);
	}
}

static void unpack_q4_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = 0;
	codes(b + 2, NULL, 8, p);
}

static void unpack_q4_1(const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = f16(b + 2);
	codes(b + 4, NULL, 0, p);
}

static void unpack_q5_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = 0;
	codes(b + 6, b + 2, 16, p);
}

static void unpack_q5_1(const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = f16(b + 2);
	codes(b + 8, b + 4, 0, p);
}

static void unpack_q8_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = 0;
	for (int j = 0; j < 32; j++)
		p[j] = (int8_t)b[2 + j];
}

/* Q4_K, and Q5_K with the fifth bits at qh: bit j of qh[l] belongs to value l of sub-block j. */
static void unpack_k45(const uint8_t *b, const uint8_t *qh, const uint8_t *qs, int16_t *p, float *d,
		       float *m)
{
	const uint8_t *s = b + 4;

	for (int j = 0; j < 8; j++, p += 32) {
		int sc = s[j] & 63, mn = s[j + 4] & 63;

		if (j >= 4) {
			sc = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
			mn = s[j + 4] >> 4 | s[j] >> 6 << 4;
		}
		d[j] = f16(b) * (float)sc;
		m[j] = -(f16(b + 2) * (float)mn);
		for (int l = 0; l < 32; l++) {
			int q = qs[j / 2 * 32 + l] >> (j % 2 * 4) & 15;

			p[l] = (int16_t)(qh ? q | (qh[l] >> j & 1) << 4 : q);
		}
	}
}

static void unpack_q4_k(const uint8_t *b, int16_t *p, float *d, float *m)
{
	unpack_k45(b, NULL, b + 16, p, d, m);
}

static void unpack_q5_k(const uint8_t *b, int16_t *p, float *d, float *m)
{
	unpack_k45(b, b + 16, b + 48, p, d, m);
}

static void unpack_q6_k(const uint8_t *b, int16_t *p, float *d, float *m)
{
	for (int e = 0; e < 256; e++) {
		int half = e / 128, quarter = e / 32 % 4, l = e % 32;
		int low = b[64 * half + 32 * (quarter % 2) + l] >> (quarter / 2 * 4) & 15;
		int high = b[128 + 32 * half + l] >> (2 * quarter) & 3;

		p[e] = (int16_t)((int8_t)b[192 + e / 16] * ((low | high << 4) - 32));
	}
	for (int j = 0; j < 8; j++) {
		d[j] = f16(b + 208);
		m[j] = 0;
	}
}

static void unpack_q3_k(const uint8_t *b, int16_t *p, float *d, float *m)
{
	for (int j = 0; j < 8; j++, p += 32) {
		d[j] = f16(b + 108);
		m[j] = 0;
		for (int l = 0; l < 32; l++) {
			int i = 2 * j +
				l / 16; /* scales of 16 values: four low bits, then two high bits */
			int sc = (b[96 + i % 8] >> (i / 8 * 4) & 15) |
				 (b[104 + i % 4] >> (i / 4 * 2) & 3) << 4;
			int q = (b[32 + j / 4 * 32 + l] >> (j % 4 * 2) & 3) | (b[l] >> j & 1) << 2;

			p[l] = (int16_t)((sc - 32) * (q - 4));
		}
	}
}

static void books(const uint8_t *qs, const int8_t *book, int16_t *p)
{
	codes(qs, NULL, 0, p);
	for (int j = 0; j < 32; j++)
		p[j] = book[p[j]];
}

static void unpack_iq4_nl(const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = 0;
	books(b + 2, kern_codebook_iq4, p);
}

static void unpack_iq4_xs(const uint8_t *b, int16_t *p, float *d, float *m)
{
	uint32_t high = (uint32_t)b[2] | (uint32_t)b[3] << 8;

	for (uint32_t j = 0; j < 8; j++) {
		uint32_t sc = (b[4 + j / 2] >> (j % 2 * 4) & 15) | (high >> (2 * j) & 3) << 4;

		d[j] = f16(b) * ((float)sc - 32);
		m[j] = 0;
		books(b + 8 + 16 * j, kern_codebook_iq4, p + 32 * j);
	}
}

static void unpack_mxfp4(const uint8_t *b, int16_t *p, float *d, float *m)
{
	/* 2^(e - 128), which is denormal for e = 0 and 1. */
	uint32_t bits = b[0] < 2 ? 0x200000u << b[0] : (uint32_t)(b[0] - 1) << 23;

	memcpy(d, &bits, sizeof(bits));
	*m = 0;
	books(b + 1, kern_codebook_fp4, p);
}

/* Half of an E4M3 number without sign and with bias 7; see docs/formats.md. */
static float half_e4m3(uint8_t b)
{
	int exp = b >> 3 & 15, man = b & 7;

	if (b == 0x7f)
		return 0;
	return exp ? (float)(8 + man) * (float)(1 << exp) * 0x1p-11f : (float)man * 0x1p-10f;
}

static void unpack_nvfp4(const uint8_t *b, int16_t *p, float *d, float *m)
{
	for (int g = 0; g < 4; g++) {
		(g % 2 ? m : d)[g / 2] = half_e4m3(b[g]);
		for (int j = 0; j < 16; j++)
			p[16 * g + j] = kern_codebook_fp4[b[4 + 8 * g + j % 8] >> (j / 8 * 4) & 15];
	}
}

static void unpack_q2_k(const uint8_t *b, const struct kern_row *o)
{
	for (int e = 0; e < 256; e++) {
		int q = b[16 + 32 * (e / 128) + e % 32] >> (e / 32 % 4 * 2) & 3;

		o->p[e] = (int16_t)((b[e / 16] & 15) * q);
		o->mn[e / 16] = b[e / 16] >> 4;
	}
	for (int j = 0; j < 8; j++) {
		o->d[j] = f16(b + 80);
		o->m[j] = -f16(b + 82);
	}
}

static void same_factor(float d, float *to, float *m, int n)
{
	for (int j = 0; j < n; j++) {
		to[j] = d;
		m[j] = 0;
	}
}

static void unpack_q1_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	same_factor(f16(b), d, m, 4);
	for (int e = 0; e < 128; e++)
		p[e] = (int16_t)(2 * (b[2 + e / 8] >> (e % 8) & 1) - 1);
}

static void unpack_q2_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	same_factor(f16(b), d, m, 2);
	for (int e = 0; e < 64; e++)
		p[e] = (int16_t)((b[2 + e / 4] >> (e % 4 * 2) & 3) - 1);
}

static void unpack_tq2_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	same_factor(f16(b + 64), d, m, 8);
	for (int e = 0; e < 256; e++)
		p[e] = (int16_t)((b[32 * (e / 128) + e % 32] >> (e / 32 % 4 * 2) & 3) - 1);
}

static void unpack_tq1_0(const uint8_t *b, int16_t *p, float *d, float *m)
{
	uint8_t trits[32];

	same_factor(f16(b + 52), d, m, 8);
	for (int j = 0; j < 8; j++) {
		kern_trits_32(b, j, trits);
		for (int e = 0; e < 32; e++)
			p[32 * j + e] = (int16_t)(trits[e] - 1);
	}
}

static void unpack_points(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b,
			  const struct kern_row *o)
{
	const uint32_t half = kern_point_d(dtype, b);
	const uint8_t bytes[2] = {(uint8_t)half, (uint8_t)(half >> 8)};
	bool iq1 = kern_is_iq1(dtype);

	same_factor(f16(bytes) * kern_point_unit(dtype), o->d, o->m, 8);
	for (int j = 0; j < 8; j++) {
		uint64_t v[4];
		uint32_t minus = kern_points_32(dtype, t, b, j, v);
		int32_t sc[2];

		kern_point_scales(dtype, b, j, sc);
		for (int e = 0; e < 32; e++) {
			int value = (int)(v[e / 8] >> (e % 8 * 8) & 255),
			    sign = minus >> e & 1 ? -1 : 1;

			value = iq1 ? value - 16 + sign : value * sign;
			o->p[32 * j + e] = (int16_t)(sc[e / 16] * value);
		}
	}
}

struct type {
	uint32_t dtype;
	uint32_t elems, bytes; /* of a block */
	/* NULL: Q2_K and the types of iq_tables.h. */
	void (*unpack)(const uint8_t *block, int16_t *p, float *d, float *m);
};

static const struct type types[] = {
	{LMD_DTYPE_Q4_0, 32, 18, unpack_q4_0},
	{LMD_DTYPE_Q4_1, 32, 20, unpack_q4_1},
	{LMD_DTYPE_Q5_0, 32, 22, unpack_q5_0},
	{LMD_DTYPE_Q5_1, 32, 24, unpack_q5_1},
	{LMD_DTYPE_Q8_0, 32, 34, unpack_q8_0},
	{LMD_DTYPE_Q4_K, 256, 144, unpack_q4_k},
	{LMD_DTYPE_Q5_K, 256, 176, unpack_q5_k},
	{LMD_DTYPE_Q6_K, 256, 210, unpack_q6_k},
	{LMD_DTYPE_Q3_K, 256, 110, unpack_q3_k},
	{LMD_DTYPE_IQ4_NL, 32, 18, unpack_iq4_nl},
	{LMD_DTYPE_IQ4_XS, 256, 136, unpack_iq4_xs},
	{LMD_DTYPE_MXFP4, 32, 17, unpack_mxfp4},
	{LMD_DTYPE_NVFP4, 64, 36, unpack_nvfp4},
	{LMD_DTYPE_Q1_0, 128, 18, unpack_q1_0},
	{LMD_DTYPE_Q2_0, 64, 18, unpack_q2_0},
	{LMD_DTYPE_TQ1_0, 256, 54, unpack_tq1_0},
	{LMD_DTYPE_TQ2_0, 256, 66, unpack_tq2_0},
	{LMD_DTYPE_Q2_K, 256, 84, NULL},
	{LMD_DTYPE_IQ2_XXS, 256, 66, NULL},
	{LMD_DTYPE_IQ2_XS, 256, 74, NULL},
	{LMD_DTYPE_IQ2_S, 256, 82, NULL},
	{LMD_DTYPE_IQ3_XXS, 256, 98, NULL},
	{LMD_DTYPE_IQ3_S, 256, 110, NULL},
	{LMD_DTYPE_IQ1_S, 256, 50, NULL},
	{LMD_DTYPE_IQ1_M, 256, 56, NULL},
};

void kern_unpack(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *block,
		 uint32_t k, const struct kern_row *out)
{
	const struct type *t = types;

	while (t->dtype != dtype)
		t++;
	for (uint32_t at = 0; at < k; at += t->elems, block += t->bytes) {
		struct kern_row o = {out->p + at, out->d + at / 32, out->m + at / 32,
				     out->mn + at / 16};

		if (t->unpack)
			t->unpack(block, o.p, o.d, o.m);
		else if (dtype == LMD_DTYPE_Q2_K)
			unpack_q2_k(block, &o);
		else
			unpack_points(dtype, points, block, &o);
	}
}
