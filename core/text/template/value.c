/* SPDX-License-Identifier: MIT
 *
 * Memory of a run, growing texts, lists and dictionaries.
 *
 * Memory is taken from the arena in pieces and handed out from their fronts.  The last
 * text that was made often grows next (a template that appends to a variable), so
 * appending looks whether the text ends where the free memory begins and then goes on
 * in place. */
#include "core/text/template/value.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/utf8.h"
#include "core/text/template/marks.h"
#include "core/text/template/uni.h"

#define PIECE_BYTES   (64u << 10)
#define INDEX_FROM    8 /* members from which a dictionary has an index */
#define TEXT_MAX      0x7fffffffu
#define HASH_DEPTH    100 /* tuples nested deeper are no keys */

bool lmi_run_step(struct lmi_run *run, uint64_t n)
{
	if (run->failed)
		return false;
	run->steps += n;
	if (run->steps <= run->limits.steps)
		return true;
	lmi_run_fail_status(run, LMD_NOMEM, "it takes more than %llu steps",
			    (unsigned long long)run->limits.steps);
	return false;
}

static void fail(struct lmi_run *run, enum lmd_status st, const char *fmt, va_list ap)
{
	if (run->failed)
		return;
	run->failed = true;
	run->failure.status = st;
	run->failure.line = run->line;
	run->failure.raised = NULL;
	(void)vsnprintf(run->failure.text, sizeof(run->failure.text), fmt, ap);
}

void lmi_run_fail(struct lmi_run *run, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(run, LMD_INVALID, fmt, ap);
	va_end(ap);
}

void lmi_run_fail_status(struct lmi_run *run, enum lmd_status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(run, st, fmt, ap);
	va_end(ap);
}

bool lmi_run_enter(struct lmi_run *run)
{
	if (run->failed)
		return false;
	if (run->depth >= run->limits.depth) {
		lmi_run_fail_status(run, LMD_NOMEM, "it is nested deeper than %u levels",
				    run->limits.depth);
		return false;
	}
	run->depth++;
	return true;
}

void lmi_run_leave(struct lmi_run *run)
{
	run->depth--;
}

/* Memory */

/* A piece of the arena; NULL: the bound. */
static char *take_piece(struct lmi_run *run, size_t bytes)
{
	char *p;

	if (!run->marks)
		return lmi_arena_alloc(run->arena, bytes, 16);
	p = lmi_arena_alloc(run->arena, 2 * bytes, 16);
	return p && lmi_marks_piece(run->marks, p, bytes) ? p : NULL;
}

/* Bytes at the front of the free memory, with nothing between them and what came before
 * when `align` is 1.  NULL: failed. */
static void *take(struct lmi_run *run, size_t bytes, size_t align)
{
	size_t pad = (size_t) - (uintptr_t)run->mem & (align - 1);
	char *p;

	if (run->failed)
		return NULL;
	if ((size_t)(run->mem_end - run->mem) < pad ||
	    bytes > (size_t)(run->mem_end - run->mem) - pad) {
		size_t piece = bytes > PIECE_BYTES / 2 ? 2 * bytes : PIECE_BYTES;

		p = bytes <= SIZE_MAX / 8 ? take_piece(run, piece) : NULL;
		if (!p && bytes <= SIZE_MAX / 8) {
			piece = bytes;
			p = take_piece(run, piece);
		}
		if (!p) {
			lmi_run_fail_status(run, LMD_NOMEM,
					    "its values take more than %llu bytes of memory",
					    (unsigned long long)run->limits.memory_bytes);
			return NULL;
		}
		run->mem = p;
		run->mem_end = p + piece;
		pad = 0;
	}
	p = run->mem + pad;
	run->mem = p + bytes;
	return p;
}

void *lmi_run_alloc(struct lmi_run *run, size_t bytes)
{
	return take(run, bytes, 16);
}

/* Texts */

struct lmi_val lmi_str_copy(struct lmi_run *run, const char *s, size_t n)
{
	char *p = n <= TEXT_MAX ? take(run, n, 1) : NULL;

	if (!p)
		return lmi_strn("", 0);
	memcpy(p, s, n);
	lmi_marks_copy(run->marks, p, s, n);
	return lmi_strn(p, n);
}

