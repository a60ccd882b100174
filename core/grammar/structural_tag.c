/* SPDX-License-Identifier: MIT
 *
 * Structural tags: JSON documents that say which parts an answer has, as OpenAI-compatible servers
 * take them (vLLM, xgrammar). A part is a fixed text, a value of a JSON schema, a match of a regular
 * expression, free text, a tag (a part between two markers), or is made of other parts.
 *
 * Triggered tags are free text in which tags occur: where a trigger has been written, one of the tags
 * that begin with it must follow. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/grammar/free_text.h"
#include "core/grammar/regex.h"
#include "core/grammar/schema.h"

#define DEPTH_MAX   64  /* of formats in formats */
#define TAGS_MAX    256 /* tags, triggers or elements of one format */
#define NAME_BYTES  64  /* of a name in a message */
#define MEMBERS_MAX 5   /* of a format, besides type */

struct tags {
	struct lmi_grammar_builder *b;
	uint32_t depth;
};

/* A tag: its begin, and a rule for what follows the begin. */
struct tag {
	struct lmd_str begin;
	uint32_t rule;
};

typedef struct lmi_grammar_expr *(*format_fn)(struct tags *t, const json_t *v);

static struct lmi_grammar_expr *format(struct tags *t, const json_t *v);

static void fail(struct tags *t, const char *type, const char *member, const char *what)
{
	lmi_grammar_builder_fail(t->b, LMD_INVALID, "'%s' in %s: %s", member, type,
				 what);
}

static bool failed(const struct tags *t)
{
	return t->b->st != LMD_OK;
}

/* ---- members ---- */

/* Members of a format besides type; NULL: no more. */
typedef const char *const member_names[MEMBERS_MAX];

static void check_members(struct tags *t, const json_t *v, const char *type, member_names members)
{
	const char *key;
	const json_t *member;
	char shown[NAME_BYTES];

	json_object_foreach((json_t *)v, key, member) {
		bool known = !strcmp(key, "type");

		for (size_t i = 0; i < MEMBERS_MAX && members[i]; i++)
			known |= !strcmp(key, members[i]);
		if (!known)
			fail(t, type, lmi_printable(shown, sizeof(shown), key, strlen(key)),
			     "is not a member of this format");
	}
}

static struct lmd_str text_of(const json_t *v)
{
	return (struct lmd_str){.ptr = json_string_value(v), .len = json_string_length(v)};
}

static struct lmd_str get_text(struct tags *t, const json_t *v, const char *type,
			       const char *member)
{
	const json_t *text = json_object_get(v, member);

	if (!json_is_string(text)) {
		fail(t, type, member, "must be a string");
		return (struct lmd_str){.ptr = ""};
	}
	return text_of(text);
}

static bool get_bool(struct tags *t, const json_t *v, const char *type, const char *member)
{
	const json_t *b = json_object_get(v, member);

	if (b && !json_is_boolean(b))
		fail(t, type, member, "must be true or false");
	return json_is_true(b);
}

/* Returns a list with at least `min` elements. An absent one is empty. */
static const json_t *get_list(struct tags *t, const json_t *v, const char *type,
			      const char *member, size_t min)
{
	const json_t *list = json_object_get(v, member);

	if ((list && !json_is_array(list)) || json_array_size(list) < min)
		fail(t, type, member, min ? "must be a list that is not empty" : "must be a list");
	else if (json_array_size(list) > TAGS_MAX)
		fail(t, type, member, "has more than 256 elements");
	return list;
}

/* Returns the strings of a list, none of them empty, in the builder's arena. */
static struct lmi_gr_free_text_stop *get_stops(struct tags *t, const json_t *v, const char *type,
					       const char *member, size_t min, uint32_t *n)
{
	const json_t *list = get_list(t, v, type, member, min);
	struct lmi_gr_free_text_stop *out;

	*n = 0;
	if (failed(t))
		return NULL;
	out = lmi_arena_array(t->b->arena, json_array_size(list) + 1, sizeof(*out));
	if (!out)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	for (size_t i = 0; out && i < json_array_size(list); i++) {
		out[i].text = text_of(json_array_get(list, i));
		if (!out[i].text.len)
			fail(t, type, member, "must contain strings that are not empty");
	}
	*n = out ? (uint32_t)json_array_size(list) : 0;
	return out;
}

