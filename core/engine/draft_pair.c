/* SPDX-License-Identifier: MIT
 *
 * Pairs a model with a smaller one that is in memory as well, and ends the pairing when that one is unloaded.
 *
 * The paired model is opened as any draft model is, with memory of its own. It is closed on the
 * engine's thread between steps, when no generation has a drafter of it any more; until then its
 * drafters guess nothing. */
#include <string.h>

#include "core/engine/draft_model_impl.h"
#include "core/engine/engine_impl.h"
#include "core/text/tokenizer.h"

enum lmd_status lmi_engine_vocab_digest(const struct lmi_tokenizer *tok, uint8_t out[LMI_SHA256_BYTES],
					struct lmd_error *err)
{
	uint32_t n = lmi_tokenizer_info(tok)->n_tokens;
	struct lmi_sha256 h = {0};
	char piece[256];

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for the digest of a vocabulary");
	for (lmd_token id = 0; (uint32_t)id < n; id++) {
		size_t len = lmi_tokenizer_piece(tok, id, LMD_DECODE_UNPARSE_SPECIAL, piece,
						 sizeof(piece));
		uint32_t known = (uint32_t)len;

		lmi_sha256_update(&h, &known, sizeof(known));
		lmi_sha256_update(&h, piece, len < sizeof(piece) ? len : sizeof(piece));
	}
	return lmi_sha256_final(&h, out)
		       ? LMD_OK
		       : lmd_fail(err, LMD_CANCELLED, "the digest of a vocabulary was cancelled");
}

/* Returns the smallest of the candidates that fit, or NULL. */
static const struct lmi_engine_draft_candidate *choose(const struct lmi_engine *e,
							const struct lmi_engine_model_opts *o)
{
	const struct lmi_engine_draft_candidate *best = NULL;
	struct lmi_engine_info info;

	lmi_engine_info(e, &info);
	for (uint32_t i = 0; i < o->n_draft_candidates; i++) {
		const struct lmi_engine_draft_candidate *c = &o->draft_candidates[i];

		if (memcmp(c->vocab_digest, e->vocab_digest, LMI_SHA256_BYTES) != 0 ||
		    c->weight_bytes > info.weight_bytes / LMI_ENGINE_DRAFT_SMALLER)
			continue;
		if (!best || c->weight_bytes < best->weight_bytes)
			best = c;
	}
	return best;
}

void lmi_engine_pair_draft(struct lmi_engine *e, const struct lmi_engine_model_opts *opts)
{
	const struct lmi_engine_draft_candidate *c = choose(e, opts);
	const struct lmd_host *host = e->inst->host;
	struct lmi_engine_model_opts o = *opts;
	struct lmd_error err = {0};

	if (!c)
		return;
	o.draft_path = c->path;
	if (lmi_engine_draft_model_open(&e->inst->draft, e->inst, &o, e->tok, &err) == LMD_OK)
		e->draft_number = c->number;
	else
		host->log(host->ctx, "engine", LMD_LOG_INFO, "%s has no draft model: %s",
			  e->inst->model->name, err.text);
}

void lmi_engine_drop_draft(struct lmi_engine *e)
{
	if (!e->draft_number)
		return;
	e->draft_number = 0;
	e->inst->draft_dropped = true;
	atomic_store(&e->drops_draft, true);
	lmi_engine_command_queue_wake(&e->commands);
}

bool lmi_engine_drop_step(struct lmi_engine *e)
{
	struct lmi_engine_draft_model *m = e->inst->draft;

	if (!m || !atomic_load(&e->drops_draft))
		return false;
	m->failed = true; /* it guesses no more */
	if (e->n_pending || atomic_load(&m->n_drafter))
		return false;
	lmi_engine_draft_model_close(m);
	e->inst->draft = NULL;
	return true;
}
