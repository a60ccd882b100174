/* SPDX-License-Identifier: MIT
 *
 * Tags of structural tags: alone, separated by a text, and in free text behind their triggers. */
#include <string.h>

#include "core/base/printable.h"
#include "core/grammar/structural_tag_impl.h"

/* A tag: its begin, and a rule for what follows the begin. */
struct tag {
	struct lmd_str begin;
	uint32_t rule;
};

/* ---- tags ---- */

/* Reads a member that is a string, or a format. */
static struct lmi_grammar_expr *text_or_format(struct lmi_gr_tags *t, const json_t *v,
					       const char *type, const char *member)
{
	const json_t *m = json_object_get(v, member);

	return json_is_object(m) ? lmi_gr_tags_format(t, m)
				 : lmi_gr_tags_text(t, lmi_gr_tags_get_text(t, v, type, member));
}

/* Returns the alternatives of `end`: a string, a format, or a list of strings. */
static struct lmi_grammar_expr *tag_end(struct lmi_gr_tags *t, const json_t *v)
{
	const json_t *end = json_object_get(v, "end");
	struct lmi_grammar_expr *alt;

	if (!json_is_array(end))
		return text_or_format(t, v, "tag", "end");
	alt = lmi_gr_tags_list(t, LMI_GR_EXPR_ALT);
	(void)lmi_gr_tags_get_list(t, v, "tag", "end", 1);
	for (size_t i = 0; !lmi_gr_tags_failed(t) && i < json_array_size(end); i++) {
		const json_t *s = json_array_get(end, i);

		if (!json_is_string(s))
			lmi_gr_tags_fail(t, "tag", "end", "must contain strings");
		else
			lmi_gr_tags_append(t, alt, lmi_gr_tags_text(t, lmi_gr_tags_text_of(s)));
	}
	return alt;
}

static bool is_any_text(const json_t *content)
{
	const char *type = json_string_value(json_object_get(content, "type"));

	return type && !strcmp(type, "any_text");
}

/* Defines the rule as any text up to the first end of the tag, without the texts that it excludes. */
static void text_up_to_end(struct lmi_gr_tags *t, uint32_t rule, const json_t *v,
			   const json_t *content)
{
	const json_t *end = json_object_get(v, "end");
	uint32_t n, n_end;
	struct lmi_gr_free_text_stop *stops, *all;
	json_t *one = json_is_string(end) ? json_pack("{s:[O]}", "end", end) : NULL;
	struct lmi_gr_free_text_stop *ends;

	if (json_is_string(end) && !one)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	ends = lmi_gr_tags_get_stops(t, one ? one : v, "tag", "end", 1, &n_end);
	stops = lmi_gr_tags_get_stops(t, content, "any_text", "excludes", 0, &n);
	all = lmi_gr_tags_failed(t) ? NULL
				    : lmi_arena_array(t->b->arena, n + n_end + 1, sizeof(*all));
	if (!all)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	for (uint32_t i = 0; all && i < n_end; i++) {
		all[i] = ends[i];
		all[i].then = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ);
	}
	if (all && n)
		memcpy(all + n_end, stops, n * sizeof(*stops));
	if (!lmi_gr_tags_failed(t))
		lmi_gr_free_text(t->b, rule, all, n + n_end, false);
	json_decref(one); /* the strings belong to `end` */
}

static void check_tag(struct lmi_gr_tags *t, const json_t *v)
{
	static lmi_gr_tags_members members = {"begin", "content", "schema", "end"};
	const json_t *type = json_object_get(v, "type");

	if (type && strcmp(json_is_string(type) ? json_string_value(type) : "", "tag") != 0)
		lmi_gr_tags_fail(t, "tag", "type", "must be \"tag\"");
	lmi_gr_tags_check_members(t, v, "tag", members);
}

/* Defines the rule as what follows the begin of a tag.  In the older form its content is a JSON schema. */
static void define_rest(struct lmi_gr_tags *t, uint32_t rule, const json_t *v)
{
	const json_t *content = json_object_get(v, "content"), *old = json_object_get(v, "schema"),
		     *end = json_object_get(v, "end");
	struct lmi_grammar_expr *seq;

	if (is_any_text(content) && !json_is_object(end) &&
	    (!json_is_string(end) || json_string_length(end))) {
		text_up_to_end(t, rule, v, content);
		return;
	}
	seq = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ);
	lmi_gr_tags_append(t, seq,
			   old && !content ? lmi_gr_tags_schema(t, old)
					   : lmi_gr_tags_content(t, v, "tag"));
	lmi_gr_tags_append(t, seq, tag_end(t, v));
	lmi_gr_tags_define(t, rule, seq);
}

