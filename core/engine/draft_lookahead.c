/* SPDX-License-Identifier: MIT
 *
 * Lookahead decoding (arXiv 2402.02057): guesses that need neither a draft model nor a text, found by Jacobi
 * iteration.
 *
 * A window has columns of N - 1 tokens. Column j begins j tokens after the last known token, and its tokens follow
 * each other. The first tokens of the columns follow each other as well, from the last known token on. So the rows
 * of a window are a tree, and a step with masked rows computes them beside the guesses. What the last row of a
 * column predicts makes its tokens an n-gram. Each column then drops its first token and takes the predicted one;
 * if the step has made more than one token, columns give way to those after them. Tokens that nobody has predicted
 * are taken from the sequence.
 *
 * N-grams are kept by their first token. A guess is the rest of the latest one that begins with the last known
 * token; the next best tokens in place of its first one are those of older n-grams. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/draft.h"
#include "core/engine/draft_lookahead.h"
#include "core/engine/draft_tree.h"

#define W       LMI_ENGINE_LOOKAHEAD_COLUMNS
#define N       LMI_ENGINE_LOOKAHEAD_N
#define N_LEVEL (N - 1)
/* First tokens that are told apart, and n-grams that are kept of each. */
#define N_KEY  1024u
#define N_KEEP 4u

struct ngram {
	lmd_token v[N];
};

struct key {
	uint32_t n_added; /* the latest is v[(n_added - 1) % N_KEEP] */
	struct ngram v[N_KEEP];
};

struct lookahead {
	lmd_token level[N_LEVEL][W]; /* token l of column j; -1: nobody has predicted it */
	struct key keys[N_KEY];
};

/* N-grams stay: what they say of tokens does not depend on where they are. */
static void restart(void *drafter)
{
	struct lookahead *a = drafter;

	memset(a->level, 0xff, sizeof(a->level)); /* -1 */
}

static enum lmd_status create(void **out, const struct lmi_engine_draft_opts *o,
			      struct lmd_error *err)
{
	struct lookahead *a = lmi_alloc(1, sizeof(*a));

	(void)o;
	if (!a)
		return lmd_fail(err, LMD_NOMEM, "no memory to look ahead");
	restart(a);
	*out = a;
	return LMD_OK;
}

/* ---- n-grams ---- */

static struct key *key_of(const struct lookahead *a, lmd_token first)
{
	uint32_t h = (uint32_t)first * 0x9e3779b1u;

	return (struct key *)&a->keys[(h ^ h >> 15) % N_KEY];
}

/* Returns the n-gram that was added `age` additions before the latest; NULL: there is none. */
static const struct ngram *kept(const struct key *k, uint32_t age)
{
	return age < N_KEEP && age < k->n_added ? &k->v[(k->n_added - 1 - age) % N_KEEP] : NULL;
}

static void add(struct lookahead *a, const struct ngram *g)
{
	struct key *k = key_of(a, g->v[0]);

	for (uint32_t i = 0; kept(k, i); i++)
		if (!memcmp(kept(k, i), g, sizeof(*g))) { /* becomes the latest */
			struct ngram *latest = &k->v[(k->n_added - 1) % N_KEEP];

			k->v[(k->n_added - 1 - i) % N_KEEP] = *latest;
			*latest = *g;
			return;
		}
	k->v[k->n_added++ % N_KEEP] = *g;
}

static uint32_t guess(void *drafter, const lmd_token *tokens, uint32_t n, uint32_t most,
		      lmd_token *out, uint32_t *trust)
{
	const struct key *k = key_of(drafter, tokens[n - 1]);
	const struct ngram *g;
	uint32_t n_out = most < N - 1 ? most : N - 1;

	*trust = 0;
	for (uint32_t i = 0; (g = kept(k, i)); i++)
		if (g->v[0] == tokens[n - 1]) {
			memcpy(out, g->v + 1, n_out * sizeof(*out));
			return n_out;
		}
	return 0;
}

static void others(void *drafter, const lmd_token *tokens, uint32_t n, lmd_token first,
		   lmd_token *out)
{
	const struct key *k = key_of(drafter, tokens[n - 1]);
	const struct ngram *g;
	uint32_t n_out = 0;

	for (uint32_t i = 0; (g = kept(k, i)) && n_out < LMI_ENGINE_TREE_OTHERS; i++) {
		bool is_new = g->v[0] == tokens[n - 1] && g->v[1] != first;

		for (uint32_t x = 0; x < n_out; x++)
			is_new &= out[x] != g->v[1];
		if (is_new)
			out[n_out++] = g->v[1];
	}
}

/* ---- the window ---- */

/* Returns the row of the window that is token l of column j; one less than 0 for the last known token. */
static uint32_t row_of(uint32_t l, uint32_t j)
{
	return l * W + j - 1;
}

static void window(void *drafter, const lmd_token *tokens, uint32_t n, lmd_token *out,
		   uint8_t *after)
{
	struct lookahead *a = drafter;

	a->level[0][0] = tokens[n - 1];
	for (uint32_t l = 0; l < N_LEVEL; l++)
		for (uint32_t j = !l; j < W; j++) {
			uint32_t row = row_of(l, j), any = (n * 7919u + row * 104729u) % n;

			if (a->level[l][j] < 0)
				a->level[l][j] = tokens[any] >= 0 ? tokens[any] : tokens[n - 1];
			out[row] = a->level[l][j];
			after[row] = (uint8_t)(l ? row_of(l - 1, j) + 1 : row);
		}
}

static void see(void *drafter, const lmd_token *next, uint32_t n_new)
{
	struct lookahead *a = drafter;
	lmd_token old[N][W];

	memcpy(old, a->level, sizeof(a->level));
	for (uint32_t j = 0; j < W; j++) {
		struct ngram g;

		old[N - 1][j] = next[row_of(N_LEVEL - 1, j)];
		for (uint32_t l = 0; l < N; l++)
			g.v[l] = old[l][j];
		if (old[N - 1][j] >= 0)
			add(a, &g);
	}
	for (uint32_t l = 0; l < N_LEVEL; l++)
		for (uint32_t j = 0; j < W; j++)
			a->level[l][j] = n_new && n_new <= W - j ? old[l + 1][j + n_new - 1] : -1;
}

const struct lmi_engine_drafter lmi_engine_drafter_lookahead = {.prior = {{4, 2.0}},
								.name = "lookahead",
								.create = create,
								.guess = guess,
								.others = others,
								.window = window,
								.see = see,
								.n_window =
									LMI_ENGINE_LOOKAHEAD_ROWS,
								.window_prior = 0.3,
								.destroy = lmi_free,
								.restart = restart};
