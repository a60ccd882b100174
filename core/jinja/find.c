/* SPDX-License-Identifier: MIT
 *
 * String methods that search. */
#include "core/jinja/find.h"

#include <string.h>

size_t lmi_jinja_str_find(struct lmi_jinja_val v, size_t from, size_t to, struct lmi_jinja_val x)
{
	const char *p;

	if (!x.n)
		return from;
	p = to - from >= x.n ? memmem(v.u.s + from, to - from, x.u.s, x.n) : NULL;
	return p ? (size_t)(p - v.u.s) : SIZE_MAX;
}

/* Each comparison counts as steps, because the search is quadratic in the worst case. */
size_t lmi_jinja_str_rfind(struct lmi_jinja_run *run, struct lmi_jinja_val v, size_t to,
			   struct lmi_jinja_val x)
{
	if (to < x.n)
		return SIZE_MAX;
	if (!x.n)
		return to;
	for (size_t at = to - x.n + 1; at-- > 0;) {
		if (v.u.s[at] != x.u.s[0])
			continue;
		if (!lmi_jinja_run_step(run, x.n / 64))
			break;
		if (!memcmp(v.u.s + at, x.u.s, x.n))
			return at;
	}
	return SIZE_MAX;
}

/* Finds the part of self between the arguments start and end; returns false if start is after the
 * end of the string.  *skipped: number of characters before the part. */
static bool window(struct lmi_jinja_run *run, struct lmi_jinja_val self,
		   const struct lmi_jinja_val *a, struct lmi_jinja_val *piece, int64_t *skipped)
{
	int64_t n = lmi_jinja_val_length(self), from = 0, to = n;
	size_t at;

	if (lmi_jinja_val_is_given(a[0]) && a[0].kind != LMI_JINJA_V_NONE)
		from = lmi_jinja_param_int(run, a[0], 0, "the start");
	if (lmi_jinja_val_is_given(a[1]) && a[1].kind != LMI_JINJA_V_NONE)
		to = lmi_jinja_param_int(run, a[1], n, "the end");
	from = from < -n ? 0 : from < 0 ? from + n : from;
	to = to < -n ? 0 : to < 0 ? to + n : to > n ? n : to;
	*skipped = from;
	if (from > to || !lmi_jinja_run_step(run, self.n / 16))
		return false;
	at = lmi_unicode_offset(self.u.s, self.n, (size_t)from);
	*piece = lmi_jinja_str_substr(
		self, at, at + lmi_unicode_offset(self.u.s + at, self.n - at, (size_t)(to - from)));
	return true;
}

/* Character index at which the argument occurs, or -1. */
static int64_t search(struct lmi_jinja_run *run, struct lmi_jinja_val self,
		      const struct lmi_jinja_val *a, bool last)
{
	struct lmi_jinja_val x = lmi_jinja_param_str(run, a[0], "", "the substring"), v;
	int64_t skipped;
	size_t at;

	if (!window(run, self, a + 1, &v, &skipped))
		return -1;
	at = last ? lmi_jinja_str_rfind(run, v, v.n, x) : lmi_jinja_str_find(v, 0, v.n, x);
	return at == SIZE_MAX ? -1 : skipped + (int64_t)lmi_unicode_count(v.u.s, at);
}

static struct lmi_jinja_val m_find(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				   const struct lmi_jinja_val *a)
{
	return lmi_jinja_int(search(run, self, a, false));
}

static struct lmi_jinja_val m_rfind(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	return lmi_jinja_int(search(run, self, a, true));
}

static struct lmi_jinja_val found(struct lmi_jinja_run *run, int64_t i)
{
	if (i < 0)
		lmi_jinja_run_fail(run, "substring not found");
	return lmi_jinja_int(i);
}

static struct lmi_jinja_val m_index(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	return found(run, search(run, self, a, false));
}

static struct lmi_jinja_val m_rindex(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_val *a)
{
	return found(run, search(run, self, a, true));
}

static struct lmi_jinja_val m_count(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	struct lmi_jinja_val x = lmi_jinja_param_str(run, a[0], "", "the substring"), v;
	int64_t skipped, n = 0;
	size_t at = 0;

	if (!window(run, self, a + 1, &v, &skipped))
		return lmi_jinja_int(0);
	if (!x.n)
		return lmi_jinja_int(lmi_jinja_val_length(v) + 1);
	while ((at = lmi_jinja_str_find(v, at, v.n, x)) != SIZE_MAX && lmi_jinja_run_step(run, 1)) {
		at += x.n;
		n++;
	}
	return lmi_jinja_int(n);
}

/* Tests for one string, or for any of a tuple, at the start or end. */
static struct lmi_jinja_val has_affix(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a,
				      bool (*test)(struct lmi_jinja_val, struct lmi_jinja_val))
{
	struct lmi_jinja_val v, one = a[0];
	int64_t skipped;

	if (one.kind != LMI_JINJA_V_TUPLE)
		one = lmi_jinja_param_str(run, one, "", "the prefix or suffix");
	if (!window(run, self, a + 1, &v, &skipped))
		return lmi_jinja_bool(false);
	if (one.kind != LMI_JINJA_V_TUPLE)
		return lmi_jinja_bool(test(v, one));
	for (uint32_t i = 0; i < a[0].u.list->n && lmi_jinja_run_step(run, 1); i++) {
		if (test(v,
			 lmi_jinja_param_str(run, a[0].u.list->v[i], "", "the prefix or suffix")))
			return lmi_jinja_bool(true);
	}
	return lmi_jinja_bool(false);
}

static struct lmi_jinja_val m_startswith(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_val *a)
{
	return has_affix(run, self, a, lmi_jinja_str_starts);
}

static struct lmi_jinja_val m_endswith(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				       const struct lmi_jinja_val *a)
{
	return has_affix(run, self, a, lmi_jinja_str_ends);
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "find",
	 .fn = m_find,
	 .params = "sub start end",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "rfind",
	 .fn = m_rfind,
	 .params = "sub start end",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "index",
	 .fn = m_index,
	 .params = "sub start end",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "rindex",
	 .fn = m_rindex,
	 .params = "sub start end",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "count",
	 .fn = m_count,
	 .params = "sub start end",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "startswith",
	 .fn = m_startswith,
	 .params = "prefix start end",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "endswith",
	 .fn = m_endswith,
	 .params = "suffix start end",
	 .n_required = 1,
	 .pos_only = true},
};

const struct lmi_jinja_table lmi_jinja_find_methods = LMI_JINJA_TABLE(rows);
