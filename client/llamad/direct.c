/* SPDX-License-Identifier: MIT
 *
 * What only the engine in this process can do: logits, embeddings and single samples. */
#include "llamad/llamad.h"

#include <string.h>

#include "client/embedded/embedded.h"
#include "client/lib/client.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/engine/sample.h"
#include "service/evaluate.h"

_Static_assert((int)LMD_EMBED_MODEL == (int)LMD_POOL_UNSET &&
		       (int)LMD_EMBED_NONE == (int)LMD_POOL_NONE &&
		       (int)LMD_EMBED_MEAN == (int)LMD_POOL_MEAN &&
		       (int)LMD_EMBED_CLS == (int)LMD_POOL_CLS &&
		       (int)LMD_EMBED_LAST == (int)LMD_POOL_LAST,
	       "the public words for pooling are those of plans");

#define ARENA_BYTES (64u << 20)

static enum lmd_status check_embedded(struct lmd_client *c, const char *what, struct lmd_error *err)
{
	if (lmi_embedded_is(c))
		return LMD_OK;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"%s: %.200s is a server; only the engine in this process can do this: open "
			"a client of \"" LMI_EMBEDDED_URL "\"",
			what, c->url);
}

static enum lmd_status evaluate(struct lmd_client *c, struct lmi_service_evaluation *what,
				const char *model, const lmd_token *tokens, size_t n,
				struct lmd_rows *out, struct lmd_error *err)
{
	struct lmd_rows all = {.struct_size = out->struct_size};
	enum lmd_status st;

	if (!n || n > INT32_MAX)
		return lmd_fail(err, LMD_INVALID, "%zu tokens: must be 1 to %d", n, INT32_MAX);
	what->model = (struct lmd_str){.ptr = model, .len = strlen(model)};
	what->tokens = tokens;
	what->n_tokens = (uint32_t)n;
	st = lmi_embedded_evaluate(c, what, &all.v, &all.n_row, &all.width, err);
	if (st == LMD_OK)
		lmi_client_struct_give(out, &all, sizeof(all));
	return st;
}

LMD_EXPORT enum lmd_status lmd_client_forward(struct lmd_client *c, const char *model,
					      const lmd_token *tokens, size_t n, uint32_t flags,
					      struct lmd_rows *out, struct lmd_error *err)
{
	struct lmi_service_evaluation what = {.want = flags & LMD_FORWARD_LAST
							      ? LMI_ENGINE_WANT_LAST
							      : LMI_ENGINE_WANT_LOGITS,
					      .pooling = LMD_POOL_UNSET};
	enum lmd_status st = check_embedded(c, "forward", err);

	return st == LMD_OK ? evaluate(c, &what, model, tokens, n, out, err) : st;
}

LMD_EXPORT enum lmd_status lmd_client_embed(struct lmd_client *c, const char *model,
					    const char *text, size_t n, int32_t pooling,
					    struct lmd_rows *out, struct lmd_error *err)
{
	struct lmi_service_evaluation what = {.want = LMI_ENGINE_WANT_EMBED, .pooling = pooling};
	struct lmi_client_answer reply;
	struct lmi_wire_request req;
	enum lmd_status st = check_embedded(c, "embed", err);

	if (st == LMD_OK && (pooling < LMD_EMBED_MODEL || pooling > LMD_EMBED_LAST))
		st = lmd_fail(err, LMD_INVALID, "embed: pooling %d is outside -1..3", pooling);
	if (st != LMD_OK)
		return st;
	lmi_wire_request_init(&req, LMI_WIRE_OP_TOKENIZE);
	req.u.tokenize.model = (struct lmd_str){.ptr = model, .len = strlen(model)};
	req.u.tokenize.text = (struct lmd_str){.ptr = text, .len = n};
	req.u.tokenize.add_special = true;
	st = lmi_client_exchange(c, &req, 0, &reply, err);
	if (st != LMD_OK)
		return st;
	st = evaluate(c, &what, model, reply.r.u.tokenize.tokens, reply.r.u.tokenize.n_tokens, out,
		      err);
	lmi_client_reply_fini(&reply);
	return st;
}

/* ---- sampling ---- */

static enum lmd_status sample(struct lmi_sampler_chain_opts *opts, const struct lmd_sample *o,
			      struct lmd_arena *arena, const float *logits, lmd_token *out,
			      struct lmd_error *err)
{
	const char *text = o->chain ? o->chain : "[\"greedy\"]";
	struct lmi_sampler_chain *chain;
	struct lmi_sampler_spec *specs;
	enum lmd_status st =
		lmi_sampler_specs_parse(text, strlen(text), arena, &specs, &opts->n_specs, err);

	opts->specs = specs;
	if (st == LMD_OK)
		st = lmi_sampler_chain_create(&chain, opts, err);
	if (st != LMD_OK)
		return st;
	for (size_t i = 0; i < o->n_history; i++)
		lmi_sampler_chain_accept(chain, o->history[i], false);
	st = lmi_sampler_chain_sample(chain, logits, opts->n_vocab, NULL, out);
	lmi_sampler_chain_destroy(chain);
	return st == LMD_OK ? st : lmd_fail(err, st, "sample: the chain chose no token");
}

LMD_EXPORT enum lmd_status lmd_client_sample(struct lmd_client *c, const struct lmd_sample *given,
					     const float *logits, size_t n, lmd_token *out,
					     struct lmd_error *err)
{
	struct lmd_sample o = {.struct_size = sizeof(o)};
	struct lmi_sampler_chain_opts opts;
	struct lmd_arena *arena;
	enum lmd_status st = check_embedded(c, "sample", err);

	if (st == LMD_OK && (!n || n > INT32_MAX))
		st = lmd_fail(err, LMD_INVALID, "sample: %zu logits: must be 1 to %d", n, INT32_MAX);
	if (st != LMD_OK)
		return st;
	lmi_client_struct_take(&o, sizeof(o), given);
	arena = lmi_arena_create(ARENA_BYTES);
	if (!arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
	opts = (struct lmi_sampler_chain_opts){.n_vocab = (uint32_t)n, .seed = o.seed};
	lmi_embedded_plugins(c, &opts.host, &opts.registry);
	st = sample(&opts, &o, arena, logits, out, err);
	lmi_arena_destroy(arena);
	return st;
}
