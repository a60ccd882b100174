/* SPDX-License-Identifier: MIT
 *
 * Reads tokenizer_config.json and special_tokens_map.json: which tokens are begin, end, unknown and
 * so on, named by their text; and the chat template. */
#include <string.h>

#include "core/base/show.h"
#include "core/format/hf/reader.h"

/* Returns the id of a text, or -1. */
static int32_t find_token(const struct lmd_tokspec *s, const struct lmd_str *text)
{
	for (uint32_t i = 0; i < s->n_tokens; i++)
		if (s->text[i].len == text->len && s->text[i].ptr &&
		    !memcmp(s->text[i].ptr, text->ptr, text->len))
			return (int32_t)i;
	return -1;
}

/* Accepts "text" or {"content": "text", ...}; ignores anything else. */
static enum lmd_status read_token(struct lmi_hf_tokenizer *h, int32_t *id, struct lmd_error *err)
{
	struct lmd_str text = {NULL, 0};
	struct lmi_jr_item it;
	enum lmd_status st = lmi_jr_next(&h->json, &it, err);

	if (st == LMD_OK && it.type == LMI_JR_STRING) {
		st = lmi_hf_text(h, &it, true, &text, err);
	} else if (st == LMD_OK && it.type == LMI_JR_OBJECT) {
		while (st == LMD_OK) {
			bool content;

			st = lmi_jr_next(&h->json, &it, err);
			if (st != LMD_OK || it.type == LMI_JR_OBJECT_END)
				break;
			content = lmi_jr_is(&it, "content");
			st = lmi_jr_next(&h->json, &it, err);
			if (st == LMD_OK && content && it.type == LMI_JR_STRING)
				st = lmi_hf_text(h, &it, true, &text, err);
			else if (st == LMD_OK)
				st = lmi_jr_skip(&h->json, &it, err);
		}
	} else if (st == LMD_OK) {
		st = lmi_jr_skip(&h->json, &it, err);
	}
	if (st == LMD_OK && text.ptr) {
		int32_t found = find_token(&h->spec, &text);

		if (found >= 0)
			*id = found;
	}
	return st;
}

/* Reads {"name": "default", "template": "text"}, one of several templates. */
static enum lmd_status read_named(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmd_str text = {NULL, 0};
	bool is_default = false;
	struct lmi_jr_item key, it;
	enum lmd_status st = LMD_OK;

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &key, &st, err)) {
		st = lmi_jr_next(&h->json, &it, err);
		if (st != LMD_OK)
			break;
		if (lmi_jr_is(&key, "name") && it.type == LMI_JR_STRING)
			is_default = lmi_jr_is(&it, "default");
		if (lmi_jr_is(&key, "template") && it.type == LMI_JR_STRING)
			st = lmi_hf_text(h, &it, true, &text, err);
		else
			st = lmi_jr_skip(&h->json, &it, err);
	}
	if (st == LMD_OK && text.ptr && (is_default || !h->chat_template.ptr))
		h->chat_template = text;
	return st;
}

/* Reads a template or a list of named templates. */
static enum lmd_status read_template(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_jr_next(&h->json, &it, err);

	if (st == LMD_OK && it.type == LMI_JR_STRING)
		return lmi_hf_text(h, &it, true, &h->chat_template, err);
	if (st != LMD_OK || it.type != LMI_JR_ARRAY)
		return st == LMD_OK ? lmi_jr_skip(&h->json, &it, err) : st;
	while (lmi_jr_more(&h->json, LMI_JR_ARRAY_END, &it, &st, err))
		st = it.type == LMI_JR_OBJECT ? read_named(h, err)
					      : lmi_jr_skip(&h->json, &it, err);
	return st;
}

static enum lmd_status read_flag(struct lmi_hf_tokenizer *h, int8_t *flag, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_jr_next(&h->json, &it, err);

	if (st == LMD_OK && it.type == LMI_JR_BOOL)
		*flag = it.b;
	return st == LMD_OK ? lmi_jr_skip(&h->json, &it, err) : st;
}

static enum lmd_status read_member(struct lmi_hf_tokenizer *h, const struct lmi_jr_item *key,
				   struct lmd_error *err)
{
	const struct {
		const char *key;
		int32_t *id;
	} ids[] = {
		{"bos_token", &h->spec.bos},   {"eos_token", &h->spec.eos},
		{"unk_token", &h->spec.unk},   {"sep_token", &h->spec.sep},
		{"pad_token", &h->spec.pad},   {"cls_token", &h->spec.cls},
		{"mask_token", &h->spec.mask},
	};

	for (size_t i = 0; i < LMD_LEN(ids); i++)
		if (lmi_jr_is(key, ids[i].key))
			return read_token(h, ids[i].id, err);
	if (lmi_jr_is(key, "chat_template"))
		return read_template(h, err);
	/* if there is a tokenizer.json, its post-processor says this */
	if (!h->spec.n_step && lmi_jr_is(key, "add_bos_token"))
		return read_flag(h, &h->spec.add_bos, err);
	if (!h->spec.n_step && lmi_jr_is(key, "add_eos_token"))
		return read_flag(h, &h->spec.add_eos, err);
	return lmi_jr_skip(&h->json, key, err);
}

static enum lmd_status parse(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_OBJECT, "an object", err);

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err))
		st = read_member(h, &it, err);
	return st;
}

enum lmd_status lmi_hf_read_config(struct lmi_hf_tokenizer *h, const char *path,
				   struct lmd_error *err)
{
	struct lmi_map map = {0};
	bool found;
	char show[112];
	enum lmd_status st = lmi_hf_read_file(&map, path, &found, err);

	if (st != LMD_OK || !found)
		return st; /* the file is optional */
	lmi_jr_init(&h->json, (const char *)map.ptr, map.bytes);
	st = parse(h, err);
	if (st != LMD_OK) {
		lmi_show_path(show, sizeof(show), path);
		lmd_error_prefix(err, show);
	}
	lmi_map_close(&map);
	return st;
}

enum lmd_status lmi_hf_read_template(struct lmi_hf_tokenizer *h, const char *path,
				     struct lmd_error *err)
{
	struct lmi_map map = {0};
	bool found;
	char *text;
	enum lmd_status st = lmi_hf_read_file(&map, path, &found, err);

	if (st != LMD_OK || !found)
		return st;
	text = lmi_arena_strndup(h->arena, (const char *)map.ptr, map.bytes);
	if (text)
		h->chat_template = (struct lmd_str){text, map.bytes};
	lmi_map_close(&map);
	return text ? LMD_OK : lmi_hf_no_memory(err);
}
