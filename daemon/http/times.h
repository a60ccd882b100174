/* SPDX-License-Identifier: MIT
 *
 * times.h - histograms of the generations of HTTP requests, for each model. */
#ifndef LLAMAD_DAEMON_HTTP_TIMES_H
#define LLAMAD_DAEMON_HTTP_TIMES_H

#include <stdint.h>

#include "llamad/types.h"

enum lmi_http_time {
	LMI_HTTP_TIME_QUEUE,         /* from the whole request to its first step */
	LMI_HTTP_TIME_FIRST_TOKEN,   /* from the whole request to the first item */
	LMI_HTTP_TIME_BETWEEN,       /* between two tokens of an answer */
	LMI_HTTP_TIME_PER_TOKEN,     /* the mean between tokens of a request */
	LMI_HTTP_TIME_ALL,           /* from the whole request to the end of the answer */
	LMI_HTTP_TIME_PROMPT,        /* computing the prompt */
	LMI_HTTP_TIME_OUT,           /* computing the answer */
	LMI_HTTP_TIME_PROMPT_TOKENS, /* numbers of tokens */
	LMI_HTTP_TIME_OUT_TOKENS,
};
#define LMI_HTTP_N_TIME 9

#define LMI_HTTP_BUCKETS_MAX 18
/* Models beyond this number are counted together, as "other". */
#define LMI_HTTP_TIMES_MAX 64

/* Seconds, or tokens. */
struct lmi_http_histogram {
	uint64_t n[LMI_HTTP_BUCKETS_MAX + 1]; /* the last one has no upper bound */
	uint64_t n_all;
	double sum;
};

struct lmi_http_times {
	struct lmi_http_times *next;
	char *model;
	struct lmi_http_histogram histogram[LMI_HTTP_N_TIME];
	uint64_t finished[8]; /* requests by enum lmi_wire_finish */
};

/* Returns the upper bounds of a histogram's buckets, ascending. */
const double *lmi_http_time_bounds(enum lmi_http_time what, uint32_t *n);
/* Returns the histograms of a model in a list, to which they are added; NULL if out of memory. */
struct lmi_http_times *lmi_http_times_of(struct lmi_http_times **list, const struct lmd_str *model);
/* Counts n equal values.  t may be NULL. */
void lmi_http_times_add(struct lmi_http_times *t, enum lmi_http_time what, double value,
			uint32_t n);
void lmi_http_times_free(struct lmi_http_times *list);

#endif /* LLAMAD_DAEMON_HTTP_TIMES_H */
