/* SPDX-License-Identifier: MIT
 *
 * Ops with products: LINEAR, BMM, HEAD, FFN and MOE_FFN.  Each is made of the same launches: rows
 * are prepared, multiplied, passed through an activation and multiplied again. */
#include <string.h>

#include "backend/common/int8_types.h"
#include "plan.h"

#define N_SUM   (64 * sizeof(float))
#define THREADS 128u /* of a block of a product */
#define TILE    8u   /* rows that a warp multiplies at once */

#define FAST_THREADS 256u
#define FAST_OUTPUTS 4u /* of a warp */
#define FAST_ROWS    8u /* at most, of a block */

/* Rows that a product reads: f32, and what was made of them. */
struct rows {
	gpu_ptr at;
	uint32_t stride; /* floats */
	uint32_t heads, k;
	gpu_ptr q8;      /* rounded to 8 bits; 0 = not yet */
	gpu_ptr halves[2]; /* in halves of f16 and of bf16, for many rows; 0 = not yet */
	gpu_ptr rounded; /* the rounded numbers as f32 [rows][k]; 0 = not yet */
};

/* Does the weight's kernel read rows that are rounded to 8 bits? */
static bool reads_q8(const struct gpu_build *b, uint32_t dtype, uint32_t k)
{
	uint32_t unit;

	return b->p->dev->int8 && gpu_weight_fast(dtype, k, &unit) != GPU_NO_KERNEL && unit == 32;
}

static bool any_reads_q8(const struct gpu_build *b, const uint32_t *refs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_weight_ref *w;

		if (refs[i] == LMD_NONE)
			continue;
		w = &b->plan->weight_refs[refs[i]];
		if (reads_q8(b, w->dtype, w->k))
			return true;
	}
	return false;
}

static gpu_ptr q8_rows(struct gpu_build *b, const struct gpu_view *like, uint32_t heads, uint32_t k)
{
	return gpu_build_temp(b, gpu_build_max_rows(b, like) * heads,
			      ((uint64_t)k + k / 4 + 15) / 16 * 16);
}

/* Rounds rows: to 8 bits, or to floats with the values of such. */
static void round_rows(struct gpu_build *b, struct rows *x, const struct gpu_view *like, bool q8)
{
	struct gpu_round_args a = {
		.run = b->p->run,
		.x = x->at,
		.x_stride = x->stride,
		.k = x->k,
		.space = like->space,
		.fold = like->div,
		.heads = x->heads,
	};
	const struct gpu_blocks gx = {.space = like->space,
				      .div = like->div,
				      .times = (uint64_t)x->heads * (x->k / 32),
				      .per = 256 / 32};
	const struct gpu_blocks gy = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};
	struct gpu_launch *last;
	uint32_t lengths = 0;

	if (q8)
		a.q8 = x->q8 = q8_rows(b, like, x->heads, x->k);
	else
		a.y = x->rounded =
			gpu_build_temp(b, gpu_build_max_rows(b, like) * x->heads, 4ull * x->k);
	if (q8 && x->heads == 1 && gpu_attn_rounds(b, &a, &lengths) && !lengths)
		return;
	gpu_build_launch(b, GPU_K_round, &a, sizeof(a), 256, 0, gx, gy);
	last = gpu_build_last(b);
	if (last)
		last->lengths = lengths;
}

/* The launch that was appended last is for steps of many rows only, for the product a. */
static void only_for_many(struct gpu_build *b, const struct gpu_linear_args *a)
{
	struct gpu_launch *last = gpu_build_last(b);

	if (!last)
		return;
	last->pick = GPU_PICK_MANY;
	last->slices = a->mode == GPU_LINEAR_IDS ? a->w.n_stack + 1 : 0;
}

