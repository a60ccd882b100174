/* SPDX-License-Identifier: MIT
 *
 * amx_tile.h - the tile operations of AMX (Intel SDM vol. 1, ch. 18, and vol. 2) that the kernels use.
 *
 * A source that is compiled for the processor gets the instructions.  One that defines KERN_AMX_TWIN gets
 * functions in plain C that do what the manual says (amx_twin.h), so that the same kernels run on any
 * machine, in tests.
 *
 * A thread has eight tiles of up to 16 rows of 64 bytes.  Their sizes are set by AMX_CONFIGURE, which
 * clears them; AMX_RELEASE ends it.  A kernel does both in each call, so that outside of kernels a thread
 * has no tiles: then a switch of threads need not save their 8 KiB, nor does a signal put them on the
 * stack, and the processor may sleep deeply.  Tile numbers are literals, since they are part of the
 * instruction.
 *
 *     AMX_CONFIGURE(c)        c: const struct kern_amx_config *
 *     AMX_RELEASE()
 *     AMX_ZERO(t)
 *     AMX_LOAD(t, p, stride)  row i of tile t = the bytes at p + i * stride
 *     AMX_STORE(t, p, stride)
 *     AMX_DPBSSD(c, a, b)     c[m][n] += sum over k, i < 4 of a[m][4k+i] * b[k][4n+i]; int32 of int8
 *     AMX_DPBF16PS(c, a, b)   c[m][n] += sum over k, i < 2 of a[m][2k+i] * b[k][2n+i]; f32 of bf16
 *
 * Compilers know nothing of what the instructions read and write: loads, stores and the configuration name
 * all memory as used.  (gcc 12's _tile_loadconfig names 8 of the 64 bytes, so that others may never be
 * written; its _tile_loadd names none.) */
#ifndef LLAMAD_CPU_KERN_AMX_TILE_H
#define LLAMAD_CPU_KERN_AMX_TILE_H

#include <stddef.h>
#include <stdint.h>

/* The operand of LDTILECFG for palette 1. */
struct kern_amx_config {
	uint8_t palette, start_row;
	uint8_t zero[14];
	uint16_t bytes[16]; /* of a row of each tile; 0 for tiles 8..15 */
	uint8_t rows[16];
};

_Static_assert(sizeof(struct kern_amx_config) == 64 &&
		       offsetof(struct kern_amx_config, bytes) == 16 &&
		       offsetof(struct kern_amx_config, rows) == 48,
	       "operand of LDTILECFG");

#ifdef KERN_AMX_TWIN

#include "amx_twin.h"

#define AMX_CONFIGURE(c)        kern_amx_twin_configure(c)
#define AMX_RELEASE()           kern_amx_twin_release()
#define AMX_ZERO(t)             kern_amx_twin_zero(t)
#define AMX_LOAD(t, p, stride)  kern_amx_twin_load(t, p, stride)
#define AMX_STORE(t, p, stride) kern_amx_twin_store(t, p, stride)
#define AMX_DPBSSD(c, a, b)     kern_amx_twin_dpbssd(c, a, b)
#define AMX_DPBF16PS(c, a, b)   kern_amx_twin_dpbf16ps(c, a, b)

#else

/* What the kernels need beside tiles, which is all that their compiler flags allow. */
#define AMX_NEEDS                                                                                  \
	(LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI | LMD_CPU_AVX512_VBMI |               \
	 LMD_CPU_AVX512_BF16)

#define AMX_CONFIGURE(c) __asm__ volatile("ldtilecfg %0" : : "m"(*(c)) : "memory")
#define AMX_RELEASE()    __asm__ volatile("tilerelease" : : : "memory")
#define AMX_ZERO(t)      __asm__ volatile("tilezero %%tmm" #t : :)
#define AMX_LOAD(t, p, stride)                                                                     \
	__asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t                                           \
			 :                                                                         \
			 : "r"((const void *)(p)), "r"((ptrdiff_t)(stride))                        \
			 : "memory")
#define AMX_STORE(t, p, stride)                                                                    \
	__asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)"                                       \
			 :                                                                         \
			 : "r"((void *)(p)), "r"((ptrdiff_t)(stride))                              \
			 : "memory")
#define AMX_DPBSSD(c, a, b)   __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
#define AMX_DPBF16PS(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

#endif

#endif /* LLAMAD_CPU_KERN_AMX_TILE_H */
