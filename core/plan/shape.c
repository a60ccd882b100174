/* SPDX-License-Identifier: MIT
 *
 * Checks of one op.  First everything that the field table describes: ids in range, windows inside
 * their values, element types, row spaces, numbers that are not NaN.  Then the op's own rule.
 * After these checks, a backend that follows op.h cannot read or write out of bounds; only numbers
 * that come with a step (ids, rows, positions) are left for the step. */
#include "core/plan/shape.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "core/quant/quant.h"

static const char *const space_names[LMD_N_SPACE + 1] = {
	"tokens", "outputs", "seqs", "x0", "x1", "x2", "x3", "x4", "x5", "one row or its own",
};
static const char *const vtype_names[] = {"f32", "act", "i32"};

void shape_fail(struct shape *s, const char *fmt, ...)
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

void shape_eq(struct shape *s, const char *what, uint64_t value, const char *why, uint64_t want)
{
	if (value != want)
		shape_fail(s, "%s is %llu, expected %llu (%s)", what, (unsigned long long)value,
			   (unsigned long long)want, why);
}

void shape_range(struct shape *s, const char *what, uint64_t value, uint64_t lo, uint64_t hi)
{
	if (value < lo || value > hi)
		shape_fail(s, "%s is %llu, expected %llu..%llu", what,
			   (unsigned long long)value, (unsigned long long)lo,
			   (unsigned long long)hi);
}

bool shape_has(struct shape *s, const char *what, const struct lmd_opnd *o)
{
	if (o->src != LMD_SRC_NONE)
		return true;
	shape_fail(s, "%s is missing", what);
	return false;
}

void shape_absent(struct shape *s, const char *what, const struct lmd_opnd *o, const char *why)
{
	if (o->src != LMD_SRC_NONE)
		shape_fail(s, "%s is given, but %s", what, why);
}

void shape_heads(struct shape *s, const char *what, struct lmd_opnd *o, uint64_t n_head,
		 uint64_t width)
{
	if (s->st != LMD_OK || !shape_has(s, what, o))
		return;
	if (o->n_head == 1 && n_head > 1 && width && o->width == n_head * width) {
		o->n_head = (uint32_t)n_head;
		o->width = o->head_stride = (uint32_t)width;
	} else if (n_head == 1 && o->n_head > 1 && o->head_stride == o->width &&
		   lmi_opnd_cols(o) == width) {
		o->n_head = 1;
		o->width = o->head_stride = (uint32_t)width;
	}
	if (o->n_head != n_head || o->width != width)
		shape_fail(s, "%s has %u heads of %u, expected %llu of %llu", what, o->n_head,
			   o->width, (unsigned long long)n_head, (unsigned long long)width);
}

void shape_cols(struct shape *s, const char *what, const struct lmd_opnd *o, uint64_t n)
{
	if (s->st == LMD_OK && shape_has(s, what, o) && lmi_opnd_cols(o) != n)
		shape_fail(s, "%s has %llu columns, expected %llu", what,
			   (unsigned long long)lmi_opnd_cols(o), (unsigned long long)n);
}

void shape_like(struct shape *s, const char *what, struct lmd_opnd *b, const char *other,
		const struct lmd_opnd *a)
{
	if (s->st == LMD_OK && (a->n_head != b->n_head || a->width != b->width) &&
	    lmi_opnd_cols(a) != lmi_opnd_cols(b))
		shape_fail(s, "%s has %u heads of %u, %s has %u of %u", what, b->n_head, b->width,
			   other, a->n_head, a->width);
	shape_heads(s, what, b, a->n_head, a->width);
}

uint32_t shape_space(const struct shape *s, const struct lmd_opnd *o)
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

void shape_rows(struct shape *s, const char *what, const struct lmd_opnd *o, uint32_t space)
{
	uint32_t have;

	if (s->st != LMD_OK || o->src == LMD_SRC_NONE)
		return;
	have = shape_space(s, o);
	if (have != space)
		shape_fail(s, "%s has rows of %s, expected %s", what, space_names[have],
			   space_names[space]);
}

void shape_in_space(struct shape *s, uint32_t space, const char *why)
{
	if (s->op->space != space)
		shape_fail(s, "runs over %s, expected %s (%s)", space_names[s->op->space],
			   space_names[space], why);
}

uint32_t shape_vtype(const struct shape *s, const struct lmd_opnd *o)
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

