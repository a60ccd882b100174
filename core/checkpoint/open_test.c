/* SPDX-License-Identifier: MIT
 *
 * Formats of plugins: which one opens a path, what the host checks of what they say, and how their
 * tensors are loaded.  The plugins are linked into the test; one of them describes the model that
 * the test wants, good or bad. */
#include "core/checkpoint/open.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/formats.h"
#include "core/format/gguf/gguf.h"
#include "core/format/gguf/write.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "llamad/format.h"
#include "tests/lmd_check.h"
#include "tests/temp_dir.h"

#define MAGIC	   "test"
#define FILE_BYTES 4096
#define ROWS	   6
#define COLS	   4

/* ---- the formats ---- */

/* What the format "told" does, set by each test. */
static struct {
	int score;
	void (*describe)(const struct lmd_model_builder *b, struct lmd_error *err);
	enum lmd_status result;	 /* of open */
	const char *message;	 /* of open, if it fails */
	enum lmd_status at_rows; /* result of read_rows */
	int n_open, n_close, n_rows;
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

/* Formats that claim everything with the magic, and can open nothing. */
static int score_50(const struct lmd_host *host, const struct lmd_format_probe *p)
{
	(void)host;
	return by_magic(p) ? 50 : 0;
}

static int score_always(const struct lmd_host *host, const struct lmd_format_probe *p)
{
	(void)host;
	(void)p;
	return 1000;
}

#define OPENER(name)                                                                               \
	static enum lmd_status name##_open(void *state, const struct lmd_model_builder *b,         \
					   struct lmd_error *err)                                  \
	{                                                                                          \
		(void)b;                                                                           \
		ck_assert_ptr_null(state);                                                         \
		snprintf(told.opener, sizeof(told.opener), #name);                                 \
		return lmd_fail(err, LMD_UNSUPPORTED, "only a test");                              \
	}
OPENER(first)
OPENER(second)
OPENER(urgent)
OPENER(greedy)

static const struct lmd_format_ops first_ops = {
	.struct_size = sizeof(first_ops), .probe = score_50, .open = first_open};
static const struct lmd_format_ops second_ops = {
	.struct_size = sizeof(second_ops), .probe = score_50, .open = second_open};
static const struct lmd_format_ops urgent_ops = {
	.struct_size = sizeof(urgent_ops), .probe = score_50, .open = urgent_open};
static const struct lmd_format_ops greedy_ops = {
	.struct_size = sizeof(greedy_ops), .probe = score_always, .open = greedy_open};

#define FACTORY(word, rank, bytes)                                                                 \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_FORMAT, .name = #word, \
		.priority = rank, .state_bytes = bytes, .ops = &word##_ops                         \
	}
static const struct lmd_factory told_factory[] = {FACTORY(told, 0, sizeof(struct told_state))};
static const struct lmd_factory pair_factories[] = {FACTORY(first, 0, 0), FACTORY(second, 0, 0)};
static const struct lmd_factory urgent_factory[] = {FACTORY(urgent, 5, 0)};
static const struct lmd_factory greedy_factory[] = {FACTORY(greedy, 9, 0)};

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
PLUGIN(pair_plugin, pair_factories);
PLUGIN(urgent_plugin, urgent_factory);
PLUGIN(greedy_plugin, greedy_factory);

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

/* ---- a good model ---- */

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

static void good(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("computed", LMD_FORMAT_NO_FILE, 0);
	char name[] = "stored";

	good_keys(b);
	ck_assert_int_eq(b->add_tensor(b->ctx, &t), LMD_OK);
	t = tensor_at(name, 0, 100 * sizeof(float));
	ck_assert_int_eq(b->add_tensor(b->ctx, &t), LMD_OK);
	memset(name, 'x', sizeof(name) - 1);
	ck_assert_int_eq(b->status(b->ctx), LMD_OK);
	ck_assert_uint_eq(b->file_bytes(b->ctx, 0), FILE_BYTES);
	ck_assert_uint_eq(b->file_bytes(b->ctx, 1), 0);
	(void)err;
}

