/* SPDX-License-Identifier: MIT
 *
 * Methods of texts that search, cut and put together. */
#include "core/text/template/builtin.h"

/* Parts of a text share its bytes. */
static struct lmi_val part(struct lmi_val v, size_t from, size_t to)
{
	struct lmi_val p = lmi_strn(v.u.s + from, to - from);

	p.flags = v.flags;
	return p;
}

/* Offset of the first occurrence of x in v[from..to), or SIZE_MAX. */
static size_t find_first(struct lmi_val v, size_t from, size_t to, struct lmi_val x)
{
	const char *p;

	if (!x.n)
		return from;
	p = to - from >= x.n ? memmem(v.u.s + from, to - from, x.u.s, x.n) : NULL;
	return p ? (size_t)(p - v.u.s) : SIZE_MAX;
}

/* Of the last one.  Attempts count as steps: there is no shortcut for them. */
static size_t find_last(struct lmi_run *run, struct lmi_val v, size_t to, struct lmi_val x)
{
	if (to < x.n)
		return SIZE_MAX;
	if (!x.n)
		return to;
	for (size_t at = to - x.n + 1; at-- > 0;) {
		if (v.u.s[at] != x.u.s[0])
			continue;
		if (!lmi_run_step(run, x.n / 64))
			break;
		if (!memcmp(v.u.s + at, x.u.s, x.n))
			return at;
	}
	return SIZE_MAX;
}

/* Stripping */

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
		lmi_run_fail(run, "what is stripped must be a text, not %s", lmi_val_type(chars));
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
	return part(v, from, to);
}

static struct lmi_val none_if_missing(struct lmi_val v)
{
	return lmi_given(v) ? v : lmi_none();
}

static struct lmi_val m_strip(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_strip(run, self, none_if_missing(a[0]), LMI_BOTH);
}

static struct lmi_val m_lstrip(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_strip(run, self, none_if_missing(a[0]), LMI_LEFT);
}

static struct lmi_val m_rstrip(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_str_strip(run, self, none_if_missing(a[0]), LMI_RIGHT);
}

static bool starts(struct lmi_val v, struct lmi_val x)
{
	return v.n >= x.n && !memcmp(v.u.s, x.u.s, x.n);
}

static bool ends(struct lmi_val v, struct lmi_val x)
{
	return v.n >= x.n && !memcmp(v.u.s + v.n - x.n, x.u.s, x.n);
}

static struct lmi_val m_removeprefix(struct lmi_run *run, struct lmi_val self,
				     const struct lmi_val *a)
{
	struct lmi_val x = lmi_param_str(run, a[0], "", "the prefix");

	return part(self, starts(self, x) ? x.n : 0, self.n);
}

static struct lmi_val m_removesuffix(struct lmi_run *run, struct lmi_val self,
				     const struct lmi_val *a)
{
	struct lmi_val x = lmi_param_str(run, a[0], "", "the suffix");

	return part(self, 0, self.n - (ends(self, x) ? x.n : 0));
}

/* Searching */

/* The piece of self between the arguments start and end, in bytes; false if start lies
 * behind the text.  *skipped: characters before it. */
static bool window(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a,
		   struct lmi_val *piece, int64_t *skipped)
{
	int64_t n = lmi_val_length(self), from = 0, to = n;
	size_t at;

	if (lmi_given(a[0]) && a[0].kind != LMI_V_NONE)
		from = lmi_param_int(run, a[0], 0, "the start");
	if (lmi_given(a[1]) && a[1].kind != LMI_V_NONE)
		to = lmi_param_int(run, a[1], n, "the end");
	from = from < -n ? 0 : from < 0 ? from + n : from;
	to = to < -n ? 0 : to < 0 ? to + n : to > n ? n : to;
	*skipped = from;
	if (from > to || !lmi_run_step(run, self.n / 16))
		return false;
	at = lmi_uni_offset(self.u.s, self.n, (size_t)from);
	*piece = part(self, at,
		      at + lmi_uni_offset(self.u.s + at, self.n - at, (size_t)(to - from)));
	return true;
}

