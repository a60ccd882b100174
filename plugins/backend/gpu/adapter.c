/* SPDX-License-Identifier: MIT
 *
 * Adapters: for each site a table on the device, by slot, which plans name; so adapters can be
 * bound after a plan was compiled. */
#include <string.h>

#include "gpu.h"

struct gpu_site {
	struct device_site base;
	gpu_ptr table;
	struct gpu_adapter slots[GPU_N_SLOT];
};

static enum lmd_status make(void *state, struct device_site *base, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct gpu_site *s = (struct gpu_site *)base;
	enum lmd_status st = gpu_alloc(dev, sizeof(s->slots), "adapters", &s->table, err);

	if (st == LMD_OK)
		st = gpu_upload(dev, s->table, s->slots, sizeof(s->slots), err);
	if (st != LMD_OK)
		gpu_free(dev, s->table);
	return st;
}

static enum lmd_status find(struct gpu_dev *dev, uint32_t site, struct gpu_site **out,
			    struct lmd_error *err)
{
	struct device_site *s = NULL;
	enum lmd_status st = device_site_get(&dev->sites, site, sizeof(**out), make, dev, dev->host,
					     dev->vendor->name, &s, err);

	*out = (struct gpu_site *)s;
	return st;
}

enum lmd_status gpu_adapter_table(struct gpu_dev *dev, uint32_t site, gpu_ptr *out,
				  struct lmd_error *err)
{
	struct gpu_site *s = NULL;
	enum lmd_status st = find(dev, site, &s, err);

	*out = s ? s->table : 0;
	return st;
}

static void unbind(struct gpu_dev *dev, struct gpu_adapter *a)
{
	gpu_free(dev, a->a);
	gpu_free(dev, a->b);
	gpu_free(dev, a->gain);
	*a = (struct gpu_adapter){0};
}

/* Allocates memory for a part of an adapter and fills it. */
static enum lmd_status put(struct gpu_dev *dev, const float *from, uint64_t bytes, gpu_ptr *out,
			   struct lmd_error *err)
{
	enum lmd_status st = gpu_alloc(dev, bytes, "an adapter", out, err);

	return st == LMD_OK ? gpu_upload(dev, *out, from, bytes, err) : st;
}

static enum lmd_status bind(struct gpu_dev *dev, const struct lmd_adapter_bind *b,
			    struct gpu_adapter *a, struct lmd_error *err)
{
	uint64_t stack = b->n_stack ? b->n_stack : 1;
	uint64_t a_bytes = 4 * stack * b->rank * b->k,
		 b_bytes = 4 * stack * b->n * (b->rank ? b->rank : 1);
	const float *gain = LMD_HAS(b, gain) ? b->gain : NULL;
	enum lmd_status st = put(dev, b->a, a_bytes, &a->a, err);

	if (st == LMD_OK)
		st = put(dev, b->b, b_bytes, &a->b, err);
	if (st == LMD_OK && gain)
		st = put(dev, gain, 4 * stack * b->n, &a->gain, err);
	a->rank = b->rank;
	a->n = b->n;
	a->k = b->k;
	a->n_stack = b->n_stack;
	a->scale = b->scale;
	if (st != LMD_OK)
		unbind(dev, a);
	return st;
}

enum lmd_status gpu_adapter_bind(void *state, const struct lmd_adapter_bind *b,
				 struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct gpu_site *s = NULL;
	struct lmd_error later = {.text = ""};
	enum lmd_status st = gpu_enter(dev, err), up;

	if (st == LMD_OK && (!b->slot || b->slot >= GPU_N_SLOT))
		st = lmd_fail(err, LMD_INVALID, "%s: adapter slot %u, 1..%u are there",
			      dev->vendor->name, b->slot, GPU_N_SLOT - 1);
	if (st == LMD_OK && b->rank > GPU_MAX_RANK)
		st = lmd_fail(err, LMD_UNSUPPORTED, "%s: an adapter of rank %u, at most %u",
			      dev->vendor->name, b->rank, GPU_MAX_RANK);
	if (st == LMD_OK)
		st = find(dev, b->site, &s, err);
	if (st != LMD_OK)
		return st;
	unbind(dev, &s->slots[b->slot]);
	if (b->b)
		st = bind(dev, b, &s->slots[b->slot], err);
	up = gpu_upload(dev, s->table + b->slot * sizeof(s->slots[0]), &s->slots[b->slot],
			sizeof(s->slots[0]), &later);
	return st != LMD_OK || up == LMD_OK ? st : lmd_fail(err, up, "%s", later.text);
}

void gpu_adapter_fini(struct gpu_dev *dev)
{
	while (dev->sites) {
		struct gpu_site *s = (struct gpu_site *)dev->sites;

		dev->sites = s->base.next;
		for (uint32_t i = 0; i < GPU_N_SLOT; i++)
			unbind(dev, &s->slots[i]);
		gpu_free(dev, s->table);
		dev->host->free(dev->host->ctx, s);
	}
}
