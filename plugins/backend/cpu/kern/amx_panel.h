/* SPDX-License-Identifier: MIT
 *
 * amx_panel.h - weights in the order in which tiles multiply them.
 *
 * A panel has sixteen weight rows and some blocks of 32 values.  A block has one plane or two, each the
 * second factor of a product of tiles: row j < 8 has values 4j to 4j+3 of all weight rows, bytes 4r to 4r+3
 * those of weight row r.  Then come sixteen D, and sixteen M if the type has them.  The sums S0 and S1 of a
 * plane times q are, for a block of P, D and M as in kern.h:
 *
 *   AMX_ONE   plane 0: P
 *   AMX_MIN   plane 0: P; M is an offset
 *   AMX_WIDE  P may be too large for a byte: P = 128 * plane 1 + plane 0, with 0 <= plane 0 < 128; then
 *             i = 128 * S1 + S0
 *   AMX_TWO   what is multiplied by D in plane 0, what is multiplied by M in plane 1; then j = S1.  Of NVFP4
 *             these are the first and the last 16 values beside zeros, of Q2_K P and the minima
 *
 * Plain C with vectors of sixteen lanes, for the processor as for the twin (amx_tile.h). */
#ifndef LLAMAD_CPU_KERN_AMX_PANEL_H
#define LLAMAD_CPU_KERN_AMX_PANEL_H

#include <string.h>

#include "kern.h"
#include "properties.h"

#define AMX_BLOCKS 16 /* of a panel; a multiple of the blocks of 32 in a larger block */

typedef float amx_floats __attribute__((vector_size(64), may_alias));
typedef int32_t amx_ints __attribute__((vector_size(64), may_alias));
typedef int16_t amx_shorts __attribute__((vector_size(64), may_alias));
typedef uint16_t amx_words __attribute__((vector_size(64), may_alias));
typedef uint8_t amx_bytes __attribute__((vector_size(64), may_alias));

enum amx_kind {
	AMX_ONE,
	AMX_MIN,
	AMX_WIDE,
	AMX_TWO,
};

INLINE enum amx_kind amx_kind_of(uint32_t dtype)
{
	if (kern_has_two_d(dtype) || kern_has_minima(dtype))
		return AMX_TWO;
	if (kern_has_halves(dtype))
		return AMX_WIDE;
	return kern_has_min(dtype) ? AMX_MIN : AMX_ONE;
}

INLINE size_t amx_n_plane(enum amx_kind kind)
{
	return kind == AMX_WIDE || kind == AMX_TWO ? 2 : 1;
}

/* Offsets in a block, and its bytes. */
INLINE size_t amx_d(enum amx_kind kind)
{
	return 512 * amx_n_plane(kind);
}

INLINE size_t amx_m(enum amx_kind kind)
{
	return amx_d(kind) + 64;
}

INLINE size_t amx_block(enum amx_kind kind)
{
	return amx_m(kind) + (kind == AMX_MIN || kind == AMX_TWO ? 64 : 0);
}

#define AMX_PANEL_BYTES (AMX_BLOCKS * (2 * 512 + 2 * 64))

/* Row j of the planes of an AMX_WIDE block: codes with their signs times the factors of their weight rows,
 * each of which fills both halves of its lane. */
INLINE void amx_put_wide(amx_bytes codes, amx_shorts factors, size_t j, char *block)
{
	const amx_shorts v = (amx_shorts)codes;
	const amx_shorts even = (amx_shorts)((amx_words)v << 8) >> 8, odd = v >> 8;
	const amx_words p0 = (amx_words)(even * factors), p1 = (amx_words)(odd * factors);

	*(amx_words *)(void *)(block + 64 * j) = (p0 & 127) | (p1 & 127) << 8;
	*(amx_words *)(void *)(block + 512 + 64 * j) = (p0 >> 7 & 255) | (p1 << 1 & 0xff00);
}

#endif /* LLAMAD_CPU_KERN_AMX_PANEL_H */
