/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV and ATTN. */
#include "plan.h"

#define N_SUM         64u   /* numbers that a sum over a block needs */
#define WIDE_BLOCKS   64u   /* of ROPE_KV, with heads that do not fit in shared memory */
#define SPLIT_ROWS    1024u /* rows times parts of the keys, unless there are more rows */
#define SPLIT_FIXED   8u    /* parts of a row with any number of rows, if these must not matter */
#define SPLIT_THREADS 128u
/* Bytes for a query: its scores, its sums in all threads, and less than 32 other numbers. */
#define SPLIT_SHARED  ((GPU_CHUNK + 8 * SPLIT_THREADS + 32) * (uint32_t)sizeof(float))

static const struct gpu_blocks one_block = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};

static struct gpu_rope rope_of(const struct gpu_build *b, const struct lmd_op_rope_kv *o)
{
	const struct lmd_rope *r;

	if (o->rope == LMD_NONE)
		return (struct gpu_rope){0};
	r = &b->plan->ropes[o->rope];
	return (struct gpu_rope){
		.freq = b->p->freq ? b->p->freq[o->rope] : 0,
		.plane = b->p->plane ? b->p->plane[o->rope] : 0,
		.n_rot = r->n_rot,
		.pairing = r->pairing,
		.magnitude = r->magnitude,
		.sign = o->sign,
		.rot0 = o->rot0,
	};
}

void gpu_lower_rope_kv(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_rope_kv *o = &op->u.rope_kv;
	struct gpu_rope_kv_args a = {
		.run = b->p->run,
		.q = gpu_build_view(b, &o->q),
		.k = gpu_build_view(b, &o->k),
		.v = gpu_build_view(b, &o->v),
		.q_out = gpu_build_view(b, &o->q_out),
		.k_out = gpu_build_view(b, &o->k_out),
		.pos = gpu_build_view(b, &o->pos),
		.qn = gpu_build_norm(b, &o->qn),
		.kn = gpu_build_norm(b, &o->kn),
		.rope = rope_of(b, o),
		.norm_when = o->norm_when,
		.append = o->append,
	};
	const struct gpu_view *const all[] = {&a.q, &a.k, &a.v};
	const struct gpu_view *any = NULL;
	struct gpu_blocks x = {.per = 1};
	uint32_t most = 0, shared = N_SUM;

	if (o->append)
		a.cache = gpu_build_cache(b, o->cache);
	for (int i = 0; i < 3; i++) {
		if (!(all[i]->flags & GPU_VIEW_SET))
			continue;
		any = any ? any : all[i];
		most = all[i]->width > most ? all[i]->width : most;
		a.n_unit += all[i]->n_head;
	}
	if (!any)
		return;
	a.space = any->space;
	a.fold = any->div;
	a.most = most;
	x.space = any->space;
	x.div = any->div;
	x.times = a.n_unit;
	if (most <= GPU_SHARED_BYTES / sizeof(float) - N_SUM) {
		shared += most;
	} else {
		a.work = gpu_build_temp(b, WIDE_BLOCKS, sizeof(float) * (uint64_t)most);
		x.space = GPU_N_SPACE;
		x.times = WIDE_BLOCKS;
		x.div = 1;
	}
	gpu_build_launch(b, b->p->dev->exact ? GPU_K_exact_rope_kv : GPU_K_rope_kv, &a, sizeof(a),
			 most <= 64 ? 64 : 128, shared * (uint32_t)sizeof(float), x, one_block);
}

static struct gpu_attn_src source(struct gpu_build *b, const struct lmd_attn_src *s)
{
	struct gpu_attn_src a = {.kind = s->kind, .group = s->group, .list_unit = s->list_unit};

	if (s->kind == LMD_KV_NONE)
		return a;
	a.list = gpu_build_view(b, &s->list);
	if (s->kind == LMD_KV_ROWS) {
		a.k = gpu_build_view(b, &s->k);
		a.v = gpu_build_view(b, &s->v);
	} else {
		a.cache = gpu_build_read_cache(b, s->cache);
	}
	return a;
}

static struct gpu_attn_rel relation(struct gpu_build *b, const struct lmd_op_attn *o, int i)
{
	const struct lmd_attn_rel *r = &o->rel[i];

	if (o->bias != LMD_BIAS_REL || r->q2.src == LMD_SRC_NONE)
		return (struct gpu_attn_rel){.n = 0};
	return (struct gpu_attn_rel){
		.q2 = gpu_build_view(b, &r->q2),
		.r = gpu_build_flat(b, r->r),
		.n = b->plan->weight_refs[r->r].n,
		.k = b->plan->weight_refs[r->r].k,
		.off = r->off,
		.plane = r->plane,
	};
}