/* ---- expressions ---- */

static struct lmi_grammar_expr *text_expr(struct tags *t, struct lmd_str s)
{
	return lmi_grammar_expr_text(t->b, s.ptr, s.len);
}

static struct lmi_grammar_expr *list_of(struct tags *t, enum lmi_grammar_expr_kind kind)
{
	return lmi_grammar_expr_new(t->b, kind);
}

static void append(struct tags *t, struct lmi_grammar_expr *list, struct lmi_grammar_expr *e)
{
	if (!failed(t))
		lmi_grammar_expr_append(t->b, list, e);
}

static uint32_t add_rule(struct tags *t, const char *name)
{
	return lmi_grammar_builder_add_rule(t->b, name);
}

static void define(struct tags *t, uint32_t rule, struct lmi_grammar_expr *e)
{
	if (!failed(t))
		t->b->rule[rule] = e;
}

static struct lmi_grammar_expr *call(struct tags *t, uint32_t rule)
{
	return failed(t) ? NULL : lmi_grammar_expr_rule(t->b, rule);
}

/* ---- simple formats ---- */

static struct lmi_grammar_expr *const_string(struct tags *t, const json_t *v)
{
	return text_expr(t, get_text(t, v, "const_string", "value"));
}

static struct lmi_grammar_expr *schema(struct tags *t, const json_t *s)
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

static struct lmi_grammar_expr *json_schema(struct tags *t, const json_t *v)
{
	const json_t *s = json_object_get(v, "json_schema"), *style = json_object_get(v, "style");

	if (!json_is_object(s) && !json_is_boolean(s))
		fail(t, "json_schema", "json_schema", "must be a JSON schema");
	if (style && strcmp(json_is_string(style) ? json_string_value(style) : "", "json") != 0)
		fail(t, "json_schema", "style", "must be \"json\"");
	return failed(t) ? NULL : schema(t, s);
}

static struct lmi_grammar_expr *token(struct tags *t, const json_t *v)
{
	const json_t *id = json_object_get(v, "token");
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(t->b, LMI_GR_EXPR_TOKEN);

	if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
		fail(t, "token", "token", "must be the number of a token");
	else if (e)
		e->number = json_integer_value(id);
	return e;
}

static struct lmi_grammar_expr *regex(struct tags *t, const json_t *v)
{
	struct lmd_str s = get_text(t, v, "regex", "pattern");

	return failed(t) ? NULL
			 : lmi_gr_regex_whole(t->b, "'pattern' in regex", s.ptr, s.len);
}

static struct lmi_grammar_expr *any_text(struct tags *t, const json_t *v)
{
	uint32_t n, rule = add_rule(t, "any_text");
	const struct lmi_gr_free_text_stop *stops =
		get_stops(t, v, "any_text", "excludes", 0, &n);

	if (!failed(t))
		lmi_gr_free_text(t->b, rule, stops, n, true);
	return call(t, rule);
}

/* ---- formats made of formats ---- */

static struct lmi_grammar_expr *elements(struct tags *t, const json_t *v, const char *type,
					 enum lmi_grammar_expr_kind kind)
{
	const json_t *list = get_list(t, v, type, "elements", 1);
	struct lmi_grammar_expr *e = list_of(t, kind);

	for (size_t i = 0; !failed(t) && i < json_array_size(list); i++)
		append(t, e, format(t, json_array_get(list, i)));
	return e;
}

static struct lmi_grammar_expr *sequence(struct tags *t, const json_t *v)
{
	return elements(t, v, "sequence", LMI_GR_EXPR_SEQ);
}

static struct lmi_grammar_expr *any_of(struct tags *t, const json_t *v)
{
	return elements(t, v, "or", LMI_GR_EXPR_ALT);
}

