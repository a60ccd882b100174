/* SPDX-License-Identifier: MIT
 *
 * Reads tokens as stated in the file: the model's vocabulary and merges, and the added tokens. */
#include <string.h>

#include "core/checkpoint/tokenizer/hf_impl.h"

/* A string without a struct copy.  Vocabularies and merges have hundreds of thousands of strings;
 * pointer and length are passed separately because copying a struct stalls until both halves,
 * written separately, can be loaded as one. */
struct text {
	const char *p;
	size_t n;
	struct lmd_str own;
};

/* Returns the text of a KEY or STRING in t->p and t->n. */
static inline enum lmd_status text_of(struct lmi_hf_tokenizer *h,
				      const struct lmi_json_reader_item *it, struct text *t,
				      struct lmd_error *err)
{
	enum lmd_status st;

	t->p = it->text.ptr;
	t->n = it->text.len;
	if (LMD_LIKELY(!it->escaped))
		return LMD_OK;
	st = lmi_hf_text(h, it, false, &t->own, err);
	if (st == LMD_OK) {
		t->p = t->own.ptr;
		t->n = t->own.len;
	}
	return st;
}

static inline enum lmd_status add_entry(struct lmi_hf_tokenizer *h, const struct text *t,
					int64_t id, double score, struct lmd_error *err)
{
	struct lmi_hf_entry *e;

	if (h->entries.n == LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_INVALID, "more than %u tokens", LMI_HF_MAX_VOCAB);
	if (id < 0 || id >= LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_CORRUPT, "token '%.*s': id %lld, must be 0..%u",
				(int)(t->n < 60 ? t->n : 60), t->p, (long long)id,
				LMI_HF_MAX_VOCAB - 1);
	e = lmi_hf_list_push(&h->entries, sizeof(*e));
	if (!e)
		return lmi_hf_no_memory(err);
	e->text.ptr = t->p;
	e->text.len = t->n;
	e->id = (uint32_t)id;
	e->in_model = true;
	e->score = score;
	return LMD_OK;
}

static enum lmd_status read_added_token(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	static const struct {
		const char *key;
		uint8_t bit;
	} bits[] = {{"special", LMD_ADDED_SPECIAL}, {"single_word", LMD_ADDED_SINGLE_WORD},
		    {"lstrip", LMD_ADDED_LSTRIP}, {"rstrip", LMD_ADDED_RSTRIP},
		    {"normalized", LMD_ADDED_NORMALIZED}};
	struct lmi_hf_entry e = {.added = LMD_ADDED_TOKEN};
	bool has_text = false, has_normalized = false;
	struct lmi_json_reader_item key, it;
	enum lmd_status st = LMD_OK;
	struct lmi_hf_entry *to;

	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_OBJECT_END, &key, &st, err)) {
		st = lmi_json_reader_next(&h->json, &it, err);
		if (st != LMD_OK)
			break;
		if (lmi_json_reader_is(&key, "content") && it.type == LMI_JSON_READER_STRING) {
			st = lmi_hf_text(h, &it, false, &e.text, err);
			has_text = true;
		}
		for (size_t i = 0; i < LMD_LEN(bits); i++) {
			if (it.type == LMI_JSON_READER_BOOL &&
			    lmi_json_reader_is(&key, bits[i].key)) {
				e.added |= it.b ? bits[i].bit : 0;
				has_normalized |= bits[i].bit == LMD_ADDED_NORMALIZED;
			}
		}
		if (st == LMD_OK)
			st = lmi_json_reader_skip(&h->json, &it, err);
	}
	if (st != LMD_OK)
		return st;
	if (!has_text)
		return lmd_fail(err, LMD_CORRUPT, "byte %zu: an added token has no \"content\"",
				lmi_json_reader_pos(&h->json));
	if (!has_normalized && !(e.added & LMD_ADDED_SPECIAL))
		e.added |= LMD_ADDED_NORMALIZED;
	if (!e.text.len)
		return LMD_OK;
	if (h->added.n == LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_INVALID, "more than %u added tokens", LMI_HF_MAX_VOCAB);
	to = lmi_hf_list_push(&h->added, sizeof(*to));
	if (!to)
		return lmi_hf_no_memory(err);
	*to = e;
	return LMD_OK;
}

