/* SPDX-License-Identifier: MIT
 *
 * The engine as its hosts use it: generations, ends, errors, queues, a file that is truncated, and
 * memory that runs out. */
#include <fcntl.h>
#include <sys/stat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/sample.h"
#include "core/text/tokenizer.h"
#include "tests/lmd_check.h"
#include "tests/generation_fixture.h"
#include "tests/tiny_model.h"

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "engine");
}

static void teardown(void)
{
	char copy[300];

	snprintf(copy, sizeof(copy), "%s.copy", env.path); /* left over from a failed test */
	(void)remove(copy);
	story_env_fini(&env);
}

/* ---- generation ---- */

/* Greedy decoding gives, token by token, what whole evaluations give. */
START_TEST(generation_is_what_evaluation_says)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 30);
	struct story s = story_generate(e, &cmd);
	lmd_token v[64];

	ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_LENGTH);
	ck_assert_uint_eq(s.last.u.done.n_prompt, 5);
	ck_assert_uint_eq(s.last.u.done.n_out, 30);
	ck_assert_uint_eq(s.n_tokens, 30);
	memcpy(v, hello, sizeof(hello));
	for (uint32_t i = 0; i < 30; i++) {
		struct lmi_engine_input_seq in = lmt_tokens(v, 5 + i);
		struct lmi_engine_eval ev = {
			.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_ENGINE_WANT_LAST};
		struct lmt_rows r;
		uint32_t best = 0;

		ck_assert_int_eq(lmt_eval(e, &ev, &r, NULL), LMD_OK);
		for (uint32_t k = 1; k < r.width; k++)
			if (r.v[k] > r.v[best])
				best = k;
		lmi_free(r.v);
		ck_assert_int_eq(s.tokens[i], (lmd_token)best);
		v[5 + i] = (lmd_token)best;
	}
	/* and the text is that of the tokens */
	for (uint32_t i = 0, at = 0; i < 30; i++)
		if (s.tokens[i] != LMT_EOS)
			ck_assert_int_eq(s.text[at++], 32 + s.tokens[i]);
	lmi_engine_fini(e);
}
END_TEST

/* The prompt goes to the encoder and the decoder starts by itself; compared with whole
 * evaluations. */
START_TEST(an_encoder_and_a_decoder)
{
	const char *models = lmt_parity_models();
	char file[4200];
	struct lmi_engine_opts o;
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 12);
	struct lmi_engine_info info;
	struct lmi_engine *e;
	struct story s;
	lmd_token v[16];

	if (!models) {
		LMD_SKIP("an_encoder_and_a_decoder", "no parity pack");
		return;
	}
	snprintf(file, sizeof(file), "%s/t5.gguf", models);
	o = lmt_opts(&env.env, file);
	o.no_tokenizer = false;
	o.inst.n_seq = 2;
	e = story_engine(&o);
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
	ck_assert_uint_eq(s.n_tokens, 12);
	ck_assert_uint_eq(s.last.u.done.n_prompt, 5);
	lmi_engine_info(e, &info);
	v[0] = info.desc->decoder_start;
	for (uint32_t i = 0; i < 12; i++) {
		struct lmi_engine_input_seq in = lmt_tokens(v, 1 + i);
		struct lmi_engine_eval ev = {
			.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_ENGINE_WANT_LAST};
		struct lmt_rows r;
		uint32_t best = 0;

		in.enc = hello;
		in.n_enc = 5;
		ck_assert_int_eq(lmt_eval(e, &ev, &r, NULL), LMD_OK);
		for (uint32_t k = 1; k < r.width; k++)
			if (r.v[k] > r.v[best])
				best = k;
		lmi_free(r.v);
		ck_assert_int_eq(s.tokens[i], (lmd_token)best);
		v[1 + i] = (lmd_token)best;
	}
	lmi_engine_fini(e);
}
END_TEST

