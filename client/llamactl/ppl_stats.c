/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "client/llamactl/ppl.h"

/* Welford's update avoids the difference of large sums. */
void lmi_mean_add(struct lmi_mean *m, double x)
{
	double d = x - m->mean;

	m->n++;
	m->mean += d / (double)m->n;
	m->m2 += d * (x - m->mean);
}

double lmi_mean_error(const struct lmi_mean *m)
{
	return m->n < 2 ? 0 : sqrt(m->m2 / (double)(m->n - 1) / (double)m->n);
}

double lmi_percentile(const float *v, uint64_t n, double p)
{
	double at = p * (double)(n - 1);
	uint64_t i = (uint64_t)at, k = i + 1 < n ? i + 1 : i;
	double part = at - (double)i;

	return (1 - part) * (double)v[i] + part * (double)v[k];
}

double lmi_log_sum_exp(const float *v, uint32_t n)
{
	float most = -INFINITY;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	for (uint32_t i = 0; i < n; i++)
		sum += exp((double)v[i] - (double)most);
	return (double)most + log(sum);
}
