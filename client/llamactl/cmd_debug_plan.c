/* SPDX-License-Identifier: MIT
 *
 * llamactl debug plan: the plan that an architecture emits for a model, as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/model_description.h"
#include "client/llamactl/json_out.h"
#include "core/plan/plan.h"
#include "core/quant/quant.h"

/* If no kind is named, the plan that the model is made for. */
static void default_key(const struct lmi_ctl_described *d, struct lmd_plan_key *key)
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
	case LMD_DRIVER_TOWER:
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

/* Is the word NAME=VALUE? */
static bool is_setting(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789");

	return n && word[n] == '=';
}

/* A line of the text form as an object: its first word is "item", what is written NAME=VALUE is in
 * "set", the other words are "words". */
static void json_line(struct lmi_ctl_json *j, const char *line)
{
	size_t n = strcspn(line, " ");
	const char *w;

	lmi_ctl_json_flat_object(j, NULL);
	lmi_ctl_json_strn(j, "item", line, n);
	lmi_ctl_json_array(j, "words");
	for (w = line + n; *(w += strspn(w, " ")); w += n) {
		n = strcspn(w, " ");
		if (!is_setting(w))
			lmi_ctl_json_strn(j, NULL, w, n);
	}
	lmi_ctl_json_end(j);
	lmi_ctl_json_object(j, "set");
	for (w = line + strcspn(line, " "); *(w += strspn(w, " ")); w += n) {
		char name[64];
		size_t k = strcspn(w, "=");

		n = strcspn(w, " ");
		if (!is_setting(w) || k >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)k, w);
		lmi_ctl_json_strn(j, name, w + k + 1, n - k - 1);
	}
	lmi_ctl_json_end(j);
	lmi_ctl_json_end(j);
}

static void json_plan(struct lmi_ctl_json *j, const struct lmi_plan *plan, uint32_t rows,
		      char *text)
{
	char *line, *rest = text;

	lmi_ctl_json_object(j, NULL);
	lmi_ctl_json_uint(j, "scratch_bytes", lmi_plan_view(plan)->scratch_bytes);
	lmi_ctl_json_uint(j, "rows", rows);
	lmi_ctl_json_array(j, "lines");
	while ((line = strsep(&rest, "\n")))
		if (*line)
			json_line(j, line);
	lmi_ctl_json_end(j);
	lmi_ctl_json_end(j);
}

static enum lmd_status print_json(struct lmi_ctl_json *j, const struct lmi_plan *plan,
				  uint32_t rows, struct lmd_error *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	bool whole = f && lmi_plan_dump(plan, f) == LMD_OK;

	whole = f && !fclose(f) && whole;
	if (whole)
		json_plan(j, plan, rows, text);
	free(text);
	return whole ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for the text of a plan");
}

