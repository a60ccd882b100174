/* SPDX-License-Identifier: MIT
 *
 * Positions, error messages and bounds: the part of the codec that does not handle bytes. */
#include "proto/codec.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/printable.h"

/* ---- error messages ---- */

static size_t print_where(char *buf, size_t cap, const struct lmi_wire_msg_pos *w)
{
	size_t n = w->up ? print_where(buf, cap, w->up) : 0;
	char show[80];

	if (n >= cap)
		return n;
	if (!w->name.len)
		n += (size_t)snprintf(buf + n, cap - n, "[%u]", w->index);
	else
		n += (size_t)snprintf(buf + n, cap - n, "%s%s", n ? "." : "",
				      lmi_printable(show, sizeof(show), w->name.ptr, w->name.len));
	return n;
}

enum lmd_status lmi_wire_codec_fail(const struct lmi_wire_codec *c, enum lmd_status st,
				    const struct lmi_wire_msg_pos *at, const char *fmt, ...)
{
	char place[160] = "", text[300];
	va_list ap;

	if (!c->err)
		return st;
	if (at)
		(void)print_where(place, sizeof(place), at);
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return lmd_fail(c->err, st, "%s: %s%s%s", c->what, place, at ? ": " : "", text);
}

enum lmd_status lmi_wire_codec_nomem(const struct lmi_wire_codec *c,
				     const struct lmi_wire_msg_pos *at)
{
	return lmi_wire_codec_fail(c, LMD_NOMEM, at, "out of memory");
}

/* ---- bounds ---- */

enum lmd_status lmi_wire_fit_int(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_field *f, int64_t v)
{
	if (c->lenient)
		return LMD_OK;
	if (v < f->u.i.min)
		return lmi_wire_codec_fail(c, c->bad, at, "%" PRId64 " is below %" PRId64, v,
					   f->u.i.min);
	if (v > f->u.i.max)
		return lmi_wire_codec_fail(c, c->bad, at, "%" PRId64 " is above %" PRId64, v,
					   f->u.i.max);
	return LMD_OK;
}

enum lmd_status lmi_wire_fit_float(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at,
				   const struct lmi_wire_field *f, double v)
{
	if (c->lenient)
		return LMD_OK;
	if (!isfinite(v))
		return lmi_wire_codec_fail(c, c->bad, at, "%s is not a finite number",
					   isnan(v) ? "nan"
					   : v > 0  ? "inf"
						    : "-inf");
	if (v < f->u.f.min)
		return lmi_wire_codec_fail(c, c->bad, at, "%g is below %g", v, f->u.f.min);
	if (v > f->u.f.max)
		return lmi_wire_codec_fail(c, c->bad, at, "%g is above %g", v, f->u.f.max);
	return LMD_OK;
}

bool lmi_wire_is_line(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7F)
			return false;
	return true;
}

enum lmd_status lmi_wire_fit_span(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_field *f, const struct lmd_str *s)
{
	if (c->lenient)
		return LMD_OK;
	if (s->len < f->u.s.min)
		return lmi_wire_codec_fail(c, c->bad, at, "%zu bytes, the minimum is %u", s->len,
					   f->u.s.min);
	if (s->len > f->u.s.max)
		return lmi_wire_codec_fail(c, c->bad, at, "%zu bytes, the maximum is %u", s->len,
					   f->u.s.max);
	return LMD_OK;
}

enum lmd_status lmi_wire_fit_items(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at, uint32_t n, uint32_t max)
{
	if (c->lenient)
		return LMD_OK;
	if (n > max)
		return lmi_wire_codec_fail(c, c->bad, at, "%u entries, the maximum is %u", n, max);
	return LMD_OK;
}

enum lmd_status lmi_wire_fit_one_of(const struct lmi_wire_codec *c,
				    const struct lmi_wire_msg_pos *at,
				    const struct lmi_wire_struct *s, uint32_t seen)
{
	char names[120] = "";
	size_t n = 0;

	if (!s->n_one_of || seen == 1 || c->lenient)
		return LMD_OK;
	for (uint32_t i = 0; i < s->n_one_of && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
				      s->fields[s->one_of[i]].name);
	return lmi_wire_codec_fail(
		c, c->bad, at, seen ? "only one of %s is allowed" : "one of %s is required", names);
}

/* Maximum length of the name of a sampler or parameter. */
#define NAME_MAX_BYTES 48

enum lmd_status lmi_wire_fit_name(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmd_str *s)
{
	char show[80];

	if (!s->len || s->len > NAME_MAX_BYTES)
		return lmi_wire_codec_fail(c, c->bad, at,
					   "a name of %zu bytes, allowed are 1 to %d", s->len,
					   NAME_MAX_BYTES);
	for (size_t i = 0; i < s->len; i++)
		if (s->ptr[i] <= 0x20 || s->ptr[i] > 0x7E)
			return lmi_wire_codec_fail(
				c, c->bad, at, "\"%s\" is not a name",
				lmi_printable(show, sizeof(show), s->ptr, s->len));
	return LMD_OK;
}

