/* SPDX-License-Identifier: MIT
 *
 * The work of every tokenizer, and of every step of a tokenizer.json, grows at most linearly with the
 * text, and all of them can be cancelled.  What there is comes from the registry and from the table of
 * the steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "plugins/common/vocab_test.h"
#include "plugins/tokenizer/hf/step_types.h"
#include "plugins/tokenizer/tok_test.h"
#include "tests/linear_work.h"

/* What a text of the test consists of, again and again.  Steps are tested with the first ones, in long
 * runs with all. */
static const char *const patterns[] = {
	"ab 1\n", "\xce\xa3.", "a", "ab", " ", "<", "1", "e\xcc\x81", "\xe4\xbd\xa0", "\xff\xc3",
};
#define FEW 2

struct encoding {
	const struct lmi_tokenizer *tok;
	const char *pattern;
};

static enum lmd_status encode_pattern(const void *arg, size_t n)
{
	const struct encoding *e = arg;
	struct lmi_text_token_buf ids = {0};
	struct lmi_text_byte_buf out = {0};
	size_t len = strlen(e->pattern);
	char *text = malloc(n);
	enum lmd_status st;

	n -= n % len;
	for (size_t i = 0; i < n; i++)
		text[i] = e->pattern[i % len];
	linear_work_begin();
	st = lmi_tokenizer_encode(e->tok, text, n, 0, &ids, NULL);
	if (st == LMD_OK)
		st = lmi_tokenizer_decode(e->tok, ids.id, ids.n, 0, &out, NULL);
	lmi_text_token_buf_fini(&ids);
	lmi_text_byte_buf_fini(&out);
	free(text);
	return st;
}

static void check(const char *what, const struct lmd_tok_spec *spec, size_t n_pattern)
{
	struct lmi_tokenizer *tok;
	struct lmd_error err;
	char name[128];

	ck_assert_msg(lmi_tokenizer_open(&tok, registry, host, spec, &err) == LMD_OK, "%s: %s",
		      what, err.text);
	for (size_t k = 0; k < n_pattern; k++) {
		struct encoding e = {tok, patterns[k]};

		(void)snprintf(name, sizeof(name), "%s, pattern %zu", what, k);
		linear_work_check(name, encode_pattern, &e);
	}
	lmi_tokenizer_close(tok);
}

/* ---- kinds ---- */

static struct {
	char name[64][32];
	uint32_t n;
} kinds;

static void add_kind(void *arg, const struct lmi_factory_info *f)
{
	(void)arg;
	if (f->kind != LMD_KIND_TOKENIZER)
		return;
	ck_assert_uint_lt(kinds.n, LMD_LEN(kinds.name));
	(void)snprintf(kinds.name[kinds.n++], sizeof(kinds.name[0]), "%s", f->name);
}

static void skip_plugin(void *arg, const struct lmi_plugin_info *info)
{
	(void)arg;
	(void)info;
}

static void some_tokens(struct test_spec *t, const char *kind)
{
	spec_init(t, kind, strcmp(kind, "gpt2") ? NULL : "gpt-2");
	spec_add(t, "<unk>", LMD_TOKEN_UNKNOWN, 0);
	spec_add(t, "<s>", LMD_TOKEN_CONTROL, 0);
	spec_add(t, "</s>", LMD_TOKEN_CONTROL, 0);
	spec_add(t, "a", LMD_TOKEN_NORMAL, -1);
	spec_add(t, "b", LMD_TOKEN_NORMAL, -1);
	spec_add(t, "ab", LMD_TOKEN_NORMAL, -1);
	spec_merge(t, "a b");
	t->spec.bos = 1;
	t->spec.eos = 2;
	t->spec.unk = 0;
	if (!strcmp(kind, "plamo2"))
		spec_add_bytes(t);
}

/* Every tokenizer of the registry, but hf, which the other tests are about. */
START_TEST(kinds_of_the_registry)
{
	static struct test_spec t;

	kinds.n = 0;
	lmi_plugin_registry_list(registry, skip_plugin, add_kind, NULL);
	ck_assert_uint_ge(kinds.n, 8);
	for (uint32_t i = 0; i < kinds.n; i++) {
		if (!strcmp(kinds.name[i], "hf"))
			continue;
		some_tokens(&t, kinds.name[i]);
		check(kinds.name[i], &t.spec, LMD_LEN(patterns));
	}
}
END_TEST

/* ---- steps of a tokenizer.json ---- */

#define ROW(phase_, name_, ...) {phase_, name_},
static const struct {
	enum lmd_tok_phase phase;
	const char *name;
} steps[] = {HF_STEP_TYPES(ROW)};
#undef ROW

