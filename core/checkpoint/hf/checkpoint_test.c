/* SPDX-License-Identifier: MIT
 *
 * Memory that a folder takes in addition to its files: it is known before it is taken, and limited.
 * Missing tensors. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/checkpoint/open.h"
#include "tests/arch_plugins.h"
#include "tests/st_file.h"
#include "tests/temp_dir.h"

static void make_dir(void)
{
	struct st_file f = st_build_llama(0, ST_LLAMA_N);

	(void)arch_plugins(); /* before memory is counted */
	temp_dir_make();
	temp_write("config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG));
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
}

/* Size of the tensors of part 0, each padded to a multiple of 64 bytes. */
static uint64_t sum_built(const struct lmi_model *m)
{
	const struct lmd_model *v = lmi_model_view(m);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < v->n_tensors; i++)
		sum += v->tensors[i].file ? 0 : (v->tensors[i].bytes + 63) / 64 * 64;
	return sum;
}

static uint64_t reported_built(const struct lmi_model *m)
{
	struct lmi_model_file f;

	lmi_model_file(m, 0, &f);
	ck_assert(!f.copied && !f.mapped);
	return f.built_bytes;
}

START_TEST(measured)
{
	struct lmi_alloc_stats before, small, large;
	struct lmi_model *m = NULL;
	struct lmd_error err;
	uint64_t made;

	lmi_alloc_stats(&before);
	ck_assert_msg(lmi_model_open_any(&m, arch_plugins(), dir, LMI_OPEN_MEASURE, &err) == LMD_OK,
		      "%s", err.text);
	lmi_alloc_stats(&small);
	made = reported_built(m);
	ck_assert_uint_gt(made, 0);
	ck_assert_uint_eq(made, sum_built(m));
	for (uint32_t i = 0; i < lmi_model_view(m)->n_tensors; i++)
		ck_assert_ptr_nonnull(lmi_model_view(m)->tensors[i].data);
	lmi_model_close(m);

	ck_assert_int_eq(lmi_model_open_any(&m, arch_plugins(), dir, 0, &err), LMD_OK);
	lmi_alloc_stats(&large);
	ck_assert_uint_eq(reported_built(m), made);
	ck_assert_uint_ge(large.live_bytes - small.live_bytes, made);
	lmi_model_close(m);
	lmi_alloc_stats(&large);
	ck_assert_uint_eq(large.n_live, before.n_live);
}
END_TEST

struct seen {
	uint64_t done, total;
};

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct seen *s = arg;

	ck_assert(done >= s->done && done <= total);
	*s = (struct seen){done, total};
	return s->total < UINT64_MAX;
}

static bool cancel(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	(void)done;
	(void)total;
	return false;
}

/* The memory limit also applies to tensors built in memory; the work is reported and can be
 * cancelled. */
START_TEST(bounded)
{
	struct seen seen = {0};
	struct lmi_open_opts opts = {
		.plugins = arch_plugins(), .progress = on_progress, .arg = &seen};
	struct lmi_model *m = NULL;
	struct lmi_alloc_stats before, after;
	struct lmd_error err;
	uint64_t made;

	ck_assert_int_eq(lmi_model_open_any(&m, arch_plugins(), dir, LMI_OPEN_MEASURE, &err),
			 LMD_OK);
	made = reported_built(m);
	lmi_model_close(m);
	m = NULL;

	lmi_alloc_stats(&before);
	opts.max_copy = made - 1;
	ck_assert_int_eq(lmi_model_open_with(&m, dir, &opts, &err), LMD_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.text, "would be built in memory"));
	ck_assert_ptr_null(m);
	opts.max_copy = made;
	ck_assert_int_eq(lmi_model_open_with(&m, dir, &opts, &err), LMD_OK);
	ck_assert_uint_gt(seen.done, 0);
	ck_assert_uint_eq(seen.total, made);
	lmi_model_close(m);
	m = NULL;
	opts.progress = cancel;
	ck_assert_int_eq(lmi_model_open_with(&m, dir, &opts, &err), LMD_CANCELLED);
	ck_assert_ptr_null(m);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
}
END_TEST