/* Puts the pairs of ids into the order of their slices. */
static void group_pairs(struct gpu_build *b, struct gpu_linear_args *a, const struct gpu_view *like)
{
	struct gpu_group_args g = {
		.run = b->p->run,
		.ids = a->ids,
		.n_stack = a->w.n_stack,
		.heads = a->heads,
		.space = like->space,
		.fold = like->div,
	};
	const struct gpu_blocks x = {
		.space = GPU_N_SPACE, .div = 1, .times = a->w.n_stack + 1ull, .per = 1};
	const struct gpu_blocks y = {
		.space = like->space, .div = like->div, .times = a->heads, .per = 1};

	if (!b->groups) {
		g.out = b->groups = gpu_build_temp(
			b, gpu_build_max_rows(b, like) * a->heads + a->w.n_stack + 2, 4);
		gpu_build_launch(b, GPU_K_group, &g, sizeof(g), 256,
				 512 * (uint32_t)sizeof(uint32_t), x, y);
		only_for_many(b, a);
	}
	a->groups = b->groups;
}

/* Makes halves of the rows x of the product a. */
static void halve_rows(struct gpu_build *b, struct gpu_linear_args *a, struct rows *x,
		       const struct gpu_view *like, bool bf16)
{
	struct gpu_halves_args h = {
		.run = b->p->run,
		.x = x->at,
		.x_stride = x->stride,
		.k = x->k,
		.space = like->space,
		.fold = like->div,
		.heads = x->heads,
		.bf16 = bf16,
	};
	const struct gpu_blocks rows = {
		.space = like->space, .div = like->div, .times = x->heads, .per = 1};

	if (!x->halves[bf16]) {
		h.out = x->halves[bf16] = gpu_build_temp(
			b, gpu_build_max_rows(b, like) * x->heads, 4 * (uint64_t)x->k + 16);
		gpu_build_launch(b, GPU_K_halves, &h, sizeof(h), 256, N_SUM, rows, rows);
		only_for_many(b, a);
	}
	a->halves = x->halves[bf16];
}

/* Prepares the rows of x: where they are if nothing is to be done to them, else in memory of the
 * op.  refs[n]: the weights that will read them. */
static struct rows prepare(struct gpu_build *b, const struct gpu_view *x,
			   const struct lmd_norm *norm, const struct gpu_view *like, uint32_t from,
			   const uint32_t *refs, uint32_t n)
{
	struct gpu_norm_args a = {.run = b->p->run, .x = *x, .rows = from};
	struct rows rows = {.heads = x->n_head, .k = x->width};
	bool plain = !norm || norm->kind == LMD_NORM_NONE, follows;
	struct gpu_launch *last;

	if (norm)
		a.norm = gpu_build_norm(b, norm);
	plain = plain && !(a.norm.g.flags & GPU_VIEW_SET) && !(a.norm.b.flags & GPU_VIEW_SET);
	if (plain && from == GPU_ROWS_SAME && x->n_head == 1 && x->fold == 1 && x->row_bytes &&
	    !x->input && !(x->flags & GPU_VIEW_I32)) {
		rows.at = x->base + 4 * (uint64_t)x->col0;
		rows.stride = x->row_bytes / 4;
		return rows;
	}
	rows.at = gpu_build_temp(b, gpu_build_max_rows(b, like) * x->n_head, 4ull * x->width);
	rows.stride = x->width;
	a.y = gpu_build_rows(like, rows.at, x->n_head, x->width);
	if (any_reads_q8(b, refs, n))
		a.q8 = rows.q8 = q8_rows(b, like, x->n_head, x->width);
	follows = gpu_tail_norm(b, &a);
	gpu_build_block(b, gpu_norm_kernel(b), &a, sizeof(a), 256, N_SUM, &a.y, x->n_head);
	last = gpu_build_last(b);
	if (follows && last) {
		last->pick = GPU_PICK_SEVERAL;
		last->y = (struct gpu_blocks){
			.space = a.y.space, .div = a.y.div, .times = 1, .per = 1};
	}
	return rows;
}

