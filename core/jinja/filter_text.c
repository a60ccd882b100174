/* SPDX-License-Identifier: MIT
 *
 * String filters.  Most of them first convert their input to a string. */
#include <string.h>

#include "core/jinja/builtin.h"

static LMI_JINJA_BUILTIN(f_string)
{
	(void)a;
	return lmi_jinja_val_text(run, self);
}

static LMI_JINJA_BUILTIN(f_upper)
{
	(void)a;
	return lmi_jinja_str_case(run, lmi_jinja_val_text(run, self), LMI_JINJA_STR_UPPER);
}

static LMI_JINJA_BUILTIN(f_lower)
{
	(void)a;
	return lmi_jinja_str_case(run, lmi_jinja_val_text(run, self), LMI_JINJA_STR_LOWER);
}

static LMI_JINJA_BUILTIN(f_capitalize)
{
	(void)a;
	return lmi_jinja_str_case(run, lmi_jinja_val_text(run, self), LMI_JINJA_STR_CAPITALIZE);
}

static bool breaks_word(uint32_t c)
{
	return lmi_unicode_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
}

/* Upper case at the start and after whitespace and - ( { [ <, lower case elsewhere. */
static LMI_JINJA_BUILTIN(f_title)
{
	struct lmi_jinja_val v = lmi_jinja_val_text(run, self), part, out;
	struct lmi_jinja_str_buf b = {.run = run};
	size_t at = 0, from = 0;

	(void)a;
	while (at < v.n && lmi_jinja_run_step(run, 1)) {
		size_t first = from, next;

		/* separators, then the first letter of the word, then the rest of it */
		while (at < v.n && lmi_jinja_run_step(run, 1) &&
		       (next = at, breaks_word(lmi_unicode_next(v.u.s, v.n, &next))))
			at = next;
		lmi_jinja_buf_add(&b, v.u.s + first, at - first);
		first = at;
		if (at < v.n)
			(void)lmi_unicode_next(v.u.s, v.n, &at); /* only advances the position */
		part = lmi_jinja_strn(v.u.s + first, at - first);
		lmi_jinja_buf_val(&b, lmi_jinja_str_case(run, part, LMI_JINJA_STR_UPPER));
		from = at;
		while (at < v.n && lmi_jinja_run_step(run, 1) &&
		       (next = at, !breaks_word(lmi_unicode_next(v.u.s, v.n, &next))))
			at = next;
		part = lmi_jinja_strn(v.u.s + from, at - from);
		lmi_jinja_buf_val(&b, lmi_jinja_str_case(run, part, LMI_JINJA_STR_LOWER));
		from = at;
	}
	out = lmi_jinja_buf_done(&b);
	out.flags = v.flags;
	return out;
}

static LMI_JINJA_BUILTIN(f_trim)
{
	struct lmi_jinja_val chars = lmi_jinja_val_is_given(a[0]) ? a[0] : lmi_jinja_none();

	return lmi_jinja_str_strip(run, lmi_jinja_val_text(run, self), chars, LMI_JINJA_BOTH);
}

static LMI_JINJA_BUILTIN(f_center)
{
	return lmi_jinja_str_center(run, lmi_jinja_val_text(run, self),
				    lmi_jinja_param_int(run, a[0], 80, "the width"), ' ');
}

static LMI_JINJA_BUILTIN(f_replace)
{
	struct lmi_jinja_val v = lmi_jinja_val_text(run, self),
			     from = lmi_jinja_val_text(run, a[0]);
	struct lmi_jinja_val to = lmi_jinja_val_text(run, a[1]), count = a[2];

	if (count.kind == LMI_JINJA_V_NONE)
		count = lmi_jinja_missing();
	if (!run->autoescape) {
		v.flags = 0;
	} else if ((from.flags | to.flags) & LMI_JINJA_VF_SAFE && !(v.flags & LMI_JINJA_VF_SAFE)) {
		v = lmi_jinja_val_escape(run, v);
	}
	if (v.flags & LMI_JINJA_VF_SAFE) {
		from = lmi_jinja_val_escape(run, from);
		to = lmi_jinja_val_escape(run, to);
	}
	return lmi_jinja_str_replace(run, v, from, to,
				     lmi_jinja_param_int(run, count, -1, "the count"));
}

static struct lmi_jinja_val f_format(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_val arg;

	if (args->n_pos && args->n_kw) {
		lmi_jinja_run_fail(run, "format: named and positional arguments cannot be mixed");
		return self;
	}
	arg = args->n_kw ? lmi_jinja_dict_new(run) : lmi_jinja_as_tuple(lmi_jinja_list_new(run));
	for (uint32_t i = 0; i < args->n_pos; i++)
		lmi_jinja_list_add(run, arg.u.list, args->pos[i]);
	for (uint32_t i = 0; i < args->n_kw; i++)
		lmi_jinja_dict_set(run, arg.u.dict,
				   lmi_jinja_strn(args->kw[i].name.ptr, args->kw[i].name.len),
				   args->kw[i].v);
	return lmi_jinja_format_percent(run, lmi_jinja_val_text(run, self), arg);
}

