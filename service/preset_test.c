/* SPDX-License-Identifier: MIT
 *
 * Presets, the defaults that a model's file recommends, and how long a model stays in memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "service/preset.h"
#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	char path[sizeof(fx.dir) + 32];

	fx_init(&fx);
	snprintf(path, sizeof(path), "%s/greedy.gguf", fx.dir);
	lmt_tiny_write(LMT_GREEDY, 8, path);
	fx_add_model(&fx, "greedy", path);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* ---- defaults ---- */

static void check_default(const char *name, double value, enum lmi_wire_default_source from)
{
	const struct lmi_wire_rep_info *r = &fx.a.r.u.info;

	for (uint32_t i = 0; i < r->n_defaults; i++) {
		const struct lmi_wire_default_value *v = &r->defaults[i];

		if (v->name.len != strlen(name) || memcmp(v->name.ptr, name, v->name.len))
			continue;
		ck_assert_double_eq(v->value, value);
		ck_assert_int_eq(v->from, from);
		return;
	}
	ck_abort_msg("no default %s", name);
}

static void check_cap(const char *name, bool has)
{
	const struct lmi_wire_rep_info *r = &fx.a.r.u.info;
	bool found = false;

	for (uint32_t i = 0; i < r->n_template_caps; i++)
		found |= r->template_caps[i].len == strlen(name) &&
			 !memcmp(r->template_caps[i].ptr, name, strlen(name));
	ck_assert_msg(found == has, "%s", name);
}

START_TEST(info_names_the_defaults)
{
	struct lmi_svc_preset p = {.name = "greedy", .system = "Be brief.", .template = "chatml"};
	int temp = lmi_sampler_scalar_find("temp");
	struct lmi_wire_request q;

	ck_assert_int_eq(lmi_sampler_scalar_find("logit_bias"), -1);
	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_INFO, "greedy");
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.info.n_defaults, LMI_SAMPLER_N_SCALAR);
	check_default("temp", 0, LMI_WIRE_DEFAULT_SOURCE_MODEL);
	check_default("repeat_last_n", 7, LMI_WIRE_DEFAULT_SOURCE_MODEL);
	check_default("top_k", 40, LMI_WIRE_DEFAULT_SOURCE_BUILTIN); /* not what is out of bounds */
	check_default("min_p", 0.05, LMI_WIRE_DEFAULT_SOURCE_BUILTIN);
	ck_assert(!fx.a.r.u.info.has_system);
	/* a preset, from now on */
	p.sampling.has[temp] = true;
	p.sampling.value[temp] = 1.5;
	lmi_service_set_presets(fx.svc, &p, 1);
	q = fx_on(&fx, LMI_WIRE_OP_INFO, "greedy");
	ck_assert(fx_call(&fx, &fx_user, &q));
	check_default("temp", 1.5, LMI_WIRE_DEFAULT_SOURCE_CONFIG);
	check_default("repeat_last_n", 7, LMI_WIRE_DEFAULT_SOURCE_MODEL);
	ck_assert(fx.a.r.u.info.has_system);
	ck_assert_uint_eq(fx.a.r.u.info.system.len, 9);
	ck_assert_mem_eq(fx.a.r.u.info.chat_template.ptr, "chatml", 6);
	/* what that template supports, if it is asked for */
	ck_assert_uint_eq(fx.a.r.u.info.n_template_caps, 0);
	q.u.info.template_caps = true;
	ck_assert(fx_call(&fx, &fx_user, &q));
	check_cap("system", true);
	check_cap("strings", true);
	check_cap("tools", false);
	lmi_service_set_presets(fx.svc, NULL, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	check_default("temp", 0, LMI_WIRE_DEFAULT_SOURCE_MODEL);
	ck_assert_uint_eq(fx.a.r.u.info.n_template_caps, 0); /* the model has no template */
}
END_TEST

