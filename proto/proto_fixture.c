/* SPDX-License-Identifier: MIT
 *
 * Generates messages from the tables of the codec. */
#include "proto/proto_fixture.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"

/* ---- any values ---- */

/* splitmix64 */
static uint64_t any(struct fill *f)
{
	uint64_t z = (f->seed += 0x9E3779B97F4A7C15ull);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

static uint64_t below(struct fill *f, uint64_t n)
{
	return any(f) % n;
}

static int64_t any_int(struct fill *f, int64_t min, int64_t max)
{
	uint64_t span = (uint64_t)max - (uint64_t)min;

	switch (below(f, 4)) {
	case 0:
		return min;
	case 1:
		return max;
	case 2: /* near zero, where the encoding changes */
		return (int64_t)((uint64_t)min +
				 (span < 70000 ? below(f, span + 1) : below(f, 70000)));
	}
	return (int64_t)((uint64_t)min + (span == UINT64_MAX ? any(f) : below(f, span + 1)));
}

static double any_float(struct fill *f, double min, double max)
{
	double u = (double)(any(f) >> 11) * 0x1p-53;

	switch (below(f, 4)) {
	case 0:
		return min;
	case 1:
		return max;
	}
	if (min < -1e30 || max > 1e30)
		return ldexp(u - 0.5, (int)below(f, 200));
	return min + (max - min) * u;
}

static struct lmd_str any_span(struct fill *f, const struct lmi_wire_field *w)
{
	static const char *const parts[] = {
		"a", "Z", " ", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\"", "\\"};
	size_t max = w->u.s.max < w->u.s.min + 48 ? w->u.s.max : w->u.s.min + 48;
	size_t n = w->u.s.min + below(f, max - w->u.s.min + 1), at = 0;
	char *p = lmi_arena_alloc(f->arena, n + 1, 1);

	while (at < n) {
		const char *part = parts[below(f, LMD_LEN(parts))];

		if (strlen(part) > n - at)
			part = "x";
		memcpy(p + at, part, strlen(part));
		at += strlen(part);
	}
	if (w->type != LMI_WIRE_T_STRING && below(f, 2))
		for (size_t i = 0; i < n; i++)
			p[i] = (char)below(f, 256);
	return (struct lmd_str){.ptr = p, .len = n};
}

static struct lmd_bias any_bias(struct fill *f)
{
	return (struct lmd_bias){.id = (lmd_token)below(f, 1u << 31),
				 .bias = below(f, 4) ? (float)any_float(f, -9, 9) : -INFINITY};
}

static void any_arg(struct fill *f, uint32_t i, struct lmi_wire_arg *a)
{
	const struct lmi_wire_field text = {.type = LMI_WIRE_T_TEXT, .u.s = {0, 40, ""}};
	struct lmd_bias *b;
	struct lmd_str *s;
	lmd_token *t;

	a->name = lmi_arena_printf(f->arena, "arg_%u", i);
	a->type = (enum lmd_param_type)(LMD_PARAM_INT + below(f, 7));
	switch (a->type) {
	case LMD_PARAM_INT:
		a->v.i = any_int(f, INT64_MIN, INT64_MAX);
		return;
	case LMD_PARAM_FLOAT:
		a->v.f = any_float(f, -DBL_MAX, DBL_MAX);
		return;
	case LMD_PARAM_BOOL:
		a->v.i = (int64_t)below(f, 2);
		return;
	case LMD_PARAM_STR:
	case LMD_PARAM_STRS:
		a->v.n = a->type == LMD_PARAM_STR ? 1 : (uint32_t)below(f, 4);
		s = lmi_arena_array(f->arena, a->v.n + 1, sizeof(*s));
		for (uint32_t k = 0; k < a->v.n; k++)
			s[k] = any_span(f, &text);
		a->v.s = s;
		return;
	case LMD_PARAM_BIAS:
		a->v.n = 1 + (uint32_t)below(f, 3);
		b = lmi_arena_array(f->arena, a->v.n, sizeof(*b));
		for (uint32_t k = 0; k < a->v.n; k++)
			b[k] = any_bias(f);
		a->v.bias = b;
		return;
	case LMD_PARAM_TOKENS:
		a->v.n = 1 + (uint32_t)below(f, 3);
		t = lmi_arena_array(f->arena, a->v.n, sizeof(*t));
		for (uint32_t k = 0; k < a->v.n; k++)
			t[k] = (lmd_token)any_int(f, 0, INT32_MAX);
		a->v.tokens = t;
		return;
	}
}

static void any_sampler(struct fill *f, struct lmi_wire_sampler *s)
{
	uint32_t n = (uint32_t)below(f, 6);
	struct lmi_wire_arg *args = lmi_arena_array(f->arena, n + 1, sizeof(*args));

	s->name = lmi_arena_printf(f->arena, "sampler_%u", (unsigned)below(f, 100));
	for (uint32_t i = 0; i < n; i++)
		any_arg(f, i, &args[i]);
	s->args = args;
	s->n_args = n;
}

static void any_item(struct fill *f, struct lmi_wire_item *it)
{
	it->kind = (enum lmi_wire_item_kind)(1 + below(f, LMI_WIRE_N_ITEM - 1));
	fill_struct(f, lmi_wire_items.common, it);
	fill_struct(f, lmi_wire_items.of[it->kind], it);
}

static void any_value(struct fill *f, const struct lmi_wire_field *w, void *out)
{
	switch (w->type) {
	case LMI_WIRE_T_BOOL:
		*(bool *)out = below(f, 2);
		return;
	case LMI_WIRE_T_INT:
		*(int64_t *)out = any_int(f, w->u.i.min, w->u.i.max);
		return;
	case LMI_WIRE_T_FLOAT:
		*(double *)out = any_float(f, w->u.f.min, w->u.f.max);
		return;
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		*(struct lmd_str *)out = any_span(f, w);
		return;
	case LMI_WIRE_T_ID:
		for (size_t i = 0; i < sizeof(struct lmi_wire_id); i++)
			((struct lmi_wire_id *)out)->b[i] = (uint8_t)below(f, 256);
		return;
	case LMI_WIRE_T_TOKEN:
		*(lmd_token *)out = (lmd_token)any_int(f, 0, INT32_MAX);
		return;
	case LMI_WIRE_T_STATUS:
		*(enum lmd_status *)out = (enum lmd_status)(1 + below(f, LMD_N_STATUS - 1));
		return;
	case LMI_WIRE_T_ENUM:
		*(int *)out = 1 + (int)below(f, w->u.e.words->n);
		return;
	case LMI_WIRE_T_OBJECT:
		fill_struct(f, w->u.of, out);
		return;
	case LMI_WIRE_T_ITEM:
		any_item(f, out);
		return;
	case LMI_WIRE_T_CHAIN:
		any_sampler(f, out);
		return;
	case LMI_WIRE_T_BIAS:
		*(struct lmd_bias *)out = any_bias(f);
		return;
	}
}

static void any_list(struct fill *f, const struct lmi_wire_field *w, char *out)
{
	uint32_t n = (uint32_t)below(f, w->max_items < 6 ? w->max_items + 1 : 6);
	size_t bytes = lmi_wire_elem_bytes(w);
	char *items = lmi_arena_array(f->arena, n + 1, bytes);

	for (uint32_t i = 0; i < n; i++)
		any_value(f, w, items + i * bytes);
	*(const void **)(out + w->at) = items;
	*(uint32_t *)(out + w->n_at) = n;
}

void fill_struct(struct fill *f, const struct lmi_wire_struct *s, void *out)
{
	uint32_t one = s->n_one_of ? s->one_of[below(f, s->n_one_of)] : 0;

	lmi_wire_defaults(s, out);
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct lmi_wire_field *w = &s->fields[i];
		bool there = w->presence == LMI_WIRE_REQUIRED || f->full || below(f, 2);

		for (uint32_t k = 0; k < s->n_one_of; k++)
			if (s->one_of[k] == i)
				there = i == one;
		if (!there)
			continue;
		if (w->presence == LMI_WIRE_OPTIONAL)
			*(bool *)((char *)out + w->has_at) = true;
		if (w->list)
			any_list(f, w, out);
		else
			any_value(f, w, (char *)out + w->at);
	}
}

