/* SPDX-License-Identifier: MIT
 *
 * Signed models: nothing of a file is interpreted before its signature was checked.  The format
 * "told" counts what it sees; the files of the other readers are no models at all, which a reader
 * that sees them says. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

#include "core/checkpoint/adapter/adapter.h"
#include "core/checkpoint/imatrix/imatrix.h"
#include "core/checkpoint/open_fixture.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "core/sign/policy.h"

static struct lmi_sign_private key;

static void require(enum lmi_sign_mode mode)
{
	const char *const keys[] = {temp_path("k.pub")};
	const struct lmi_sign_policy_opts o = {.mode = mode, .keys = keys, .n_keys = 1};
	struct lmd_error err = {0};

	OK(lmi_sign_policy_set(&o, &err));
}

static void setup_signed(void)
{
	struct lmi_sign_public k;
	struct lmd_error err = {0};

	setup();
	OK(lmi_sign_key_create(&k, temp_path("k"), &err));
	OK(lmi_sign_private_read(&key, temp_path("k.key"), &err));
	require(LMI_SIGN_REQUIRE);
}

static void teardown_signed(void)
{
	require(LMI_SIGN_OFF);
	lmi_sign_private_fini(&key);
	teardown();
}

static void sign(const char *path)
{
	const struct lmi_sign_work work = {0};
	char manifest[LMI_SIGN_PATH_MAX];
	struct lmd_error err = {0};

	OK(lmi_sign_make(manifest, path, &key, LMI_SIGN_CHUNK_MIN, &work, &err));
}

static void describe_small(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("stored", 0, 400);

	(void)err;
	good_keys(b);
	ck_assert_int_eq(b->add_tensor(b->ctx, &t), LMD_OK);
}

/* Opens the model of the format "told", and compares what the format saw with what it may see. */
static void expect(enum lmd_status want, int n_probe, int n_open)
{
	struct lmi_model *m;
	struct lmd_error err;
	enum lmd_status st;

	told.n_probe = told.n_open = told.n_close = 0;
	told.describe = describe_small;
	st = open_path(&m, temp_path("model.told"), 0, &err);
	ck_assert_msg(st == want, "%s: %s", lmd_status_text((int)st), err.text);
	ck_assert_int_eq(told.n_probe, n_probe);
	ck_assert_int_eq(told.n_open, n_open);
	lmi_model_close(m);
}

START_TEST(no_reader_before_the_check)
{
	FILE *f;

	expect(LMD_DENIED, 0, 0);
	ck_assert_int_eq(lmi_model_open_score(registry, temp_path("model.told")), LMD_FORMAT_NO);
	ck_assert_int_eq(told.n_probe, 0);
	sign(temp_path("model.told"));
	expect(LMD_OK, 1, 1);
	ck_assert_int_eq(lmi_model_open_score(registry, temp_path("model.told")), told.score);
	/* the last byte, which no reader would look at */
	f = fopen(temp_path("model.told"), "r+b");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, FILE_BYTES - 1, SEEK_SET), 0);
	ck_assert_int_eq(fputc(0x55, f), 0x55);
	ck_assert_int_eq(fclose(f), 0);
	expect(LMD_CORRUPT, 0, 0);
	require(LMI_SIGN_WARN);
	expect(LMD_OK, 1, 1);
	require(LMI_SIGN_OFF);
	expect(LMD_OK, 1, 1);
}
END_TEST

static enum lmd_status open_model(const char *path, struct lmd_error *err)
{
	struct lmi_model *m = NULL;
	enum lmd_status st = lmi_model_open(&m, path, LMI_OPEN_HEADER_ONLY, err);

	lmi_model_close(m);
	return st;
}

static const struct lmd_tensor *no_tensor(const struct lmd_model *m, const char *name)
{
	(void)m;
	(void)name;
	return NULL;
}

static const struct lmd_meta *no_meta(const struct lmd_model *m, const char *key_name)
{
	(void)m;
	(void)key_name;
	return NULL;
}

