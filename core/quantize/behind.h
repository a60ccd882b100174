/* SPDX-License-Identifier: MIT
 *
 * behind.h - passes data to a writer thread, so that the next piece can be computed meanwhile.
 *
 *     lmi_behind_take(b, &buf, n, err)     waits for a free buffer of n bytes
 *     ... fills it ...
 *     lmi_behind_give(b, fn, arg, n)       queues the call fn(arg, buf, n)
 *     lmi_behind_flush(b, err)             waits until all calls have returned
 *
 * Calls are made in the order of give.  After one has failed no others are made; take and flush
 * return its error.  Take, give and flush must be called by one thread.  LMI_BEHIND_BUFFERS buffers
 * are reused. */
#ifndef LLAMAD_CORE_QUANTIZE_BEHIND_H
#define LLAMAD_CORE_QUANTIZE_BEHIND_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_BEHIND_BUFFERS 2

struct lmi_behind;
typedef enum lmd_status (*lmi_behind_fn)(void *arg, const void *data, size_t n,
					 struct lmd_error *err);

enum lmd_status lmi_behind_create(struct lmi_behind **out, struct lmd_error *err);
/* Waits for the queued calls.  b may be NULL. */
void lmi_behind_destroy(struct lmi_behind *b);

enum lmd_status lmi_behind_take(struct lmi_behind *b, uint8_t **buf, size_t n,
				struct lmd_error *err);
void lmi_behind_give(struct lmi_behind *b, lmi_behind_fn fn, void *arg, size_t n);
enum lmd_status lmi_behind_flush(struct lmi_behind *b, struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_BEHIND_H */
