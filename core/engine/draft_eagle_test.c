/* SPDX-License-Identifier: MIT
 *
 * Draft models that read the hidden rows of their target (EAGLE-3): the streams that the target puts out, and the
 * rows of the draft model after them and after its own, equal a plain implementation of the formulas. Files that
 * do not fit are refused with the reason. */
#include <string.h>

#include "core/engine/draft_nextn_impl.h"
#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "tests/generation_fixture.h"
#include "tests/layer_formula.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_ROW 6
#define N_TAP 3
#define EMBD  ((int)LMT_EMBD)
#define VOCAB ((int)LMT_VOCAB)
#define FF    96

static struct story_env env;
static const char *path, *draft_path;
static const lmd_token tokens[N_ROW] = {40, 69, 76, 76, 79, 11};

static void setup(void)
{
	story_env_init(&env, "draft_eagle");
	path = story_model(&env, LMT_NEXTN);
	draft_path = story_model(&env, LMT_EAGLE3_MAP);
}

static void teardown(void)
{
	story_env_fini(&env);
}

static struct lmi_engine_opts opts(void)
{
	struct lmi_engine_opts o = story_opts(&env, 1);

	o.inst.path = path;
	o.inst.draft_path = draft_path;
	o.inst.n_out = N_ROW;
	return o;
}

/* ---- the formulas ---- */

/* Adds what a layer adds to the stream x of n rows, whose attention reads in[n][width]. */
static void layer(const struct lmi_inst *inst, int il, int n, int n_kv, int width,
		  const double (*in)[2 * LMT_EMBD], double (*x)[LMT_EMBD])
{
	static double k[N_ROW][LMT_EMBD], v[N_ROW][LMT_EMBD];

	for (int r = 0; r < n; r++) {
		double q[LMT_EMBD], o[LMT_EMBD], y[LMT_EMBD];

		formula_product(formula_tensor(inst, "blk.%d.attn_q.weight", il), in[r], EMBD, width, q);
		formula_product(formula_tensor(inst, "blk.%d.attn_k.weight", il), in[r], 16 * n_kv, width, k[r]);
		formula_product(formula_tensor(inst, "blk.%d.attn_v.weight", il), in[r], 16 * n_kv, width, v[r]);
		formula_rotate(q, 4, r, false);
		formula_rotate(k[r], n_kv, r, false);
		formula_attend(q, k[0], v[0], r + 1, n_kv, o);
		formula_product(formula_tensor(inst, "blk.%d.attn_output.weight", il), o, EMBD, EMBD, y);
		for (int i = 0; i < EMBD; i++)
			x[r][i] += y[i];
		formula_ffn(inst, il, EMBD, FF, x[r]);
	}
}

/* The streams of the target that are joined: before layers 0 and 2, and after layer 2. */
static void streams(const struct lmi_inst *inst, double taps[N_ROW][N_TAP * LMT_EMBD])
{
	static double in[N_ROW][2 * LMT_EMBD], x[N_ROW][LMT_EMBD];

	for (int r = 0; r < N_ROW; r++)
		for (int i = 0; i < EMBD; i++)
			x[r][i] = (double)formula_tensor(inst, "token_embd.weight", 0)[tokens[r] * EMBD + i];
	for (int il = 0, tap = 0; il <= 3; il++) {
		for (int r = 0; r < N_ROW && il != 1; r++)
			memcpy(taps[r] + tap * EMBD, x[r], sizeof(x[r]));
		tap += il != 1;
		if (il == 3)
			break;
		for (int r = 0; r < N_ROW; r++)
			formula_rms(x[r], formula_tensor(inst, "blk.%d.attn_norm.weight", il), EMBD, in[r]);
		layer(inst, il, N_ROW, 2, EMBD, (const double(*)[2 * LMT_EMBD])in, x);
	}
}

/* Rows of the draft model for tokens[1 ..]: after g[i], its stream and logits. */
static void draft_rows(const struct lmi_inst *inst, int n, const double (*g)[LMT_EMBD], double (*x)[LMT_EMBD],
		       double (*logits)[LMT_N_MAP])
{
	static double in[N_ROW][2 * LMT_EMBD];

	for (int i = 0; i < n; i++) {
		double e[LMT_EMBD], y[LMT_EMBD];

		for (int c = 0; c < EMBD; c++)
			e[c] = (double)formula_tensor(inst, "token_embd.weight", 0)[tokens[i + 1] * EMBD + c];
		formula_rms(e, formula_tensor(inst, "blk.%d.attn_norm.weight", 0), EMBD, in[i]);
		formula_rms(g[i], formula_tensor(inst, "blk.%d.attn_norm_2.weight", 0), EMBD, y);
		memcpy(in[i] + EMBD, y, sizeof(y));
		memcpy(x[i], g[i], sizeof(y));
	}
	layer(inst, 0, n, 4, 2 * EMBD, (const double(*)[2 * LMT_EMBD])in, x);
	for (int i = 0; i < n; i++) {
		double y[LMT_EMBD];

		formula_rms(x[i], formula_tensor(inst, "output_norm.weight", 0), EMBD, y);
		formula_product(formula_tensor(inst, "output.weight", 0), y, LMT_N_MAP, EMBD, logits[i]);
	}
}

