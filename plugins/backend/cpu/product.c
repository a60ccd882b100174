/* SPDX-License-Identifier: MIT
 *
 * Prepared rows, products and adapters; see product.h. */
#include "product.h"

#include <string.h>

#include "kern/float.h"
#include "repack.h"

/* Without a `place` callback, and with 16-bit activations, outputs are computed in tiles of this
 * many items and rows. */
#define TILE_ITEMS 64u
#define TILE_ROWS  128u
/* Smallest number of items in a list, and smallest number of chunks for each part. */
#define LIST_ITEMS 32u
#define CHUNKS     8u
/* Largest number of output rows in a chunk of few items. */
#define MOST_ROWS 1024u

/* ---- prepared rows ---- */

const struct kern_linear *cpu_kernel_of(const struct cpu_dev *dev, const struct lmd_weight *w)
{
	if (dev->n_q8 && w->lin_q8)
		return w->lin_q8;
	return dev->bf16 && w->dtype == LMD_DTYPE_BF16 ? dev->bf16 : w->lin_f32;
}

struct cpu_forms cpu_forms_of(const struct cpu_dev *dev, const struct lmd_weight *const *w,
			      uint32_t n)
{
	struct cpu_forms forms = {0};

	for (uint32_t i = 0; i < n; i++) {
		enum kern_act_kind act = w[i] ? cpu_kernel_of(dev, w[i])->act : KERN_ACT_F32;

		forms.n_q8 = act == KERN_ACT_Q8 ? dev->n_q8 : forms.n_q8;
		forms.bf16 |= act == KERN_ACT_BF16;
	}
	return forms;
}

struct cpu_forms cpu_forms_all(const struct cpu_dev *dev)
{
	return (struct cpu_forms){.n_q8 = dev->n_q8, .bf16 = dev->bf16 != NULL};
}

void cpu_x_need(uint64_t *bytes, uint64_t n, uint32_t k, struct cpu_forms forms)
{
	host_mem_need(bytes, n, k * sizeof(float));
	host_mem_need(bytes, n, sizeof(void *));
	host_mem_need(bytes, n * forms.n_q8, KERN_Q8_BYTES(k));
	host_mem_need(bytes, forms.bf16 ? n : 0, KERN_BF16_BYTES(k));
}

struct cpu_x cpu_x_take(char **cursor, uint64_t n, uint32_t k, struct cpu_forms forms)
{
	struct cpu_x x = {.n = (uint32_t)n, .k = k, .n_q8 = forms.n_q8};

	x.f = host_mem_take(cursor, n, k * sizeof(float));
	x.row = host_mem_take(cursor, n, sizeof(void *));
	if (forms.n_q8)
		x.q = host_mem_take(cursor, n * forms.n_q8, KERN_Q8_BYTES(k));
	if (forms.bf16)
		x.bf16 = host_mem_take(cursor, n, KERN_BF16_BYTES(k));
	return x;
}

/* Row i of x as the first of its n_q8 rows of 8 bits. */
static char *q8_row(const struct cpu_x *x, uint64_t i)
{
	return x->q + i * x->n_q8 * KERN_Q8_BYTES(x->k);
}

static char *bf16_row(const struct cpu_x *x, uint64_t i)
{
	return x->bf16 + i * KERN_BF16_BYTES(x->k);
}

static void round_row(const struct cpu_run *r, const struct cpu_x *x, uint64_t i)
{
	if (x->n_q8)
		r->dev->act->row(x->row[i], x->k, x->n_q8, q8_row(x, i));
	if (x->bf16)
		r->dev->bf16->prepare(x->row[i], x->k, bf16_row(x, i));
}

void cpu_x_own(const struct cpu_run *r, const struct cpu_x *x, uint64_t i)
{
	x->row[i] = x->f + i * x->k;
	round_row(r, x, i);
}

void cpu_x_set(const struct cpu_run *r, const struct cpu_x *x, uint64_t i,
	       const struct host_mem_view *v, uint32_t row, uint32_t head, const struct cpu_norm *n)
{
	float *own = x->f + i * x->k;
	const float *from = host_mem_f32(v, row, head, own);

	if (n && n->n->kind != LMD_NORM_NONE) {
		cpu_norm_row(r, n, row, head, from, own, x->k, NULL);
		from = own;
	}
	x->row[i] = from;
	round_row(r, x, i);
}

/* ---- products ---- */

void cpu_product_need(struct cpu_build *b, uint64_t *bytes, const struct lmd_weight *w,
		      uint64_t n_item)
{
	const uint32_t n_row = b->dev->n_q8 ? b->dev->n_q8 : 1; /* for each item */
	size_t kern = w->lin_f32->scratch_bytes(w->k);

	if (b->dev->n_q8 && w->lin_q8 && w->lin_q8->scratch_bytes(w->k) > kern)
		kern = w->lin_q8->scratch_bytes(w->k);
	host_mem_need(bytes, n_item * n_row, sizeof(void *));
	host_mem_need(bytes, n_item * n_row, sizeof(void *));
	host_mem_need(bytes, TILE_ITEMS * n_row, TILE_ROWS * sizeof(float));
	host_mem_need(bytes, 1, kern);
}

