/* SPDX-License-Identifier: MIT
 *
 * Structural tags: JSON documents that say which parts an answer has, as OpenAI-compatible servers
 * take them (vLLM, xgrammar). A part is a fixed text, a value of a JSON schema, a match of a regular
 * expression, free text, a tag (a part between two markers), or is made of other parts.
 *
 * Triggered tags are free text in which tags occur: where a trigger has been written, one of the tags
 * that begin with it must follow. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cancel.h"
#include "core/base/printable.h"
#include "core/grammar/regex.h"
#include "core/grammar/schema.h"
#include "core/grammar/structural_tag_impl.h"

#define DEPTH_MAX 64 /* of formats in formats */

typedef struct lmi_grammar_expr *(*format_fn)(struct lmi_gr_tags *t, const json_t *v);

/* ---- simple formats ---- */

static struct lmi_grammar_expr *const_string(struct lmi_gr_tags *t, const json_t *v)
{
	return lmi_gr_tags_text(t, lmi_gr_tags_get_text(t, v, "const_string", "value"));
}

struct lmi_grammar_expr *lmi_gr_tags_schema(struct lmi_gr_tags *t, const json_t *s)
{
	struct lmi_grammar_expr *e = NULL;
	char *text = json_dumps(s, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));

	if (text)
		e = lmi_gr_schema_embed(t->b, text, strlen(text));
	else
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	free(text);
	return e;
}

static struct lmi_grammar_expr *json_schema(struct lmi_gr_tags *t, const json_t *v)
{
	const json_t *s = json_object_get(v, "json_schema"), *style = json_object_get(v, "style");

	if (!json_is_object(s) && !json_is_boolean(s))
		lmi_gr_tags_fail(t, "json_schema", "json_schema", "must be a JSON schema");
	if (style && strcmp(json_is_string(style) ? json_string_value(style) : "", "json") != 0)
		lmi_gr_tags_fail(t, "json_schema", "style", "must be \"json\"");
	return lmi_gr_tags_failed(t) ? NULL : lmi_gr_tags_schema(t, s);
}

static struct lmi_grammar_expr *token(struct lmi_gr_tags *t, const json_t *v)
{
	const json_t *id = json_object_get(v, "token");
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(t->b, LMI_GR_EXPR_TOKEN);

	if (!json_is_integer(id) || json_integer_value(id) < 0 ||
	    json_integer_value(id) > INT32_MAX)
		lmi_gr_tags_fail(t, "token", "token", "must be the number of a token");
	else if (e)
		e->number = json_integer_value(id);
	return e;
}

static struct lmi_grammar_expr *regex(struct lmi_gr_tags *t, const json_t *v)
{
	struct lmd_str s = lmi_gr_tags_get_text(t, v, "regex", "pattern");

	return lmi_gr_tags_failed(t) ? NULL
				     : lmi_gr_regex_whole(t->b, "'pattern' in regex", s.ptr, s.len);
}

static struct lmi_grammar_expr *any_text(struct lmi_gr_tags *t, const json_t *v)
{
	uint32_t n, rule = lmi_gr_tags_add_rule(t, "any_text");
	const struct lmi_gr_free_text_stop *stops =
		lmi_gr_tags_get_stops(t, v, "any_text", "excludes", 0, &n);

	if (!lmi_gr_tags_failed(t))
		lmi_gr_free_text(t->b, rule, stops, n, true);
	return lmi_gr_tags_call(t, rule);
}

/* ---- formats made of formats ---- */

static struct lmi_grammar_expr *elements(struct lmi_gr_tags *t, const json_t *v, const char *type,
					 enum lmi_grammar_expr_kind kind)
{
	const json_t *list = lmi_gr_tags_get_list(t, v, type, "elements", 1);
	struct lmi_grammar_expr *e = lmi_gr_tags_list(t, kind);

	for (size_t i = 0; !lmi_gr_tags_failed(t) && i < json_array_size(list); i++)
		lmi_gr_tags_append(t, e, lmi_gr_tags_format(t, json_array_get(list, i)));
	return e;
}

static struct lmi_grammar_expr *sequence(struct lmi_gr_tags *t, const json_t *v)
{
	return elements(t, v, "sequence", LMI_GR_EXPR_SEQ);
}

static struct lmi_grammar_expr *any_of(struct lmi_gr_tags *t, const json_t *v)
{
	return elements(t, v, "or", LMI_GR_EXPR_ALT);
}

struct lmi_grammar_expr *lmi_gr_tags_content(struct lmi_gr_tags *t, const json_t *v,
					     const char *type)
{
	const json_t *content = json_object_get(v, "content");

	if (!content)
		lmi_gr_tags_fail(t, type, "content", "is missing");
	return lmi_gr_tags_failed(t) ? NULL : lmi_gr_tags_format(t, content);
}

static struct lmi_grammar_expr *repeat(struct lmi_gr_tags *t, const json_t *v, const char *type,
				       uint32_t min, uint32_t max)
{
	struct lmi_grammar_expr *e = lmi_gr_tags_content(t, v, type);

	return lmi_gr_tags_failed(t) ? NULL : lmi_grammar_expr_repeat(t->b, e, min, max);
}

static struct lmi_grammar_expr *optional(struct lmi_gr_tags *t, const json_t *v)
{
	return repeat(t, v, "optional", 0, 1);
}