/* Can heads of a cache be read in vectors of 8 columns? */
static bool vectors(const struct gpu_cache *c, uint32_t dtype, uint32_t width, uint64_t off,
		    uint32_t row, uint32_t head)
{
	uint64_t places = c->mem | c->unit_bytes | off | row | head;

	if (width % 8)
		return false;
	if (dtype == LMD_DTYPE_Q8_0)
		return places % 2 == 0;
	if (dtype == LMD_DTYPE_F8_E4M3)
		return places % 4 == 0;
	return (dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16 || dtype == LMD_DTYPE_F32) &&
	       places % 16 == 0;
}

/* Is this attention one that kern/split.h or kern/nv/flash.h may compute? */
static bool plain(const struct gpu_attn_args *a)
{
	return !a->tree && (a->bias == LMD_BIAS_NONE || a->bias == LMD_BIAS_ALIBI) &&
	       a->src[0].kind == LMD_KV_CACHE && a->src[1].kind == LMD_KV_NONE &&
	       !(a->src[0].list.flags & GPU_VIEW_SET);
}

static void heads_of(struct gpu_launch *l, const struct gpu_attn_args *a)
{
	l->n_kv_head = a->n_kv_head;
	l->per_kv = a->q.n_head / a->n_kv_head;
}

/* Can kern/nv/flash.h read the caches as they are? */
static bool as_is(const struct gpu_attn_args *a)
{
	const struct gpu_cache *c = &a->src[0].cache;
	uint32_t v_dtype = c->has_v ? c->v_dtype : c->k_dtype;

	return c->k_dtype == v_dtype && (v_dtype == LMD_DTYPE_F16 || v_dtype == LMD_DTYPE_BF16) &&
	       vectors(c, c->k_dtype, a->q.width, c->k_off, c->k_row, c->k_head) &&
	       vectors(c, v_dtype, a->y.width, c->v_off, c->v_row, c->v_head);
}

/* Can the rows of long sequences be computed on matrix units? */
static bool has_flash(const struct gpu_build *b, const struct gpu_attn_args *a, uint32_t most)
{
	return b->p->dev->flash && plain(a) && (most <= 128 || (most <= 256 && as_is(a))) &&
	       a->q.space == LMD_SPACE_TOKENS && a->y.space == LMD_SPACE_TOKENS && a->q.div == 1 &&
	       a->y.div == 1;
}

/* Computes them.  Shared memory: halves of queries, and tiles of keys and values. */
static void flash(struct gpu_build *b, const struct gpu_attn_args *a, uint32_t most)
{
	uint32_t width = most <= 64 ? 64 : most <= 128 ? 128 : 256;
	uint32_t kernel = most <= 64    ? GPU_K_flash_64_f16
			  : most <= 128 ? GPU_K_flash_128_f16
					: GPU_K_flash_256_f16;
	uint32_t shared = width * (most > 128 ? 192 : as_is(a) ? 256 : 384);
	struct gpu_blocks x = {.space = a->y.space, .div = 1, .times = 1, .per = 1};
	struct gpu_launch *last;

	if (!as_is(a))
		kernel += 2;
	else if (a->src[0].cache.k_dtype == LMD_DTYPE_BF16)
		kernel += 1;
	gpu_build_launch(b, kernel, a, sizeof(*a), most > 128 ? 64 : 128, shared, x, one_block);
	last = gpu_build_last(b);
	if (!last)
		return;
	last->pick = GPU_PICK_FLASH;
	last->lengths = GPU_LONG;
	heads_of(last, a);
}

/* Divides the keys among blocks; false if this attention is none of kern/split.h. */
static bool split(struct gpu_build *b, struct gpu_attn_args *a, uint32_t most)
{
	uint64_t rows = gpu_build_max_rows(b, &a->y), cells = SPLIT_ROWS;
	struct gpu_blocks x = {.space = a->y.space, .div = a->y.div, .times = 1, .per = 1};
	struct gpu_blocks y = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};
	const struct gpu_cache *c = &a->src[0].cache;
	struct gpu_launch *last;

	if (most > 256 || !plain(a))
		return false;
	if (!vectors(c, c->k_dtype, a->q.width, c->k_off, c->k_row, c->k_head) ||
	    (c->has_v ? !vectors(c, c->v_dtype, a->y.width, c->v_off, c->v_row, c->v_head)
		      : a->y.width % 8 != 0))
		return false;
	a->max_part = b->p->dev->invariant ? SPLIT_FIXED : GPU_MAX_PART;
	cells = rows > cells ? rows : cells;
	if (b->p->dev->invariant || rows * a->max_part < cells)
		cells = rows * a->max_part;
	a->part_rows = (uint32_t)cells;
	a->part = gpu_build_temp(b, cells * a->q.n_head, 4 * ((uint64_t)a->y.width + 2));
	gpu_build_counters(b, rows * a->q.n_head);
	a->counters = b->p->counters;
	gpu_build_launch(b,
			 most <= 64    ? GPU_K_split_64_1
			 : most <= 128 ? GPU_K_split_128_1
				       : GPU_K_split_256_1,
			 a, sizeof(*a), SPLIT_THREADS, SPLIT_SHARED, x, y);
	last = gpu_build_last(b);
	if (last) {
		last->pick = GPU_PICK_PACK;
		last->lengths = a->flash ? GPU_SHORT : 0;
		heads_of(last, a);
	}
	return true;
}

