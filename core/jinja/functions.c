/* SPDX-License-Identifier: MIT
 *
 * Global functions, methods of objects that are not collections, and the look-up of all builtin
 * names. */
#include <string.h>
#include <time.h>

#include "core/jinja/eval.h"

/* Functions */

static LMI_JINJA_BUILTIN(g_range)
{
	int64_t start = 0, stop, step = lmi_jinja_param_int(run, a[2], 1, "the step");
	struct lmi_jinja_range *r;
	uint64_t n = 0;

	(void)self;
	stop = lmi_jinja_param_int(run, a[0], 0, "the stop");
	if (lmi_jinja_val_is_given(a[1])) {
		start = stop;
		stop = lmi_jinja_param_int(run, a[1], 0, "the stop");
	}
	if (!step) {
		lmi_jinja_run_fail(run, "range() arg 3 must not be zero");
		return lmi_jinja_none();
	}
	/* unsigned arithmetic, because differences may exceed 63 bits */
	if (step > 0 && start < stop)
		n = ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1;
	else if (step < 0 && stop < start)
		n = ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1;
	if (n > LMI_JINJA_RUN_RANGE_MAX) {
		lmi_jinja_run_fail(run, "range too big: %llu items, at most %d are allowed",
				   (unsigned long long)n, LMI_JINJA_RUN_RANGE_MAX);
		return lmi_jinja_none();
	}
	r = lmi_jinja_run_alloc(run, sizeof(*r));
	if (!r)
		return lmi_jinja_none();
	*r = (struct lmi_jinja_range){.start = start, .stop = stop, .step = step, .n = (uint32_t)n};
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_RANGE, .u.range = r};
}

static struct lmi_jinja_val g_dict(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				   const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_val d = lmi_jinja_dict_new(run);

	(void)self;
	lmi_jinja_dict_update(run, d.u.dict, args);
	return d;
}

static struct lmi_jinja_val g_namespace(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_val d = g_dict(run, self, args);

	d.kind = LMI_JINJA_V_NAMESPACE;
	return d;
}

static struct lmi_jinja_val g_cycler(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_cycler *c = lmi_jinja_run_alloc(run, sizeof(*c));

	(void)self;
	if (!args->n_pos || args->n_kw)
		lmi_jinja_run_fail(run,
				   "cycler needs at least one item and takes no named arguments");
	if (!c || run->failed)
		return lmi_jinja_none();
	c->items = lmi_jinja_list_new(run).u.list;
	for (uint32_t i = 0; i < args->n_pos; i++)
		lmi_jinja_list_add(run, c->items, args->pos[i]);
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_CYCLER, .u.cycler = c};
}

static LMI_JINJA_BUILTIN(g_joiner)
{
	struct lmi_jinja_joiner *j = lmi_jinja_run_alloc(run, sizeof(*j));

	(void)self;
	if (!j)
		return lmi_jinja_none();
	j->separator = lmi_jinja_val_is_given(a[0]) ? a[0] : lmi_jinja_str(", ");
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_JOINER, .u.joiner = j};
}