static struct lmd_str any_rid(struct fill *f)
{
	const struct lmi_wire_field w = {.type = LMI_WIRE_T_STRING,
					 .u.s = {1, LMI_WIRE_LIMIT_RID_BYTES, ""}};

	return any_span(f, &w);
}

void fill_request(struct fill *f, enum lmi_wire_op op, struct lmi_wire_request *out)
{
	lmi_wire_request_init(out, op);
	out->rid = any_rid(f);
	fill_struct(f, lmi_wire_ops[op].request, &out->u);
}

void fill_reply(struct fill *f, enum lmi_wire_op op, struct lmi_wire_reply *out)
{
	struct lmi_wire_request to;

	lmi_wire_request_init(&to, op);
	lmi_wire_reply_init(out, &to);
	if (below(f, 2))
		out->rid = any_rid(f);
	fill_struct(f, lmi_wire_ops[op].reply, &out->u);
}

/* ---- comparison ---- */

static bool same_span(const struct lmd_str *a, const struct lmd_str *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->ptr, b->ptr, a->len));
}

static bool same_bias(const struct lmd_bias *a, const struct lmd_bias *b)
{
	return a->id == b->id && !memcmp(&a->bias, &b->bias, sizeof(a->bias));
}

static bool same_arg(const struct lmi_wire_arg *a, const struct lmi_wire_arg *b)
{
	if (strcmp(a->name, b->name) != 0 || a->type != b->type || a->v.n != b->v.n ||
	    a->v.i != b->v.i || memcmp(&a->v.f, &b->v.f, sizeof(a->v.f)) != 0)
		return false;
	if (a->type == LMD_PARAM_TOKENS)
		return !memcmp(a->v.tokens, b->v.tokens, a->v.n * sizeof(*a->v.tokens));
	for (uint32_t i = 0; i < a->v.n; i++)
		if (a->type == LMD_PARAM_BIAS ? !same_bias(&a->v.bias[i], &b->v.bias[i])
					      : !same_span(&a->v.s[i], &b->v.s[i]))
			return false;
	return true;
}

