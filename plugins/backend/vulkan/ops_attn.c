/* SPDX-License-Identifier: MIT
 *
 * ATTN: a shader for all of it, and a faster one for what most models ask for. */
#include "plan.h"

void vkb_put_side(struct vkb_build *b, const struct vkb_side *s)
{
	vkb_address(b, s ? s->mem.address : 0);
	vkb_u32(b, s ? s->n_head * s->room : 0);
	vkb_u32(b, s ? s->room : 0);
}

static void put_source(struct vkb_build *b, const struct lmd_attn_src *s)
{
	const struct vkb_cache *c = s->kind == LMD_KV_CACHE ? vkb_cache_of(b, s->cache) : NULL;
	const struct vkb_pool *pool = c ? b->p->pools[s->group] : NULL;
	const struct vkb_side *v = c && c->side[1].n_head ? &c->side[1] : c ? &c->side[0] : NULL;
	uint32_t ratio = s->kind == LMD_KV_NONE ? 1 : b->plan->groups[s->group].ratio;

	vkb_u32(b, s->group);
	vkb_u32(b, s->list_unit ? s->list_unit : 1);
	vkb_address(b, pool ? pool->table.address : 0);
	vkb_u32(b, pool ? pool->shape.n_index : 0);
	vkb_u32(b, pool ? pool->shape.page_tokens : 1);
	vkb_u32(b, ratio ? ratio : 1);
	vkb_put_side(b, c ? &c->side[0] : NULL);
	vkb_put_side(b, v);
	vkb_view(b, s->kind == LMD_KV_ROWS ? &s->k : NULL);
	vkb_view(b, s->kind == LMD_KV_ROWS ? &s->v : NULL);
	vkb_view(b, s->kind != LMD_KV_NONE ? &s->list : NULL);
}

/* The types of a source's keys and values: a specialisation constant of shaders/attn.comp. */
static uint32_t types_of(struct vkb_build *b, const struct lmd_attn_src *s)
{
	const struct vkb_cache *c = s->kind == LMD_KV_CACHE ? vkb_cache_of(b, s->cache) : NULL;

	return c ? c->side[0].dtype | c->side[c->side[1].n_head > 0].dtype << 8 : 0;
}

/* What the pipeline of an op has besides. */
static uint32_t shape_of(const struct vkb_build *b, const struct lmd_op_attn *a)
{
	bool tree = a->tree && (b->plan->key.flags & LMD_PLAN_TREE), list = false;

	for (int i = 0; i < 2; i++)
		list |= a->src[i].kind != LMD_KV_NONE && a->src[i].list.src != LMD_SRC_NONE;
	return a->src[0].kind | a->src[1].kind << 2 | a->bias << 4 | (a->y.width + 63) / 64 << 6 |
	       (uint32_t)tree << 11 | (uint32_t)list << 12;
}

static void put_rel(struct vkb_build *b, const struct lmd_attn_rel *r, bool used)
{
	const struct vkb_weight *w = used && r->q2.src ? b->p->weights[r->r] : NULL;

	vkb_address(b, w ? vkb_flat(b, r->r) : 0);
	vkb_u32(b, w ? w->n : 0);
	vkb_u32(b, w ? w->k : 0);
	vkb_u32(b, (uint32_t)r->off);
	vkb_u32(b, r->plane);
	vkb_view(b, w ? &r->q2 : NULL);
}

/* The work of a key, for all heads. */
static void count_keys(const struct lmd_op_attn *a, struct vkb_dispatch *d)
{
	uint32_t n = 0;

	d->work = (uint64_t)a->q.n_head * (a->q.width + a->y.width);
	for (int i = 0; i < 2; i++) {
		if (a->src[i].kind != LMD_KV_NONE)
			d->keys[n++] = a->src[i].group + 1;
	}
}

static void any_kind(struct vkb_build *b, const struct lmd_op *op)
{
	const struct lmd_op_attn *a = &op->u.attn;
	bool table = a->bias == LMD_BIAS_ALIBI || a->bias == LMD_BIAS_BUCKET;
	uint32_t at = vkb_args(b), types[2];
	struct vkb_dispatch *d;

	for (int i = 0; i < 2; i++)
		types[i] = types_of(b, &a->src[a->src[i].kind == LMD_KV_CACHE ? i : 1 - i]);
	vkb_u32(b, a->n_kv_head);
	vkb_u32(b, a->kv_map == LMD_MAP_CYCLE);
	vkb_f32(b, a->scale);
	vkb_f32(b, a->softcap);
	vkb_address(b, vkb_flat(b, a->sinks));
	vkb_address(b, vkb_flat(b, table ? a->bias_w : LMD_NONE));
	vkb_u32(b, a->n_bucket);
	vkb_u32(b, a->bidirectional);
	vkb_f32(b, a->max_distance);
	vkb_view(b, &a->q);
	vkb_view(b, &a->y);
	for (int i = 0; i < 2; i++)
		put_rel(b, &a->rel[i], a->bias == LMD_BIAS_REL);
	for (int i = 0; i < 2; i++)
		put_source(b, &a->src[i]);
	d = vkb_dispatch(b, VKB_attn, types[0] | types[1] << 16, shape_of(b, a), at,
			 vkb_rows(op->space, a->q.n_head, 1), vkb_fixed(1));
	count_keys(a, d);
	vkb_split(b, d);
}