bool gpu_attn_rounds(struct gpu_build *b, const struct gpu_round_args *x, uint32_t *lengths)
{
	struct gpu_launch *last = gpu_build_last(b);
	struct gpu_attn_args *a;

	if (!last || last->pick != GPU_PICK_PACK || last->op + 1 != b->op)
		return false;
	a = (struct gpu_attn_args *)(void *)(b->p->args + last->args);
	if (a->q8 || a->y.input || a->y.fold != 1 || a->y.div != 1 || x->fold != 1 ||
	    a->y.space != x->space || a->y.base + 4 * (uint64_t)a->y.col0 != x->x ||
	    a->y.row_bytes != 4 * x->x_stride || a->y.head_stride != a->y.width ||
	    a->y.n_head * a->y.width != x->k || a->y.width % 32)
		return false;
	a->q8 = x->q8;
	*lengths = a->flash ? GPU_LONG : 0;
	return true;
}

/* Do the keys, or the values, lie in caches of q4_0_rot? */
static bool rotated(struct gpu_build *b, const struct lmd_op_attn *o, bool values)
{
	uint32_t n = 0, n_rotated = 0;

	for (uint32_t i = 0; i < 2; i++) {
		const struct lmd_attn_src *s = &o->src[i];
		const struct lmd_cache *c = NULL;

		n += s->kind != LMD_KV_NONE;
		if (s->kind != LMD_KV_CACHE)
			continue;
		c = &b->plan->caches[s->cache];
		n_rotated += (values && c->kind == LMD_CACHE_KV ? c->v_dtype : c->k_dtype) ==
			     LMD_DTYPE_Q4_0_ROT;
	}
	if (n_rotated && n_rotated != n)
		gpu_build_fail(b, "attention to a cache of q4_0_rot and to other keys or values");
	return n_rotated > 0;
}

/* Launches attention, of heads with `most` columns. */
static void attend(struct gpu_build *b, struct gpu_attn_args *a, uint32_t most)
{
	uint32_t warps = 128 / b->p->dev->warp;
	struct gpu_launch *last;

	if (b->p->dev->exact) {
		gpu_build_block(b, GPU_K_exact_attn, a, sizeof(*a), 128,
				(64 + 16 + 128 + a->q.width + a->y.width) * (uint32_t)sizeof(float),
				&a->y, a->q.n_head);
		return;
	}
	a->flash = has_flash(b, a, most) ? GPU_LONG_ROW : 0;
	if (a->flash)
		flash(b, a, most);
	if (split(b, a, most))
		return;
	gpu_build_block(b,
			most <= 64    ? GPU_K_attn_64
			: most <= 128 ? GPU_K_attn_128
			: most <= 256 ? GPU_K_attn_256
				      : GPU_K_attn_1024,
			a, sizeof(*a), 128, warps * (2 + a->y.width) * (uint32_t)sizeof(float),
			&a->y, a->q.n_head);
	last = gpu_build_last(b);
	if (last)
		last->lengths = a->flash ? GPU_SHORT : 0;
}

void gpu_lower_attn(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_attn *o = &op->u.attn;
	struct gpu_attn_args a = {
		.run = b->p->run,
		.q = gpu_build_view(b, &o->q),
		.y = gpu_build_view(b, &o->y),
		.src = {source(b, &o->src[0]), source(b, &o->src[1])},
		.rel = {relation(b, o, 0), relation(b, o, 1)},
		.sinks = gpu_build_flat(b, o->sinks),
		.n_kv_head = o->n_kv_head,
		.kv_map = o->kv_map,
		.scale = o->scale,
		.softcap = o->softcap,
		.bias = o->bias,
		.n_bucket = o->n_bucket,
		.bidirectional = o->bidirectional,
		.max_distance = o->max_distance,
		.tree = o->tree && (b->plan->key.flags & LMD_PLAN_TREE),
	};
	uint32_t most = a.q.width > a.y.width ? a.q.width : a.y.width;

	if (o->bias == LMD_BIAS_ALIBI || o->bias == LMD_BIAS_BUCKET)
		a.bias_w = gpu_build_flat(b, o->bias_w);
	if (most > 1024)
		gpu_build_fail(b, "heads of %u columns; at most 1024 are supported", most);
	if (rotated(b, o, false))
		a.q = gpu_build_hadamard_rows(b, &a.q);
	attend(b, &a, most);
	if (rotated(b, o, true))
		gpu_build_hadamard(b, &a.y, &a.y);
}
