/* SPDX-License-Identifier: MIT
 *
 * All kinds of tokenizers against the parity pack: ids, decoded bytes, pieces, special ids, and
 * every pre-tokenizer name. All comparisons are exact. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/open.h"
#include "plugins/tokenizer/parity_test.h"
#include "plugins/tokenizer/tok_test.h"

#define MAX_PRINTED 8 /* failures printed per vocabulary */

struct count {
	unsigned passed, failed, skipped;
};

static void tally(struct count *c, bool ok, const char *what, const char *id, const char *kind)
{
	if (ok) {
		c->passed++;
		return;
	}
	if (c->failed++ < MAX_PRINTED)
		printf("FAILED: %s, case %s, %s\n", what, id, kind);
}

/* Checks one line of expect_*.tsv. */
static void check_line(const struct lmi_tokenizer *t, const struct parity_case *c,
		       const char *kinds, const char *want, struct count *n, const char *what)
{
	struct lmi_text_token_buf ids = {0};
	struct lmi_text_byte_buf text = {0};
	struct lmd_error err;

	for (const char *k = kinds + (*kinds == '~' || *kinds == '-'); *k; k += *k == ',') {
		uint32_t flags = 0;
		bool ok = false;

		if (*kinds == '~' || *kinds == '-') {
			uint32_t enc = *kinds == '~'
					       ? LMD_ENCODE_ADD_SPECIAL | LMD_ENCODE_PARSE_SPECIAL
					       : 0;

			flags = (k[0] == '1' ? LMD_DECODE_REMOVE_SPECIAL : 0u) |
				(k[1] == '1' ? LMD_DECODE_UNPARSE_SPECIAL : 0u);
			ok = lmi_tokenizer_encode(t, c->text, c->bytes, enc, &ids, &err) ==
				     LMD_OK &&
			     lmi_tokenizer_decode(t, ids.id, ids.n, flags, &text, &err) == LMD_OK &&
			     parity_bytes_equal(want, c, text.p, text.n);
		} else if (*kinds == '!') {
			ok = true;
			for (uint32_t f = 0; f < 4; f++)
				ok = ok && lmi_tokenizer_encode(t, c->text, c->bytes, f, &ids,
								&err) == LMD_OK;
			tally(n, ok, what, c->id, "!");
			break;
		} else {
			flags = (k[0] == '1' ? LMD_ENCODE_ADD_SPECIAL : 0u) |
				(k[1] == '1' ? LMD_ENCODE_PARSE_SPECIAL : 0u);
			ok = lmi_tokenizer_encode(t, c->text, c->bytes, flags, &ids, &err) ==
				     LMD_OK &&
			     parity_ids_equal(want, ids.id, ids.n);
		}
		tally(n, ok, what, c->id, kinds);
		k += 2;
	}
	lmi_text_token_buf_fini(&ids);
	lmi_text_byte_buf_fini(&text);
}

static void check_cases(const struct lmi_tokenizer *t, const struct parity_cases *cases,
			const char *expect, const char *what, struct count *n)
{
	struct tsv e;

	ck_assert_msg(tsv_load(&e, expect, 3), "%s is missing", expect);
	for (size_t r = 0; r < e.n_rows; r++) {
		const struct parity_case *c = parity_case_find(cases, e.cell[r * 3]);

		if (c)
			check_line(t, c, e.cell[r * 3 + 1], e.cell[r * 3 + 2], n, what);
		else
			tally(n, false, what, e.cell[r * 3], "no such case");
	}
	tsv_free(&e);
}

static void check_id(const char *what, const char *key, const json_t *facts, int have,
		     struct count *n)
{
	int want = (int)json_integer_value(json_object_get(facts, key));

	if (want != have)
		printf("  %s: want %d, have %d\n", key, want, have);
	tally(n, want == have, what, key, "facts");
}

static void check_facts(const struct lmi_tokenizer *t, const json_t *facts, const char *what,
			struct count *n)
{
	const struct lmd_tok_info *f = lmi_tokenizer_info(t);
	const json_t *eog = json_object_get(facts, "eog");
	const json_t *sums = json_object_get(facts, "piece_sha256_16_per_1000"), *sum;
	bool same = json_array_size(eog) == f->n_eog;
	size_t i;

