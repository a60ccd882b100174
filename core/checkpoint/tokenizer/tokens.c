/* SPDX-License-Identifier: MIT
 *
 * Builds the arrays of the spec from the tokens and merges that were read.
 *
 * Ids may come in any order and may have gaps, which get no text.  An added token with the same
 * text as a token of the model gets that token's id; the others are numbered after the model's
 * tokens in the order of the file, whatever ids it states. */
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/tokenizer/hf_impl.h"

static int by_text(const void *a, const void *b)
{
	const struct lmi_hf_entry *x = *(struct lmi_hf_entry *const *)a;
	const struct lmi_hf_entry *y = *(struct lmi_hf_entry *const *)b;
	size_t n = x->text.len < y->text.len ? x->text.len : y->text.len;
	int c = memcmp(x->text.ptr, y->text.ptr, n);

	if (!c)
		c = (x->text.len > y->text.len) - (x->text.len < y->text.len);
	return c ? c : (x > y) - (x < y); /* equal texts stay in file order */
}

/* Returns the first sorted entry whose text is not below s; n if there is none. */
static size_t lower_bound(struct lmi_hf_entry *const *sorted, size_t n, const struct lmd_str *s)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;
		const struct lmd_str *t = &sorted[mid]->text;
		int c = memcmp(t->ptr, s->ptr, t->len < s->len ? t->len : s->len);

		if (c < 0 || (!c && t->len < s->len))
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

static bool same_text(const struct lmd_str *a, const struct lmd_str *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

/* Assigns ids to the added tokens. */
static enum lmd_status number_added(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_hf_entry *added = h->added.p, **sorted;
	const struct lmi_hf_entry *e = h->entries.p;
	uint64_t lengths[256] = {0}; /* for each first byte: a bit for each length modulo 64 */
	uint32_t next = (uint32_t)h->entries.n;
	size_t n = h->added.n, k;

	sorted = lmi_arena_array(h->arena, n + 1, sizeof(struct lmi_hf_entry *));
	if (!sorted)
		return lmi_hf_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		added[i].id = UINT32_MAX;
		sorted[i] = &added[i];
		lengths[(unsigned char)*added[i].text.ptr] |= 1ull << (added[i].text.len & 63);
	}
	qsort(sorted, n, sizeof(struct lmi_hf_entry *), by_text);
	for (size_t i = 0; i < h->entries.n; i++) {
		const struct lmd_str *t = &e[i].text;

		if (!t->len || !(lengths[(unsigned char)*t->ptr] >> (t->len & 63) & 1))
			continue;
		k = lower_bound(sorted, n, t);
		if (k < n && same_text(t, &sorted[k]->text))
			sorted[k]->id = e[i].id;
	}
	for (size_t i = 0; i < n; i++) { /* duplicates get the id of the first one */
		k = lower_bound(sorted, n, &added[i].text);
		if (sorted[k]->id == UINT32_MAX)
			sorted[k]->id = next++;
		added[i].id = sorted[k]->id;
	}
	return next <= LMI_HF_MAX_VOCAB ? LMD_OK
					: lmd_fail(err, LMD_INVALID, "more than %u tokens",
						   LMI_HF_MAX_VOCAB);
}

bool lmi_hf_count_ids(const struct lmi_hf_tokenizer *h, uint32_t *n)
{
	const struct lmi_hf_list *lists[] = {&h->entries, &h->added};

	*n = 0;
	for (size_t k = 0; k < LMD_LEN(lists); k++) {
		const struct lmi_hf_entry *e = lists[k]->p;

		for (size_t i = 0; i < lists[k]->n; i++)
			*n = e[i].id >= *n ? e[i].id + 1 : *n;
	}
	return *n <= 4 * (h->entries.n + h->added.n) + 65536;
}

/* Adds the exact scores as a parameter of the model. */
static enum lmd_status keep_scores(struct lmi_hf_tokenizer *h, const double *score, uint32_t n,
				   struct lmd_error *err)
{
	for (uint32_t i = 0; i < h->spec.n_step; i++) {
		struct lmd_tok_step *s = (struct lmd_tok_step *)(uintptr_t)&h->spec.step[i];
		struct lmd_meta *p;

		if (s->phase != LMD_TOK_MODEL)
			continue;
		p = lmi_arena_array(h->arena, s->n_param + 1u, sizeof(*p));
		if (!p)
			return lmi_hf_no_memory(err);
		memcpy(p, s->param, s->n_param * sizeof(*p));
		p[s->n_param] = (struct lmd_meta){
			.key = "scores", .type = LMD_META_ARR_F64, .n = n, .v.a = score};
		s->param = p;
		s->n_param++;
	}
	return LMD_OK;
}

