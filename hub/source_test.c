/* SPDX-License-Identifier: MIT
 *
 * Sources, the catalogue and the choice of a file: what needs no network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/http.h"
#include "hub/hub_impl.h"
#include "tests/lmd_check.h"
#include "tests/temp_dir.h"

static struct lmd_error err;
static struct lmd_arena *arena;

static void setup(void)
{
	arena = lmi_arena_create(0);
}

static void teardown(void)
{
	lmi_arena_destroy(arena);
}

/* ---- sources ---- */

static const struct {
	const char *source, *base, *repo, *version, *choice;
} good[] = {
	{"hf:user/repo", "https://huggingface.co", "user/repo", "main", NULL},
	{"hf:user/repo:Q4_K_M", "https://huggingface.co", "user/repo", "main", "Q4_K_M"},
	{"hf:user/repo@v1.0:a/b.gguf", "https://huggingface.co", "user/repo", "v1.0", "a/b.gguf"},
	{"hf.co/user/re-po:q8_0", "https://huggingface.co", "user/re-po", "main", "q8_0"},
	{"huggingface.co/u/r", "https://huggingface.co", "u/r", "main", NULL},
	{"https://huggingface.co/u/r", "https://huggingface.co", "u/r", "main", NULL},
	{"https://huggingface.co/u/r/", "https://huggingface.co", "u/r", "main", NULL},
	{"https://huggingface.co/u/r/blob/main/x/y.gguf", "https://huggingface.co", "u/r", "main",
	 "x/y.gguf"},
	{"https://huggingface.co/u/r/resolve/dev/y.gguf?download=true", "https://huggingface.co",
	 "u/r", "dev", "y.gguf"},
	{"ollama:llama3.2", "https://registry.ollama.ai", "library/llama3.2", "latest", NULL},
	{"ollama:llama3.2:3b", "https://registry.ollama.ai", "library/llama3.2", "3b", NULL},
	{"ollama:me/mine:v1", "https://registry.ollama.ai", "me/mine", "v1", NULL},
	{"oci:ghcr.io/a/b/c:tag", "https://ghcr.io", "a/b/c", "tag", NULL},
	{"oci:127.0.0.1:5000/a:t", "http://127.0.0.1:5000", "a", "t", NULL},
	{"oci:localhost/a", "http://localhost", "a", "latest", NULL},
	{"oci:localhost.example.org/a", "https://localhost.example.org", "a", "latest", NULL},
	{"oci:h/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	 "https://h", "a",
	 "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
	{"https://example.org/m.gguf", "https://example.org/m.gguf", NULL, NULL, NULL},
};

/* Messages name a URL without what may be secret. */
START_TEST(secrets_are_not_shown)
{
	static const struct {
		const char *url, *shown;
	} t[] = {{"https://h/m.gguf", "https://h/m.gguf"},
		 {"https://h/m.gguf?token=secret", "https://h/m.gguf"},
		 {"https://h/m.gguf#secret", "https://h/m.gguf"},
		 {"https://h?token=secret", "https://h"},
		 {"https://me:secret@h:8080/m.gguf", "https://h:8080/m.gguf"},
		 {"https://me:sec@ret@h/a@b.gguf", "https://h/a@b.gguf"},
		 {"https://secret@h", "https://h"},
		 {"hf:u/r@v1?secret", "hf:u/r@v1"},
		 {"ollama:a@b", "ollama:a@b"}};
	static const char *const bad[] = {"https://me:secret@host/x.gguf", "https://host?token=secret",
					  "https://me:secret@host", "hf:a?secret"};
	const struct lmi_hub_opts o = {.offline = true};
	const struct lmi_hub_request q = {.url = "https://h/m.gguf?token=secret"};
	char shown[LMI_HUB_SHOWN_URL];
	struct lmi_hub_reply reply;
	struct lmi_hub_ref r;

	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_str_eq(lmi_hub_shown_url(shown, t[i].url), t[i].shown);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		ck_assert_int_ne(lmi_hub_parse_long(&r, bad[i], &o, arena, &err), LMD_OK);
		ck_assert_msg(!strstr(err.text, "secret"), "%s", err.text);
	}
	ck_assert_int_eq(lmi_hub_request(&reply, &q, &o, &err), LMD_DENIED);
	ck_assert_msg(!strstr(err.text, "secret"), "%s", err.text);
	reply = (struct lmi_hub_reply){.code = 500};
	ck_assert_int_eq(lmi_hub_code_error(&q, &reply, &err), LMD_IO);
	ck_assert_msg(!strstr(err.text, "secret"), "%s", err.text);
	reply = (struct lmi_hub_reply){.code = 404};
	ck_assert_int_eq(lmi_hub_code_error(&q, &reply, &err), LMD_NOTFOUND);
	ck_assert_str_eq(err.text, "https://h/m.gguf: does not exist (404); check the name, and the tag or revision");
}
END_TEST

