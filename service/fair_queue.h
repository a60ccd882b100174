/* SPDX-License-Identifier: MIT
 *
 * fair_queue.h - which queued generation runs next.
 *
 * Users share by tokens, not by requests: each user has a count of the tokens served in each class,
 * and the generation whose user has the smallest count is next; of one user's, the one that came
 * first. A token of class interactive counts one eighth of one of class batch, a token of class
 * normal a quarter, and a generated token as two of a prompt. A user who had nothing to do begins
 * with the smallest count of those who have. So nobody starves, in no class, and a user with many
 * requests delays one with few by little.
 *
 * Each model has a queue of its own: a generation whose model cannot take it is passed over. One
 * place in eight, if there are four or more, is kept for loaded models that run none or few. */
#ifndef LLAMAD_SERVICE_FAIR_QUEUE_H
#define LLAMAD_SERVICE_FAIR_QUEUE_H

#include <stdint.h>

struct lmi_service;
struct lmi_svc_generation;

/* Call before a generation is queued. */
void lmi_svc_fair_queue_enter(struct lmi_service *svc, const struct lmi_svc_generation *g);
/* Counts tokens that were served to a generation. */
void lmi_svc_fair_queue_charge(const struct lmi_svc_generation *g, uint64_t n_prompt,
			       uint64_t n_generated);
/* Returns the generation that runs next, or NULL if none can run now. pass: those whose model has
 * this number in passed_over are not considered. */
struct lmi_svc_generation *lmi_svc_fair_queue_next(const struct lmi_service *svc, uint64_t pass);

#endif /* LLAMAD_SERVICE_FAIR_QUEUE_H */
