/* SPDX-License-Identifier: MIT
 *
 * Pictures between tokens. The laws: rows that equal the embeddings of tokens give the bits of those
 * tokens on every backend and kind of model; a prompt in pieces, or beside others, gives the bits of the
 * whole one alone; rows of a picture whose rows see each other depend on all of them and on nothing after
 * it; the prefix cache tells pictures apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/picture.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_PROMPT 90
#define FIRST	 37 /* of the first picture */
#define N_ROW	 24
#define SECOND	 70

static struct story_env env;
static char paths[LMT_N_TINY][256];
static lmd_token prompt[N_PROMPT];
static float noise[2][N_ROW * LMT_EMBD];

static const char *const backends[] = {"ref", "cpu", "emu"};

static void setup(void)
{
	uint64_t rnd;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	story_env_init(&env, "picture");
	rnd = env.seed;
	for (int k = 0; k < LMT_N_TINY; k++) {
		snprintf(paths[k], sizeof(paths[k]), "%s/core/engine/picture.%d.%d.gguf",
			 lmd_build_dir(), k, (int)getpid());
		lmt_tiny_write((enum lmt_tiny)k, env.seed, paths[k]);
	}
	for (uint32_t i = 0; i < N_PROMPT; i++)
		prompt[i] = (lmd_token)(lmd_rand(&rnd) % 95);
	for (uint32_t i = 0; i < 2 * LMD_LEN(noise[0]); i++)
		noise[i / LMD_LEN(noise[0])][i % LMD_LEN(noise[0])] = (float)(lmd_rand(&rnd) % 2001) / 1000.0f - 1.0f;
}

static void teardown(void)
{
	for (int k = 0; k < LMT_N_TINY; k++)
		(void)remove(paths[k]);
	story_env_fini(&env);
}

static struct lmi_engine *open_kind(enum lmt_tiny kind, const char *backend, uint32_t n_batch)
{
	struct lmi_engine_opts o = lmt_opts(&env.env, paths[kind]);

	o.inst.backend = backend;
	o.inst.n_seq = 3;
	o.inst.n_batch = n_batch;
	return story_engine(&o);
}

static struct lmi_engine_input_seq with_pictures(const struct lmi_engine_picture *p, uint32_t n)
{
	struct lmi_engine_input_seq q = lmt_tokens(prompt, N_PROMPT);

	q.pictures = p;
	q.n_pictures = n;
	return q;
}

static struct lmi_engine_picture noise_at(uint32_t first, int which, bool both_ways)
{
	return (struct lmi_engine_picture){.first = first,
					   .n = which ? N_ROW / 2 : N_ROW,
					   .rows = noise[which],
					   .width = LMT_EMBD,
					   .both_ways = both_ways};
}

