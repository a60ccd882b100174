/* SPDX-License-Identifier: MIT
 *
 * decode.h - on the device: tensor types.  gpu_decode32 decodes a group of 32 neighbouring values
 * of a row; with a constant type the compiler leaves one case of it.  docs/formats.md describes
 * the types; those of device_types.h have decoders that are shared with shaders.  A type that is
 * missing in both is decoded to f32 by the host when it is loaded. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_DECODE_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_DECODE_H

#include "backend/gpu/kern/planes.h"

/* ---- the types of device_types.h ---- */

GPU_CONST uint16_t gpu_points[] = {
#include "backend/common/device_points.h"
};

#define DEVICE_FN            GPU_FN
#define DEVICE_UNROLL        GPU_UNROLL
#define DEVICE_ROW           const uint8_t *row
#define DEVICE_OUT           float *w
#define DEVICE_U8(row, at)   ((uint32_t)(row)[at])
#define DEVICE_U16(row, at)  gpu_u16((row) + (at))
#define DEVICE_U32(row, at)  gpu_u32((row) + (at))
#define DEVICE_F16(bits)     gpu_half_to_float((uint16_t)(bits))
#define DEVICE_F32(bits)     gpu_bits_float(bits)
#define DEVICE_FLOAT(x)      ((float)(x))
#define DEVICE_INT(x)        ((int32_t)(x))
#define DEVICE_POINT(i)      ((uint32_t)gpu_points[i])
#define DEVICE_IQ4(n)        ((int32_t)gpu_book_iq4[n])
#define DEVICE_FP4(n)        ((int32_t)gpu_book_fp4[n])
#include "backend/common/device_decode.h"

/* Decodes group `part` of 32 values of a row; false if device_types.h does not have the type. */
GPU_FN int gpu_decode_shared(uint32_t type, const uint8_t *row, uint32_t part, float *w)
{
	if (type == GPU_F32) {
		return 0;
	}
	DEVICE_TYPES(DEVICE_BRANCH, type)
	else
	{
		return 0;
	}
	return 1;
}

/* ---- the others ---- */

/* Values of plain types; the ones after the end of the row, which has k, are 0. */
GPU_FN void gpu_decode_plain(uint32_t type, const uint8_t *row, uint32_t g, uint32_t k, float *w)
{
	uint32_t n = k - 32 * g < 32 ? k - 32 * g : 32;

	GPU_UNROLL
	for (uint32_t j = 0; j < 32; j++) {
		uint32_t i = 32 * g + j;

		if (j >= n)
			w[j] = 0;
		else if (type == GPU_F32)
			w[j] = ((const float *)(const void *)row)[i];
		else if (type == GPU_F16)
			w[j] = gpu_half_to_float(((const uint16_t *)(const void *)row)[i]);
		else
			w[j] = gpu_bits_float((uint32_t)((const uint16_t *)(const void *)row)[i]
					      << 16);
	}
}

/* 4 bits: value j in the low, j + 16 in the high nibble of byte j of qs. */
GPU_FN void gpu_decode_nibbles(const uint8_t *qs, float d, float m, float *w)
{
	GPU_UNROLL
	for (uint32_t j = 0; j < 16; j++) {
		w[j] = (float)(qs[j] & 15) * d + m;
		w[j + 16] = (float)(qs[j] >> 4) * d + m;
	}
}

/* 5 bits: the fifth of value j is bit j of `high`. */
GPU_FN void gpu_decode_fifth(const uint8_t *qs, uint32_t high, float d, float off, float m,
			     float *w)
{
	GPU_UNROLL
	for (uint32_t j = 0; j < 16; j++) {
		w[j] = ((float)((qs[j] & 15u) | (high >> j & 1) << 4) - off) * d + m;
		w[j + 16] = ((float)(qs[j] >> 4 | (high >> (j + 16) & 1) << 4) - off) * d + m;
	}
}

GPU_FN void gpu_decode_q2_k(const uint8_t *b, uint32_t g, float *w)
{
	const uint8_t *qs = b + 16 + 32 * (g / 4);
	float d = gpu_f16(b + 80), dmin = gpu_f16(b + 82);

	GPU_UNROLL
	for (uint32_t l = 0; l < 32; l++) {
		uint8_t s = b[2 * g + l / 16];

		w[l] = d * (float)(s & 15) * (float)(qs[l] >> 2 * (g % 4) & 3) -
		       dmin * (float)(s >> 4);
	}
}

