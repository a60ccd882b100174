/* SPDX-License-Identifier: MIT
 *
 * encode.h - converts the data of a tensor from one type to another with a team of threads. */
#ifndef LLAMAD_CORE_QUANTIZE_ENCODE_H
#define LLAMAD_CORE_QUANTIZE_ENCODE_H

#include "core/quantize/async_writer.h"
#include "core/quantize/quantize.h"

struct lmi_quantize_encoder;

/* n_thread: 1..LMI_TEAM_MAX. */
enum lmd_status lmi_quantize_encoder_create(struct lmi_quantize_encoder **out, uint32_t n_thread,
					    struct lmd_error *err);
void lmi_quantize_encoder_destroy(struct lmi_quantize_encoder *e); /* NULL allowed */

/* Receives the new bytes.  `write` is called in a thread of the encoder, in order, with the `arg`
 * given to lmi_quantize_encoder_run; calls may continue after lmi_quantize_encoder_run has
 * returned, until lmi_quantize_encoder_flush has.  `tell` is called in the thread of
 * lmi_quantize_encoder_run when another n_src bytes of the source have been encoded; a status other
 * than LMD_OK ends the run. */
struct lmi_quantize_encoder_sink {
	lmi_quantize_async_writer_fn write;
	void *arg;
	enum lmd_status (*progress)(void *arg, uint64_t n_src, struct lmd_error *err);
	void *progress_arg;
};

/* Writes all of it->bytes in order.  The bytes do not depend on the number of threads.
 * LMD_INVALID: a value of the source is NaN, infinite, or does not fit into f16. */
enum lmd_status lmi_quantize_encoder_run(struct lmi_quantize_encoder *e, const struct lmi_model *m,
					 const struct lmi_quantize_item *it,
					 const struct lmi_quantize_encoder_sink *to,
					 struct lmd_error *err);

/* Waits until everything is written.  Returns the error of a failed write unless a run has returned
 * it. */
enum lmd_status lmi_quantize_encoder_flush(struct lmi_quantize_encoder *e, struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_ENCODE_H */
