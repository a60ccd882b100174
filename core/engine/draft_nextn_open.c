/* SPDX-License-Identifier: MIT
 *
 * Opens what guesses from hidden rows: draft layers of the model itself, or a draft model with an instance of
 * its own (EAGLE-3, DFlash), which may use the embedding and the head of its target. */
#include "core/engine/draft_nextn_impl.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/engine/draft_model_impl.h"
#include "core/quant/quant.h"

/* Tokens whose numbers floats can have. */
#define MAX_MAP (1u << 24)

void lmi_engine_nextn_close(struct lmi_engine_nextn *m)
{
	if (!m)
		return;
	if (m->inst != m->target)
		lmi_inst_close(m->inst);
	lmi_free(m->map);
	lmi_free(m->rows);
	lmi_free(m);
}

/* Draft rows are computed later than those of the model: a drafter keeps so many hidden rows before it computes them,
 * and a step has committed so many more. */
static uint32_t n_later(const struct lmi_inst *inst)
{
	return inst->n_batch + LMI_ENGINE_NEXTN_KEEP;
}

enum lmd_status lmi_engine_nextn_keep_pages(struct lmi_inst *inst, struct lmd_error *err)
{
	struct lmd_arch_desc *d = &inst->desc;
	uint32_t g = d->n_draft && d->n_cache ? d->caches[d->n_cache - 1].group : LMD_NONE;
	struct lmd_group *groups;

	memset(inst->sees, 0, sizeof(inst->sees));
	if (g == LMD_NONE || !d->groups[g].window || d->groups[g].kind != LMD_GROUP_PAGED)
		return LMD_OK;
	groups = lmi_arena_array(inst->arena, d->n_group, sizeof(*groups));
	if (!groups)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u groups", d->n_group);
	memcpy(groups, d->groups, d->n_group * sizeof(*groups));
	inst->sees[g] = groups[g].window;
	groups[g].window += n_later(inst);
	d->groups = groups;
	return LMD_OK;
}

/* Do the pages of a plan's groups stay until draft rows are computed? */
static bool pages_stay(const struct lmi_inst *inst, uint32_t groups)
{
	const struct lmd_arch_desc *d = &inst->desc;

	for (uint32_t g = 0; g < d->n_group; g++)
		if (groups >> g & 1 && (d->groups[g].kind != LMD_GROUP_PAGED ||
					(d->groups[g].window && !inst->sees[g]) ||
					d->groups[g].chunk || d->groups[g].ratio > 1))
			return false;
	return true;
}

/* The plans, and the sizes that follow from them. */
static enum lmd_status prepare(struct lmi_engine_nextn *m, uint32_t n_vocab, struct lmd_error *err)
{
	const bool separate = m->inst != m->target;
	struct lmd_plan_key key = {.kind = LMD_PLAN_DRAFT,
				   .flags = m->n_block ? 0 : LMD_PLAN_LOGITS | LMD_PLAN_HIDDEN};
	const struct lmi_engine_exec *e;
	enum lmd_status st;

	m->rows = lmi_alloc(m->inst->n_seq, sizeof(*m->rows));
	if (!m->rows)
		return lmd_fail(err, LMD_NOMEM, "no memory for the draft rows of %u sequences",
				m->inst->n_seq);
	st = lmi_inst_exec(m->inst, &key, &m->exec, err);
	m->next_exec = m->exec;
	key.variant = 1;
	key.flags |= LMD_PLAN_LOGITS;
	if (st == LMD_OK && separate)
		st = lmi_inst_exec(m->inst, &key, &m->next_exec, err);
	if (st != LMD_OK)
		return st;
	e = m->inst->execs[m->exec];
	if (!pages_stay(m->inst, e->groups))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s: the draft layers do not attend to all tokens",
				m->inst->model->arch);
	m->width = (uint32_t)(lmi_engine_hidden_input(e) / sizeof(float));
	if (m->width != lmi_inst_hidden_width(m->target))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"its plan reads hidden rows of %u numbers, but %.80s puts out %u", m->width,
				m->target->model->name, lmi_inst_hidden_width(m->target));
	m->own_width = m->n_block ? 0 : lmi_engine_hidden_width(m->inst, e);
	m->n_keep = LMI_ENGINE_NEXTN_KEEP < m->inst->n_batch ? LMI_ENGINE_NEXTN_KEEP : m->inst->n_batch;
	e = m->inst->execs[m->next_exec];
	m->n_vocab = m->map || e->out_width < n_vocab ? e->out_width : n_vocab;
	return LMD_OK;
}