/* Room for `more` bytes behind the n that s has, s in a block of cap bytes; NULL: failed. */
static char *grow(struct lmi_run *run, char *s, size_t n, size_t *cap, size_t more)
{
	size_t want = n + more;
	char *p;

	if (want <= *cap)
		return s;
	if (want > TEXT_MAX) {
		lmi_run_fail_status(run, LMD_NOMEM, "a text is longer than %u bytes", TEXT_MAX);
		return NULL;
	}
	want = want < TEXT_MAX / 2 ? 2 * want : want;
	if (s && s + *cap == run->mem && want - *cap <= (size_t)(run->mem_end - run->mem)) {
		if (!take(run, want - *cap, 1))
			return NULL;
		*cap = want;
		return s;
	}
	p = take(run, want, 1);
	if (!p)
		return NULL;
	if (n) {
		memcpy(p, s, n);
		lmi_marks_copy(run->marks, p, s, n);
	}
	*cap = want;
	return p;
}

void lmi_buf_add(struct lmi_buf *b, const char *s, size_t n)
{
	char *p;

	if (!n || !lmi_run_step(b->run, n / 16))
		return;
	p = grow(b->run, b->s, b->n, &b->cap, n);
	if (!p)
		return;
	b->s = p;
	memcpy(p + b->n, s, n);
	lmi_marks_copy(b->run->marks, p + b->n, s, n);
	b->n += n;
}

/* Where a character came from is not known here: it counts as coming from outside. */
void lmi_buf_char(struct lmi_buf *b, uint32_t c)
{
	size_t from = b->n;
	char utf8[4];

	lmi_buf_add(b, utf8, lmi_utf8_put(utf8, c));
	if (b->n > from)
		lmi_marks_set(b->run->marks, b->s + from, b->n - from, false);
}

void lmi_buf_fill(struct lmi_buf *b, uint32_t c, uint64_t n)
{
	if (!lmi_run_step(b->run, n / 16))
		return;
	while (n-- && !b->run->failed)
		lmi_buf_char(b, c);
}

void lmi_buf_printf(struct lmi_buf *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		lmi_buf_add(b, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

struct lmi_val lmi_buf_done(struct lmi_buf *b)
{
	struct lmi_run *run = b->run;

	/* What was not used goes back, if nothing was taken behind it. */
	if (b->s && b->s + b->cap == run->mem)
		run->mem = b->s + b->n;
	return lmi_strn(b->s ? b->s : "", b->n);
}

struct lmi_val lmi_str_cat(struct lmi_run *run, struct lmi_val a, struct lmi_val b)
{
	char *p;

	if (!b.n)
		return a;
	if (!a.n)
		return b;
	if (!lmi_run_step(run, b.n / 16))
		return a;
	if ((uint64_t)a.n + b.n > TEXT_MAX) {
		lmi_run_fail_status(run, LMD_NOMEM, "a text is longer than %u bytes", TEXT_MAX);
		return a;
	}
	if (a.u.s + a.n == run->mem && b.n <= (size_t)(run->mem_end - run->mem)) {
		p = take(run, b.n, 1);
		if (!p)
			return a;
		memcpy(p, b.u.s, b.n);
		lmi_marks_copy(run->marks, p, b.u.s, b.n);
		return lmi_strn(a.u.s, (size_t)a.n + b.n);
	}
	if (!lmi_run_step(run, a.n / 16))
		return a;
	p = take(run, (size_t)a.n + b.n, 1);
	if (!p)
		return a;
	memcpy(p, a.u.s, a.n);
	memcpy(p + a.n, b.u.s, b.n);
	lmi_marks_copy(run->marks, p, a.u.s, a.n);
	lmi_marks_copy(run->marks, p + a.n, b.u.s, b.n);
	return lmi_strn(p, (size_t)a.n + b.n);
}

/* Lists */

struct lmi_val lmi_list_new(struct lmi_run *run)
{
	struct lmi_list *l = lmi_run_alloc(run, sizeof(*l));

	return (struct lmi_val){.kind = LMI_V_LIST, .u.list = l ? l : &run->nil_list};
}

void lmi_list_add(struct lmi_run *run, struct lmi_list *l, struct lmi_val v)
{
	if (run->failed)
		return;
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 4;
		struct lmi_val *p = cap > l->cap ? lmi_run_alloc(run, cap * sizeof(*p)) : NULL;

		if (!p)
			return;
		if (l->n)
			memcpy(p, l->v, l->n * sizeof(*p));
		l->v = p;
		l->cap = cap;
	}
	l->v[l->n++] = v;
}

struct lmi_val lmi_tuple2(struct lmi_run *run, struct lmi_val a, struct lmi_val b)
{
	struct lmi_val t = lmi_list_new(run);

	lmi_list_add(run, t.u.list, a);
	lmi_list_add(run, t.u.list, b);
	return lmi_as_tuple(t);
}

/* Dictionaries */

static bool hashable(struct lmi_val v, uint32_t depth)
{
	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_LIST:
	case LMI_V_DICT:
		return false;
	case LMI_V_TUPLE:
		for (uint32_t i = 0; i < v.u.list->n; i++) {
			if (depth >= HASH_DEPTH || !hashable(v.u.list->v[i], depth + 1))
				return false;
		}
		return true;
	case LMI_V_VIEW:
		return v.u.view->of == LMI_VIEW_VALUES;
	default: /* everything else is a scalar or counts by identity */
		return true;
	}
}

