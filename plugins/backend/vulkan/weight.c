/* SPDX-License-Identifier: MIT
 *
 * Weights: rows are copied to the device one after the other, so that a shader finds a row by its
 * number. */
#include "backend/common/device_types.h"
#include "backend/common/planes.h"
#include "weight.h"

#include <string.h>

#define STAGE_BYTES (4u << 20)

/* Those of shaders/decode.glsl, then those that are shared. */
#define N_OWN 16u
static const uint32_t decoders[] = {
	LMD_DTYPE_F32,  LMD_DTYPE_F16,  LMD_DTYPE_BF16, LMD_DTYPE_Q4_0, LMD_DTYPE_Q4_1,
	LMD_DTYPE_Q5_0, LMD_DTYPE_Q5_1, LMD_DTYPE_Q8_0, LMD_DTYPE_Q2_K, LMD_DTYPE_Q3_K,
	LMD_DTYPE_Q4_K, LMD_DTYPE_Q5_K, LMD_DTYPE_Q6_K, LMD_DTYPE_IQ4_NL, LMD_DTYPE_IQ4_XS,
	LMD_DTYPE_MXFP4,
#define SHARED(_, constant, name, number, head, bytes, groups) LMD_DTYPE_##constant,
	DEVICE_TYPES(SHARED, _)
};

#define CHECK_NUMBER(_, constant, name, number, head, bytes, groups)                               \
	_Static_assert((uint32_t)LMD_DTYPE_##constant == (number), #name);
DEVICE_TYPES(CHECK_NUMBER, _)

bool vkb_has_decoder(uint32_t dtype)
{
	for (size_t i = 0; i < LMD_LEN(decoders); i++) {
		if (decoders[i] == dtype)
			return true;
	}
	return false;
}

enum vkb_module vkb_module_for(uint32_t dtype, enum vkb_module few, enum vkb_module all)
{
	for (size_t i = 0; i < N_OWN; i++) {
		if (decoders[i] == dtype)
			return few;
	}
	return all;
}

/* ---- sizes ---- */

struct shape {
	uint32_t stored;         /* type */
	uint32_t row_bytes;
	uint64_t bytes;
	bool planes;             /* rows are repacked */
	bool turned;             /* rows of the pieces are columns of the weight */
	bool stacked;            /* pieces follow each other in the stack, not in N */
};

static enum lmd_status check_pieces(const struct lmd_weight_desc *d, struct shape *s,
				    struct lmd_error *err)
{
	const struct lmd_weight_ref *ref = d->ref;
	uint32_t want = s->turned ? ref->k : ref->n;
	uint64_t rows = 0, slices = 0;
	bool all = true, each = true;

	for (uint32_t i = 0; i < d->n_piece; i++) {
		rows += d->pieces[i].n_row;
		slices += d->pieces[i].n_slice;
		all = all && d->pieces[i].n_slice == ref->n_stack;
		each = each && d->pieces[i].n_row == want;
	}
	s->stacked = !(all && rows == want);
	if (!s->stacked || (each && slices == ref->n_stack && !s->turned))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"%s: %u pieces with %llu rows and %llu slices do not make %u slices of %u rows",
			ref->name, d->n_piece, (unsigned long long)rows, (unsigned long long)slices,
			ref->n_stack, want);
}

static enum lmd_status shape_of(const struct vkb_dev *dev, const struct lmd_weight_desc *d,
				struct shape *s, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	const struct lmd_weight_ref *ref = d->ref;
	uint32_t elems, bytes, cols;
	uint64_t row;

	*s = (struct shape){.turned = ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE};
	cols = s->turned ? ref->n : ref->k;
	if (!h->dtype_info(h->ctx, d->dtype, &elems, &bytes) || !elems)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: tensor type %u is unknown", ref->name,
				d->dtype);
	if (!ref->n || !ref->k || !ref->n_stack)
		return lmd_fail(err, LMD_INVALID, "%s: shape [%u, %u, %u] is empty", ref->name,
				ref->n_stack, ref->n, ref->k);
	if (cols % elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: rows of %u values are not a multiple of the block size %u",
				ref->name, cols, elems);
	s->stored = d->dtype == LMD_DTYPE_I32 ? LMD_DTYPE_I32 : LMD_DTYPE_F32;
	if (vkb_has_decoder(d->dtype) && !s->turned)
		s->stored = d->dtype;
	row = s->stored == d->dtype ? h->dtype_head(h->ctx, d->dtype) + (uint64_t)cols / elems * bytes
				    : 4ull * ref->k;
	s->planes = s->stored == d->dtype && host_mem_planes_has(d->dtype);
	row = s->planes ? (row + 15) / 16 * 16 : (row + 3) / 4 * 4;
	if (row > UINT32_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: rows of %llu bytes", ref->name,
				(unsigned long long)row);
	s->row_bytes = (uint32_t)row;
	s->bytes = row * ref->n * ref->n_stack + 4; /* shaders read whole words */
	if (s->bytes > dev->max_allocation)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: %llu bytes in one piece, the device allows at most %llu; keep it on "
				"the cpu (--override-tensor NAME=cpu)",
				ref->name, (unsigned long long)s->bytes,
				(unsigned long long)dev->max_allocation);
	return check_pieces(d, s, err);
}

