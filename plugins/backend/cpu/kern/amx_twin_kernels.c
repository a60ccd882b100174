/* SPDX-License-Identifier: MIT
 *
 * The kernels of amx_int8.h and amx_bf16.h over tile operations in plain C (amx_twin.h), for tests. */
#define KERN_AMX_TWIN
#include "amx_bf16.h"
#include "amx_packed.h"
#include "amx_rows_c.h"

#define ROWS(ID, ...)                                                                              \
	AMX_ROWS_TYPE(ID)                                                                          \
	static void run_##ID(const struct kern_linear *self, const struct kern_product *p)         \
	{                                                                                          \
		(void)self;                                                                        \
		amx_product(amx_kind_of(LMD_DTYPE_##ID), p, amx_rows_##ID);                        \
	}
HOST_MEM_INT8_TYPES(ROWS)

#define PACKED(ID)                                                                                 \
	AMX_PACKED_TYPE(ID)                                                                        \
	static void run_packed_##ID(const struct kern_packed *self, const struct kern_product *p)  \
	{                                                                                          \
		(void)self;                                                                        \
		amx_product(amx_kind_of(LMD_DTYPE_##ID), p, amx_group_##ID);                       \
	}
KERN_PACKED_TYPES(PACKED)

#define ROWS_ENTRY(ID, ...)                                                                        \
	{.dtype = LMD_DTYPE_##ID,                                                                  \
	 .act = KERN_ACT_Q8,                                                                       \
	 .isa = "amx twin",                                                                        \
	 .exact = true,                                                                            \
	 .scratch_bytes = amx_rows_scratch,                                                        \
	 .run = run_##ID},
const struct kern_linear kern_linear_amx_twin[] = {
	HOST_MEM_INT8_TYPES(ROWS_ENTRY)
	{.dtype = LMD_DTYPE_BF16, .act = KERN_ACT_BF16, .isa = "amx twin",
	 .scratch_bytes = amx_bf16_scratch, .prepare = amx_bf16_prepare, .run = amx_bf16_run},
	{.run = NULL},
};

#define PACKED_ENTRY(ID)                                                                           \
	{.dtype = LMD_DTYPE_##ID, .isa = "amx twin", .most = UINT32_MAX, .run = run_packed_##ID},
const struct kern_packed kern_packed_amx_twin[] = {
	KERN_PACKED_TYPES(PACKED_ENTRY)
	{.run = NULL},
};
