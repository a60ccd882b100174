/* SPDX-License-Identifier: MIT
 *
 * String methods that strip the ends of a string. */
#include "core/text/template/find.h"

static bool stripped(struct lmi_val chars, uint32_t c)
{
	if (chars.kind == LMI_V_NONE)
		return lmi_uni_space(c);
	for (size_t at = 0; at < chars.n;) {
		if (lmi_uni_next(chars.u.s, chars.n, &at) == c)
			return true;
	}
	return false;
}

struct lmi_val lmi_str_strip(struct lmi_run *run, struct lmi_val v, struct lmi_val chars,
			     enum lmi_side side)
{
	uint64_t cost = 1 + chars.n / 16;
	size_t from = 0, to = v.n, at;

	if (chars.kind != LMI_V_NONE && chars.kind != LMI_V_STR) {
		lmi_run_fail(run, "the characters to strip must be a string, not %s",
			     lmi_val_type(chars));
		return v;
	}
	while ((side & LMI_LEFT) && from < to && lmi_run_step(run, cost)) {
		at = from;
		if (!stripped(chars, lmi_uni_next(v.u.s, to, &at)))
			break;
		from = at;
	}
	while ((side & LMI_RIGHT) && to > from && lmi_run_step(run, cost)) {
		at = to;
		if (!stripped(chars, lmi_uni_prev(v.u.s, &at)))
			break;
		to = at;
	}
	return lmi_str_part(v, from, to);
}

static struct lmi_val m_strip(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_strip(run, self, lmi_none_if_missing(a[0]), LMI_BOTH);
}

static struct lmi_val m_lstrip(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_strip(run, self, lmi_none_if_missing(a[0]), LMI_LEFT);
}

static struct lmi_val m_rstrip(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_strip(run, self, lmi_none_if_missing(a[0]), LMI_RIGHT);
}

static struct lmi_val m_removeprefix(struct lmi_run *run, struct lmi_val self,
				     const struct lmi_val *a)
{
	struct lmi_val x = lmi_param_str(run, a[0], "", "the prefix");

	return lmi_str_part(self, lmi_str_starts(self, x) ? x.n : 0, self.n);
}

static struct lmi_val m_removesuffix(struct lmi_run *run, struct lmi_val self,
				     const struct lmi_val *a)
{
	struct lmi_val x = lmi_param_str(run, a[0], "", "the suffix");

	return lmi_str_part(self, 0, self.n - (lmi_str_ends(self, x) ? x.n : 0));
}

static const struct lmi_builtin rows[] = {
	{ .name = "strip", .fn = m_strip, .params = "chars", .pos_only = true },
	{ .name = "lstrip", .fn = m_lstrip, .params = "chars", .pos_only = true },
	{ .name = "rstrip", .fn = m_rstrip, .params = "chars", .pos_only = true },
	{ .name = "removeprefix", .fn = m_removeprefix, .params = "prefix", .n_required = 1,
	  .pos_only = true },
	{ .name = "removesuffix", .fn = m_removesuffix, .params = "suffix", .n_required = 1,
	  .pos_only = true },
};

const struct lmi_table lmi_strip_methods = LMI_TABLE(rows);