START_TEST(many_at_a_time_are_each_alone)
{
	struct lmi_engine_opts one = story_opts(&env, 1), many = story_opts(&env, 4);
	struct lmi_engine *a = story_engine(&one), *b = story_engine(&many);
	static struct story s[12];
	struct lmi_engine_stats st;
	struct lmd_error err;
	lmd_token v[12][40];

	memset(s, 0, sizeof(s));
	for (uint32_t i = 0; i < 12; i++) {
		uint64_t rnd = env.seed + i;
		struct lmi_engine_generate cmd;

		for (int k = 0; k < 40; k++)
			v[i][k] = (lmd_token)(lmd_rand(&rnd) % 95);
		cmd = story_command(i + 1, v[i], 1 + i * 3, 5 + i);
		ck_assert_int_eq(lmi_engine_generate(b, &cmd, &err), LMD_OK);
	}
	story_run(b, s, 12);
	for (uint32_t i = 0; i < 12; i++) {
		struct lmi_engine_generate cmd = story_command(1, v[i], 1 + i * 3, 5 + i);
		struct story alone = story_generate(a, &cmd);

		ck_assert_uint_eq(s[i].n_final, 1);
		ck_assert_uint_eq(s[i].n_tokens, 5 + i);
		ck_assert_str_eq(s[i].text, alone.text);
	}
	lmi_engine_stats(b, &st);
	ck_assert_uint_eq(st.n_generated, 12 * 5 + 66);
	ck_assert_uint_eq(st.step_allocs, 0); /* no token allocated memory */
	lmi_engine_fini(a);
	lmi_engine_fini(b);
}
END_TEST

START_TEST(stop_texts_end_it_before_them)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 40);
	struct story whole = story_generate(e, &cmd);

	ck_assert_uint_ge(whole.n_text, 30);
	for (uint32_t at = 0; at + 5 < whole.n_text; at += 3) {
		char text[6] = {0};
		struct lmd_str stop[2] = {{"no such text, ever", 18}, {text, 5}};
		struct story s;
		const char *first;

		memcpy(text, whole.text + at, 5);
		first = strstr(whole.text, text);
		cmd.stops = stop;
		cmd.n_stops = 2;
		s = story_generate(e, &cmd);
		ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
		ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_STOP);
		ck_assert_uint_eq(s.n_text, (uint32_t)(first - whole.text));
		ck_assert_int_eq(memcmp(s.text, whole.text, s.n_text), 0);
	}
	lmi_engine_fini(e);
}
END_TEST

/* A stop token ends the answer before its text, unless the answer is too short. */
START_TEST(stop_tokens_end_it_before_them)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 12);
	struct story whole = story_generate(e, &cmd), s;
	lmd_token stop = whole.tokens[5];
	uint32_t first = 0;

	while (whole.tokens[first] != stop)
		first++;
	cmd.stop_tokens = &stop;
	cmd.n_stop_tokens = 1;
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_STOP);
	ck_assert_uint_eq(s.n_tokens, first + 1);
	ck_assert_int_eq(memcmp(s.tokens, whole.tokens, (first + 1) * sizeof(stop)), 0);
	ck_assert_uint_eq(s.n_text, first); /* each token is a character */
	ck_assert_int_eq(memcmp(s.text, whole.text, first), 0);

	cmd.n_min = 9;
	s = story_generate(e, &cmd);
	ck_assert_uint_ge(s.n_tokens, 9);
	for (uint32_t i = 0; i < 9; i++)
		ck_assert_int_ne(s.tokens[i], stop);
	ck_assert_int_eq(memcmp(s.tokens, whole.tokens, first * sizeof(stop)), 0);
	lmi_engine_fini(e);
}
END_TEST

/* The model would end it at once, but may not before its minimum. */
START_TEST(no_end_before_the_minimum)
{
	static const struct lmd_bias only = {LMT_EOS, 1000};
	static const struct lmi_sampler_arg arg = {"bias", LMD_PARAM_BIAS, {.bias = &only, .n = 1}};
	static const struct lmi_sampler_spec specs[] = {{"logit_bias", &arg, 1}, {"greedy", NULL, 0}};
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 12);
	struct story s;

	cmd.flags = 0;
	cmd.specs = specs;
	cmd.n_specs = LMD_LEN(specs);
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_EOG);
	ck_assert_uint_eq(s.n_tokens, 1);
	cmd.n_min = 7;
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_EOG);
	ck_assert_uint_eq(s.n_tokens, 8);
	ck_assert_uint_eq(s.n_text, 7);
	lmi_engine_fini(e);
}
END_TEST

