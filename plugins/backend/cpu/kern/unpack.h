/* SPDX-License-Identifier: MIT
 *
 * unpack.h - unpacks weights to integers, portably.
 *
 * In each block of 32 a weight is D * P + M, all three exact in f32 (layouts: docs/formats.md):
 *
 *   type   P                          D            M
 *   q4_0   nibble - 8                 d            none
 *   q4_1   nibble                     d            m
 *   q5_0   5 bits - 16                d            none
 *   q5_1   5 bits                     d            m
 *   q8_0   q                          d            none
 *   q4_k   nibble                     d * sc       -(dmin * mn)      sc, mn: 6 bits for 32
 *   q5_k   5 bits                     d * sc       -(dmin * mn)
 *   q6_k   sc * (6 bits - 32)         d            none              sc: 8 bits for 16
 *   q3_k   (sc - 32) * (3 bits - 4)   d            none              sc: 6 bits for 16
 *   iq4_nl codebook[nibble]           d            none
 *   iq4_xs codebook[nibble]           d * (sc-32)  none              sc: 6 bits for 32
 *   mxfp4  2 * E2M1 of the nibble     2^(e-128)    none
 *   nvfp4  2 * E2M1 of the nibble     scale / 2    D of the last 16, which have their own scale
 *   q2_k   sc * (2 bits)              d            -dmin, times mn   sc, mn: 4 bits for 16
 *   q1_0   1 or -1                    d            none
 *   q2_0   2 bits - 1                 d            none
 *   tq1_0  trit - 1                   d            none
 *   tq2_0  2 bits - 1                 d            none
 *   iq1_*, iq2_*, iq3_*: see iq_tables.h */
#ifndef LLAMAD_CPU_KERN_UNPACK_H
#define LLAMAD_CPU_KERN_UNPACK_H

#include "iq_tables.h"

/* An unpacked row. */
struct kern_row {
	int16_t *p;   /* [k] */
	float *d, *m; /* [k/32] */
	int16_t *mn;  /* [k/16] minima of Q2_K */
};

/* Unpacks k values of a type that has an exact kernel.  points: tables of the IQ types. */
void kern_unpack(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *block,
		 uint32_t k, const struct kern_row *out);

#endif /* LLAMAD_CPU_KERN_UNPACK_H */