START_TEST(sources_are_taken_apart)
{
	const struct lmi_hub_opts o = {0};

	for (size_t i = 0; i < LMD_LEN(good); i++) {
		struct lmi_hub_ref r = {0};

		ck_assert(lmi_hub_is_source(good[i].source));
		OK(lmi_hub_parse(&r, good[i].source, &o, arena, &err));
		ck_assert_str_eq(r.base, good[i].base);
		ck_assert_pstr_eq(r.repo, good[i].repo);
		ck_assert_pstr_eq(r.version, good[i].version);
		ck_assert_pstr_eq(r.choice, good[i].choice);
	}
}
END_TEST

START_TEST(bad_sources_are_refused)
{
	static const char *const bad[] = {
		"hf:", "hf:user", "hf:user/", "hf:/repo", "hf:../repo", "hf:user/..",
		"hf:user/repo:", "hf:user/repo@:Q4_0", "hf:user/repo@a..b", "hf:user/repo:../x.gguf",
		"hf:us er/repo", "hf:user/repo/file.gguf", "hf:a?b/c", "hf:.a/b", "ollama:",
		"ollama:x:", "ollama:x/", "ollama:a@b", "ollama:x:a/b", "oci:", "oci:host", "oci:host/",
		"oci:/repo", "oci:h/a@sha256:00", "oci:h/a@sha512:00", "https://", "https://host",
		"https:///x.gguf", "https://user:word@host/x.gguf", "http://h/a\tb", "\xc3\xa9",
		"https://huggingface.co/u/r/tree/main", "", "-x", "a b",
	};
	const struct lmi_hub_opts o = {0};

	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		struct lmi_hub_ref r = {0};

		err.text[0] = 0;
		ck_assert_msg(lmi_hub_parse(&r, bad[i], &o, arena, &err) == LMD_INVALID, "'%s': %s",
			      bad[i], err.text);
		ck_assert_uint_gt(strlen(err.text), 20);
	}
}
END_TEST

START_TEST(a_source_is_bounded)
{
	static char longest[LMI_HUB_SOURCE_MAX + 2];
	const struct lmi_hub_opts o = {0};
	struct lmi_hub_ref r;

	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest, "http://h/", 9);
	ck_assert_int_eq(lmi_hub_parse(&r, longest, &o, arena, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "1025 bytes exceed the limit of 1024"));
	longest[LMI_HUB_SOURCE_MAX] = 0;
	OK(lmi_hub_parse(&r, longest, &o, arena, &err));
}
END_TEST

START_TEST(names_that_are_no_source)
{
	static const char *const names[] = {"smollm2", "llama3.2:3b", "./x.gguf", "/a/b.gguf",
					    "hf", "ollama/x", "C:x"};

	for (size_t i = 0; i < LMD_LEN(names); i++)
		ck_assert_msg(!lmi_hub_is_source(names[i]), "%s", names[i]);
}
END_TEST

START_TEST(other_servers)
{
	const struct lmi_hub_opts o = {.hf_url = "http://127.0.0.1:1", .ollama_url = "http://h:2"};
	struct lmi_hub_ref r;

	OK(lmi_hub_parse(&r, "hf:a/b", &o, arena, &err));
	ck_assert_str_eq(r.base, "http://127.0.0.1:1");
	OK(lmi_hub_parse(&r, "ollama:a", &o, arena, &err));
	ck_assert_str_eq(r.base, "http://h:2");
}
END_TEST

/* ---- the catalogue ---- */