static bool same_sampler(const struct lmi_wire_sampler *a, const struct lmi_wire_sampler *b)
{
	if (strcmp(a->name, b->name) != 0 || a->n_args != b->n_args)
		return false;
	for (uint32_t i = 0; i < a->n_args; i++)
		if (!same_arg(&a->args[i], &b->args[i]))
			return false;
	return true;
}

static bool same_value(const struct lmi_wire_field *w, const void *a, const void *b)
{
	const struct lmi_wire_item *x = a, *y = b;

	switch (w->type) {
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		return same_span(a, b);
	case LMI_WIRE_T_OBJECT:
		return !differs(w->u.of, a, b);
	case LMI_WIRE_T_ITEM:
		return x->kind == y->kind && !differs(lmi_wire_items.common, a, b) &&
		       !differs(lmi_wire_items.of[x->kind], a, b);
	case LMI_WIRE_T_CHAIN:
		return same_sampler(a, b);
	case LMI_WIRE_T_BIAS:
		return same_bias(a, b);
	case LMI_WIRE_T_BOOL:
	case LMI_WIRE_T_INT:
	case LMI_WIRE_T_FLOAT:
	case LMI_WIRE_T_ID:
	case LMI_WIRE_T_TOKEN:
	case LMI_WIRE_T_STATUS:
	case LMI_WIRE_T_ENUM:
		break;
	}
	return !memcmp(a, b, lmi_wire_elem_bytes(w));
}