static void check_good(const struct lmi_model *m, bool has_data)
{
	const struct lmd_model *v = lmi_model_view(m);
	const struct lmd_tensor *computed = v->find_tensor(v, "computed");
	const struct lmd_tensor *stored = v->find_tensor(v, "stored");
	float x[ROWS * COLS], part[5];
	struct lmi_model_file f;
	struct lmd_error err = {0};

	ck_assert_str_eq(v->arch, "tiny");
	ck_assert_str_eq(v->name, "A small model");
	ck_assert_str_eq(v->format, "told");
	ck_assert_int_eq(v->find_meta(v, "tiny.block_count")->v.i, 2);
	/* types that a GGUF file gets */
	ck_assert_uint_eq(v->find_meta(v, "tiny.block_count")->file_type, LMI_GGUF_U32);
	ck_assert_uint_eq(v->find_meta(v, "tiny.epsilon")->file_type, LMI_GGUF_F32);
	ck_assert_uint_eq(v->find_meta(v, "tokenizer.ggml.token_type")->file_type, LMI_GGUF_I32);
	ck_assert_uint_eq(v->find_meta(v, "tokenizer.ggml.tokens")->file_type, LMI_GGUF_STRING);
	ck_assert_uint_eq(v->tok->n_tokens, 3);
	ck_assert_str_eq(v->tok->kind, "llama");
	ck_assert(v->tok->text[1].len == 3 && !memcmp(v->tok->text[1].ptr, "b\0c", 4));
	ck_assert_int_eq(v->tok->add_bos, 1);
	ck_assert(v->tok->type[2] == 3);
	ck_assert_ptr_nonnull(computed);
	ck_assert_ptr_nonnull(stored);
	ck_assert_uint_eq(computed->bytes, sizeof(x));
	lmi_model_file(m, computed->file, &f);
	ck_assert_ptr_nonnull(strstr(f.path, "/model.told"));
	ck_assert(has_data == (computed->data != NULL) && has_data == (stored->data != NULL));
	for (int i = 0; has_data && i < ROWS * COLS; i++) {
		ck_assert(((const float *)computed->data)[i] == (float)(i / COLS + 1));
		ck_assert(((const float *)stored->data)[i] == (float)(100 + i));
	}
	ck_assert_int_eq(lmi_model_read(m, computed, 0, x, sizeof(x), &err), LMD_OK);
	ck_assert(x[0] == 1 && x[ROWS * COLS - 1] == ROWS);
	/* parts of two rows */
	ck_assert_int_eq(lmi_model_read(m, computed, 3 * sizeof(float), part, sizeof(part), &err),
			 LMD_OK);
	ck_assert(part[0] == 1 && part[1] == 2 && part[4] == 2);
	ck_assert_int_eq(lmi_model_read(m, stored, 8, part, sizeof(part), &err), LMD_OK);
	ck_assert(part[0] == 102 && part[4] == 106);
	ck_assert_int_eq(lmi_model_read(m, stored, 8, x, sizeof(x), &err), LMD_INVALID);
}

START_TEST(described_and_loaded)
{
	static const uint32_t flags[] = {0, LMI_OPEN_NO_MMAP, LMI_OPEN_DIRECT, LMI_OPEN_MLOCK,
					 LMI_OPEN_HEADER_ONLY};
	struct lmi_alloc_stats before, after;
	struct lmi_model_file f;
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = good;
	for (size_t i = 0; i < LMD_LEN(flags); i++) {
		lmi_alloc_stats(&before);
		ck_assert_msg(open_path(&m, temp_path("model.told"), flags[i], &err) == LMD_OK,
			      "%s", err.text);
		check_good(m, flags[i] != LMI_OPEN_HEADER_ONLY);
		ck_assert_uint_eq(lmi_model_n_files(m), 1);
		lmi_model_file(m, 0, &f);
		ck_assert_uint_eq(f.bytes, FILE_BYTES);
		ck_assert(f.mapped == (flags[i] == 0 || flags[i] == LMI_OPEN_MLOCK));
		ck_assert(f.copied ==
			  (flags[i] == LMI_OPEN_NO_MMAP || flags[i] == LMI_OPEN_DIRECT));
		ck_assert_uint_eq(f.built_bytes, 128); /* 96, aligned */
		lmi_model_close(m);
		ck_assert_int_eq(told.n_close, (int)i + 1);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
	}
}
END_TEST

