/* SPDX-License-Identifier: MIT
 *
 * Makes a plan with data from a case.  The architecture is a fake whose build function calls that
 * of the case; tensors are created when the case asks for them (opcase_make.c). */
#include "core/base/alloc.h"
#include "core/conformance/opcase_priv.h"

static const struct lmd_group groups[OC_N_GROUP] = {
	[OC_G_FULL] = {.name = "full", .causal = 1, .ratio = 1},
	[OC_G_STATE] = {.name = "state", .kind = LMD_GROUP_STATE, .ratio = 1},
	[OC_G_BATCH] = {.name = "batch", .kind = LMD_GROUP_BATCH, .ratio = 1},
	[OC_G_COMP] = {.name = "comp", .causal = 1, .ratio = 4},
	[OC_G_CROSS] = {.name = "cross",
			.kind = LMD_GROUP_CROSS,
			.ratio = 1,
			.k_space = LMD_SPACE_X0},
	[OC_G_XB] = {.name = "xb",
		     .kind = LMD_GROUP_BATCH,
		     .ratio = 1,
		     .q_space = LMD_SPACE_X0,
		     .k_space = LMD_SPACE_X0},
};

static const struct lmd_row_in row_ins[] = {
	{LMD_VTYPE_I32, 2, "pair"},
	{LMD_VTYPE_F32, 3, "three"},
};

static const char *const sites[OC_MAX_ADAPTER / 2] = {"s0", "s1", "s2", "s3",
						      "s4", "s5", "s6", "s7"};

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	struct oc *c = (struct oc *)(uintptr_t)state;

	c->b = b;
	if (key->kind == LMD_PLAN_FORWARD) /* input 0 already exists: rows that tokens name */
		c->inputs[c->n_input++] =
			(struct oc_input){.space = LMD_N_SPACE, .width = OC_EMBD, .hi = 1};
	c->def->build(c, c->def->v);
	c->b = NULL;
	return b->status(b->ctx);
}

static void describe(struct oc *c)
{
	c->model.struct_size = sizeof(c->model);
	c->model.arch = "opcase";
	c->model.name = "opcase";
	c->model.tensors = c->tensors;
	c->arch.struct_size = sizeof(c->arch);
	c->arch.build = build;
	c->desc = (struct lmd_arch_desc){
		.struct_size = sizeof(c->desc),
		.n_input_embd = OC_EMBD,
		.n_group = OC_N_GROUP,
		.groups = groups,
		.n_cache = c->def->n_cache,
		.caches = c->def->caches,
		.n_row_in = LMD_LEN(row_ins),
		.row_ins = row_ins,
		.n_x = 3,
		.n_lora_site = LMD_LEN(sites),
		.lora_sites = sites,
		.n_variant = 1,
		.state = c,
	};
}

static uint32_t plan_kind(const struct oc *c)
{
	return c->def->flags & OC_TAIL     ? LMD_PLAN_TAIL
	       : c->def->flags & OC_ENCODE ? LMD_PLAN_ENCODE
					   : LMD_PLAN_FORWARD;
}

static enum lmd_status make_plan(struct oc *c, const struct oc_device *dev, bool lowered)
{
	struct lmi_plan_params p = {
		.host = c->host,
		.model = &c->model,
		.arch = &c->arch,
		.desc = &c->desc,
		.key = {.struct_size = sizeof(p.key),
			.kind = plan_kind(c),
			.flags = (c->def->flags & OC_LORA ? LMD_PLAN_LORA : 0) |
				 (c->def->flags & OC_TREE ? LMD_PLAN_TREE : 0),
			.pooling = LMD_POOL_UNSET},
		.act_dtype = dev->act_dtype,
		.k_dtype = c->def->kv_dtype,
		.v_dtype = c->def->v_dtype ? c->def->v_dtype : c->def->kv_dtype,
		.max_rows = {OC_MAX_TOK, OC_MAX_OUT, OC_MAX_SEQ, 320, 320, 320},
	};
	uint32_t n_tok = 0;

	for (uint32_t s = 0; s < c->layout->n_seq; s++)
		n_tok += c->layout->len[s];
	for (uint32_t i = dev->n_bucket; i-- > 0;) {
		if (dev->bucket[i] >= n_tok)
			p.key.bucket = p.max_rows[LMD_SPACE_TOKENS] = dev->bucket[i];
	}
	c->st = lmi_plan_build(&c->plan, &p, c->err);
	if (c->st == LMD_OK && lowered)
		c->st = lmi_plan_lower_all(c->plan, c->err);
	if (c->st == LMD_OK && dev->support)
		c->st = lmi_plan_lower(c->plan, dev->support, dev->support_arg, c->err);
	if (c->st == LMD_OK)
		c->st = lmi_plan_layout(c->plan, c->err);
	if (c->st == LMD_OK)
		c->view = lmi_plan_view(c->plan);
	return c->st;
}

enum lmd_status oc_create(struct oc **out, const struct opcase *def, const struct oc_layout *layout,
			  const struct lmd_host *host, const struct oc_device *dev, uint64_t seed,
			  bool lowered, struct lmd_error *err)
{
	struct oc *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st;

	if (!c)
		return lmd_fail(err, LMD_NOMEM, "case %s: out of memory", def->name);
	c->def = def;
	c->layout = layout;
	c->host = host;
	c->rng = seed;
	c->tensor_cache = dev->tensor_cache;
	c->any_weights = dev->any_weights;
	c->err = err;
	describe(c);
	st = make_plan(c, dev, lowered);
	if (st == LMD_OK)
		st = oc_fill(c, dev->page_tokens);
	if (st != LMD_OK) {
		oc_destroy(c);
		return st;
	}
	*out = c;
	return LMD_OK;
}

void oc_destroy(struct oc *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->model.n_tensors; i++)
		lmi_free((void *)(uintptr_t)c->tensors[i].data);
	for (uint32_t i = 0; i < c->n_input; i++)
		lmi_free(c->inputs[i].data);
	for (uint32_t i = 0; i < c->n_adapter; i++) {
		lmi_free((void *)(uintptr_t)c->adapters[i].a);
		lmi_free((void *)(uintptr_t)c->adapters[i].b);
		lmi_free((void *)(uintptr_t)c->adapters[i].gain);
	}
	for (uint32_t i = 0; i < LMD_LEN(c->memory); i++) {
		lmi_free(c->memory[i].k);
		lmi_free(c->memory[i].v);
	}
	lmi_plan_step_destroy(c->step);
	lmi_plan_destroy(c->plan);
	lmi_free(c);
}
