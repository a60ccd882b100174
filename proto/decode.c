/* SPDX-License-Identifier: MIT
 *
 * Decodes bytes to structs, driven by the tables.  lmi_wire_check has checked the bytes, so reading
 * cannot run past their end; only their meaning is checked here. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/printable.h"
#include "proto/check.h"
#include "proto/codec.h"

static enum lmd_status wrong_kind(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_mp *v, const char *wanted)
{
	char show[60];

	switch (v->kind) {
	case LMI_WIRE_MP_BOOL:
		return lmi_wire_codec_fail(c, c->bad, at, "%s is not %s", v->u.b ? "true" : "false",
					   wanted);
	case LMI_WIRE_MP_INT:
		return lmi_wire_codec_fail(c, c->bad, at, "%" PRId64 " is not %s", v->u.i, wanted);
	case LMI_WIRE_MP_UINT:
		return lmi_wire_codec_fail(c, c->bad, at, "%" PRIu64 " is not %s", v->u.u, wanted);
	case LMI_WIRE_MP_FLOAT:
		return lmi_wire_codec_fail(c, c->bad, at, "%g is not %s", v->u.f, wanted);
	case LMI_WIRE_MP_STR:
		return lmi_wire_codec_fail(
			c, c->bad, at, "\"%s\" is not %s",
			lmi_printable(show, sizeof(show), v->u.s.ptr, v->u.s.len), wanted);
	case LMI_WIRE_MP_NIL:
	case LMI_WIRE_MP_BIN:
	case LMI_WIRE_MP_ARRAY:
	case LMI_WIRE_MP_MAP:
	case LMI_WIRE_MP_CUT:
	case LMI_WIRE_MP_BAD:
		break;
	}
	return lmi_wire_codec_fail(c, c->bad, at, "%s is not %s", lmi_wire_mp_kind_text(v->kind),
				   wanted);
}

/* ---- single values ---- */

static enum lmd_status take_int(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_field *f, const struct lmi_wire_mp *v,
				int64_t *out)
{
	if (v->kind == LMI_WIRE_MP_UINT)
		return lmi_wire_codec_fail(c, c->bad, at, "%" PRIu64 " is above %" PRId64, v->u.u,
					   f->u.i.max);
	if (v->kind != LMI_WIRE_MP_INT)
		return wrong_kind(c, at, v, "a whole number");
	*out = v->u.i;
	return lmi_wire_fit_int(c, at, f, v->u.i);
}

static enum lmd_status take_float(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_field *f, const struct lmi_wire_mp *v,
				  double *out)
{
	if (v->kind == LMI_WIRE_MP_FLOAT)
		*out = v->u.f;
	else if (v->kind == LMI_WIRE_MP_INT)
		*out = (double)v->u.i;
	else if (v->kind == LMI_WIRE_MP_UINT)
		*out = (double)v->u.u;
	else
		return wrong_kind(c, at, v, "a number");
	return lmi_wire_fit_float(c, at, f, *out);
}

static enum lmd_status take_span(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_field *f, const struct lmi_wire_mp *v,
				 struct lmd_str *out)
{
	bool line = f->type == LMI_WIRE_T_STRING;

	if (v->kind != LMI_WIRE_MP_STR && (line || v->kind != LMI_WIRE_MP_BIN))
		return wrong_kind(c, at, v, line ? "a string" : "a string or bytes");
	if (line && !c->lenient && !lmi_wire_is_line(v->u.s.ptr, v->u.s.len))
		return wrong_kind(c, at, v, "one line without control characters");
	*out = v->u.s;
	return lmi_wire_fit_span(c, at, f, out);
}

static enum lmd_status take_id(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
			       const struct lmi_wire_mp *v, struct lmi_wire_id *out)
{
	if (v->kind != LMI_WIRE_MP_BIN)
		return wrong_kind(c, at, v, "an id of 16 bytes");
	if (v->u.s.len != sizeof(out->b))
		return lmi_wire_codec_fail(c, c->bad, at, "%zu bytes, but an id has 16 bytes",
					   v->u.s.len);
	memcpy(out->b, v->u.s.ptr, sizeof(out->b));
	return LMD_OK;
}

static enum lmd_status take_token(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_mp *v, lmd_token *out)
{
	if (v->kind != LMI_WIRE_MP_INT || v->u.i < 0 || v->u.i > INT32_MAX)
		return wrong_kind(c, at, v, "a token from 0 to 2147483647");
	*out = (lmd_token)v->u.i;
	return LMD_OK;
}

