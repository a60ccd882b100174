/* SPDX-License-Identifier: MIT
 *
 * Rounds activations to 8 or 16 bits, portably; kern.h has the formula. */
#include <math.h>
#include <string.h>

#include "variants.h"

/* Rounds block b of a row of k values and leaves in x what that leaves out. */
static void block(float x[32], char *base, uint32_t k, size_t b)
{
	int8_t *q = (int8_t *)base + 32 * b;
	float amax = 0, inv, d, e;
	int32_t half[2] = {0, 0}, n;

	for (int i = 0; i < 32; i++)
		amax = fmaxf(amax, fabsf(x[i]));
	d = amax / 127.0f;
	inv = amax > 0 ? 127.0f / amax : 0.0f;
	for (int i = 0; i < 32; i++) {
		q[i] = (int8_t)fmaxf(-127, fminf(127, rintf(x[i] * inv)));
		half[i / 16] -= q[i];
		x[i] -= d * (float)q[i];
	}
	n = half[0] + half[1];
	e = d * (float)-n;
	memcpy(base + KERN_Q8_D(k) + 4 * b, &d, sizeof(d));
	memcpy(base + KERN_Q8_E(k) + 4 * b, &e, sizeof(e));
	memcpy(base + KERN_Q8_N(k) + 4 * b, &n, sizeof(n));
	memcpy(base + KERN_Q8_H(k) + 8 * b, half, sizeof(half));
}

static void row(const float *x, uint32_t k, uint32_t n_q8, void *out)
{
	for (uint32_t b = 0; b < k / 32; b++) {
		float v[32];

		memcpy(v, x + (size_t)32 * b, sizeof(v));
		for (uint32_t i = 0; i < n_q8; i++)
			block(v, (char *)out + i * KERN_Q8_BYTES(k), k, b);
	}
}

const struct kern_act kern_act_c = {.flags = 0, .isa = "c", .row = row};
