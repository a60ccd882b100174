/* SPDX-License-Identifier: MIT
 *
 * Top level of the tokenizer.json reader: the members of the outermost object, and the final
 * steps. */
#include "core/format/hf/hf.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/format/hf/reader.h"

bool lmi_hf_reserve(struct lmi_hf_list *l, size_t n, size_t item_bytes)
{
	void *p;

	if (n <= l->cap)
		return true;
	p = lmi_realloc(l->p, n, item_bytes);
	if (!p)
		return false;
	l->p = p;
	l->cap = n;
	return true;
}

void lmi_hf_settle(struct lmi_hf_list *l, size_t item_bytes)
{
	size_t n = l->n ? l->n : 1;
	void *p = n < l->cap ? lmi_realloc(l->p, n, item_bytes) : NULL;

	if (p) { /* on failure the list keeps its size */
		l->p = p;
		l->cap = n;
	}
}

enum lmd_status lmi_hf_no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory, or more than %u bytes of tables",
			LMI_HF_MAX_HEAP);
}

enum lmd_status lmi_hf_want(struct lmi_hf_tokenizer *h, struct lmi_jr_item *it,
			    enum lmi_jr_type type, const char *what, struct lmd_error *err)
{
	enum lmd_status st = lmi_jr_next(&h->json, it, err);

	if (st == LMD_OK && it->type != type)
		st = lmd_fail(err, LMD_CORRUPT, "byte %zu: expected %s", lmi_jr_pos(&h->json),
			      what);
	return st;
}

enum lmd_status lmi_hf_text(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *it,
			    bool terminated, struct lmd_str *out, struct lmd_error *err)
{
	char *p;

	if (!it->escaped && !terminated) {
		*out = it->text;
		return LMD_OK;
	}
	p = lmi_arena_alloc(h->arena, it->text.len + 1, 1);
	if (!p)
		return lmi_hf_no_memory(err);
	if (it->escaped) {
		out->len = lmi_jr_unescape(it, p);
	} else {
		memcpy(p, it->text.ptr, it->text.len);
		out->len = it->text.len;
	}
	out->ptr = p;
	return LMD_OK;
}

/* Frees what is only needed while reading. */
static void drop_lists(struct lmi_hf_tokenizer *h)
{
	struct lmi_hf_list *const lists[] = {&h->entries, &h->added, &h->params};

	for (size_t i = 0; i < LMD_LEN(lists); i++) {
		lmi_free(lists[i]->p);
		*lists[i] = (struct lmi_hf_list){NULL, 0, 0};
	}
}

/* Reads one member of the outermost object. */
static enum lmd_status read_member(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *key,
				   struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_jr_next(&h->json, &it, err);

	if (st != LMD_OK || it.type == LMI_JR_NULL)
		return st;
	if (lmi_jr_is(key, "normalizer"))
		return lmi_hf_read_steps(h, &it, LMD_TOK_NORMALIZE, err);
	if (lmi_jr_is(key, "pre_tokenizer"))
		return lmi_hf_read_steps(h, &it, LMD_TOK_SPLIT, err);
	if (lmi_jr_is(key, "decoder"))
		return lmi_hf_read_steps(h, &it, LMD_TOK_DECODE, err);
	if (lmi_jr_is(key, "added_tokens"))
		return lmi_hf_read_added(h, &it, err);
	if (lmi_jr_is(key, "model"))
		return lmi_hf_read_model(h, &it, err);
	if (lmi_jr_is(key, "post_processor"))
		return lmi_hf_read_post(h, &it, err);
	return lmi_jr_skip(&h->json, &it, err);
}

