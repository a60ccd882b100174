/* SPDX-License-Identifier: MIT
 *
 * Converts a tensor window by window.  A window is split into pieces that the threads take in turn
 * (read, decode to f32, encode); its bytes are written while the next window is converted.  A piece
 * is a part of a row or a few rows, small enough to stay in a core's cache.  Encoders work block by
 * block, so rows may be split between blocks and the bytes do not depend on the split; rows of
 * types with a row header are encoded as a whole. */
#include "core/quantize/encode.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/base/team.h"
#include "core/quant_search/scale_search.h"
#include "core/quant/quant.h"

#define PIECE	     16384u /* values; a multiple of every block length */
#define VALUE_BYTES  8u     /* maximum, including row headers */
#define WINDOW	     32u   /* pieces per thread in a window, but */
#define WINDOW_MOST  1024u /* at most this many for all threads, unless */
#define WINDOW_LEAST 8u	   /* that is less than this many per thread */
#define COPY	     (4u << 20)

struct lmi_quantize_encoder {
	struct lmd_team *team; /* NULL: only the calling thread */
	uint32_t n_thread;
	uint64_t piece; /* maximum number of values in a piece */
	float *values; /* [n_thread][piece] */
	uint8_t *in;   /* [n_thread][piece * VALUE_BYTES] */
	struct lmd_error *err; /* [n_thread] */
	struct lmi_quantize_async_writer *writer;
	float *means; /* importances of the tensor */
	uint64_t cap_means;
};

/* State of one window. */
struct work {
	const struct lmi_quantize_encoder *e;
	uint8_t *out; /* its bytes */
	const struct lmi_model *m;
	const struct lmd_tensor *t;
	const struct lmi_dtype *from, *to;
	uint64_t n_col, n_row; /* of one matrix */
	uint64_t n_mat;
	uint64_t per_row;      /* pieces in a row if rows are split, else 1 */
	uint64_t rows;	       /* rows in a piece if rows are not split */
	uint64_t first;	       /* first piece of this window */
	uint64_t n_piece;      /* in this window */
	uint64_t n_all;	       /* rows of the tensor, in all matrices */
	uint64_t begin;	       /* first value of this window */
	const float *means;    /* [n_mat][n_col] or [n_col], or NULL */
	bool shared_means;     /* shared by all matrices */
	_Atomic uint64_t next; /* next piece to take */
	_Atomic uint64_t bad;  /* row + 1 of a value that cannot be encoded; 0: none */
	_Atomic uint32_t failed; /* thread + 1 of a failed read; 0: none */
};

/* Makes room for pieces of n values. */
static enum lmd_status reserve_pieces(struct lmi_quantize_encoder *e, uint64_t n,
				      struct lmd_error *err)
{
	uint64_t all;

	if (n <= e->piece)
		return LMD_OK;
	lmi_free(e->values);
	lmi_free(e->in);
	e->values = NULL;
	e->in = NULL;
	e->piece = 0;
	if (lmi_mul_ok(n, e->n_thread, &all) && all <= SIZE_MAX / VALUE_BYTES) {
		e->values = lmi_alloc((size_t)all, sizeof(float));
		e->in = lmi_alloc((size_t)all, VALUE_BYTES);
	}
	if (!e->values || !e->in)
		return lmd_fail(err, LMD_NOMEM, "no memory for rows of %llu values in %u threads",
				(unsigned long long)n, e->n_thread);
	e->piece = n;
	return LMD_OK;
}

enum lmd_status lmi_quantize_encoder_create(struct lmi_quantize_encoder **out, uint32_t n_thread,
					    struct lmd_error *err)
{
	const struct lmi_team_opts o = {.n = n_thread, .spin_ns = UINT32_MAX};
	struct lmi_quantize_encoder *e = lmi_alloc(1, sizeof(*e));
	enum lmd_status st = LMD_OK;

	if (!e)
		return lmd_fail(err, LMD_NOMEM, "no memory for an encoder");
	e->n_thread = n_thread;
	e->err = lmi_alloc(n_thread, sizeof(*e->err));
	if (!e->err)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u threads", n_thread);
	if (st == LMD_OK)
		st = reserve_pieces(e, PIECE, err);
	if (st == LMD_OK)
		st = lmi_quantize_async_writer_create(&e->writer, err);
	if (st == LMD_OK && n_thread > 1)
		st = lmi_team_create(&e->team, &o, err);
	if (st == LMD_OK)
		*out = e;
	else
		lmi_quantize_encoder_destroy(e);
	return st;
}

void lmi_quantize_encoder_destroy(struct lmi_quantize_encoder *e)
{
	if (!e)
		return;
	lmi_quantize_async_writer_destroy(e->writer);
	lmi_team_destroy(e->team);
	lmi_free(e->values);
	lmi_free(e->in);
	lmi_free(e->err);
	lmi_free(e->means);
	lmi_free(e);
}

