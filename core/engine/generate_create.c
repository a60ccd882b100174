/* SPDX-License-Identifier: MIT
 *
 * A generation consists of a sampler chain, a detokeniser, a matcher of stop texts, and counters.
 * Everything is allocated when it is submitted; a token allocates nothing. */
#include "core/engine/generate_impl.h"

#include <string.h>

#include "core/base/alloc.h"

/* At least so many tokens of a context are not kept by a shift. */
#define SHIFT_LEAST 4u

size_t lmi_engine_gen_text_max(const struct lmi_tokenizer *tok)
{
	/* one token, and what the detokeniser and the matcher hold back */
	return 2 * lmi_detok_max_bytes(tok) + LMI_STOP_SEQUENCE_BYTES_MAX;
}

void lmi_engine_gen_destroy(struct lmi_engine_gen *g)
{
	if (!g)
		return;
	lmi_sampler_chain_destroy(g->chain);
	lmi_engine_constraint_destroy(g->constraint);
	lmi_stop_destroy(g->stop);
	lmi_free(g->shown);
	lmi_free(g->raw);
	lmi_free(g->text);
	lmi_free(g->scratch);
	lmi_free(g->logprobs);
	lmi_engine_speculation_destroy(g->speculation);
	lmi_free(g->stop_tokens);
	lmi_free(g->goes_on);
	lmi_free(g->allowed);
	lmi_free(g);
}

void lmi_engine_gen_constrain(struct lmi_engine_gen *g, struct lmi_engine_constraint *own_c)
{
	g->constraint = own_c;
	g->n_skip = own_c ? lmi_engine_constraint_healed(own_c) : 0;
}

static bool is_picture(const struct lmi_engine_input_seq *q, uint32_t row)
{
	for (uint32_t i = 0; i < q->n_pictures; i++)
		if (row - q->pictures[i].first < q->pictures[i].n)
			return true;
	return false;
}

static enum lmd_status make_chain(struct lmi_engine_gen *g, const struct lmi_inst *inst,
				  const struct lmi_sampler_vocab *vocab,
				  const struct lmi_engine_generate *cmd, struct lmd_error *err)
{
	const struct lmi_sampler_chain_opts o = {.registry = inst->registry,
						 .host = inst->host,
						 .specs = cmd->specs,
						 .n_specs = cmd->n_specs,
						 .vocab = &vocab->view,
						 .n_vocab = inst->desc.n_vocab,
						 .seed = cmd->seed};
	enum lmd_status st = lmi_sampler_chain_create(&g->chain, &o, err);

	if (st == LMD_OK && cmd->flags & LMI_ENGINE_GEN_RESUMABLE &&
	    lmi_sampler_chain_learner(g->chain))
		st = lmd_fail(
			err, LMD_UNSUPPORTED,
			"durable: sampler %s learns from probabilities that are not recorded; "
			"use another one",
			lmi_sampler_chain_learner(g->chain));
	for (uint32_t i = 0; i < cmd->seq.n_tokens && st == LMD_OK; i++)
		if (!is_picture(&cmd->seq, i))
			lmi_sampler_chain_accept(g->chain, cmd->seq.tokens[i], true);
	return st;
}

static void clear_bit(struct lmi_engine_gen *g, lmd_token id)
{
	if (id >= 0 && (uint32_t)id / 64 < g->n_words)
		g->goes_on[id / 64] &= ~(1ull << (id % 64));
}

/* Copies the stop tokens and prepares the mask for the first tokens. */
static bool set_ends(struct lmi_engine_gen *g, const struct lmi_engine_generate *cmd,
		     uint32_t n_vocab)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(g->tok);

	g->stop_tokens = lmi_alloc(cmd->n_stop_tokens + 1, sizeof(*g->stop_tokens));
	if (!g->stop_tokens)
		return false;
	if (cmd->n_stop_tokens)
		memcpy(g->stop_tokens, cmd->stop_tokens,
		       cmd->n_stop_tokens * sizeof(*g->stop_tokens));
	g->n_stop_tokens = cmd->n_stop_tokens;
	g->n_min = cmd->n_min;
	if (!g->n_min)
		return true;
	g->n_words = n_vocab / 64 + 1;
	g->goes_on = lmi_alloc(g->n_words, sizeof(*g->goes_on));
	g->allowed = lmi_alloc(g->n_words, sizeof(*g->allowed));
	if (!g->goes_on || !g->allowed)
		return false;
	memset(g->goes_on, 0xff, g->n_words * sizeof(*g->goes_on));
	for (uint32_t i = 0; i < info->n_eog; i++)
		clear_bit(g, info->eog[i]);
	for (uint32_t i = 0; i < g->n_stop_tokens; i++)
		clear_bit(g, g->stop_tokens[i]);
	return true;
}

