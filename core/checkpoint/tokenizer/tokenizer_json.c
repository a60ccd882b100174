/* SPDX-License-Identifier: MIT
 *
 * Top level of the tokenizer.json reader: the members of the outermost object, and the final
 * steps. */
#include "core/checkpoint/tokenizer/hf_tokenizer.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/tokenizer/hf_impl.h"

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
static enum lmd_status read_member(struct lmi_hf_tokenizer *h,
				   const struct lmi_json_reader_item *key, struct lmd_error *err)
{
	struct lmi_json_reader_item it;
	enum lmd_status st = lmi_json_reader_next(&h->json, &it, err);

	if (st != LMD_OK || it.type == LMI_JSON_READER_NULL)
		return st;
	if (lmi_json_reader_is(key, "normalizer"))
		return lmi_hf_read_steps(h, &it, LMD_TOK_NORMALIZE, err);
	if (lmi_json_reader_is(key, "pre_tokenizer"))
		return lmi_hf_read_steps(h, &it, LMD_TOK_SPLIT, err);
	if (lmi_json_reader_is(key, "decoder"))
		return lmi_hf_read_steps(h, &it, LMD_TOK_DECODE, err);
	if (lmi_json_reader_is(key, "added_tokens"))
		return lmi_hf_read_added(h, &it, err);
	if (lmi_json_reader_is(key, "model"))
		return lmi_hf_read_model(h, &it, err);
	if (lmi_json_reader_is(key, "post_processor"))
		return lmi_hf_read_post(h, &it, err);
	return lmi_json_reader_skip(&h->json, &it, err);
}

/* Sorts the steps by phase, whatever their order in the file. */
static enum lmd_status order_steps(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmd_tok_step *s = lmi_arena_array(h->arena, h->spec.n_step + 1, sizeof(*s));
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
	struct lmi_json_reader_item it;
	enum lmd_status st;

	lmi_json_reader_init(&h->json, text, bytes);
	st = lmi_hf_expect(h, &it, LMI_JSON_READER_OBJECT, "an object", err);
	while (lmi_json_reader_more(&h->json, LMI_JSON_READER_OBJECT_END, &it, &st, err))
		st = read_member(h, &it, err);
	if (st == LMD_OK)
		st = lmi_json_reader_next(&h->json, &it, err); /* nothing may follow */
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
	struct lmd_tok_spec *s;

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

const struct lmd_tok_spec *lmi_hf_tokenizer_spec(const struct lmi_hf_tokenizer *t)
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
	lmi_free(t->left_bytes.p);
	lmi_arena_destroy(t->arena);
	lmi_map_close(&t->map);
	lmi_free(t);
}