enum lmd_status lmi_hf_read_added(struct lmi_hf_tokenizer *h,
				  const struct lmi_json_reader_item *begin, struct lmd_error *err)
{
	struct lmi_json_reader_item it;
	enum lmd_status st = LMD_OK;

	if (begin->type != LMI_JSON_READER_ARRAY)
		return lmd_fail(err, LMD_CORRUPT, "\"added_tokens\" is not an array");
	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_ARRAY_END, &it, &st, err)) {
		if (it.type != LMI_JSON_READER_OBJECT)
			return lmd_fail(err, LMD_CORRUPT,
					"byte %zu: an added token must be an object",
					lmi_json_reader_pos(&h->json));
		st = read_added_token(h, err);
	}
	return st;
}

/* Reserves room for the rest of the text, assuming that an item takes about text_bytes of it:
 * memory that is never written costs nothing, but growing a list does.  Reserves a million items at
 * most. */
static bool reserve_expected(const struct lmi_hf_tokenizer *h, struct lmi_hf_list *l,
			     size_t text_bytes, size_t item_bytes)
{
	size_t n = (size_t)(h->json.end - h->json.p) / text_bytes;

	return lmi_hf_list_reserve(l, n < 1u << 20 ? n : 1u << 20, item_bytes);
}

/* Reads {"text": id, ...}. */
static enum lmd_status read_vocab_object(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_json_reader_item key, it;
	enum lmd_status st = LMD_OK;
	int64_t id;

	if (!reserve_expected(h, &h->entries, 24, sizeof(struct lmi_hf_entry)))
		return lmi_hf_no_memory(err);
	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_OBJECT_END, &key, &st, err)) {
		struct text t;

		st = text_of(h, &key, &t, err);
		if (st == LMD_OK)
			st = lmi_json_reader_next(&h->json, &it, err);
		if (st == LMD_OK && !lmi_json_reader_int(&it, &id))
			st = lmd_fail(err, LMD_CORRUPT,
				      "byte %zu: the id of a token must be a number",
				      lmi_json_reader_pos(&h->json));
		if (st == LMD_OK)
			st = add_entry(h, &t, id, 0, err);
	}
	return st;
}

/* Reads [["text", score], ...]. */
static enum lmd_status read_vocab_array(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_json_reader_item it;
	enum lmd_status st = LMD_OK;
	int64_t id = 0;

	h->has_scores = true;
	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_ARRAY_END, &it, &st, err)) {
		double score = 0;
		struct text t;

		if (it.type != LMI_JSON_READER_ARRAY)
			return lmd_fail(err, LMD_CORRUPT, "byte %zu: a token must be [text, score]",
					lmi_json_reader_pos(&h->json));
		st = lmi_hf_expect(h, &it, LMI_JSON_READER_STRING, "the text of a token", err);
		if (st == LMD_OK)
			st = text_of(h, &it, &t, err);
		if (st == LMD_OK)
			st = lmi_hf_expect(h, &it, LMI_JSON_READER_NUMBER, "the score of a token",
					   err);
		if (st == LMD_OK && !lmi_json_reader_double(&it, &score))
			st = lmd_fail(err, LMD_CORRUPT, "byte %zu: a score is out of range",
				      lmi_json_reader_pos(&h->json));
		if (st == LMD_OK)
			st = lmi_hf_expect(h, &it, LMI_JSON_READER_ARRAY_END, "the end of a token",
					   err);
		if (st == LMD_OK)
			st = add_entry(h, &t, id++, score, err);
	}
	return st;
}

/* Adds a merge of n bytes, of which the first `left` are the left piece. */
static inline enum lmd_status add_merge(struct lmi_hf_tokenizer *h, const char *p, size_t n,
					size_t left, struct lmd_error *err)
{
	struct lmd_str *t = lmi_hf_list_push(&h->merges, sizeof(*t));
	uint32_t *l = lmi_hf_list_push(&h->left_bytes, sizeof(*l));

	if (!t || !l)
		return lmi_hf_no_memory(err);
	t->ptr = p;
	t->len = n;
	*l = (uint32_t)left;
	return LMD_OK;
}

/* Reads a merge "left right". */
static enum lmd_status text_merge(struct lmi_hf_tokenizer *h, const struct lmi_json_reader_item *it,
				  struct lmd_error *err)
{
	struct text t;
	enum lmd_status st = text_of(h, it, &t, err);
	size_t left = 0, blanks = 0;

	if (st != LMD_OK)
		return st;
	for (size_t i = 0; i < t.n; i++) {
		left = t.p[i] == ' ' ? i : left;
		blanks += t.p[i] == ' ';
	}
	if (blanks != 1)
		return lmd_fail(err, LMD_CORRUPT,
				"merge %zu: must be two pieces separated by one space",
				h->merges.n);
	return add_merge(h, t.p, t.n, left, err);
}

