/* SPDX-License-Identifier: MIT
 *
 * Adapters that requests name are loaded while the model runs. Loads and evictions are compared, by their
 * counts, with those of a list in the order of last use. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine_impl.h"
#include "service/loaded_model.h"
#include "service/model.h"
#include "service/preset.h"
#include "service/service_state.h"
#include "tests/adapter_file.h"
#include "tests/service_fixture.h"

#define N_NAME 1000
#define N_FILE 4 /* different ones */

static struct fx fx;
static char folder[300];
static struct lmi_svc_preset preset;

static void path_of(char path[400], const char *name)
{
	snprintf(path, 400, "%s/%s.gguf", folder, name);
}

static void write_file(const char *name, uint64_t seed)
{
	static const char *const tensors[] = {"blk.0.attn_q.weight", "blk.0.ffn_down.weight"};
	char path[400];

	path_of(path, name);
	lmt_adapter_write_for(path, fx.model, 4, tensors, 2, seed);
}

static void setup(void)
{
	char from[400], to[400], name[16];

	fx_init(&fx);
	fx.o.inst.backend = "ref";
	fx.o.limits.session_bytes = 64 << 20;
	snprintf(folder, sizeof(folder), "%s", fx.dir);
	for (int i = 0; i < N_NAME; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		if (i < N_FILE) {
			write_file(name, 100 + (uint64_t)i);
			continue;
		}
		path_of(to, name);
		snprintf(name, sizeof(name), "a%d", i % N_FILE);
		path_of(from, name);
		ck_assert_int_eq(link(from, to), 0);
	}
	preset = (struct lmi_svc_preset){.name = "tiny", .adapters_dir = folder};
	fx.o.presets = &preset;
	fx.o.n_presets = 1;
	fx_start(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static struct lmi_wire_request request(const char *adapter, int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello world", n);

	q.u.generate.has_adapter = true;
	q.u.generate.adapter = (struct lmd_str){.ptr = adapter, .len = strlen(adapter)};
	return q;
}

static struct lmi_wire_item ask(const char *adapter, const char *session, char text[64])
{
	struct lmi_wire_request q = request(adapter, 12);
	struct lmi_wire_id id;

	q.u.generate.has_session = session != NULL;
	if (session)
		q.u.generate.session = (struct lmd_str){.ptr = session, .len = strlen(session)};
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s: %s", adapter, fx.a.err.text);
	id = fx.a.r.u.generate.id;
	return fx_read(&fx, &fx_user, &id, text, 64);
}

static void expect_text(const char *adapter, const char *want)
{
	char text[64];
	struct lmi_wire_item end = ask(adapter, NULL, text);

	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_msg(!strcmp(text, want), "%s: '%s', not '%s'", adapter, text, want);
}

static void expect_error(const char *adapter, const char *words)
{
	struct lmi_wire_request q = request(adapter, 4);
	struct lmi_wire_item end;
	struct lmi_wire_id id;
	char text[64], said[512];

	if (!fx_call(&fx, &fx_user, &q)) {
		snprintf(said, sizeof(said), "%s", fx.a.err.text);
	} else {
		id = fx.a.r.u.generate.id;
		end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
		snprintf(said, sizeof(said), "%.*s", (int)end.u.error.text.len, end.u.error.text.ptr);
	}
	ck_assert_msg(strstr(said, words) != NULL, "%s: %s", adapter, said);
}

static struct lmi_svc_loaded_model *loaded(void)
{
	struct lmi_svc_model *m = lmi_svc_model_find(fx.svc, "tiny");

	ck_assert_ptr_nonnull(m);
	ck_assert_ptr_nonnull(m->current);
	return m->current;
}

static uint32_t n_full(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < LMI_SVC_ADAPTERS_MAX; i++) {
		ck_assert_uint_eq(loaded()->slots.v[i].n_user, 0);
		n += loaded()->slots.v[i].choice.n != 0;
	}
	return n;
}

START_TEST(what_was_used_longest_ago_makes_room)
{
	uint32_t list[LMI_SVC_ADAPTERS_MAX], n = 0, n_load = 0, n_evicted = 0, n_round = lmd_rounds(250);
	char text[64], want[N_FILE][64] = {""}, base[64];
	uint64_t rnd = lmd_seed("adapter slots", 5);

	(void)ask("", NULL, base);
	for (uint32_t i = 0; i < n_round; i++) {
		/* half of them among few, the others among all */
		uint32_t k = (uint32_t)(lmd_rand(&rnd) % (lmd_rand(&rnd) % 2 ? 20 : N_NAME)), at = 0;
		char name[16];

		snprintf(name, sizeof(name), "a%u", k);
		(void)ask(name, NULL, text);
		while (at < n && list[at] != k)
			at++;
		n_load += at == n;
		n_evicted += at == n && n == LMI_SVC_ADAPTERS_MAX;
		at = at == n && n == LMI_SVC_ADAPTERS_MAX ? n - 1 : at;
		n = at == n ? n + 1 : n;
		memmove(list + 1, list, at * sizeof(list[0]));
		list[0] = k;
		if (!want[k % N_FILE][0])
			snprintf(want[k % N_FILE], 64, "%s", text);
		ck_assert_str_eq(text, want[k % N_FILE]);
	}
	ck_assert_uint_eq(loaded()->slots.n_loaded, n_load);
	ck_assert_uint_eq(loaded()->slots.n_evicted, n_evicted);
	ck_assert_uint_gt(n_evicted, n_round / 5);
	ck_assert_uint_eq(n_full(), LMI_SVC_ADAPTERS_MAX);
	ck_assert_msg(strcmp(want[0], base) || strcmp(want[1], base), "the adapters change nothing");
	ck_assert_uint_eq(fx.svc->n_engine, 1); /* the model was loaded once */
	fx_check_empty(&fx);
}
END_TEST

/* More requests at a time than slots, each with another adapter: those that find no slot wait until one is
 * given back, and all have their own text. */
START_TEST(a_held_slot_stays)
{
	enum { N = 40 };
	struct fx_answer a[N] = {{0}};
	char alone[N_FILE][64], name[N][16], text[64];

	for (int i = 0; i < N_FILE; i++) {
		snprintf(name[0], sizeof(name[0]), "a%d", i);
		(void)ask(name[0], NULL, alone[i]);
	}
	for (int i = 0; i < N; i++) {
		struct lmi_wire_request q;

		snprintf(name[i], sizeof(name[i]), "a%d", 100 + i);
		q = request(name[i], 12);
		fx_ask(&fx, &fx_user, &q, &a[i]);
	}
	for (int i = 0; i < N; i++) {
		struct lmi_wire_item end;

		fx_wait(&fx, &a[i]);
		ck_assert_msg(!a[i].failed, "%s", a[i].err.text);
		end = fx_read(&fx, &fx_user, &a[i].r.u.generate.id, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
		ck_assert_str_eq(text, alone[(100 + i) % N_FILE]);
		fx_answer_fini(&a[i]);
	}
	ck_assert_uint_eq(loaded()->slots.n_loaded, N_FILE + N);
	ck_assert_uint_eq(n_full(), LMI_SVC_ADAPTERS_MAX);
	fx_check_empty(&fx);
}
END_TEST

/* A load that fails ends the request that asked for it, and nothing else. */
START_TEST(a_load_that_fails)
{
	struct fx_answer bad = {0}, good = {0};
	char path[400], text[64], base[64], want[64];
	struct lmi_wire_request q;
	FILE *f;

	path_of(path, "bad");
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs("GGUF, but not really", f);
	fclose(f);
	(void)ask("", NULL, base);
	(void)ask("a1", NULL, want);
	q = request("bad", 4);
	fx_ask(&fx, &fx_user, &q, &bad);
	q = request("a2", 12);
	fx_ask(&fx, &fx_user, &q, &good);
	fx_wait(&fx, &good);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &good.r.u.generate.id, text, sizeof(text)).kind,
			 LMI_WIRE_ITEM_DONE);
	fx_answer_fini(&good);
	fx_answer_fini(&bad);
	expect_error("bad", "bad.gguf");
	expect_text("", base);
	expect_text("a1", want);
	ck_assert_uint_eq(fx.svc->n_engine, 1);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

/* The memory of the model has room for three: more are served, one after the other. */
START_TEST(memory_makes_room)
{
	struct lmi_engine_memory *m;
	char text[64], want[N_FILE][64], name[16];
	uint64_t bytes;

	(void)ask("a0", NULL, want[0]);
	bytes = loaded()->slots.v[0].bytes;
	ck_assert_uint_gt(bytes, 0);
	m = &loaded()->engine->inst->devices[0].estimate;
	m->budget = lmi_engine_memory_sum(m) + 2 * bytes + bytes / 2;
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		(void)ask(name, NULL, text);
		if (i < N_FILE)
			snprintf(want[i], sizeof(want[i]), "%s", text);
		ck_assert_str_eq(text, want[i % N_FILE]);
		ck_assert_uint_le(n_full(), 3);
		ck_assert_uint_le(lmi_engine_memory_sum(m), m->budget);
	}
	ck_assert_uint_eq(n_full(), 3);
	ck_assert_uint_eq(loaded()->slots.n_evicted, 9);
	/* not even one */
	m->budget = 0;
	expect_error("a50", "MiB are left for the model");
	ck_assert_int_eq(ask("", NULL, text).kind, LMI_WIRE_ITEM_DONE);
}
END_TEST