/* Computes what adapters add to a product. */
static void adapters(struct gpu_build *b, struct gpu_linear_args *a, uint32_t site,
		     uint64_t outputs, const struct gpu_view *like)
{
	struct gpu_lora_args l = {
		.run = b->p->run,
		.table = gpu_build_adapters(b, site),
		.x = a->x,
		.ids = a->ids,
		.n_slot = GPU_N_SLOT,
		.x_stride = a->x_stride,
		.x_div = a->x_div,
		.heads = a->heads,
		.space = like->space,
		.fold = like->div,
		.rank = GPU_MAX_RANK,
		.n = (uint32_t)outputs,
		.n_stack = a->w.n_stack,
		.mode = a->mode,
	};

	if (!l.table)
		return;
	a->delta = l.out = gpu_build_temp(b, gpu_build_max_rows(b, like) * a->heads, 4 * outputs);
	a->gains = l.gains =
		gpu_build_temp(b, gpu_build_max_rows(b, like) * a->heads, sizeof(uint64_t));
	gpu_build_block(b, GPU_K_lora, &l, sizeof(l), 128, GPU_MAX_RANK * (uint32_t)sizeof(float),
			like, a->heads);
}

/* Warps that share an output: as many as keep the device busy, as long as each thread has a unit
 * to read.  Nothing of the step decides, so that the order of sums is always the same. */
static uint32_t split_of(const struct gpu_build *b, uint64_t outputs, uint32_t units)
{
	const struct gpu_dev *dev = b->p->dev;
	uint64_t groups = (outputs + FAST_OUTPUTS - 1) / FAST_OUTPUTS;
	uint32_t split = 1;

	while (split < FAST_THREADS / dev->warp && groups * split < 32ull * dev->processors &&
	       units > split * dev->warp)
		split *= 2;
	return split;
}

/* Can the launch p compute the product a as well?  Without residuals, so that no part reads what
 * another one writes. */
static bool can_join(const struct gpu_parts_args *p, const struct gpu_linear_args *a)
{
	const struct gpu_linear_args *f = &p->part[0];

	for (uint32_t i = 0; i < p->n_part; i++) {
		if (p->part[i].e.r_out.flags & GPU_VIEW_SET)
			return false;
	}
	return p->n_part < GPU_PARTS && !p->tail_kind && !(a->e.r_out.flags & GPU_VIEW_SET) &&
	       a->mode == GPU_LINEAR_FLAT && f->mode == a->mode && f->x == a->x && f->q8 == a->q8 &&
	       f->halves == a->halves && f->x_stride == a->x_stride && f->x_div == a->x_div &&
	       f->w.k == a->w.k && f->heads == a->heads && f->space == a->space &&
	       f->fold == a->fold;
}

/* Adds a product to the launch of the one before it in the op; false if that is not possible. */
static bool join(struct gpu_build *b, uint32_t kernel, const struct gpu_linear_args *a,
		 uint32_t blocks)
{
	struct gpu_launch *last = gpu_build_last(b);
	struct gpu_parts_args *p;

	if (!last || last->op != b->op || last->kernel != kernel || last->pick != GPU_PICK_ROWS)
		return false;
	p = (struct gpu_parts_args *)(void *)(b->p->args + last->args);
	if (!can_join(p, a))
		return false;
	p->part[p->n_part] = *a;
	p->blocks[p->n_part++] = blocks;
	last->x.times += blocks;
	return true;
}

