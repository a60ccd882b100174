/* SPDX-License-Identifier: MIT
 *
 * open_fixture.h - a format "told" that describes whatever model a test wants, good or bad, and a
 * registry with the plugin of this format, which is linked into the test. */
#ifndef LLAMAD_CORE_CHECKPOINT_OPEN_FIXTURE_H
#define LLAMAD_CORE_CHECKPOINT_OPEN_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "llamad/format.h"
#include "tests/lmd_check.h"
#include "tests/temp_dir.h"

#define MAGIC	   "test"
#define FILE_BYTES 4096
#define ROWS	   6
#define COLS	   4


/* What the format "told" does, set by each test. */
static struct {
	int score;
	void (*describe)(const struct lmd_model_builder *b, struct lmd_error *err);
	enum lmd_status result;	 /* of open */
	const char *message;	 /* of open, if it fails */
	enum lmd_status at_rows; /* result of read_rows */
	int n_probe, n_open, n_close, n_rows;
	char opener[32]; /* name of the format that was asked to open last */
} told;

struct told_state {
	const struct lmd_model_builder *b;
	uint64_t zero; /* the host clears the state */
};

static int by_magic(const struct lmd_format_probe *p)
{
	return p->head_bytes >= 4 && !memcmp(p->head, MAGIC, 4);
}

static int told_probe(const struct lmd_host *host, const struct lmd_format_probe *p)
{
	told.n_probe++;
	ck_assert_ptr_nonnull(host);
	ck_assert_uint_eq(p->struct_size, sizeof(*p));
	ck_assert(p->head_bytes <= LMD_FORMAT_HEAD_BYTES && p->head_bytes <= p->file_bytes);
	if (p->is_folder)
		return p->has_file(p, "model.told") && !p->has_file(p, "../x") &&
				       !p->has_file(p, "none")
			       ? told.score
			       : 0;
	return by_magic(p) ? told.score : 0;
}

static enum lmd_status told_open(void *state, const struct lmd_model_builder *b,
				 struct lmd_error *err)
{
	struct told_state *s = state;

	ck_assert_uint_eq(s->zero, 0);
	ck_assert_uint_eq((uintptr_t)state % 64, 0);
	snprintf(told.opener, sizeof(told.opener), "told");
	s->b = b;
	if (told.describe)
		told.describe(b, err);
	if (told.result != LMD_OK)
		return told.message ? lmd_fail(err, told.result, "%s", told.message) : told.result;
	told.n_open++;
	return LMD_OK;
}

static void told_close(void *state)
{
	struct told_state *s = state;

	ck_assert_ptr_nonnull(s->b);
	told.n_close++;
}

/* Row r of a tensor holds r + 1, or what the file says of it. */
static enum lmd_status told_rows(const void *state, uint32_t tensor, uint64_t row, uint64_t n,
				 void *out, struct lmd_error *err)
{
	const struct told_state *s = state;
	float *x = out;
	char magic[4];

	ck_assert_uint_eq(tensor, 0);
	ck_assert_uint_le(row + n, ROWS);
	ck_assert_int_eq(s->b->read_file(s->b->ctx, 0, 0, magic, 4, err), LMD_OK);
	ck_assert_mem_eq(magic, MAGIC, 4);
	told.n_rows += (int)n;
	if (told.at_rows != LMD_OK)
		return lmd_fail(err, told.at_rows, "row %llu is missing", (unsigned long long)row);
	for (uint64_t i = 0; i < n * COLS; i++)
		x[i] = (float)(row + i / COLS + 1);
	return LMD_OK;
}

static const struct lmd_format_ops told_ops = {.struct_size = sizeof(told_ops),
					       .probe = told_probe,
					       .open = told_open,
					       .close = told_close,
					       .read_rows = told_rows};

#define FACTORY(word, rank, bytes)                                                                 \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_FORMAT, .name = #word, \
		.priority = rank, .state_bytes = bytes, .ops = &word##_ops                         \
	}
