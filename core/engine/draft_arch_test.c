/* SPDX-License-Identifier: MIT
 *
 * Draft layers of architectures with layers of their own. A draft layer whose joining matrix takes the embedding alone
 * computes what the same layer computes in a trunk of its own from the normalised embedding. So each case is a model with a
 * draft layer, and one whose trunk is that layer, with the same weights; the norm and the head after it are computed here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/engine_impl.h"
#include "core/engine/memory_plan.h"
#include "core/format/gguf/write.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"

#define EMBD   64
#define VOCAB  96
#define N_ROW  12
#define N_STEP 5 /* rows of the first step */
#define STREAMS 2 /* of deepseek4 */

/* A weight of a layer. trunk: its name in a trunk, if that differs; second: there it is in a layer after the first. */
struct row {
	const char *name;
	int64_t dims[3];
	const char *trunk;
	bool second;
};

#define W(name_, ...)	   {.name = (name_), .dims = {__VA_ARGS__}}
#define SECOND(name_, ...) {.name = (name_), .dims = {__VA_ARGS__}, .second = true}
#define LATENT                                                                                                    \
	W("attn_norm.weight", 64), W("attn_kv_a_mqa.weight", 64, 32), W("attn_kv_a_norm.weight", 24),             \
		W("attn_k_b.weight", 12, 24, 4), W("attn_v_b.weight", 24, 16, 4),                                 \
		W("attn_output.weight", 64, 64), W("ffn_norm.weight", 64), W("exp_probs_b.bias", 4)
#define QUERIES                                                                                                   \
	W("attn_norm.weight", 64), W("attn_q.weight", 64, 64), W("attn_k.weight", 64, 32),                        \
		W("attn_v.weight", 64, 32), W("attn_output.weight", 64, 64)
#define DENSE                                                                                                     \
	W("ffn_norm.weight", 64), W("ffn_gate.weight", 64, 96), W("ffn_up.weight", 64, 96),                       \
		W("ffn_down.weight", 96, 64)
#define EXPERTS                                                                                                   \
	W("ffn_gate_inp.weight", 64, 4), W("ffn_up_exps.weight", 64, 32, 4),                                      \
		W("ffn_down_exps.weight", 32, 64, 4), W("ffn_gate_exps.weight", 64, 32, 4),                       \
		W("ffn_gate_shexp.weight", 64, 32), W("ffn_up_shexp.weight", 64, 32),                             \
		W("ffn_down_shexp.weight", 32, 64)

static const struct row cohere[] = {QUERIES, EXPERTS, {.name = NULL}};
static const struct row dsa[] = {LATENT,
				 EXPERTS,
				 W("attn_q_a.weight", 64, 24),
				 W("attn_q_a_norm.weight", 24),
				 W("attn_q_b.weight", 24, 80),
				 W("indexer.k_norm.weight", 64),
				 W("indexer.k_norm.bias", 64),
				 W("indexer.proj.weight", 64, 2),
				 W("indexer.attn_k.weight", 64, 64),
				 W("indexer.attn_q_b.weight", 24, 128),
				 {.name = NULL}};
static const struct row bailing[] = {
	LATENT, EXPERTS, W("attn_q.weight", 64, 80), W("attn_gate.weight", 64, 4), {.name = NULL}};
static const struct row nemotron[] = {
	QUERIES,
	{.name = "post_attention_norm.weight", .dims = {64}, .trunk = "attn_norm.weight", .second = true},
	SECOND("ffn_gate_inp.weight", 64, 4),
	SECOND("ffn_up_exps.weight", 64, 32, 4),
	SECOND("ffn_down_exps.weight", 32, 64, 4),
	SECOND("exp_probs_b.bias", 4),
	SECOND("ffn_up_shexp.weight", 64, 48),
	SECOND("ffn_down_shexp.weight", 48, 64),
	{.name = NULL}};

static const struct row step[] = {QUERIES,
				  W("attn_gate.weight", 64, 4),
				  DENSE,
				  {.name = NULL}};