static enum lmd_status take_status(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at, const struct lmi_wire_mp *v,
				   enum lmd_status *out)
{
	if (v->kind != LMI_WIRE_MP_STR)
		return wrong_kind(c, at, v, "an error code");
	*out = LMD_INTERNAL; /* stands for an unknown code of a newer server */
	for (int i = 1; i < LMD_N_STATUS; i++)
		if (lmi_wire_mp_is(&v->u.s, lmi_wire_codes[i], strlen(lmi_wire_codes[i])))
			*out = (enum lmd_status)i;
	return LMD_OK;
}

static enum lmd_status take_enum(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_words *w, const struct lmi_wire_mp *v,
				 int *out)
{
	char all[160] = "";
	size_t n = 0;

	*out = 0;
	if (v->kind != LMI_WIRE_MP_STR)
		return wrong_kind(c, at, v, "a word");
	for (uint32_t i = 0; i < w->n; i++)
		if (lmi_wire_mp_is(&v->u.s, w->word[i], strlen(w->word[i])))
			*out = (int)i + 1;
	if (*out || c->lenient)
		return LMD_OK;
	for (uint32_t i = 0; i < w->n && n < sizeof(all); i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "one of ",
				      w->word[i]);
	return wrong_kind(c, at, v, all);
}

/* ---- maps ---- */

static enum lmd_status take_struct(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at,
				   const struct lmi_wire_struct *s, const struct lmi_wire_mp *map,
				   const uint8_t *p, const uint8_t *end, bool envelope, void *out);
static enum lmd_status take_item(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_mp *map, const uint8_t *p,
				 const uint8_t *end, struct lmi_wire_item *out);

/* Decodes the single value at p, of which *v has been read; for an array or map only its head. */
static enum lmd_status take_value(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_field *f, const struct lmi_wire_mp *v,
				  const uint8_t *p, const uint8_t *end, void *out)
{
	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		if (v->kind != LMI_WIRE_MP_BOOL)
			return wrong_kind(c, at, v, "true or false");
		*(bool *)out = v->u.b;
		return LMD_OK;
	case LMI_WIRE_T_INT:
		return take_int(c, at, f, v, out);
	case LMI_WIRE_T_FLOAT:
		return take_float(c, at, f, v, out);
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		return take_span(c, at, f, v, out);
	case LMI_WIRE_T_ID:
		return take_id(c, at, v, out);
	case LMI_WIRE_T_TOKEN:
		return take_token(c, at, v, out);
	case LMI_WIRE_T_STATUS:
		return take_status(c, at, v, out);
	case LMI_WIRE_T_ENUM:
		return take_enum(c, at, f->u.e.words, v, out);
	case LMI_WIRE_T_OBJECT:
		if (v->kind != LMI_WIRE_MP_MAP)
			return wrong_kind(c, at, v, "a map");
		return take_struct(c, at, f->u.of, v, p, end, false, out);
	case LMI_WIRE_T_ITEM:
		if (v->kind != LMI_WIRE_MP_MAP)
			return wrong_kind(c, at, v, "a map");
		return take_item(c, at, v, p, end, out);
	case LMI_WIRE_T_CHAIN:
		return lmi_wire_chain_decode(c, at, p, end, out);
	case LMI_WIRE_T_BIAS:
		break; /* decoded as a list */
	}
	return lmi_wire_codec_fail(c, LMD_INTERNAL, at, "the codec does not support its type");
}

static enum lmd_status take_list(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_field *f, const struct lmi_wire_mp *v,
				 const uint8_t *p, const uint8_t *end, const void **out,
				 uint32_t *n_out)
{
	size_t bytes = lmi_wire_elem_bytes(f);
	struct lmi_wire_msg_pos here = {.up = at};
	enum lmd_status st;
	char *items = NULL;
	uint32_t first = 0;

	if (f->type == LMI_WIRE_T_BIAS)
		return lmi_wire_bias_decode(c, at, v, p, end, f->max_items,
					    (const struct lmd_bias **)out, n_out);
	if (v->kind != LMI_WIRE_MP_ARRAY)
		return wrong_kind(c, at, v, "a list");
	st = lmi_wire_fit_items(c, at, v->u.n, f->max_items);
	if (st != LMD_OK)
		return st;
	if (v->u.n) {
		items = lmi_arena_array(c->arena, v->u.n, bytes);
		if (!items)
			return lmi_wire_codec_nomem(c, at);
	}
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	if (f->type == LMI_WIRE_T_TOKEN) /* what is left begins with the fault */
		first = lmi_wire_mp_read_tokens(&p, end, (lmd_token *)items, v->u.n);
	for (uint32_t i = first; i < v->u.n && st == LMD_OK; i++) {
		struct lmi_wire_mp e;

		here.index = i;
		(void)lmi_wire_mp_read(p, end, &e);
		st = take_value(c, &here, f, &e, p, end, items + i * bytes);
		p = lmi_wire_mp_skip(p, end);
	}
	*out = items;
	*n_out = v->u.n;
	return st;
}

