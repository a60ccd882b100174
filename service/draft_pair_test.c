/* SPDX-License-Identifier: MIT
 *
 * A draft model that is found among the models in memory: which one it is, that answers stay the same,
 * and what happens when it is unloaded, also in the middle of an answer. */
#include <stdio.h>
#include <string.h>

#include "core/engine/engine_impl.h"
#include "service/loaded_model.h"
#include "service/model.h"
#include "service/preset.h"
#include "service/service_state.h"
#include "tests/service_fixture.h"

static struct fx fx;
static const struct lmi_svc_preset presets[] = {{.name = "tall", .draft_model = "auto"},
						{.name = "other", .draft_model = "auto"}};

static void setup(void)
{
	char path[sizeof(fx.dir) + 32];

	fx_init(&fx);
	snprintf(path, sizeof(path), "%s/tall.gguf", fx.dir);
	lmt_tiny_write(LMT_TALL, 9, path);
	fx_add_model(&fx, "tall", path);
	snprintf(path, sizeof(path), "%s/words.gguf", fx.dir);
	lmt_tiny_write(LMT_WORDS, 9, path);
	fx_add_model(&fx, "words", path);
	fx.o.inst.backend = "ref";
	fx.o.draft_max = 15;
	fx.o.limits.models = 8;
	fx.o.presets = presets;
	fx.o.n_presets = LMD_LEN(presets);
	fx_start(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static void load(const char *model)
{
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, model).kind, LMI_WIRE_ITEM_DONE);
}

static void unload(const char *model)
{
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, model).kind, LMI_WIRE_ITEM_DONE);
}

static struct lmi_svc_loaded_model *loaded(const char *model)
{
	struct lmi_svc_model *m = lmi_svc_model_find(fx.svc, model);

	ck_assert_ptr_nonnull(m);
	ck_assert_ptr_nonnull(m->current);
	return m->current;
}

/* Returns whether the model has a draft model, by what the engine reports. */
static bool drafts(const char *model)
{
	struct lmi_engine_info info;

	lmi_engine_info(loaded(model)->engine, &info);
	return info.draft != NULL;
}

static struct lmi_wire_id begin(int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tall", "hello", n);

	q.u.generate.has_temp = true;
	q.u.generate.temp = 0;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

static void answer(const struct lmi_wire_id *id, char *text, size_t size)
{
	struct lmi_wire_item end = fx_read(&fx, &fx_user, id, text, size);

	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
}

START_TEST(the_smaller_model_in_memory)
{
	load("tall"); /* alone */
	ck_assert(!drafts("tall"));
	unload("tall");
	load("words"); /* another vocabulary */
	load("tall");
	ck_assert(!drafts("tall"));
	unload("tall");
	load("tiny");
	load("other"); /* as large as the first */
	ck_assert(!drafts("other"));
	load("tall");
	ck_assert(drafts("tall"));
	ck_assert(loaded("tall")->pair.number == loaded("tiny")->number ||
		  loaded("tall")->pair.number == loaded("other")->number);
}
END_TEST

START_TEST(it_is_unloaded)
{
	char want[512], text[512];
	struct lmi_wire_id id;

	load("tall");
	id = begin(100);
	answer(&id, want, sizeof(want));
	unload("tall");
	load("tiny");
	load("tall");
	ck_assert(drafts("tall"));
	id = begin(100);
	answer(&id, text, sizeof(text));
	ck_assert_str_eq(text, want);
	for (int at = 0; at < 12; at++) { /* in the middle of an answer */
		if (!loaded("tall")->pair.number) {
			unload("tall");
			load("tiny");
			load("tall");
		}
		id = begin(100);
		fx_step(&fx, at);
		unload("tiny");
		ck_assert(!drafts("tall"));
		ck_assert_uint_eq(loaded("tall")->pair.number, 0);
		answer(&id, text, sizeof(text));
		ck_assert_str_eq(text, want);
		id = begin(100);
		answer(&id, text, sizeof(text));
		ck_assert_str_eq(text, want);
		ck_assert_ptr_null(loaded("tall")->engine->inst->draft); /* its memory is free */
	}
	fx_check_empty(&fx);
}
END_TEST

/* The name of op load. */
START_TEST(a_load_asks_for_it)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	struct lmi_wire_id id;
	char text[64];

	fx.o.n_presets = 0;
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	fx.n_fd = 0;
	fx_start(&fx);
	load("tiny");
	load("tall");
	ck_assert(!drafts("tall"));
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tall");
	q.u.load.draft_model = (struct lmd_str){.ptr = "auto", .len = 4};
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.load.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert(drafts("tall"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("draft pair");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 300);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, the_smaller_model_in_memory);
	tcase_add_test(c, it_is_unloaded);
	tcase_add_test(c, a_load_asks_for_it);
	suite_add_tcase(s, c);
	return lmd_check_run(srunner_create(s));
}
