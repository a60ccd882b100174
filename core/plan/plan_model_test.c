/* SPDX-License-Identifier: MIT
 *
 * Checks tensors of a made-up model against a made-up table. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/model_check.h"
#include "core/plan/plan_test.h"

enum { D_EMBD = 1, D_FF, D_EXPERT, D_NONE_HERE, D_OF_LAYER };
enum { EVEN = 1, ODD = 2 };

static const struct lmd_tensor_row rows[] = {
	{.stem = "embd",
	 .dims = {D_EMBD, LMD_DIM(32)},
	 .flags = LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL},
	{.stem = "blk.%d.up",
	 .dims = {D_EMBD, D_FF},
	 .flags = LMD_TENSOR_REQUIRED | LMD_TENSOR_BIAS | LMD_TENSOR_SCALE},
	{.stem = "blk.%d.norm",
	 .dims = {D_EMBD},
	 .flags = LMD_TENSOR_REQUIRED | LMD_TENSOR_BIAS_REQ,
	 .when = EVEN},
	{.stem = "blk.%d.norm", .dims = {D_EMBD, LMD_DIM(2)}, .when = ODD},
	{.stem = "blk.%d.exps",
	 .dims = {D_EMBD, D_FF, D_EXPERT},
	 .flags = LMD_TENSOR_REQUIRED | LMD_TENSOR_PER_EXPERT,
	 .when = ODD,
	 .alt = "blk.%d.exp.%d"},
	{.stem = "blk.%d.old", .dims = {D_EMBD}, .flags = LMD_TENSOR_UNUSED, .alt = "blk.%d.older"},
	{.stem = "blk.%d.bare", .dims = {D_OF_LAYER}, .flags = LMD_TENSOR_BARE},
	{.stem = "blk.%d.no", .dims = {D_NONE_HERE}, .flags = LMD_TENSOR_REQUIRED},
	{.stem = "blk.%d.both", .dims = {D_EMBD}, .when = EVEN},
	{.stem = "blk.%d.both", .dims = {D_EMBD}, .when = ODD},
	{.stem = "any", .flags = LMD_TENSOR_GLOBAL | LMD_TENSOR_ANY_SHAPE},
};
static const struct lmd_tensor_set set = {rows, LMD_LEN(rows), 0};

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	static const int64_t d[] = {0, 8, 12, 3, 0};

	(void)state;
	return symbol == D_OF_LAYER ? layer + 5 : d[symbol];
}

static uint32_t layer_class(const void *state, int32_t il)
{
	(void)state;
	return il % 2 ? ODD : EVEN;
}

static const struct lmd_tensor *find_tensor(const struct lmd_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_tensors; i++)
		if (!strcmp(m->tensors[i].name, name))
			return &m->tensors[i];
	return NULL;
}

struct tensor {
	const char *name;
	int64_t dims[3];
};

/* A complete model of two layers. */
static const struct tensor whole[] = {
	{"embd.weight", {8, 32}}, {"blk.0.up.weight", {8, 12}}, {"blk.0.norm.weight", {8}},
	{"blk.0.norm.bias", {8}}, {"blk.1.up.weight", {8, 12}}, {"blk.1.exps.weight", {8, 12, 3}},
};

static void fill(struct fx *fx, const struct tensor *t, size_t n)
{
	memset(fx, 0, sizeof(*fx));
	fx->model.arch = "fake";
	fx->model.tensors = fx->tensors;
	fx->model.find_tensor = find_tensor;
	fx->arch.sets = &set;
	fx->arch.n_sets = 1;
	fx->arch.dim = dim;
	fx->arch.layer_class = layer_class;
	fx->desc.n_layer = 2;
	for (size_t i = 0; i < n; i++)
		fx_tensor(fx, t[i].name, LMD_DTYPE_F32, t[i].dims[0], t[i].dims[1], t[i].dims[2]);
}

static enum lmd_status verdict(struct fx *fx, struct lmi_plan_model_check *c, struct lmd_error *err)
{
	ck_assert_msg(lmi_plan_model_check(c, &fx->model, &fx->arch, &fx->desc, err) == LMD_OK,
		      "%s", err->text);
	return lmi_plan_model_check_status(c, err);
}

