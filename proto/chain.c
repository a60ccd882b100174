/* SPDX-License-Identifier: MIT
 *
 * Decodes samplers and biases.  Parameters get the type in which they were sent; their names and
 * ranges are checked when the chain is built. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "proto/codec.h"

static enum lmd_status take_name(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmd_str *s, const char **out)
{
	enum lmd_status st = lmi_wire_fit_name(c, at, s);

	if (st != LMD_OK)
		return st;
	*out = lmi_arena_strndup(c->arena, s->ptr, s->len);
	return *out ? LMD_OK : lmi_wire_codec_nomem(c, at);
}

/* ---- biases ---- */

/* Decodes a number, false for minus infinity, or the word "inf" or "-inf". */
static enum lmd_status take_bias_value(const struct lmi_wire_codec *c,
				       const struct lmi_wire_msg_pos *at,
				       const struct lmi_wire_mp *v, float *out)
{
	double d;

	if (v->kind == LMI_WIRE_MP_FLOAT)
		d = v->u.f;
	else if (v->kind == LMI_WIRE_MP_INT)
		d = (double)v->u.i;
	else if (v->kind == LMI_WIRE_MP_BOOL && !v->u.b)
		d = -INFINITY;
	else if (v->kind == LMI_WIRE_MP_STR && lmi_wire_mp_is(&v->u.s, "-inf", 4))
		d = -INFINITY;
	else if (v->kind == LMI_WIRE_MP_STR && lmi_wire_mp_is(&v->u.s, "inf", 3))
		d = INFINITY;
	else
		return lmi_wire_codec_fail(c, c->bad, at, "%s is not a number or false",
					   lmi_wire_mp_kind_text(v->kind));
	if (isnan(d) || (isfinite(d) && fabs(d) > FLT_MAX))
		return lmi_wire_codec_fail(c, c->bad, at, "%g does not fit into a 32-bit float", d);
	*out = (float)d;
	return LMD_OK;
}

static enum lmd_status take_pair(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const uint8_t *p, const uint8_t *end, struct lmd_bias *out)
{
	struct lmi_wire_mp v;
	size_t head = lmi_wire_mp_read(p, end, &v);

	if (v.kind != LMI_WIRE_MP_ARRAY || v.u.n != 2)
		return lmi_wire_codec_fail(c, c->bad, at,
					   "%s is not a pair of a token and a number",
					   lmi_wire_mp_kind_text(v.kind));
	p += head;
	p += lmi_wire_mp_read(p, end, &v);
	if (v.kind != LMI_WIRE_MP_INT || v.u.i < 0 || v.u.i > INT32_MAX)
		return lmi_wire_codec_fail(
			c, c->bad, at, "its first value is not a token from 0 to %d", INT32_MAX);
	out->id = (lmd_token)v.u.i;
	(void)lmi_wire_mp_read(p, end, &v);
	return take_bias_value(c, at, &v, &out->bias);
}

/* Parses a token from decimal digits. */
static bool token_of_key(const struct lmd_str *s, lmd_token *out)
{
	int64_t v = 0;

	if (!s->len || s->len > 10 || (s->ptr[0] == '0' && s->len > 1))
		return false;
	for (size_t i = 0; i < s->len; i++) {
		if (s->ptr[i] < '0' || s->ptr[i] > '9')
			return false;
		v = 10 * v + (s->ptr[i] - '0');
	}
	*out = (lmd_token)v;
	return v <= INT32_MAX;
}

enum lmd_status lmi_wire_bias_decode(const struct lmi_wire_codec *c,
				     const struct lmi_wire_msg_pos *at,
				     const struct lmi_wire_mp *list, const uint8_t *p,
				     const uint8_t *end, uint32_t max, const struct lmd_bias **out,
				     uint32_t *n)
{
	bool map = list->kind == LMI_WIRE_MP_MAP;
	struct lmd_bias *b = NULL;
	enum lmd_status st;

	if (!map && list->kind != LMI_WIRE_MP_ARRAY)
		return lmi_wire_codec_fail(c, c->bad, at, "%s is not a list of pairs",
					   lmi_wire_mp_kind_text(list->kind));
	st = lmi_wire_fit_items(c, at, list->u.n, max);
	if (st == LMD_OK && list->u.n) {
		b = lmi_arena_array(c->arena, list->u.n, sizeof(*b));
		st = b ? LMD_OK : lmi_wire_codec_nomem(c, at);
	}
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; st == LMD_OK && i < list->u.n; i++) {
		struct lmi_wire_msg_pos here = {.up = at, .index = i};
		const uint8_t *value_at;
		struct lmi_wire_mp v;

		if (!map) {
			st = take_pair(c, &here, p, end, &b[i]);
			p = lmi_wire_mp_skip(p, end);
			continue;
		}
		p = lmi_wire_mp_pair(p, end, &here.name, &v, &value_at);
		st = token_of_key(&here.name, &b[i].id)
			     ? take_bias_value(c, &here, &v, &b[i].bias)
			     : lmi_wire_codec_fail(c, c->bad, &here, "is not a token from 0 to %d",
						   INT32_MAX);
	}
	*out = b;
	*n = list->u.n;
	return st;
}

