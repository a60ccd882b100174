/* SPDX-License-Identifier: MIT
 *
 * Guesses with branches: their shape, the walk along the right ones, and rows of a step whose logits are those of
 * their own branch alone, also after the row of a guess beside the chain was moved. That answers stay the same:
 * draft_nextn_test, speculate_test and speculate_law_test. */
#include "core/engine/draft_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"
#include "core/engine/picture.h"
#include "core/engine/speculate.h"
#include "core/engine/step.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_OTHER LMI_ENGINE_TREE_OTHERS

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "draft_tree");
}

static void teardown(void)
{
	story_env_fini(&env);
}

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(lmd_rand(rnd) % n);
}

/* ---- rows ---- */

/* Guesses with branches, and a window after them, as a list of parents: the plain form. Row 0 is the last known
 * token. */
struct plain {
	uint32_t n, n_guess;
	uint32_t parent[1 + LMI_ENGINE_DRAFT_MAX];
	lmd_token token[1 + LMI_ENGINE_DRAFT_MAX];
};

/* Fills both forms. All guesses after the same token differ. */
static void make(struct lmi_engine_tree *t, lmd_token *guesses, struct plain *p, uint64_t *rnd)
{
	uint32_t n_chain = 1 + below(rnd, 7), room = LMI_ENGINE_DRAFT_MAX - n_chain;

	lmi_engine_tree_clear(t);
	p->n = 1;
	for (uint32_t i = 0; i < n_chain; i++, p->n++) {
		guesses[i] = p->token[p->n] = (lmd_token)(10 * i + 1 + below(rnd, 3));
		p->parent[p->n] = p->n - 1;
	}
	for (uint32_t i = 0; i < n_chain; i++)
		for (uint32_t k = below(rnd, N_OTHER + 1); k && room; k--, room--, p->n++) {
			lmd_token other = (lmd_token)(10 * i + 5 + t->n_other[i]);

			t->other[i][t->n_other[i]++] = p->token[p->n] = other;
			p->parent[p->n] = i;
		}
	ck_assert_uint_eq(lmi_engine_tree_finish(t, guesses, n_chain, LMI_ENGINE_DRAFT_MAX), p->n - 1);
	ck_assert_mem_eq(guesses, p->token + 1, (p->n - 1) * sizeof(*guesses));
	p->n_guess = p->n - 1;
	for (; room && below(rnd, 4); room--, p->n++) {
		uint8_t after = (uint8_t)below(rnd, t->n_window + 1);

		guesses[p->n - 1] = p->token[p->n] = (lmd_token)below(rnd, 80);
		p->parent[p->n] = after ? p->n_guess + after : 0;
		t->after[t->n_window++] = after;
	}
}

START_TEST(rows_follow_their_branch)
{
	const uint32_t n_round = lmd_rounds(2000);
	uint64_t rnd = lmd_seed("draft tree rows", 3);

	for (uint32_t round = 0; round < n_round; round++) {
		lmd_token guesses[LMI_ENGINE_DRAFT_MAX];
		struct lmi_engine_tree t;
		struct plain p;

		make(&t, guesses, &p, &rnd);
		ck_assert_uint_eq(lmi_engine_tree_n_guess(&t), p.n_guess);
		for (uint32_t r = 0; r < p.n; r++) {
			uint64_t sees = 1;
			uint32_t depth = 0;

			for (uint32_t a = r; a; a = p.parent[a], depth++)
				sees |= 1ull << a;
			ck_assert_uint_eq(lmi_engine_tree_depth(&t, r), depth);
			ck_assert(lmi_engine_tree_sees(&t, r) == sees);
			for (lmd_token token = 0; token < 80; token++) {
				uint32_t want = 0;

				for (uint32_t k = r + 1; k <= p.n_guess; k++)
					if (p.parent[k] == r && p.token[k] == token)
						want = k;
				/* an assertion that holds takes time too, and there are millions */
				if (lmi_engine_tree_next(&t, guesses, p.n - 1, r, token) != want)
					ck_abort_msg("row %u, token %d", r, token);
			}
		}
		/* the step had room for fewer */
		for (uint32_t n = 0; n < p.n - 1; n++)
			for (uint32_t r = 0; r <= n; r++)
				for (lmd_token token = 0; token < 80; token++)
					if (lmi_engine_tree_next(&t, guesses, n, r, token) > n)
						ck_abort_msg("%u guesses, row %u, token %d", n, r, token);
	}
}
END_TEST