static enum lmd_status take_field(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_field *f, const struct lmi_wire_mp *v,
				  const uint8_t *p, const uint8_t *end, char *out)
{
	if (f->presence == LMI_WIRE_OPTIONAL)
		*(bool *)(out + f->has_at) = true;
	if (!f->list)
		return take_value(c, at, f, v, p, end, out + f->at);
	return take_list(c, at, f, v, p, end, (const void **)(out + f->at),
			 (uint32_t *)(out + f->n_at));
}

static const struct lmi_wire_field *find_field(const struct lmi_wire_struct *s,
					       const struct lmd_str *key, uint32_t *number)
{
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (lmi_wire_mp_is(key, s->fields[i].name, strlen(s->fields[i].name))) {
			*number = i;
			return &s->fields[i];
		}
	return NULL;
}

static bool is_envelope(const struct lmd_str *key)
{
	return lmi_wire_mp_is(key, "v", 1) || lmi_wire_mp_is(key, "op", 2) ||
	       lmi_wire_mp_is(key, "rid", 3);
}

/* The fields that are present, one bit each. */
struct seen {
	uint64_t bits[2];
};
_Static_assert(LMI_WIRE_LIMIT_MAP_KEYS <= 128, "a map's fields fit struct seen");

static bool was_seen(const struct seen *s, uint32_t i)
{
	return s->bits[i / 64] >> i % 64 & 1;
}

static enum lmd_status all_there(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_struct *s, const struct seen *seen)
{
	uint32_t n_one = 0;

	for (uint32_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].presence == LMI_WIRE_REQUIRED && !was_seen(seen, i))
			return lmi_wire_codec_fail(c, c->bad, at, "%s is missing",
						   s->fields[i].name);
	for (uint32_t i = 0; i < s->n_one_of; i++)
		n_one += was_seen(seen, s->one_of[i]);
	return lmi_wire_fit_one_of(c, at, s, n_one);
}

/* Decodes the pairs of a map into the fields of s.  Keys that s does not have are ignored if `pass`
 * accepts them or if this is a reply, and otherwise rejected. */
static enum lmd_status take_pairs(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_struct *s, const struct lmi_wire_mp *map,
				  const uint8_t *p, const uint8_t *end, bool envelope, char *out)
{
	struct seen seen = {0};

	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; i < map->u.n; i++) {
		const struct lmi_wire_field *f;
		struct lmi_wire_msg_pos here = {.up = at};
		const uint8_t *value_at;
		struct lmi_wire_mp v;
		enum lmd_status st;
		uint32_t number;

		p = lmi_wire_mp_pair(p, end, &here.name, &v, &value_at);
		f = find_field(s, &here.name, &number);
		if (f && v.kind != LMI_WIRE_MP_NIL) {
			seen.bits[number / 64] |= 1ull << number % 64;
			st = take_field(c, &here, f, &v, value_at, end, out);
			if (st != LMD_OK)
				return st;
		} else if (!f && !c->lenient && !(envelope && is_envelope(&here.name))) {
			return lmi_wire_codec_fail(c, c->bad, &here, "unknown field");
		}
	}
	return all_there(c, at, s, &seen);
}

static enum lmd_status take_struct(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at,
				   const struct lmi_wire_struct *s, const struct lmi_wire_mp *map,
				   const uint8_t *p, const uint8_t *end, bool envelope, void *out)
{
	lmi_wire_defaults(s, out);
	return take_pairs(c, at, s, map, p, end, envelope, out);
}

/* Finds the value of a key; returns false if it is missing. */
static bool look_up(const struct lmi_wire_mp *map, const uint8_t *p, const uint8_t *end,
		    const char *key, struct lmi_wire_mp *out, const uint8_t **value_at)
{
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; i < map->u.n; i++) {
		struct lmd_str k;

		p = lmi_wire_mp_pair(p, end, &k, out, value_at);
		if (lmi_wire_mp_is(&k, key, strlen(key)))
			return true;
	}
	return false;
}

