/* SPDX-License-Identifier: MIT
 *
 * Reads sequences from the command line. */
#include "client/llamactl/eval_args.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"

void lmi_eval_args_fini(struct lmi_eval_args *a)
{
	for (uint32_t i = 0; a->seqs && i < a->n_seq; i++) {
		lmi_free((void *)(uintptr_t)a->seqs[i].tokens);
		lmi_free((void *)(uintptr_t)a->seqs[i].enc);
		lmi_free((void *)(uintptr_t)a->seqs[i].rows);
		lmi_free((void *)(uintptr_t)a->seqs[i].pos);
	}
	lmi_free(a->seqs);
	*a = (struct lmi_eval_args){0};
}

static enum lmd_status ids(const char *what, const char *text, const lmd_token **out, uint32_t *n,
			   struct lmd_error *err)
{
	lmd_token *v = NULL;
	enum lmd_status st = lmi_parse_ids(what, text, &v, n, err);

	*out = v;
	return st;
}

static enum lmd_status read_rows(const char *path, uint32_t width, struct lmi_input_seq *in,
				 struct lmd_error *err)
{
	uint64_t row_bytes = (uint64_t)width * sizeof(float);
	struct lmi_file f;
	float *v = NULL;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	if (!f.bytes || f.bytes % row_bytes || f.bytes / row_bytes > INT32_MAX)
		st = lmd_fail(err, LMD_INVALID, "%.200s: %llu bytes are not a whole number of "
						"rows of %u numbers",
			      path, (unsigned long long)f.bytes, width);
	if (st == LMD_OK && !(v = lmi_alloc((size_t)f.bytes, 1)))
		st = lmd_fail(err, LMD_NOMEM, "%.200s: no memory for %llu bytes", path,
			      (unsigned long long)f.bytes);
	if (st == LMD_OK)
		st = lmi_file_read(&f, 0, v, (size_t)f.bytes, err);
	for (uint64_t i = 0; st == LMD_OK && i < f.bytes / sizeof(float); i++)
		v[i] = lmi_bits_f32(lmi_get_le32(&v[i]));
	in->rows = v;
	in->n_rows = (uint32_t)(f.bytes / row_bytes);
	in->width = width;
	lmi_file_close(&f);
	return st;
}

/* Reads "0,1,2", or four such lists separated by semicolons: one number per row in each list. */
static enum lmd_status read_positions(const char *text, struct lmi_input_seq *in,
				      struct lmd_error *err)
{
	char *flat = lmi_strndup(text, strlen(text));
	uint32_t n = 0;
	enum lmd_status st;

	if (!flat)
		return lmd_fail(err, LMD_NOMEM, "--pos: no memory");
	in->n_plane = 1;
	for (char *p = flat; *p; p++) {
		if (*p != ';')
			continue;
		*p = ',';
		in->n_plane++;
	}
	st = ids("--pos", flat, &in->pos, &n, err);
	lmi_free(flat);
	if (st == LMD_OK && (in->n_plane == 2 || in->n_plane == 3 || in->n_plane > 4 ||
			     n != in->n_plane * in->n_rows))
		st = lmd_fail(
			err, LMD_INVALID,
			"--pos: %u lists with %u numbers; give one list or four, with one number "
			"for each of the %u rows",
			in->n_plane, n, in->n_rows);
	return st;
}

/* Determines which kind of input was given; it must be exactly one. */
static enum lmd_status check(struct lmi_ctl *ctl, uint32_t n_tokens, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	bool enc = lmi_arg_given(a, "enc"), dec = lmi_arg_given(a, "dec");
	bool input = lmi_arg_given(a, "input"), width = lmi_arg_given(a, "width");

	if (enc != dec)
		return lmi_usage(ctl, err, "--enc and --dec must be given together");
	if (input != width)
		return lmi_usage(ctl, err, "--input and --width must be given together");
	if (lmi_arg_given(a, "pos") && !input)
		return lmi_usage(ctl, err, "--pos requires --input");
	if ((n_tokens != 0) + enc + input != 1)
		return lmi_usage(ctl, err, "give one of --tokens, --enc with --dec, or --input");
	return LMD_OK;
}

enum lmd_status lmi_eval_args(struct lmi_ctl *ctl, struct lmi_eval_args *out, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *const *tokens;
	uint32_t n = lmi_arg_list(a, "tokens", &tokens);
	enum lmd_status st = check(ctl, n, err);

	*out = (struct lmi_eval_args){.n_seq = n ? n : 1};
	if (st != LMD_OK)
		return st;
	out->seqs = lmi_alloc(out->n_seq, sizeof(*out->seqs));
	if (!out->seqs)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u sequences", out->n_seq);
	for (uint32_t i = 0; i < out->n_seq; i++)
		out->seqs[i].fork_of = LMI_NO_FORK;
	for (uint32_t i = 0; i < n && st == LMD_OK; i++)
		st = ids("--tokens", tokens[i], &out->seqs[i].tokens, &out->seqs[i].n_tokens, err);
	if (st == LMD_OK && lmi_arg_given(a, "enc")) {
		st = ids("--enc", lmi_arg_str(a, "enc"), &out->seqs->enc, &out->seqs->n_enc, err);
		if (st == LMD_OK)
			st = ids("--dec", lmi_arg_str(a, "dec"), &out->seqs->tokens,
				 &out->seqs->n_tokens, err);
	}
	if (st == LMD_OK && lmi_arg_given(a, "input"))
		st = read_rows(lmi_arg_str(a, "input"), (uint32_t)lmi_arg_int(a, "width"),
			       out->seqs, err);
	if (st == LMD_OK && lmi_arg_given(a, "pos"))
		st = read_positions(lmi_arg_str(a, "pos"), out->seqs, err);
	for (uint32_t i = 0; i < out->n_seq && st == LMD_OK; i++) {
		uint32_t rows = out->seqs[i].n_tokens + out->seqs[i].n_rows;

		out->n_row += rows;
		out->n_row_max = rows > out->n_row_max ? rows : out->n_row_max;
		if (out->seqs[i].n_enc > out->n_row_max)
			out->n_row_max = out->seqs[i].n_enc;
	}
	return st;
}

void lmi_eval_args_size(const struct lmi_eval_args *a, struct lmi_engine_opts *o)
{
	o->inst.n_seq = a->n_seq;
	o->inst.kv_tokens = a->n_row;
	o->inst.n_whole = a->n_row_max;
	o->n_request = a->n_seq;
}
