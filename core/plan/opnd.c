/* SPDX-License-Identifier: MIT
 *
 * Canonical form of operands and ops: ops with the same meaning are equal byte for byte, and unused
 * members have fixed values. */
#include <string.h>

#include "core/plan/plan_priv.h"

static void clear_element(const struct lmi_field *f, void *at)
{
	switch ((enum lmi_field_kind)f->kind) {
	case LMI_FIELD_WREF:
	case LMI_FIELD_ROPE:
	case LMI_FIELD_CACHE:
	case LMI_FIELD_GROUP:
	case LMI_FIELD_SITE:
		memset(at, 0xff, sizeof(uint32_t)); /* LMD_NONE */
		return;
	case LMI_FIELD_IN:
	case LMI_FIELD_OUT:
	case LMI_FIELD_ENUM:
	case LMI_FIELD_U32:
	case LMI_FIELD_I32:
	case LMI_FIELD_F32:
	case LMI_FIELD_COUNT:
	case LMI_FIELD_PROG:
	case LMI_FIELD_REG:
	case LMI_FIELD_PAD:
		break;
	}
	memset(at, 0, f->stride);
}

void lmi_op_init(struct lmd_op *op, uint32_t code)
{
	const struct lmi_op_info *info = lmi_op_info(code);

	memset(op, 0, sizeof(*op));
	op->struct_size = sizeof(*op);
	op->code = code;
	op->layer = -1;
	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_field *f = &info->fields[i];
		const float x = (float)f->def;
		const uint32_t u = (uint32_t)f->def;

		for (uint32_t j = 0; j < f->count; j++) {
			void *at = lmi_field_at(f, op, j);

			clear_element(f, at);
			if (f->kind == LMI_FIELD_F32)
				memcpy(at, &x, sizeof(x));
			else if (f->kind == LMI_FIELD_U32 || f->kind == LMI_FIELD_ENUM)
				memcpy(at, &u, sizeof(u));
		}
	}
}

void lmi_op_clear(struct lmd_op *op, enum lmi_field_kind kind)
{
	const struct lmi_op_info *info = lmi_op_info(op->code);

	for (uint32_t i = 0; i < info->n_fields; i++)
		if (info->fields[i].kind == kind)
			for (uint32_t j = 0; j < info->fields[i].count; j++)
				clear_element(&info->fields[i],
					      lmi_field_at(&info->fields[i], op, j));
}

static void normalise_opnd(struct lmd_opnd *o)
{
	if (o->src == LMD_SRC_NONE) {
		memset(o, 0, sizeof(*o));
		return;
	}
	if (!o->fold)
		o->fold = 1;
	if (o->n_head == 1)
		o->head_stride = o->width;
}

static void normalise_norm(struct lmd_norm *n, bool used)
{
	if (n->kind == LMD_NORM_NONE || !used)
		memset(n, 0, sizeof(*n));
}

void lmi_op_normalise(struct lmd_op *op)
{
	const struct lmi_op_info *info = lmi_op_info(op->code);

	if (op->code == LMD_OP_LINEAR)
		normalise_norm(&op->u.linear.pro, true);
	if (op->code == LMD_OP_ROPE_KV) {
		struct lmd_op_rope_kv *r = &op->u.rope_kv;

		normalise_norm(&r->qn, r->norm_when != LMD_QKN_NONE && r->q.src);
		normalise_norm(&r->kn, r->norm_when != LMD_QKN_NONE && r->k.src);
	}
	if (op->code == LMD_OP_FFN)
		normalise_norm(&op->u.ffn.norm, true);
	if (op->code == LMD_OP_HEAD)
		normalise_norm(&op->u.head.norm, true);
	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_field *f = &info->fields[i];
		uint32_t live = f->count;

		if (f->live) {
			memcpy(&live, (const char *)op + f->live, sizeof(live));
			live = live < f->count ? live : f->count;
		}
		for (uint32_t j = 0; j < f->count; j++) {
			void *at = lmi_field_at(f, op, j);

			if (j >= live || f->kind == LMI_FIELD_PAD)
				clear_element(f, at);
			else if (f->kind == LMI_FIELD_IN || f->kind == LMI_FIELD_OUT)
				normalise_opnd(at);
		}
	}
}

uint32_t lmi_op_space(const struct lmd_plan *p, const struct lmd_op *op)
{
	const struct lmi_op_info *info = lmi_op_info(op->code);

	for (int pass = 0; pass < 2; pass++) {
		enum lmi_field_kind want = pass ? LMI_FIELD_IN : LMI_FIELD_OUT;

		for (uint32_t i = 0; i < info->n_fields; i++) {
			const struct lmi_field *f = &info->fields[i];

			if (f->kind != want)
				continue;
			for (uint32_t j = 0; j < f->count; j++) {
				const struct lmd_opnd *o = lmi_field_get(f, op, j);

				if (o->src == LMD_SRC_VALUE && o->id < p->n_value)
					return p->values[o->id].space;
			}
		}
	}
	return LMD_SPACE_TOKENS;
}

uint32_t lmi_vtype_bytes(const struct lmd_plan *p, uint32_t vtype)
{
	return vtype == LMD_VTYPE_ACT && p->act_dtype != LMD_DTYPE_F32 ? 2 : 4;
}