/* Launches the product of few rows whose loads are coalesced; false if there is none. */
static bool multiply_fast(struct gpu_build *b, struct gpu_linear_args *a, struct rows *x,
			  const struct gpu_view *like, uint64_t outputs, struct gpu_blocks gy)
{
	uint32_t unit, kernel = gpu_weight_fast(a->w.dtype, a->w.k, &unit);
	struct gpu_blocks gx = {.space = GPU_N_SPACE, .div = 1, .per = 1};
	struct gpu_parts_args parts = {.n_part = 1};
	uint32_t many = a->mode != GPU_LINEAR_HEAD ? gpu_weight_tile(b->p->dev, a->w.dtype)
						   : GPU_NO_KERNEL;
	struct gpu_launch *last;
	uint32_t per;

	if (kernel == GPU_NO_KERNEL)
		return false;
	if (unit == 32 ? !b->p->dev->int8 : x->at % 16 || x->stride % 4)
		return false;
	if (unit == 32 && !x->q8)
		round_rows(b, x, like, true);
	if (many != GPU_NO_KERNEL && unit < 32)
		halve_rows(b, a, x, like, a->w.dtype == LMD_DTYPE_BF16);
	if (many != GPU_NO_KERNEL && a->mode == GPU_LINEAR_IDS)
		group_pairs(b, a, like);
	a->q8 = x->q8;
	a->split = split_of(b, outputs, a->w.k / unit);
	per = FAST_THREADS / b->p->dev->warp / a->split * FAST_OUTPUTS;
	gx.times = parts.blocks[0] = (uint32_t)((outputs + per - 1) / per);
	gy.per = 1;
	parts.part[0] = *a;
	if (join(b, kernel, a, parts.blocks[0]))
		return true;
	gpu_build_launch(b, kernel, &parts, sizeof(parts), FAST_THREADS,
			 FAST_THREADS / b->p->dev->warp * FAST_OUTPUTS * FAST_ROWS *
				 (uint32_t)sizeof(float),
			 gx, gy);
	last = gpu_build_last(b);
	if (last && (a->mode == GPU_LINEAR_FLAT || a->groups)) {
		last->pick = GPU_PICK_ROWS;
		last->many = many;
		last->slices = a->groups ? a->w.n_stack + 1 : 0;
	}
	return true;
}

/* Launches the product in exact arithmetic. */
static void multiply_exact(struct gpu_build *b, struct gpu_linear_args *a, struct rows *x,
			   const struct gpu_view *like, uint64_t outputs, struct gpu_blocks gy)
{
	uint32_t warps = THREADS / b->p->dev->warp;
	const struct gpu_blocks gx = {.space = GPU_N_SPACE,
				      .div = 1,
				      .times = outputs,
				      .per = warps * FAST_OUTPUTS};

	if (!x->q8)
		round_rows(b, x, like, true);
	a->q8 = x->q8;
	gpu_build_launch(b, gpu_weight_exact(a->w.dtype), a, sizeof(*a), THREADS,
			 warps * FAST_OUTPUTS * TILE * (b->p->dev->warp + 1) *
				 (uint32_t)sizeof(float),
			 gx, gy);
}

/* Multiplies; a->w, a->e, mode and heads are set.  site: of adapters, or LMD_NONE. */
static void multiply(struct gpu_build *b, struct gpu_linear_args *a, struct rows *x, uint32_t x_div,
		     const struct gpu_view *like, uint32_t site)
{
	uint32_t kernel = gpu_weight_kernel(a->w.dtype);
	uint32_t warps = THREADS / b->p->dev->warp, tile = a->mode == GPU_LINEAR_FLAT ? TILE : 1;
	uint64_t outputs = a->mode == GPU_LINEAR_FLAT ? (uint64_t)a->w.n_stack * a->w.n : a->w.n;
	const struct gpu_blocks gx = {
		.space = GPU_N_SPACE, .div = 1, .times = outputs, .per = warps};
	const struct gpu_blocks gy = {
		.space = like->space, .div = like->div, .times = a->heads, .per = tile};

	if (kernel == GPU_NO_KERNEL &&
	    !b->measure) /* such a weight is f32 when it has been loaded */
		gpu_build_fail(b, "a product with type %u", a->w.dtype);
	a->run = b->p->run;
	a->x = x->at;
	a->x_stride = x->stride;
	a->x_div = x_div;
	a->space = like->space;
	a->fold = like->div;
	if (b->p->dev->exact) {
		multiply_exact(b, a, x, like, outputs, gy);
		return;
	}
	adapters(b, a, site, outputs, like);
	if (multiply_fast(b, a, x, like, outputs, gy))
		return;
	if (b->p->dev->int8 && host_mem_int8_type(a->w.dtype)) {
		if (!x->rounded)
			round_rows(b, x, like, false);
		a->x = x->rounded;
		a->x_stride = x->k;
	}
	gpu_build_launch(b, kernel, a, sizeof(*a), THREADS, 0, gx, gy);
}

