/* SPDX-License-Identifier: MIT
 *
 * Which queued generation runs next; see fair_queue.h. */
#include "service/fair_queue.h"

#include "service/generate_work.h"
#include "service/limits.h"
#include "service/loaded_model.h"
#include "service/prompt.h"

/* What a token counts in each class: a token of the prompt, and a generated one. */
static const uint64_t prices[LMI_ENGINE_N_CLASS] = {
	[LMI_ENGINE_CLASS_INTERACTIVE] = 1,
	[LMI_ENGINE_CLASS_NORMAL] = 2,
	[LMI_ENGINE_CLASS_BATCH] = 8,
};

static uint64_t *served_of(const struct lmi_svc_generation *g)
{
	return &g->request.user->served[lmi_svc_prompt_class(lmi_svc_gen_request(g))];
}

void lmi_svc_fair_queue_enter(struct lmi_service *svc, const struct lmi_svc_generation *g)
{
	uint64_t *own = served_of(g), least = UINT64_MAX;

	for (const struct lmi_svc_generation *o = svc->generations; o; o = o->next) {
		if (o == g || !o->request.user ||
		    (o->state != LMI_SVC_GEN_QUEUE && o->state != LMI_SVC_GEN_RUN))
			continue;
		if (served_of(o) == own)
			return; /* the user has something to do */
		if (*served_of(o) < least)
			least = *served_of(o);
	}
	if (least != UINT64_MAX && *own < least)
		*own = least;
}

void lmi_svc_fair_queue_charge(const struct lmi_svc_generation *g, uint64_t n_prompt,
			       uint64_t n_generated)
{
	if (g->request.user)
		*served_of(g) += (n_prompt + 2 * n_generated) *
				 prices[lmi_svc_prompt_class(lmi_svc_gen_request(g))];
}

/* Returns how many of the free places are kept for other loaded models than this one. */
static uint64_t n_kept(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r)
{
	uint64_t most = svc->limits.max_running / 8, n = 0;

	if (!most && svc->limits.max_running >= 4)
		most = 1;
	for (const struct lmi_svc_loaded_model *o = svc->loaded_models; o && n < most; o = o->next)
		if (o != r && o->state == LMI_SVC_MODEL_READY && o->n_running < most)
			n += most - o->n_running;
	return n < most ? n : most;
}

static bool may_run(const struct lmi_service *svc, const struct lmi_svc_generation *g)
{
	return svc->limits.max_running - svc->held.n_running > n_kept(svc, g->loaded) &&
	       lmi_svc_user_may_run(svc, g->request.user);
}

struct lmi_svc_generation *lmi_svc_fair_queue_next(const struct lmi_service *svc, uint64_t pass)
{
	struct lmi_svc_generation *best = NULL;

	for (struct lmi_svc_generation *g = svc->queue; g; g = g->queue_next)
		if (g->loaded->passed_over != pass && (!best || *served_of(g) < *served_of(best)) &&
		    may_run(svc, g))
			best = g;
	return best;
}
