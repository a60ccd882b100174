/* SPDX-License-Identifier: MIT
 *
 * Adapters that are bound while the engine runs. The law: a generation with one has the tokens of an
 * engine that was opened with it, whatever was in the slot before, on every backend; rows in the prefix
 * cache belong to the files and not to the slot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/adapter_bind.h"
#include "core/engine/engine_impl.h"
#include "tests/adapter_file.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"

#define SLOT	 5
#define N_FILE	 3
#define N_PROMPT 100

static struct story_env env;
static char files[N_FILE][300];
static lmd_token prompt[N_PROMPT];

static const char *const backends[] = {"ref", "cpu", "emu"};

/* The second one has other tensors than the others. */
static void write_files(void)
{
	static const char *const tensors[] = {"blk.0.attn_q.weight", "blk.0.ffn_down.weight",
					      "token_embd.weight", "blk.1.attn_v.weight"};

	for (uint32_t i = 0; i < N_FILE; i++)
		lmt_adapter_write_for(files[i], env.path, 3 + i, tensors + i % 2, 3, env.seed + i);
}

static void setup(void)
{
	uint64_t rnd;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	story_env_init(&env, "adapter bind");
	rnd = env.seed;
	for (uint32_t i = 0; i < N_FILE; i++)
		snprintf(files[i], sizeof(files[i]), "%s.%u.lora", env.path, i);
	write_files();
	for (uint32_t i = 0; i < N_PROMPT; i++)
		prompt[i] = (lmd_token)(lmd_rand(&rnd) % 95);
}

static void teardown(void)
{
	for (uint32_t i = 0; i < N_FILE; i++)
		(void)remove(files[i]);
	story_env_fini(&env);
}

static struct lmi_engine_opts opts(const char *backend)
{
	struct lmi_engine_opts o = story_opts(&env, 3);

	o.inst.backend = backend;
	o.inst.adapters = true;
	return o;
}

/* Reads file i. */
static struct lmi_engine_adapter_data *read_file(struct lmi_engine *e, uint32_t i, float scale)
{
	const struct lmi_engine_adapter_ref ref = {.path = files[i], .scale = scale};
	struct lmi_engine_adapter_data *d = NULL;
	struct lmd_error err;

	ck_assert_msg(lmi_engine_adapter_read(&d, e, &ref, 1, &err) == LMD_OK, "%s", err.text);
	return d;
}

/* Runs until the command 9 ends; adds the events of command 1 to s. */
static struct lmi_engine_event wait_for_bind(struct lmi_engine *e, struct story *s)
{
	struct lmi_engine_event ev, end = {0};

	for (int i = 0; i < 1000 && !end.id; i++) {
		(void)lmi_engine_step(e);
		while (lmi_engine_poll(e, &ev)) {
			if (ev.id == 9)
				end = ev;
			else
				story_tell(s, &ev);
		}
	}
	ck_assert_uint_eq(end.id, 9);
	return end;
}

static struct lmi_engine_event bind(struct lmi_engine *e, struct lmi_engine_adapter_data *own_d,
				    struct story *s)
{
	struct lmd_error err;

	ck_assert_msg(lmi_engine_adapter_bind(e, 9, SLOT, own_d, &err) == LMD_OK, "%s", err.text);
	return wait_for_bind(e, s);
}

static void bind_file(struct lmi_engine *e, uint32_t i, float scale)
{
	struct lmi_engine_adapter_data *d = read_file(e, i, scale);
	uint64_t bytes = lmi_engine_adapter_data_bytes(d);
	struct lmi_engine_event ev = bind(e, d, NULL);

	ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_BOUND);
	ck_assert_uint_gt(bytes, 0);
	ck_assert_uint_eq(ev.u.bound.bytes, bytes);
}

static struct story generate(struct lmi_engine *e, int32_t slot)
{
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 24);

	cmd.seq.adapter = slot;
	return story_generate(e, &cmd);
}

/* The tokens of an engine that was opened with the file; i < 0: without one. */
static struct story opened_with(const char *backend, int i, float scale)
{
	struct lmi_engine_opts o = opts(backend);
	const struct lmi_engine_adapter_ref ref = {.path = files[i < 0 ? 0 : i], .scale = scale};
	struct lmi_engine *e;
	struct story s;

	o.inst.slot_adapters = &ref;
	o.inst.n_slot_adapters = i >= 0;
	e = story_engine(&o);
	s = generate(e, i < 0 ? 0 : LMI_ENGINE_FIRST_ADAPTER_SLOT);
	lmi_engine_fini(e);
	return s;
}

