/* SPDX-License-Identifier: MIT
 *
 * Members of the formats of structural tags, and expressions that are not made once there is an
 * error. */
#include <string.h>

#include "core/base/printable.h"
#include "core/grammar/structural_tag_impl.h"

#define TAGS_MAX 256 /* tags, triggers or elements of one format */

void lmi_gr_tags_fail(struct lmi_gr_tags *t, const char *type, const char *member, const char *what)
{
	lmi_grammar_builder_fail(t->b, LMD_INVALID, "'%s' in %s: %s", member, type, what);
}

bool lmi_gr_tags_failed(const struct lmi_gr_tags *t)
{
	return t->b->st != LMD_OK;
}

/* ---- members ---- */

void lmi_gr_tags_check_members(struct lmi_gr_tags *t, const json_t *v, const char *type,
			       lmi_gr_tags_members members)
{
	const char *key;
	const json_t *member;
	char shown[LMI_GR_TAGS_NAME_BYTES];

	json_object_foreach((json_t *)v, key, member)
	{
		bool known = !strcmp(key, "type");

		for (size_t i = 0; i < LMI_GR_TAGS_MEMBERS && members[i]; i++)
			known |= !strcmp(key, members[i]);
		if (!known)
			lmi_gr_tags_fail(t, type,
					 lmi_printable(shown, sizeof(shown), key, strlen(key)),
					 "is not a member of this format");
	}
}

struct lmd_str lmi_gr_tags_text_of(const json_t *v)
{
	return (struct lmd_str){.ptr = json_string_value(v), .len = json_string_length(v)};
}

struct lmd_str lmi_gr_tags_get_text(struct lmi_gr_tags *t, const json_t *v, const char *type,
				    const char *member)
{
	const json_t *text = json_object_get(v, member);

	if (!json_is_string(text)) {
		lmi_gr_tags_fail(t, type, member, "must be a string");
		return (struct lmd_str){.ptr = ""};
	}
	return lmi_gr_tags_text_of(text);
}

bool lmi_gr_tags_get_bool(struct lmi_gr_tags *t, const json_t *v, const char *type,
			  const char *member)
{
	const json_t *b = json_object_get(v, member);

	if (b && !json_is_boolean(b))
		lmi_gr_tags_fail(t, type, member, "must be true or false");
	return json_is_true(b);
}

const json_t *lmi_gr_tags_get_list(struct lmi_gr_tags *t, const json_t *v, const char *type,
				   const char *member, size_t min)
{
	const json_t *list = json_object_get(v, member);

	if ((list && !json_is_array(list)) || json_array_size(list) < min)
		lmi_gr_tags_fail(t, type, member,
				 min ? "must be a list that is not empty" : "must be a list");
	else if (json_array_size(list) > TAGS_MAX)
		lmi_gr_tags_fail(t, type, member, "has more than 256 elements");
	return list;
}

struct lmi_gr_free_text_stop *lmi_gr_tags_get_stops(struct lmi_gr_tags *t, const json_t *v,
						    const char *type, const char *member,
						    size_t min, uint32_t *n)
{
	const json_t *list = lmi_gr_tags_get_list(t, v, type, member, min);
	struct lmi_gr_free_text_stop *out;

	*n = 0;
	if (lmi_gr_tags_failed(t))
		return NULL;
	out = lmi_arena_array(t->b->arena, json_array_size(list) + 1, sizeof(*out));
	if (!out)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	for (size_t i = 0; out && i < json_array_size(list); i++) {
		out[i].text = lmi_gr_tags_text_of(json_array_get(list, i));
		if (!out[i].text.len)
			lmi_gr_tags_fail(t, type, member,
					 "must contain strings that are not empty");
	}
	*n = out ? (uint32_t)json_array_size(list) : 0;
	return out;
}

/* ---- expressions ---- */

struct lmi_grammar_expr *lmi_gr_tags_text(struct lmi_gr_tags *t, struct lmd_str s)
{
	return lmi_grammar_expr_text(t->b, s.ptr, s.len);
}

struct lmi_grammar_expr *lmi_gr_tags_list(struct lmi_gr_tags *t, enum lmi_grammar_expr_kind kind)
{
	return lmi_grammar_expr_new(t->b, kind);
}

void lmi_gr_tags_append(struct lmi_gr_tags *t, struct lmi_grammar_expr *list,
			struct lmi_grammar_expr *e)
{
	if (!lmi_gr_tags_failed(t))
		lmi_grammar_expr_append(t->b, list, e);
}

uint32_t lmi_gr_tags_add_rule(struct lmi_gr_tags *t, const char *name)
{
	return lmi_grammar_builder_add_rule(t->b, name);
}

void lmi_gr_tags_define(struct lmi_gr_tags *t, uint32_t rule, struct lmi_grammar_expr *e)
{
	if (!lmi_gr_tags_failed(t))
		t->b->rule[rule] = e;
}

struct lmi_grammar_expr *lmi_gr_tags_call(struct lmi_gr_tags *t, uint32_t rule)
{
	return lmi_gr_tags_failed(t) ? NULL : lmi_grammar_expr_rule(t->b, rule);
}
