/* SPDX-License-Identifier: MIT
 *
 * Four kinds have an equivalent in tokenizer.json: "gpt2" is byte-level BPE whose steps are the
 * expressions of its pre-tokenizer; "llama" is BPE with byte tokens, whose merges are all ways to
 * build each token from two others, best score first; "bert" is WordPiece; "t5" is Unigram. */
#include "plugins/tokenizer/hf_write.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tokenizer/bpe/pretok.h"

#define BLOCK "\xe2\x96\x81" /* U+2581 */

struct writer {
	const struct lmd_tok_spec *spec;
	const struct lmd_tok_info *info;
};

static json_t *text_of(const struct lmd_str *s)
{
	return json_stringn(s->ptr, s->len);
}

static json_t *token_text(const struct writer *w, uint32_t id)
{
	return text_of(&w->spec->text[id]);
}

static uint8_t type_of(const struct writer *w, uint32_t id)
{
	return w->spec->type ? w->spec->type[id] : LMD_TOKEN_NORMAL;
}

/* Keys are C strings: vocabulary texts contain no NUL, except in files made for that purpose. */
static void set_id(json_t *vocab, const char *prefix, const char *s, size_t n, uint32_t id)
{
	char key[1024];

	if (snprintf(key, sizeof(key), "%s%.*s", prefix, (int)n, s) < (int)sizeof(key))
		json_object_set_new(vocab, key, json_integer((json_int_t)id));
}

static const json_t *find_id(const json_t *vocab, const char *s, size_t n)
{
	char key[1024];

	return snprintf(key, sizeof(key), "%.*s", (int)n, s) < (int)sizeof(key)
		       ? json_object_get(vocab, key)
		       : NULL;
}

/* {"type": type} */
static json_t *step(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

static json_t *split(const char *expression)
{
	return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex",
			 expression, "behavior", "Isolated", "invert", 0);
}

/* Tokens that end or frame something are special, whatever type the file gives them. */
static bool has_role(const struct writer *w, uint32_t id)
{
	const struct lmd_tok_info *f = w->info;
	const int32_t roles[] = {f->eot,     f->eom,     f->fim_pre, f->fim_suf,
				 f->fim_mid, f->fim_pad, f->fim_rep, f->fim_sep};

	for (size_t i = 0; i < LMD_LEN(roles); i++)
		if (roles[i] == (int32_t)id)
			return true;
	for (uint32_t i = 0; i < f->n_eog; i++)
		if (f->eog[i] == (int32_t)id)
			return true;
	return false;
}

/* In one model family most special tokens strip the white space after them; model files do not
 * record this. */
static bool strips_space(const struct writer *w, const struct lmd_str *t)
{
	static const char *const not[] = {"<s>", "<unk>", "<|endoftext|>"};

	for (size_t i = 0; i < LMD_LEN(not); i++)
		if (t->len == strlen(not[i]) && !memcmp(t->ptr, not[i], t->len))
			return false;
	return w->spec->model && !strncasecmp(w->spec->model, "phi3", 4);
}

/* The tokens that are matched verbatim in a text. */
static json_t *added_tokens(const struct writer *w)
{
	json_t *list = json_array();

	for (uint32_t id = 0; id < w->spec->n_tokens; id++) {
		uint8_t type = type_of(w, id);
		bool special =
			type == LMD_TOKEN_CONTROL || type == LMD_TOKEN_UNKNOWN || has_role(w, id);

		if (special || type == LMD_TOKEN_USER_DEFINED)
			json_array_append_new(
				list,
				json_pack("{s:i, s:o, s:b, s:b, s:b, s:b, s:b}", "id", (int)id,
					  "content", token_text(w, id), "special", special,
					  "single_word", 0, "lstrip", 0, "rstrip",
					  strips_space(w, &w->spec->text[id]), "normalized", 0));
	}
	return list;
}

/* The begin and end tokens around a text, as far as they are added. */
static json_t *post_processor(const struct writer *w)
{
	const struct lmd_tok_info *f = w->info;
	int32_t front = f->add_bos ? f->bos : -1;
	int32_t back = f->add_sep ? f->sep : f->add_eos ? f->eos : -1;
	json_t *single = json_array(), *ids = json_object();
	const int32_t around[] = {front, back};
	const char *const name[] = {"front", "back"};

	for (int i = 0; i < 2; i++) {
		if (i)
			json_array_append_new(single, json_pack("{s:{s:s, s:i}}", "Sequence", "id",
								"A", "type_id", 0));
		if (around[i] < 0)
			continue;
		json_array_append_new(single, json_pack("{s:{s:s, s:i}}", "SpecialToken",
								     "id", name[i], "type_id", 0));
		json_object_set_new(ids, name[i],
				    json_pack("{s:s, s:[i], s:[s]}", "id", name[i], "ids",
					      around[i], "tokens", name[i]));
	}
	return json_pack("{s:s, s:o, s:[], s:o}", "type", "TemplateProcessing", "single", single,
			 "pair", "special_tokens", ids);
}

