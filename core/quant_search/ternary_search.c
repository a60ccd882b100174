/* SPDX-License-Identifier: MIT
 *
 * Ternary search: several candidates for d, each improved by alternately rounding and solving. */
#include "core/quant_search/ternary_search.h"

#include <math.h>

#include "core/quant_search/scale_search.h"

#define N_CAND   8
#define N_ROUNDS 4

int lmi_search_ternary_code(float x, float d)
{
	return d > 0 ? x > 0.5f * d ? 2 : x < -0.5f * d ? 0 : 1 : 1;
}

/* Returns how much of sum w x^2 the ternary codes for d explain; *next is set to the best d for
 * these codes. */
static double explained(const float *src, const float *importance, size_t n, float d, float *next)
{
	double xt = 0, tt = 0;

	for (size_t i = 0; i < n; i++) {
		float w = importance ? importance[i] : 1, x;
		int t;

		lmi_search_fit_clean(src + i, &x, 1);
		t = lmi_search_ternary_code(x, d) - 1;
		w = w > 0 ? fminf(w, 0x1p100f) : 0;
		xt += (double)w * x * t;
		tt += (double)w * (t != 0);
	}
	*next = tt > 0 ? (float)(xt / tt) : 0;
	return tt > 0 ? xt * (xt / tt) : 0;
}

float lmi_search_ternary(const float *src, const float *importance, size_t n, bool half)
{
	float most = 0, best_d = 0;
	double best = 0;

	for (size_t i = 0; i < n; i++) {
		float x;

		lmi_search_fit_clean(src + i, &x, 1);
		most = fmaxf(most, fabsf(x));
	}
	for (int k = 1; k <= N_CAND; k++) {
		float d = most * (float)k / N_CAND, next = d;

		for (int r = 0; r < N_ROUNDS; r++) {
			double gain = explained(src, importance, n, d, &next);

			if (gain > best) {
				best = gain;
				best_d = next;
			}
			if (next == d)
				break;
			d = next;
		}
	}
	if (best == 0) /* all weights are 0 */
		best_d = most;
	return half ? lmi_search_fit_f16(best_d) : best_d;
}