static struct lmi_grammar_expr *star(struct lmi_gr_tags *t, const json_t *v)
{
	return repeat(t, v, "star", 0, UINT32_MAX);
}

static struct lmi_grammar_expr *plus(struct lmi_gr_tags *t, const json_t *v)
{
	return repeat(t, v, "plus", 1, UINT32_MAX);
}

/* ---- any format ---- */

static const struct {
	const char *type;
	format_fn fn;
	lmi_gr_tags_members members;
} formats[] = {
	{"const_string", const_string, {"value"}},
	{"token", token, {"token"}},
	{"json_schema", json_schema, {"json_schema", "style"}},
	{"regex", regex, {"pattern"}},
	{"any_text", any_text, {"excludes"}},
	{"sequence", sequence, {"elements"}},
	{"or", any_of, {"elements"}},
	{"optional", optional, {"content"}},
	{"star", star, {"content"}},
	{"plus", plus, {"content"}},
	{"tag", lmi_gr_tags_tag, {"begin", "content", "end"}},
	{"triggered_tags",
	 lmi_gr_tags_triggered,
	 {"triggers", "tags", "at_least_one", "stop_after_first", "excludes"}},
	{"tags_with_separator",
	 lmi_gr_tags_with_separator,
	 {"tags", "separator", "at_least_one", "stop_after_first"}},
};

const char *lmi_gr_tags_type(size_t i)
{
	return i < LMD_LEN(formats) ? formats[i].type : NULL;
}

struct lmi_grammar_expr *lmi_gr_tags_format(struct lmi_gr_tags *t, const json_t *v)
{
	const json_t *name = json_object_get(v, "type");
	const char *type = json_is_string(name) ? json_string_value(name) : "";
	struct lmi_grammar_expr *e;
	char shown[LMI_GR_TAGS_NAME_BYTES];

	if (t->depth == DEPTH_MAX)
		lmi_grammar_builder_fail(t->b, LMD_INVALID, "formats are nested more than %d deep",
					 DEPTH_MAX);
	if (!json_is_string(name))
		lmi_grammar_builder_fail(t->b, LMD_INVALID,
					 "a format must be an object whose 'type' is a string");
	if (lmi_gr_tags_failed(t))
		return NULL;
	for (size_t i = 0; i < LMD_LEN(formats); i++) {
		if (strcmp(type, formats[i].type) != 0)
			continue;
		lmi_gr_tags_check_members(t, v, type, formats[i].members);
		t->depth++;
		e = lmi_gr_tags_failed(t) ? NULL : formats[i].fn(t, v);
		t->depth--;
		return e;
	}
	lmi_grammar_builder_fail(t->b, LMD_INVALID, "the format '%s' is not supported",
				 lmi_printable(shown, sizeof(shown), type, strlen(type)));
	return NULL;
}

static struct lmi_grammar_expr *document(struct lmi_gr_tags *t, const json_t *v)
{
	const json_t *f = json_object_get(v, "format"), *name = json_object_get(v, "type");

	if (!json_is_object(v))
		lmi_grammar_builder_fail(t->b, LMD_INVALID, "a structural tag must be an object");
	else if (name &&
		 (!json_is_string(name) || strcmp(json_string_value(name), "structural_tag") != 0))
		lmi_gr_tags_fail(t, "structural_tag", "type", "must be \"structural_tag\"");
	else if (!f && !json_object_get(v, "structures"))
		lmi_gr_tags_fail(t, "structural_tag", "format", "is missing");
	if (lmi_gr_tags_failed(t))
		return NULL;
	return f ? lmi_gr_tags_format(t, f)
		 : lmi_gr_tags_text_with_tags(t, v, "structural_tag", "structures");
}

enum lmd_status lmi_grammar_from_structural_tag(struct lmi_grammar **out, const char *text,
						size_t bytes, struct lmd_error *err)
{
	struct lmi_grammar_builder b;
	struct lmi_gr_tags t = {.b = &b};
	struct lmi_grammar_expr *e;
	json_error_t je;
	json_t *v;
	uint32_t root;
	enum lmd_status st;

	if (bytes > LMI_GRAMMAR_BYTES_MAX)
		return lmd_fail(err, LMD_INVALID, "%zu bytes long, at most %u are allowed", bytes,
				LMI_GRAMMAR_BYTES_MAX);
	if (!lmi_cancel_step(bytes)) /* the text is read in one piece */
		return lmd_fail(err, LMD_CANCELLED, "cancelled");
	v = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &je);
	if (!v && json_error_code(&je) == json_error_out_of_memory)
		return lmd_fail(err, LMD_NOMEM, "out of memory");
	if (!v)
		return lmd_fail(err, LMD_CORRUPT, "not JSON: line %d: %s", je.line, je.text);
	st = lmi_grammar_builder_init(&b, err);
	if (st == LMD_OK) {
		root = lmi_grammar_builder_add_rule(&b, "root");
		e = document(&t, v);
		lmi_gr_tags_define(&t, root, e);
		st = b.st == LMD_OK ? lmi_grammar_builder_compile(&b, root, out) : b.st;
		lmi_grammar_builder_fini(&b);
	}
	json_decref(v);
	return st;
}