/* Reads a tag.  If its begin is a format and not a string, the rule has the begin as well. */
static struct tag read_tag(struct lmi_gr_tags *t, const json_t *v)
{
	struct tag out = {.begin = {.ptr = ""}, .rule = lmi_gr_tags_add_rule(t, "tag")};
	const json_t *begin = json_object_get(v, "begin");
	struct lmi_grammar_expr *seq;
	uint32_t rest = out.rule;

	check_tag(t, v);
	if (!lmi_gr_tags_failed(t) && !json_is_object(begin))
		out.begin = lmi_gr_tags_get_text(t, v, "tag", "begin");
	else if (!lmi_gr_tags_failed(t))
		rest = lmi_gr_tags_add_rule(t, "rest of a tag");
	if (lmi_gr_tags_failed(t))
		return out;
	define_rest(t, rest, v);
	if (rest == out.rule)
		return out;
	seq = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ);
	lmi_gr_tags_append(t, seq, lmi_gr_tags_format(t, begin));
	lmi_gr_tags_append(t, seq, lmi_gr_tags_call(t, rest));
	lmi_gr_tags_define(t, out.rule, seq);
	return out;
}

/* Reads a list of tags. */
static struct tag *read_tags(struct lmi_gr_tags *t, const json_t *v, const char *type,
			     const char *member, uint32_t *n)
{
	const json_t *list = lmi_gr_tags_get_list(t, v, type, member, 1);
	struct tag *out =
		lmi_gr_tags_failed(t)
			? NULL
			: lmi_arena_array(t->b->arena, json_array_size(list), sizeof(*out));

	*n = 0;
	if (!out)
		lmi_grammar_builder_fail(t->b, LMD_NOMEM, "out of memory");
	while (!lmi_gr_tags_failed(t) && *n < json_array_size(list)) {
		out[*n] = read_tag(t, json_array_get(list, *n));
		++*n;
	}
	return out;
}

static struct lmi_grammar_expr *whole_tag(struct lmi_gr_tags *t, const struct tag *g)
{
	struct lmi_grammar_expr *seq = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ);

	lmi_gr_tags_append(t, seq, lmi_gr_tags_text(t, g->begin));
	lmi_gr_tags_append(t, seq, lmi_gr_tags_call(t, g->rule));
	return seq;
}

struct lmi_grammar_expr *lmi_gr_tags_tag(struct lmi_gr_tags *t, const json_t *v)
{
	struct tag g = read_tag(t, v);

	return lmi_gr_tags_failed(t) ? NULL : whole_tag(t, &g);
}

static struct lmi_grammar_expr *any_tag(struct lmi_gr_tags *t, const struct tag *v, uint32_t n)
{
	struct lmi_grammar_expr *alt = lmi_gr_tags_list(t, LMI_GR_EXPR_ALT);

	for (uint32_t i = 0; i < n; i++)
		lmi_gr_tags_append(t, alt, whole_tag(t, &v[i]));
	return alt;
}

struct lmi_grammar_expr *lmi_gr_tags_with_separator(struct lmi_gr_tags *t, const json_t *v)
{
	static const char type[] = "tags_with_separator";
	uint32_t n;
	const struct tag *g = read_tags(t, v, type, "tags", &n);
	bool one = lmi_gr_tags_get_bool(t, v, type, "stop_after_first"),
	     some = lmi_gr_tags_get_bool(t, v, type, "at_least_one");
	struct lmi_grammar_expr *seq = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ),
				*more = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ);

	if (lmi_gr_tags_failed(t))
		return NULL;
	lmi_gr_tags_append(t, seq, any_tag(t, g, n));
	if (!one) {
		lmi_gr_tags_append(t, more, text_or_format(t, v, type, "separator"));
		lmi_gr_tags_append(t, more, any_tag(t, g, n));
		lmi_gr_tags_append(t, seq, lmi_grammar_expr_repeat(t->b, more, 0, UINT32_MAX));
	}
	return some || lmi_gr_tags_failed(t) ? seq : lmi_grammar_expr_optional(t->b, seq);
}

/* ---- triggered tags ---- */

struct triggered {
	const struct tag *tag;              /* [n_tag] */
	struct lmi_gr_free_text_stop *stop; /* [n_trigger + n_excluded] */
	uint32_t n_tag, n_trigger, n_excluded;
};