/* Number of the character where the argument occurs, -1 if nowhere. */
static int64_t search(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a, bool last)
{
	struct lmi_val x = lmi_param_str(run, a[0], "", "what is searched"), v;
	int64_t skipped;
	size_t at;

	if (!window(run, self, a + 1, &v, &skipped))
		return -1;
	at = last ? find_last(run, v, v.n, x) : find_first(v, 0, v.n, x);
	return at == SIZE_MAX ? -1 : skipped + (int64_t)lmi_uni_count(v.u.s, at);
}

static struct lmi_val m_find(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_int(search(run, self, a, false));
}

static struct lmi_val m_rfind(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return lmi_int(search(run, self, a, true));
}

static struct lmi_val found(struct lmi_run *run, int64_t i)
{
	if (i < 0)
		lmi_run_fail(run, "substring not found");
	return lmi_int(i);
}

static struct lmi_val m_index(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return found(run, search(run, self, a, false));
}

static struct lmi_val m_rindex(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return found(run, search(run, self, a, true));
}

static struct lmi_val m_count(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	struct lmi_val x = lmi_param_str(run, a[0], "", "what is counted"), v;
	int64_t skipped, n = 0;
	size_t at = 0;

	if (!window(run, self, a + 1, &v, &skipped))
		return lmi_int(0);
	if (!x.n)
		return lmi_int(lmi_val_length(v) + 1);
	while ((at = find_first(v, at, v.n, x)) != SIZE_MAX && lmi_run_step(run, 1)) {
		at += x.n;
		n++;
	}
	return lmi_int(n);
}

/* One text or a tuple of them at the begin or the end. */
static struct lmi_val meets(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a,
			    bool (*test)(struct lmi_val, struct lmi_val))
{
	struct lmi_val v, one = a[0];
	int64_t skipped;

	if (one.kind != LMI_V_TUPLE)
		one = lmi_param_str(run, one, "", "what is looked for");
	if (!window(run, self, a + 1, &v, &skipped))
		return lmi_bool(false);
	if (one.kind != LMI_V_TUPLE)
		return lmi_bool(test(v, one));
	for (uint32_t i = 0; i < a[0].u.list->n && lmi_run_step(run, 1); i++) {
		if (test(v, lmi_param_str(run, a[0].u.list->v[i], "", "what is looked for")))
			return lmi_bool(true);
	}
	return lmi_bool(false);
}

static struct lmi_val m_startswith(struct lmi_run *run, struct lmi_val self,
				   const struct lmi_val *a)
{
	return meets(run, self, a, starts);
}

static struct lmi_val m_endswith(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return meets(run, self, a, ends);
}

/* Cutting */

static void split_space(struct lmi_run *run, struct lmi_val v, int64_t max, struct lmi_list *out)
{
	size_t at = 0;

	for (;;) {
		size_t from = at, to, next;

		while (from < v.n && lmi_run_step(run, 1)) {
			next = from;
			if (!lmi_uni_space(lmi_uni_next(v.u.s, v.n, &next)))
				break;
			from = next;
		}
		if (from == v.n || run->failed)
			return;
		if (!max--) {
			lmi_list_add(run, out, part(v, from, v.n));
			return;
		}
		for (to = next = from; next < v.n && lmi_run_step(run, 1); to = next) {
			if (lmi_uni_space(lmi_uni_next(v.u.s, v.n, &next)))
				break;
		}
		lmi_list_add(run, out, part(v, from, to));
		at = to;
	}
}

