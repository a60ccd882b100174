/* SPDX-License-Identifier: MIT
 *
 * null.h - the parts of the null backend that the descriptor needs. */
#ifndef LLAMAD_NULL_H
#define LLAMAD_NULL_H

#include <time.h>

#include "llamad/backend.h"

/* State of an open device. */
struct null_dev {
	const struct lmd_host *host;
	struct lmd_error error; /* error of the last plan_run */
	struct timespec step;   /* minimum duration of a plan_run */
	uint32_t n_run;         /* number of calls of plan_run */
	uint32_t fail_run;      /* this call and all later ones fail; 0 = none */
};

extern const struct lmd_backend_ops null_backend_ops;

#endif /* LLAMAD_NULL_H */
