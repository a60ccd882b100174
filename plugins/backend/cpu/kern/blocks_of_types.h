/* SPDX-License-Identifier: MIT
 *
 * blocks_of_types.h - reads blocks of any type without points.  The same source serves both vector
 * widths: include it after types.gen.h. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_BLOCKS_OF_TYPES_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_BLOCKS_OF_TYPES_H

/* Before all includes, a source says in KERN_BLOCKS_32 and KERN_LARGER_BLOCKS which types with blocks of 32 and
 * with larger blocks it has kernels for, as one of the lists of int8_types.h or KERN_NO_TYPES.  The compiler
 * copies the code of all of them into each kernel before it sees that dtype is another, so that the time it
 * takes grows with the square of their number. */
#define KERN_NO_TYPES(X)

/* Reads what the blocks of 32 in a larger block share. */
INLINE void head_large(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
#define CASE(ID, name, ...)                                                                        \
	case LMD_DTYPE_##ID:                                                                       \
		head_##name(w, at, h);                                                             \
		break;
	(void)w, (void)at, (void)h; /* if there are no types */
	switch (dtype) {
		KERN_LARGER_BLOCKS(CASE)
	default:
		break;
	}
#undef CASE
}

/* Reads part number `part` (as many blocks of 32 as struct codes holds) of the larger block at
 * `at`. */
INLINE void codes_large(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
			int part, struct codes *c)
{
#define CASE(ID, name, ...)                                                                        \
	case LMD_DTYPE_##ID:                                                                       \
		codes_##name(h, w, at, part, c);                                                   \
		break;
	(void)h, (void)w, (void)at, (void)part, (void)c;
	switch (dtype) {
		KERN_LARGER_BLOCKS(CASE)
	default:
		break;
	}
#undef CASE
}

#if KERN_PART == KERN_PART_AVX2

/* Reads a block of a type with blocks of 32. */
INLINE void codes_32(uint32_t dtype, const uint8_t *const w[8], size_t at, struct codes *c)
{
#define CASE(ID, name, ...)                                                                        \
	case LMD_DTYPE_##ID:                                                                       \
		codes_##name(w, at, c);                                                            \
		break;
	(void)w, (void)at, (void)c;
	switch (dtype) {
		KERN_BLOCKS_32(CASE)
	default:
		break;
	}
#undef CASE
}

#else

/* Reads two neighbouring blocks of a type with blocks of 32, or the last one of an odd number (both
 * = false: block b+1 is 0). */
INLINE void codes_32(uint32_t dtype, const uint8_t *const w[8], size_t at, bool both,
		     struct codes *c)
{
#define CASE(ID, name, ...)                                                                        \
	case LMD_DTYPE_##ID:                                                                       \
		codes_##name(w, at, both, c);                                                      \
		break;
	(void)w, (void)at, (void)both, (void)c;
	switch (dtype) {
		KERN_BLOCKS_32(CASE)
	default:
		break;
	}
#undef CASE
}

#endif

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_BLOCKS_OF_TYPES_H */
