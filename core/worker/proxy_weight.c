/* SPDX-License-Identifier: MIT
 *
 * Weights of a device in a worker. What lies in a file that both processes map is named by its place
 * there; the rest, scales and biases are copied to memory that goes with the message. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/worker/plan_codec.h"
#include "core/worker/proxy.h"

struct copy {
	uint64_t at;	 /* bytes of the memory so far, a multiple of 64 */
	char *mem;	 /* NULL: only their number is wanted */
};

static uint64_t copied(struct copy *c, const void *p, uint64_t n)
{
	uint64_t at = c->at;

	if (c->mem)
		memcpy(c->mem + at, p, (size_t)n);
	c->at += (n + 63) / 64 * 64;
	return at;
}

static const struct lmi_worker_region *region_of(const struct lmi_worker_proxy *w, const void *ptr)
{
	for (uint32_t i = 0; i < w->n_region; i++)
		if ((const char *)ptr >= w->regions[i].ptr &&
		    (const char *)ptr < w->regions[i].ptr + w->regions[i].bytes)
			return &w->regions[i];
	return NULL;
}

/* Bytes from the first one of a piece to the end of its last row, but not beyond a region. */
static uint64_t extent(const struct lmd_weight_piece *p, const struct lmi_worker_region *r)
{
	uint64_t n = (uint64_t)(p->n_slice ? p->n_slice - 1 : 0) * p->head_bytes +
		     (uint64_t)p->n_row * p->row_bytes;
	uint64_t most = r ? r->bytes - (uint64_t)((const char *)p->data - r->ptr) : n;

	return n < most ? n : most;
}

/* Names what is stored of a weight, if the worker maps it. */
static void put_stored(const struct lmi_worker_proxy *w, struct lmi_worker_weight *head)
{
	const struct lmi_worker_region *r = head->desc.stored ? region_of(w, head->desc.stored) : NULL;

	head->stored_file = r ? r->file : LMI_WORKER_NONE;
	if (head->stored_file != LMI_WORKER_NONE)
		head->stored_at = (uint64_t)((const char *)head->desc.stored - r->ptr);
}

/* Writes the weight; with c->mem NULL, only counts what has to be copied. */
static void put(const struct lmi_worker_proxy *w, struct lmi_worker_out *o,
		const struct lmd_weight_desc *d, struct copy *c)
{
	struct lmi_worker_weight head = {.desc = *d};

	if (d->n_scale)
		head.scale_at = copied(c, d->scale, d->n_scale * sizeof(float));
	if (d->n_bias)
		head.bias_at = copied(c, d->bias, d->n_bias * sizeof(float));
	put_stored(w, &head);
	(void)lmi_worker_out_put(o, &head, sizeof(head));
	lmi_worker_put_weight_ref(o, d->ref);
	for (uint32_t i = 0; i < d->n_piece; i++) {
		const struct lmi_worker_region *r = region_of(w, d->pieces[i].data);
		struct lmi_worker_piece p = {.piece = d->pieces[i],
					     .file = r ? r->file : LMI_WORKER_NONE,
					     .bytes = extent(&d->pieces[i], r)};

		p.at = p.file != LMI_WORKER_NONE ? (uint64_t)((const char *)p.piece.data - r->ptr)
						 : copied(c, p.piece.data, p.bytes);
		(void)lmi_worker_out_put(o, &p, sizeof(p));
	}
}

enum lmd_status lmi_worker_weight_query(void *state, const struct lmd_weight_desc *d,
					struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_weight_plan plan = {.struct_size = sizeof(plan)};
	struct copy c = {0};
	enum lmd_status st;

	lmi_worker_link_begin(&w->link);
	put(w, &w->link.out, d, &c);
	st = lmi_worker_ask_for(w, LMI_WORKER_WEIGHT_QUERY, -1, &plan, sizeof(plan), err);
	lmi_worker_link_end(&w->link);
	if (!w->own_memory || plan.keeps_source) /* what lies in no file is copied */
		plan.bytes += c.at;
	if (st == LMD_OK)
		LMD_PUT(out, &plan);
	return st;
}

enum lmd_status lmi_worker_weight_load(void *state, const struct lmd_weight_desc *d,
				       struct lmd_weight **out, struct lmd_error *err)
{
	struct lmi_worker_proxy *w = state;
	struct lmd_weight *x = lmi_alloc(1, sizeof(*x));
	struct copy c = {0};
	uint64_t bytes;
	int fd = -1;
	enum lmd_status st = LMD_OK;

	if (!x)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a weight");
	x->number = lmi_worker_number_take(w);
	lmi_worker_link_begin(&w->link);
	put(w, &w->link.out, d, &c);
	bytes = c.at;
	if (bytes) {
		c = (struct copy){.mem = lmi_worker_memory(bytes, &fd)};
		if (!c.mem)
			st = lmd_fail(err, LMD_NOMEM, "worker: no shared memory of %llu bytes",
				      (unsigned long long)bytes);
	}
	if (st == LMD_OK) {
		lmi_worker_out_reset(&w->link.out);
		lmi_worker_out_u64(&w->link.out, x->number);
		lmi_worker_out_u64(&w->link.out, bytes);
		put(w, &w->link.out, d, &c);
		st = lmi_worker_ask_for(w, LMI_WORKER_WEIGHT_LOAD, fd, NULL, 0, err);
	}
	lmi_worker_link_end(&w->link);
	if (c.mem)
		(void)munmap(c.mem, (size_t)bytes);
	if (fd >= 0)
		(void)close(fd);
	if (st == LMD_OK) {
		*out = x;
		return LMD_OK;
	}
	lmi_worker_number_give(w, x->number);
	lmi_free(x);
	return st;
}

enum lmd_status lmi_worker_weight_export(void *state, const struct lmd_weight *x, void *out, size_t cap,
					 size_t *n)
{
	struct lmi_worker_proxy *w = state;
	int fd = -1;
	void *mem = cap ? lmi_worker_memory(cap, &fd) : NULL;
	uint64_t bytes = 0;
	enum lmd_status st;

	*n = 0;
	if (cap && !mem)
		return LMD_NOMEM;
	lmi_worker_link_begin(&w->link);
	lmi_worker_out_u64(&w->link.out, x->number);
	lmi_worker_out_u64(&w->link.out, cap);
	st = lmi_worker_ask_for(w, LMI_WORKER_WEIGHT_EXPORT, fd, &bytes, sizeof(bytes), NULL);
	lmi_worker_link_end(&w->link);
	if (st == LMD_OK && bytes <= cap && mem)
		memcpy(out, mem, (size_t)bytes);
	if (mem)
		(void)munmap(mem, cap);
	if (fd >= 0)
		(void)close(fd);
	*n = (size_t)bytes;
	return st;
}

void lmi_worker_weight_destroy(void *state, struct lmd_weight *w)
{
	if (w)
		lmi_worker_forget(state, LMI_WORKER_WEIGHT_FREE, w->number);
	lmi_free(w);
}