START_TEST(a_slot_has_what_was_bound_last)
{
	struct lmi_engine_opts o = opts(backends[_i]);
	struct lmi_engine *e = story_engine(&o);
	struct story plain = opened_with(backends[_i], -1, 1);
	uint64_t rnd = env.seed;
	uint32_t n_other = 0;

	for (uint32_t k = 0; k < 6; k++) {
		uint32_t i = (uint32_t)(lmd_rand(&rnd) % N_FILE);
		float scale = k % 2 ? 1 : 0.5f;
		struct story want = opened_with(backends[_i], (int)i, scale), have;

		bind_file(e, i, scale);
		have = generate(e, SLOT);
		ck_assert_str_eq(have.text, want.text);
		n_other += strcmp(want.text, plain.text) != 0;
		ck_assert_str_eq(generate(e, 0).text, plain.text);
	}
	ck_assert_msg(n_other, "the adapters change nothing");
	ck_assert_int_eq(bind(e, NULL, NULL).kind, LMI_ENGINE_EV_BOUND);
	ck_assert_str_eq(generate(e, SLOT).text, plain.text);
	lmi_engine_fini(e);
}
END_TEST

/* Rows are found again under the same file, although the slot had another one meanwhile. */
START_TEST(rows_belong_to_the_files)
{
	struct lmi_engine_opts o = opts("ref");
	struct lmi_engine *e = story_engine(&o);

	bind_file(e, 0, 1);
	ck_assert_uint_eq(generate(e, SLOT).last.u.done.n_cached, 0);
	ck_assert_uint_eq(generate(e, SLOT).last.u.done.n_cached, N_PROMPT - 1);
	bind_file(e, 1, 1);
	ck_assert_uint_eq(generate(e, SLOT).last.u.done.n_cached, 0);
	bind_file(e, 0, 0.5f);
	ck_assert_uint_eq(generate(e, SLOT).last.u.done.n_cached, 0);
	ck_assert_uint_eq(generate(e, 0).last.u.done.n_cached, 0);
	bind_file(e, 0, 1);
	ck_assert_uint_eq(generate(e, SLOT).last.u.done.n_cached, N_PROMPT - 1);
	lmi_engine_fini(e);
}
END_TEST

/* Others generate meanwhile, and their answer stays the same. */
START_TEST(beside_a_generation)
{
	struct lmi_engine_opts o = opts(backends[_i]);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 24);
	struct story have = {0};
	struct lmd_error err;

	ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < 12; i++)
		ck_assert_int_eq(bind(e, read_file(e, i % N_FILE, 1), &have).kind, LMI_ENGINE_EV_BOUND);
	ck_assert_uint_eq(have.n_final, 0); /* they were interleaved */
	story_run(e, &have, 1);
	ck_assert_uint_eq(have.n_final, 1);
	ck_assert_str_eq(have.text, opened_with(backends[_i], -1, 1).text);
	lmi_engine_fini(e);
}
END_TEST

/* Guesses with branches of a draft model without adapters, in a batch of sequences with one and without. _i: backend */
START_TEST(guesses_change_nothing)
{
	enum { N = 3 };
	static struct story want[N], have[N];
	struct lmi_engine_opts o = opts(backends[_i]);
	struct lmi_engine_stats st;
	struct lmi_engine *e;

	o.inst.draft_path = env.path;
	e = story_engine(&o);
	bind_file(e, 1, 1);
	for (int guesses = 0; guesses < 2; guesses++) {
		struct story *s = guesses ? have : want;

		memset(s, 0, sizeof(want));
		for (uint32_t i = 0; i < N; i++) {
			struct lmi_engine_generate cmd = story_command(i + 1, prompt, 20 + i, 100);

			cmd.seq.adapter = i == 1 ? 0 : SLOT;
			cmd.draft = guesses ? LMI_ENGINE_DRAFT_MODEL : LMI_ENGINE_DRAFT_OFF;
			cmd.n_draft = 9;
			cmd.flags |= LMI_ENGINE_GEN_DRAFT_BRANCHES;
			ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		}
		story_run(e, s, N);
	}
	lmi_engine_stats(e, &st);
	printf("%s: %llu of %llu guesses were right, %llu beside the chain\n", backends[_i],
	       (unsigned long long)st.n_accepted, (unsigned long long)st.n_drafted,
	       (unsigned long long)st.n_branch);
	ck_assert_uint_gt(st.n_accepted, 30);
	ck_assert_uint_gt(st.n_branch, 0);
	for (uint32_t i = 0; i < N; i++) {
		ck_assert_uint_eq(want[i].n_tokens, 100);
		ck_assert_uint_eq(have[i].n_tokens, 100);
		ck_assert_mem_eq(have[i].tokens, want[i].tokens, 100 * sizeof(lmd_token));
	}
	lmi_engine_fini(e);
}
END_TEST

