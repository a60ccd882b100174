/* SPDX-License-Identifier: MIT
 *
 * Tests the reference backend against the formulas in double (naive_test.h), and fused ops against
 * their decomposition.  Also tests invalid steps, cancellation and running out of memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/team.h"
#include "core/conformance/tensor_cache.h"
#include "core/plugin/host_services.h"
#include "plugins/backend/ref/naive_test.h"
#include "tests/lmd_check.h"

#define SEED 20

struct fixture {
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	const struct lmi_factory *factory;
	uint64_t seed;
	struct oc_tensor_cache *tensor_cache;
};
static struct fixture fx;

static void setup(void)
{
	static char dir[4096];
	static const char *const dirs[] = {dir};
	struct lmd_error err = {.text = ""};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true};

	snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	ck_assert_int_eq(lmi_host_create(&fx.host, UINT64_MAX), LMD_OK);
	opts.host = fx.host;
	ck_assert_int_eq(lmi_plugin_registry_create(&fx.registry, &opts, &err), LMD_OK);
	ck_assert_msg(lmi_factory_take(fx.registry, LMD_KIND_BACKEND, "ref", &fx.factory, &err) ==
			      LMD_OK,
		      "%s", err.text);
	fx.seed = lmd_seed("ref", SEED);
	fx.tensor_cache = oc_tensor_cache_create(64u << 20);
}

static void teardown(void)
{
	oc_tensor_cache_destroy(fx.tensor_cache);
	lmi_factory_give(fx.registry, fx.factory);
	lmi_plugin_registry_destroy(fx.registry);
	lmi_host_destroy(fx.host);
}

static void open_ref(struct oc_backend *be, const struct lmd_host *host, struct lmd_team *team,
		     uint32_t activations)
{
	struct lmd_error err = {.text = ""};

	ck_assert_msg(oc_backend_open(be, fx.factory, 0, host, team, activations, &err) == LMD_OK,
		      "%s", err.text);
}

/* ---- all cases ---- */

struct tally {
	uint32_t passed, failed;
};

/* A comparison: run(arg, case, layout, a, b) makes both results. */
typedef void (*pair_fn)(void *arg, const struct opcase *def, const struct oc_layout *layout,
			struct oc_result *a, struct oc_result *b);

static void all_cases(pair_fn run, void *arg, uint32_t flags, double tol, struct tally *t)
{
	const uint32_t step = lmd_long() ? 1 : 2;

	for (uint32_t i = 0; i < n_opcase_sets; i++) {
		for (uint32_t j = 0; j < opcase_sets[i]->n; j++) {
			const struct opcase *def = &opcase_sets[i]->cases[j];
			uint32_t n;
			const struct oc_layout *layouts = oc_layouts_of(def, &n);

			/* every layout with half of the cases, all of them in make check-long */
			for (uint32_t k = j % step; (def->flags & flags) == flags && k < n; k += step) {
				double nmse = tol < 0 ? 0 : fmax(def->nmse, tol);
				struct lmi_opcase_result r = {
					.tol_nmse = nmse,
					.tol_abs = 50 * sqrt(nmse),
				};
				struct oc_result a = {0}, b = {0};
				char text[480] = "";

				run(arg, def, &layouts[k], &a, &b);
				if (oc_compare(&a, &b, def->flags & OC_SETS, 0, &r, text,
					       sizeof(text))) {
					t->passed++;
				} else {
					t->failed++;
					printf("FAIL: %s %s; %s: %s\n",
					       lmi_plan_op_info(opcase_sets[i]->op)->name,
					       def->name, layouts[k].name, text);
				}
				oc_result_free(&a);
				oc_result_free(&b);
			}
		}
	}
}

static struct oc *create(const struct opcase *def, const struct oc_layout *layout,
			 struct oc_backend *be, bool lowered)
{
	struct oc_device dev = oc_backend_device(be);
	struct lmd_error err = {.text = ""};
	struct oc *c = NULL;