/* Architectures describe draft layers only if they can be run: nextn.c of the shared decoder has the conditions. */
static enum lmd_status why_none(const struct lmi_inst *inst, struct lmd_error *err)
{
	char key[96];
	const struct lmd_meta *x;

	(void)snprintf(key, sizeof(key), "%.70s.nextn_predict_layers", inst->model->arch);
	x = inst->model->find_meta(inst->model, key);
	if (!x || !x->v.u)
		return lmd_fail(err, LMD_UNSUPPORTED, "%.80s (architecture %s) has no draft layers",
				inst->model->name, inst->model->arch);
	if (inst->n_rank > 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%.80s has draft layers that cannot be run: the model is divided "
				"by tensors",
				inst->model->name);
	(void)snprintf(key, sizeof(key), "blk.%u.nextn.eh_proj.weight", inst->desc.n_layer);
	if (!inst->model->find_tensor(inst->model, key))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%.80s has draft layers that cannot be run: the file does not have "
				"the tensor %s",
				inst->model->name, key);
	return lmd_fail(err, LMD_UNSUPPORTED,
			"%.80s has draft layers that cannot be run: those of architecture %s are "
			"not used, or no "
			"layer attends to all tokens",
			inst->model->name, inst->model->arch);
}

enum lmd_status lmi_engine_nextn_open(struct lmi_engine_nextn **out, struct lmi_inst *inst,
				      uint32_t n_vocab, struct lmd_error *err)
{
	struct lmi_engine_nextn *m;
	enum lmd_status st;

	if (!inst->desc.n_draft)
		return why_none(inst, err);
	m = lmi_alloc(1, sizeof(*m));
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for draft layers");
	m->inst = m->target = inst;
	st = prepare(m, n_vocab, err);
	if (st != LMD_OK) {
		lmi_engine_nextn_close(m);
		return st;
	}
	*out = m;
	return LMD_OK;
}

/* ---- draft models ---- */

static enum lmd_status check_target(const struct lmi_inst *target, struct lmd_error *err)
{
	if (target->desc.driver != LMD_DRIVER_AUTOREGRESSIVE || target->looks_ahead)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s does not generate token after token", target->model->arch);
	if (!target->desc.n_hidden)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"it reads streams of its target, which %s cannot put out (architecture %s, %u "
				"layers)",
				target->n_rank > 1 ? "a model that is divided by tensors" : "this model",
				target->model->arch, target->desc.n_layer);
	return LMD_OK;
}

static enum lmd_status check_fit(const struct lmi_engine_nextn *m, uint32_t n_vocab,
				 struct lmd_error *err)
{
	const struct lmi_inst *target = m->target;
	const struct lmd_draft *d = m->inst->desc.draft;
	uint32_t width;

	/* sizes follow from what lmi_engine_draft_file_read found */
	if (!d || d->n_block != target->draft_block)
		return lmd_fail(err, LMD_INVALID, "the file has changed while it was opened; load the model again");
	width = d->n_target_embd ? d->n_target_embd : m->inst->desc.n_embd;
	if (width != target->desc.n_embd)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"it reads hidden rows of %u numbers, but those of %.80s have %u: it belongs to "
				"another model",
				width, target->model->name, target->desc.n_embd);
	if (d->n_block && (d->mask_token < 0 || (uint32_t)d->mask_token >= m->inst->desc.n_vocab))
		return lmd_fail(err, LMD_INVALID, "its mask is token %d, but its vocabulary has %u",
				d->mask_token, m->inst->desc.n_vocab);
	if (d->n_block > m->inst->n_batch)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"it guesses blocks of %u tokens, but a step has at most %u rows; raise batch",
				d->n_block, m->inst->n_batch);
	if (m->inst->desc.n_vocab < n_vocab)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"its vocabulary has %u tokens, but that of %.80s has %u: it belongs to another "
				"model",
				m->inst->desc.n_vocab, target->model->name, n_vocab);
	return LMD_OK;
}

