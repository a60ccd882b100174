/* SPDX-License-Identifier: MIT
 *
 * Guesses from hidden rows: those of a draft layer equal a plain implementation of the formula (those of draft
 * models: draft_eagle_test), and with draft layers and draft models alike the answers do not change, and
 * long prompts, little memory and several sequences are no exception. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/draft_nextn.h"
#include "core/engine/engine_impl.h"
#include "tests/generation_fixture.h"
#include "tests/layer_formula.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_JOB	 5
#define N_PROMPT 120
#define N_OUT	 60
#define EMBD	 ((int)LMT_EMBD)
#define VOCAB	 ((int)LMT_VOCAB)

static struct story_env env;
static const char *path;

/* Who guesses: the layer of the model itself, or a draft model in a file. */
enum draft { NONE, LAYER, EAGLE, BLOCK, EAGLE_MAP, N_DRAFT };
static const enum lmt_tiny kinds[] = {
	[EAGLE] = LMT_EAGLE3, [EAGLE_MAP] = LMT_EAGLE3_MAP, [BLOCK] = LMT_DFLASH};
static const char *draft_path[N_DRAFT] = {[LAYER] = LMI_ENGINE_DRAFT_OWN};

static void setup(void)
{
	story_env_init(&env, "draft_nextn");
	path = story_model(&env, LMT_NEXTN);
	for (int i = EAGLE; i < N_DRAFT; i++)
		draft_path[i] = story_model(&env, kinds[i]);
}

static void teardown(void)
{
	story_env_fini(&env);
}

static struct lmi_engine_opts nextn_opts(uint32_t n_seq, enum draft draft)
{
	struct lmi_engine_opts o = story_opts(&env, n_seq);

	o.inst.path = path;
	o.inst.draft_path = draft_path[draft];
	return o;
}

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(lmd_rand(rnd) % n);
}

/* ---- the formula ---- */

static const struct lmi_inst *model_of;

static const float *tensor(const char *format, int layer)
{
	return formula_tensor(model_of, format, layer);
}

#define N_ROW 6

/* Logits of the rows [1, N_ROW) of the draft layer, which see each other. hidden: [N_ROW] of the model. */
static void formula(const lmd_token *tokens, const float *hidden, double logits[N_ROW][LMT_VOCAB])
{
	static double k[N_ROW][LMT_EMBD], v[N_ROW][LMT_EMBD];

	for (int r = 1; r < N_ROW; r++) {
		double in[2 * LMT_EMBD], x[LMT_EMBD], y[LMT_EMBD], q[LMT_EMBD], o[LMT_EMBD];
		double e[LMT_EMBD], h[LMT_EMBD];

		for (int i = 0; i < EMBD; i++) {
			e[i] = (double)tensor("token_embd.weight", 0)[tokens[r] * EMBD + i];
			h[i] = (double)hidden[(r - 1) * EMBD + i];
		}
		formula_rms(e, tensor("blk.%d.nextn.enorm.weight", 3), EMBD, in);
		formula_rms(h, tensor("blk.%d.nextn.hnorm.weight", 3), EMBD, in + EMBD);
		formula_product(tensor("blk.%d.nextn.eh_proj.weight", 3), in, EMBD, 2 * EMBD, x);
		formula_rms(x, tensor("blk.%d.attn_norm.weight", 3), EMBD, y);
		formula_product(tensor("blk.%d.attn_q.weight", 3), y, EMBD, EMBD, q);
		formula_product(tensor("blk.%d.attn_k.weight", 3), y, 32, EMBD, k[r]);
		formula_product(tensor("blk.%d.attn_v.weight", 3), y, 32, EMBD, v[r]);
		formula_rotate(q, 4, r, false);
		formula_rotate(k[r], 2, r, false);
		formula_attend(q, k[1], v[1], r, 2, o);
		formula_product(tensor("blk.%d.attn_output.weight", 3), o, EMBD, EMBD, y);
		for (int i = 0; i < EMBD; i++)
			x[i] += y[i];
		formula_ffn(model_of, 3, EMBD, 96, x);
		formula_rms(x, tensor("blk.%d.nextn.shared_head_norm.weight", 3), EMBD, y);
		formula_product(tensor("output.weight", 0), y, VOCAB, EMBD, logits[r]);
	}
}