/* ---- arguments ---- */

static enum lmd_status take_texts(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				  const struct lmi_wire_mp *v, const uint8_t *p, const uint8_t *end,
				  struct lmi_wire_arg *a)
{
	struct lmd_str *s = NULL;

	if (v->u.n > LMI_WIRE_ARG_LIST_MAX)
		return lmi_wire_fit_items(c, at, v->u.n, LMI_WIRE_ARG_LIST_MAX);
	if (v->u.n) {
		s = lmi_arena_array(c->arena, v->u.n, sizeof(*s));
		if (!s)
			return lmi_wire_codec_nomem(c, at);
	}
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; i < v->u.n; i++) {
		const struct lmi_wire_msg_pos here = {.up = at, .index = i};
		struct lmi_wire_mp e;

		(void)lmi_wire_mp_read(p, end, &e);
		if (e.kind != LMI_WIRE_MP_STR && e.kind != LMI_WIRE_MP_BIN)
			return lmi_wire_codec_fail(c, c->bad, &here,
						   "%s is not a string",
						   lmi_wire_mp_kind_text(e.kind));
		s[i] = e.u.s;
		p = lmi_wire_mp_skip(p, end);
	}
	a->type = LMD_PARAM_STRS;
	a->v.n = v->u.n;
	a->v.s = s;
	return LMD_OK;
}

static enum lmd_status take_tokens(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at, const struct lmi_wire_mp *v,
				   const uint8_t *p, const uint8_t *end, struct lmi_wire_arg *a)
{
	enum lmd_status st = lmi_wire_fit_items(c, at, v->u.n, LMI_WIRE_ARG_LIST_MAX);
	lmd_token *t;

	if (st != LMD_OK)
		return st;
	t = lmi_arena_array(c->arena, v->u.n, sizeof(*t));
	if (!t)
		return lmi_wire_codec_nomem(c, at);
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; i < v->u.n; i++) {
		const struct lmi_wire_msg_pos here = {.up = at, .index = i};
		struct lmi_wire_mp e;

		(void)lmi_wire_mp_read(p, end, &e);
		if (e.kind != LMI_WIRE_MP_INT || e.u.i < 0 || e.u.i > INT32_MAX)
			return lmi_wire_codec_fail(c, c->bad, &here, "is not a token from 0 to %d",
						   INT32_MAX);
		t[i] = (lmd_token)e.u.i;
		p = lmi_wire_mp_skip(p, end);
	}
	a->type = LMD_PARAM_TOKENS;
	a->v.n = v->u.n;
	a->v.tokens = t;
	return LMD_OK;
}

static enum lmd_status take_text(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_mp *v, struct lmi_wire_arg *a)
{
	struct lmd_str *s = lmi_arena_array(c->arena, 1, sizeof(*s));

	if (!s)
		return lmi_wire_codec_nomem(c, at);
	*s = v->u.s;
	a->type = LMD_PARAM_STR;
	a->v.n = 1;
	a->v.s = s;
	return LMD_OK;
}

static enum lmd_status take_biases(const struct lmi_wire_codec *c,
				   const struct lmi_wire_msg_pos *at, const struct lmi_wire_mp *v,
				   const uint8_t *p, const uint8_t *end, struct lmi_wire_arg *a)
{
	a->type = LMD_PARAM_BIAS;
	return lmi_wire_bias_decode(c, at, v, p, end, LMI_WIRE_ARG_LIST_MAX, &a->v.bias, &a->v.n);
}

static enum lmd_status take_number(struct lmi_wire_arg *a, enum lmd_param_type type, int64_t i,
				   double f)
{
	a->type = type;
	a->v.i = i;
	a->v.f = f;
	return LMD_OK;
}