/* True if all n values can be encoded.  f32 and bf16 can hold any value. */
static bool can_encode(const struct lmi_dtype *to, const float *v, uint64_t n)
{
	const float most = 65519.996f; /* rounds to a finite f16 */

	if (to->id == LMD_DTYPE_F32 || to->id == LMD_DTYPE_BF16)
		return true;
	return to->id == LMD_DTYPE_F16 ? lmi_search_fit_max_magnitude(v, (size_t)n) <= most
				       : lmi_search_fit_finite(v, (size_t)n);
}

/* True if the source's values are stored as this machine stores floats and need no decoding. */
static bool is_native(const struct lmi_dtype *t)
{
	return t->id == LMD_DTYPE_F32 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* Size of n values, starting at the beginning of a row. */
static uint64_t bytes_of(const struct lmi_dtype *t, uint64_t n, uint64_t n_col)
{
	return n / t->block_elems * t->block_bytes + n / n_col * t->row_bytes_extra;
}

/* Number of values in the pieces before `piece`. */
static uint64_t values_before(const struct work *w, uint64_t piece)
{
	uint64_t rows;

	if (w->per_row > 1)
		return piece / w->per_row * w->n_col + piece % w->per_row * PIECE;
	rows = piece * w->rows;
	return (rows < w->n_all ? rows : w->n_all) * w->n_col;
}

/* Encodes n values of one row.  src: their bytes in the source; at: index of the first value in the
 * tensor. */
static void encode_run(struct work *w, float *values, const uint8_t *src, uint64_t at, uint64_t n)
{
	uint8_t *dst = w->out + bytes_of(w->to, at, w->n_col) - bytes_of(w->to, w->begin, w->n_col);
	uint64_t row = at / w->n_col, none = 0;
	const float *mean = w->means, *x = values;

	if (mean)
		mean += at % w->n_col +
			(w->shared_means ? 0 : row / w->n_row % w->n_mat * w->n_col);
	if (is_native(w->from)) /* pieces are aligned */
		x = (const float *)(const void *)src;
	else
		w->from->dequant(src, values, (size_t)n);
	if (!can_encode(w->to, x, n))
		(void)atomic_compare_exchange_strong(&w->bad, &none, row + 1);
	else
		w->to->quant(x, dst, (size_t)n, mean);
}

static void encode_piece(struct work *w, uint32_t thread, uint64_t piece)
{
	uint64_t at = values_before(w, piece), end = values_before(w, piece + 1);
	uint64_t from = bytes_of(w->from, at, w->n_col);
	uint8_t *src = w->e->in + (size_t)thread * w->e->piece * VALUE_BYTES;
	uint32_t none = 0;

	if (lmi_model_read(w->m, w->t, from, src,
			   (size_t)(bytes_of(w->from, end, w->n_col) - from),
			   &w->e->err[thread]) != LMD_OK) {
		(void)atomic_compare_exchange_strong(&w->failed, &none, thread + 1);
		return;
	}
	while (at < end) {
		uint64_t n = end - at < w->n_col ? end - at : w->n_col;

		encode_run(w, w->e->values + (size_t)thread * w->e->piece, src, at, n);
		src += bytes_of(w->from, n, w->n_col);
		at += n;
	}
}

static void worker(void *arg, uint32_t i, uint32_t n)
{
	struct work *w = arg;
	uint64_t piece;

	(void)n;
	while (!atomic_load(&w->failed) && (piece = atomic_fetch_add(&w->next, 1)) < w->n_piece)
		encode_piece(w, i, w->first + piece);
}

static enum lmd_status submit_output(struct lmi_quantize_encoder *e,
				     const struct lmi_quantize_encoder_sink *to, size_t n,
				     uint64_t n_src, struct lmd_error *err)
{
	lmi_quantize_async_writer_submit(e->writer, to->write, to->arg, n);
	return to->progress(to->progress_arg, n_src, err);
}

static enum lmd_status run_window(struct lmi_quantize_encoder *e,
				  const struct lmi_quantize_item *it, struct work *w,
				  const struct lmi_quantize_encoder_sink *to, struct lmd_error *err)
{
	uint64_t begin = values_before(w, w->first), end = values_before(w, w->first + w->n_piece);
	size_t n_dst = (size_t)(bytes_of(w->to, end, w->n_col) - bytes_of(w->to, begin, w->n_col));
	uint64_t n_src = bytes_of(w->from, end, w->n_col) - bytes_of(w->from, begin, w->n_col), bad;
	enum lmd_status st = lmi_quantize_async_writer_get_buffer(e->writer, &w->out, n_dst, err);
	uint32_t failed;
	char show[80];

	if (st != LMD_OK)
		return st;
	w->begin = begin;
	atomic_store(&w->next, 0);
	lmi_team_run(e->team, worker, w);
	failed = atomic_load(&w->failed);
	if (failed)
		return lmd_fail(err, e->err[failed - 1].status, "%s", e->err[failed - 1].text);
	bad = atomic_load(&w->bad);
	if (bad)
		return lmd_fail(err, LMD_INVALID,
				"tensor %s, row %llu: a value is infinite, NaN, or beyond the "
				"range of %s",
				lmi_printable(show, sizeof(show), it->name, strlen(it->name)),
				(unsigned long long)bad - 1, w->to->name);
	return submit_output(e, to, n_dst, n_src, err);
}

static enum lmd_status load_means(struct lmi_quantize_encoder *e,
				  const struct lmi_imatrix_entry *im, struct lmd_error *err)
{
	if (im->n > e->cap_means) {
		lmi_free(e->means);
		e->cap_means = 0;
		e->means = lmi_alloc((size_t)im->n, sizeof(float));
		if (!e->means)
			return lmd_fail(err, LMD_NOMEM, "no memory for %llu importances",
					(unsigned long long)im->n);
		e->cap_means = im->n;
	}
	lmi_imatrix_means(im, e->means);
	return LMD_OK;
}

static enum lmd_status copy(struct lmi_quantize_encoder *e, const struct lmi_model *m,
			    const struct lmi_quantize_item *it,
			    const struct lmi_quantize_encoder_sink *to, struct lmd_error *err)
{
	uint32_t block = lmi_dtype(it->type)->block_bytes;
	uint64_t step = COPY / block * block;
	enum lmd_status st = LMD_OK;
	uint8_t *out;

	for (uint64_t at = 0; st == LMD_OK && at < it->bytes; at += step) {
		size_t n = (size_t)(it->bytes - at < step ? it->bytes - at : step);

		st = lmi_quantize_async_writer_get_buffer(e->writer, &out, n, err);
		if (st == LMD_OK)
			st = lmi_model_read(m, it->src, at, out, n, err);
		if (st == LMD_OK)
			st = submit_output(e, to, n, n, err);
	}
	return st;
}

enum lmd_status lmi_quantize_encoder_run(struct lmi_quantize_encoder *e, const struct lmi_model *m,
					 const struct lmi_quantize_item *it,
					 const struct lmi_quantize_encoder_sink *to,
					 struct lmd_error *err)
{
	const struct lmd_tensor *t = it->src;
	struct work w = {
		.e = e, .m = m, .t = t, .from = lmi_dtype(t->dtype), .to = lmi_dtype(it->type)};
	enum lmd_status st = LMD_OK;
	uint64_t n_piece, most = (uint64_t)WINDOW * e->n_thread;

	if (it->type == t->dtype)
		return copy(e, m, it, to, err);
	if (it->importance) {
		st = load_means(e, it->importance, err);
		w.means = e->means;
		w.shared_means = it->importance->n == (uint64_t)t->dims[0];
	}
	w.n_col = (uint64_t)t->dims[0];
	w.n_row = t->n_dim > 1 ? (uint64_t)t->dims[1] : 1;
	w.n_mat = t->n_dim > 2 ? (uint64_t)t->dims[2] : 1;
	w.n_all = w.n_row * w.n_mat * (t->n_dim > 3 ? (uint64_t)t->dims[3] : 1);
	w.per_row = (w.n_col + PIECE - 1) / PIECE;
	if (w.per_row > 1 && (w.from->row_bytes_extra || w.to->row_bytes_extra)) {
		w.per_row = 1;
		st = reserve_pieces(e, w.n_col, err);
	}
	w.rows = w.per_row > 1 || w.n_col > PIECE ? 1 : PIECE / w.n_col;
	n_piece = w.per_row > 1 ? w.n_all * w.per_row : (w.n_all + w.rows - 1) / w.rows;
	most = most < WINDOW_MOST ? most : WINDOW_MOST;
	if (most < (uint64_t)WINDOW_LEAST * e->n_thread)
		most = (uint64_t)WINDOW_LEAST * e->n_thread;
	for (; st == LMD_OK && w.first < n_piece; w.first += w.n_piece) {
		w.n_piece = n_piece - w.first < most ? n_piece - w.first : most;
		st = run_window(e, it, &w, to, err);
	}
	return st;
}

enum lmd_status lmi_quantize_encoder_flush(struct lmi_quantize_encoder *e, struct lmd_error *err)
{
	return lmi_quantize_async_writer_flush(e->writer, err);
}
