/* SPDX-License-Identifier: MIT
 *
 * What an engine says of itself: its model, memory, pictures, counters. */
#include "core/engine/engine.h"

#include "core/engine/draft_model.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/engine_impl.h"
#include "core/engine/tower.h"
#include "core/text/chat/chat.h"

/* Adds what an instance has in memory. */
static void add_bytes(const struct lmi_inst *i, struct lmi_engine_info *out)
{
	out->weight_bytes += i->file_bytes;
	out->kv_bytes += i->kv_bytes;
	for (uint32_t k = 0; k < i->n_device; k++) {
		out->weight_bytes += i->devices[k].weight_bytes;
		out->scratch_bytes += i->devices[k].scratch_bytes + i->devices[k].link_bytes;
		out->devices |= 1ull << i->devices[k].open->device->number;
	}
}

void lmi_engine_info(const struct lmi_engine *e, struct lmi_engine_info *out)
{
	const struct lmi_inst *i = e->inst;

	*out = (struct lmi_engine_info){.host = i->host,
					.desc = &i->desc,
					.model = i->model->name,
					.file = i->model,
					.backend = i->devices[0].open->backend->f->name,
					.n_thread = i->devices[0].open->threads.n,
					.n_thread_batch = i->devices[0].open->threads.n_many,
					.n_ctx = i->n_ctx,
					.n_seq = i->n_seq,
					.n_batch = i->n_batch};
	out->vocab_digest = e->vocab_digest;
	out->vocab_bytes = e->vocab_bytes;
	out->draft_number = e->draft_number;
	add_bytes(i, out);
	if (i->nextn) {
		const struct lmi_inst *own = lmi_engine_nextn_inst(i->nextn);

		out->draft = own ? own->model->name : LMI_ENGINE_DRAFT_OWN;
		if (own)
			add_bytes(own, out);
	}
	if (!i->draft_dropped && i->draft) {
		out->draft = lmi_engine_draft_model_inst(i->draft)->model->name;
		add_bytes(lmi_engine_draft_model_inst(i->draft), out);
	}
	if (i->tower)
		add_bytes(lmi_engine_tower_inst(i->tower), out);
}

void lmi_engine_where(const struct lmi_engine *e, struct lmi_engine_placement *out)
{
	lmi_engine_place_report(e->inst, out);
}

int32_t lmi_engine_pooling(const struct lmi_engine *e, int32_t asked)
{
	return lmi_inst_pooling(e->inst, asked);
}

const struct lmi_tokenizer *lmi_engine_tokenizer(const struct lmi_engine *e)
{
	return e->tok;
}

const struct lmd_picture *lmi_engine_picture(const struct lmi_engine *e)
{
	return e->inst->tower ? lmi_engine_tower_picture(e->inst->tower) : NULL;
}

uint32_t lmi_engine_picture_rows(const struct lmi_engine *e, uint32_t patches_w, uint32_t patches_h)
{
	return e->inst->tower ? lmi_engine_tower_rows(e->inst->tower, patches_w, patches_h) : 0;
}

enum lmd_status lmi_engine_picture_digest(const struct lmi_engine *e,
					  const struct lmi_engine_picture *p,
					  uint8_t out[LMI_SHA256_BYTES], struct lmd_error *err)
{
	return lmi_engine_picture_digest_of(e->inst, p, out)
		       ? LMD_OK
		       : lmd_fail(err, LMD_CANCELLED, "the digest of a picture was not computed");
}

const struct lmi_chat *lmi_engine_chat(const struct lmi_engine *e)
{
	return e->chat;
}

static bool was_replaced(struct lmi_plugin_registry *r, enum lmd_kind kind,
			 const struct lmi_factory *f)
{
	const struct lmi_factory *now;
	bool same;

	if (lmi_factory_take(r, kind, f->f->name, &now, NULL) != LMD_OK)
		return false;
	same = now == f;
	lmi_factory_give(r, now);
	return !same;
}

bool lmi_engine_is_stale(const struct lmi_engine *e)
{
	struct lmi_plugin_registry *r = e->inst->registry;

	for (uint32_t i = 0; i < e->inst->n_device; i++)
		if (was_replaced(r, LMD_KIND_BACKEND, e->inst->devices[i].open->backend))
			return true;
	return was_replaced(r, LMD_KIND_ARCH, e->inst->arch) ||
	       (e->tok && was_replaced(r, LMD_KIND_TOKENIZER, lmi_tokenizer_factory(e->tok)));
}

void lmi_engine_stats(struct lmi_engine *e, struct lmi_engine_stats *out)
{
	const struct lmi_engine_counters *c = &e->count;

	*out = (struct lmi_engine_stats){
		.n_step = c->n_step,
		.n_row = c->n_row,
		.n_preempted = c->n_preempted,
		.n_shared_rows = c->n_shared_rows,
		.n_started = c->n_started,
		.n_hit = c->n_hit,
		.n_page_evicted = c->n_page_evicted,
		.n_pinned = c->n_pinned,
		.n_bounded = c->n_bounded,
		.n_over_bound = c->n_over_bound,
		.n_generated = c->n_generated,
		.n_forced = c->n_forced,
		.n_drafted = c->n_drafted,
		.n_accepted = c->n_accepted,
		.n_branch = c->n_moved,
		.n_draft_step = c->n_draft_step,
		.n_draft_row = c->n_draft_row,
		.n_waiting = c->n_waiting,
		.n_active = c->n_active,
		.n_plan = c->n_plan,
		.n_on_device = c->n_on_device,
		.n_short = c->n_short,
		.n_overlapped = c->n_overlapped,
		.step_allocs = c->step_allocs,
	};
	for (int g = 0; g < LMD_MAX_GROUP; g++) {
		out->n_page[g] = c->n_page[g];
		out->n_free[g] = c->n_free[g];
		out->n_cached[g] = c->n_cached[g];
		out->n_peak[g] = c->n_peak[g];
	}
	lmi_engine_grammar_cache_stats_get(&e->compiled, &out->grammars);
}