/* An epilogue that does nothing but store. */
static struct gpu_epilogue store(const struct gpu_view *y)
{
	return (struct gpu_epilogue){.y = *y, .scale = 1};
}

void gpu_lower_linear(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_linear *l = &op->u.linear;
	struct gpu_view x = gpu_build_view(b, &l->x), ids = gpu_build_view(b, &l->ids);
	struct gpu_view like =
		gpu_build_view(b, l->y[0].src != LMD_SRC_NONE ? &l->y[0] : &l->r_out[0]);
	bool stacked = l->ids.src != LMD_SRC_NONE;
	struct rows rows = prepare(b, &x, &l->pro, &like, GPU_ROWS_SAME, l->w, l->n_w);

	for (uint32_t i = 0; i < l->n_w; i++) {
		struct gpu_linear_args a = {
			.w = gpu_build_weight(b, l->w[i]),
			.ids = ids,
			.mode = stacked ? GPU_LINEAR_IDS : GPU_LINEAR_FLAT,
			.heads = like.n_head,
			.e = {.y = gpu_build_view(b, &l->y[i]),
			      .r_in = gpu_build_view(b, &l->r_in[i]),
			      .r_out = gpu_build_view(b, &l->r_out[i]),
			      .scale = l->scale,
			      .a = l->a,
			      .softcap = l->softcap,
			      .clamp_lo = l->clamp_lo,
			      .clamp_hi = l->clamp_hi,
			      .act = l->act,
			      .clamp = l->clamp_lo < 0 || l->clamp_lo > 0 || l->clamp_hi < 0 ||
				       l->clamp_hi > 0},
		};

		memcpy(a.e.p, l->p, sizeof(a.e.p));
		multiply(b, &a, &rows, stacked && x.n_head == 1 ? a.heads : 1, &like,
			 l->lora_site[i]);
	}
}

void gpu_lower_bmm(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_bmm *m = &op->u.bmm;
	struct gpu_view x = gpu_build_view(b, &m->x), y = gpu_build_view(b, &m->y);
	struct gpu_linear_args a = {.w = gpu_build_weight(b, m->w),
				    .mode = GPU_LINEAR_HEAD,
				    .heads = y.n_head,
				    .e = store(&y)};

	struct rows rows = prepare(b, &x, NULL, &y, GPU_ROWS_SAME, &m->w, 1);

	multiply(b, &a, &rows, 1, &y, LMD_NONE);
}

void gpu_lower_head(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_head *h = &op->u.head;
	struct gpu_view x = gpu_build_view(b, &h->x), y = gpu_build_view(b, &h->y);
	struct gpu_linear_args a = {.w = gpu_build_weight(b, h->w), .heads = 1, .e = store(&y)};
	struct rows rows = prepare(b, &x, &h->norm, &y, GPU_ROWS_OUT_ROW, &h->w, 1);

	a.e.scale = h->scale;
	a.e.softcap = h->softcap;
	a.e.extra = gpu_build_flat(b, h->bias);
	multiply(b, &a, &rows, 1, &y, h->lora_site);
}

/* Passes gate and up [rows * heads][width] through the activation, into gate, or into up without a
 * gate. */
