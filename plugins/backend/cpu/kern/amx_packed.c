/* SPDX-License-Identifier: MIT
 *
 * Exact products with repacked weights by tiles. */
#include "amx_packed.h"
#include "variants.h"

#define PLACE(ID) PLACE_##ID,
enum { KERN_PACKED_TYPES(PLACE) };

#define KERNEL(ID)                                                                                 \
	AMX_PACKED_TYPE(ID)                                                                        \
	static void run_##ID(const struct kern_packed *self, const struct kern_product *p)         \
	{                                                                                          \
		const struct kern_packed *few = &kern_packed_vnni[PLACE_##ID];                     \
                                                                                                   \
		(void)self;                                                                        \
		if (p->n_col < AMX_LEAST)                                                          \
			few->run(few, p);                                                          \
		else                                                                               \
			amx_product(amx_kind_of(LMD_DTYPE_##ID), p, amx_group_##ID);               \
	}
KERN_PACKED_TYPES(KERNEL)

#define ENTRY(ID)                                                                                  \
	{.dtype = LMD_DTYPE_##ID, .isa = "amx", .most = UINT32_MAX, .run = run_##ID,               \
	 .flags = AMX_NEEDS | LMD_CPU_AMX_INT8},
const struct kern_packed kern_packed_amx[] = {
	KERN_PACKED_TYPES(ENTRY)
	{.run = NULL},
};