static LMI_JINJA_BUILTIN(g_raise_exception)
{
	struct lmi_jinja_val text = lmi_jinja_val_text(run, a[0]);

	(void)self;
	if (run->failed)
		return lmi_jinja_none();
	lmi_jinja_run_fail(run, "%.*s", (int)(text.n < LMD_ERROR_TEXT ? text.n : LMD_ERROR_TEXT),
			   text.u.s);
	run->failure.raised = text.u.s;
	run->failure.raised_bytes = text.n;
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(g_strftime_now)
{
	struct lmi_jinja_val format = lmi_jinja_param_str(run, a[0], "", "the format");
	char fmt[256], text[1024];
	size_t n;

	(void)self;
	if (format.n + 2 > sizeof(fmt) || (format.n && memchr(format.u.s, '\0', format.n))) {
		lmi_jinja_run_fail(run, "strftime_now: the format is longer than %zu bytes",
				   sizeof(fmt) - 2);
		return lmi_jinja_none();
	}
	/* with a leading space, an empty result differs from one that is too long */
	fmt[0] = ' ';
	memcpy(fmt + 1, format.u.s, format.n);
	fmt[format.n + 1] = '\0';
	/* the format comes from the template; its result only goes to the output */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = strftime(text, sizeof(text), fmt, &run->now);
#pragma GCC diagnostic pop
	if (!n) {
		lmi_jinja_run_fail(run, "strftime_now: the result is longer than %zu bytes",
				   sizeof(text));
		return lmi_jinja_none();
	}
	return lmi_jinja_str_copy(run, text + 1, n - 1);
}

static struct lmi_jinja_val g_lipsum(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_call_args *args)
{
	(void)self;
	(void)args;
	lmi_jinja_run_fail_status(run, LMD_UNSUPPORTED, "lipsum is not supported");
	return lmi_jinja_none();
}

static const struct lmi_jinja_builtin globals[] = {
	{.name = "range",
	 .fn = g_range,
	 .params = "start stop step",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "dict", .raw = g_dict},
	{.name = "namespace", .raw = g_namespace},
	{.name = "cycler", .raw = g_cycler},
	{.name = "joiner", .fn = g_joiner, .params = "sep"},
	{.name = "raise_exception", .fn = g_raise_exception, .params = "message", .n_required = 1},
	{.name = "strftime_now", .fn = g_strftime_now, .params = "format", .n_required = 1},
	{.name = "lipsum", .raw = g_lipsum},
};

const struct lmi_jinja_builtin *lmi_jinja_global_find(const char *name, size_t n)
{
	return lmi_jinja_builtin_find(globals, LMD_LEN(globals), name, n);
}

const struct lmi_jinja_builtin *lmi_jinja_global_row(size_t i)
{
	return i < LMD_LEN(globals) ? &globals[i] : NULL;
}

/* Methods of cyclers, loops, bytes and ranges */

static LMI_JINJA_BUILTIN(cycler_next)
{
	struct lmi_jinja_cycler *c = self.u.cycler;
	struct lmi_jinja_val v = c->items->v[c->at];

	(void)run;
	(void)a;
	c->at = (c->at + 1) % c->items->n;
	return v;
}

static LMI_JINJA_BUILTIN(cycler_reset)
{
	(void)run;
	(void)a;
	self.u.cycler->at = 0;
	return lmi_jinja_none();
}

static const struct lmi_jinja_builtin cycler_rows[] = {
	{.name = "next", .fn = cycler_next, .params = ""},
	{.name = "reset", .fn = cycler_reset, .params = ""},
};

static LMI_JINJA_BUILTIN(bytes_decode)
{
	(void)a;
	for (size_t at = 0; at < self.n && lmi_jinja_run_step(run, 1);) {
		size_t from = at;

		if (lmi_unicode_next(self.u.s, self.n, &at) == 0xfffd && at - from == 1) {
			lmi_jinja_run_fail(run, "byte %zu is not valid UTF-8", from);
			break;
		}
	}
	self.kind = LMI_JINJA_V_STR;
	return self;
}

static const struct lmi_jinja_builtin bytes_rows[] = {
	{.name = "decode", .fn = bytes_decode, .params = "encoding errors"},
};

static LMI_JINJA_BUILTIN(range_count)
{
	return lmi_jinja_int(lmi_jinja_val_contains(run, self, a[0]));
}

static LMI_JINJA_BUILTIN(range_index)
{
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, self);

	for (uint32_t i = 0; l && i < l->n && lmi_jinja_run_step(run, 1); i++) {
		if (lmi_jinja_val_equal(run, l->v[i], a[0]))
			return lmi_jinja_int(i);
	}
	lmi_jinja_run_fail(run, "x is not in the range");
	return lmi_jinja_none();
}

static const struct lmi_jinja_builtin range_rows[] = {
	{.name = "count", .fn = range_count, .params = "value", .n_required = 1, .pos_only = true},
	{.name = "index", .fn = range_index, .params = "value", .n_required = 1, .pos_only = true},
};

/* Look-up */

/* The tables of what can be called by a name in one place: the filters, or the methods of a kind. */
struct tables {
	const struct lmi_jinja_table *const *t;
	size_t n;
};

#define TABLES(of)                                                                                 \
	(struct tables)                                                                            \
	{                                                                                          \
		of, LMD_LEN(of)                                                                    \
	}

static const struct lmi_jinja_builtin *in_tables(struct tables t, const char *name, size_t n)
{
	const struct lmi_jinja_builtin *f = NULL;

	for (size_t i = 0; i < t.n && !f; i++)
		f = lmi_jinja_builtin_find(t.t[i]->row, t.t[i]->n, name, n);
	return f;
}

