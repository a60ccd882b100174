/* SPDX-License-Identifier: MIT
 *
 * draft.c - see draft.h. */
#include "arch/common/draft.h"

#define N_TAP_USUAL 3u

static const struct lmd_tensor_row fc = ARCH_DRAFT_FC;

/* ---- description ---- */

static void read_taps(struct arch_draft *d, struct arch_keys *k, const char *old)
{
	const char *key = arch_key_has(k, "target_layers") || !old ? "target_layers" : old;
	uint64_t n = arch_key_len(k, key);

	if (n > LMD_MAX_TAP) {
		arch_key_fail(k, LMD_UNSUPPORTED, "%s.%s: %llu layers, at most %d", d->hp.model->arch,
			      key, (unsigned long long)n, LMD_MAX_TAP);
		return;
	}
	d->desc.n_tap = (uint32_t)n;
	if (n)
		(void)arch_key_u32s(k, key, ARCH_REQUIRED, d->desc.taps, d->desc.n_tap, 0, 0,
				    ARCH_MAX_LAYER);
}

void arch_draft_read(struct arch_draft *d, struct arch_keys *k, const char *old)
{
	const struct lmd_model *m = d->hp.model;

	d->desc.struct_size = sizeof(d->desc);
	d->desc.mask_token = -1;
	read_taps(d, k, old);
	d->desc.n_target_embd =
		arch_key_u32(k, "target_hidden_size", ARCH_OPTIONAL, 0, 1, ARCH_KEY_MAX_WIDTH);
	d->desc.token_map = arch_hp_tensor(&d->hp, "d2t");
	/* files of checkpoints have differences, GGUF files tokens */
	d->desc.map_is_relative = arch_key_bool(k, "@folder.d2t_is_relative", ARCH_OPTIONAL, false);
	if (d->desc.token_map != LMD_NONE && m->tensors[d->desc.token_map].n_dim != 1)
		arch_key_fail(k, LMD_INVALID, "d2t: a tensor of %u dimensions, expected one",
			      m->tensors[d->desc.token_map].n_dim);
}

uint32_t arch_draft_hidden(const struct arch_draft *d)
{
	uint32_t width = d->desc.n_target_embd ? d->desc.n_target_embd : d->hp.n_embd;

	return width * (d->desc.n_tap ? d->desc.n_tap : N_TAP_USUAL);
}

/* ---- building ---- */

bool arch_draft_key_ok(struct arch_emit *e, const struct lmd_plan_key *key)
{
	if (key->kind == LMD_PLAN_DRAFT && key->variant < 2)
		return true;
	e->b->fail(e->b->ctx, LMD_UNSUPPORTED,
		   "architecture %s: a draft model guesses tokens for another one and has no other plans",
		   e->hp->model->arch);
	return false;
}

struct arch_weight arch_draft_weight(struct arch_emit *e, const struct lmd_tensor_row *row,
				     const char *name)
{
	struct arch_weight w = arch_weight_opt(e, row);
	const struct lmd_model *target = e->b->target;
	const struct lmd_tensor *t = target ? target->find_tensor(target, name) : NULL;
	struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_OF_TARGET};
	struct lmd_weight_ref info, r = {.struct_size = sizeof(r),
				   .n_part = 1,
				   .parts = &part,
				   .n_stack = 1,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE,
				   .name = name};

	if (w.id != LMD_NONE)
		return w;
	if (target && !t && row == &arch_rows[T_OUTPUT]) /* the embedding is the head as well */
		return arch_draft_weight(e, &arch_rows[T_TOKEN_EMBD], "token_embd.weight");
	if (!t) {
		e->b->fail(e->b->ctx, LMD_NOTFOUND, "%s: neither the draft model nor its target has it",
			   name);
		return w;
	}
	part.tensor = (uint32_t)(t - target->tensors);
	w.id = e->b->weight_ref(e->b->ctx, &r);
	if (e->b->weight_ref_info(e->b->ctx, w.id, &info)) {
		w.n = info.n;
		w.k = info.k;
		if (w.k != e->hp->n_embd)
			e->b->fail(e->b->ctx, LMD_UNSUPPORTED,
				   "%s of the target has %u columns, but the rows of the draft model have %u",
				   name, w.k, e->hp->n_embd);
	}
	return w;
}

uint32_t arch_draft_embed(struct arch_emit *e)
{
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	uint32_t x = arch_value_f32(e, e->hp->n_embd, "token");

	op.u.embed.y = arch_operand_cols(x, 0, e->hp->n_embd);
	op.u.embed.table = arch_draft_weight(e, &arch_rows[T_TOKEN_EMBD], "token_embd.weight").id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.neg = LMD_NEG_ZERO;
	arch_emit_op(e, &op);
	return x;
}

void arch_draft_head(struct arch_emit *e, uint32_t x)
{
	struct lmd_norm n = arch_norm_req(e, e->hp->norm_kind, &arch_rows[T_OUTPUT_NORM]);
	struct arch_weight w = arch_draft_weight(e, &arch_rows[T_OUTPUT], "output.weight");

	w.site = LMD_NONE;
	arch_set_layer(e, -1);
	arch_emit_head(e, arch_operand_cols(x, 0, e->hp->n_embd), &n, &w, LMD_NONE);
}

struct lmd_operand arch_draft_input(struct arch_emit *e, uint32_t width)
{
	const struct lmd_input in = {.space = LMD_SPACE_TOKENS,
				     .vtype = LMD_VTYPE_F32,
				     .width = width,
				     .name = "hidden"};

	return (struct lmd_operand){.src = LMD_SRC_INPUT,
				    .id = e->b->input(e->b->ctx, &in),
				    .n_head = 1,
				    .head_stride = width,
				    .width = width,
				    .fold = 1};
}

uint32_t arch_draft_fuse(struct arch_emit *e, const struct arch_draft *d, enum lmd_vtype vtype)
{
	struct arch_weight w = arch_weight_req(e, &fc);

	w.site = LMD_NONE;
	return arch_linear(e, arch_draft_input(e, arch_draft_hidden(d)), NULL, &w, vtype, "fused");
}

void arch_draft_put_layers(struct lmd_checkpoint *c, const char *list, bool is_after)
{
	int64_t n = c->list_len(c, list);
	int64_t *v;

	if (n > LMD_MAX_TAP)
		c->fail(c, LMD_UNSUPPORTED, "\"%s\" has %lld layers, at most %d are supported", list,
			(long long)n, LMD_MAX_TAP);
	v = n > 0 && n <= LMD_MAX_TAP ? c->alloc(c, (size_t)n, sizeof(*v)) : NULL;
	for (uint32_t i = 0; v && i < n; i++)
		v[i] = c->list_int(c, list, i, ARCH_MAX_LAYER) + is_after;
	if (v)
		c->put_ints(c, "target_layers", v, (uint64_t)n);
}