static const struct row unknown[] = {QUERIES,
				     EXPERTS,
				     W("attn_q_norm.weight", 16),
				     W("attn_k_norm.weight", 16),
				     W("ffn_norm.weight", 64),
				     {.name = NULL}};

static const struct row mimo[] = {QUERIES,
				  W("attn_sinks.weight", 4),
				  DENSE,
				  {.name = NULL}};

/* Its two streams are joined with the embedding by the same matrix. */
static const struct row streams[] = {EXPERTS,
				     W("exp_probs_b.bias", 4),
				     W("attn_norm.weight", 64),
				     W("ffn_norm.weight", 64),
				     W("attn_sinks.weight", 4),
				     W("attn_q_a.weight", 64, 24),
				     W("attn_q_a_norm.weight", 24),
				     W("attn_q_b.weight", 24, 64),
				     W("attn_kv.weight", 64, 16),
				     W("attn_kv_a_norm.weight", 16),
				     W("attn_output_a.weight", 32, 16),
				     W("attn_output_b.weight", 16, 64),
				     W("hc_attn_fn.weight", 64 * STREAMS, 8),
				     W("hc_attn_base.weight", 8),
				     W("hc_attn_scale.weight", 3),
				     W("hc_ffn_fn.weight", 64 * STREAMS, 8),
				     W("hc_ffn_base.weight", 8),
				     W("hc_ffn_scale.weight", 3),
				     {.name = NULL}};
/* Of the whole model: how it makes a row of its streams. */
static const struct row joins[] = {W("output_hc_fn.weight", 64 * STREAMS, STREAMS),
				   W("output_hc_base.weight", STREAMS),
				   W("output_hc_scale.weight", 1),
				   {.name = NULL}};

#define HEAD_NORM "nextn.shared_head_norm.weight"

static const struct kind {
	const char *arch;
	const struct row *rows;
	uint32_t n_layer;      /* of a trunk */
	const char *head_norm; /* its name in a draft layer */
	bool layer_norm;       /* its kind */
	bool means;	       /* other norms subtract the mean */
	uint32_t window;       /* of all layers; 0: 64 */
	const char *without;   /* weights that the draft layer lacks begin with that */
} kinds[] = {
	{.arch = "cohere2moe", .rows = cohere, .n_layer = 1, .head_norm = HEAD_NORM, .means = true},
	{.arch = "deepseek32", .rows = dsa, .n_layer = 1, .head_norm = HEAD_NORM},
	{.arch = "glm-dsa", .rows = dsa, .n_layer = 1, .head_norm = HEAD_NORM},
	{.arch = "glm-dsa", .rows = dsa, .n_layer = 1, .head_norm = HEAD_NORM, .without = "indexer"},
	{.arch = "bailingmoe3", .rows = bailing, .n_layer = 1, .head_norm = "layer_output_norm.weight"},
	{.arch = "step35", .rows = step, .n_layer = 1, .head_norm = HEAD_NORM, .window = 5},
	{.arch = "mimo2", .rows = mimo, .n_layer = 1, .head_norm = "layer_output_norm.weight", .window = 5},
	{.arch = "deepseek4", .rows = streams, .n_layer = 1, .head_norm = HEAD_NORM, .window = 5},
	{.arch = "nemotron_h_moe", .rows = nemotron, .n_layer = 2, .head_norm = HEAD_NORM, .layer_norm = true},
};

#define N_WINDOW 3 /* kinds that have one */

static struct story_env env;
static char with_path[300], trunk_path[300];

static void setup(void)
{
	story_env_init(&env, "draft_arch");
	snprintf(with_path, sizeof(with_path), "%s.with", env.path);
	snprintf(trunk_path, sizeof(trunk_path), "%s.trunk", env.path);
}

static void teardown(void)
{
	(void)remove(with_path);
	(void)remove(trunk_path);
	story_env_fini(&env);
}

/* ---- weights ---- */