START_TEST(draft_rows_equal_the_formula)
{
	static const lmd_token tokens[N_ROW] = {40, 69, 76, 76, 79, 11};
	static double want[N_ROW][LMT_VOCAB];
	struct lmi_engine_opts o = nextn_opts(1, LAYER);
	struct lmd_plan_key key = {.kind = LMD_PLAN_DRAFT,
				   .flags = LMD_PLAN_LOGITS | LMD_PLAN_HIDDEN};
	struct lmi_engine_rows rows = {.n = N_ROW, .n_out = N_ROW, .tokens = tokens};
	float hidden[N_ROW * LMT_EMBD];
	struct lmi_inst *inst;
	struct lmd_error err;
	uint32_t exec;

	o.inst.n_out = N_ROW;
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	model_of = inst;
	rows.kv_seq = lmi_kv_open(inst->kv);
	ck_assert(lmi_kv_reserve(inst->kv, rows.kv_seq, N_ROW, NULL, 0));
	ck_assert_msg(lmi_engine_step_run(inst, 0, &rows, 1, NULL, &err) == LMD_OK, "%s", err.text);
	lmi_kv_commit(inst->kv, rows.kv_seq, N_ROW);
	memcpy(hidden, inst->slot[0].hidden, sizeof(hidden));
	for (int r = 0; r < N_ROW; r++) { /* they are what the logits are computed from */
		double h[LMT_EMBD], logits[LMT_VOCAB];

		for (int i = 0; i < EMBD; i++)
			h[i] = (double)hidden[r * EMBD + i];
		formula_product(tensor("output.weight", 0), h, VOCAB, EMBD, logits);
		formula_expect_near(inst->slot[0].out + r * VOCAB, logits, VOCAB, "a row of the model");
	}
	formula(tokens, hidden, want);
	ck_assert_msg(lmi_inst_exec(inst, &key, &exec, &err) == LMD_OK, "%s", err.text);
	/* in two steps */
	rows = (struct lmi_engine_rows){.kv_seq = rows.kv_seq,
					.first = 1,
					.n = 3,
					.n_out = 3,
					.tokens = tokens,
					.hidden = {hidden, hidden + EMBD},
					.kv_from = 1};
	ck_assert_msg(lmi_engine_step_run(inst, exec, &rows, 1, NULL, &err) == LMD_OK, "%s", err.text);
	for (int r = 1; r < 4; r++)
		formula_expect_near(inst->slot[0].out + (r - 1) * VOCAB, want[r], VOCAB, "a draft row");
	rows.first = 4;
	rows.n = rows.n_out = 2;
	rows.hidden[0] = hidden + 3 * EMBD;
	rows.hidden[1] = hidden + 4 * EMBD;
	ck_assert_msg(lmi_engine_step_run(inst, exec, &rows, 1, NULL, &err) == LMD_OK, "%s", err.text);
	for (int r = 4; r < N_ROW; r++)
		formula_expect_near(inst->slot[0].out + (r - 4) * VOCAB, want[r], VOCAB, "a later draft row");
	lmi_inst_close(inst);
}
END_TEST

/* ---- the same answers ---- */