bool lmi_val_hashable(struct lmi_val v)
{
	return hashable(v, 0);
}

static uint32_t hash_bytes(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

static uint32_t hash_int(uint64_t x)
{
	x *= 0x9E3779B97F4A7C15ull;
	return (uint32_t)(x >> 32);
}

/* Equal values have equal hashes: 1, 1.0 and True do. */
static uint32_t hash(struct lmi_val v)
{
	uint32_t h = 7;

	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_STR:
		return hash_bytes(v.u.s, v.n);
	case LMI_V_BOOL:
	case LMI_V_INT:
		return hash_int((uint64_t)lmi_integer(v));
	case LMI_V_FLOAT:
		if (v.u.f >= -0x1p62 && v.u.f <= 0x1p62 && v.u.f == (double)(int64_t)v.u.f)
			return hash_int((uint64_t)(int64_t)v.u.f);
		return hash_bytes((const char *)&v.u.f, sizeof(v.u.f));
	case LMI_V_TUPLE:
		for (uint32_t i = 0; i < v.u.list->n; i++)
			h = h * 31 + hash(v.u.list->v[i]);
		return h;
	default: /* by kind alone; such keys are rare */
		return v.kind;
	}
}

struct lmi_val lmi_dict_new(struct lmi_run *run)
{
	struct lmi_dict *d = lmi_run_alloc(run, sizeof(*d));

	return (struct lmi_val){.kind = LMI_V_DICT, .u.dict = d ? d : &run->nil_dict};
}

static bool key_is(struct lmi_run *run, const struct lmi_entry *e, uint32_t h, struct lmi_val key)
{
	if (e->hash != h)
		return false;
	if (e->key.kind == LMI_V_STR && key.kind == LMI_V_STR)
		return e->key.n == key.n && !memcmp(e->key.u.s, key.u.s, key.n);
	return lmi_val_equal(run, e->key, key);
}

/* Number of the entry, or n.  Long ways count as steps, so keys that were chosen to
 * collide gain nothing. */
static uint32_t find(struct lmi_run *run, const struct lmi_dict *d, uint32_t h, struct lmi_val key)
{
	uint32_t n = 0;

	if (!d->index) {
		for (uint32_t i = 0; i < d->n; i++) {
			if (key_is(run, &d->e[i], h, key))
				return i;
		}
		return d->n;
	}
	for (uint32_t i = h & (d->n_index - 1); d->index[i]; i = (i + 1) & (d->n_index - 1)) {
		if (key_is(run, &d->e[d->index[i] - 1], h, key))
			return d->index[i] - 1;
		n++;
	}
	(void)lmi_run_step(run, n / 4); /* the caller sees the failure */
	return d->n;
}

static void index_add(struct lmi_dict *d, uint32_t entry)
{
	uint32_t i = d->e[entry].hash & (d->n_index - 1);

	while (d->index[i])
		i = (i + 1) & (d->n_index - 1);
	d->index[i] = entry + 1;
}

/* Makes the index anew, with room to double. */
static bool index_make(struct lmi_run *run, struct lmi_dict *d, uint32_t n_index)
{
	if (n_index > d->n_index) {
		uint32_t *p = lmi_run_alloc(run, n_index * sizeof(*p));

		if (!p)
			return false;
		d->index = p;
		d->n_index = n_index;
	}
	memset(d->index, 0, d->n_index * sizeof(*d->index));
	for (uint32_t i = 0; i < d->n; i++)
		index_add(d, i);
	return true;
}

struct lmi_val *lmi_dict_find(struct lmi_run *run, const struct lmi_dict *d, struct lmi_val key)
{
	uint32_t i;

	if (!lmi_val_hashable(key)) {
		lmi_run_fail(run, "unhashable type: '%s'", lmi_val_type(key));
		return NULL;
	}
	i = find(run, d, hash(key), key);
	return i < d->n ? &d->e[i].value : NULL;
}