START_TEST(a_used_slot_does_not_change)
{
	struct lmi_engine_opts o = opts("ref");
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 24);
	struct lmi_engine_event ev;
	struct story have = {0};
	struct lmd_error err;

	bind_file(e, 0, 1);
	cmd.seq.adapter = SLOT;
	ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
	ev = bind(e, read_file(e, 1, 1), &have);
	ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_FAILED);
	ck_assert_int_eq(ev.u.error.status, LMD_BUSY);
	ck_assert_msg(strstr(ev.u.error.text, "slot 5 is in use") != NULL, "%s", ev.u.error.text);
	story_run(e, &have, 1);
	ck_assert_str_eq(have.text, opened_with("ref", 0, 1).text);
	/* and afterwards it does */
	bind_file(e, 1, 1);
	lmi_engine_fini(e);
}
END_TEST

/* Within the ledger of the model: what does not fit is refused, and what was there is gone with its
 * memory. */
START_TEST(memory_has_a_bound)
{
	struct lmi_engine_opts o = opts(backends[_i]);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_memory m, *d;
	struct lmi_alloc_stats before, after;
	struct lmi_engine_event ev;
	uint64_t bytes[N_FILE];
	uint32_t n_ctx;
	struct lmd_error err;

	for (uint32_t i = 0; i < N_FILE; i++) {
		struct lmi_engine_adapter_data *data = read_file(e, i, 1);

		bytes[i] = lmi_engine_adapter_data_bytes(data);
		lmi_engine_adapter_data_destroy(data);
	}
	ck_assert_uint_lt(bytes[0], bytes[2]);
	lmi_engine_fini(e);
	ck_assert_msg(lmi_engine_estimate(&m, &n_ctx, NULL, &o.inst, &err) == LMD_OK, "%s", err.text);
	e = story_engine(&o);
	d = &e->inst->devices[0].estimate; /* a limit would shorten the context instead */
	d->budget = lmi_engine_memory_sum(d) + bytes[2] - 1;
	(void)generate(e, 0);
	lmi_alloc_stats(&before);
	bind_file(e, 0, 1);
	ev = bind(e, read_file(e, 2, 1), NULL);
	ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_FAILED);
	ck_assert_int_eq(ev.u.error.status, LMD_NOMEM);
	ck_assert_msg(strstr(ev.u.error.text, "MiB are left for the model") != NULL, "%s",
		      ev.u.error.text);
	ck_assert_str_eq(generate(e, SLOT).text, opened_with(backends[_i], 0, 1).text);
	ck_assert_int_eq(bind(e, NULL, NULL).kind, LMI_ENGINE_EV_BOUND);
	ck_assert_uint_eq(d->budget - lmi_engine_memory_sum(d), bytes[2] - 1);
	lmi_alloc_stats(&after);
	ck_assert_msg(after.live_bytes <= before.live_bytes + 4096, "%llu bytes are left",
		      (unsigned long long)(after.live_bytes - before.live_bytes));
	d->budget++;
	bind_file(e, 2, 1);
	lmi_engine_fini(e);
}
END_TEST

/* A device is lost in a step, perhaps one that a command waits for: each command ends once. */
START_TEST(a_lost_device)
{
	struct lmi_engine_opts o = opts("emu");

	for (uint32_t k = 2; k <= 16; k++) {
		struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 24);
		struct lmi_engine_event ev = {0};
		struct story have = {0};
		struct lmi_engine *e;
		struct lmd_error err;
		char settings[64];

		snprintf(settings, sizeof(settings), "late=1,lose_step=%u", k);
		ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
		e = story_engine(&o);
		ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
		for (uint32_t i = 0; i < 100 && ev.kind != LMI_ENGINE_EV_FAILED; i++)
			ev = bind(e, read_file(e, i % N_FILE, 1), &have);
		ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_FAILED);
		ck_assert_int_eq(ev.u.error.status, LMD_DEVICE);
		ck_assert_uint_eq(have.n_final, 1);
		ck_assert_int_eq(have.end, LMI_ENGINE_EV_FAILED);
		lmi_engine_fini(e);
	}
}
END_TEST

