/* SPDX-License-Identifier: MIT
 *
 * Rows times weights in float; see product.h.  An output is one dot product of K terms in eight
 * lanes, whatever else is computed beside it. */
#include "product.h"

#include <string.h>

#include "backend/common/int8_types.h"
#include "kernels.h"

static uint64_t blocks(uint32_t k)
{
	return (k + 31) / 32;
}

void ref_x_need(struct ref_build *b, uint64_t n, uint32_t k)
{
	host_mem_need(&b->host_mem.shared_bytes, n, sizeof(float *));
	host_mem_need(&b->host_mem.shared_bytes, n, k * sizeof(float));
	if (b->dev->n_q8) {
		host_mem_need(&b->host_mem.shared_bytes, n * b->dev->n_q8, blocks(k) * 32);
		host_mem_need(&b->host_mem.shared_bytes, n * b->dev->n_q8,
			      blocks(k) * sizeof(float));
	}
}

struct ref_x ref_x_take(const struct ref_run *r, char **cursor, uint64_t n, uint32_t k)
{
	struct ref_x x = {.k = k, .n_q8 = r->dev->n_q8};

	x.row = host_mem_take(cursor, n, sizeof(float *));
	x.copy = host_mem_take(cursor, n, k * sizeof(float));
	if (x.n_q8) {
		x.q = host_mem_take(cursor, n * x.n_q8, blocks(k) * 32);
		x.d = host_mem_take(cursor, n * x.n_q8, blocks(k) * sizeof(float));
	}
	return x;
}

static void quantise(const struct ref_x *x, uint64_t i)
{
	if (x->q)
		ref_int8_quantise(x->row[i], x->k, x->n_q8,
				  x->q + i * x->n_q8 * blocks(x->k) * 32,
				  x->d + i * x->n_q8 * blocks(x->k));
}

void ref_x_set(const struct ref_x *x, uint64_t i, const struct host_mem_view *v, uint32_t row,
	       uint32_t head, const struct ref_norm *n)
{
	float *own = x->copy + i * x->k;

	x->row[i] = host_mem_f32(v, row, head, own);
	if (n && n->n->kind != LMD_NORM_NONE) {
		ref_norm_row(n, row, head, x->row[i], own, x->k, NULL);
		x->row[i] = own;
	}
	quantise(x, i);
}

void ref_x_own(const struct ref_x *x, uint64_t i)
{
	x->row[i] = x->copy + i * x->k;
	quantise(x, i);
}

void ref_product_need(struct ref_build *b, const struct lmd_weight *w)
{
	uint64_t bytes = 0;

	host_mem_need(&bytes, REF_TILE, w->k * sizeof(float));
	if (b->dev->n_q8 && bytes < ref_int8_bytes(w->k))
		bytes = ref_int8_bytes(w->k);
	if (b->host_mem.part_bytes < bytes)
		b->host_mem.part_bytes = bytes;
}

void ref_product(const struct ref_run *r, const struct ref_x *x, const struct ref_items *items,
		 const struct lmd_weight *w, uint64_t lo, uint64_t hi, char *scratch,
		 ref_emit_fn emit, void *arg)
{
	const struct ref_kernels *k = r->dev->kernels;
	float *tile = (float *)(void *)scratch;

	if (!items->count)
		return;
	if (x->q && host_mem_int8_type(w->dtype)) {
		ref_int8_product(r, x, items, w, lo, hi, scratch, emit, arg);
		return;
	}
	for (uint64_t n = lo; n < hi; n += REF_TILE) {
		uint32_t count = hi - n < REF_TILE ? (uint32_t)(hi - n) : REF_TILE;
		const float *wr[REF_TILE];

		for (uint32_t j = 0; j < REF_TILE; j++)
			wr[j] = j < count ? host_mem_weight_row(r->host_mem.host, w,
								(uint32_t)((n + j) / w->n),
								(uint32_t)((n + j) % w->n),
								tile + (size_t)j * w->k)
					  : wr[0];
		for (uint32_t i = 0; i < items->count; i += 2) {
			uint32_t a = ref_item(items, i);
			uint32_t b = i + 1 < items->count ? ref_item(items, i + 1) : a;
			const float *xr[2] = {x->row[a / items->div], x->row[b / items->div]};
			float out[2][REF_TILE];

			for (uint32_t j = 0; j < count; j += 4) {
				float four[2][4];

				k->dot4x2(wr + j, xr, w->k, four);
				memcpy(out[0] + j, four[0], sizeof(four[0]));
				memcpy(out[1] + j, four[1], sizeof(four[1]));
			}
			emit(arg, a, (uint32_t)n, count, out[0]);
			if (i + 1 < items->count)
				emit(arg, b, (uint32_t)n, count, out[1]);
		}
	}
}

void ref_tiles(const struct host_mem_part *p, uint64_t n, uint64_t *lo, uint64_t *hi)
{
	host_mem_slice(p, (n + REF_TILE - 1) / REF_TILE, lo, hi);
	*lo *= REF_TILE;
	*hi = *hi * REF_TILE < n ? *hi * REF_TILE : n;
}

void ref_lora_row(const struct ref_run *r, uint32_t site, uint32_t slot, uint32_t slice,
		  const float *x, uint32_t n, float *delta)
{
	const struct ref_kernels *kernels = r->dev->kernels;
	const struct lora *ad = slot ? lora_find(&r->dev->loras, slot, site) : NULL;
	size_t s = ad && ad->n_stack > 1 ? slice : 0;
	const float *b;
	float ax[64];

	memset(delta, 0, n * sizeof(*delta));
	lora_gain(ad, slice, n, delta + n);
	if (!ad)
		return;
	b = ad->b + s * ad->n * (ad->rank ? ad->rank : 1);
	for (uint32_t i = 0; !ad->rank && i < n; i++)
		delta[i] = ad->scale * b[i];
	for (uint32_t r0 = 0; r0 < ad->rank; r0 += (uint32_t)LMD_LEN(ax)) {
		uint32_t some = ad->rank - r0 < LMD_LEN(ax) ? ad->rank - r0 : (uint32_t)LMD_LEN(ax);

		for (uint32_t j = 0; j < some; j++)
			ax[j] = kernels->dot(ad->a + (s * ad->rank + r0 + j) * ad->k, x, ad->k);
		for (uint32_t i = 0; i < n; i++)
			delta[i] +=
				ad->scale * kernels->dot(b + (size_t)i * ad->rank + r0, ax, some);
	}
}
