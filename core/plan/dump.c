/* SPDX-License-Identifier: MIT
 *
 * A plan as text: one line per item, only members that differ from the default, no numbers of ops
 * or values, so that changing one op changes one line.  Limits of a step and memory layout are
 * omitted, because they do not come from the architecture. */
#include <stdio.h>
#include <string.h>

#include "core/plan/ew.h"
#include "core/plan/plan_priv.h"
#include "core/quant/quant.h"

static const char *const kinds[] = {"forward", "encode", "draft", "tail"};
static const char *const spaces[] = {"tokens", "outputs", "seqs", "x0", "x1",
				     "x2",     "x3",	  "x4",	  "x5"};
static const char *const vtypes[] = {"f32", "act", "i32"};
static const char *const group_kinds[] = {"paged", "state", "cross", "batch"};
static const char *const cache_kinds[] = {"kv", "k_only", "v_in_k", "conv", "state", "index"};
static const char *const xforms[] = {"", " head_transpose", " stack_experts"};
static const char *const splits[] = {"", " rows", " cols", " heads", " experts"};
static const char *const outs[] = {"logits", "topn", "token", "embed"};

static const char *dtype_name(uint32_t id)
{
	const struct lmi_dtype *t = lmi_dtype(id);

	return t ? t->name : "?";
}

/* ---- head ---- */

static void dump_key(const struct lmd_plan *p, FILE *f)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {{LMD_PLAN_LOGITS, " logits"},
		     {LMD_PLAN_EMBED, " embed"},
		     {LMD_PLAN_LORA, " lora"},
		     {LMD_PLAN_KEEP, " keep"},
		     {LMD_PLAN_TREE, " tree"}};

	fprintf(f, "plan %s", kinds[p->key.kind]);
	for (size_t i = 0; i < LMD_LEN(flags); i++)
		if (p->key.flags & flags[i].flag)
			fputs(flags[i].name, f);
	if (p->key.flags & LMD_PLAN_EMBED)
		fprintf(f, " pooling=%d", p->key.pooling);
	if (p->key.variant)
		fprintf(f, " variant=%u", p->key.variant);
	fputc('\n', f);
}

static void dump_memory(const struct lmd_plan *p, FILE *f)
{
	for (uint32_t i = 0; i < p->n_group; i++) {
		const struct lmd_group *g = &p->groups[i];

		fprintf(f, "group %s %s%s%s%s", g->name, group_kinds[g->kind],
			g->causal ? " causal" : "", g->share ? " share" : "",
			g->of_target ? " of_target" : "");
		if (g->window)
			fprintf(f, " window=%u", g->window);
		if (g->chunk)
			fprintf(f, " chunk=%u", g->chunk);
		if (g->ratio != 1)
			fprintf(f, " ratio=%u", g->ratio);
		if (g->kind == LMD_GROUP_BATCH || g->kind == LMD_GROUP_CROSS)
			fprintf(f, " q=%s k=%s", spaces[g->q_space], spaces[g->k_space]);
		fputc('\n', f);
	}
	for (uint32_t i = 0; i < p->n_cache; i++) {
		const struct lmd_cache *c = &p->caches[i];

		fprintf(f, "cache %u %s.%s heads=%u dk=%u", i, p->groups[c->group].name,
			cache_kinds[c->kind], c->n_head, c->dk);
		if (c->dv)
			fprintf(f, " dv=%u", c->dv);
		fputs(c->dtype_policy == LMD_KV_DTYPE_F32 ? " f32\n" : "\n", f);
	}
}

static void dump_inputs(const struct lmd_plan *p, FILE *f)
{
	for (uint32_t i = 0; i < p->n_row_in; i++)
		fprintf(f, "row_in %s %s[%u]\n", p->row_ins[i].name, vtypes[p->row_ins[i].vtype],
			p->row_ins[i].width);
	for (uint32_t i = 0; i < p->n_input; i++)
		fprintf(f, "input %s %s[%u] %s\n", p->inputs[i].name, vtypes[p->inputs[i].vtype],
			p->inputs[i].width,
			p->inputs[i].own_rows ? "own rows" : spaces[p->inputs[i].space]);
}