static bool set_logprobs(struct lmi_engine_gen *g, uint32_t n_vocab)
{
	if (!g->n_logprobs)
		return true;
	g->scratch = lmi_alloc(lmi_engine_logprobs_scratch(n_vocab), sizeof(*g->scratch));
	g->logprobs = lmi_alloc(1 + LMI_ENGINE_DRAFT_MAX, sizeof(*g->logprobs));
	return g->scratch && g->logprobs;
}

/* Decides which tokens stay when a context of `cap` tokens is full; at least one does not. */
static void set_shift(struct lmi_engine_gen *g, const struct lmi_engine_generate *cmd,
		      const struct lmi_engine_input_seq *seq, uint32_t cap)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(g->tok);
	bool has_bos = info->bos >= 0 && seq->tokens[0] == info->bos;
	uint64_t keep = cmd->n_keep < 0 ? seq->n_tokens : (uint64_t)cmd->n_keep + has_bos;
	uint32_t most = cap > SHIFT_LEAST ? cap - SHIFT_LEAST : 0;

	g->shifts = cmd->shift && cap > 1 && !cmd->seq.n_pictures;
	g->n_keep = keep < most ? (uint32_t)keep : most;
	g->n_discard = cmd->n_discard;
}

enum lmd_status lmi_engine_gen_create(struct lmi_engine_gen **out, const struct lmi_inst *inst,
				      const struct lmi_sampler_vocab *vocab,
				      const struct lmi_engine_generate *cmd,
				      const struct lmi_engine_input_seq *seq, uint32_t cap,
				      struct lmd_error *err)
{
	const struct lmi_engine_draft_sources sources = {.model = inst->draft_dropped ? NULL
										      : inst->draft,
							 .nextn = inst->nextn,
							 .history = inst->history,
							 .file = inst->lookup_file,
							 .lookahead = inst->lookahead};
	struct lmi_engine_gen *g = lmi_alloc(1, sizeof(*g));
	enum lmd_status st = LMD_OK;

	if (!g)
		return lmd_fail(err, LMD_NOMEM, "generation: no memory");
	g->tok = vocab->tok;
	g->n_predict = cmd->n_predict;
	g->flags = cmd->flags;
	g->n_prompt = cmd->seq.n_tokens;
	g->n_logprobs = cmd->n_logprobs;
	lmi_detok_init(&g->detok, g->tok,
		       cmd->flags & LMI_ENGINE_GEN_SPECIAL ? LMD_DECODE_UNPARSE_SPECIAL : 0);
	g->raw = lmi_alloc(lmi_detok_max_bytes(g->tok), 1);
	g->text = lmi_alloc(lmi_engine_gen_text_max(g->tok), 1);
	g->shown = lmi_alloc(cmd->n_shown + 1, sizeof(*g->shown));
	if (!g->raw || !g->text || !g->shown || !set_logprobs(g, inst->desc.n_vocab) ||
	    !set_ends(g, cmd, inst->desc.n_vocab))
		st = lmd_fail(err, LMD_NOMEM, "generation: no memory");
	if (st == LMD_OK && cmd->n_shown) {
		memcpy(g->shown, cmd->shown, cmd->n_shown * sizeof(*g->shown));
		lmi_detok_set_visible(&g->detok, g->shown, cmd->n_shown);
	}
	set_shift(g, cmd, seq, cap);
	if (st == LMD_OK && cmd->n_stops)
		st = lmi_stop_create(&g->stop, cmd->stops, cmd->n_stops, err);
	if (st == LMD_OK)
		st = make_chain(g, inst, vocab, cmd, err);
	if (st == LMD_OK)
		st = lmi_engine_speculation_create(&g->speculation, &sources, cmd, seq, cap, err);
	if (st != LMD_OK) {
		lmi_engine_gen_destroy(g);
		return st;
	}
	*out = g;
	return LMD_OK;
}
