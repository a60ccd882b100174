/* SPDX-License-Identifier: MIT
 *
 * The plan has one op, SAMPLE, with the list of stages of sample_stages.h, so it serves all chains. Its
 * step block has a row for each row of the output: the device keeps the token of a row as the last one
 * of its sequence. Seeds and parameters of the rows are one input buffer: first the seeds and steps of
 * all rows, then the parameters. */
#include "core/engine/tail.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/sample_stages.h"
#include "core/engine/tail_plan.h"

enum { IN, TOKENS };
enum { IN_LOGITS, IN_PARAMS, IN_RNG, N_INPUT };

#define RNG_WIDTH 4u
#define RNG_BYTES (RNG_WIDTH * sizeof(int32_t))
#define PARAM_BYTES (LMI_SAMPLER_N_STAGE * sizeof(float))

struct lmi_engine_tail {
	struct lmi_engine_tail_plan p;
};

/* ---- the plan ---- */

static struct lmd_operand input(const struct lmd_builder *b, enum lmd_vtype type, uint32_t width,
				const char *name)
{
	const struct lmd_input in = {
		.space = LMD_SPACE_OUTPUTS, .vtype = type, .width = width, .name = name};

	return (struct lmd_operand){
		.src = LMD_SRC_INPUT, .id = b->input(b->ctx, &in), .n_head = 1, .width = width};
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const uint32_t *n_vocab = state;
	struct lmd_op op = {.code = LMD_OP_SAMPLE};
	struct lmd_op_sample *s = &op.u.sample;

	(void)key;
	s->logits = input(b, LMD_VTYPE_F32, *n_vocab, "logits");
	s->params = input(b, LMD_VTYPE_F32, LMI_SAMPLER_N_STAGE, "params");
	s->rng = input(b, LMD_VTYPE_I32, RNG_WIDTH, "rng");
	for (; s->n_stage < LMI_SAMPLER_N_STAGE; s->n_stage++) {
		s->stage[s->n_stage] = lmi_sampler_stage_codes[s->n_stage];
		s->param_col[s->n_stage] = s->n_stage;
	}
	s->stage[s->n_stage++] = LMD_STAGE_DIST;
	s->token = (struct lmd_operand){
		.src = LMD_SRC_VALUE,
		.id = b->value(b->ctx, LMD_SPACE_OUTPUTS, LMD_VTYPE_I32, 1, "token"),
		.n_head = 1,
		.width = 1};
	b->op(b->ctx, &op);
	b->output(b->ctx, LMD_OUT_TOKEN, s->token.id);
	return b->status(b->ctx);
}

/* Prepares t and what is asked of it; LMD_UNSUPPORTED: the device leaves it to the host. */
static enum lmd_status init(struct lmi_engine_tail *t, struct lmi_engine_tail_spec *spec,
			    const struct lmi_inst *inst, uint32_t device, uint32_t n_vocab,
			    struct lmd_error *err)
{
	const struct lmi_inst_device *d = &inst->devices[device];

	t->p.device = device;
	t->p.n_vocab = n_vocab;
	t->p.n_row = inst->n_out < inst->n_batch ? inst->n_out : inst->n_batch;
	*spec = (struct lmi_engine_tail_spec){
		.build = build,
		.state = &t->p.n_vocab,
		.unsupported = "the device does not choose tokens",
		.bytes = {[IN] = t->p.n_row * (RNG_BYTES + PARAM_BYTES),
			  [TOKENS] = t->p.n_row * sizeof(int32_t)}};
	return d->info->caps & LMD_DEV_SAMPLE
		       ? LMD_OK
		       : lmd_fail(err, LMD_UNSUPPORTED, "%s: the device leaves it to the host",
				  d->name);
}

enum lmd_status lmi_engine_tail_check(struct lmi_inst *inst, uint32_t device, uint32_t n_vocab,
				      struct lmd_error *err)
{
	struct lmi_engine_tail t = {0};
	struct lmi_engine_tail_spec spec;
	enum lmd_status st = init(&t, &spec, inst, device, n_vocab, err);

	if (st != LMD_OK)
		return st;
	lmi_inst_hold(inst);
	st = lmi_engine_tail_plan_build(&t.p, inst, &spec, err);
	lmi_inst_let_go(inst);
	lmi_plan_destroy(t.p.plan);
	return st;
}

enum lmd_status lmi_engine_tail_open(struct lmi_engine_tail **out, struct lmi_inst *inst,
				     uint32_t device, uint32_t n_vocab, struct lmd_error *err)
{
	struct lmi_engine_tail *t = lmi_alloc(1, sizeof(*t));
	struct lmi_engine_tail_spec spec;
	enum lmd_status st;

	if (!t)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
	st = init(t, &spec, inst, device, n_vocab, err);
	if (st == LMD_OK)
		st = lmi_engine_tail_plan_open(&t->p, inst, &spec, err);
	if (st == LMD_OK)
		*out = t;
	else
		lmi_engine_tail_close(inst, t);
	return st;
}

void lmi_engine_tail_close(struct lmi_inst *inst, struct lmi_engine_tail *t)
{
	if (t)
		lmi_engine_tail_plan_close(inst, &t->p);
	lmi_free(t);
}

/* ---- which plans ---- */

bool lmi_engine_tail_serves(const struct lmi_engine_tail *t, const struct lmi_engine_exec *e)
{
	return t && lmi_engine_tail_plan_serves(&t->p, e);
}

/* The row after the last token of an answer overwrites the state after the answer, which the prefix
 * cache would keep. */