/* Types that the host cannot decode are found before anything is loaded. */
static enum lmd_status try_type(const struct vkb_dev *dev, const struct lmd_weight_desc *d,
				struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	uint32_t elems = 0, bytes = 0;
	uint8_t zeros[512] = {0};
	float row[512];

	(void)h->dtype_info(h->ctx, d->dtype, &elems, &bytes);
	if (elems > LMD_LEN(row) || h->dtype_head(h->ctx, d->dtype) + bytes > sizeof(zeros) ||
	    h->dequant_rows(h->ctx, d->dtype, zeros, row, elems) != LMD_OK)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: tensor type %u cannot be decoded",
				d->ref->name, d->dtype);
	return LMD_OK;
}

enum lmd_status vkb_weight_query(void *state, const struct lmd_weight_desc *d,
				 struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct lmd_weight_plan plan = {.placement = LMD_PLACE_COPY};
	struct shape s;
	enum lmd_status st = shape_of(state, d, &s, err);

	if (st == LMD_OK && s.stored != d->dtype)
		st = try_type(state, d, err);
	if (st != LMD_OK)
		return st;
	plan.bytes = s.bytes + 4ull * ((uint64_t)d->n_scale + d->n_bias);
	plan.exactness = s.stored == d->dtype ? 0 : 1;
	LMD_PUT(out, &plan);
	return LMD_OK;
}

/* ---- loading ---- */

/* Writes bytes one after the other to the device. */
struct sink {
	struct vkb_dev *dev;
	const struct vkb_mem *to;
	uint64_t at;             /* where the staged bytes go */
	struct vkb_mem stage;
	uint64_t n;              /* staged bytes */
};

static enum lmd_status flush(struct sink *s, struct lmd_error *err)
{
	VkBufferCopy region = {.srcOffset = s->stage.offset, .size = s->n};
	struct vkb_batch b;
	enum lmd_status st;

	if (!s->n)
		return LMD_OK;
	st = vkb_begin(s->dev, NULL, &b, err);
	if (st != LMD_OK)
		return st;
	region.dstOffset = s->to->offset + s->at;
	s->dev->fn.CmdCopyBuffer(b.cmd, s->stage.buffer, s->to->buffer, 1, &region);
	s->at += s->n;
	s->n = 0;
	return vkb_submit(&b, NULL, NULL, err);
}

static enum lmd_status sink_put(struct sink *s, const void *from, uint64_t n, struct lmd_error *err)
{
	const char *p = from;
	enum lmd_status st = LMD_OK;

	if (s->to->host) {
		memcpy(s->to->host + s->at, from, (size_t)n);
		s->at += n;
		return LMD_OK;
	}
	if (!s->stage.chunk)
		st = vkb_alloc(s->dev, VKB_HOST, STAGE_BYTES, &s->stage, err);
	while (n && st == LMD_OK) {
		uint64_t some = n < STAGE_BYTES - s->n ? n : STAGE_BYTES - s->n;

		memcpy(s->stage.host + s->n, p, (size_t)some);
		s->n += some;
		p += some;
		n -= some;
		if (s->n == STAGE_BYTES)
			st = flush(s, err);
	}
	return st;
}

static const char *row_at(const struct lmd_weight_desc *d, const struct shape *s, uint32_t slice,
			  uint32_t n)
{
	const struct lmd_weight_piece *p = d->pieces;

	if (s->stacked) {
		for (; slice >= p->n_slice; p++)
			slice -= p->n_slice;
	} else {
		for (; n >= p->n_row; p++)
			n -= p->n_row;
	}
	return (const char *)p->data + p->head_bytes * slice + p->row_bytes * n;
}