	dev.tensor_cache = fx.tensor_cache;
	ck_assert_msg(oc_create(&c, def, layout, be->host, &dev, fx.seed, lowered, &err) == LMD_OK,
		      "%s", err.text);
	return c;
}

static void execute(struct oc_backend *be, const struct oc *c, struct oc_result *out)
{
	struct lmd_error err = {.text = ""};

	ck_assert_msg(oc_execute(be, c, out, &err) == LMD_OK, "%s: %s", c->def->name, err.text);
}

struct with_naive {
	struct oc_backend be;
	uint32_t n_q8;
};

static void against_naive(void *arg, const struct opcase *def, const struct oc_layout *layout,
			  struct oc_result *a, struct oc_result *b)
{
	struct with_naive *w = arg;
	struct oc *c = create(def, layout, &w->be, false);

	execute(&w->be, c, a);
	ck_assert(naive_run(c, w->n_q8, b));
	oc_destroy(c);
}

START_TEST(formulas)
{
	struct with_naive w = {0};
	struct tally t = {0};

	open_ref(&w.be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	all_cases(against_naive, &w, 0, 0, &t);
	oc_backend_close(&w.be);
	LMD_CASES("ref against formulas", t.passed, t.failed, 0);
	ck_assert_uint_eq(t.failed, 0);
	ck_assert_uint_ge(t.passed, lmd_long() ? 1000 : 500);
}
END_TEST

START_TEST(formulas_rounded)
{
	struct with_naive w = {.n_q8 = (uint32_t)_i};
	struct tally t = {0};

	open_ref(&w.be, fx.host, NULL, _i == 1 ? LMD_ACTIVATIONS_INT8 : LMD_ACTIVATIONS_INT16);
	/* Activations on the edge between two integers may be rounded either way if what precedes
	 * them was computed in double. */
	all_cases(against_naive, &w, OC_INT8, 1e-6, &t);
	oc_backend_close(&w.be);
	LMD_CASES("ref against formulas, rounded activations", t.passed, t.failed, 0);
	ck_assert_uint_eq(t.failed, 0);
	ck_assert_uint_ge(t.passed, 100);
}
END_TEST

static void against_parts(void *arg, const struct opcase *def, const struct oc_layout *layout,
			  struct oc_result *a, struct oc_result *b)
{
	struct oc_backend *be = arg;
	struct oc *c = create(def, layout, be, false), *d = create(def, layout, be, true);

	execute(be, c, a);
	execute(be, d, b);
	oc_destroy(c);
	oc_destroy(d);
}

START_TEST(fused_is_decomposed)
{
	struct oc_backend be;
	struct tally t = {0};

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	all_cases(against_parts, &be, 0, 1e-9, &t);
	oc_backend_close(&be);
	LMD_CASES("ref, fused and decomposed", t.passed, t.failed, 0);
	ck_assert_uint_eq(t.failed, 0);
}
END_TEST

/* ---- the same bits ---- */

static void against_other(void *arg, const struct opcase *def, const struct oc_layout *layout,
			  struct oc_result *a, struct oc_result *b)
{
	struct oc_backend *be = arg;
	struct oc *c = create(def, layout, &be[0], false);

	execute(&be[0], c, a);
	execute(&be[1], c, b);
	oc_destroy(c);
}

static void same_bits(const char *name, struct oc_backend be[2], uint32_t flags)
{
	struct tally t = {0};

	all_cases(against_other, be, flags, -1, &t);
	oc_backend_close(&be[0]);
	oc_backend_close(&be[1]);
	LMD_CASES(name, t.passed, t.failed, 0);
	ck_assert_uint_eq(t.failed, 0);
}

START_TEST(threads_change_nothing)
{
	const struct lmi_team_opts opts = {.n = 3, .spin_ns = 0};
	struct lmd_error err;
	struct lmd_team *team;
	struct oc_backend be[2];

	ck_assert_int_eq(lmi_team_create(&team, &opts, &err), LMD_OK);
	open_ref(&be[0], fx.host, NULL, LMD_ACTIVATIONS_F32);
	open_ref(&be[1], fx.host, team, LMD_ACTIVATIONS_F32);
	same_bits("ref with 1 and 3 threads", be, 0);
	open_ref(&be[0], fx.host, NULL, LMD_ACTIVATIONS_INT8);
	open_ref(&be[1], fx.host, team, LMD_ACTIVATIONS_INT8);
	same_bits("ref with 1 and 3 threads, int8", be, OC_INT8);
	open_ref(&be[0], fx.host, NULL, LMD_ACTIVATIONS_INT16);
	open_ref(&be[1], fx.host, team, LMD_ACTIVATIONS_INT16);
	same_bits("ref with 1 and 3 threads, int16", be, OC_INT8);
	lmi_team_destroy(team);
}
END_TEST

START_TEST(registers_change_nothing)
{
	struct oc_backend be[2];
	struct lmd_host *plain;

	ck_assert_int_eq(lmi_host_create(&plain, 0), LMD_OK);
	open_ref(&be[0], fx.host, NULL, LMD_ACTIVATIONS_F32);
	open_ref(&be[1], plain, NULL, LMD_ACTIVATIONS_F32);
	same_bits("ref with and without wide registers", be, 0);
	open_ref(&be[0], fx.host, NULL, LMD_ACTIVATIONS_INT8);
	open_ref(&be[1], plain, NULL, LMD_ACTIVATIONS_INT8);
	same_bits("ref with and without wide registers, int8", be, OC_INT8);
	open_ref(&be[0], fx.host, NULL, LMD_ACTIVATIONS_INT16);
	open_ref(&be[1], plain, NULL, LMD_ACTIVATIONS_INT16);
	same_bits("ref with and without wide registers, int16", be, OC_INT8);
	lmi_host_destroy(plain);
}
END_TEST

/* ---- invalid steps, cancellation, memory ---- */

static const struct opcase *find_case(const struct opcase_set *set, const char *name)
{
	for (uint32_t i = 0; i < set->n; i++) {
		if (!strcmp(set->cases[i].name, name))
			return &set->cases[i];
	}
	ck_abort_msg("no case %s", name);
	return NULL;
}

/* A change that makes a step invalid, and what the error message must contain. */
struct bad_step {
	const char *text;
	const struct opcase_set *set;
	const char *name;
	void (*corrupt)(struct lmi_plan_step *s);
};

static void bad_token(struct lmi_plan_step *s)
{
	s->token[2] = OC_VOCAB;
}
static void bad_chained(struct lmi_plan_step *s)
{
	s->token[1] = LMD_TOKEN_CHAINED + 4000;
}
static void bad_unsampled(struct lmi_plan_step *s)
{
	s->token[1] = LMD_TOKEN_CHAINED + 1;
}
static void bad_n_tok(struct lmi_plan_step *s)
{
	s->head->n_tok = OC_MAX_TOK + 1;
}
static void bad_seq_of(struct lmi_plan_step *s)
{
	s->seq_of[3] = 9;
}
static void bad_q_len(struct lmi_plan_step *s)
{
	s->q_len[2] = 400;
}
static void bad_out_row(struct lmi_plan_step *s)
{
	s->out_row[1] = 33;
}
static void bad_slot(struct lmi_plan_step *s)
{
	s->group[OC_G_FULL].slot[0] = 1 << 30;
}
static void bad_kv_hi(struct lmi_plan_step *s)
{
	s->group[OC_G_FULL].kv_hi[4] = 4000;
}
static void bad_kv_lo(struct lmi_plan_step *s)
{
	s->group[OC_G_FULL].kv_lo[4] = -1;
}
static void bad_rows(struct lmi_plan_step *s)
{
	s->group[OC_G_BATCH].kv_hi[0] = 6;
}
static void bad_page(struct lmi_plan_step *s)
{
	s->group[OC_G_FULL].change[1].page = 99999;
}
static void bad_index(struct lmi_plan_step *s)
{
	s->group[OC_G_FULL].change[1].index = 99999;
}
static void bad_no_page(struct lmi_plan_step *s)
{
	s->head->n_change[OC_G_FULL] = 1;
}
static void bad_state_in(struct lmi_plan_step *s)
{
	s->group[OC_G_STATE].state_in[0] = OC_N_SLOT;
}
static void bad_state_out(struct lmi_plan_step *s)
{
	s->group[OC_G_STATE].state_out[32] = -2;
}
static void bad_seq_slot(struct lmi_plan_step *s)
{
	s->seq_slot[0] = -1;
}
static void bad_x_off(struct lmi_plan_step *s)
{
	s->x_off[0][1] = 1 << 20;
}
static void bad_x_w(struct lmi_plan_step *s)
{
	s->x_w[0][0] = 1 << 20;
}
static void bad_fold(struct lmi_plan_step *s)
{
	s->x_off[0][1] = s->x_off[0][2] = s->x_off[0][3] = 7;
	s->x_w[0][0] = s->x_w[0][1] = s->x_w[0][2] = 0;
}

#define ATTN  &opcase_attn, "cache, two key heads"
#define EMBED &opcase_embed, "f32, tokens and rows of the input"
#define ROPE  &opcase_rope_kv, "halves, appended"
#define SCAN  &opcase_scan, "rwkv7"
#define FOLD  &opcase_cast_copy, "folded rows"
static const struct bad_step bad_steps[] = {
	{"token[2] is 32, bound 32", EMBED, bad_token},
	{"chained to sequence slot 4000", EMBED, bad_chained},
	{"for which no token was sampled", EMBED, bad_unsampled},
	{"n_tok is 41; the plan allows at most 40", EMBED, bad_n_tok},
	{"seq_of[3] is 9, bound 3", EMBED, bad_seq_of},
	{"q_len[2] is 400", EMBED, bad_q_len},
	{"out_row[1] is 33, bound 33", &opcase_head, "f32", bad_out_row},
	{"slot[0] is 1073741824", ROPE, bad_slot},
	{"kv_hi[4] is 4000", ATTN, bad_kv_hi},
	{"kv_lo[4] is -1, bound 0", ATTN, bad_kv_lo},
	{"kv_hi[0] is 6, bound 5", &opcase_attn, "rows, dv > dk", bad_rows},
	{"change.page[1] is 99999", ATTN, bad_page},
	{"change.index[1] is 99999", ATTN, bad_index},
	{"is not in the page table", ATTN, bad_no_page},
	{"state_in[0] is 16, bound 16", SCAN, bad_state_in},
	{"state_out[32] is -2, bound -1", SCAN, bad_state_out},
	{"seq_slot[0] is -1, bound 0", ATTN, bad_seq_slot},
	{"x_off", FOLD, bad_x_off},
	{"x_w[0] is 1048576", FOLD, bad_x_w},
	{"reads 2 rows at a time; 7 rows do not make 18", FOLD, bad_fold},
};

START_TEST(invalid_steps_are_rejected)
{
	const struct bad_step *l = &bad_steps[_i];
	struct oc_backend be;
	struct lmd_error err = {.text = ""};
	struct oc_result out;
	struct oc *c;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	c = create(find_case(l->set, l->name), &oc_layouts[5], &be, false);
	l->corrupt(c->step);
	ck_assert_msg(oc_execute(&be, c, &out, &err) == LMD_INVALID, "%s: %s", l->text, err.text);
	ck_assert_msg(strstr(err.text, l->text), "'%s' does not contain '%s'", err.text, l->text);
	oc_destroy(c);
	oc_backend_close(&be);
}
END_TEST

START_TEST(cancelled)
{
	volatile int32_t word = 1;
	struct oc_backend be;
	struct lmd_error err = {.text = ""};
	struct oc_result out;
	struct oc *c;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	c = create(find_case(ATTN), &oc_layouts[0], &be, false);
	c->step->view.cancel = &word;
	ck_assert_int_eq(oc_execute(&be, c, &out, &err), LMD_CANCELLED);
	ck_assert_msg(strstr(err.text, "cancelled before op 0"), "%s", err.text);
	oc_destroy(c);
	oc_backend_close(&be);
}
END_TEST

/* The host sees that a step goes on. */
START_TEST(progress_is_counted)
{
	volatile uint32_t n = 0;
	struct lmd_error err = {.text = ""};
	struct oc_backend be;
	struct oc_result out = {0};
	struct oc *c;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	c = create(find_case(ATTN), &oc_layouts[0], &be, false);
	c->step->view.progress = &n;
	ck_assert_msg(oc_execute(&be, c, &out, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_gt(n, 0);
	oc_result_free(&out);
	oc_destroy(c);
	oc_backend_close(&be);
}
END_TEST

/* Each allocation of loading, compiling and running fails once; nothing may leak, and each failure
 * must come with an error message. */
START_TEST(memory_runs_out)
{
	static const struct {
		const struct opcase_set *set;
		const char *name;
	} cases[] = {
		{&opcase_bmm, "q4_0, transposed heads"},
		{&opcase_ffn, "f32 silu with adapters"},
		{ATTN},
		{&opcase_scan, "mamba1"},
	};
	struct oc_backend be;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct oc *c =
			create(find_case(cases[i].set, cases[i].name), &oc_layouts[3], &be, false);
		enum lmd_status st = LMD_NOMEM;
		uint64_t nth = 1;

		for (; nth < 1000 && st != LMD_OK; nth++) {
			struct lmi_alloc_stats before, after;
			struct lmd_error err = {.text = ""};
			struct oc_result out = {0};

			lmi_alloc_stats(&before);
			lmi_alloc_fail_nth(nth, false);
			st = oc_execute(&be, c, &out, &err);
			if (!lmi_alloc_did_fail())
				ck_assert_msg(st == LMD_OK, "%s", err.text);
			else
				ck_assert_msg(st != LMD_OK && err.text[0], "allocation %d of %s",
					      (int)nth, c->def->name);
			lmi_alloc_fail_nth(0, false);
			oc_result_free(&out);
			lmi_alloc_stats(&after);
			/* The device keeps its table of adapters and its chained tokens. */
			ck_assert_uint_le(after.n_live, before.n_live + 2);
		}
		ck_assert_int_eq(st, LMD_OK);
		ck_assert_uint_gt(nth, 5);
		oc_destroy(c);
	}
	oc_backend_close(&be);
}
END_TEST

/* ---- running allocates nothing; observation shows every value ---- */

struct watch {
	uint32_t n;
	uint32_t last_op;
	double sum;
};

static bool watch(void *arg, const struct lmd_observed *o)
{
	struct watch *w = arg;

	w->n++;
	w->last_op = o->op;
	for (uint32_t i = 0; i < o->n_row * o->width; i++)
		w->sum += (double)((const float *)o->data)[i];
	return true;
}

START_TEST(run_and_observe)
{
	struct oc_backend be;
	struct lmd_error err = {.text = ""};
	struct lmd_weight *weights[64];
	struct lmd_opstat stat[64];
	struct lmd_compile compile = {.struct_size = sizeof(compile), .weights = weights};
	struct lmd_compiled_plan *plan = NULL;
	struct lmd_binding in[OC_MAX_INPUT], out;
	struct watch w = {0};
	float y[OC_MAX_TOK * 64];
	double sum = 0;
	uint64_t before;
	struct oc *c;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	c = create(find_case(&opcase_softmax, "rows"), &oc_layouts[4], &be, false);
	ck_assert_uint_eq(c->view->n_weight_ref, 0);
	compile.plan = c->view;
	compile.pools = (struct lmd_pool *[LMD_MAX_GROUP]){NULL};
	ck_assert_msg(be.ops->plan_compile(be.state, &compile, &plan, &err) == LMD_OK, "%s",
		      err.text);
	for (uint32_t i = 0; i < c->n_input; i++)
		in[i] = (struct lmd_binding){
			.id = i,
			.n_row = c->inputs[i].n_row,
			.row_bytes = 4 * c->inputs[i].width,
			.ptr = c->inputs[i].data,
		};
	out = (struct lmd_binding){
		.id = LMD_OUT_TAP,
		.n_row = OC_MAX_TOK,
		.row_bytes = 4 * 65,
		.ptr = y,
	};
	before = lmi_alloc_thread_count();
	ck_assert_int_eq(be.ops->plan_run(be.state, NULL, plan, &c->step->view, in, c->n_input,
					  &out, 1, NULL),
			 LMD_OK);
	ck_assert_uint_eq(lmi_alloc_thread_count(), before);
	ck_assert_uint_eq(be.ops->plan_stats(be.state, plan, stat, 64), c->view->n_op);
	ck_assert_uint_eq(stat[0].n_run, 1);
	ck_assert_int_eq(
		be.ops->plan_observe(be.state, plan, &c->step->view, in, c->n_input, watch, &w),
		LMD_OK);
	ck_assert_uint_eq(w.n, c->view->n_op);
	ck_assert_uint_eq(w.last_op, c->view->n_op - 1);
	for (uint32_t i = 0; i < c->step->view.head->n_tok * 65; i++)
		sum += (double)y[i];
	ck_assert_double_gt(sum, 32.9); /* 33 rows that add up to 1 each */
	ck_assert_double_gt(fabs(w.sum), 0);
	/* An input that is not bound, and one that is too short. */
	in[c->n_input - 1].n_row = 32;
	ck_assert_int_eq(be.ops->plan_run(be.state, NULL, plan, &c->step->view, in, c->n_input,
					  &out, 1, NULL),
			 LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(be.ops->last_error(be.state), "32 rows given, 33 needed"));
	ck_assert_int_eq(
		be.ops->plan_run(be.state, NULL, plan, &c->step->view, NULL, 0, &out, 1, NULL),
		LMD_INVALID);
	out.n_row = 5;
	in[c->n_input - 1].n_row = 33;
	ck_assert_int_eq(be.ops->plan_run(be.state, NULL, plan, &c->step->view, in, c->n_input,
					  &out, 1, NULL),
			 LMD_INVALID);
	be.ops->plan_destroy(be.state, plan);
	oc_destroy(c);
	oc_backend_close(&be);
}
END_TEST

/* The next step reads a token that was sampled on the device, without the host seeing it. */
START_TEST(tokens_are_chained)
{
	struct oc_backend be;
	struct oc_result sampled, chained, told;
	struct lmi_opcase_result r = {0};
	char text[480];
	struct oc *c;
	int32_t *mask;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	c = create(find_case(&opcase_sample, "greedy, masked, penalties"), &oc_layouts[3], &be,
		   false);
	mask = c->inputs[3].data;
	ck_assert_uint_eq(c->inputs[3].width, 3);
	for (uint32_t row = 0; row < c->n_out; row++) /* ids that are in EMBED's table */
		mask[3 * row + 1] = mask[3 * row + 2] = 0;
	execute(&be, c, &sampled);
	oc_destroy(c);
	c = create(find_case(EMBED), &oc_layouts[3], &be, false);
	for (uint32_t s = 0; s < c->layout->n_seq; s++)
		c->step->token[c->step->q_start[s]] =
			(int32_t)(LMD_TOKEN_CHAINED + (int64_t)oc_seq_slot(s));
	execute(&be, c, &chained);
	/* Outputs: the first row of the first sequence, then the last row of each sequence. */
	for (uint32_t s = 0; s < c->layout->n_seq; s++)
		c->step->token[c->step->q_start[s]] = sampled.out[0].i[s + 1];
	execute(&be, c, &told);
	ck_assert_msg(oc_compare(&chained, &told, false, 0, &r, text, sizeof(text)), "%s", text);
	oc_destroy(c);
	oc_result_free(&sampled);
	oc_result_free(&chained);
	oc_result_free(&told);
	oc_backend_close(&be);
}
END_TEST

/* ---- invalid weights, pools and adapters ---- */

START_TEST(invalid_objects_are_rejected)
{
	struct oc_backend be;
	struct lmd_error err = {.text = ""};
	const float data[64] = {0};
	struct lmd_weight_ref ref = {.n_stack = 1, .n = 2, .k = 32, .name = "w"};
	struct lmd_weight_piece piece = {
		.data = data, .row_bytes = 128, .n_row = 2, .n_slice = 1};
	struct lmd_weight_desc d = {
		.struct_size = sizeof(d),
		.dtype = 99,
		.ref = &ref,
		.n_piece = 1,
		.pieces = &piece,
	};
	const struct lmd_group group = {.name = "g", .kind = LMD_GROUP_PAGED, .ratio = 1};
	struct lmd_cache cache = {
		.kind = LMD_CACHE_KV,
		.n_head = 1,
		.dk = 20,
		.dv = 20,
		.k_dtype = LMD_DTYPE_Q8_0,
	};
	const uint32_t id = 0;
	struct lmd_pool_desc p = {
		.struct_size = sizeof(p),
		.desc = &group,
		.n_cache = 1,
		.caches = &cache,
		.cache_ids = &id,
		.n_page = 2,
		.page_tokens = 16,
		.n_seq = 1,
		.n_index = 2,
	};
	const struct lmd_adapter_bind none = {.struct_size = sizeof(none)};
	const struct lmd_plan half = {.act_dtype = LMD_DTYPE_F16};
	const struct lmd_compile compile = {.struct_size = sizeof(compile), .plan = &half};
	const struct lmd_op unknown = {.code = LMD_N_OP};
	struct lmd_support support = {.struct_size = sizeof(support)};
	struct lmd_weight *w = NULL;
	struct lmd_pool *pool = NULL;
	struct lmd_compiled_plan *plan = NULL;

	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_DEFAULT);
	ck_assert_int_eq(be.ops->weight_load(be.state, &d, &w, &err), LMD_UNSUPPORTED);
	ck_assert_str_eq(err.text, "w: tensor type 99 is unknown");
	d.dtype = LMD_DTYPE_Q4_K;
	ck_assert_int_eq(be.ops->weight_load(be.state, &d, &w, &err), LMD_UNSUPPORTED);
	ck_assert_str_eq(err.text, "w: rows of 32 values are not a multiple of the block size 256");
	d.dtype = LMD_DTYPE_F32;
	piece.n_row = 3;
	ck_assert_int_eq(be.ops->weight_load(be.state, &d, &w, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "do not make 1 slices of 2 rows"));
	ck_assert_int_eq(be.ops->pool_create(be.state, &p, &pool, &err), LMD_UNSUPPORTED);
	ck_assert_str_eq(err.text,
			 "cache 0: rows of 20 values are not a multiple of the block size 32");
	cache.k_dtype = LMD_DTYPE_F32;
	p.n_page = 0;
	ck_assert_int_eq(be.ops->pool_create(be.state, &p, &pool, &err), LMD_INVALID);
	ck_assert_int_eq(be.ops->adapter_bind(be.state, &none, &err), LMD_INVALID);
	ck_assert_int_eq(be.ops->plan_compile(be.state, &compile, &plan, &err), LMD_UNSUPPORTED);
	be.ops->op_support(be.state, &half, &unknown, &support);
	ck_assert_int_eq(support.native, 0);
	ck_assert_str_ne(support.reason, "");
	oc_backend_close(&be);
}
END_TEST

START_TEST(pages_are_copied)
{
	struct oc_backend be;
	struct lmd_error err = {.text = ""};
	const struct lmd_group group = {.name = "g", .kind = LMD_GROUP_PAGED, .ratio = 1};
	const struct lmd_cache cache = {.kind = LMD_CACHE_KV, .n_head = 2, .dk = 3, .dv = 1};
	const uint32_t id = 0;
	const struct lmd_pool_desc p = {
		.struct_size = sizeof(p),
		.desc = &group,
		.n_cache = 1,
		.caches = &cache,
		.cache_ids = &id,
		.n_page = 3,
		.page_tokens = 4,
		.n_seq = 1,
		.n_index = 2,
	};
	float rows[2][8], back[2][8];
	uint32_t pages[2] = {2, 3};
	struct lmd_pool_op op = {
		.kind = LMD_POOL_IMPORT,
		.dst = 1,
		.row0 = 1,
		.n_row = 2,
		.host = rows,
		.host_bytes = sizeof(rows),
	};
	struct lmd_pool *pool = NULL;

	for (int i = 0; i < 16; i++)
		rows[i / 8][i % 8] = (float)i;
	open_ref(&be, fx.host, NULL, LMD_ACTIVATIONS_F32);
	ck_assert_int_eq(be.ops->pool_create(be.state, &p, &pool, &err), LMD_OK);
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_OK);
	op = (struct lmd_pool_op){.kind = LMD_POOL_COPY_PAGE, .src = 1, .dst = 2};
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_OK);
	op = (struct lmd_pool_op){
		.kind = LMD_POOL_EXPORT,
		.src = 2,
		.row0 = 1,
		.n_row = 2,
		.host = back,
		.host_bytes = sizeof(back),
	};
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_OK);
	ck_assert_mem_eq(rows, back, sizeof(rows));
	/* Row 2 alone: its K, then its V. */
	op.row0 = 2;
	op.n_row = 1;
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_OK);
	ck_assert_float_eq(back[0][0], 6);
	ck_assert_float_eq(back[0][6], 14);
	op.row0 = 3;
	op.n_row = 2;
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_INVALID);
	op.n_row = 1;
	op.host_bytes = 31;
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "pool: 31 bytes of host memory given, 32 needed");
	op = (struct lmd_pool_op){.kind = LMD_POOL_SET_TABLE,
				  .dst = 1,
				  .n_row = 1,
				  .host = pages,
				  .host_bytes = sizeof(pages)};
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_OK);
	op.n_row = 2;
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "pool: entries 1..3 of sequence slot 0 are not in a page table "
				   "of 1 x 2");
	op.dst = 0;
	ck_assert_int_eq(be.ops->pool_op(be.state, NULL, pool, &op, 1, NULL, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "pool: unit 3 is out of range, the pool has 3");
	be.ops->pool_destroy(be.state, pool);
	oc_backend_close(&be);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ref");
	TCase *t = tcase_create("ref");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, formulas);
	tcase_add_loop_test(t, formulas_rounded, 1, 3);
	tcase_add_test(t, fused_is_decomposed);
	tcase_add_test(t, threads_change_nothing);
	tcase_add_test(t, registers_change_nothing);
	tcase_add_loop_test(t, invalid_steps_are_rejected, 0, (int)LMD_LEN(bad_steps));
	tcase_add_test(t, cancelled);
	tcase_add_test(t, progress_is_counted);
	tcase_add_test(t, memory_runs_out);
	tcase_add_test(t, run_and_observe);
	tcase_add_test(t, tokens_are_chained);
	tcase_add_test(t, invalid_objects_are_rejected);
	tcase_add_test(t, pages_are_copied);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