	check_id(what, "bos", facts, f->bos, n);
	check_id(what, "eos", facts, f->eos, n);
	check_id(what, "eot", facts, f->eot, n);
	check_id(what, "sep", facts, f->sep, n);
	check_id(what, "pad", facts, f->pad, n);
	check_id(what, "mask", facts, f->mask, n);
	check_id(what, "fim_pre", facts, f->fim_pre, n);
	check_id(what, "fim_suf", facts, f->fim_suf, n);
	check_id(what, "fim_mid", facts, f->fim_mid, n);
	check_id(what, "fim_pad", facts, f->fim_pad, n);
	check_id(what, "fim_rep", facts, f->fim_rep, n);
	check_id(what, "fim_sep", facts, f->fim_sep, n);
	check_id(what, "n_tokens", facts, (int)f->n_tokens, n);
	tally(n, json_is_true(json_object_get(facts, "add_bos")) == f->add_bos, what, "add_bos",
	      "facts");
	tally(n, json_is_true(json_object_get(facts, "add_eos")) == f->add_eos, what, "add_eos",
	      "facts");
	tally(n, json_is_true(json_object_get(facts, "add_sep")) == f->add_sep, what, "add_sep",
	      "facts");
	for (i = 0; same && i < f->n_eog; i++)
		same = json_integer_value(json_array_get(eog, i)) == f->eog[i];
	tally(n, same, what, "eog", "facts");
	json_array_foreach(sums, i, sum) {
		lmd_token from = (lmd_token)i * 1000, to = from + 1000;
		char have[17], at[24];

		to = to < (lmd_token)f->n_tokens ? to : (lmd_token)f->n_tokens;
		parity_piece_digest(t, from, to, have);
		snprintf(at, sizeof(at), "%d", from);
		tally(n, !strcmp(have, json_string_value(sum)), what, at, "pieces");
	}
}

