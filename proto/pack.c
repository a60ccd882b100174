/* SPDX-License-Identifier: MIT
 *
 * Encodes single values with msgpack-c's packer. */
#include <math.h>
#include <string.h>

#include "proto/codec.h"
#include "core/base/utf8.h"

int lmi_wire_pack_str(struct lmi_wire_codec *c, const char *s, size_t n)
{
	return msgpack_pack_str(&c->pk, n) || (n && msgpack_pack_str_body(&c->pk, s, n));
}

int lmi_wire_pack_bin(struct lmi_wire_codec *c, const void *p, size_t n)
{
	return msgpack_pack_bin(&c->pk, n) || (n && msgpack_pack_bin_body(&c->pk, p, n));
}

int lmi_wire_pack_text(struct lmi_wire_codec *c, const struct lmd_str *s)
{
	return lmi_utf8_valid_prefix(s->ptr, s->len) == s->len
		       ? lmi_wire_pack_str(c, s->ptr, s->len)
		       : lmi_wire_pack_bin(c, s->ptr, s->len);
}

/* A replacement has the same length as the bytes that it replaces, so the length is known
 * before. */
int lmi_wire_pack_sanitised(struct lmi_wire_codec *c, const struct lmd_str *s, size_t max)
{
	size_t n = s->len, at = 0;

	if (n > max) /* do not cut within a character */
		for (n = max; n && ((unsigned char)s->ptr[n] & 0xC0) == 0x80; n--)
			;
	if (msgpack_pack_str(&c->pk, n))
		return -1;
	while (at < n) {
		size_t good = at, len = 1;
		int failed;

		while (good < n && lmi_wire_is_line(s->ptr + good, 1)) {
			len = lmi_utf8_char(s->ptr + good, n - good);
			if (!len)
				break;
			good += len;
		}
		failed = good > at && msgpack_pack_str_body(&c->pk, s->ptr + at, good - at);
		if (!failed && good < n)
			failed = msgpack_pack_str_body(
				&c->pk, lmi_wire_is_line(s->ptr + good, 1) ? "?" : " ", 1);
		if (failed)
			return failed;
		at = good + 1;
	}
	return 0;
}

int lmi_wire_pack_bias(struct lmi_wire_codec *c, const struct lmd_bias *b)
{
	return msgpack_pack_array(&c->pk, 2) || msgpack_pack_int32(&c->pk, b->id) ||
	       msgpack_pack_float(&c->pk, b->bias);
}

static int pack_texts(struct lmi_wire_codec *c, const struct lmd_param_value *v)
{
	if (msgpack_pack_array(&c->pk, v->n))
		return -1;
	for (uint32_t i = 0; i < v->n; i++)
		if (lmi_wire_pack_text(c, &v->s[i]))
			return -1;
	return 0;
}

static int pack_biases(struct lmi_wire_codec *c, const struct lmd_param_value *v)
{
	if (msgpack_pack_array(&c->pk, v->n))
		return -1;
	for (uint32_t i = 0; i < v->n; i++)
		if (lmi_wire_pack_bias(c, &v->bias[i]))
			return -1;
	return 0;
}

static int pack_tokens(struct lmi_wire_codec *c, const struct lmd_param_value *v)
{
	if (msgpack_pack_array(&c->pk, v->n))
		return -1;
	for (uint32_t i = 0; i < v->n; i++)
		if (msgpack_pack_int32(&c->pk, v->tokens[i]))
			return -1;
	return 0;
}

static int pack_arg(struct lmi_wire_codec *c, const struct lmi_wire_arg *a)
{
	switch (a->type) {
	case LMD_PARAM_INT:
		return msgpack_pack_int64(&c->pk, a->v.i);
	case LMD_PARAM_FLOAT:
		return msgpack_pack_double(&c->pk, a->v.f);
	case LMD_PARAM_BOOL:
		return a->v.i ? msgpack_pack_true(&c->pk) : msgpack_pack_false(&c->pk);
	case LMD_PARAM_STR:
		return lmi_wire_pack_text(c, a->v.s);
	case LMD_PARAM_STRS:
		return pack_texts(c, &a->v);
	case LMD_PARAM_BIAS:
		return pack_biases(c, &a->v);
	case LMD_PARAM_TOKENS:
		return pack_tokens(c, &a->v);
	}
	return msgpack_pack_nil(&c->pk);
}

static struct lmd_str str_of(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static enum lmd_status check_arg(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				 const struct lmi_wire_sampler *s, uint32_t i)
{
	const struct lmi_wire_arg *a = &s->args[i];
	struct lmi_wire_msg_pos here = {.up = at, .name = str_of(a->name)};
	bool twice = !strcmp(a->name, "sampler");
	enum lmd_status st = lmi_wire_fit_name(c, at, &here.name);

	if (st != LMD_OK)
		return st;
	for (uint32_t k = 0; k < i; k++)
		twice |= !strcmp(a->name, s->args[k].name);
	if (twice)
		return lmi_wire_codec_fail(c, c->bad, &here, "duplicate name");
	if (a->type == LMD_PARAM_FLOAT && isnan(a->v.f))
		return lmi_wire_codec_fail(c, c->bad, &here, "nan is not allowed");
	for (uint32_t k = 0; a->type == LMD_PARAM_BIAS && k < a->v.n; k++) {
		st = lmi_wire_fit_bias(c, &here, &a->v.bias[k]);
		if (st != LMD_OK)
			return st;
	}
	for (uint32_t k = 0; a->type == LMD_PARAM_TOKENS && k < a->v.n; k++)
		if (a->v.tokens[k] < 0)
			return lmi_wire_codec_fail(c, c->bad, &here, "token %d is negative",
						   a->v.tokens[k]);
	if (a->type == LMD_PARAM_STRS || a->type == LMD_PARAM_BIAS || a->type == LMD_PARAM_TOKENS)
		return lmi_wire_fit_items(c, &here, a->v.n, LMI_WIRE_ARG_LIST_MAX);
	return LMD_OK;
}

enum lmd_status lmi_wire_pack_sampler(struct lmi_wire_codec *c, const struct lmi_wire_msg_pos *at,
				      const struct lmi_wire_sampler *s, int *failed)
{
	const struct lmd_str name = str_of(s->name);
	enum lmd_status st = lmi_wire_fit_name(c, at, &name);

	if (st == LMD_OK && s->n_args >= LMI_WIRE_LIMIT_MAP_KEYS)
		st = lmi_wire_codec_fail(c, c->bad, at, "%u parameters, the maximum is %d",
					 s->n_args, LMI_WIRE_LIMIT_MAP_KEYS - 1);
	if (st != LMD_OK)
		return st;
	*failed = msgpack_pack_map(&c->pk, s->n_args + 1) || lmi_wire_pack_str(c, "sampler", 7) ||
		  lmi_wire_pack_str(c, s->name, name.len);
	for (uint32_t i = 0; i < s->n_args && !*failed; i++) {
		const struct lmi_wire_arg *a = &s->args[i];

		st = check_arg(c, at, s, i);
		if (st != LMD_OK)
			return st;
		*failed = lmi_wire_pack_str(c, a->name, strlen(a->name)) || pack_arg(c, a);
	}
	return LMD_OK;
}