/* Everything but the end token is banned from the second token on. */
START_TEST(the_model_ends_it)
{
	struct lmd_bias bias[] = {{.id = LMT_EOS, .bias = 1000.0f}};
	struct lmi_sampler_arg arg = {
		.name = "bias", .type = LMD_PARAM_BIAS, .v = {.n = 1, .bias = bias}};
	struct lmi_sampler_spec chain[] = {{.name = "logit_bias", .args = &arg, .n_args = 1},
					   {.name = "greedy"}};
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 40);
	struct story s;

	cmd.specs = chain;
	cmd.n_specs = 2;
	cmd.flags = 0;
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_EOG);
	ck_assert_uint_eq(s.n_tokens, 1);
	ck_assert_int_eq(s.tokens[0], LMT_EOS);
	ck_assert_uint_eq(s.n_text, 0);
	cmd.flags = LMI_ENGINE_GEN_SPECIAL;
	s = story_generate(e, &cmd);
	ck_assert_str_eq(s.text, "<eos>");
	cmd.flags = 0;
	cmd.shown = (const lmd_token[]){3, LMT_EOS};
	cmd.n_shown = 2;
	s = story_generate(e, &cmd);
	ck_assert_str_eq(s.text, "<eos>");
	cmd.n_shown = 1;
	s = story_generate(e, &cmd);
	ck_assert_str_eq(s.text, "");
	cmd.flags = LMI_ENGINE_GEN_IGNORE_EOG;
	s = story_generate(e, &cmd);
	ck_assert_uint_eq(s.n_tokens, 40);
	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_LENGTH);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(the_context_ends_one_alone)
{
	struct lmi_engine_opts o = story_opts(&env, 3);
	struct lmi_engine *e;
	static struct story s[3];
	struct lmd_error err;

	memset(s, 0, sizeof(s));
	o.inst.n_ctx = 40;
	e = story_engine(&o);
	for (uint32_t i = 0; i < 3; i++) {
		struct lmi_engine_generate cmd = story_command(i + 1, hello, 5, i == 1 ? -1 : 10);

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	}
	story_run(e, s, 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(s[i].end, LMI_ENGINE_EV_DONE);
	ck_assert_int_eq(s[1].last.u.done.finish, LMI_ENGINE_FINISH_CONTEXT);
	ck_assert_uint_eq(s[1].n_tokens, 36); /* the last one is not computed any more */
	ck_assert_int_eq(s[0].last.u.done.finish, LMI_ENGINE_FINISH_LENGTH);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(nothing_to_write)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 0);
	struct story s = story_generate(e, &cmd);

	ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
	ck_assert_uint_eq(s.n_tokens + s.n_text, 0);
	lmi_engine_fini(e);
}
END_TEST

/* ---- errors ---- */

START_TEST(refusals_have_numbers)
{
	static const lmd_token bad[] = {1, 96}, minus[] = {-1};
	const struct lmi_sampler_spec unknown = {.name = "nonsense"};
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o);
	lmd_token long_prompt[300] = {0};
	struct lmd_error err;
	struct lmi_engine_generate g;
	struct lmi_engine_input_seq in;
	struct lmi_engine_eval ev = {.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};

