/* SPDX-License-Identifier: MIT
 *
 * Rounds activations to 8 bits, portably; kern.h has the formula. */
#include <math.h>
#include <string.h>

#include "variants.h"

static void block(const float *x, int8_t *q, float *d, int32_t half[2])
{
	float amax = 0, inv;

	for (int i = 0; i < 32; i++)
		amax = fmaxf(amax, fabsf(x[i]));
	*d = amax / 127.0f;
	inv = amax > 0 ? 127.0f / amax : 0.0f;
	half[0] = half[1] = 0;
	for (int i = 0; i < 32; i++) {
		q[i] = (int8_t)fmaxf(-127, fminf(127, rintf(x[i] * inv)));
		half[i / 16] -= q[i];
	}
}

static void row(const float *x, uint32_t k, void *out)
{
	char *base = out;

	for (uint32_t b = 0; b < k / 32; b++) {
		float d, e;
		int32_t half[2], n;

		block(x + 32 * b, (int8_t *)base + 32 * b, &d, half);
		n = half[0] + half[1];
		e = d * (float)-n;
		memcpy(base + KERN_Q8_D(k) + 4 * b, &d, sizeof(d));
		memcpy(base + KERN_Q8_E(k) + 4 * b, &e, sizeof(e));
		memcpy(base + KERN_Q8_N(k) + 4 * b, &n, sizeof(n));
		memcpy(base + KERN_Q8_H(k) + 8 * b, half, sizeof(half));
	}
}

const struct kern_act kern_act_c = {.flags = 0, .isa = "c", .row = row};