static bool same_field(const struct lmi_wire_field *w, const char *a, const char *b)
{
	const char *x = a + w->at, *y = b + w->at;
	uint32_t n = 1;

	if (w->presence == LMI_WIRE_OPTIONAL) {
		if (*(const bool *)(a + w->has_at) != *(const bool *)(b + w->has_at))
			return false;
		if (!*(const bool *)(a + w->has_at))
			return true;
	}
	if (w->list) {
		n = *(const uint32_t *)(a + w->n_at);
		if (n != *(const uint32_t *)(b + w->n_at))
			return false;
		x = *(const char *const *)x;
		y = *(const char *const *)y;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!same_value(w, x + i * lmi_wire_elem_bytes(w), y + i * lmi_wire_elem_bytes(w)))
			return false;
	return true;
}

const char *differs(const struct lmi_wire_struct *s, const void *a, const void *b)
{
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (!same_field(&s->fields[i], a, b))
			return s->fields[i].name;
	return NULL;
}

/* ---- bytes by hand ---- */

static int raw_write(void *data, const char *p, size_t n)
{
	return lmi_wire_buf_add(data, p, n) ? 0 : -1;
}

void raw_init(struct raw *r)
{
	memset(r, 0, sizeof(*r));
	msgpack_packer_init(&r->pk, &r->b, raw_write);
}

void raw_str(struct raw *r, const char *s)
{
	msgpack_pack_str(&r->pk, strlen(s));
	msgpack_pack_str_body(&r->pk, s, strlen(s));
}

void raw_span(struct raw *r, char c, uint64_t n, bool bin)
{
	if (bin)
		msgpack_pack_bin(&r->pk, n);
	else
		msgpack_pack_str(&r->pk, n);
	for (uint64_t i = 0; i < n; i++)
		lmi_wire_buf_add(&r->b, &c, 1);
}

void raw_least(struct raw *r, const struct lmi_wire_field *f)
{
	if (f->list) {
		msgpack_pack_array(&r->pk, 0);
		return;
	}
	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		msgpack_pack_false(&r->pk);
		return;
	case LMI_WIRE_T_INT:
		msgpack_pack_int64(&r->pk, f->u.i.min);
		return;
	case LMI_WIRE_T_FLOAT:
		msgpack_pack_double(&r->pk, f->u.f.min);
		return;
	case LMI_WIRE_T_STRING:
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		raw_span(r, 'x', f->u.s.min, false);
		return;
	case LMI_WIRE_T_ID:
		raw_span(r, 'i', 16, true);
		return;
	case LMI_WIRE_T_ENUM:
		raw_str(r, f->u.e.words->word[0]);
		return;
	case LMI_WIRE_T_TOKEN:
	case LMI_WIRE_T_STATUS:
	case LMI_WIRE_T_OBJECT:
	case LMI_WIRE_T_ITEM:
	case LMI_WIRE_T_CHAIN:
	case LMI_WIRE_T_BIAS:
		break;
	}
	abort(); /* no request has such a field */
}

static bool needed(const struct lmi_wire_struct *s, uint32_t i, const char *without)
{
	bool one = false;

	if (without && !strcmp(s->fields[i].name, without))
		return false;
	/* of the one_of fields use the first, or the second if the first is left out */
	for (uint32_t k = 0; k < s->n_one_of; k++)
		if (without && !strcmp(s->fields[s->one_of[k]].name, without))
			one = true;
	if (s->n_one_of && !one && s->one_of[0] == i)
		return true;
	return s->fields[i].presence == LMI_WIRE_REQUIRED;
}

void raw_request(struct raw *r, enum lmi_wire_op op, const char *without, uint32_t more)
{
	const struct lmi_wire_struct *s = lmi_wire_ops[op].request;
	uint32_t n = 0;

	raw_init(r);
	for (uint32_t i = 0; i < s->n_fields; i++)
		n += needed(s, i, without);
	msgpack_pack_map(&r->pk, 3 + n + more);
	raw_str(r, "v");
	msgpack_pack_int(&r->pk, 1);
	raw_str(r, "op");
	raw_str(r, lmi_wire_ops[op].name);
	raw_str(r, "rid");
	raw_str(r, "r");
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (needed(s, i, without)) {
			raw_str(r, s->fields[i].name);
			raw_least(r, &s->fields[i]);
		}
}
