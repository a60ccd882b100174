/* SPDX-License-Identifier: MIT
 *
 * iqk.h - where the types IQ*_K and IQ*_KS keep the bits of value e of a block of 256. */
#ifndef LLAMAD_CORE_QUANT_IQK_H
#define LLAMAD_CORE_QUANT_IQK_H

#include <stdint.h>

/* Bytes with fields of `bits` bits, each byte for values 32 apart: 8 / bits runs of 32 values share
 * 32 bytes. */
static inline int lmi_iqk_get(const uint8_t *p, int bits, int e)
{
	int runs = 8 / bits;

	return p[32 * (e / 32 / runs) + e % 32] >> bits * (e / 32 % runs) & ((1 << bits) - 1);
}

/* The bits must be clear. */
static inline void lmi_iqk_put(uint8_t *p, int bits, int e, int v)
{
	int runs = 8 / bits;

	p[32 * (e / 32 / runs) + e % 32] |= (uint8_t)(v << bits * (e / 32 % runs));
}

/* Nibble order of 32: value j in the low, j + 16 in the high nibble of byte j of 16. */
static inline int lmi_iqk_get_nibble(const uint8_t *p, int e)
{
	return p[16 * (e / 32) + e % 16] >> 4 * (e / 16 % 2) & 15;
}

static inline void lmi_iqk_put_nibble(uint8_t *p, int e, int v)
{
	p[16 * (e / 32) + e % 16] |= (uint8_t)(v << 4 * (e / 16 % 2));
}

/* Field i of fields of `bits` bits, the first in the lowest bits. */
static inline int lmi_iqk_field(const uint8_t *p, int bits, int i)
{
	return p[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

static inline void lmi_iqk_set_field(uint8_t *p, int bits, int i, int v)
{
	p[i * bits / 8] |= (uint8_t)(v << i * bits % 8);
}

#endif /* LLAMAD_CORE_QUANT_IQK_H */
