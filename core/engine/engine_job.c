/* SPDX-License-Identifier: MIT
 *
 * Converts commands to sessions. All errors of the caller are detected here and reported with the
 * value and its limit. */
#include "core/engine/engine_job.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/generate.h"
#include "core/engine/picture.h"

#define SEQ_MAX 65536u
/* Token ids up to this one are exact as floats, which the rows of WANT_LOGPROBS contain. */
#define LOGPROBS_VOCAB_MAX (1u << 24)

/* ---- checks ---- */

static enum lmd_status check_tokens(const struct lmi_inst *inst, const char *what,
				    const lmd_token *v, uint32_t n, struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] < 0 || (uint32_t)v[i] >= inst->desc.n_vocab)
			return lmd_fail(err, LMD_INVALID,
					"%s %u is %d, but the model's vocabulary has %u tokens",
					what, i, v[i], inst->desc.n_vocab);
	return LMD_OK;
}

static enum lmd_status check_rows(const struct lmi_inst *inst,
				  const struct lmi_engine_input_seq *in, struct lmd_error *err)
{
	if (in->n_tokens && in->n_rows)
		return lmd_fail(err, LMD_INVALID, "%u tokens and %u rows: use one or the other",
				in->n_tokens, in->n_rows);
	if (!in->n_tokens && !in->n_rows)
		return lmd_fail(err, LMD_INVALID, "0 tokens: a sequence needs at least 1");
	if (in->n_tokens > inst->n_ctx || in->n_rows > inst->n_ctx)
		return lmd_fail(err, LMD_INVALID, "%u tokens exceed the context of %u",
				in->n_tokens ? in->n_tokens : in->n_rows, inst->n_ctx);
	if (in->n_rows && !inst->desc.n_input_embd)
		return lmd_fail(err, LMD_UNSUPPORTED, "architecture %s takes only tokens, no rows",
				inst->model->arch);
	if (in->n_rows && in->width != inst->desc.n_input_embd)
		return lmd_fail(err, LMD_INVALID, "rows of %u numbers, but the model takes %u",
				in->width, inst->desc.n_input_embd);
	return LMD_OK;
}

/* Checks the tokens that are not in the place of a picture. */
static enum lmd_status check_text(const struct lmi_inst *inst, const struct lmi_engine_input_seq *in,
				  struct lmd_error *err)
{
	uint32_t from = 0;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < in->n_pictures && st == LMD_OK; i++) {
		const struct lmi_engine_picture *p = &in->pictures[i];

		st = check_tokens(inst, "token", in->tokens + from, p->first - from, err);
		from = p->first + p->n;
	}
	return st == LMD_OK ? check_tokens(inst, "token", in->tokens + from, in->n_tokens - from, err)
			    : st;
}

static enum lmd_status check_positions(const struct lmi_inst *inst,
				       const struct lmi_engine_input_seq *in, struct lmd_error *err)
{
	uint32_t n = in->n_tokens ? in->n_tokens : in->n_rows;

	if (in->n_plane != 0 && in->n_plane != 1 && in->n_plane != 4)
		return lmd_fail(err, LMD_INVALID, "%u lists of positions: must be 1 or 4",
				in->n_plane);
	for (uint64_t i = 0; i < (uint64_t)in->n_plane * n; i++)
		if (in->pos[i] < 0 || (uint32_t)in->pos[i] >= inst->n_ctx)
			return lmd_fail(err, LMD_INVALID,
					"position %d of row %u is outside the context of %u",
					in->pos[i], (uint32_t)(i % n), inst->n_ctx);
	return LMD_OK;
}

