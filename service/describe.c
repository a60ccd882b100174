/* SPDX-License-Identifier: MIT
 *
 * Converts the metadata of a model file to the types of the protocol. */
#include "service/describe.h"

#include <stdio.h>
#include <string.h>

#include "core/quant/quant.h"
#include "core/text/chat/chat.h"
#include "service/preset.h"
#include "service/request.h"

#define SHOWN_BYTES    4096u /* maximum length of a value */
#define SHOWN_ELEMENTS 64u

static int64_t int_key(const struct lmd_model *m, const char *suffix)
{
	const struct lmd_meta *v;
	char key[96];

	(void)snprintf(key, sizeof(key), "%s.%s", m->arch, suffix);
	v = m->find_meta(m, key);
	return v && v->type == LMD_META_I64 && v->v.i >= 0 ? v->v.i : 0;
}

static const char *type_word(uint32_t type)
{
	switch ((enum lmd_meta_type)type) {
	case LMD_META_BOOL:
		return "bool";
	case LMD_META_I64:
	case LMD_META_U64:
		return "int";
	case LMD_META_F64:
		return "float";
	case LMD_META_STR:
		return "string";
	case LMD_META_ARR_BOOL:
		return "bools";
	case LMD_META_ARR_I64:
		return "ints";
	case LMD_META_ARR_F64:
		return "floats";
	case LMD_META_ARR_STR:
		return "strings";
	}
	return "unknown";
}

/* Formats one element; returns the number of bytes written, at most n. */
static size_t show_element(char *out, size_t n, const struct lmd_meta *v, uint64_t i)
{
	const struct lmd_str *s = &v->v.s;
	int k = 0;

	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_BOOL:
		k = snprintf(out, n, "%s", v->v.i ? "true" : "false");
		break;
	case LMD_META_I64:
		k = snprintf(out, n, "%lld", (long long)v->v.i);
		break;
	case LMD_META_U64:
		k = snprintf(out, n, "%llu", (unsigned long long)v->v.u);
		break;
	case LMD_META_F64:
		k = snprintf(out, n, "%.9g", v->v.f);
		break;
	case LMD_META_ARR_BOOL:
		k = snprintf(out, n, "%s", ((const uint8_t *)v->v.a)[i] ? "true" : "false");
		break;
	case LMD_META_ARR_I64:
		k = snprintf(out, n, "%lld", (long long)((const int64_t *)v->v.a)[i]);
		break;
	case LMD_META_ARR_F64:
		k = snprintf(out, n, "%.9g", ((const double *)v->v.a)[i]);
		break;
	case LMD_META_ARR_STR:
		s = (const struct lmd_str *)v->v.a + i;
		/* fall through */
	case LMD_META_STR:
		k = (int)(s->len < n ? s->len : n);
		if (k)
			memcpy(out, s->ptr, (size_t)k);
		break;
	}
	return (size_t)k < n ? (size_t)k : n;
}

static enum lmd_status fill_meta(struct lmd_arena *arena, struct lmi_wire_meta *out,
				 const struct lmd_meta *v)
{
	bool list = v->type >= LMD_META_ARR_BOOL;
	uint64_t n = list ? (v->n < SHOWN_ELEMENTS ? v->n : SHOWN_ELEMENTS) : 1;
	char buf[SHOWN_BYTES];
	size_t at = 0;
	char *text;

	for (uint64_t i = 0; i < n && at + 2 < sizeof(buf); i++) {
		if (i)
			buf[at++] = ' ';
		at += show_element(buf + at, sizeof(buf) - at, v, i);
	}
	text = lmi_arena_strndup(arena, buf, at);
	out->key = lmi_svc_str(lmi_arena_printf(arena, "%s", v->key));
	out->type = lmi_svc_str(type_word(v->type));
	out->value = (struct lmd_str){.ptr = text, .len = at};
	return text && out->key.len ? LMD_OK : LMD_NOMEM;
}

static uint64_t elements(const struct lmd_tensor *t)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < t->n_dim; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

static enum lmd_status fill_types(struct lmd_arena *arena, struct lmi_wire_rep_info *out,
				  const struct lmd_model *m)
{
	struct lmi_wire_tensor_type *v = lmi_arena_array(arena, LMD_DTYPE_END, sizeof(*v));
	uint32_t n = 0;

	if (!v)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];
		const struct lmi_dtype *d = lmi_dtype(t->dtype);
		struct lmd_str name = lmi_svc_str(d ? d->name : "unknown");
		uint32_t k = 0;

		while (k < n && v[k].type.ptr != name.ptr)
			k++;
		n += k == n;
		v[k].type = name;
		v[k].tensors++;
		v[k].elements += (int64_t)elements(t);
		v[k].bytes += (int64_t)t->bytes;
		out->elements += (int64_t)elements(t);
		out->weight_bytes += (int64_t)t->bytes;
	}
	out->types = v;
	out->n_types = n;
	return LMD_OK;
}

enum lmd_status lmi_svc_describe(struct lmd_arena *arena, const struct lmd_model *m, bool keys,
				 struct lmi_wire_rep_info *out)
{
	struct lmi_wire_meta *v;
	enum lmd_status st = fill_types(arena, out, m);

	if (st == LMD_OK)
		st = lmi_svc_preset_describe(arena, m, out);
	out->n_ctx_train = int_key(m, "context_length");
	out->n_layer = int_key(m, "block_count");
	out->n_embd = int_key(m, "embedding_length");
	out->n_vocab = m->tok->n_tokens;
	if (m->chat_template.ptr && m->chat_template.len <= 1u << 20) {
		out->has_chat_template = true;
		out->chat_template.len = m->chat_template.len;
		out->chat_template.ptr =
			lmi_arena_strndup(arena, m->chat_template.ptr, m->chat_template.len);
		if (!out->chat_template.ptr)
			return LMD_NOMEM;
	}
	if (st != LMD_OK || !keys)
		return st;
	v = lmi_arena_array(arena, m->n_meta + 1u, sizeof(*v));
	if (!v)
		return LMD_NOMEM;
	for (uint32_t i = 0; i < m->n_meta && out->n_meta < 16384 && st == LMD_OK; i++)
		st = fill_meta(arena, &v[out->n_meta++], &m->meta[i]);
	out->meta = v;
	return st;
}

enum lmd_status lmi_svc_template_caps(uint32_t *caps, const struct lmd_model *m,
				      struct lmd_str template)
{
	struct lmd_str text;
	enum lmd_status st = lmi_chat_find_template(&text, m, template, NULL);

	*caps = 0;
	if (st == LMD_OK)
		st = lmi_chat_caps_of_text(text, caps, NULL);
	return st == LMD_NOMEM ? st : LMD_OK;
}

enum lmd_status lmi_svc_describe_template_caps(struct lmd_arena *arena, uint32_t caps,
					       struct lmi_wire_rep_info *out)
{
	struct lmd_str *v = lmi_arena_array(arena, LMI_CHAT_N_CAP, sizeof(*v));

	if (!v)
		return LMD_NOMEM;
	for (uint32_t k = 0; k < LMI_CHAT_N_CAP; k++)
		if (caps >> k & 1)
			v[out->n_template_caps++] = lmi_svc_str(lmi_chat_cap_name((enum lmi_chat_cap)k));
	out->template_caps = v;
	return LMD_OK;
}
