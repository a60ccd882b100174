/* SPDX-License-Identifier: MIT
 *
 * llamactl imatrix: computes the importance matrix of a model on a text, adds up several of them,
 * and prints statistics. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/ppl.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/vocab_file.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/engine/observe.h"

#define WINDOW 512u

struct job {
	struct lmi_ctl *ctl;
	struct lmi_imatrix m;
	struct lmi_engine *engine;
	struct lmi_text_token_buf tokens;
	uint32_t ctx, n_window, first; /* tokens of a window; number of windows; first window to
				        * use */
	lmd_token bos;		       /* -1: none */
};

/* ---- collecting ---- */

static enum lmd_status tokenize(struct job *j, const char *path, struct lmd_error *err)
{
	struct lmi_ctl_vocab_file v;
	const struct lmd_tok_info *info;
	char *text = NULL;
	size_t n;
	enum lmd_status st = lmi_ctl_ppl_read(lmi_arg_str(&j->ctl->args, "text"), &text, &n, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_vocab_file_open(&v, j->ctl, path, NULL, err);
	if (st == LMD_OK) {
		st = lmi_tokenizer_encode(v.tok, text, n,
					  LMD_ENCODE_ADD_SPECIAL |
						  (lmi_arg_flag(&j->ctl->args, "parse-special")
							   ? LMD_ENCODE_PARSE_SPECIAL
							   : 0),
					  &j->tokens, err);
		info = lmi_tokenizer_info(v.tok);
		j->bos = info->add_bos ? info->bos : -1;
	}
	lmi_ctl_vocab_file_close(&v);
	lmi_free(text);
	return st;
}

static enum lmd_status split_windows(struct job *j, struct lmd_error *err)
{
	const struct lmi_args *a = &j->ctl->args;
	uint64_t n = j->tokens.n / j->ctx, most = (uint64_t)lmi_arg_int(a, "chunks");

	j->first = (uint32_t)lmi_arg_int(a, "from-chunk");
	if (n <= j->first)
		return lmd_fail(err, LMD_INVALID,
				"the text has %zu tokens, that is %llu windows of %u tokens: no "
				"window remains after --from-chunk %u",
				j->tokens.n, (unsigned long long)n, j->ctx, j->first);
	n -= j->first;
	j->n_window = (uint32_t)(most && n > most ? most : n);
	return LMD_OK;
}

static enum lmd_status open_model(struct job *j, const char *path, struct lmd_error *err)
{
	struct lmi_engine_opts o;
	bool head = lmi_arg_flag(&j->ctl->args, "process-output");
	enum lmd_status st = lmi_ctl_embedded_opts(j->ctl, path, &o, err);

	if (st != LMD_OK)
		return st;
	j->ctx = o.inst.n_ctx ? o.inst.n_ctx : WINDOW;
	o.inst.n_ctx = o.inst.n_batch = o.inst.n_whole = j->ctx;
	o.inst.n_out = head ? j->ctx : 1;
	o.inst.n_seq = 1;
	o.inst.unfused = true;
	o.in_line = o.no_tokenizer = true;
	if (!lmi_arg_given(&j->ctl->args, "activations")) /* collect the exact inputs, not rounded
							   * ones */
		o.inst.activations = LMD_ACTIVATIONS_F32;
	st = lmi_engine_open(&j->engine, &o, err);
	return lmi_ctl_name_file(st, path, err);
}

static enum lmd_status run_window(struct job *j, uint32_t w, struct lmd_error *err)
{
	lmd_token *v = j->tokens.id + (size_t)(j->first + w) * j->ctx;
	bool head = lmi_arg_flag(&j->ctl->args, "process-output");
	const struct lmi_engine_input_seq in = {.tokens = v,
						.n_tokens = j->ctx,
						.fork_of = LMI_ENGINE_NO_FORK,
						.out_from = head ? 0 : j->ctx - 1};
	const struct lmi_engine_eval cmd = {.id = 1,
					    .seqs = &in,
					    .n_seq = 1,
					    .want = LMI_ENGINE_WANT_LOGITS,
					    .pooling = LMD_POOL_UNSET};

	if (j->bos >= 0)
		v[0] = j->bos;
	return lmi_engine_importance_add(j->engine, &cmd, head, &j->m, err);
}

static enum lmd_status collect(struct job *j, const char *path, struct lmd_error *err)
{
	const char *text = lmi_arg_str(&j->ctl->args, "text");
	struct lmi_ctl_progress bar;
	enum lmd_status st = open_model(j, path, err);