static enum lmd_status check_encoder(const struct lmi_inst *inst,
				     const struct lmi_engine_input_seq *in, struct lmd_error *err)
{
	bool has = inst->desc.driver == LMD_DRIVER_ENCDEC;

	if (in->n_enc && !has)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%u tokens for an encoder, but architecture %s has none", in->n_enc,
				inst->model->arch);
	if (has && !in->n_enc)
		return lmd_fail(err, LMD_INVALID,
				"architecture %s needs tokens for its encoder, but there are 0",
				inst->model->arch);
	if (in->n_enc > inst->n_batch)
		return lmd_fail(err, LMD_INVALID, "%u tokens for the encoder exceed the limit of "
						  "%u",
				in->n_enc, inst->n_batch);
	return LMD_OK;
}

static enum lmd_status check_seq(const struct lmi_inst *inst, const struct lmi_engine_input_seq *all,
				 uint32_t index, struct lmd_error *err)
{
	const struct lmi_engine_input_seq *in = &all[index];
	enum lmd_status st = check_rows(inst, in, err);

	if (st == LMD_OK)
		st = lmi_engine_pictures_check(inst, in, err);
	if (st == LMD_OK)
		st = check_text(inst, in, err);
	if (st == LMD_OK)
		st = check_positions(inst, in, err);
	if (st == LMD_OK)
		st = check_encoder(inst, in, err);
	if (st == LMD_OK)
		st = check_tokens(inst, "encoder token", in->enc, in->n_enc, err);
	if (st == LMD_OK && in->fork_of != LMI_ENGINE_NO_FORK &&
	    (in->fork_of >= index || !in->n_tokens || !in->fork_at || in->fork_at >= in->n_tokens))
		return lmd_fail(err, LMD_INVALID,
				"sequence %u cannot fork from sequence %u after %u of its %u "
				"tokens",
				index, in->fork_of, in->fork_at, in->n_tokens);
	if (st == LMD_OK && in->fork_of != LMI_ENGINE_NO_FORK &&
	    (in->n_pictures || all[in->fork_of].n_pictures))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"sequence %u cannot fork from sequence %u: one of them has pictures", index,
				in->fork_of);
	if (st == LMD_OK && (in->adapter < 0 || in->adapter >= LMI_ENGINE_N_ADAPTER_SLOT))
		return lmd_fail(err, LMD_INVALID, "adapter slot %d, must be 0 to %d", in->adapter,
				LMI_ENGINE_N_ADAPTER_SLOT - 1);
	return st;
}

/* A sequence that must run in one step has to fit in one. */
static enum lmd_status check_step(const struct lmi_inst *inst, const struct lmi_engine_job *s,
				  struct lmd_error *err)
{
	bool rows_leave = s->want == LMI_ENGINE_WANT_LOGITS || s->want == LMI_ENGINE_WANT_NLL ||
			  s->want == LMI_ENGINE_WANT_LOGPROBS ||
			  (s->want == LMI_ENGINE_WANT_EMBED && s->pooling <= LMD_POOL_NONE);

	if (!s->whole)
		return LMD_OK;
	for (uint32_t i = 0; i < s->n_seq; i++) {
		uint32_t n = s->seqs[i].n_rows, most = inst->n_batch;

		if (rows_leave && inst->n_out < most)
			most = inst->n_out;
		if (n > most)
			return lmd_fail(err, LMD_INVALID,
					"%u tokens must run in one step, but a step has at most %u",
					n, most);
	}
	return LMD_OK;
}

/* ---- copies ---- */

static void *copy(const void *v, uint64_t n, size_t item)
{
	void *p = n <= SIZE_MAX ? lmi_alloc((size_t)n, item) : NULL;

	if (p)
		memcpy(p, v, (size_t)n * item);
	return p;
}

