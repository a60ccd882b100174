/* SPDX-License-Identifier: MIT
 *
 * types.h - the files types/NAME.h: everything about a type that has an exact kernel, except its
 * row in backend/common/int8_types.h.
 *
 * A source sets KERN_PART and includes types.gen.h, which includes all of them.  Each has four
 * parts:
 *
 *   KERN_PART_C       unpack_NAME: a block to integers (unpack.h), portable
 *   KERN_PART_AVX2    codes of eight rows, one block of 32 at a time (codes_avx2.h)
 *   KERN_PART_AVX512  codes of eight rows, two blocks of 32 at a time (codes_avx512.h)
 *   KERN_PART_NEON    row_NAME: values of one row, one block of 32 at a time (rows_neon.h)
 *
 * On x86, vectors of codes come from codes_NAME.  Types with blocks of more than 32 values also have
 * head_NAME, which reads what the blocks of 32 in a larger block share. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_TYPES_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_TYPES_H

#define KERN_PART_C      1
#define KERN_PART_AVX2   2
#define KERN_PART_AVX512 3
#define KERN_PART_NEON   4

/* Files whose code for both vector widths of x86 differs in nothing but the functions of books_*.h
 * and trellis_*.h have one part for both, and those whose portable part is plain_NAME (plain.h) use
 * it with NEON as well. */
#define KERN_ON_X86 (KERN_PART == KERN_PART_AVX2 || KERN_PART == KERN_PART_AVX512)

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_TYPES_H */
