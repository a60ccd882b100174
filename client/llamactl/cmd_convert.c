/* SPDX-License-Identifier: MIT
 *
 * llamactl convert: writes a Hugging Face folder as one GGUF file, or a model as safetensors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/convert_safetensors.h"
#include "client/llamactl/ctl.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/remote.h"
#include "client/llamactl/resume_args.h"
#include "core/base/printable.h"
#include "core/checkpoint/convert/convert.h"
#include "core/quant/quant.h"

struct job {
	struct lmi_convert_opts o;
	struct lmi_convert *c;
	struct lmi_ctl_progress bar;
};

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct job *j = arg;

	lmi_ctl_progress_show(&j->bar, "convert", done, total);
	return !lmi_ctl_interrupted();
}

struct sums {
	uint64_t elements, bytes_in, bytes;
};

static struct sums add_up(const struct lmi_convert *c)
{
	const struct lmd_model *m = lmi_convert_model(c);
	struct sums s = {0};

	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];
		uint64_t n = 1;

		for (uint32_t d = 0; d < t->n_dim; d++)
			n *= (uint64_t)t->dims[d];
		s.elements += n;
		s.bytes_in += t->bytes;
		s.bytes += lmi_convert_bytes(c, i);
	}
	return s;
}

static struct lmd_str key_text(const struct lmd_model *m, const char *key)
{
	const struct lmd_meta *v = m->find_meta(m, key);

	return v && v->type == LMD_META_STR ? v->v.s : (struct lmd_str){0};
}

static void print_table(const struct lmi_convert *c)
{
	const struct lmd_model *m = lmi_convert_model(c);
	char a[24];

	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];
		char shape[96] = "";
		size_t n = 0;

		for (uint32_t d = 0; d < t->n_dim; d++)
			n += (size_t)snprintf(shape + n, sizeof(shape) - n, "%s%" PRId64,
					      d ? " x " : "", t->dims[d]);
		printf("%-40s %-24s %-6s %-6s %9s\n", t->name, shape, lmi_dtype(t->dtype)->name,
		       lmi_dtype(lmi_convert_type(c, i))->name,
		       lmi_ctl_show_bytes(a, sizeof(a), (int64_t)lmi_convert_bytes(c, i)));
	}
}

static void print_sum(const struct lmi_convert *c, bool dry)
{
	const struct lmd_model *m = lmi_convert_model(c);
	struct lmd_str pre = key_text(m, "tokenizer.ggml.pre");
	struct sums s = add_up(c);
	char a[24];

	printf("%s: %u tensors, %s as %s, %s%.*s%s\n", m->arch, m->n_tensors,
	       lmi_ctl_show_bytes(a, sizeof(a), (int64_t)s.bytes),
	       lmi_dtype(lmi_convert_file_type(c))->name,
	       pre.ptr ? "pre-tokenizer " : "no vocabulary", (int)pre.len, pre.ptr ? pre.ptr : "",
	       dry ? "; nothing was written" : "");
}

static void print_json(const struct lmi_convert *c, const char *path, bool dry)
{
	const struct lmd_model *m = lmi_convert_model(c);
	struct lmd_str pre = key_text(m, "tokenizer.ggml.pre");
	struct sums s = add_up(c);
	struct lmi_ctl_json o;

	lmi_ctl_json_init(&o, stdout);
	lmi_ctl_json_object(&o, NULL);
	lmi_ctl_json_str(&o, "file", path);
	lmi_ctl_json_bool(&o, "dry_run", dry);
	lmi_ctl_json_str(&o, "arch", m->arch);
	lmi_ctl_json_str(&o, "type", lmi_dtype(lmi_convert_file_type(c))->name);
	lmi_ctl_json_str(&o, "pre", pre.ptr);
	lmi_ctl_json_uint(&o, "vocabulary", pre.ptr ? m->tok->n_tokens : 0);
	lmi_ctl_json_bool(&o, "chat_template", m->chat_template.ptr != NULL);
	lmi_ctl_json_uint(&o, "elements", s.elements);
	lmi_ctl_json_uint(&o, "bytes_from", s.bytes_in);
	lmi_ctl_json_uint(&o, "bytes", s.bytes);
	lmi_ctl_json_array(&o, "tensors");
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];

		lmi_ctl_json_flat_object(&o, NULL);
		lmi_ctl_json_str(&o, "name", t->name);
		lmi_ctl_json_flat_array(&o, "dims");
		for (uint32_t d = 0; d < t->n_dim; d++)
			lmi_ctl_json_int(&o, NULL, t->dims[d]);
		lmi_ctl_json_end(&o);
		lmi_ctl_json_str(&o, "from", lmi_dtype(t->dtype)->name);
		lmi_ctl_json_str(&o, "to", lmi_dtype(lmi_convert_type(c, i))->name);
		lmi_ctl_json_uint(&o, "bytes", lmi_convert_bytes(c, i));
		lmi_ctl_json_end(&o);
	}
	lmi_ctl_json_end(&o);
	lmi_ctl_json_end(&o);
	lmi_ctl_json_fini(&o);
}

/* Warns about what a GGUF file of this architecture cannot express. */
static void warn(const struct lmi_convert *c)
{
	const struct lmd_model *m = lmi_convert_model(c);
	const struct lmd_meta *v = m->find_meta(m, "folder.attention.sliding_window");

	if (v)
		fprintf(stderr,
			"llamactl: note: layers of this folder attend to the last %" PRId64
			" positions only; a GGUF file of architecture %s cannot express that, and "
			"its layers attend to all positions\n",
			v->v.i, m->arch);
}