/* Pieces come last first. */
static void rsplit_space(struct lmi_run *run, struct lmi_val v, int64_t max, struct lmi_list *out)
{
	size_t at = v.n;

	for (;;) {
		size_t to = at, from, next;

		while (to && lmi_run_step(run, 1)) {
			next = to;
			if (!lmi_uni_space(lmi_uni_prev(v.u.s, &next)))
				break;
			to = next;
		}
		if (!to || run->failed)
			return;
		if (!max--) {
			lmi_list_add(run, out, part(v, 0, to));
			return;
		}
		for (from = next = to; next && lmi_run_step(run, 1); from = next) {
			if (lmi_uni_space(lmi_uni_prev(v.u.s, &next)))
				break;
		}
		lmi_list_add(run, out, part(v, from, to));
		at = from;
	}
}

static void split_at(struct lmi_run *run, struct lmi_val v, struct lmi_val sep, int64_t max,
		     struct lmi_list *out)
{
	size_t from = 0, at;

	while (max-- && (at = find_first(v, from, v.n, sep)) != SIZE_MAX && lmi_run_step(run, 1)) {
		lmi_list_add(run, out, part(v, from, at));
		from = at + sep.n;
	}
	lmi_list_add(run, out, part(v, from, v.n));
}

static void rsplit_at(struct lmi_run *run, struct lmi_val v, struct lmi_val sep, int64_t max,
		      struct lmi_list *out)
{
	size_t to = v.n, at;

	while (max-- && (at = find_last(run, v, to, sep)) != SIZE_MAX &&
	       lmi_run_step(run, 1 + (to - at) / 16)) {
		lmi_list_add(run, out, part(v, at + sep.n, to));
		to = at;
	}
	lmi_list_add(run, out, part(v, 0, to));
}

static struct lmi_val split_any(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a,
				bool from_right)
{
	struct lmi_val out = lmi_list_new(run), sep = none_if_missing(a[0]);
	int64_t max = lmi_param_int(run, a[1], -1, "maxsplit");
	struct lmi_list *l = out.u.list;

	if (sep.kind != LMI_V_NONE) {
		sep = lmi_param_str(run, sep, "", "the separator");
		if (!sep.n) {
			lmi_run_fail(run, "empty separator");
			return out;
		}
		(from_right ? rsplit_at : split_at)(run, self, sep, max, l);
	} else {
		(from_right ? rsplit_space : split_space)(run, self, max, l);
	}
	for (uint32_t i = 0; from_right && i < l->n / 2; i++) {
		struct lmi_val t = l->v[i];

		l->v[i] = l->v[l->n - 1 - i];
		l->v[l->n - 1 - i] = t;
	}
	return out;
}

static struct lmi_val m_split(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return split_any(run, self, a, false);
}

static struct lmi_val m_rsplit(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return split_any(run, self, a, true);
}

struct lmi_val lmi_str_lines(struct lmi_run *run, struct lmi_val v, bool keep_ends)
{
	struct lmi_val out = lmi_list_new(run);

	for (size_t from = 0, to = 0; from < v.n && lmi_run_step(run, 1); from = to) {
		size_t end = from;
		uint32_t c = 0;

		while (to < v.n) {
			end = to;
			c = lmi_uni_next(v.u.s, v.n, &to);
			if (lmi_uni_newline(c))
				break;
			end = to;
		}
		if (c == '\r' && end < to && to < v.n && v.u.s[to] == '\n')
			to++;
		if (!lmi_run_step(run, (to - from) / 16))
			break;
		lmi_list_add(run, out.u.list, part(v, from, keep_ends ? to : end));
	}
	return out;
}

static struct lmi_val m_splitlines(struct lmi_run *run, struct lmi_val self,
				   const struct lmi_val *a)
{
	return lmi_str_lines(run, self, lmi_param_int(run, a[0], 0, "keepends") != 0);
}

