/* SPDX-License-Identifier: MIT
 *
 * The memory of towers and draft models: it is part of what the model is estimated to take and of the choice of its
 * context, nobody else is promised it while the model is opened, and it is what they take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"
#include "tests/tiny_tower.h"

static struct story_env env;
static char tower[300], draft[300], model[300], eagle[300];

static void setup(void)
{
	story_env_init(&env, "second_fit");
	snprintf(tower, sizeof(tower), "%s.tower", env.path);
	snprintf(draft, sizeof(draft), "%s.draft", env.path);
	snprintf(model, sizeof(model), "%s.nextn", env.path);
	snprintf(eagle, sizeof(eagle), "%s.eagle", env.path);
	lmt_tower_write(LMT_TOWER_MLP, tower);
	lmt_tiny_write(LMT_FULL, env.seed + 1, draft);
	lmt_tiny_write(LMT_NEXTN, env.seed, model);
	lmt_tiny_write(LMT_EAGLE3_MAP, env.seed + 1, eagle);
}

static void teardown(void)
{
	(void)remove(tower);
	(void)remove(draft);
	(void)remove(model);
	(void)remove(eagle);
	story_env_fini(&env);
}

/* What is opened beside the model. */
static const struct {
	const char *model, *mmproj, *draft; /* NULL: the usual model; none; none */
} kinds[] = {
	{NULL, tower, NULL},
	{NULL, NULL, draft},
	{model, NULL, eagle},
	{NULL, tower, draft},
};

static void estimate(const struct lmi_engine_opts *o, struct lmi_engine_memory *m, uint32_t *n_ctx)
{
	struct lmd_error err = {0};

	ck_assert_msg(lmi_engine_estimate(m, n_ctx, NULL, &o->inst, &err) == LMD_OK, "%s", err.text);
}

/* Sets the memory of the device to the most that has too little for the whole context of the model alone. */
static void choose_memory(const struct lmi_engine_opts *o, struct lmi_engine_memory *m, uint32_t *n_ctx)
{
	*n_ctx = LMT_CTX;
	for (uint32_t mb = 256; mb && *n_ctx == LMT_CTX; mb--) {
		char settings[32];

		(void)snprintf(settings, sizeof(settings), "memory_mb=%u", mb);
		ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
		estimate(o, m, n_ctx);
	}
}

/* A context that is chosen by memory leaves the others what they need, and all together take what was estimated,
 * within 3 %. */
START_TEST(second_instances_are_part_of_the_fit)
{
	struct lmi_engine_opts o = story_opts(&env, 256);
	struct lmi_engine_memory without, with;
	struct lmi_engine_devices *set = NULL;
	struct lmi_engine_device_row row;
	uint32_t n_without, n_with;
	struct lmi_engine *e = NULL;
	struct lmd_error err;
	uint64_t used, sum, n_inst = 1;

	ck_assert_int_eq(lmi_engine_devices_create(&set, env.env.registry, env.env.host, &err), LMD_OK);
	o.inst.path = kinds[_i].model ? kinds[_i].model : o.inst.path;
	o.inst.devices = set;
	o.inst.backend = "emu";
	o.inst.n_ctx = 0;
	choose_memory(&o, &without, &n_without);
	o.inst.mmproj_path = kinds[_i].mmproj;
	o.inst.draft_path = kinds[_i].draft;
	estimate(&o, &with, &n_with);
	n_inst += (with.tower > 0) + (with.draft > 0); /* page tables and step blocks of each */
	ck_assert_uint_eq(without.tower + without.draft, 0);
	ck_assert_int_eq(with.tower > 0, kinds[_i].mmproj != NULL);
	ck_assert_int_eq(with.draft > 0, kinds[_i].draft != NULL);
	ck_assert_uint_le(n_with, n_without);
	ck_assert(!kinds[_i].draft || n_with < n_without);
	sum = lmi_engine_memory_sum(&with);
	ck_assert_uint_le(sum, with.budget);
	ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(e->inst->n_ctx, n_with);
	row = lmt_device_row(set, "emu0");
	ck_assert_str_eq(row.name, "emu0");
	used = row.memory_total - row.memory_free;
	printf("%d: context %u of %u, estimated %llu (tower %llu, draft %llu), claimed %llu, took %llu\n", _i, n_with,
	       n_without, (unsigned long long)sum, (unsigned long long)with.tower,
	       (unsigned long long)with.draft, (unsigned long long)row.memory_models, (unsigned long long)used);
	ck_assert_uint_le(row.memory_models, sum);
	ck_assert_msg(used >= sum * 97 / 100 && used <= sum * 103 / 100 + n_inst * (1u << 20),
		      "estimated %llu, took %llu", (unsigned long long)sum, (unsigned long long)used);
	lmi_engine_fini(e);
	ck_assert_uint_eq(lmt_device_row(set, "emu0").memory_models, 0);
	lmi_engine_devices_destroy(set);
}
END_TEST

/* An estimate fails as opening does. */
START_TEST(what_cannot_be_opened)
{
	struct lmi_engine_opts o = story_opts(&env, 256);
	struct lmi_engine_memory m;
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};
	uint32_t n_ctx;

	o.inst.backend = "emu";
	o.inst.n_ctx = 0;
	choose_memory(&o, &m, &n_ctx);
	/* a context that leaves the draft too little */
	o.inst.n_ctx = n_ctx;
	o.inst.draft_path = draft;
	ck_assert_int_eq(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err), LMD_NOMEM);
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_NOMEM);
	/* a draft that does not exist, or is none */
	o.inst.n_ctx = 64;
	o.inst.draft_path = "/there/is/none";
	ck_assert_int_eq(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err), LMD_NOTFOUND);
	ck_assert_msg(strstr(err.text, "draft model") != NULL, "%s", err.text);
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_NOTFOUND);
	ck_assert_msg(strstr(err.text, "draft model") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("memory of second instances");
	TCase *t = tcase_create("memory of second instances");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, second_instances_are_part_of_the_fit, 0, LMD_LEN(kinds));
	tcase_add_test(t, what_cannot_be_opened);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
