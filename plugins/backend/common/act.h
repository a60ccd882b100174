/* SPDX-License-Identifier: MIT
 *
 * act.h - the activation functions of llamad/op.h. */
#ifndef LLAMAD_BACKEND_COMMON_ACT_H
#define LLAMAD_BACKEND_COMMON_ACT_H

#include <math.h>
#include <stdbool.h>

#include "llamad/op.h"

static inline float host_mem_sigmoid(float x)
{
	return 1.0f / (1.0f + expf(-x));
}

static inline float host_mem_softplus(float x)
{
	return x > 20.0f ? x : log1pf(expf(x));
}

static inline float host_mem_clamp(float x, float limit)
{
	return fmaxf(-limit, fminf(limit, x));
}

/* x: the gate operand; b: the second operand, ignored unless has_b, in which case its factor is
 * 1. */
static inline float host_mem_act(uint32_t act, const float *p, float x, float b, bool has_b)
{
	float v = x, f = has_b ? b : 1.0f;

	switch ((enum lmd_act_fn)act) {
	case LMD_ACT_FN_NONE:
		break;
	case LMD_ACT_FN_SILU:
		v = x * host_mem_sigmoid(x);
		break;
	case LMD_ACT_FN_GELU:
		v = 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
		break;
	case LMD_ACT_FN_GELU_ERF:
		v = 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
		break;
	case LMD_ACT_FN_GELU_QUICK:
		v = x * host_mem_sigmoid(1.702f * x);
		break;
	case LMD_ACT_FN_RELU:
		v = fmaxf(x, 0.0f);
		break;
	case LMD_ACT_FN_RELU2:
		v = fmaxf(x, 0.0f) * fmaxf(x, 0.0f);
		break;
	case LMD_ACT_FN_SIGMOID:
		v = host_mem_sigmoid(x);
		break;
	case LMD_ACT_FN_SOFTPLUS:
		v = host_mem_softplus(x);
		break;
	case LMD_ACT_FN_TANH:
		v = tanhf(x);
		break;
	case LMD_ACT_FN_XIELU:
		v = x > 0.0f ? p[1] * x * x + p[2] * x
			     : (expm1f(fminf(x, p[3])) - x) * p[0] + p[2] * x;
		break;
	case LMD_ACT_FN_OAI:
		v = fminf(x, p[1]);
		v *= host_mem_sigmoid(p[0] * v);
		f = has_b ? host_mem_clamp(b, p[1]) + 1.0f : 1.0f;
		break;
	case LMD_ACT_FN_SILU_CLAMP_IN:
		v = fminf(x, p[0]);
		v *= host_mem_sigmoid(v);
		f = has_b ? host_mem_clamp(b, p[0]) : 1.0f;
		break;
	case LMD_ACT_FN_SILU_CLAMP_OUT:
		v = fminf(x * host_mem_sigmoid(x), p[0]);
		f = has_b ? host_mem_clamp(b, p[0]) : 1.0f;
		break;
	case LMD_ACT_FN_SITU:
		v = p[0] * tanhf(x / p[0]) * host_mem_sigmoid(x);
		f = has_b && p[1] > 0.0f ? p[1] * tanhf(b / p[1]) : f;
		break;
	case LMD_ACT_FN_EXP:
		v = expf(x);
		break;
	}
	return v * f;
}

/* cap * tanh(x / cap); x if cap is 0. */
static inline float host_mem_softcap(float x, float cap)
{
	return cap != 0.0f ? cap * tanhf(x / cap) : x;
}

#endif /* LLAMAD_BACKEND_COMMON_ACT_H */