static enum lmd_status open_adapter(const char *path, struct lmd_error *err)
{
	static const struct lmd_model base = {
		.arch = "llama", .find_tensor = no_tensor, .find_meta = no_meta};
	struct lmi_adapter_file *f = NULL;
	enum lmd_status st = lmi_adapter_open(&f, path, &base, registry, err);

	lmi_adapter_close(f);
	return st;
}

static enum lmd_status open_imatrix(const char *path, struct lmd_error *err)
{
	struct lmi_imatrix m = {0};
	enum lmd_status st = lmi_imatrix_read(&m, path, err);

	lmi_imatrix_fini(&m);
	return st;
}

static enum lmd_status open_tokenizer(const char *path, struct lmd_error *err)
{
	struct lmi_hf_tokenizer *t = NULL;
	enum lmd_status st = lmi_hf_tokenizer_open(&t, path, err);

	lmi_hf_tokenizer_close(t);
	return st;
}

/* Every way to read files of a model: refused without a signature, whatever is in the file; once it
 * is signed, the reader says that it is nonsense. */
START_TEST(every_reader)
{
	static const struct {
		const char *name, *folder;
		enum lmd_status (*open)(const char *path, struct lmd_error *err);
	} table[] = {
		{"m.gguf", NULL, open_model},
		{"config.json", "hf", open_model},
		{"adapter.gguf", NULL, open_adapter},
		{"adapter_config.json", "peft", open_adapter},
		{"x.imatrix", NULL, open_imatrix},
		{"tokenizer.json", "tok", open_tokenizer},
	};
	static const char nonsense[] = "GGUF\xff\xff\xff\xff nonsense, but long enough";

	for (size_t i = 0; i < LMD_LEN(table); i++) {
		const char *folder = table[i].folder;
		struct lmd_error err = {0};
		enum lmd_status st;
		char name[64], path[160];

		if (folder)
			ck_assert_int_eq(mkdir(temp_path(folder), 0700), 0);
		snprintf(name, sizeof(name), "%s%s%s", folder ? folder : "", folder ? "/" : "",
			 table[i].name);
		temp_write(name, nonsense, sizeof(nonsense));
		snprintf(path, sizeof(path), "%s", temp_path(folder ? folder : name));
		st = table[i].open(path, &err);
		ck_assert_msg(st == LMD_DENIED, "%s: %s: %s", name, lmd_status_text((int)st),
			      err.text);
		ck_assert_msg(strstr(err.text, "is not signed") != NULL, "%s", err.text);
		sign(path);
		st = table[i].open(path, &err);
		ck_assert_msg(st != LMD_OK && st != LMD_DENIED, "%s: %s", name, err.text);
	}
}
END_TEST

/* A file that somebody puts into a signed folder is not read. */
START_TEST(a_file_more)
{
	static const char config[] = "{\"model_type\": \"llama\"}";
	struct lmd_error err = {0};

	ck_assert_int_eq(mkdir(temp_path("hf"), 0700), 0);
	temp_write("hf/tokenizer.json", "{}", 2);
	sign(temp_path("hf"));
	(void)open_tokenizer(temp_path("hf"), &err);
	ck_assert_int_ne(err.status, LMD_DENIED);
	temp_write("hf/tokenizer_config.json", config, strlen(config));
	temp_write("hf/config.json", config, strlen(config));
	ck_assert_int_eq(open_model(temp_path("hf"), &err), LMD_DENIED);
	ck_assert_msg(strstr(err.text, "config.json") && strstr(err.text, "does not list"), "%s",
		      err.text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("signed");
	TCase *t = tcase_create("signed");

	tcase_add_checked_fixture(t, setup_signed, teardown_signed);
	tcase_add_test(t, no_reader_before_the_check);
	tcase_add_test(t, every_reader);
	tcase_add_test(t, a_file_more);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
