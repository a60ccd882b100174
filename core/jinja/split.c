/* SPDX-License-Identifier: MIT
 *
 * String methods that split strings. */
#include "core/jinja/find.h"

static void split_space(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t max,
			struct lmi_jinja_list *out)
{
	size_t at = 0;

	for (;;) {
		size_t from = at, to, next;

		while (from < v.n && lmi_jinja_run_step(run, 1)) {
			next = from;
			if (!lmi_unicode_space(lmi_unicode_next(v.u.s, v.n, &next)))
				break;
			from = next;
		}
		if (from == v.n || run->failed)
			return;
		if (!max--) {
			lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, from, v.n));
			return;
		}
		for (to = next = from; next < v.n && lmi_jinja_run_step(run, 1); to = next) {
			if (lmi_unicode_space(lmi_unicode_next(v.u.s, v.n, &next)))
				break;
		}
		lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, from, to));
		at = to;
	}
}

/* Adds the pieces in reverse order. */
static void rsplit_space(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t max,
			 struct lmi_jinja_list *out)
{
	size_t at = v.n;

	for (;;) {
		size_t to = at, from, next;

		while (to && lmi_jinja_run_step(run, 1)) {
			next = to;
			if (!lmi_unicode_space(lmi_unicode_prev(v.u.s, &next)))
				break;
			to = next;
		}
		if (!to || run->failed)
			return;
		if (!max--) {
			lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, 0, to));
			return;
		}
		for (from = next = to; next && lmi_jinja_run_step(run, 1); from = next) {
			if (lmi_unicode_space(lmi_unicode_prev(v.u.s, &next)))
				break;
		}
		lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, from, to));
		at = from;
	}
}

static void split_at(struct lmi_jinja_run *run, struct lmi_jinja_val v, struct lmi_jinja_val sep,
		     int64_t max, struct lmi_jinja_list *out)
{
	size_t from = 0, at;

	while (max-- && (at = lmi_jinja_str_find(v, from, v.n, sep)) != SIZE_MAX &&
	       lmi_jinja_run_step(run, 1 + (at - from) / 16)) {
		lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, from, at));
		from = at + sep.n;
	}
	lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, from, v.n));
}

static void rsplit_at(struct lmi_jinja_run *run, struct lmi_jinja_val v, struct lmi_jinja_val sep,
		      int64_t max, struct lmi_jinja_list *out)
{
	size_t to = v.n, at;

	while (max-- && (at = lmi_jinja_str_rfind(run, v, to, sep)) != SIZE_MAX &&
	       lmi_jinja_run_step(run, 1 + (to - at) / 16)) {
		lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, at + sep.n, to));
		to = at;
	}
	lmi_jinja_list_add(run, out, lmi_jinja_str_substr(v, 0, to));
}

static struct lmi_jinja_val split_any(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a, bool from_right)
{
	struct lmi_jinja_val out = lmi_jinja_list_new(run), sep = lmi_jinja_none_if_missing(a[0]);
	int64_t max = lmi_jinja_param_int(run, a[1], -1, "maxsplit");
	struct lmi_jinja_list *l = out.u.list;

	if (sep.kind != LMI_JINJA_V_NONE) {
		sep = lmi_jinja_param_str(run, sep, "", "the separator");
		if (!sep.n) {
			lmi_jinja_run_fail(run, "empty separator");
			return out;
		}
		(from_right ? rsplit_at : split_at)(run, self, sep, max, l);
	} else {
		(from_right ? rsplit_space : split_space)(run, self, max, l);
	}
	for (uint32_t i = 0; from_right && i < l->n / 2; i++) {
		struct lmi_jinja_val t = l->v[i];

		l->v[i] = l->v[l->n - 1 - i];
		l->v[l->n - 1 - i] = t;
	}
	return out;
}

static struct lmi_jinja_val m_split(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	return split_any(run, self, a, false);
}

static struct lmi_jinja_val m_rsplit(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_val *a)
{
	return split_any(run, self, a, true);
}

struct lmi_jinja_val lmi_jinja_str_lines(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 bool keep_ends)
{
	struct lmi_jinja_val out = lmi_jinja_list_new(run);

	for (size_t from = 0, to = 0; from < v.n && lmi_jinja_run_step(run, 1); from = to) {
		size_t end = from;
		uint32_t c = 0;

		while (to < v.n && lmi_jinja_run_step(run, 1)) {
			end = to;
			c = lmi_unicode_next(v.u.s, v.n, &to);
			if (lmi_unicode_newline(c))
				break;
			end = to;
		}
		if (c == '\r' && end < to && to < v.n && v.u.s[to] == '\n')
			to++;
		lmi_jinja_list_add(run, out.u.list,
				   lmi_jinja_str_substr(v, from, keep_ends ? to : end));
	}
	return out;
}

static struct lmi_jinja_val m_splitlines(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_val *a)
{
	return lmi_jinja_str_lines(run, self, lmi_jinja_param_int(run, a[0], 0, "keepends") != 0);
}

static struct lmi_jinja_val partition_any(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					  struct lmi_jinja_val sep, bool last)
{
	struct lmi_jinja_val out = lmi_jinja_list_new(run), none = lmi_jinja_str_substr(v, 0, 0);
	size_t at;

	sep = lmi_jinja_param_str(run, sep, "", "the separator");
	if (!sep.n)
		lmi_jinja_run_fail(run, "empty separator");
	at = last ? lmi_jinja_str_rfind(run, v, v.n, sep) : lmi_jinja_str_find(v, 0, v.n, sep);
	if (at == SIZE_MAX && last) {
		lmi_jinja_list_add(run, out.u.list, none);
		lmi_jinja_list_add(run, out.u.list, none);
		lmi_jinja_list_add(run, out.u.list, v);
	} else if (at == SIZE_MAX) {
		lmi_jinja_list_add(run, out.u.list, v);
		lmi_jinja_list_add(run, out.u.list, none);
		lmi_jinja_list_add(run, out.u.list, none);
	} else {
		lmi_jinja_list_add(run, out.u.list, lmi_jinja_str_substr(v, 0, at));
		lmi_jinja_list_add(run, out.u.list, sep);
		lmi_jinja_list_add(run, out.u.list, lmi_jinja_str_substr(v, at + sep.n, v.n));
	}
	return lmi_jinja_as_tuple(out);
}

static struct lmi_jinja_val m_partition(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					const struct lmi_jinja_val *a)
{
	return partition_any(run, self, a[0], false);
}

static struct lmi_jinja_val m_rpartition(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_val *a)
{
	return partition_any(run, self, a[0], true);
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "split", .fn = m_split, .params = "sep maxsplit"},
	{.name = "rsplit", .fn = m_rsplit, .params = "sep maxsplit"},
	{.name = "splitlines", .fn = m_splitlines, .params = "keepends"},
	{.name = "partition",
	 .fn = m_partition,
	 .params = "sep",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "rpartition",
	 .fn = m_rpartition,
	 .params = "sep",
	 .n_required = 1,
	 .pos_only = true},
};

const struct lmi_jinja_table lmi_jinja_split_methods = LMI_JINJA_TABLE(rows);
