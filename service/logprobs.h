/* SPDX-License-Identifier: MIT
 *
 * logprobs.h - log probabilities of tokens as bytes that a stream keeps, and as fields of an item.
 *
 * An entry is a token's id, its log probability, and its text.
 *
 * Pure: no clock, no thread. */
#ifndef LLAMAD_SERVICE_LOGPROBS_H
#define LLAMAD_SERVICE_LOGPROBS_H

#include "core/engine/engine.h"
#include "core/text/tokenizer.h"
#include "proto/proto.h"

/* Replaces the content of `out` with the entries.  Returns false if out of memory. */
bool lmi_svc_logprobs_pack(struct lmi_wire_buf *out, const struct lmi_tokenizer *t,
			   const struct lmi_engine_logprob *v, uint32_t n);
/* Describes n packed entries; the texts point into `bytes`. */
void lmi_svc_logprobs_unpack(struct lmi_wire_token_logprob *out, uint32_t n, const char *bytes);

#endif /* LLAMAD_SERVICE_LOGPROBS_H */
