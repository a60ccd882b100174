/* SPDX-License-Identifier: MIT
 *
 * llamactl debug logits: writes the logits or embeddings that a model computes for given token
 * ids. */
#include <stdio.h>

#include "client/llamactl/eval_args.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"

/* Results arrive by sequence and block; each row has its place in the file. */
struct sink {
	struct lmi_new_file *out; /* NULL: only the shape is printed */
	const uint64_t *base;     /* [n_seq] first row of each sequence in the file */
	uint64_t n_row;           /* rows received */
	uint32_t width;
};

static enum lmd_status take(void *arg, struct lmi_engine_event *ev, struct lmd_error *err)
{
	struct sink *s = arg;
	size_t n;

	if (ev->kind != LMI_ENGINE_EV_ROWS)
		return LMD_OK;
	n = (size_t)ev->u.rows.n * ev->u.rows.width;
	s->n_row += ev->u.rows.n;
	s->width = ev->u.rows.width;
	if (!s->out)
		return LMD_OK;
	for (size_t i = 0; i < n; i++)
		lmi_put_le32(&ev->u.rows.v[i], lmi_f32_bits(ev->u.rows.v[i]));
	return lmi_new_file_write_at(
		s->out, (s->base[ev->u.rows.seq] + ev->u.rows.first) * s->width * sizeof(float),
		ev->u.rows.v, n * sizeof(float), err);
}

static enum lmd_status check(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;

	if (lmi_arg_flag(a, "all") && lmi_arg_flag(a, "one-by-one"))
		return lmi_ctl_usage(ctl, err, "--all and --one-by-one exclude each other");
	if (lmi_arg_given(a, "pooling") && !lmi_arg_flag(a, "embd"))
		return lmi_ctl_usage(ctl, err, "--pooling requires --embd");
	return LMD_OK;
}

static void print_shape(const struct lmi_args *a, const struct sink *s)
{
	struct lmi_ctl_json j;

	if (!lmi_arg_flag(a, "json")) {
		printf("%llu %u\n", (unsigned long long)s->n_row, s->width);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_flat_object(&j, NULL);
	lmi_ctl_json_uint(&j, "rows", s->n_row);
	lmi_ctl_json_uint(&j, "width", s->width);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* Computes where the rows of each sequence begin in the file: after all rows of the sequences
 * before it. */
static uint64_t *bases(const struct lmi_engine *e, const struct lmi_ctl_eval_args *in,
		       const struct lmi_engine_eval *cmd)
{
	bool pooled = cmd->want == LMI_ENGINE_WANT_EMBED &&
		      lmi_engine_pooling(e, cmd->pooling) != LMD_POOL_NONE;
	uint64_t *base = lmi_alloc(in->n_seq, sizeof(*base));
	uint64_t at = 0;

	for (uint32_t i = 0; base && i < in->n_seq; i++) {
		base[i] = at;
		at += pooled ? 1 : in->seqs[i].n_tokens + in->seqs[i].n_rows;
	}
	return base;
}

static enum lmd_status evaluate(struct lmi_engine *e, const struct lmi_ctl_eval_args *in,
				const struct lmi_engine_eval *cmd, struct sink *sink,
				struct lmd_error *err)
{
	uint64_t *base = bases(e, in, cmd);
	enum lmd_status st;

	if (!base)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u sequences", in->n_seq);
	sink->base = base;
	st = lmi_engine_eval(e, cmd, err);
	if (st == LMD_OK)
		st = lmi_ctl_embedded_drain(e, cmd->id, take, sink, NULL, err);
	lmi_free(base);
	return st;
}

static enum lmd_status open_and_evaluate(struct lmi_ctl *ctl, const struct lmi_ctl_eval_args *in,
					 struct sink *sink, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	struct lmi_engine_eval cmd = {.id = 1,
				      .seqs = in->seqs,
				      .n_seq = in->n_seq,
				      .want = lmi_arg_flag(a, "embd") ? LMI_ENGINE_WANT_EMBED
								      : LMI_ENGINE_WANT_LOGITS,
				      .pooling = LMD_POOL_UNSET,
				      .chunk = lmi_arg_flag(a, "one-by-one") ? 1 : 0,
				      .whole = lmi_arg_flag(a, "all")};
	struct lmi_engine_opts o;
	struct lmi_engine *e = NULL;
	enum lmd_status st = lmi_ctl_embedded_opts(ctl, lmi_arg_pos(a, 0), &o, err);

	if (st != LMD_OK)
		return st;
	/* the words of --pooling are in the order of enum lmd_pooling */
	if (lmi_arg_given(a, "pooling"))
		cmd.pooling = o.inst.pooling = (int32_t)lmi_arg_int(a, "pooling");
	lmi_ctl_eval_args_size(in, &o);
	o.no_tokenizer = true;
	if (cmd.whole)
		o.inst.n_batch = o.inst.n_out = in->n_row_max;
	st = lmi_engine_open(&e, &o, err);
	if (st == LMD_OK)
		st = evaluate(e, in, &cmd, sink, err);
	lmi_engine_fini(e);
	return lmi_ctl_name_file(st, lmi_arg_pos(a, 0), err);
}

/* The file of -o appears only when it is complete. */
static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_str(&ctl->args, "out");
	struct lmi_ctl_eval_args in = {0};
	struct lmi_new_file out = {.fd = -1};
	struct sink sink = {.out = path ? &out : NULL};
	enum lmd_status st = check(ctl, err);

	if (st == LMD_OK)
		st = lmi_ctl_eval_args(ctl, &in, err);
	if (st == LMD_OK && path)
		st = lmi_new_file_open(&out, path, 0666, err);
	if (st == LMD_OK)
		st = open_and_evaluate(ctl, &in, &sink, err);
	if (st == LMD_OK && path)
		st = lmi_new_file_commit(&out, err);
	lmi_new_file_abort(&out);
	if (st == LMD_OK)
		print_shape(&ctl->args, &sink);
	lmi_ctl_eval_args_fini(&in);
	return st;
}

static const struct lmi_opt opts[] = {
	LMI_CTL_OPTS_INPUT,
	{.name = "out",
	 .letter = 'o',
	 .type = LMI_OPT_STR,
	 .value = "OUT.f32",
	 .doc = "File to write the rows to, as little-endian float32."},
	{.name = "one-by-one",
	 .type = LMI_OPT_FLAG,
	 .doc = "Compute one token at a time through the KV cache instead of all in one step."},
	{.name = "all",
	 .type = LMI_OPT_FLAG,
	 .doc = "Compute all rows of a sequence in one step without a cache (diffusion models "
		"always do)."},
	{.name = "embd", .type = LMI_OPT_FLAG, .doc = "Write embeddings instead of logits."},
	{.name = "pooling",
	 .type = LMI_OPT_CHOICE,
	 .value = "none|mean|cls|last|rank",
	 .def_text = "as the file says",
	 .doc = "How the rows of a sequence are pooled into one."},
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_logits = {
	.name = "debug logits",
	.args = "FILE",
	.brief = "Compute the logits or embeddings of given tokens",
	.doc = "Evaluates the tokens of --tokens, of --enc and --dec, or the rows of --input, "
	       "and writes the logits of every position (with --embd the embeddings) to the file "
	       "of -o: first the rows of the first sequence, then those of the second, and so "
	       "on. Prints the number of rows and their width.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
