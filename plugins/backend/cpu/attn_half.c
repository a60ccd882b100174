/* SPDX-License-Identifier: MIT
 *
 * Attention in half precision, key by key, as some other programs compute it.  It serves
 * comparisons with them and is not optimised. */
#include <string.h>

#include "attn.h"

static void round_half(const struct attn *a, float *v, uint32_t n)
{
	uint16_t half[ATTN_TILE];

	for (uint32_t i = 0; i < n; i += ATTN_TILE) {
		uint32_t some = n - i < ATTN_TILE ? n - i : ATTN_TILE;

		a->r->dev->fl->f16_from(v + i, half, some);
		a->r->dev->fl->f16_to(half, v + i, some);
	}
}

void attn_half_init(const struct attn *a, struct attn_f16 *h)
{
	bool sink = a->op->sinks != LMD_NONE;

	memset(h->o, 0, a->dv * sizeof(*h->o));
	h->m = sink ? a->r->compiled_plan->host_mem.weights[a->op->sinks]->flat[h->head]
		    : -INFINITY;
	h->l = sink ? 1 : 0;
}

/* Computes the scores of positions [first, first + n), which lie in one tile. */
static void scores(const struct attn *a, const struct attn_keys *keys, uint32_t n_step,
		   const struct attn_f16 *h, uint32_t first, uint32_t n, float *s)
{
	float *q = a->kt, *k = a->kt + a->dk;
	const float *from = host_mem_f32(&a->q, h->row, h->head, q);

	if (from != q)
		memcpy(q, from, a->dk * sizeof(*q));
	round_half(a, q, a->dk);
	for (uint32_t j = 0; j < n; j++) {
		from = attn_key_row(a, keys, first + j, k);
		if (from != k)
			memcpy(k, from, a->dk * sizeof(*k));
		round_half(a, k, a->dk);
		s[j] = a->op->scale * a->r->dev->fl->dot(q, k, a->dk);
	}
	attn_bias(a, keys, h->row, h->head, s, first, first, first + n);
	if (n_step)
		attn_mask_tree(a, h->row, n_step, s, first, n);
}

void attn_half_add(const struct attn *a, const struct attn_keys *keys, uint32_t n_step,
		   struct attn_f16 *h)
{
	float s[ATTN_TILE], *v = a->vt;

	for (uint32_t first = (uint32_t)keys->lo; (int64_t)first < keys->hi; first += ATTN_TILE) {
		uint32_t n = (uint32_t)keys->hi - first < ATTN_TILE ? (uint32_t)keys->hi - first
								    : ATTN_TILE;

		scores(a, keys, n_step, h, first, n, s);
		for (uint32_t j = 0; j < n; j++) {
			const float *from = attn_value_row(a, keys, first + j, v);
			float keep = 1, w = 1;

			if (from != v)
				memcpy(v, from, a->dv * sizeof(*v));
			round_half(a, v, a->dv);
			if (s[j] > h->m) {
				keep = expf(h->m - s[j]);
				h->m = s[j];
				for (uint32_t c = 0; c < a->dv; c++)
					h->o[c] *= keep;
				round_half(a, h->o, a->dv);
			} else {
				w = s[j] > -INFINITY ? expf(s[j] - h->m) : 0;
			}
			for (uint32_t c = 0; c < a->dv; c++)
				h->o[c] = fmaf(v[c], w, h->o[c]);
			round_half(a, h->o, a->dv);
			h->l = h->l * keep + w;
		}
	}
}