/* The values of a weight follow from its name. */
static float *values(const char *name, size_t n, int64_t n_in)
{
	uint64_t rnd = env.seed;
	float *v = lmi_alloc(n, sizeof(*v)), lo = -sqrtf(2.0f / (float)n_in), hi = -lo;

	ck_assert_ptr_nonnull(v);
	for (const char *c = name; *c; c++)
		rnd = rnd * 31 + (unsigned char)*c;
	if (strstr(name, "norm.weight")) {
		lo = 0.8f;
		hi = 1.2f;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = lo + (hi - lo) * (float)(lmd_rand(&rnd) >> 40) * 0x1p-24f;
	return v;
}

static void normalise(float *x, bool mean)
{
	double sum = 0, square = 0;

	for (int i = 0; i < EMBD && mean; i++)
		sum += (double)x[i] / EMBD;
	for (int i = 0; i < EMBD; i++)
		square += ((double)x[i] - sum) * ((double)x[i] - sum) / EMBD;
	for (int i = 0; i < EMBD; i++)
		x[i] = (float)(((double)x[i] - sum) / sqrt(square + 1e-5));
}

/* ---- files ---- */

static struct {
	struct {
		char name[64];
		int64_t dims[3];
		float *v;
	} t[64];
	uint32_t n;
} file;

static void add(const char *name, int64_t a, int64_t b, int64_t c, float *own_v)
{
	ck_assert_uint_lt(file.n, LMD_LEN(file.t));
	snprintf(file.t[file.n].name, sizeof(file.t[0].name), "%s", name);
	file.t[file.n].dims[0] = a;
	file.t[file.n].dims[1] = b ? b : 1;
	file.t[file.n].dims[2] = c ? c : 1;
	file.t[file.n++].v = own_v;
}

static void add_row(const struct row *r, uint32_t layer, const char *name)
{
	char full[64];
	int64_t n = r->dims[0] * (r->dims[1] ? r->dims[1] : 1) * (r->dims[2] ? r->dims[2] : 1);

	snprintf(full, sizeof(full), "blk.%u.%s", layer, name);
	add(full, r->dims[0], r->dims[1], r->dims[2], values(r->name, (size_t)n, r->dims[0]));
}

static const char *key(const struct kind *k, const char *name)
{
	static char buf[2][96]; /* freed at the end of the test program */
	static int at;

	at ^= 1;
	snprintf(buf[at], sizeof(buf[at]), "%s.%s", k->arch, name);
	return buf[at];
}

static void put_layers(struct lmi_gguf_writer *w, const struct kind *k, const char *name, uint32_t type,
		       enum lmi_gguf_type file_type, const void *v, uint64_t n)
{
	const struct lmd_meta m = {
		.key = key(k, name), .type = type, .file_type = file_type, .n = n, .v.a = v};

	lmi_gguf_put_meta(w, &m);
}

static void put_streams(struct lmi_gguf_writer *w, const struct kind *k, bool draft)
{
	static const int64_t ratios[] = {0, 0};
	static const struct {
		const char *name;
		uint32_t v;
	} numbers[] = {{"attention.key_length", 16},	  {"attention.value_length", 16},
		       {"rope.dimension_count", 8},	  {"attention.output_lora_rank", 8},
		       {"attention.output_group_count", 2}, {"hyper_connection.count", STREAMS},
		       {"hyper_connection.sinkhorn_iterations", 4}, {"hash_layer_count", 0}};

	for (size_t i = 0; i < LMD_LEN(numbers); i++)
		lmi_gguf_put_u32(w, key(k, numbers[i].name), numbers[i].v);
	lmi_gguf_put_f32(w, key(k, "hyper_connection.epsilon"), 1e-6f);
	lmi_gguf_put_f32(w, key(k, "attention.compress_rope_freq_base"), 1e4f);
	lmi_gguf_put_f32(w, key(k, "swiglu_clamp_exp"), 2.0f);
	put_layers(w, k, "attention.compress_ratios", LMD_META_ARR_I64, LMI_GGUF_I32, ratios, k->n_layer + draft);
}

static void put_keys(struct lmi_gguf_writer *w, const struct kind *k, bool draft)
{
	static const struct {
		const char *name;
		uint32_t v;
	} numbers[] = {{"context_length", 256},	       {"embedding_length", EMBD},
		       {"vocab_size", VOCAB},	       {"attention.head_count", 4},
		       {"expert_count", 4},	       {"expert_used_count", 2},
		       {"expert_shared_count", 1},     {"expert_feed_forward_length", 32},
		       {"expert_gating_func", 2},      {"attention.sliding_window", 64},
		       {"attention.q_lora_rank", 24},  {"attention.kv_lora_rank", 24},
		       {"ssm.conv_kernel", 4},	       {"ssm.inner_size", 128},
		       {"ssm.state_size", 16},	       {"ssm.time_step_rank", 8},
		       {"ssm.group_count", 2},	       {"kda.head_dim", 16},
		       {"leading_dense_block_count", 0}, {"attention.indexer.head_count", 2},
		       {"attention.indexer.key_length", 64}};
	static const int64_t kv[] = {2, 0}, ff[] = {0, 96};
	const bool latent = k->rows == dsa || k->rows == bailing, pair = k->rows == nemotron,
		   window = !draft || k->window, one_key = latent || k->rows == streams;

	lmi_gguf_put_str(w, "general.architecture", k->arch);
	for (size_t i = 0; i < LMD_LEN(numbers); i++)
		if (k->rows != bailing || strcmp(numbers[i].name, "attention.q_lora_rank") != 0)
			lmi_gguf_put_u32(w, key(k, numbers[i].name),
					 k->window && !strcmp(numbers[i].name, "attention.sliding_window")
						 ? k->window
						 : numbers[i].v);
	lmi_gguf_put_u32(w, key(k, "block_count"), k->n_layer + draft);
	if (draft)
		lmi_gguf_put_u32(w, key(k, "nextn_predict_layers"), 1);
	lmi_gguf_put_u32(w, key(k, "expert_shared_feed_forward_length"), pair ? 48 : 32);
	lmi_gguf_put_f32(w, key(k, k->means || pair ? "attention.layer_norm_epsilon" :
						       "attention.layer_norm_rms_epsilon"),
			 1e-5f);
	lmi_gguf_put_f32(w, key(k, "expert_weights_scale"), 1.5f);
	lmi_gguf_put_f32(w, key(k, "logit_scale"), 0.5f);
	lmi_gguf_put_f32(w, key(k, "kda.gate_lower_bound"), -5.0f);
	lmi_gguf_put_f32(w, key(k, "attention.value_scale"), 0.7f);
	lmi_gguf_put_bool(w, key(k, "expert_weights_norm"), true);
	/* a draft layer without an indexer attends to all keys */
	lmi_gguf_put_u32(w, key(k, "attention.indexer.top_k"), !draft && k->without ? 64 : 4);
	if (latent) {
		lmi_gguf_put_u32(w, key(k, "attention.key_length"), 32);
		lmi_gguf_put_u32(w, key(k, "attention.value_length"), 24);
		lmi_gguf_put_u32(w, key(k, "attention.key_length_mla"), 20);
		lmi_gguf_put_u32(w, key(k, "attention.value_length_mla"), 16);
		lmi_gguf_put_u32(w, key(k, "rope.dimension_count"), 8);
	}
	if (pair) {
		put_layers(w, k, "attention.head_count_kv", LMD_META_ARR_I64, LMI_GGUF_I32, kv, 2);
		put_layers(w, k, "feed_forward_length", LMD_META_ARR_I64, LMI_GGUF_I32, ff, 2);
	} else {
		lmi_gguf_put_u32(w, key(k, "attention.head_count_kv"), one_key ? 1 : 2);
		lmi_gguf_put_u32(w, key(k, "feed_forward_length"), 96);
	}
	if (k->rows == streams)
		put_streams(w, k, draft);
	/* layers of cohere2moe rotate if they have a window; draft layers always do */
	if (k->rows == cohere || k->rows == step || k->rows == mimo ||
	    k->rows == unknown)
		put_layers(w, k, "attention.sliding_window_pattern", LMD_META_ARR_BOOL, LMI_GGUF_BOOL, &window, 1);
	lmi_gguf_put_str(w, "tokenizer.ggml.model", "no_vocab");
}

static void write_file(const struct kind *k, bool draft, const char *path)
{
	struct lmi_gguf_writer *w;
	struct lmd_error err;

	ck_assert_int_eq(lmi_gguf_writer_create(&w, 32, &err), LMD_OK);
	put_keys(w, k, draft);
	for (uint32_t i = 0; i < file.n; i++) {
		const int64_t *d = file.t[i].dims;

		lmi_gguf_add_tensor(w, file.t[i].name, LMD_DTYPE_F32, d[2] > 1 ? 3 : d[1] > 1 ? 2 : 1, d);
	}
	ck_assert_msg(lmi_gguf_writer_start(w, path, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < file.n; i++) {
		const int64_t *d = file.t[i].dims;

		ck_assert_int_eq(lmi_gguf_writer_data(w, file.t[i].v,
						      (size_t)(d[0] * d[1] * d[2]) * sizeof(float), &err),
				 LMD_OK);
		lmi_free(file.t[i].v);
	}
	ck_assert_msg(lmi_gguf_writer_finish(w, &err) == LMD_OK, "%s", err.text);
	lmi_gguf_writer_destroy(w);
	file.n = 0;
}

static void add_trunk(const struct kind *k)
{
	for (const struct row *r = joins; k->rows == streams && r->name; r++)
		add(r->name, r->dims[0], r->dims[1], 0,
		    values(r->name, (size_t)(r->dims[0] * (r->dims[1] ? r->dims[1] : 1)), r->dims[0]));
	for (const struct row *r = k->rows; r->name; r++)
		add_row(r, r->second, r->trunk ? r->trunk : r->name);
}

static float *constant(size_t n, float x)
{
	float *v = lmi_alloc(n, sizeof(*v));

	ck_assert_ptr_nonnull(v);
	for (size_t i = 0; i < n; i++)
		v[i] = x;
	return v;
}

/* Numbers in the diagonal of a matrix of `cols` columns. */
static float *diagonal(size_t rows, size_t cols)
{
	float *v = constant(rows * cols, 0);

	for (size_t i = 0; i < EMBD; i++)
		v[i * cols + i] = 1;
	return v;
}

static void write_with_draft(const struct kind *k)
{
	const uint32_t il = k->n_layer;
	char name[64];

	add("token_embd.weight", EMBD, VOCAB, 0, values("token_embd", EMBD * VOCAB, 4));
	add("output_norm.weight", EMBD, 0, 0, values("output_norm.weight", EMBD, 1));
	add("output.weight", EMBD, VOCAB, 0, values("output", EMBD * VOCAB, EMBD));
	add_trunk(k);
	for (const struct row *r = k->rows; r->name; r++)
		if (!k->without || strncmp(r->name, k->without, strlen(k->without)) != 0)
			add_row(r, il, r->name);
	snprintf(name, sizeof(name), "blk.%u.nextn.eh_proj.weight", il);
	add(name, 2 * EMBD, EMBD, 0, diagonal(EMBD, 2 * EMBD));
	snprintf(name, sizeof(name), "blk.%u.nextn.enorm.weight", il);
	add(name, EMBD, 0, 0, values("enorm.weight", EMBD, 1));
	snprintf(name, sizeof(name), "blk.%u.nextn.hnorm.weight", il);
	add(name, EMBD, 0, 0, values("hnorm.weight", EMBD, 1));
	snprintf(name, sizeof(name), "blk.%u.%s", il, k->head_norm);
	add(name, EMBD, 0, 0, values("head_norm.weight", EMBD, 1));
	write_file(k, true, with_path);
}

/* Its logits are the stream after the last norm. */
static void write_trunk(const struct kind *k)
{
	float *embd = values("token_embd", EMBD * VOCAB, 4), *g = values("enorm.weight", EMBD, 1);

	for (int t = 0; t < VOCAB; t++) {
		normalise(embd + t * EMBD, k->means);
		for (int i = 0; i < EMBD; i++)
			embd[t * EMBD + i] *= g[i];
	}
	lmi_free(g);
	add("token_embd.weight", EMBD, VOCAB, 0, embd);
	add("output_norm.weight", EMBD, 0, 0, constant(EMBD, 1));
	add("output.weight", EMBD, VOCAB, 0, diagonal(VOCAB, EMBD));
	add_trunk(k);
	write_file(k, false, trunk_path);
}

/* ---- computing ---- */

static struct lmi_inst *open_inst(const char *path, const char *backend, bool draft)
{
	struct lmi_engine_opts o = lmt_opts(&env.env, path);
	struct lmi_inst *inst;
	struct lmd_error err;

	o.inst.backend = backend;
	o.inst.n_out = N_ROW;
	o.inst.draft_path = draft ? LMI_ENGINE_DRAFT_OWN : NULL;
	ck_assert_msg(lmi_inst_open(&inst, &o.inst, &err) == LMD_OK, "%s", err.text);
	return inst;
}

/* Computes all rows with the plan that most requests use, and commits them. */
static struct lmi_engine_rows compute(struct lmi_inst *inst, const lmd_token *tokens)
{
	struct lmi_engine_rows r = {.n = N_ROW, .n_out = N_ROW, .tokens = tokens, .kv_seq = lmi_kv_open(inst->kv)};
	struct lmd_error err;

	ck_assert(lmi_kv_reserve(inst->kv, r.kv_seq, N_ROW, NULL, 0));
	ck_assert_msg(lmi_engine_step_run(inst, 0, &r, 1, NULL, &err) == LMD_OK, "%s", err.text);
	lmi_kv_commit(inst->kv, r.kv_seq, N_ROW);
	return r;
}

static void compute_draft(struct lmi_inst *inst, const lmd_token *tokens, float *logits)
{
	static const float hidden[N_ROW * EMBD * STREAMS]; /* of no weight */
	struct lmd_plan_key plan = {.kind = LMD_PLAN_DRAFT, .flags = LMD_PLAN_LOGITS | LMD_PLAN_HIDDEN};
	struct lmi_engine_rows r = compute(inst, tokens);
	struct lmd_error err;
	uint32_t exec;

	ck_assert_msg(lmi_inst_exec(inst, &plan, &exec, &err) == LMD_OK, "%s", err.text);
	r.hidden[0] = r.hidden[1] = hidden;
	for (uint32_t at = 0; at < N_ROW; at += r.n) {
		r.first = at;
		r.n = r.n_out = at ? N_ROW - N_STEP : N_STEP;
		ck_assert_msg(lmi_engine_step_run(inst, exec, &r, 1, NULL, &err) == LMD_OK, "%s", err.text);
		memcpy(logits + at * VOCAB, inst->slot[0].out, r.n * VOCAB * sizeof(*logits));
	}
}

/* The logits of a draft layer from a row of the trunk. */
static void finish(const struct kind *k, float *x, double *logits)
{
	float *g = values("head_norm.weight", EMBD, 1), *w = values("output", EMBD * VOCAB, EMBD);

	if (k->layer_norm)
		normalise(x, true);
	for (int v = 0; v < VOCAB; v++) {
		logits[v] = 0;
		for (int i = 0; i < EMBD; i++)
			logits[v] += (double)w[v * EMBD + i] * (double)g[i] * (double)x[i];
	}
	lmi_free(g);
	lmi_free(w);
}

static const char *const backends[] = {"ref", "cpu", "emu"};

/* _i: kind and backend */
START_TEST(a_draft_layer_is_a_layer)
{
	const struct kind *k = &kinds[_i / (int)LMD_LEN(backends)];
	const char *backend = backends[_i % (int)LMD_LEN(backends)];
	static float have[N_ROW * VOCAB];
	lmd_token tokens[N_ROW];
	uint64_t rnd = env.seed;
	struct lmi_inst *inst;
	double worst = 0, most = 0;

	story_random_tokens(tokens, N_ROW, &rnd);
	write_with_draft(k);
	write_trunk(k);
	inst = open_inst(with_path, backend, true);
	ck_assert_uint_eq(inst->desc.n_draft, 1);
	compute_draft(inst, tokens, have);
	lmi_inst_close(inst);
	inst = open_inst(trunk_path, backend, false);
	(void)compute(inst, tokens);
	for (int r = 0; r < N_ROW; r++) {
		double want[VOCAB];

		finish(k, inst->slot[0].out + r * VOCAB, want);
		for (int v = 0; v < VOCAB; v++) {
			worst = fmax(worst, fabs(want[v] - (double)have[r * VOCAB + v]));
			most = fmax(most, fabs(want[v]));
		}
	}
	lmi_inst_close(inst);
	printf("%s%s on %s: differs by %.2g of %.2g\n", k->arch, k->without ? " without an indexer" : "", backend,
	       worst, most);
	ck_assert_double_lt(worst, 2e-4 * most);
}
END_TEST

/* Answers are the same with the guesses of a draft layer that has a window, and the guesses are the same where the pages of
 * rows that no row sees any more are given back as where they stay. _i: kind that has a window, and backend */
START_TEST(answers_with_a_window_are_the_same)
{
	enum { N_PROMPT = 50, N_OUT = 180 };
	static struct story want, have;
	struct lmi_engine_opts o = story_opts(&env, 1);
	lmd_token tokens[N_PROMPT];
	uint64_t rnd = env.seed;
	const struct kind *k = kinds;

	for (int left = _i / (int)LMD_LEN(backends); !k->window || left--;)
		k++;
	write_with_draft(k);
	story_random_tokens(tokens, N_PROMPT, &rnd);
	o.inst.path = with_path;
	o.inst.backend = backends[_i % (int)LMD_LEN(backends)];
	o.inst.n_ctx = 256;
	for (int draft = 0; draft < 3; draft++) {
		struct lmi_engine_generate cmd = story_command(1, tokens, N_PROMPT, N_OUT);
		struct lmi_engine *e;

		o.inst.draft_path = draft ? LMI_ENGINE_DRAFT_OWN : NULL;
		o.inst.n_batch = draft == 2 ? 16 : 256;
		e = story_engine(&o);
		if (draft == 2) /* the pages of a window, of a step and of those rows that wait, not of the whole context */
			ck_assert_uint_lt(e->inst->sizes->n_page[0] * e->inst->page_tokens, 256);
		cmd.draft = LMI_ENGINE_DRAFT_MODEL;
		cmd.n_draft = 4;
		cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
		have = story_generate(e, &cmd);
		ck_assert_uint_eq(have.n_tokens, N_OUT);
		if (draft) {
			ck_assert_mem_eq(have.tokens, want.tokens, sizeof(lmd_token[N_OUT]));
			printf("%u of %u guesses were right\n", have.last.u.done.n_accepted,
			       have.last.u.done.n_drafted);
			ck_assert_uint_gt(have.last.u.done.n_drafted, N_OUT);
		}
		if (draft == 2)
			ck_assert_uint_eq(have.last.u.done.n_accepted, want.last.u.done.n_accepted);
		(void)story_check_idle(e);
		lmi_engine_fini(e);
		want = have;
	}
}
END_TEST

/* Draft layers that differ from the layers of their trunk are not taken for such. */
START_TEST(not_all_draft_layers_are_run)
{
	static const struct kind k = {.arch = "maple", .rows = unknown, .n_layer = 1, .head_norm = HEAD_NORM};
	struct lmi_engine_nextn *m;
	struct lmi_inst *inst;
	struct lmd_error err;

	write_with_draft(&k);
	inst = open_inst(with_path, "ref", true);
	ck_assert_uint_eq(inst->desc.n_draft, 0);
	ck_assert_int_eq(lmi_engine_nextn_open(&m, inst, VOCAB, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "those of architecture maple are not used") != NULL, "%s", err.text);
	lmi_inst_close(inst);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("draft_arch");
	TCase *t = tcase_create("draft_arch");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_draft_layer_is_a_layer, 0, LMD_LEN(kinds) * LMD_LEN(backends));
	tcase_add_loop_test(t, answers_with_a_window_are_the_same, 0, N_WINDOW * LMD_LEN(backends));
	tcase_add_test(t, not_all_draft_layers_are_run);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