static bool copy_seq(struct lmi_engine_seq *q, const struct lmi_inst *inst,
		     const struct lmi_engine_input_seq *in, uint32_t cap)
{
	q->handle = LMI_SCHED_NO_SEQ;
	q->n_tokens = in->n_tokens;
	q->n_enc = in->n_enc;
	q->n_plane = in->n_plane;
	q->n_rows = in->n_tokens ? in->n_tokens : in->n_rows;
	q->adapter = in->adapter;
	q->n_prompt = in->n_tokens;
	q->fork_of = in->fork_of;
	q->fork_at = in->fork_at;
	q->out_from = in->out_from;
	q->cap = cap > in->n_tokens ? cap : in->n_tokens;
	if (in->n_tokens) {
		q->tokens = lmi_alloc(q->cap, sizeof(*q->tokens));
		if (!q->tokens)
			return false;
		memcpy(q->tokens, in->tokens, in->n_tokens * sizeof(*q->tokens));
	}
	if (in->n_enc && !(q->enc = copy(in->enc, in->n_enc, sizeof(*q->enc))))
		return false;
	if (in->n_rows &&
	    !(q->ext = copy(in->rows, (uint64_t)in->n_rows * in->width, sizeof(*q->ext))))
		return false;
	if (in->n_plane && !(q->pos = copy(in->pos, (uint64_t)in->n_plane * q->n_rows, sizeof(*q->pos))))
		return false;
	if (!in->n_pictures)
		return true;
	if (lmi_engine_pictures_copy(&q->pictures, inst, in, q->tokens, &q->spans, &q->n_span,
				     NULL) != LMD_OK)
		return false;
	q->n_picture = in->n_pictures;
	return true;
}

static enum lmd_status create(struct lmi_engine_job **out, const struct lmi_inst *inst, uint64_t id,
			      const struct lmi_engine_input_seq *in, uint32_t n, uint32_t cap,
			      struct lmd_error *err)
{
	struct lmi_engine_job *s;

	if (!n || n > SEQ_MAX)
		return lmd_fail(err, LMD_INVALID, "%u sequences: a command must have 1 to %u", n,
				SEQ_MAX);
	for (uint32_t i = 0; i < n; i++) {
		enum lmd_status st = check_seq(inst, in, i, err);

		if (st != LMD_OK)
			return st;
	}
	s = lmi_alloc(1, sizeof(*s) + n * sizeof(s->seqs[0]));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u sequences", n);
	s->id = id;
	s->class = LMI_ENGINE_CLASS_NORMAL;
	s->n_seq = s->n_left = n;
	s->pooling = LMD_POOL_UNSET;
	for (uint32_t i = 0; i < n; i++) {
		s->seqs[i].session = s;
		s->seqs[i].index = i;
		if (copy_seq(&s->seqs[i], inst, &in[i], cap)) {
			if (!in[i].adapter)
				s->seqs[i].adapter = inst->own_adapter;
			continue;
		}
		lmi_engine_job_destroy(s);
		return lmd_fail(err, LMD_NOMEM, "no memory for the rows of sequence %u", i);
	}
	*out = s;
	return LMD_OK;
}

/* Creates a session of one sequence with room for `cap` tokens; the caller sets gen. */
static enum lmd_status one_sequence(struct lmi_engine_job **out, const struct lmi_inst *inst,
				    uint64_t id, const struct lmi_engine_input_seq *in,
				    uint32_t cap, struct lmd_error *err)
{
	return create(out, inst, id, in, 1, cap, err);
}

static enum lmd_status check_logprobs(const struct lmi_inst *inst, const char *what, uint32_t n,
				      struct lmd_error *err)
{
	if (n > LMI_ENGINE_LOGPROBS_MAX)
		return lmd_fail(err, LMD_INVALID, "%s: %u log probabilities, the maximum is %u",
				what, n, LMI_ENGINE_LOGPROBS_MAX);
	if (n && inst->desc.n_vocab > LOGPROBS_VOCAB_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: log probabilities of a vocabulary of %u tokens, the maximum "
				"is %u",
				what, inst->desc.n_vocab, LOGPROBS_VOCAB_MAX);
	return LMD_OK;
}