static struct lmi_grammar_expr *content_of(struct tags *t, const json_t *v, const char *type)
{
	const json_t *content = json_object_get(v, "content");

	if (!content)
		fail(t, type, "content", "is missing");
	return failed(t) ? NULL : format(t, content);
}

static struct lmi_grammar_expr *repeat(struct tags *t, const json_t *v, const char *type,
				       uint32_t min, uint32_t max)
{
	struct lmi_grammar_expr *e = content_of(t, v, type);

	return failed(t) ? NULL : lmi_grammar_expr_repeat(t->b, e, min, max);
}

static struct lmi_grammar_expr *optional(struct tags *t, const json_t *v)
{
	return repeat(t, v, "optional", 0, 1);
}

static struct lmi_grammar_expr *star(struct tags *t, const json_t *v)
{
	return repeat(t, v, "star", 0, UINT32_MAX);
}

static struct lmi_grammar_expr *plus(struct tags *t, const json_t *v)
{
	return repeat(t, v, "plus", 1, UINT32_MAX);
}

/* ---- tags ---- */

/* Reads a member that is a string, or a format. */
static struct lmi_grammar_expr *text_or_format(struct tags *t, const json_t *v, const char *type,
					       const char *member)
{
	const json_t *m = json_object_get(v, member);

	return json_is_object(m) ? format(t, m) : text_expr(t, get_text(t, v, type, member));
}

/* Returns the alternatives of `end`: a string, a format, or a list of strings. */
static struct lmi_grammar_expr *tag_end(struct tags *t, const json_t *v)
{
	const json_t *end = json_object_get(v, "end");
	struct lmi_grammar_expr *alt;

	if (!json_is_array(end))
		return text_or_format(t, v, "tag", "end");
	alt = list_of(t, LMI_GR_EXPR_ALT);
	(void)get_list(t, v, "tag", "end", 1);
	for (size_t i = 0; !failed(t) && i < json_array_size(end); i++) {
		const json_t *s = json_array_get(end, i);

		if (!json_is_string(s))
			fail(t, "tag", "end", "must contain strings");
		else
			append(t, alt, text_expr(t, text_of(s)));
	}
	return alt;
}

static bool is_any_text(const json_t *content)
{
	const char *type = json_string_value(json_object_get(content, "type"));

	return type && !strcmp(type, "any_text");
}

/* Defines the rule as any text up to the first end of the tag, without the texts that it excludes. */
static void text_up_to_end(struct tags *t, uint32_t rule, const json_t *v, const json_t *content)
{
	const json_t *end = json_object_get(v, "end");
	uint32_t n, n_end;
	struct lmi_gr_free_text_stop *stops, *all;
	json_t *one = json_is_string(end) ? json_pack("{s:[O]}", "end", end) : NULL;
	struct lmi_gr_free_text_stop *ends;

	if (json_is_string(end) && !one)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	ends = get_stops(t, one ? one : v, "tag", "end", 1, &n_end);
	stops = get_stops(t, content, "any_text", "excludes", 0, &n);
	all = failed(t) ? NULL : lmi_arena_array(t->b->arena, n + n_end + 1, sizeof(*all));
	if (!all)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	for (uint32_t i = 0; all && i < n_end; i++) {
		all[i] = ends[i];
		all[i].then = list_of(t, LMI_GR_EXPR_SEQ);
	}
	if (all && n)
		memcpy(all + n_end, stops, n * sizeof(*stops));
	if (!failed(t))
		lmi_gr_free_text(t->b, rule, all, n + n_end, false);
	json_decref(one); /* the strings belong to `end` */
}

static void check_tag(struct tags *t, const json_t *v)
{
	static member_names members = {"begin", "content", "schema", "end"};
	const json_t *type = json_object_get(v, "type");

	if (type && strcmp(json_is_string(type) ? json_string_value(type) : "", "tag") != 0)
		fail(t, "tag", "type", "must be \"tag\"");
	check_members(t, v, "tag", members);
}