/* generation_config.json: sampling defaults become keys; a list may have entries that are no tokens. */
START_TEST(generation_defaults)
{
	static const char text[] = "{\"temperature\": 0.25, \"top_k\": 9, \"min_p\": null, "
				   "\"suppress_tokens\": [5, -1, null, \"x\", 6]}";
	const struct lmd_model *v;
	const struct lmd_meta *k;
	struct lmi_model *m = NULL;
	struct lmd_error err;

	temp_write("generation_config.json", text, strlen(text));
	ck_assert_msg(lmi_model_open_any(&m, arch_plugins(), dir, 0, &err) == LMD_OK, "%s",
		      err.text);
	v = lmi_model_view(m);
	k = v->find_meta(v, "general.sampling.temp");
	ck_assert(k && k->type == LMD_META_F64 && k->v.f == 0.25);
	k = v->find_meta(v, "general.sampling.top_k");
	ck_assert(k && k->v.i == 9);
	ck_assert_ptr_null(v->find_meta(v, "general.sampling.min_p"));
	k = v->find_meta(v, "tokenizer.ggml.suppress_tokens");
	ck_assert(k && k->type == LMD_META_ARR_I64 && k->n == 2);
	ck_assert_int_eq(((const int64_t *)k->v.a)[0], 5);
	ck_assert_int_eq(((const int64_t *)k->v.a)[1], 6);
	lmi_model_close(m);
}
END_TEST

/* The names of the language model may have any prefix that has no number and is not that of another
 * modality. */
START_TEST(prefixes)
{
	static const char *const good[] = {"", "model.", "transformer.", "a.b.language_model."};

	for (size_t i = 0; i < LMD_LEN(good); i++)
		ck_assert_msg(lmi_checkpoint_is_prefix(good[i], strlen(good[i])), "%s", good[i]);
	ck_assert(!lmi_checkpoint_is_prefix("model", 5));
	ck_assert(!lmi_checkpoint_is_prefix("model.layers.0.", 15));
	ck_assert(!lmi_checkpoint_is_prefix("0.", 2));
	ck_assert(!lmi_checkpoint_is_prefix("vision_tower.model.", 19));
}
END_TEST