/* Planes are printed as runs: 0x8 1x4 ... */
static void dump_ropes(const struct lmd_plan *p, FILE *f)
{
	for (uint32_t i = 0; i < p->n_rope; i++) {
		const struct lmd_rope *r = &p->ropes[i];
		uint32_t n = r->n_rot / 2;

		fprintf(f, "rope %u n_rot=%u %s", i, r->n_rot,
			r->pairing == LMD_ROPE_HALVES ? "halves" : "adjacent");
		if (r->magnitude != 1)
			fprintf(f, " magnitude=%.9g", (double)r->magnitude);
		fprintf(f, " freq=%.9g", r->freq[0]);
		for (uint32_t j = 1; j < n; j++)
			fprintf(f, ",%.9g", r->freq[j]);
		for (uint32_t a = 0, b; a < n; a = b) {
			for (b = a + 1; b < n && r->plane[b] == r->plane[a]; b++)
				;
			if (a || b < n || r->plane[a])
				fprintf(f, "%s%ux%u", a ? "," : " plane=", r->plane[a], b - a);
		}
		fputc('\n', f);
	}
}

/* ---- weights ---- */

static uint64_t literal_digest(const float *v, size_t n)
{
	const unsigned char *b = (const unsigned char *)v;
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a, 64 bits */

	for (size_t i = 0; i < n * sizeof(*v); i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return h;
}

static void dump_part(const struct lmi_plan *p, const struct lmd_weight_ref *w,
		      const struct lmd_weight_part *pt, FILE *f)
{
	const struct lmd_model *m = pt->kind == LMD_WEIGHT_PART_OF_TARGET ? p->target : p->model;
	uint64_t rows = 0;

	if (pt->kind == LMD_WEIGHT_PART_LITERAL) {
		size_t n = (size_t)pt->n_row *
			   (w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? w->n : w->k);

		fputs(" literal", f);
		for (size_t i = 0; i < n && n <= 8; i++)
			fprintf(f, "%s%.9g", i ? "," : "=", (double)pt->literal[i]);
		if (n > 8)
			fprintf(f, "=fnv:%016llx",
				(unsigned long long)literal_digest(pt->literal, n));
		return;
	}
	if (m && pt->tensor < m->n_tensors) {
		const struct lmd_tensor *t = &m->tensors[pt->tensor];

		rows = 1;
		for (uint32_t i = 1; i < t->n_dim; i++)
			rows *= (uint64_t)t->dims[i];
		fprintf(f, " %s%s", pt->kind == LMD_WEIGHT_PART_OF_TARGET ? "target:" : "",
			t->name);
	}
	if (pt->row0 || pt->n_row != rows)
		fprintf(f, "[%u:%u]", pt->row0, pt->row0 + pt->n_row);
}

static void dump_weight_ref(const struct lmi_plan *p, uint32_t i, FILE *f)
{
	const struct lmd_weight_ref *w = &p->view.weight_refs[i];
	const struct lmd_model *m =
		w->parts[0].kind == LMD_WEIGHT_PART_OF_TARGET ? p->target : p->model;
	uint32_t shown = w->n_part;

	fprintf(f, "weight %s", w->name);
	if (w->n_stack > 1)
		fprintf(f, " [%u,%u,%u]", w->n_stack, w->n, w->k);
	else
		fprintf(f, " [%u,%u]", w->n, w->k);
	fprintf(f, " %s%s%s", dtype_name(w->dtype), splits[w->split],
		xforms[w->transform]);
	if (w->n_head)
		fprintf(f, " heads=%ux%u", w->n_head, w->head_rows);
	if (w->scale != LMD_NONE)
		fprintf(f, " scale=%s", m->tensors[w->scale].name);
	if (w->bias != LMD_NONE)
		fprintf(f, " bias=%s", m->tensors[w->bias].name);
	if (w->n_part == 1 && w->parts[0].kind == LMD_WEIGHT_PART_TENSOR && !w->parts[0].row0 &&
	    !strcmp(m->tensors[w->parts[0].tensor].name, w->name))
		shown = 0;
	for (uint32_t j = 0; j < shown; j++)
		dump_part(p, w, &w->parts[j], f);
	fputc('\n', f);
}

/* ---- ops ---- */

static void dump_operand(const struct lmd_plan *p, const struct lmd_operand *o, FILE *f)
{
	uint64_t width = 0;

	switch ((enum lmd_src)o->src) {
	case LMD_SRC_NONE:
		return;
	case LMD_SRC_VALUE:
		width = p->values[o->id].width;
		fputs(p->values[o->id].name, f);
		break;
	case LMD_SRC_ROW_IN:
		width = p->row_ins[o->id].width;
		fprintf(f, "row_in:%s", p->row_ins[o->id].name);
		break;
	case LMD_SRC_INPUT:
		width = p->inputs[o->id].width;
		fprintf(f, "input:%s", p->inputs[o->id].name);
		break;
	case LMD_SRC_WEIGHT:
		width = lmi_plan_weight_ref_elems(&p->weight_refs[o->id]);
		fprintf(f, "w:%s", p->weight_refs[o->id].name);
		break;
	}
	if (o->fold > 1)
		fprintf(f, "/%u", o->fold);
	if (o->n_head == 1) {
		if (o->col0 || o->width != width * o->fold)
			fprintf(f, "[%u:%u]", o->col0, o->col0 + o->width);
		return;
	}
	fputc('[', f);
	if (o->col0)
		fprintf(f, "%u+", o->col0);
	fprintf(f, "%ux%u", o->n_head, o->width);
	if (o->head_stride != o->width)
		fprintf(f, "/%u", o->head_stride);
	fputc(']', f);
}

static void dump_program(const struct lmd_op_ew *o, FILE *f)
{
	fputs(" prog=", f);
	for (uint32_t i = 0; i < o->n_ins; i++) {
		const struct lmd_ew_ins *ins = &o->ins[i];
		const uint8_t arg[] = {ins->a, ins->b, ins->c};
		uint32_t n_arg = 0;

		fprintf(f, "%sr%u=%s", i ? ";" : "", ins->dst, lmi_plan_ew_info(ins->op, &n_arg));
		if (ins->op == LMD_EW_CONST)
			fprintf(f, "(%.9g)", (double)ins->imm);
		for (uint32_t j = 0; j < n_arg; j++)
			fprintf(f, "%sr%u%s", j ? "," : "(", arg[j], j + 1 == n_arg ? ")" : "");
	}
	for (uint32_t i = 0; i < o->n_out; i++)
		fprintf(f, "%sr%u", i ? "," : " -> ", o->out_reg[i]);
}

/* Prints one member as " name=text", or nothing if it has the default value. */
static void dump_element(const struct lmi_plan *p, const struct lmi_plan_field *fd, const void *at,
			 const char *name, FILE *f)
{
	const struct lmd_plan *v = &p->view;
	uint32_t u = 0;
	float x;

	if (fd->stride >= sizeof(u))
		memcpy(&u, at, sizeof(u));
	switch ((enum lmi_plan_field_kind)fd->kind) {
	case LMI_PLAN_FIELD_IN:
	case LMI_PLAN_FIELD_OUT:
		if (u != LMD_SRC_NONE) {
			fprintf(f, " %s=", name);
			dump_operand(v, at, f);
		}
		break;
	case LMI_PLAN_FIELD_WEIGHT_REF:
		if (u != LMD_NONE)
			fprintf(f, " %s=w:%s", name, v->weight_refs[u].name);
		break;
	case LMI_PLAN_FIELD_GROUP:
		if (u != LMD_NONE)
			fprintf(f, " %s=%s", name, v->groups[u].name);
		break;
	case LMI_PLAN_FIELD_ROPE:
	case LMI_PLAN_FIELD_CACHE:
	case LMI_PLAN_FIELD_SITE:
		if (u != LMD_NONE)
			fprintf(f, " %s=%u", name, u);
		break;
	case LMI_PLAN_FIELD_ENUM:
		if (u != (uint32_t)fd->def)
			fprintf(f, " %s=%s", name, fd->names[u]);
		break;
	case LMI_PLAN_FIELD_U32:
		if (u != (uint32_t)fd->def)
			fprintf(f, " %s=%u", name, u);
		break;
	case LMI_PLAN_FIELD_I32:
		if ((int32_t)u != (int32_t)fd->def)
			fprintf(f, " %s=%d", name, (int32_t)u);
		break;
	case LMI_PLAN_FIELD_F32:
		memcpy(&x, at, sizeof(x));
		if ((double)x != fd->def)
			fprintf(f, " %s=%.9g", name, (double)x);
		break;
	case LMI_PLAN_FIELD_COUNT:
	case LMI_PLAN_FIELD_PROG:
	case LMI_PLAN_FIELD_REG:
	case LMI_PLAN_FIELD_PAD:
		break;
	}
}

/* Writes "src[0].kind" as "src0.kind"; members of arrays get a number as suffix. */
static void member_name(char *out, size_t n, const char *name, int index)
{
	size_t at = 0;

	for (; *name && at + 12 < n; name++)
		if (*name != '[' && *name != ']')
			out[at++] = *name;
	out[at] = 0;
	if (index >= 0)
		snprintf(out + at, n - at, "%d", index);
}

static void dump_fields(const struct lmi_plan *p, const struct lmd_op *op, bool outputs, FILE *f)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);
	char name[64];

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *fd = &info->fields[i];
		uint32_t live = fd->count;

		if ((fd->kind == LMI_PLAN_FIELD_OUT) != outputs)
			continue;
		if (fd->live)
			memcpy(&live, (const char *)op + fd->live, sizeof(live));
		for (uint32_t j = 0; j < live && j < fd->count; j++) {
			member_name(name, sizeof(name), fd->name, live > 1 ? (int)j : -1);
			dump_element(p, fd, lmi_plan_field_get(fd, op, j), name, f);
		}
	}
}

