/* SPDX-License-Identifier: MIT
 *
 * Vision towers: their rows against those of Hugging Face transformers, for each projector and backend; a
 * generation from patches has the tokens of one from these rows; kept rows; what does not fit; lost workers. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "core/engine/engine_impl.h"
#include "core/engine/tower.h"
#include "core/engine/tower_check.h"
#include "core/worker/worker.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/pictures/expected.gen.h"
#include "tests/tiny_model.h"
#include "tests/tiny_tower.h"

#define N_PROMPT 60
#define FIRST	 7

static struct story_env env;
static char paths[LMT_N_TOWER][256];

static const char *const backends[] = {"ref", "cpu", "emu"};

static const struct {
	uint32_t w, h, merge, n_row; /* patches of the test picture */
	const float (*rows)[EXPECTED_COLUMNS];
} cases[LMT_N_TOWER] = {
	[LMT_TOWER_IDEFICS3] = {4, 4, 2, LMD_LEN(expected_idefics3), expected_idefics3},
	[LMT_TOWER_MLP] = {4, 4, 1, LMD_LEN(expected_mlp), expected_mlp},
	[LMT_TOWER_GEMMA3] = {8, 8, 4, LMD_LEN(expected_gemma3), expected_gemma3},
	[LMT_TOWER_QWEN2VL] = {6, 4, 2, LMD_LEN(expected_qwen2vl), expected_qwen2vl},
};

static void setup(void)
{
	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	story_env_init(&env, "tower");
	for (int k = 0; k < LMT_N_TOWER; k++) {
		snprintf(paths[k], sizeof(paths[k]), "%s/core/engine/tower.%d.%d.gguf", lmd_build_dir(), k,
			 (int)getpid());
		lmt_tower_write((enum lmt_tower)k, paths[k]);
	}
}

static void teardown(void)
{
	for (int k = 0; k < LMT_N_TOWER; k++)
		(void)remove(paths[k]);
	story_env_fini(&env);
}

static struct lmi_engine *open_with(int tower, const char *backend)
{
	struct lmi_engine_opts o = story_opts(&env, 2);

	o.inst.backend = backend;
	o.inst.mmproj_path = tower < 0 ? NULL : paths[tower];
	return story_engine(&o);
}

/* The patches of the test picture in the order of their blocks; free with lmi_free. */
static uint8_t *patches_of(int k)
{
	const uint32_t side = LMT_TOWER_PATCH, w = cases[k].w, h = cases[k].h, m = cases[k].merge;
	uint8_t *v = lmi_alloc((size_t)w * h, 3 * side * side), *to = v;

	for (uint32_t by = 0; by < h / m; by++)
		for (uint32_t bx = 0; bx < w / m; bx++)
			for (uint32_t i = 0; i < m * m; i++)
				for (uint32_t c = 0; c < 3; c++)
					for (uint32_t p = 0; p < side * side; p++) {
						uint32_t y = (by * m + i / m) * side + p / side;
						uint32_t x = (bx * m + i % m) * side + p % side;

						*to++ = lmt_tower_pixel(((size_t)c * h * side + y) * w * side + x);
					}
	return v;
}

static struct lmi_engine_picture picture_of(struct lmi_engine *e, int k, const uint8_t *patches)
{
	const struct lmd_picture *how = lmi_engine_picture(e);
	bool grid = how->flags & LMD_PICTURE_GRID;

	return (struct lmi_engine_picture){
		.first = FIRST,
		.n = lmi_engine_picture_rows(e, cases[k].w, cases[k].h),
		.patches = patches,
		.patches_w = cases[k].w,
		.patches_h = cases[k].h,
		.grid_w = grid ? cases[k].w / cases[k].merge : 0,
		.grid_h = grid ? cases[k].h / cases[k].merge : 0,
		.both_ways = how->flags & LMD_PICTURE_BOTH_WAYS};
}

/* The tower's rows for a tenant from the picture, or from one that is inverted; free with lmi_free. */
static float *rows_for(struct lmi_engine *e, int k, uint64_t tenant, bool inverted)
{
	struct lmi_engine_seq_picture p = {.n = lmi_engine_picture_rows(e, cases[k].w, cases[k].h),
					   .patches = patches_of(k),
					   .patches_w = cases[k].w,
					   .patches_h = cases[k].h};
	struct lmd_error err;

	for (uint32_t i = 0; inverted && i < p.patches_w * p.patches_h * 3 * LMT_TOWER_PATCH * LMT_TOWER_PATCH; i++)
		p.patches[i] ^= 255;
	p.digest[0] = (uint8_t)k;
	ck_assert_uint_eq(p.n, cases[k].n_row);
	ck_assert_msg(lmi_engine_tower_run(e->inst->tower, tenant, &p, NULL, &err) == LMD_OK, "%s", err.text);
	ck_assert_ptr_null(p.patches);
	return p.rows;
}