START_TEST(a_chain)
{
	static const lmd_token guesses[] = {7, 8, 9};

	for (uint32_t r = 0; r < 4; r++) {
		ck_assert_uint_eq(lmi_engine_tree_depth(NULL, r), r);
		ck_assert(lmi_engine_tree_sees(NULL, r) == (2ull << r) - 1);
		for (lmd_token token = 0; token < 12; token++)
			ck_assert_uint_eq(lmi_engine_tree_next(NULL, guesses, 3, r, token),
					  r < 3 && token == guesses[r] ? r + 1 : 0);
	}
	ck_assert(lmi_engine_tree_sees(NULL, 63) == UINT64_MAX);
}
END_TEST

START_TEST(only_known_tokens_are_guesses)
{
	struct lmi_engine_tree t;
	lmd_token out[LMI_ENGINE_DRAFT_MAX] = {1, 2};

	lmi_engine_tree_clear(&t);
	t.n_other[0] = 2;
	t.n_other[1] = 2;
	t.n_other[2] = 1; /* beside a token that was not guessed */
	t.other[0][0] = 5;
	t.other[1][0] = 6;
	t.other[1][1] = 7;
	t.other[2][0] = 8;
	ck_assert_uint_eq(lmi_engine_tree_finish(&t, out, 2, 4), 4);
	ck_assert_int_eq(out[2], 5);
	ck_assert_int_eq(out[3], 6);
	ck_assert(t.n_other[0] == 1 && t.n_other[1] == 1 && t.n_other[2] == 0);
}
END_TEST

START_TEST(the_next_best_tokens)
{
	float logits[130], again[130];
	static const lmd_token map[130] = {[64] = 1000, [3] = 1001, [129] = 1002};
	struct lmi_engine_tree t;

	for (int i = 0; i < 130; i++)
		logits[i] = (float)-i - 1;
	logits[64] = 9;
	logits[3] = 8;
	logits[129] = 7;
	memcpy(again, logits, sizeof(logits));
	lmi_engine_tree_clear(&t);
	ck_assert_int_eq(lmi_engine_tree_rank(&t, 2, logits, 130, NULL), 64);
	ck_assert(t.other[2][0] == 3 && t.other[2][1] == 129 && t.other[1][0] == -1);
	ck_assert_int_eq(lmi_engine_tree_rank(&t, 0, again, 130, map), 1000);
	ck_assert(t.other[0][0] == 1001 && t.other[0][1] == 1002);
	again[0] = 1;
	ck_assert_int_eq(lmi_engine_tree_rank(NULL, 0, again, 1, NULL), 0);
	ck_assert_int_eq(lmi_engine_tree_rank(&t, 1, again, 1, NULL), 0); /* there are no others */
	ck_assert(t.other[1][0] == -1 && t.other[1][1] == -1);
}
END_TEST

/* ---- the shape ---- */

static double step_price(const void *row, uint32_t n_row)
{
	return 100 + *(const double *)row * n_row;
}

/* Tokens expected of guesses of a shape. */
static double expected(const struct lmi_engine_tree *t, const struct lmi_engine_tree_chances *c)
{
	double sum = 0, reach = 1;

	for (uint32_t i = 0; i < t->n_chain; i++, reach *= c->chain) {
		double miss = reach * (1 - c->chain);

		sum += reach * c->chain;
		for (uint32_t k = 0; k < t->n_other[i]; k++, miss *= 1 - c->other[k - 1])
			sum += miss * c->other[k];
	}
	return sum;
}

