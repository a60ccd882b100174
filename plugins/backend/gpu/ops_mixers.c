/* SPDX-License-Identifier: MIT
 *
 * SOFTMAX, REDUCE, ROUTE, MIX, CONV and SCAN. */
#include <string.h>

#include "plan.h"

#define CONV_ROWS 32u /* rows that a CONV cache may keep */

void gpu_lower_softmax(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_softmax *o = &op->u.softmax;
	struct gpu_softmax_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &o->x),
		.y = gpu_build_view(b, &o->y),
		.scale = o->scale,
		.eps = o->eps,
		.sinkhorn = o->sinkhorn,
	};

	a.work = gpu_build_temp(b, gpu_build_max_rows(b, &a.y), 4ull * a.x.n_head * a.x.width);
	gpu_build_each(b, GPU_K_softmax, &a, sizeof(a), &a.y, 1);
}

void gpu_lower_reduce(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_reduce *o = &op->u.reduce;
	struct gpu_reduce_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &o->x),
		.y = gpu_build_view(b, &o->y),
		.y2 = gpu_build_view(b, &o->y2),
		.kind = o->kind,
		.axis = o->axis,
		.n = o->n,
	};

	gpu_build_each(b, GPU_K_reduce, &a, sizeof(a), &a.y, (uint64_t)a.y.n_head * a.y.width);
}

void gpu_lower_route(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_route *o = &op->u.route;
	struct gpu_route_args a = {
		.run = b->p->run,
		.logits = gpu_build_view(b, &o->logits),
		.ids = gpu_build_view(b, &o->ids),
		.weights = gpu_build_view(b, &o->weights),
		.given = gpu_build_view(b, &o->given),
		.bias = gpu_build_flat(b, o->bias),
		.fn = o->fn,
		.k = o->k,
		.n_group = o->n_group,
		.n_group_used = o->n_group_used,
		.renorm = o->renorm,
		.id_div = o->id_div,
		.scale = o->scale,
	};
	uint64_t n = 3ull * a.logits.n_head * a.logits.width + 2ull * o->k;

	a.work = gpu_build_temp(b, gpu_build_max_rows(b, &a.ids), 4 * n);
	gpu_build_each(b, GPU_K_route, &a, sizeof(a), &a.ids, 1);
}

void gpu_lower_mix(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_mix *o = &op->u.mix;
	struct gpu_mix_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &o->x),
		.c = gpu_build_view(b, &o->c),
		.d = gpu_build_view(b, &o->d),
		.z = gpu_build_view(b, &o->z),
		.y = gpu_build_view(b, &o->y),
		.c_transposed = o->c_transposed,
	};

	gpu_build_each(b, GPU_K_mix, &a, sizeof(a), &a.y, (uint64_t)a.y.n_head * a.y.width);
}

/* States are f32: what an architecture asks for. */
static struct gpu_cache state_of(struct gpu_build *b, uint32_t cache)
{
	if (cache != LMD_NONE && b->plan->caches[cache].k_dtype != LMD_DTYPE_F32)
		gpu_build_fail(b, "a state of type %u; only f32", b->plan->caches[cache].k_dtype);
	return gpu_build_cache(b, cache);
}

void gpu_lower_conv(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_conv *o = &op->u.conv;
	struct gpu_conv_args a = {
		.run = b->p->run,
		.x = gpu_build_view(b, &o->x),
		.score = gpu_build_view(b, &o->score),
		.y = gpu_build_view(b, &o->y),
		.cache = state_of(b, o->cache),
		.kind = o->kind,
		.kernel = o->kernel,
		.dilation = o->dilation,
		.left = o->left,
		.n = o->n,
		.overlap = o->overlap,
		.map = o->map,
		.group = o->group,
		.act = o->act,
	};
	const struct gpu_blocks one = {.space = GPU_N_SPACE, .div = 1, .times = 1, .per = 1};

	memcpy(a.p, o->p, sizeof(a.p));
	if (o->kind == LMD_CONV_DEPTHWISE) {
		a.w = gpu_build_flat(b, o->w);
		a.bias = gpu_build_weight(b, o->w).bias;
	}
	if (o->cache != LMD_NONE) {
		a.cache_rows = b->plan->caches[o->cache].dk;
		a.cache_cols = b->plan->caches[o->cache].n_head * b->plan->caches[o->cache].dv;
		if (a.cache_rows > CONV_ROWS)
			gpu_build_fail(b, "a convolution that keeps %u rows; at most %u",
				       a.cache_rows, CONV_ROWS);
	}
	gpu_build_each(b, GPU_K_conv, &a, sizeof(a), &a.y, (uint64_t)a.y.n_head * a.y.width);
	if (o->cache != LMD_NONE)
		gpu_build_launch(b, GPU_K_conv_keep, &a, sizeof(a), 128, 0,
				 (struct gpu_blocks){.space = LMD_SPACE_SEQS,
						     .div = 1,
						     .times = a.cache_cols,
						     .per = 128},
				 one);
}

void gpu_lower_scan(struct gpu_build *b, const struct lmd_op *op)
{
	const struct lmd_op_scan *o = &op->u.scan;
	struct gpu_scan_args a = {
		.run = b->p->run,
		.y = gpu_build_view(b, &o->y),
		.w = {gpu_build_flat(b, o->w[0]), gpu_build_flat(b, o->w[1])},
		.cache = state_of(b, o->cache),
		.kind = o->kind,
		.n_head = o->n_head,
		.n_key_head = o->n_key_head,
		.dk = o->dk,
		.dv = o->dv,
		.key_map = o->key_map,
		.scale = o->scale,
		.gates = o->in[3].n_head * o->in[3].width == o->n_head ? 1 : o->dk,
	};
	const struct gpu_view seqs = {.space = LMD_SPACE_SEQS, .div = 1};

	for (int i = 0; i < LMD_SCAN_MAX_IN; i++)
		a.in[i] = gpu_build_view(b, &o->in[i]);
	a.work = gpu_build_temp(b, (uint64_t)b->plan->max_rows[LMD_SPACE_SEQS] * o->n_head,
				4ull * o->dk * o->dv);
	gpu_build_each(b, GPU_K_scan, &a, sizeof(a), &seqs, (uint64_t)o->n_head * o->dv);
}