#define REFUSED(call, status, word)                                                                \
	do {                                                                                       \
		memset(&err, 0, sizeof(err));                                                      \
		ck_assert_int_eq(call, status);                                                    \
		ck_assert_msg(strstr(err.text, word) != NULL, "%s", err.text);                     \
	} while (0)
	g = story_command(1, bad, 2, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "token 1 is 96");
	g = story_command(1, minus, 1, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "token 0 is -1");
	g = story_command(1, hello, 0, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "0 tokens");
	g = story_command(1, long_prompt, 300, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID,
		"300 tokens exceed the context of 256");
	g = story_command(0, hello, 5, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "id 0");
	g = story_command(1, hello, 5, 1);
	g.seq.pos = (const int32_t[]){0, 1, 2, 3, 4};
	g.seq.n_plane = 1;
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_UNSUPPORTED, "1 lists of positions");
	g = story_command(1, hello, 5, 1);
	g.specs = &unknown;
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_NOTFOUND, "nonsense");
	in = lmt_tokens(bad, 2);
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "96");
	in = lmt_tokens(hello, 5);
	in.n_enc = 2;
	in.enc = hello;
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_UNSUPPORTED, "encoder");
	in = lmt_tokens(hello, 5);
	in.fork_of = 0;
	in.fork_at = 2;
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "cannot fork");
	in = (struct lmi_engine_input_seq){.rows = (const float[]){1, 2, 3},
					   .n_rows = 1,
					   .width = 3,
					   .fork_of = LMI_ENGINE_NO_FORK};
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "rows of 3 numbers");
	ev.n_seq = 0;
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "0 sequences");
#undef REFUSED
	/* none of them left anything behind */
	g = story_command(1, hello, 5, 3);
	ck_assert_uint_eq(story_generate(e, &g).n_tokens, 3);
	lmi_engine_close(e);
	ck_assert_int_eq(lmi_engine_generate(e, &g, &err), LMD_CANCELLED);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(opening_is_refused_with_numbers)
{
	static const struct {
		struct lmi_engine_model_opts o;
		enum lmd_status status;
		const char *word;
	} cases[] = {
		{{.backend = "nonsense"}, LMD_NOTFOUND, "nonsense"},
		{{.device = 7}, LMD_NOTFOUND, "device 7"},
		{{.n_thread = 5000}, LMD_INVALID, "5000 threads"},
		{{.n_ctx = 1u << 31}, LMD_INVALID, "2147483648"},
		{{.n_seq = 100000}, LMD_INVALID, "100000 sequences"},
		{{.n_batch = 1u << 20}, LMD_INVALID, "1048576 rows"},
		{{.memory_limit = 1000}, LMD_NOMEM, "MiB"},
		{{.n_ctx = 1 << 20, .memory_limit = 64 << 20}, LMD_NOMEM, "context 1048576"},
		{{.k_dtype = LMD_DTYPE_Q5_0}, LMD_UNSUPPORTED, "blocks of q5_0"},
		{{.v_dtype = LMD_DTYPE_Q5_1}, LMD_UNSUPPORTED, "blocks of q5_1"},
		{{.k_dtype = LMD_DTYPE_Q8_1},
		 LMD_UNSUPPORTED,
		 "cannot store keys of type q8_1; it offers f32, f16, bf16, q8_0, "
		 "f8_e4m3, q5_1, q5_0, q4_1, q4_0, iq4_nl, q4_0_rot"},
		{{.path = "/nonexistent/model.gguf"}, LMD_NOTFOUND, "/nonexistent/model.gguf"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_opts o = story_opts(&env, 1);
		struct lmi_engine *e = NULL;
		struct lmd_error err = {0};

		o.inst.backend = cases[i].o.backend ? cases[i].o.backend : o.inst.backend;
		o.inst.path = cases[i].o.path ? cases[i].o.path : env.path;
		o.inst.device = cases[i].o.device;
		o.inst.n_thread = cases[i].o.n_thread ? cases[i].o.n_thread : 1;
		o.inst.n_ctx = cases[i].o.n_ctx;
		o.inst.n_seq = cases[i].o.n_seq;
		o.inst.n_batch = cases[i].o.n_batch;
		o.inst.memory_limit = cases[i].o.memory_limit;
		o.inst.k_dtype = cases[i].o.k_dtype ? cases[i].o.k_dtype : -1;
		o.inst.v_dtype = cases[i].o.v_dtype ? cases[i].o.v_dtype : -1;
		ck_assert_msg(lmi_engine_open(&e, &o, &err) == cases[i].status, "%zu: %s", i,
			      err.text);
		ck_assert_msg(strstr(err.text, cases[i].word) != NULL, "%zu: %s", i, err.text);
	}
}
END_TEST

/* ---- queues and threads ---- */

START_TEST(nobody_reads)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 200);
	struct story s = {0}, want;
	struct lmi_engine *e;
	struct lmi_engine_event ev;
	struct lmd_error err;
	uint32_t n = 0;

	o.n_event = 1;
	o.n_request = 4;
	e = story_engine(&o);
	want = story_generate(e, &cmd);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	while (!s.n_final) {
		/* one event is read for every two turns: the ring fills up and the engine waits */
		n += lmi_engine_step(e) == LMI_ENGINE_STEP_EVENTS_FULL;
		n += lmi_engine_step(e) == LMI_ENGINE_STEP_EVENTS_FULL;
		if (lmi_engine_poll(e, &ev))
			story_tell(&s, &ev);
	}
	ck_assert_uint_gt(n, 0);
	ck_assert_str_eq(s.text, want.text); /* nothing was lost */
	lmi_engine_fini(e);
}
END_TEST