/* The most that any shape of n guesses is expected to bring. */
static double most_of(struct lmi_engine_tree *t, const struct lmi_engine_tree_chances *c, uint32_t i,
		      uint32_t n)
{
	double best = 0;

	if (i == t->n_chain)
		return n ? 0 : expected(t, c);
	for (uint32_t k = 0; k <= n && k <= c->n_others && (!k || i < c->n_beside); k++) {
		t->n_other[i] = (uint8_t)k;
		best = fmax(best, most_of(t, c, i + 1, n - k));
	}
	t->n_other[i] = 0;
	return best;
}

START_TEST(no_shape_is_better)
{
	uint64_t rnd = lmd_seed("draft tree shape", 4);
	uint32_t n_branched = 0, n_off = 0;

	for (int round = 0; round < 3000; round++) {
		double row = below(&rnd, 40) / 2.0, gain, best = 1.05;
		const struct lmi_engine_step_times times = {
			.n_row = 1, .now_ns = step_price(&row, 1), .ns = step_price, .arg = &row};
		struct lmi_engine_tree_chances c = {.chain = (1 + below(&rnd, 99)) / 100.0,
						    .n_chain = 1 + below(&rnd, 5)};
		uint32_t most = c.n_chain + below(&rnd, 4), n, sum;
		struct lmi_engine_tree t, u;

		for (uint32_t k = 0; k < N_OTHER; k++)
			c.other[k] = below(&rnd, 80) / 100.0;
		/* the best first, and none before the chain's */
		c.other[0] = fmin(c.other[0], c.chain / (1 - c.chain));
		c.other[1] = fmin(c.other[1], c.other[0] / (1 - c.other[0]));
		c.n_beside = below(&rnd, 2) ? c.n_chain : below(&rnd, 2);
		c.n_others = below(&rnd, N_OTHER + 1);
		lmi_engine_tree_clear(&t);
		n = lmi_engine_tree_choose(&t, &c, most, 0, 0, &times, &gain);
		sum = t.n_chain;
		for (uint32_t i = 0; i < LMI_ENGINE_DRAFT_MAX; i++) {
			sum += t.n_other[i];
			n_branched += t.n_other[i] != 0;
			ck_assert(!t.n_other[i] || (i < t.n_chain && i < c.n_beside));
			ck_assert_uint_le(t.n_other[i], c.n_others);
		}
		n_off += !n;
		ck_assert_uint_eq(sum, n);
		ck_assert_uint_le(n, most);
		ck_assert_uint_le(t.n_chain, c.n_chain);
		for (uint32_t k = 1; k <= most; k++)
			for (uint32_t chain = 1; chain <= k && chain <= c.n_chain; chain++) {
				lmi_engine_tree_clear(&u);
				u.n_chain = chain;
				best = fmax(best, (1 + most_of(&u, &c, 0, k - chain)) *
							  step_price(&row, 1) / step_price(&row, 1 + k));
			}
		ck_assert_double_eq_tol(best, gain, 1e-9);
		if (n)
			ck_assert_double_eq_tol(gain,
						(1 + expected(&t, &c)) * step_price(&row, 1) /
							step_price(&row, 1 + n),
						1e-9);
	}
	printf("%u tokens with others beside them, nothing guessed %u times\n", n_branched, n_off);
	ck_assert(n_branched > 500 && n_off > 100);
}
END_TEST

/* What was never measured is not free, and neither is moving a row. */
START_TEST(a_shape_has_its_price)
{
	double row = 0, gain;
	struct lmi_engine_step_times times = {.n_row = 1, .ns = step_price, .arg = &row};
	const struct lmi_engine_tree_chances c = {
		.chain = 0.5, .other = {0.9, 0}, .n_chain = 1, .n_beside = 1, .n_others = 1};
	struct lmi_engine_tree t;

	lmi_engine_tree_clear(&t);
	/* other steps were measured, but none without guesses */
	ck_assert_uint_eq(lmi_engine_tree_choose(&t, &c, 2, 0, 0, &times, &gain), 0);
	times.now_ns = step_price(&row, 1);
	ck_assert_uint_eq(lmi_engine_tree_choose(&t, &c, 2, 0, 0, &times, &gain), 2);
	ck_assert_double_eq_tol(gain, 1.95, 1e-9);
	/* the guess beside the chain is right 0.45 times */
	times.move_ns = 50;
	ck_assert_uint_eq(lmi_engine_tree_choose(&t, &c, 2, 0, 0, &times, &gain), 2);
	ck_assert_double_eq_tol(gain, 1.95 * 100 / (100 + 0.45 * 50), 1e-9);
	times.move_ns = 100;
	ck_assert_uint_eq(lmi_engine_tree_choose(&t, &c, 2, 0, 0, &times, &gain), 1);
	ck_assert(t.n_chain == 1 && !t.n_other[0]);
}
END_TEST