static enum lmd_status take_arg(const struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				const struct lmi_wire_mp *v, const uint8_t *p, const uint8_t *end,
				struct lmi_wire_arg *a)
{
	struct lmi_wire_mp first;

	switch (v->kind) {
	case LMI_WIRE_MP_BOOL:
		return take_number(a, LMD_PARAM_BOOL, v->u.b, 0);
	case LMI_WIRE_MP_INT:
		return take_number(a, LMD_PARAM_INT, v->u.i, 0);
	case LMI_WIRE_MP_UINT:
		return lmi_wire_codec_fail(c, c->bad, at, "%" PRIu64 " is above %" PRId64, v->u.u,
					   INT64_MAX);
	case LMI_WIRE_MP_FLOAT:
		if (isnan(v->u.f))
			return lmi_wire_codec_fail(c, c->bad, at, "nan is not allowed");
		return take_number(a, LMD_PARAM_FLOAT, 0, v->u.f);
	case LMI_WIRE_MP_STR:
	case LMI_WIRE_MP_BIN:
		return take_text(c, at, v, a);
	case LMI_WIRE_MP_ARRAY:
		(void)lmi_wire_mp_read(p + lmi_wire_mp_read(p, end, &first), end, &first);
		if (v->u.n && first.kind == LMI_WIRE_MP_ARRAY)
			return take_biases(c, at, v, p, end, a);
		if (v->u.n && (first.kind == LMI_WIRE_MP_INT || first.kind == LMI_WIRE_MP_UINT))
			return take_tokens(c, at, v, p, end, a);
		return take_texts(c, at, v, p, end, a);
	case LMI_WIRE_MP_MAP:
		return take_biases(c, at, v, p, end, a);
	case LMI_WIRE_MP_NIL:
	case LMI_WIRE_MP_CUT:
	case LMI_WIRE_MP_BAD:
		break;
	}
	return lmi_wire_codec_fail(c, c->bad, at, "null is not allowed");
}

static enum lmd_status take_sampler(const struct lmi_wire_codec *c,
				    const struct lmi_wire_msg_pos *at,
				    const struct lmi_wire_mp *map, const uint8_t *p,
				    const uint8_t *end, struct lmi_wire_sampler *out)
{
	struct lmi_wire_arg *args =
		map->u.n ? lmi_arena_array(c->arena, map->u.n, sizeof(*args)) : NULL;
	enum lmd_status st = LMD_OK;

	if (map->u.n && !args)
		return lmi_wire_codec_nomem(c, at);
	p += lmi_wire_mp_read(p, end, &(struct lmi_wire_mp){0});
	for (uint32_t i = 0; i < map->u.n && st == LMD_OK; i++) {
		struct lmi_wire_msg_pos here = {.up = at};
		const uint8_t *value_at;
		struct lmi_wire_mp v;

		p = lmi_wire_mp_pair(p, end, &here.name, &v, &value_at);
		if (lmi_wire_mp_is(&here.name, "sampler", 7)) {
			st = v.kind == LMI_WIRE_MP_STR
				     ? take_name(c, &here, &v.u.s, &out->name)
				     : lmi_wire_codec_fail(c, c->bad, &here, "%s is not a name",
							   lmi_wire_mp_kind_text(v.kind));
			continue;
		}
		st = take_name(c, &here, &here.name, &args[out->n_args].name);
		if (st == LMD_OK)
			st = take_arg(c, &here, &v, value_at, end, &args[out->n_args++]);
	}
	out->args = args;
	if (st == LMD_OK && !out->name)
		return lmi_wire_codec_fail(c, c->bad, at, "sampler is missing");
	return st;
}

enum lmd_status lmi_wire_chain_decode(const struct lmi_wire_codec *c,
				      const struct lmi_wire_msg_pos *at, const uint8_t *p,
				      const uint8_t *end, struct lmi_wire_sampler *out)
{
	struct lmi_wire_mp v;

	(void)lmi_wire_mp_read(p, end, &v);
	if (v.kind == LMI_WIRE_MP_STR)
		return take_name(c, at, &v.u.s, &out->name);
	if (v.kind == LMI_WIRE_MP_MAP)
		return take_sampler(c, at, &v, p, end, out);
	return lmi_wire_codec_fail(c, c->bad, at, "%s is neither a sampler's name nor a map",
				   lmi_wire_mp_kind_text(v.kind));
}
