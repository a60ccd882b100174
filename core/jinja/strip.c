/* SPDX-License-Identifier: MIT
 *
 * String methods that strip the ends of a string. */
#include "core/jinja/find.h"

static bool stripped(struct lmi_jinja_val chars, uint32_t c)
{
	if (chars.kind == LMI_JINJA_V_NONE)
		return lmi_unicode_space(c);
	for (size_t at = 0; at < chars.n;) {
		if (lmi_unicode_next(chars.u.s, chars.n, &at) == c)
			return true;
	}
	return false;
}

struct lmi_jinja_val lmi_jinja_str_strip(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 struct lmi_jinja_val chars, enum lmi_jinja_side side)
{
	uint64_t cost = 1 + chars.n / 16;
	size_t from = 0, to = v.n, at;

	if (chars.kind != LMI_JINJA_V_NONE && chars.kind != LMI_JINJA_V_STR) {
		lmi_jinja_run_fail(run, "the characters to strip must be a string, not %s",
				   lmi_jinja_val_type(chars));
		return v;
	}
	while ((side & LMI_JINJA_LEFT) && from < to && lmi_jinja_run_step(run, cost)) {
		at = from;
		if (!stripped(chars, lmi_unicode_next(v.u.s, to, &at)))
			break;
		from = at;
	}
	while ((side & LMI_JINJA_RIGHT) && to > from && lmi_jinja_run_step(run, cost)) {
		at = to;
		if (!stripped(chars, lmi_unicode_prev(v.u.s, &at)))
			break;
		to = at;
	}
	return lmi_jinja_str_substr(v, from, to);
}

static struct lmi_jinja_val m_strip(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	return lmi_jinja_str_strip(run, self, lmi_jinja_none_if_missing(a[0]), LMI_JINJA_BOTH);
}

static struct lmi_jinja_val m_lstrip(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_val *a)
{
	return lmi_jinja_str_strip(run, self, lmi_jinja_none_if_missing(a[0]), LMI_JINJA_LEFT);
}

static struct lmi_jinja_val m_rstrip(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_val *a)
{
	return lmi_jinja_str_strip(run, self, lmi_jinja_none_if_missing(a[0]), LMI_JINJA_RIGHT);
}

static struct lmi_jinja_val m_removeprefix(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					   const struct lmi_jinja_val *a)
{
	struct lmi_jinja_val x = lmi_jinja_param_str(run, a[0], "", "the prefix");

	return lmi_jinja_str_substr(self, lmi_jinja_str_starts(self, x) ? x.n : 0, self.n);
}

static struct lmi_jinja_val m_removesuffix(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					   const struct lmi_jinja_val *a)
{
	struct lmi_jinja_val x = lmi_jinja_param_str(run, a[0], "", "the suffix");

	return lmi_jinja_str_substr(self, 0, self.n - (lmi_jinja_str_ends(self, x) ? x.n : 0));
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "strip", .fn = m_strip, .params = "chars", .pos_only = true},
	{.name = "lstrip", .fn = m_lstrip, .params = "chars", .pos_only = true},
	{.name = "rstrip", .fn = m_rstrip, .params = "chars", .pos_only = true},
	{.name = "removeprefix",
	 .fn = m_removeprefix,
	 .params = "prefix",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "removesuffix",
	 .fn = m_removesuffix,
	 .params = "suffix",
	 .n_required = 1,
	 .pos_only = true},
};

const struct lmi_jinja_table lmi_jinja_strip_methods = LMI_JINJA_TABLE(rows);