GPU_FN void gpu_decode_q3_k(const uint8_t *b, uint32_t g, float *w)
{
	const uint8_t *qs = b + 32 + 32 * (g / 4), *s = b + 96;
	float d = gpu_f16(b + 108);

	GPU_UNROLL
	for (uint32_t l = 0; l < 32; l++) {
		uint32_t i = 2 * g + l / 16;
		int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4, high = s[8 + i % 4] >> 2 * (i / 4) & 3;
		int q = (qs[l] >> 2 * (g % 4) & 3) | (b[l] >> g & 1) << 2;

		w[l] = d * (float)((low | high << 4) - 32) * (float)(q - 4);
	}
}

/* Decodes values 32*g .. 32*g+31 of a row of k values. */
GPU_FN void gpu_decode32(uint32_t type, const uint8_t *row, uint32_t g, uint32_t k, float *w)
{
	const uint8_t *b;

	if (type & GPU_PLANES) {
		gpu_planes_decode32(type - GPU_PLANES, row, g, k, w);
		return;
	}
	switch (type) {
	case GPU_Q4_1:
		b = row + 20 * g;
		gpu_decode_nibbles(b + 4, gpu_f16(b), gpu_f16(b + 2), w);
		break;
	case GPU_Q5_0:
		b = row + 22 * g;
		gpu_decode_fifth(b + 6, gpu_u32(b + 2), gpu_f16(b), 16, 0, w);
		break;
	case GPU_Q5_1:
		b = row + 24 * g;
		gpu_decode_fifth(b + 8, gpu_u32(b + 4), gpu_f16(b), 0, gpu_f16(b + 2), w);
		break;
	case GPU_Q2_K:
		gpu_decode_q2_k(row + 84 * (g / 8), g % 8, w);
		break;
	case GPU_Q3_K:
		gpu_decode_q3_k(row + 110 * (g / 8), g % 8, w);
		break;
	default:
		if (!gpu_decode_shared(type, row, g, w))
			gpu_decode_plain(type, row, g, k, w);
		break;
	}
}

/* ---- caches ---- */

GPU_FN uint32_t gpu_clipped_f16(float f)
{
	return gpu_float_to_half(fminf(fmaxf(f, -65504.0f), 65504.0f));
}

#define DEVICE_VALUES      const float *values
#define DEVICE_GIVEN       values
#define DEVICE_VALUE(j)    values[j]
#define DEVICE_F16_BITS(x) gpu_clipped_f16(x)
#define DEVICE_ABS(x)      fabsf(x)
#define DEVICE_MIN(a, b)   fminf(a, b)
#define DEVICE_MAX(a, b)   fmaxf(a, b)
#define DEVICE_UINT(x)     ((uint32_t)(x))
#include "backend/common/device_cache.h"

/* ---- single values ---- */

/* One value of a row of a type that is rare where single values are read. */
GPU_SLOW float gpu_rare_element(uint32_t type, const uint8_t *row, uint32_t i, uint32_t k)
{
	float w[32];

	gpu_decode32(type, row, i / 32, k, w);
	return w[i % 32];
}

/* One value of a row of a cache. */
GPU_FN float gpu_cached_element(uint32_t type, const uint8_t *row, uint32_t i)
{
	if (type == GPU_F32)
		return ((const float *)(const void *)row)[i];
	if (type == GPU_F16)
		return gpu_half_to_float(((const uint16_t *)(const void *)row)[i]);
	if (type == GPU_BF16)
		return gpu_bits_float((uint32_t)((const uint16_t *)(const void *)row)[i] << 16);
	if (type == GPU_F8_E4M3)
		return gpu_e4m3(row[i]);
	if (type == GPU_Q8_0)
		return (float)((const int8_t *)row)[34 * (i / 32) + 2 + i % 32] *
		       gpu_f16(row + 34 * (i / 32));
	return device_cache_value(row, type, i);
}

/* One value of a row. */
GPU_FN float gpu_element(uint32_t type, const uint8_t *row, uint32_t i, uint32_t k)
{
	if (type == GPU_F32 || type == GPU_F16 || type == GPU_BF16 || type == GPU_Q8_0 ||
	    type == GPU_F8_E4M3 || DEVICE_CACHE_IS_BLOCKS(type))
		return gpu_cached_element(type, row, i);
	return gpu_rare_element(type, row, i, k);
}