/* Sorts the steps by phase, whatever their order in the file. */
static enum lmd_status order_steps(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmd_tokstep *s = lmi_arena_array(h->arena, h->spec.n_step + 1, sizeof(*s));
	uint32_t n = 0, models = 0;

	if (!s)
		return lmi_hf_no_memory(err);
	for (uint32_t phase = LMD_TOK_NORMALIZE; phase <= LMD_TOK_DECODE; phase++)
		for (uint32_t i = 0; i < h->spec.n_step; i++)
			if (h->steps[i].phase == phase) {
				s[n++] = h->steps[i];
				models += phase == LMD_TOK_MODEL;
			}
	h->spec.step = s;
	if (models != 1)
		return lmd_fail(err, LMD_CORRUPT, "%u members \"model\", must be 1", models);
	return LMD_OK;
}

enum lmd_status lmi_hf_parse(struct lmi_hf_tokenizer *h, const char *text, size_t bytes,
			     struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st;

	lmi_jr_init(&h->json, text, bytes);
	st = lmi_hf_want(h, &it, LMI_JR_OBJECT, "an object", err);
	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err))
		st = read_member(h, &it, err);
	if (st == LMD_OK)
		st = lmi_jr_next(&h->json, &it, err); /* nothing may follow */
	if (st == LMD_OK)
		st = order_steps(h, err);
	if (st == LMD_OK)
		st = lmi_hf_finish_vocab(h, err);
	drop_lists(h);
	return st;
}

struct lmi_hf_tokenizer *lmi_hf_create(void)
{
	struct lmi_hf_tokenizer *h = lmi_alloc(1, sizeof(*h));
	struct lmd_tokspec *s;

	if (!h)
		return NULL;
	h->arena = lmi_arena_create(LMI_HF_MAX_HEAP);
	if (!h->arena) {
		lmi_free(h);
		return NULL;
	}
	s = &h->spec;
	s->struct_size = sizeof(*s);
	s->kind = "hf";
	s->bos = s->eos = s->eot = s->eom = s->unk = s->sep = s->pad = s->cls = s->mask = -1;
	s->fim_pre = s->fim_suf = s->fim_mid = s->fim_pad = s->fim_rep = s->fim_sep = -1;
	s->add_bos = s->add_eos = s->add_sep = 0;
	s->add_space_prefix = s->remove_extra_whitespaces = s->escape_whitespaces = -1;
	s->treat_whitespace_as_suffix = s->ignore_merges = s->clean_spaces = -1;
	s->lowercase = s->strip_accents = s->reserved = -1;
	return h;
}

/* True if the text begins without control characters other than white space. */
static bool is_text(const char *s, size_t n)
{
	for (size_t i = 0; i < n && i < 8; i++)
		if ((unsigned char)s[i] < 0x20 && s[i] != '\n' && s[i] != '\t' && s[i] != '\r')
			return false;
	return true;
}

enum lmd_status lmi_hf_tokenizer_parse(struct lmi_hf_tokenizer **out, const char *text,
				       size_t bytes, struct lmd_error *err)
{
	struct lmi_hf_tokenizer *h = lmi_hf_create();
	enum lmd_status st;

	if (!h)
		return lmi_hf_no_memory(err);
	if (is_text(text, bytes))
		st = lmi_hf_parse(h, text, bytes, err);
	else
		st = lmi_hf_parse_sentencepiece(h, text, bytes, err);
	if (st == LMD_OK)
		*out = h;
	else
		lmi_hf_tokenizer_close(h);
	return st;
}

const struct lmd_tokspec *lmi_hf_tokenizer_spec(const struct lmi_hf_tokenizer *t)
{
	return &t->spec;
}

struct lmd_str lmi_hf_tokenizer_template(const struct lmi_hf_tokenizer *t)
{
	return t->chat_template;
}

void lmi_hf_tokenizer_close(struct lmi_hf_tokenizer *t)
{
	if (!t)
		return;
	drop_lists(t);
	lmi_free(t->merges.p);
	lmi_free(t->lefts.p);
	lmi_arena_destroy(t->arena);
	lmi_map_close(&t->map);
	lmi_free(t);
}