/* Defines the rule as what follows the begin of a tag.  In the older form its content is a JSON schema. */
static void define_rest(struct tags *t, uint32_t rule, const json_t *v)
{
	const json_t *content = json_object_get(v, "content"),
		     *old = json_object_get(v, "schema"), *end = json_object_get(v, "end");
	struct lmi_grammar_expr *seq;

	if (is_any_text(content) && !json_is_object(end) &&
	    (!json_is_string(end) || json_string_length(end))) {
		text_up_to_end(t, rule, v, content);
		return;
	}
	seq = list_of(t, LMI_GR_EXPR_SEQ);
	append(t, seq, old && !content ? schema(t, old) : content_of(t, v, "tag"));
	append(t, seq, tag_end(t, v));
	define(t, rule, seq);
}

/* Reads a tag.  If its begin is a format and not a string, the rule has the begin as well. */
static struct tag read_tag(struct tags *t, const json_t *v)
{
	struct tag out = {.begin = {.ptr = ""}, .rule = add_rule(t, "tag")};
	const json_t *begin = json_object_get(v, "begin");
	struct lmi_grammar_expr *seq;
	uint32_t rest = out.rule;

	check_tag(t, v);
	if (!failed(t) && !json_is_object(begin))
		out.begin = get_text(t, v, "tag", "begin");
	else if (!failed(t))
		rest = add_rule(t, "rest of a tag");
	if (failed(t))
		return out;
	define_rest(t, rest, v);
	if (rest == out.rule)
		return out;
	seq = list_of(t, LMI_GR_EXPR_SEQ);
	append(t, seq, format(t, begin));
	append(t, seq, call(t, rest));
	define(t, out.rule, seq);
	return out;
}

/* Reads a list of tags. */
static struct tag *read_tags(struct tags *t, const json_t *v, const char *type, const char *member,
			     uint32_t *n)
{
	const json_t *list = get_list(t, v, type, member, 1);
	struct tag *out = failed(t) ? NULL
				    : lmi_arena_array(t->b->arena, json_array_size(list),
						      sizeof(*out));

	*n = 0;
	if (!out)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	while (!failed(t) && *n < json_array_size(list)) {
		out[*n] = read_tag(t, json_array_get(list, *n));
		++*n;
	}
	return out;
}

static struct lmi_grammar_expr *whole_tag(struct tags *t, const struct tag *g)
{
	struct lmi_grammar_expr *seq = list_of(t, LMI_GR_EXPR_SEQ);

	append(t, seq, text_expr(t, g->begin));
	append(t, seq, call(t, g->rule));
	return seq;
}

static struct lmi_grammar_expr *tag(struct tags *t, const json_t *v)
{
	struct tag g = read_tag(t, v);

	return failed(t) ? NULL : whole_tag(t, &g);
}

static struct lmi_grammar_expr *any_tag(struct tags *t, const struct tag *v, uint32_t n)
{
	struct lmi_grammar_expr *alt = list_of(t, LMI_GR_EXPR_ALT);

	for (uint32_t i = 0; i < n; i++)
		append(t, alt, whole_tag(t, &v[i]));
	return alt;
}

static struct lmi_grammar_expr *tags_with_separator(struct tags *t, const json_t *v)
{
	static const char type[] = "tags_with_separator";
	uint32_t n;
	const struct tag *g = read_tags(t, v, type, "tags", &n);
	bool one = get_bool(t, v, type, "stop_after_first"),
	     some = get_bool(t, v, type, "at_least_one");
	struct lmi_grammar_expr *seq = list_of(t, LMI_GR_EXPR_SEQ),
				*more = list_of(t, LMI_GR_EXPR_SEQ);

	if (failed(t))
		return NULL;
	append(t, seq, any_tag(t, g, n));
	if (!one) {
		append(t, more, text_or_format(t, v, type, "separator"));
		append(t, more, any_tag(t, g, n));
		append(t, seq, lmi_grammar_expr_repeat(t->b, more, 0, UINT32_MAX));
	}
	return some || failed(t) ? seq : lmi_grammar_expr_optional(t->b, seq);
}

/* ---- triggered tags ---- */

