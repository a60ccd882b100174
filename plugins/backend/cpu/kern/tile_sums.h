/* SPDX-License-Identifier: MIT
 *
 * tile_sums.h - what the sums of a tile are (tiles.h), for a kernel that defines vec and TILE.  After it
 * the kernel defines
 *     void add_tile(dtype, n_row, w, later, x, from, to, n_col, s)
 * which adds values [from, to) of the weight rows w[n_row] of dtype times those of the n_col rows x to
 * *s; from is a multiple of the values of a vector, and sums begin at from == 0.  dtype, n_row, which is
 * ROWS or ALONE (tiles.h), and n_col, which is 1..TILE, are constants.  later: where to prefetch as many
 * bytes as are read; NULL: nowhere. */
#ifndef LLAMAD_CPU_KERN_TILE_SUMS_H
#define LLAMAD_CPU_KERN_TILE_SUMS_H

#define INLINE      static inline __attribute__((always_inline))
#define ROWS        4
#define STRIP_BYTES 0x40000 /* size of the rows of a strip, at least ROWS of them */
#define STRIP_ROWS  64      /* at most */

/* The sums of ROWS weight rows times up to TILE rows of x, lane by lane. */
struct sums {
	vec v[TILE][ROWS];
};

#endif /* LLAMAD_CPU_KERN_TILE_SUMS_H */