START_TEST(rows_equal_the_formulas)
{
	static double taps[N_ROW][N_TAP * LMT_EMBD], g[N_ROW][LMT_EMBD], x[N_ROW][LMT_EMBD],
		logits[N_ROW][LMT_N_MAP];
	static float hidden[N_ROW][N_TAP * LMT_EMBD], own[LMT_EMBD];
	struct lmi_engine_opts o = opts();
	struct lmi_engine_rows rows = {.n = N_ROW, .n_out = N_ROW, .tokens = tokens};
	struct lmi_engine_nextn *m;
	struct lmi_inst *inst;
	struct lmd_error err;

	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(lmi_inst_hidden_width(inst), N_TAP * EMBD);
	rows.kv_seq = lmi_kv_open(inst->kv);
	ck_assert(lmi_kv_reserve(inst->kv, rows.kv_seq, N_ROW, NULL, 0));
	ck_assert_msg(lmi_engine_step_run(inst, 0, &rows, 1, NULL, &err) == LMD_OK, "%s", err.text);
	lmi_kv_commit(inst->kv, rows.kv_seq, N_ROW);
	memcpy(hidden, inst->slot[0].hidden, sizeof(hidden));
	streams(inst, taps);
	for (int r = 0; r < N_ROW; r++)
		formula_expect_near(hidden[r], taps[r], N_TAP * EMBD, "a hidden row of the target");

	ck_assert_msg(lmi_engine_nextn_open_file(&m, inst, &o.inst, LMT_VOCAB, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_uint_eq(m->n_vocab, LMT_N_MAP);
	for (int i = 0; i < (int)LMT_N_MAP; i++)
		ck_assert_int_eq(m->map[i], i + i / 2);
	for (int i = 0; i < N_ROW - 2; i++)
		formula_product(formula_tensor(m->inst, "fc.weight", 0), taps[i], EMBD, N_TAP * EMBD, g[i]);
	/* four rows after hidden rows of the target, in two steps, and one after the last of them */
	draft_rows(m->inst, N_ROW - 2, (const double(*)[LMT_EMBD])g, x, logits);
	memcpy(g[N_ROW - 2], x[N_ROW - 3], sizeof(g[0]));
	rows = (struct lmi_engine_rows){.kv_seq = lmi_kv_open(m->inst->kv), .tokens = tokens + 1};
	ck_assert(lmi_kv_reserve(m->inst->kv, rows.kv_seq, N_ROW - 1, NULL, 0));
	for (int step = 0; step < 2; step++) {
		rows.first = step ? 3 : 0;
		rows.n = step ? 1 : 3;
		rows.n_out = 1;
		rows.hidden[0] = hidden[rows.first];
		rows.hidden[1] = hidden[rows.first + 1];
		ck_assert_msg(lmi_engine_step_run(m->inst, m->exec, &rows, 1, NULL, &err) == LMD_OK, "%s",
			      err.text);
		formula_expect_near(m->inst->slot[0].out, logits[rows.first + rows.n - 1], LMT_N_MAP,
			    "a row after the target's");
	}
	memcpy(own, m->inst->slot[0].hidden, sizeof(own));
	formula_expect_near(own, x[N_ROW - 3], EMBD, "a hidden row of the draft model");
	draft_rows(m->inst, N_ROW - 1, (const double(*)[LMT_EMBD])g, x, logits);
	rows.first = N_ROW - 2;
	rows.n = 1;
	rows.hidden[0] = own;
	ck_assert_msg(lmi_engine_step_run(m->inst, m->next_exec, &rows, 1, NULL, &err) == LMD_OK, "%s",
		      err.text);
	formula_expect_near(m->inst->slot[0].out, logits[N_ROW - 2], LMT_N_MAP, "a row after its own");
	lmi_engine_nextn_close(m);
	lmi_inst_close(inst);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
	const char *key;
	uint32_t value;
	bool is_flag;
	const char *message;
} unfit[] = {
	{"target_hidden_size", 32, false, "hidden rows of 32 numbers, but those of"},
	{"block_count", 2, false, "2 layers, expected 1"},
	{"norm_before_fc", 1, true, "norm_before_fc"},
};

/* _i: row of unfit */
START_TEST(a_draft_model_that_does_not_fit_is_refused)
{
	const struct lmt_tiny_key keys[] = {{unfit[_i].key,
					     unfit[_i].is_flag ? LMD_META_BOOL : LMD_META_I64,
					     unfit[_i].value},
					    {0}};

	story_expect_unfit(&env, opts(), LMT_EAGLE3, keys, unfit[_i].message);
}
END_TEST

/* A draft model is no model by itself. */
START_TEST(a_draft_model_needs_a_target)
{
	struct lmi_engine_opts o = opts();
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	o.inst.path = draft_path;
	o.inst.draft_path = NULL;
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "a draft for another model") != NULL, "%s", err.text);
}
END_TEST

/* The engine names the draft model, and counts its memory. */
START_TEST(the_draft_model_is_shown)
{
	struct lmi_engine_opts o = opts();
	struct lmi_engine_info with, without;
	struct lmi_engine *e;

	e = story_engine(&o);
	lmi_engine_info(e, &with);
	ck_assert_ptr_nonnull(with.draft);
	ck_assert_str_ne(with.draft, LMI_ENGINE_DRAFT_OWN);
	lmi_engine_fini(e);
	o.inst.draft_path = NULL;
	e = story_engine(&o);
	lmi_engine_info(e, &without);
	ck_assert_ptr_null(without.draft);
	ck_assert_uint_gt(with.kv_bytes, without.kv_bytes);
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("draft_eagle");
	TCase *t = tcase_create("draft_eagle");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, rows_equal_the_formulas);
	tcase_add_loop_test(t, a_draft_model_that_does_not_fit_is_refused, 0, LMD_LEN(unfit));
	tcase_add_test(t, a_draft_model_needs_a_target);
	tcase_add_test(t, the_draft_model_is_shown);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