static const struct {
	const char *backend, *setting;
	enum lmi_engine_halves halves;
	uint32_t kv_tokens, n_batch;
	enum draft draft;
} machines[] = {
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, LAYER},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 300, 0, LAYER}, /* some are preempted */
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 20, LAYER},  /* prompts in chunks */
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 300, 0, LAYER},
	{"emu", "late=1,seed=5", LMI_ENGINE_HALVES_NEVER, 300, 0, LAYER},
	{"emu", "late=1,seed=6", LMI_ENGINE_HALVES_ALWAYS, 0, 0, LAYER},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, EAGLE},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 300, 0, EAGLE},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 20, EAGLE},
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 300, 0, EAGLE},
	{"emu", "late=1,seed=7", LMI_ENGINE_HALVES_NEVER, 300, 0, EAGLE},
	{"emu", "late=1,seed=8", LMI_ENGINE_HALVES_ALWAYS, 0, 0, EAGLE},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, BLOCK},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 300, 0, BLOCK},
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 300, 0, BLOCK},
	{"emu", "late=1,seed=9", LMI_ENGINE_HALVES_NEVER, 300, 0, BLOCK},
};

/* _i: machine */
START_TEST(the_answers_are_the_same)
{
	static const struct lmi_sampler_spec dist[] = {{.name = "dist"}};
	static lmd_token v[N_JOB][N_PROMPT];
	static struct story want, have[N_JOB];
	struct lmi_engine_opts o = nextn_opts(N_JOB, NONE);
	const uint32_t n_most = 30, n_round = lmd_rounds(n_most);
	uint64_t rnd = env.seed + (uint64_t)_i;
	struct lmi_engine *plain, *e;
	struct lmi_engine_stats st = {0};

	o.inst.backend = machines[_i].backend;
	if (machines[_i].setting)
		ck_assert_int_eq(setenv("LLAMAD_EMU", machines[_i].setting, 1), 0);
	plain = story_engine(&o);
	o.inst.draft_path = draft_path[machines[_i].draft];
	o.halves = machines[_i].halves;
	o.inst.kv_tokens = machines[_i].kv_tokens;
	o.inst.n_batch = machines[_i].n_batch;
	e = story_engine(&o);
	/* with little memory, until one was preempted */
	for (uint32_t round = 0;
	     round < n_round || (machines[_i].kv_tokens && !st.n_preempted && round < n_most); round++) {
		struct lmi_engine_generate cmd[N_JOB];

		memset(have, 0, sizeof(have));
		for (uint32_t i = 0; i < N_JOB; i++) {
			uint32_t n = 1 + below(&rnd, N_PROMPT);

			for (uint32_t k = 0; k < n; k++)
				v[i][k] = (lmd_token)below(&rnd, 95);
			cmd[i] = story_command(i + 1, v[i], n, 1 + below(&rnd, N_OUT));
			cmd[i].seed = lmd_rand(&rnd);
			if (!below(&rnd, 4))
				cmd[i].specs = dist;
			cmd[i].draft = below(&rnd, 3) ? LMI_ENGINE_DRAFT_MODEL : LMI_ENGINE_DRAFT_ANY;
			cmd[i].n_draft = 1 + below(&rnd, LMI_ENGINE_DRAFT_MAX);
			if (below(&rnd, 4))
				cmd[i].flags |= below(&rnd, 2) ? LMI_ENGINE_GEN_DRAFT_ALWAYS
							       : LMI_ENGINE_GEN_DRAFT_BRANCHES;
			ck_assert_int_eq(lmi_engine_generate(e, &cmd[i], NULL), LMD_OK);
		}
		story_run(e, have, N_JOB);
		for (uint32_t i = 0; i < N_JOB; i++) {
			cmd[i].id = 1;
			cmd[i].draft = LMI_ENGINE_DRAFT_OFF;
			want = story_generate(plain, &cmd[i]);
			ck_assert_uint_eq(have[i].n_tokens, want.n_tokens);
			ck_assert_mem_eq(have[i].tokens, want.tokens,
					 want.n_tokens * sizeof(want.tokens[0]));
		}
		lmi_engine_stats(e, &st);
	}
	st = story_check_idle(e);
	printf("%s, draft %d: %llu of %llu guesses were right, %llu beside the chain, %llu draft steps with %llu "
	       "rows, %llu preempted\n",
	       machines[_i].backend, machines[_i].draft, (unsigned long long)st.n_accepted,
	       (unsigned long long)st.n_drafted, (unsigned long long)st.n_branch,
	       (unsigned long long)st.n_draft_step, (unsigned long long)st.n_draft_row,
	       (unsigned long long)st.n_preempted);
	ck_assert_uint_gt(st.n_branch, n_round / 3);
	ck_assert_uint_gt(st.n_accepted * 30, 700 * n_round);
	ck_assert_uint_gt((st.n_drafted - st.n_accepted) * 30, 100 * n_round);
	ck_assert(!machines[_i].kv_tokens || st.n_preempted);
	ck_assert_uint_eq(st.step_allocs, 0);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* A device is lost while two steps are submitted, also between the choice of tokens and the move of a row. */
START_TEST(a_lost_device)
{
	static struct story have[4];
	struct lmi_engine_opts o = nextn_opts(LMD_LEN(have), LAYER);
	uint64_t n_branch = 0;

	o.inst.backend = "emu";
	o.halves = LMI_ENGINE_HALVES_ALWAYS;
	for (uint32_t lost = 10; lost < 40; lost++) {
		struct lmi_engine_stats st;
		struct lmi_engine *e;
		char setting[64];

		snprintf(setting, sizeof(setting), "late=1,lose_step=%u", lost);
		ck_assert_int_eq(setenv("LLAMAD_EMU", setting, 1), 0);
		e = story_engine(&o);
		memset(have, 0, sizeof(have));
		for (uint32_t i = 0; i < LMD_LEN(have); i++) {
			struct lmi_engine_generate cmd = story_command(i + 1, hello, 2 + i, 100);

			cmd.draft = LMI_ENGINE_DRAFT_MODEL;
			cmd.n_draft = 6;
			cmd.flags |= LMI_ENGINE_GEN_DRAFT_BRANCHES;
			ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		}
		story_run(e, have, LMD_LEN(have));
		for (uint32_t i = 0; i < LMD_LEN(have); i++) {
			ck_assert_uint_eq(have[i].n_final, 1);
			ck_assert_int_eq(have[i].end, LMI_ENGINE_EV_FAILED);
			ck_assert_int_eq(have[i].last.u.error.status, LMD_DEVICE);
		}
		lmi_engine_stats(e, &st);
		n_branch += st.n_branch;
		lmi_engine_fini(e);
	}
	ck_assert_uint_gt(n_branch, 10);
}
END_TEST

/* ---- what is computed ---- */

/* Guesses save steps, and each draft row of a long prompt is computed once. _i: who guesses */
START_TEST(guesses_save_steps)
{
	struct lmi_engine_opts o = nextn_opts(1, (enum draft)_i);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd;
	struct lmi_engine_stats st;
	lmd_token v[N_PROMPT];
	struct story s;

	for (uint32_t i = 0; i < N_PROMPT; i++)
		v[i] = (lmd_token)(i * 7 % 95);
	cmd = story_command(1, v, N_PROMPT, 100);
	cmd.draft = LMI_ENGINE_DRAFT_MODEL;
	cmd.n_draft = 3;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	s = story_generate(e, &cmd);
	lmi_engine_stats(e, &st);
	printf("draft %d: 100 tokens in %llu steps, %u of %u guesses were right, %llu draft rows\n",
	       _i, (unsigned long long)st.n_step, s.last.u.done.n_accepted, s.last.u.done.n_drafted,
	       (unsigned long long)st.n_draft_row);
	ck_assert_uint_eq(s.n_tokens, 100);
	ck_assert_uint_lt(st.n_step, 80);
	/* the prompt once; the row before the first guess twice; two rows for further guesses */
	ck_assert_uint_ge(st.n_draft_row, N_PROMPT - 1);
	ck_assert_uint_le(st.n_draft_row, N_PROMPT + 100 + (_i == BLOCK ? 4 : 3) * st.n_step);
	lmi_engine_fini(e);
}
END_TEST

/* ---- feeding ---- */

#define N_FED 3
#define N_ROWS 40
#define N_GUESS 4

/* Computes the prompts of n sequences, `chunk` rows of each at a time, feeds their drafters, and
 * lets these guess the tokens behind the prompts. */
static void guess_after(struct lmi_inst *inst, lmd_token (*prompts)[N_ROWS + 1 + N_GUESS], uint32_t n,
			uint32_t chunk, uint32_t n_guess, lmd_token (*out)[N_GUESS])
{
	struct lmi_engine_draft_opts o = {.cap = 100, .nextn = inst->nextn};
	struct lmi_engine_draft_want want[N_FED];
	struct lmi_engine_rows rows[N_FED];
	void *drafter[N_FED];
	struct lmd_error err;

	for (uint32_t i = 0; i < n; i++) {
		ck_assert_int_eq(lmi_engine_drafter_nextn.create(&drafter[i], &o, &err), LMD_OK);
		rows[i] = (struct lmi_engine_rows){.kv_seq = lmi_kv_open(inst->kv),
						   .n = chunk,
						   .tokens = prompts[i]};
		want[i] = (struct lmi_engine_draft_want){.drafter = drafter[i],
							 .tokens = prompts[i],
							 .n_tokens = N_ROWS + 1,
							 .most = N_GUESS,
							 .out = prompts[i] + N_ROWS + 1,
							 .kv_seq = rows[i].kv_seq};
	}
	for (uint32_t at = 0; at < N_ROWS; at += chunk) {
		const float *hidden;

		for (uint32_t i = 0; i < n; i++) {
			rows[i].first = at;
			ck_assert(lmi_kv_reserve(inst->kv, rows[i].kv_seq, chunk, NULL, 0));
		}
		ck_assert_msg(lmi_engine_step_run(inst, 0, rows, n, NULL, &err) == LMD_OK, "%s", err.text);
		hidden = inst->slot[0].hidden;
		for (uint32_t i = 0; i < n; i++)
			lmi_kv_commit(inst->kv, rows[i].kv_seq, chunk);
		for (uint32_t i = 0; i < n; i++, hidden += (size_t)chunk * lmi_inst_hidden_width(inst))
			lmi_engine_nextn_feed(inst->nextn, 0, drafter[i], &rows[i], chunk, hidden);
	}
	lmi_engine_nextn_guess(inst->nextn, 0, want, n);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(want[i].n, n_guess);
		memcpy(out[i], want[i].out, n_guess * sizeof(*out[i]));
		lmi_engine_drafter_nextn.destroy(drafter[i]);
		lmi_kv_close(inst->kv, rows[i].kv_seq);
	}
}