static enum lmd_status put_slice(const struct lmd_weight_desc *d, const struct shape *s,
				 uint32_t slice, float *row, struct sink *sink, struct lmd_error *err)
{
	const struct lmd_host *h = sink->dev->host;
	static const char zeros[16];
	uint32_t elems, bytes;
	enum lmd_status st = LMD_OK;

	(void)h->dtype_info(h->ctx, d->dtype, &elems, &bytes);
	for (uint32_t n = 0; n < d->ref->n && st == LMD_OK; n++) {
		const char *from = row_at(d, s, slice, n);
		uint32_t used = h->dtype_head(h->ctx, d->dtype) + d->ref->k / elems * bytes;

		if (s->planes) {
			host_mem_planes_row(d->dtype, (const uint8_t *)from, d->ref->k, (uint8_t *)row);
			from = (const char *)row;
		}
		if (s->stored == d->dtype) {
			st = sink_put(sink, from, used, err);
			if (st == LMD_OK && used < s->row_bytes)
				st = sink_put(sink, zeros, s->row_bytes - used, err);
			continue;
		}
		st = h->dequant_rows(h->ctx, d->dtype, from, row, d->ref->k);
		st = st == LMD_OK ? sink_put(sink, row, s->row_bytes, err)
				  : lmd_fail(err, st, "%s: row %u cannot be decoded", d->ref->name, n);
	}
	return st;
}

/* Decodes a slice whose rows are the weight's columns. */
static enum lmd_status put_turned(const struct lmd_weight_desc *d, const struct shape *s,
				  uint32_t slice, struct sink *sink, struct lmd_error *err)
{
	const struct lmd_host *h = sink->dev->host;
	uint32_t n = d->ref->n, k = d->ref->k;
	float *row = h->alloc(h->ctx, n * sizeof(float));
	float *all = h->alloc(h->ctx, (size_t)n * k * sizeof(float));
	enum lmd_status st = row && all ? LMD_OK
					: lmd_fail(err, LMD_NOMEM, "%s: no memory to transpose it",
						   d->ref->name);

	for (uint32_t j = 0; j < k && st == LMD_OK; j++) {
		st = h->dequant_rows(h->ctx, d->dtype, row_at(d, s, slice, j), row, n);
		for (uint32_t i = 0; i < n; i++)
			all[(size_t)i * k + j] = row[i];
	}
	if (st == LMD_OK)
		st = sink_put(sink, all, (uint64_t)n * k * sizeof(float), err);
	h->free(h->ctx, row);
	h->free(h->ctx, all);
	return st;
}

static enum lmd_status put_rows(struct vkb_dev *dev, const struct lmd_weight_desc *d,
				const struct shape *s, struct vkb_weight *w, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	float *row = h->alloc(h->ctx, d->ref->k * sizeof(float));
	struct sink sink = {.dev = dev, .to = &w->rows};
	enum lmd_status st = row ? LMD_OK : lmd_fail(err, LMD_NOMEM, "%s: no memory", d->ref->name);

	for (uint32_t i = 0; i < d->ref->n_stack && st == LMD_OK; i++)
		st = s->turned ? put_turned(d, s, i, &sink, err)
			       : put_slice(d, s, i, row, &sink, err);
	if (st == LMD_OK)
		st = flush(&sink, err);
	vkb_free(dev, &sink.stage);
	h->free(h->ctx, row);
	return st;
}

static enum lmd_status put_floats(struct vkb_dev *dev, const float *from, uint32_t n,
				  struct vkb_mem *to, struct lmd_error *err)
{
	struct sink sink = {.dev = dev, .to = to};
	enum lmd_status st;

	if (!n)
		return LMD_OK;
	st = vkb_alloc(dev, VKB_DEVICE, 4ull * n, to, err);
	if (st == LMD_OK)
		st = sink_put(&sink, from, 4ull * n, err);
	if (st == LMD_OK)
		st = flush(&sink, err);
	vkb_free(dev, &sink.stage);
	return st;
}

