/* SPDX-License-Identifier: MIT */
#include "core/quant_search/simd_search_impl.h"

void lmi_search_simd_load(const struct lmi_search_simd_groups_ops *v,
			  struct lmi_search_simd_batch *b, const float *src, const float *w,
			  int n_group, int group)
{
	b->n = group;
	b->weighted = w != NULL;
	v->transpose(src, n_group, group, b->x);
	if (w)
		v->transpose(w, n_group, group, b->w);
}

struct lmi_search_levels lmi_search_simd_levels(const struct lmi_search_superblock_shape *k)
{
	struct lmi_search_levels l = {.lo = (float)k->q_lo, .hi = (float)k->q_hi};

	if (!k->book)
		return l;
	l.is_book = true;
	l.lo = k->book[0];
	l.hi = k->book[15];
	l.value0 = k->book[0];
	for (int i = 0; i < 15; i++) {
		l.mid[i] = 0.5f * (float)(k->book[i] + k->book[i + 1]);
		l.step[i] = (float)(k->book[i + 1] - k->book[i]);
	}
	return l;
}
