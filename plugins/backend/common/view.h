/* SPDX-License-Identifier: MIT
 *
 * view.h - operands in a running step: windows and their rows, and the sequence that a row belongs
 * to.
 *
 * All elements have 4 bytes (f32 or i32), so moving a row does not depend on the type.  A window
 * whose rows are contiguous is used in place.  A folded window that crosses rows of its value is
 * gathered into the caller's buffer, and host_mem_commit writes it back. */
#ifndef LLAMAD_BACKEND_COMMON_VIEW_H
#define LLAMAD_BACKEND_COMMON_VIEW_H

#include <math.h>
#include <string.h>

#include "backend/common/host_mem.h"

struct host_mem_view {
	char *base;       /* first row; NULL: absent */
	size_t row_bytes; /* 0: the same row for all */
	uint32_t n_row;   /* live rows after folding */
	uint32_t col0, n_head, head_stride, width;
	uint32_t fold; /* >= 1 */
	uint32_t value_width;
	uint32_t space; /* enum lmd_space; LMD_N_SPACE: has its own rows */
	bool i32;
};

/* base is NULL if src is NONE or the input is not bound. */
struct host_mem_view host_mem_view(const struct host_mem_run *r, const struct lmd_operand *o);

/* Returns the binding of an input, NULL if there is none. */
const struct lmd_binding *host_mem_input(const struct host_mem_run *r, uint32_t id);

/* The sequence that a row of a space belongs to; a sequence's first row and number of rows. */
uint32_t host_mem_seq_of(const struct host_mem_run *r, uint32_t space, uint32_t row);
void host_mem_seq_rows(const struct host_mem_run *r, uint32_t space, uint32_t seq, uint32_t *first,
		       uint32_t *n);
/* The row of TOKENS that a row of a space stands for; -1 in X spaces and in SEQS. */
int64_t host_mem_token_row(const struct host_mem_run *r, uint32_t space, uint32_t row);
/* Position of a row: step.pos[plane]; in X spaces the row's number within its sequence. */
int32_t host_mem_pos(const struct host_mem_run *r, uint32_t space, uint32_t row, uint32_t plane);
/* Adapter slot of a row; 0 = none. */
uint32_t host_mem_lora_slot(const struct host_mem_run *r, uint32_t space, uint32_t row);

/* Stores the width and height of the map that a sequence's rows in an X space form; returns false
 * if they do not form one. */
bool host_mem_map_size(const struct host_mem_run *r, uint32_t space, uint32_t seq,
		       uint32_t size[2]);

/* One element of a window. */
static inline void *host_mem_el(const struct host_mem_view *v, uint32_t row, uint32_t head,
				size_t col)
{
	size_t j = v->col0 + (size_t)head * v->head_stride + col;
	char *p = v->base + v->row_bytes * row * v->fold;

	if (v->fold > 1) {
		p += j / v->value_width * v->row_bytes;
		j %= v->value_width;
	}
	return p + 4 * j;
}

/* Is a (row, head) contiguous?  If so, host_mem_el(v, row, head, 0) points to all of it. */
static inline bool host_mem_whole(const struct host_mem_view *v, uint32_t head)
{
	return v->fold == 1 ||
	       (v->col0 + (size_t)head * v->head_stride) % v->value_width + v->width <=
		       v->value_width;
}

/* Returns a (row, head) of a window as `width` contiguous elements, in place or gathered in tmp. */
static inline void *host_mem_at(const struct host_mem_view *v, uint32_t row, uint32_t head,
				void *tmp)
{
	if (host_mem_whole(v, head))
		return host_mem_el(v, row, head, 0);
	for (uint32_t c = 0; c < v->width; c++)
		memcpy((char *)tmp + 4 * (size_t)c, host_mem_el(v, row, head, c), 4);
	return tmp;
}

/* Writes back what was computed at `p`, a result of host_mem_at; does nothing if it was in place. */
static inline void host_mem_commit(const struct host_mem_view *v, uint32_t row, uint32_t head,
				   const void *p, const void *tmp)
{
	if (p != tmp)
		return;
	for (uint32_t c = 0; c < v->width; c++)
		memcpy(host_mem_el(v, row, head, c), (const char *)tmp + 4 * (size_t)c, 4);
}

/* Like host_mem_at, but converts i32 to f32. */
static inline const float *host_mem_f32(const struct host_mem_view *v, uint32_t row, uint32_t head,
					float *tmp)
{
	const void *p = host_mem_at(v, row, head, tmp);

	if (!v->i32)
		return p;
	for (uint32_t c = 0; c < v->width; c++) {
		int32_t n;

		memcpy(&n, (const char *)p + 4 * (size_t)c, 4);
		tmp[c] = (float)n;
	}
	return tmp;
}

/* Column j of a row, counted across its heads. */
static inline void *host_mem_cell(const struct host_mem_view *v, uint32_t row, size_t j)
{
	if (v->n_head == 1)
		return host_mem_el(v, row, 0, j);
	return host_mem_el(v, row, (uint32_t)(j / v->width), j % v->width);
}

static inline uint32_t host_mem_cols(const struct host_mem_view *v)
{
	return v->n_head * v->width;
}

static inline int32_t host_mem_get_i32(const struct host_mem_view *v, uint32_t row, uint32_t head,
				       size_t col)
{
	return *(const int32_t *)host_mem_el(v, row, head, col);
}

static inline int32_t host_mem_cell_i32(const struct host_mem_view *v, uint32_t row, size_t j)
{
	return *(const int32_t *)host_mem_cell(v, row, j);
}

static inline float host_mem_get(const struct host_mem_view *v, uint32_t row, uint32_t head,
				 size_t col)
{
	const void *p = host_mem_el(v, row, head, col);

	return v->i32 ? (float)*(const int32_t *)p : *(const float *)p;
}

static inline float host_mem_cell_get(const struct host_mem_view *v, uint32_t row, size_t j)
{
	return v->i32 ? (float)host_mem_cell_i32(v, row, j)
		      : *(const float *)host_mem_cell(v, row, j);
}

static inline void host_mem_put(const struct host_mem_view *v, uint32_t row, uint32_t head,
				size_t col, float x)
{
	*(float *)host_mem_el(v, row, head, col) = x;
}

static inline void host_mem_put_i32(const struct host_mem_view *v, uint32_t row, uint32_t head,
				    size_t col, int32_t x)
{
	*(int32_t *)host_mem_el(v, row, head, col) = x;
}

/* Columns [first, first + n) of a row as floats: in place if they are contiguous, else in tmp. */
static inline const float *host_mem_columns(const struct host_mem_view *v, uint32_t row,
					    size_t first, uint32_t n, float *tmp)
{
	if (v->fold == 1 && !v->i32 && (v->n_head == 1 || first % v->width + n <= v->width))
		return host_mem_cell(v, row, first);
	for (uint32_t c = 0; c < n; c++)
		tmp[c] = host_mem_cell_get(v, row, first + c);
	return tmp;
}

/* Rounds toward zero; saturates at the limits of int32_t; NaN becomes 0. */
static inline int32_t host_mem_float_to_i32(float x)
{
	if (!(x == x))
		return 0;
	return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : (int32_t)x;
}

#endif /* LLAMAD_BACKEND_COMMON_VIEW_H */
