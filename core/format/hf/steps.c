/* SPDX-License-Identifier: MIT
 *
 * Reads normalizers, pre-tokenizers and decoders: objects with a type and parameters, or sequences
 * of such objects, which are flattened. */
#include <stdio.h>
#include <string.h>

#include "core/format/hf/reader.h"

enum lmd_status lmi_hf_add_param(struct lmi_hf_tokenizer *h, const struct lmd_meta *v,
				 struct lmd_error *err)
{
	struct lmd_meta *p = lmi_hf_push(&h->params, sizeof(*p));

	if (!p)
		return lmi_hf_no_memory(err);
	*p = *v;
	return LMD_OK;
}

/* Stores a scalar as a parameter; false if the item is not one. */
static bool read_scalar(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *it,
			struct lmd_meta *v, enum lmd_status *st, struct lmd_error *err)
{
	int64_t i;
	double d;

	*st = LMD_OK;
	v->n = 1;
	switch (it->type) {
	case LMI_JR_BOOL:
		v->type = LMD_META_BOOL;
		v->v.i = it->b;
		return true;
	case LMI_JR_STRING:
		v->type = LMD_META_STR;
		*st = lmi_hf_text(h, it, true, &v->v.s, err);
		return true;
	case LMI_JR_NUMBER:
		if (lmi_jr_int(it, &i)) {
			v->type = LMD_META_I64;
			v->v.i = i;
			return true;
		}
		if (lmi_jr_double(it, &d)) {
			v->type = LMD_META_F64;
			v->v.f = d;
			return true;
		}
		return false;
	default:
		return false;
	}
}

/* Adds the members of an object as KEY.MEMBER; nested values are skipped. */
static enum lmd_status read_members(struct lmi_hf_tokenizer *h, const char *key,
				    struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_jr_item it;

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		struct lmd_meta v = {0};
		struct lmd_str name;

		st = lmi_hf_text(h, &it, false, &name, err);
		if (st == LMD_OK)
			st = lmi_jr_next(&h->json, &it, err);
		if (st != LMD_OK)
			break;
		v.key = lmi_arena_printf(h->arena, "%s.%.*s", key,
					 (int)(name.len < 64 ? name.len : 64), name.ptr);
		if (!v.key)
			st = lmi_hf_no_memory(err);
		else if (!read_scalar(h, &it, &v, &st, err))
			st = lmi_jr_skip(&h->json, &it, err);
		else if (st == LMD_OK)
			st = lmi_hf_add_param(h, &v, err);
	}
	return st;
}

enum lmd_status lmi_hf_read_param(struct lmi_hf_tokenizer *h, const char *key,
				  struct lmd_error *err)
{
	struct lmd_meta v = {.key = key};
	struct lmi_jr_item it;
	enum lmd_status st = lmi_jr_next(&h->json, &it, err);

	if (st != LMD_OK)
		return st;
	if (it.type == LMI_JR_OBJECT)
		return read_members(h, key, err);
	if (!read_scalar(h, &it, &v, &st, err))
		return lmi_jr_skip(&h->json, &it, err);
	return st == LMD_OK ? lmi_hf_add_param(h, &v, err) : st;
}

enum lmd_status lmi_hf_add_step(struct lmi_hf_tokenizer *h, enum lmd_tok_phase phase,
				const char *type, size_t first, struct lmd_error *err)
{
	size_t n = h->params.n - first;
	struct lmd_meta *param;

	if (h->spec.n_step == LMI_HF_MAX_STEPS)
		return lmd_fail(err, LMD_UNSUPPORTED, "more than %d steps", LMI_HF_MAX_STEPS);
	param = lmi_arena_array(h->arena, n + 1, sizeof(*param));
	if (!param)
		return lmi_hf_no_memory(err);
	if (n)
		memcpy(param, (struct lmd_meta *)h->params.p + first, n * sizeof(*param));
	h->params.n = first;
	h->steps[h->spec.n_step++] = (struct lmd_tokstep){
		.phase = phase, .n_param = (uint32_t)n, .type = type, .param = param};
	return LMD_OK;
}

static bool is_list_of_steps(const struct lmi_jr_item *key)
{
	return lmi_jr_is(key, "normalizers") || lmi_jr_is(key, "pretokenizers") ||
	       lmi_jr_is(key, "decoders");
}

static enum lmd_status read_list(struct lmi_hf_tokenizer *h, enum lmd_tok_phase phase,
				 struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_ARRAY, "a list of steps", err);

	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err))
		st = lmi_hf_read_steps(h, &it, phase, err);
	return st;
}

enum lmd_status lmi_hf_read_steps(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				  enum lmd_tok_phase phase, struct lmd_error *err)
{
	struct lmd_str type = {NULL, 0}, key;
	size_t first = h->params.n;
	enum lmd_status st = LMD_OK;
	struct lmi_jr_item it;

	if (begin->type != LMI_JR_OBJECT)
		return lmd_fail(err, LMD_CORRUPT, "byte %zu: a step must be an object",
				lmi_jr_pos(&h->json));
	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		if (lmi_jr_is(&it, "type")) {
			st = lmi_hf_want(h, &it, LMI_JR_STRING, "the name of a type", err);
			if (st == LMD_OK)
				st = lmi_hf_text(h, &it, true, &type, err);
		} else if (is_list_of_steps(&it)) {
			st = read_list(h, phase, err);
		} else {
			st = lmi_hf_text(h, &it, true, &key, err);
			if (st == LMD_OK)
				st = lmi_hf_read_param(h, key.ptr, err);
		}
	}
	if (st != LMD_OK)
		return st;
	if (!type.ptr)
		return lmd_fail(err, LMD_CORRUPT, "byte %zu: a step without \"type\"",
				lmi_jr_pos(&h->json));
	if (!strcmp(type.ptr, "Sequence")) {
		h->params.n = first;
		return LMD_OK;
	}
	return lmi_hf_add_step(h, phase, type.ptr, first, err);
}
