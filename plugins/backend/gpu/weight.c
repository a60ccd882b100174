/* SPDX-License-Identifier: MIT
 *
 * Weights are copied to the device row by row, without the gaps between their pieces.  The common
 * block types are repacked on the way (planes.h), and their rows and those of 16-bit floats begin
 * at multiples of 16 bytes.  Types that kernels do not decode, and transposed weights, are decoded
 * to f32: the same numbers in more memory. */
#include <string.h>

#include "backend/common/planes.h"
#include "gpu.h"

static const struct {
	uint32_t dtype, kernel;
} native[] = {
	{LMD_DTYPE_F32, GPU_K_linear_f32},       {LMD_DTYPE_F16, GPU_K_linear_f16},
	{LMD_DTYPE_BF16, GPU_K_linear_bf16},     {LMD_DTYPE_Q4_0, GPU_K_linear_q4_0},
	{LMD_DTYPE_Q4_1, GPU_K_linear_q4_1},     {LMD_DTYPE_Q5_0, GPU_K_linear_q5_0},
	{LMD_DTYPE_Q5_1, GPU_K_linear_q5_1},     {LMD_DTYPE_Q8_0, GPU_K_linear_q8_0},
	{LMD_DTYPE_Q2_K, GPU_K_linear_q2_k},     {LMD_DTYPE_Q3_K, GPU_K_linear_q3_k},
	{LMD_DTYPE_Q4_K, GPU_K_linear_q4_k},     {LMD_DTYPE_Q5_K, GPU_K_linear_q5_k},
	{LMD_DTYPE_Q6_K, GPU_K_linear_q6_k},     {LMD_DTYPE_IQ4_NL, GPU_K_linear_iq4_nl},
	{LMD_DTYPE_IQ4_XS, GPU_K_linear_iq4_xs}, {LMD_DTYPE_MXFP4, GPU_K_linear_mxfp4},
#define SHARED(_, constant, name, number, head, bytes, groups)                                     \
	{LMD_DTYPE_##constant, GPU_K_linear_##name},
	DEVICE_TYPES(SHARED, _)
};

#define CHECK_NUMBER(_, constant, name, number, head, bytes, groups)                               \
	_Static_assert((uint32_t)LMD_DTYPE_##constant == (number), #name);
DEVICE_TYPES(CHECK_NUMBER, _)

#define FAST(TYPE, name)                                                                           \
	{LMD_DTYPE_##TYPE, GPU_K_fast_##name##_1, 32, GPU_K_tile_##name, GPU_K_exact_##name}
static const struct {
	uint32_t dtype, kernel, unit, tile; /* tile: of NVIDIA; others have the same order */
	uint32_t exact;
} fast[] = {
	{LMD_DTYPE_F32, GPU_K_fast_f32_1, 4, GPU_NO_KERNEL, GPU_NO_KERNEL},
	{LMD_DTYPE_F16, GPU_K_fast_f16_1, 8, GPU_K_tile_f16, GPU_NO_KERNEL},
	{LMD_DTYPE_BF16, GPU_K_fast_bf16_1, 8, GPU_K_tile_bf16, GPU_NO_KERNEL},
	FAST(Q4_0, q4_0),
	FAST(Q8_0, q8_0),
	FAST(Q4_K, q4_k),
	FAST(Q5_K, q5_k),
	FAST(Q6_K, q6_k),
	FAST(IQ4_NL, iq4_nl),
	FAST(IQ4_XS, iq4_xs),
	FAST(MXFP4, mxfp4),
};

uint32_t gpu_weight_tile(const struct gpu_dev *dev, uint32_t dtype)
{
	if (dev->invariant) /* few rows are added in another order */
		return GPU_NO_KERNEL;
	if (dev->wgmma && (dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16))
		return dtype == LMD_DTYPE_F16 ? GPU_K_wgmma_f16 : GPU_K_wgmma_bf16;
	for (size_t i = 0; i < LMD_LEN(fast); i++) {
		if (fast[i].dtype == dtype % GPU_PLANES && fast[i].tile != GPU_NO_KERNEL &&
		    dev->tiles != GPU_NO_KERNEL)
			return fast[i].tile - GPU_K_tile_q4_0 + dev->tiles;
	}
	return GPU_NO_KERNEL;
}

uint32_t gpu_weight_fast(uint32_t dtype, uint32_t k, uint32_t *unit)
{
	for (size_t i = 0; i < LMD_LEN(fast); i++) {
		*unit = fast[i].unit;
		if (fast[i].dtype == dtype % GPU_PLANES)
			return k % *unit ? GPU_NO_KERNEL : fast[i].kernel;
	}
	return GPU_NO_KERNEL;
}

uint32_t gpu_weight_exact(uint32_t dtype)
{
	for (size_t i = 0; i < LMD_LEN(fast); i++) {
		if (fast[i].dtype == dtype % GPU_PLANES)
			return fast[i].exact;
	}
	return GPU_NO_KERNEL;
}

uint32_t gpu_weight_kernel(uint32_t dtype)
{
	dtype %= GPU_PLANES;
	for (size_t i = 0; i < LMD_LEN(native); i++) {
		if (native[i].dtype == dtype)
			return native[i].kernel;
	}
	return GPU_NO_KERNEL;
}

/* How a weight lies on the device. */
struct plan {
	bool decode;             /* to f32 */
	bool planes;             /* repacked */
	bool transpose, stacked; /* pieces follow each other in the stack, not in N */
	uint32_t cols;           /* values of a row in the file */
	uint64_t file_row, row_bytes, slice_bytes, bytes;
	uint64_t scale_at, bias_at;
};

/* The pieces of a weight follow each other in N, each with all slices, or in the stack. */
static bool order_of_pieces(const struct lmd_weight_desc *d, uint32_t want, bool *stacked)
{
	uint64_t rows = 0, slices = 0;
	bool all = true, each = true;

	for (uint32_t i = 0; i < d->n_piece; i++) {
		rows += d->pieces[i].n_row;
		slices += d->pieces[i].n_slice;
		all = all && d->pieces[i].n_slice == d->ref->n_stack;
		each = each && d->pieces[i].n_row == want;
	}
	*stacked = !(all && rows == want);
	return !*stacked || (each && slices == d->ref->n_stack);
}

static uint64_t align(uint64_t n)
{
	return (n + 255) / 256 * 256;
}

static enum lmd_status lay_out(const struct gpu_dev *dev, const struct lmd_weight_desc *d,
			       struct plan *p, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	const struct lmd_weight_ref *ref = d->ref;
	uint32_t elems, bytes;

	*p = (struct plan){.transpose = ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE};
	p->cols = p->transpose ? ref->n : ref->k;
	if (!h->dtype_info(h->ctx, (enum lmd_dtype)d->dtype, &elems, &bytes) || !elems)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: tensor type %u is unknown", ref->name,
				d->dtype);
	if (!ref->n || !ref->k || !ref->n_stack || p->cols % elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: shape [%u, %u, %u] is empty or not whole blocks of %u values",
				ref->name, ref->n_stack, ref->n, ref->k, elems);
	if (!order_of_pieces(d, p->transpose ? ref->k : ref->n, &p->stacked) ||
	    (p->transpose && p->stacked))
		return lmd_fail(err, LMD_INVALID,
				"%s: its %u pieces do not make %u slices of %u rows", ref->name,
				d->n_piece, ref->n_stack, p->transpose ? ref->k : ref->n);
	p->decode = d->dtype != LMD_DTYPE_I32 &&
		    (p->transpose || gpu_weight_kernel(d->dtype) == GPU_NO_KERNEL);
	p->file_row =
		h->dtype_head(h->ctx, (enum lmd_dtype)d->dtype) + (uint64_t)p->cols / elems * bytes;
	p->planes = !p->decode && host_mem_planes_has(d->dtype);
	p->row_bytes = p->decode ? 4 * (uint64_t)ref->k : p->file_row;
	if (p->planes ||
	    (!p->decode && (d->dtype == LMD_DTYPE_F16 || d->dtype == LMD_DTYPE_BF16)))
		p->row_bytes = (p->row_bytes + 15) / 16 * 16;
	if (p->row_bytes > UINT32_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: rows of %llu bytes", ref->name,
				(unsigned long long)p->row_bytes);
	p->slice_bytes = p->row_bytes * ref->n;
	p->scale_at = align(p->slice_bytes * ref->n_stack);
	p->bias_at = align(p->scale_at + (d->scale ? d->n_scale : 0) * sizeof(float));
	p->bytes = align(p->bias_at + (d->bias ? d->n_bias : 0) * sizeof(float));
	return LMD_OK;
}

enum lmd_status gpu_weight_query(void *state, const struct lmd_weight_desc *d,
				 struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct lmd_weight_plan plan = {.placement = LMD_PLACE_COPY};
	struct plan p;
	enum lmd_status st = lay_out(state, d, &p, err);

	if (st != LMD_OK)
		return st;
	plan.exactness = p.decode ? 1 : 0;
	plan.bytes = p.bytes;
	LMD_PUT(out, &plan);
	return LMD_OK;
}

/* Row n of a slice in the file. */
static const char *file_row(const struct lmd_weight_desc *d, const struct plan *p, uint32_t slice,
			    uint32_t n)
{
	const struct lmd_weight_piece *x = d->pieces;

	if (p->stacked) {
		for (; slice >= x->n_slice; x++)
			slice -= x->n_slice;
	} else {
		for (; n >= x->n_row; x++)
			n -= x->n_row;
	}
	return (const char *)x->data + x->head_bytes * slice + x->row_bytes * n;
}

/* Writes n rows of the file from row `first` on, as they will lie on the device; out is zeroed.  All rows of a
 * slice, if they are transposed. */
static enum lmd_status pack_rows(const struct gpu_dev *dev, const struct lmd_weight_desc *d,
				 const struct plan *p, uint32_t slice, uint32_t first, uint32_t n,
				 char *out, float *row, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	const struct lmd_weight_ref *ref = d->ref;

	for (uint32_t i = 0; i < n; i++) {
		const char *from = file_row(d, p, slice, first + i);

		if (p->planes) {
			host_mem_planes_row(d->dtype, (const uint8_t *)from, p->cols,
				       (uint8_t *)out + i * p->row_bytes);
			continue;
		}
		if (!p->decode) {
			memcpy(out + i * p->row_bytes, from, (size_t)p->file_row);
			continue;
		}
		if (h->dequant_rows(h->ctx, (enum lmd_dtype)d->dtype, from, row, p->cols) != LMD_OK)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: tensor type %u cannot be decoded", ref->name,
					d->dtype);
		if (!p->transpose)
			memcpy(out + i * p->row_bytes, row, (size_t)p->row_bytes);
		for (uint32_t c = 0; p->transpose && c < ref->n; c++)
			memcpy(out + c * p->row_bytes + i * sizeof(float), &row[c], sizeof(float));
	}
	return LMD_OK;
}

/* Slices as a whole: those that are transposed, and those whose rows are larger than a stage. */
static enum lmd_status load_slices(struct gpu_dev *dev, const struct lmd_weight_desc *d,
				   const struct plan *p, const struct lmd_weight *w, float *row,
				   struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	const uint32_t n = p->transpose ? d->ref->k : d->ref->n;
	char *slice = h->alloc(h->ctx, (size_t)p->slice_bytes); /* zeroed; padding is never written */
	enum lmd_status st = LMD_OK;

	if (!slice)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %llu bytes", w->name,
				(unsigned long long)p->slice_bytes);
	for (uint32_t s = 0; st == LMD_OK && s < d->ref->n_stack; s++) {
		st = pack_rows(dev, d, p, s, 0, n, slice, row, err);
		if (st == LMD_OK)
			st = gpu_upload(dev, w->memory + s * p->slice_bytes, slice, p->slice_bytes,
					err);
	}
	h->free(h->ctx, slice);
	return st;
}