static struct lmi_val partition_any(struct lmi_run *run, struct lmi_val v, struct lmi_val sep,
				    bool last)
{
	struct lmi_val out = lmi_list_new(run), none = part(v, 0, 0);
	size_t at;

	sep = lmi_param_str(run, sep, "", "the separator");
	if (!sep.n)
		lmi_run_fail(run, "empty separator");
	at = last ? find_last(run, v, v.n, sep) : find_first(v, 0, v.n, sep);
	if (at == SIZE_MAX && last) {
		lmi_list_add(run, out.u.list, none);
		lmi_list_add(run, out.u.list, none);
		lmi_list_add(run, out.u.list, v);
	} else if (at == SIZE_MAX) {
		lmi_list_add(run, out.u.list, v);
		lmi_list_add(run, out.u.list, none);
		lmi_list_add(run, out.u.list, none);
	} else {
		lmi_list_add(run, out.u.list, part(v, 0, at));
		lmi_list_add(run, out.u.list, sep);
		lmi_list_add(run, out.u.list, part(v, at + sep.n, v.n));
	}
	return lmi_as_tuple(out);
}

static struct lmi_val m_partition(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)
{
	return partition_any(run, self, a[0], false);
}

static struct lmi_val m_rpartition(struct lmi_run *run, struct lmi_val self,
				   const struct lmi_val *a)
{
	return partition_any(run, self, a[0], true);
}

/* Putting together */

struct lmi_val lmi_str_replace(struct lmi_run *run, struct lmi_val v, struct lmi_val from,
			       struct lmi_val to, int64_t n)
{
	struct lmi_buf b = {.run = run};
	size_t at = 0, hit;
	struct lmi_val out;

	if (!from.n) { /* before every character and at the end */
		for (; n && at < v.n && lmi_run_step(run, 1); n--) {
			size_t next = at;

			(void)lmi_uni_next(v.u.s, v.n, &next); /* only the way matters */
			lmi_buf_val(&b, to);
			lmi_buf_add(&b, v.u.s + at, next - at);
			at = next;
		}
		if (n)
			lmi_buf_val(&b, to);
	} else {
		while (n && (hit = find_first(v, at, v.n, from)) != SIZE_MAX &&
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
	return lmi_str_replace(run, self, lmi_param_str(run, a[0], "", "what is replaced"),
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
			lmi_run_fail(run, "item %u of what is joined is no text but %s", i,
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
	{ .name = "strip", .fn = m_strip, .params = "chars", .pos_only = true },
	{ .name = "lstrip", .fn = m_lstrip, .params = "chars", .pos_only = true },
	{ .name = "rstrip", .fn = m_rstrip, .params = "chars", .pos_only = true },
	{ .name = "removeprefix", .fn = m_removeprefix, .params = "prefix", .n_required = 1,
	  .pos_only = true },
	{ .name = "removesuffix", .fn = m_removesuffix, .params = "suffix", .n_required = 1,
	  .pos_only = true },
	{ .name = "find", .fn = m_find, .params = "sub start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "rfind", .fn = m_rfind, .params = "sub start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "index", .fn = m_index, .params = "sub start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "rindex", .fn = m_rindex, .params = "sub start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "count", .fn = m_count, .params = "sub start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "startswith", .fn = m_startswith, .params = "prefix start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "endswith", .fn = m_endswith, .params = "suffix start end", .n_required = 1,
	  .pos_only = true },
	{ .name = "split", .fn = m_split, .params = "sep maxsplit" },
	{ .name = "rsplit", .fn = m_rsplit, .params = "sep maxsplit" },
	{ .name = "splitlines", .fn = m_splitlines, .params = "keepends" },
	{ .name = "partition", .fn = m_partition, .params = "sep", .n_required = 1,
	  .pos_only = true },
	{ .name = "rpartition", .fn = m_rpartition, .params = "sep", .n_required = 1,
	  .pos_only = true },
	{ .name = "replace", .fn = m_replace, .params = "old new count", .n_required = 2,
	  .pos_only = true },
	{ .name = "join", .fn = m_join, .params = "iterable", .n_required = 1, .pos_only = true },
};

const struct lmi_table lmi_find_methods = LMI_TABLE(rows);