static float *rows_of(struct lmi_engine *e, int k)
{
	return rows_for(e, k, 0, false);
}

/* _i: projector and backend */
START_TEST(rows_are_those_of_transformers)
{
	int k = _i % LMT_N_TOWER;
	struct lmi_engine *e = open_with(k, backends[_i / LMT_N_TOWER]);
	float *rows = rows_of(e, k), most = 0, worst = 0;

	for (uint32_t i = 0; i < cases[k].n_row; i++)
		for (uint32_t c = 0; c < EXPECTED_COLUMNS; c++) {
			float want = cases[k].rows[i][c];

			most = fmaxf(most, fabsf(want));
			worst = fmaxf(worst, fabsf(rows[i * LMT_EMBD + c] - want));
		}
	/* both compute in f32, in different orders */
	ck_assert_msg(worst <= 2e-5f * most, "%s on %s: off by %g of %g", lmt_tower_name((enum lmt_tower)k),
		      backends[_i / LMT_N_TOWER], (double)worst, (double)most);
	lmi_free(rows);
	lmi_engine_fini(e);
}
END_TEST

/* A generation from patches, twice, and one from the rows. _i: projector and backend */
START_TEST(patches_give_the_tokens_of_their_rows)
{
	int k = _i % LMT_N_TOWER;
	struct lmi_engine *e = open_with(k, backends[_i / LMT_N_TOWER]),
			  *plain = open_with(-1, backends[_i / LMT_N_TOWER]);
	uint8_t *patches = patches_of(k);
	float *rows = rows_of(e, k);
	struct lmi_engine_picture p = picture_of(e, k, patches);
	lmd_token prompt[N_PROMPT];
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 20);
	struct story want, s[3] = {0};
	uint64_t rnd = env.seed;

	for (uint32_t i = 0; i < N_PROMPT; i++)
		prompt[i] = (lmd_token)(lmd_rand(&rnd) % 95);
	cmd.seq.pictures = &p;
	cmd.seq.n_pictures = 1;
	for (uint64_t i = 1; i <= 2; i++) {
		cmd.id = i;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	}
	/* one without a picture is not held up */
	cmd.id = 3;
	cmd.seq.n_pictures = 0;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	story_run(e, s, 3);
	cmd.id = 1;
	want = story_generate(plain, &cmd);
	ck_assert_str_eq(s[2].text, want.text);
	cmd.seq.n_pictures = 1;
	p.patches = NULL;
	p.rows = rows;
	p.width = LMT_EMBD;
	want = story_generate(plain, &cmd);
	ck_assert_str_eq(s[0].text, want.text);
	ck_assert_str_eq(s[1].text, want.text);
	ck_assert_str_ne(s[2].text, want.text);
	ck_assert_uint_eq(s[0].n_tokens, 20);
	lmi_free(rows);
	lmi_free(patches);
	lmi_engine_fini(plain);
	lmi_engine_fini(e);
}
END_TEST

/* Another picture under the digest of one shows whether its rows were kept. */
START_TEST(rows_are_kept_for_a_tenant)
{
	struct lmi_engine *e = open_with(LMT_TOWER_MLP, "ref");
	float *first = rows_for(e, LMT_TOWER_MLP, 1, false), *kept = rows_for(e, LMT_TOWER_MLP, 1, true),
	      *other = rows_for(e, LMT_TOWER_MLP, 2, true);
	size_t n = cases[LMT_TOWER_MLP].n_row * lmi_engine_tower_inst(e->inst->tower)->desc.n_embd_out *
		   sizeof(*first);

	ck_assert_mem_eq(kept, first, n);
	ck_assert_mem_ne(other, first, n);
	lmi_free(first);
	lmi_free(kept);
	lmi_free(other);
	lmi_engine_fini(e);
}
END_TEST

