/* SPDX-License-Identifier: MIT
 *
 * Roles and the texts of special tokens count as written by the template: templates build control
 * tokens from roles (<|user|>), and both come from fixed lists.  Everything else counts as text
 * from outside. */
#include "core/text/chat/template_vars.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define JSON_BYTES_MAX (16u << 20)

static const char *const roles[] = {"system", "developer", "user", "assistant", "tool", "function"};

struct make {
	struct lmd_arena *arena;
	struct lmd_error *err;
	bool text_args;
};

static enum lmd_status no_memory(const struct make *m)
{
	return lmd_fail(m->err, LMD_NOMEM, "no memory for the variables of a chat template");
}

/* ---- checks ---- */

static enum lmd_status check_role(const struct lmi_chat_message *m, uint32_t i,
				  struct lmd_error *err)
{
	for (size_t k = 0; k < LMD_LEN(roles); k++)
		if (m->role.len == strlen(roles[k]) && !memcmp(m->role.ptr, roles[k], m->role.len))
			return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"messages[%u]: role \"%.*s\" is not one of system, developer, user, "
			"assistant, tool, function",
			i, (int)(m->role.len < 32 ? m->role.len : 32), m->role.ptr);
}

enum lmd_status lmi_chat_check(const struct lmi_chat_input *in, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (!in->n_messages || in->n_messages > LMI_CHAT_MESSAGES_MAX)
		return lmd_fail(err, LMD_INVALID,
				"%u messages given: a conversation must have 1 to %d",
				in->n_messages, LMI_CHAT_MESSAGES_MAX);
	for (uint32_t i = 0; i < in->n_messages && st == LMD_OK; i++)
		st = check_role(&in->messages[i], i, err);
	return st;
}

/* ---- values ---- */

static struct lmi_jinja_value str_value(struct lmd_str s, bool own)
{
	return (struct lmi_jinja_value){.kind = LMI_JINJA_T_STR, .from_template = own, .u.s = s};
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static enum lmd_status load_json(const struct make *m, const char *what, struct lmd_str text,
				 bool array, json_t **out)
{
	json_error_t je;

	if (text.len > JSON_BYTES_MAX)
		return lmd_fail(m->err, LMD_INVALID, "%s: has %zu bytes, at most %u are allowed",
				what, text.len, JSON_BYTES_MAX);
	*out = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, &je);
	if (!*out)
		return lmd_fail(m->err, LMD_INVALID, "%s: invalid JSON: %.120s at byte %d", what,
				je.text, je.position);
	if (array ? json_is_array(*out) : json_is_object(*out))
		return LMD_OK;
	json_decref(*out);
	return lmd_fail(m->err, LMD_INVALID, "%s: must be a JSON %s", what,
			array ? "array" : "object");
}

static enum lmd_status from_json(const struct make *m, const char *what, struct lmd_str text,
				 bool array, struct lmi_jinja_value *out)
{
	json_t *j;
	enum lmd_status st = load_json(m, what, text, array, &j);

	if (st != LMD_OK)
		return st;
	st = lmi_jinja_tvalue_from_json(j, m->arena, out, m->err);
	json_decref(j);
	return st;
}

/* A dictionary with space for `cap` members. */
struct dict {
	struct lmi_jinja_member *m;
	uint32_t n;
};

static bool dict_init(struct dict *d, const struct make *m, uint32_t cap)
{
	d->n = 0;
	d->m = lmi_arena_array(m->arena, cap, sizeof(*d->m));
	return d->m != NULL;
}

static void put(struct dict *d, struct lmd_str key, struct lmi_jinja_value v)
{
	d->m[d->n++] = (struct lmi_jinja_member){.key = key, .value = v};
}

static struct lmi_jinja_value dict_value(const struct dict *d)
{
	return (struct lmi_jinja_value){.kind = LMI_JINJA_T_DICT, .n = d->n, .u.members = d->m};
}

/* ---- tool calls ---- */

/* Arguments come as an object or as a string that contains one.  Converts them to the form that the
 * template expects; arguments that cannot be converted stay unchanged. */
static void convert_arguments(json_t *call, bool as_text)
{
	json_t *f = json_object_get(call, "function"), *a, *converted = NULL;

	f = json_is_object(f) ? f : call;
	a = json_object_get(f, "arguments");
	if (as_text && json_is_object(a)) {
		char *text = json_dumps(a, JSON_REAL_PRECISION(17));

		converted = text ? json_string(text) : NULL;
		free(text);
	} else if (!as_text && json_is_string(a)) {
		converted = json_loadb(json_string_value(a), json_string_length(a), JSON_ALLOW_NUL,
				       NULL);
	}
	if (converted && (as_text || json_is_object(converted)))
		(void)json_object_set(f, "arguments", converted);
	json_decref(converted);
}

static enum lmd_status load_calls(const struct make *m, struct lmd_str text, uint32_t i,
				  struct lmi_jinja_value *out)
{
	char what[48];
	json_t *j, *call;
	size_t k;
	enum lmd_status st;

