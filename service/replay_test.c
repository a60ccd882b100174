/* SPDX-License-Identifier: MIT
 *
 * Requests that are generated again: the same answer by its digest, also after the configuration has
 * changed; which requests are kept, for whom, and how many. */
#include <stdio.h>
#include <string.h>

#include "service/preset.h"
#include "service/replay.h"
#include "service/service_state.h"
#include "tests/adapter_file.h"
#include "tests/service_fixture.h"

static struct fx fx;
static struct lmi_svc_preset preset;
static char adapters[420];

#define N_SHIFTED 200u /* more than the context */

static void setup(void)
{
	fx_init(&fx);
	fx.o.inst.backend = "ref";
	fx.o.inst.n_ctx = 96;
	fx.o.limits.replay_requests = 4;
	preset = (struct lmi_svc_preset){.name = "tiny"};
	preset.sampling.has[lmi_sampler_scalar_find("temp")] = true;
	preset.sampling.value[lmi_sampler_scalar_find("temp")] = 1.5;
	fx.o.presets = &preset;
	fx.o.n_presets = 1;
	fx_start(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

struct answer {
	struct lmi_wire_id id;
	char text[1024];
};

static struct answer ask(const struct lmi_svc_principal *who, struct lmi_wire_request *q)
{
	struct answer a;

	ck_assert_msg(fx_call(&fx, who, q), "%s", fx.a.err.text);
	a.id = q->op == LMI_WIRE_OP_REPLAY ? fx.a.r.u.replay.id : fx.a.r.u.generate.id;
	ck_assert_int_eq(fx.a.r.op, q->op);
	ck_assert_int_eq(fx_read(&fx, who, &a.id, a.text, sizeof(a.text)).kind, LMI_WIRE_ITEM_DONE);
	return a;
}

static struct answer generate(const char *prompt)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", prompt, 30);

	q.u.generate.has_temp = false; /* that of the configuration */
	return ask(&fx_user, &q);
}

static struct lmi_wire_request replay(const struct lmi_wire_id *id)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_REPLAY, NULL);

	q.u.replay.id = *id;
	return q;
}

/* Returns whether it is kept, and fills in fx.a. */
static bool info(const struct lmi_svc_principal *who, const struct lmi_wire_id *id)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_REPLAY_INFO);
	q.u.replay_info.id = *id;
	return fx_call(&fx, who, &q);
}

static void digest_of(const struct lmi_wire_id *id, char out[80])
{
	ck_assert_msg(info(&fx_user, id), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.replay_info.digest.len, 71);
	memcpy(out, fx.a.r.u.replay_info.digest.ptr, 71);
	out[71] = 0;
}

/* A sampled answer, and after it the configuration has another temperature. */
START_TEST(the_same_answer)
{
	struct answer first = generate("it was a dark"), other, again;
	char want[80], have[80];
	struct lmi_wire_request q;

	digest_of(&first.id, want);
	ck_assert_uint_eq(fx.a.r.u.replay_info.n_out, 30);
	ck_assert_int_eq(fx.a.r.u.replay_info.finish, LMI_WIRE_FINISH_LENGTH);
	ck_assert_uint_eq(fx.a.r.u.replay_info.model_digest.len, 71);
	other = generate("it was a dark"); /* with another seed */
	digest_of(&other.id, have);
	ck_assert_str_ne(want, have);
	preset.sampling.value[lmi_sampler_scalar_find("temp")] = 0.2;
	q = replay(&first.id);
	again = ask(&fx_user, &q);
	ck_assert_str_eq(again.text, first.text);
	digest_of(&again.id, have);
	ck_assert_str_eq(want, have);
	q = replay(&again.id); /* the replay as well */
	again = ask(&fx_user, &q);
	ck_assert_str_eq(again.text, first.text);
}
END_TEST

/* A preset's shift of the context is kept as well. */
START_TEST(a_shifted_context)
{
	struct answer first, again;
	char want[80], have[80];
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "it was a dark", N_SHIFTED);

	preset.has_context_shift = preset.context_shift = preset.has_n_keep = true;
	preset.n_keep = 4;
	first = ask(&fx_user, &q);
	digest_of(&first.id, want);
	ck_assert_uint_eq(fx.a.r.u.replay_info.n_out, N_SHIFTED);
	preset.has_context_shift = preset.has_n_keep = false;
	q = replay(&first.id);
	again = ask(&fx_user, &q);
	digest_of(&again.id, have);
	ck_assert_uint_eq(fx.a.r.u.replay_info.n_out, N_SHIFTED);
	ck_assert_str_eq(want, have);
}
END_TEST

/* The kept request is dropped while its replay waits for the model. */
START_TEST(dropped_meanwhile)
{
	struct answer first = generate("it was a dark");
	struct lmi_wire_request q = replay(&first.id);
	struct fx_answer a = {0};
	struct lmi_wire_id id;
	char text[256];

	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	fx_ask(&fx, &fx_user, &q, &a);
	lmi_svc_replay_forget(fx.svc,
			      lmi_svc_owner_tenant(&(struct lmi_svc_owner){.uid = fx_user.uid}));
	fx_wait(&fx, &a);
	ck_assert_msg(!a.failed, "%s", a.err.text);
	id = a.r.u.replay.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	ck_assert_str_eq(text, first.text);
	fx_answer_fini(&a);
}
END_TEST