START_TEST(short_names)
{
	const char *path;
	struct lmi_hub_opts o = {0};
	struct lmi_hub_ref r;
	FILE *f;

	temp_dir_make();
	path = o.catalogue = temp_path("catalogue");
	f = fopen(path, "w");
	fputs("# comment\n\n  small\thf:a/b:Q8_0  # more\r\nsmall:1b ollama:x\nbad ./x\nlast oci:h/a",
	      f);
	fclose(f);
	OK(lmi_hub_parse(&r, "small", &o, arena, &err));
	ck_assert_str_eq(r.repo, "a/b");
	ck_assert_str_eq(r.choice, "Q8_0");
	OK(lmi_hub_parse(&r, "small:1b", &o, arena, &err));
	ck_assert_str_eq(r.repo, "library/x");
	OK(lmi_hub_parse(&r, "last", &o, arena, &err));
	ck_assert_str_eq(r.repo, "a");
	ck_assert_int_eq(lmi_hub_parse(&r, "smal", &o, arena, &err), LMD_NOTFOUND);
	ck_assert_int_eq(lmi_hub_parse(&r, "bad", &o, arena, &err), LMD_INVALID);
	f = fopen(path, "w");
	fputs("a hf:a/b\nalone\n", f);
	fclose(f);
	ck_assert_int_eq(lmi_hub_parse(&r, "other", &o, arena, &err), LMD_CORRUPT);
	ck_assert_ptr_nonnull(strstr(err.text, "line 2"));
	o.catalogue = NULL;
	ck_assert_int_eq(lmi_hub_parse(&r, "a", &o, arena, &err), LMD_NOTFOUND);
	temp_dir_remove();
}
END_TEST

/* Every line of the catalogue that is installed is a source. */
START_TEST(the_catalogue_of_the_tree)
{
	struct lmi_hub_opts o = {0};
	char path[4096], line[256], name[128];
	struct lmi_hub_ref r;
	unsigned n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/hub/models.catalogue",
		       getenv("LMD_TEST_SRCDIR") ? getenv("LMD_TEST_SRCDIR") : ".");
	o.catalogue = path;
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%127[^# \n]", name) != 1)
			continue;
		OK(lmi_hub_parse(&r, name, &o, arena, &err));
		n++;
	}
	fclose(f);
	ck_assert_uint_gt(n, 20);
}
END_TEST

/* ---- the choice ---- */

static struct lmi_hub_entry entries[] = {
	{.path = "README.md"},
	{.path = "mmproj-Q4_K_M.gguf"},
	{.path = "model-F16.gguf"},
	{.path = "model-BF16-00001-of-00002.gguf"},
	{.path = "model-BF16-00002-of-00002.gguf"},
	{.path = "model-Q4_K_M.gguf"},
	{.path = "model-Q4_K_S.gguf"},
	{.path = "big/model-Q8_0-00003-of-00003.gguf"},
	{.path = "big/model-Q8_0-00001-of-00003.gguf"},
	{.path = "big/model-Q8_0-00002-of-00003.gguf"},
	{.path = "other/model-Q6_K-00001-of-00002.gguf"},
	{.path = "model.imatrix.gguf"},
	{.path = "mmproj-F32.gguf"},
	{.path = "mmproj-model-f16.gguf"},
	{.path = "big/mmproj.gguf"},
	{.path = "big/mmproj-BF16.safetensors"},
};

static enum lmd_status choose(const char *want, uint32_t *first, uint32_t *n)
{
	uint32_t parts[LMI_HUB_FILES_MAX];
	enum lmd_status st =
		lmi_hub_choose(parts, n, entries, LMD_LEN(entries), want, "the repo", &err);

	*first = parts[0];
	return st;
}

START_TEST(the_vision_tower)
{
	static const struct lmi_hub_entry deep[] = {{.path = "a/model.gguf"}, {.path = "b/mmproj.gguf"},
						    {.path = "a/b/mmproj.gguf"}, {.path = "a/mmproj.bin"},
						    {.path = "a/model-mmproj.gguf"},
						    {.path = "a/b/c/model.gguf"}};
	static const struct {
		const char *want, *tower;
	} t[] = {{"Q4_K_M", "mmproj-model-f16.gguf"}, {"Q8_0", "big/mmproj.gguf"}};
	uint32_t first, n, at;

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		OK(choose(t[i].want, &first, &n));
		at = lmi_hub_choose_tower(entries, LMD_LEN(entries), first);
		ck_assert_uint_lt(at, LMD_LEN(entries));
		ck_assert_str_eq(entries[at].path, t[i].tower);
	}
	ck_assert_uint_eq(lmi_hub_choose_tower(deep, LMD_LEN(deep), 0), LMD_LEN(deep));
	ck_assert_uint_eq(lmi_hub_choose_tower(deep, LMD_LEN(deep), 5), 2);
}
END_TEST