static enum lmi_plan_tensor_match fit_of(const struct lmi_plan_model_check *c, const char *name)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->tensors[i].name, name))
			return c->tensors[i].match;
	ck_abort_msg("%s is not listed", name);
	return LMI_PLAN_TENSOR_UNKNOWN;
}

START_TEST(complete_model)
{
	struct lmi_plan_model_check c;
	struct lmd_error err = {0};
	struct fx fx;

	fill(&fx, whole, LMD_LEN(whole));
	ck_assert_msg(verdict(&fx, &c, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(c.n, LMD_LEN(whole));
	ck_assert_uint_eq(c.count[LMI_PLAN_TENSOR_USED], LMD_LEN(whole));
	lmi_plan_model_check_fini(&c);
	lmi_plan_model_check_fini(NULL);
}
END_TEST

/* One tensor of the complete model changed, or one added. */
static const struct {
	const char *drop; /* tensor to remove */
	struct tensor add;
	const char *name; /* tensor whose fit is checked */
	enum lmi_plan_tensor_match fit;
	enum lmd_status st;
	const char *text;
} cases[] = {
	{"blk.1.up.weight",
	 {0},
	 "blk.1.up.weight",
	 LMI_PLAN_TENSOR_MISSING,
	 LMD_NOTFOUND,
	 "tensor blk.1.up.weight is missing, expected [8, 12]"},
	{"blk.1.up.weight",
	 {"blk.1.up.weight", {8, 13}},
	 "blk.1.up.weight",
	 LMI_PLAN_TENSOR_BAD_SHAPE,
	 LMD_INVALID,
	 "tensor blk.1.up.weight is [8, 13], expected [8, 12]"},
	{"blk.0.norm.bias",
	 {0},
	 "blk.0.norm.bias",
	 LMI_PLAN_TENSOR_MISSING,
	 LMD_NOTFOUND,
	 "tensor blk.0.norm.bias is missing, expected [8]"},
	{"blk.1.exps.weight",
	 {0},
	 "blk.1.exps.weight",
	 LMI_PLAN_TENSOR_MISSING,
	 LMD_NOTFOUND,
	 "tensor blk.1.exps.weight is missing, expected [8, 12, 3]"},
	{"blk.1.exps.weight",
	 {"blk.1.exp.0.weight", {8, 12}},
	 "blk.1.exp.2.weight",
	 LMI_PLAN_TENSOR_MISSING,
	 LMD_NOTFOUND,
	 "tensor blk.1.exp.1.weight is missing, expected [8, 12], and 1 more do not fit"},
	{NULL, {"blk.0.up.bias", {12}}, "blk.0.up.bias", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
	{NULL,
	 {"blk.0.up.bias", {8}},
	 "blk.0.up.bias",
	 LMI_PLAN_TENSOR_BAD_SHAPE,
	 LMD_INVALID,
	 "blk.0.up.bias is [8], expected [12]"},
	{NULL, {"blk.0.up.scale", {1}}, "blk.0.up.scale", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
	{NULL, {"blk.0.up.scale", {12}}, "blk.0.up.scale", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
	{NULL,
	 {"blk.0.up.scale", {5}},
	 "blk.0.up.scale",
	 LMI_PLAN_TENSOR_BAD_SHAPE,
	 LMD_INVALID,
	 "blk.0.up.scale is [5], expected [1]"},
	{NULL,
	 {"blk.1.norm.weight", {8, 2}},
	 "blk.1.norm.weight",
	 LMI_PLAN_TENSOR_USED,
	 LMD_OK,
	 NULL},
	{NULL,
	 {"blk.1.norm.weight", {9, 2}},
	 "blk.1.norm.weight",
	 LMI_PLAN_TENSOR_BAD_SHAPE,
	 LMD_INVALID,
	 "blk.1.norm.weight is [9, 2], expected [8, 2]"},
	{NULL,
	 {"blk.0.exps.weight", {8, 12, 3}},
	 "blk.0.exps.weight",
	 LMI_PLAN_TENSOR_IGNORED,
	 LMD_OK,
	 NULL},
	{NULL,
	 {"blk.1.old.weight", {8}},
	 "blk.1.old.weight",
	 LMI_PLAN_TENSOR_IGNORED,
	 LMD_OK,
	 NULL},
	{NULL,
	 {"blk.1.older.weight", {8}},
	 "blk.1.older.weight",
	 LMI_PLAN_TENSOR_IGNORED,
	 LMD_OK,
	 NULL},
	{NULL, {"blk.1.bare", {6}}, "blk.1.bare", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
	{NULL,
	 {"blk.1.bare", {5}},
	 "blk.1.bare",
	 LMI_PLAN_TENSOR_BAD_SHAPE,
	 LMD_INVALID,
	 "[5], expected [6]"},
	{NULL,
	 {"blk.2.up.weight", {8, 12}},
	 "blk.2.up.weight",
	 LMI_PLAN_TENSOR_AFTER_TRUNK,
	 LMD_OK,
	 NULL},
	{NULL,
	 {"blk.x.up.weight", {8, 12}},
	 "blk.x.up.weight",
	 LMI_PLAN_TENSOR_UNKNOWN,
	 LMD_OK,
	 NULL},
	{NULL, {"blk.0.both.weight", {8}}, "blk.0.both.weight", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
	{NULL, {"blk.1.both.weight", {8}}, "blk.1.both.weight", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
	{NULL, {"any.weight", {3, 5, 7}}, "any.weight", LMI_PLAN_TENSOR_USED, LMD_OK, NULL},
};

START_TEST(one_difference)
{
	struct tensor t[LMD_LEN(whole) + 1];
	struct lmi_plan_model_check c;
	struct lmd_error err = {0};
	struct fx fx;
	size_t n = 0;

	for (size_t i = 0; i < LMD_LEN(whole); i++)
		if (!cases[_i].drop || strcmp(cases[_i].drop, whole[i].name))
			t[n++] = whole[i];
	if (cases[_i].add.name)
		t[n++] = cases[_i].add;
	fill(&fx, t, n);
	ck_assert_int_eq(verdict(&fx, &c, &err), cases[_i].st);
	ck_assert_msg(fit_of(&c, cases[_i].name) == cases[_i].fit, "%s is %s", cases[_i].name,
		      lmi_plan_tensor_match_text(fit_of(&c, cases[_i].name)));
	if (cases[_i].text)
		ck_assert_msg(strstr(err.text, cases[_i].text) != NULL,
			      "\"%s\" does not contain \"%s\"", err.text, cases[_i].text);
	lmi_plan_model_check_fini(&c);
}
END_TEST

START_TEST(too_many_layers)
{
	struct lmi_plan_model_check c;
	struct lmd_error err = {0};
	struct fx fx;

	fill(&fx, whole, LMD_LEN(whole));
	fx.desc.n_layer = 1025;
	ck_assert_int_eq(lmi_plan_model_check(&c, &fx.model, &fx.arch, &fx.desc, &err),
			 LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "1025 layers, at most 1024"));
}
END_TEST

START_TEST(no_memory)
{
	struct lmi_alloc_stats before, after;
	struct lmi_plan_model_check c;
	struct fx fx;
	enum lmd_status st;

	fill(&fx, whole, 2);
	lmi_alloc_stats(&before);
	for (uint64_t n = 1;; n++) {
		lmi_alloc_fail_nth(n, false);
		st = lmi_plan_model_check(&c, &fx.model, &fx.arch, &fx.desc, NULL);
		lmi_plan_model_check_fini(&c);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
		if (!lmi_alloc_did_fail())
			break;
		ck_assert_int_eq(st, LMD_NOMEM);
	}
	lmi_alloc_fail_nth(0, false);
	ck_assert_int_eq(st, LMD_OK);
}
END_TEST

TCase *plan_model_cases(void)
{
	TCase *t = tcase_create("model");

	tcase_add_test(t, complete_model);
	tcase_add_loop_test(t, one_difference, 0, LMD_LEN(cases));
	tcase_add_test(t, too_many_layers);
	tcase_add_test(t, no_memory);
	return t;
}