enum lmd_status lmi_engine_job_eval(struct lmi_engine_job **out, const struct lmi_inst *inst,
				    const struct lmi_engine_eval *cmd, struct lmd_error *err)
{
	struct lmi_engine_job *s;
	enum lmd_status st;

	if (cmd->pooling < LMD_POOL_UNSET || cmd->pooling > LMD_POOL_RANK)
		return lmd_fail(err, LMD_INVALID, "pooling %d is unknown, must be %d to %d",
				cmd->pooling, LMD_POOL_UNSET, LMD_POOL_RANK);
	if (cmd->whole && cmd->chunk)
		return lmd_fail(err, LMD_INVALID, "cannot combine chunks of %u rows with running "
						  "all rows at once", cmd->chunk);
	if (cmd->chunk && inst->looks_ahead)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s attends to later tokens: its sequences cannot be "
				"split into chunks of %u",
				inst->model->arch, cmd->chunk);
	st = check_logprobs(inst, "evaluation", cmd->n_logprobs, err);
	if (st != LMD_OK)
		return st;
	if (cmd->want == LMI_ENGINE_WANT_LOGPROBS && !cmd->n_logprobs)
		return lmd_fail(err, LMD_INVALID, "0 log probabilities: at least 1 is required");
	for (uint32_t i = 0; i < cmd->n_seq && (cmd->want == LMI_ENGINE_WANT_NLL ||
						cmd->want == LMI_ENGINE_WANT_LOGPROBS);
	     i++)
		if (cmd->seqs[i].n_rows || cmd->seqs[i].n_pictures)
			return lmd_fail(err, LMD_INVALID,
					"sequence %u has rows, but only tokens have a probability",
					i);
	st = create(&s, inst, cmd->id, cmd->seqs, cmd->n_seq, 0, err);
	if (st != LMD_OK)
		return st;
	s->want = cmd->want;
	s->caches = cmd->cache && cmd->want == LMI_ENGINE_WANT_LAST;
	s->tenant = cmd->tenant;
	s->chunk = cmd->chunk;
	s->chunk_from = cmd->chunk_from;
	s->n_logprobs = cmd->n_logprobs;
	s->pooling = cmd->want == LMI_ENGINE_WANT_EMBED ? lmi_inst_pooling(inst, cmd->pooling)
							: LMD_POOL_UNSET;
	/* the vector of a sequence needs all its rows, except with last-row pooling */
	s->whole = cmd->whole || inst->looks_ahead ||
		   (cmd->want == LMI_ENGINE_WANT_EMBED && s->pooling != LMD_POOL_NONE &&
		    s->pooling != LMD_POOL_LAST);
	if (s->whole)
		s->chunk = 0;
	st = check_step(inst, s, err);
	if (st != LMD_OK) {
		lmi_engine_job_destroy(s);
		return st;
	}
	*out = s;
	return LMD_OK;
}

void lmi_engine_job_destroy(struct lmi_engine_job *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_seq; i++) {
		lmi_free(s->seqs[i].tokens);
		lmi_free(s->seqs[i].enc);
		lmi_free(s->seqs[i].ext);
		lmi_free(s->seqs[i].pos);
		lmi_engine_pictures_destroy(s->seqs[i].pictures, s->seqs[i].n_picture);
		lmi_free(s->seqs[i].spans);
	}
	lmi_engine_gen_destroy(s->gen);
	lmi_free(s);
}

const int32_t *lmi_engine_seq_pos(const struct lmi_engine_seq *q, int k)
{
	if (!q->n_plane)
		return NULL;
	return q->pos + (q->n_plane == 4 ? (size_t)k * q->n_rows : 0);
}

/* Lets the sequence begin with the tokens of an earlier run as well; *own: its tokens, or NULL. A
 * last token for which the context had no room ends the answer and is not computed. */
static enum lmd_status add_resumed(struct lmi_engine_input_seq *in, lmd_token **own,
				   const struct lmi_engine_generate *cmd, uint64_t cap,
				   struct lmd_error *err)
{
	uint64_t n = (uint64_t)in->n_tokens + cmd->n_resumed;