/* Checks one vocabulary with its facts and cases; returns false if its kind is not built. */
static void check_vocab(const char *file, const char *name, const json_t *facts,
			const struct parity_cases *cases, const char *expect, struct count *total)
{
	struct lmi_model *m;
	struct lmi_tokenizer *t;
	struct lmd_error err;
	struct count n = {0};
	enum lmd_status st;

	ck_assert_msg(lmi_model_open(&m, file, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
		      err.text);
	st = lmi_tokenizer_open(&t, registry, host, lmi_model_view(m)->tok, &err);
	if (st == LMD_NOTFOUND) {
		LMD_SKIP(name, "no plugin for kind %s", lmi_model_view(m)->tok->kind);
		total->skipped++;
		lmi_model_close(m);
		return;
	}
	if (st == LMD_OK) {
		check_facts(t, facts, name, &n);
		check_cases(t, cases, expect, name, &n);
		lmi_tokenizer_close(t);
	} else {
		printf("FAILED: %s: %s\n", name, err.text);
		n.failed++;
	}
	lmi_model_close(m);
	LMD_CASES(name, n.passed, n.failed, n.skipped);
	total->passed += n.passed;
	total->failed += n.failed;
}

static json_t *load_json(const char *path)
{
	json_error_t e;
	json_t *j = json_load_file(path, 0, &e);

	ck_assert_msg(j != NULL, "%s: %s", path, e.text);
	return j;
}

/* Checks all vocabularies of a folder, as listed in FOLDER/vocab_facts.json. */
static void check_folder(const char *folder, const char *vocabs)
{
	char path[1024], file[1024], expect[1024];
	struct count total = {0};
	json_t *all, *facts;
	const char *name;

	snprintf(path, sizeof(path), "%s/vocab_facts.json", folder);
	all = load_json(path);
	json_object_foreach(all, name, facts) {
		struct parity_cases cases = {0};

		snprintf(path, sizeof(path), "%s/cases.tsv", folder);
		ck_assert_msg(parity_cases_add(&cases, path), "%s", path);
		snprintf(path, sizeof(path), "%s/own_%s.tsv", folder, name);
		(void)parity_cases_add(&cases, path);
		snprintf(path, sizeof(path), "%s/big_cases.tsv", folder);
		(void)parity_cases_add(&cases, path);
		snprintf(file, sizeof(file), "%s/%s/%s", folder, vocabs,
			 json_string_value(json_object_get(facts, "file")));
		snprintf(expect, sizeof(expect), "%s/expect_%s.tsv", folder, name);
		if (!getenv("LMD_TEST_VOCAB") || !strcmp(getenv("LMD_TEST_VOCAB"), name))
			check_vocab(file, name, facts, &cases, expect, &total);
		parity_cases_free(&cases);
	}
	json_decref(all);
	ck_assert_uint_eq(total.failed, 0);
}

START_TEST(real_vocabularies)
{
	char path[1024];

	if (!lmd_parity_dir()) {
		LMD_SKIP("real_vocabularies", "no parity pack");
		return;
	}
	snprintf(path, sizeof(path), "%s/tokenizers", lmd_parity_dir());
	check_folder(path, "vocabs");
}
END_TEST

START_TEST(made_up_vocabularies)
{
	char path[1024];

	if (!lmd_parity_dir()) {
		LMD_SKIP("made_up_vocabularies", "no parity pack");
		return;
	}
	snprintf(path, sizeof(path), "%s/tokenizers/synth", lmd_parity_dir());
	check_folder(path, ".");
}
END_TEST

/* Checks one pre-tokenizer name with one vocabulary. */
static void check_pre(const struct lmd_tok_spec *base, const char *vocab, const char *pre,
		      const json_t *group, const json_t *ids, const struct parity_cases *cases,
		      struct count *n)
{
	struct lmd_tok_spec spec = *base;
	const json_t *variant = json_object_get(group, "variant");
	struct lmi_text_token_buf out = {0};
	struct lmi_tokenizer *t;
	struct lmd_error err;
	char what[160];

	spec.pre = pre;
	snprintf(what, sizeof(what), "%s with %s", vocab, pre);
	if (lmi_tokenizer_open(&t, registry, host, &spec, &err) != LMD_OK) {
		printf("FAILED: %s: %s\n", what, err.text);
		n->failed += (unsigned)cases->n;
		return;
	}
	tally(n, json_is_true(json_object_get(group, "add_bos")) == lmi_tokenizer_info(t)->add_bos,
	      what, "add_bos", "facts");
	tally(n, json_is_true(json_object_get(group, "add_sep")) == lmi_tokenizer_info(t)->add_sep,
	      what, "add_sep", "facts");
	/* Determined from decoding results, so it is meaningful only for vocabularies that
	 * fit. */
	if (strcmp(pre, "sarvam-moe") != 0 || !strcmp(vocab, "probe-raw"))
		tally(n, json_is_true(json_object_get(group, "clean_spaces_on_decode")) ==
			      lmi_tokenizer_info(t)->clean_spaces, what, "clean_spaces", "facts");
	for (size_t i = 0; i < cases->n; i++) {
		json_int_t v = json_integer_value(json_array_get(variant, i));
		const char *want = json_string_value(
			json_array_get(json_array_get(ids, i), (size_t)v));
		const struct parity_case *c = &cases->c[i];
		bool ok = lmi_tokenizer_encode(t, c->text, c->bytes, 0, &out, &err) == LMD_OK;

		if (ok && strcmp(want, "!") != 0)
			ok = parity_ids_equal(want, out.id, out.n);
		tally(n, ok, what, c->id, "ids");
	}
	lmi_text_token_buf_fini(&out);
	lmi_tokenizer_close(t);
}

static void check_matrix(const char *folder, const json_t *matrix, const struct parity_cases *cases,
			 struct count *total)
{
	const char *vocab = json_string_value(json_object_get(matrix, "vocab"));
	const char *name = json_string_value(json_object_get(matrix, "file"));
	const json_t *groups = json_object_get(matrix, "groups"), *group, *pre;
	struct lmi_model *m;
	struct lmd_error err;
	size_t i, k;
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s%s", folder, !strcmp(vocab, "bpe") ? "../vocabs/" : "",
		 name);
	ck_assert_msg(lmi_model_open(&m, path, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
		      err.text);
	json_array_foreach(groups, i, group) {
		json_array_foreach(json_object_get(group, "names"), k, pre) {
			struct count n = {0};

			check_pre(lmi_model_view(m)->tok, vocab, json_string_value(pre), group,
				  json_object_get(matrix, "ids"), cases, &n);
			if (n.failed)
				printf("%s with %s: %u passed, %u failed\n", vocab,
				       json_string_value(pre), n.passed, n.failed);
			total->passed += n.passed;
			total->failed += n.failed;
		}
	}
	lmi_model_close(m);
}

START_TEST(pre_tokenizers)
{
	char folder[512], path[1024];
	struct parity_cases cases = {0};
	struct count total = {0};
	const json_t *m;
	json_t *all;
	size_t i;

	if (!lmd_parity_dir()) {
		LMD_SKIP("pre_tokenizers", "no parity pack");
		return;
	}
	snprintf(folder, sizeof(folder), "%s/tokenizers/pre", lmd_parity_dir());
	snprintf(path, sizeof(path), "%s/pre_cases.tsv", folder);
	ck_assert(parity_cases_add(&cases, path));
	snprintf(path, sizeof(path), "%s/pre_matrix.json", folder);
	all = load_json(path);
	json_array_foreach(json_object_get(all, "matrices"), i, m)
		check_matrix(folder, m, &cases, &total);
	json_decref(all);
	parity_cases_free(&cases);
	LMD_CASES("pre_tokenizers", total.passed, total.failed, total.skipped);
	ck_assert_uint_eq(total.failed, 0);
}
END_TEST

/* Returns the path of a model of parity/real in the cache, or NULL. */
static const char *cached_model(const json_t *model)
{
	static char path[1024];
	const char *file = strrchr(json_string_value(json_object_get(model, "file")), '/');
	const char *name = json_string_value(json_object_get(model, "file"));
	const char *cache = getenv("LLAMAD_CACHE");
	FILE *f;

	name = file ? file + 1 : name;
	if (!cache)
		snprintf(path, sizeof(path), "%s/.cache/llamad/models/%s",
			 lmd_env_or("HOME", "/tmp"), name);
	else /* as scripts/fetch-model does */
		snprintf(path, sizeof(path), "%s/models/%s", cache, name);
	f = fopen(path, "rb");
	if (!f && cache) {
		snprintf(path, sizeof(path), "%s/%s", cache, name);
		f = fopen(path, "rb");
	}
	if (!f)
		return NULL;
	fclose(f);
	return path;
}

static void check_prompts(const struct lmi_tokenizer *t, const char *model, const json_t *cases,
			  struct count *n)
{
	struct lmi_text_token_buf ids = {0};
	struct lmd_error err;
	const json_t *c, *id;
	size_t i, k;

	json_array_foreach(cases, i, c) {
		const json_t *want = json_object_get(c, "ids"), *text = json_object_get(c, "text");
		uint32_t flags =
			(json_is_true(json_object_get(c, "add_special")) ? LMD_ENCODE_ADD_SPECIAL
									 : 0u) |
			(json_is_true(json_object_get(c, "parse_special"))
				 ? LMD_ENCODE_PARSE_SPECIAL
				 : 0u);
		bool ok;

		if (strcmp(json_string_value(json_object_get(c, "model")), model) != 0 ||
		    !json_is_string(text))
			continue;
		ok = lmi_tokenizer_encode(t, json_string_value(text), json_string_length(text),
					  flags, &ids, &err) == LMD_OK &&
		     ids.n == json_array_size(want);
		json_array_foreach(want, k, id)
			ok = ok && json_integer_value(id) == ids.id[k];
		tally(n, ok, model, json_string_value(json_object_get(c, "name")), "prompt");
	}
	lmi_text_token_buf_fini(&ids);
}

START_TEST(real_models)
{
	json_t *models, *cases, *model;
	const char *name;
	char path[1024];

	if (!lmd_parity_dir()) {
		LMD_SKIP("real_models", "no parity pack");
		return;
	}
	snprintf(path, sizeof(path), "%s/real/models.json", lmd_parity_dir());
	models = load_json(path);
	snprintf(path, sizeof(path), "%s/real/cases.json", lmd_parity_dir());
	cases = load_json(path);
	json_object_foreach(models, name, model) {
		const char *file = cached_model(model);
		const json_t *eog = json_object_get(model, "eog");
		struct count n = {0};
		struct lmi_model *m;
		struct lmi_tokenizer *t;
		struct lmd_error err;
		bool same;

		if (!file) {
			LMD_SKIP(name, "not in the cache; run scripts/fetch-model %s", name);
			continue;
		}
		ck_assert_msg(lmi_model_open(&m, file, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
			      err.text);
		ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_model_view(m)->tok,
						 &err) == LMD_OK,
			      "%s", err.text);
		same = json_array_size(eog) == lmi_tokenizer_info(t)->n_eog;
		for (uint32_t i = 0; same && i < lmi_tokenizer_info(t)->n_eog; i++)
			same = json_integer_value(json_array_get(eog, i)) ==
			       lmi_tokenizer_info(t)->eog[i];
		tally(&n, same, name, "eog", "facts");
		check_prompts(t, name, cases, &n);
		lmi_tokenizer_close(t);
		lmi_model_close(m);
		LMD_CASES(name, n.passed, n.failed, n.skipped);
		ck_assert_uint_gt(n.passed, 1);
		ck_assert_uint_eq(n.failed, 0);
	}
	json_decref(models);
	json_decref(cases);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tokenizer");
	TCase *tc = tcase_create("parity");
	SRunner *r;

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, tok_setup, tok_teardown);
	tcase_add_test(tc, real_vocabularies);
	tcase_add_test(tc, made_up_vocabularies);
	tcase_add_test(tc, pre_tokenizers);
	tcase_add_test(tc, real_models);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
