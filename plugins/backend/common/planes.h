/* SPDX-License-Identifier: MIT
 *
 * planes.h - the rows of some block types as GPUs read them: the bytes of the file in another order,
 * codes and scales in planes of their own.  With g = k / 32 groups and b = k / 256 blocks:
 *
 *   q4_0, iq4_nl   codes [g][16], f16 d [g]
 *   mxfp4          codes [g][16], exponent [g][1]
 *   q8_0           values 0..15 of each group [g][16], values 16..31 [g][16], f16 d [g]
 *   q4_k           codes [g][16], the head of the block [b][16]
 *   q5_k           codes [g][16], fifth bits [g][4], head [b][16]
 *   q6_k           codes [g][16], upper two bits [g][8], scales [g][2], f16 d [b]
 *   iq4_xs         codes [g][16], head [b][8]
 *
 * Codes of 4 bits: byte j has value j below and value j + 16 above; in types with a codebook the
 * 16-bit halves of word i have values 4i..4i+3 and 4i+16..4i+19 instead, a nibble each.
 * Fifth bits: bit i of byte j belongs to value 4i+j, bit i+4 to value 4i+j+16.  Upper two bits:
 * bits 2i of byte j of the first word belong to value 4i+j, of the second to value 4i+j+16. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_PLANES_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_PLANES_H

#include <stdbool.h>
#include <stdint.h>

/* Has the type an order in planes? */
bool host_mem_planes_has(uint32_t dtype);
/* Repacks a row of k values, whole blocks of the type.  out: as many bytes as the row; they must not
 * overlap. */
void host_mem_planes_row(uint32_t dtype, const uint8_t *row, uint32_t k, uint8_t *out);

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_PLANES_H */
