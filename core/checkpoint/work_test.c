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
#include "core/checkpoint/open.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "core/format/safetensors/safetensors.h"
#include "tests/linear_work.h"
#include "tests/temp_dir.h"

/* The text of an input: see linear_work_text. */
struct source {
	const char *name;
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
	status = lmi_st_read_header(&st, arena, &f, 0, &err);
	lmi_file_close(&f);
	lmi_st_fini(&st);
	lmi_arena_destroy(arena);
	return status;
}

/* text: the elements of the last key, an array of strings of 8 bytes that follow a length. */
static enum lmd_status read_gguf(const char *text, size_t n)
{
	const char *path = temp_path("m.gguf");
	struct lmi_model *m = NULL;
	struct lmd_error err;
	enum lmd_status st;
	uint8_t head[256], *p = head;
	const char *const arch = "general.architecture", *const key = "tokenizer.ggml.tokens";

	p = (uint8_t *)memcpy(p, "GGUF", 4) + 4;
	p += (lmi_put_le32(p, 3), 4);
	p += (lmi_put_le64(p, 0), 8);
	p += (lmi_put_le64(p, 2), 8);
	p += (lmi_put_le64(p, strlen(arch)), 8);
	p = (uint8_t *)memcpy(p, arch, strlen(arch)) + strlen(arch);
	p += (lmi_put_le32(p, 8), 4);
	p += (lmi_put_le64(p, 5), 8);
	p = (uint8_t *)memcpy(p, "llama", 5) + 5;
	p += (lmi_put_le64(p, strlen(key)), 8);
	p = (uint8_t *)memcpy(p, key, strlen(key)) + strlen(key);
	p += (lmi_put_le32(p, 9), 4);
	p += (lmi_put_le32(p, 8), 4);
	p += (lmi_put_le64(p, n / 16), 8);
	write_file(path, head, (size_t)(p - head), text, n);
	st = lmi_model_open(&m, path, 0, &err);
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
	 "{\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"a\": 0", ", \"t%\": %", "}}}"},
	{"tokenizer.json: merges", read_tokenizer,
	 "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": "
	 "[\"a b\"", ", \"a b\"", "]}}"},
	{"tokenizer.json: added tokens", read_tokenizer, "{\"added_tokens\": [{\"id\": 0, "
	 "\"content\": \"x\"}", ", {\"id\": %, \"content\": \"t%\"}",
	 "], \"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"x\": 0}}}"},
	{"safetensors", read_safetensors, "{\"t\": {\"dtype\": \"U8\", \"shape\": [0], "
	 "\"data_offsets\": [0, 0]}", ", \"t%\": {\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": "
	 "[0, 0]}", "}"},
	{"GGUF: strings", read_gguf, "", "@", ""},
};

static enum lmd_status read_source(const void *arg, size_t n)
{
	const struct source *s = arg;
	size_t bytes;
	char *text = linear_work_text(s->head, s->piece, s->tail, n, &bytes);
	enum lmd_status st = s->read(text, bytes);

	free(text);
	return st;
}

START_TEST(readers)
{
	linear_work_check(sources[_i].name, read_source, &sources[_i]);
	linear_work_check_counted(sources[_i].name, read_source, &sources[_i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("work");
	TCase *tc = tcase_create("work");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, temp_dir_make, temp_dir_remove);
	tcase_add_loop_test(tc, readers, 0, (int)LMD_LEN(sources));
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