static const struct lmd_factory told_factory[] = {FACTORY(told, 0, sizeof(struct told_state))};

#define PLUGIN(word, list)                                                                         \
	static const struct lmd_plugin word = {                                                    \
		.magic = LMD_PLUGIN_MAGIC,                                                         \
		.abi_major = LMD_ABI_MAJOR,                                                        \
		.abi_minor = LMD_ABI_MINOR,                                                        \
		.struct_size = sizeof(struct lmd_plugin),                                          \
		.n_factories = LMD_LEN(list),                                                      \
		.name = "format-" #word,                                                           \
		.version = "1",                                                                    \
		.license = "MIT",                                                                  \
		.factories = list}
PLUGIN(told_plugin, told_factory);

/* ---- fixture ---- */

static struct lmd_host *host;
static struct lmi_plugin_registry *registry;

/* Opens a registry of linked plugins, which replaces the one before. */
static void link_plugins(const struct lmd_plugin *const *linked, uint32_t n)
{
	struct lmi_plugin_registry_opts opts = {
		.host = host, .no_default_dirs = true, .linked = linked, .n_linked = n};
	struct lmd_error err = {0};

	lmi_plugin_registry_destroy(registry);
	registry = NULL;
	ck_assert_msg(lmi_plugin_registry_create(&registry, &opts, &err) == LMD_OK, "%s", err.text);
}

static void setup(void)
{
	static const struct lmd_plugin *const linked[] = {&told_plugin};
	static float data[FILE_BYTES / sizeof(float)];

	memset(&told, 0, sizeof(told));
	told.score = 90;
	temp_dir_make();
	for (size_t i = 0; i < LMD_LEN(data); i++)
		data[i] = (float)i;
	memcpy(data, MAGIC, 4);
	temp_write("model.told", data, sizeof(data));
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
	registry = NULL;
	link_plugins(linked, 1);
}

static void teardown(void)
{
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(host);
	temp_dir_remove();
	ck_assert_int_eq(told.n_open, told.n_close);
}

static enum lmd_status open_path(struct lmi_model **m, const char *path, uint32_t flags,
				 struct lmd_error *err)
{
	memset(err, 0, sizeof(*err));
	*m = NULL;
	return lmi_model_open_any(m, registry, path, flags, err);
}

/* ---- what a model has ---- */

static struct lmd_tensor tensor_at(const char *name, uint32_t file, uint64_t offset)
{
	return (struct lmd_tensor){.name = name,
				   .dtype = LMD_DTYPE_F32,
				   .n_dim = 2,
				   .dims = {COLS, ROWS},
				   .file = file,
				   .offset = offset};
}

static void good_keys(const struct lmd_model_builder *b)
{
	char name[] = "A small model";
	struct lmd_str words[] = {{"a", 1}, {"b\0c", 3}, {NULL, 0}};
	double scores[] = {1, 2, 3};
	int64_t types[] = {1, 2, 3};

	lmd_add_str(b, "general.architecture", "tiny");
	lmd_add_str(b, "general.name", name);
	memset(name, 'x', sizeof(name) - 1); /* it was copied */
	lmd_add_i64(b, "tiny.block_count", 2);
	lmd_add_f64(b, "tiny.epsilon", 0.5);
	lmd_add_bool(b, "tokenizer.ggml.add_bos_token", true);
	lmd_add_str(b, "tokenizer.ggml.model", "llama");
	lmd_add_array(b, "tokenizer.ggml.tokens", LMD_META_ARR_STR, words, 3);
	lmd_add_array(b, "tokenizer.ggml.scores", LMD_META_ARR_F64, scores, 3);
	lmd_add_array(b, "tokenizer.ggml.token_type", LMD_META_ARR_I64, types, 3);
	memset(words, 0, sizeof(words));
	memset(types, 0, sizeof(types));
}

#endif /* LLAMAD_CORE_CHECKPOINT_OPEN_FIXTURE_H */
