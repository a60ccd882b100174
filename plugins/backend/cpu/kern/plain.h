/* SPDX-License-Identifier: MIT
 *
 * plain.h - blocks of 32 values without vector instructions, for types/NAME.h whose portable and
 * NEON parts are the same function, plain_NAME; KERN_PLAIN makes both parts from it. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_PLAIN_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_PLAIN_H

#include <stdbool.h>

#include "codebooks.h"
#include "iq_tables.h"
#include "scales.h"

/* Value e is d * sc[e / 16] * q[e], times the factor of the row for types that have one. */
struct kern_plain {
	int8_t q[32];
	int32_t sc[2];
	float d;
};

/* Field i of consecutive fields of `bits` bits, the first in the lowest bits. */
static inline int kern_field(const uint8_t *p, int bits, int i)
{
	return p[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

/* Nibble i of 2n in n bytes: the first n are low nibbles. */
static inline int kern_half(const uint8_t *p, int n, int i)
{
	return p[i % n] >> i / n * 4 & 15;
}

/* Bits of value e of block j: bytes have fields of `bits` bits for values that are 32 apart. */
static inline int kern_run(const uint8_t *p, int bits, int j, int e)
{
	const int n = 8 / bits;

	return p[32 * (j / n) + e] >> j % n * bits & ((1 << bits) - 1);
}

/* Codes of values by their numbers in a codebook, plus `by`. */
static inline void kern_plain_2(const uint8_t *qs, int j, const int8_t *book, int by, int8_t q[32])
{
	for (int e = 0; e < 32; e++)
		q[e] = (int8_t)(book[kern_run(qs, 2, j, e)] + by);
}

static inline void kern_plain_3(const uint8_t *qs, const uint8_t *qh, int j, const int8_t *book,
				int by, int8_t q[32])
{
	for (int e = 0; e < 32; e++)
		q[e] = (int8_t)(book[kern_run(qs, 2, j, e) | kern_run(qh, 1, j, e) << 2] + by);
}

static inline void kern_plain_4(const uint8_t *qs, int j, const int8_t *book, int by, int8_t q[32])
{
	for (int e = 0; e < 32; e++)
		q[e] = (int8_t)(book[kern_half(qs + 16 * j, 16, e)] + by);
}

static inline void kern_plain_5(const uint8_t *qs, const uint8_t *qh, int j, const int8_t *book,
				int by, int8_t q[32])
{
	for (int e = 0; e < 32; e++)
		q[e] = (int8_t)(book[kern_run(qs, 4, j, e) | kern_run(qh, 1, j, e) << 4] + by);
}

/* The second codebook of groups of 16: adds `by` to the halves of block j whose bits are set. */
static inline void kern_plain_second(const uint8_t *bits, int j, int by, int8_t q[32])
{
	for (int e = 0; e < 32; e++)
		q[e] = (int8_t)(q[e] + by * kern_field(bits, 1, 2 * j + e / 16));
}

/* A point of the trellis with n values. */
static inline void kern_trellis(uint32_t index, int n, int8_t *q)
{
	uint32_t x = KERN_TRELLIS_FIRST + index;

	for (int i = 0; i < n; i++) {
		uint32_t s;

		x *= KERN_TRELLIS_FACTOR;
		s = x & 0x3f3f3f3f;
		q[i] = (int8_t)((int)((s & 63) + (s >> 8 & 63) + (s >> 16 & 63) + (s >> 24)) - 126);
	}
}

/* D and the scales of IQ4_K and IQ5_K: 6 bits, less 32, for each group of 16. */
static inline void kern_plain_scales_k6(const uint8_t *b, int j, struct kern_plain *o)
{
	o->d = kern_f16(b);
	for (int h = 0; h < 2; h++)
		o->sc[h] = (kern_field(b + 8, 4, 2 * j + h) |
			    kern_field(b + 4, 2, 2 * j + h) << 4) -
			   32;
}

/* A factor of the block for types with a factor of the row. */
static inline void kern_plain_scale(struct kern_plain *o, int scale)
{
	o->sc[0] = o->sc[1] = 1;
	o->d = (float)scale;
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_PLAIN_H */