static enum lmd_status write_file(struct job *j, const char *path, struct lmd_error *err)
{
	enum lmd_status st;

	lmi_ctl_interrupt_install();
	lmi_ctl_progress_init(&j->bar);
	st = lmi_convert_run(j->c, path, err);
	lmi_ctl_progress_end(&j->bar);
	return st;
}

static bool is_safetensors(const char *path)
{
	size_t n = strlen(path), k = strlen(".safetensors");

	return n > k && !strcmp(path + n - k, ".safetensors");
}

/* The options that do not concern GGUF files. */
static enum lmd_status to_safetensors(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const int64_t types[] = {-1, LMD_DTYPE_F32, LMD_DTYPE_F16, LMD_DTYPE_BF16, -2};
	static const char *const others[] = {"pre", "model-name", "dry-run", "no-resume"};
	const struct lmi_args *a = &ctl->args;
	int64_t type = types[lmi_arg_int(a, "outtype")];

	for (size_t i = 0; i < LMD_LEN(others); i++)
		if (lmi_arg_given(a, others[i]))
			return lmi_ctl_usage(ctl, err, "--%s is for GGUF files", others[i]);
	if (type == -2)
		return lmi_ctl_usage(ctl, err,
				     "safetensors files have no type q8_0: --outtype f32, f16 or bf16");
	return lmi_ctl_convert_safetensors(ctl, lmi_arg_pos(a, 0), lmi_arg_pos(a, 1), type, err);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const uint32_t types[] = {LMI_CONVERT_AUTO, LMD_DTYPE_F32, LMD_DTYPE_F16,
					 LMD_DTYPE_BF16, LMD_DTYPE_Q8_0};
	const struct lmi_args *a = &ctl->args;
	struct job j = {.o = {.type = types[lmi_arg_int(a, "outtype")],
			      .pre = lmi_arg_str(a, "pre"),
			      .name = lmi_arg_str(a, "model-name"),
			      .progress = on_progress,
			      .progress_arg = &j}};
	const char *in = lmi_arg_pos(a, 0), *out = lmi_arg_pos(a, 1);
	bool dry = lmi_arg_flag(a, "dry-run");
	enum lmd_status st;

	if (is_safetensors(out))
		return to_safetensors(ctl, err);
	j.o.resume = lmi_ctl_resume_args(ctl, &j.bar);
	st = lmi_ctl_registry(ctl, &j.o.plugins, err);
	if (st == LMD_OK)
		st = lmi_convert_open(&j.c, in, &j.o, err);
	if (st == LMD_OK && !dry)
		st = write_file(&j, out, err);
	if (st == LMD_OK)
		warn(j.c);
	if (st == LMD_OK && lmi_arg_flag(a, "json"))
		print_json(j.c, out, dry);
	else if (st == LMD_OK && dry)
		print_table(j.c);
	if (st == LMD_OK && !lmi_arg_flag(a, "json"))
		print_sum(j.c, dry);
	lmi_convert_close(j.c);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "outtype",
	 .type = LMI_OPT_CHOICE,
	 .value = "auto|f32|f16|bf16|q8_0",
	 .def = "auto",
	 .doc = "Type of the matrices. auto: bf16 for a folder in bf16, else f16; weights that "
		"are quantised in the folder keep their codes if GGUF has a type for them and "
		"become f16 otherwise (MLX with widths other than 4 bits)."},
	{.name = "pre",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .def_text = "found from the steps in tokenizer.json",
	 .doc = "Name of the pre-tokenizer to write into the file, such as llama-bpe or qwen2."},
	{.name = "model-name",
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .def_text = "the folder's name",
	 .doc = "Name of the model in the file."},
	{.name = "dry-run",
	 .type = LMI_OPT_FLAG,
	 .doc = "Write nothing; print each tensor with its types, and the total size."},
	LMI_CTL_OPT_NO_RESUME,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_convert = {
	.name = "convert",
	.args = "DIR OUT",
	.brief = "Convert a Hugging Face folder to GGUF, or a model to safetensors",
	.doc = "DIR holds config.json, *.safetensors and a tokenizer (tokenizer.json or "
	       "tokenizer.model). The file has the keys, names and layouts that llama.cpp "
	       "writes, so that both programs can run it. Vectors, norms and routers are stored "
	       "as f32.\n\nA folder can be run without conversion. A GGUF file is a single file "
	       "that can be mapped as a whole and made smaller with "
	       "`quantize`.\n\n" LMI_CTL_RESUME_DOC
	       "\n\nIf OUT ends in .safetensors, DIR may be a GGUF file as well, and OUT gets its tensors "
	       "under their names, with quantised ones as f16 (or --outtype), and those keys that are not "
	       "arrays as metadata. It is for programs that read tensors: OUT has no vocabulary, and "
	       "llamad does not run it.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
