/* SPDX-License-Identifier: MIT
 *
 * llamactl quantize: writes a model file with other tensor types. This file reads the options;
 * core/quantize does the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/checkpoint/open.h"
#include "client/llamactl/ctl.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/key_args.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/quantize_report.h"
#include "client/llamactl/resume_args.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/plugin/registry.h"
#include "core/quant/quant.h"

#define MAX_PRUNE 1024u

struct job {
	struct lmi_ctl *ctl;
	struct lmi_quantize_opts o;
	struct lmi_quantize_rule *rules;
	struct lmd_meta *keys;
	uint32_t *prune;
	struct lmi_imatrix imatrix;
	struct lmi_model *model;
	const struct lmi_factory *arch; /* or NULL */
	struct lmi_quantize_plan *plan;
	struct lmi_ctl_progress bar;
};

static enum lmd_status type_arg(const char *what, const char *name, int32_t *out,
				struct lmd_error *err)
{
	const struct lmi_dtype *t = name ? lmi_dtype_by_name(name) : NULL;
	char show[48];

	*out = t ? (int32_t)t->id : -1;
	if (t || !name)
		return LMD_OK;
	return lmd_fail(err, LMD_NOTFOUND,
			"%s: no tensor type \"%s\" (such as q6_k, iq4_nl, "
			"f16)",
			what, lmi_printable(show, sizeof(show), name, strlen(name)));
}

static enum lmd_status ftype_arg(struct job *j, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&j->ctl->args, 2);
	char names[512], show[48];

	if (!strcasecmp(name, "COPY"))
		return LMD_OK;
	j->o.ftype = lmi_ftype_by_name(name);
	if (j->o.ftype)
		return LMD_OK;
	return lmi_ctl_usage(j->ctl, err, "no file type \"%s\"; the file types are %s, and COPY",
			     lmi_printable(show, sizeof(show), name, strlen(name)),
			     lmi_ftype_names(names, sizeof(names)));
}

/* REGEX=TYPE, split at the last "=" because the expression may contain one. */
static enum lmd_status rule_args(struct job *j, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(&j->ctl->args, "tensor-type", &list);
	enum lmd_status st = LMD_OK;

	j->o.rules = j->rules = lmi_alloc(n + 1u, sizeof(*j->rules));
	if (!j->rules)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u patterns", n);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		const char *eq = strrchr(list[i], '=');
		int32_t type;

		if (!eq || eq == list[i])
			return lmi_ctl_usage(j->ctl, err, "--tensor-type '%.60s' is not REGEX=TYPE",
					     list[i]);
		st = type_arg("--tensor-type", eq + 1, &type, err);
		if (st != LMD_OK)
			return st;
		j->rules[i].type = (enum lmd_dtype)type;
		j->rules[i].pattern = lmi_strndup(list[i], (size_t)(eq - list[i]));
		if (!j->rules[i].pattern)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u patterns", n);
		j->o.n_rules++;
	}
	return st;
}

static enum lmd_status prune_arg(struct job *j, struct lmd_error *err)
{
	const char *text = lmi_arg_str(&j->ctl->args, "prune-layers");
	enum lmd_status st = LMD_OK;

	j->o.prune = j->prune = lmi_alloc(MAX_PRUNE, sizeof(*j->prune));
	if (!j->prune)
		return lmd_fail(err, LMD_NOMEM, "no memory for a list of layers");
	while (st == LMD_OK && text) {
		size_t n = strcspn(text, ",");
		char word[16] = "";
		int64_t v = -1;

		if (n < sizeof(word))
			memcpy(word, text, n);
		st = lmi_cli_parse_int("--prune-layers", word, &v, err);
		if (st == LMD_OK && (v < 0 || v > UINT32_MAX || j->o.n_prune == MAX_PRUNE))
			st = lmd_fail(err, LMD_INVALID,
				      "--prune-layers: %lld, number %u of the list, is not a "
				      "layer; layers are numbered from 0, and the list has at "
				      "most %u",
				      (long long)v, j->o.n_prune, MAX_PRUNE);
		if (st == LMD_OK)
			j->prune[j->o.n_prune++] = (uint32_t)v;
		text = text[n] ? text + n + 1 : NULL;
	}
	if (st == LMD_INVALID)
		j->ctl->usage = true;
	return st;
}