/* A generation is cancelled, and the engine stopped, while it waits for the tower. */
START_TEST(ends_while_it_waits)
{
	struct lmi_engine *e = open_with(LMT_TOWER_MLP, "ref");
	uint8_t *patches = patches_of(LMT_TOWER_MLP);
	struct lmi_engine_picture p[2] = {picture_of(e, LMT_TOWER_MLP, patches)};
	lmd_token prompt[N_PROMPT] = {0};
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 20);
	struct story s[2] = {0};
	struct lmi_engine_event ev;

	p[1] = p[0];
	p[1].first += p[0].n + 3;
	cmd.seq.pictures = p;
	cmd.seq.n_pictures = 2;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN); /* the first picture */
	ck_assert_int_eq(lmi_engine_pause(e, 1, true), LMD_OK);
	ck_assert_int_eq(lmi_engine_cancel(e, 1), LMD_OK);
	cmd.id = 2;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
	while (lmi_engine_poll(e, &ev))
		story_tell(&s[ev.id - 1], &ev);
	ck_assert_int_eq(s[0].end, LMI_ENGINE_EV_CANCELLED);
	lmi_engine_stop(e);
	while (lmi_engine_poll(e, &ev))
		story_tell(&s[ev.id - 1], &ev);
	ck_assert_int_eq(s[1].end, LMI_ENGINE_EV_CANCELLED);
	lmi_free(patches);
	lmi_engine_fini(e);
}
END_TEST

/* Is the picture of a generation still to be computed? */
static bool looks(const struct lmi_engine *e, uint64_t id)
{
	for (const struct lmi_engine_job *s = e->sessions; s; s = s->next)
		if (s->id == id)
			return s->looks;
	return false;
}

/* Clients take turns at the tower, and what somebody waits for comes before batch work. */
START_TEST(clients_take_turns)
{
	static const struct {
		uint64_t client;
		enum lmi_engine_class class;
		uint32_t turn; /* in which its picture is computed */
	} g[] = {{1, LMI_ENGINE_CLASS_NORMAL, 2},
		 {1, LMI_ENGINE_CLASS_NORMAL, 4},
		 {1, LMI_ENGINE_CLASS_NORMAL, 5},
		 {2, LMI_ENGINE_CLASS_BATCH, 3},
		 {3, LMI_ENGINE_CLASS_INTERACTIVE, 1}};
	struct lmi_engine *e = open_with(LMT_TOWER_MLP, "ref");
	uint8_t *patches = patches_of(LMT_TOWER_MLP);
	struct lmi_engine_picture p = picture_of(e, LMT_TOWER_MLP, patches);
	lmd_token prompt[N_PROMPT] = {0};

	for (uint32_t i = 0; i < LMD_LEN(g); i++) {
		struct lmi_engine_generate cmd = story_command(i + 1, prompt, N_PROMPT, 4);

		cmd.seq.pictures = &p;
		cmd.seq.n_pictures = 1;
		cmd.client = g[i].client;
		cmd.class = g[i].class;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	}
	for (uint32_t turn = 1; turn <= LMD_LEN(g); turn++) {
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
		for (uint32_t i = 0; i < LMD_LEN(g); i++)
			ck_assert_msg(looks(e, i + 1) == (g[i].turn > turn), "turn %u, generation %u", turn, i);
	}
	lmi_free(patches);
	lmi_engine_fini(e);
}
END_TEST

/* Each process of an isolated model with a tower that ends while it has nothing to do breaks the engine.
 * _i: the tower's */
START_TEST(the_end_of_a_worker_is_noticed)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e;
	struct lmd_error err;
	struct pollfd p;

	o.in_line = false;
	o.inst.backend = "ref";
	o.inst.mmproj_path = paths[LMT_TOWER_MLP];
	o.inst.label = "tiny";
	o.inst.isolated = true;
	e = story_engine(&o);
	p = (struct pollfd){.fd = lmi_engine_fd(e), .events = POLLIN};
	ck_assert_int_eq(
		kill(lmi_worker_pid((_i ? lmi_engine_tower_inst(e->inst->tower) : e->inst)->devices[0].state),
		     SIGKILL),
		0);
	while (!lmi_engine_is_broken(e, &err)) {
		ck_assert_int_eq(poll(&p, 1, 60000), 1);
		lmi_engine_clear_fd(e);
	}
	ck_assert_msg(strstr(err.text, _i ? "device ref0@tiny-mmproj was lost" : "device ref0@tiny was lost"),
		      "%s", err.text);
	lmi_engine_fini(e);
}
END_TEST

