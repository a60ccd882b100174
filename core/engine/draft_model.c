/* SPDX-License-Identifier: MIT
 *
 * Guesses by a draft model: the tokens that it finds most likely, one after the other.
 *
 * A drafter has a sequence in the draft model's KV memory, with rows for the tokens of the target's
 * sequence and for its own last guesses. Before each guess it drops the rows of guesses that were
 * wrong and computes those of tokens that it has not seen, at most one step at a time, so that a long
 * prompt does not delay other sequences. When memory is short, it gives up its sequence. */
#include "core/engine/draft_model.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/engine/draft.h"
#include "core/engine/memory_plan.h"
#include "core/engine/step.h"
#include "core/text/tokenizer.h"

/* The time of a guess counts if it computed at most so many rows that it had not seen. */
#define USUAL_ROWS (2 + LMI_ENGINE_DRAFT_MAX)
/* What older times count for beside a new one. */
#define KEEP 0.8

struct lmi_engine_draft_model {
	struct lmi_inst *inst, *target;
	uint32_t exec;    /* the plan that computes logits */
	uint32_t n_vocab; /* tokens that the target knows as well */
	uint32_t n_ctx;   /* longest sequence */
	double token_ns;  /* time of one guessed token; 0: unknown */
	bool failed;      /* a step failed: it guesses no more */
};

struct model_drafter {
	struct lmi_engine_draft_model *m;
	struct lmi_kv_identity id;
	bool caches;
	bool off;	   /* memory was short */
	uint32_t kv_seq;   /* LMI_KV_NO_PAGE: none */
	uint32_t n_row;	   /* computed rows */
	uint32_t n_known;  /* the first tokens, which are the target's */
	uint32_t cap;
	lmd_token *tokens; /* [cap + LMI_ENGINE_DRAFT_MAX] of the computed rows and the next ones */
};

/* ---- the model ---- */

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

static enum lmd_status open_inst(struct lmi_engine_draft_model *m,
				 const struct lmi_engine_model_opts *opts, struct lmd_error *err)
{
	struct lmi_inst *target = m->target;
	struct lmi_engine_model_opts o = *opts;
	struct lmd_plan_key key;
	enum lmd_status st;

	o.path = opts->draft_path;
	o.draft_path = NULL;
	o.files = NULL;
	o.n_files = 0;
	o.label = NULL;
	o.devices = target->set;
	o.override_tensor = NULL;
	o.device_sampling = LMI_ENGINE_DEVICE_SAMPLING_OFF;
	o.adapters = false;
	o.adapter_files = NULL;
	o.n_adapter_files = 0;
	o.n_slot_adapters = 0;
	o.n_ctx = target->n_ctx;
	o.n_seq = target->n_seq;
	o.n_batch = target->n_batch;
	o.n_out = target->n_seq;
	o.kv_tokens = kv_tokens(target);
	o.share_kv = false;
	o.keep_values = o.unfused = false;
	st = lmi_inst_open(&m->inst, &o, err);
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
	lmi_free(m);
}

enum lmd_status lmi_engine_draft_model_open(struct lmi_engine_draft_model **out,
					    struct lmi_inst *target,
					    const struct lmi_engine_model_opts *opts,
					    const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	struct lmi_engine_draft_model *m = lmi_alloc(1, sizeof(*m));
	struct lmd_error cause = {0};
	char shown[160];
	enum lmd_status st;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for a draft model");
	m->target = target;
	st = open_inst(m, opts, &cause);
	if (st == LMD_OK)
		st = check_vocab(m, tok, &cause);
	if (st != LMD_OK) {
		lmi_engine_draft_model_close(m);
		return lmi_printable_has_path(cause.text, opts->draft_path)
			       ? lmd_fail(err, st, "draft model %s", cause.text)
			       : lmd_fail(err, st, "draft model %s: %.300s",
					  lmi_printable_path(shown, sizeof(shown),
							     opts->draft_path),
					  cause.text);
	}
	m->n_ctx = m->inst->n_ctx;
	if (m->inst->desc.n_ctx_train && m->inst->desc.n_ctx_train < m->n_ctx)
		m->n_ctx = m->inst->desc.n_ctx_train;
	*out = m;
	return LMD_OK;
}

const struct lmi_inst *lmi_engine_draft_model_inst(const struct lmi_engine_draft_model *m)
{
	return m->inst;
}

/* ---- a drafter ---- */

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	struct model_drafter *d = lmi_alloc(1, sizeof(*d));

	if (d)
		d->tokens = lmi_alloc((size_t)o->cap + LMI_ENGINE_DRAFT_MAX, sizeof(*d->tokens));
	if (!d || !d->tokens) {
		lmi_free(d);
		return lmd_fail(err, LMD_NOMEM, "no memory to draft %u tokens", o->cap);
	}
	d->m = o->model;
	d->id = (struct lmi_kv_identity){.tenant = o->tenant};
	d->caches = o->caches;
	d->kv_seq = LMI_KV_NO_PAGE;
	d->cap = o->cap < o->model->n_ctx ? o->cap : o->model->n_ctx;
	*out = d;
	return LMD_OK;
}

static void close_seq(struct model_drafter *d, bool remember)
{
	struct lmi_kv *kv = d->m->inst->kv;

	if (d->kv_seq == LMI_KV_NO_PAGE)
		return;
	if (remember && d->caches)
		lmi_kv_remember(kv, d->kv_seq, d->tokens, true);
	lmi_kv_close(kv, d->kv_seq);
	d->kv_seq = LMI_KV_NO_PAGE;
	d->n_row = 0;
}

static void destroy(void *drafter)
{
	struct model_drafter *d = drafter;

	if (!d)
		return;
	close_seq(d, true);
	lmi_free(d->tokens);
	lmi_free(d);
}

