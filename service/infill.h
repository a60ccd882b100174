/* SPDX-License-Identifier: MIT
 *
 * infill.h - the prompt of a model that fills a gap between two texts (fill in the middle). */
#ifndef LLAMAD_SERVICE_INFILL_H
#define LLAMAD_SERVICE_INFILL_H

#include "core/text/tokenizer.h"
#include "proto/proto.h"

/* Replaces the content of `out` with the tokens of a request that has `suffix`.  With other files,
 * the order is that of models trained on repositories, as far as the vocabulary has the tokens for
 * it.  LMD_UNSUPPORTED: the vocabulary has no tokens for infilling.  Any thread. */
enum lmd_status lmi_svc_infill_encode(const struct lmi_tokenizer *t,
				      const struct lmi_wire_req_generate *q,
				      struct lmi_text_token_buf *out, struct lmd_error *err);

#endif /* LLAMAD_SERVICE_INFILL_H */
