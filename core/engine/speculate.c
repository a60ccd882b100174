/* SPDX-License-Identifier: MIT
 *
 * How many tokens to guess.
 *
 * Each level of trust has a measured probability p that a guessed token is right, given that those
 * before it were. A guess of n tokens is worth p + p^2 + ... + p^n tokens, and it makes the step
 * longer by so many rows. The number is chosen that makes the whole step produce most tokens in its
 * time. If no number helps by a twentieth, nothing is guessed for some tokens; then one guess is
 * tried anyway, because probabilities and times change. */
#include "core/engine/speculate.h"

#include "core/base/alloc.h"

/* A guess is right with this probability, as if so many tokens had been examined. */
#define PRIOR	   0.7
#define PRIOR_N	   2.0
/* What older guesses count for beside a new one. */
#define KEEP	   0.96
#define GAIN_LEAST 1.05
/* How many tokens pass before a guess is tried that does not seem to help. */
#define PAUSE_MIN 16u
#define PAUSE_MAX 128u

struct lmi_engine_speculation {
	const struct lmi_engine_drafter *ops;
	void *drafter;
	uint32_t most; /* of the command */
	bool always;
	struct {
		double tested, right;
	} trust[LMI_ENGINE_DRAFT_N_TRUST];
	uint32_t last_trust;
	uint32_t n_drafted, n_accepted;
	uint32_t pause, n_paused; /* length of a pause; tokens of this one */
};

static const struct lmi_engine_drafter *const drafters[] = {
	[LMI_ENGINE_DRAFT_LOOKUP] = &lmi_engine_drafter_lookup,
};

void lmi_engine_speculation_destroy(struct lmi_engine_speculation *s)
{
	if (!s)
		return;
	if (s->drafter)
		s->ops->destroy(s->drafter);
	lmi_free(s);
}

enum lmd_status lmi_engine_speculation_create(struct lmi_engine_speculation **out,
					      const struct lmi_engine_generate *cmd,
					      const struct lmi_engine_input_seq *seq, uint32_t cap,
					      struct lmd_error *err)
{
	const struct lmi_engine_draft_opts o = {.prompt = seq->tokens,
						.n_prompt = seq->n_tokens,
						.cap = cap,
						.hint = cmd->prediction,
						.n_hint = cmd->n_prediction};
	struct lmi_engine_speculation *s;
	enum lmd_status st;

	*out = NULL;
	if (cmd->draft == LMI_ENGINE_DRAFT_OFF || !cmd->n_draft)
		return LMD_OK;
	if (cmd->draft >= LMD_LEN(drafters))
		return lmd_fail(err, LMD_INVALID, "drafter %d is unknown", cmd->draft);
	s = lmi_alloc(1, sizeof(*s));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "speculation: no memory");
	s->ops = drafters[cmd->draft];
	s->most = cmd->n_draft < LMI_ENGINE_DRAFT_MAX ? cmd->n_draft : LMI_ENGINE_DRAFT_MAX;
	s->always = cmd->flags & LMI_ENGINE_GEN_DRAFT_ALWAYS;
	s->pause = PAUSE_MIN;
	for (uint32_t i = 0; i < LMI_ENGINE_DRAFT_N_TRUST; i++) {
		s->trust[i].tested = PRIOR_N;
		s->trust[i].right = PRIOR * PRIOR_N;
	}
	st = s->ops->create(&s->drafter, &o, err);
	if (st != LMD_OK) {
		lmi_engine_speculation_destroy(s);
		return st;
	}
	*out = s;
	return LMD_OK;
}

/* Returns how many of n tokens are worth their rows; 0: none. */
static uint32_t choose_length(double p, uint32_t n, const struct lmi_engine_step_times *t)
{
	double now = t->ns(t->arg, t->n_row), sum = 0, power = 1, best = GAIN_LEAST;
	uint32_t length = 0;

	for (uint32_t i = 1; i <= n; i++) {
		double ns = t->ns(t->arg, t->n_row + i), gain;

		power *= p;
		sum += power;
		/* unknown times are measured by trying */
		gain = (t->n_row + sum) / t->n_row * (now > 0 && ns > now ? now / ns : 1);
		if (gain > best) {
			best = gain;
			length = i;
		}
	}
	return length;
}

/* A guess does not seem to help. Returns true if it is to be tried anyway. */
static bool is_probe(struct lmi_engine_speculation *s)
{
	if (++s->n_paused < s->pause)
		return false;
	s->n_paused = 0;
	s->pause = s->pause < PAUSE_MAX ? 2 * s->pause : PAUSE_MAX;
	return true;
}

uint32_t lmi_engine_speculation_guess(struct lmi_engine_speculation *s, lmd_token *tokens,
				      uint32_t n_tokens, uint32_t most,
				      const struct lmi_engine_step_times *times)
{
	lmd_token guess[LMI_ENGINE_DRAFT_MAX];
	uint32_t n, length, trust = 0;

	if (most > s->most)
		most = s->most;
	if (!most)
		return 0;
	n = s->ops->guess(s->drafter, tokens, n_tokens, most, guess, &trust);
	if (!n)
		return 0;
	length = s->always ? n
			   : choose_length(s->trust[trust].right / s->trust[trust].tested, n, times);
	if (length) {
		s->pause = PAUSE_MIN;
		s->n_paused = 0;
	} else if (is_probe(s)) {
		length = n < 2 ? n : 2;
	}
	s->last_trust = trust;
	for (uint32_t i = 0; i < length; i++)
		tokens[n_tokens + i] = guess[i];
	return length;
}

void lmi_engine_speculation_learn(struct lmi_engine_speculation *s, uint32_t n,
				  uint32_t n_accepted, bool ended)
{
	s->n_drafted += n;
	s->n_accepted += n_accepted;
	if (!n)
		return;
	s->trust[s->last_trust].tested *= KEEP;
	s->trust[s->last_trust].right *= KEEP;
	s->trust[s->last_trust].tested += n_accepted + (n_accepted < n && !ended);
	s->trust[s->last_trust].right += n_accepted;
}

void lmi_engine_speculation_restart(struct lmi_engine_speculation *s)
{
	if (!s)
		return;
	if (s->ops->restart)
		s->ops->restart(s->drafter);
	else
		s->most = 0;
}

void lmi_engine_speculation_count(const struct lmi_engine_speculation *s, uint32_t *n_drafted,
				  uint32_t *n_accepted)
{
	*n_drafted = s ? s->n_drafted : 0;
	*n_accepted = s ? s->n_accepted : 0;
}
