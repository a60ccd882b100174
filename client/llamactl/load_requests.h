/* SPDX-License-Identifier: MIT
 *
 * load_requests.h - the requests with which `bench serve` loads a server: their texts, lengths and
 * times.  Request i is a function of the seed and i alone. */
#ifndef LLAMAD_LLAMACTL_LOAD_REQUESTS_H
#define LLAMAD_LLAMACTL_LOAD_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_CTL_LOAD_LENGTH 1000000u /* maximum of lengths */

/* Lengths between two bounds, each as likely as the others. */
struct lmi_ctl_load_lengths {
	uint32_t min, max;
};

struct lmi_ctl_load_requests {
	const char *model;
	bool chat;	 /* chat completions instead of completions */
	bool stop_early; /* answers may end before their length */
	struct lmi_ctl_load_lengths prompt;  /* words behind the shared ones; about as many tokens */
	struct lmi_ctl_load_lengths predict; /* tokens */
	uint32_t n_shared; /* words at the beginning of every prompt */
	double rate;	   /* requests per second */
	uint64_t seed;
};

/* Reads "128" or "64-512". `name` is the option's, for errors; `min`: least allowed length. */
enum lmd_status lmi_ctl_load_lengths_parse(struct lmi_ctl_load_lengths *out, const char *name,
					   const char *text, uint32_t min, struct lmd_error *err);
/* Returns the path for the requests. */
const char *lmi_ctl_load_path(const struct lmi_ctl_load_requests *r);
/* Returns the body of request i, which the caller frees with free(); NULL: no memory. */
char *lmi_ctl_load_body(const struct lmi_ctl_load_requests *r, uint64_t i);
/* Returns the time between requests i and i + 1 in ns: random as that between independent clients,
 * with a mean of 1 / rate. */
uint64_t lmi_ctl_load_gap_ns(const struct lmi_ctl_load_requests *r, uint64_t i);

#endif /* LLAMAD_LLAMACTL_LOAD_REQUESTS_H */