	if (st == LMD_OK)
		st = tokenize(j, path, err);
	if (st == LMD_OK)
		st = split_windows(j, err);
	lmi_ctl_interrupt_install();
	lmi_ctl_progress_init(&bar);
	for (uint32_t w = 0; st == LMD_OK && w < j->n_window; w++) {
		lmi_ctl_progress_show(&bar, "imatrix", w, j->n_window);
		st = run_window(j, w, err);
		if (st == LMD_OK && lmi_ctl_interrupted())
			st = lmd_fail(err, LMD_CANCELLED,
				      "stopped by a signal after window %u of %u", w + 1,
				      j->n_window);
	}
	lmi_ctl_progress_end(&bar);
	if (st == LMD_OK)
		st = lmi_imatrix_add_dataset(&j->m, text, strlen(text), err);
	j->m.n_chunk += j->n_window;
	j->m.chunk_tokens = j->ctx;
	return st;
}

/* ---- reporting ---- */

static void json_entry(struct lmi_ctl_json *o, const struct lmi_imatrix_entry *e,
		       const struct lmi_imatrix_stats *s)
{
	lmi_ctl_json_flat_object(o, NULL);
	lmi_ctl_json_str(o, "name", e->name);
	lmi_ctl_json_uint(o, "columns", s->n);
	lmi_ctl_json_uint(o, "matrices", e->n_count);
	lmi_ctl_json_f64(o, "sum", s->sum);
	lmi_ctl_json_f64(o, "min", s->min);
	lmi_ctl_json_f64(o, "max", s->max);
	lmi_ctl_json_f64(o, "mean", s->mean);
	lmi_ctl_json_f64(o, "deviation", s->deviation);
	lmi_ctl_json_f64(o, "active", s->active);
	lmi_ctl_json_f64(o, "entropy", s->entropy);
	lmi_ctl_json_f64(o, "entropy_share", s->max_entropy > 0 ? s->entropy / s->max_entropy : 0);
	lmi_ctl_json_f64(o, "outliers", s->outliers);
	lmi_ctl_json_f64(o, "cosine", s->cosine);
	lmi_ctl_json_end(o);
}

static void print_json(const struct job *j)
{
	bool all = lmi_arg_flag(&j->ctl->args, "show-statistics");
	struct lmi_imatrix_stats s;
	struct lmi_ctl_json o;

	lmi_ctl_json_init(&o, stdout);
	lmi_ctl_json_object(&o, NULL);
	lmi_ctl_json_uint(&o, "entries", j->m.n_entry);
	lmi_ctl_json_uint(&o, "chunks", j->m.n_chunk);
	lmi_ctl_json_uint(&o, "chunk_tokens", j->m.chunk_tokens);
	lmi_ctl_json_flat_array(&o, "datasets");
	for (uint32_t i = 0; i < j->m.n_dataset; i++)
		lmi_ctl_json_str(&o, NULL, j->m.dataset[i]);
	lmi_ctl_json_end(&o);
	if (all) {
		lmi_ctl_json_array(&o, "tensors");
		for (uint32_t i = 0; i < j->m.n_entry; i++) {
			lmi_imatrix_stats(&j->m, &j->m.entry[i], &s);
			json_entry(&o, &j->m.entry[i], &s);
		}
		lmi_ctl_json_end(&o);
	}
	lmi_ctl_json_end(&o);
	lmi_ctl_json_fini(&o);
}

static void print_statistics(const struct lmi_imatrix *m)
{
	struct lmi_imatrix_stats s;
	char show[48];

	printf("%-36s %12s %10s %10s %10s %8s %8s %9s %7s\n", "tensor", "sum", "min", "max", "mean",
	       "active", "entropy", "outliers", "cosine");
	for (uint32_t i = 0; i < m->n_entry; i++) {
		const char *name = m->entry[i].name;

		lmi_imatrix_stats(m, &m->entry[i], &s);
		printf("%-36s %12.4g %10.3g %10.3g %10.3g %7.2f%% %7.2f%% %8.2f%%",
		       lmi_printable(show, sizeof(show), name, strlen(name)), s.sum, s.min, s.max,
		       s.mean, 100 * s.active,
		       s.max_entropy > 0 ? 100 * s.entropy / s.max_entropy : 0.0, 100 * s.outliers);
		if (isnan(s.cosine))
			printf(" %7s\n", "-");
		else
			printf(" %7.4f\n", s.cosine);
	}
}

/* Warns about experts that no token was routed to: all their columns count as equally important. */
static uint32_t n_unused(const struct lmi_imatrix *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_entry; i++)
		for (uint32_t k = 0; k < m->entry[i].n_count; k++)
			n += !(m->entry[i].count[k] > 0);
	return n;
}