static void dump_op(const struct lmi_plan *p, const struct lmd_op *op, FILE *f)
{
	fputs(lmi_plan_op_info(op->code)->name, f);
	dump_fields(p, op, true, f);
	dump_fields(p, op, false, f);
	if (op->code == LMD_OP_EW)
		dump_program(&op->u.ew, f);
	fputc('\n', f);
}

static void dump_values(const struct lmd_plan *p, FILE *f)
{
	for (uint32_t i = 0; i < p->n_value; i++) {
		const struct lmd_value *v = &p->values[i];

		fprintf(f, "value %s %s %s[%u]%s\n", v->name, spaces[v->space], vtypes[v->vtype],
			v->width,
			v->flags & LMD_VALUE_KEEP && !(p->key.flags & LMD_PLAN_KEEP) ? " keep"
										     : "");
	}
}

enum lmd_status lmi_plan_dump(const struct lmi_plan *p, FILE *f)
{
	const struct lmd_plan *v = &p->view;
	int32_t layer = -1;

	dump_key(v, f);
	dump_memory(v, f);
	dump_inputs(v, f);
	dump_ropes(v, f);
	for (uint32_t i = 0; i < v->n_weight_ref; i++)
		dump_weight_ref(p, i, f);
	dump_values(v, f);
	for (uint32_t i = 0; i < v->n_op; i++) {
		if (v->ops[i].layer != layer) {
			layer = v->ops[i].layer;
			if (layer >= 0)
				fprintf(f, "layer %d\n", layer);
			else
				fputs("end of layers\n", f);
		}
		dump_op(p, &v->ops[i], f);
	}
	for (uint32_t i = 0; i < v->n_output; i++) {
		uint32_t id = v->outputs[i].id;

		if (id < LMD_LEN(outs))
			fprintf(f, "output %s %s\n", outs[id], v->values[v->outputs[i].value].name);
		else
			fprintf(f, "output tap%u %s\n", id - LMD_OUT_TAP,
				v->values[v->outputs[i].value].name);
	}
	return ferror(f) ? LMD_IO : LMD_OK;
}
