/* SPDX-License-Identifier: MIT
 *
 * The predefined results, obtained through the registry like in the engine, and the errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "tests/lmd_check.h"

enum { V = 10, T = 4 };

struct fixture {
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	const struct lmi_factory *factory;
	const struct lmd_backend_ops *ops;
	void *state;
};
static struct fixture fx;

static void setup(void)
{
	static char dir[4096];
	static const char *const dirs[] = {dir};
	struct lmd_error err = {.text = ""};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true};
	const struct lmd_open_params params = {.struct_size = sizeof(params)};

	snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	ck_assert_int_eq(lmi_host_create(&fx.host, UINT64_MAX), LMD_OK);
	opts.host = fx.host;
	ck_assert_int_eq(lmi_plugin_registry_create(&fx.registry, &opts, &err), LMD_OK);
	ck_assert_msg(lmi_factory_take(fx.registry, LMD_KIND_BACKEND, "null", &fx.factory, &err) ==
			      LMD_OK,
		      "%s", err.text);
	fx.ops = fx.factory->ops.backend;
	fx.state = lmi_alloc(1, fx.factory->f->state_bytes);
	ck_assert_int_eq(fx.ops->open(fx.state, fx.host, &params, &err), LMD_OK);
}

static void teardown(void)
{
	fx.ops->close(fx.state);
	lmi_free(fx.state);
	lmi_factory_give(fx.registry, fx.factory);
	lmi_plugin_registry_destroy(fx.registry);
	lmi_host_destroy(fx.host);
}

/* Four tokens of two sequences; the last of each has an output row. */
static const int32_t token[T] = {3, 9, -1, 7}, pos[T] = {0, 1, 5, 6}, seq_of[T] = {0, 0, 1, 1};
static const int32_t q_start[2] = {0, 2}, q_len[2] = {2, 2}, out_row[2] = {1, 2};

static enum lmd_status run(uint32_t out_id, uint32_t space, float *rows, uint32_t n_row,
			   const volatile int32_t *cancel)
{
	const struct lmd_value value = {.space = space, .width = V, .row_bytes = 64, .name = "y"};
	const struct lmd_output output = {.id = out_id};
	const struct lmd_plan plan = {
		.struct_size = sizeof(plan),
		.act_dtype = LMD_DTYPE_F32,
		.n_value = 1,
		.values = &value,
		.n_output = 1,
		.outputs = &output,
	};
	const struct lmd_compile compile = {.struct_size = sizeof(compile), .plan = &plan};
	const struct lmd_step_header head = {.n_tok = T, .n_seq = 2, .n_out = 2};
	const struct lmd_step step = {
		.struct_size = sizeof(step),
		.head = &head,
		.token = token,
		.pos = {pos, pos, pos, pos},
		.seq_of = seq_of,
		.q_start = q_start,
		.q_len = q_len,
		.out_row = out_row,
		.cancel = cancel,
	};
	const struct lmd_binding out = {
		.id = out_id,
		.n_row = n_row,
		.row_bytes = V * sizeof(float),
		.ptr = rows,
	};
	struct lmd_compiled_plan *p = NULL;
	enum lmd_status st;

	ck_assert_int_eq(fx.ops->plan_compile(fx.state, &compile, &p, NULL), LMD_OK);
	st = fx.ops->plan_run(fx.state, NULL, p, &step, NULL, 0, &out, 1, NULL);
	fx.ops->plan_destroy(fx.state, p);
	return st;
}

START_TEST(greedy_counts)
{
	float y[2][V];

	ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 2, NULL), LMD_OK);
	for (uint32_t i = 0; i < V; i++) {
		/* token 9 at position 1: both rules give id 0 */
		ck_assert_float_eq(y[0][i], i == 0 ? 2.0f : 0.0f);
		/* an external row at position 5 is treated as token 5 */
		ck_assert_float_eq(y[1][i], i == 6 ? 2.0f : i == 0 ? 1.0f : 0.0f);
	}
}
END_TEST

START_TEST(pooled_rows)
{
	float y[2][V];

	ck_assert_int_eq(run(LMD_OUT_EMBED, LMD_SPACE_SEQS, y[0], 2, NULL), LMD_OK);
	for (uint32_t c = 0; c < V; c++) {
		ck_assert_float_eq(y[0][c], 10.0f / (float)(2 + c));
		ck_assert_float_eq(y[1][c], 8.0f / (float)(7 + c));
	}
}
END_TEST

