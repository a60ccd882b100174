/* SPDX-License-Identifier: MIT
 *
 * Tokenizers of tokenizer.json files against the parity pack.  The files themselves are not part
 * of it: they are looked for in $LLAMAD_TOKENIZER_DIR, or ~/.cache/llamad/tokenizers. */
#include "core/format/hf/hf.h"
#include "plugins/tokenizer/parity_test.h"
#include "plugins/tokenizer/tok_test.h"

#define MAX_PRINTED 8

static unsigned passed, failed;

static void tally(bool ok, const char *what, const char *id, const char *kind)
{
	passed += ok;
	failed += !ok;
	if (!ok && failed <= MAX_PRINTED)
		printf("FAILED: %s, case %s, %s\n", what, id, kind);
}

static bool agrees(const struct lmi_tokenizer *t, const struct parity_case *c, const char *kind,
		   const char *want)
{
	bool decode = *kind == '~';
	uint32_t special = decode || *kind == '1' ? LMD_ENCODE_ADD_SPECIAL : 0;
	struct lmi_tokens ids = {0};
	struct lmi_text text = {0};
	struct lmd_error err;
	bool ok;

	ok = lmi_tokenizer_encode(t, c->text, c->bytes, special | LMD_ENCODE_PARSE_SPECIAL, &ids,
				  &err) == LMD_OK;
	if (decode) {
		ok = ok && lmi_tokenizer_decode(t, ids.id, ids.n,
						kind[1] == '1' ? 0 : LMD_DECODE_UNPARSE_SPECIAL, &text,
						&err) == LMD_OK &&
		     parity_bytes_equal(want, c, text.p, text.n);
	} else {
		ok = ok && parity_ids_equal(want, ids.id, ids.n);
	}
	lmi_tokens_fini(&ids);
	lmi_text_fini(&text);
	return ok;
}

static void check_file(const char *name, const char *file, const char *folder)
{
	struct parity_cases cases = {0};
	struct lmi_hf_tokenizer *hf;
	struct lmi_tokenizer *t;
	struct lmd_error err;
	char path[4096];
	struct tsv e;

	ck_assert_msg(lmi_hf_tokenizer_open(&hf, file, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_hf_tokenizer_spec(hf), &err) == LMD_OK,
		      "%s: %s", file, err.text);
	snprintf(path, sizeof(path), "%s/tokenizers/cases.tsv", folder);
	ck_assert(parity_cases_add(&cases, path));
	snprintf(path, sizeof(path), "%s/tokenizers/big_cases.tsv", folder);
	ck_assert(parity_cases_add(&cases, path));
	snprintf(path, sizeof(path), "%s/tokenizers/hf/own_hf_%s.tsv", folder, name);
	ck_assert(parity_cases_add(&cases, path));
	snprintf(path, sizeof(path), "%s/tokenizers/hf/expect_hf_%s.tsv", folder, name);
	ck_assert(tsv_load(&e, path, 3));
	passed = failed = 0;
	for (size_t r = 0; r < e.n_rows; r++) {
		const struct parity_case *c = parity_case_find(&cases, e.cell[r * 3]);
		const char *kinds = e.cell[r * 3 + 1], *want = e.cell[r * 3 + 2];
		bool decode = *kinds == '~';

		for (const char *k = kinds + decode; *k; k += k[1] == ',' ? 2 : 1) {
			const char kind[3] = {decode ? '~' : *k, decode ? *k : 0, 0};

			tally(c && agrees(t, c, kind, want), name, e.cell[r * 3], kind);
		}
	}
	LMD_CASES(name, passed, failed, 0);
	ck_assert_uint_eq(failed, 0);
	ck_assert_uint_gt(passed, 0);
	tsv_free(&e);
	parity_cases_free(&cases);
	lmi_tokenizer_close(t);
	lmi_hf_tokenizer_close(hf);
}

START_TEST(files)
{
	static const char *const names[] = {"llama3", "qwen3", "gemma3", "gptoss", "deepseek_v3"};
	const char *dir = getenv("LLAMAD_TOKENIZER_DIR"), *home = getenv("HOME");
	char folder[2048], path[4096];
	FILE *f;

	snprintf(folder, sizeof(folder), "%s%s", dir ? dir : home ? home : "",
		 dir ? "" : "/.cache/llamad/tokenizers");
	snprintf(path, sizeof(path), "%s/%s.json", folder, names[_i]);
	f = fopen(path, "r");
	if (!lmd_parity_dir() || !f)
		LMD_SKIP(names[_i], f ? "no parity pack" : "no %s", path);
	else
		check_file(names[_i], path, lmd_parity_dir());
	if (f)
		fclose(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hf");
	TCase *tc = tcase_create("files");
	SRunner *r;

	tcase_add_unchecked_fixture(tc, tok_setup, tok_teardown);
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, files, 0, 5);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
