/* SPDX-License-Identifier: MIT
 *
 * act.h - the activations of llamad/op.h, number by number and row by row. */
#ifndef LLAMAD_CPU_ACT_H
#define LLAMAD_CPU_ACT_H

#include <math.h>
#include <stdbool.h>

#include "kern/float.h"
#include "llamad/op.h"

static inline float cpu_sigmoid(float x)
{
	return 1.0f / (1.0f + expf(-x));
}

static inline float cpu_softplus(float x)
{
	return x > 20.0f ? x : log1pf(expf(x));
}

/* cap * tanh(x / cap); cap 0: x. */
static inline float cpu_softcap(float x, float cap)
{
	return cap != 0.0f ? cap * tanhf(x / cap) : x;
}

/* x: gate operand, b: second operand; without one (has_b false) its factor is 1. */
float cpu_act(uint32_t act, const float *p, float x, float b, bool has_b);
/* y = act(a, b) for n numbers; b NULL: without.  y may be a or b. */
void cpu_act_row(const struct cpu_float *fl, uint32_t act, const float *p, const float *a,
		 const float *b, float *y, uint32_t n);

#endif /* LLAMAD_CPU_ACT_H */
