/* SPDX-License-Identifier: MIT */
#include "client/llamactl/latencies.h"

#include <math.h>

#define FIRST_NS 1000.0
#define GROWTH	 1.02

void lmi_ctl_latencies_add(struct lmi_ctl_latencies *l, uint64_t ns)
{
	double bin = ns > FIRST_NS ? floor(log((double)ns / FIRST_NS) / log(GROWTH)) : 0;

	if (bin > LMI_CTL_LATENCY_BINS - 1)
		bin = LMI_CTL_LATENCY_BINS - 1;
	l->bin[(uint32_t)bin]++;
	l->n++;
	l->sum_ns += (double)ns;
	l->max_ns = ns > l->max_ns ? ns : l->max_ns;
}

double lmi_ctl_latencies_mean_ms(const struct lmi_ctl_latencies *l)
{
	return l->n ? l->sum_ns / (double)l->n / 1e6 : 0;
}

double lmi_ctl_latencies_max_ms(const struct lmi_ctl_latencies *l)
{
	return (double)l->max_ns / 1e6;
}

double lmi_ctl_latencies_percentile_ms(const struct lmi_ctl_latencies *l, double percent)
{
	double rank = ceil(percent / 100 * (double)l->n), ms;
	uint64_t sum = 0;
	uint32_t i = 0;

	if (!l->n)
		return 0;
	while (i < LMI_CTL_LATENCY_BINS - 1 && (double)(sum + l->bin[i]) < (rank > 1 ? rank : 1))
		sum += l->bin[i++];
	/* the middle of the bin; nothing is longer than the longest */
	ms = FIRST_NS * pow(GROWTH, i + 0.5) / 1e6;
	return ms < lmi_ctl_latencies_max_ms(l) ? ms : lmi_ctl_latencies_max_ms(l);
}