/* As many rows of a slice at a time as a piece of a stage has room for. */
static enum lmd_status load_rows(struct gpu_dev *dev, const struct lmd_weight_desc *d,
				 const struct plan *p, const struct lmd_weight *w, float *row,
				 struct lmd_error *err)
{
	const uint32_t per = (uint32_t)(GPU_STAGE_BYTES / p->row_bytes), n = d->ref->n;
	struct gpu_stage *stage = NULL;
	enum lmd_status st = gpu_stage_take(dev, &stage, err), end;

	for (uint64_t i = 0; st == LMD_OK && i < (uint64_t)d->ref->n_stack * n;) {
		const uint32_t s = (uint32_t)(i / n), first = (uint32_t)(i % n),
			       some = n - first < per ? n - first : per;
		char *room = NULL;

		st = gpu_stage_room(dev, stage, &room, err);
		if (st != LMD_OK)
			break;
		memset(room, 0, (size_t)(some * p->row_bytes));
		st = pack_rows(dev, d, p, s, first, some, room, row, err);
		if (st == LMD_OK)
			st = gpu_stage_send(dev, stage,
					    w->memory + s * p->slice_bytes + first * p->row_bytes,
					    some * p->row_bytes, err);
		i += some;
	}
	if (!stage)
		return st;
	end = gpu_stage_end(dev, stage, st == LMD_OK ? err : NULL);
	gpu_stage_give(dev, stage);
	return st == LMD_OK ? end : st;
}

