/* SPDX-License-Identifier: MIT
 *
 * answer.h - parses the answer of a generation into items of its stream: text, reasoning and tool
 * calls.
 *
 * Each token is also an item.  Its text is the first piece of content that the token completed; any
 * further pieces are items of their own.  Text that might be the start of a marker is held back,
 * until the end of the answer at the latest.
 *
 * Pure: no clock, no thread. */
#ifndef LLAMAD_SERVICE_ANSWER_H
#define LLAMAD_SERVICE_ANSWER_H

#include "core/text/chat/chat.h"
#include "service/output.h"

/* Longer names and ids of tool calls are cut; this is the bound of the protocol. */
#define LMI_SVC_ANSWER_NAME_MAX 128

struct lmi_svc_answer_stream;

/* seed: random bytes for the ids of tool calls to which the model gave none.  LMD_NOMEM. */
enum lmd_status lmi_svc_answer_create(struct lmi_svc_answer_stream **out,
				      const struct lmi_chat_answer_format *format,
				      const uint8_t seed[4], struct lmd_error *err);
/* NULL allowed. */
void lmi_svc_answer_destroy(struct lmi_svc_answer_stream *a);

/* Parse a token or text and add the resulting items.  After LMD_BUSY or LMD_NOMEM some of them may
 * have been added, and nothing more can be added.  item: of the kind TOKEN, with the text and the
 * log probabilities of the token, as for lmi_svc_output_add(). */
enum lmd_status lmi_svc_answer_token(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o,
				     const struct lmi_svc_item *item, const char *text,
				     const void *logprobs);
enum lmd_status lmi_svc_answer_text(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o,
				    uint64_t now, const char *text, uint32_t n);
/* Returns how many of the tokens so far are reasoning, the markers at its end included. */
uint32_t lmi_svc_answer_n_reasoning(const struct lmi_svc_answer_stream *a);
/* Ends the answer: adds the text that was held back. */
enum lmd_status lmi_svc_answer_end(struct lmi_svc_answer_stream *a, struct lmi_svc_output *o,
				   uint64_t now);

#endif /* LLAMAD_SERVICE_ANSWER_H */
