/* SPDX-License-Identifier: MIT
 *
 * Paths with colons and blanks, and scales on both sides of their bounds; keys of files. */
#include "core/engine/adapter_ref.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"
#include "tests/temp_dir.h"

static struct lmi_engine_adapter_ref ref;
static struct lmd_error err;

static enum lmd_status parse(const char *text)
{
	return lmi_engine_adapter_ref_parse(&ref, &(struct lmd_str){text, strlen(text)}, &err);
}

START_TEST(accepted)
{
	static const struct {
		const char *text, *path;
		float scale;
	} t[] = {{"/a/b.gguf", "/a/b.gguf", 1},
		 {"/a/b.gguf:0.5", "/a/b.gguf", 0.5f},
		 {"/a/b.gguf:-2", "/a/b.gguf", -2},
		 {"/a/b.gguf:1e6", "/a/b.gguf", 1e6f},
		 {"/a/b.gguf:-1e6", "/a/b.gguf", -1e6f},
		 {"/a/b.gguf:0", "/a/b.gguf", 0},
		 {"/a:2/b.gguf", "/a:2/b.gguf", 1},
		 {"/a:b.gguf", "/a:b.gguf", 1},
		 {"/a:b.gguf:2", "/a:b.gguf", 2},
		 {"/a:1:2", "/a:1", 2},
		 {"/my models/b c.gguf:.25", "/my models/b c.gguf", 0.25f},
		 {"/a/b: 2", "/a/b: 2", 1},
		 {"/a/b:2x", "/a/b:2x", 1},
		 {"/a/b:", "/a/b:", 1}};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		ck_assert_msg(parse(t[i].text) == LMD_OK, "%s: %s", t[i].text, err.text);
		ck_assert_str_eq(ref.path, t[i].path);
		ck_assert_msg(ref.scale == t[i].scale, "%s: %g", t[i].text, (double)ref.scale);
		lmi_free((char *)ref.path);
	}
}
END_TEST

START_TEST(refused)
{
	static const char *const t[] = {"/a:nan",	"/a:NaN",  "/a:inf",   "/a:-inf", "/a:infinity",
					"/a:1e999",	"/a:-1e999", "/a:1e7", "/a:1000001", ":2", ""};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		ck_assert_msg(parse(t[i]) == LMD_INVALID, "%s", t[i]);
		ck_assert_ptr_nonnull(strstr(err.text, t[i]));
	}
	ck_assert_int_eq(lmi_engine_adapter_ref_parse(&ref, &(struct lmd_str){"/a\0b", 4}, &err),
			 LMD_INVALID);
}
END_TEST

static uint64_t key_of(const char *name, float scale)
{
	const struct lmi_engine_adapter_ref r = {.path = temp_path(name), .scale = scale};

	return lmi_engine_adapter_key(&r, 1);
}

/* Whatever of an adapter changes changes its key, and nothing else does. */
START_TEST(keys)
{
	static const struct {
		const char *adapter, *file;
	} t[] = {
		{"a.gguf", "a.gguf"},
		{"peft", "peft/adapter_model.safetensors"},
		{"peft", "peft/adapter_config.json"},
		{"peft/adapter_config.json", "peft/adapter_config.json"},
		{"peft/adapter_config.json", "peft/adapter_model.safetensors"},
		{"peft/adapter_model.safetensors", "peft/adapter_config.json"},
	};

	ck_assert_int_eq(mkdir(temp_path("peft"), 0700), 0);
	for (size_t i = 0; i < LMD_LEN(t); i++) {
		uint64_t before = key_of(t[i].adapter, 1), key;

		ck_assert_uint_ne(before, 0);
		temp_write(t[i].file, "0123456789", i + 1); /* another size */
		key = key_of(t[i].adapter, 1);
		ck_assert_msg(key != before, "%s: %s was written", t[i].adapter, t[i].file);
		temp_write("other", "x", 1);
		ck_assert_uint_eq(key_of(t[i].adapter, 1), key);
		ck_assert_uint_ne(key_of(t[i].adapter, 0.5f), key);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("adapter_ref");
	TCase *t = tcase_create("adapter_ref");

	tcase_add_checked_fixture(t, temp_dir_make, temp_dir_remove);
	tcase_add_test(t, accepted);
	tcase_add_test(t, refused);
	tcase_add_test(t, keys);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