static const struct lmi_jinja_builtin *row_of(struct tables t, size_t i)
{
	for (size_t k = 0; k < t.n; i -= t.t[k++]->n)
		if (i < t.t[k]->n)
			return &t.t[k]->row[i];
	return NULL;
}

static struct tables filter_tables(void)
{
	static const struct lmi_jinja_builtin wrap = {
		.name = "wordwrap",
		.fn = lmi_jinja_wordwrap,
		.params = "width break_long_words wrapstring break_on_hyphens"};
	static const struct lmi_jinja_table wrap_table = {&wrap, 1};
	static const struct lmi_jinja_table *const of[] = {
		&lmi_jinja_text_filters,   &lmi_jinja_list_filters, &lmi_jinja_pick_filters,
		&lmi_jinja_number_filters, &lmi_jinja_web_filters,  &wrap_table};

	return TABLES(of);
}

static struct tables method_tables(enum lmi_jinja_vkind kind)
{
	static const struct lmi_jinja_table bytes_table = LMI_JINJA_TABLE(bytes_rows);
	static const struct lmi_jinja_table range_table = LMI_JINJA_TABLE(range_rows);
	static const struct lmi_jinja_table cycler_table = LMI_JINJA_TABLE(cycler_rows);
	static const struct lmi_jinja_table *const str[] = {
		&lmi_jinja_find_methods, &lmi_jinja_strip_methods, &lmi_jinja_split_methods,
		&lmi_jinja_join_methods, &lmi_jinja_case_methods,  &lmi_jinja_pad_methods,
	};
	static const struct lmi_jinja_table *const bytes[] = {&bytes_table};
	static const struct lmi_jinja_table *const list[] = {&lmi_jinja_list_methods};
	static const struct lmi_jinja_table *const tuple[] = {&lmi_jinja_tuple_methods};
	static const struct lmi_jinja_table *const dict[] = {&lmi_jinja_dict_methods};
	static const struct lmi_jinja_table *const range[] = {&range_table};
	static const struct lmi_jinja_table *const number[] = {&lmi_jinja_number_methods};
	static const struct lmi_jinja_table *const cycler[] = {&cycler_table};
	static const struct lmi_jinja_table *const loop[] = {&lmi_jinja_loop_methods};

	switch (kind) {
	case LMI_JINJA_V_STR:
		return TABLES(str);
	case LMI_JINJA_V_BYTES:
		return TABLES(bytes);
	case LMI_JINJA_V_LIST:
		return TABLES(list);
	case LMI_JINJA_V_TUPLE:
		return TABLES(tuple);
	case LMI_JINJA_V_DICT:
		return TABLES(dict);
	case LMI_JINJA_V_RANGE:
		return TABLES(range);
	case LMI_JINJA_V_BOOL:
	case LMI_JINJA_V_INT:
	case LMI_JINJA_V_FLOAT:
		return TABLES(number);
	case LMI_JINJA_V_CYCLER:
		return TABLES(cycler);
	case LMI_JINJA_V_LOOP:
		return TABLES(loop);
	case LMI_JINJA_V_MISSING:
	case LMI_JINJA_V_UNDEF:
	case LMI_JINJA_V_NONE:
	case LMI_JINJA_V_VIEW:
	case LMI_JINJA_V_ITER:
	case LMI_JINJA_V_NAMESPACE:
	case LMI_JINJA_V_BUILTIN:
	case LMI_JINJA_V_MACRO:
	case LMI_JINJA_V_JOINER:
		break;
	}
	return (struct tables){0};
}

const struct lmi_jinja_builtin *lmi_jinja_filter_find(const char *name, size_t n)
{
	return in_tables(filter_tables(), name, n);
}

const struct lmi_jinja_builtin *lmi_jinja_filter_row(size_t i)
{
	return row_of(filter_tables(), i);
}

const struct lmi_jinja_builtin *lmi_jinja_method_find(enum lmi_jinja_vkind kind, const char *name,
						      size_t n)
{
	return in_tables(method_tables(kind), name, n);
}

const struct lmi_jinja_builtin *lmi_jinja_method_row(enum lmi_jinja_vkind kind, size_t i)
{
	return row_of(method_tables(kind), i);
}