static LMI_JINJA_BUILTIN(f_indent)
{
	struct lmi_jinja_val width = a[0], v = lmi_jinja_val_text(run, self),
			     out = lmi_jinja_strn("", 0);
	bool first = lmi_jinja_param_truth(a[1], false), blank = lmi_jinja_param_truth(a[2], false);
	struct lmi_jinja_str_buf pad = {.run = run}, b = {.run = run};
	const struct lmi_jinja_list *lines;

	if (self.kind != LMI_JINJA_V_STR) {
		lmi_jinja_run_fail(run, "indent needs a string, not %s", lmi_jinja_val_type(self));
		return out;
	}
	if (lmi_jinja_val_is_given(width) && width.kind == LMI_JINJA_V_STR) {
		lmi_jinja_buf_val(&pad, width);
	} else {
		int64_t n = lmi_jinja_param_int(run, width, 4, "the width");

		lmi_jinja_buf_fill(&pad, ' ', n > 0 ? (uint64_t)n : 0);
	}
	width = lmi_jinja_buf_done(&pad);
	/* adds a line break so that an empty last line counts */
	lines = lmi_jinja_str_lines(run, lmi_jinja_str_concat(run, v, lmi_jinja_strn("\n", 1)),
				    false)
			.u.list;
	for (uint32_t i = 0; i < lines->n && lmi_jinja_run_step(run, 1); i++) {
		if (i)
			lmi_jinja_buf_char(&b, '\n');
		if (i ? blank || lines->v[i].n : first)
			lmi_jinja_buf_val(&b, width);
		lmi_jinja_buf_val(&b, lines->v[i]);
	}
	out = lmi_jinja_buf_done(&b);
	out.flags = v.flags;
	return out;
}

static LMI_JINJA_BUILTIN(f_truncate)
{
	struct lmi_jinja_val end = lmi_jinja_param_str(run, a[2], "...", "the end"),
			     leeway_arg = a[3], cut;
	int64_t length = lmi_jinja_param_int(run, a[0], 255, "the length"),
		n = lmi_jinja_val_length(self), leeway;
	size_t bytes;

	if (leeway_arg.kind == LMI_JINJA_V_NONE)
		leeway_arg = lmi_jinja_missing();
	leeway = lmi_jinja_param_int(run, leeway_arg, 5, "the leeway");
	if (length < lmi_jinja_val_length(end) || leeway < 0) {
		lmi_jinja_run_fail(
			run, "truncate: length must be at least the length of end, and leeway "
			     "must not be negative");
		return self;
	}
	if (n >= 0 && (n <= length || n - length <= leeway))
		return self;
	if (self.kind != LMI_JINJA_V_STR) {
		lmi_jinja_run_fail(run, "truncate needs a string, not %s",
				   lmi_jinja_val_type(self));
		return self;
	}
	bytes = lmi_unicode_offset(self.u.s, self.n, (size_t)(length - lmi_jinja_val_length(end)));
	cut = lmi_jinja_strn(self.u.s, bytes);
	if (!lmi_jinja_param_truth(a[1], false)) {
		const char *blank = memrchr(self.u.s, ' ', bytes);

		if (blank)
			cut.n = (uint32_t)(blank - self.u.s);
	}
	return lmi_jinja_str_concat(run, cut, end);
}

static LMI_JINJA_BUILTIN(f_wordcount)
{
	struct lmi_jinja_val v = lmi_jinja_val_text(run, self);
	bool in_word = false;
	int64_t n = 0;

	(void)a;
	for (size_t at = 0; at < v.n && lmi_jinja_run_step(run, 1);) {
		bool word = lmi_unicode_word(lmi_unicode_next(v.u.s, v.n, &at));

		n += word && !in_word;
		in_word = word;
	}
	return lmi_jinja_int(n);
}

static LMI_JINJA_BUILTIN(f_default)
{
	struct lmi_jinja_val def = lmi_jinja_val_is_given(a[0]) ? a[0] : lmi_jinja_strn("", 0);

	(void)run;
	if (self.kind == LMI_JINJA_V_UNDEF ||
	    (lmi_jinja_param_truth(a[1], false) && !lmi_jinja_val_truth(self)))
		return def;
	return self;
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "string", .fn = f_string, .params = ""},
	{.name = "upper", .fn = f_upper, .params = ""},
	{.name = "lower", .fn = f_lower, .params = ""},
	{.name = "capitalize", .fn = f_capitalize, .params = ""},
	{.name = "title", .fn = f_title, .params = ""},
	{.name = "trim", .fn = f_trim, .params = "chars"},
	{.name = "center", .fn = f_center, .params = "width"},
	{.name = "replace", .fn = f_replace, .params = "old new count", .n_required = 2},
	{.name = "format", .raw = f_format},
	{.name = "indent", .fn = f_indent, .params = "width first blank"},
	{.name = "truncate", .fn = f_truncate, .params = "length killwords end leeway"},
	{.name = "wordcount", .fn = f_wordcount, .params = ""},
	{.name = "default", .fn = f_default, .params = "default_value boolean"},
	{.name = "d", .fn = f_default, .params = "default_value boolean"},
	{.name = "tojson",
	 .fn = lmi_jinja_tojson,
	 .params = "ensure_ascii indent separators sort_keys"},
	{.name = "pprint", .fn = lmi_jinja_pprint, .params = ""},
};

const struct lmi_jinja_table lmi_jinja_text_filters = LMI_JINJA_TABLE(rows);