static bool keeps_states(const struct lmi_inst *inst)
{
	for (uint32_t g = 0; g < inst->desc.n_group; g++)
		if (inst->desc.groups[g].kind == LMD_GROUP_STATE)
			return inst->cache_prefixes;
	return false;
}

bool lmi_engine_tail_chains(const struct lmi_inst *inst, const struct lmi_engine_tail *t,
			    const struct lmi_engine_exec *e)
{
	if (!lmi_engine_tail_serves(t, e) || (inst->desc.traits & LMD_TRAIT_HOST_TOKENS) ||
	    keeps_states(inst))
		return false;
	for (uint32_t i = 0; i < e->n_segment; i++) {
		const struct lmd_plan *p = e->segments[i].view;

		for (uint32_t k = 0; k < p->n_op; k++)
			if (p->ops[k].code == LMD_OP_EMBED &&
			    p->ops[k].u.embed.idx_kind == LMD_IDX_TOKEN &&
			    e->segments[i].device != t->p.device)
				return false;
	}
	return true;
}

/* ---- a step ---- */

/* Parameters of rows whose tokens are not used. */
static const float unused[LMI_SAMPLER_N_STAGE] = {
	[LMI_SAMPLER_STAGE_TEMP_FIRST] = 1, [LMI_SAMPLER_STAGE_TOP_K] = 1,
	[LMI_SAMPLER_STAGE_TOP_P] = 1, [LMI_SAMPLER_STAGE_TEMP] = 1,
};

static void fill_row(const struct lmi_engine_tail *t, struct lmi_engine_tail_slot *s, uint32_t row,
		     const struct lmi_engine_rows *p)
{
	int32_t *rng = (int32_t *)s->mem[IN].host + (size_t)row * RNG_WIDTH;
	float *param = (float *)(void *)((char *)s->mem[IN].host + t->p.n_row * RNG_BYTES) +
		       (size_t)row * LMI_SAMPLER_N_STAGE;
	uint64_t seed = p->stages ? p->stages->seed : 0;

	rng[0] = (int32_t)(uint32_t)seed;
	rng[1] = (int32_t)(uint32_t)(seed >> 32);
	rng[2] = (int32_t)(uint32_t)p->draw;
	rng[3] = (int32_t)(uint32_t)(p->draw >> 32);
	memcpy(param, p->stages ? p->stages->param : unused, PARAM_BYTES);
}

static void fill(const struct lmi_engine_tail *t, struct lmi_engine_tail_slot *slot,
		 const struct lmi_engine_rows *parts, uint32_t n_part)
{
	struct lmi_plan_step *s = slot->step;
	struct lmd_step_header *h = s->head;

	*h = (struct lmd_step_header){0};
	for (uint32_t i = 0; i < n_part; i++) {
		if (!parts[i].n_out)
			continue;
		s->q_start[h->n_seq] = (int32_t)h->n_tok;
		s->q_len[h->n_seq] = (int32_t)parts[i].n_out;
		s->seq_slot[h->n_seq] = (int32_t)parts[i].kv_seq;
		for (uint32_t k = 0; k < parts[i].n_out; k++, h->n_tok++, h->n_out++) {
			s->token[h->n_tok] = 0;
			s->seq_of[h->n_tok] = (int32_t)h->n_seq;
			s->out_row[h->n_out] = (int32_t)h->n_tok;
			fill_row(t, slot, h->n_out, &parts[i]);
		}
		h->n_seq++;
	}
	if (lmi_plan_view(t->p.plan)->key.bucket)
		lmi_plan_step_pad(s);
}

enum lmd_status lmi_engine_tail_run(struct lmi_inst *inst, struct lmi_engine_tail *t,
				    const struct lmi_engine_exec *e, uint32_t slot,
				    const struct lmi_engine_rows *parts, uint32_t n_part,
				    struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[t->p.device];
	struct lmi_engine_tail_slot *s = &t->p.slot[slot];
	const struct lmd_binding in[N_INPUT] = {
		lmi_engine_tail_plan_bind(IN_LOGITS, &inst->slot[slot].out_rows[t->p.device], e->out_rows,
		     (uint64_t)t->p.n_vocab * sizeof(float), 0),
		lmi_engine_tail_plan_bind(IN_PARAMS, &s->mem[IN], t->p.n_row, PARAM_BYTES, t->p.n_row * RNG_BYTES),
		lmi_engine_tail_plan_bind(IN_RNG, &s->mem[IN], t->p.n_row, RNG_BYTES, 0),
	};
	const struct lmd_binding out = lmi_engine_tail_plan_bind(LMD_OUT_TOKEN, &s->mem[TOKENS], t->p.n_row, sizeof(int32_t), 0);
	enum lmd_status st;

	fill(t, s, parts, n_part);
	st = lmi_engine_shared_upload(
		d, &s->mem[IN], t->p.n_row * RNG_BYTES + s->step->head->n_out * PARAM_BYTES, err);
	if (st == LMD_OK)
		st = lmi_engine_tail_plan_run(inst, &t->p, slot, in, N_INPUT, &out, 1, err);
	if (st == LMD_OK)
		st = lmi_engine_shared_download(
			d, &s->mem[TOKENS], 0, s->step->head->n_out * sizeof(int32_t), err);
	return lmi_inst_check(inst, d, st, err);
}

const int32_t *lmi_engine_tail_tokens(const struct lmi_engine_tail *t, uint32_t slot)
{
	return t->p.slot[slot].mem[TOKENS].host;
}