static enum lmd_status imatrix_arg(struct job *j, struct lmd_error *err)
{
	const char *path = lmi_arg_str(&j->ctl->args, "imatrix");
	enum lmd_status st;

	if (!path)
		return LMD_OK;
	st = lmi_imatrix_read(&j->imatrix, path, err);
	j->o.imatrix = &j->imatrix;
	j->o.imatrix_path = path;
	return st;
}

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct job *j = arg;

	lmi_ctl_progress_show(&j->bar, "quantize", done, total);
	return !lmi_ctl_interrupted();
}

static enum lmd_status job_args(struct job *j, struct lmd_error *err)
{
	const struct lmi_args *a = &j->ctl->args;
	enum lmd_status st = ftype_arg(j, err);

	j->o.pure = lmi_arg_flag(a, "pure");
	j->o.leave_output = lmi_arg_flag(a, "leave-output-tensor");
	j->o.allow_requantize = lmi_arg_flag(a, "allow-requantize");
	j->o.keep_split = lmi_arg_flag(a, "keep-split");
	j->o.n_thread = (uint32_t)lmi_arg_int(a, "threads");
	j->o.progress = on_progress;
	j->o.progress_arg = j;
	j->o.resume = lmi_ctl_resume_args(j->ctl, &j->bar);
	if (st == LMD_OK)
		st = type_arg("--output-tensor-type", lmi_arg_str(a, "output-tensor-type"),
			      &j->o.output_type, err);
	if (st == LMD_OK)
		st = type_arg("--token-embedding-type", lmi_arg_str(a, "token-embedding-type"),
			      &j->o.embedding_type, err);
	if (st == LMD_OK)
		st = rule_args(j, err);
	if (st == LMD_OK)
		st = lmi_ctl_key_args(j->ctl, "override-kv", &j->keys, &j->o.n_keys, err);
	if (st == LMD_OK)
		st = prune_arg(j, err);
	if (st == LMD_OK)
		st = imatrix_arg(j, err);
	j->o.keys = j->keys;
	return st;
}

static void job_fini(struct job *j)
{
	struct lmi_plugin_registry *r;

	if (j->arch && lmi_ctl_registry(j->ctl, &r, NULL) == LMD_OK)
		lmi_factory_give(r, j->arch);
	lmi_quantize_free(j->plan);
	lmi_model_close(j->model);
	lmi_imatrix_fini(&j->imatrix);
	for (uint32_t i = 0; i < j->o.n_rules; i++)
		lmi_free((char *)(uintptr_t)j->rules[i].pattern);
	lmi_free(j->rules);
	lmi_ctl_key_args_fini(j->keys, j->o.n_keys);
	lmi_free(j->prune);
}

static enum lmd_status convert(struct job *j, const char *path, struct lmd_error *err)
{
	enum lmd_status st;

	lmi_ctl_interrupt_install();
	lmi_ctl_progress_init(&j->bar);
	st = lmi_quantize_run(j->plan, path, err);
	lmi_ctl_progress_end(&j->bar);
	return st;
}

/* Finds the plugin of the model's architecture; a model without a plugin has nothing unusual. */
static enum lmd_status find_arch(struct job *j, struct lmd_error *err)
{
	const char *arch = lmi_model_view(j->model)->arch;
	struct lmi_plugin_registry *r;
	struct lmd_error none;
	enum lmd_status st = lmi_ctl_registry(j->ctl, &r, err);

	if (st != LMD_OK)
		return st;
	if (arch && lmi_factory_take(r, LMD_KIND_ARCH, arch, &j->arch, &none) == LMD_OK)
		j->o.arch = j->arch->ops.arch;
	return LMD_OK;
}

