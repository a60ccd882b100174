/* SPDX-License-Identifier: MIT
 *
 * Malformed folders: headers of safetensors files, indices, configurations.  Tables have the
 * expected status and words of the error message; then come sweeps: truncation at every byte, each
 * byte changed, each allocation failing.  No case may crash, leak, take long or take much
 * memory. */
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/checkpoint/open.h"
#include "core/engine/guard.h"
#include "tests/hostile.h"
#include "tests/st_file.h"

static void write_st(const char *name, struct st_file f)
{
	temp_write(name, f.p, f.n);
	free(f.p);
}

static void make_dir(void)
{
	temp_dir_make();
	temp_write("config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG));
	write_st("model.safetensors", st_build_llama(0, ST_LLAMA_N));
}

/* ---- headers ---- */

#define T(name, type, shape, span)                                                                 \
	"\"" name "\": {\"dtype\": \"" type "\", \"shape\": [" shape "], \"data_offsets\": [" span \
	"]}"

struct row {
	const char *json;
	long long length; /* as stated in the file */
	size_t n_data;
	enum lmd_status want;
	const char *words;
};

#define NAME_51  "a123456789b123456789c123456789d123456789e123456789f"
#define NAME_255 NAME_51 NAME_51 NAME_51 NAME_51 NAME_51

static const struct row headers[] = {
	{"", -1, 0, LMD_CORRUPT, "8 bytes|at least 10"},
	{"{}", 1 << 20, 0, LMD_CORRUPT, "header of 1048576 bytes|only 2 more"},
	{"{}", -1, 16, LMD_CORRUPT, "end at byte 0|16"},
	{"{}              ", -1, 0, LMD_NOTFOUND, "embed_tokens"},
	{"{}              ", 17, 0, LMD_CORRUPT, "header of 17 bytes|16"},
	{"{}              ", 0x7fffffffffffffff, 0, LMD_INVALID, "9223372036854775807|100000000"},
	{"{}              ", 100000001, 0, LMD_INVALID, "100000001|100000000"},
	{"{}              ", 100000000, 0, LMD_CORRUPT, "header of 100000000 bytes"},
	{"[]              ", -1, 0, LMD_CORRUPT, "begin with '{'"},
	{" {}             ", -1, 0, LMD_CORRUPT, "begin with '{'"},
	{"{\"a\": 1}        ", -1, 0, LMD_CORRUPT, "tensor a|integer"},
	{"{\"a\": {}}       ", -1, 0, LMD_CORRUPT, "tensor a|\"dtype\" is nothing"},
	{"{\"a\": {\"dtype\": 1}}", -1, 0, LMD_CORRUPT, "tensor a|dtype|integer"},
	{"{\"a\": {\"dtype\": \"F33\"}}", -1, 0, LMD_UNSUPPORTED, "tensor a|F33"},
	{"{\"a\": {\"dtype\": \"F32\"}}", -1, 0, LMD_CORRUPT, "shape"},
	{"{\"a\": {\"dtype\": \"F32\", \"shape\": [1]}}", -1, 0, LMD_CORRUPT, "data_offsets"},
	{"{" T("", "F32", "1", "0, 4") "}", -1, 4, LMD_INVALID, "name of 0 bytes"},
	{"{" T("a\\u0000b", "F32", "1", "0, 4") "}", -1, 4, LMD_INVALID, "a\\x00b|zero"},
	{"{" T(NAME_255, "F32", "1", "0, 4") "}", -1, 4, LMD_NOTFOUND, "embed_tokens"},
	{"{" T(NAME_255 "a", "F32", "1", "0, 4") "}", -1, 4, LMD_INVALID, "name of 256 bytes|255"},
	{"{" T("a", "F32", "-1", "0, 4") "}", -1, 4, LMD_INVALID, "dimension 0 is -1"},
	{"{" T("a", "F32", "1.5", "0, 4") "}", -1, 4, LMD_CORRUPT, "dimension 0|not an integer"},
	{"{" T("a", "F32", "true", "0, 4") "}", -1, 4, LMD_CORRUPT, "not an integer"},
	{"{" T("a", "F32", "1e2", "0, 400") "}", -1, 400, LMD_CORRUPT, "not an integer"},
	{"{" T("a", "F32", "99999999999999999999", "0, 4") "}", -1, 4, LMD_CORRUPT,
	"not an integer"},
	{"{" T("a", "F32", "1099511627777", "0, 4") "}", -1, 4, LMD_INVALID,
	 "1099511627777|1099511627776"},
	{"{" T("a", "F64", "1099511627776, 1099511627776", "0, 4") "}", -1, 4, LMD_INVALID,
	 "product"},
	{"{" T("a", "F32", "4294967296, 4294967296, 0", "0, 0") "}", -1, 0, LMD_INVALID, "product"},
	{"{" T("a", "F32", "1,1,1,1,1,1,1,1,1", "0, 4") "}", -1, 4, LMD_INVALID,
	 "9 dimensions|at most 8"},
	{"{" T("a", "F32", "1", "0") "}", -1, 4, LMD_CORRUPT, "must be two integers"},
	{"{" T("a", "F32", "1", "0, 4, 8") "}", -1, 4, LMD_CORRUPT, "must be two integers"},
	{"{" T("a", "F32", "1", "-4, 0") "}", -1, 4, LMD_CORRUPT, "must be two integers"},
	{"{" T("a", "F32", "1", "0, 4.5") "}", -1, 4, LMD_CORRUPT, "must be two integers"},
	{"{" T("a", "F32", "1", "4, 0") "}", -1, 4, LMD_CORRUPT, "bytes 4..0"},
	{"{" T("a", "F32", "1", "0, 8") "}", -1, 4, LMD_CORRUPT, "bytes 0..8|the data has 4"},
	{"{" T("a", "F32", "1", "0, 9223372036854775807") "}", -1, 4, LMD_CORRUPT, "bytes 0.."},
	{"{" T("a", "F32", "2", "0, 4") "}", -1, 4, LMD_CORRUPT, "4 bytes of data|need 8"},
	{"{" T("a", "F16", "1", "0, 4") "}", -1, 4, LMD_CORRUPT, "need 2"},
	{"{" T("a", "F32", "0", "0, 4") "}", -1, 4, LMD_CORRUPT, "need 0"},
	{"{" T("a", "F32", "1", "4, 8") "}", -1, 8, LMD_CORRUPT, "begins at byte 4|ends at 0"},
	{"{" T("a", "F32", "1", "0, 4") "}", -1, 8, LMD_CORRUPT, "end at byte 4|has 8"},
	{"{" T("a", "F32", "1", "0, 4") ", " T("b", "F32", "1", "0, 4") "}", -1, 4, LMD_CORRUPT,
	 "begins at byte 0|ends at 4"},
	{"{" T("a", "F32", "2", "0, 8") ", " T("b", "F32", "1", "4, 8") "}", -1, 8, LMD_CORRUPT,
	 "tensor b|begins at byte 4|ends at 8"},
	{"{" T("a", "F32", "1", "0, 4") ", " T("b", "F32", "1", "8, 12") "}", -1, 12, LMD_CORRUPT,
	 "tensor b|byte 8|ends at 4"},
	{"{" T("a", "F32", "1", "0, 4") ", " T("a", "F32", "1", "4, 8") "}", -1, 8, LMD_CORRUPT,
	 "duplicate key 'a'"},
	{"{\"__metadata__\": []}", -1, 0, LMD_CORRUPT, "__metadata__|array"},
	{"{\"__metadata__\": {\"a\": 1}}", -1, 0, LMD_CORRUPT, "__metadata__|\"a\" is integer"},
	{"{\"a\": }            ", -1, 0, LMD_CORRUPT, "header|JSON"},
	{"{\"a\": \"\xff\"}         ", -1, 0, LMD_CORRUPT, "header|JSON"},
	{"{\"model.embed_tokens.weight\": {\"dtype\": \"F32\", \"shape\": [4, 8], "
	 "\"data_offsets\": [0, 128]}, " T("x", "F32", "1", "128, 132") "}",
	 -1, 132, LMD_NOTFOUND, "model.norm.weight is missing"},
};

START_TEST(header_table)
{
	for (size_t i = 0; i < LMD_LEN(headers); i++) {
		const struct row *r = &headers[i];
		char what[80];

		snprintf(what, sizeof(what), "header %zu: %.60s", i, r->json);
		write_st("model.safetensors", st_build(r->json, r->length, r->n_data));
		check_open(what, dir, r->want, r->words);
		if (r->want == LMD_CORRUPT)
			check_open(what, dir, r->want, "model.safetensors: ");
	}
	LMD_CASES("headers of safetensors", LMD_LEN(headers), 0, 0);
}
END_TEST

/* ---- configurations ---- */

struct edit {
	const char *from, *to; /* in ST_LLAMA_CONFIG */
	enum lmd_status want;
	const char *words;
};

static const struct edit configs[] = {
	{"{", "[", LMD_CORRUPT, "config.json|JSON"},
	{"\"llama\"", "\"nope\"", LMD_UNSUPPORTED, "model_type|nope"},
	{"\"llama\"", "7", LMD_UNSUPPORTED, "model_type|integer"},
	{"\"model_type\": \"llama\", ", "", LMD_UNSUPPORTED, "model_type|nothing"},
	{"\"hidden_size\": 8, ", "", LMD_NOTFOUND, "hidden_size|missing"},
	{"\"hidden_size\": 8", "\"hidden_size\": 0", LMD_INVALID, "hidden_size|0|1.."},
	{"\"hidden_size\": 8", "\"hidden_size\": -8", LMD_INVALID, "hidden_size|-8"},
	{"\"hidden_size\": 8", "\"hidden_size\": 1e30", LMD_INVALID, "hidden_size"},
	{"\"hidden_size\": 8", "\"hidden_size\": \"8\"", LMD_INVALID, "hidden_size|string"},
	{"\"hidden_size\": 8", "\"hidden_size\": [8]", LMD_INVALID, "hidden_size|array"},
	{"\"hidden_size\": 8", "\"hidden_size\": 16", LMD_CORRUPT, "q_proj|rows"},
	{"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 0", LMD_INVALID, "num_hidden_layers"},
	{"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2", LMD_NOTFOUND, "layers.1.|missing"},
	{"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 1025", LMD_INVALID, "1025|1024"},
	{"\"num_attention_heads\": 2", "\"num_attention_heads\": 0", LMD_INVALID, "heads"},
	{"\"num_attention_heads\": 2", "\"num_attention_heads\": 9", LMD_INVALID,
	 "heads|9|hidden_size"},
	{"\"num_key_value_heads\": 1", "\"num_key_value_heads\": 0", LMD_INVALID, "num_key_value"},
	{"\"num_attention_heads\": 2, \"num_key_value_heads\": 1",
	 "\"num_attention_heads\": 4, \"num_key_value_heads\": 3", LMD_INVALID, "must divide"},
	{"\"vocab_size\": 4", "\"vocab_size\": 0", LMD_INVALID, "vocab_size"},
	{"\"vocab_size\": 4", "\"vocab_size\": 99999999", LMD_INVALID, "vocab_size|4194304"},
	{"\"rms_norm_eps\": 1e-5", "\"rms_norm_eps\": \"x\"", LMD_INVALID, "rms_norm_eps|string"},
	{"\"rms_norm_eps\": 1e-5", "\"rms_norm_eps\": 1e300", LMD_INVALID, "rms_norm_eps|range"},
	{"\"rope_theta\": 10000.0", "\"head_dim\": 3", LMD_CORRUPT, "even width"},
	{"\"rope_theta\": 10000.0", "\"rope_scaling\": {\"type\": \"magic\"}", LMD_UNSUPPORTED,
	 "magic|llama3"},
	{"\"rope_theta\": 10000.0", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0}",
	 LMD_INVALID, "factor"},
	{"\"rope_theta\": 10000.0",
	 "\"rope_scaling\": {\"rope_type\": \"llama3\", \"high_freq_factor\": 1, "
	 "\"low_freq_factor\": 1}",
	 LMD_INVALID, "high_freq_factor"},
	{"\"rope_theta\": 10000.0",
	 "\"rope_scaling\": {\"type\": \"longrope\", \"long_factor\": [1], \"short_factor\": []}",
	 LMD_INVALID, "long_factor|array of 2"},
	{"\"rope_theta\": 10000.0",
	 "\"rope_scaling\": {\"type\": \"longrope\", \"long_factor\": [1, \"a\"], "
	 "\"short_factor\": [1, 2]}",
	 LMD_INVALID, "long_factor|element 1"},
	{"\"rope_theta\": 10000.0", "\"partial_rotary_factor\": 2", LMD_INVALID, "partial_rotary"},
	{"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 3", LMD_INVALID,
	 "tie_word_embeddings|boolean"},
	{"\"tie_word_embeddings\": false", "\"quantization_config\": {\"quant_method\": \"hqq\"}",
	 LMD_UNSUPPORTED, "quant_method|hqq|without quantisation"},
	{"\"rope_theta\": 10000.0",
	 "\"rotary_dim\": 0, \"rope_scaling\": {\"rope_type\": \"llama3\"}", LMD_OK, ""},
	{"\"rope_theta\": 10000.0", "\"num_experts\": 5000", LMD_INVALID, "num_experts|5000|1024"},
};

