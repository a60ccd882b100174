/* SPDX-License-Identifier: MIT
 *
 * types.h - on the device: numbers of tensor types, codebooks, and numbers of few bytes. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_TYPES_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_TYPES_H

#include "backend/common/device_types.h"
#include "backend/gpu/kern/view.h"

/* Numbers of enum lmd_dtype, which the devices' compilers need not read. */
enum gpu_type {
	GPU_F32 = 0,
	GPU_F16 = 1,
	GPU_Q4_0 = 2,
	GPU_Q4_1 = 3,
	GPU_Q5_0 = 6,
	GPU_Q5_1 = 7,
	GPU_Q8_0 = 8,
	GPU_Q2_K = 10,
	GPU_Q3_K = 11,
	GPU_Q4_K = 12,
	GPU_Q5_K = 13,
	GPU_Q6_K = 14,
	GPU_IQ4_NL = 20,
	GPU_IQ4_XS = 23,
	GPU_BF16 = 30,
	GPU_MXFP4 = 39,
	GPU_F8_E4M3 = 60,
	GPU_Q4_0_ROT = 64,
#define GPU_TYPE(_, constant, name, number, head, bytes, groups) GPU_##constant = number,
	DEVICE_TYPES(GPU_TYPE, _)
};

GPU_CONST int8_t gpu_book_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
				     1,    13,   25,  38,  53,  69,  89,  113};
GPU_CONST int8_t gpu_book_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

GPU_FN uint32_t gpu_u16(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8);
}

GPU_FN uint32_t gpu_u32(const uint8_t *p)
{
	return gpu_u16(p) | gpu_u16(p + 2) << 16;
}

GPU_FN float gpu_f16(const uint8_t *p)
{
	return gpu_half_to_float((uint16_t)gpu_u16(p));
}

GPU_FN float gpu_bf16(const uint8_t *p)
{
	return gpu_bits_float(gpu_u16(p) << 16);
}

/* Halves that are 1/256 of the numbers of F8_E4M3 in bytes 1 and 3, exactly, except for NaN. */
GPU_FN uint32_t gpu_e4m3_halves(uint32_t x)
{
	return (x & 0x80008000u) | (x >> 1 & 0x3f803f80u);
}

/* A number of F8_E4M3. */
GPU_FN float gpu_e4m3(uint32_t b)
{
	if ((b & 0x7fu) == 0x7fu)
		return gpu_bits_float(0x7fc00000u);
	return 256.0f * gpu_half_to_float((uint16_t)gpu_e4m3_halves(b << 8));
}

/* Four of them. */
GPU_FN void gpu_e4m3_four(uint32_t x, float *v)
{
	uint32_t lo = gpu_e4m3_halves(gpu_bytes(x, 0, 0x1404));
	uint32_t hi = gpu_e4m3_halves(gpu_bytes(x, 0, 0x3424));

	v[0] = 256.0f * gpu_half_to_float((uint16_t)lo);
	v[1] = 256.0f * gpu_half_to_float((uint16_t)(lo >> 16));
	v[2] = 256.0f * gpu_half_to_float((uint16_t)hi);
	v[3] = 256.0f * gpu_half_to_float((uint16_t)(hi >> 16));
	if (((x & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u) { /* NaN */
		GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++)
			v[i] = gpu_e4m3(x >> 8 * i & 255);
	}
}

/* 2^(e - 128); denormal for e = 0 and 1. */
GPU_FN float gpu_e8m0_half(uint32_t e)
{
	return gpu_bits_float(e < 2 ? 0x200000u << e : (e - 1) << 23);
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_TYPES_H */
