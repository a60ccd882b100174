/* SPDX-License-Identifier: MIT
 *
 * iqk.h - bit layouts of the types IQ*_K, IQ*_KS and IQ*_KT: the bits of value e of a block of 256,
 * and the scales of its groups.  The put functions require the destination bits to be 0. */
#ifndef LLAMAD_CORE_QUANT_IQK_H
#define LLAMAD_CORE_QUANT_IQK_H

#include <stdint.h>

/* Bytes with fields of `bits` bits; the fields of a byte belong to values 32 apart: 8 / bits runs
 * of 32 values share 32 bytes. */
static inline int lmi_iqk_get(const uint8_t *p, int bits, int e)
{
	int runs = 8 / bits;

	return p[32 * (e / 32 / runs) + e % 32] >> bits * (e / 32 % runs) & ((1 << bits) - 1);
}

static inline void lmi_iqk_put(uint8_t *p, int bits, int e, int v)
{
	int runs = 8 / bits;

	p[32 * (e / 32 / runs) + e % 32] |= (uint8_t)(v << bits * (e / 32 % runs));
}

/* Codes split into two arrays: the low bits of each in lo, the remaining bits in hi. */
static inline int lmi_iqk_get_split(const uint8_t *lo, int lo_bits, const uint8_t *hi, int hi_bits,
				    int e)
{
	return lmi_iqk_get(lo, lo_bits, e) | lmi_iqk_get(hi, hi_bits, e) << lo_bits;
}

static inline void lmi_iqk_put_split(uint8_t *lo, int lo_bits, uint8_t *hi, int hi_bits, int e,
				     int v)
{
	lmi_iqk_put(lo, lo_bits, e, v & ((1 << lo_bits) - 1));
	lmi_iqk_put(hi, hi_bits, e, v >> lo_bits);
}

/* 2n values in n bytes: the first n in the low nibbles, the rest in the high nibbles. */
static inline int lmi_iqk_get_half(const uint8_t *p, int n, int i)
{
	return p[i % n] >> 4 * (i / n) & 15;
}

static inline void lmi_iqk_put_half(uint8_t *p, int n, int i, int v)
{
	p[i % n] |= (uint8_t)(v << 4 * (i / n));
}

/* Groups of 32 nibbles: byte j of 16 has value j in the low nibble and value j + 16 in the high
 * nibble. */
static inline int lmi_iqk_get_nibble(const uint8_t *p, int e)
{
	return lmi_iqk_get_half(p + 16 * (e / 32), 16, e % 32);
}

static inline void lmi_iqk_put_nibble(uint8_t *p, int e, int v)
{
	lmi_iqk_put_half(p + 16 * (e / 32), 16, e % 32, v);
}

/* Field i of consecutive fields of `bits` bits, the first in the lowest bits. */
static inline int lmi_iqk_field(const uint8_t *p, int bits, int i)
{
	return p[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

static inline void lmi_iqk_set_field(uint8_t *p, int bits, int i, int v)
{
	p[i * bits / 8] |= (uint8_t)(v << i * bits % 8);
}

/* Field i whose four low bits are a nibble of lo and whose remaining bits are a field of hi. */
static inline int lmi_iqk_field_split(const uint8_t *lo, const uint8_t *hi, int hi_bits, int i)
{
	return lmi_iqk_field(lo, 4, i) | lmi_iqk_field(hi, hi_bits, i) << 4;
}

static inline void lmi_iqk_set_field_split(uint8_t *lo, uint8_t *hi, int hi_bits, int i, int v)
{
	lmi_iqk_set_field(lo, 4, i, v & 15);
	lmi_iqk_set_field(hi, hi_bits, i, v >> 4);
}

#endif /* LLAMAD_CORE_QUANT_IQK_H */