START_TEST(too_many_at_a_time)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 3);
	static struct story s[5];
	struct lmi_engine *e;
	struct lmd_error err;

	memset(s, 0, sizeof(s));
	o.n_request = 4;
	e = story_engine(&o);
	for (cmd.id = 1; cmd.id <= 4; cmd.id++)
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_BUSY);
	story_run(e, s, 5);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(s[i].end, LMI_ENGINE_EV_DONE);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(a_thread_of_its_own)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	static struct story s[8];
	struct lmi_engine *e;
	struct lmi_engine_event ev;
	struct lmd_error err;
	uint32_t n_final = 0;

	memset(s, 0, sizeof(s));
	o.in_line = false;
	e = story_engine(&o);
	for (uint64_t id = 1; id <= 8; id++) {
		struct lmi_engine_generate cmd = story_command(id, hello, 5, id == 5 ? -1 : 20);

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	}
	ck_assert_int_eq(lmi_engine_cancel(e, 5), LMD_OK);
	ck_assert_int_eq(lmi_engine_cancel(e, 77), LMD_OK); /* unknown id */
	while (n_final < 8) {
		if (!lmi_engine_wait(e, &ev, -1))
			continue;
		story_tell(&s[ev.id - 1], &ev);
		n_final += ev.kind >= LMI_ENGINE_EV_DONE;
	}
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_eq(s[i].n_final, 1);
		if (i != 4)
			ck_assert_str_eq(s[i].text, s[0].text);
	}
	ck_assert_int_eq(s[4].end, LMI_ENGINE_EV_CANCELLED);
	/* stopped in the middle: final events can be read */
	for (uint64_t id = 1; id <= 4; id++) {
		struct lmi_engine_generate cmd = story_command(id, hello, 5, -1);

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	}
	lmi_engine_stop(e);
	n_final = 0;
	while (lmi_engine_wait(e, &ev, -1))
		n_final += ev.kind >= LMI_ENGINE_EV_DONE;
	ck_assert_uint_eq(n_final, 4);
	lmi_engine_fini(e);
}
END_TEST

/* ---- a truncated file ---- */

static void copy_file(const char *from, const char *to)
{
	char buf[65536];
	FILE *a = fopen(from, "rb"), *b = fopen(to, "wb");
	size_t n;

	ck_assert(a && b);
	while ((n = fread(buf, 1, sizeof(buf), a)))
		ck_assert_uint_eq(fwrite(buf, 1, n, b), n);
	fclose(a);
	ck_assert_int_eq(fclose(b), 0);
}