static struct lmt_rows eval(struct lmi_engine *e, const struct lmi_engine_input_seq *q, uint32_t n,
			    uint32_t chunk)
{
	const struct lmi_engine_eval cmd = {.id = 1,
					    .seqs = q,
					    .n_seq = n,
					    .want = LMI_ENGINE_WANT_LOGITS,
					    .pooling = LMD_POOL_UNSET,
					    .chunk = chunk};
	struct lmt_rows r = {0};
	struct lmd_error err;

	ck_assert_msg(lmt_eval(e, &cmd, &r, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(r.n_row, n * N_PROMPT);
	return r;
}

static bool same_rows(const struct lmt_rows *a, const struct lmt_rows *b, uint32_t from, uint32_t to)
{
	return !memcmp(a->v + (size_t)from * a->width, b->v + (size_t)from * b->width,
		       (size_t)(to - from) * a->width * sizeof(float));
}

/* The factor that the architecture applies to the embeddings of tokens. */
static float scale_of(enum lmt_tiny kind)
{
	return kind == LMT_SANDWICH ? 8.0f : 1.0f; /* the root of LMT_EMBD */
}

static void copy_embeddings(struct lmi_engine *e, enum lmt_tiny kind, const lmd_token *v, uint32_t n,
			    float *out)
{
	struct lmi_engine_info info;
	const struct lmd_tensor *t = NULL;

	lmi_engine_info(e, &info);
	for (uint32_t i = 0; i < info.file->n_tensors; i++)
		if (!strcmp(info.file->tensors[i].name, "token_embd.weight"))
			t = &info.file->tensors[i];
	ck_assert(t && t->dtype == LMD_DTYPE_F32 && t->data);
	for (uint32_t i = 0; i < n * LMT_EMBD; i++)
		out[i] = ((const float *)t->data)[(size_t)v[i / LMT_EMBD] * LMT_EMBD + i % LMT_EMBD] *
			 scale_of(kind);
}

/* _i: kind of model, and backend */
START_TEST(rows_of_tokens_have_their_bits)
{
	enum lmt_tiny kind = (enum lmt_tiny)(_i % LMT_N_TINY);
	struct lmi_engine *e = open_kind(kind, backends[_i / LMT_N_TINY], 0);
	const struct lmi_engine_input_seq plain = lmt_tokens(prompt, N_PROMPT);
	static float rows[2][N_ROW * LMT_EMBD];
	const struct lmi_engine_picture p[] = {
		{.first = FIRST, .n = N_ROW, .rows = rows[0], .width = LMT_EMBD},
		{.first = SECOND, .n = 5, .rows = rows[1], .width = LMT_EMBD}};
	const struct lmi_engine_input_seq q = with_pictures(p, 2);
	struct lmt_rows a, b;

	copy_embeddings(e, kind, prompt + FIRST, N_ROW, rows[0]);
	copy_embeddings(e, kind, prompt + SECOND, 5, rows[1]);
	a = eval(e, &plain, 1, 0);
	b = eval(e, &q, 1, 0);
	ck_assert(same_rows(&a, &b, 0, N_PROMPT));
	lmi_free(b.v);
	b = eval(e, &q, 1, 7);
	ck_assert(same_rows(&a, &b, 0, N_PROMPT));
	lmi_free(a.v);
	lmi_free(b.v);
	lmi_engine_fini(e);
}
END_TEST

/* Pieces and neighbours change nothing. _i: backend, and whether rows see each other */
START_TEST(pieces_and_neighbours)
{
	const char *backend = backends[_i / 2];
	struct lmi_engine *e = open_kind(LMT_FULL, backend, 256),
			  *small = open_kind(LMT_FULL, backend, N_ROW + 2);
	const struct lmi_engine_picture p[] = {noise_at(FIRST, 0, _i % 2), noise_at(SECOND, 1, _i % 2)};
	struct lmi_engine_input_seq q[3] = {with_pictures(p, 2), lmt_tokens(prompt, N_PROMPT),
					    with_pictures(p, 1)};
	struct lmt_rows alone[3], all = eval(e, q, 3, 0);

	for (uint32_t i = 0; i < 3; i++) {
		struct lmt_rows part = {all.v + (size_t)i * N_PROMPT * all.width, N_PROMPT, all.width, 0},
				pieces = eval(small, &q[i], 1, i ? 0 : 5);

		alone[i] = eval(e, &q[i], 1, 0);
		ck_assert(same_rows(&alone[i], &part, 0, N_PROMPT));
		ck_assert(same_rows(&alone[i], &pieces, 0, N_PROMPT));
		ck_assert_uint_ge(pieces.n_step, i ? 4 : 10);
		lmi_free(pieces.v);
	}
	/* a picture changes its own rows and those after it */
	ck_assert(same_rows(&alone[0], &alone[1], 0, FIRST));
	for (uint32_t i = FIRST; i < N_PROMPT; i++)
		ck_assert(!same_rows(&alone[0], &alone[1], i, i + 1));
	ck_assert(same_rows(&alone[0], &alone[2], 0, SECOND));
	for (uint32_t i = 0; i < 3; i++)
		lmi_free(alone[i].v);
	lmi_free(all.v);
	lmi_engine_fini(small);
	lmi_engine_fini(e);
}
END_TEST

/* The last row of a picture changes the first one exactly if its rows see each other. _i: kind of model,
 * with full attention or with windows */
START_TEST(rows_see_each_other)
{
	static const enum lmt_tiny kinds[] = {LMT_FULL, LMT_SANDWICH};
	struct lmi_engine *e = open_kind(kinds[_i], "ref", 0);
	static float other[N_ROW * LMT_EMBD];

	memcpy(other, noise[0], sizeof(other));
	other[N_ROW * LMT_EMBD - 1] += 0.5f;
	for (int both = 0; both < 2; both++) {
		struct lmi_engine_picture p = noise_at(FIRST, 0, both), x = p;
		struct lmi_engine_input_seq q = with_pictures(&p, 1);
		struct lmt_rows a = eval(e, &q, 1, 0), b;

		x.rows = other;
		q = with_pictures(&x, 1);
		b = eval(e, &q, 1, 0);
		ck_assert(same_rows(&a, &b, 0, FIRST));
		for (uint32_t i = FIRST; i < FIRST + N_ROW - 1; i++)
			ck_assert_int_eq(same_rows(&a, &b, i, i + 1), !both);
		ck_assert(!same_rows(&a, &b, FIRST + N_ROW - 1, FIRST + N_ROW));
		lmi_free(a.v);
		lmi_free(b.v);
	}
	lmi_engine_fini(e);
}
END_TEST

/* Generations: the second one finds all rows of the same picture, and none of another one; guesses from the
 * prompt change no token. */
START_TEST(generations_and_the_prefix_cache)
{
	struct lmi_engine_opts o = story_opts(&env, 2), plain = o;
	struct lmi_engine *e = story_engine(&o), *uncached;
	struct lmi_engine_picture p = noise_at(FIRST, 0, _i), other = p;
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 30);
	static float changed[N_ROW * LMT_EMBD];
	struct story want, s;

	plain.inst.no_prefix_cache = true;
	uncached = story_engine(&plain);
	memcpy(changed, noise[0], sizeof(changed));
	changed[N_ROW * LMT_EMBD - 1] += 0.5f;
	other.rows = changed;
	cmd.seq = with_pictures(&p, 1);
	want = story_generate(uncached, &cmd);
	ck_assert_uint_eq(want.n_tokens, 30);
	s = story_generate(e, &cmd);
	ck_assert_str_eq(s.text, want.text);
	s = story_generate(e, &cmd);
	ck_assert_str_eq(s.text, want.text);
	ck_assert_uint_eq(s.last.u.done.n_cached, N_PROMPT - 1);
	ck_assert_uint_eq(s.last.u.done.n_prompt, N_PROMPT);
	cmd.seq = with_pictures(&other, 1);
	s = story_generate(e, &cmd);
	ck_assert_uint_eq(s.last.u.done.n_cached, FIRST);
	ck_assert_uint_eq(s.last.u.done.broke_at, FIRST);
	cmd.seq = with_pictures(&p, 1);
	cmd.draft = LMI_ENGINE_DRAFT_LOOKUP;
	cmd.n_draft = 4;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	s = story_generate(uncached, &cmd);
	ck_assert_str_eq(s.text, want.text);
	lmi_engine_fini(uncached);
	lmi_engine_fini(e);
}
END_TEST

/* A map of 3 columns and 2 lines (arXiv 2409.12191): what follows begins after the largest position. */
START_TEST(positions)
{
	static const int32_t want[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, 2, 3}, {2, 2, 4},
					  {2, 3, 2}, {2, 3, 3}, {2, 3, 4}, {5, 5, 5}, {6, 6, 6},
					  {7, 7, 7}, {7, 8, 7}, {9, 9, 9}};
	const struct lmi_engine_seq_picture v[] = {{.first = 2, .n = 6, .grid_w = 3, .grid_h = 2},
						   {.first = 9, .n = 1},
						   {.first = 10, .n = 2, .grid_w = 1, .grid_h = 2}};
	int32_t pos[4];

	for (uint32_t row = 0; row < LMD_LEN(want); row++) {
		lmi_engine_picture_positions(v, LMD_LEN(v), row, pos);
		for (int k = 0; k < 3; k++)
			ck_assert_int_eq(pos[k], want[row][k]);
		ck_assert_ptr_eq(lmi_engine_picture_at(v, LMD_LEN(v), row),
				 row >= 2 && row < 8 ? &v[0] : row == 9 ? &v[1]
				 : row == 10 || row == 11	? &v[2]
								: NULL);
	}
}
END_TEST

