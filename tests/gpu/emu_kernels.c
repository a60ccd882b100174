/* SPDX-License-Identifier: MIT
 *
 * Compiles the kernels for the emulation. */
#include <string.h>

#include "tests/gpu/emu.h"

#include "backend/gpu/kern/amd/tile.h"
#include "backend/gpu/kern/amd/wmma.h"
#include "backend/gpu/kern/attn.h"
#include "backend/gpu/kern/exact_attn.h"
#include "backend/gpu/kern/exact_linear.h"
#include "backend/gpu/kern/fast.h"
#include "backend/gpu/kern/glu.h"
#include "backend/gpu/kern/group.h"
#include "backend/gpu/kern/hadamard.h"
#include "backend/gpu/kern/halves.h"
#include "backend/gpu/kern/linear.h"
#include "backend/gpu/kern/lora.h"
#include "backend/gpu/kern/mixers.h"
#include "backend/gpu/kern/norm.h"
#include "backend/gpu/kern/nv/flash.h"
#include "backend/gpu/kern/nv/tile.h"
#include "backend/gpu/kern/nv/tile16.h"
#include "backend/gpu/kern/nv/wgmma16.h"
#include "backend/gpu/kern/peer.h"
#include "backend/gpu/kern/rope_kv.h"
#include "backend/gpu/kern/rows.h"
#include "backend/gpu/kern/sample.h"
#include "backend/gpu/kern/select.h"
#include "backend/gpu/kern/split.h"
#include "backend/gpu/kern/state.h"
#include "tests/gpu/emu_kernels.h"

#define CALL(name, type)                                                                           \
	static unsigned long n_run_##name;                                                         \
	static void call_##name(void *args)                                                        \
	{                                                                                          \
		struct type a;                                                                     \
		memcpy(&a, args, sizeof(a));                                                       \
		gpu_##name(a);                                                                     \
	}
GPU_KERNELS(CALL)
GPU_MATRIX_KERNELS(CALL)

static const struct emu_kernel kernels[] = {
#define ROW(name, type) {"gpu_" #name, call_##name, sizeof(struct type), &n_run_##name},
	GPU_KERNELS(ROW) GPU_MATRIX_KERNELS(ROW)};

const struct emu_kernel *emu_kernel_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	}
	return NULL;
}

void emu_kernels_print(FILE *to)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		(void)fprintf(to, "%8lu %s\n", *kernels[i].n_run, kernels[i].name);
}