enum lmd_status lmi_wire_fit_bias(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmd_bias *b)
{
	if (b->id < 0)
		return lmi_wire_codec_fail(c, c->bad, at, "%d is not a token", b->id);
	if (isnan(b->bias))
		return lmi_wire_codec_fail(c, c->bad, at, "nan is not allowed");
	return LMD_OK;
}

/* ---- tables ---- */

size_t lmi_wire_elem_bytes(const struct lmi_wire_field *f)
{
	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		return sizeof(bool);
	case LMI_WIRE_T_INT:
		return sizeof(int64_t);
	case LMI_WIRE_T_FLOAT:
		return sizeof(double);
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		return sizeof(struct lmd_str);
	case LMI_WIRE_T_ID:
		return sizeof(struct lmi_wire_id);
	case LMI_WIRE_T_TOKEN:
		return sizeof(lmd_token);
	case LMI_WIRE_T_STATUS:
		return sizeof(enum lmd_status);
	case LMI_WIRE_T_ENUM:
		return sizeof(int);
	case LMI_WIRE_T_OBJECT:
		return f->u.of->bytes;
	case LMI_WIRE_T_ITEM:
		return sizeof(struct lmi_wire_item);
	case LMI_WIRE_T_CHAIN:
		return sizeof(struct lmi_wire_sampler);
	case LMI_WIRE_T_BIAS:
		return sizeof(struct lmd_bias);
	}
	return 0;
}

_Static_assert(sizeof(enum lmi_wire_class) == sizeof(int), "enums of messages are as wide as int");

static void set_default(const struct lmi_wire_field *f, void *v)
{
	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		*(bool *)v = f->u.b;
		return;
	case LMI_WIRE_T_INT:
		*(int64_t *)v = f->u.i.def;
		return;
	case LMI_WIRE_T_FLOAT:
		*(double *)v = f->u.f.def;
		return;
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		*(struct lmd_str *)v =
			(struct lmd_str){.ptr = f->u.s.def, .len = strlen(f->u.s.def)};
		return;
	case LMI_WIRE_T_ENUM:
		*(int *)v = f->u.e.def;
		return;
	case LMI_WIRE_T_ID:
	case LMI_WIRE_T_TOKEN:
	case LMI_WIRE_T_STATUS:
	case LMI_WIRE_T_OBJECT:
	case LMI_WIRE_T_ITEM:
	case LMI_WIRE_T_CHAIN:
	case LMI_WIRE_T_BIAS:
		return; /* their default is zero */
	}
}

void lmi_wire_defaults(const struct lmi_wire_struct *s, void *p)
{
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].presence == LMI_WIRE_DEFAULT && !s->fields[i].list)
			set_default(&s->fields[i], (char *)p + s->fields[i].at);
}

/* ---- names ---- */

enum lmi_wire_op lmi_wire_op_find(const char *name, size_t n)
{
	for (int i = 1; i < LMI_WIRE_N_OP; i++)
		if (strlen(lmi_wire_ops[i].name) == n && !memcmp(lmi_wire_ops[i].name, name, n))
			return (enum lmi_wire_op)i;
	return LMI_WIRE_OP_NONE;
}

const char *lmi_wire_word(const struct lmi_wire_words *words, int value)
{
	return value > 0 && (uint32_t)value <= words->n ? words->word[value - 1] : "unknown";
}

bool lmi_wire_item_final(enum lmi_wire_item_kind kind)
{
	return lmi_wire_items.final >> kind & 1;
}

/* ---- messages ---- */

void lmi_wire_request_init(struct lmi_wire_request *r, enum lmi_wire_op op)
{
	memset(r, 0, sizeof(*r));
	r->v = LMI_WIRE_V;
	r->op = op;
	if (op != LMI_WIRE_OP_NONE)
		lmi_wire_defaults(lmi_wire_ops[op].request, &r->u);
}

void lmi_wire_reply_init(struct lmi_wire_reply *r, const struct lmi_wire_request *to)
{
	memset(r, 0, sizeof(*r));
	r->v = to->v >= LMI_WIRE_V_MIN && to->v <= LMI_WIRE_V ? to->v : LMI_WIRE_V;
	r->op = to->op;
	r->rid = to->rid;
	if (r->op != LMI_WIRE_OP_NONE)
		lmi_wire_defaults(lmi_wire_ops[r->op].reply, &r->u);
}

void lmi_wire_reply_fail(struct lmi_wire_reply *r, enum lmd_status code, const char *text,
			 int64_t retry_ms, struct lmd_error *keep)
{
	(void)lmd_fail(keep, code, "%s", text);
	r->failed = true;
	r->error = (struct lmi_wire_error){
		.code = code,
		.text = {.ptr = keep->text, .len = strlen(keep->text)},
		.has_retry_ms = retry_ms >= 0,
		.retry_ms = retry_ms > 0 ? retry_ms : 0,
	};
}