/* Decodes an item.  Items occur only in replies, so unknown kinds are accepted. */
static enum lmd_status take_item(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_mp *map, const uint8_t *p,
				 const uint8_t *end, struct lmi_wire_item *out)
{
	const uint8_t *value_at;
	struct lmi_wire_mp tag;
	enum lmd_status st;

	if (!look_up(map, p, end, lmi_wire_items.tag, &tag, &value_at) ||
	    tag.kind != LMI_WIRE_MP_STR)
		return lmi_wire_codec_fail(c, c->bad, at, "%s is missing", lmi_wire_items.tag);
	for (int i = 1; i < LMI_WIRE_N_ITEM; i++)
		if (lmi_wire_mp_is(&tag.u.s, lmi_wire_items.of[i]->name,
				   strlen(lmi_wire_items.of[i]->name)))
			out->kind = (enum lmi_wire_item_kind)i;
	st = take_struct(c, at, lmi_wire_items.common, map, p, end, false, out);
	if (st != LMD_OK || out->kind == LMI_WIRE_ITEM_UNKNOWN)
		return st;
	return take_struct(c, at, lmi_wire_items.of[out->kind], map, p, end, false, out);
}

/* ---- messages ---- */

static const struct lmi_wire_field rid_field = {
	.name = "rid",
	.type = LMI_WIRE_T_STRING,
	.u.s = {0, LMI_WIRE_LIMIT_RID_BYTES, ""},
};

/* The fields that all messages have.  The kind is LMI_WIRE_MP_NIL if a field is missing. */
struct head {
	struct lmi_wire_mp v, op, rid, error;
	const uint8_t *error_at;
};

static void read_head(const struct lmi_wire_mp *map, const uint8_t *p, const uint8_t *end,
		      struct head *h)
{
	*h = (struct head){.v.kind = LMI_WIRE_MP_NIL,
			   .op.kind = LMI_WIRE_MP_NIL,
			   .rid.kind = LMI_WIRE_MP_NIL,
			   .error.kind = LMI_WIRE_MP_NIL};
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; i < map->u.n; i++) {
		const uint8_t *at;
		struct lmd_str key;
		struct lmi_wire_mp v;

		p = lmi_wire_mp_pair(p, end, &key, &v, &at);
		if (lmi_wire_mp_is(&key, "v", 1)) {
			h->v = v;
		} else if (lmi_wire_mp_is(&key, "op", 2)) {
			h->op = v;
		} else if (lmi_wire_mp_is(&key, "rid", 3)) {
			h->rid = v;
		} else if (lmi_wire_mp_is(&key, "error", 5)) {
			h->error = v;
			h->error_at = at;
		}
	}
}

/* Returns the version, or 0 if it is missing or invalid. */
static uint32_t head_v(const struct head *h)
{
	return h->v.kind == LMI_WIRE_MP_INT && h->v.u.i > 0 && h->v.u.i <= UINT16_MAX
		       ? (uint32_t)h->v.u.i
		       : 0;
}

/* Decodes the rid.  An invalid one is an error, since a repetition would otherwise be run
 * again. */
static enum lmd_status take_rid(const struct lmi_wire_codec *c, const struct head *h,
				struct lmd_str *out)
{
	const struct lmi_wire_msg_pos at = {.name = {.ptr = "rid", .len = 3}};
	struct lmd_str rid;
	enum lmd_status st;

	if (h->rid.kind == LMI_WIRE_MP_NIL)
		return LMD_OK;
	st = take_span(c, &at, &rid_field, &h->rid, &rid);
	if (st == LMD_OK)
		*out = rid;
	return st;
}

/* Sets v, op and rid of *out and checks them, op first. */
static enum lmd_status take_head(struct lmi_wire_codec *c, const struct head *h,
				 struct lmi_wire_request *out)
{
	enum lmd_status rid;
	char show[80];