struct scratch {
	const void **x;
	float **y;
	float *tile;
	void *kern;
};

/* `packed` if the rows are repacked, else NULL.  n_row: rows that it multiplies for each item. */
struct kernel {
	const struct kern_linear *lin;
	const struct kern_packed *packed;
	uint32_t n_row;
};

/* Multiplies rows [lo, lo + n) of a slice, which are contiguous, for items [first, first + count)
 * of the list.  With 16 bits, the second rows of all items follow the first ones. */
static void piece(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		  uint32_t first, uint32_t count, const struct kernel *kern, struct kern_product p,
		  uint32_t slice, uint32_t lo, const struct scratch *s,
		  const struct cpu_emit *emit)
{
	uint32_t n = p.n_row;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t item = cpu_item(items, first + i), row = item / items->div;

		s->x[i] = kern->lin->act == KERN_ACT_Q8	    ? q8_row(x, row)
			  : kern->lin->act == KERN_ACT_BF16 ? bf16_row(x, row)
							    : x->row[row];
		s->y[i] = emit->place ? emit->place(emit->arg, item, slice, lo, n)
				      : s->tile + (size_t)i * TILE_ROWS;
		if (kern->n_row > 1) {
			s->x[count + i] = q8_row(x, row) + KERN_Q8_BYTES(x->k);
			s->y[count + i] = s->tile + (size_t)(TILE_ITEMS + i) * TILE_ROWS;
		}
	}
	p.n_col = count * kern->n_row;
	if (kern->packed)
		kern->packed->run(kern->packed, &p);
	else
		kern->lin->run(kern->lin, &p);
	for (uint32_t i = 0; i < count; i++) {
		if (kern->n_row > 1)
			r->dev->fl->madd(s->y[i], s->y[i], 1.0f, s->y[count + i], n);
		emit->done(emit->arg, cpu_item(items, first + i), slice, lo, n, s->y[i]);
	}
}

/* Finds rows [lo, lo + p->n_row) of a slice for n_col rows of x: repacked if that is faster and
 * they are or can be, else in the file.  Lowers p->n_row to those that are contiguous. */
static const struct kern_packed *find_rows(const struct lmd_weight *w, const struct kern_linear *lin,
					   uint32_t n_col, uint32_t slice, uint32_t lo,
					   struct kern_product *p)
{
	if (lin->act == KERN_ACT_Q8 && w->packed && n_col <= cpu_repack_kernel(w)->most) {
		p->w = cpu_repack_rows(w, slice, lo, lo + p->n_row, &p->w_stride);
		if (p->w)
			return cpu_repack_kernel(w);
	}
	p->w = host_mem_weight_rows(w, slice, lo, &p->n_row, &p->w_stride);
	return NULL;
}

static void product(const struct cpu_run *r, const struct kern_linear *lin, const struct cpu_x *x,
		    const struct cpu_items *items, const struct lmd_weight *w,
		    const struct cpu_rows *rows, char *scratch, const struct cpu_emit *emit)
{
	struct kernel kern = {.lin = lin, .n_row = lin->act == KERN_ACT_Q8 ? x->n_q8 : 1};
	bool tiles = !emit->place || kern.n_row > 1;
	uint32_t step = !tiles || items->count < TILE_ITEMS ? items->count : TILE_ITEMS;
	uint32_t most = tiles ? TILE_ROWS : UINT32_MAX, lo = rows->lo;
	uint32_t n_col = items->count * kern.n_row;
	struct kern_product p = {.host = r->dev->host, .points = r->dev->points, .k = w->k};
	struct scratch s;

	s.x = host_mem_take(&scratch, n_col, sizeof(void *));
	s.y = host_mem_take(&scratch, n_col, sizeof(void *));
	s.tile = host_mem_take(&scratch, TILE_ITEMS * kern.n_row, TILE_ROWS * sizeof(float));
	s.kern = scratch;
	p.x = s.x;
	p.y = s.y;
	p.scratch = s.kern;
	while (items->count && lo < rows->hi) {
		p.n_row = rows->hi - lo < most ? rows->hi - lo : most;
		kern.packed = find_rows(w, lin, n_col, rows->slice, lo, &p);
		p.next = lo + p.n_row < rows->hi ? cpu_weight_at(w, rows->slice, lo + p.n_row)
						 : rows->next;
		for (uint32_t i = 0; i < items->count; i += step)
			piece(r, x, items, i, items->count - i < step ? items->count - i : step,
			      &kern, p, rows->slice, lo, &s, emit);
		lo += p.n_row;
	}
}

void cpu_product(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		 const struct lmd_weight *w, const struct cpu_rows *rows, char *scratch,
		 const struct cpu_emit *emit)
{
	product(r, cpu_kernel_of(r->dev, w), x, items, w, rows, scratch, emit);
}

