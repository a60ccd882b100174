/* SPDX-License-Identifier: MIT
 *
 * kern_data_test.h - random weights and activations for the test and the benchmark of the kernels.
 *
 * A buffer ends where the address space may not be read: a kernel that looks behind the last weight
 * row of a file dies. */
#ifndef LLAMAD_CPU_KERN_DATA_TEST_H
#define LLAMAD_CPU_KERN_DATA_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kern_guarded {
	char *map;
	size_t map_bytes;
	char *data; /* of the bytes asked for; the page behind them is closed */
};

bool kern_guarded_create(struct kern_guarded *g, size_t bytes);
void kern_guarded_destroy(struct kern_guarded *g);

enum kern_data {
	KERN_DATA_PLAIN,   /* as in models */
	KERN_DATA_EXTREME, /* largest codes, scales from denormal to the greatest half, zeros */
	KERN_DATA_ZERO,
	KERN_DATA_N,
};

/* n_row rows of k values, `stride` bytes apart; scales finite.  false: no such type. */
bool kern_fill_weights(void *w, uint32_t dtype, uint32_t k, uint32_t n_row, size_t stride,
		       enum kern_data kind, uint64_t *seed);
void kern_fill_floats(float *x, size_t n, enum kern_data kind, uint64_t *seed);

#endif /* LLAMAD_CPU_KERN_DATA_TEST_H */