/* Guesses do not depend on the steps in which a prompt was computed, nor on other sequences in them. _i: who
 * guesses */
START_TEST(guesses_depend_on_the_sequence_alone)
{
	static lmd_token prompts[N_FED][N_ROWS + 1 + N_GUESS];
	struct lmi_engine_opts o = nextn_opts(N_FED, (enum draft)_i);
	lmd_token want[N_FED][N_GUESS] = {0}, have[N_FED][N_GUESS] = {0};
	const uint32_t n_guess = _i == BLOCK ? 3 : N_GUESS, n_round = lmd_rounds(20);
	uint64_t rnd = env.seed;
	struct lmi_inst *inst;
	struct lmd_error err;

	o.inst.n_batch = N_FED * N_ROWS;
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg((_i == LAYER ? lmi_engine_nextn_open(&inst->nextn, inst, LMT_VOCAB, &err)
				   : lmi_engine_nextn_open_file(&inst->nextn, inst, &o.inst, LMT_VOCAB, &err)) ==
			      LMD_OK,
		      "%s", err.text);
	for (uint32_t round = 0; round < n_round; round++) {
		for (uint32_t i = 0; i < N_FED; i++)
			for (uint32_t k = 0; k <= N_ROWS; k++)
				prompts[i][k] = (lmd_token)below(&rnd, 95);
		for (uint32_t i = 0; i < N_FED; i++)
			guess_after(inst, &prompts[i], 1, N_ROWS, n_guess, &want[i]);
		for (uint32_t chunk = 5; chunk <= N_ROWS; chunk *= 2) {
			guess_after(inst, prompts, N_FED, chunk, n_guess, have);
			ck_assert_msg(!memcmp(have, want, sizeof(want)), "round %u, chunks of %u rows",
				      round, chunk);
		}
	}
	lmi_inst_close(inst);
}
END_TEST

