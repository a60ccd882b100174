/* SPDX-License-Identifier: MIT
 *
 * null.h - what the descriptor needs of the null backend. */
#ifndef LLAMAD_NULL_H
#define LLAMAD_NULL_H

#include <time.h>

#include "llamad/backend.h"

/* State of an open device. */
struct null_dev {
	const struct lmd_host *host;
	struct lmd_error error; /* of the last plan_run */
	struct timespec step;   /* what a plan_run takes at least */
	uint32_t n_run;         /* calls of plan_run */
	uint32_t fail_run;      /* this one and all later ones fail; 0 = none */
};

extern const struct lmd_backend_ops null_backend_ops;

#endif /* LLAMAD_NULL_H */
