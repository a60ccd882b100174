/* SPDX-License-Identifier: MIT
 *
 * Tokenizers of tokenizer.json files against the parity pack. The files themselves are not part of
 * the pack: they are searched for in $LLAMAD_TOKENIZER_DIR, or else in
 * ~/.cache/llamad/tokenizers. */
#include "core/format/hf/hf.h"
#include "core/text/heal.h"
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
		ok = ok &&
		     lmi_tokenizer_decode(t, ids.id, ids.n,
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
	ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_hf_tokenizer_spec(hf), &err) ==
			      LMD_OK,
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
	if (!lmd_parity_dir())
		LMD_SKIP(names[_i], "no parity pack");
	else if (!f)
		LMD_SKIP(names[_i], "no %s; run scripts/fetch-tokenizer %s", path, names[_i]);
	else
		check_file(names[_i], path, lmd_parity_dir());
	if (f)
		fclose(f);
}
END_TEST

#define VOCAB                                                                                      \
	"{\"?\":0,\"a\":1,\"b\":2,\"c\":3,\"ab\":4,\"\\u2581\":5,\"\\u2581a\":6,\"##b\":7," \
	"\"hello\":8,\".\":9,\"\\u0120\":10,\"\\u0120a\":11,\"\\u00e9\":12,\"e\":13,\"<0xC" \
	"3>\":14,\"<0x9F>\":15,\"12\":16,\"1\":17,\"2\":18,\"<s>\":19,\"[M]\":20}"

/* Results of the Python module tokenizers 0.22.2, with special tokens added and decoded. */
static const struct {
	const char *json, *text, *ids, *decoded;
} made_up[] = {
	{"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":" VOCAB "},\"pr"
	 "e_tokenizer\":{\"type\":\"Whitespace\"}}",
	 "hello a.b ab", "8,1,9,2,4",
	 "hello a . b ab"},
	{"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":" VOCAB "},\"no"
	 "rmalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":"
	 "\"StripAccents\"},{\"type\":\"Lowercase\"}]},\"pre_tokenizer\":{\"type\":\"White"
	 "spaceSplit\"},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\""
	 "prepend_scheme\":\"always\",\"split\":true}}",
	 "\xc3\x89 E  e\xcc\x81 HELLO x", "13,13,13,8,0",
	 "eeehello?"},
	{"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_pref"
	 "ix\":\"##\",\"max_input_chars_per_word\":5,\"vocab\":" VOCAB "},\"pre_tokenizer\""
	 ":{\"type\":\"BertPreTokenizer\"},\"decoder\":{\"type\":\"WordPiece\",\"prefix\":"
	 "\"##\",\"cleanup\":true}}",
	 "ab cb. aaaaaaaa ab", "4,3,7,9,0,4",
	 "ab cb.? ab"},
	{"{\"model\":{\"type\":\"BPE\",\"vocab\":" VOCAB ",\"merges\":[\"a b\",\"\\u2581 a"
	 "\"],\"byte_fallback\":true,\"unk_token\":\"?\",\"fuse_unk\":true},\"normalizer\""
	 ":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\\u"
	 "2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u25"
	 "81\"}]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\""
	 "pattern\":{\"String\":\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\""
	 "},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\""
	 ":0}]}}",
	 "ab a\xc3\x9fzz ab", "5,4,6,14,15,0,5,4",
	 "ab a\xc3\x9f? ab"},
	{"{\"model\":{\"type\":\"BPE\",\"vocab\":" VOCAB ",\"merges\":[[\"a\",\"b\"],[\"\\"
	 "u0120\",\"a\"]]},\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":"
	 "true,\"use_regex\":true,\"trim_offsets\":true},\"decoder\":{\"type\":\"ByteLevel"
	 "\",\"add_prefix_space\":true,\"use_regex\":true,\"trim_offsets\":true},\"added_t"
	 "okens\":[{\"id\":19,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,\""
	 "rstrip\":true,\"normalized\":false,\"special\":true},{\"id\":20,\"content\":\"[M"
	 "]\",\"single_word\":false,\"lstrip\":true,\"rstrip\":false,\"normalized\":false,"
	 "\"special\":false},{\"id\":4,\"content\":\"ab\",\"single_word\":true,\"lstrip\":"
	 "false,\"rstrip\":false,\"normalized\":false,\"special\":false}],\"post_processor"
	 "\":{\"type\":\"RobertaProcessing\",\"sep\":[\"<s>\",19],\"cls\":[\"[M]\",20],\"t"
	 "rim_offsets\":true,\"add_prefix_space\":true}}",
	 "a ab<s>  ab abc [M]a", "20,11,10,4,19,4,10,4,3,20,11,19",
	 "[M] a ab<s>ab abc[M] a<s>"},
	{"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"\\u2581\","
	 "-2],[\"a\",-1],[\"\\u2581a\",-1.5],[\"ab\",-1.2],[\"b\",-3]]},\"pre_tokenizer\":"
	 "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":\"first\""
	 ",\"split\":true},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\""
	 ",\"prepend_scheme\":\"first\",\"split\":true},\"added_tokens\":[{\"id\":6,\"cont"
	 "ent\":\"<s>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normaliz"
	 "ed\":false,\"special\":true}],\"post_processor\":{\"type\":\"TemplateProcessing\""
	 ",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},{\"Sequence\":{\""
	 "id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{\"<s>\":{\"id\":\"<s"
	 ">\",\"ids\":[6],\"tokens\":[\"<s>\"]}}}}",
	 "ab ab<s>abxyz b", "6,1,4,1,4,6,4,0,1,5",
	 "<s> ab ab<s>ab? b"},
	{"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":" VOCAB "},\"pr"
	 "e_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pa"
	 "ttern\":{\"Regex\":\"(?=(\\\\d{2})+(?!\\\\d))\"},\"behavior\":\"Isolated\",\"inv"
	 "ert\":false},{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"},{\"type\":\"Sp"
	 "lit\",\"pattern\":{\"String\":\" \"},\"behavior\":\"Removed\",\"invert\":false}]"
	 "}}",
	 "12112.1 12", "17,0,16,9,17,16",
	 "1 ? 12 . 1 12"},
};

