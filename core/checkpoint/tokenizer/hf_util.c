/* SPDX-License-Identifier: MIT
 *
 * What the parts of the tokenizer readers share: growing lists, texts and errors. */
#include <string.h>

#include "core/checkpoint/tokenizer/hf_impl.h"

bool lmi_hf_list_reserve(struct lmi_hf_list *l, size_t n, size_t item_bytes)
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

void lmi_hf_list_shrink(struct lmi_hf_list *l, size_t item_bytes)
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

enum lmd_status lmi_hf_expect(struct lmi_hf_tokenizer *h, struct lmi_json_reader_item *it,
			      enum lmi_json_reader_type type, const char *what,
			      struct lmd_error *err)
{
	enum lmd_status st = lmi_json_reader_next(&h->json, it, err);

	if (st == LMD_OK && it->type != type)
		st = lmd_fail(err, LMD_CORRUPT, "byte %zu: expected %s",
			      lmi_json_reader_pos(&h->json), what);
	return st;
}

enum lmd_status lmi_hf_text(struct lmi_hf_tokenizer *h, const struct lmi_json_reader_item *it,
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
		out->len = lmi_json_reader_unescape(it, p);
	} else {
		memcpy(p, it->text.ptr, it->text.len);
		out->len = it->text.len;
	}
	out->ptr = p;
	return LMD_OK;
}