struct triggered {
	const struct tag *tag; /* [n_tag] */
	struct lmi_gr_free_text_stop *stop; /* [n_trigger + n_excluded] */
	uint32_t n_tag, n_trigger, n_excluded;
};

static bool begins_with(struct lmd_str s, struct lmd_str prefix)
{
	return s.len >= prefix.len && !memcmp(s.ptr, prefix.ptr, prefix.len);
}

/* Each tag must begin with a trigger, and each trigger must begin a tag. */
static void check_triggers(struct tags *t, const struct triggered *g)
{
	char shown[NAME_BYTES];

	for (uint32_t i = 0; i < g->n_tag; i++) {
		bool found = false;

		for (uint32_t k = 0; k < g->n_trigger; k++)
			found |= begins_with(g->tag[i].begin, g->stop[k].text);
		if (!found)
			lmi_grammar_builder_fail(
				t->b, LMD_INVALID,
				"the tag '%s' begins with none of the triggers",
				lmi_printable(shown, sizeof(shown), g->tag[i].begin.ptr,
					      g->tag[i].begin.len));
	}
	for (uint32_t k = 0; k < g->n_trigger; k++) {
		bool found = false;

		for (uint32_t i = 0; i < g->n_tag; i++)
			found |= begins_with(g->tag[i].begin, g->stop[k].text);
		if (!found)
			lmi_grammar_builder_fail(
				t->b, LMD_INVALID,
				"no tag begins with the trigger '%s'",
				lmi_printable(shown, sizeof(shown), g->stop[k].text.ptr,
					      g->stop[k].text.len));
	}
}

/* Defines `rule` as free text in which a trigger leads to a tag; `next` follows the tag. NULL: the
 * free text itself, again. */
static void define_text(struct tags *t, struct triggered *g, uint32_t rule, bool may_end,
			struct lmi_grammar_expr *next)
{
	for (uint32_t k = 0; k < g->n_trigger && !failed(t); k++) {
		struct lmi_grammar_expr *alt = list_of(t, LMI_GR_EXPR_ALT);

		for (uint32_t i = 0; i < g->n_tag; i++) {
			struct lmd_str rest = g->tag[i].begin, trigger = g->stop[k].text;
			struct lmi_grammar_expr *seq;

			if (!begins_with(rest, trigger))
				continue;
			rest.ptr += trigger.len;
			rest.len -= trigger.len;
			seq = list_of(t, LMI_GR_EXPR_SEQ);
			append(t, seq, text_expr(t, rest));
			append(t, seq, call(t, g->tag[i].rule));
			append(t, seq, next ? next : call(t, rule));
			append(t, alt, seq);
		}
		g->stop[k].then = alt;
	}
	if (!failed(t))
		lmi_gr_free_text(t->b, rule, g->stop, g->n_trigger + g->n_excluded, may_end);
}

static struct lmi_grammar_expr *triggered(struct tags *t, const json_t *v, const char *type,
					  const char *member)
{
	struct triggered g = {0};
	struct lmi_gr_free_text_stop *trigger, *excluded;
	bool one = get_bool(t, v, type, "stop_after_first"),
	     some = get_bool(t, v, type, "at_least_one");
	uint32_t rule = add_rule(t, "text with tags"), first;

	g.tag = read_tags(t, v, type, member, &g.n_tag);
	trigger = get_stops(t, v, type, "triggers", 1, &g.n_trigger);
	excluded = get_stops(t, v, type, "excludes", 0, &g.n_excluded);
	g.stop = failed(t) ? NULL
			   : lmi_arena_array(t->b->arena, g.n_trigger + g.n_excluded,
					     sizeof(*g.stop));
	if (!g.stop) {
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
		return NULL;
	}
	memcpy(g.stop, trigger, g.n_trigger * sizeof(*trigger));
	if (g.n_excluded)
		memcpy(g.stop + g.n_trigger, excluded, g.n_excluded * sizeof(*excluded));
	check_triggers(t, &g);
	if (failed(t))
		return NULL;
	define_text(t, &g, rule, one ? !some : true, one ? list_of(t, LMI_GR_EXPR_SEQ) : NULL);
	if (!some || one)
		return call(t, rule);
	first = add_rule(t, "text before a tag");
	define_text(t, &g, first, false, call(t, rule));
	return call(t, first);
}