/* Tensors that would be computed are zeros if a model is only measured. */
START_TEST(measured)
{
	const struct lmd_model *v;
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = good;
	ck_assert_int_eq(open_path(&m, temp_path("model.told"), LMI_OPEN_MEASURE, &err), LMD_OK);
	v = lmi_model_view(m);
	ck_assert(*(const float *)v->find_tensor(v, "computed")->data == 0);
	ck_assert_int_eq(told.n_rows, 0);
	lmi_model_close(m);
}
END_TEST

static bool cancel(void *arg, uint64_t done, uint64_t total)
{
	uint64_t *limit = arg;

	ck_assert_uint_le(done, total);
	return done < *limit;
}

START_TEST(cancelled_and_limited)
{
	uint64_t limit = 1;
	struct lmi_open_opts o = {.plugins = registry, .progress = cancel, .arg = &limit};
	struct lmd_error err = {0};
	struct lmi_model *m = NULL;

	told.describe = good;
	ck_assert_int_eq(lmi_model_open_with(&m, temp_path("model.told"), &o, &err), LMD_CANCELLED);
	o = (struct lmi_open_opts){.plugins = registry, .max_copy = 64};
	ck_assert_int_eq(lmi_model_open_with(&m, temp_path("model.told"), &o, &err), LMD_NOMEM);
	o = (struct lmi_open_opts){.plugins = registry, .max_copy = 64, .flags = LMI_OPEN_NO_MMAP};
	ck_assert_int_eq(lmi_model_open_with(&m, temp_path("model.told"), &o, &err), LMD_NOMEM);
	ck_assert_ptr_null(m);
}
END_TEST

START_TEST(rows_fail)
{
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = good;
	told.at_rows = LMD_CORRUPT;
	ck_assert_int_eq(open_path(&m, temp_path("model.told"), 0, &err), LMD_CORRUPT);
	ck_assert_ptr_nonnull(strstr(err.text, "format told: tensor computed: row 0 is missing"));
	ck_assert_ptr_nonnull(strstr(err.text, "model.told"));
}
END_TEST

/* ---- a folder ---- */

static void describe_folder(const struct lmd_model_builder *b, struct lmd_error *err)
{
	static const char *const bad[] = {"", "a/b", "..", ".hidden", NULL};
	uint32_t file = 77;
	struct lmd_tensor t;

	ck_assert(b->is_folder);
	for (size_t i = 0; i < LMD_LEN(bad); i++)
		ck_assert_int_eq(b->add_file(b->ctx, bad[i], &file, err), LMD_INVALID);
	ck_assert_int_eq(b->add_file(b->ctx, "none", &file, err), LMD_NOTFOUND);
	ck_assert_int_eq(b->add_file(b->ctx, "folder", &file, err), LMD_INVALID);
	ck_assert_uint_eq(file, 77);
	ck_assert_int_eq(b->read_file(b->ctx, 0, 0, &t, 1, err), LMD_INVALID);
	ck_assert_int_eq(b->add_file(b->ctx, "model.told", &file, err), LMD_OK);
	ck_assert_uint_eq(file, 0);
	ck_assert_int_eq(b->read_file(b->ctx, 0, FILE_BYTES - 4, &t, 5, err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err->text, "5 bytes at byte 4092, but the file ends at 4096"));
	good_keys(b);
	t = tensor_at("stored", 0, 4);
	b->add_tensor(b->ctx, &t);
}