/* Reads a merge ["left", "right"], after the opening bracket. */
static enum lmd_status pair_merge(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_json_reader_item it;
	struct text part[2];
	char *p;

	for (int i = 0; i < 2 && st == LMD_OK; i++) {
		st = lmi_hf_expect(h, &it, LMI_JSON_READER_STRING, "a part of a merge", err);
		if (st == LMD_OK)
			st = text_of(h, &it, &part[i], err);
	}
	if (st == LMD_OK)
		st = lmi_hf_expect(h, &it, LMI_JSON_READER_ARRAY_END, "the end of a merge", err);
	if (st != LMD_OK)
		return st;
	p = lmi_arena_alloc(h->arena, part[0].n + part[1].n + 1, 1);
	if (!p)
		return lmi_hf_no_memory(err);
	memcpy(p, part[0].p, part[0].n);
	p[part[0].n] = ' ';
	memcpy(p + part[0].n + 1, part[1].p, part[1].n);
	return add_merge(h, p, part[0].n + part[1].n + 1, part[0].n, err);
}

/* Reads a merge "left right" or ["left", "right"]. */
static enum lmd_status read_merge(struct lmi_hf_tokenizer *h, const struct lmi_json_reader_item *it,
				  struct lmd_error *err)
{
	if (it->type == LMI_JSON_READER_STRING)
		return text_merge(h, it, err);
	if (it->type == LMI_JSON_READER_ARRAY)
		return pair_merge(h, err);
	return lmd_fail(err, LMD_CORRUPT, "merge %zu: neither a string nor a pair", h->merges.n);
}

static enum lmd_status read_merges(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_json_reader_item it;
	enum lmd_status st = lmi_hf_expect(h, &it, LMI_JSON_READER_ARRAY, "a list of merges", err);

	if (!reserve_expected(h, &h->merges, 16, sizeof(struct lmd_str)) ||
	    !reserve_expected(h, &h->left_bytes, 16, sizeof(uint32_t)))
		return lmi_hf_no_memory(err);
	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_ARRAY_END, &it, &st, err))
		st = read_merge(h, &it, err);
	return st;
}

enum lmd_status lmi_hf_read_model(struct lmi_hf_tokenizer *h,
				  const struct lmi_json_reader_item *begin, struct lmd_error *err)
{
	struct lmd_str type = {NULL, 0}, key;
	bool has_merges = false, has_prefix = false;
	struct lmi_json_reader_item it;
	enum lmd_status st = LMD_OK;

	if (begin->type != LMI_JSON_READER_OBJECT)
		return lmd_fail(err, LMD_CORRUPT, "\"model\" is not an object");
	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_OBJECT_END, &it, &st, err)) {
		if (lmi_json_reader_is(&it, "type")) {
			st = lmi_hf_expect(h, &it, LMI_JSON_READER_STRING, "the name of a type",
					   err);
			if (st == LMD_OK)
				st = lmi_hf_text(h, &it, true, &type, err);
		} else if (lmi_json_reader_is(&it, "vocab")) {
			st = lmi_json_reader_next(&h->json, &it, err);
			if (st == LMD_OK && it.type == LMI_JSON_READER_OBJECT)
				st = read_vocab_object(h, err);
			else if (st == LMD_OK && it.type == LMI_JSON_READER_ARRAY)
				st = read_vocab_array(h, err);
			else if (st == LMD_OK)
				st = lmd_fail(err, LMD_CORRUPT,
					      "\"vocab\" is neither an object nor an array");
		} else if (lmi_json_reader_is(&it, "merges")) {
			has_merges = true;
			st = read_merges(h, err);
		} else {
			has_prefix |= lmi_json_reader_is(&it, "max_input_chars_per_word");
			st = lmi_hf_text(h, &it, true, &key, err);
			if (st == LMD_OK)
				st = lmi_hf_read_param(h, key.ptr, err);
		}
	}
	if (st != LMD_OK)
		return st;
	if (!type.ptr) /* old files do not state the type */
		type.ptr = h->has_scores ? "Unigram"
			   : has_merges	 ? "BPE"
			   : has_prefix	 ? "WordPiece"
					 : "WordLevel";
	return lmi_hf_add_step(h, LMD_TOK_MODEL, type.ptr, 0, err);
}
