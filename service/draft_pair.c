/* SPDX-License-Identifier: MIT
 *
 * Which loaded model guesses tokens for which other one. The engine chooses among candidates, since it
 * knows the vocabulary only when it has opened the model. */
#include "service/draft_pair.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/sha256.h"
#include "service/loaded_model.h"
#include "service/service_state.h"

void lmi_svc_draft_pair_fini(struct lmi_svc_draft_pair *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		lmi_svc_model_record_give(p->records[i]);
	lmi_free(p->records);
	lmi_free(p->v);
	p->v = NULL;
	p->records = NULL;
	p->n = 0;
}

static void add(struct lmi_svc_draft_pair *p, const struct lmi_svc_loaded_model *x)
{
	struct lmi_engine_info info;

	lmi_engine_info(x->engine, &info);
	p->records[p->n] = lmi_svc_model_record_take(x->record);
	p->v[p->n++] = (struct lmi_engine_draft_candidate){
		.path = x->record->m.v[0].files[0].path,
		.weight_bytes = info.weight_bytes,
		.number = x->number};
	memcpy(p->v[p->n - 1].vocab_digest, info.vocab_digest, LMI_SHA256_BYTES);
}

void lmi_svc_draft_pair_begin(struct lmi_svc_loaded_model *r)
{
	struct lmi_svc_draft_pair *p = &r->pair;
	struct lmi_service *svc = r->svc;

	lmi_svc_draft_pair_fini(p);
	p->number = 0;
	if (strcmp(r->load.draft_path, LMI_SVC_DRAFT_AUTO) != 0)
		return;
	p->v = lmi_alloc(svc->n_loaded_model, sizeof(*p->v));
	p->records = lmi_alloc(svc->n_loaded_model, sizeof(*p->records));
	if (!p->v || !p->records)
		return;
	for (const struct lmi_svc_loaded_model *x = svc->loaded_models; x; x = x->next)
		if (x != r && x->state == LMI_SVC_MODEL_READY)
			add(p, x);
}

static const struct lmi_svc_loaded_model *find(const struct lmi_service *svc, uint64_t number)
{
	const struct lmi_svc_loaded_model *x = svc->loaded_models;

	while (x && x->number != number)
		x = x->next;
	return x;
}

void lmi_svc_draft_pair_opened(struct lmi_svc_loaded_model *r)
{
	const struct lmi_svc_loaded_model *x;
	struct lmi_engine_info info;

	lmi_svc_draft_pair_fini(&r->pair);
	if (r->err.status != LMD_OK)
		return;
	lmi_engine_info(r->engine, &info);
	x = info.draft_number ? find(r->svc, info.draft_number) : NULL;
	if (x && x->state == LMI_SVC_MODEL_READY)
		r->pair.number = x->number;
	else
		lmi_engine_drop_draft(r->engine); /* it has been unloaded meanwhile */
}

void lmi_svc_draft_pair_end(const struct lmi_svc_loaded_model *r)
{
	for (struct lmi_svc_loaded_model *x = r->svc->loaded_models; x; x = x->next) {
		if (x->pair.number != r->number)
			continue;
		/* otherwise the engine belongs to the job that closes it */
		if (x->state == LMI_SVC_MODEL_READY || x->state == LMI_SVC_MODEL_DRAINING)
			lmi_engine_drop_draft(x->engine);
		x->pair.number = 0;
	}
}