const struct lmd_wref *shape_weight(struct shape *s, const char *what, uint32_t wref,
				    uint64_t n_stack, uint64_t n, uint64_t k)
{
	const struct lmd_wref *w;

	if (s->st != LMD_OK)
		return NULL;
	if (wref == LMD_NONE) {
		shape_fail(s, "%s is missing", what);
		return NULL;
	}
	w = &s->p->wrefs[wref];
	if ((n_stack && w->n_stack != n_stack) || (n && w->n != n) || (k && w->k != k)) {
		shape_fail(s, "%s %s is [%u, %u, %u], expected [%llu, %llu, %llu] (0 = any)", what,
			   w->name, w->n_stack, w->n, w->k, (unsigned long long)n_stack,
			   (unsigned long long)n, (unsigned long long)k);
		return NULL;
	}
	return w;
}

void shape_vector(struct shape *s, const char *what, uint32_t wref, uint64_t n)
{
	const struct lmd_wref *w = shape_weight(s, what, wref, 0, 0, 0);

	if (w && lmi_wref_elems(w) != n)
		shape_fail(s, "%s %s has %llu elements, expected %llu", what, w->name,
			   (unsigned long long)lmi_wref_elems(w), (unsigned long long)n);
}

void shape_norm(struct shape *s, const char *what, struct lmd_norm *n, uint64_t n_head,
		uint64_t width)
{
	struct lmd_opnd *gb[] = {&n->g, &n->b};

	if (s->st != LMD_OK || n->kind == LMD_NORM_NONE)
		return;
	if (n->n && (n->n > width || width % n->n))
		shape_fail(s, "%s.n is %u, which does not divide the width %llu", what, n->n,
			   (unsigned long long)width);
	if (!(n->eps >= 0))
		shape_fail(s, "%s.eps is %g, expected at least 0", what, (double)n->eps);
	shape_range(s, "g_plus_one", n->g_plus_one, 0, 1);
	for (int i = 0; i < 2; i++) {
		uint64_t cols = lmi_opnd_cols(gb[i]);

		if (gb[i]->src == LMD_SRC_NONE)
			continue;
		if (cols != width && cols != n_head * width)
			shape_fail(s, "%s.%s has %llu columns, expected %llu or %llu", what,
				   i ? "b" : "g", (unsigned long long)cols,
				   (unsigned long long)width, (unsigned long long)(n_head * width));
		shape_heads(s, i ? "norm.b" : "norm.g", gb[i], cols == width ? 1 : n_head, width);
	}
}

void shape_residual(struct shape *s, struct lmd_opnd *y, struct lmd_opnd *r_in,
		    struct lmd_opnd *r_out, uint64_t n_head, uint64_t width)
{
	if (y->src == LMD_SRC_NONE && r_out->src == LMD_SRC_NONE)
		shape_fail(s, "neither y nor r_out is given");
	if ((r_in->src == LMD_SRC_NONE) != (r_out->src == LMD_SRC_NONE))
		shape_fail(s, "%s is given without %s", r_in->src ? "r_in" : "r_out",
			   r_in->src ? "r_out" : "r_in");
	if (y->src)
		shape_heads(s, "y", y, n_head, width);
	if (r_in->src)
		shape_heads(s, "r_in", r_in, n_head, width);
	if (r_out->src)
		shape_heads(s, "r_out", r_out, n_head, width);
}

const struct lmd_cache *shape_cache(struct shape *s, const char *what, uint32_t cache,
				    uint32_t kinds)
{
	const struct lmd_cache *c;

	if (s->st != LMD_OK)
		return NULL;
	if (cache == LMD_NONE) {
		shape_fail(s, "%s is missing", what);
		return NULL;
	}
	c = &s->p->caches[cache];
	if (kinds >> c->kind & 1)
		return c;
	shape_fail(s, "%s %u is of kind %u, which this op cannot use (kinds 0x%x)", what, cache,
		   c->kind, kinds);
	return NULL;
}

/* ---- checks based on the field table ---- */

/* Returns the columns of an operand's source; 0 if its id is out of range. */
static uint64_t source_width(const struct shape *s, const struct lmd_opnd *o)
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
		return o->id < p->n_wref ? lmi_wref_elems(&p->wrefs[o->id]) : 0;
	case LMD_SRC_NONE:
		break;
	}
	return 0;
}

