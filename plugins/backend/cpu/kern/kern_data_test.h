/* SPDX-License-Identifier: MIT
 *
 * kern_data_test.h - random weights and activations for the test and the benchmark of the kernels.
 *
 * A buffer ends at a page that must not be accessed, so that a kernel that reads past the last
 * weight row of a file crashes. */
#ifndef LLAMAD_CPU_KERN_DATA_TEST_H
#define LLAMAD_CPU_KERN_DATA_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kern_guarded {
	char *map;
	size_t map_bytes;
	char *data; /* the bytes asked for; the page after them is not accessible */
};

bool kern_guarded_create(struct kern_guarded *g, size_t bytes);
void kern_guarded_destroy(struct kern_guarded *g);

enum kern_data {
	KERN_DATA_PLAIN,   /* like those of real models */
	KERN_DATA_EXTREME, /* largest codes, scales from denormal to the largest f16, zeros */
	KERN_DATA_ZERO,
	KERN_DATA_N,
};

/* Fills n_row rows of k values, `stride` bytes apart, with finite scales.  Returns false if there
 * is no such type. */
bool kern_fill_weights(void *w, uint32_t dtype, uint32_t k, uint32_t n_row, size_t stride,
		       enum kern_data kind, uint64_t *seed);
void kern_fill_floats(float *x, size_t n, enum kern_data kind, uint64_t *seed);

#endif /* LLAMAD_CPU_KERN_DATA_TEST_H */
