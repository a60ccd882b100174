/* SPDX-License-Identifier: MIT
 *
 * The work of reading JSON, tables of tensors and tokenizers, and of digests, grows at most
 * linearly with the input, and all of it can be cancelled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/base/json_tree.h"
#include "core/base/sha256.h"
#include "core/checkpoint/formats.h"
#include "core/checkpoint/open.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "core/format/safetensors/safetensors.h"
#include "tests/linear_work.h"
#include "tests/temp_dir.h"

/* The text of an input: see linear_work_text. */
struct source {
	const char *name; /* begins with that of the format, if it is one of the table */
	enum lmd_status (*read)(const char *text, size_t n);
	const char *head, *piece, *tail;
};

static enum lmd_status read_items(const char *text, size_t n)
{
	struct lmi_json_reader_item it;
	struct lmi_json_reader r;
	struct lmd_error err;
	enum lmd_status st;

	lmi_json_reader_init(&r, text, n);
	do
		st = lmi_json_reader_next(&r, &it, &err);
	while (st == LMD_OK && it.type != LMI_JSON_READER_END);
	return st;
}

static enum lmd_status read_tree(const char *text, size_t n)
{
	const struct lmi_json_tree_opts o = {.unique_keys = true};
	struct lmi_json_tree t = {0};
	struct lmd_error err;
	enum lmd_status st = lmi_json_tree_parse(&t, text, n, &o, &err);

	if (st == LMD_OK)
		lmi_json_tree_fini(&t);
	return st;
}

static enum lmd_status digest(const char *text, size_t n)
{
	uint8_t out[LMI_SHA256_BYTES];
	struct lmi_sha256 h;
	bool cancelled;

	ck_assert(lmi_sha256_init(&h));
	lmi_sha256_update(&h, text, n);
	cancelled = h.cancelled;
	ck_assert(lmi_sha256_final(&h, out) != cancelled);
	return cancelled ? LMD_CANCELLED : LMD_OK;
}

static enum lmd_status read_tokenizer(const char *text, size_t n)
{
	struct lmi_hf_tokenizer *t = NULL;
	struct lmd_error err;
	enum lmd_status st = lmi_hf_tokenizer_parse(&t, text, n, &err);

	lmi_hf_tokenizer_close(t);
	return st;
}

static void write_file(const char *path, const void *head, size_t n_head, const char *text,
		       size_t n)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(head, 1, n_head, f), n_head);
	ck_assert_uint_eq(fwrite(text, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

static enum lmd_status read_safetensors(const char *text, size_t n)
{
	const char *path = temp_path("m.safetensors");
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_st st = {0};
	struct lmd_error err;
	struct lmi_file f;
	enum lmd_status status;
	uint8_t head[8];

	lmi_put_le64(head, n);
	write_file(path, head, sizeof(head), text, n);
	ck_assert_int_eq(lmi_file_open(&f, path, &err), LMD_OK);
	linear_work_begin();
	status = lmi_st_read_header(&st, arena, &f, 0, &err);
	lmi_file_close(&f);
	lmi_st_fini(&st);
	lmi_arena_destroy(arena);
	return status;
}

/* ---- GGUF ---- */

struct gguf {
	uint8_t *p;
};

static void put_u32(struct gguf *g, uint32_t v)
{
	lmi_put_le32(g->p, v);
	g->p += 4;
}

static void put_u64(struct gguf *g, uint64_t v)
{
	lmi_put_le64(g->p, v);
	g->p += 8;
}

static void put_str(struct gguf *g, const char *s)
{
	size_t n = strlen(s);

	put_u64(g, n);
	memcpy(g->p, s, n);
	g->p += n;
}

/* The header, and the architecture, the first of the keys. */
static void put_head(struct gguf *g, uint64_t n_tensor, uint64_t n_key)
{
	memcpy(g->p, "GGUF", 4);
	g->p += 4;
	put_u32(g, 3);
	put_u64(g, n_tensor);
	put_u64(g, n_key);
	put_str(g, "general.architecture");
	put_u32(g, 8);
	put_str(g, "llama");
}

static enum lmd_status open_gguf(const void *head, size_t n_head, const char *text, size_t n)
{
	const char *path = temp_path("m.gguf");
	struct lmi_model *m = NULL;
	struct lmd_error err;
	enum lmd_status st;

	write_file(path, head, n_head, text, n);
	linear_work_begin();
	st = lmi_model_open(&m, path, 0, &err);
	if (st == LMD_OK)
		lmi_model_close(m);
	return st;
}

/* text: the elements of the last key, an array of strings of 8 bytes that follow a length. */
static enum lmd_status read_gguf(const char *text, size_t n)
{
	uint8_t head[256];
	struct gguf g = {head};

	put_head(&g, 0, 2);
	put_str(&g, "tokenizer.ggml.tokens");
	put_u32(&g, 9);
	put_u32(&g, 8);
	put_u64(&g, n / 16);
	return open_gguf(head, (size_t)(g.p - head), text, n);
}

/* text: the elements of an array of floats. */
static enum lmd_status read_gguf_numbers(const char *text, size_t n)
{
	uint8_t head[256];
	struct gguf g = {head};

	put_head(&g, 0, 2);
	put_str(&g, "tokenizer.ggml.scores");
	put_u32(&g, 9);
	put_u32(&g, 6);
	put_u64(&g, n / 4);
	return open_gguf(head, (size_t)(g.p - head), text, n / 4 * 4);
}

/* n bytes of keys, or of tensors without elements; the text is not used. */
static enum lmd_status read_gguf_table(size_t n, bool tensors)
{
	size_t n_row = n / 64;
	uint8_t *bytes = malloc(n_row * 64 + 256);
	struct gguf g = {bytes};
	enum lmd_status st;

	put_head(&g, tensors ? n_row : 0, tensors ? 1 : n_row + 1);
	for (size_t i = 0; i < n_row; i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), "%s.%08zu", tensors ? "blk" : "key", i);
		put_str(&g, name);
		put_u32(&g, tensors ? 1 : 4); /* one dimension; or the type of a number */
		if (tensors) {
			put_u64(&g, 32);
			put_u32(&g, 0);
			put_u64(&g, 128 * i);
		} else {
			put_u32(&g, (uint32_t)i);
		}
	}
	st = open_gguf(bytes, (size_t)(g.p - bytes), "", 0);
	free(bytes);
	return st;
}