	(void)snprintf(what, sizeof(what), "messages[%u].tool_calls", i);
	st = load_json(m, what, text, true, &j);
	if (st != LMD_OK)
		return st;
	json_array_foreach(j, k, call) convert_arguments(call, m->text_args);
	st = lmi_jinja_tvalue_from_json(j, m->arena, out, m->err);
	json_decref(j);
	return st;
}

/* ---- messages ---- */

static enum lmd_status message(const struct make *m, const struct lmi_chat_message *from,
			       uint32_t i, struct lmi_jinja_value *out)
{
	struct lmi_jinja_value calls;
	struct dict d;

	if (!dict_init(&d, m, 7))
		return no_memory(m);
	put(&d, str("role"), str_value(from->role, true));
	put(&d, str("content"),
	    from->content.ptr ? str_value(from->content, false) : str_value(str(""), false));
	if (from->reasoning.ptr)
		put(&d, str("reasoning_content"), str_value(from->reasoning, false));
	if (from->name.ptr)
		put(&d, str("name"), str_value(from->name, false));
	if (from->tool_call_id.ptr)
		put(&d, str("tool_call_id"), str_value(from->tool_call_id, false));
	if (from->tool_calls.ptr) {
		enum lmd_status st = load_calls(m, from->tool_calls, i, &calls);

		if (st != LMD_OK)
			return st;
		put(&d, str("tool_calls"), calls);
	}
	*out = dict_value(&d);
	return LMD_OK;
}

static enum lmd_status messages(const struct make *m, const struct lmi_chat_input *in, uint32_t n,
				struct lmi_jinja_value *out)
{
	struct lmi_jinja_value *v = lmi_arena_array(m->arena, n, sizeof(*v));
	enum lmd_status st = v || !n ? LMD_OK : no_memory(m);

	for (uint32_t i = 0; i < n && st == LMD_OK; i++)
		st = message(m, &in->messages[i], i, &v[i]);
	*out = (struct lmi_jinja_value){.kind = LMI_JINJA_T_LIST, .n = n, .u.items = v};
	return st;
}

/* ---- special tokens ---- */

/* Adds the text of a token.  With `always`, adds an empty string if the vocabulary has no such
 * token. */
static enum lmd_status put_token(const struct make *m, struct dict *d, const char *name,
				 const struct lmi_tokenizer *tok, int32_t id, bool always)
{
	size_t cap = lmi_tokenizer_info(tok)->max_piece_bytes, n = 0;
	char *p = NULL;

	if (id < 0 && !always)
		return LMD_OK;
	if (id >= 0) {
		p = lmi_arena_alloc(m->arena, cap + 1, 1);
		if (!p)
			return no_memory(m);
		n = lmi_tokenizer_piece(tok, id, LMD_DECODE_UNPARSE_SPECIAL, p, cap);
	}
	put(d, str(name), str_value((struct lmd_str){.ptr = p ? p : "", .len = n}, true));
	return LMD_OK;
}

static enum lmd_status put_tokens(const struct make *m, struct dict *d,
				  const struct lmi_tokenizer *tok)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(tok);
	enum lmd_status st = put_token(m, d, "bos_token", tok, info->bos, true);

	if (st == LMD_OK)
		st = put_token(m, d, "eos_token", tok, info->eos, true);
	if (st == LMD_OK)
		st = put_token(m, d, "unk_token", tok, info->unk, false);
	if (st == LMD_OK)
		st = put_token(m, d, "pad_token", tok, info->pad, false);
	if (st == LMD_OK)
		st = put_token(m, d, "sep_token", tok, info->sep, false);
	if (st == LMD_OK)
		st = put_token(m, d, "cls_token", tok, info->cls, false);
	return st == LMD_OK ? put_token(m, d, "mask_token", tok, info->mask, false) : st;
}

/* ---- all ---- */

enum lmd_status lmi_chat_vars(struct lmi_jinja_value *out, const struct lmi_chat_input *in,
			      uint32_t n_messages, bool text_args, const struct lmi_tokenizer *tok,
			      struct lmd_arena *arena, struct lmd_error *err)
{
	const struct make m = {.arena = arena, .err = err, .text_args = text_args};
	const struct lmi_jinja_value none = {.kind = LMI_JINJA_T_NONE};
	struct lmi_jinja_value list, tools = none, args = {.kind = LMI_JINJA_T_DICT};
	enum lmd_status st = messages(&m, in, n_messages, &list);
	struct dict d;

	if (st == LMD_OK && in->tools.ptr)
		st = from_json(&m, "tools", in->tools, true, &tools);
	if (st == LMD_OK && in->args.ptr)
		st = from_json(&m, "template_args", in->args, false, &args);
	if (st != LMD_OK)
		return st;
	if (!dict_init(&d, &m, args.n + 12))
		return no_memory(&m);
	put(&d, str("add_generation_prompt"),
	    (struct lmi_jinja_value){.kind = LMI_JINJA_T_BOOL, .u.b = true});
	put(&d, str("documents"), none);
	for (uint32_t i = 0; i < args.n; i++)
		put(&d, args.u.members[i].key, args.u.members[i].value);
	put(&d, str("messages"), list);
	put(&d, str("tools"), tools.kind == LMI_JINJA_T_LIST && !tools.n ? none : tools);
	st = put_tokens(&m, &d, tok);
	*out = dict_value(&d);
	return st;
}
