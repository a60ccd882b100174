/* SPDX-License-Identifier: MIT
 *
 * Tokens added around a text.  All post-processors of single texts reduce to tokens before and
 * tokens after the text; in a sequence, those of later processors go around those of earlier
 * ones. */
#include <stdio.h>
#include <string.h>

#include "core/format/hf/reader.h"

#define MAX_PARTS 64
#define MAX_IDS   16

/* A template while it is read: names and their ids can come in any order. */
struct post {
	char type[32];
	struct lmd_str part[MAX_PARTS]; /* ptr NULL stands for the text */
	size_t n_part;
	struct {
		struct lmd_str name;
		int32_t id[MAX_IDS];
		size_t n;
	} special[MAX_PARTS];
	size_t n_special;
	int32_t cls, sep;
};

static enum lmd_status too_many(const char *what, struct lmd_error *err)
{
	return lmd_fail(err, LMD_UNSUPPORTED, "post_processor: more than %d %s", MAX_PARTS, what);
}

/* Reads {"SpecialToken": {"id": "<s>", ...}} or {"Sequence": {"id": "A", ...}}, after the opening
 * brace. */
static enum lmd_status read_part(struct lmi_hf_tokenizer *h, struct post *p, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_KEY, "a part of a template", err);
	bool text = st == LMD_OK && lmi_jr_is(&it, "Sequence");
	struct lmd_str id = {NULL, 0};

	if (st == LMD_OK)
		st = lmi_hf_want(h, &it, LMI_JR_OBJECT, "a part of a template", err);
	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		if (lmi_jr_is(&it, "id")) {
			st = lmi_hf_want(h, &it, LMI_JR_STRING, "an id", err);
			if (st == LMD_OK)
				st = lmi_hf_text(h, &it, false, &id, err);
		} else {
			st = lmi_jr_skip(&h->json, &it, err);
		}
	}
	if (st == LMD_OK)
		st = lmi_hf_want(h, &it, LMI_JR_OBJECT_END, "the end of a part", err);
	if (st != LMD_OK)
		return st;
	if (!id.ptr)
		return lmd_fail(err, LMD_CORRUPT, "post_processor: a part without \"id\"");
	if (p->n_part == MAX_PARTS)
		return too_many("parts", err);
	p->part[p->n_part++] = text ? (struct lmd_str){NULL, 0} : id;
	return LMD_OK;
}

static enum lmd_status read_single(struct lmi_hf_tokenizer *h, struct post *p,
				   struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_ARRAY, "a template", err);

	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err)) {
		st = it.type == LMI_JR_OBJECT
			     ? read_part(h, p, err)
			     : lmd_fail(err, LMD_CORRUPT,
					"post_processor: a part is not an object");
	}
	return st;
}

/* Reads {"ids": [1], ...} after a name. */
static enum lmd_status read_ids(struct lmi_hf_tokenizer *h, struct post *p, struct lmd_error *err)
{
	int32_t *id = p->special[p->n_special].id;
	size_t *n = &p->special[p->n_special].n;
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_OBJECT, "a special token", err);
	int64_t v;

	*n = 0;
	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		if (!lmi_jr_is(&it, "ids")) {
			st = lmi_jr_skip(&h->json, &it, err);
			continue;
		}
		st = lmi_hf_want(h, &it, LMI_JR_ARRAY, "a list of ids", err);
		while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err)) {
			if (!lmi_jr_int(&it, &v) || v < 0 || v > INT32_MAX || *n == MAX_IDS)
				return lmd_fail(err, LMD_CORRUPT,
						"post_processor: an id is invalid, or there are "
						"more than %d",
						MAX_IDS);
			id[(*n)++] = (int32_t)v;
		}
	}
	return st;
}

static enum lmd_status read_specials(struct lmi_hf_tokenizer *h, struct post *p,
				     struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_OBJECT, "special tokens", err);

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		if (p->n_special == MAX_PARTS)
			return too_many("special tokens", err);
		st = lmi_hf_text(h, &it, false, &p->special[p->n_special].name, err);
		if (st == LMD_OK)
			st = read_ids(h, p, err);
		p->n_special++;
	}
	return st;
}

/* Reads ["[SEP]", 102]. */
static enum lmd_status read_pair(struct lmi_hf_tokenizer *h, int32_t *id, struct lmd_error *err)
{
	struct lmi_jr_item it;
	int64_t v;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_ARRAY, "[text, id]", err);

	if (st == LMD_OK)
		st = lmi_hf_want(h, &it, LMI_JR_STRING, "a text", err);
	if (st == LMD_OK)
		st = lmi_hf_want(h, &it, LMI_JR_NUMBER, "an id", err);
	if (st == LMD_OK && (!lmi_jr_int(&it, &v) || v < 0 || v > INT32_MAX))
		st = lmd_fail(err, LMD_CORRUPT,
			      "post_processor: an id is not an integer of 0..2^31-1");
	if (st != LMD_OK)
		return st;
	*id = (int32_t)v;
	return lmi_hf_want(h, &it, LMI_JR_ARRAY_END, "the end of [text, id]", err);
}