/* ---- logits ---- */

#define N_KNOWN 6

static struct lmi_engine_rows known_rows(const lmd_token *tokens)
{
	return (struct lmi_engine_rows){.n = N_KNOWN, .n_out = 1, .tokens = tokens};
}

/* Computes the next rows of a sequence, which have yet to be committed. Returns the logits of those put out. */
static const float *run(struct lmi_inst *inst, const struct lmi_engine_rows *r)
{
	struct lmd_error err;

	ck_assert(lmi_kv_reserve(inst->kv, r->kv_seq, r->n, NULL, 0));
	ck_assert_msg(lmi_engine_step_run(inst, 0, r, 1, NULL, &err) == LMD_OK, "%s", err.text);
	return inst->slot[0].out;
}

static const float *compute(struct lmi_inst *inst, const struct lmi_engine_rows *r)
{
	const float *logits = run(inst, r);

	lmi_kv_commit(inst->kv, r->kv_seq, r->n);
	return logits;
}

static void expect_near(const float *have, const float *want)
{
	for (uint32_t i = 0; i < LMT_VOCAB; i++)
		ck_assert_float_eq_tol(have[i], want[i], 1e-3f);
}

static const char *const backends[] = {"ref", "cpu", "emu"};

/* Each row of a branched step has the logits that it has when its branch is computed alone, and so has the row
 * after one that was moved. _i: backend */
START_TEST(logits_are_those_of_the_branch)
{
	uint64_t rnd = env.seed + (uint64_t)_i;
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_inst *inst;
	struct lmd_error err;

	o.inst.backend = backends[_i];
	o.inst.n_out = 1 + LMI_ENGINE_DRAFT_MAX;
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	lmi_engine_tree_open(inst);
	ck_assert(lmi_engine_tree_serves(inst, 0));
	for (int round = 0; round < 12; round++) {
		static float have[(1 + LMI_ENGINE_DRAFT_MAX) * LMT_VOCAB], after[LMT_VOCAB];
		lmd_token tokens[N_KNOWN + LMI_ENGINE_DRAFT_MAX], path[N_KNOWN + 3 + LMI_ENGINE_DRAFT_MAX];
		struct lmi_engine_rows r = known_rows(tokens), alone;
		struct lmi_engine_tree t;
		struct plain p;
		uint32_t moved, to;

		make(&t, tokens + N_KNOWN, &p, &rnd);
		for (uint32_t i = 0; i < N_KNOWN; i++)
			tokens[i] = (lmd_token)below(&rnd, 95);
		r.kv_seq = lmi_kv_open(inst->kv);
		r.n = N_KNOWN - 1; /* the last token is part of the next step */
		(void)compute(inst, &r);
		r.first = N_KNOWN - 1;
		r.n = r.n_out = p.n;
		r.tree = &t;
		moved = p.n_guess > t.n_chain ? p.n_guess : 0;
		memcpy(have, run(inst, &r), p.n * LMT_VOCAB * sizeof(float));
		to = N_KNOWN - 1 + lmi_engine_tree_depth(&t, moved);
		if (moved)
			ck_assert_msg(lmi_engine_tree_move(inst, r.kv_seq, r.first + moved, to, &err) == LMD_OK,
				      "%s", err.text);
		lmi_kv_commit(inst->kv, r.kv_seq, moved ? to - r.first + 1 : p.n);
		for (uint32_t row = 0; row < p.n; row++) {
			uint32_t depth = lmi_engine_tree_depth(&t, row);

			memcpy(path, tokens, N_KNOWN * sizeof(*path));
			for (uint32_t a = row, d = depth; a; a = p.parent[a], d--)
				path[N_KNOWN + d - 1] = p.token[a];
			alone = known_rows(path);
			alone.kv_seq = lmi_kv_open(inst->kv);
			alone.n = N_KNOWN + depth;
			expect_near(have + row * LMT_VOCAB, compute(inst, &alone));
			if (row == moved && moved) { /* one more token on that branch */
				path[alone.n] = 33;
				alone.first = alone.n;
				alone.n = 1;
				memcpy(after, compute(inst, &alone), sizeof(after));
			}
			lmi_kv_close(inst->kv, alone.kv_seq);
		}
		if (moved) {
			memcpy(path + N_KNOWN, p.token + 1, t.n_chain * sizeof(*path));
			path[to] = p.token[moved];
			path[to + 1] = 33;
			alone = (struct lmi_engine_rows){.kv_seq = r.kv_seq,
							 .first = to + 1,
							 .n = 1,
							 .n_out = 1,
							 .tokens = path};
			expect_near(compute(inst, &alone), after);
		}
		lmi_kv_close(inst->kv, r.kv_seq);
	}
	lmi_inst_close(inst);
}
END_TEST