START_TEST(errors)
{
	volatile int32_t cancel = 1;
	const struct lmd_open_params second = {.struct_size = sizeof(second), .index = 1};
	const struct lmd_plan tail = {.key = {.kind = LMD_PLAN_TAIL}};
	const struct lmd_compile compile = {.struct_size = sizeof(compile), .plan = &tail};
	const struct lmd_op sample = {.code = LMD_OP_SAMPLE};
	struct lmd_support support = {.struct_size = sizeof(support)};
	struct lmd_compiled_plan *p = NULL;
	struct lmd_error err;
	float y[2][V];

	ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 1, NULL), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(fx.ops->last_error(fx.state), "1 rows, but 2"));
	ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 2, &cancel), LMD_CANCELLED);
	ck_assert_int_eq(fx.ops->open(fx.state, fx.host, &second, &err), LMD_NOTFOUND);
	ck_assert_int_eq(fx.ops->plan_compile(fx.state, &compile, &p, &err), LMD_UNSUPPORTED);
	fx.ops->op_support(fx.state, &tail, &sample, &support);
	ck_assert_int_eq(support.native, 0);
	ck_assert_str_ne(support.reason, "");
}
END_TEST

START_TEST(steps_that_take_time)
{
	static const char *const wrong[] = {"", "5x", "60000001"};
	const struct lmd_open_params params = {.struct_size = sizeof(params)};
	struct timespec begin, end;
	struct lmd_error err;
	float y[2][V];

	for (size_t i = 0; i < LMD_LEN(wrong); i++) {
		setenv("LLAMAD_NULL_STEP_US", wrong[i], 1);
		ck_assert_int_eq(fx.ops->open(fx.state, fx.host, &params, &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "not a number of at most 60000000"));
	}
	setenv("LLAMAD_NULL_STEP_US", "20000", 1);
	ck_assert_int_eq(fx.ops->open(fx.state, fx.host, &params, &err), LMD_OK);
	ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 2, NULL), LMD_OK);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 2, NULL), LMD_OK);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ck_assert_int_ge((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec,
			 20000000);
	unsetenv("LLAMAD_NULL_STEP_US");
}
END_TEST

START_TEST(a_device_that_is_lost)
{
	const struct lmd_open_params params = {.struct_size = sizeof(params)};
	struct lmd_error err;
	float y[2][V];

	setenv("LLAMAD_NULL_FAIL_STEP", "x", 1);
	ck_assert_int_eq(fx.ops->open(fx.state, fx.host, &params, &err), LMD_INVALID);
	setenv("LLAMAD_NULL_FAIL_STEP", "2", 1);
	ck_assert_int_eq(fx.ops->open(fx.state, fx.host, &params, &err), LMD_OK);
	unsetenv("LLAMAD_NULL_FAIL_STEP");
	ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 2, NULL), LMD_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(run(LMD_OUT_LOGITS, LMD_SPACE_OUTPUTS, y[0], 2, NULL), LMD_DEVICE);
	ck_assert_ptr_nonnull(strstr(fx.ops->last_error(fx.state), "lost at step 2"));
}
END_TEST

START_TEST(pools_hold_nothing)
{
	const struct lmd_group group = {.name = "full", .kind = LMD_GROUP_PAGED, .ratio = 1};
	const struct lmd_pool_desc desc = {
		.struct_size = sizeof(desc),
		.desc = &group,
		.n_page = 3,
		.page_tokens = 32,
		.n_seq = 1,
		.n_index = 3,
	};
	char bytes[8] = "1234567";
	struct lmd_pool_op op = {
		.kind = LMD_POOL_IMPORT,
		.dst = 2,
		.n_row = 1,
		.host = bytes,
		.host_bytes = 8,
	};
	struct lmd_pool *p = NULL;
	struct lmd_error err;

	ck_assert_int_eq(fx.ops->pool_create(fx.state, &desc, &p, &err), LMD_OK);
	ck_assert_int_eq(fx.ops->pool_op(fx.state, NULL, p, &op, 1, NULL, &err), LMD_OK);
	op.kind = LMD_POOL_EXPORT;
	op.src = 2;
	ck_assert_int_eq(fx.ops->pool_op(fx.state, NULL, p, &op, 1, NULL, &err), LMD_OK);
	ck_assert_int_eq(bytes[0], 0);
	op.src = 3;
	ck_assert_int_eq(fx.ops->pool_op(fx.state, NULL, p, &op, 1, NULL, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "pool: unit 3 of 3");
	fx.ops->pool_destroy(fx.state, p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("null");
	TCase *t = tcase_create("null");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, greedy_counts);
	tcase_add_test(t, pooled_rows);
	tcase_add_test(t, errors);
	tcase_add_test(t, pools_hold_nothing);
	tcase_add_test(t, steps_that_take_time);
	tcase_add_test(t, a_device_that_is_lost);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