/* Adds tokens around those that are already there. */
static enum lmd_status wrap(struct lmi_hf_tokenizer *h, const int32_t *front, size_t n_front,
			    const int32_t *back, size_t n_back, struct lmd_error *err)
{
	struct lmd_tokspec *s = &h->spec;

	if (s->n_prefix + n_front > LMI_HF_MAX_ADDED || s->n_suffix + n_back > LMI_HF_MAX_ADDED)
		return lmd_fail(err, LMD_UNSUPPORTED, "post_processor: more than %d tokens",
				LMI_HF_MAX_ADDED);
	memmove(h->prefix + n_front, h->prefix, s->n_prefix * sizeof(*h->prefix));
	if (n_front)
		memcpy(h->prefix, front, n_front * sizeof(*front));
	if (n_back)
		memcpy(h->suffix + s->n_suffix, back, n_back * sizeof(*back));
	s->n_prefix += (uint32_t)n_front;
	s->n_suffix += (uint32_t)n_back;
	return LMD_OK;
}

static enum lmd_status wrap_template(struct lmi_hf_tokenizer *h, const struct post *p,
				     struct lmd_error *err)
{
	int32_t side[2][LMI_HF_MAX_ADDED];
	size_t n[2] = {0, 0}, texts = 0;

	for (size_t i = 0; i < p->n_part; i++) {
		size_t k = 0;

		if (!p->part[i].ptr) {
			texts++;
			continue;
		}
		while (k < p->n_special &&
		       (p->special[k].name.len != p->part[i].len ||
			memcmp(p->special[k].name.ptr, p->part[i].ptr, p->part[i].len)))
			k++;
		if (k == p->n_special)
			return lmd_fail(err, LMD_CORRUPT, "post_processor: '%.*s' has no ids",
					(int)(p->part[i].len < 60 ? p->part[i].len : 60),
					p->part[i].ptr);
		for (size_t id = 0; id < p->special[k].n; id++) {
			size_t *m = &n[texts > 0];

			if (*m == LMI_HF_MAX_ADDED)
				return lmd_fail(err, LMD_UNSUPPORTED,
						"post_processor: more than %d tokens",
						LMI_HF_MAX_ADDED);
			side[texts > 0][(*m)++] = p->special[k].id[id];
		}
	}
	if (texts != 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"post_processor: a template contains the text %zu times, must be "
				"once",
				texts);
	return wrap(h, side[0], n[0], side[1], n[1], err);
}

static enum lmd_status read_one(struct lmi_hf_tokenizer *h, struct post *p, struct lmd_error *err);

static enum lmd_status read_processors(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_ARRAY, "a list of processors", err);

	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err))
		st = lmi_hf_read_post(h, &it, err);
	return st;
}

static enum lmd_status read_one(struct lmi_hf_tokenizer *h, struct post *p, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = LMD_OK;

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		if (lmi_jr_is(&it, "type")) {
			st = lmi_hf_want(h, &it, LMI_JR_STRING, "the name of a type", err);
			if (st == LMD_OK)
				snprintf(p->type, sizeof(p->type), "%.*s",
					 (int)(it.text.len < 31 ? it.text.len : 31), it.text.ptr);
		} else if (lmi_jr_is(&it, "single")) {
			st = read_single(h, p, err);
		} else if (lmi_jr_is(&it, "special_tokens")) {
			st = read_specials(h, p, err);
		} else if (lmi_jr_is(&it, "cls")) {
			st = read_pair(h, &p->cls, err);
		} else if (lmi_jr_is(&it, "sep")) {
			st = read_pair(h, &p->sep, err);
		} else if (lmi_jr_is(&it, "processors")) {
			st = read_processors(h, err);
		} else {
			st = lmi_jr_skip(&h->json, &it, err);
		}
	}
	return st;
}

enum lmd_status lmi_hf_read_post(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *begin,
				 struct lmd_error *err)
{
	struct post *p;
	enum lmd_status st;

	if (begin->type != LMI_JR_OBJECT)
		return lmd_fail(err, LMD_CORRUPT, "\"post_processor\" is not an object");
	p = lmi_arena_array(h->arena, 1, sizeof(*p));
	if (!p)
		return lmi_hf_no_memory(err);
	p->cls = p->sep = -1;
	st = read_one(h, p, err);
	if (st != LMD_OK || !strcmp(p->type, "ByteLevel") || !strcmp(p->type, "Sequence"))
		return st;
	if (!strcmp(p->type, "TemplateProcessing"))
		return wrap_template(h, p, err);
	if (!strcmp(p->type, "BertProcessing") || !strcmp(p->type, "RobertaProcessing")) {
		if (p->cls < 0 || p->sep < 0)
			return lmd_fail(err, LMD_CORRUPT, "post_processor: %s without cls or sep",
					p->type);
		h->spec.cls = p->cls;
		h->spec.sep = p->sep;
		return wrap(h, &p->cls, 1, &p->sep, 1, err);
	}
	return lmd_fail(err, LMD_UNSUPPORTED,
			"post_processor: type '%s' is not supported", p->type);
}