struct lmi_val *lmi_dict_find_str(struct lmi_run *run, const struct lmi_dict *d, const char *s,
				  size_t n)
{
	struct lmi_val key = lmi_strn(s, n);
	uint32_t i = find(run, d, hash(key), key);

	return i < d->n ? &d->e[i].value : NULL;
}

static bool make_room(struct lmi_run *run, struct lmi_dict *d)
{
	if (d->n == d->cap) {
		uint32_t cap = d->cap ? 2 * d->cap : 4;
		struct lmi_entry *p = cap > d->cap ? lmi_run_alloc(run, cap * sizeof(*p)) : NULL;

		if (!p)
			return false;
		if (d->n)
			memcpy(p, d->e, d->n * sizeof(*p));
		d->e = p;
		d->cap = cap;
	}
	if (d->n >= INDEX_FROM && d->n_index < 2 * (d->n + 1))
		return index_make(run, d, d->n_index ? 2 * d->n_index : 4 * INDEX_FROM);
	return true;
}

void lmi_dict_set(struct lmi_run *run, struct lmi_dict *d, struct lmi_val key, struct lmi_val v)
{
	struct lmi_val *old = lmi_dict_find(run, d, key);

	if (run->failed)
		return;
	if (old) {
		*old = v;
		return;
	}
	if (!make_room(run, d))
		return;
	d->e[d->n] = (struct lmi_entry){.key = key, .value = v, .hash = hash(key)};
	d->n++;
	if (d->index)
		index_add(d, d->n - 1);
}

bool lmi_dict_remove(struct lmi_run *run, struct lmi_dict *d, struct lmi_val key)
{
	uint32_t i;

	if (!lmi_dict_find(run, d, key))
		return false;
	i = find(run, d, hash(key), key);
	if (!lmi_run_step(run, d->n))
		return false;
	memmove(&d->e[i], &d->e[i + 1], (d->n - i - 1) * sizeof(*d->e));
	d->n--;
	return !d->index || index_make(run, d, d->n_index);
}

struct lmi_val lmi_dict_copy(struct lmi_run *run, const struct lmi_dict *d)
{
	struct lmi_val c = lmi_dict_new(run);

	for (uint32_t i = 0; i < d->n && lmi_run_step(run, 1); i++)
		lmi_dict_set(run, c.u.dict, d->e[i].key, d->e[i].value);
	return c;
}

/* Input */

/* The text with U+FFFD for every byte that is no UTF-8; own: as if the template had written it. */
static struct lmi_val import_str(struct lmi_run *run, struct lmd_str s, bool own)
{
	struct lmi_buf b = {.run = run};
	size_t at = 0, good = 0;

	if (s.len > TEXT_MAX) {
		lmi_run_fail_status(run, LMD_NOMEM, "a text is longer than %u bytes", TEXT_MAX);
		return lmi_strn("", 0);
	}
	while (at < s.len) {
		size_t from = at;
		uint32_t c = lmi_uni_next(s.ptr, s.len, &at);

		if (c == 0xfffd && at - from == 1) {
			lmi_buf_add(&b, s.ptr + good, from - good);
			lmi_buf_char(&b, c);
			good = at;
		}
	}
	if (!good && !run->marks)
		return lmi_strn(s.ptr, s.len);
	lmi_buf_add(&b, s.ptr + good, s.len - good);
	if (b.n)
		lmi_marks_set(run->marks, b.s, b.n, own);
	return lmi_buf_done(&b);
}

struct lmi_val lmi_val_import(struct lmi_run *run, const struct lmi_tvalue *v)
{
	struct lmi_val out = lmi_none();

	if (!lmi_run_enter(run))
		return out;
	switch (v->kind) {
	case LMI_T_NONE:
		break;
	case LMI_T_BOOL:
		out = lmi_bool(v->u.b);
		break;
	case LMI_T_INT:
		out = lmi_int(v->u.i);
		break;
	case LMI_T_FLOAT:
		out = lmi_float(v->u.f);
		break;
	case LMI_T_STR:
		out = import_str(run, v->u.s, v->own);
		break;
	case LMI_T_LIST:
		out = lmi_list_new(run);
		for (uint32_t i = 0; i < v->n && lmi_run_step(run, 1); i++)
			lmi_list_add(run, out.u.list, lmi_val_import(run, &v->u.items[i]));
		break;
	case LMI_T_DICT:
		out = lmi_dict_new(run);
		for (uint32_t i = 0; i < v->n && lmi_run_step(run, 1); i++)
			lmi_dict_set(run, out.u.dict, import_str(run, v->u.members[i].key, false),
				     lmi_val_import(run, &v->u.members[i].value));
		break;
	}
	lmi_run_leave(run);
	return out;
}
