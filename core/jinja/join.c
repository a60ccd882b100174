/* SPDX-License-Identifier: MIT
 *
 * String methods that combine strings. */
#include "core/jinja/find.h"

struct lmi_jinja_val lmi_jinja_str_replace(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					   struct lmi_jinja_val from, struct lmi_jinja_val to,
					   int64_t n)
{
	struct lmi_jinja_str_buf b = {.run = run};
	size_t at = 0, hit;
	struct lmi_jinja_val out;

	if (!from.n) { /* inserts before every character and at the end */
		for (; n && at < v.n && lmi_jinja_run_step(run, 1); n--) {
			size_t next = at;

			(void)lmi_unicode_next(v.u.s, v.n, &next); /* only advances the position */
			lmi_jinja_buf_val(&b, to);
			lmi_jinja_buf_add(&b, v.u.s + at, next - at);
			at = next;
		}
		if (n)
			lmi_jinja_buf_val(&b, to);
	} else {
		while (n && (hit = lmi_jinja_str_find(v, at, v.n, from)) != SIZE_MAX &&
		       lmi_jinja_run_step(run, 1 + (hit - at) / 16)) {
			lmi_jinja_buf_add(&b, v.u.s + at, hit - at);
			lmi_jinja_buf_val(&b, to);
			at = hit + from.n;
			n--;
		}
	}
	if (!at && !b.n)
		return v;
	lmi_jinja_buf_add(&b, v.u.s + at, v.n - at);
	out = lmi_jinja_buf_done(&b);
	out.flags = v.flags;
	return out;
}

static struct lmi_jinja_val m_replace(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	return lmi_jinja_str_replace(run, self,
				     lmi_jinja_param_str(run, a[0], "", "the replaced substring"),
				     lmi_jinja_param_str(run, a[1], "", "the replacement"),
				     lmi_jinja_param_int(run, a[2], -1, "the count"));
}

struct lmi_jinja_val lmi_jinja_str_join(struct lmi_jinja_run *run, struct lmi_jinja_val sep,
					const struct lmi_jinja_list *items, bool convert)
{
	struct lmi_jinja_str_buf b = {.run = run};
	struct lmi_jinja_val out;

	for (uint32_t i = 0; i < items->n && lmi_jinja_run_step(run, 1); i++) {
		struct lmi_jinja_val v = items->v[i];

		if (v.kind != LMI_JINJA_V_STR && !convert) {
			lmi_jinja_run_fail(run, "join: item %u must be a string, not %s", i,
					   lmi_jinja_val_type(v));
			break;
		}
		if (i)
			lmi_jinja_buf_val(&b, sep);
		v = sep.flags & LMI_JINJA_VF_SAFE ? lmi_jinja_val_escape(run, v)
						  : lmi_jinja_val_text(run, v);
		lmi_jinja_buf_val(&b, v);
	}
	out = lmi_jinja_buf_done(&b);
	out.flags = sep.flags;
	return out;
}

static struct lmi_jinja_val m_join(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				   const struct lmi_jinja_val *a)
{
	const struct lmi_jinja_list *items = lmi_jinja_val_items(run, a[0]);

	return items ? lmi_jinja_str_join(run, self, items, false) : self;
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "replace",
	 .fn = m_replace,
	 .params = "old new count",
	 .n_required = 2,
	 .pos_only = true},
	{.name = "join", .fn = m_join, .params = "iterable", .n_required = 1, .pos_only = true},
};

const struct lmi_jinja_table lmi_jinja_join_methods = LMI_JINJA_TABLE(rows);
