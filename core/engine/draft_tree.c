/* SPDX-License-Identifier: MIT
 *
 * The shape of guesses with branches, and the walk along the right ones. */
#include "core/engine/draft_tree.h"

#include <math.h>
#include <string.h>

#include "core/engine/speculate.h"
#include "core/engine/topk.h"

/* ---- choosing ---- */

/* A guess that takes time itself has to help more: measured times vary, and a mistake costs more. */
#define GAIN_LEAST	  1.05
#define GAIN_LEAST_COSTLY 1.2

/* Adds the most probable guess that is not among them yet. Returns its probability; 0: there is none. */
static double add_guess(struct lmi_engine_tree *t, const struct lmi_engine_tree_chances *c)
{
	double reach = 1, best = 0; /* reach: that the tokens before are right */
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->n_chain; i++, reach *= c->chain) {
		double miss = reach * (1 - c->chain);

		if (i >= c->n_beside || t->n_other[i] >= c->n_others)
			continue;
		for (uint32_t k = 0; k < t->n_other[i]; k++)
			miss *= 1 - c->other[k];
		if (miss * c->other[t->n_other[i]] > best) {
			best = miss * c->other[t->n_other[i]];
			at = i;
		}
	}
	if (t->n_chain < c->n_chain && reach * c->chain >= best) {
		t->n_chain++;
		return reach * c->chain;
	}
	if (best > 0)
		t->n_other[at]++;
	return best;
}

uint32_t lmi_engine_tree_choose(struct lmi_engine_tree *t, const struct lmi_engine_tree_chances *c,
				uint32_t most, double cost_ns, double host_ns,
				const struct lmi_engine_step_times *times, double *gain)
{
	double now = times->now_ns, sum = 0, moved = 0;
	struct lmi_engine_tree s;
	uint32_t n = 0;

	lmi_engine_tree_clear_shape(t);
	s = *t;
	*gain = cost_ns > 0 ? GAIN_LEAST_COSTLY : GAIN_LEAST;
	if (!(now > 0) && times->ns(times->arg, times->n_row) > 0)
		return 0; /* this step is measured, which the others are compared with */
	for (uint32_t i = 1; i <= most; i++) {
		uint32_t n_chain = s.n_chain;
		double more, ns = times->ns(times->arg, times->n_row + i), right = add_guess(&s, c);

		if (!(right > 0))
			break;
		sum += right;
		moved += s.n_chain == n_chain ? right : 0;
		ns += s.n_chain * cost_ns + host_ns + moved * times->move_ns;
		more = (times->n_row + sum) / times->n_row * (now > 0 && ns > now ? now / ns : 1);
		if (more > *gain) {
			*gain = more;
			*t = s;
			n = i;
		}
	}
	return n;
}

/* ---- guesses ---- */

void lmi_engine_tree_clear_shape(struct lmi_engine_tree *t)
{
	t->n_chain = t->n_window = 0;
	memset(t->n_other, 0, sizeof(t->n_other));
}

void lmi_engine_tree_clear(struct lmi_engine_tree *t)
{
	lmi_engine_tree_clear_shape(t);
	memset(t->other, 0xff, sizeof(t->other)); /* -1 */
}

uint32_t lmi_engine_tree_n_guess(const struct lmi_engine_tree *t)
{
	uint32_t n = t ? t->n_chain : 0;

	for (uint32_t i = 0; t && i < t->n_chain; i++)
		n += t->n_other[i];
	return n;
}

uint32_t lmi_engine_tree_finish(struct lmi_engine_tree *t, lmd_token *out, uint32_t n_chain,
				uint32_t most)
{
	uint32_t n = n_chain;

	t->n_chain = n_chain;
	for (uint32_t i = 0; i < LMI_ENGINE_DRAFT_MAX; i++) {
		uint32_t want = i < n_chain ? t->n_other[i] : 0, k = 0;

		while (k < want && n < most && t->other[i][k] >= 0)
			out[n++] = t->other[i][k++];
		t->n_other[i] = (uint8_t)k;
	}
	return n;
}

lmd_token lmi_engine_tree_rank(struct lmi_engine_tree *t, uint32_t i, float *logits, uint32_t n,
			       const lmd_token *map)
{
	size_t best = lmi_engine_argmax(logits, n, NULL), id = best;

	for (uint32_t k = 0; t && i < LMI_ENGINE_DRAFT_MAX && k < LMI_ENGINE_TREE_OTHERS; k++) {
		logits[id] = -INFINITY;
		id = lmi_engine_argmax(logits, n, NULL);
		t->other[i][k] = !(logits[id] > -INFINITY) ? -1 : map ? map[id] : (lmd_token)id;
	}
	return map ? map[best] : (lmd_token)best;
}

/* ---- rows ---- */

/* Returns beside which token of the chain the guess of a row is, the row is after the chain's. */
static uint32_t place_of(const struct lmi_engine_tree *t, uint32_t row)
{
	uint32_t at = t->n_chain, i = 0;

	while (i + 1 < t->n_chain && (at += t->n_other[i]) < row)
		i++;
	return i;
}

uint32_t lmi_engine_tree_next(const struct lmi_engine_tree *t, const lmd_token *guesses, uint32_t n,
			      uint32_t row, lmd_token token)
{
	uint32_t at;

	if (row < n && (!t || row < t->n_chain) && guesses[row] == token)
		return row + 1;
	if (!t || row >= t->n_chain)
		return 0;
	at = t->n_chain;
	for (uint32_t i = 0; i < row; i++)
		at += t->n_other[i];
	for (uint32_t k = 0; k < t->n_other[row] && at + k < n; k++)
		if (guesses[at + k] == token)
			return at + k + 1;
	return 0;
}

/* Returns the row that a row of the window comes after; 0: that of the last known token. */
static uint32_t window_parent(const struct lmi_engine_tree *t, uint32_t row)
{
	uint32_t first = lmi_engine_tree_n_guess(t) + 1, after = t->after[row - first];

	return after ? first + after - 1 : 0;
}

uint32_t lmi_engine_tree_depth(const struct lmi_engine_tree *t, uint32_t row)
{
	uint32_t n_guess = lmi_engine_tree_n_guess(t), depth = 0;

	for (; t && row > n_guess; row = window_parent(t, row))
		depth++;
	return depth + (!t || row <= t->n_chain ? row : place_of(t, row) + 1);
}

uint64_t lmi_engine_tree_sees(const struct lmi_engine_tree *t, uint32_t row)
{
	uint32_t n_guess = lmi_engine_tree_n_guess(t);
	uint64_t sees = 0;

	for (; t && row > n_guess; row = window_parent(t, row))
		sees |= 1ull << row;
	if (!t || row <= t->n_chain)
		return sees | ((2ull << row) - 1);
	return sees | 1ull << row | ((2ull << place_of(t, row)) - 1);
}
