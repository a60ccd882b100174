/* SPDX-License-Identifier: MIT
 *
 * async_writer.h - passes data to a writer thread, so that the next piece can be computed
 * meanwhile.
 *
 *     lmi_quantize_async_writer_get_buffer(b, &buf, n, err)     waits for a free buffer of n bytes
 *     ... fills it ...
 *     lmi_quantize_async_writer_submit(b, fn, arg, n)       queues the call fn(arg, buf, n)
 *     lmi_quantize_async_writer_flush(b, err)             waits until all calls have returned
 *
 * Calls are made in the order of give.  After one has failed no others are made; take and flush
 * return its error.  Take, give and flush must be called by one thread. 
 * LMI_QUANTIZE_ASYNC_WRITER_BUFFERS buffers are reused. */
#ifndef LLAMAD_CORE_QUANTIZE_ASYNC_WRITER_H
#define LLAMAD_CORE_QUANTIZE_ASYNC_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_QUANTIZE_ASYNC_WRITER_BUFFERS 2

struct lmi_quantize_async_writer;
typedef enum lmd_status (*lmi_quantize_async_writer_fn)(void *arg, const void *data, size_t n,
							struct lmd_error *err);

enum lmd_status lmi_quantize_async_writer_create(struct lmi_quantize_async_writer **out,
						 struct lmd_error *err);
/* Waits for the queued calls.  b may be NULL. */
void lmi_quantize_async_writer_destroy(struct lmi_quantize_async_writer *b);

enum lmd_status lmi_quantize_async_writer_get_buffer(struct lmi_quantize_async_writer *b,
						     uint8_t **buf, size_t n,
						     struct lmd_error *err);
void lmi_quantize_async_writer_submit(struct lmi_quantize_async_writer *b,
				      lmi_quantize_async_writer_fn fn, void *arg, size_t n);
enum lmd_status lmi_quantize_async_writer_flush(struct lmi_quantize_async_writer *b,
						struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_ASYNC_WRITER_H */
