/* SPDX-License-Identifier: MIT
 *
 * latencies.h - a histogram of times, from which percentiles are read with an error of at most 1 %.
 * Its size does not depend on the number of times. */
#ifndef LLAMAD_LLAMACTL_LATENCIES_H
#define LLAMAD_LLAMACTL_LATENCIES_H

#include <stdint.h>

/* Bins grow by 2 % from 1 us to over 10 hours; shorter and longer times are in the first and the last. */
#define LMI_CTL_LATENCY_BINS 1232

struct lmi_ctl_latencies {
	uint64_t n, max_ns;
	double sum_ns;
	uint64_t bin[LMI_CTL_LATENCY_BINS];
};

void lmi_ctl_latencies_add(struct lmi_ctl_latencies *l, uint64_t ns);
/* Return milliseconds, 0 without times. percent: 0 to 100; that part of the times is at most as long
 * as the result. */
double lmi_ctl_latencies_mean_ms(const struct lmi_ctl_latencies *l);
double lmi_ctl_latencies_max_ms(const struct lmi_ctl_latencies *l);
double lmi_ctl_latencies_percentile_ms(const struct lmi_ctl_latencies *l, double percent);

#endif /* LLAMAD_LLAMACTL_LATENCIES_H */
