/* SPDX-License-Identifier: MIT
 *
 * The order is [rep] name of the repository, then for each other file [sep] its name and text, then
 * [sep] name of this file, and [pre] prefix [suf] suffix [mid]: that of Qwen2.5-Coder
 * (arXiv 2409.12186), which most models with such tokens follow. */
#include "service/infill.h"

#include <string.h>

#define REPOSITORY "repository\n"
#define FILE_NAME  "file"
/* Separates files in models without a token for it. */
#define SNIPPET "\n\n--- snippet ---\n\n"

static enum lmd_status put(struct lmi_text_token_buf *out, lmd_token id, struct lmd_error *err)
{
	return lmi_text_token_buf_append(out, &id, 1, err);
}

static enum lmd_status put_text(const struct lmi_tokenizer *t, struct lmi_text_token_buf *out,
				const char *text, size_t n, struct lmd_error *err)
{
	struct lmi_text_token_buf part = {0};
	enum lmd_status st = n ? lmi_tokenizer_encode(t, text, n, 0, &part, err) : LMD_OK;

	if (st == LMD_OK && part.n)
		st = lmi_text_token_buf_append(out, part.id, part.n, err);
	lmi_text_token_buf_fini(&part);
	return st;
}

/* Puts what precedes the text of a file. */
static enum lmd_status put_name(const struct lmi_tokenizer *t, struct lmi_text_token_buf *out,
				struct lmd_str name, struct lmd_error *err)
{
	lmd_token sep = lmi_tokenizer_info(t)->fim_sep;
	struct lmi_text_byte_buf line = {0};
	enum lmd_status st;

	if (sep < 0)
		return put_text(t, out, SNIPPET, strlen(SNIPPET), err);
	st = lmi_text_byte_buf_append(&line, name.ptr, name.len, err);
	if (st == LMD_OK)
		st = lmi_text_byte_buf_append(&line, "\n", 1, err);
	if (st == LMD_OK)
		st = put(out, sep, err);
	if (st == LMD_OK)
		st = put_text(t, out, line.p, line.n, err);
	lmi_text_byte_buf_fini(&line);
	return st;
}

static enum lmd_status put_files(const struct lmi_tokenizer *t,
				 const struct lmi_wire_req_generate *q,
				 struct lmi_text_token_buf *out, struct lmd_error *err)
{
	static const struct lmd_str own = {.ptr = FILE_NAME, .len = sizeof(FILE_NAME) - 1};
	const struct lmd_tok_info *v = lmi_tokenizer_info(t);
	enum lmd_status st = LMD_OK;

	if (!q->n_infill_files)
		return LMD_OK;
	if (v->fim_rep >= 0) {
		st = put(out, v->fim_rep, err);
		if (st == LMD_OK)
			st = put_text(t, out, REPOSITORY, strlen(REPOSITORY), err);
	}
	for (uint32_t i = 0; i < q->n_infill_files && st == LMD_OK; i++) {
		const struct lmi_wire_infill_file *f = &q->infill_files[i];

		st = put_name(t, out, f->name.len ? f->name : own, err);
		if (st == LMD_OK)
			st = put_text(t, out, f->text.ptr, f->text.len, err);
	}
	return st == LMD_OK && v->fim_sep >= 0 ? put_name(t, out, own, err) : st;
}

enum lmd_status lmi_svc_infill_encode(const struct lmi_tokenizer *t,
				      const struct lmi_wire_req_generate *q,
				      struct lmi_text_token_buf *out, struct lmd_error *err)
{
	const struct lmd_tok_info *v = lmi_tokenizer_info(t);
	enum lmd_status st = LMD_OK;

	if (v->fim_pre < 0 || v->fim_suf < 0 || v->fim_mid < 0)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"suffix: the model cannot infill: its vocabulary has no token for "
				"the %s (fim_%s)",
				v->fim_pre < 0   ? "prefix"
				: v->fim_suf < 0 ? "suffix"
						 : "middle",
				v->fim_pre < 0   ? "pre"
				: v->fim_suf < 0 ? "suf"
						 : "mid");
	out->n = 0;
	if (q->add_special && v->add_bos && v->bos >= 0)
		st = put(out, v->bos, err);
	if (st == LMD_OK)
		st = put_files(t, q, out, err);
	if (st == LMD_OK)
		st = put(out, v->fim_pre, err);
	if (st == LMD_OK)
		st = put_text(t, out, q->prompt.ptr, q->prompt.len, err);
	if (st == LMD_OK)
		st = put(out, v->fim_suf, err);
	if (st == LMD_OK)
		st = put_text(t, out, q->suffix.ptr, q->suffix.len, err);
	return st == LMD_OK ? put(out, v->fim_mid, err) : st;
}