static void check_prompt(const char *text, bool system)
{
	struct lmi_wire_chat_message m[2] = {
		{.role = {"system", 6}, .content = {"Own.", 4}},
		{.role = {"user", 4}, .content = {"Hi", 2}},
	};
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_APPLY_TEMPLATE, "tiny");
	const struct lmd_str *got = &fx.a.r.u.apply_template.prompt;

	q.u.apply_template.model = (struct lmd_str){"tiny", 4};
	q.u.apply_template.messages = system ? m : m + 1;
	q.u.apply_template.n_messages = system ? 2 : 1;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_msg(got->len >= strlen(text) && !memcmp(got->ptr, text, strlen(text)), "%.*s",
		      (int)got->len, got->ptr);
}

START_TEST(system_prompt_and_template)
{
	const struct lmi_svc_preset p = {
		.name = "tiny", .system = "Be brief.", .template = "chatml", .n_ctx = 96};
	struct lmi_wire_request q;

	fx.o.presets = &p;
	fx.o.n_presets = 1;
	fx_start(&fx);
	check_prompt("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi", false);
	check_prompt("<|im_start|>system\nOwn.<|im_end|>\n<|im_start|>user\nHi", true);
	/* the prompt of a generation is the same conversation */
	q = fx_generate(&fx, "tiny", "Hi", 1);
	ck_assert(fx_call(&fx, &fx_user, &q));
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.r.u.ps.models[0].n_ctx, 96);
}
END_TEST

static int64_t kv_bytes(const struct lmi_svc_preset *p)
{
	struct lmi_wire_request q;
	int64_t bytes;

	fx.o.presets = p;
	fx.o.n_presets = 1;
	fx_start(&fx);
	q = fx_generate(&fx, "tiny", "Hi", 1);
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	fx_settle(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	bytes = fx.a.r.u.ps.models[0].kv_bytes;
	teardown();
	setup();
	return bytes;
}

START_TEST(types_of_the_kv_cache)
{
	const struct lmi_svc_preset f32 = {.name = "tiny", .kv_type = "f32", .n_ctx = 96};
	const struct lmi_svc_preset v = {
		.name = "tiny", .kv_type = "f32", .kv_type_v = "f16", .n_ctx = 96};
	const struct lmi_svc_preset f16 = {.name = "tiny", .kv_type = "f16", .n_ctx = 96};
	int64_t all = kv_bytes(&f32);

	ck_assert_int_gt(all, 0);
	ck_assert_int_eq(kv_bytes(&f16), all / 2);
	ck_assert_int_eq(kv_bytes(&v), all / 4 * 3);
}
END_TEST

/* ---- a full context ---- */

static struct lmi_wire_item until_full(bool has, bool shift)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "Hi", 200);
	char text[256];

	q.u.generate.ignore_eog = true;
	q.u.generate.has_context_shift = has;
	q.u.generate.context_shift = shift;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	return fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, text, sizeof(text));
}

/* What a request says takes precedence. */
START_TEST(context_shift)
{
	const struct lmi_svc_preset p = {.name = "tiny",
					 .n_ctx = 96,
					 .has_context_shift = true,
					 .context_shift = true,
					 .has_n_keep = true,
					 .n_keep = 64};

	fx.o.presets = &p;
	fx.o.n_presets = 1;
	fx_start(&fx);
	/* 16 tokens are dropped at first, then as many as were added */
	ck_assert_int_eq(until_full(false, false).u.done.n_shift, (200 + 2 - 96 + 15) / 16);
	ck_assert_int_eq(until_full(true, false).u.done.finish, LMI_WIRE_FINISH_CONTEXT);
	fx_check_empty(&fx);
}
END_TEST

/* ---- how long a model stays ---- */

static void read_all(struct fx_answer *a, int n)
{
	char text[256];

	for (int i = 0; i < n; i++) {
		fx_wait(&fx, &a[i]);
		ck_assert_msg(!a[i].failed, "%s", a[i].err.text);
		ck_assert_int_eq(fx_read(&fx, &fx_user, &a[i].r.u.generate.id, text, sizeof(text))
					 .u.done.n_out,
				 3);
		fx_answer_fini(&a[i]);
	}
}