static struct lmi_grammar_expr *triggered_tags(struct tags *t, const json_t *v)
{
	return triggered(t, v, "triggered_tags", "tags");
}

/* ---- any format ---- */

static const struct {
	const char *type;
	format_fn fn;
	member_names members;
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
	{"tag", tag, {"begin", "content", "end"}},
	{"triggered_tags",
	 triggered_tags,
	 {"triggers", "tags", "at_least_one", "stop_after_first", "excludes"}},
	{"tags_with_separator",
	 tags_with_separator,
	 {"tags", "separator", "at_least_one", "stop_after_first"}},
};

static struct lmi_grammar_expr *format(struct tags *t, const json_t *v)
{
	const json_t *name = json_object_get(v, "type");
	const char *type = json_is_string(name) ? json_string_value(name) : "";
	struct lmi_grammar_expr *e;
	char shown[NAME_BYTES];

	if (t->depth == DEPTH_MAX)
		lmi_grammar_builder_fail(t->b, LMD_INVALID,
					 "formats are nested more than %d deep",
					 DEPTH_MAX);
	if (!json_is_string(name))
		lmi_grammar_builder_fail(t->b, LMD_INVALID,
					 "a format must be an object whose 'type' is a string");
	if (failed(t))
		return NULL;
	for (size_t i = 0; i < LMD_LEN(formats); i++) {
		if (strcmp(type, formats[i].type) != 0)
			continue;
		check_members(t, v, type, formats[i].members);
		t->depth++;
		e = failed(t) ? NULL : formats[i].fn(t, v);
		t->depth--;
		return e;
	}
	lmi_grammar_builder_fail(t->b, LMD_INVALID,
				 "the format '%s' is not supported",
				 lmi_printable(shown, sizeof(shown), type, strlen(type)));
	return NULL;
}

static struct lmi_grammar_expr *document(struct tags *t, const json_t *v)
{
	const json_t *f = json_object_get(v, "format"), *name = json_object_get(v, "type");

	if (!json_is_object(v))
		lmi_grammar_builder_fail(t->b, LMD_INVALID, "a structural tag must be an object");
	else if (name && (!json_is_string(name) ||
			  strcmp(json_string_value(name), "structural_tag") != 0))
		fail(t, "structural_tag", "type", "must be \"structural_tag\"");
	else if (!f && !json_object_get(v, "structures"))
		fail(t, "structural_tag", "format", "is missing");
	if (failed(t))
		return NULL;
	return f ? format(t, f) : triggered(t, v, "structural_tag", "structures");
}

enum lmd_status lmi_grammar_from_structural_tag(struct lmi_grammar **out, const char *text,
						size_t bytes, struct lmd_error *err)
{
	struct lmi_grammar_builder b;
	struct tags t = {.b = &b};
	struct lmi_grammar_expr *e;
	json_error_t je;
	json_t *v;
	uint32_t root;
	enum lmd_status st;

	if (bytes > LMI_GRAMMAR_BYTES_MAX)
		return lmd_fail(err, LMD_INVALID,
				"%zu bytes long, at most %u are allowed", bytes,
				LMI_GRAMMAR_BYTES_MAX);
	v = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &je);
	if (!v && json_error_code(&je) == json_error_out_of_memory)
		return lmd_fail(err, LMD_NOMEM, "out of memory");
	if (!v)
		return lmd_fail(err, LMD_CORRUPT, "not JSON: line %d: %s", je.line,
				je.text);
	st = lmi_grammar_builder_init(&b, err);
	if (st == LMD_OK) {
		root = lmi_grammar_builder_add_rule(&b, "root");
		e = document(&t, v);
		define(&t, root, e);
		st = b.st == LMD_OK ? lmi_grammar_builder_compile(&b, root, out) : b.st;
		lmi_grammar_builder_fini(&b);
	}
	json_decref(v);
	return st;
}
