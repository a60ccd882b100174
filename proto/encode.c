/* SPDX-License-Identifier: MIT
 *
 * Encodes structs to bytes, driven by the tables.  A field that has its default is left out.  The
 * packer writes into the caller's buffer; if it fails because memory runs out or the message would
 * be too long, the buffer is restored. */
#include <stdio.h>
#include <string.h>

#include "proto/buf.h"
#include "core/base/utf8.h"
#include "proto/codec.h"

/* ---- packer ---- */

/* The packer's destination; the message begins at `start`. */
struct sink {
	struct lmi_wire_buf *b;
	size_t start;
	bool too_long;
};

static int sink_write(void *data, const char *p, size_t n)
{
	struct sink *s = data;

	if (n > LMI_WIRE_LIMIT_MESSAGE_BYTES - (s->b->n - s->start)) {
		s->too_long = true;
		return -1;
	}
	return lmi_wire_buf_add(s->b, p, n) ? 0 : -1;
}

/* ---- values ---- */

static enum lmd_status put_struct(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_struct *s, const char *in);
static enum lmd_status put_item(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_item *item);

/* Converts a result of the packer; the error message is written by the caller at the end. */
static enum lmd_status packed(int failed)
{
	return failed ? LMD_NOMEM : LMD_OK;
}

static enum lmd_status put_span(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_field *f, const struct lmd_str *s)
{
	enum lmd_status st;

	if (f->type == LMI_WIRE_T_STRING && c->tidy)
		return packed(lmi_wire_pack_sanitised(c, s, f->u.s.max));
	st = lmi_wire_fit_span(c, at, f, s);
	if (st != LMD_OK)
		return st;
	if (f->type == LMI_WIRE_T_BYTES)
		return packed(lmi_wire_pack_bin(c, s->ptr, s->len));
	if (f->type == LMI_WIRE_T_TEXT)
		return packed(lmi_wire_pack_text(c, s));
	if (!lmi_wire_is_line(s->ptr, s->len) || lmi_utf8_valid_prefix(s->ptr, s->len) != s->len)
		return lmi_wire_codec_fail(c, c->bad, at,
					   "is not one line of UTF-8 without control characters");
	return packed(lmi_wire_pack_str(c, s->ptr, s->len));
}

static enum lmd_status put_word(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_words *w, int value)
{
	const char *word = lmi_wire_word(w, value);

	if (value < 1 || (uint32_t)value > w->n)
		return lmi_wire_codec_fail(c, c->bad, at, "%d is no %s", value, w->name);
	return packed(lmi_wire_pack_str(c, word, strlen(word)));
}

static enum lmd_status put_status(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  int code)
{
	if (code <= LMD_OK || code >= LMD_N_STATUS)
		return lmi_wire_codec_fail(c, c->bad, at, "%d is not an error code", code);
	return packed(lmi_wire_pack_str(c, lmi_wire_codes[code], strlen(lmi_wire_codes[code])));
}

static enum lmd_status put_int(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
			       const struct lmi_wire_field *f, int64_t v)
{
	enum lmd_status st = lmi_wire_fit_int(c, at, f, v);

	return st == LMD_OK ? packed(msgpack_pack_int64(&c->pk, v)) : st;
}

static enum lmd_status put_float(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_field *f, double v)
{
	enum lmd_status st = lmi_wire_fit_float(c, at, f, v);

	return st == LMD_OK ? packed(msgpack_pack_double(&c->pk, v)) : st;
}

static enum lmd_status put_token(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 lmd_token v)
{
	if (v < 0)
		return lmi_wire_codec_fail(c, c->bad, at, "%d is not a token", v);
	return packed(msgpack_pack_int32(&c->pk, v));
}