/* A file that was replaced is loaded again, one that was removed is not found. */
START_TEST(a_file_that_changes)
{
	char before[64], after[64], path[400];

	(void)ask("a0", NULL, before);
	path_of(path, "a0");
	ck_assert_int_eq(unlink(path), 0);
	write_file("a0", 777);
	(void)ask("a0", NULL, after);
	ck_assert_str_ne(before, after);
	ck_assert_uint_eq(loaded()->slots.n_loaded, 2);
	ck_assert_int_eq(unlink(path), 0);
	expect_error("a0", "no adapter 'a0'");
}
END_TEST

START_TEST(scales_and_several)
{
	char base[64], one[64], two[64], both[64], text[64];

	(void)ask("", NULL, base);
	(void)ask("a0", NULL, one);
	(void)ask("a1", NULL, two);
	expect_text("a0:1", one);
	expect_text("a0:0", base);
	expect_text("a0:0,a1:1", two);
	expect_text(" a1 ", two);
	(void)ask("a0,a1", NULL, both);
	ck_assert_msg(strcmp(both, one) || strcmp(both, two), "two adapters have the effect of one");
	expect_text("a0,a1", both);
	(void)ask("a0:-2.5", NULL, text);
	ck_assert_str_ne(text, base);
	expect_error("a0:x", "not a number");
	expect_error("a0:inf", "not a number");
	expect_error("a0:2e6", "not within");
	expect_error("a0:", "not a number");
	expect_error("nope", "no adapter 'nope'");
	expect_error("a0,nope:0", "no adapter 'nope'");
	expect_error("../a0", "no adapter");
	expect_error("a1,a2,a3,a4,a5,a6,a7,a8,a9", "more than 8 adapters");
	fx_check_empty(&fx);
}
END_TEST