static enum lmd_status run_job(struct job *j, struct lmd_error *err)
{
	const struct lmi_args *a = &j->ctl->args;
	bool dry = lmi_arg_flag(a, "dry-run"), json = lmi_arg_flag(a, "json");
	const char *in = lmi_arg_pos(a, 0), *out = lmi_arg_pos(a, 1);
	enum lmd_status st = job_args(j, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_open_model(j->ctl, &j->model, in, LMI_OPEN_HEADER_ONLY, err);
	if (st == LMD_OK)
		st = find_arch(j, err);
	if (st == LMD_OK)
		st = lmi_quantize_plan(&j->plan, j->model, &j->o, err);
	if (st == LMD_OK && !dry)
		st = convert(j, out, err);
	if (st != LMD_OK)
		return st;
	if (json)
		return lmi_ctl_quantize_print_json(j->plan, out, dry, err);
	if (dry)
		lmi_ctl_quantize_print_table(j->plan);
	lmi_ctl_quantize_print_sum(j->plan, dry);
	if (dry && lmi_quantize_check(j->plan, err) != LMD_OK)
		printf("this would fail: %s\n", err->text);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct job j = {.ctl = ctl, .o = {.output_type = -1, .embedding_type = -1}};
	enum lmd_status st;

	lmi_imatrix_init(&j.imatrix);
	st = run_job(&j, err);
	job_fini(&j);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "imatrix",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Importance matrix of the model, which tells the encoder which columns to "
		"preserve. Required for types below three bits, and better for all below six."},
	{.name = "pure",
	 .type = LMI_OPT_FLAG,
	 .doc = "Use the file type's own tensor type for all tensors instead of the mix."},
	{.name = "tensor-type",
	 .type = LMI_OPT_LIST,
	 .value = "REGEX=TYPE",
	 .doc = "Tensor type for the tensors whose name contains a match of the expression, such "
		"as 'ffn_down=q6_k'; may be repeated, the first match decides."},
	{.name = "output-tensor-type",
	 .type = LMI_OPT_STR,
	 .value = "TYPE",
	 .doc = "Tensor type of output.weight."},
	{.name = "token-embedding-type",
	 .type = LMI_OPT_STR,
	 .value = "TYPE",
	 .doc = "Tensor type of token_embd.weight."},
	{.name = "leave-output-tensor",
	 .type = LMI_OPT_FLAG,
	 .doc = "Copy output.weight unchanged."},
	{.name = "allow-requantize",
	 .type = LMI_OPT_FLAG,
	 .doc = "Encode tensors that are already quantised, although that loses quality a second "
		"time."},
	{.name = "prune-layers",
	 .type = LMI_OPT_STR,
	 .value = "L,L...",
	 .doc = "Remove these layers, counted from 0; later layers move up."},
	{.name = "keep-split",
	 .type = LMI_OPT_FLAG,
	 .doc = "Write as many files as the source has (OUT-00001-of-0000N.gguf and so on) "
		"instead of one."},
	{.name = "override-kv",
	 .type = LMI_OPT_LIST,
	 .value = "KEY=TYPE:VALUE",
	 .doc = "Set a key of the new file; TYPE is int, float, bool or str. May be repeated."},
	{.name = "dry-run",
	 .type = LMI_OPT_FLAG,
	 .doc = "Write nothing; print what each tensor would become, and the total size."},
	{.name = "threads",
	 .letter = 't',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = 1024,
	 .doc = "Number of encoder threads; 0 means one per processor."},
	LMI_CTL_OPT_NO_RESUME,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_quantize = {
	.name = "quantize",
	.args = "IN OUT TYPE",
	.brief = "Quantise a model file",
	.doc = "IN is a GGUF file (preferably f16, bf16 or f32), the first file of a set, or a "
	       "Hugging Face folder. TYPE is the file type: Q4_K_M is a good compromise; Q8_0, "
	       "Q6_K, Q5_K_M and Q5_K_S are closer to the source; Q4_K_S, IQ4_XS, IQ4_NL, "
	       "Q3_K_L, Q3_K_M, Q3_K_S, IQ3_M, IQ3_S, IQ3_XS, IQ3_XXS, Q2_K, Q2_K_S, IQ2_M, "
	       "IQ2_S, IQ2_XS, IQ2_XXS, IQ1_M and IQ1_S are smaller; Q4_0, Q4_1, Q5_0 and Q5_1 "
	       "are simple; TQ1_0, TQ2_0, Q1_0 and Q2_0 are for models trained for them; "
	       "MXFP4_MOE and NVFP4 are 4-bit floats; F16, BF16 and F32 are not quantised; COPY "
	       "changes no type.\n\nA file type is a mix: most tensors get its own type, and "
	       "those that need it a better one. --dry-run shows the type of each tensor. "
	       "Tensors whose rows are not a multiple of the block length get the nearest type "
	       "with smaller blocks; vectors, norms and routers keep their "
	       "type.\n\n" LMI_CTL_RESUME_DOC,
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
