/* SPDX-License-Identifier: MIT
 *
 * Formats of plugins: which one opens a path, and how the tensors that it describes are loaded. */
#include "core/checkpoint/open.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/checkpoint/formats.h"
#include "core/checkpoint/open_fixture.h"
#include "core/format/gguf/gguf.h"
#include "core/format/gguf/write.h"

/* ---- a good model ---- */

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

/* Formats that claim everything with the magic, and can open nothing. */
static int score_50(const struct lmd_host *unused, const struct lmd_format_probe *p)
{
	(void)unused;
	return by_magic(p) ? 50 : 0;
}

static int score_always(const struct lmd_host *unused, const struct lmd_format_probe *p)
{
	(void)unused;
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

static const struct lmd_factory pair_factories[] = {FACTORY(first, 0, 0), FACTORY(second, 0, 0)};
static const struct lmd_factory urgent_factory[] = {FACTORY(urgent, 5, 0)};
static const struct lmd_factory greedy_factory[] = {FACTORY(greedy, 9, 0)};

PLUGIN(pair_plugin, pair_factories);
PLUGIN(urgent_plugin, urgent_factory);
PLUGIN(greedy_plugin, greedy_factory);

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
	tcase_add_test(t, open_fails);
	tcase_add_test(t, without_memory);
	tcase_add_test(t, order);
	tcase_add_test(t, builtin_formats_come_first);
	tcase_add_test(t, nobody);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