static enum lmd_status put_value(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_field *f, const void *in)
{
	int failed = 0;
	enum lmd_status st;

	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		return packed(*(const bool *)in ? msgpack_pack_true(&c->pk)
						: msgpack_pack_false(&c->pk));
	case LMI_WIRE_T_INT:
		return put_int(c, at, f, *(const int64_t *)in);
	case LMI_WIRE_T_FLOAT:
		return put_float(c, at, f, *(const double *)in);
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		return put_span(c, at, f, in);
	case LMI_WIRE_T_ID:
		return packed(lmi_wire_pack_bin(c, in, sizeof(struct lmi_wire_id)));
	case LMI_WIRE_T_TOKEN:
		return put_token(c, at, *(const lmd_token *)in);
	case LMI_WIRE_T_STATUS:
		return put_status(c, at, (int)*(const enum lmd_status *)in);
	case LMI_WIRE_T_ENUM:
		return put_word(c, at, f->u.e.words, *(const int *)in);
	case LMI_WIRE_T_OBJECT:
		return put_struct(c, at, f->u.of, in);
	case LMI_WIRE_T_ITEM:
		return put_item(c, at, in);
	case LMI_WIRE_T_CHAIN:
		st = lmi_wire_pack_sampler(c, at, in, &failed);
		return st == LMD_OK ? packed(failed) : st;
	case LMI_WIRE_T_BIAS:
		st = lmi_wire_fit_bias(c, at, in);
		return st == LMD_OK ? packed(lmi_wire_pack_bias(c, in)) : st;
	}
	return LMD_INTERNAL;
}

/* Writes a token in the shortest form and returns its length, 1 to 5 bytes; always touches 5. */
static size_t pack_token(char *out, uint32_t t)
{
	uint32_t n = (t >= 0x80) + (t >= 0x100) + 2 * (t >= 0x10000);
	uint32_t left = (uint32_t)((uint64_t)t << (32 - 8 * n));

	out[0] = (char)(n ? 0xCB + n - (n == 4) : t);
	out[1] = (char)(left >> 24);
	out[2] = (char)(left >> 16);
	out[3] = (char)(left >> 8);
	out[4] = (char)left;
	return n + 1;
}

/* Packs tokens as msgpack_pack_int32 does, in blocks; stops before a negative one.  Returns how many, or
 * -1 if the buffer is full. */
static int64_t put_tokens(struct lmi_wire_codec *c, const lmd_token *t, uint32_t n)
{
	char block[1024];
	uint32_t i = 0;
	size_t used = 0;

	for (; i < n && t[i] >= 0; i++) {
		if (used > sizeof(block) - 5) {
			if (c->pk.callback(c->pk.data, block, used))
				return -1;
			used = 0;
		}
		used += pack_token(block + used, (uint32_t)t[i]);
	}
	return c->pk.callback(c->pk.data, block, used) ? -1 : (int64_t)i;
}

static enum lmd_status put_list(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_field *f, const char *items, uint32_t n)
{
	size_t bytes = lmi_wire_elem_bytes(f);
	enum lmd_status st = lmi_wire_fit_items(c, at, n, f->max_items);
	int64_t first = 0;

	if (st == LMD_OK)
		st = packed(msgpack_pack_array(&c->pk, n));
	if (st == LMD_OK && f->type == LMI_WIRE_T_TOKEN) {
		first = put_tokens(c, (const lmd_token *)items, n);
		st = packed(first < 0);
	}
	for (uint32_t i = (uint32_t)first; i < n && st == LMD_OK; i++) {
		const struct lmi_wire_msg_pos here = {.up = at, .index = i};

		st = put_value(c, &here, f, items + i * bytes);
	}
	return st;
}

/* ---- maps ---- */

static bool has_default(const struct lmi_wire_field *f, const void *v)
{
	const struct lmd_str *s = v;

	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		return *(const bool *)v == f->u.b;
	case LMI_WIRE_T_INT:
		return *(const int64_t *)v == f->u.i.def;
	case LMI_WIRE_T_FLOAT:
		return !memcmp(v, &f->u.f.def, sizeof(double));
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		return s->len == strlen(f->u.s.def) &&
		       !memcmp(s->ptr ? s->ptr : "", f->u.s.def, s->len);
	case LMI_WIRE_T_ENUM:
		return *(const int *)v == f->u.e.def;
	case LMI_WIRE_T_ID:
	case LMI_WIRE_T_TOKEN:
	case LMI_WIRE_T_STATUS:
	case LMI_WIRE_T_OBJECT:
	case LMI_WIRE_T_ITEM:
	case LMI_WIRE_T_CHAIN:
	case LMI_WIRE_T_BIAS:
		break;
	}
	return false;
}