static void write_edited(const char *from, const char *to)
{
	const char *at = strstr(ST_LLAMA_CONFIG, from);
	char text[2048];

	ck_assert_ptr_nonnull(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - ST_LLAMA_CONFIG), ST_LLAMA_CONFIG, to,
		 at + strlen(from));
	temp_write("config.json", text, strlen(text));
}

START_TEST(config_table)
{
	struct lmd_error err;

	ck_assert_msg(try_open(dir, 0, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(try_open(temp_path("config.json"), 0, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(try_open(temp_path("model.safetensors"), 0, &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(configs); i++) {
		write_edited(configs[i].from, configs[i].to);
		check_open(configs[i].to, dir, configs[i].want, configs[i].words);
	}
	LMD_CASES("configurations", LMD_LEN(configs), 0, 0);
}
END_TEST

/* Quantised weights whose parts do not match, in place of the embedding. */
#define E(name, type, shape, span) T("model.embed_tokens" name, type, shape, span)
static const struct {
	const char *quant, *json;
	size_t n_data;
	const char *words;
} coded[] = {
	{"gptq", E(".qweight", "I32", "0, 8", "0, 0") ", " E(".qzeros", "I32", "1, 1", "0, 4") ", " E(
			 ".scales", "F16", "1, 8", "4, 20"),
	 20, "qweight|is empty"},
	{"gptq", E(".qweight", "I32", "1, 8", "0, 32"), 32, "qzeros or scales"},
	{"gptq", E(".qweight", "I32", "1, 8", "0, 32") ", " E(".qzeros", "I32", "3, 1", "32, 44") ", " E(
			 ".scales", "F16", "3, 8", "44, 92"),
	 92, "groups do not divide"},
	{"awq", E(".qweight", "I32", "8, 0", "0, 0") ", " E(".qzeros", "I32", "1, 0", "0, 0") ", " E(
			".scales", "F16", "1, 0", "0, 0"),
	 0, "is empty"},
	{"awq", E(".qweight", "I32", "8, 1", "0, 32") ", " E(".qzeros", "I32", "1, 2", "32, 40") ", " E(
			".scales", "F16", "1, 8", "40, 56"),
	 56, "AWQ needs"},
	{"fp8", E(".weight", "F8_E4M3", "4, 8", "0, 32") ", " E(".weight_scale_inv", "F32", "5, 1",
								"32, 52"),
	 52, "scales match neither"},
	{"fp8", E(".weight", "F8_E4M3", "4, 8", "0, 32") ", " E(".weight_scale", "F32", "0", "32, 32"),
	 32, "scales match neither"},
	{"fp8", E(".weight", "F8_E4M3", "0, 8", "0, 0") ", " E(".weight_scale", "F32", "", "0, 4"), 4,
	 "is empty"},
	{"mlx", E(".weight", "U32", "4, 1", "0, 16") ", " E(".scales", "F16", "4, 1", "16, 24"), 24,
	 "biases are missing"},
	{"mlx", E(".weight", "U32", "4, 1", "0, 16") ", " E(".scales", "F16", "4, 0", "16, 16") ", " E(
			".biases", "F16", "4, 0", "16, 16"),
	 16, "biases are missing or have another shape"},
	{"mlx", E(".weight", "U32", "4, 0", "0, 0") ", " E(".scales", "F16", "4, 1", "0, 8") ", " E(
			".biases", "F16", "4, 1", "8, 16"),
	 16, "codes of 1 to 8 bits"},
	{"mlx", E(".weight", "U32", "3, 1", "0, 12") ", " E(".scales", "F16", "4, 1", "12, 20") ", " E(
			".biases", "F16", "4, 1", "20, 28"),
	 28, "codes of 1 to 8 bits"},
	{"compressed-tensors", E(".weight_packed", "I32", "4, 1", "0, 16"), 16, "weight_scale"},
	{"compressed-tensors",
	 E(".weight_packed", "I32", "4, 0", "0, 0") ", " E(".weight_scale", "F16", "4, 1", "0, 8"), 8,
	 "is empty"},
};

START_TEST(coded_table)
{
	for (size_t i = 0; i < LMD_LEN(coded); i++) {
		char config[160], json[1024];

		snprintf(config, sizeof(config),
			 "\"quantization_config\": {\"quant_method\": \"%s\", \"bits\": 4}",
			 coded[i].quant);
		write_edited("\"tie_word_embeddings\": false", config);
		snprintf(json, sizeof(json), "{%s}", coded[i].json);
		write_st("model.safetensors", st_build(json, -1, coded[i].n_data));
		check_open(coded[i].json, dir, LMD_UNSUPPORTED, coded[i].words);
	}
	LMD_CASES("quantised parts", LMD_LEN(coded), 0, 0);
}
END_TEST

/* A tensor that the family does not have, and one with another shape. */
START_TEST(unexpected_tensors)
{
	struct st_row rows[ST_LLAMA_N + 1];
	struct lmd_error err;

	write_st("model.safetensors",
		 st_build("{" T("model.embed_tokens.weight", "F32", "4, 8", "0, 128") ", " T(
				  "model.embed_tokens.bias", "F32", "4", "128, 144") "}",
			  -1, 144));
	check_open("bias of embedding", dir, LMD_NOTFOUND, "model.norm.weight");
	write_st("model.safetensors", st_build_llama(0, ST_LLAMA_N));
	write_edited("\"num_hidden_layers\": 1",
		     "\"num_hidden_layers\": 1, \"model_type\": \"gemma\"");
	ck_assert_msg(try_open(dir, 0, &err) == LMD_OK, "%s",
		      err.text); /* its head is the embedding */
	write_edited("\"llama\"", "\"qwen3\"");
	check_open("no norms", dir, LMD_NOTFOUND, "q_norm.weight is missing");
	write_edited("\"llama\"", "\"arcee\"");
	write_edited("\"llama\"", "\"llama\"");
	write_st("model.safetensors",
		 st_build("{" T("model.embed_tokens.weight", "I8", "4, 8", "0, 32") "}", -1, 32));
	check_open("integers", dir, LMD_CORRUPT, "embed_tokens|integer type need scales");
	memcpy(rows, st_llama, sizeof(st_llama));
	rows[ST_LLAMA_N] = (struct st_row){.name = "model.layers.0.extra.weight"};
	write_st("model.safetensors", st_build_rows(rows, ST_LLAMA_N + 1));
	ck_assert_msg(try_open(dir, 0, &err) == LMD_OK, "a tensor without values: %s", err.text);
	write_st("model.safetensors", st_build_llama(0, ST_LLAMA_N));
	write_edited("\"llama\"", "\"arcee\"");
	check_open("a gate too many", dir, LMD_UNSUPPORTED, "gate_proj|arcee");
}
END_TEST

/* ---- sets ---- */

#define INDEX(map) "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {" map "}}"
#define A          "\"model.embed_tokens.weight\": \"a.safetensors\""
#define B          "\"lm_head.weight\": \"b.safetensors\""

static const struct {
	const char *json;
	enum lmd_status want;
	const char *words;
} indices[] = {
	{INDEX(A ", " B), LMD_OK, ""},
	{INDEX(B ", " A), LMD_OK, ""},
	{"{}", LMD_CORRUPT, "weight_map|nothing"},
	{"{\"weight_map\": []}", LMD_CORRUPT, "weight_map|array"},
	{INDEX(""), LMD_CORRUPT, "weight_map|empty"},
	{INDEX("\"x\": 1"), LMD_INVALID, "\"x\" is in integer"},
	{INDEX("\"x\": \"\""), LMD_INVALID, "same folder"},
	{INDEX("\"x\": \"../a.safetensors\""), LMD_INVALID, "../a.safetensors|same folder"},
	{INDEX("\"x\": \"/etc/passwd\""), LMD_INVALID, "/etc/passwd"},
	{INDEX("\"x\": \".safetensors\""), LMD_INVALID, "same folder"},
	{INDEX("\"x\": \"a\\u0000.safetensors\""), LMD_INVALID, "same folder"},
	{INDEX("\"x\": \"c.safetensors\""), LMD_NOTFOUND, "c.safetensors"},
	{INDEX(A), LMD_NOTFOUND, "missing"},
	{INDEX(A ", \"lm_head.weight\": \"a.safetensors\", \"y\": \"b.safetensors\""), LMD_CORRUPT,
	 "tensor lm_head.weight|a.safetensors|b.safetensors"},
	{INDEX(A ", " B ", \"x.y\": \"b.safetensors\""), LMD_CORRUPT, "tensor x.y is not in"},
	{INDEX(A ", " A), LMD_CORRUPT, "duplicate"},
	{"[1]", LMD_CORRUPT, "weight_map"},
	{"nonsense", LMD_CORRUPT, "index.json|JSON"},
};

START_TEST(index_table)
{
	ck_assert_int_eq(unlink(temp_path("model.safetensors")), 0);
	check_open("nothing", dir, LMD_NOTFOUND, "model.safetensors");
	write_st("a.safetensors", st_build_llama(0, 2));
	write_st("b.safetensors", st_build_llama(2, ST_LLAMA_N));
	check_open("no index", dir, LMD_INVALID, "2 files");
	for (size_t i = 0; i < LMD_LEN(indices); i++) {
		struct lmd_error err;
		enum lmd_status st;

		temp_write("model.safetensors.index.json", indices[i].json,
			   strlen(indices[i].json));
		st = try_open(dir, 0, &err);
		ck_assert_msg(st == indices[i].want && has_words(err.text, indices[i].words),
			      "%s: %s \"%s\"", indices[i].json, lmd_status_text((int)st), err.text);
	}
	write_st("b.safetensors", st_build_llama(1, ST_LLAMA_N));
	temp_write("model.safetensors.index.json", INDEX(A ", " B), strlen(INDEX(A ", " B)));
	check_open("twice", dir, LMD_CORRUPT, "b.safetensors|model.norm.weight|another file");
	LMD_CASES("indices", LMD_LEN(indices), 0, 0);
}
END_TEST

/* ---- sweeps ---- */

START_TEST(cut_at_every_byte)
{
	struct st_file f = st_build_llama(0, ST_LLAMA_N);
	struct lmd_error err;

	for (size_t n = 0; n < f.n; n++) {
		temp_write("model.safetensors", f.p, n);
		ck_assert_msg(try_open(dir, 0, &err) != LMD_OK, "cut at %zu", n);
	}
	temp_write("model.safetensors", f.p, f.n);
	ck_assert_msg(try_open(dir, 0, &err) == LMD_OK, "%s", err.text);
	free(f.p);
	for (size_t n = 0; n < strlen(ST_LLAMA_CONFIG); n++) {
		temp_write("config.json", ST_LLAMA_CONFIG, n);
		ck_assert_msg(try_open(dir, 0, &err) != LMD_OK, "configuration cut at %zu", n);
	}
}
END_TEST

START_TEST(change_every_byte)
{
	static const unsigned char with[] = {0, 0x20, '"', '9', '{', ']', 0x7f, 0xff};
	struct st_file f = st_build_llama(0, ST_LLAMA_N);
	size_t head = f.n - 1856, opened = 0;
	char config[] = ST_LLAMA_CONFIG;
	struct lmd_error err;

	for (size_t i = 0; i < head; i++) {
		for (size_t k = 0; k < LMD_LEN(with); k++) {
			char old = f.p[i];

			f.p[i] = (char)with[k];
			temp_write("model.safetensors", f.p, f.n);
			opened += try_open(dir, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK;
			f.p[i] = old;
		}
	}
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
	for (size_t i = 0; i < sizeof(config) - 1; i++) {
		for (size_t k = 0; k < LMD_LEN(with); k++) {
			char old = config[i];

			config[i] = (char)with[k];
			temp_write("config.json", config, sizeof(config) - 1);
			opened += try_open(dir, 0, &err) == LMD_OK;
			config[i] = old;
		}
	}
	printf("%zu changed folders open\n", opened);
}
END_TEST

START_TEST(no_memory)
{
	static const char tokenizer[] =
		"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, "
		"\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 3, \"content\": \"<s>\", "
		"\"special\": true}]}";

	temp_write("tokenizer.json", tokenizer, strlen(tokenizer));
	temp_write("generation_config.json", "{\"eos_token_id\": [2, 3]}", 24);
	/* two lists of the tokenizer keep their size if shrinking them fails */
	open_without_memory(dir, 2, 20);
}
END_TEST

/* Each file of a folder is replaced by something that is not a regular file. */
START_TEST(not_a_file)
{
	static const char *const names[] = {"model.safetensors", "config.json", "tokenizer.json",
					    "generation_config.json"};
	struct lmd_error err;
	char cmd[256];

	check_open("no folder", temp_path("missing"), LMD_NOTFOUND, "missing");
	for (size_t i = 0; i < LMD_LEN(names); i++) {
		const char *path = temp_path(names[i]);

		(void)unlink(path);
		ck_assert_int_eq(mkfifo(path, 0600), 0);
		check_open(names[i], dir, LMD_INVALID, "FIFO");
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(mkdir(path, 0700), 0);
		check_open(names[i], dir, LMD_INVALID, "directory");
		ck_assert_int_eq(rmdir(path), 0);
		ck_assert_int_eq(symlink(names[i], path), 0);
		check_open(names[i], dir, LMD_IO, names[i]);
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(symlink("/dev/zero", path), 0);
		check_open(names[i], dir, LMD_INVALID, "device");
		ck_assert_int_eq(unlink(path), 0);
		temp_write(names[i], "", 0);
		ck_assert_int_ne(try_open(dir, 0, &err), LMD_OK);
		ck_assert_int_eq(unlink(path), 0);
		if (i == 1)
			check_open("no configuration", dir, LMD_NOTFOUND, "config.json");
		temp_write("config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG));
		write_st("model.safetensors", st_build_llama(0, ST_LLAMA_N));
	}
	snprintf(cmd, sizeof(cmd), "ln -s %s %s", dir, temp_path("link"));
	ck_assert_int_eq(system(cmd), 0);
	ck_assert_msg(try_open(temp_path("link"), 0, &err) == LMD_OK, "%s", err.text);
	snprintf(cmd, sizeof(cmd), "%s/", dir);
	ck_assert_msg(try_open(cmd, 0, &err) == LMD_OK, "%s", err.text);
}
END_TEST

/* A truncated file: reading reports it; the mapping is guarded. */
START_TEST(truncated)
{
	struct lmi_model *m = NULL;
	struct lmd_error err = {0};
	struct lmi_engine_guard g = {0};
	const struct lmd_tensor *t;
	char buf[128];

	ck_assert_int_eq(lmi_model_open_any(&m, arch_plugins(), dir, LMI_OPEN_HEADER_ONLY, &err),
			 LMD_OK);
	t = lmi_model_view(m)->find_tensor(lmi_model_view(m), "blk.0.ffn_down.weight");
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(lmi_model_read(m, t, 0, buf, 32, &err), LMD_OK);
	ck_assert_int_eq(truncate(temp_path("model.safetensors"), 64), 0);
	ck_assert_int_eq(lmi_model_read(m, t, 0, buf, 32, &err), LMD_IO);
	ck_assert_msg(has_words(err.text, "model.safetensors|ends"), "%s", err.text);
	lmi_model_close(m);

	write_st("model.safetensors", st_build_llama(0, ST_LLAMA_N));
	ck_assert_int_eq(lmi_model_open_any(&m, arch_plugins(), dir, 0, &err), LMD_OK);
	t = lmi_model_view(m)->find_tensor(lmi_model_view(m), "blk.0.ffn_down.weight");
	ck_assert_int_eq(lmi_engine_guard_add(&g, t->data, t->bytes, &err), LMD_OK);
	ck_assert_int_eq(truncate(temp_path("model.safetensors"), 0), 0);
	memcpy(buf, t->data, sizeof(buf));
	ck_assert(lmi_engine_guard_is_bad(&g));
	lmi_engine_guard_drop(&g);
	lmi_model_close(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("safetensors_hostile");
	TCase *tc = tcase_create("folders");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_dir, temp_dir_remove);
	tcase_add_test(tc, header_table);
	tcase_add_test(tc, config_table);
	tcase_add_test(tc, coded_table);
	tcase_add_test(tc, unexpected_tensors);
	tcase_add_test(tc, index_table);
	tcase_add_test(tc, cut_at_every_byte);
	tcase_add_test(tc, change_every_byte);
	tcase_add_test(tc, no_memory);
	tcase_add_test(tc, not_a_file);
	tcase_add_test(tc, truncated);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