static struct lmd_str word(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static bool set_name(const struct lmi_svc_principal *who, const char *name, const char *path)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_ADAPTER_SET, NULL);

	q.u.adapter_set.model = word("tiny");
	q.u.adapter_set.name = word(name);
	q.u.adapter_set.path = word(path);
	return fx_call(&fx, who, &q);
}

static bool set_chosen(const char *text)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_ADAPTER_SET, NULL);

	q.u.adapter_set.model = word("tiny");
	q.u.adapter_set.has_chosen = true;
	q.u.adapter_set.chosen = word(text);
	return fx_call(&fx, &fx_admin, &q);
}

/* Names that an admin gives: bounds, who may, and what a list has. */
START_TEST(names)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_ADAPTERS, NULL);
	char path[400], one[64], text[64], name[16];

	path_of(path, "a1");
	(void)ask("a1", NULL, one);
	ck_assert(!set_name(&fx_user, "x", path));
	ck_assert_int_eq(fx.a.err.status, LMD_DENIED);
	ck_assert(!set_name(&fx_admin, "x", "a1.gguf"));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	ck_assert(!set_name(&fx_admin, "x", "/nowhere.gguf"));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!set_name(&fx_admin, "x y", path));
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		ck_assert_msg(set_name(&fx_admin, name, path), "%s", fx.a.err.text);
		ck_assert(!fx.a.r.u.adapter_set.found);
	}
	ck_assert(!set_name(&fx_admin, "n1000", path));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert(set_name(&fx_admin, "n5", path));
	ck_assert(fx.a.r.u.adapter_set.found);
	expect_text("n999", one);
	expect_text("999", one); /* its number */
	ck_assert(set_chosen("n3"));
	q.u.adapters.model = word("tiny");
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.adapters.n_adapters, 1000);
	ck_assert_uint_eq(fx.a.r.u.adapters.adapters[0].path.len, 0);
	ck_assert_uint_eq(fx.a.r.u.adapters.n_slots, 1); /* one file, whatever its name */
	ck_assert_int_eq(fx.a.r.u.adapters.loaded, 1);
	ck_assert(fx.a.r.u.adapters.folder);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.adapters.adapters[0].path.len, strlen(path));
	ck_assert(set_name(&fx_admin, "n3", ""));
	ck_assert(fx.a.r.u.adapter_set.found);
	ck_assert(set_name(&fx_admin, "n3", ""));
	ck_assert(!fx.a.r.u.adapter_set.found);
	expect_error("n3", "no adapter 'n3'");
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.adapters.chosen.len, 0);
	ck_assert(!set_chosen("n3"));
	ck_assert(set_chosen("n4:0.5"));
	ck_assert(set_chosen(""));
	(void)ask("", NULL, text);
}
END_TEST

