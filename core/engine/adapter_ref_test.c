/* SPDX-License-Identifier: MIT
 *
 * Paths with colons and blanks, and scales on both sides of their bounds. */
#include "core/engine/adapter_ref.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"

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

int main(void)
{
	Suite *s = suite_create("adapter_ref");
	TCase *t = tcase_create("adapter_ref");

	tcase_add_test(t, accepted);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