static enum lmd_status load(struct gpu_dev *dev, const struct lmd_weight_desc *d,
			    const struct plan *p, struct lmd_weight *w, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	float *row = h->alloc(h->ctx, (p->cols + 256) * sizeof(float));
	enum lmd_status st = gpu_alloc(dev, p->bytes, w->name, &w->memory, err);

	if (st == LMD_OK && !row)
		st = lmd_fail(err, LMD_NOMEM, "%s: no memory for a row of %u values", w->name, p->cols);
	if (st == LMD_OK)
		st = p->transpose || p->row_bytes > GPU_STAGE_BYTES ? load_slices(dev, d, p, w, row, err)
								    : load_rows(dev, d, p, w, row, err);
	if (st == LMD_OK && d->scale)
		st = gpu_upload(dev, w->memory + p->scale_at, d->scale, d->n_scale * sizeof(float),
				err);
	if (st == LMD_OK && d->bias)
		st = gpu_upload(dev, w->memory + p->bias_at, d->bias, d->n_bias * sizeof(float),
				err);
	h->free(h->ctx, row);
	return st;
}

enum lmd_status gpu_weight_load(void *state, const struct lmd_weight_desc *d,
				struct lmd_weight **out, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	const struct lmd_weight_ref *ref = d->ref;
	size_t name_bytes = strlen(ref->name) + 1;
	struct lmd_weight *w;
	struct plan p;
	char *name;
	enum lmd_status st = gpu_enter(dev, err);

	if (st == LMD_OK)
		st = lay_out(dev, d, &p, err);
	if (st != LMD_OK)
		return st;
	w = dev->host->alloc(dev->host->ctx, sizeof(*w) + name_bytes);
	if (!w)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a weight", ref->name);
	name = (char *)(w + 1);
	memcpy(name, ref->name, name_bytes);
	w->name = name;
	st = load(dev, d, &p, w, err);
	if (st != LMD_OK) {
		gpu_weight_destroy(dev, w);
		return st;
	}
	w->dev = (struct gpu_weight){
		.data = w->memory,
		.scale = d->scale ? w->memory + p.scale_at : 0,
		.bias = d->bias ? w->memory + p.bias_at : 0,
		.slice_bytes = p.slice_bytes,
		.row_bytes = (uint32_t)p.row_bytes,
		.dtype = p.decode ? LMD_DTYPE_F32 : d->dtype + (p.planes ? GPU_PLANES : 0),
		.n_stack = ref->n_stack,
		.n = ref->n,
		.k = ref->k,
		.n_scale = d->scale ? d->n_scale : 0,
		.n_bias = d->bias ? d->n_bias : 0,
	};
	if (w->dev.dtype == LMD_DTYPE_F32)
		w->flat = w->memory;
	*out = w;
	return LMD_OK;
}