START_TEST(what_is_kept)
{
	struct answer a[6];
	struct lmi_service_limits l = fx.o.limits;
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char text[256];

	for (int i = 0; i < 6; i++)
		a[i] = generate("it was a dark");
	ck_assert(!info(&fx_user, &a[1].id));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "among the last 4"));
	ck_assert(info(&fx_user, &a[2].id));
	ck_assert(!info(&fx_other, &a[2].id)); /* another user's */
	q = replay(&a[2].id);
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	/* one that is cancelled is not kept */
	id = fx_begin(&fx, &fx_user, "it was a dark", 100);
	fx_step(&fx, 5);
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert(fx_call(&fx, &fx_user, &q));
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert(!info(&fx_user, &id));
	/* less room */
	ck_assert(info(&fx_user, &a[5].id));
	l.replay_bytes = (uint64_t)fx.a.r.u.replay_info.bytes * 5 / 2;
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, NULL), LMD_OK);
	ck_assert(!info(&fx_user, &a[3].id));
	ck_assert(info(&fx_user, &a[4].id));
	lmi_svc_replay_forget(fx.svc, lmi_svc_owner_tenant(&(struct lmi_svc_owner){.uid = 7}));
	ck_assert(info(&fx_user, &a[4].id));
	lmi_svc_replay_forget(fx.svc,
			      lmi_svc_owner_tenant(&(struct lmi_svc_owner){.uid = fx_user.uid}));
	ck_assert(!info(&fx_user, &a[4].id));
	a[0] = generate("it was a dark");
	ck_assert(info(&fx_user, &a[0].id));
	l.replay_requests = 0;
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, NULL), LMD_OK);
	ck_assert(!info(&fx_user, &a[0].id));
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "set replay_requests"));
	a[0] = generate("it was a dark");
	ck_assert(!info(&fx_user, &a[0].id));
}
END_TEST

/* The model was replaced by another one under the same name. */
START_TEST(another_model)
{
	struct answer a = generate("it was a dark");
	struct lmi_wire_request q = replay(&a.id), rm;
	struct lmi_wire_item end;
	struct lmi_wire_id id;
	char text[256], said[600];

	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	rm = fx_on(&fx, LMI_WIRE_OP_RM, "tiny");
	ck_assert_msg(fx_call(&fx, &fx_admin, &rm), "%s", fx.a.err.text);
	lmt_tiny_write(LMT_FULL, 99, fx.model);
	fx_add_model(&fx, "tiny", fx.model);
	if (!fx_call(&fx, &fx_user, &q)) {
		snprintf(said, sizeof(said), "%s", fx.a.err.text);
	} else {
		id = fx.a.r.u.replay.id;
		end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
		snprintf(said, sizeof(said), "%.*s", (int)end.u.error.text.len, end.u.error.text.ptr);
	}
	ck_assert_msg(strstr(said, "the request was answered by the model sha256:") != NULL, "%s", said);
}
END_TEST

/* An adapter was replaced by another file under the same name: the answer cannot be verified. */
START_TEST(another_adapter)
{
	static const char *const sites[] = {"blk.0.attn_q.weight", "blk.2.ffn_down.weight"};
	char path[400], text[256], said[600];
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "it was a dark", 20), again;
	struct answer first;
	struct lmi_wire_item end;
	struct lmi_wire_id id;

	snprintf(path, sizeof(path), "%s.lora.gguf", fx.model);
	lmt_adapter_write_for(path, fx.model, 4, sites, 2, 3);
	snprintf(adapters, sizeof(adapters), "voice=%s", path);
	preset.adapters = adapters;
	q.u.generate.has_adapter = true;
	q.u.generate.adapter = (struct lmd_str){.ptr = "voice", .len = 5};
	first = ask(&fx_user, &q);
	again = replay(&first.id);
	ck_assert_str_eq(ask(&fx_user, &again).text, first.text);
	ck_assert_int_eq(remove(path), 0);
	lmt_adapter_write_for(path, fx.model, 4, sites, 2, 4);
	again = replay(&first.id);
	if (!fx_call(&fx, &fx_user, &again)) {
		snprintf(said, sizeof(said), "%s", fx.a.err.text);
	} else {
		id = fx.a.r.u.replay.id;
		end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
		snprintf(said, sizeof(said), "%.*s", (int)end.u.error.text.len, end.u.error.text.ptr);
	}
	ck_assert_msg(strstr(said, "have changed since it was answered") != NULL, "%s", said);
	(void)remove(path);
	preset.adapters = NULL;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 300);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, the_same_answer);
	tcase_add_test(c, a_shifted_context);
	tcase_add_test(c, dropped_meanwhile);
	tcase_add_test(c, what_is_kept);
	tcase_add_test(c, another_model);
	tcase_add_test(c, another_adapter);
	suite_add_tcase(s, c);
	return lmd_check_run(srunner_create(s));
}