/* The rows of a picture that see each other do so in a step with branches of another sequence too. _i: backend */
START_TEST(a_picture_beside_branches)
{
	enum { FIRST = 2, N_PICTURE = 6, N_ROW = 10 };
	static float noise[N_PICTURE * LMT_EMBD], want[N_ROW * LMT_VOCAB];
	uint64_t rnd = env.seed + 100 + (uint64_t)_i;
	struct lmi_engine_seq_picture picture = {.first = FIRST, .n = N_PICTURE, .rows = noise};
	lmd_token tokens[N_ROW], guessed[] = {40, 50, 60, 70};
	struct lmi_engine_tree t;
	struct lmi_engine_rows parts[2] = {
		{.n = N_ROW, .n_out = N_ROW, .tokens = tokens, .pictures = &picture, .n_picture = 1},
		{.n = LMD_LEN(guessed), .n_out = LMD_LEN(guessed), .tokens = guessed, .tree = &t}};
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_inst *inst;
	struct lmd_error err;

	for (uint32_t i = 0; i < N_ROW; i++)
		tokens[i] = picture.first <= i && i < FIRST + N_PICTURE ? -1 : (lmd_token)below(&rnd, 95);
	for (uint32_t i = 0; i < LMD_LEN(noise); i++)
		noise[i] = (float)below(&rnd, 2001) / 1000 - 1;
	lmi_engine_tree_clear(&t);
	t.n_chain = 2;
	t.n_other[0] = 1;
	o.inst.backend = backends[_i];
	o.inst.n_out = N_ROW + LMD_LEN(guessed);
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_inst_reserve_external_rows(inst, &err) == LMD_OK, "%s", err.text);
	lmi_engine_tree_open(inst);
	ck_assert(lmi_engine_tree_serves(inst, 0));
	for (int both = 0; both < 2; both++) {
		picture.both_ways = both;
		for (int beside = 0; beside < 2; beside++) {
			for (int k = 0; k <= beside; k++) {
				parts[k].kv_seq = lmi_kv_open(inst->kv);
				ck_assert(lmi_kv_reserve(inst->kv, parts[k].kv_seq, parts[k].n, NULL, 0));
			}
			ck_assert_msg(lmi_engine_step_run(inst, 0, parts, 1 + (uint32_t)beside, NULL, &err) ==
					      LMD_OK,
				      "%s", err.text);
			for (uint32_t i = 0; i < N_ROW && beside; i++)
				expect_near(inst->slot[0].out + i * LMT_VOCAB, want + i * LMT_VOCAB);
			if (both && !beside) /* a row sees those after it */
				ck_assert_mem_ne(inst->slot[0].out + FIRST * LMT_VOCAB,
						 want + FIRST * LMT_VOCAB, LMT_VOCAB * sizeof(float));
			if (!beside)
				memcpy(want, inst->slot[0].out, sizeof(want));
			for (int k = 0; k <= beside; k++) {
				lmi_kv_commit(inst->kv, parts[k].kv_seq, 0);
				lmi_kv_close(inst->kv, parts[k].kv_seq);
			}
		}
	}
	lmi_inst_close(inst);
}
END_TEST

