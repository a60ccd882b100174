/* SPDX-License-Identifier: MIT
 *
 * exact.h - what `deterministic = exact` can compute (docs/exact.md). */
#ifndef LLAMAD_BACKEND_COMMON_EXACT_H
#define LLAMAD_BACKEND_COMMON_EXACT_H

#include <stdbool.h>

#include "llamad/backend.h"

/* Can rows of k values of a type be multiplied exactly by a backend? */
typedef bool (*device_exact_fn)(uint32_t dtype, uint32_t k);

/* LMD_UNSUPPORTED, with the op and the reason, if a plan has an op that is not computed in exact
 * arithmetic.  who: name of the backend. */
enum lmd_status device_exact_check(const struct lmd_plan *plan, device_exact_fn product,
				   const char *who, struct lmd_error *err);

/* Checks how a device is to be opened: exact products of block types need activations of 8 bits. */
enum lmd_status device_exact_open(const struct lmd_open_params *p, const char *who,
				  struct lmd_error *err);
/* LMD_UNSUPPORTED, with the backends that have it, if a device is to be opened with exact or
 * batch-invariant arithmetic, which its backend lacks. */
enum lmd_status device_exact_refuse(const struct lmd_open_params *p, const char *who,
				    struct lmd_error *err);

#endif /* LLAMAD_BACKEND_COMMON_EXACT_H */
