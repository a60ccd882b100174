/* SPDX-License-Identifier: MIT
 *
 * Draft models that guess blocks (DFlash): the rows of a block after a context of hidden rows, which was computed in
 * two steps, equal a plain implementation of the formulas. Files that do not fit are refused with the reason.
 * What holds for all drafts is in draft_nextn_test. */
#include <string.h>

#include "core/engine/draft_nextn_impl.h"
#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "tests/generation_fixture.h"
#include "tests/layer_formula.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_ROW	6 /* of the context */
#define N_BLOCK 4
#define N_TAP	3
#define EMBD	((int)LMT_EMBD)
#define VOCAB	((int)LMT_VOCAB)
#define FF	96

static struct story_env env;
static const char *path, *draft_path;
static const lmd_token tokens[N_ROW + 1] = {40, 69, 76, 76, 79, 11, 30};

static void setup(void)
{
	story_env_init(&env, "draft_block");
	path = story_model(&env, LMT_NEXTN);
	draft_path = story_model(&env, LMT_DFLASH);
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

/* The key and value of a layer from a row that is normalised. */
static void key_value(const struct lmi_inst *inst, int il, const double *row, int at, double *k, double *v)
{
	double raw[LMT_EMBD];

	formula_product(formula_tensor(inst, "blk.%d.attn_k.weight", il), row, EMBD, EMBD, raw);
	for (int h = 0; h < 4; h++)
		formula_rms(raw + h * 16, formula_tensor(inst, "blk.%d.attn_k_norm.weight", il), 16, k + h * 16);
	formula_rotate(k, 4, at, true);
	formula_product(formula_tensor(inst, "blk.%d.attn_v.weight", il), row, EMBD, EMBD, v);
}

/* A layer of a block x, after the context rows c. */
static void layer(const struct lmi_inst *inst, int il, const double (*c)[LMT_EMBD], double (*x)[LMT_EMBD])
{
	static double k[N_ROW + N_BLOCK][LMT_EMBD], v[N_ROW + N_BLOCK][LMT_EMBD], in[N_BLOCK][LMT_EMBD];

	for (int r = 0; r < N_ROW; r++)
		key_value(inst, il, c[r], r, k[r], v[r]);
	for (int r = 0; r < N_BLOCK; r++) {
		formula_rms(x[r], formula_tensor(inst, "blk.%d.attn_norm.weight", il), EMBD, in[r]);
		key_value(inst, il, in[r], N_ROW + r, k[N_ROW + r], v[N_ROW + r]);
	}
	for (int r = 0; r < N_BLOCK; r++) {
		double raw[LMT_EMBD], q[LMT_EMBD], o[LMT_EMBD], y[LMT_EMBD];

		formula_product(formula_tensor(inst, "blk.%d.attn_q.weight", il), in[r], EMBD, EMBD, raw);
		for (int h = 0; h < 4; h++)
			formula_rms(raw + h * 16, formula_tensor(inst, "blk.%d.attn_q_norm.weight", il), 16,
				    q + h * 16);
		formula_rotate(q, 4, N_ROW + r, true);
		formula_attend(q, k[0], v[0], N_ROW + N_BLOCK, 4, o);
		formula_product(formula_tensor(inst, "blk.%d.attn_output.weight", il), o, EMBD, EMBD, y);
		for (int i = 0; i < EMBD; i++)
			x[r][i] += y[i];
		formula_ffn(inst, il, EMBD, FF, x[r]);
	}
}

/* Logits of a block after the hidden rows of the target. */
static void block(const struct lmi_inst *inst, const struct lmi_inst *target, const float (*hidden)[N_TAP * LMT_EMBD],
		  double (*logits)[LMT_VOCAB])
{
	static double c[N_ROW][LMT_EMBD], x[N_BLOCK][LMT_EMBD];
	const float *embd = formula_tensor(target, "token_embd.weight", 0);

	for (int r = 0; r < N_ROW; r++) {
		double in[N_TAP * LMT_EMBD], fused[LMT_EMBD];

		for (int i = 0; i < N_TAP * EMBD; i++)
			in[i] = (double)hidden[r][i];
		formula_product(formula_tensor(inst, "fc.weight", 0), in, EMBD, N_TAP * EMBD, fused);
		formula_rms(fused, formula_tensor(inst, "enc.output_norm.weight", 0), EMBD, c[r]);
	}
	for (int r = 0; r < N_BLOCK; r++)
		for (int i = 0; i < EMBD; i++)
			x[r][i] = (double)embd[(r ? LMT_EOS : tokens[N_ROW]) * EMBD + i];
	for (int il = 0; il < 2; il++)
		layer(inst, il, (const double(*)[LMT_EMBD])c, x);
	for (int r = 0; r < N_BLOCK; r++) {
		double y[LMT_EMBD];

		formula_rms(x[r], formula_tensor(inst, "output_norm.weight", 0), EMBD, y);
		formula_product(formula_tensor(target, "output.weight", 0), y, VOCAB, EMBD, logits[r]);
	}
}

START_TEST(rows_equal_the_formulas)
{
	static double want[N_BLOCK][LMT_VOCAB];
	static float hidden[N_ROW][N_TAP * LMT_EMBD];
	lmd_token of_block[N_ROW + N_BLOCK];
	struct lmi_engine_opts o = opts();
	struct lmi_engine_rows rows = {.n = N_ROW, .n_out = N_ROW, .tokens = tokens};
	struct lmi_engine_nextn *m;
	struct lmi_inst *inst;
	struct lmd_error err;

	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	rows.kv_seq = lmi_kv_open(inst->kv);
	ck_assert(lmi_kv_reserve(inst->kv, rows.kv_seq, N_ROW, NULL, 0));
	ck_assert_msg(lmi_engine_step_run(inst, 0, &rows, 1, NULL, &err) == LMD_OK, "%s", err.text);
	lmi_kv_commit(inst->kv, rows.kv_seq, N_ROW);
	memcpy(hidden, inst->slot[0].hidden, sizeof(hidden));
	ck_assert_msg(lmi_engine_nextn_open_file(&m, inst, &o.inst, LMT_VOCAB, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_uint_eq(m->n_block, N_BLOCK);
	ck_assert_int_eq(m->mask, LMT_EOS);
	rows = (struct lmi_engine_rows){.kv_seq = lmi_kv_open(m->inst->kv), .tokens = tokens};
	ck_assert(lmi_kv_reserve(m->inst->kv, rows.kv_seq, N_ROW + N_BLOCK, NULL, 0));
	for (int step = 0; step < 2; step++) {
		rows.first = step ? 4 : 0;
		rows.n = step ? N_ROW - 4 : 4;
		rows.hidden[0] = hidden[rows.first];
		rows.hidden[1] = hidden[rows.first + 1];
		ck_assert_msg(lmi_engine_step_run(m->inst, m->exec, &rows, 1, NULL, &err) == LMD_OK, "%s",
			      err.text);
	}
	for (int i = 0; i < N_ROW + N_BLOCK; i++)
		of_block[i] = i == N_ROW ? tokens[N_ROW] : LMT_EOS;
	rows = (struct lmi_engine_rows){.kv_seq = rows.kv_seq,
					.first = N_ROW,
					.n = N_BLOCK,
					.n_out = N_BLOCK - 1,
					.tokens = of_block};
	ck_assert_msg(lmi_engine_step_run(m->inst, m->next_exec, &rows, 1, NULL, &err) == LMD_OK, "%s",
		      err.text);
	block(m->inst, inst, (const float(*)[N_TAP * LMT_EMBD])hidden, want);
	for (int r = 1; r < N_BLOCK; r++)
		formula_expect_near(m->inst->slot[0].out + (size_t)(r - 1) * LMT_VOCAB, want[r], VOCAB,
				    "a row of a block");
	lmi_engine_nextn_close(m);
	lmi_inst_close(inst);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
	const char *key;
	uint32_t value;
	const char *message;
} unfit[] = {
	{"target_hidden_size", 32, "hidden rows of 32 numbers, but those of"},
	{"mask_token_id", LMT_VOCAB, "mask is token 96"},
	{"block_size", 200, "blocks of 200 tokens"},
	{"block_size", 1, "block_size"},
	{"attention.sliding_window", 8, "layer 0 has a window"},
	{"hyper_connection.count", 2, "hyper_connection.count is not supported"},
};

/* _i: row of unfit */
START_TEST(a_draft_model_that_does_not_fit_is_refused)
{
	const struct lmt_tiny_key keys[] = {{unfit[_i].key, LMD_META_I64, unfit[_i].value}, {0}};
	struct lmi_engine_opts o = opts();

	o.inst.n_batch = 100;
	story_expect_unfit(&env, o, LMT_DFLASH, keys, unfit[_i].message);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("draft_block");
	TCase *t = tcase_create("draft_block");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, rows_equal_the_formulas);
	tcase_add_loop_test(t, a_draft_model_that_does_not_fit_is_refused, 0, LMD_LEN(unfit));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