static struct lmi_tokenizer *open_text(struct lmi_hf_tokenizer **hf, const char *json)
{
	struct lmi_tokenizer *t;
	struct lmd_error err;

	ck_assert_msg(lmi_hf_tokenizer_parse(hf, json, strlen(json), &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_hf_tokenizer_spec(*hf), &err) ==
			      LMD_OK,
		      "%s: %s", json, err.text);
	return t;
}

START_TEST(made_up_tokenizers)
{
	struct lmi_hf_tokenizer *hf;
	struct lmi_tokenizer *t = open_text(&hf, made_up[_i].json);
	struct lmi_tokens ids = {0};
	struct lmi_text text = {0};
	char have[512] = "";
	struct lmd_error err;

	ck_assert_int_eq(lmi_tokenizer_encode(t, made_up[_i].text, strlen(made_up[_i].text),
					      LMD_ENCODE_ADD_SPECIAL | LMD_ENCODE_PARSE_SPECIAL,
					      &ids, &err),
			 LMD_OK);
	for (size_t i = 0; i < ids.n; i++)
		sprintf(have + strlen(have), "%s%d", i ? "," : "", ids.id[i]);
	ck_assert_str_eq(have, made_up[_i].ids);
	ck_assert_int_eq(
		lmi_tokenizer_decode(t, ids.id, ids.n, LMD_DECODE_UNPARSE_SPECIAL, &text, &err),
		LMD_OK);
	snprintf(have, sizeof(have), "%.*s", (int)text.n, text.p ? text.p : "");
	ck_assert_str_eq(have, made_up[_i].decoded);
	lmi_tokens_fini(&ids);
	lmi_text_fini(&text);
	lmi_tokenizer_close(t);
	lmi_hf_tokenizer_close(hf);
}
END_TEST

/* Pieces that are in no table: U+2581 replaced by spaces, bytes, and the byte alphabet. */
START_TEST(pieces)
{
	static const struct {
		int tokenizer;
		lmd_token id;
		const char *piece;
	} t[] = {{3, 4, "ab"}, {3, 5, " "}, {3, 6, " a"}, {3, 14, "\xc3"}, {3, 15, "\x9f"},
		 {3, 7, "##b"}, {3, 99, ""}, {3, -1, ""}, {4, 11, " a"}, {4, 5, "\xe2\x96\x81"},
		 {4, 12, "\xe9"}};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct lmi_hf_tokenizer *hf;
		struct lmi_tokenizer *tok = open_text(&hf, made_up[t[i].tokenizer].json);
		size_t n = strlen(t[i].piece), have;
		char out[16];

		have = lmi_tokenizer_piece(tok, t[i].id, 0, out, sizeof(out));
		ck_assert_msg(have == n && !memcmp(out, t[i].piece, n), "token %d: %.*s", t[i].id,
			      (int)have, out);
		ck_assert_uint_le(have, lmi_tokenizer_info(tok)->max_piece_bytes);
		ck_assert_uint_eq(lmi_tokenizer_piece(tok, t[i].id, 0, out, n / 2), n);
		lmi_tokenizer_close(tok);
		lmi_hf_tokenizer_close(hf);
	}
}
END_TEST

