/* SPDX-License-Identifier: MIT
 *
 * Full vocabularies as tokenizer.json. The vocabularies of the parity pack are model files, whose
 * ids are known. Each is written as an equivalent tokenizer.json, read again, and must give the
 * same ids wherever both forms define the same result: the treatment of invalid UTF-8, and of ties
 * between equal scores, is not in the files. */
#include <jansson.h>

#include "core/base/utf8.h"
#include "core/format/format.h"
#include "core/format/hf/hf.h"
#include "plugins/tokenizer/hf_write.h"
#include "plugins/tokenizer/parity_test.h"
#include "plugins/tokenizer/tok_test.h"

#define MAX_PRINTED 8

/* Cases in which the two reference programs disagree, by case id. bert-bge: one removes all marks,
 * all of a Hangul syllable except the first letter, and every control character; BertNormalizer
 * removes marks of category Mn and keeps some control characters. ugm-keep-spaces: one adds no
 * U+2581 before a fragment of blanks only, and does not match control tokens in the text of a
 * word, which matters when special tokens are not requested. */
static const struct vocab {
	const char *name, *folder, *file;
	const char *apart;  /* " id id " */
	bool special;       /* only with special tokens */
} vocabs[] = {
	{"gpt-2", "", "vocabs/ggml-vocab-gpt-2.gguf", "", false},
	{"gpt-neox", "", "vocabs/ggml-vocab-gpt-neox.gguf", "", false},
	{"mpt", "", "vocabs/ggml-vocab-mpt.gguf", "", false},
	{"refact", "", "vocabs/ggml-vocab-refact.gguf", "", false},
	{"starcoder", "", "vocabs/ggml-vocab-starcoder.gguf", "", false},
	{"falcon", "", "vocabs/ggml-vocab-falcon.gguf", "", false},
	{"deepseek-coder", "", "vocabs/ggml-vocab-deepseek-coder.gguf", "", false},
	{"deepseek-llm", "", "vocabs/ggml-vocab-deepseek-llm.gguf", "", false},
	{"llama-spm", "", "vocabs/ggml-vocab-llama-spm.gguf", "", false},
	{"baichuan", "", "vocabs/ggml-vocab-baichuan.gguf", "", false},
	{"phi-3", "", "vocabs/ggml-vocab-phi-3.gguf", "", false},
	{"bert-bge", "", "vocabs/ggml-vocab-bert-bge.gguf",
	 " 17 18 19 28 29 44 45 80 168 371 378 383 395 o28 b0 b1 ", false},
	{"ugm-keep-spaces", "synth", "ugm-keep-spaces.gguf", " 224 o1 o2 ", true},
};

static unsigned passed, failed;

static void tally(bool ok, const char *what, const char *id, const char *kind)
{
	passed += ok;
	failed += !ok;
	if (!ok && failed <= MAX_PRINTED)
		printf("FAILED: %s, case %s, %s\n", what, id, kind);
}

/* Returns true if the results are comparable. Invalid UTF-8 is read in two different ways. */
static bool agree(const struct vocab *v, const struct parity_case *c)
{
	char id[24];

	snprintf(id, sizeof(id), " %s ", c->id);
	return lmi_utf8_good(c->text, c->bytes) == c->bytes && !strstr(v->apart, id);
}

/* Checks the ids for the settings in `kinds`, "as,as,...". */
static void check_ids(const struct vocab *v, const struct lmi_tokenizer *t,
		      const struct parity_case *c, const char *kinds, const char *want)
{
	struct lmi_tokens ids = {0};
	struct lmd_error err;

	for (const char *k = kinds; k[0] && k[1]; k += k[2] ? 3 : 2) {
		uint32_t flags = (k[0] == '1' ? LMD_ENCODE_ADD_SPECIAL : 0u) |
				 (k[1] == '1' ? LMD_ENCODE_PARSE_SPECIAL : 0u);
		const char kind[3] = {k[0], k[1], 0};
		bool ok;

		if (v->special && k[1] == '0')
			continue;
		ok = lmi_tokenizer_encode(t, c->text, c->bytes, flags, &ids, &err) == LMD_OK &&
		     parity_ids_equal(want, ids.id, ids.n);
		tally(ok, v->name, c->id, kind);
	}
	lmi_tokens_fini(&ids);
}

static void check_cases(const struct vocab *v, const struct lmi_tokenizer *t, const char *folder)
{
	static const char *const files[] = {"cases", "big_cases"};
	struct parity_cases cases = {0};
	char path[1024];
	struct tsv e;

	for (size_t i = 0; i < LMD_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s.tsv", folder, files[i]);
		ck_assert(parity_cases_add(&cases, path) || i);
	}
	snprintf(path, sizeof(path), "%s/own_%s.tsv", folder, v->name);
	(void)parity_cases_add(&cases, path);
	snprintf(path, sizeof(path), "%s/expect_%s.tsv", folder, v->name);
	ck_assert(tsv_load(&e, path, 3));
	for (size_t r = 0; r < e.n_rows; r++) {
		const struct parity_case *c = parity_case_find(&cases, e.cell[r * 3]);
		const char *kinds = e.cell[r * 3 + 1];

		if (!c)
			tally(false, v->name, e.cell[r * 3], "no such case");
		else if (agree(v, c) && (*kinds == '0' || *kinds == '1'))
			check_ids(v, t, c, kinds, e.cell[r * 3 + 2]);
	}
	tsv_free(&e);
	parity_cases_free(&cases);
}

/* Opens the model file as it is, for the facts, and then as tokenizer.json. */
static void check_vocab(const struct vocab *v, const char *folder, const char *file)
{
	const char *name = v->name;
	struct lmi_hf_tokenizer *hf = NULL;
	struct lmi_tokenizer *t = NULL;
	struct lmi_model *m;
	struct lmd_error err;
	char *json;

	ck_assert_msg(lmi_model_open(&m, file, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_model_view(m)->tok, &err) ==
			      LMD_OK,
		      "%s", err.text);
	json = hf_write(lmi_model_view(m)->tok, lmi_tokenizer_info(t));
	lmi_tokenizer_close(t);
	ck_assert_msg(json != NULL, "%s has no form as tokenizer.json", name);
	ck_assert_msg(lmi_hf_tokenizer_parse(&hf, json, strlen(json), &err) == LMD_OK, "%s: %s",
		      name, err.text);
	ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_hf_tokenizer_spec(hf), &err) ==
			      LMD_OK,
		      "%s: %s", name, err.text);
	passed = failed = 0;
	check_cases(v, t, folder);
	LMD_CASES(name, passed, failed, 0);
	ck_assert_uint_eq(failed, 0);
	ck_assert_uint_gt(passed, 0);
	lmi_tokenizer_close(t);
	lmi_hf_tokenizer_close(hf);
	lmi_model_close(m);
	free(json);
}

START_TEST(written_vocabularies)
{
	char folder[512], file[1024];

	if (!lmd_parity_dir()) {
		LMD_SKIP(vocabs[_i].name, "no parity pack");
		return;
	}
	snprintf(folder, sizeof(folder), "%s/tokenizers/%s", lmd_parity_dir(), vocabs[_i].folder);
	snprintf(file, sizeof(file), "%s/%s", folder, vocabs[_i].file);
	check_vocab(&vocabs[_i], folder, file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hf vocabularies");
	TCase *tc = tcase_create("vocabularies");
	SRunner *r;

	tcase_add_unchecked_fixture(tc, tok_setup, tok_teardown);
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, written_vocabularies, 0, (int)LMD_LEN(vocabs));
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
