/* SPDX-License-Identifier: MIT
 *
 * String methods that combine strings. */
#include "core/text/template/find.h"

struct lmi_val lmi_str_replace(struct lmi_run *run, struct lmi_val v, struct lmi_val from,
			       struct lmi_val to, int64_t n)
{
	struct lmi_buf b = {.run = run};
	size_t at = 0, hit;
	struct lmi_val out;

	if (!from.n) { /* inserts before every character and at the end */
		for (; n && at < v.n && lmi_run_step(run, 1); n--) {
			size_t next = at;

			(void)lmi_uni_next(v.u.s, v.n, &next); /* only advances the position */
			lmi_buf_val(&b, to);
			lmi_buf_add(&b, v.u.s + at, next - at);
			at = next;
		}
		if (n)
			lmi_buf_val(&b, to);
	} else {
		while (n && (hit = lmi_str_find(v, at, v.n, from)) != SIZE_MAX &&
		       lmi_run_step(run, 1)) {
			lmi_buf_add(&b, v.u.s + at, hit - at);
			lmi_buf_val(&b, to);
			at = hit + from.n;
			n--;
		}
	}
	if (!at && !b.n)
		return v;
	lmi_buf_add(&b, v.u.s + at, v.n - at);
	out = lmi_buf_done(&b);
	out.flags = v.flags;
	return out;
}

static struct lmi_val m_replace(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_replace(run, self, lmi_param_str(run, a[0], "", "the replaced substring"),
			       lmi_param_str(run, a[1], "", "the replacement"),
			       lmi_param_int(run, a[2], -1, "the count"));
}

struct lmi_val lmi_str_join(struct lmi_run *run, struct lmi_val sep, const struct lmi_list *items,
			    bool convert)
{
	struct lmi_buf b = {.run = run};
	struct lmi_val out;

	for (uint32_t i = 0; i < items->n && lmi_run_step(run, 1); i++) {
		struct lmi_val v = items->v[i];

		if (v.kind != LMI_V_STR && !convert) {
			lmi_run_fail(run, "join: item %u must be a string, not %s", i,
				     lmi_val_type(v));
			break;
		}
		if (i)
			lmi_buf_val(&b, sep);
		v = sep.flags & LMI_VF_SAFE ? lmi_val_escape(run, v) : lmi_val_text(run, v);
		lmi_buf_val(&b, v);
	}
	out = lmi_buf_done(&b);
	out.flags = sep.flags;
	return out;
}

static struct lmi_val m_join(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	const struct lmi_list *items = lmi_val_items(run, a[0]);

	return items ? lmi_str_join(run, self, items, false) : self;
}

static const struct lmi_builtin rows[] = {
	{ .name = "replace", .fn = m_replace, .params = "old new count", .n_required = 2,
	  .pos_only = true },
	{ .name = "join", .fn = m_join, .params = "iterable", .n_required = 1, .pos_only = true },
};

const struct lmi_table lmi_join_methods = LMI_TABLE(rows);