START_TEST(unusual_prefix)
{
	struct st_file f = st_build_llama(0, ST_LLAMA_N);
	struct lmi_model *m = NULL;
	struct lmd_error err;
	size_t n = 0;

	/* renaming keeps the number of bytes: "model." becomes "text1." */
	for (char *p = f.p; p + 6 < (char *)f.p + f.n; p++) {
		if (memcmp(p, "\"model.", 7) != 0)
			continue;
		memcpy(p + 1, "text1.", 6);
		n++;
	}
	ck_assert_uint_gt(n, 2);
	temp_write("config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG));
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
	ck_assert_msg(lmi_model_open_any(&m, arch_plugins(), dir, 0, &err) == LMD_OK, "%s", err.text);
	lmi_model_close(m);
}
END_TEST

/* A draft model shares its model_type with its target's family; its class decides. Layers after which streams are read
 * become layers before which they are. */
START_TEST(a_class_with_a_map_of_its_own)
{
	static const char config[] =
		"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLMEagle3\"], "
		"\"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
		"\"num_key_value_heads\": 1, \"intermediate_size\": 8, \"vocab_size\": 4, "
		"\"draft_vocab_size\": 2, \"max_position_embeddings\": 16, \"rms_norm_eps\": 1e-5, "
		"\"tie_word_embeddings\": true, " /* that of the target: the file has a head */
		"\"eagle_config\": {\"eagle_aux_hidden_state_layer_ids\": [1, 17, 32]}}";
	static const struct st_row rows[] = {
		{"fc.weight", 8, 24},
		{"norm.weight", 0, 8},
		{"lm_head.weight", 2, 8},
		{"d2t", 0, 4},
		{"t2d", 0, 4},
		{"midlayer.hidden_norm.weight", 0, 8},
		{"midlayer.input_layernorm.weight", 0, 8},
		{"midlayer.post_attention_layernorm.weight", 0, 8},
		{"midlayer.self_attn.q_proj.weight", 8, 16},
		{"midlayer.self_attn.k_proj.weight", 4, 16},
		{"midlayer.self_attn.v_proj.weight", 4, 16},
		{"midlayer.self_attn.o_proj.weight", 8, 8},
		{"midlayer.mlp.gate_proj.weight", 8, 8},
		{"midlayer.mlp.up_proj.weight", 8, 8},
		{"midlayer.mlp.down_proj.weight", 8, 8},
	};
	static const char *const names[] = {"fc.weight", "output_norm.weight", "output.weight", "d2t",
					    "blk.0.attn_norm_2.weight", "blk.0.attn_q.weight",
					    "blk.0.ffn_down.weight"};
	struct st_file f = st_build_rows(rows, LMD_LEN(rows));
	char *map = strstr(f.p + 8, "\"d2t\"");
	const struct lmd_model *v;
	const struct lmd_meta *k;
	struct lmi_model *m = NULL;
	struct lmd_error err;

	/* two 64-bit integers take as many bytes as four floats */
	ck_assert_ptr_nonnull(map);
	memcpy(strstr(map, "F32"), "I64", 3);
	memcpy(strstr(map, "[4]"), "[2]", 3);
	temp_write("config.json", config, strlen(config));
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
	ck_assert_msg(lmi_model_open_any(&m, arch_plugins(), dir, 0, &err) == LMD_OK, "%s", err.text);
	v = lmi_model_view(m);
	ck_assert_str_eq(v->arch, "eagle3");
	k = v->find_meta(v, "eagle3.target_layers");
	ck_assert(k && k->type == LMD_META_ARR_I64 && k->n == 3);
	ck_assert_int_eq(((const int64_t *)k->v.a)[0], 2);
	ck_assert_int_eq(((const int64_t *)k->v.a)[1], 18);
	ck_assert_int_eq(((const int64_t *)k->v.a)[2], 33);
	k = v->find_meta(v, "folder.d2t_is_relative");
	ck_assert(k && k->v.u == 1);
	for (size_t i = 0; i < LMD_LEN(names); i++)
		ck_assert_msg(v->find_tensor(v, names[i]) != NULL, "%s", names[i]);
	ck_assert_ptr_null(v->find_tensor(v, "t2d"));
	lmi_model_close(m);
}
END_TEST

static const struct st_row dflash_rows[] = {
	{"fc.weight", 8, 16},
	{"hidden_norm.weight", 0, 8},
	{"norm.weight", 0, 8},
	{"layers.0.input_layernorm.weight", 0, 8},
	{"layers.0.post_attention_layernorm.weight", 0, 8},
	{"layers.0.self_attn.q_proj.weight", 8, 8},
	{"layers.0.self_attn.k_proj.weight", 4, 8},
	{"layers.0.self_attn.v_proj.weight", 4, 8},
	{"layers.0.self_attn.o_proj.weight", 8, 8},
	{"layers.0.self_attn.q_norm.weight", 0, 4},
	{"layers.0.self_attn.k_norm.weight", 0, 4},
	{"layers.0.mlp.gate_proj.weight", 8, 8},
	{"layers.0.mlp.up_proj.weight", 8, 8},
	{"layers.0.mlp.down_proj.weight", 8, 8},
};

/* DFlash: the class of a Qwen3 checkpoint decides, and layers after which streams are read become layers before
 * which they are. */
START_TEST(a_class_that_guesses_blocks)
{
	static const char config[] =
		"{\"model_type\": \"qwen3\", \"architectures\": [\"DFlashDraftModel\"], "
		"\"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
		"\"num_key_value_heads\": 1, \"head_dim\": 4, \"intermediate_size\": 8, \"vocab_size\": 4, "
		"\"max_position_embeddings\": 16, \"rms_norm_eps\": 1e-6, \"block_size\": 5, "
		"\"use_sliding_window\": false, \"sliding_window\": null, "
		"\"layer_types\": [\"full_attention\"], "
		"\"dflash_config\": {\"mask_token_id\": 3, \"target_layer_ids\": [1, 9]}}";
	static const char *const names[] = {
		"fc.weight",		"enc.output_norm.weight",    "output_norm.weight",
		"blk.0.attn_q.weight",	"blk.0.attn_q_norm.weight",  "blk.0.attn_k_norm.weight",
		"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight",   "blk.0.ffn_down.weight"};
	struct st_file f = st_build_rows(dflash_rows, LMD_LEN(dflash_rows));
	const struct lmd_model *v;
	const struct lmd_meta *k;
	struct lmi_model *m = NULL;
	struct lmd_error err;

	temp_write("config.json", config, strlen(config));
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
	ck_assert_msg(lmi_model_open_any(&m, arch_plugins(), dir, 0, &err) == LMD_OK, "%s", err.text);
	v = lmi_model_view(m);
	ck_assert_str_eq(v->arch, "dflash");
	k = v->find_meta(v, "dflash.target_layers");
	ck_assert(k && k->type == LMD_META_ARR_I64 && k->n == 2);
	ck_assert_int_eq(((const int64_t *)k->v.a)[0], 2);
	ck_assert_int_eq(((const int64_t *)k->v.a)[1], 10);
	k = v->find_meta(v, "dflash.block_size");
	ck_assert(k && k->v.u == 5);
	k = v->find_meta(v, "dflash.mask_token_id");
	ck_assert(k && k->v.u == 3);
	ck_assert_ptr_null(v->find_meta(v, "dflash.attention.sliding_window"));
	ck_assert_uint_eq(v->n_tensors, LMD_LEN(dflash_rows));
	for (size_t i = 0; i < LMD_LEN(names); i++)
		ck_assert_msg(v->find_tensor(v, names[i]) != NULL, "%s", names[i]);
	lmi_model_close(m);
}
END_TEST

#define DRAFT_CONFIG(class)                                                                        \
	"{\"model_type\": \"qwen3\", \"architectures\": [\"" class "\"], "                            \
	"\"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "                 \
	"\"num_key_value_heads\": 1, \"head_dim\": 4, \"intermediate_size\": 8, \"vocab_size\": 4, "  \
	"\"max_position_embeddings\": 16, \"rms_norm_eps\": 1e-6, \"mask_token_id\": 3, "
#define SEVENTEEN "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}"

/* message NULL: opened, and the first layer has a window in the pattern */
static const struct {
	const char *config, *message;
} drafts[] = {
	{DRAFT_CONFIG("LlamaForCausalLMEagle3") "\"eagle_aux_hidden_state_layer_ids\": " SEVENTEEN,
	 "\"eagle_aux_hidden_state_layer_ids\" has 17 layers, at most 16"},
	{DRAFT_CONFIG("DFlashDraftModel") "\"target_layer_ids\": " SEVENTEEN,
	 "target_layer_ids\" has 17 layers, at most 16"},
	{DRAFT_CONFIG("DFlashDraftModel") "\"target_layer_ids\": [1], \"use_sliding_window\": true, "
					  "\"max_window_layers\": 0, \"sliding_window\": 8}",
	 NULL},
	{DRAFT_CONFIG("DFlashDraftModel") "\"target_layer_ids\": [1], \"sliding_window\": 8, "
					  "\"layer_types\": [\"sliding_attention\"]}",
	 NULL},
};

/* _i: row of drafts. What an architecture refuses later has to be among the keys. */
START_TEST(what_draft_models_state)
{
	struct st_file f = st_build_rows(dflash_rows, LMD_LEN(dflash_rows));
	struct lmi_model *m = NULL;
	struct lmd_error err;
	const struct lmd_meta *k;
	enum lmd_status st;

	temp_write("config.json", drafts[_i].config, strlen(drafts[_i].config));
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
	st = lmi_model_open_any(&m, arch_plugins(), dir, LMI_OPEN_HEADER_ONLY, &err);
	if (drafts[_i].message) {
		ck_assert_int_eq(st, LMD_UNSUPPORTED);
		ck_assert_msg(strstr(err.text, drafts[_i].message) != NULL, "%s", err.text);
		return;
	}
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	k = lmi_model_view(m)->find_meta(lmi_model_view(m), "dflash.attention.sliding_window");
	ck_assert(k && k->v.u == 8);
	k = lmi_model_view(m)->find_meta(lmi_model_view(m), "dflash.attention.sliding_window_pattern");
	ck_assert(k && k->type == LMD_META_ARR_BOOL && k->n == 1);
	ck_assert_uint_eq(*(const uint8_t *)k->v.a, 1);
	lmi_model_close(m);
}
END_TEST

/* Two of the three configured experts exist; every way of opening reports the missing one. */
START_TEST(missing_expert)
{
	static const char config[] =
		"{\"model_type\": \"qwen3_moe\", \"hidden_size\": 8, \"num_hidden_layers\": 1, "
		"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"head_dim\": 4, "
		"\"intermediate_size\": 8, \"moe_intermediate_size\": 4, \"num_experts\": 3, "
		"\"num_experts_per_tok\": 1, \"norm_topk_prob\": true, \"vocab_size\": 4, "
		"\"tie_word_embeddings\": true}";
#define LAYER "model.layers.0."
#define EXPERT(k)                                                                                  \
	{LAYER "mlp.experts." #k ".gate_proj.weight", 4, 8},                                       \
		{LAYER "mlp.experts." #k ".up_proj.weight", 4, 8},                                 \
		{LAYER "mlp.experts." #k ".down_proj.weight", 8, 4}
	static const struct st_row rows[] = {
		{"model.embed_tokens.weight", 4, 8},
		{"model.norm.weight", 0, 8},
		{LAYER "input_layernorm.weight", 0, 8},
		{LAYER "post_attention_layernorm.weight", 0, 8},
		{LAYER "self_attn.q_proj.weight", 8, 8},
		{LAYER "self_attn.k_proj.weight", 4, 8},
		{LAYER "self_attn.v_proj.weight", 4, 8},
		{LAYER "self_attn.o_proj.weight", 8, 8},
		{LAYER "self_attn.q_norm.weight", 0, 4},
		{LAYER "self_attn.k_norm.weight", 0, 4},
		{LAYER "mlp.gate.weight", 3, 8},
		EXPERT(0),
		EXPERT(1),
		EXPERT(2),
	};
	const uint32_t flags[] = {0, LMI_OPEN_HEADER_ONLY, LMI_OPEN_MEASURE};
	struct lmi_model *m = NULL;
	struct lmd_error err;

	temp_write("config.json", config, strlen(config));
	for (size_t missing = 0; missing < 4; missing++) {
		struct st_file f = st_build_rows(rows, LMD_LEN(rows) - missing);
		const char *expected = missing == 3   ? "experts.2.gate_proj is missing, although"
				       : missing == 2 ? "experts.2.up_proj is missing, although"
						      : "experts.2.down_proj is missing, although";

		temp_write("model.safetensors", f.p, f.n);
		free(f.p);
		for (size_t k = 0; k < LMD_LEN(flags); k++) {
			enum lmd_status st =
				lmi_model_open_any(&m, arch_plugins(), dir, flags[k], &err);

			ck_assert_int_eq(st, missing ? LMD_CORRUPT : LMD_OK);
			ck_assert_msg(!missing || strstr(err.text, expected), "%s", err.text);
			lmi_model_close(m);
			m = NULL;
		}
	}
#undef EXPERT
#undef LAYER
}
END_TEST

int main(void)
{
	Suite *s = suite_create("folders");
	TCase *tc = tcase_create("memory");

	tcase_add_checked_fixture(tc, make_dir, temp_dir_remove);
	tcase_add_test(tc, measured);
	tcase_add_test(tc, bounded);
	tcase_add_test(tc, generation_defaults);
	suite_add_tcase(s, tc);
	tc = tcase_create("experts");
	tcase_add_checked_fixture(tc, temp_dir_make, temp_dir_remove);
	tcase_add_test(tc, prefixes);
	tcase_add_test(tc, unusual_prefix);
	tcase_add_test(tc, a_class_with_a_map_of_its_own);
	tcase_add_test(tc, a_class_that_guesses_blocks);
	tcase_add_loop_test(tc, what_draft_models_state, 0, LMD_LEN(drafts));
	tcase_add_test(tc, missing_expert);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