/* ---- one cache of floats ---- */

#define FEW_ROWS 64u             /* (row, key head) pairs whose keys are shared among workgroups */
/* Heads that share keys, and their columns: they fit into the 16 KiB of shared memory that each device
 * has. */
#define MOST_HEADS   32u
#define MOST_COLUMNS 1024u

static bool is_float(uint32_t dtype)
{
	return dtype == LMD_DTYPE_F32 || dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16;
}

static bool has_width(uint32_t n)
{
	return n && n % 8 == 0 && n <= 256;
}

/* The cache, if shaders/attn_fast.glsl does all that the op asks for. */
static struct vkb_cache *fast_cache(struct vkb_build *b, const struct lmd_op_attn *a)
{
	const struct lmd_attn_src *s = &a->src[0];
	struct vkb_cache *c;

	if (s->kind != LMD_KV_CACHE || a->src[1].kind != LMD_KV_NONE || s->list.src != LMD_SRC_NONE ||
	    a->bias != LMD_BIAS_NONE || (a->tree && (b->plan->key.flags & LMD_PLAN_TREE)) ||
	    !has_width(a->q.width) || !has_width(a->y.width) || a->q.n_head % a->n_kv_head ||
	    a->q.n_head / a->n_kv_head > MOST_HEADS ||
	    a->q.n_head / a->n_kv_head * a->q.width > MOST_COLUMNS)
		return NULL;
	c = vkb_cache_of(b, s->cache);
	if (!c || !is_float(c->side[0].dtype) || c->side[0].room % 16 ||
	    (c->side[1].n_head && c->side[1].dtype != c->side[0].dtype))
		return NULL;
	return c;
}

static uint32_t put_fast(struct vkb_build *b, const struct lmd_op_attn *a, const struct vkb_cache *c,
			 VkDeviceAddress parts)
{
	const struct vkb_pool *pool = b->p->pools[a->src[0].group];
	uint32_t at = vkb_args(b);

	vkb_u32(b, a->n_kv_head);
	vkb_u32(b, a->kv_map == LMD_MAP_CYCLE);
	vkb_f32(b, a->scale);
	vkb_f32(b, a->softcap);
	vkb_address(b, vkb_flat(b, a->sinks));
	vkb_u32(b, a->src[0].group);
	vkb_address(b, pool ? pool->table.address : 0);
	vkb_u32(b, pool ? pool->shape.n_index : 0);
	vkb_u32(b, pool ? pool->shape.page_tokens : 1);
	vkb_put_side(b, &c->side[0]);
	vkb_put_side(b, c->side[1].n_head ? &c->side[1] : &c->side[0]);
	vkb_address(b, parts);
	vkb_view(b, &a->q);
	vkb_view(b, &a->y);
	return at;
}

static void put_join(struct vkb_build *b, const struct lmd_op_attn *a, uint32_t space,
		     VkDeviceAddress parts)
{
	uint32_t at = vkb_args(b);
	struct vkb_dispatch *d;

	vkb_address(b, vkb_flat(b, a->sinks));
	vkb_address(b, parts);
	vkb_u32(b, b->dev->shares);
	vkb_view(b, &a->y);
	d = vkb_dispatch(b, VKB_attn_join, 0, 0, at, vkb_rows(space, a->q.n_head, 1), vkb_fixed(1));
	vkb_when(d, space, a->n_kv_head, 0, FEW_ROWS);
}

/* Few rows would leave most of a GPU idle: then several workgroups share their keys. */
static void one_cache(struct vkb_build *b, const struct lmd_op *op, const struct vkb_cache *c)
{
	const struct lmd_op_attn *a = &op->u.attn;
	uint32_t group = a->q.n_head / a->n_kv_head, shares = b->dev->shares;
	uint32_t shape = a->q.width | a->y.width << 10 | group << 20, type = c->side[0].dtype, at;
	uint64_t rows = FEW_ROWS / a->n_kv_head * a->q.n_head;
	VkDeviceAddress parts =
		shares > 1 ? vkb_take(b, rows * shares * 4 * (a->y.width + 2)) : 0;
	struct vkb_grid x = vkb_rows(op->space, a->n_kv_head, 1);
	struct vkb_dispatch *d;

	at = put_fast(b, a, c, parts);
	d = vkb_dispatch(b, b->dev->attn_fast, type, shape, at, x, vkb_fixed(1));
	count_keys(a, d);
	if (shares > 1)
		vkb_when(d, op->space, a->n_kv_head, FEW_ROWS + 1, UINT32_MAX);
	vkb_split(b, d);
	if (shares == 1)
		return;
	d = vkb_dispatch(b, b->dev->attn_fast, type, shape, at, x, vkb_fixed(shares));
	vkb_when(d, op->space, a->n_kv_head, 0, FEW_ROWS);
	count_keys(a, d);
	d->beside = true;
	vkb_split(b, d);
	put_join(b, a, op->space, parts);
}

void vkb_op_attn(struct vkb_build *b, const struct lmd_op *op)
{
	const struct vkb_cache *c = fast_cache(b, &op->u.attn);

	if (c)
		one_cache(b, op, c);
	else
		any_kind(b, op);
}