START_TEST(folder)
{
	char path[256], command[300];
	struct lmi_model_file f;
	struct lmd_error err;
	struct lmi_model *m;

	snprintf(command, sizeof(command), "mkdir %s", temp_path("folder"));
	ck_assert_int_eq(system(command), 0);
	told.describe = describe_folder;
	snprintf(path, sizeof(path), "%s//", temp_path("."));
	ck_assert_msg(open_path(&m, path, 0, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(lmi_model_n_files(m), 1);
	lmi_model_file(m, 0, &f);
	ck_assert_ptr_nonnull(strstr(f.path, "/model.told"));
	ck_assert(*(const float *)lmi_model_view(m)->tensors[0].data == 1);
	lmi_model_close(m);
	/* any other folder is left to the checkpoints */
	ck_assert_int_eq(open_path(&m, temp_path("folder"), 0, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "no config.json"));
}
END_TEST

static void no_file(const struct lmd_model_builder *b, struct lmd_error *err)
{
	(void)err;
	good_keys(b);
}

START_TEST(folder_without_files)
{
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = no_file;
	ck_assert_int_eq(open_path(&m, temp_path("."), 0, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "format told: the format has added no file"));
}
END_TEST

/* ---- descriptions that are rejected ---- */

/* Changes to a record that is otherwise good. */
static struct lmd_meta bad_meta;
static struct lmd_tensor bad_tensor;
static bool with_meta, pass_on;

static void describe_bad(const struct lmd_model_builder *b, struct lmd_error *err)
{
	enum lmd_status st;

	(void)err;
	good_keys(b);
	st = with_meta ? b->add_meta(b->ctx, &bad_meta) : b->add_tensor(b->ctx, &bad_tensor);
	if (st == LMD_OK)
		return; /* wrong only as a whole */
	ck_assert_int_eq(b->status(b->ctx), st);
	/* the first error stays */
	ck_assert_int_eq(lmd_add_i64(b, "more", 1), st);
	ck_assert_int_eq(b->add_tensor(b->ctx, NULL), st);
	told.result = pass_on ? st : LMD_OK;
}

/* Opening fails with this status and these words, whether the format returns the builder's error or
 * ignores it. */
static void check_bad(int line, enum lmd_status want, const char *words)
{
	struct lmi_alloc_stats before, after;
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = describe_bad;
	for (int i = 0; i < 2; i++) {
		enum lmd_status st;

		pass_on = i;
		told.result = LMD_OK;
		lmi_alloc_stats(&before);
		st = open_path(&m, temp_path("model.told"), 0, &err);
		lmi_alloc_stats(&after);
		ck_assert_msg(st == want && err.status == want && strstr(err.text, words) &&
				      strstr(err.text, "format told"),
			      "line %d: %s: %s", line, lmd_status_text((int)st), err.text);
		ck_assert_uint_eq(after.n_live, before.n_live);
		ck_assert_int_eq(told.n_open, told.n_close);
	}
}

#define META(status, words, ...)                                                                   \
	do {                                                                                       \
		with_meta = true;                                                                  \
		bad_meta = (struct lmd_meta){__VA_ARGS__};                                         \
		check_bad(__LINE__, status, words);                                                \
	} while (0)

START_TEST(bad_keys)
{
	static char long_key[70000];
	struct lmd_str strings[] = {{"x", 1}, {NULL, 2}};
	uint8_t bools[] = {0, 1, 2};
	int64_t one = 1;

	memset(long_key, 'k', sizeof(long_key) - 1);
	META(LMD_INVALID, "key 9: its name is NULL", .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "key 9: name of 0 bytes", .key = "", .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "must be 1..65535", .key = long_key, .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "key k: value type 0 is unknown", .key = "k", .n = 1);
	META(LMD_INVALID, "key k: value type 19 is unknown", .key = "k", .type = 19, .n = 1);
	META(LMD_INVALID, "key k: 0 elements, but it is no array", .key = "k",
	     .type = LMD_META_F64);
	META(LMD_CORRUPT, "key k: boolean 2", .key = "k", .type = LMD_META_BOOL, .n = 1, .v.i = 2);
	META(LMD_INVALID, "key k: string of 3 bytes, but it is NULL", .key = "k",
	     .type = LMD_META_STR, .n = 1, .v.s = {NULL, 3});
	META(LMD_INVALID, "must be at most 16777216", .key = "k", .type = LMD_META_STR, .n = 1,
	     .v.s = {"x", SIZE_MAX});
	META(LMD_INVALID, "key k: array of 2 elements, but it is NULL", .key = "k",
	     .type = LMD_META_ARR_I64, .n = 2);
	META(LMD_INVALID, "key k: array of 18446744073709551615 elements of 8 bytes", .key = "k",
	     .type = LMD_META_ARR_F64, .n = UINT64_MAX, .v.a = &one);
	META(LMD_INVALID, "elements of 16 bytes", .key = "k", .type = LMD_META_ARR_STR,
	     .n = UINT64_MAX / 8, .v.a = strings);
	META(LMD_INVALID, "key k: string of 2 bytes, but it is NULL", .key = "k",
	     .type = LMD_META_ARR_STR, .n = 2, .v.a = strings);
	META(LMD_CORRUPT, "key k: boolean 2", .key = "k", .type = LMD_META_ARR_BOOL, .n = 3,
	     .v.a = bools);
	/* right one by one, but not together */
	META(LMD_CORRUPT, "key general.name appears twice", .key = "general.name",
	     .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "tokenizer.ggml.eos_token_id: 9, must be 0..2",
	     .key = "tokenizer.ggml.eos_token_id", .type = LMD_META_I64, .n = 1, .v.i = 9);
	META(LMD_INVALID, "tiny.embedding_length", .key = "tiny.embedding_length",
	     .type = LMD_META_U64, .n = 1, .v.u = UINT64_MAX);
}
END_TEST

#define TENSOR(status, words, ...)                                                                 \
	do {                                                                                       \
		with_meta = false;                                                                 \
		bad_tensor = tensor_at("t", 0, 0);                                                 \
		__VA_ARGS__;                                                                       \
		check_bad(__LINE__, status, words);                                                \
	} while (0)
#define T bad_tensor

START_TEST(bad_tensors)
{
	TENSOR(LMD_INVALID, "tensor 0: its name is NULL", T.name = NULL);
	TENSOR(LMD_INVALID, "tensor 0: name of 0 bytes", T.name = "");
	TENSOR(LMD_INVALID, "must be 1..63",
	       T.name = "1234567890123456789012345678901234567890123456789012345678901234");
	TENSOR(LMD_INVALID, "tensor t: 0 dimensions, must be 1..4", T.n_dim = 0);
	TENSOR(LMD_INVALID, "tensor t: 5 dimensions, must be 1..4", T.n_dim = 5);
	TENSOR(LMD_INVALID, "dimension 1 is 0, must be 1..1099511627776", T.dims[1] = 0);
	TENSOR(LMD_INVALID, "dimension 0 is -4", T.dims[0] = -4);
	TENSOR(LMD_INVALID, "dimension 0 is 1099511627777", T.dims[0] = (1ll << 40) + 1);
	TENSOR(LMD_INVALID, "dimension 2 is 7, must be 1..1", T.dims[2] = 7);
	TENSOR(LMD_CORRUPT, "exceeds 2^63 bytes", T.dims[0] = T.dims[1] = 1ll << 40);
	TENSOR(LMD_CORRUPT, "exceeds 2^63 bytes", T.n_dim = 4,
	       T.dims[0] = T.dims[1] = T.dims[2] = T.dims[3] = 1ll << 40);
	TENSOR(LMD_UNSUPPORTED, "tensor t: type 4", T.dtype = 4);
	TENSOR(LMD_UNSUPPORTED, "tensor t: type 9999", T.dtype = 9999);
	TENSOR(LMD_UNSUPPORTED, "an activation type", T.dtype = LMD_DTYPE_Q8_K);
	TENSOR(LMD_CORRUPT, "rows of 4 values, must be a multiple of the q8_0 block of 32",
	       T.dtype = LMD_DTYPE_Q8_0);
	TENSOR(LMD_INVALID, "size 97, but type and dimensions give 96", T.bytes = 97);
	TENSOR(LMD_INVALID, "tensor t: data must be NULL", T.data = &bad_tensor);
	TENSOR(LMD_INVALID, "tensor t: reserved must be 0", T.reserved = 1);
	TENSOR(LMD_INVALID, "tensor t: file 1, but there are 1", T.file = 1);
	TENSOR(LMD_INVALID, "offset 6 is not a multiple of 4", T.offset = 6);
	TENSOR(LMD_CORRUPT, "96 bytes at byte 4004, but the file ends at 4096", T.offset = 4004);
	TENSOR(LMD_CORRUPT, "but the file ends at 4096", T.offset = UINT64_MAX - 3);
	TENSOR(LMD_CORRUPT, "but the file ends at 4096", T.dims[1] = 1ll << 40);
	TENSOR(LMD_INVALID, "offset 4, must be 0 without a file", T.file = LMD_FORMAT_NO_FILE,
	       T.offset = 4);
}
END_TEST

static void describe_overlap(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("one", 0, 96);

	(void)err;
	good_keys(b);
	b->add_tensor(b->ctx, &t);
	t = tensor_at("two", 0, 4);
	b->add_tensor(b->ctx, &t);
}

static void describe_twice(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("one", 0, 96);

	(void)err;
	good_keys(b);
	b->add_tensor(b->ctx, &t);
	t.offset = 400;
	b->add_tensor(b->ctx, &t);
}

static void describe_nothing(const struct lmd_model_builder *b, struct lmd_error *err)
{
	(void)b;
	(void)err;
}

static void describe_null(const struct lmd_model_builder *b, struct lmd_error *err)
{
	(void)err;
	ck_assert_int_eq(b->add_meta(b->ctx, NULL), LMD_INVALID);
}

START_TEST(bad_wholes)
{
	static const struct {
		void (*describe)(const struct lmd_model_builder *b, struct lmd_error *err);
		enum lmd_status status;
		const char *words;
	} cases[] = {
		{describe_overlap, LMD_CORRUPT,
		 "tensor one at byte 96 overlaps tensor two, which ends at 100"},
		{describe_twice, LMD_CORRUPT, "tensor one appears twice"},
		{describe_nothing, LMD_CORRUPT, "key general.architecture is missing"},
		{describe_null, LMD_INVALID, "key 0: it is NULL"},
	};
	struct lmd_error err;
	struct lmi_model *m;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		told.describe = cases[i].describe;
		ck_assert_int_eq(open_path(&m, temp_path("model.told"), 0, &err), cases[i].status);
		ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s", err.text);
	}
}
END_TEST

START_TEST(open_fails)
{
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = no_file;
	told.result = LMD_UNSUPPORTED;
	told.message = "version 7 cannot be read";
	ck_assert_int_eq(open_path(&m, temp_path("model.told"), 0, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "format told: version 7 cannot be read"));
	told.message = NULL;
	ck_assert_int_eq(open_path(&m, temp_path("model.told"), 0, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "without a message (unsupported)"));
}
END_TEST

static void describe_plain_folder(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("computed", LMD_FORMAT_NO_FILE, 0);
	uint32_t file;

	told.result = b->add_file(b->ctx, "model.told", &file, err);
	told.message = told.result == LMD_OK ? NULL : "add_file failed";
	good_keys(b);
	b->add_tensor(b->ctx, &t);
}

/* Each allocation fails once: no crash, no leak, and an error. */
START_TEST(without_memory)
{
	struct lmi_alloc_stats before, after;
	struct lmd_error err;
	struct lmi_model *m;
	uint64_t n = 0;

	told.describe = describe_plain_folder;
	for (bool failed = true; failed; n++) {
		enum lmd_status st;

		lmi_alloc_stats(&before);
		lmi_alloc_fail_nth(n + 1, false);
		st = open_path(&m, temp_path("."), 0, &err);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(failed ? st == LMD_NOMEM && err.text[0] : st == LMD_OK,
			      "%llu: %s: %s", (unsigned long long)n, lmd_status_text((int)st), err.text);
		lmi_model_close(m);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
	}
	ck_assert_uint_gt(n, 10);
}
END_TEST

/* ---- which format ---- */

static const char *opener_of(const char *name)
{
	struct lmd_error err;
	struct lmi_model *m;

	told.opener[0] = '\0';
	told.result = LMD_UNSUPPORTED;
	ck_assert_int_ne(open_path(&m, temp_path(name), 0, &err), LMD_OK);
	return told.opener;
}

START_TEST(order)
{
	static const struct lmd_plugin *const both[] = {&pair_plugin, &told_plugin};
	static const struct lmd_plugin *const three[] = {&pair_plugin, &told_plugin,
							 &urgent_plugin};
	static const struct lmd_plugin *const builtin[] = {&lmi_formats_builtin, &pair_plugin};

	/* a higher result of probe wins, then priority, then the order in the plugin */
	link_plugins(both, 2);
	told.score = 90;
	ck_assert_str_eq(opener_of("model.told"), "told");
	told.score = 49;
	ck_assert_str_eq(opener_of("model.told"), "first");
	link_plugins(three, 3);
	ck_assert_str_eq(opener_of("model.told"), "urgent");
	told.score = 51;
	ck_assert_str_eq(opener_of("model.told"), "told");
	/* built-in formats that a registry lists make no difference */
	link_plugins(builtin, 2);
	ck_assert_str_eq(opener_of("model.told"), "first");
	ck_assert_int_eq(lmi_model_open_score(registry, temp_path("model.told")), 50);
	ck_assert_int_eq(lmi_model_open_score(NULL, temp_path("model.told")), LMD_FORMAT_NO);
	ck_assert_int_eq(lmi_model_open_score(registry, temp_path("none")), LMD_FORMAT_NO);
}
END_TEST

/* A plugin that claims everything gets what no built-in format is as sure of. */
START_TEST(builtin_formats_come_first)
{
	static const struct lmd_plugin *const linked[] = {&greedy_plugin};
	struct lmi_gguf_writer *w = NULL;
	struct lmd_error err = {0};
	struct lmi_model *m = NULL;

	link_plugins(linked, 1);
	ck_assert_int_eq(lmi_gguf_writer_create(&w, 32, &err), LMD_OK);
	lmi_gguf_put_str(w, "general.architecture", "tiny");
	ck_assert_int_eq(lmi_gguf_writer_start(w, temp_path("x.bin"), &err), LMD_OK);
	ck_assert_int_eq(lmi_gguf_writer_finish(w, &err), LMD_OK);
	lmi_gguf_writer_destroy(w);
	ck_assert_msg(open_path(&m, temp_path("x.bin"), 0, &err) == LMD_OK, "%s", err.text);
	ck_assert_str_eq(lmi_model_view(m)->format, "gguf v3");
	lmi_model_close(m);
	ck_assert_int_eq(lmi_model_open_score(NULL, temp_path("x.bin")), LMD_FORMAT_SURE);
	ck_assert_str_eq(opener_of("model.told"), "greedy");
	ck_assert_str_eq(opener_of("."), "greedy");
	temp_write("empty", NULL, 0);
	ck_assert_str_eq(opener_of("empty"), "greedy");
}
END_TEST

START_TEST(nobody)
{
	struct lmd_error err;
	struct lmi_model *m;

	temp_write("text", "this is a text without any model", 32);
	ck_assert_int_eq(open_path(&m, temp_path("text"), 0, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(
		strstr(err.text, "starts with \"this\", not \"GGUF\", and no plugin"));
	ck_assert_int_eq(lmi_model_open(&m, temp_path("model.told"), 0, &err), LMD_UNSUPPORTED);
	ck_assert_int_eq(open_path(&m, "", 0, &err), LMD_NOTFOUND);
	ck_assert_int_eq(open_path(&m, temp_path("none"), 0, &err), LMD_NOTFOUND);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("formats");
	TCase *t = tcase_create("formats");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, described_and_loaded);
	tcase_add_test(t, measured);
	tcase_add_test(t, cancelled_and_limited);
	tcase_add_test(t, rows_fail);
	tcase_add_test(t, folder);
	tcase_add_test(t, folder_without_files);
	tcase_add_test(t, bad_keys);
	tcase_add_test(t, bad_tensors);
	tcase_add_test(t, bad_wholes);
	tcase_add_test(t, open_fails);
	tcase_add_test(t, without_memory);
	tcase_add_test(t, order);
	tcase_add_test(t, builtin_formats_come_first);
	tcase_add_test(t, nobody);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