static bool is_member(const struct lmi_wire_members *m, const char *name)
{
	for (uint32_t i = 0; m && i < m->n; i++)
		if (lmi_wire_mp_is(&m->names[i], name, strlen(name)))
			return true;
	return false;
}

/* m: members that replace fields, or NULL. */
static bool is_there(const struct lmi_wire_members *m, const struct lmi_wire_field *f,
		     const char *in)
{
	if (is_member(m, f->name))
		return false;
	if (f->presence == LMI_WIRE_REQUIRED)
		return true;
	if (f->presence == LMI_WIRE_OPTIONAL)
		return *(const bool *)(in + f->has_at);
	return f->list ? *(const uint32_t *)(in + f->n_at) > 0 : !has_default(f, in + f->at);
}

static uint32_t count_there(const struct lmi_wire_members *m, const struct lmi_wire_struct *s,
			    const char *in)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_fields; i++)
		n += is_there(m, &s->fields[i], in);
	return n;
}

/* Encodes the fields that are present.  The head of the map has been written. */
static enum lmd_status put_fields(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_struct *s, const char *in)
{
	const struct lmi_wire_members *m = at ? NULL : c->members;
	uint32_t n_one = 0;

	for (uint32_t i = 0; i < s->n_one_of; i++)
		n_one += is_there(m, &s->fields[s->one_of[i]], in);
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct lmi_wire_field *f = &s->fields[i];
		const struct lmi_wire_msg_pos here = {
			.up = at, .name = {.ptr = f->name, .len = strlen(f->name)}};
		enum lmd_status st;

		if (!is_there(m, f, in))
			continue;
		st = packed(lmi_wire_pack_str(c, f->name, here.name.len));
		if (st == LMD_OK)
			st = f->list ? put_list(c, &here, f, *(const char *const *)(in + f->at),
						*(const uint32_t *)(in + f->n_at))
				     : put_value(c, &here, f, in + f->at);
		if (st != LMD_OK)
			return st;
	}
	return m && m->n ? LMD_OK : lmi_wire_fit_one_of(c, at, s, n_one); /* one may be a member */
}

static enum lmd_status put_struct(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_struct *s, const char *in)
{
	if (msgpack_pack_map(&c->pk, count_there(NULL, s, in)))
		return LMD_NOMEM;
	return put_fields(c, at, s, in);
}

static enum lmd_status put_item(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_item *item)
{
	const struct lmi_wire_variants *v = &lmi_wire_items;
	const struct lmi_wire_struct *s;
	const char *in = (const char *)item;
	enum lmd_status st;

	if (item->kind <= LMI_WIRE_ITEM_UNKNOWN || item->kind >= LMI_WIRE_N_ITEM)
		return lmi_wire_codec_fail(c, c->bad, at, "%d is not a kind of item",
					   (int)item->kind);
	s = v->of[item->kind];
	st = packed(msgpack_pack_map(&c->pk, 1 + count_there(NULL, v->common, in) +
							     count_there(NULL, s, in)) ||
		    lmi_wire_pack_str(c, v->tag, strlen(v->tag)) ||
		    lmi_wire_pack_str(c, s->name, strlen(s->name)));
	if (st == LMD_OK)
		st = put_fields(c, at, v->common, in);
	return st == LMD_OK ? put_fields(c, at, s, in) : st;
}

/* ---- messages ---- */

/* Encodes the head of a map with n_more further keys, and v, op and rid. */
static enum lmd_status put_head(struct lmi_wire_codec *c, uint32_t v, enum lmi_wire_op op,
				const struct lmd_str *rid, uint32_t n_more)
{
	const char *name = lmi_wire_ops[op].name;
	bool named = op != LMI_WIRE_OP_NONE;

	if (rid->len > LMI_WIRE_LIMIT_RID_BYTES || !lmi_wire_is_line(rid->ptr, rid->len) ||
	    lmi_utf8_valid_prefix(rid->ptr, rid->len) != rid->len)
		return lmi_wire_codec_fail(c, c->bad, NULL,
					   "rid: is not one line of at most %d bytes of UTF-8",
					   LMI_WIRE_LIMIT_RID_BYTES);
	return packed(msgpack_pack_map(&c->pk, 1u + named + !!rid->len + n_more) ||
		      lmi_wire_pack_str(c, "v", 1) || msgpack_pack_uint32(&c->pk, v) ||
		      (named && (lmi_wire_pack_str(c, "op", 2) ||
				 lmi_wire_pack_str(c, name, strlen(name)))) ||
		      (rid->len && (lmi_wire_pack_str(c, "rid", 3) ||
				    lmi_wire_pack_str(c, rid->ptr, rid->len))));
}