static void restart(void *drafter)
{
	struct model_drafter *d = drafter;

	close_seq(d, true);
	d->n_known = 0;
}

/* Opens the sequence with what is known of these tokens from others. */
static bool open_seq(struct model_drafter *d, uint32_t n)
{
	struct lmi_kv *kv = d->m->inst->kv;
	struct lmi_kv_prefix prefix;

	if (d->kv_seq != LMI_KV_NO_PAGE)
		return true;
	if (d->caches) {
		lmi_kv_find_prefix(kv, &d->id, d->tokens, n - 1, &prefix);
		d->kv_seq = lmi_kv_open_prefix(kv, &prefix);
	} else {
		d->kv_seq = lmi_kv_open(kv);
	}
	if (d->kv_seq == LMI_KV_NO_PAGE)
		return false;
	d->n_row = lmi_kv_len(kv, d->kv_seq);
	return true;
}

/* Takes the target's tokens and drops the rows of guesses that were wrong. The last token's row is
 * always computed again, for its logits. */
static void follow(struct model_drafter *d, const lmd_token *tokens, uint32_t n)
{
	uint32_t same = d->n_known < n ? d->n_known : n - 1;

	while (same < d->n_row && same < n - 1 && d->tokens[same] == tokens[same])
		same++;
	if (d->n_row > same && d->kv_seq != LMI_KV_NO_PAGE) {
		if (lmi_kv_truncate(d->m->inst->kv, d->kv_seq, same))
			d->n_row = same;
		else
			close_seq(d, false);
	}
	memcpy(d->tokens + d->n_known, tokens + d->n_known, (n - d->n_known) * sizeof(*tokens));
	d->n_known = n;
}

/* Computes the next n rows. */
static bool compute(struct model_drafter *d, uint32_t n)
{
	struct lmi_engine_draft_model *m = d->m;
	const struct lmi_engine_rows rows = {.kv_seq = d->kv_seq,
					     .first = d->n_row,
					     .n = n,
					     .n_out = 1,
					     .tokens = d->tokens};
	struct lmd_error err = {0};
	enum lmd_status st;

	if (!lmi_kv_reserve(m->inst->kv, d->kv_seq, n, NULL, 0)) {
		close_seq(d, false);
		d->off = true;
		return false;
	}
	st = lmi_engine_step_run(m->inst, m->exec, &rows, 1, NULL, &err);
	lmi_kv_commit(m->inst->kv, d->kv_seq, st == LMD_OK ? n : 0);
	if (st == LMD_OK) {
		d->n_row += n;
		return true;
	}
	m->failed = true;
	m->inst->host->log(m->inst->host->ctx, "engine", LMD_LOG_ERROR,
			   "the draft model %s guesses no more: %s", m->inst->model->name, err.text);
	return false;
}

/* Computes rows up to the n-th token, as many as a step may have. Returns true if that was all. */
static bool catch_up(struct model_drafter *d, uint32_t n)
{
	uint32_t left = n - d->n_row, most = d->m->inst->n_batch;

	lmi_kv_trim(d->m->inst->kv, d->kv_seq);
	return compute(d, left < most ? left : most) && left <= most;
}

static lmd_token most_likely(const struct lmi_engine_draft_model *m)
{
	const float *logits = m->inst->slot[0].out;
	lmd_token best = 0;

	for (uint32_t i = 1; i < m->n_vocab; i++)
		if (logits[i] > logits[best])
			best = (lmd_token)i;
	return best;
}

static uint64_t now(const struct lmi_engine_draft_model *m)
{
	return m->inst->host->now_ns(m->inst->host->ctx);
}

static void measure(struct lmi_engine_draft_model *m, uint64_t begin_ns, uint32_t n)
{
	double ns = (double)(now(m) - begin_ns) / n;

	m->token_ns = m->token_ns > 0 ? KEEP * m->token_ns + (1 - KEEP) * ns : ns;
}

/* The turn on the devices is taken. */
static uint32_t guess_some(struct model_drafter *d, uint32_t n, uint32_t most, lmd_token *out)
{
	struct lmi_engine_draft_model *m = d->m;
	uint64_t begin_ns = now(m);
	uint32_t done = 0;
	bool usual;

	if (!open_seq(d, n))
		return 0;
	usual = n - d->n_row <= USUAL_ROWS;
	if (!catch_up(d, n))
		return 0;
	for (;;) {
		out[done] = d->tokens[n + done] = most_likely(m);
		if (++done == most || n + done >= d->cap || !compute(d, 1))
			break;
	}
	if (usual)
		measure(m, begin_ns, done);
	return done;
}

static uint32_t guess(void *drafter, const lmd_token *tokens, uint32_t n, uint32_t most,
		      lmd_token *out, uint32_t *trust)
{
	struct model_drafter *d = drafter;
	struct lmi_engine_draft_model *m = d->m;
	uint32_t done = 0;

	*trust = 0;
	if (m->failed || d->off || !n || n >= d->cap)
		return 0;
	m->inst->step_class = m->target->step_class;
	follow(d, tokens, n);
	lmi_inst_hold(m->target);
	if (lmi_inst_hold_within(m->inst, m->target)) {
		done = guess_some(d, n, most, out);
		lmi_inst_let_go(m->inst);
	}
	lmi_inst_let_go(m->target);
	return done;
}

static double cost_ns(const void *drafter)
{
	const struct model_drafter *d = drafter;

	return d->m->token_ns;
}

const struct lmi_engine_drafter lmi_engine_drafter_model = {.name = "model",
							    .create = create,
							    .guess = guess,
							    .cost_ns = cost_ns,
							    .destroy = destroy,
							    .restart = restart};
