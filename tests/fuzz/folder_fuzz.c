/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a folder.  The first two bytes say how many of the rest are
 * config.json; what follows is model.safetensors.  Whatever opens must be consistent: every tensor
 * has data of its size, and the same bytes come by reading. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/format.h"
#include "tests/fuzz/target.h"
#include "tests/st_file.h"

static char dir[64];

static void put(const char *name, const uint8_t *p, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, p, n) == (ssize_t)n);
	REQUIRE(close(fd) == 0);
}

static void remove_dir(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/config.json", dir);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/model.safetensors", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void check(const struct lmi_model *m)
{
	const struct lmd_model *v = lmi_model_view(m);
	uint8_t a[256];

	REQUIRE(v->arch && v->name && v->format && v->n_files >= 2);
	for (uint32_t i = 0; i < v->n_tensors; i++) {
		const struct lmd_tensor *t = &v->tensors[i];
		struct lmd_error err;
		size_t n = t->bytes < sizeof(a) ? (size_t)t->bytes : sizeof(a);

		REQUIRE(v->find_tensor(v, t->name) == t);
		REQUIRE(t->bytes > 0 && t->n_dim >= 1 && t->n_dim <= LMD_MAX_DIMS);
		REQUIRE(t->file < v->n_files && t->data);
		REQUIRE(lmi_model_read(m, t, t->bytes - n, a, n, &err) == LMD_OK);
		REQUIRE(!memcmp(a, (const uint8_t *)t->data + t->bytes - n, n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size < 2 ? 0 : (size_t)(data[0] | data[1] << 8);
	struct lmi_alloc_stats stats;
	struct lmd_error err = {0};
	struct lmi_model *m = NULL;
	enum lmd_status st;

	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "%s/lmd-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		REQUIRE(mkdtemp(dir));
		REQUIRE(atexit(remove_dir) == 0);
	}
	if (size < 2)
		return 0;
	n = n < size - 2 ? n : size - 2;
	put("config.json", data + 2, n);
	put("model.safetensors", data + 2 + n, size - 2 - n);
	st = lmi_model_open(&m, dir, 0, &err);
	if (st == LMD_OK)
		check(m);
	else
		REQUIRE(!m && err.status == st && err.text[0]);
	lmi_model_close(m);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	REQUIRE(stats.peak_bytes < 256u << 20);
	return 0;
}

/* Quantised forms of one weight, [4, 32]. */
#define CONFIG(more)                                                                               \
	"{\"model_type\": \"llama\", \"hidden_size\": 32, \"num_hidden_layers\": 1, "              \
	"\"num_attention_heads\": 2, \"intermediate_size\": 32, \"vocab_size\": 4, " more "}"
#define ENTRY(name, type, shape, from, to)                                                         \
	"\"model.embed_tokens" name "\": {\"dtype\": \"" type "\", \"shape\": [" shape             \
	"], \"data_offsets\": [" #from ", " #to "]}"

/* clang-format off */
/* Whole models of one layer whose tensors are turned, taken apart or computed. */
#define ROW(name, type, shape, from, to)                                                           \
	"\"" name "\": {\"dtype\": \"" type "\", \"shape\": [" shape                             \
	"], \"data_offsets\": [" #from ", " #to "]}"
#define MAMBA_HEADER \
	"{" ROW("backbone.embeddings.weight", "F32", "4, 2", 0, 32) ", " \
	ROW("backbone.norm_f.weight", "F32", "2", 32, 40) ", " \
	ROW("backbone.layers.0.norm.weight", "F32", "2", 40, 48) ", " \
	ROW("backbone.layers.0.mixer.in_proj.weight", "F32", "8, 2", 48, 112) ", " \
	ROW("backbone.layers.0.mixer.conv1d.weight", "F32", "4, 1, 2", 112, 144) ", " \
	ROW("backbone.layers.0.mixer.conv1d.bias", "F32", "4", 144, 160) ", " \
	ROW("backbone.layers.0.mixer.x_proj.weight", "F32", "5, 4", 160, 240) ", " \
	ROW("backbone.layers.0.mixer.dt_proj.weight", "F32", "4, 1", 240, 256) ", " \
	ROW("backbone.layers.0.mixer.dt_proj.bias", "F32", "4", 256, 272) ", " \
	ROW("backbone.layers.0.mixer.A_log", "F32", "4, 2", 272, 304) ", " \
	ROW("backbone.layers.0.mixer.D", "F32", "4", 304, 320) ", " \
	ROW("backbone.layers.0.mixer.out_proj.weight", "F32", "2, 4", 320, 352) "}"
#define MAMBA_CONFIG \
	"{\"model_type\": \"mamba\", \"hidden_size\": 2, \"intermediate_size\": 4, " \
	"\"state_size\": 2, \"num_hidden_layers\": 1, \"time_step_rank\": 1, " \
	"\"conv_kernel\": 2, \"vocab_size\": 4}"
#define GPT_OSS_HEADER \
	"{" ROW("model.embed_tokens.weight", "F16", "4, 32", 0, 256) ", " \
	ROW("model.norm.weight", "F16", "32", 256, 320) ", " \
	ROW("model.layers.0.self_attn.q_proj.weight", "F16", "32, 32", 320, 2368) ", " \
	ROW("model.layers.0.self_attn.k_proj.weight", "F16", "16, 32", 2368, 3392) ", " \
	ROW("model.layers.0.self_attn.v_proj.weight", "F16", "16, 32", 3392, 4416) ", " \
	ROW("model.layers.0.self_attn.o_proj.weight", "F16", "32, 32", 4416, 6464) ", " \
	ROW("model.layers.0.self_attn.sinks", "F16", "2", 6464, 6468) ", " \
	ROW("model.layers.0.input_layernorm.weight", "F16", "32", 6468, 6532) ", " \
	ROW("model.layers.0.post_attention_layernorm.weight", "F16", "32", 6532, 6596) ", " \
	ROW("model.layers.0.mlp.router.weight", "F16", "2, 32", 6596, 6724) ", " \
	ROW("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", "2, 64, 1, 16", 6724, 8772) ", " \
	ROW("model.layers.0.mlp.experts.gate_up_proj_scales", "U8", "2, 64, 1", 8772, 8900) ", " \
	ROW("model.layers.0.mlp.experts.gate_up_proj_bias", "F16", "2, 64", 8900, 9156) ", " \
	ROW("model.layers.0.mlp.experts.down_proj", "F16", "2, 32, 32", 9156, 13252) ", " \
	ROW("model.layers.0.mlp.experts.down_proj_bias", "F16", "2, 32", 13252, 13380) "}"
#define GPT_OSS_CONFIG \
	"{\"model_type\": \"gpt_oss\", \"hidden_size\": 32, \"intermediate_size\": 32, " \
	"\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"num_key_value_heads\": " \
	"1, \"head_dim\": 16, \"num_local_experts\": 2, \"num_experts_per_tok\": 1, " \
	"\"sliding_window\": 4, \"vocab_size\": 4, \"quantization_config\": " \
	"{\"quant_method\": \"mxfp4\"}}"
#define DEEPSEEK_HEADER \
	"{" ROW("model.embed_tokens.weight", "F16", "4, 4", 0, 32) ", " \
	ROW("model.norm.weight", "F16", "4", 32, 40) ", " \
	ROW("model.layers.0.self_attn.q_proj.weight", "F16", "8, 4", 40, 104) ", " \
	ROW("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "F16", "4, 4", 104, 136) ", " \
	ROW("model.layers.0.self_attn.kv_a_layernorm.weight", "F16", "2", 136, 140) ", " \
	ROW("model.layers.0.self_attn.kv_b_proj.weight", "F16", "8, 2", 140, 172) ", " \
	ROW("model.layers.0.self_attn.o_proj.weight", "F16", "4, 4", 172, 204) ", " \
	ROW("model.layers.0.mlp.gate_proj.weight", "F16", "4, 4", 204, 236) ", " \
	ROW("model.layers.0.mlp.up_proj.weight", "F16", "4, 4", 236, 268) ", " \
	ROW("model.layers.0.mlp.down_proj.weight", "F16", "4, 4", 268, 300) ", " \
	ROW("model.layers.0.input_layernorm.weight", "F16", "4", 300, 308) ", " \
	ROW("model.layers.0.post_attention_layernorm.weight", "F16", "4", 308, 316) "}"
#define DEEPSEEK_CONFIG \
	"{\"model_type\": \"deepseek_v2\", \"hidden_size\": 4, \"intermediate_size\": " \
	"4, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"qk_nope_head_dim\": " \
	"2, \"qk_rope_head_dim\": 2, \"v_head_dim\": 2, \"kv_lora_rank\": 2, " \
	"\"vocab_size\": 4}"
/* clang-format on */

static const struct {
	const char *config, *header; /* NULL: the smallest LLaMA */
	size_t n_data;
} seeds[] = {
	{ST_LLAMA_CONFIG, NULL, 0},
	{CONFIG("\"quantization\": {\"bits\": 4, \"group_size\": 32}"),
	 "{" ENTRY(".weight", "U32", "4, 4", 0, 64) ", " ENTRY(".scales", "BF16", "4, 1", 64, 72)
	 ", " ENTRY(".biases", "BF16", "4, 1", 72, 80) "}",
	 80},
	{CONFIG("\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": false}"),
	 "{" ENTRY(".qweight", "I32", "4, 8", 0, 128) ", " ENTRY(".qzeros", "I32", "1, 1", 128, 132)
	 ", " ENTRY(".scales", "F16", "1, 8", 132, 148) "}",
	 148},
	{CONFIG("\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4}"),
	 "{" ENTRY(".qweight", "I32", "32, 1", 0, 128) ", " ENTRY(".qzeros", "I32", "1, 1", 128, 132)
	 ", " ENTRY(".scales", "F16", "1, 8", 132, 148) "}",
	 148},
	{CONFIG("\"quantization_config\": {\"quant_method\": \"fp8\"}"),
	 "{" ENTRY(".weight", "F8_E4M3", "4, 32", 0, 128) ", "
	 ENTRY(".weight_scale_inv", "F32", "1, 1", 128, 132) "}",
	 132},
	{MAMBA_CONFIG, MAMBA_HEADER, 352},
	{GPT_OSS_CONFIG, GPT_OSS_HEADER, 13380},
	{DEEPSEEK_CONFIG, DEEPSEEK_HEADER, 316},
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	struct st_file f;
	size_t n;

	if (k >= sizeof(seeds) / sizeof(seeds[0]))
		return false;
	f = seeds[k].header ? st_build(seeds[k].header, -1, seeds[k].n_data)
			    : st_build_llama(0, ST_LLAMA_N);
	n = strlen(seeds[k].config);
	*out = (struct fuzz_bytes){malloc(2 + n + f.n), 2 + n + f.n};
	REQUIRE(out->p);
	out->p[0] = (uint8_t)n;
	out->p[1] = (uint8_t)(n >> 8);
	memcpy(out->p + 2, seeds[k].config, n);
	memcpy(out->p + 2 + n, f.p, f.n);
	free(f.p);
	return true;
}
