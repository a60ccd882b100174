/* SPDX-License-Identifier: MIT
 *
 * encode.h - the data of a tensor from one type to another, by a team of threads. */
#ifndef LLAMAD_CORE_QUANTIZE_ENCODE_H
#define LLAMAD_CORE_QUANTIZE_ENCODE_H

#include "core/quantize/quantize.h"

struct lmi_encoder;

/* n_thread 1..LMI_TEAM_MAX. */
enum lmd_status lmi_encoder_create(struct lmi_encoder **out, uint32_t n_thread,
				   struct lmd_error *err);
void lmi_encoder_destroy(struct lmi_encoder *e); /* NULL allowed */

/* Takes the next n bytes of the new data; n_src bytes of the source led to them. */
typedef enum lmd_status (*lmi_encoded_fn)(void *arg, const void *data, size_t n, uint64_t n_src,
					  struct lmd_error *err);

/* Hands out all of it->bytes in order.  The same bytes for any number of threads.  LMD_INVALID:
 * a value of the source is no number, is infinite, or does not fit into f16. */
enum lmd_status lmi_encoder_run(struct lmi_encoder *e, const struct lmi_model *m,
				const struct lmi_quantize_item *it, lmi_encoded_fn fn, void *arg,
				struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_ENCODE_H */
