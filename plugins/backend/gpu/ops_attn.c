/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV and ATTN. */
#include "plan.h"

#define N_SUM 64u /* numbers that a sum over a block needs */

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
	uint32_t most = 0;

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
	gpu_build_block(b, GPU_K_rope_kv, &a, sizeof(a), most <= 64 ? 64 : 128,
			(N_SUM + most) * (uint32_t)sizeof(float), any, a.n_unit);
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
		a.cache = gpu_build_cache(b, s->cache);
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
	uint32_t warps = 128 / b->p->dev->warp;

	if (o->bias == LMD_BIAS_ALIBI || o->bias == LMD_BIAS_BUCKET)
		a.bias_w = gpu_build_flat(b, o->bias_w);
	if (most > 1024)
		gpu_build_fail(b, "heads of %u columns; at most 1024 are supported", most);
	gpu_build_block(b,
			most <= 64    ? GPU_K_attn_64
			: most <= 128 ? GPU_K_attn_128
			: most <= 256 ? GPU_K_attn_256
				      : GPU_K_attn_1024,
			&a, sizeof(a), 128, warps * (2 + a.y.width) * (uint32_t)sizeof(float), &a.y,
			a.q.n_head);
}
