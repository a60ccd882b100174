/* SPDX-License-Identifier: MIT
 *
 * Weights: the pieces are copied into the device's memory, and ref uses the copies. What they are exported
 * as is these copies one after the other, each at a multiple of LINE bytes. */
#include <string.h>

#include "emu.h"

#define LAYOUT 1u
#define LINE   64u

struct emu_copy {
	void *mem;
	uint64_t bytes;
};

struct emu_weight {
	struct lmd_weight *ref;
	const char *stored; /* what the host has of it, only while it is loaded; NULL: nothing */
	uint64_t at, bytes; /* read of it, of so many */
	uint32_t n_copy;
	struct emu_copy copies[]; /* of the pieces, of scale and bias */
};

static uint64_t lines(uint64_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

struct lmd_weight *emu_weight_ref(const struct lmd_weight *w)
{
	return ((const struct emu_weight *)(const void *)w)->ref;
}

/* Bytes from the first row of a piece to the end of its last one. */
static enum lmd_status span(const struct emu_dev *dev, const struct lmd_weight_desc *d,
			    const struct lmd_weight_piece *p, uint64_t *out, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	uint32_t elems, bytes;
	uint64_t k = d->ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? d->ref->n : d->ref->k;

	if (!h->dtype_info(h->ctx, (enum lmd_dtype)d->dtype, &elems, &bytes) || !elems)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: type %u is unknown", d->ref->name,
				d->dtype);
	*out = (uint64_t)(p->n_slice ? p->n_slice - 1 : 0) * p->head_bytes +
	       (uint64_t)(p->n_row ? p->n_row - 1 : 0) * p->row_bytes +
	       h->dtype_head(h->ctx, (enum lmd_dtype)d->dtype) + (k + elems - 1) / elems * bytes;
	return LMD_OK;
}

enum lmd_status emu_weight_query(void *state, const struct lmd_weight_desc *d,
				 struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	struct lmd_weight_plan plan = {.struct_size = sizeof(plan)};
	enum lmd_status st;

	emu_enter(&dev->mem);
	st = ref_backend_ops.weight_query(dev->ref, d, &plan, err);
	emu_leave(&dev->mem);
	plan.placement = LMD_PLACE_REPACK;
	plan.layout = LAYOUT;
	plan.keeps_source = 0;
	plan.bytes += ((uint64_t)d->n_scale + d->n_bias) * sizeof(float);
	for (uint32_t i = 0; st == LMD_OK && i < d->n_piece; i++) {
		uint64_t n;

		st = span(dev, d, &d->pieces[i], &n, err);
		plan.bytes += st == LMD_OK ? n : 0;
	}
	if (st == LMD_OK)
		LMD_PUT(out, &plan);
	return st;
}

/* Copies host memory, or the next bytes of what the host has of the weight, to the device; NULL with *ok
 * false if there is no room. */
static void *copy(struct emu_dev *dev, struct emu_weight *w, const void *from, uint64_t bytes,
		  bool *ok)
{
	void *p = bytes ? emu_alloc(&dev->mem, (size_t)bytes) : NULL;

	if (p && w->stored && w->at + bytes <= w->bytes)
		memcpy(p, w->stored + w->at, (size_t)bytes);
	else if (p && !w->stored)
		memcpy(p, from, (size_t)bytes);
	w->at += lines(bytes);
	*ok = *ok && (p || !bytes);
	w->copies[w->n_copy++] = (struct emu_copy){.mem = p, .bytes = bytes};
	return p;
}

static void destroy(struct emu_dev *dev, struct emu_weight *w)
{
	emu_enter(&dev->mem);
	ref_backend_ops.weight_destroy(dev->ref, w->ref);
	for (uint32_t i = 0; i < w->n_copy; i++)
		emu_free(&dev->mem, w->copies[i].mem);
	emu_leave(&dev->mem);
	dev->host->free(dev->host->ctx, w);
}

enum lmd_status emu_weight_export(void *state, const struct lmd_weight *x, void *out, size_t cap, size_t *n)
{
	const struct emu_weight *w = (const struct emu_weight *)(const void *)x;
	struct emu_dev *dev = state;
	size_t at = 0;

	*n = 0;
	for (uint32_t i = 0; i < w->n_copy; i++)
		*n += (size_t)lines(w->copies[i].bytes);
	if (*n > cap)
		return LMD_OK;
	memset(out, 0, *n);
	emu_enter(&dev->mem);
	for (uint32_t i = 0; i < w->n_copy; i++) {
		if (w->copies[i].bytes)
			memcpy((char *)out + at, w->copies[i].mem, (size_t)w->copies[i].bytes);
		at += (size_t)lines(w->copies[i].bytes);
	}
	emu_leave(&dev->mem);
	return LMD_OK;
}

void emu_weight_destroy(void *state, struct lmd_weight *w)
{
	if (w)
		destroy(state, (struct emu_weight *)(void *)w);
}

/* Called with the memory accessible. */
static enum lmd_status load(struct emu_dev *dev, const struct lmd_weight_desc *d,
			    struct lmd_weight_piece *pieces, struct emu_weight *w,
			    struct lmd_error *err)
{
	struct lmd_weight_desc inner = *d;
	bool ok = true;

	for (uint32_t i = 0; i < d->n_piece; i++) {
		uint64_t n;
		enum lmd_status st = span(dev, d, &d->pieces[i], &n, err);

		if (st != LMD_OK)
			return st;
		pieces[i] = d->pieces[i];
		pieces[i].data = copy(dev, w, d->pieces[i].data, n, &ok);
	}
	inner.pieces = pieces;
	if (d->scale)
		inner.scale = copy(dev, w, d->scale, (uint64_t)d->n_scale * sizeof(float), &ok);
	if (d->bias)
		inner.bias = copy(dev, w, d->bias, (uint64_t)d->n_bias * sizeof(float), &ok);
	if (w->stored && w->at != w->bytes)
		return lmd_fail(err, LMD_INVALID,
				"emu: %s: the stored weight has %llu bytes, must have %llu", d->ref->name,
				(unsigned long long)w->bytes, (unsigned long long)w->at);
	if (!ok)
		return lmd_fail(err, LMD_NOMEM, "emu: %s: the device has no memory left",
				d->ref->name);
	return ref_backend_ops.weight_load(dev->ref, &inner, &w->ref, err);
}

enum lmd_status emu_weight_load(void *state, const struct lmd_weight_desc *d,
				struct lmd_weight **out, struct lmd_error *err)
{
	struct emu_dev *dev = state;
	const struct lmd_host *h = dev->host;
	struct lmd_weight_piece *pieces = h->alloc(h->ctx, (d->n_piece + 1) * sizeof(*pieces));
	struct emu_weight *w =
		h->alloc(h->ctx, sizeof(*w) + (d->n_piece + (size_t)2) * sizeof(struct emu_copy));
	enum lmd_status st = pieces && w ? emu_alive(dev, err)
					 : lmd_fail(err, LMD_NOMEM, "emu: %s: no memory",
						    d->ref->name);

	if (st == LMD_OK) {
		w->stored = d->stored_layout == LAYOUT ? d->stored : NULL;
		w->bytes = d->stored_bytes;
		emu_enter(&dev->mem);
		st = load(dev, d, pieces, w, err);
		emu_leave(&dev->mem);
	}
	h->free(h->ctx, pieces);
	if (st == LMD_OK)
		*out = (struct lmd_weight *)(void *)w;
	else if (w)
		destroy(dev, w);
	return st;
}