static void ask(struct fx_answer *a, int n, int64_t keep_ms)
{
	for (int i = 0; i < n; i++) {
		struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 3);

		q.u.generate.has_keep_alive_ms = true;
		q.u.generate.keep_alive_ms = keep_ms;
		fx_ask(&fx, &fx_user, &q, &a[i]);
	}
}

/* Returns a setting that the final item reports, or NaN. */
static double setting(const struct lmi_wire_item *end, const char *name)
{
	for (uint32_t i = 0; i < end->u.done.n_settings; i++) {
		const struct lmi_wire_setting *v = &end->u.done.settings[i];

		if (v->name.len == strlen(name) && !memcmp(v->name.ptr, name, v->name.len))
			return v->value;
	}
	return NAN;
}

/* A request that asks for it is told what it was computed with: its own values, those of the preset, and
 * built-in ones; without samplers of parameters only the others. */
START_TEST(settings_are_reported)
{
	struct lmi_svc_preset p = {.name = "tiny", .has_n_keep = true, .n_keep = 5};
	static const struct lmi_wire_sampler greedy = {.name = "greedy"};
	int top_k = lmi_sampler_scalar_find("top_k");
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	struct lmi_wire_id id;
	char text[256];

	p.sampling.has[top_k] = true;
	p.sampling.value[top_k] = 7;
	fx.o.presets = &p;
	fx.o.n_presets = 1;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 3; i++) {
		q = fx_generate(&fx, "tiny", "abc", 3);
		q.u.generate.has_temp = q.u.generate.has_min_p = true;
		q.u.generate.temp = 0.5;
		q.u.generate.min_p = 0.125;
		q.u.generate.report_settings = i > 0;
		q.u.generate.has_chain = i > 1;
		q.u.generate.chain = &greedy;
		q.u.generate.n_chain = i > 1;
		ck_assert(fx_call(&fx, &fx_user, &q));
		id = fx.a.r.u.generate.id;
		end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
		ck_assert(i ? setting(&end, "n") == 3 && setting(&end, "n_keep") == 5
			    : !end.u.done.n_settings);
		if (i == 1) {
			ck_assert_uint_eq(end.u.done.n_settings, LMI_SAMPLER_N_SCALAR + 4);
			ck_assert(setting(&end, "temp") == 0.5 && setting(&end, "min_p") == 0.125);
			ck_assert(setting(&end, "top_k") == 7 && setting(&end, "top_p") == 0.95);
		}
		if (i == 2)
			ck_assert(isnan(setting(&end, "temp")));
	}
}
END_TEST

START_TEST(a_request_says_how_long)
{
	struct fx_answer a[20];

	fx_start(&fx);
	ask(a, 1, 500);
	read_all(a, 1);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	fx.now += 501 * FX_MS;
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	ask(a, 1, -1);
	read_all(a, 1);
	fx.now += 1000 * 3600 * 1000ull * FX_MS;
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	ask(a, 1, 0); /* the latest request decides */
	read_all(a, 1);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	fx_check_empty(&fx);
}
END_TEST

/* Requests come in while the model leaves after those before: all are answered. */
START_TEST(requests_meet_an_unload)
{
	struct fx_answer a[20];

	fx_start(&fx);
	for (int round = 0; round < 30; round++) {
		ask(a, 10, 0);
		for (int i = 0; i < round; i++) {
			fx_turn(&fx);
			if (i % 3 == 0)
				(void)fx_job(&fx);
		}
		ask(a + 10, 10, 0);
		read_all(a, 20);
	}
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	fx_check_empty(&fx);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("preset");
	Suite *s = suite_create("preset");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, info_names_the_defaults);
	tcase_add_test(tc, system_prompt_and_template);
	tcase_add_test(tc, types_of_the_kv_cache);
	tcase_add_test(tc, context_shift);
	tcase_add_test(tc, settings_are_reported);
	tcase_add_test(tc, a_request_says_how_long);
	tcase_add_test(tc, requests_meet_an_unload);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
