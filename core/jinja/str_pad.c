/* SPDX-License-Identifier: MIT
 *
 * String methods about width, encoding and formatting. */
#include "core/jinja/builtin.h"

static struct lmi_jinja_val pad(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t left,
				int64_t right, uint32_t fill)
{
	struct lmi_jinja_str_buf b = {.run = run};
	struct lmi_jinja_val out;

	if (left <= 0 && right <= 0)
		return v;
	lmi_jinja_buf_fill(&b, fill, left > 0 ? (uint64_t)left : 0);
	lmi_jinja_buf_val(&b, v);
	lmi_jinja_buf_fill(&b, fill, right > 0 ? (uint64_t)right : 0);
	out = lmi_jinja_buf_done(&b);
	out.flags = v.flags;
	return out;
}

/* An odd space goes to the left if the width is odd, else to the right. */
struct lmi_jinja_val lmi_jinja_str_center(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					  int64_t width, uint32_t fill)
{
	int64_t room = width - lmi_jinja_val_length(v), left;

	if (room <= 0)
		return v;
	left = room / 2 + (room & width & 1);
	return pad(run, v, left, room - left, fill);
}

static uint32_t fill_arg(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	size_t at = 0;
	uint32_t c = ' ';

	if (!lmi_jinja_val_is_given(v))
		return c;
	v = lmi_jinja_param_str(run, v, " ", "the fill character");
	if (v.n)
		c = lmi_unicode_next(v.u.s, v.n, &at);
	if (!v.n || at != v.n)
		lmi_jinja_run_fail(run, "the fill character must be exactly one character long");
	return c;
}

static struct lmi_jinja_val m_center(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_val *a)
{
	return lmi_jinja_str_center(run, self, lmi_jinja_param_int(run, a[0], 0, "the width"),
				    fill_arg(run, a[1]));
}

static int64_t room(struct lmi_jinja_run *run, struct lmi_jinja_val self,
		    struct lmi_jinja_val width)
{
	int64_t w = lmi_jinja_param_int(run, width, 0, "the width");

	return w > 0 ? w - lmi_jinja_val_length(self) : 0;
}

static struct lmi_jinja_val m_ljust(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	return pad(run, self, 0, room(run, self, a[0]), fill_arg(run, a[1]));
}

static struct lmi_jinja_val m_rjust(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	return pad(run, self, room(run, self, a[0]), 0, fill_arg(run, a[1]));
}

static struct lmi_jinja_val m_zfill(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a)
{
	struct lmi_jinja_str_buf b = {.run = run};
	int64_t n = room(run, self, a[0]);
	uint32_t sign = self.n && (self.u.s[0] == '-' || self.u.s[0] == '+');

	if (n <= 0)
		return self;
	lmi_jinja_buf_add(&b, self.u.s, sign);
	lmi_jinja_buf_fill(&b, '0', (uint64_t)n);
	lmi_jinja_buf_add(&b, self.u.s + sign, self.n - sign);
	return lmi_jinja_buf_done(&b);
}

static struct lmi_jinja_val m_expandtabs(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_val *a)
{
	struct lmi_jinja_str_buf b = {.run = run};
	int64_t size = lmi_jinja_param_int(run, a[0], 8, "the tab size"), column = 0;

	for (size_t at = 0; at < self.n && lmi_jinja_run_step(run, 1);) {
		uint32_t c = lmi_unicode_next(self.u.s, self.n, &at);

		if (c == '\t') {
			int64_t n = size > 0 ? size - column % size : 0;

			lmi_jinja_buf_fill(&b, ' ', (uint64_t)n);
			column += n;
			continue;
		}
		lmi_jinja_buf_char(&b, c);
		column = c == '\n' || c == '\r' ? 0 : column + 1;
	}
	return lmi_jinja_buf_done(&b);
}

/* Handles encode and decode: accepts UTF-8, and ASCII if all bytes are ASCII. */
static bool codec(struct lmi_jinja_run *run, struct lmi_jinja_val self, struct lmi_jinja_val name)
{
	struct lmi_jinja_val low = lmi_jinja_str_case(
		run, lmi_jinja_param_str(run, name, "utf-8", "the encoding"), LMI_JINJA_STR_LOWER);

	if (lmi_jinja_str_eq(low, "utf-8") || lmi_jinja_str_eq(low, "utf8"))
		return true;
	if (lmi_jinja_str_eq(low, "ascii")) {
		for (uint32_t i = 0; i < self.n; i++) {
			if ((unsigned char)self.u.s[i] < 0x80)
				continue;
			lmi_jinja_run_fail(run, "byte %u is not ASCII", i);
			return false;
		}
		return true;
	}
	lmi_jinja_run_fail(run, "unknown encoding: %.*s", (int)low.n, low.u.s);
	return false;
}

static struct lmi_jinja_val m_encode(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_val *a)
{
	if (codec(run, self, a[0]))
		self.kind = LMI_JINJA_V_BYTES;
	self.flags = 0;
	return self;
}

static struct lmi_jinja_val m_format_map(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_val *a)
{
	struct lmi_jinja_call_args args = {0};
	struct lmi_jinja_kwarg *kw;

	if (a[0].kind != LMI_JINJA_V_DICT) {
		lmi_jinja_run_fail(run, "format_map needs a dictionary, not %s",
				   lmi_jinja_val_type(a[0]));
		return self;
	}
	kw = lmi_jinja_run_alloc(run, (a[0].u.dict->n + 1) * sizeof(*kw));
	for (uint32_t i = 0; kw && i < a[0].u.dict->n; i++) {
		const struct lmi_jinja_entry *e = &a[0].u.dict->e[i];

		if (e->key.kind == LMI_JINJA_V_STR)
			kw[args.n_kw++] =
				(struct lmi_jinja_kwarg){{e->key.u.s, e->key.n}, e->value};
	}
	args.kw = kw;
	return lmi_jinja_format_braces(run, self, &args);
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "center",
	 .fn = m_center,
	 .params = "width fillchar",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "ljust",
	 .fn = m_ljust,
	 .params = "width fillchar",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "rjust",
	 .fn = m_rjust,
	 .params = "width fillchar",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "zfill", .fn = m_zfill, .params = "width", .n_required = 1, .pos_only = true},
	{.name = "expandtabs", .fn = m_expandtabs, .params = "tabsize"},
	{.name = "encode", .fn = m_encode, .params = "encoding errors"},
	{.name = "format", .raw = lmi_jinja_format_braces},
	{.name = "format_map",
	 .fn = m_format_map,
	 .params = "mapping",
	 .n_required = 1,
	 .pos_only = true},
};

const struct lmi_jinja_table lmi_jinja_pad_methods = LMI_JINJA_TABLE(rows);