static void refuse(struct lmi_engine *e, const struct lmi_engine_input_seq *q, const char *text)
{
	const struct lmi_engine_eval cmd = {.id = 1, .seqs = q, .n_seq = 1, .pooling = LMD_POOL_UNSET};
	struct lmd_error err;

	ck_assert_int_ne(lmi_engine_eval(e, &cmd, &err), LMD_OK);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' lacks '%s'", err.text, text);
}

START_TEST(refusals)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_picture p = noise_at(FIRST, 0, false), two[2];
	struct lmi_engine_input_seq q = with_pictures(&p, 1);
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 4);
	struct lmd_error err;

	p.width = 3;
	refuse(e, &q, "picture 0 has rows of 3 numbers, but the model takes 64");
	p = noise_at(N_PROMPT - 1, 0, false);
	refuse(e, &q, "picture 0 has 24 rows from 89 on, must lie in [0, 90)");
	p = noise_at(FIRST, 0, false);
	p.grid_w = 5;
	refuse(e, &q, "24 rows in a grid of 5 x 0");
	two[0] = two[1] = noise_at(FIRST, 0, false);
	q = with_pictures(two, 2);
	refuse(e, &q, "picture 1 has 24 rows from 37 on, must lie in [61, 90)");
	p = noise_at(FIRST, 0, false);
	cmd.seq = with_pictures(&p, 1);
	cmd.flags |= LMI_ENGINE_GEN_RESUMABLE;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_UNSUPPORTED);
	ck_assert_str_eq(err.text, "durable: not together with pictures");
	for (uint32_t i = 0; i < 2; i++) { /* which has the picture */
		struct lmi_engine_input_seq pair[2] = {q, q};
		const struct lmi_engine_eval fork = {
			.id = 1, .seqs = pair, .n_seq = 2, .pooling = LMD_POOL_UNSET};
		struct lmt_rows r;

		p = noise_at(FIRST, 0, false);
		pair[i] = with_pictures(&p, 1);
		pair[1 - i].n_pictures = 0;
		pair[0].fork_of = LMI_ENGINE_NO_FORK;
		pair[1].fork_of = 0;
		pair[1].fork_at = N_PROMPT - 1;
		ck_assert_int_eq(lmt_eval(e, &fork, &r, &err), LMD_UNSUPPORTED);
		ck_assert_str_eq(err.text,
				 "sequence 1 cannot fork from sequence 0: one of them has pictures");
	}
	lmi_engine_fini(e);
	e = open_kind(LMT_FULL, "ref", N_ROW + 1); /* beside two other sequences there is no room */
	p = noise_at(FIRST, 0, true);
	q = with_pictures(&p, 1);
	{
		const struct lmi_engine_eval eval_cmd = {
			.id = 1, .seqs = &q, .n_seq = 1, .pooling = LMD_POOL_UNSET};
		struct lmt_rows r;

		ck_assert_int_eq(lmt_eval(e, &eval_cmd, &r, &err), LMD_INVALID);
		ck_assert_msg(strstr(err.text, "24 rows that see each other") != NULL, "%s", err.text);
	}
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pictures");
	TCase *t = tcase_create("pictures");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, rows_of_tokens_have_their_bits, 0, 3 * LMT_N_TINY);
	tcase_add_loop_test(t, pieces_and_neighbours, 0, 6);
	tcase_add_loop_test(t, rows_see_each_other, 0, 2);
	tcase_add_loop_test(t, generations_and_the_prefix_cache, 0, 2);
	tcase_add_test(t, positions);
	tcase_add_test(t, refusals);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