#define NAME(name_, model_) name_,
static const char *const models[] = {HF_MODELS(NAME)};
#undef NAME

/* Parameters of all steps; each takes its own. */
#define PARAMS                                                                                     \
	"\"content\":\"b\",\"replacement\":\"\\u2581\",\"delimiter\":\" \",\"length\":5,"          \
	"\"prepend\":\"_\",\"prefix\":\"##\",\"suffix\":\"</w>\",\"pad_token\":\"b\","             \
	"\"word_delimiter_token\":\"|\",\"start\":1,\"stop\":1,\"strip_left\":true,"               \
	"\"strip_right\":true,\"prepend_scheme\":\"always\",\"precompiled_charsmap\":\"\""
#define VOCAB                                                                                      \
	"{\"?\":0,\"a\":1,\"b\":2,\"ab\":3,\"##a\":4,\"##b\":5,\"##ab\":6,\"\\u2581a\":7,"         \
	"\"\\u0120\":8}"
#define UNIGRAMS "[[\"?\",0.0],[\"a\",-1.0],[\"b\",-1.5],[\"ab\",-2.0]]"

static void check_json(const char *what, const char *json)
{
	struct lmi_hf_tokenizer *t;
	struct lmd_error err;

	ck_assert_msg(lmi_hf_tokenizer_parse(&t, json, strlen(json), &err) == LMD_OK, "%s: %s",
		      what, err.text);
	check(what, lmi_hf_tokenizer_spec(t), getenv("LMD_TEST_LONG") ? LMD_LEN(patterns) : FEW);
	lmi_hf_tokenizer_close(t);
}

static void check_step(const char *key, const char *name, const char *pattern, const char *behavior)
{
	char json[1200], what[100];

	(void)snprintf(json, sizeof(json),
		       "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"merges\":[\"a "
		       "b\"],\"vocab\":" VOCAB
		       "},\"%s\":{\"type\":\"%s\",\"pattern\":{%s},\"behavior\":\"%s\"," PARAMS
		       "}}",
		       key, name, pattern, behavior);
	(void)snprintf(what, sizeof(what), "%s %s, %s, %s", key, name, pattern, behavior);
	check_json(what, json);
}

/* Loop test: one step each. */
START_TEST(each_step)
{
	static const char *const keys[] = {[LMD_TOK_NORMALIZE] = "normalizer",
					   [LMD_TOK_SPLIT] = "pre_tokenizer",
					   [LMD_TOK_DECODE] = "decoder"};

	check_step(keys[steps[_i].phase], steps[_i].name, "\"String\":\"a\"", "Isolated");
}
END_TEST

/* Loop test: one treatment of the matches each. */
START_TEST(splits)
{
	static const char *const behaviors[] = {"Removed", "Isolated", "MergedWithPrevious",
						"MergedWithNext", "Contiguous"};
	static const char *const expressions[] = {"\"Regex\":\"\\\\s+\"",
						  "\"Regex\":\"a|b|(?=1)\""};

	check_step("pre_tokenizer", "Split", expressions[_i / 5], behaviors[_i % 5]);
}
END_TEST

/* Loop test: one model each, on whole texts and on words. */
START_TEST(each_model)
{
	bool unigram = !strcmp(models[_i], "Unigram");

	for (int words = 0; words < 2; words++) {
		char json[1200], what[100];

		(void)snprintf(json, sizeof(json),
			       "{\"model\":{\"type\":\"%s\",\"unk_token\":\"?\",\"unk_id\":0,"
			       "\"max_input_chars_per_word\":100000000,\"continuing_subword_"
			       "prefix\":\"##\","
			       "%s\"vocab\":%s}%s}",
			       models[_i], strcmp(models[_i], "BPE") ? "" : "\"merges\":[\"a b\"],",
			       unigram ? UNIGRAMS : VOCAB,
			       words ? ",\"pre_tokenizer\":{\"type\":\"Whitespace\"}" : "");
		(void)snprintf(what, sizeof(what), "model %s, %s", models[_i],
			       words ? "words" : "a text");
		check_json(what, json);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("work");
	TCase *tc = tcase_create("work");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, tok_setup, tok_teardown);
	tcase_add_test(tc, kinds_of_the_registry);
	tcase_add_loop_test(tc, each_step, 0, (int)LMD_LEN(steps));
	tcase_add_loop_test(tc, splits, 0, 10);
	tcase_add_loop_test(tc, each_model, 0, (int)LMD_LEN(models));
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
