/* SPDX-License-Identifier: MIT
 *
 * llamactl export-lora: merges adapters into the weights of a model and writes one file. */
#include <stdio.h>
#include <string.h>

#include "core/checkpoint/open.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "core/base/alloc.h"
#include "core/checkpoint/adapter/merge.h"
#include "core/quant/quant.h"

struct adapters {
	struct lmi_engine_adapter_ref *refs; /* [n] paths on the heap */
	struct lmi_adapter_file **files;
	float *scales;
	uint32_t n;
};

static enum lmd_status open_adapters(struct adapters *ad, struct lmi_ctl *ctl,
				     const struct lmd_model *base, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(&ctl->args, "lora", &list);
	struct lmi_plugin_registry *plugins;
	enum lmd_status st = lmi_ctl_registry(ctl, &plugins, err);

	if (st != LMD_OK)
		return st;
	ad->refs = lmi_alloc(n, sizeof(*ad->refs));
	ad->files = lmi_alloc(n, sizeof(struct lmi_adapter_file *));
	ad->scales = lmi_alloc(n, sizeof(*ad->scales));
	if (!ad->refs || !ad->files || !ad->scales)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u adapters", n);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		st = lmi_ctl_adapter_arg("--lora", list[i], &ad->refs[i], err);
		ad->n += st == LMD_OK;
		if (st == LMD_OK)
			st = lmi_adapter_open(&ad->files[i], ad->refs[i].path, base, plugins, err);
		ad->scales[i] = ad->refs[i].scale;
	}
	return st;
}

static void close_adapters(struct adapters *ad)
{
	for (uint32_t i = 0; i < ad->n; i++) {
		lmi_adapter_close(ad->files[i]);
		lmi_free((void *)(uintptr_t)ad->refs[i].path);
	}
	lmi_free(ad->refs);
	lmi_free(ad->files);
	lmi_free(ad->scales);
}

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	lmi_ctl_progress_show(arg, "merge", done, total);
	return true;
}

static enum lmd_status read_type(const struct lmi_args *a, int32_t *out, struct lmd_error *err)
{
	const char *name = lmi_arg_str(a, "type");
	const struct lmi_dtype *t = name ? lmi_dtype_by_name(name) : NULL;

	*out = -1;
	if (!name)
		return LMD_OK;
	if (!t || !t->quant || t->is_activation || t->needs_importance)
		return lmd_fail(err, LMD_INVALID, "--type: '%.40s' is not a type that weights "
						  "can be written in",
				name);
	*out = (int32_t)t->id;
	return LMD_OK;
}

static void print_merged(const char *to, uint32_t n_changed, uint32_t n_tensors, bool json)
{
	struct lmi_ctl_json j;

	if (!json) {
		printf("%s: %u of %u tensors changed\n", to, n_changed, n_tensors);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "path", to);
	lmi_ctl_json_uint(&j, "changed", n_changed);
	lmi_ctl_json_uint(&j, "tensors", n_tensors);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status merge(struct lmi_ctl *ctl, const struct lmi_model *model, const char *to,
			     struct lmd_error *err)
{
	struct adapters ad = {0};
	struct lmi_ctl_progress bar;
	struct lmi_adapter_merge m = {.model = model, .progress = on_progress, .arg = &bar};
	enum lmd_status st = read_type(&ctl->args, &m.type, err);

	if (st == LMD_OK)
		st = open_adapters(&ad, ctl, lmi_model_view(model), err);
	m.adapters = ad.files;
	m.scales = ad.scales;
	m.n = ad.n;
	lmi_ctl_progress_init(&bar);
	if (st == LMD_OK)
		st = lmi_adapter_merge_write(&m, to, err);
	lmi_ctl_progress_end(&bar);
	if (st == LMD_OK)
		print_merged(to, lmi_adapter_merge_count(&m), lmi_model_view(model)->n_tensors,
			     lmi_arg_flag(&ctl->args, "json"));
	close_adapters(&ad);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *to = lmi_arg_str(&ctl->args, "output");
	const char *const *list;
	struct lmi_model *m = NULL;
	enum lmd_status st;

	if (!lmi_arg_list(&ctl->args, "lora", &list))
		return lmi_ctl_usage(ctl, err, "option --lora FILE is missing");
	if (!to)
		return lmi_ctl_usage(ctl, err, "option -o OUT is missing");
	st = lmi_ctl_open_model(ctl, &m, lmi_arg_pos(&ctl->args, 0), LMI_OPEN_HEADER_ONLY, err);
	if (st == LMD_OK)
		st = merge(ctl, m, to, err);
	lmi_model_close(m);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "lora",
	 .type = LMI_OPT_LIST,
	 .value = "FILE[:SCALE]",
	 .doc = "Adapter to merge: a GGUF file or a PEFT folder. SCALE multiplies the adapter's "
		"own scale. May be repeated."},
	{.name = "output", .letter = 'o', .type = LMI_OPT_STR, .value = "OUT", .doc = "File to "
										      "write."},
	{.name = "type",
	 .type = LMI_OPT_STR,
	 .value = "TYPE",
	 .def_text = "their own type for f32, bf16 and f16, and f16 for quantised weights",
	 .doc = "Type of the changed weights, such as f16 or q8_0."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_export_lora = {
	.name = "export-lora",
	.args = "MODEL",
	.brief = "Merge adapters into the weights of a model",
	.doc = "Writes OUT, a GGUF file of MODEL in which the adapters' changes are added to the "
	       "weights; everything else is copied. Quantised weights are decoded for this: "
	       "`llamactl quantize` makes them small again.\n\nWith --json: an object with path, "
	       "changed (number of tensors that an adapter changed) and tensors.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