/* Steps with a long piece of a prompt have no masks: the guesses beside the chain of another sequence do not count
 * there, and its answer takes as many steps as alone. */
START_TEST(a_long_prompt_beside_branches)
{
	enum { N_LONG = 300, N_OUT = 60 };
	static lmd_token prompt[N_LONG];
	static struct story alone, have[2];
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine_generate cmd = story_command(1, hello, LMD_LEN(hello), N_OUT),
				   later = story_command(2, prompt, N_LONG, 1);
	struct lmi_engine_event ev;
	struct lmi_engine *e;
	uint64_t rnd = env.seed;

	o.inst.draft_path = env.path; /* always right */
	o.inst.n_batch = 128;
	o.inst.n_ctx = 512;
	cmd.draft = LMI_ENGINE_DRAFT_MODEL;
	cmd.n_draft = 6;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_BRANCHES;
	story_random_tokens(prompt, N_LONG, &rnd);
	e = story_engine(&o);
	alone = story_generate(e, &cmd);
	memset(have, 0, sizeof(have));
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	while (have[0].n_tokens < N_OUT / 3 && lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE)
		while (lmi_engine_poll(e, &ev))
			story_tell(&have[0], &ev);
	ck_assert_int_eq(lmi_engine_generate(e, &later, NULL), LMD_OK);
	story_run(e, have, LMD_LEN(have));
	ck_assert(have[0].n_final == 1 && have[1].n_final == 1);
	ck_assert_uint_eq(have[0].n_tokens, N_OUT);
	ck_assert_mem_eq(have[0].tokens, alone.tokens, sizeof(lmd_token[N_OUT]));
	printf("%u of %u guesses were right, alone %u of %u\n", have[0].last.u.done.n_accepted,
	       have[0].last.u.done.n_drafted, alone.last.u.done.n_accepted, alone.last.u.done.n_drafted);
	ck_assert_uint_eq(have[0].last.u.done.n_accepted, alone.last.u.done.n_accepted);
	ck_assert_uint_lt(have[0].last.u.done.n_drafted, alone.last.u.done.n_drafted);
	(void)story_check_idle(e);
	lmi_engine_fini(e);
}
END_TEST