static void check_window(struct shape *s, const struct lmi_field *f, const struct lmd_opnd *o)
{
	uint64_t width = source_width(s, o), end;

	if (!width) {
		shape_fail(s, "%s: source %u has no number %u", f->name, o->src, o->id);
		return;
	}
	if (!o->n_head || o->n_head > LMI_MAX_WIDTH || !o->width || o->width > LMI_MAX_WIDTH ||
	    o->fold > LMI_MAX_WIDTH) {
		shape_fail(s, "%s: %u heads of %u, fold %u; each is at least 1 and at most %u",
			   f->name, o->n_head, o->width, o->fold, LMI_MAX_WIDTH);
		return;
	}
	/* none of these can overflow: 2^24 * 2^32 + 2^32 + 2^24, 2^24 * 2^24; a weight has fewer
	 * than 2^63 elements */
	end = o->col0 + (uint64_t)(o->n_head - 1) * o->head_stride + o->width;
	if (o->src == LMD_SRC_VALUE)
		width *= o->fold;
	else if (o->fold > 1)
		shape_fail(s, "%s: fold %u, but the source is not a value", f->name, o->fold);
	if (end > width)
		shape_fail(s, "%s: columns up to %llu of a source of %llu", f->name,
			   (unsigned long long)end, (unsigned long long)width);
}

static void check_out_window(struct shape *s, const struct lmi_field *f, const struct lmd_opnd *o)
{
	if (o->src != LMD_SRC_VALUE)
		shape_fail(s, "%s: an output must be a value, not source %u", f->name, o->src);
	else if (o->fold != 1)
		shape_fail(s, "%s: an output with fold %u", f->name, o->fold);
	else if (o->n_head > 1 && o->head_stride < o->width)
		shape_fail(s, "%s: heads of an output are %u apart but %u wide", f->name,
			   o->head_stride, o->width);
	else if (s->p->values[o->id].space != s->op->space)
		shape_fail(s, "%s has rows of %s, the other outputs of %s", f->name,
			   space_names[s->p->values[o->id].space], space_names[s->op->space]);
}

static void check_in_source(struct shape *s, const struct lmi_field *f, const struct lmd_opnd *o)
{
	if (o->src == LMD_SRC_WEIGHT && !(f->flags & LMI_F_WEIGHT))
		shape_fail(s, "%s: weight %s is not allowed here", f->name,
			   s->p->wrefs[o->id].name);
	if (o->src == LMD_SRC_INPUT && s->p->inputs[o->id].own_rows && !(f->flags & LMI_F_OWN))
		shape_fail(s, "%s: input %s has rows of its own", f->name,
			   s->p->inputs[o->id].name);
	if (o->src != LMD_SRC_WEIGHT && !(f->flags & LMI_F_ROWS) && o->fold == 1)
		shape_rows(s, f->name, o, s->op->space);
	/* folded rows belong to another space; their number comes with the step */
	if (o->fold > 1 && s->st == LMD_OK &&
	    (shape_space(s, o) < LMD_SPACE_X0 || s->op->space < LMD_SPACE_X0 ||
	     shape_space(s, o) == s->op->space))
		shape_fail(s,
			   "%s: fold %u of rows over %s to rows over %s; only an X space folds "
			   "to another",
			   f->name, o->fold, space_names[shape_space(s, o)],
			   space_names[s->op->space]);
}

static void check_opnd(struct shape *s, const struct lmi_field *f, const struct lmd_opnd *o)
{
	uint32_t vtype;

	if (o->src == LMD_SRC_NONE) {
		if (!(f->flags & LMI_F_OPT))
			shape_fail(s, "%s is missing", f->name);
		return;
	}
	shape_range(s, f->name, o->src, LMD_SRC_VALUE, LMD_SRC_WEIGHT);
	if (s->st == LMD_OK)
		check_window(s, f, o);
	if (s->st != LMD_OK)
		return;
	if (f->kind == LMI_FIELD_OUT)
		check_out_window(s, f, o);
	else
		check_in_source(s, f, o);
	if (s->st != LMD_OK)
		return;
	vtype = shape_vtype(s, o);
	if (!(f->flags & LMI_F_ANY) && (vtype == LMD_VTYPE_I32) != !!(f->flags & LMI_F_I32))
		shape_fail(s, "%s is %s, expected %s", f->name, vtype_names[vtype],
			   f->flags & LMI_F_I32 ? "i32" : "f32 or act");
}

static void check_id(struct shape *s, const struct lmi_field *f, uint32_t id, uint32_t n)
{
	if (id == LMD_NONE) {
		if (!(f->flags & LMI_F_OPT))
			shape_fail(s, "%s is missing", f->name);
	} else if (id >= n) {
		shape_fail(s, "%s is number %u, but there are only %u", f->name, id, n);
	}
}