static enum lmd_status print_plan(const struct lmi_ctl_described *d, const struct lmi_args *a,
				  const struct lmd_plan_key *key, struct lmi_ctl_json *json,
				  struct lmd_error *err)
{
	const struct lmi_dtype *act = lmi_dtype_by_name(lmi_arg_str(a, "act-type"));
	struct lmi_plan_params p = {
		.host = d->host,
		.model = d->view,
		.arch = d->arch->ops.arch,
		.desc = &d->desc,
		.key = *key,
		.act_dtype = act->id,
		.k_dtype = LMD_DTYPE_F32,
		.v_dtype = LMD_DTYPE_F32,
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
	if (st == LMD_OK && json) {
		st = print_json(json, plan, p.max_rows[LMD_SPACE_TOKENS], err);
	} else if (st == LMD_OK) {
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
static enum lmd_status print_every(const struct lmi_ctl_described *d, const struct lmi_args *a,
				   struct lmi_ctl_json *json, struct lmd_error *err)
{
	struct lmd_plan_key key;
	enum lmd_status st = LMD_OK;

	default_key(d, &key);
	for (uint32_t v = 0; v < d->desc.n_variant && st == LMD_OK; v++) {
		key.variant = v;
		st = print_plan(d, a, &key, json, err);
	}
	if (st == LMD_OK && d->desc.driver == LMD_DRIVER_ENCDEC) {
		key = (struct lmd_plan_key){.struct_size = sizeof(key),
					    .kind = LMD_PLAN_ENCODE,
					    .pooling = LMD_POOL_UNSET};
		st = print_plan(d, a, &key, json, err);
	}
	return st;
}

static enum lmd_status print_plans(const struct lmi_ctl_described *d, const struct lmi_args *a,
				   struct lmi_ctl_json *json, struct lmd_error *err)
{
	struct lmd_plan_key key;

	if (lmi_arg_flag(a, "every"))
		return print_every(d, a, json, err);
	default_key(d, &key);
	read_key(a, &key);
	return print_plan(d, a, &key, json, err);
}

/* One list, which appears when all went well. */
static enum lmd_status print_plans_json(const struct lmi_ctl_described *d, const struct lmi_args *a,
					struct lmd_error *err)
{
	struct lmi_ctl_json j;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the text of a plan");
	lmi_ctl_json_init(&j, f);
	lmi_ctl_json_array(&j, NULL);
	st = print_plans(d, a, &j, err);
	if (st == LMD_OK) {
		lmi_ctl_json_end(&j);
		lmi_ctl_json_fini(&j);
	}
	if (fclose(f) && st == LMD_OK)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the text of a plan");
	if (st == LMD_OK)
		(void)fwrite(text, 1, n, stdout);
	free(text);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	struct lmi_ctl_described d;
	enum lmd_status st = lmi_ctl_described_init(&d, ctl, path,
						    (uint32_t)lmi_arg_int(&ctl->args, "ctx"), err);

	if (st == LMD_OK) {
		st = lmi_arg_flag(&ctl->args, "json")
			     ? print_plans_json(&d, &ctl->args, err)
			     : print_plans(&d, &ctl->args, NULL, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, path);
	}
	lmi_ctl_described_fini(&d);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "kind",
	 .type = LMI_OPT_CHOICE,
	 .value = "forward|encode|draft|tail",
	 .def = "forward",
	 .doc = "Kind of plan to print."},
	{.name = "pooling",
	 .type = LMI_OPT_CHOICE,
	 .value = "none|mean|cls|last|rank",
	 .doc = "Print the plan for embeddings, pooled this way, instead of the plan for logits."},
	{.name = "variant",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .max = 255,
	 .doc = "Variant number, whose meaning depends on the architecture: rows of images, "
		"block of a draft."},
	{.name = "every",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print all plans that running the model may need."},
	{.name = "lora", .type = LMI_OPT_FLAG, .doc = "Include the operations for adapters."},
	{.name = "lower",
	 .type = LMI_OPT_FLAG,
	 .doc = "Lower all operations that can be split into simpler ones."},
	{.name = "ctx",
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .def = "0",
	 .max = 1u << 30,
	 .doc = "Context length in tokens, which may select a rope table; 0 means as trained."},
	{.name = "act-type",
	 .type = LMI_OPT_CHOICE,
	 .value = "f32|f16|bf16",
	 .def = "f32",
	 .doc = "Type of the activations."},
	{.name = "rows",
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .def = "512",
	 .min = 1,
	 .max = 1u << 24,
	 .doc = "Number of rows in a step, for --memory."},
	{.name = "memory",
	 .type = LMI_OPT_FLAG,
	 .doc = "Also print the working memory that the plan needs."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_plan = {
	.name = "debug plan",
	.args = "FILE",
	.brief = "Print the plan of a model",
	.doc = "Prints one line for each group, cache, weight, value and operation; parameters "
	       "with their default value are not printed.\n\nWith --json: a list of plans, each "
	       "with rows, scratch_bytes (for that number of rows) and lines: for each line its "
	       "first word (item), the NAME=VALUE settings (set) and the other words (words).",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