/* Replaces a blank by U+2581, and adds one in front if the vocabulary says so. */
static json_t *block_normalizer(const struct writer *w)
{
	json_t *list = json_array();

	if (w->info->add_space_prefix)
		json_array_append_new(list,
				      json_pack("{s:s, s:s}", "type", "Prepend", "prepend", BLOCK));
	json_array_append_new(list, json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
					      "String", " ", "content", BLOCK));
	return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", list);
}

static json_t *block_decoder(const struct writer *w)
{
	json_t *list =
		json_pack("[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}]", "type", "Replace", "pattern",
			  "String", BLOCK, "content", " ", "type", "ByteFallback", "type", "Fuse");

	if (w->info->add_space_prefix)
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip",
						      "content", " ", "start", 1, "stop", 0));
	return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", list);
}

static json_t *vocab_object(const struct writer *w)
{
	json_t *vocab = json_object();

	for (uint32_t id = 0; id < w->spec->n_tokens; id++)
		set_id(vocab, "", w->spec->text[id].ptr, w->spec->text[id].len, id);
	return vocab;
}

/* The merges of the file, "left right", as far as all three texts are tokens: a tokenizer.json
 * must not contain others. */
static json_t *file_merges(const struct writer *w, const json_t *vocab)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < w->spec->n_merges; i++) {
		const struct lmd_str *m = &w->spec->merge[i];
		size_t left = (size_t)((const char *)memchr(m->ptr + 1, ' ', m->len - 1) - m->ptr);
		size_t right = m->len - left - 1;
		char join[1024];

		if (left + right > sizeof(join))
			continue;
		memcpy(join, m->ptr, left);
		memcpy(join + left, m->ptr + left + 1, right);
		if (find_id(vocab, m->ptr, left) && find_id(vocab, m->ptr + left + 1, right) &&
		    find_id(vocab, join, left + right))
			json_array_append_new(list, text_of(m));
	}
	return list;
}

static json_t *write_gpt2(struct writer *w)
{
	const struct pretok_name *pre = pretok_find(w->spec->pre ? w->spec->pre : "default");
	json_t *steps = json_array(), *vocab = vocab_object(w);

	if (!pre || (pre->flags & (PRETOK_PLAIN | PRETOK_ESCAPE_SPACE | PRETOK_KEEP_LINE_FEEDS)))
		return NULL;
	for (const char *const *s = pre->family->step; *s; s++) {
		const char *expression = !strcmp(*s, PRETOK_END_SPACE) ? "\\s+\\z" : *s;

		if (*expression == ':')
			return NULL;
		json_array_append_new(steps, split(expression));
	}
	json_array_append_new(steps, json_pack("{s:s, s:b, s:b}", "type", "ByteLevel",
					       "add_prefix_space", 0, "use_regex", 0));
	return json_pack("{s:n, s:{s:s, s:o}, s:o, s:{s:s, s:b, s:o, s:o}}", "normalizer",
			 "pre_tokenizer", "type", "Sequence", "pretokenizers", steps, "decoder",
			 step("ByteLevel"), "model", "type", "BPE", "ignore_merges",
			 (pre->flags & PRETOK_IGNORE_MERGES) != 0, "vocab", vocab, "merges",
			 file_merges(w, vocab));
}

/* A way to build a token from two others. */
struct way {
	float score;
	uint32_t id, left; /* left: in bytes */
};

static int by_score(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->left < y->left ? -1 : 1;
}

static bool is_part(const struct writer *w, const json_t *vocab, const char *s, size_t n)
{
	const json_t *id = find_id(vocab, s, n);
	uint8_t type = id ? type_of(w, (uint32_t)json_integer_value(id)) : LMD_TOKEN_UNUSED;

	return type == LMD_TOKEN_NORMAL;
}

