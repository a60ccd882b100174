/* SPDX-License-Identifier: MIT
 *
 * The one device, host memory, and the backend's table of functions. */
#include <stdio.h>
#include <string.h>

#include "backend/common/exact.h"
#include "group.h"
#include "kernels.h"
#include "ref.h"

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	static const struct lmd_device_info info = {
		.caps = LMD_DEV_HOST_MEMORY | LMD_DEV_IMPORT_HOST | LMD_DEV_SAMPLE,
		.name = "ref",
		.act_dtype = LMD_DTYPE_F32,
		.page_tokens = 32,
		.page_sizes = 16 + 32 + 64 + 128 + 256,
		.kv_dtype = LMD_DTYPE_F32,
	};

	(void)host;
	if (n)
		why[0] = '\0';
	if (cap)
		LMD_PUT(out, &info);
	return 1;
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	struct ref_dev *dev = state;

	if (p->index)
		return lmd_fail(err, LMD_NOTFOUND,
				"ref: device %u does not exist, there is only device 0", p->index);
	if (p->activations > LMD_ACTIVATIONS_INT16)
		return lmd_fail(err, LMD_INVALID, "ref: unknown activations %u, known are 0..%u",
				p->activations, LMD_ACTIVATIONS_INT16);
	if (p->attention > LMD_ATTENTION_HALF)
		return lmd_fail(err, LMD_INVALID, "ref: unknown attention %u, known are 0..%u",
				p->attention, LMD_ATTENTION_HALF);
	/* each row is computed alone in any case */
	if (p->deterministic && p->deterministic != LMD_DETERMINISTIC_BATCH)
		return device_exact_refuse(p, "ref", err);
	dev->host = host;
	dev->team = p->team;
	dev->n_part = p->team ? host->team_size(host->ctx, p->team) : 1;
	dev->n_q8 = p->activations == LMD_ACTIVATIONS_INT16  ? 2
		    : p->activations == LMD_ACTIVATIONS_INT8 ? 1
							      : 0;
	dev->half = p->attention == LMD_ATTENTION_HALF;
	dev->kernels = ref_kernels_select(host->cpu(host->ctx));
	return LMD_OK;
}

static void close_device(void *state)
{
	struct ref_dev *dev = state;

	lora_fini(&dev->loras, dev->host);
	dev->host->free(dev->host->ctx, dev->chained);
	dev->chained = NULL;
	dev->n_chained = 0;
}

enum lmd_status ref_chain_reserve(struct ref_dev *dev, uint32_t n, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	int32_t *more;

	if (n <= dev->n_chained)
		return LMD_OK;
	more = h->alloc(h->ctx, n * sizeof(*more));
	if (!more)
		return lmd_fail(err, LMD_NOMEM,
				"ref: no memory for the last tokens of %u sequences", n);
	for (uint32_t i = 0; i < n; i++)
		more[i] = i < dev->n_chained ? dev->chained[i] : -1;
	h->free(h->ctx, dev->chained);
	dev->chained = more;
	dev->n_chained = n;
	return LMD_OK;
}

static enum lmd_status weight_query(void *state, const struct lmd_weight_desc *d,
				    struct lmd_weight_plan *out, struct lmd_error *err)
{
	return host_mem_weight_query(((struct ref_dev *)state)->host, d, out, err);
}

static enum lmd_status weight_load(void *state, const struct lmd_weight_desc *d,
				   struct lmd_weight **out, struct lmd_error *err)
{
	return host_mem_weight_load(((struct ref_dev *)state)->host, d, out, err);
}

static void weight_destroy(void *state, struct lmd_weight *w)
{
	host_mem_weight_destroy(((struct ref_dev *)state)->host, w);
}

static enum lmd_status pool_query(void *state, const struct lmd_pool_desc *d,
				  struct lmd_pool_cost *out, struct lmd_error *err)
{
	return host_mem_pool_query(((struct ref_dev *)state)->host, d, out, err);
}

static enum lmd_status adapter_bind(void *state, const struct lmd_adapter_bind *b,
				    struct lmd_error *err)
{
	struct ref_dev *dev = state;

	return lora_bind(&dev->loras, dev->host, b, err);
}

static const char *last_error(void *state)
{
	return ((struct ref_dev *)state)->error.text;
}

const struct lmd_backend_ops ref_backend_ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.weight_query = weight_query,
	.weight_load = weight_load,
	.weight_destroy = weight_destroy,
	.pool_query = pool_query,
	.pool_create = ref_pool_create,
	.pool_op = ref_pool_op,
	.pool_destroy = ref_pool_destroy,
	.adapter_bind = adapter_bind,
	.op_support = ref_op_support,
	.plan_compile = ref_plan_compile,
	.plan_run = ref_plan_run,
	.plan_observe = ref_plan_observe,
	.plan_stats = ref_plan_stats,
	.plan_destroy = ref_plan_destroy,
	.group_create = ref_group_create,
	.group_destroy = ref_group_destroy,
	.last_error = last_error,
};