/* The rows of a saved session are those of its adapter. */
START_TEST(sessions_belong_to_adapters)
{
	char text[64], first[64];
	struct lmi_wire_item end = ask("a0", "chat", first);

	ck_assert_int_gt(end.u.done.n_saved, 0);
	fx_answer_fini(&fx.a);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	fx.n_fd = 0;
	fx_start(&fx);
	end = ask("a1", NULL, text);
	ck_assert_int_eq(end.u.done.n_cached, 0);
	end = ask("a0", "chat", text); /* from the file */
	ck_assert_int_eq(end.u.done.n_cached, end.u.done.n_prompt - 1);
	ck_assert_str_eq(text, first);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	fx.n_fd = 0;
	fx_start(&fx);
	end = ask("a1", "chat", text);
	ck_assert_int_eq(end.u.done.n_cached, 0);
	fx_check_empty(&fx);
}
END_TEST

/* ---- log probabilities of a prompt ---- */

#define N_LOGPROB 6

/* Starts the generation and reads all its items: they are in fx.a. */
static const struct lmi_wire_rep_next *run(struct lmi_wire_request *q)
{
	struct lmi_wire_request next;

	ck_assert_msg(fx_call(&fx, &fx_user, q), "%s", fx.a.err.text);
	next = fx_next(&fx.a.r.u.generate.id, 0);
	fx_settle(&fx);
	ck_assert_msg(fx_call(&fx, &fx_user, &next), "%s", fx.a.err.text);
	ck_assert(fx.a.r.u.next.end);
	return &fx.a.r.u.next;
}

/* A greedy generation that continues tokens. */
static struct lmi_wire_request continue_tokens(const char *adapter, const lmd_token *v, uint32_t n,
					       int64_t n_out)
{
	struct lmi_wire_request q = request(adapter, n_out);
	struct lmi_wire_req_generate *g = &q.u.generate;

	g->has_prompt = false;
	g->has_tokens = true;
	g->tokens = v;
	g->n_tokens = n;
	g->has_temp = true;
	g->temp = 0;
	return q;
}

/* Reads the log probabilities of tokens of a prompt, from number 3 on. */
static void prompt_logprobs(const char *adapter, const lmd_token *v, double out[N_LOGPROB])
{
	struct lmi_wire_request q = continue_tokens(adapter, v, 3 + N_LOGPROB, 1);
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_prompt_logprobs = true;
	r = run(&q);
	for (uint32_t i = 0; i < N_LOGPROB; i++) {
		ck_assert_int_eq(r->items[3 + i].kind, LMI_WIRE_ITEM_PROMPT_TOKEN);
		ck_assert_uint_eq(r->items[3 + i].u.prompt_token.n_logprobs, 1);
		out[i] = r->items[3 + i].u.prompt_token.logprobs[0].logprob;
	}
}

/* The tokens of an answer have the same probabilities in a prompt, with the same adapter. */
START_TEST(a_prompt_is_computed_with_its_adapter)
{
	lmd_token v[3 + N_LOGPROB] = {10, 20, 30};
	struct lmi_wire_request q = continue_tokens("a0", v, 3, N_LOGPROB);
	double want[N_LOGPROB], with[N_LOGPROB], without[N_LOGPROB], most = 0;
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_logprobs = true;
	r = run(&q);
	for (uint32_t i = 0; i < N_LOGPROB; i++) {
		ck_assert_int_eq(r->items[i].kind, LMI_WIRE_ITEM_TOKEN);
		v[3 + i] = (lmd_token)r->items[i].u.token.token;
		want[i] = r->items[i].u.token.logprobs[0].logprob;
	}
	prompt_logprobs("a0", v, with);
	prompt_logprobs("", v, without);
	for (uint32_t i = 0; i < N_LOGPROB; i++) {
		ck_assert_double_eq_tol(with[i], want[i], 1e-5);
		most = fmax(most, fabs(without[i] - want[i]));
	}
	ck_assert_double_gt(most, 1e-3); /* the adapter has an effect */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("adapter slots");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 300);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, what_was_used_longest_ago_makes_room);
	tcase_add_test(c, a_held_slot_stays);
	tcase_add_test(c, a_load_that_fails);
	tcase_add_test(c, memory_makes_room);
	tcase_add_test(c, a_file_that_changes);
	tcase_add_test(c, scales_and_several);
	tcase_add_test(c, names);
	tcase_add_test(c, sessions_belong_to_adapters);
	tcase_add_test(c, a_prompt_is_computed_with_its_adapter);
	suite_add_tcase(s, c);
	return lmd_check_run(srunner_create(s));
}
