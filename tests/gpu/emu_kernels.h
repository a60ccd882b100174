/* SPDX-License-Identifier: MIT
 *
 * emu_kernels.h - the kernels of backend/gpu as functions of the host. */
#ifndef LLAMAD_TESTS_GPU_EMU_KERNELS_H
#define LLAMAD_TESTS_GPU_EMU_KERNELS_H

#include <stddef.h>
#include <stdio.h>

struct emu_kernel {
	const char *name;
	void (*run)(void *args);
	size_t args_bytes;
	unsigned long *n_run; /* how often it has run */
};

/* NULL if there is none of that name. */
const struct emu_kernel *emu_kernel_find(const char *name);
/* Writes a line for each kernel: how often it has run, and its name. */
void emu_kernels_print(FILE *to);

#endif /* LLAMAD_TESTS_GPU_EMU_KERNELS_H */