static bool is_integer(uint32_t dtype)
{
	return dtype >= LMD_DTYPE_I8 && dtype <= LMD_DTYPE_I64;
}

static void check_element(struct shape *s, const struct lmi_field *f, const void *at)
{
	uint32_t u = 0;
	float x;

	if (f->stride >= sizeof(u))
		memcpy(&u, at, sizeof(u));
	switch ((enum lmi_field_kind)f->kind) {
	case LMI_FIELD_IN:
	case LMI_FIELD_OUT:
		check_opnd(s, f, at);
		break;
	case LMI_FIELD_WREF:
		check_id(s, f, u, s->p->n_wref);
		if (u < s->p->n_wref && !(f->flags & LMI_F_INT) &&
		    is_integer(s->wref_dtype ? s->wref_dtype[u] : LMD_DTYPE_F32))
			shape_fail(s, "%s %s holds integers", f->name, s->p->wrefs[u].name);
		break;
	case LMI_FIELD_ROPE:
		check_id(s, f, u, s->p->n_rope);
		break;
	case LMI_FIELD_CACHE:
		check_id(s, f, u, s->p->n_cache);
		break;
	case LMI_FIELD_GROUP:
		check_id(s, f, u, s->p->n_group);
		break;
	case LMI_FIELD_SITE:
		check_id(s, f, u, s->n_lora_site);
		break;
	case LMI_FIELD_ENUM:
		if (u >= f->n_names || !f->names[u])
			shape_fail(s, "%s is %u, which is not a valid value", f->name, u);
		break;
	case LMI_FIELD_F32:
		memcpy(&x, at, sizeof(x));
		if (isnan(x) || (isinf(x) && !(f->flags & LMI_F_INF)))
			shape_fail(s, "%s is %g", f->name, (double)x);
		break;
	case LMI_FIELD_COUNT:
	case LMI_FIELD_U32:
	case LMI_FIELD_I32:
	case LMI_FIELD_PROG:
	case LMI_FIELD_REG:
	case LMI_FIELD_PAD:
		break;
	}
}

static void check_fields(struct shape *s)
{
	for (uint32_t i = 0; i < s->info->n_fields && s->st == LMD_OK; i++) {
		const struct lmi_field *f = &s->info->fields[i];
		uint32_t live = f->count;

		if (f->live) {
			memcpy(&live, (const char *)s->op + f->live, sizeof(live));
			shape_range(s, f->name, live, 0, f->count);
		}
		for (uint32_t j = 0; j < live && s->st == LMD_OK; j++)
			check_element(s, f, lmi_field_get(f, s->op, j));
	}
}

static const shape_rule rules[LMD_N_OP] = {
	[LMD_OP_EMBED] = shape_embed,
	[LMD_OP_NORM] = shape_op_norm,
	[LMD_OP_LINEAR] = shape_linear,
	[LMD_OP_ROPE_KV] = shape_rope_kv,
	[LMD_OP_ATTN] = shape_attn,
	[LMD_OP_GLU] = shape_glu,
	[LMD_OP_FFN] = shape_ffn,
	[LMD_OP_HEAD] = shape_head,
	[LMD_OP_SAMPLE] = shape_sample,
	[LMD_OP_EW] = shape_ew,
	[LMD_OP_ROUTE] = shape_route,
	[LMD_OP_MOE_FFN] = shape_moe_ffn,
	[LMD_OP_BMM] = shape_bmm,
	[LMD_OP_GATHER] = shape_gather,
	[LMD_OP_REDUCE] = shape_reduce,
	[LMD_OP_SOFTMAX] = shape_softmax,
	[LMD_OP_CONV] = shape_conv,
	[LMD_OP_SCAN] = shape_scan,
	[LMD_OP_MIX] = shape_mix,
	[LMD_OP_INDEX] = shape_index,
	[LMD_OP_CAST_COPY] = shape_cast_copy,
	[LMD_OP_ALLREDUCE] = shape_allreduce,
	[LMD_OP_ALLGATHER] = shape_allgather,
	[LMD_OP_PATCH] = shape_patch,
};

enum lmd_status lmi_shape_op(const struct lmi_plan *p, struct lmd_op *op, uint32_t index,
			     struct lmd_error *err)
{
	struct shape s = {
		.p = &p->view,
		.info = lmi_op_info(op->code),
		.op = op,
		.index = index,
		.n_lora_site = p->n_lora_site,
		.wref_dtype = p->wref_dtype,
		.err = err,
	};

	check_fields(&s);
	if (s.st == LMD_OK)
		rules[op->code](&s);
	return s.st;
}