START_TEST(the_file_shrinks_while_it_is_read)
{
	char copy[300];
	struct lmi_engine_opts o = story_opts(&env, 2), other = story_opts(&env, 1);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, -1);
	static struct story s[2];
	struct lmi_engine *e, *sound;
	struct lmi_engine_event ev;
	struct lmd_error err;

	if (!strcmp(o.inst.backend, "emu")) {
		LMD_SKIP("the_file_shrinks_while_it_is_read", "emu reads no file in a step");
		return;
	}
	memset(s, 0, sizeof(s));
	snprintf(copy, sizeof(copy), "%s.copy", env.path);
	copy_file(env.path, copy);
	o.inst.path = copy;
	o.inst.n_thread = 1 + (uint32_t)_i; /* the fault may occur in any thread of the team */
	e = story_engine(&o);
	sound = story_engine(&other);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	cmd.id = 2;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	for (int i = 0; i < 4; i++)
		(void)lmi_engine_step(e);
	ck_assert_int_eq(truncate(copy, 8192), 0);
	for (int i = 0; i < 3; i++)
		(void)lmi_engine_step(e);
	while (lmi_engine_poll(e, &ev))
		story_tell(&s[ev.id - 1], &ev);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(s[i].n_final, 1);
		ck_assert_int_eq(s[i].end, LMI_ENGINE_EV_FAILED);
		ck_assert_int_eq(s[i].last.u.error.status, LMD_IO);
		ck_assert_ptr_nonnull(strstr(s[i].last.u.error.text, "truncated"));
	}
	/* later commands get the same error; another engine is not affected */
	memset(s, 0, sizeof(s));
	cmd.id = 1;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	story_run(e, s, 2);
	ck_assert_int_eq(s[0].end, LMI_ENGINE_EV_FAILED);
	cmd.n_predict = 4;
	ck_assert_int_eq(story_generate(sound, &cmd).end, LMI_ENGINE_EV_DONE);
	lmi_engine_fini(e);
	lmi_engine_fini(sound);
	(void)remove(copy);
}
END_TEST

/* ---- memory that runs out ---- */

START_TEST(every_allocation_may_fail)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_alloc_stats before, after;
	uint64_t nth;

	lmi_engine_fini(story_engine(&o)); /* plugins stay loaded */
	lmi_alloc_stats(&before);
	for (nth = 1;; nth++) {
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
		struct lmd_error err = {0};
		struct lmi_engine *e = NULL;
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_engine_open(&e, &o, &err);
		if (st == LMD_OK)
			st = lmi_engine_generate(e, &cmd, &err);
		if (st == LMD_OK) {
			struct lmi_engine_event ev;

			while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE)
				;
			while (lmi_engine_poll(e, &ev))
				if (ev.kind == LMI_ENGINE_EV_FAILED)
					st = ev.u.error.status;
		}
		lmi_engine_fini(e);
		if (!lmi_alloc_did_fail())
			break;
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(st == LMD_NOMEM, "allocation %llu: %s: %s", (unsigned long long)nth,
			      lmd_status_text(st), err.text);
		lmi_alloc_stats(&after);
		ck_assert_msg(before.n_live == after.n_live, "allocation %llu leaks",
			      (unsigned long long)nth);
	}
	lmi_alloc_fail_nth(0, false);
	printf("%llu allocations\n", (unsigned long long)nth);
	ck_assert_uint_gt(nth, 100);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("engine");
	TCase *t = tcase_create("engine");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, generation_is_what_evaluation_says);
	tcase_add_test(t, an_encoder_and_a_decoder);
	tcase_add_test(t, many_at_a_time_are_each_alone);
	tcase_add_test(t, stop_texts_end_it_before_them);
	tcase_add_test(t, stop_tokens_end_it_before_them);
	tcase_add_test(t, no_end_before_the_minimum);
	tcase_add_test(t, the_model_ends_it);
	tcase_add_test(t, the_context_ends_one_alone);
	tcase_add_test(t, nothing_to_write);
	tcase_add_test(t, refusals_have_numbers);
	tcase_add_test(t, opening_is_refused_with_numbers);
	tcase_add_test(t, nobody_reads);
	tcase_add_test(t, too_many_at_a_time);
	tcase_add_test(t, a_thread_of_its_own);
	tcase_add_loop_test(t, the_file_shrinks_while_it_is_read, 0, 3);
	tcase_add_test(t, every_allocation_may_fail);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
