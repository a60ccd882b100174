/* SPDX-License-Identifier: MIT
 *
 * The one device, host memory, and the backend's table of functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/common/exact.h"
#include "cpu.h"
#include "kern/amx_permit.h"
#include "kern/float.h"
#include "kern/kern.h"
#include "repack.h"

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	static const struct lmd_device_info info = {
		.caps = LMD_DEV_HOST_MEMORY | LMD_DEV_IMPORT_HOST,
		.name = "cpu",
		.act_dtype = LMD_DTYPE_F32,
		.page_tokens = CPU_PAGE_TOKENS,
		.kv_dtype = LMD_DTYPE_F16,
	};

	(void)host;
	if (n)
		why[0] = '\0';
	if (cap)
		LMD_PUT(out, &info);
	return 1;
}

static enum lmd_status make_points(struct cpu_dev *dev, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	enum lmd_status st;

	dev->points = h->alloc(h->ctx, kern_iq_tables_bytes());
	if (!dev->points)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for tables of %zu bytes",
				kern_iq_tables_bytes());
	st = kern_iq_tables_init(dev->points, h);
	if (st == LMD_OK)
		return st;
	h->free(h->ctx, dev->points);
	return lmd_fail(err, st, "cpu: the host does not decode the IQ types: %s",
			lmd_status_text(st));
}

/* Tiles are used only if somebody asks for them, as long as no processor with AMX has run their kernels. */
static enum lmd_status choose_flags(struct cpu_dev *dev, struct lmd_error *err)
{
	const char *how = getenv("LLAMAD_CPU_AMX");
	const struct lmd_host *h = dev->host;
	bool use = how && !strcmp(how, "on");
	char why[128];

	if (how && *how && !use && strcmp(how, "off") != 0)
		return lmd_fail(err, LMD_INVALID, "cpu: LLAMAD_CPU_AMX is '%s', must be on or off",
				how);
	dev->flags = kern_amx_flags(h->cpu(h->ctx)->flags, use, kern_amx_ask, why, sizeof(why));
	if (*why)
		h->log(h->ctx, "cpu", LMD_LOG_WARN,
		       "LLAMAD_CPU_AMX is on, but %s: products without tiles", why);
	return LMD_OK;
}

/* Weights in bf16 are multiplied in bf16 where 8 bits are enough for block types. */
static enum lmd_status choose_bf16(struct cpu_dev *dev, struct lmd_error *err)
{
	const char *how = getenv("LLAMAD_CPU_BF16");

	if (dev->n_q8 != 1 || dev->exact || (how && !strcmp(how, "off")))
		return LMD_OK;
	if (!how || !*how || !strcmp(how, "auto"))
		dev->bf16 = kern_bf16_find(dev->flags);
	else if (!strcmp(how, "on"))
		dev->bf16 = kern_linear_find(LMD_DTYPE_BF16, KERN_ACT_BF16, dev->flags);
	else
		return lmd_fail(err, LMD_INVALID,
				"cpu: LLAMAD_CPU_BF16 is '%s', must be auto, on or off", how);
	return LMD_OK;
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	enum lmd_status st;

	if (p->index)
		return lmd_fail(err, LMD_NOTFOUND,
				"cpu: device %u does not exist, there is only device 0", p->index);
	if (p->activations > LMD_ACTIVATIONS_INT16)
		return lmd_fail(err, LMD_INVALID, "cpu: unknown activations %u, known are 0..%u",
				p->activations, LMD_ACTIVATIONS_INT16);
	if (p->attention > LMD_ATTENTION_HALF)
		return lmd_fail(err, LMD_INVALID, "cpu: unknown attention %u, known are 0..%d",
				p->attention, LMD_ATTENTION_HALF);
	st = device_exact_open(p, "cpu", err);
	if (st != LMD_OK)
		return st;
	dev->exact = p->deterministic == LMD_DETERMINISTIC_EXACT;
	dev->host = host;
	dev->team = p->team;
	dev->n_part = p->team ? host->team_size(host->ctx, p->team) : 1;
	dev->n_q8 = p->activations == LMD_ACTIVATIONS_INT16 ? 2
		    : p->activations == LMD_ACTIVATIONS_F32 ? 0
							     : 1;
	dev->half = p->attention == LMD_ATTENTION_HALF;
	st = choose_flags(dev, err);
	if (st != LMD_OK)
		return st;
	dev->fl = dev->exact ? &cpu_float_exact : cpu_float_select(dev->flags);
	dev->act = kern_act_find(dev->flags);
	st = choose_bf16(dev, err);
	if (st == LMD_OK)
		st = cpu_repack_open(dev, err);
	if (st == LMD_OK)
		st = make_points(dev, err);
	if (st != LMD_OK)
		cpu_repack_close(dev);
	return st;
}