/* Address of row n of a slice. */
GPU_FN const uint8_t *gpu_weight_row(const struct gpu_weight *w, uint32_t slice, uint32_t n)
{
	return GPU_PTR(const uint8_t,
		       w->data + w->slice_bytes * slice + (uint64_t)w->row_bytes * n);
}

GPU_FN float gpu_weight_scale(const struct gpu_weight *w, uint32_t slice, uint32_t n)
{
	if (!w->n_scale)
		return 1.0f;
	if (w->n_scale == 1)
		n = 0;
	else if (w->n_stack > 1 && w->n_scale == w->n_stack)
		n = slice;
	return GPU_PTR(const float, w->scale)[n];
}

GPU_FN float gpu_weight_bias(const struct gpu_weight *w, uint32_t slice, uint32_t n)
{
	if (!w->n_bias)
		return 0.0f;
	return GPU_PTR(const float, w->bias)[w->n_bias == w->n ? n : (uint64_t)slice * w->n + n];
}

/* ---- encoding rows of caches ---- */

GPU_FN uint16_t gpu_float_to_bf16(float f)
{
	uint32_t u = gpu_float_bits(f);

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(u >> 16 | 64); /* a quiet NaN */
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Rounds to nearest, ties to even; 448 is the greatest number. */
GPU_FN uint8_t gpu_float_to_e4m3(float f)
{
	uint32_t u = gpu_float_bits(fminf(fabsf(f), 448.0f)), sign = gpu_float_bits(f) >> 24 & 0x80u;

	if (!(f == f))
		return (uint8_t)(sign | 0x7f);
	if (u < 0x3c800000u) /* below 2^-6: a multiple of 2^-9 */
		return (uint8_t)(sign | (uint32_t)rintf(512.0f * fabsf(f)));
	return (uint8_t)(sign | (u - 0x3c000000u + 0x7ffff + (u >> 20 & 1)) >> 20);
}

/* 8 bits: d is the greatest magnitude / 127. */
GPU_FN void gpu_encode_q8_0(const float *x, uint8_t *b)
{
	float peak = 0, d, inv;

	for (int j = 0; j < 32; j++)
		peak = fmaxf(peak, fabsf(x[j]));
	d = fminf(peak / 127, 65504.0f);
	inv = d > 0 ? 1 / d : 0;
	b[0] = (uint8_t)gpu_clipped_f16(d);
	b[1] = (uint8_t)(gpu_clipped_f16(d) >> 8);
	for (int j = 0; j < 32; j++)
		((int8_t *)b)[2 + j] = (int8_t)fminf(fmaxf(rintf(x[j] * inv), -127.0f), 127.0f);
}

/* A block of device_cache.h. */
GPU_SLOW void gpu_encode_block(uint32_t type, const float *x, uint8_t *b)
{
	float scale = device_cache_scale(x, type), least = device_cache_least(x);
	float stored = device_cache_stored_scale(x, type, scale);

	for (uint32_t i = 0; i < DEVICE_CACHE_BYTES(type); i++)
		b[i] = (uint8_t)device_cache_byte(x, type, scale, stored, least, i);
}

/* Stores column c of a row of n values in a cache: the plain types one by one, the block types a
 * block at its first column. */
GPU_FN void gpu_encode(uint32_t type, const float *row, uint32_t c, uint8_t *to)
{
	if (type == GPU_F32)
		((float *)(void *)to)[c] = row[c];
	else if (type == GPU_F16)
		((uint16_t *)(void *)to)[c] = gpu_float_to_half(row[c]);
	else if (type == GPU_BF16)
		((uint16_t *)(void *)to)[c] = gpu_float_to_bf16(row[c]);
	else if (type == GPU_F8_E4M3)
		to[c] = gpu_float_to_e4m3(row[c]);
	else if (type == GPU_Q8_0 && c % 32 == 0)
		gpu_encode_q8_0(row + c, to + 34 * (c / 32));
	else if (DEVICE_CACHE_IS_BLOCKS(type) && c % 32 == 0)
		gpu_encode_block(type, row + c, to + DEVICE_CACHE_BYTES(type) * (c / 32));
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_DECODE_H */