/* The plan with masks is part of the estimate: what it takes between devices is not missing when it is opened. */
START_TEST(the_masked_plan_is_estimated)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine_placement where;
	struct lmi_engine_memory with, without;
	struct lmd_error err = {0};
	struct lmi_engine *e;
	uint32_t n_ctx;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.backend = "emu";
	o.inst.device_list = "emu0,emu1";
	ck_assert_msg(lmi_engine_estimate(&without, &n_ctx, NULL, &o.inst, &err) == LMD_OK, "%s", err.text);
	o.inst.draft_path = env.path;
	ck_assert_msg(lmi_engine_estimate(&with, &n_ctx, &where, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_gt(with.step, without.step);
	e = story_engine(&o);
	ck_assert(lmi_engine_tree_serves(e->inst, 0));
	for (uint32_t i = 0; i < 2; i++) {
		const struct lmi_inst_device *d = &e->inst->devices[i];

		ck_assert_uint_gt(d->link_bytes, 0);
		ck_assert_uint_le(d->scratch_bytes + d->link_bytes, d->estimate.step);
	}
	lmi_engine_fini(e);
	ck_assert_int_eq(unsetenv("LLAMAD_EMU"), 0);
}
END_TEST

/* Greedy answers of several sequences are the same with branches, on the backend that LMD_TEST_BACKEND names (the tests of
 * gpu and vulkan do). _i: the model's own draft layer guesses, or a draft model that reads its hidden rows */
START_TEST(greedy_answers_are_the_same)
{
	enum { N_SEQ = 2, N_OUT = 20 };
	static struct story want[N_SEQ], have[N_SEQ];
	struct lmi_engine_opts o = story_opts(&env, N_SEQ);
	struct lmi_engine_generate cmd[N_SEQ];
	struct lmi_engine_stats st;
	struct lmi_engine *e;

	o.inst.path = story_model(&env, LMT_NEXTN);
	for (int draft = 0; draft < 2; draft++) {
		o.inst.draft_path = !draft ? NULL : _i ? story_model(&env, LMT_EAGLE3) : LMI_ENGINE_DRAFT_OWN;
		e = story_engine(&o);
		memset(have, 0, sizeof(have));
		for (uint32_t i = 0; i < N_SEQ; i++) {
			cmd[i] = story_command(i + 1, hello, 2 + i, N_OUT);
			cmd[i].n_draft = draft ? 6 : 0;
			cmd[i].draft = LMI_ENGINE_DRAFT_MODEL;
			cmd[i].flags |= LMI_ENGINE_GEN_DRAFT_BRANCHES;
			ck_assert_int_eq(lmi_engine_generate(e, &cmd[i], NULL), LMD_OK);
		}
		story_run(e, have, N_SEQ);
		for (uint32_t i = 0; i < N_SEQ; i++) {
			ck_assert_uint_eq(have[i].n_tokens, N_OUT);
			if (draft)
				ck_assert_mem_eq(have[i].tokens, want[i].tokens, sizeof(lmd_token[N_OUT]));
		}
		memcpy(want, have, sizeof(want));
		st = story_check_idle(e);
		printf("%s: %llu of %llu guesses were right, %llu beside the chain\n", o.inst.backend,
		       (unsigned long long)st.n_accepted, (unsigned long long)st.n_drafted,
		       (unsigned long long)st.n_branch);
		ck_assert(!draft || (lmi_engine_tree_serves(e->inst, 0) && st.n_branch > 0));
		lmi_engine_fini(e);
	}
}
END_TEST

/* Models whose rows do not see all rows before them guess without branches. */
START_TEST(not_all_models_have_branches)
{
	static const enum lmt_tiny kinds[] = {LMT_WINDOW, LMT_STATE, LMT_HYBRID};

	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		struct lmi_engine_opts o = story_opts(&env, 1);
		struct lmi_inst *inst;
		struct lmd_error err;
		char path[300];

		snprintf(path, sizeof(path), "%s.%zu", env.path, i);
		lmt_tiny_write(kinds[i], env.seed, path);
		o.inst.path = path;
		ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
		lmi_engine_tree_open(inst);
		ck_assert(!lmi_engine_tree_serves(inst, 0));
		lmi_inst_close(inst);
		(void)remove(path);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("draft_tree");
	TCase *t = tcase_create("shape");

	tcase_set_timeout(t, 300);
	tcase_add_test(t, rows_follow_their_branch);
	tcase_add_test(t, a_chain);
	tcase_add_test(t, only_known_tokens_are_guesses);
	tcase_add_test(t, the_next_best_tokens);
	tcase_add_test(t, no_shape_is_better);
	tcase_add_test(t, a_shape_has_its_price);
	suite_add_tcase(s, t);
	t = tcase_create("steps");
	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, logits_are_those_of_the_branch, 0, LMD_LEN(backends));
	tcase_add_loop_test(t, a_picture_beside_branches, 0, LMD_LEN(backends));
	tcase_add_test(t, a_long_prompt_beside_branches);
	tcase_add_test(t, the_masked_plan_is_estimated);
	tcase_add_test(t, not_all_models_have_branches);
	suite_add_tcase(s, t);
	t = tcase_create("branches");
	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, greedy_answers_are_the_same, 0, 2);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