static struct rows activate(struct gpu_build *b, uint32_t act, const float *p,
			    const struct gpu_view *gate, const struct gpu_view *up, uint32_t down)
{
	struct gpu_glu_args a = {.run = b->p->run, .act = act};
	struct rows rows = {.stride = up->width, .heads = up->n_head, .k = up->width};
	struct gpu_launch *product, *last;
	uint32_t many;
	bool follows;

	memcpy(a.p, p, sizeof(a.p));
	a.a = gate->flags & GPU_VIEW_SET ? *gate : *up;
	a.b = gate->flags & GPU_VIEW_SET ? *up : (struct gpu_view){0};
	a.y = a.a;
	a.y.base =
		gpu_build_temp(b, gpu_build_max_rows(b, up) * up->n_head, 4 * (uint64_t)up->width);
	a.y.row_bytes = 4 * up->n_head * up->width;
	a.y.head_stride = up->width;
	a.y.col0 = 0;
	a.y.value_width = up->n_head * up->width;
	if (any_reads_q8(b, &down, 1))
		a.q8 = rows.q8 = q8_rows(b, up, up->n_head, up->width);
	rows.at = a.y.base;
	product = gpu_build_last(b);
	many = product ? product->many : GPU_NO_KERNEL;
	follows = gpu_tail_glu(b, &a);
	if (follows && many == GPU_NO_KERNEL)
		return rows;
	gpu_build_each(b, gpu_glu_kernel(b), &a, sizeof(a), &a.y, (uint64_t)up->n_head * up->width);
	last = gpu_build_last(b);
	if (follows && last) {
		last->pick = GPU_PICK_MANY;
		last->y = (struct gpu_blocks){
			.space = a.y.space, .div = a.y.div, .times = up->n_head, .per = 1};
	}
	return rows;
}

void gpu_lower_ffn(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_ffn *f = &op->u.ffn;
	struct gpu_view x = gpu_build_view(b, &f->x), v[2] = {{0}, {0}};
	struct gpu_view like = gpu_build_view(b, f->y.src != LMD_SRC_NONE ? &f->y : &f->r_out);
	const uint32_t refs[2] = {f->gate, f->up};
	uint32_t width = b->plan->weight_refs[f->up].n;
	struct rows rows = prepare(b, &x, &f->norm, &like, GPU_ROWS_SAME, refs, 2), h;
	struct gpu_linear_args down = {.w = gpu_build_weight(b, f->down), .heads = like.n_head};

	for (int i = 0; i < 2; i++) {
		struct gpu_linear_args a = {.w = gpu_build_weight(b, refs[i]),
					    .heads = like.n_head};

		if (refs[i] == LMD_NONE)
			continue;
		v[i] = gpu_build_rows(
			&like,
			gpu_build_temp(b, gpu_build_max_rows(b, &like) * like.n_head, 4ull * width),
			like.n_head, width);
		a.e = store(&v[i]);
		multiply(b, &a, &rows, 1, &like, f->lora_site[i]);
	}
	down.e = (struct gpu_epilogue){
		.y = gpu_build_view(b, &f->y),
		.r_in = gpu_build_view(b, &f->r_in),
		.r_out = gpu_build_view(b, &f->r_out),
		.scale = 1,
		.a = f->a,
	};
	h = activate(b, f->act, f->p, &v[0], &v[1], f->down);
	multiply(b, &down, &h, 1, &like, f->lora_site[2]);
}

void gpu_lower_patch(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_patch *o = &op->u.patch;
	struct gpu_view y = gpu_build_view(b, &o->y);
	struct gpu_patch_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &o->x),
		.y_space = y.space,
		.n_dim = o->n_dim,
	};
	struct gpu_linear_args l = {.w = gpu_build_weight(b, o->w), .heads = 1};
	uint32_t k = b->plan->weight_refs[o->w].k;
	struct rows rows = {.stride = k, .heads = 1, .k = k};

	memcpy(a.kernel, o->kernel, sizeof(a.kernel));
	memcpy(a.stride, o->stride, sizeof(a.stride));
	memcpy(a.pad, o->pad, sizeof(a.pad));
	memcpy(a.dilation, o->dilation, sizeof(a.dilation));
	a.c = a.x.n_head * a.x.width;
	a.x_space = o->x.src == LMD_SRC_INPUT ? o->x_space : a.x.space;
	a.out = gpu_build_temp(b, gpu_build_max_rows(b, &y), 4ull * k);
	gpu_build_each(b, GPU_K_patch, &a, sizeof(a), &y, k);
	if (y.n_head > 1 && y.head_stride != y.width)
		gpu_build_fail(b, "a result whose heads have gaps");
	y.width *= y.n_head;
	y.n_head = 1;
	l.e = store(&y);
	rows.at = a.out;
	multiply(b, &l, &rows, 1, &y, LMD_NONE);
}

