/* SPDX-License-Identifier: MIT
 *
 * Activations: the common ones in vectors, the others from libm. */
#include "act.h"

#include <string.h>

static float clamp(float x, float limit)
{
	return fmaxf(-limit, fminf(limit, x));
}

float cpu_act(uint32_t act, const float *p, float x, float b, bool has_b)
{
	float v = x, f = has_b ? b : 1.0f;

	switch ((enum lmd_act)act) {
	case LMD_ACT_NONE:
		break;
	case LMD_ACT_SILU:
		v = x * cpu_sigmoid(x);
		break;
	case LMD_ACT_GELU:
		v = 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
		break;
	case LMD_ACT_GELU_ERF:
		v = 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
		break;
	case LMD_ACT_GELU_QUICK:
		v = x * cpu_sigmoid(1.702f * x);
		break;
	case LMD_ACT_RELU:
		v = fmaxf(x, 0.0f);
		break;
	case LMD_ACT_RELU2:
		v = fmaxf(x, 0.0f) * fmaxf(x, 0.0f);
		break;
	case LMD_ACT_SIGMOID:
		v = cpu_sigmoid(x);
		break;
	case LMD_ACT_SOFTPLUS:
		v = cpu_softplus(x);
		break;
	case LMD_ACT_TANH:
		v = tanhf(x);
		break;
	case LMD_ACT_XIELU:
		v = x > 0.0f ? p[1] * x * x + p[2] * x
			     : (expm1f(fminf(x, p[3])) - x) * p[0] + p[2] * x;
		break;
	case LMD_ACT_OAI:
		v = fminf(x, p[1]);
		v *= cpu_sigmoid(p[0] * v);
		f = has_b ? clamp(b, p[1]) + 1.0f : 1.0f;
		break;
	case LMD_ACT_SILU_CLAMP_IN:
		v = fminf(x, p[0]);
		v *= cpu_sigmoid(v);
		f = has_b ? clamp(b, p[0]) : 1.0f;
		break;
	case LMD_ACT_SILU_CLAMP_OUT:
		v = fminf(x * cpu_sigmoid(x), p[0]);
		f = has_b ? clamp(b, p[0]) : 1.0f;
		break;
	case LMD_ACT_SITU:
		v = p[0] * tanhf(x / p[0]) * cpu_sigmoid(x);
		f = has_b && p[1] > 0.0f ? p[1] * tanhf(b / p[1]) : f;
		break;
	case LMD_ACT_EXP:
		v = expf(x);
		break;
	}
	return v * f;
}

void cpu_act_row(const struct cpu_float *fl, uint32_t act, const float *p, const float *a,
		 const float *b, float *y, uint32_t n)
{
	switch (act) {
	case LMD_ACT_SILU:
		fl->silu(a, b, y, n);
		break;
	case LMD_ACT_GELU:
		fl->gelu(a, b, y, n);
		break;
	case LMD_ACT_GELU_QUICK:
		fl->gelu_quick(a, b, y, n);
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			y[i] = cpu_act(act, p, a[i], b ? b[i] : 0.0f, b != NULL);
		break;
	}
}