	out->v = head_v(h);
	if (h->op.kind == LMI_WIRE_MP_STR)
		out->op = lmi_wire_op_find(h->op.u.s.ptr, h->op.u.s.len);
	if (out->op != LMI_WIRE_OP_NONE)
		c->what = lmi_wire_ops[out->op].name;
	rid = take_rid(c, h, &out->rid);
	if (h->op.kind != LMI_WIRE_MP_STR)
		return lmi_wire_codec_fail(c, LMD_INVALID, NULL, "op is missing");
	if (out->op == LMI_WIRE_OP_NONE)
		return lmi_wire_codec_fail(
			c, LMD_UNSUPPORTED, NULL, "op \"%s\" is unknown",
			lmi_printable(show, sizeof(show), h->op.u.s.ptr, h->op.u.s.len));
	if (!out->v)
		return lmi_wire_codec_fail(c, LMD_INVALID, NULL, "v is missing or not 1 to 65535");
	if ((out->v < LMI_WIRE_V_MIN || out->v > LMI_WIRE_V) && out->op != LMI_WIRE_OP_HELLO)
		return lmi_wire_codec_fail(c, LMD_UNSUPPORTED, NULL,
					   "v: version %u is not supported, only %d to %d", out->v,
					   LMI_WIRE_V_MIN, LMI_WIRE_V);
	if (rid == LMD_OK && !out->rid.len &&
	    lmi_wire_ops[out->op].changes == LMI_WIRE_CHANGES_ONCE)
		return lmi_wire_codec_fail(c, c->bad, NULL, "rid is missing");
	return rid;
}

enum lmd_status lmi_wire_request_decode(struct lmi_wire_request *out, const void *bytes, size_t n,
					struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmi_wire_codec c = {
		.what = "request", .bad = LMD_INVALID, .arena = arena, .err = err};
	const uint8_t *p = bytes, *end;
	struct lmi_wire_mp map;
	struct head h;
	enum lmd_status st;

	memset(out, 0, sizeof(*out));
	st = lmi_wire_check(bytes, n, err);
	if (st != LMD_OK)
		return st;
	end = p + n;
	(void)lmi_wire_mp_read(p, end, &map);
	if (map.kind != LMI_WIRE_MP_MAP)
		return wrong_kind(&c, NULL, &map, "a map");
	read_head(&map, p, end, &h);
	st = take_head(&c, &h, out);
	if (st != LMD_OK)
		return st;
	return take_struct(&c, NULL, lmi_wire_ops[out->op].request, &map, p, end, true, &out->u);
}

static enum lmd_status take_reply(const struct lmi_wire_codec *c, const struct lmi_wire_mp *map,
				  const struct head *h, const uint8_t *p, const uint8_t *end,
				  struct lmi_wire_reply *out)
{
	const struct lmi_wire_msg_pos error_at = {.name = {.ptr = "error", .len = 5}};
	enum lmd_status st;
	char show[80];

	out->v = head_v(h);
	if (!out->v)
		return lmi_wire_codec_fail(c, c->bad, NULL, "v is missing or not 1 to 65535");
	if (h->op.kind == LMI_WIRE_MP_STR &&
	    lmi_wire_op_find(h->op.u.s.ptr, h->op.u.s.len) != out->op)
		return lmi_wire_codec_fail(
			c, c->bad, NULL, "op is \"%s\"",
			lmi_printable(show, sizeof(show), h->op.u.s.ptr, h->op.u.s.len));
	st = take_rid(c, h, &out->rid);
	if (st != LMD_OK)
		return st;
	if (h->error.kind == LMI_WIRE_MP_NIL)
		return take_struct(c, NULL, lmi_wire_ops[out->op].reply, map, p, end, true,
				   &out->u);
	out->failed = true;
	if (h->error.kind != LMI_WIRE_MP_MAP)
		return wrong_kind(c, &error_at, &h->error, "a map");
	return take_struct(c, &error_at, lmi_wire_error_struct, &h->error, h->error_at, end, false,
			   &out->error);
}

enum lmd_status lmi_wire_reply_decode(struct lmi_wire_reply *out, enum lmi_wire_op op,
				      const void *bytes, size_t n, struct lmd_arena *arena,
				      struct lmd_error *err)
{
	char what[64];
	const struct lmi_wire_codec c = {
		.what = what, .lenient = true, .bad = LMD_CORRUPT, .arena = arena, .err = err};
	const uint8_t *p = bytes;
	struct lmi_wire_mp map;
	struct head h;

	memset(out, 0, sizeof(*out));
	out->op = op;
	(void)snprintf(what, sizeof(what), "reply to %s", lmi_wire_ops[op].name);
	if (lmi_wire_check(bytes, n, err) != LMD_OK) {
		lmd_error_prefix(err, what);
		if (err)
			err->status = LMD_CORRUPT;
		return LMD_CORRUPT;
	}
	(void)lmi_wire_mp_read(p, p + n, &map);
	if (map.kind != LMI_WIRE_MP_MAP)
		return wrong_kind(&c, NULL, &map, "a map");
	read_head(&map, p, p + n, &h);
	return take_reply(&c, &map, &h, p, p + n, out);
}