/* The first token shifts a prompt that fills the context, and so takes rows away that have just been computed.
 * _i: who guesses */
START_TEST(a_full_prompt_is_shifted)
{
	struct lmi_engine_opts o = nextn_opts(1, (enum draft)_i);
	struct lmi_engine_generate cmd;
	struct lmi_engine *e, *plain;
	struct story have, want;
	lmd_token v[128];

	o.inst.n_ctx = LMD_LEN(v);
	e = story_engine(&o);
	o.inst.draft_path = NULL;
	plain = story_engine(&o);
	for (uint32_t i = 0; i < LMD_LEN(v); i++)
		v[i] = (lmd_token)(i * 7 % 95);
	cmd = story_command(1, v, LMD_LEN(v), 150);
	cmd.shift = true;
	cmd.n_keep = 5;
	cmd.draft = LMI_ENGINE_DRAFT_MODEL;
	cmd.n_draft = 3;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	have = story_generate(e, &cmd);
	cmd.draft = LMI_ENGINE_DRAFT_OFF;
	want = story_generate(plain, &cmd);
	ck_assert_uint_ge(have.last.u.done.n_shift, 2);
	ck_assert_uint_eq(have.n_tokens, want.n_tokens);
	ck_assert_mem_eq(have.tokens, want.tokens, want.n_tokens * sizeof(want.tokens[0]));
	ck_assert_uint_gt(have.last.u.done.n_accepted, 0);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* ---- options ---- */

START_TEST(a_model_without_draft_layers_is_refused)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = NULL;
	struct lmi_engine_info info;
	struct lmd_error err;

	o.inst.draft_path = LMI_ENGINE_DRAFT_OWN;
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "no draft layers") != NULL, "%s", err.text);
	o.inst.draft_path = NULL;
	o.inst.draft_layers = true; /* if it has any */
	e = story_engine(&o);
	lmi_engine_info(e, &info);
	ck_assert_ptr_null(info.draft);
	lmi_engine_fini(e);
	o.inst.path = path;
	e = story_engine(&o);
	lmi_engine_info(e, &info);
	ck_assert_str_eq(info.draft, "nextn");
	lmi_engine_fini(e);
}
END_TEST