/* Unsupported features are named in the error message. */
START_TEST(refusals)
{
	static const char *const t[][2] = {
		{"{}", "members \"model\""},
		{"[]", "expected an object"},
		{"{\"model\":{\"type\":\"Magic\",\"vocab\":{\"a\":0}}}", "'Magic' is not known"},
		{"{\"normalizer\":{\"type\":\"Upper\"},\"model\":{\"vocab\":{\"a\":0}}}",
		 "normalizer type 'Upper'"},
		{"{\"pre_tokenizer\":{\"type\":\"Cut\"},\"model\":{\"vocab\":{\"a\":0}}}",
		 "pre-tokenizer type 'Cut'"},
		{"{\"decoder\":{\"type\":\"X\"},\"model\":{\"vocab\":{\"a\":0}}}", "decoder type 'X'"},
		{"{\"post_processor\":{\"type\":\"Y\"},\"model\":{\"vocab\":{\"a\":0}}}", "'Y'"},
		{"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
		 "'b' is not a token"},
		{"{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}",
		 "dropout"},
		{"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", "merge 0"},
		{"{\"model\":{\"vocab\":{\"a\":0,\"b\":0}}}", "same id 0"},
		{"{\"model\":{\"vocab\":{\"a\":99999999}}}", "id 99999999"},
		{"{\"model\":{\"vocab\":{\"a\":4000000}}}", "only 1 tokens"},
		{"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":"
		 "\"Isolated\"},\"model\":{\"vocab\":{\"a\":0}}}", "( without )"},
		{"\n\x09\x08\x01", "field"},
		{"\x12\x02\x18\x02", "no pieces"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct lmi_hf_tokenizer *hf = NULL;
		struct lmi_tokenizer *tok;
		struct lmd_error err = {0};
		enum lmd_status st = lmi_hf_tokenizer_parse(&hf, t[i][0], strlen(t[i][0]), &err);

		if (st == LMD_OK)
			st = lmi_tokenizer_open(&tok, registry, host, lmi_hf_tokenizer_spec(hf),
						&err);
		ck_assert_msg(st != LMD_OK, "%s", t[i][0]);
		ck_assert_msg(strstr(err.text, t[i][1]) != NULL, "%s: %s", t[i][0], err.text);
		lmi_hf_tokenizer_close(hf);
	}
}
END_TEST

/* A SentencePiece model: "<unk>" of type unknown, "a", "b", "ab"; pairs. */
START_TEST(sentencepiece)
{
	static const char model[] = "\x0a\x09\x0a\x05<unk>\x18\x02"
				    "\x0a\x08\x0a\x01" "a\x15\x00\x00\x80\xbf"
				    "\x0a\x08\x0a\x01" "b\x15\x00\x00\x00\xc0"
				    "\x0a\x09\x0a\x02" "ab\x15\x00\x00\x00\x00"
				    "\x12\x05\x18\x02\xc8\x02\x01\x1a\x02\x18\x00";
	struct lmi_hf_tokenizer *hf;
	struct lmi_tokenizer *t;
	struct lmi_tokens ids = {0};
	struct lmd_error err;

	ck_assert_msg(lmi_hf_tokenizer_parse(&hf, model, sizeof(model) - 1, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_str_eq(lmi_hf_tokenizer_spec(hf)->kind, "llama");
	ck_assert_int_eq(lmi_hf_tokenizer_spec(hf)->bos, 1);
	ck_assert_int_eq(lmi_hf_tokenizer_spec(hf)->add_space_prefix, 0);
	ck_assert_msg(lmi_tokenizer_open(&t, registry, host, lmi_hf_tokenizer_spec(hf), &err) ==
			      LMD_OK,
		      "%s", err.text);
	ck_assert_int_eq(lmi_tokenizer_encode(t, "aab", 3, 0, &ids, &err), LMD_OK);
	ck_assert(ids.n == 2 && ids.id[0] == 1 && ids.id[1] == 3);
	lmi_tokens_fini(&ids);
	lmi_tokenizer_close(t);
	lmi_hf_tokenizer_close(hf);
}
END_TEST

/* "a" at the end of a prompt may be the start of "ab". */
START_TEST(healing)
{
	struct lmi_hf_tokenizer *hf;
	struct lmi_tokenizer *t = open_text(&hf, made_up[4].json);
	static const lmd_token ids[] = {2, 3, 1}; /* b c a */
	struct lmi_heal h;

	ck_assert_uint_eq(lmi_heal_begin(&h, t, ids, 3, 3), 2);
	ck_assert(!lmi_heal_done(&h));
	ck_assert(lmi_heal_allows(&h, 4) && lmi_heal_allows(&h, 1));
	ck_assert(!lmi_heal_allows(&h, 2) && !lmi_heal_allows(&h, 19));
	lmi_heal_take(&h, 4);
	ck_assert(lmi_heal_done(&h) && lmi_heal_allows(&h, 2));
	/* no token continues "c"; nothing may be taken back; healing was not requested */
	ck_assert_uint_eq(lmi_heal_begin(&h, t, ids, 2, 1), 2);
	ck_assert(lmi_heal_done(&h));
	ck_assert_uint_eq(lmi_heal_begin(&h, t, ids, 0, 3), 0);
	ck_assert_uint_eq(lmi_heal_begin(&h, t, ids, 3, 0), 3);
	lmi_tokenizer_close(t);
	lmi_hf_tokenizer_close(hf);
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
	tcase_add_loop_test(tc, made_up_tokenizers, 0, (int)LMD_LEN(made_up));
	tcase_add_test(tc, pieces);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, sentencepiece);
	tcase_add_test(tc, healing);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
