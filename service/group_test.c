/* SPDX-License-Identifier: MIT
 *
 * Groups of models of which one is in memory, and models that are loaded at the start. */
#include <stdio.h>
#include <string.h>

#include "service/preset.h"
#include "tests/service_fixture.h"

static struct fx fx;
static const struct lmi_svc_preset grouped[] = {{.name = "tiny", .group = "one"},
						{.name = "other", .group = "one"},
						{.name = "third", .group = "one"}};

static void setup(void)
{
	char path[sizeof(fx.dir) + 32];

	fx_init(&fx);
	snprintf(path, sizeof(path), "%s/third.gguf", fx.dir);
	lmt_tiny_write(LMT_FULL, 9, path);
	fx_add_model(&fx, "third", path);
	fx.o.presets = grouped;
	fx.o.n_presets = LMD_LEN(grouped);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* Returns whether these models, in any order, are in memory, and no others. */
static bool in_memory(const char *a, const char *b)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	const struct lmi_wire_rep_ps *r = &fx.a.r.u.ps;
	uint32_t n = 0;

	ck_assert(fx_call(&fx, &fx_user, &q));
	for (uint32_t i = 0; i < r->n_models; i++) {
		const struct lmd_str *name = &r->models[i].model;

		n += (name->len == strlen(a) && !memcmp(name->ptr, a, name->len)) ||
		     (b && name->len == strlen(b) && !memcmp(name->ptr, b, name->len));
	}
	return n == r->n_models && n == 1 + (b != NULL);
}

static struct lmi_wire_id begin(const char *model, int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, model, "hello", n);

	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

static void ends_well(const struct lmi_wire_id *id, uint32_t n)
{
	char text[1024], want[1024];

	ck_assert_uint_eq(fx_read(&fx, &fx_user, id, text, sizeof(text)).u.done.n_out, n);
	fx_expect("hello", n, want);
	ck_assert_str_eq(text, want);
}

START_TEST(an_idle_one_makes_way)
{
	fx_start(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert(in_memory("tiny", NULL));
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	ck_assert(in_memory("other", NULL));
	/* a reload of the same model is not a change of models */
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_RELOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	fx_settle(&fx);
	ck_assert(in_memory("other", NULL));
}
END_TEST

/* Its generation ends undisturbed, and the other model's then begins. Requests for a model that waits
 * share one load; those for the one that goes are told when to come back. */
START_TEST(a_busy_one_finishes)
{
	struct lmi_wire_id first, second;
	struct lmi_wire_request q;

	fx_start(&fx);
	fx_load(&fx);
	first = begin("tiny", 60);
	fx_step(&fx, 3);
	q = fx_generate(&fx, "other", "hello", 5);
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	second = fx.a.r.u.generate.id;
	q = fx_generate(&fx, "tiny", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, "other") != NULL, "%s", fx.a.err.text);
	ck_assert_uint_gt(fx.a.retry_ms, 0);
	for (int i = 0; i < 30; i++) { /* until the first one has ended, the second one waits */
		fx_step(&fx, 1);
		ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
	}
	ends_well(&first, 60);
	ends_well(&second, 5);
	fx_settle(&fx);
	ck_assert(in_memory("other", NULL));
	fx_check_empty(&fx);
}
END_TEST

/* Models that were loaded before they became a group. */
START_TEST(several_make_way)
{
	struct lmi_wire_request q;

	fx.o.n_presets = 0;
	fx_start(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	ck_assert(in_memory("tiny", "other"));
	lmi_service_set_presets(fx.svc, grouped, LMD_LEN(grouped));
	q = fx_generate(&fx, "third", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "third").kind, LMI_WIRE_ITEM_DONE);
	ck_assert(in_memory("third", NULL));
	lmi_service_set_presets(fx.svc, NULL, 0);
}
END_TEST

/* A model of no group, or of another one, stays. */
START_TEST(others_stay)
{
	static const struct lmi_svc_preset p[] = {{.name = "tiny", .group = "one"},
						  {.name = "other", .group = "two"}};

	fx.o.presets = p;
	fx.o.n_presets = LMD_LEN(p);
	fx_start(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "third").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 3);
}
END_TEST

/* ---- loaded at the start ---- */

START_TEST(preloaded)
{
	static const struct lmi_svc_preset p[] = {{.name = "tiny", .has_preload = true, .preload = true},
						  {.name = "nosuch", .has_preload = true, .preload = true},
						  {.name = "third", .has_preload = true},
						  {.name = "other", .has_preload = true, .preload = true}};

	fx.o.presets = p;
	fx.o.n_presets = LMD_LEN(p);
	fx_start(&fx);
	lmi_service_preload(fx.svc, fx.now);
	lmi_service_set_presets(fx.svc, NULL, 0); /* the configuration is reloaded meanwhile */
	fx_settle(&fx);
	ck_assert(in_memory("tiny", "other"));
}
END_TEST

/* The service ends while a model is being preloaded. */
START_TEST(preloaded_too_late)
{
	static const struct lmi_svc_preset p[] = {{.name = "tiny", .has_preload = true, .preload = true},
						  {.name = "other", .has_preload = true, .preload = true}};

	fx.o.presets = p;
	fx.o.n_presets = LMD_LEN(p);
	for (int n_job = 0; n_job < 4; n_job++) {
		fx_start(&fx);
		lmi_service_preload(fx.svc, fx.now);
		for (int i = 0; i < n_job; i++)
			(void)fx_job(&fx);
		lmi_service_destroy(fx.svc);
		fx.svc = NULL;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("group");
	TCase *t = tcase_create("group");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_idle_one_makes_way);
	if (fx_on_null())
		tcase_add_test(t, a_busy_one_finishes);
	tcase_add_test(t, several_make_way);
	tcase_add_test(t, others_stay);
	tcase_add_test(t, preloaded);
	tcase_add_test(t, preloaded_too_late);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
