/* SPDX-License-Identifier: MIT
 *
 * act.h - on the device: the activation functions of llamad/op.h, whose numbers these are. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_ACT_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_ACT_H

#include "backend/gpu/kern/view.h"

GPU_FN float gpu_sigmoid(float x)
{
	return 1.0f / (1.0f + expf(-x));
}

GPU_FN float gpu_softplus(float x)
{
	return x > 20.0f ? x : log1pf(expf(x));
}

GPU_FN float gpu_clamp(float x, float limit)
{
	return fmaxf(-limit, fminf(limit, x));
}

/* cap * tanh(x / cap); x if cap is 0. */
GPU_FN float gpu_softcap(float x, float cap)
{
	return cap != 0.0f ? cap * tanhf(x / cap) : x;
}

/* x: the gate operand; b: the second operand, whose factor is 1 unless has_b. */
GPU_FN float gpu_act(uint32_t act, const float *p, float x, float b, int has_b)
{
	float v = x, f = has_b ? b : 1.0f;

	switch (act) {
	case 1: /* SILU */
		v = x * gpu_sigmoid(x);
		break;
	case 2: /* GELU */
		v = 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
		break;
	case 3: /* GELU_ERF */
		v = 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
		break;
	case 4: /* GELU_QUICK */
		v = x * gpu_sigmoid(1.702f * x);
		break;
	case 5: /* RELU */
		v = fmaxf(x, 0.0f);
		break;
	case 6: /* RELU2 */
		v = fmaxf(x, 0.0f) * fmaxf(x, 0.0f);
		break;
	case 7: /* SIGMOID */
		v = gpu_sigmoid(x);
		break;
	case 8: /* SOFTPLUS */
		v = gpu_softplus(x);
		break;
	case 9: /* TANH */
		v = tanhf(x);
		break;
	case 10: /* XIELU */
		v = x > 0.0f ? p[1] * x * x + p[2] * x
			     : (expm1f(fminf(x, p[3])) - x) * p[0] + p[2] * x;
		break;
	case 11: /* OAI */
		v = fminf(x, p[1]);
		v *= gpu_sigmoid(p[0] * v);
		f = has_b ? gpu_clamp(b, p[1]) + 1.0f : 1.0f;
		break;
	case 12: /* SILU_CLAMP_IN */
		v = fminf(x, p[0]);
		v *= gpu_sigmoid(v);
		f = has_b ? gpu_clamp(b, p[0]) : 1.0f;
		break;
	case 13: /* SILU_CLAMP_OUT */
		v = fminf(x * gpu_sigmoid(x), p[0]);
		f = has_b ? gpu_clamp(b, p[0]) : 1.0f;
		break;
	case 14: /* SITU */
		v = p[0] * tanhf(x / p[0]) * gpu_sigmoid(x);
		f = has_b && p[1] > 0.0f ? p[1] * tanhf(b / p[1]) : f;
		break;
	case 15: /* EXP */
		v = expf(x);
		break;
	default:
		break;
	}
	return v * f;
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_ACT_H */