void cpu_product_f32(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		     const struct lmd_weight *w, const struct cpu_rows *rows, char *scratch,
		     const struct cpu_emit *emit)
{
	product(r, w->lin_f32, x, items, w, rows, scratch, emit);
}

/* ---- dividing work ---- */

struct cpu_grid cpu_grid(uint32_t part, uint32_t n_part, uint32_t n_item, uint64_t n_row)
{
	struct cpu_grid g = {.n_list = 1, .n_item = n_item};
	uint32_t most = MOST_ROWS;
	uint64_t chunk;

	for (uint32_t n = 2; n <= n_part && n <= CPU_MAX_LIST; n++) {
		if (n_part % n == 0 && n_item / n >= LIST_ITEMS)
			g.n_list = n;
	}
	g.by_item = g.n_list > 1;
	chunk = n_row / ((uint64_t)n_part / g.n_list * CHUNKS);
	if (g.by_item)
		most = TILE_ROWS;
	else
		g.n_list = cpu_n_list(n_part);
	g.own = cpu_own_list(part, n_part, g.n_list);
	chunk = chunk < most ? chunk / KERN_ROWS * KERN_ROWS : most;
	g.chunk = chunk < KERN_ROWS ? KERN_ROWS : (uint32_t)chunk;
	return g;
}

bool cpu_grid_claim(const struct cpu_part *p, const struct cpu_grid *g, uint32_t n,
		    struct cpu_claim *c)
{
	for (uint32_t i = 0; i < g->n_list; i++) {
		uint32_t first, end, at;

		c->list = (g->own + i) % g->n_list;
		cpu_grid_list(g, n, c->list, &first, &end);
		at = __atomic_fetch_add(&p->counter[c->list].next, 1, __ATOMIC_RELAXED);
		if (at < end - first) {
			c->chunk = first + at;
			c->last = c->chunk + 1 == end;
			return true;
		}
	}
	return false;
}

const void *cpu_grid_first(const struct lmd_weight *w, uint32_t part, uint32_t n_part)
{
	struct cpu_grid g = cpu_grid(part, n_part, 1, w->n);
	uint32_t first, end;

	cpu_grid_list(&g, cpu_grid_chunks(&g, w->n), g.own, &first, &end);
	return first < end ? cpu_weight_at(w, 0, first * g.chunk) : NULL;
}

void cpu_product_shared(const struct cpu_run *r, const struct cpu_part *p, const struct cpu_x *x,
			uint32_t n_item, const struct lmd_weight *w, char *scratch,
			const struct cpu_emit *emit)
{
	struct cpu_grid g = cpu_grid(p->host_mem.part, p->host_mem.n_part, n_item, w->n);
	uint32_t n = cpu_grid_chunks(&g, w->n);
	struct cpu_claim c;

	while (cpu_grid_claim(p, &g, n, &c)) {
		struct cpu_items items = cpu_grid_items(&g, &c);
		struct cpu_rows rows = {.lo = c.chunk * g.chunk,
					.hi = (uint32_t)cpu_grid_end(&g, w->n, c.chunk)};

		rows.next = c.last ? p->ahead : cpu_weight_at(w, 0, rows.hi);
		cpu_product(r, x, &items, w, &rows, scratch, emit);
	}
}

/* ---- adapters ---- */

void cpu_lora_row(const struct cpu_run *r, uint32_t site, uint32_t slot, uint32_t slice,
		  const float *x, uint32_t k, uint32_t n, float *delta)
{
	const struct cpu_float *fl = r->dev->fl;
	const struct lora *ad = slot ? lora_find(&r->dev->loras, slot, site) : NULL;
	size_t s = ad && ad->n_stack > 1 ? slice : 0;
	const float *b;
	float ax[64];

	memset(delta, 0, n * sizeof(*delta));
	lora_gain(NULL, 0, n, delta + n);
	if (!ad || ad->n != n || (ad->rank && ad->k != k) || s >= ad->n_stack)
		return;
	if (ad->gain)
		lora_gain(ad, slice, n, delta + n);
	b = ad->b + s * ad->n * (ad->rank ? ad->rank : 1);
	for (uint32_t i = 0; !ad->rank && i < n; i++)
		delta[i] = ad->scale * b[i];
	for (uint32_t r0 = 0; r0 < ad->rank; r0 += (uint32_t)LMD_LEN(ax)) {
		uint32_t some = ad->rank - r0 < LMD_LEN(ax) ? ad->rank - r0 : (uint32_t)LMD_LEN(ax);

		for (uint32_t j = 0; j < some; j++)
			ax[j] = fl->dot(ad->a + (s * ad->rank + r0 + j) * ad->k, x, ad->k);
		for (uint32_t i = 0; i < n; i++)
			delta[i] += ad->scale * fl->dot(b + (size_t)i * ad->rank + r0, ax, some);
	}
}
