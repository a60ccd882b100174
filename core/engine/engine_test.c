/* SPDX-License-Identifier: MIT
 *
 * The engine as its hosts see it: generations, ends, refusals, queues, a file that shrinks, and
 * memory that runs out. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/sample_params.h"
#include "core/text/tokenizer.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

static struct lmt_env env;
static char path[256];
static uint64_t seed;

static void setup(void)
{
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	seed = lmd_seed("engine", 7);
	snprintf(path, sizeof(path), "%s/core/engine/test.%d.gguf", lmd_build_dir(), (int)getpid());
	lmt_tiny_write(LMT_FULL, seed, path);
}

static void teardown(void)
{
	char copy[300];

	snprintf(copy, sizeof(copy), "%s.copy", path); /* of a test that failed */
	(void)remove(copy);
	(void)remove(path);
	lmt_env_fini(&env);
}

static struct lmi_engine *open_engine(struct lmi_engine_opts *o)
{
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	ck_assert_msg(lmi_engine_open(&e, o, &err) == LMD_OK, "%s", err.text);
	return e;
}

static struct lmi_engine_opts opts(uint32_t n_seq)
{
	struct lmi_engine_opts o = lmt_opts(&env, path);

	o.no_tokenizer = false;
	o.inst.n_seq = n_seq;
	return o;
}

/* ---- generation ---- */

static const struct lmi_sampler_spec greedy = {.name = "greedy"};

struct story {
	char text[2048];
	lmd_token tokens[512];
	uint32_t n_text, n_tokens, n_final;
	enum lmi_event_kind end;
	struct lmi_event last;
};

static void tell(struct story *s, const struct lmi_event *ev)
{
	ck_assert_uint_eq(s->n_final, 0); /* nothing comes after the end */
	switch (ev->kind) {
	case LMI_EV_TOKEN:
		s->tokens[s->n_tokens++] = ev->u.text.token;
		/* fall through */
	case LMI_EV_TEXT:
		ck_assert_uint_lt(s->n_text + ev->u.text.n, sizeof(s->text));
		memcpy(s->text + s->n_text, ev->u.text.bytes, ev->u.text.n);
		s->n_text += ev->u.text.n;
		s->text[s->n_text] = 0;
		break;
	default:
		s->n_final++;
		s->end = (enum lmi_event_kind)ev->kind;
		s->last = *ev;
	}
}

static void run_all(struct lmi_engine *e, struct story *s, uint32_t n)
{
	struct lmi_event ev;

	while (lmi_engine_turn(e) != LMI_TURN_IDLE)
		while (lmi_engine_poll(e, &ev)) {
			ck_assert(ev.id >= 1 && ev.id <= n);
			tell(&s[ev.id - 1], &ev);
		}
	while (lmi_engine_poll(e, &ev))
		tell(&s[ev.id - 1], &ev);
}

static struct lmi_generate command(uint64_t id, const lmd_token *v, uint32_t n, int64_t n_predict)
{
	return (struct lmi_generate){.id = id,
				     .seq = lmt_tokens(v, n),
				     .n_predict = n_predict,
				     .specs = &greedy,
				     .n_specs = 1,
				     .flags = LMI_GEN_IGNORE_EOG};
}

static const lmd_token hello[] = {40, 69, 76, 76, 79};

static struct story generate(struct lmi_engine *e, const struct lmi_generate *cmd)
{
	struct story s = {0};
	struct lmd_error err;

	ck_assert_msg(lmi_engine_generate(e, cmd, &err) == LMD_OK, "%s", err.text);
	run_all(e, &s, (uint32_t)cmd->id);
	ck_assert_uint_eq(s.n_final, 1);
	return s;
}