static void print_text(const struct job *j)
{
	uint32_t unused = n_unused(&j->m);

	if (lmi_arg_flag(&j->ctl->args, "show-statistics"))
		print_statistics(&j->m);
	printf("%u tensors, %u windows of %u tokens\n", j->m.n_entry, j->m.n_chunk,
	       j->m.chunk_tokens);
	if (unused)
		printf("%u matrices of experts were never used; a longer text may reach them\n",
		       unused);
}

static enum lmd_status run_job(struct job *j, struct lmd_error *err)
{
	const struct lmi_args *a = &j->ctl->args;
	const char *model = lmi_arg_pos(a, 0), *out = lmi_arg_str(a, "output");
	const char *const *in;
	uint32_t n_in = lmi_arg_list(a, "in-file", &in);
	enum lmd_status st = LMD_OK;

	if (!model != !lmi_arg_str(a, "text"))
		return lmi_ctl_usage(j->ctl, err, "MODEL and --text must be given together");
	if (!model && !n_in)
		return lmi_ctl_usage(j->ctl, err, "give MODEL and --text, or --in-file");
	if (!out && !lmi_arg_flag(a, "show-statistics"))
		return lmi_ctl_usage(j->ctl, err, "give --output or --show-statistics");
	for (uint32_t i = 0; st == LMD_OK && i < n_in; i++)
		st = lmi_imatrix_read(&j->m, in[i], err);
	if (st == LMD_OK && model)
		st = collect(j, model, err);
	if (st == LMD_OK && out)
		st = lmi_arg_int(a, "format") ? lmi_imatrix_write_dat(&j->m, out, err)
					      : lmi_imatrix_write_gguf(&j->m, out, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(a, "json"))
		print_json(j);
	else
		print_text(j);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct job j = {.ctl = ctl};
	enum lmd_status st;

	lmi_imatrix_init(&j.m);
	st = run_job(&j, err);
	lmi_imatrix_fini(&j.m);
	lmi_text_token_buf_fini(&j.tokens);
	lmi_engine_fini(j.engine);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "text",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Text to calibrate on, typical of what the model will be used for; a megabyte or "
		"less."},
	{.name = "output",
	 .letter = 'o',
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "File to write the matrix to."},
	{.name = "format",
	 .type = LMI_OPT_CHOICE,
	 .value = "gguf|dat",
	 .def = "gguf",
	 .doc = "Format of the output; dat is the format of older programs and holds less "
		"information."},
	{.name = "in-file",
	 .type = LMI_OPT_LIST,
	 .value = "FILE",
	 .doc = "Add the sums of this matrix, in either format; may be repeated."},
	{.name = "chunks",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = 1 << 30,
	 .doc = "Number of windows of the text to use; 0 means all."},
	{.name = "from-chunk",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = 1 << 30,
	 .doc = "Number of windows to skip at the start of the text."},
	{.name = "process-output",
	 .type = LMI_OPT_FLAG,
	 .doc = "Collect for output.weight as well."},
	{.name = "parse-special",
	 .type = LMI_OPT_FLAG,
	 .doc = "Treat the text of control tokens as those tokens."},
	{.name = "show-statistics",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print statistics of each tensor: sum, range and mean of its columns, the share "
		"of columns above 1e-5, the entropy relative to its maximum, the share of "
		"columns more than one standard deviation from the mean, and the cosine "
		"similarity with the same tensor of the previous layer."},
	LMI_CTL_OPTS_ENGINE_CTX("512"),
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_imatrix = {
	.name = "imatrix",
	.args = "[MODEL]",
	.brief = "Compute an importance matrix for quantize",
	.doc = "Runs the model on the text in windows of --ctx tokens and sums the squares of "
	       "the inputs of each weight, column by column. `quantize --imatrix` uses the "
	       "result. MODEL should be the f16 or f32 file that will be quantised; a q8_0 file "
	       "works nearly as well.\n\n--in-file adds up matrices of several runs, with or "
	       "without a model: `llamactl imatrix --in-file a.gguf --in-file b.dat -o "
	       "sum.gguf`.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