static void close_device(void *state)
{
	struct cpu_dev *dev = state;

	lora_fini(&dev->loras, dev->host);
	cpu_repack_close(dev);
	dev->host->free(dev->host->ctx, dev->points);
}

static enum lmd_status weight_query(void *state, const struct lmd_weight_desc *d,
				    struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	enum lmd_status st = host_mem_weight_query(dev->host, d, out, err);
	bool stored = st == LMD_OK && cpu_repack_is_stored(dev, d);
	uint64_t bytes = st == LMD_OK && !stored ? cpu_repack_bytes(dev, d) : 0;

	if (stored || bytes) {
		out->placement = LMD_PLACE_REPACK;
		out->layout = CPU_REPACK_LAYOUT;
		out->bytes = bytes;
	}
	return st;
}

static enum lmd_status weight_load(void *state, const struct lmd_weight_desc *d,
				   struct lmd_weight **out, struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	enum lmd_status st = host_mem_weight_load(h, d, out, err);

	if (st != LMD_OK)
		return st;
	(*out)->lin_f32 = kern_linear_find((*out)->dtype, KERN_ACT_F32, dev->flags);
	(*out)->lin_q8 = kern_linear_find((*out)->dtype, KERN_ACT_Q8, dev->flags);
	st = cpu_repack_create(dev, d, *out, err);
	if (st != LMD_OK)
		host_mem_weight_destroy(h, *out);
	return st;
}

static enum lmd_status weight_export(void *state, const struct lmd_weight *w, void *out, size_t cap,
				     size_t *n)
{
	(void)state;
	return cpu_repack_export(w, out, cap, n);
}

static void weight_destroy(void *state, struct lmd_weight *w)
{
	struct cpu_dev *dev = state;

	cpu_repack_destroy(dev, w);
	host_mem_weight_destroy(dev->host, w);
}

static enum lmd_status pool_query(void *state, const struct lmd_pool_desc *d,
				  struct lmd_pool_cost *out, struct lmd_error *err)
{
	return host_mem_pool_query(((struct cpu_dev *)state)->host, d, out, err);
}

static enum lmd_status adapter_bind(void *state, const struct lmd_adapter_bind *b,
				    struct lmd_error *err)
{
	struct cpu_dev *dev = state;

	return lora_bind(&dev->loras, dev->host, b, err);
}

static const char *last_error(void *state)
{
	return ((struct cpu_dev *)state)->error.text;
}

const struct lmd_backend_ops cpu_backend_ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.weight_query = weight_query,
	.weight_load = weight_load,
	.weight_export = weight_export,
	.weight_destroy = weight_destroy,
	.pool_query = pool_query,
	.pool_create = cpu_pool_create,
	.pool_op = cpu_pool_op,
	.pool_destroy = cpu_pool_destroy,
	.adapter_bind = adapter_bind,
	.op_support = cpu_op_support,
	.plan_compile = cpu_plan_compile,
	.plan_run = cpu_plan_run,
	.plan_observe = cpu_plan_observe,
	.plan_stats = cpu_plan_stats,
	.plan_destroy = cpu_plan_destroy,
	.last_error = last_error,
};