static json_t *scored_merges(const struct writer *w, const json_t *vocab)
{
	json_t *list = json_array();
	struct way *way = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t id = 0; id < w->spec->n_tokens; id++) {
		const struct lmd_str *t = &w->spec->text[id];

		for (size_t at = 1; type_of(w, id) == LMD_TOKEN_NORMAL && at < t->len; at++) {
			if (!is_part(w, vocab, t->ptr, at) ||
			    !is_part(w, vocab, t->ptr + at, t->len - at))
				continue;
			if (n == cap) {
				cap = cap ? 2 * cap : 4096;
				way = realloc(way, cap * sizeof(*way));
			}
			way[n++] = (struct way){w->spec->score[id], id, (uint32_t)at};
		}
	}
	if (n)
		qsort(way, n, sizeof(*way), by_score);
	for (size_t i = 0; i < n; i++) {
		const struct lmd_str *t = &w->spec->text[way[i].id];

		json_array_append_new(list, json_pack("[s%, s%]", t->ptr, (size_t)way[i].left,
						      t->ptr + way[i].left, t->len - way[i].left));
	}
	free(way);
	return list;
}

static json_t *write_llama(struct writer *w)
{
	json_t *vocab = vocab_object(w), *merges = scored_merges(w, vocab);

	return json_pack("{s:o, s:n, s:o, s:{s:s, s:b, s:b, s:o, s:o, s:o}}", "normalizer",
			 block_normalizer(w), "pre_tokenizer", "decoder", block_decoder(w), "model",
			 "type", "BPE", "byte_fallback", 1, "fuse_unk", 1, "unk_token",
			 token_text(w, (uint32_t)w->info->unk), "vocab", vocab, "merges", merges);
}

/* In the model file, words start with U+2581; in tokenizer.json, parts that do not start a word
 * have a prefix. */
static json_t *write_bert(struct writer *w)
{
	const struct lmd_tok_spec *s = w->spec;
	json_t *vocab = json_object();

	for (uint32_t id = 0; id < s->n_tokens; id++) {
		const struct lmd_str *t = &s->text[id];
		bool begins = t->len > 3 && !memcmp(t->ptr, BLOCK, 3);

		if (begins)
			set_id(vocab, "", t->ptr + 3, t->len - 3, id);
		else
			set_id(vocab, type_of(w, id) == LMD_TOKEN_NORMAL ? "##" : "", t->ptr,
			       t->len, id);
	}
	return json_pack("{s:{s:s, s:b, s:b, s:b, s:b}, s:o, s:o, s:{s:s, s:s, s:s, s:i, s:o}}",
			 "normalizer", "type", "BertNormalizer", "clean_text", 1,
			 "handle_chinese_chars", 1, "lowercase", s->lowercase != 0, "strip_accents",
			 s->strip_accents >= 0 ? s->strip_accents : s->lowercase != 0,
			 "pre_tokenizer", step("BertPreTokenizer"), "decoder", step("WordPiece"),
			 "model", "type", "WordPiece", "unk_token", "[UNK]",
			 "continuing_subword_prefix", "##", "max_input_chars_per_word", 1 << 20,
			 "vocab", vocab);
}

static json_t *write_t5(struct writer *w)
{
	const struct lmd_tok_spec *s = w->spec;
	json_t *vocab;

	if (s->charsmap.len || s->remove_extra_whitespaces > 0)
		return NULL;
	vocab = json_array();
	for (uint32_t id = 0; id < s->n_tokens; id++)
		json_array_append_new(vocab,
				      json_pack("[o, f]", token_text(w, id), (double)s->score[id]));
	return json_pack("{s:o, s:n, s:o, s:{s:s, s:i, s:o}}", "normalizer", block_normalizer(w),
			 "pre_tokenizer", "decoder", block_decoder(w), "model", "type", "Unigram",
			 "unk_id", w->info->unk, "vocab", vocab);
}

char *hf_write(const struct lmd_tok_spec *spec, const struct lmd_tok_info *info)
{
	static const struct {
		const char *kind;
		json_t *(*write)(struct writer *w);
	} kinds[] = {{"gpt2", write_gpt2},
		     {"llama", write_llama},
		     {"bert", write_bert},
		     {"t5", write_t5}};
	struct writer w = {.spec = spec, .info = info};
	json_t *j = NULL;
	char *text;

	for (size_t i = 0; i < LMD_LEN(kinds); i++)
		if (spec->kind && !strcmp(spec->kind, kinds[i].kind))
			j = kinds[i].write(&w);
	if (!j)
		return NULL;
	json_object_set_new(j, "added_tokens", added_tokens(&w));
	json_object_set_new(j, "post_processor", post_processor(&w));
	text = json_dumps(j, JSON_INDENT(1));
	json_decref(j);
	return text;
}