static bool begins_with(struct lmd_str s, struct lmd_str prefix)
{
	return s.len >= prefix.len && !memcmp(s.ptr, prefix.ptr, prefix.len);
}

/* Says what is wrong with a tag or a trigger. */
static void fail_at(struct lmi_gr_tags *t, const char *before, struct lmd_str text, const char *after)
{
	char shown[LMI_GR_TAGS_NAME_BYTES];

	lmi_grammar_builder_fail(t->b, LMD_INVALID, "%s '%s'%s", before,
				 lmi_printable(shown, sizeof(shown), text.ptr, text.len), after);
}

/* Each tag must begin with a trigger, and each trigger must begin a tag. */
static void check_triggers(struct lmi_gr_tags *t, const struct triggered *g)
{
	for (uint32_t i = 0; i < g->n_tag; i++) {
		bool found = false;

		for (uint32_t k = 0; k < g->n_trigger; k++)
			found |= begins_with(g->tag[i].begin, g->stop[k].text);
		if (!found)
			fail_at(t, "the tag", g->tag[i].begin, " begins with none of the triggers");
	}
	for (uint32_t k = 0; k < g->n_trigger; k++) {
		bool found = false;

		for (uint32_t i = 0; i < g->n_tag; i++)
			found |= begins_with(g->tag[i].begin, g->stop[k].text);
		if (!found)
			fail_at(t, "no tag begins with the trigger", g->stop[k].text, "");
	}
}

/* Defines `rule` as free text in which a trigger leads to a tag; `next` follows the tag. NULL: the
 * free text itself, again. */
static void define_text(struct lmi_gr_tags *t, struct triggered *g, uint32_t rule, bool may_end,
			struct lmi_grammar_expr *next)
{
	for (uint32_t k = 0; k < g->n_trigger && !lmi_gr_tags_failed(t); k++) {
		struct lmi_grammar_expr *alt = lmi_gr_tags_list(t, LMI_GR_EXPR_ALT);

		for (uint32_t i = 0; i < g->n_tag; i++) {
			struct lmd_str rest = g->tag[i].begin, trigger = g->stop[k].text;
			struct lmi_grammar_expr *seq;

			if (!begins_with(rest, trigger))
				continue;
			rest.ptr += trigger.len;
			rest.len -= trigger.len;
			seq = lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ);
			lmi_gr_tags_append(t, seq, lmi_gr_tags_text(t, rest));
			lmi_gr_tags_append(t, seq, lmi_gr_tags_call(t, g->tag[i].rule));
			lmi_gr_tags_append(t, seq, next ? next : lmi_gr_tags_call(t, rule));
			lmi_gr_tags_append(t, alt, seq);
		}
		g->stop[k].then = alt;
	}
	if (!lmi_gr_tags_failed(t))
		lmi_gr_free_text(t->b, rule, g->stop, g->n_trigger + g->n_excluded, may_end);
}

struct lmi_grammar_expr *lmi_gr_tags_text_with_tags(struct lmi_gr_tags *t, const json_t *v,
						    const char *type, const char *member)
{
	struct triggered g = {0};
	struct lmi_gr_free_text_stop *trigger, *excluded;
	bool one = lmi_gr_tags_get_bool(t, v, type, "stop_after_first"),
	     some = lmi_gr_tags_get_bool(t, v, type, "at_least_one");
	uint32_t rule = lmi_gr_tags_add_rule(t, "text with tags"), first;

	g.tag = read_tags(t, v, type, member, &g.n_tag);
	trigger = lmi_gr_tags_get_stops(t, v, type, "triggers", 1, &g.n_trigger);
	excluded = lmi_gr_tags_get_stops(t, v, type, "excludes", 0, &g.n_excluded);
	g.stop = lmi_gr_tags_failed(t) ? NULL
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
	if (lmi_gr_tags_failed(t))
		return NULL;
	define_text(t, &g, rule, one ? !some : true,
		    one ? lmi_gr_tags_list(t, LMI_GR_EXPR_SEQ) : NULL);
	if (!some || one)
		return lmi_gr_tags_call(t, rule);
	first = lmi_gr_tags_add_rule(t, "text before a tag");
	define_text(t, &g, first, false, lmi_gr_tags_call(t, rule));
	return lmi_gr_tags_call(t, first);
}

struct lmi_grammar_expr *lmi_gr_tags_triggered(struct lmi_gr_tags *t, const json_t *v)
{
	return lmi_gr_tags_text_with_tags(t, v, "triggered_tags", "tags");
}