static enum lmd_status read_gguf_keys(const char *text, size_t n)
{
	(void)text;
	return read_gguf_table(n, false);
}

static enum lmd_status read_gguf_tensors(const char *text, size_t n)
{
	(void)text;
	return read_gguf_table(n, true);
}

/* ---- folders of Hugging Face ---- */

static enum lmd_status read_config(const char *text, size_t n)
{
	struct lmi_model *m = NULL;
	struct lmd_error err;
	enum lmd_status st;

	write_file(temp_path("config.json"), "", 0, text, n);
	linear_work_begin();
	st = lmi_model_open(&m, dir, 0, &err);
	if (st == LMD_OK)
		lmi_model_close(m);
	return st;
}

static const struct source sources[] = {
	{"JSON: items", read_items, "[0", ",[1],\"a\",{\"k\":-1.5e3}", "]"},
	{"JSON: a string", read_items, "\"", "abcdefgh", "\""},
	{"JSON: escapes", read_items, "\"", "\\n\\u00e9\\ud83d\\ude00", "\""},
	{"JSON: characters", read_items, "\"", "\xce\xa3\xe2\x82\xac", "\""},
	{"JSON: blanks", read_items, "[", "    \n  \t", "]"},
	{"JSON: a tree", read_tree, "[0", ",[1],\"a\",{\"k\":-1.5e3}", "]"},
	{"JSON: unique keys", read_tree, "{\"k\": 0", ",\"key number %\":0", "}"},
	{"SHA-256", digest, "", "abcdefgh", ""},
	{"tokenizer.json: a vocabulary", read_tokenizer,
	 "{\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"a\": 0", ", \"t%\": %",
	 "}}}"},
	{"tokenizer.json: merges", read_tokenizer,
	 "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": "
	 "[\"a b\"",
	 ", \"a b\"", "]}}"},
	{"tokenizer.json: added tokens", read_tokenizer,
	 "{\"added_tokens\": [{\"id\": 0, "
	 "\"content\": \"x\"}",
	 ", {\"id\": %, \"content\": \"t%\"}",
	 "], \"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"x\": 0}}}"},
	{"safetensors", read_safetensors,
	 "{\"t\": {\"dtype\": \"U8\", \"shape\": [0], "
	 "\"data_offsets\": [0, 0]}",
	 ", \"t%\": {\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": "
	 "[0, 0]}",
	 "}"},
	{"safetensors: config.json", read_config,
	 "{\"model_type\": \"llama\", \"architectures\": "
	 "[\"LlamaForCausalLM\"]",
	 ", \"key%\": [1, {\"a\": 2.5}]", "}"},
	{"gguf: strings", read_gguf, "", "@", ""},
	{"gguf: numbers", read_gguf_numbers, "", "abcd", ""},
	{"gguf: keys", read_gguf_keys, "", "", ""},
	{"gguf: tensors", read_gguf_tensors, "", "", ""},
};

static enum lmd_status read_source(const void *arg, size_t n)
{
	const struct source *s = arg;
	size_t bytes;
	char *text = linear_work_text(s->head, s->piece, s->tail, n, &bytes);
	enum lmd_status st;

	linear_work_begin();
	st = s->read(text, *s->piece ? bytes : n);

	free(text);
	return st;
}

START_TEST(readers)
{
	linear_work_check(sources[_i].name, read_source, &sources[_i]);
	linear_work_check_counted(sources[_i].name, read_source, &sources[_i]);
}
END_TEST

/* Every format of the table is among the readers. */
START_TEST(formats)
{
	for (uint32_t i = 0; i < lmi_formats_builtin.n_factories; i++) {
		const char *name = lmi_formats_builtin.factories[i].name;
		bool found = false;

		for (size_t k = 0; k < LMD_LEN(sources); k++)
			found |= !strncmp(sources[k].name, name, strlen(name));
		ck_assert_msg(found, "no input for the format %s", name);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("work");
	TCase *tc = tcase_create("work");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, temp_dir_make, temp_dir_remove);
	tcase_add_loop_test(tc, readers, 0, (int)LMD_LEN(sources));
	tcase_add_test(tc, formats);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
