/* SPDX-License-Identifier: MIT
 *
 * Checks of one op.  First everything that the field table describes: ids in range, windows inside
 * their values, element types, row spaces, numbers that are not NaN.  Then the op's own rule.
 * After these checks, a backend that follows op.h cannot read or write out of bounds; only numbers
 * that come with a step (ids, rows, positions) are left for the step. */
#include "core/plan/op_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/quant/quant.h"

static const char *const space_names[LMD_N_SPACE + 1] = {
	"tokens", "outputs", "seqs", "x0", "x1", "x2", "x3", "x4", "x5", "one row or its own",
};
static const char *const vtype_names[] = {"f32", "act", "i32"};

void lmi_plan_shape_fail(struct lmi_plan_shape *s, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	va_list ap;

	if (s->st != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->st = lmd_fail(s->err, LMD_INVALID, "op %u %s (layer %d): %s", s->index, s->info->name,
			 s->op->layer, text);
}

void lmi_plan_shape_eq(struct lmi_plan_shape *s, const char *what, uint64_t value, const char *why,
		       uint64_t want)
{
	if (value != want)
		lmi_plan_shape_fail(s, "%s is %llu, expected %llu (%s)", what,
				    (unsigned long long)value, (unsigned long long)want, why);
}

void lmi_plan_shape_range(struct lmi_plan_shape *s, const char *what, uint64_t value, uint64_t lo,
			  uint64_t hi)
{
	if (value < lo || value > hi)
		lmi_plan_shape_fail(s, "%s is %llu, expected %llu..%llu", what,
				    (unsigned long long)value, (unsigned long long)lo,
				    (unsigned long long)hi);
}

bool lmi_plan_shape_has(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o)
{
	if (o->src != LMD_SRC_NONE)
		return true;
	lmi_plan_shape_fail(s, "%s is missing", what);
	return false;
}

void lmi_plan_shape_absent(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			   const char *why)
{
	if (o->src != LMD_SRC_NONE)
		lmi_plan_shape_fail(s, "%s is given, but %s", what, why);
}

void lmi_plan_shape_heads(struct lmi_plan_shape *s, const char *what, struct lmd_operand *o,
			  uint64_t n_head, uint64_t width)
{
	if (s->st != LMD_OK || !lmi_plan_shape_has(s, what, o))
		return;
	if (o->n_head == 1 && n_head > 1 && width && o->width == n_head * width) {
		o->n_head = (uint32_t)n_head;
		o->width = o->head_stride = (uint32_t)width;
	} else if (n_head == 1 && o->n_head > 1 && o->head_stride == o->width &&
		   lmi_plan_operand_cols(o) == width) {
		o->n_head = 1;
		o->width = o->head_stride = (uint32_t)width;
	}
	if (o->n_head != n_head || o->width != width)
		lmi_plan_shape_fail(s, "%s has %u heads of %u, expected %llu of %llu", what,
				    o->n_head, o->width, (unsigned long long)n_head,
				    (unsigned long long)width);
}

void lmi_plan_shape_cols(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			 uint64_t n)
{
	if (s->st == LMD_OK && lmi_plan_shape_has(s, what, o) && lmi_plan_operand_cols(o) != n)
		lmi_plan_shape_fail(s, "%s has %llu columns, expected %llu", what,
				    (unsigned long long)lmi_plan_operand_cols(o),
				    (unsigned long long)n);
}

void lmi_plan_shape_like(struct lmi_plan_shape *s, const char *what, struct lmd_operand *b,
			 const char *other, const struct lmd_operand *a)
{
	if (s->st == LMD_OK && (a->n_head != b->n_head || a->width != b->width) &&
	    lmi_plan_operand_cols(a) != lmi_plan_operand_cols(b))
		lmi_plan_shape_fail(s, "%s has %u heads of %u, %s has %u of %u", what, b->n_head,
				    b->width, other, a->n_head, a->width);
	lmi_plan_shape_heads(s, what, b, a->n_head, a->width);
}

uint32_t lmi_plan_shape_space(const struct lmi_plan_shape *s, const struct lmd_operand *o)
{
	switch ((enum lmd_src)o->src) {
	case LMD_SRC_VALUE:
		return s->p->values[o->id].space;
	case LMD_SRC_ROW_IN:
		return LMD_SPACE_TOKENS;
	case LMD_SRC_INPUT:
		return s->p->inputs[o->id].own_rows ? LMD_N_SPACE : s->p->inputs[o->id].space;
	case LMD_SRC_WEIGHT:
	case LMD_SRC_NONE:
		break;
	}
	return LMD_N_SPACE;
}

void lmi_plan_shape_rows(struct lmi_plan_shape *s, const char *what, const struct lmd_operand *o,
			 uint32_t space)
{
	uint32_t have;

	if (s->st != LMD_OK || o->src == LMD_SRC_NONE)
		return;
	have = lmi_plan_shape_space(s, o);
	if (have != space)
		lmi_plan_shape_fail(s, "%s has rows of %s, expected %s", what, space_names[have],
				    space_names[space]);
}

void lmi_plan_shape_in_space(struct lmi_plan_shape *s, uint32_t space, const char *why)
{
	if (s->op->space != space)
		lmi_plan_shape_fail(s, "runs over %s, expected %s (%s)", space_names[s->op->space],
				    space_names[space], why);
}

uint32_t lmi_plan_shape_vtype(const struct lmi_plan_shape *s, const struct lmd_operand *o)
{
	switch ((enum lmd_src)o->src) {
	case LMD_SRC_VALUE:
		return s->p->values[o->id].vtype;
	case LMD_SRC_ROW_IN:
		return s->p->row_ins[o->id].vtype;
	case LMD_SRC_INPUT:
		return s->p->inputs[o->id].vtype;
	case LMD_SRC_WEIGHT:
	case LMD_SRC_NONE:
		break;
	}
	return LMD_VTYPE_F32;
}

const struct lmd_weight_ref *lmi_plan_shape_weight(struct lmi_plan_shape *s, const char *what,
						   uint32_t weight_ref, uint64_t n_stack,
						   uint64_t n, uint64_t k)
{
	const struct lmd_weight_ref *w;

	if (s->st != LMD_OK)
		return NULL;
	if (weight_ref == LMD_NONE) {
		lmi_plan_shape_fail(s, "%s is missing", what);
		return NULL;
	}
	w = &s->p->weight_refs[weight_ref];
	if ((n_stack && w->n_stack != n_stack) || (n && w->n != n) || (k && w->k != k)) {
		lmi_plan_shape_fail(
			s, "%s %s is [%u, %u, %u], expected [%llu, %llu, %llu] (0 = any)", what,
			w->name, w->n_stack, w->n, w->k, (unsigned long long)n_stack,
			(unsigned long long)n, (unsigned long long)k);
		return NULL;
	}
	return w;
}

void lmi_plan_shape_vector(struct lmi_plan_shape *s, const char *what, uint32_t weight_ref,
			   uint64_t n)
{
	const struct lmd_weight_ref *w = lmi_plan_shape_weight(s, what, weight_ref, 0, 0, 0);

	if (w && lmi_plan_weight_ref_elems(w) != n)
		lmi_plan_shape_fail(s, "%s %s has %llu elements, expected %llu", what, w->name,
				    (unsigned long long)lmi_plan_weight_ref_elems(w),
				    (unsigned long long)n);
}

void lmi_plan_shape_norm(struct lmi_plan_shape *s, const char *what, struct lmd_norm *n,
			 uint64_t n_head, uint64_t width)
{
	struct lmd_operand *gb[] = {&n->g, &n->b};

	if (s->st != LMD_OK || n->kind == LMD_NORM_NONE)
		return;
	if (n->n && (n->n > width || width % n->n))
		lmi_plan_shape_fail(s, "%s.n is %u, which does not divide the width %llu", what,
				    n->n, (unsigned long long)width);
	if (!(n->eps >= 0))
		lmi_plan_shape_fail(s, "%s.eps is %g, expected at least 0", what, (double)n->eps);
	lmi_plan_shape_range(s, "g_plus_one", n->g_plus_one, 0, 1);
	for (int i = 0; i < 2; i++) {
		uint64_t cols = lmi_plan_operand_cols(gb[i]);

		if (gb[i]->src == LMD_SRC_NONE)
			continue;
		if (cols != width && cols != n_head * width)
			lmi_plan_shape_fail(s, "%s.%s has %llu columns, expected %llu or %llu",
					    what, i ? "b" : "g", (unsigned long long)cols,
					    (unsigned long long)width,
					    (unsigned long long)(n_head * width));
		lmi_plan_shape_heads(s, i ? "norm.b" : "norm.g", gb[i], cols == width ? 1 : n_head,
				     width);
	}
}

void lmi_plan_shape_residual(struct lmi_plan_shape *s, struct lmd_operand *y,
			     struct lmd_operand *r_in, struct lmd_operand *r_out, uint64_t n_head,
			     uint64_t width)
{
	if (y->src == LMD_SRC_NONE && r_out->src == LMD_SRC_NONE)
		lmi_plan_shape_fail(s, "neither y nor r_out is given");
	if ((r_in->src == LMD_SRC_NONE) != (r_out->src == LMD_SRC_NONE))
		lmi_plan_shape_fail(s, "%s is given without %s", r_in->src ? "r_in" : "r_out",
				    r_in->src ? "r_out" : "r_in");
	if (y->src)
		lmi_plan_shape_heads(s, "y", y, n_head, width);
	if (r_in->src)
		lmi_plan_shape_heads(s, "r_in", r_in, n_head, width);
	if (r_out->src)
		lmi_plan_shape_heads(s, "r_out", r_out, n_head, width);
}

const struct lmd_cache *lmi_plan_shape_cache(struct lmi_plan_shape *s, const char *what,
					     uint32_t cache, uint32_t kinds)
{
	const struct lmd_cache *c;

	if (s->st != LMD_OK)
		return NULL;
	if (cache == LMD_NONE) {
		lmi_plan_shape_fail(s, "%s is missing", what);
		return NULL;
	}
	c = &s->p->caches[cache];
	if (kinds >> c->kind & 1)
		return c;
	lmi_plan_shape_fail(s, "%s %u is of kind %u, which this op cannot use (kinds 0x%x)", what,
			    cache, c->kind, kinds);
	return NULL;
}

/* ---- checks based on the field table ---- */

/* Returns the columns of an operand's source; 0 if its id is out of range. */
static uint64_t source_width(const struct lmi_plan_shape *s, const struct lmd_operand *o)
{
	const struct lmd_plan *p = s->p;

	switch ((enum lmd_src)o->src) {
	case LMD_SRC_VALUE:
		return o->id < p->n_value ? p->values[o->id].width : 0;
	case LMD_SRC_ROW_IN:
		return o->id < p->n_row_in ? p->row_ins[o->id].width : 0;
	case LMD_SRC_INPUT:
		return o->id < p->n_input ? p->inputs[o->id].width : 0;
	case LMD_SRC_WEIGHT:
		return o->id < p->n_weight_ref ? lmi_plan_weight_ref_elems(&p->weight_refs[o->id])
					       : 0;
	case LMD_SRC_NONE:
		break;
	}
	return 0;
}

static void check_window(struct lmi_plan_shape *s, const struct lmi_plan_field *f,
			 const struct lmd_operand *o)
{
	uint64_t width = source_width(s, o), end;

	if (!width) {
		lmi_plan_shape_fail(s, "%s: source %u has no number %u", f->name, o->src, o->id);
		return;
	}
	if (!o->n_head || o->n_head > LMI_PLAN_MAX_WIDTH || !o->width ||
	    o->width > LMI_PLAN_MAX_WIDTH || o->fold > LMI_PLAN_MAX_WIDTH) {
		lmi_plan_shape_fail(
			s, "%s: %u heads of %u, fold %u; each is at least 1 and at most %u",
			f->name, o->n_head, o->width, o->fold, LMI_PLAN_MAX_WIDTH);
		return;
	}
	/* none of these can overflow: 2^24 * 2^32 + 2^32 + 2^24, 2^24 * 2^24; a weight has fewer
	 * than 2^63 elements */
	end = o->col0 + (uint64_t)(o->n_head - 1) * o->head_stride + o->width;
	if (o->src == LMD_SRC_VALUE)
		width *= o->fold;
	else if (o->fold > 1)
		lmi_plan_shape_fail(s, "%s: fold %u, but the source is not a value", f->name,
				    o->fold);
	if (end > width)
		lmi_plan_shape_fail(s, "%s: columns up to %llu of a source of %llu", f->name,
				    (unsigned long long)end, (unsigned long long)width);
}

static void check_out_window(struct lmi_plan_shape *s, const struct lmi_plan_field *f,
			     const struct lmd_operand *o)
{
	if (o->src != LMD_SRC_VALUE)
		lmi_plan_shape_fail(s, "%s: an output must be a value, not source %u", f->name,
				    o->src);
	else if (o->fold != 1)
		lmi_plan_shape_fail(s, "%s: an output with fold %u", f->name, o->fold);
	else if (o->n_head > 1 && o->head_stride < o->width)
		lmi_plan_shape_fail(s, "%s: heads of an output are %u apart but %u wide", f->name,
				    o->head_stride, o->width);
	else if (s->p->values[o->id].space != s->op->space)
		lmi_plan_shape_fail(s, "%s has rows of %s, the other outputs of %s", f->name,
				    space_names[s->p->values[o->id].space],
				    space_names[s->op->space]);
}

bool lmi_plan_shape_may_fold(const struct lmi_plan_shape *s, uint32_t from)
{
	return (from == LMD_SPACE_TOKENS || from >= LMD_SPACE_X0) && s->op->space >= LMD_SPACE_X0 &&
	       from != s->op->space;
}

static void check_in_source(struct lmi_plan_shape *s, const struct lmi_plan_field *f,
			    const struct lmd_operand *o)
{
	if (o->src == LMD_SRC_WEIGHT && !(f->flags & LMI_PLAN_F_WEIGHT))
		lmi_plan_shape_fail(s, "%s: weight %s is not allowed here", f->name,
				    s->p->weight_refs[o->id].name);
	if (o->src == LMD_SRC_INPUT && s->p->inputs[o->id].own_rows && !(f->flags & LMI_PLAN_F_OWN))
		lmi_plan_shape_fail(s, "%s: input %s has rows of its own", f->name,
				    s->p->inputs[o->id].name);
	if (o->src != LMD_SRC_WEIGHT && !(f->flags & LMI_PLAN_F_ROWS) && o->fold == 1)
		lmi_plan_shape_rows(s, f->name, o, s->op->space);
	/* folded rows belong to another space; their number comes with the step */
	if (o->fold > 1 && s->st == LMD_OK &&
	    !lmi_plan_shape_may_fold(s, lmi_plan_shape_space(s, o)))
		lmi_plan_shape_fail(
			s,
			"%s: fold %u of rows over %s to rows over %s; only tokens and X spaces "
			"fold, to another X space",
			f->name, o->fold, space_names[lmi_plan_shape_space(s, o)],
			space_names[s->op->space]);
}

static void check_operand(struct lmi_plan_shape *s, const struct lmi_plan_field *f,
			  const struct lmd_operand *o)
{
	uint32_t vtype;

	if (o->src == LMD_SRC_NONE) {
		if (!(f->flags & LMI_PLAN_F_OPT))
			lmi_plan_shape_fail(s, "%s is missing", f->name);
		return;
	}
	lmi_plan_shape_range(s, f->name, o->src, LMD_SRC_VALUE, LMD_SRC_WEIGHT);
	if (s->st == LMD_OK)
		check_window(s, f, o);
	if (s->st != LMD_OK)
		return;
	if (f->kind == LMI_PLAN_FIELD_OUT)
		check_out_window(s, f, o);
	else
		check_in_source(s, f, o);
	if (s->st != LMD_OK)
		return;
	vtype = lmi_plan_shape_vtype(s, o);
	if (!(f->flags & LMI_PLAN_F_ANY) &&
	    (vtype == LMD_VTYPE_I32) != !!(f->flags & LMI_PLAN_F_I32))
		lmi_plan_shape_fail(s, "%s is %s, expected %s", f->name, vtype_names[vtype],
				    f->flags & LMI_PLAN_F_I32 ? "i32" : "f32 or act");
}

static void check_id(struct lmi_plan_shape *s, const struct lmi_plan_field *f, uint32_t id,
		     uint32_t n)
{
	if (id == LMD_NONE) {
		if (!(f->flags & LMI_PLAN_F_OPT))
			lmi_plan_shape_fail(s, "%s is missing", f->name);
	} else if (id >= n) {
		lmi_plan_shape_fail(s, "%s is number %u, but there are only %u", f->name, id, n);
	}
}

static bool is_integer(uint32_t dtype)
{
	return dtype >= LMD_DTYPE_I8 && dtype <= LMD_DTYPE_I64;
}

static void check_element(struct lmi_plan_shape *s, const struct lmi_plan_field *f, const void *at)
{
	uint32_t u = 0;
	float x;

	if (f->stride >= sizeof(u))
		memcpy(&u, at, sizeof(u));
	switch ((enum lmi_plan_field_kind)f->kind) {
	case LMI_PLAN_FIELD_IN:
	case LMI_PLAN_FIELD_OUT:
		check_operand(s, f, at);
		break;
	case LMI_PLAN_FIELD_WEIGHT_REF:
		check_id(s, f, u, s->p->n_weight_ref);
		if (u < s->p->n_weight_ref && !(f->flags & LMI_PLAN_F_INT) &&
		    is_integer(s->p->weight_refs[u].dtype))
			lmi_plan_shape_fail(s, "%s %s holds integers", f->name,
					    s->p->weight_refs[u].name);
		break;
	case LMI_PLAN_FIELD_ROPE:
		check_id(s, f, u, s->p->n_rope);
		break;
	case LMI_PLAN_FIELD_CACHE:
		check_id(s, f, u, s->p->n_cache);
		break;
	case LMI_PLAN_FIELD_GROUP:
		check_id(s, f, u, s->p->n_group);
		break;
	case LMI_PLAN_FIELD_SITE:
		check_id(s, f, u, s->n_lora_site);
		break;
	case LMI_PLAN_FIELD_ENUM:
		if (u >= f->n_names || !f->names[u])
			lmi_plan_shape_fail(s, "%s is %u, which is not a valid value", f->name, u);
		break;
	case LMI_PLAN_FIELD_F32:
		memcpy(&x, at, sizeof(x));
		if (isnan(x) || (isinf(x) && !(f->flags & LMI_PLAN_F_INF)))
			lmi_plan_shape_fail(s, "%s is %g", f->name, (double)x);
		break;
	case LMI_PLAN_FIELD_COUNT:
	case LMI_PLAN_FIELD_U32:
	case LMI_PLAN_FIELD_I32:
	case LMI_PLAN_FIELD_PROG:
	case LMI_PLAN_FIELD_REG:
	case LMI_PLAN_FIELD_PAD:
		break;
	}
}

static void check_fields(struct lmi_plan_shape *s)
{
	for (uint32_t i = 0; i < s->info->n_fields && s->st == LMD_OK; i++) {
		const struct lmi_plan_field *f = &s->info->fields[i];
		uint32_t live = f->count;

		if (f->live) {
			memcpy(&live, (const char *)s->op + f->live, sizeof(live));
			lmi_plan_shape_range(s, f->name, live, 0, f->count);
		}
		for (uint32_t j = 0; j < live && s->st == LMD_OK; j++)
			check_element(s, f, lmi_plan_field_get(f, s->op, j));
	}
}

static const shape_rule rules[LMD_N_OP] = {
	[LMD_OP_EMBED] = lmi_plan_shape_embed,
	[LMD_OP_NORM] = lmi_plan_shape_op_norm,
	[LMD_OP_LINEAR] = lmi_plan_shape_linear,
	[LMD_OP_ROPE_KV] = lmi_plan_shape_rope_kv,
	[LMD_OP_ATTN] = lmi_plan_shape_attn,
	[LMD_OP_GLU] = lmi_plan_shape_glu,
	[LMD_OP_FFN] = lmi_plan_shape_ffn,
	[LMD_OP_HEAD] = lmi_plan_shape_head,
	[LMD_OP_SAMPLE] = lmi_plan_shape_sample,
	[LMD_OP_EW] = lmi_plan_shape_ew,
	[LMD_OP_ROUTE] = lmi_plan_shape_route,
	[LMD_OP_MOE_FFN] = lmi_plan_shape_moe_ffn,
	[LMD_OP_BMM] = lmi_plan_shape_bmm,
	[LMD_OP_GATHER] = lmi_plan_shape_gather,
	[LMD_OP_REDUCE] = lmi_plan_shape_reduce,
	[LMD_OP_SOFTMAX] = lmi_plan_shape_softmax,
	[LMD_OP_CONV] = lmi_plan_shape_conv,
	[LMD_OP_SCAN] = lmi_plan_shape_scan,
	[LMD_OP_MIX] = lmi_plan_shape_mix,
	[LMD_OP_INDEX] = lmi_plan_shape_index,
	[LMD_OP_CAST_COPY] = lmi_plan_shape_cast_copy,
	[LMD_OP_ALLREDUCE] = lmi_plan_shape_allreduce,
	[LMD_OP_ALLGATHER] = lmi_plan_shape_allgather,
	[LMD_OP_PATCH] = lmi_plan_shape_patch,
};

enum lmd_status lmi_plan_op_check(const struct lmi_plan *p, struct lmd_op *op, uint32_t index,
				  struct lmd_error *err)
{
	struct lmi_plan_shape s = {
		.p = &p->view,
		.info = lmi_plan_op_info(op->code),
		.op = op,
		.index = index,
		.n_lora_site = p->n_lora_site,
		.err = err,
	};

	check_fields(&s);
	if (s.st == LMD_OK)
		rules[op->code](&s);
	return s.st;
}
