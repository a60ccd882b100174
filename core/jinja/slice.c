/* SPDX-License-Identifier: MIT
 *
 * Slices of sequences. */
#include "core/jinja/ops.h"
#include "core/jinja/run.h"
#include "core/jinja/str_buf.h"
#include "core/unicode/unicode.h"

static bool slice_part(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (v.kind == LMI_JINJA_V_NONE || lmi_jinja_is_integer(v))
		return true;
	lmi_jinja_run_fail(run, "slice indices must be integers or None, not %s",
			   lmi_jinja_val_type(v));
	return false;
}

/* One end of a slice, clipped as in Python. */
static int64_t slice_end(struct lmi_jinja_val v, int64_t n, int64_t step, int64_t def)
{
	int64_t i;

	if (v.kind == LMI_JINJA_V_NONE)
		return def;
	i = lmi_jinja_integer(v);
	if (i < 0)
		return i < -n ? (step < 0 ? -1 : 0) : i + n;
	return i >= n ? (step < 0 ? n - 1 : n) : i;
}

static struct lmi_jinja_val slice_str(struct lmi_jinja_run *run, struct lmi_jinja_val v,
				      int64_t from, int64_t n, int64_t step, int64_t length)
{
	struct lmi_jinja_str_buf b = {.run = run};
	uint32_t *at;
	struct lmi_jinja_val out;
	size_t k = 0;

	if (step == 1) {
		size_t a = lmi_unicode_offset(v.u.s, v.n, (size_t)from);

		if (!lmi_jinja_run_step(run, v.n / 16))
			return v;
		out = lmi_jinja_strn(v.u.s + a, lmi_unicode_offset(v.u.s + a, v.n - a, (size_t)n));
		out.flags = v.flags;
		return out;
	}
	at = lmi_jinja_run_alloc(run, ((size_t)length + 1) * sizeof(*at));
	if (!at)
		return v;
	for (int64_t i = 0; i <= length && lmi_jinja_run_step(run, 1); i++) {
		at[i] = (uint32_t)k;
		if (i < length)
			(void)lmi_unicode_next(v.u.s, v.n, &k); /* only advances the position */
	}
	for (int64_t i = 0; i < n && lmi_jinja_run_step(run, 1); i++, from += step)
		lmi_jinja_buf_add(&b, v.u.s + at[from], at[from + 1] - at[from]);
	out = lmi_jinja_buf_done(&b);
	out.flags = v.flags;
	return out;
}

static struct lmi_jinja_val slice_range(struct lmi_jinja_run *run, const struct lmi_jinja_range *r,
					int64_t from, int64_t n, int64_t step)
{
	struct lmi_jinja_range *s = lmi_jinja_run_alloc(run, sizeof(*s));

	if (!s)
		return lmi_jinja_none();
	s->start = r->start + from * r->step;
	s->step = r->step * step;
	s->n = (uint32_t)n;
	s->stop = s->start + n * s->step;
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_RANGE, .u.range = s};
}

struct lmi_jinja_val lmi_jinja_val_slice(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 struct lmi_jinja_val from, struct lmi_jinja_val to,
					 struct lmi_jinja_val step)
{
	int64_t length = lmi_jinja_val_length(v), s = 1, a, b, n = 0;
	struct lmi_jinja_val out;

	if (lmi_jinja_val_fail_undefined(run, v))
		return v;
	if (!lmi_jinja_val_is_sequence(v)) {
		lmi_jinja_run_fail(run, "a value of type %s cannot be sliced",
				   lmi_jinja_val_type(v));
		return v;
	}
	if (!slice_part(run, from) || !slice_part(run, to) || !slice_part(run, step))
		return v;
	if (step.kind != LMI_JINJA_V_NONE)
		s = lmi_jinja_integer(step);
	if (!s) {
		lmi_jinja_run_fail(run, "slice step cannot be zero");
		return v;
	}
	/* any step longer than the sequence has the same effect */
	s = s > length + 1 ? length + 1 : s < -length - 1 ? -length - 1 : s;
	a = slice_end(from, length, s, s < 0 ? length - 1 : 0);
	b = slice_end(to, length, s, s < 0 ? -1 : length);
	if (s > 0 && a < b)
		n = (b - a + s - 1) / s;
	else if (s < 0 && b < a)
		n = (a - b - s - 1) / -s;
	if (!lmi_jinja_run_step(run, (uint64_t)length / 64))
		return v;
	if (v.kind == LMI_JINJA_V_RANGE)
		return slice_range(run, v.u.range, a, n, s);
	if (v.kind == LMI_JINJA_V_STR)
		return slice_str(run, v, a, n, s, length);
	out = lmi_jinja_list_new(run);
	if (v.kind == LMI_JINJA_V_BYTES) {
		struct lmi_jinja_str_buf buf = {.run = run};

		for (int64_t i = 0; i < n && lmi_jinja_run_step(run, 1); i++, a += s)
			lmi_jinja_buf_add(&buf, v.u.s + a, 1);
		out = lmi_jinja_buf_done(&buf);
		out.kind = LMI_JINJA_V_BYTES;
		return out;
	}
	for (int64_t i = 0; i < n && lmi_jinja_run_step(run, 1); i++, a += s)
		lmi_jinja_list_add(run, out.u.list, v.u.list->v[a]);
	out.kind = v.kind;
	return out;
}
