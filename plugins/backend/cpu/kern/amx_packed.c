/* SPDX-License-Identifier: MIT
 *
 * Exact products with repacked weights by tiles. */
#include "amx_packed.h"
#include "variants.h"

/* With fewer rows of x the kernel without tiles is used, as in amx_rows_avx512.h. */
#define LEAST 16

#define PLACE(ID) PLACE_##ID,
enum { KERN_PACKED_TYPES(PLACE) };

#define KERNEL(ID)                                                                                 \
	AMX_PACKED_TYPE(ID)                                                                        \
	static void run_##ID(const struct kern_packed *self, const struct kern_product *p)         \
	{                                                                                          \
		const struct kern_packed *few = &kern_packed_vnni[PLACE_##ID];                     \
                                                                                                   \
		(void)self;                                                                        \
		if (p->n_col < LEAST)                                                              \
			few->run(few, p);                                                          \
		else                                                                               \
			amx_product(amx_kind_of(LMD_DTYPE_##ID), p, amx_group_##ID);               \
	}
KERN_PACKED_TYPES(KERNEL)

#define ENTRY(ID)                                                                                  \
	{.dtype = LMD_DTYPE_##ID, .isa = "amx", .most = UINT32_MAX, .run = run_##ID,               \
	 .flags = LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI | LMD_CPU_AVX512_VBMI |      \
		  LMD_CPU_AVX512_BF16 | LMD_CPU_AMX_INT8},
const struct kern_packed kern_packed_amx[] = {
	KERN_PACKED_TYPES(ENTRY)
	{.run = NULL},
};
