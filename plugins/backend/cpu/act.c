/* SPDX-License-Identifier: MIT
 *
 * Activation functions: vector code for the common ones, libm for the others. */
#include "act.h"

#include <string.h>

#include "backend/common/exact_math.h"

void cpu_act_row(const struct cpu_float *fl, uint32_t act, const float *p, const float *a,
		 const float *b, float *y, uint32_t n)
{
	switch (act) {
	case LMD_ACT_FN_SILU:
		fl->silu(a, b, y, n);
		break;
	case LMD_ACT_FN_GELU:
		fl->gelu(a, b, y, n);
		break;
	case LMD_ACT_FN_GELU_QUICK:
		fl->gelu_quick(a, b, y, n);
		break;
	case LMD_ACT_FN_RELU:
	case LMD_ACT_FN_RELU2:
		for (uint32_t i = 0; i < n; i++)
			y[i] = device_exact_act(act, a[i]) * (b ? b[i] : 1.0f);
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			y[i] = host_mem_act(act, p, a[i], b ? b[i] : 0.0f, b != NULL);
		break;
	}
}