/* Reads the target's token for each of the draft's. Checkpoints have them as floats, which are exact up to 2^24. */
static enum lmd_status read_map(struct lmi_engine_nextn *m, uint32_t n_vocab, struct lmd_error *err)
{
	const struct lmd_draft *d = m->inst->desc.draft;
	const struct lmd_tensor *t;
	size_t n;
	float *v;
	enum lmd_status st = LMD_OK;

	if (d->token_map == LMD_NONE)
		return LMD_OK;
	if (d->token_map >= m->inst->model->n_tensors)
		return lmd_fail(err, LMD_INTERNAL, "architecture %s: the map of tokens is tensor %u of %u",
				m->inst->model->arch, d->token_map, m->inst->model->n_tensors);
	t = &m->inst->model->tensors[d->token_map];
	if ((t->dtype != LMD_DTYPE_I64 && t->dtype != LMD_DTYPE_I32 && t->dtype != LMD_DTYPE_F32) ||
	    t->dims[0] > MAX_MAP || n_vocab > MAX_MAP)
		return lmd_fail(err, LMD_INVALID, "%s: type %u of %lld values; expected I64, I32 or F32 and at "
				"most %u",
				t->name, t->dtype, (long long)t->dims[0], MAX_MAP);
	n = (size_t)t->dims[0];
	v = lmi_alloc(n, sizeof(*v));
	m->map = lmi_alloc(n, sizeof(*m->map));
	if (!m->map || !v)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the map of %zu tokens", n);
	else
		lmi_quant_dequant_rows(lmi_dtype(t->dtype), t->data, v, n, 1);
	for (size_t i = 0; i < n && st == LMD_OK; i++) {
		double id = (double)v[i] + (d->map_is_relative ? (double)i : 0);

		if (!(id >= 0 && id < n_vocab))
			st = lmd_fail(err, LMD_INVALID,
				      "%s: token %zu stands for token %.0f, but the vocabulary has %u", t->name,
				      i, id, n_vocab);
		else
			m->map[i] = (lmd_token)id;
	}
	lmi_free(v);
	return st;
}

static enum lmd_status check_map(const struct lmi_engine_nextn *m, struct lmd_error *err)
{
	const struct lmd_draft *d = m->inst->desc.draft;
	const struct lmd_tensor *t = &m->inst->model->tensors[m->map ? d->token_map : 0];

	return !m->map || t->dims[0] == m->n_vocab
		       ? LMD_OK
		       : lmd_fail(err, LMD_INVALID, "%s has %lld tokens, but there are logits of %u", t->name,
				  (long long)t->dims[0], m->n_vocab);
}

enum lmd_status lmi_engine_nextn_open_file(struct lmi_engine_nextn **out, struct lmi_inst *target,
					   const struct lmi_engine_model_opts *opts, uint32_t n_vocab,
					   struct lmd_error *err)
{
	struct lmi_engine_nextn *m = lmi_alloc(1, sizeof(*m));
	struct lmd_error cause = {0};
	enum lmd_status st;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for a draft model");
	m->target = target;
	st = check_target(target, &cause);
	if (st == LMD_OK)
		st = lmi_engine_draft_inst_open(&m->inst, target, opts, &cause);
	if (st == LMD_OK)
		st = check_fit(m, n_vocab, &cause);
	if (st == LMD_OK) {
		m->n_block = m->inst->desc.draft->n_block;
		m->mask = m->inst->desc.draft->mask_token;
	}
	if (st == LMD_OK)
		st = read_map(m, n_vocab, &cause);
	if (st == LMD_OK)
		st = prepare(m, n_vocab, &cause);
	if (st == LMD_OK)
		st = check_map(m, &cause);
	if (st != LMD_OK) {
		lmi_engine_nextn_close(m);
		return lmi_engine_draft_cause(opts->draft_path, st, &cause, err);
	}
	*out = m;
	return LMD_OK;
}

struct lmi_inst *lmi_engine_nextn_inst(const struct lmi_engine_nextn *m)
{
	return m->inst == m->target ? NULL : m->inst;
}
