/* SPDX-License-Identifier: MIT
 *
 * answer.h - the answer of a generation as items of its stream: as the model writes it, or taken
 * apart into text, thoughts and calls of tools.
 *
 * Taken apart, each token is an item too, with the text that it made visible, which is that of
 * the first thing it led to when that is text.  The ends of markers come late: what is held
 * back is told at the end.
 *
 * Pure, as output.h is. */
#ifndef LLAMAD_SERVICE_ANSWER_H
#define LLAMAD_SERVICE_ANSWER_H

#include "core/text/chat/answer.h"
#include "service/output.h"

/* Longer names and ids of calls are cut: what the protocol bounds them by. */
#define LMI_ANSWER_NAME_MAX 128

struct lmi_answer;

/* seed: random bytes, from which calls get ids where the model gives none.  LMD_NOMEM. */
enum lmd_status lmi_answer_create(struct lmi_answer **out, const struct lmi_chat_answer *how,
				  const uint8_t seed[4], struct lmd_error *err);
/* NULL allowed. */
void lmi_answer_destroy(struct lmi_answer *a);

/* As the functions of output.h; what led to LMD_BUSY or LMD_NOMEM may be there in part, and
 * nothing more can be added. */
enum lmd_status lmi_answer_token(struct lmi_answer *a, struct lmi_output *o, uint64_t now,
				 lmd_token token, const char *text, uint32_t n);
enum lmd_status lmi_answer_text(struct lmi_answer *a, struct lmi_output *o, uint64_t now,
				const char *text, uint32_t n);
/* Nothing more comes: what was held back. */
enum lmd_status lmi_answer_end(struct lmi_answer *a, struct lmi_output *o, uint64_t now);

#endif /* LLAMAD_SERVICE_ANSWER_H */