	*own = NULL;
	if ((cmd->flags & LMI_ENGINE_GEN_RESUMABLE || cmd->n_resumed) && cmd->shift)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"durable: not together with context_shift, which drops tokens of the "
				"answer");
	if ((cmd->flags & LMI_ENGINE_GEN_RESUMABLE || cmd->n_resumed) && cmd->cache_reuse)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"durable: not together with cache_reuse, after which the answer depends on "
				"what the cache had");
	if (!cmd->n_resumed)
		return LMD_OK;
	if (n > cap + 1)
		return lmd_fail(err, LMD_INVALID,
				"resumed after %u tokens, but the answer has room for %llu",
				cmd->n_resumed, (unsigned long long)(cap - in->n_tokens));
	*own = lmi_alloc(n, sizeof(**own));
	if (!*own)
		return lmd_fail(err, LMD_NOMEM, "no memory for %llu tokens", (unsigned long long)n);
	memcpy(*own, in->tokens, in->n_tokens * sizeof(**own));
	memcpy(*own + in->n_tokens, cmd->resumed, cmd->n_resumed * sizeof(**own));
	in->tokens = *own;
	in->n_tokens = (uint32_t)(n < cap ? n : cap);
	return LMD_OK;
}

enum lmd_status lmi_engine_job_generate(struct lmi_engine_job **out, const struct lmi_inst *inst,
					const struct lmi_sampler_vocab *vocab,
					const struct lmi_engine_generate *cmd,
					struct lmd_error *err)
{
	struct lmi_engine_input_seq in = cmd->seq;
	lmd_token start = inst->desc.decoder_start;
	uint64_t cap = inst->n_ctx;
	struct lmi_engine_job *s;
	uint32_t n_prompt;
	lmd_token *own;
	enum lmd_status st;

	in.fork_of = LMI_ENGINE_NO_FORK;
	st = check_logprobs(inst, "generation", cmd->n_logprobs, err);
	if (st != LMD_OK)
		return st;
	if (in.n_rows)
		return lmd_fail(err, LMD_UNSUPPORTED, "%u rows: a generation must start with "
						      "tokens",
				in.n_rows);
	if (in.n_plane)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%u lists of positions: a generation numbers its rows itself; "
				"positions are only for evaluations",
				in.n_plane);
	if (in.n_pictures && (cmd->flags & LMI_ENGINE_GEN_RESUMABLE || cmd->n_resumed))
		return lmd_fail(err, LMD_UNSUPPORTED, "durable: not together with pictures");
	if (inst->desc.driver == LMD_DRIVER_ENCDEC && in.n_tokens) {
		/* the prompt goes to the encoder; the decoder starts by itself */
		if (start < 0)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"architecture %s: the file names no token to start with",
					inst->model->arch);
		in.enc = in.tokens;
		in.n_enc = in.n_tokens;
		in.tokens = &start;
		in.n_tokens = 1;
	}
	if (cmd->n_predict >= 0 && in.n_tokens + (uint64_t)cmd->n_predict < cap)
		cap = in.n_tokens + (uint64_t)cmd->n_predict;
	n_prompt = in.n_tokens;
	st = add_resumed(&in, &own, cmd, cap, err);
	if (st == LMD_OK)
		st = one_sequence(&s, inst, cmd->id, &in, (uint32_t)cap, err);
	if (st != LMD_OK) {
		lmi_free(own);
		return st;
	}
	s->seqs[0].n_prompt = n_prompt;
	if (in.n_pictures)
		in.tokens = s->seqs[0].tokens; /* with the numbers of their rows */
	s->class = cmd->class;
	s->caches = !(cmd->flags & LMI_ENGINE_GEN_NO_CACHE);
	s->tenant = cmd->tenant;
	s->client = cmd->client;
	s->pin_ns = cmd->pin_ns;
	s->cache_reuse = cmd->cache_reuse;
	st = lmi_engine_gen_create(&s->gen, inst, vocab, cmd, &in, s->seqs[0].cap, err);
	lmi_free(own); /* in.tokens */
	if (st != LMD_OK) {
		lmi_engine_job_destroy(s);
		return st;
	}
	*out = s;
	return LMD_OK;
}
