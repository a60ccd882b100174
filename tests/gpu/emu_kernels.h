/* SPDX-License-Identifier: MIT
 *
 * emu_kernels.h - the kernels of backend/gpu as functions of the host. */
#ifndef LLAMAD_TESTS_GPU_EMU_KERNELS_H
#define LLAMAD_TESTS_GPU_EMU_KERNELS_H

#include <stddef.h>

struct emu_kernel {
	const char *name;
	void (*run)(void *args);
	size_t args_bytes;
};

/* NULL if there is none of that name. */
const struct emu_kernel *emu_kernel_find(const char *name);

#endif /* LLAMAD_TESTS_GPU_EMU_KERNELS_H */
