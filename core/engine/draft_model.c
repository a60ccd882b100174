/* SPDX-License-Identifier: MIT
 *
 * Opens draft models: an instance that fits its target. What it guesses is in draft_guess.c. */
#include "core/engine/draft_model_impl.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/engine/memory_plan.h"
#include "core/engine/second_instance.h"
#include "core/text/tokenizer.h"

static enum lmd_status differ(const struct lmi_engine_draft_model *m, lmd_token id, const char *a,
			      size_t n_a, const char *b, size_t n_b, struct lmd_error *err)
{
	char shown[2][40];

	lmi_printable(shown[0], sizeof(shown[0]), a, n_a);
	lmi_printable(shown[1], sizeof(shown[1]), b, n_b);
	return lmd_fail(err, LMD_UNSUPPORTED,
			"its vocabulary is not that of %.80s: token %d is '%s', not '%s'",
			m->target->model->name, id, shown[0], shown[1]);
}

static enum lmd_status check_pieces(const struct lmi_engine_draft_model *m,
				    const struct lmi_tokenizer *own,
				    const struct lmi_tokenizer *tok, uint32_t n,
				    struct lmd_error *err)
{
	for (lmd_token id = 0; (uint32_t)id < n; id++) {
		char a[256], b[256];
		size_t n_a = lmi_tokenizer_piece(own, id, LMD_DECODE_UNPARSE_SPECIAL, a, sizeof(a));
		size_t n_b = lmi_tokenizer_piece(tok, id, LMD_DECODE_UNPARSE_SPECIAL, b, sizeof(b));
		size_t shown_a = n_a < sizeof(a) ? n_a : sizeof(a);
		size_t shown_b = n_b < sizeof(b) ? n_b : sizeof(b);

		if (n_a != n_b || memcmp(a, b, shown_a) != 0)
			return differ(m, id, a, shown_a, b, shown_b, err);
	}
	return LMD_OK;
}

static enum lmd_status check_vocab(struct lmi_engine_draft_model *m,
				   const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	const struct lmi_inst *inst = m->inst;
	uint32_t n = lmi_tokenizer_info(tok)->n_tokens, n_own;
	struct lmi_tokenizer *own = NULL;
	enum lmd_status st =
		lmi_tokenizer_open(&own, inst->registry, inst->host, inst->model->tok, err);

	if (st != LMD_OK)
		return st;
	n_own = lmi_tokenizer_info(own)->n_tokens;
	m->n_vocab = n;
	if (n_own != n)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "its vocabulary is not that of %.80s: it has %u tokens, not %u",
			      m->target->model->name, n_own, n);
	else
		st = check_pieces(m, own, tok, n, err);
	lmi_tokenizer_close(own);
	return st;
}

static enum lmd_status check_arch(const struct lmi_inst *inst, struct lmd_error *err)
{
	if (inst->desc.driver != LMD_DRIVER_AUTOREGRESSIVE || inst->looks_ahead)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s does not generate token after token",
				inst->model->arch);
	for (uint32_t g = 0; g < inst->desc.n_group; g++)
		if (inst->desc.groups[g].kind == LMD_GROUP_STATE)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"architecture %s has states, which cannot go back after a "
					"wrong guess",
					inst->model->arch);
	return LMD_OK;
}

/* The tokens that the target's largest group of pages holds. */
static uint64_t kv_tokens(const struct lmi_inst *target)
{
	uint64_t most = 0;

	for (uint32_t g = 0; g < target->desc.n_group; g++)
		if (target->sizes->n_page[g] > most)
			most = target->sizes->n_page[g];
	return most * target->page_tokens;
}

void lmi_engine_draft_opts(struct lmi_engine_second_opts *o, const struct lmi_inst *target,
			   const struct lmi_engine_model_opts *opts)
{
	const uint32_t n_guess = target->draft_block ? target->draft_block : 1;

	lmi_engine_second_opts_init(o, opts, target->set, opts->draft_path, "draft");
	o->opts.target = target;
	o->opts.n_ctx = target->sizes->n_ctx + target->draft_block; /* a block may go beyond the end */
	o->opts.n_seq = target->n_seq;
	o->opts.n_batch = target->n_batch;
	o->opts.n_out = target->n_seq * n_guess;
	o->opts.kv_tokens = kv_tokens(target);
}

enum lmd_status lmi_engine_draft_inst_open(struct lmi_inst **out, struct lmi_inst *target,
					   const struct lmi_engine_model_opts *opts,
					   struct lmd_error *err)
{
	struct lmi_engine_second_opts o;

	lmi_engine_draft_opts(&o, target, opts);
	return lmi_inst_open(out, &o.opts, err);
}

enum lmd_status lmi_engine_draft_cause(const char *path, enum lmd_status st,
				       const struct lmd_error *cause, struct lmd_error *err)
{
	char shown[160];

	return lmi_printable_has_path(cause->text, path)
		       ? lmd_fail(err, st, "draft model %s", cause->text)
		       : lmd_fail(err, st, "draft model %s: %.300s",
				  lmi_printable_path(shown, sizeof(shown), path), cause->text);
}

void lmi_engine_draft_failed(const struct lmi_inst *inst, const char *what, const struct lmd_error *err)
{
	inst->host->log(inst->host->ctx, "engine", LMD_LOG_ERROR, "%s %s guesses no more: %s", what,
			inst->model->name, err->text);
}

static enum lmd_status open_inst(struct lmi_engine_draft_model *m,
				 const struct lmi_engine_model_opts *opts, struct lmd_error *err)
{
	struct lmd_plan_key key;
	enum lmd_status st = lmi_engine_draft_inst_open(&m->inst, m->target, opts, err);

	if (st != LMD_OK)
		return st;
	key = lmi_inst_main_key(m->inst);
	st = check_arch(m->inst, err);
	return st == LMD_OK ? lmi_inst_exec(m->inst, &key, &m->exec, err) : st;
}

void lmi_engine_draft_model_close(struct lmi_engine_draft_model *m)
{
	if (!m)
		return;
	lmi_inst_close(m->inst);
	lmi_free(m->rows);
	lmi_free(m);
}

enum lmd_status lmi_engine_draft_model_open(struct lmi_engine_draft_model **out,
					    struct lmi_inst *target,
					    const struct lmi_engine_model_opts *opts,
					    const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	struct lmi_engine_draft_model *m = lmi_alloc(1, sizeof(*m));
	struct lmd_error cause = {0};
	enum lmd_status st;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for a draft model");
	m->target = target;
	st = open_inst(m, opts, &cause);
	if (st == LMD_OK)
		st = check_vocab(m, tok, &cause);
	if (st == LMD_OK)
		m->rows = lmi_alloc(m->inst->n_seq, sizeof(*m->rows));
	if (st == LMD_OK && !m->rows)
		st = lmd_fail(&cause, LMD_NOMEM, "no memory for %u sequences", m->inst->n_seq);
	if (st != LMD_OK) {
		lmi_engine_draft_model_close(m);
		return lmi_engine_draft_cause(opts->draft_path, st, &cause, err);
	}
	m->n_ctx = m->inst->n_ctx;
	if (m->inst->desc.n_ctx_train && m->inst->desc.n_ctx_train < m->n_ctx)
		m->n_ctx = m->inst->desc.n_ctx_train;
	*out = m;
	return LMD_OK;
}

struct lmi_inst *lmi_engine_draft_model_inst(const struct lmi_engine_draft_model *m)
{
	return m->inst;
}
