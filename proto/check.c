/* SPDX-License-Identifier: MIT
 *
 * Checks a message.  Later code can rely on the result: heads and contents are inside the bytes,
 * keys are short strings and unique within their map.
 *
 * Keys of one map are compared in pairs.  With at most map_keys in a map and message_keys in all,
 * these are at most message_keys * map_keys / 2 comparisons, mostly of the lengths. */
#include "proto/check.h"

#include <string.h>

#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "proto/limits.h"
#include "proto/reader.h"

struct walk {
	const uint8_t *start, *p, *end;
	uint32_t n_value, n_key;
	struct lmd_error *err;
};

static enum lmd_status refuse(const struct walk *w, const char *what)
{
	return lmd_fail(w->err, LMD_INVALID, "message: byte %zu: %s", (size_t)(w->p - w->start),
			what);
}

static enum lmd_status walk_value(struct walk *w, uint32_t depth);

static enum lmd_status walk_array(struct walk *w, uint32_t n, uint32_t depth)
{
	enum lmd_status st = LMD_OK;

	for (uint64_t todo = n; todo && st == LMD_OK;) {
		w->p = lmi_wire_mp_skip_scalars(w->p, w->end, &todo);
		if (!todo)
			break;
		st = walk_value(w, depth);
		todo--;
	}
	return st;
}

static bool there_twice(const struct lmd_str *key, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (key[i].len == key[n].len && !memcmp(key[i].ptr, key[n].ptr, key[n].len))
			return true;
	return false;
}

static enum lmd_status walk_key(struct walk *w, struct lmd_str *keys, uint32_t i)
{
	struct lmi_wire_mp v;
	size_t len = lmi_wire_mp_read(w->p, w->end, &v);

	if (!len || v.kind != LMI_WIRE_MP_STR)
		return refuse(w, v.kind == LMI_WIRE_MP_CUT ? "unexpected end of the message"
							   : "a key that is not a string");
	if (!v.u.s.len || v.u.s.len > LMI_WIRE_LIMIT_KEY_BYTES)
		return lmd_fail(w->err, LMD_INVALID,
				"message: byte %zu: a key of %zu bytes, allowed are 1 to %d",
				(size_t)(w->p - w->start), v.u.s.len, LMI_WIRE_LIMIT_KEY_BYTES);
	if (lmi_utf8_valid_prefix(v.u.s.ptr, v.u.s.len) != v.u.s.len)
		return refuse(w, "a key that is not UTF-8");
	keys[i] = v.u.s;
	if (there_twice(keys, i)) {
		char show[80];

		return lmd_fail(w->err, LMD_INVALID, "message: byte %zu: duplicate key \"%s\"",
				(size_t)(w->p - w->start),
				lmi_printable(show, sizeof(show), v.u.s.ptr, v.u.s.len));
	}
	w->p += len;
	return LMD_OK;
}

static enum lmd_status walk_map(struct walk *w, uint32_t n, uint32_t depth)
{
	struct lmd_str keys[LMI_WIRE_LIMIT_MAP_KEYS];
	enum lmd_status st = LMD_OK;

	w->n_key += n;
	if (w->n_key > LMI_WIRE_LIMIT_MESSAGE_KEYS)
		return lmd_fail(w->err, LMD_INVALID, "message: too many keys, the maximum is %d",
				LMI_WIRE_LIMIT_MESSAGE_KEYS);
	for (uint32_t i = 0; i < n && st == LMD_OK; i++) {
		st = walk_key(w, keys, i);
		if (st == LMD_OK)
			st = walk_value(w, depth);
	}
	return st;
}

/* Checks a head which announces n values or n pairs. */
static enum lmd_status count_ok(struct walk *w, const struct lmi_wire_mp *v, size_t head,
				uint32_t depth)
{
	uint64_t n = v->kind == LMI_WIRE_MP_MAP ? 2 * (uint64_t)v->u.n : v->u.n;

	if (n > (size_t)(w->end - w->p) - head)
		return lmd_fail(w->err, LMD_INVALID,
				"message: byte %zu: a count of %u, but only %zu bytes follow",
				(size_t)(w->p - w->start), v->u.n, (size_t)(w->end - w->p) - head);
	if (depth >= LMI_WIRE_LIMIT_DEPTH)
		return lmd_fail(w->err, LMD_INVALID,
				"message: byte %zu: nested too deeply, the maximum is %d",
				(size_t)(w->p - w->start), LMI_WIRE_LIMIT_DEPTH);
	if (v->kind == LMI_WIRE_MP_MAP && v->u.n > LMI_WIRE_LIMIT_MAP_KEYS)
		return lmd_fail(w->err, LMD_INVALID,
				"message: byte %zu: a map of %u keys, the maximum is %d",
				(size_t)(w->p - w->start), v->u.n, LMI_WIRE_LIMIT_MAP_KEYS);
	if (n > LMI_WIRE_LIMIT_MESSAGE_VALUES - w->n_value)
		return lmd_fail(w->err, LMD_INVALID, "message: too many values, the maximum is %d",
				LMI_WIRE_LIMIT_MESSAGE_VALUES);
	w->n_value += (uint32_t)n;
	return LMD_OK;
}

/* Recursive, at most LMI_WIRE_LIMIT_DEPTH deep, with 2 KiB of stack per level. */
static enum lmd_status walk_value(struct walk *w, uint32_t depth)
{
	struct lmi_wire_mp v;
	size_t len = lmi_wire_mp_read(w->p, w->end, &v);
	enum lmd_status st;

	if (!len)
		return refuse(w, v.kind == LMI_WIRE_MP_CUT ? "unexpected end of the message"
							   : "an extension type or the byte c1");
	if (v.kind == LMI_WIRE_MP_STR && lmi_utf8_valid_prefix(v.u.s.ptr, v.u.s.len) != v.u.s.len)
		return refuse(w, "a string that is not UTF-8");
	if (v.kind != LMI_WIRE_MP_ARRAY && v.kind != LMI_WIRE_MP_MAP) {
		w->p += len;
		return LMD_OK;
	}
	st = count_ok(w, &v, len, depth);
	if (st != LMD_OK)
		return st;
	w->p += len;
	return v.kind == LMI_WIRE_MP_ARRAY ? walk_array(w, v.u.n, depth + 1)
					   : walk_map(w, v.u.n, depth + 1);
}

enum lmd_status lmi_wire_check(const void *bytes, size_t n, struct lmd_error *err)
{
	struct walk w = {.start = bytes, .p = bytes, .n_value = 1, .err = err};
	enum lmd_status st;

	if (!n)
		return lmd_fail(err, LMD_INVALID, "message: empty");
	if (n > LMI_WIRE_LIMIT_MESSAGE_BYTES)
		return lmd_fail(err, LMD_INVALID, "message: %zu bytes, the maximum is %d", n,
				LMI_WIRE_LIMIT_MESSAGE_BYTES);
	w.end = w.start + n;
	st = walk_value(&w, 0);
	if (st == LMD_OK && w.p != w.end)
		return lmd_fail(err, LMD_INVALID, "message: %zu bytes after its end",
				(size_t)(w.end - w.p));
	return st;
}