static void destroy(struct vkb_dev *dev, struct vkb_weight *w)
{
	vkb_free(dev, &w->rows);
	vkb_free(dev, &w->scale);
	vkb_free(dev, &w->bias);
	vkb_free(dev, &w->flat_rows);
	dev->host->free(dev->host->ctx, w);
}

void vkb_weight_destroy(void *state, struct lmd_weight *w)
{
	if (w)
		destroy(state, vkb_weight(w));
}

enum lmd_status vkb_weight_load(void *state, const struct lmd_weight_desc *d,
				struct lmd_weight **out, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_weight *w;
	struct shape s;
	enum lmd_status st = shape_of(dev, d, &s, err);

	if (st == LMD_OK)
		st = vkb_alive(dev, err);
	if (st != LMD_OK)
		return st;
	w = dev->host->alloc(dev->host->ctx, sizeof(*w));
	if (!w)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a weight", d->ref->name);
	w->dtype = s.stored;
	w->n_stack = d->ref->n_stack;
	w->n = d->ref->n;
	w->k = d->ref->k;
	w->row_bytes = s.row_bytes;
	w->n_scale = d->scale ? d->n_scale : 0;
	w->n_bias = d->bias ? d->n_bias : 0;
	st = vkb_alloc(dev, VKB_DEVICE, s.bytes, &w->rows, err);
	if (st == LMD_OK)
		st = put_rows(dev, d, &s, w, err);
	if (st == LMD_OK)
		st = put_floats(dev, d->scale, w->n_scale, &w->scale, err);
	if (st == LMD_OK)
		st = put_floats(dev, d->bias, w->n_bias, &w->bias, err);
	if (st != LMD_OK) {
		destroy(dev, w);
		return st;
	}
	*out = (struct lmd_weight *)(void *)w;
	return LMD_OK;
}

/* ---- flat weights ---- */

/* Runs the dequant shader; its arguments are in `args`. */
static enum lmd_status decode_all(struct vkb_dev *dev, const struct vkb_weight *w,
				  const struct vkb_mem *args, struct lmd_error *err)
{
	const uint64_t from = w->rows.address, to = w->flat_rows.address;
	const uint32_t rows = w->n_stack * w->n;
	const uint32_t words[] = {(uint32_t)from, (uint32_t)(from >> 32), w->row_bytes, rows,
				  w->k,           (uint32_t)to,           (uint32_t)(to >> 32), 0};
	const struct vkb_push push = {.args = args->address, .env = args->address,
				      .points = dev->points.address};
	uint64_t groups = ((uint64_t)rows * ((w->k + 31) / 32) + 63) / 64;
	struct vkb_batch b;
	struct vkb_pipeline *p = NULL;
	enum lmd_status st = vkb_pipeline(dev, VKB_dequant, w->dtype, 0, &p, err);

	if (st == LMD_OK)
		st = vkb_pipeline_make(dev, p, err);
	if (st == LMD_OK)
		st = vkb_begin(dev, NULL, &b, err);
	if (st != LMD_OK)
		return st;
	dev->fn.CmdUpdateBuffer(b.cmd, args->buffer, args->offset, sizeof(words), words);
	vkb_barrier(dev, b.cmd);
	dev->fn.CmdBindPipeline(b.cmd, VK_PIPELINE_BIND_POINT_COMPUTE, p->handle);
	dev->fn.CmdPushConstants(b.cmd, dev->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push),
				 &push);
	dev->fn.CmdDispatch(b.cmd, groups < 65535 ? (uint32_t)groups : 65535, 1, 1);
	return vkb_submit(&b, NULL, NULL, err);
}

enum lmd_status vkb_weight_flat(struct vkb_dev *dev, struct vkb_weight *w, struct lmd_error *err)
{
	struct vkb_mem args = {0};
	enum lmd_status st;

	if (!w->flat && w->dtype == LMD_DTYPE_F32 && w->row_bytes == 4ull * w->k)
		w->flat = w->rows.address;
	if (w->flat)
		return LMD_OK;
	st = vkb_alloc(dev, VKB_DEVICE, 4ull * w->n_stack * w->n * w->k, &w->flat_rows, err);
	if (st == LMD_OK)
		st = vkb_alloc(dev, VKB_DEVICE, 64, &args, err);
	if (st == LMD_OK)
		st = decode_all(dev, w, &args, err);
	vkb_free(dev, &args);
	if (st == LMD_OK)
		w->flat = w->flat_rows.address;
	return st;
}
