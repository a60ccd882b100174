/* SPDX-License-Identifier: MIT
 *
 * behind.h - hands data on in a thread of its own, while the next is being made.
 *
 *     lmi_behind_take(b, &buf, n, err)     a buffer of n bytes, when one is free
 *     ... fills it ...
 *     lmi_behind_give(b, fn, arg, n)       fn(arg, buf, n) will be called
 *     lmi_behind_flush(b, err)             all calls have returned
 *
 * Calls come in the order of give.  After one that fails no others are made; take and flush return
 * its failure.  Take, give and flush belong to one thread; there are LMI_BEHIND_BUFFERS buffers,
 * which are used again and again. */
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
/* Lets the calls that are due end.  NULL allowed. */
void lmi_behind_destroy(struct lmi_behind *b);

enum lmd_status lmi_behind_take(struct lmi_behind *b, uint8_t **buf, size_t n,
				struct lmd_error *err);
void lmi_behind_give(struct lmi_behind *b, lmi_behind_fn fn, void *arg, size_t n);
enum lmd_status lmi_behind_flush(struct lmi_behind *b, struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_BEHIND_H */
