/* SPDX-License-Identifier: MIT
 *
 * scales.h - the scales of blocks as floats, portably. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_SCALES_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_SCALES_H

#include <stdint.h>
#include <string.h>

/* The f16 number at p, in little-endian order. */
static inline float kern_f16(const uint8_t *p)
{
	uint32_t h = (uint32_t)p[0] | (uint32_t)p[1] << 8, exp = h >> 10 & 31, man = h & 1023, bits;
	float v = (float)man * 0x1p-24f;

	if (exp) {
		bits = (exp == 31 ? 255u : exp + 112) << 23 | man << 13;
		memcpy(&v, &bits, sizeof(v));
	}
	return h & 0x8000 ? -v : v;
}

/* D of a row of a type with HOST_MEM_INT8_ROW_D, whose first block is `bytes` after p. */
static inline float kern_row_d(const uint8_t *p, int bytes)
{
	uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8;
	float v;

	if (bytes == 2)
		return kern_f16(p);
	bits |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* 2^(e - 128), which is denormal for e = 0 and 1. */
static inline float kern_power(uint8_t e)
{
	uint32_t bits = e < 2 ? 0x200000u << e : (uint32_t)(e - 1) << 23;
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Half of an E4M3 number without sign and with bias 7; see docs/formats.md. */
static inline float kern_half_e4m3(uint8_t b)
{
	int exp = b >> 3 & 15, man = b & 7;

	if (b == 0x7f)
		return 0;
	return exp ? (float)(8 + man) * (float)(1 << exp) * 0x1p-11f : (float)man * 0x1p-10f;
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_SCALES_H */
