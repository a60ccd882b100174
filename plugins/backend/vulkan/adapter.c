/* SPDX-License-Identifier: MIT
 *
 * Adapters: for each site a table on the device, by slot, which compiled plans name; so adapters can
 * be bound after a plan was compiled. */
#include "plan.h"

/* An adapter as in shaders/adapter.glsl; b 0 = none. */
struct entry {
	uint32_t a[2], b[2];     /* addresses: f32 [n_stack][rank][k], [n_stack][n][rank] */
	uint32_t rank, n, k, n_stack;
	float scale;
	uint32_t gain[2]; /* address: f32 [n_stack][n]; 0 = 1 */
	uint32_t reserved;
};
_Static_assert(sizeof(struct entry) == 4 * VKB_ADAPTER_WORDS, "as in shaders/adapter.glsl");

struct bound {
	struct bound *next;
	uint32_t slot;
	struct vkb_mem a, b, gain;
	struct entry entry;
};

struct vkb_site {
	struct device_site base;
	struct vkb_mem table;    /* struct entry [VKB_N_SLOT] */
	struct bound *bound;
};

static enum lmd_status make(void *state, struct device_site *base, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_site *s = (struct vkb_site *)base;
	uint64_t bytes = VKB_N_SLOT * sizeof(struct entry);
	enum lmd_status st = vkb_alloc(dev, VKB_DEVICE, bytes, &s->table, err);
	struct vkb_batch b;

	if (st == LMD_OK)
		st = vkb_begin(dev, NULL, &b, err);
	if (st == LMD_OK) {
		dev->fn.CmdFillBuffer(b.cmd, s->table.buffer, s->table.offset, bytes, 0);
		st = vkb_submit(&b, NULL, NULL, err);
	}
	if (st != LMD_OK)
		vkb_free(dev, &s->table);
	return st;
}

static enum lmd_status find(struct vkb_dev *dev, uint32_t site, struct vkb_site **out,
			    struct lmd_error *err)
{
	struct device_site *s = NULL;
	enum lmd_status st = device_site_get(&dev->sites, site, sizeof(**out), make, dev, dev->host,
					     "vulkan", &s, err);

	*out = (struct vkb_site *)s;
	return st;
}

enum lmd_status vkb_site_table(struct vkb_dev *dev, uint32_t site, VkDeviceAddress *out,
			       struct lmd_error *err)
{
	struct vkb_site *s = NULL;
	enum lmd_status st = find(dev, site, &s, err);

	*out = s ? s->table.address : 0;
	return st;
}

enum lmd_status vkb_site_check(const struct vkb_dev *dev, uint32_t slot, uint32_t site, uint32_t n,
			       uint32_t k, uint32_t n_stack, struct lmd_error *err)
{
	const struct vkb_site *s = (struct vkb_site *)device_site_find(dev->sites, site);
	const struct bound *x;
	const struct entry *e;

	x = s ? s->bound : NULL;
	while (x && x->slot != slot)
		x = x->next;
	if (!x)
		return LMD_OK;
	e = &x->entry;
	if (e->n == n && (!e->rank || e->k == k) && (e->n_stack == 1 || e->n_stack == n_stack))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"vulkan: adapter slot %u, site %u: shape [%u, %u, %u], the weight has "
			"[%u, %u, %u]",
			slot, site, e->n_stack, e->n, e->k, n_stack, n, k);
}

/* ---- binding ---- */

static enum lmd_status bring(struct vkb_dev *dev, const float *from, uint64_t n, struct vkb_mem *to,
			     struct lmd_error *err)
{
	enum lmd_status st = vkb_alloc(dev, VKB_DEVICE, 4 * n, to, err);
	struct vkb_batch b;

	if (st == LMD_OK)
		st = vkb_begin(dev, NULL, &b, err);
	if (st != LMD_OK)
		return st;
	st = vkb_upload(&b, to, 0, from, 4 * n, err);
	if (st == LMD_OK)
		return vkb_submit(&b, NULL, NULL, err);
	vkb_abandon(&b);
	return st;
}

static enum lmd_status bind(struct vkb_dev *dev, const struct lmd_adapter_bind *b, struct bound **out,
			    struct lmd_error *err)
{
	uint32_t stack = b->n_stack ? b->n_stack : 1;
	const float *gain = LMD_HAS(b, gain) ? b->gain : NULL;
	uint64_t a_n, b_n;
	struct bound *x;
	enum lmd_status st = LMD_OK;