static enum lmd_status check_added_ids(const struct lmi_hf_tokenizer *h, const int32_t *id,
				       uint32_t n, struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++)
		if (id[i] < 0 || (uint32_t)id[i] >= h->spec.n_tokens)
			return lmd_fail(err, LMD_CORRUPT,
					"post_processor: token %d, must be below %u", id[i],
					h->spec.n_tokens);
	return LMD_OK;
}

/* Sets the tokens that are added around a text. */
static enum lmd_status finish_prefix_suffix(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmd_tok_spec *s = &h->spec;
	enum lmd_status st = check_added_ids(h, h->prefix, s->n_prefix, err);

	if (st == LMD_OK)
		st = check_added_ids(h, h->suffix, s->n_suffix, err);
	s->prefix = h->prefix;
	s->suffix = h->suffix;
	if (s->n_prefix)
		s->bos = h->prefix[0];
	if (s->n_suffix)
		s->eos = h->suffix[s->n_suffix - 1];
	return st;
}

enum lmd_status lmi_hf_finish_vocab(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	const struct lmi_hf_entry *e = h->entries.p, *a = h->added.p;
	struct lmd_tok_spec *s = &h->spec;
	enum lmd_status st = number_added(h, err);
	struct lmd_str *text;
	uint8_t *type, *added;
	double *score;
	uint32_t n;

	if (st != LMD_OK)
		return st;
	if (!lmi_hf_count_ids(h, &n))
		return lmd_fail(err, LMD_CORRUPT, "token id %u, but there are only %zu tokens",
				n - 1, h->entries.n + h->added.n);
	text = lmi_arena_array(h->arena, n + 1u, sizeof(*text));
	type = lmi_arena_array(h->arena, n + 1u, 1);
	added = lmi_arena_array(h->arena, n + 1u, 1);
	score = h->has_scores ? lmi_arena_array(h->arena, n + 1u, sizeof(*score)) : NULL;
	if (!text || !type || !added || (h->has_scores && !score))
		return lmi_hf_no_memory(err);
	memset(type, LMD_TOKEN_UNUSED, n);
	for (size_t i = 0; i < h->entries.n; i++) {
		struct lmd_str *t = &text[e[i].id];

		if (t->ptr && !same_text(t, &e[i].text))
			return lmd_fail(err, LMD_CORRUPT,
					"tokens '%.*s' and '%.*s' have the same id %u",
					(int)(t->len < 60 ? t->len : 60), t->ptr,
					(int)(e[i].text.len < 60 ? e[i].text.len : 60),
					e[i].text.ptr, e[i].id);
		*t = e[i].text;
		type[e[i].id] = LMD_TOKEN_NORMAL;
		if (score)
			score[e[i].id] = e[i].score;
	}
	for (size_t i = 0; i < h->added.n; i++) { /* of duplicates the last one counts */
		bool only = !text[a[i].id].ptr || (added[a[i].id] & LMD_ADDED_ONLY);

		added[a[i].id] = a[i].added | (only ? LMD_ADDED_ONLY : 0);
		text[a[i].id] = a[i].text;
		type[a[i].id] = a[i].added & LMD_ADDED_SPECIAL ? LMD_TOKEN_CONTROL
							       : LMD_TOKEN_USER_DEFINED;
	}
	s->n_tokens = n;
	s->text = text;
	s->type = type;
	s->added = added;
	if (score)
		st = keep_scores(h, score, n, err);
	lmi_hf_list_shrink(&h->merges, sizeof(struct lmd_str));
	lmi_hf_list_shrink(&h->left_bytes, sizeof(uint32_t));
	s->n_merges = h->merges.n;
	s->merge = h->merges.p;
	s->merge_left = h->left_bytes.p;
	return st == LMD_OK ? finish_prefix_suffix(h, err) : st;
}