static void start(struct lmi_wire_codec *c, struct sink *s, struct lmi_wire_buf *b)
{
	*s = (struct sink){.b = b, .start = b->n};
	msgpack_packer_init(&c->pk, s, sink_write);
}

static enum lmd_status finish(const struct lmi_wire_codec *c, const struct sink *s,
			      enum lmd_status st)
{
	if (st == LMD_OK)
		return st;
	s->b->n = s->start;
	if (s->too_long)
		return lmi_wire_codec_fail(c, c->bad, NULL, "the message is longer than %d bytes",
					   LMI_WIRE_LIMIT_MESSAGE_BYTES);
	return st == LMD_NOMEM ? lmi_wire_codec_nomem(c, NULL) : st;
}

enum lmd_status lmi_wire_request_encode_with(struct lmi_wire_buf *b,
					     const struct lmi_wire_request *r,
					     const struct lmi_wire_members *m, bool only,
					     struct lmd_error *err)
{
	const struct lmi_wire_opinfo *op = &lmi_wire_ops[r->op];
	struct lmi_wire_codec c = {
		.what = op->name, .members = m, .bad = LMD_INVALID, .err = err};
	const struct lmd_str rid = is_member(m, "rid") ? (struct lmd_str){0} : r->rid;
	const char *in = (const char *)&r->u;
	struct sink s;
	uint32_t n;
	enum lmd_status st;

	if (r->op == LMI_WIRE_OP_NONE)
		return lmd_fail(err, LMD_INVALID, "request: op is missing");
	if (op->changes == LMI_WIRE_CHANGES_ONCE && !rid.len && !is_member(m, "rid"))
		return lmi_wire_codec_fail(&c, LMD_INVALID, NULL, "rid is missing");
	start(&c, &s, b);
	n = (only ? 0 : count_there(m, op->request, in)) + (m ? m->n : 0);
	st = put_head(&c, r->v, r->op, &rid, n);
	if (st == LMD_OK && !only)
		st = put_fields(&c, NULL, op->request, in);
	if (st == LMD_OK && m && m->n)
		st = packed(sink_write(&s, (const char *)m->pairs.p, m->pairs.n));
	return finish(&c, &s, st);
}

enum lmd_status lmi_wire_request_encode(struct lmi_wire_buf *b, const struct lmi_wire_request *r,
					struct lmd_error *err)
{
	return lmi_wire_request_encode_with(b, r, NULL, false, err);
}

enum lmd_status lmi_wire_reply_encode(struct lmi_wire_buf *b, const struct lmi_wire_reply *r,
				      struct lmd_error *err)
{
	const struct lmi_wire_msg_pos error_at = {.name = {.ptr = "error", .len = 5}};
	const struct lmi_wire_struct *of = r->failed ? NULL : lmi_wire_ops[r->op].reply;
	const char *in = (const char *)&r->u;
	char what[64];
	struct lmi_wire_codec c = {.what = what, .tidy = true, .bad = LMD_INVALID, .err = err};
	struct sink s;
	enum lmd_status st;

	(void)snprintf(what, sizeof(what), "reply to %s",
		       r->op == LMI_WIRE_OP_NONE ? "a request" : lmi_wire_ops[r->op].name);
	if (r->op == LMI_WIRE_OP_NONE && !r->failed)
		return lmi_wire_codec_fail(&c, LMD_INVALID, NULL, "op is missing");
	start(&c, &s, b);
	st = put_head(&c, r->v, r->op, &r->rid, of ? count_there(NULL, of, in) : 1);
	if (st != LMD_OK)
		return finish(&c, &s, st);
	if (of)
		return finish(&c, &s, put_fields(&c, NULL, of, in));
	st = packed(lmi_wire_pack_str(&c, "error", 5));
	if (st == LMD_OK)
		st = put_struct(&c, &error_at, lmi_wire_error_struct, (const char *)&r->error);
	return finish(&c, &s, st);
}