static void refuse_open(const char *mmproj, enum lmt_tiny kind, const char *text)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = NULL;
	struct lmd_error err;
	char path[300];

	snprintf(path, sizeof(path), "%s.%d", env.path, (int)kind);
	lmt_tiny_write(kind, env.seed, path);
	o.inst.path = path;
	o.inst.mmproj_path = mmproj;
	o.no_tokenizer = true;
	ck_assert_int_ne(lmi_engine_open(&e, &o, &err), LMD_OK);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' lacks '%s'", err.text, text);
	(void)remove(path);
}

START_TEST(refusals)
{
	struct lmi_engine *plain = open_with(-1, "ref"), *e = open_with(LMT_TOWER_IDEFICS3, "ref");
	uint8_t *patches = patches_of(LMT_TOWER_IDEFICS3);
	struct lmi_engine_picture p = picture_of(e, LMT_TOWER_IDEFICS3, patches);
	lmd_token prompt[N_PROMPT] = {0};
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 4);
	struct lmd_error err;

	cmd.seq.pictures = &p;
	cmd.seq.n_pictures = 1;
	ck_assert_int_eq(lmi_engine_generate(plain, &cmd, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "has no vision tower (mmproj)") != NULL, "%s", err.text);
	p.n++;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "picture 0 of 4 x 4 patches has 5 rows, but the tower makes 4");
	ck_assert_uint_eq(lmi_engine_picture_rows(e, 3, 4), 0);
	ck_assert_uint_eq(lmi_engine_picture_rows(e, 8, 8), 0);
	ck_assert_ptr_null(lmi_engine_picture(plain));
	lmi_free(patches);
	lmi_engine_fini(plain);
	lmi_engine_fini(e);
	refuse_open(env.path, LMT_FULL, "architecture llama is not a vision tower");
	refuse_open("/nowhere.gguf", LMT_FULL, "mmproj /nowhere.gguf: ");
}
END_TEST

static void check_file(const char *path, const struct lmi_model *model, enum lmd_status want, const char *text)
{
	struct lmd_error err = {0};

	ck_assert_msg(lmi_engine_tower_check(path, lmi_model_view(model), env.env.registry, &err) == want, "%s: %s", path,
		      err.text);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' lacks '%s'", err.text, text);
}

/* A file that only has the name of a tower is recognised by its header. */
START_TEST(files_beside_models)
{
	static const struct lmt_tiny_key wide[] = {{"embedding_length", LMD_META_I64, 2 * LMT_EMBD}, {0}};
	struct lmi_model *model, *other;
	char path[300];

	ck_assert_int_eq(lmi_model_open(&model, env.path, LMI_OPEN_HEADER_ONLY, NULL), LMD_OK);
	for (int k = 0; k < LMT_N_TOWER; k++)
		check_file(paths[k], model, LMD_OK, "");
	check_file(env.path, model, LMD_UNSUPPORTED, "architecture llama is not a vision tower");
	check_file("/nowhere.gguf", model, LMD_NOTFOUND, "/nowhere.gguf");
	snprintf(path, sizeof(path), "%s.wide", env.path);
	lmt_tiny_keys = wide;
	lmt_tiny_write(LMT_FULL, env.seed, path);
	lmt_tiny_keys = NULL;
	ck_assert_int_eq(lmi_model_open(&other, path, LMI_OPEN_HEADER_ONLY, NULL), LMD_OK);
	check_file(paths[0], other, LMD_UNSUPPORTED,
		   "it makes rows of 64 numbers, but the model takes 128: it belongs to another model");
	lmi_model_close(other);
	(void)remove(path);
	lmi_model_close(model);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("vision towers");
	TCase *t = tcase_create("vision towers");
	int status;

	if (lmi_worker_main_if_asked(argc, argv, &status))
		return status;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, rows_are_those_of_transformers, 0, 3 * LMT_N_TOWER);
	tcase_add_loop_test(t, patches_give_the_tokens_of_their_rows, 0, 3 * LMT_N_TOWER);
	tcase_add_test(t, rows_are_kept_for_a_tenant);
	tcase_add_test(t, ends_while_it_waits);
	tcase_add_test(t, clients_take_turns);
	tcase_add_loop_test(t, the_end_of_a_worker_is_noticed, 0, 2);
	tcase_add_test(t, refusals);
	tcase_add_test(t, files_beside_models);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
