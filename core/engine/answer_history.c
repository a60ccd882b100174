/* SPDX-License-Identifier: MIT
 *
 * The last answers of a model by tenant. Answers follow each other in a text with an index; a token
 * that no vocabulary has separates them, so that neither a match nor a guess goes from one into
 * another. */
#include "core/engine/answer_history.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/token_index.h"

#define SEPARATOR (-1)

struct half {
	lmd_token *tokens; /* [LMI_ENGINE_HISTORY_HALF] */
	uint32_t n;
	struct lmi_engine_token_index index;
};

struct answers {
	uint64_t tenant, used; /* used: number of the last addition; 0: no tenant */
	struct half halves[2];
	uint32_t newer;
};

struct lmi_engine_history {
	struct answers v[LMI_ENGINE_HISTORY_TENANTS];
	uint64_t n_added;
};

enum lmd_status lmi_engine_history_create(struct lmi_engine_history **out, struct lmd_error *err)
{
	struct lmi_engine_history *h = lmi_alloc(1, sizeof(*h));
	enum lmd_status st = h ? LMD_OK : LMD_NOMEM;

	for (uint32_t i = 0; i < 2 * LMI_ENGINE_HISTORY_TENANTS && st == LMD_OK; i++) {
		struct half *x = &h->v[i / 2].halves[i % 2];

		x->tokens = lmi_alloc(LMI_ENGINE_HISTORY_HALF, sizeof(*x->tokens));
		st = x->tokens ? lmi_engine_token_index_init(&x->index, LMI_ENGINE_HISTORY_HALF)
			       : LMD_NOMEM;
	}
	if (st != LMD_OK) {
		lmi_engine_history_destroy(h);
		return lmd_fail(err, st, "no memory for the last answers of %u tenants",
				LMI_ENGINE_HISTORY_TENANTS);
	}
	*out = h;
	return LMD_OK;
}

void lmi_engine_history_destroy(struct lmi_engine_history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < 2 * LMI_ENGINE_HISTORY_TENANTS; i++) {
		struct half *x = &h->v[i / 2].halves[i % 2];

		lmi_free(x->tokens);
		lmi_engine_token_index_fini(&x->index);
	}
	lmi_free(h);
}

static const struct answers *find(const struct lmi_engine_history *h, uint64_t tenant)
{
	for (uint32_t i = 0; i < LMI_ENGINE_HISTORY_TENANTS; i++)
		if (h->v[i].used && h->v[i].tenant == tenant)
			return &h->v[i];
	return NULL;
}

static void clear(struct half *x)
{
	x->n = 0;
	lmi_engine_token_index_clear(&x->index);
}

/* Returns the answers of a tenant, in place of the oldest ones if it has none. */
static struct answers *take(struct lmi_engine_history *h, uint64_t tenant)
{
	struct answers *a = (struct answers *)find(h, tenant);

	if (a)
		return a;
	a = &h->v[0];
	for (uint32_t i = 1; i < LMI_ENGINE_HISTORY_TENANTS; i++)
		if (h->v[i].used < a->used)
			a = &h->v[i];
	if (a->used) {
		clear(&a->halves[0]);
		clear(&a->halves[1]);
	}
	a->tenant = tenant;
	return a;
}

void lmi_engine_history_add(struct lmi_engine_history *h, uint64_t tenant, const lmd_token *tokens,
			    uint32_t n)
{
	struct answers *a;
	struct half *x;

	if (n < 2)
		return;
	if (n >= LMI_ENGINE_HISTORY_HALF) {
		tokens += n - (LMI_ENGINE_HISTORY_HALF - 1);
		n = LMI_ENGINE_HISTORY_HALF - 1;
	}
	a = take(h, tenant);
	a->used = ++h->n_added;
	x = &a->halves[a->newer];
	if (x->n + 1 + n > LMI_ENGINE_HISTORY_HALF) {
		a->newer = !a->newer;
		x = &a->halves[a->newer];
		clear(x);
	}
	x->tokens[x->n] = SEPARATOR;
	memcpy(x->tokens + x->n + 1, tokens, n * sizeof(*tokens));
	/* pairs with a separator are never looked up */
	lmi_engine_token_index_add(&x->index, x->tokens, x->n + 2, x->n + 1 + n);
	x->n += 1 + n;
}

uint32_t lmi_engine_history_guess(const struct lmi_engine_history *h, uint64_t tenant,
				  const lmd_token *tokens, uint32_t n, uint32_t most, lmd_token *out,
				  uint32_t *length)
{
	const struct answers *a = find(h, tenant);
	uint32_t n_out = 0;

	for (uint32_t i = 0; a && i < 2; i++) {
		const struct half *x = &a->halves[i ? !a->newer : a->newer];
		uint32_t k = *length;
		uint32_t at = lmi_engine_token_index_find(&x->index, x->tokens, x->n, tokens, n, &k);

		if (at == LMI_ENGINE_NO_PLACE || x->tokens[at + 1] == SEPARATOR)
			continue;
		*length = k;
		for (n_out = 0; n_out < most && ++at < x->n && x->tokens[at] != SEPARATOR; n_out++)
			out[n_out] = x->tokens[at];
	}
	return n_out;
}