void gpu_weight_destroy(void *state, struct lmd_weight *w)
{
	struct gpu_dev *dev = state;

	if (!w)
		return;
	(void)gpu_enter(dev, NULL);
	gpu_free(dev, w->memory);
	if (w->own_flat)
		gpu_free(dev, w->flat);
	dev->host->free(dev->host->ctx, w);
}

enum lmd_status gpu_weight_flatten(struct gpu_dev *dev, struct lmd_weight *w, struct lmd_error *err)
{
	uint64_t n = (uint64_t)w->dev.n_stack * w->dev.n * w->dev.k;
	struct gpu_flatten_args a = {.w = w->dev};
	void *params[] = {&a};
	enum lmd_status st;

	if (w->flat)
		return LMD_OK;
	st = gpu_alloc(dev, n * sizeof(float), w->name, &w->flat, err);
	if (st != LMD_OK)
		return st;
	w->own_flat = true;
	a.out = w->flat;
	st = gpu_check(dev,
		       dev->drv->launch(dev->kernels[GPU_K_flatten], (unsigned)((n + 255) / 256), 1,
					1, 256, 1, 1, 0, dev->stream, params, NULL),
		       "decoding a weight", err);
	return st == LMD_OK ? gpu_check(dev, dev->drv->stream_sync(dev->stream),
					"decoding a weight", err)
			    : st;
}
