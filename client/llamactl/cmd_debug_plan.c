/* SPDX-License-Identifier: MIT
 *
 * llamactl debug plan: the plan that an architecture emits for a model, as text. */
#include <stdio.h>
#include <string.h>

#include "client/llamactl/described.h"
#include "core/plan/plan.h"
#include "core/quant/quant.h"

/* What a user means who says nothing: what the model is for. */
static void default_key(const struct lmi_described *d, struct lmd_plan_key *key)
{
	*key = (struct lmd_plan_key){.struct_size = sizeof(*key), .pooling = LMD_POOL_UNSET};
	switch ((enum lmd_driver)d->desc.driver) {
	case LMD_DRIVER_AUTOREGRESSIVE:
	case LMD_DRIVER_ENCDEC:
	case LMD_DRIVER_DIFFUSION:
		key->flags = LMD_PLAN_LOGITS;
		return;
	case LMD_DRIVER_ENCODER:
		key->flags = LMD_PLAN_EMBED;
		key->pooling = d->desc.pooling == LMD_POOL_UNSET ? LMD_POOL_NONE : d->desc.pooling;
		return;
	case LMD_DRIVER_CODEC:
		key->flags = LMD_PLAN_EMBED;
		key->pooling = LMD_POOL_NONE;
		return;
	}
}

static void read_key(const struct lmi_args *a, struct lmd_plan_key *key)
{
	if (lmi_arg_given(a, "kind")) {
		key->kind = (uint32_t)lmi_arg_int(a, "kind");
		if (key->kind == LMD_PLAN_ENCODE)
			key->flags = 0;
	}
	if (lmi_arg_given(a, "pooling")) {
		key->flags = LMD_PLAN_EMBED;
		key->pooling = (int32_t)lmi_arg_int(a, "pooling");
	}
	if (lmi_arg_flag(a, "lora"))
		key->flags |= LMD_PLAN_LORA;
	key->variant = (uint32_t)lmi_arg_int(a, "variant");
}

static enum lmd_status print_plan(const struct lmi_described *d, const struct lmi_args *a,
				  const struct lmd_plan_key *key, struct lmd_error *err)
{
	const struct lmi_dtype *act = lmi_dtype_by_name(lmi_arg_str(a, "act-type"));
	struct lmi_plan_params p = {
		.host = d->host,
		.model = d->view,
		.arch = d->arch->ops.arch,
		.desc = &d->desc,
		.key = *key,
		.act_dtype = act->id,
		.kv_dtype = LMD_DTYPE_F32,
	};
	struct lmi_plan *plan = NULL;
	enum lmd_status st;

	for (int i = 0; i < LMD_N_SPACE; i++)
		p.max_rows[i] = (uint32_t)lmi_arg_int(a, "rows");
	st = lmi_plan_build(&plan, &p, err);
	if (st == LMD_OK && lmi_arg_flag(a, "lower"))
		st = lmi_plan_lower_all(plan, err);
	if (st == LMD_OK)
		st = lmi_plan_layout(plan, err);
	if (st == LMD_OK) {
		(void)lmi_plan_dump(plan, stdout); /* write errors are the program's to see */
		if (lmi_arg_flag(a, "memory"))
			printf("scratch %llu bytes for %u rows\n",
			       (unsigned long long)lmi_plan_view(plan)->scratch_bytes,
			       p.max_rows[LMD_SPACE_TOKENS]);
	}
	lmi_plan_destroy(plan);
	return st;
}

/* The main plan, in every variant, and the encoder's. */
static enum lmd_status print_every(const struct lmi_described *d, const struct lmi_args *a,
				   struct lmd_error *err)
{
	struct lmd_plan_key key;
	enum lmd_status st = LMD_OK;

	default_key(d, &key);
	for (uint32_t v = 0; v < d->desc.n_variant && st == LMD_OK; v++) {
		key.variant = v;
		st = print_plan(d, a, &key, err);
	}
	if (st == LMD_OK && d->desc.driver == LMD_DRIVER_ENCDEC) {
		key = (struct lmd_plan_key){.struct_size = sizeof(key),
					    .kind = LMD_PLAN_ENCODE,
					    .pooling = LMD_POOL_UNSET};
		st = print_plan(d, a, &key, err);
	}
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	struct lmd_plan_key key;
	struct lmi_described d;
	enum lmd_status st =
		lmi_described_init(&d, ctl, path, (uint32_t)lmi_arg_int(&ctl->args, "ctx"), err);

	if (st == LMD_OK) {
		default_key(&d, &key);
		read_key(&ctl->args, &key);
		st = lmi_arg_flag(&ctl->args, "every") ? print_every(&d, &ctl->args, err)
						       : print_plan(&d, &ctl->args, &key, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, path);
	}
	lmi_described_fini(&d);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "kind",
	 .type = LMI_OPT_CHOICE,
	 .value = "forward|encode|draft|tail",
	 .def = "forward",
	 .doc = "Kind of plan."},
	{.name = "pooling",
	 .type = LMI_OPT_CHOICE,
	 .value = "none|mean|cls|last|rank",
	 .doc = "A plan for embeddings, pooled like this, instead of logits."},
	{.name = "variant",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .max = 255,
	 .doc = "The architecture's own number: rows of images, block of a draft."},
	{.name = "every",
	 .type = LMI_OPT_FLAG,
	 .doc = "All plans that running the model may need, one after another."},
	{.name = "lora", .type = LMI_OPT_FLAG, .doc = "With the sites of adapters."},
	{.name = "lower",
	 .type = LMI_OPT_FLAG,
	 .doc = "Take all ops apart that can be taken apart."},
	{.name = "ctx",
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .def = "0",
	 .max = 1u << 30,
	 .doc = "Context length; it may decide between rotation tables.  0: as trained."},
	{.name = "act-type",
	 .type = LMI_OPT_CHOICE,
	 .value = "f32|f16|bf16",
	 .def = "f32",
	 .doc = "Type of activations."},
	{.name = "rows",
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .def = "512",
	 .min = 1,
	 .max = 1u << 24,
	 .doc = "Rows of a step, for --memory."},
	{.name = "memory",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the working memory that the plan takes, too."},
};

const struct lmi_cmd lmi_cmd_debug_plan = {
	.name = "debug plan",
	.args = "FILE",
	.brief = "Print the plan of a model",
	.doc = "One line for each group, cache, weight, value and op; what is not printed has its "
	       "default.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