/* ---- MOE_FFN ---- */

/* Rows of x, or, if they are weighted before the products, one for each pair. */
static struct rows expert_rows(struct gpu_build *b, const struct lmd_op_moe_ffn *m,
			       const struct gpu_view *ids, uint32_t k)
{
	const uint32_t refs[3] = {m->gate_up, m->gate, m->up};
	struct gpu_view x = gpu_build_view(b, &m->x);
	struct gpu_norm_args a = {
		.run = b->p->run, .x = x, .times = gpu_build_view(b, &m->weights), .one_head = 1};
	struct rows rows = {.stride = x.width, .heads = k, .k = x.width};

	if (!m->weight_before)
		return prepare(b, &x, NULL, ids, GPU_ROWS_SAME, refs, 3);
	rows.at = gpu_build_temp(b, gpu_build_max_rows(b, ids) * k, 4 * (uint64_t)x.width);
	a.y = gpu_build_rows(ids, rows.at, k, x.width);
	if (any_reads_q8(b, refs, 3))
		a.q8 = rows.q8 = q8_rows(b, ids, k, x.width);
	gpu_build_block(b, GPU_K_norm, &a, sizeof(a), 256, N_SUM, &a.y, k);
	return rows;
}

/* Multiplies the pairs with a stacked weight; returns [pairs][n]. */
static struct gpu_view expert_product(struct gpu_build *b, uint32_t ref, const struct gpu_view *ids,
				      uint32_t k, struct rows *rows, uint32_t x_div, uint32_t site)
{
	struct gpu_linear_args a = {
		.w = gpu_build_weight(b, ref), .ids = *ids, .mode = GPU_LINEAR_IDS, .heads = k};
	uint32_t n = b->plan->weight_refs[ref].n;
	struct gpu_view y = gpu_build_rows(
		ids, gpu_build_temp(b, gpu_build_max_rows(b, ids) * k, 4 * (uint64_t)n), k, n);

	a.e = store(&y);
	multiply(b, &a, rows, x_div, ids, site);
	return y;
}

void gpu_lower_moe_ffn(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_moe_ffn *m = &op->u.moe_ffn;
	struct gpu_view ids = gpu_build_view(b, &m->ids), gate = {0}, up, d;
	uint32_t k = ids.n_head * ids.width, div = m->weight_before ? 1 : k;
	uint32_t width = b->plan->weight_refs[m->down].k;
	struct rows rows = expert_rows(b, m, &ids, k), h;
	struct gpu_moe_sum_args sum = {
		.run = b->p->run,
		.ids = ids,
		.weights = gpu_build_view(b, &m->weights),
		.y = gpu_build_view(b, &m->y),
		.r_in = gpu_build_view(b, &m->r_in),
		.r_out = gpu_build_view(b, &m->r_out),
		.k = k,
		.dim = b->plan->weight_refs[m->down].n,
		.n_stack = b->plan->weight_refs[m->down].n_stack,
		.weight_before = m->weight_before,
		.a = m->a,
	};

	if (m->gate_up != LMD_NONE) {
		gate = up = expert_product(b, m->gate_up, &ids, k, &rows, div, m->lora_site[0]);
		gate.width = up.width = width;
		up.col0 = width;
	} else {
		if (m->gate != LMD_NONE)
			gate = expert_product(b, m->gate, &ids, k, &rows, div, m->lora_site[0]);
		up = expert_product(b, m->up, &ids, k, &rows, div, m->lora_site[1]);
	}
	h = activate(b, m->act, m->p, &gate, &up, m->down);
	d = expert_product(b, m->down, &ids, k, &h, 1, m->lora_site[2]);
	sum.d = d.base;
	gpu_build_each(b, GPU_K_moe_sum, &sum, sizeof(sum), &ids, sum.dim);
}