/* Writes a copy of a file in which a text stands for another one of the same length. */
static void write_changed(const char *from, const char *to, const char *text, const char *other)
{
	static char v[1 << 20];
	FILE *f = fopen(from, "rb");
	size_t n, found = 0, len = strlen(text);

	ck_assert_ptr_nonnull(f);
	n = fread(v, 1, sizeof(v), f);
	(void)fclose(f);
	ck_assert_uint_lt(n, sizeof(v));
	for (size_t i = 0; i + len <= n; i++) {
		if (memcmp(v + i, text, len) != 0)
			continue;
		memcpy(v + i, other, len);
		found++;
	}
	ck_assert_uint_eq(found, 1);
	f = fopen(to, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(v, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* A draft layer of which a norm is missing cannot be run. Unless it was asked for, the model works as one without, and
 * its plans put out no hidden rows. */
START_TEST(draft_layers_that_cannot_be_run)
{
	struct lmi_engine_opts o = nextn_opts(1, LAYER);
	char broken[320];
	lmd_token v[20];
	struct lmi_engine_generate cmd;
	struct lmi_engine *e = NULL, *plain;
	struct story have, want;
	struct lmd_error err;

	snprintf(broken, sizeof(broken), "%s.broken", path);
	write_changed(path, broken, "nextn.hnorm", "nextn.gnorm");
	o.inst.path = broken;
	ck_assert_int_ne(lmi_engine_open(&e, &o, &err), LMD_OK);
	ck_assert_msg(strstr(err.text, "nextn.hnorm") != NULL, "%s", err.text);
	o.inst.draft_path = NULL;
	o.inst.draft_layers = true;
	e = story_engine(&o);
	ck_assert_ptr_null(e->inst->nextn);
	o = nextn_opts(1, NONE);
	plain = story_engine(&o);
	for (uint32_t i = 0; i < LMD_LEN(v); i++)
		v[i] = (lmd_token)(i * 11 % 95);
	cmd = story_command(1, v, LMD_LEN(v), 30);
	have = story_generate(e, &cmd);
	want = story_generate(plain, &cmd);
	ck_assert_uint_eq(have.n_tokens, want.n_tokens);
	ck_assert_mem_eq(have.tokens, want.tokens, want.n_tokens * sizeof(want.tokens[0]));
	ck_assert_ptr_null(e->inst->slot[0].hidden_rows[0].host);
	ck_assert_uint_eq(e->inst->devices[0].hidden_bytes, 0);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
	(void)remove(broken);
}
END_TEST

/* On several devices, they leave nothing in the account of the values between these. */
START_TEST(dropped_layers_leave_no_links)
{
	struct lmi_engine_opts o = nextn_opts(1, NONE);
	struct lmi_engine *e, *plain;
	char broken[320];

	snprintf(broken, sizeof(broken), "%s.broken", path);
	write_changed(path, broken, "nextn.hnorm", "nextn.gnorm");
	ck_assert_int_eq(setenv("LLAMAD_EMU", "devices=2", 1), 0);
	o.inst.path = broken;
	o.inst.backend = "emu";
	o.inst.device_list = "emu0,emu1";
	plain = story_engine(&o);
	o.inst.draft_layers = true;
	e = story_engine(&o);
	ck_assert_ptr_null(e->inst->nextn);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_uint_gt(plain->inst->devices[i].link_bytes, 0);
		ck_assert_uint_eq(e->inst->devices[i].link_bytes, plain->inst->devices[i].link_bytes);
	}
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
	ck_assert_int_eq(unsetenv("LLAMAD_EMU"), 0);
	(void)remove(broken);
}
END_TEST

/* What the draft layer takes is known before the model is opened. */
START_TEST(the_memory_is_planned)
{
	struct lmi_engine_opts o = nextn_opts(2, LAYER);
	struct lmi_engine_memory with, without;
	struct lmd_error err;
	struct lmi_inst *inst;
	uint32_t n_ctx;

	ck_assert_msg(lmi_engine_estimate(&with, &n_ctx, NULL, &o.inst, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(inst->kv_bytes, with.sequences);
	lmi_inst_close(inst);
	o.inst.draft_path = NULL;
	ck_assert_int_eq(lmi_engine_estimate(&without, &n_ctx, NULL, &o.inst, &err), LMD_OK);
	ck_assert_uint_eq(with.sequences * 3, without.sequences * 4); /* a layer more */
	ck_assert_uint_gt(with.results, without.results);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("draft_nextn");
	TCase *answers = lmd_part(s, "answers", setup, teardown);
	TCase *t = lmd_part(s, "rows", setup, teardown);

	tcase_add_loop_test(answers, the_answers_are_the_same, 0, LMD_LEN(machines));
	tcase_add_test(t, draft_rows_equal_the_formula);
	tcase_add_loop_test(t, guesses_save_steps, LAYER, EAGLE_MAP);
	tcase_add_loop_test(t, guesses_depend_on_the_sequence_alone, LAYER, N_DRAFT);
	tcase_add_loop_test(t, a_full_prompt_is_shifted, LAYER, EAGLE_MAP);
	tcase_add_test(t, a_model_without_draft_layers_is_refused);
	tcase_add_test(t, draft_layers_that_cannot_be_run);
	tcase_add_test(t, dropped_layers_leave_no_links);
	tcase_add_test(t, the_memory_is_planned);
	tcase_add_test(lmd_part(s, "loss", setup, teardown), a_lost_device);
	return lmd_check_run(srunner_create(s));
}