START_TEST(the_file_of_a_quantisation)
{
	static const struct {
		const char *want, *first;
		uint32_t n;
	} cases[] = {
		{NULL, "model-Q4_K_M.gguf", 1},
		{"Q4_K_M", "model-Q4_K_M.gguf", 1},
		{"q4_k_s", "model-Q4_K_S.gguf", 1},
		{"F16", "model-F16.gguf", 1},
		{"bf16", "model-BF16-00001-of-00002.gguf", 2},
		{"Q8_0", "big/model-Q8_0-00001-of-00003.gguf", 3},
		{"model-F16.gguf", "model-F16.gguf", 1},
		{"big/model-Q8_0-00001-of-00003.gguf", "big/model-Q8_0-00001-of-00003.gguf", 3},
		{"model-Q8_0-00002-of-00003.gguf", "big/model-Q8_0-00001-of-00003.gguf", 3},
	};
	uint32_t first, n;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		OK(choose(cases[i].want, &first, &n));
		ck_assert_str_eq(entries[first].path, cases[i].first);
		ck_assert_uint_eq(n, cases[i].n);
	}
}
END_TEST

START_TEST(choices_that_do_not_exist)
{
	uint32_t parts[LMI_HUB_FILES_MAX], first, n;

	ck_assert_int_eq(choose("Q4_K", &first, &n), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "the repo has no file for 'Q4_K'; it has model-F16"));
	ck_assert_int_eq(choose("model-Q2_K.gguf", &first, &n), LMD_INVALID);
	ck_assert_int_eq(choose("Q6_K", &first, &n), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "part 2 of 2"));
	ck_assert_int_eq(lmi_hub_choose(parts, &n, entries, 2, NULL, "r", &err), LMD_UNSUPPORTED);
	ck_assert_int_eq(lmi_hub_choose(parts, &n, entries, 0, "Q4_0", "r", &err), LMD_UNSUPPORTED);
}
END_TEST

START_TEST(proposed_names)
{
	static const struct {
		const char *source, *name;
	} cases[] = {
		{"smollm2:135m", "smollm2:135m"},
		{"hf:user/Model-GGUF", "Model"},
		{"hf:user/Model-GGUF@v1:Q4_K_M", "Model:Q4_K_M"},
		{"hf:user/gguf", "gguf"},
		{"hf:user/repo:x/Model-Q4_0.gguf", "Model-Q4_0"},
		{"hf:user/repo:x/Model-Q4_0-00001-of-00003.gguf", "Model-Q4_0"},
		{"ollama:llama3.2", "llama3.2"},
		{"ollama:me/llama3.2:3b", "me/llama3.2:3b"},
		{"oci:h/a/b@sha256:"
		 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "a/b"},
		{"https://h/a/Big.Model.gguf?x=1", "Big.Model"},
		{"https://h/%7E%7E..%2Ex.gguf", "7E7E.2Ex"},
		{"https://h/.gguf", "gguf"},
		{"https://h/---", "model"},
	};
	static const char *const files[][2] = {
		{"Tiny-Q4_0.gguf", "Tiny-Q4_0"},
		{"/m/Tiny-00001-of-00002.gguf", "Tiny"},
		{"/m/Qwen2.5-7B/", "Qwen2.5-7B"},
		{"/m/my model.GGUF", "mymodel"},
		{"..", "model"},
		{"/", "model"},
		{"", "model"},
	};
	char name[LMI_HUB_NAME_MAX + 1];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		OK(lmi_hub_default_name(name, cases[i].source, &err));
		ck_assert_str_eq(name, cases[i].name);
	}
	ck_assert_int_eq(lmi_hub_default_name(name, "hf:x", &err), LMD_INVALID);
	ck_assert_int_eq(lmi_hub_default_name(name, "a b", &err), LMD_INVALID);
	for (size_t i = 0; i < LMD_LEN(files); i++) {
		lmi_hub_file_default_name(name, files[i][0]);
		ck_assert_str_eq(name, files[i][1]);
	}
	ck_assert_str_eq(lmi_hub_url(arena, "http://h", "a b/\xc3\xa9?.gguf"),
			 "http://h/a%20b/%C3%A9%3F.gguf");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hub sources");
	TCase *t = tcase_create("sources");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, secrets_are_not_shown);
	tcase_add_test(t, sources_are_taken_apart);
	tcase_add_test(t, bad_sources_are_refused);
	tcase_add_test(t, a_source_is_bounded);
	tcase_add_test(t, names_that_are_no_source);
	tcase_add_test(t, other_servers);
	tcase_add_test(t, short_names);
	tcase_add_test(t, the_catalogue_of_the_tree);
	tcase_add_test(t, the_file_of_a_quantisation);
	tcase_add_test(t, the_vision_tower);
	tcase_add_test(t, choices_that_do_not_exist);
	tcase_add_test(t, proposed_names);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