/* Greedy choice, token by token, from whole evaluations. */
START_TEST(generation_is_what_evaluation_says)
{
	struct lmi_engine_opts o = opts(1);
	struct lmi_engine *e = open_engine(&o);
	struct lmi_generate cmd = command(1, hello, 5, 30);
	struct story s = generate(e, &cmd);
	lmd_token v[64];

	ck_assert_int_eq(s.end, LMI_EV_DONE);
	ck_assert_int_eq(s.last.u.done.finish, LMI_FINISH_LENGTH);
	ck_assert_uint_eq(s.last.u.done.n_prompt, 5);
	ck_assert_uint_eq(s.last.u.done.n_out, 30);
	ck_assert_uint_eq(s.n_tokens, 30);
	memcpy(v, hello, sizeof(hello));
	for (uint32_t i = 0; i < 30; i++) {
		struct lmi_input_seq in = lmt_tokens(v, 5 + i);
		struct lmi_eval ev = {.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_WANT_LAST};
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
	/* and the text is the tokens' */
	for (uint32_t i = 0, at = 0; i < 30; i++)
		if (s.tokens[i] != LMT_EOS)
			ck_assert_int_eq(s.text[at++], 32 + s.tokens[i]);
	lmi_engine_fini(e);
}
END_TEST

/* The prompt is the encoder's, the decoder begins by itself; against whole evaluations. */
START_TEST(an_encoder_and_a_decoder)
{
	const char *models = lmt_parity_models();
	char file[4200];
	struct lmi_engine_opts o;
	struct lmi_generate cmd = command(1, hello, 5, 12);
	struct lmi_engine *e;
	struct story s;
	lmd_token v[16];

	if (!models) {
		LMD_SKIP("an_encoder_and_a_decoder", "no parity pack");
		return;
	}
	snprintf(file, sizeof(file), "%s/t5.gguf", models);
	o = lmt_opts(&env, file);
	o.no_tokenizer = false;
	o.inst.n_seq = 2;
	e = open_engine(&o);
	s = generate(e, &cmd);
	ck_assert_int_eq(s.end, LMI_EV_DONE);
	ck_assert_uint_eq(s.n_tokens, 12);
	ck_assert_uint_eq(s.last.u.done.n_prompt, 5);
	v[0] = lmi_engine_inst(e)->desc.decoder_start;
	for (uint32_t i = 0; i < 12; i++) {
		struct lmi_input_seq in = lmt_tokens(v, 1 + i);
		struct lmi_eval ev = {.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_WANT_LAST};
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
	struct lmi_engine_opts one = opts(1), many = opts(4);
	struct lmi_engine *a = open_engine(&one), *b = open_engine(&many);
	static struct story s[12];
	struct lmi_engine_stats st;
	struct lmd_error err;
	lmd_token v[12][40];

	memset(s, 0, sizeof(s));
	for (uint32_t i = 0; i < 12; i++) {
		uint64_t rnd = seed + i;
		struct lmi_generate cmd;

		for (int k = 0; k < 40; k++)
			v[i][k] = (lmd_token)(lmd_rand(&rnd) % 95);
		cmd = command(i + 1, v[i], 1 + i * 3, 5 + i);
		ck_assert_int_eq(lmi_engine_generate(b, &cmd, &err), LMD_OK);
	}
	run_all(b, s, 12);
	for (uint32_t i = 0; i < 12; i++) {
		struct lmi_generate cmd = command(1, v[i], 1 + i * 3, 5 + i);
		struct story alone = generate(a, &cmd);

		ck_assert_uint_eq(s[i].n_final, 1);
		ck_assert_uint_eq(s[i].n_tokens, 5 + i);
		ck_assert_str_eq(s[i].text, alone.text);
	}
	lmi_engine_stats(b, &st);
	ck_assert_uint_eq(st.n_generated, 12 * 5 + 66);
	ck_assert_uint_eq(st.step_allocs, 0); /* no token took memory */
	lmi_engine_fini(a);
	lmi_engine_fini(b);
}
END_TEST

START_TEST(stop_texts_end_it_before_them)
{
	struct lmi_engine_opts o = opts(1);
	struct lmi_engine *e = open_engine(&o);
	struct lmi_generate cmd = command(1, hello, 5, 40);
	struct story whole = generate(e, &cmd);

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
		s = generate(e, &cmd);
		ck_assert_int_eq(s.end, LMI_EV_DONE);
		ck_assert_int_eq(s.last.u.done.finish, LMI_FINISH_STOP);
		ck_assert_uint_eq(s.n_text, (uint32_t)(first - whole.text));
		ck_assert_int_eq(memcmp(s.text, whole.text, s.n_text), 0);
	}
	lmi_engine_fini(e);
}
END_TEST

/* Everything but the end token is banned from the second choice on. */
START_TEST(the_model_ends_it)
{
	struct lmd_bias bias[] = {{.id = LMT_EOS, .bias = 1000.0f}};
	struct lmi_sampler_arg arg = {
		.name = "bias", .type = LMD_PARAM_BIAS, .v = {.n = 1, .bias = bias}};
	struct lmi_sampler_spec chain[] = {{.name = "logit_bias", .args = &arg, .n_args = 1},
					   {.name = "greedy"}};
	struct lmi_engine_opts o = opts(1);
	struct lmi_engine *e = open_engine(&o);
	struct lmi_generate cmd = command(1, hello, 5, 40);
	struct story s;

	cmd.specs = chain;
	cmd.n_specs = 2;
	cmd.flags = 0;
	s = generate(e, &cmd);
	ck_assert_int_eq(s.last.u.done.finish, LMI_FINISH_EOG);
	ck_assert_uint_eq(s.n_tokens, 1);
	ck_assert_int_eq(s.tokens[0], LMT_EOS);
	ck_assert_uint_eq(s.n_text, 0);
	cmd.flags = LMI_GEN_SPECIAL;
	s = generate(e, &cmd);
	ck_assert_str_eq(s.text, "<eos>");
	cmd.flags = 0;
	cmd.shown = (const lmd_token[]){3, LMT_EOS};
	cmd.n_shown = 2;
	s = generate(e, &cmd);
	ck_assert_str_eq(s.text, "<eos>");
	cmd.n_shown = 1;
	s = generate(e, &cmd);
	ck_assert_str_eq(s.text, "");
	cmd.flags = LMI_GEN_IGNORE_EOG;
	s = generate(e, &cmd);
	ck_assert_uint_eq(s.n_tokens, 40);
	ck_assert_int_eq(s.last.u.done.finish, LMI_FINISH_LENGTH);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(the_context_ends_one_alone)
{
	struct lmi_engine_opts o = opts(3);
	struct lmi_engine *e;
	static struct story s[3];
	struct lmd_error err;

	memset(s, 0, sizeof(s));
	o.inst.n_ctx = 40;
	e = open_engine(&o);
	for (uint32_t i = 0; i < 3; i++) {
		struct lmi_generate cmd = command(i + 1, hello, 5, i == 1 ? -1 : 10);

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	}
	run_all(e, s, 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(s[i].end, LMI_EV_DONE);
	ck_assert_int_eq(s[1].last.u.done.finish, LMI_FINISH_CONTEXT);
	ck_assert_uint_eq(s[1].n_tokens, 36); /* the last one is not computed any more */
	ck_assert_int_eq(s[0].last.u.done.finish, LMI_FINISH_LENGTH);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(nothing_to_write)
{
	struct lmi_engine_opts o = opts(1);
	struct lmi_engine *e = open_engine(&o);
	struct lmi_generate cmd = command(1, hello, 5, 0);
	struct story s = generate(e, &cmd);

	ck_assert_int_eq(s.end, LMI_EV_DONE);
	ck_assert_uint_eq(s.n_tokens + s.n_text, 0);
	lmi_engine_fini(e);
}
END_TEST

/* ---- sequences that stay ---- */

/* A talk: each turn goes on where the one before ended.  Rows are computed once, and the text
 * is the same as without. */
START_TEST(a_kept_sequence_is_not_read_again)
{
	struct lmi_engine_opts o = opts(2);
	struct lmi_engine *kept, *plain;
	struct lmi_engine_stats a, b;
	lmd_token v[250];
	uint32_t n = 5;

	o.inst.kv_tokens = 256; /* room for one, and the page where both end */
	kept = open_engine(&o);
	plain = open_engine(&o);
	memcpy(v, hello, sizeof(hello));
	for (int turn = 0; turn < 8; turn++) {
		struct lmi_generate cmd = command(1, v, n, 20);
		struct story one = generate(plain, &cmd), two;

		cmd.flags |= LMI_GEN_KEEP;
		two = generate(kept, &cmd);
		ck_assert_str_eq(one.text, two.text);
		ck_assert_uint_eq(two.last.u.done.n_prompt, n);
		memcpy(v + n, two.tokens, two.n_tokens * sizeof(v[0]));
		n += two.n_tokens;
		for (int k = 0; k < 7; k++)
			v[n++] = (lmd_token)(turn * 7 + k);
	}
	lmi_engine_stats(plain, &a);
	lmi_engine_stats(kept, &b);
	ck_assert_uint_eq(a.n_shared_rows, 0);
	ck_assert_uint_lt(b.n_row, n);
	ck_assert_uint_eq(b.n_row + b.n_shared_rows, a.n_row);
	ck_assert_uint_eq(b.step_allocs, 0);
	ck_assert_uint_lt(b.n_free[0], b.n_page[0]); /* it is still there */
	/* another beginning: it goes */
	{
		static const lmd_token other[] = {1, 2, 3};
		struct lmi_generate cmd = command(1, other, 3, 2);

		(void)generate(kept, &cmd);
		lmi_engine_stats(kept, &b);
		ck_assert_uint_eq(b.n_free[0], b.n_page[0]);
	}
	lmi_engine_fini(kept);
	lmi_engine_fini(plain);
}
END_TEST

/* What was cancelled stays as far as it came, and is not computed further. */
START_TEST(a_kept_sequence_that_was_cancelled)
{
	struct lmi_engine_opts o = opts(2);
	struct lmi_engine *e = open_engine(&o), *plain = open_engine(&o);
	struct lmi_generate cmd = command(1, hello, 5, 100);
	struct lmi_engine_stats st;
	struct lmi_event ev;
	struct story s = {0};
	lmd_token v[64];
	uint64_t n_row;

	for (int at = 0; at < 6; at++) {
		s = (struct story){0};
		cmd = command(1, hello, 5, 100);
		cmd.flags |= LMI_GEN_KEEP;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		for (int i = 0; i < at; i++)
			(void)lmi_engine_turn(e);
		ck_assert_int_eq(lmi_engine_cancel(e, 1), LMD_OK);
		(void)lmi_engine_turn(e);
		lmi_engine_stats(e, &st);
		n_row = st.n_row;
		ck_assert_int_eq(lmi_engine_turn(e), LMI_TURN_IDLE);
		lmi_engine_stats(e, &st);
		ck_assert_uint_eq(st.n_row, n_row);
		while (lmi_engine_poll(e, &ev))
			tell(&s, &ev);
		ck_assert_int_eq(s.end, LMI_EV_CANCELLED);
		memcpy(v, hello, sizeof(hello));
		memcpy(v + 5, s.tokens, s.n_tokens * sizeof(v[0]));
		v[5 + s.n_tokens] = 3;
		cmd = command(1, v, 6 + s.n_tokens, 10);
		ck_assert_str_eq(generate(e, &cmd).text, generate(plain, &cmd).text);
	}
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Somebody needs the memory, or the only place, that it has. */
START_TEST(a_kept_sequence_gives_way)
{
	struct lmi_engine_opts o = opts(_i ? 1 : 2);
	struct lmi_engine *e, *plain;
	lmd_token v[200] = {1, 2, 3};
	struct lmi_generate cmd = command(1, v, 200, 30);
	struct story s;

	for (int i = 0; i < 200; i++)
		v[i] = i % 95;
	o.inst.kv_tokens = 256;
	e = open_engine(&o);
	plain = open_engine(&o);
	cmd.flags |= LMI_GEN_KEEP;
	(void)generate(e, &cmd);
	v[10] = 50; /* ten rows in common: all others need pages of their own */
	s = generate(e, &cmd);
	ck_assert_int_eq(s.end, LMI_EV_DONE);
	cmd.flags &= ~LMI_GEN_KEEP;
	ck_assert_str_eq(s.text, generate(plain, &cmd).text);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* ---- refusals ---- */

START_TEST(refusals_have_numbers)
{
	static const lmd_token bad[] = {1, 96}, minus[] = {-1};
	const struct lmi_sampler_spec unknown = {.name = "nonsense"};
	struct lmi_engine_opts o = opts(2);
	struct lmi_engine *e = open_engine(&o);
	lmd_token long_prompt[300] = {0};
	struct lmd_error err;
	struct lmi_generate g;
	struct lmi_input_seq in;
	struct lmi_eval ev = {.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};

#define REFUSED(call, status, word)                                                                \
	do {                                                                                       \
		memset(&err, 0, sizeof(err));                                                      \
		ck_assert_int_eq(call, status);                                                    \
		ck_assert_msg(strstr(err.text, word) != NULL, "%s", err.text);                     \
	} while (0)
	g = command(1, bad, 2, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "token 1 is 96");
	g = command(1, minus, 1, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "token 0 is -1");
	g = command(1, hello, 0, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "0 tokens");
	g = command(1, long_prompt, 300, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID,
		"300 tokens are more than the context of 256");
	g = command(0, hello, 5, 1);
	REFUSED(lmi_engine_generate(e, &g, &err), LMD_INVALID, "id 0");
	g = command(1, hello, 5, 1);
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
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "forks");
	in = (struct lmi_input_seq){
		.rows = (const float[]){1, 2, 3}, .n_rows = 1, .width = 3, .fork_of = LMI_NO_FORK};
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "rows of 3 numbers");
	ev.n_seq = 0;
	REFUSED(lmi_engine_eval(e, &ev, &err), LMD_INVALID, "0 sequences");
#undef REFUSED
	/* none of it left anything behind */
	g = command(1, hello, 5, 3);
	ck_assert_uint_eq(generate(e, &g).n_tokens, 3);
	lmi_engine_close(e);
	ck_assert_int_eq(lmi_engine_generate(e, &g, &err), LMD_CANCELLED);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(opening_is_refused_with_numbers)
{
	static const struct {
		struct lmi_inst_opts o;
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
		{{.kv_dtype = LMD_DTYPE_Q8_K}, LMD_UNSUPPORTED, "blocks"},
		{{.path = "/nonexistent/model.gguf"}, LMD_NOTFOUND, "/nonexistent/model.gguf"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_opts o = opts(1);
		struct lmi_engine *e = NULL;
		struct lmd_error err = {0};

		o.inst.backend = cases[i].o.backend ? cases[i].o.backend : o.inst.backend;
		o.inst.path = cases[i].o.path ? cases[i].o.path : path;
		o.inst.device = cases[i].o.device;
		o.inst.n_thread = cases[i].o.n_thread ? cases[i].o.n_thread : 1;
		o.inst.n_ctx = cases[i].o.n_ctx;
		o.inst.n_seq = cases[i].o.n_seq;
		o.inst.n_batch = cases[i].o.n_batch;
		o.inst.memory_limit = cases[i].o.memory_limit;
		o.inst.kv_dtype = cases[i].o.kv_dtype ? cases[i].o.kv_dtype : -1;
		ck_assert_msg(lmi_engine_open(&e, &o, &err) == cases[i].status, "%zu: %s", i,
			      err.text);
		ck_assert_msg(strstr(err.text, cases[i].word) != NULL, "%zu: %s", i, err.text);
	}
}
END_TEST

/* ---- queues and threads ---- */

START_TEST(nobody_reads)
{
	struct lmi_engine_opts o = opts(2);
	struct lmi_generate cmd = command(1, hello, 5, 200);
	struct story s = {0}, want;
	struct lmi_engine *e;
	struct lmi_event ev;
	struct lmd_error err;
	uint32_t n = 0;

	o.n_event = 1;
	o.n_request = 4;
	e = open_engine(&o);
	want = generate(e, &cmd);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	while (!s.n_final) {
		/* one event is read for every two turns: the ring fills and the engine waits */
		n += lmi_engine_turn(e) == LMI_TURN_FULL;
		n += lmi_engine_turn(e) == LMI_TURN_FULL;
		if (lmi_engine_poll(e, &ev))
			tell(&s, &ev);
	}
	ck_assert_uint_gt(n, 0);
	ck_assert_str_eq(s.text, want.text); /* nothing was lost */
	lmi_engine_fini(e);
}
END_TEST

START_TEST(too_many_at_a_time)
{
	struct lmi_engine_opts o = opts(2);
	struct lmi_generate cmd = command(1, hello, 5, 3);
	static struct story s[5];
	struct lmi_engine *e;
	struct lmd_error err;

	memset(s, 0, sizeof(s));
	o.n_request = 4;
	e = open_engine(&o);
	for (cmd.id = 1; cmd.id <= 4; cmd.id++)
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_BUSY);
	run_all(e, s, 5);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(s[i].end, LMI_EV_DONE);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(a_thread_of_its_own)
{
	struct lmi_engine_opts o = opts(2);
	static struct story s[8];
	struct lmi_engine *e;
	struct lmi_event ev;
	struct lmd_error err;
	uint32_t n_final = 0;

	memset(s, 0, sizeof(s));
	o.in_line = false;
	e = open_engine(&o);
	for (uint64_t id = 1; id <= 8; id++) {
		struct lmi_generate cmd = command(id, hello, 5, id == 5 ? -1 : 20);

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	}
	ck_assert_int_eq(lmi_engine_cancel(e, 5), LMD_OK);
	ck_assert_int_eq(lmi_engine_cancel(e, 77), LMD_OK); /* nobody */
	while (n_final < 8) {
		if (!lmi_engine_wait(e, &ev, -1))
			continue;
		tell(&s[ev.id - 1], &ev);
		n_final += ev.kind >= LMI_EV_DONE;
	}
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_eq(s[i].n_final, 1);
		if (i != 4)
			ck_assert_str_eq(s[i].text, s[0].text);
	}
	ck_assert_int_eq(s[4].end, LMI_EV_CANCELLED);
	/* stopped in the middle: final events are there to be read */
	for (uint64_t id = 1; id <= 4; id++) {
		struct lmi_generate cmd = command(id, hello, 5, -1);

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	}
	lmi_engine_stop(e);
	n_final = 0;
	while (lmi_engine_wait(e, &ev, -1))
		n_final += ev.kind >= LMI_EV_DONE;
	ck_assert_uint_eq(n_final, 4);
	lmi_engine_fini(e);
}
END_TEST

/* An engine that is closed as soon as its last answer has ended, with the sequence that stays. */
START_TEST(a_kept_sequence_goes_with_its_engine)
{
	struct lmi_engine_opts o = opts(2);
	struct lmi_alloc_stats before, after;

	o.in_line = false;
	lmi_engine_fini(open_engine(&o)); /* plugins are loaded */
	lmi_alloc_stats(&before);
	for (int i = 0; i < 200; i++) {
		struct lmi_generate cmd = command(1, hello, 5, 2);
		struct lmi_engine *e = open_engine(&o);
		struct lmi_event ev = {0};

		cmd.flags |= LMI_GEN_KEEP;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		while (!lmi_engine_wait(e, &ev, -1) || ev.kind < LMI_EV_DONE)
			;
		lmi_engine_fini(e);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(before.n_live, after.n_live);
	}
}
END_TEST

/* ---- a file that shrinks ---- */

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
	struct lmi_engine_opts o = opts(2), other = opts(1);
	struct lmi_generate cmd = command(1, hello, 5, -1);
	static struct story s[2];
	struct lmi_engine *e, *sound;
	struct lmi_event ev;
	struct lmd_error err;

	memset(s, 0, sizeof(s));
	snprintf(copy, sizeof(copy), "%s.copy", path);
	copy_file(path, copy);
	o.inst.path = copy;
	o.inst.n_thread = 1 + (uint32_t)_i; /* the fault may come in any thread of the team */
	e = open_engine(&o);
	sound = open_engine(&other);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	cmd.id = 2;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	for (int i = 0; i < 4; i++)
		(void)lmi_engine_turn(e);
	ck_assert_int_eq(truncate(copy, 8192), 0);
	for (int i = 0; i < 3; i++)
		(void)lmi_engine_turn(e);
	while (lmi_engine_poll(e, &ev))
		tell(&s[ev.id - 1], &ev);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(s[i].n_final, 1);
		ck_assert_int_eq(s[i].end, LMI_EV_FAILED);
		ck_assert_int_eq(s[i].last.u.error.status, LMD_IO);
		ck_assert_ptr_nonnull(strstr(s[i].last.u.error.text, "cut short"));
	}
	/* who comes later hears the same; another engine does not notice */
	memset(s, 0, sizeof(s));
	cmd.id = 1;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_OK);
	run_all(e, s, 2);
	ck_assert_int_eq(s[0].end, LMI_EV_FAILED);
	cmd.n_predict = 4;
	ck_assert_int_eq(generate(sound, &cmd).end, LMI_EV_DONE);
	lmi_engine_fini(e);
	lmi_engine_fini(sound);
	(void)remove(copy);
}
END_TEST

/* ---- memory that runs out ---- */

START_TEST(every_allocation_may_fail)
{
	struct lmi_engine_opts o = opts(2);
	struct lmi_alloc_stats before, after;
	uint64_t nth;

	lmi_engine_fini(open_engine(&o)); /* plugins stay loaded */
	lmi_alloc_stats(&before);
	for (nth = 1;; nth++) {
		struct lmi_generate cmd = command(1, hello, 5, 2);
		struct lmd_error err = {0};
		struct lmi_engine *e = NULL;
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_engine_open(&e, &o, &err);
		if (st == LMD_OK)
			st = lmi_engine_generate(e, &cmd, &err);
		if (st == LMD_OK) {
			struct lmi_event ev;

			while (lmi_engine_turn(e) != LMI_TURN_IDLE)
				;
			while (lmi_engine_poll(e, &ev))
				if (ev.kind == LMI_EV_FAILED)
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
	tcase_add_test(t, the_model_ends_it);
	tcase_add_test(t, the_context_ends_one_alone);
	tcase_add_test(t, nothing_to_write);
	tcase_add_test(t, a_kept_sequence_is_not_read_again);
	tcase_add_test(t, a_kept_sequence_that_was_cancelled);
	tcase_add_loop_test(t, a_kept_sequence_gives_way, 0, 2);
	tcase_add_test(t, refusals_have_numbers);
	tcase_add_test(t, opening_is_refused_with_numbers);
	tcase_add_test(t, nobody_reads);
	tcase_add_test(t, too_many_at_a_time);
	tcase_add_test(t, a_thread_of_its_own);
	tcase_add_test(t, a_kept_sequence_goes_with_its_engine);
	tcase_add_loop_test(t, the_file_shrinks_while_it_is_read, 0, 3);
	tcase_add_test(t, every_allocation_may_fail);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