	if (__builtin_mul_overflow((uint64_t)stack * b->rank, b->k, &a_n) ||
	    __builtin_mul_overflow((uint64_t)stack * (b->rank ? b->rank : 1), b->n, &b_n) ||
	    a_n > UINT32_MAX || b_n > UINT32_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"vulkan: adapter slot %u, site %u: rank %u of [%u, %u] in %u slices is "
				"too large",
				b->slot, b->site, b->rank, b->n, b->k, stack);
	x = *out = dev->host->alloc(dev->host->ctx, sizeof(*x));
	if (!x)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for an adapter");
	x->slot = b->slot;
	if (b->rank)
		st = bring(dev, b->a, a_n, &x->a, err);
	if (st == LMD_OK)
		st = bring(dev, b->b, b_n, &x->b, err);
	if (st == LMD_OK && gain)
		st = bring(dev, gain, (uint64_t)stack * b->n, &x->gain, err);
	x->entry = (struct entry){
		.a = {(uint32_t)x->a.address, (uint32_t)(x->a.address >> 32)},
		.b = {(uint32_t)x->b.address, (uint32_t)(x->b.address >> 32)},
		.rank = b->rank,
		.n = b->n,
		.k = b->k,
		.n_stack = stack,
		.scale = b->scale,
		.gain = {(uint32_t)x->gain.address, (uint32_t)(x->gain.address >> 32)},
	};
	return st;
}

static void drop(struct vkb_dev *dev, struct bound *x)
{
	if (!x)
		return;
	vkb_free(dev, &x->a);
	vkb_free(dev, &x->b);
	vkb_free(dev, &x->gain);
	dev->host->free(dev->host->ctx, x);
}

/* Takes the adapter of a slot out of the list; NULL: there is none. */
static struct bound *take(struct vkb_site *s, uint32_t slot)
{
	struct bound **at = &s->bound, *x;

	while (*at && (*at)->slot != slot)
		at = &(*at)->next;
	x = *at;
	if (x)
		*at = x->next;
	return x;
}

static enum lmd_status put_entry(struct vkb_dev *dev, struct vkb_site *s, uint32_t slot,
				 const struct entry *e, struct lmd_error *err)
{
	struct vkb_batch b;
	enum lmd_status st = vkb_begin(dev, NULL, &b, err);

	if (st != LMD_OK)
		return st;
	dev->fn.CmdUpdateBuffer(b.cmd, s->table.buffer, s->table.offset + slot * sizeof(*e),
				sizeof(*e), e);
	return vkb_submit(&b, NULL, NULL, err);
}

/* The old adapter is freed when the device has the new entry, so no step in flight reads it. */
enum lmd_status vkb_adapter_bind(void *state, const struct lmd_adapter_bind *b,
				 struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	static const struct entry none;
	struct vkb_site *s = NULL;
	struct bound *x = NULL;
	enum lmd_status st = vkb_alive(dev, err);

	if (st == LMD_OK && (!b->slot || b->slot >= VKB_N_SLOT))
		st = lmd_fail(err, LMD_INVALID, "vulkan: adapter slot %u, allowed are 1..%u", b->slot,
			      VKB_N_SLOT - 1);
	if (st == LMD_OK && b->b && (!b->n || (b->rank && (!b->k || !b->a))))
		st = lmd_fail(err, LMD_INVALID,
			      "vulkan: adapter slot %u, site %u: shape [%u, %u] of rank %u",
			      b->slot, b->site, b->n, b->k, b->rank);
	if (st == LMD_OK)
		st = find(dev, b->site, &s, err);
	if (st == LMD_OK && b->b)
		st = bind(dev, b, &x, err);
	if (st == LMD_OK)
		st = put_entry(dev, s, b->slot, x ? &x->entry : &none, err);
	if (st != LMD_OK) {
		drop(dev, x);
		return st;
	}
	drop(dev, take(s, b->slot));
	if (x) {
		x->next = s->bound;
		s->bound = x;
	}
	return LMD_OK;
}

void vkb_sites_close(struct vkb_dev *dev)
{
	while (dev->sites) {
		struct vkb_site *s = (struct vkb_site *)dev->sites;

		dev->sites = s->base.next;
		while (s->bound)
			drop(dev, take(s, s->bound->slot));
		vkb_free(dev, &s->table);
		dev->host->free(dev->host->ctx, s);
	}
}