/* ---- activated from tokens on ---- */

static const lmd_token invocation[] = {7, 8, 9};

/* The logits of the rows of the prompt. */
static struct lmt_rows rows_of(struct lmi_engine *e, const lmd_token *v, int32_t slot)
{
	struct lmi_engine_input_seq in = lmt_tokens(v, N_PROMPT);
	struct lmi_engine_eval cmd = {
		.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_ENGINE_WANT_LOGITS, .pooling = LMD_POOL_UNSET};
	struct lmt_rows rows = {0};
	struct lmd_error err;

	in.adapter = slot;
	ck_assert_msg(lmt_eval(e, &cmd, &rows, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(rows.n_row, N_PROMPT);
	return rows;
}

static struct story continue_prompt(struct lmi_engine *e, const lmd_token *v, int32_t slot, bool cache)
{
	struct lmi_engine_generate cmd = story_command(1, v, N_PROMPT, 24);

	cmd.seq.adapter = slot;
	cmd.flags |= cache ? 0 : LMI_ENGINE_GEN_NO_CACHE;
	return story_generate(e, &cmd);
}

static bool are_equal(const struct lmt_rows *a, const struct lmt_rows *b, uint32_t row)
{
	return !memcmp(a->v + (size_t)row * a->width, b->v + (size_t)row * b->width,
		       a->width * sizeof(float));
}

/* The rows before the last invocation are those of the model, and shared with it; those after it are
 * computed with the adapter. */
START_TEST(activated_by_tokens)
{
	struct lmi_engine_opts o = opts(backends[_i]);
	struct lmi_engine *e = story_engine(&o);
	struct lmt_rows base, always, have;
	uint64_t rnd = env.seed + 9;
	struct story want;
	lmd_token v[N_PROMPT];
	uint32_t page = e->inst->page_tokens;

	lmt_adapter_invocation = invocation;
	lmt_adapter_n_invocation = LMD_LEN(invocation);
	for (uint32_t i = 0; i < N_PROMPT; i++)
		v[i] = (lmd_token)(10 + lmd_rand(&rnd) % 80);
	write_files();
	bind_file(e, 0, 1);
	base = rows_of(e, v, 0);
	have = rows_of(e, v, SLOT);
	for (uint32_t i = 0; i < N_PROMPT; i++)
		ck_assert_msg(are_equal(&base, &have, i), "without an invocation, row %u differs", i);
	lmi_free(have.v);
	lmi_free(base.v);

	for (uint32_t at = 0; at < N_PROMPT; at += at < 90 ? 45 : 7) { /* 0, 45, 90, 97 */
		memcpy(v + at, invocation, sizeof(invocation)); /* the last one counts */
		base = rows_of(e, v, 0);
		have = rows_of(e, v, SLOT);
		for (uint32_t i = 0; i < N_PROMPT; i++)
			ck_assert_msg(are_equal(&base, &have, i) == (i < at),
				      "invocation at %u: row %u is %s", at, i,
				      i < at ? "changed" : "that of the model");
		lmt_adapter_invocation = NULL; /* the same numbers, always active */
		write_files();
		bind_file(e, 0, 1);
		always = rows_of(e, v, SLOT);
		ck_assert_msg(are_equal(&always, &have, N_PROMPT - 1) == !at, "invocation at %u", at);
		lmt_adapter_invocation = invocation;
		write_files();
		bind_file(e, 0, 1);
		want = continue_prompt(e, v, SLOT, false);
		(void)continue_prompt(e, v, 0, true);
		for (int k = 0; k < 2; k++) {
			struct story s = continue_prompt(e, v, SLOT, true);

			ck_assert_str_eq(s.text, want.text);
			ck_assert_uint_ge(s.last.u.done.n_cached, at / page * page);
			ck_assert_uint_le(s.last.u.done.n_cached, at);
		}
		lmi_free(always.v);
		lmi_free(have.v);
		lmi_free(base.v);
	}
	/* what it has computed before the invocation is found by the model, and nothing else is */
	lmi_engine_fini(e);
	e = story_engine(&o);
	bind_file(e, 0, 1);
	(void)continue_prompt(e, v, SLOT, true);
	want = continue_prompt(e, v, 0, true);
	ck_assert_uint_eq(want.last.u.done.n_cached, 97 / page * page);
	ck_assert_str_eq(want.text, continue_prompt(e, v, 0, false).text);
	lmi_engine_fini(e);
	lmt_adapter_invocation = NULL;
	write_files();
}
END_TEST

START_TEST(activated_ones_apply_alone)
{
	struct lmi_engine_opts o = opts("ref");
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, prompt, N_PROMPT, 24);
	struct lmi_engine_adapter_data *d = NULL;
	struct lmi_engine_adapter_ref refs[2];
	struct story s = {0};
	struct lmd_error err;

	lmt_adapter_invocation = invocation;
	lmt_adapter_n_invocation = LMD_LEN(invocation);
	write_files();
	for (int i = 0; i < 2; i++)
		refs[i] = (struct lmi_engine_adapter_ref){.path = files[i], .scale = 1};
	ck_assert_int_eq(lmi_engine_adapter_read(&d, e, refs, 2, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "together with others"));
	bind_file(e, 0, 1);
	cmd.seq.adapter = SLOT;
	cmd.shift = true;
	ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
	story_run(e, &s, 1);
	ck_assert_int_eq(s.end, LMI_ENGINE_EV_FAILED);
	ck_assert_int_eq(s.last.u.error.status, LMD_UNSUPPORTED);
	lmi_engine_fini(e);
	lmt_adapter_invocation = NULL;
	write_files();
}
END_TEST

START_TEST(errors)
{
	struct lmi_engine_opts o = opts("ref");
	struct lmi_engine *e = story_engine(&o), *without;
	const struct lmi_engine_adapter_ref missing = {.path = "/nowhere/x.gguf", .scale = 1};
	struct lmi_engine_adapter_data *d = NULL;
	struct lmi_engine_event ev;
	struct lmd_error err;

	ck_assert_int_eq(lmi_engine_adapter_read(&d, e, &missing, 1, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/x.gguf"));
	ck_assert_int_eq(lmi_engine_adapter_bind(e, 9, 1, read_file(e, 0, 1), &err), LMD_INVALID);
	ck_assert_int_eq(lmi_engine_adapter_bind(e, 9, LMI_ENGINE_N_ADAPTER_SLOT, NULL, &err),
			 LMD_INVALID);
	ck_assert_int_eq(lmi_engine_adapter_bind(e, 0, SLOT, NULL, &err), LMD_INVALID);
	/* cancelled before it begins, and left in the queue */
	ck_assert_int_eq(lmi_engine_adapter_bind(e, 9, SLOT, read_file(e, 0, 1), &err), LMD_OK);
	ck_assert_int_eq(lmi_engine_cancel(e, 9), LMD_OK);
	ev = wait_for_bind(e, NULL);
	ck_assert_int_eq(ev.kind, LMI_ENGINE_EV_CANCELLED);
	ck_assert_uint_eq(e->inst->adapter_slots[SLOT].key, 0);
	ck_assert_int_eq(lmi_engine_adapter_bind(e, 9, SLOT, read_file(e, 0, 1), &err), LMD_OK);
	lmi_engine_fini(e);

	o.inst.adapters = false;
	without = story_engine(&o);
	ck_assert_int_eq(lmi_engine_adapter_bind(without, 9, SLOT, read_file(without, 0, 1), &err),
			 LMD_UNSUPPORTED);
	lmi_engine_fini(without);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("adapter_bind");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 300);
	tcase_add_unchecked_fixture(c, setup, teardown);
	tcase_add_loop_test(c, a_slot_has_what_was_bound_last, 0, (int)LMD_LEN(backends));
	tcase_add_test(c, rows_belong_to_the_files);
	tcase_add_loop_test(c, beside_a_generation, 0, (int)LMD_LEN(backends));
	tcase_add_loop_test(c, guesses_change_nothing, 0, (int)LMD_LEN(backends));
	tcase_add_test(c, a_used_slot_does_not_change);
	tcase_add_loop_test(c, memory_has_a_bound, 0, 2);
	tcase_add_test(c, a_lost_device);
	tcase_add_loop_test(c, activated_by_tokens, 0, (int)LMD_LEN(backends));
	tcase_add_test(c, activated_ones_apply_alone);
	tcase_add_test(c, errors);
	suite_add_tcase(s, c);
	return lmd_check_run(srunner_create(s));
}
