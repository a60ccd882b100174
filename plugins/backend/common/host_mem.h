/* SPDX-License-Identifier: MIT
 *
 * host_mem.h - what backends that compute in host memory share: weights read in place, the operands
 * of a running step (view.h), and the ops that no backend has a faster way to compute (op_*.c).
 *
 * A backend embeds the objects of this header as the first member of its own: struct
 * host_mem_build, host_mem_run and host_mem_part begin its build, run and part.
 *
 * An op has two functions.  `plan` runs when a plan is compiled; it says how much scratch memory
 * the op needs and in how many phases it runs.  `run` does one thread's share of one phase.  Each
 * output element is computed by one thread in an order that depends only on the op, so the results
 * are the same for any number of threads.
 *
 * Threads: as backend.h says for devices.  Within a phase the parts share struct host_mem_run
 * read-only; each part owns its slice of the outputs and of the scratch. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_HOST_MEM_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_HOST_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/common/binding.h"
#include "backend/common/pool_check.h"
#include "llamad/backend.h"

#define HOST_MEM_LINE 64

/* ---- weights (weight.c) ---- */

struct kern_linear;

struct lmd_weight {
	const char *name;
	uint32_t dtype, block_elems, block_bytes;
	uint32_t n_stack, n, k;
	bool stacked_pieces; /* pieces follow each other in the stack, not in N */
	uint32_t n_piece;
	struct lmd_weight_piece *pieces;
	float *copy;       /* of a transposed weight: f32 [n_stack][n][k]; else NULL */
	const float *flat; /* all elements as f32 (host_mem_weight_flat); NULL until then */
	float *own_flat;
	const float *scale, *bias; /* NULL if n_scale or n_bias is 0 */
	uint32_t n_scale, n_bias;
	/* The backend's kernels for f32 and for int8 activations; NULL if it has none. */
	const struct kern_linear *lin_f32, *lin_q8;
	struct cpu_packed *packed; /* backend cpu: the repacked copy, or NULL */
};

/* weight_query and weight_load of backend.h.  The pieces stay where they are; only transposed
 * weights (small: two for each MLA layer) are copied, as f32. */
enum lmd_status host_mem_weight_query(const struct lmd_host *host, const struct lmd_weight_desc *d,
				      struct lmd_weight_plan *out, struct lmd_error *err);
enum lmd_status host_mem_weight_load(const struct lmd_host *host, const struct lmd_weight_desc *d,
				     struct lmd_weight **out, struct lmd_error *err);
void host_mem_weight_destroy(const struct lmd_host *host, struct lmd_weight *w);

/* Finds row n of a slice and the rows that follow it at a constant distance.  Returns row n, stores
 * the distance in *row_bytes, and lowers *count (in: number of rows wanted) to the number of rows
 * that lie like that. */
const void *host_mem_weight_rows(const struct lmd_weight *w, uint32_t slice, uint32_t n,
				 uint32_t *count, size_t *row_bytes);
/* Returns the address of row n of a slice, NULL if n is past the last row. */
const void *host_mem_weight_at(const struct lmd_weight *w, uint32_t slice, uint32_t n);
/* Returns row n of a slice as k floats: a pointer into the weight if it is f32, else `tmp` [k] with
 * the decoded row. */
const float *host_mem_weight_row(const struct lmd_host *host, const struct lmd_weight *w,
				 uint32_t slice, uint32_t n, float *tmp);
/* Makes w->flat: all elements as one f32 array that lives as long as the weight.  For vectors and
 * small tables; not on the token path. */
enum lmd_status host_mem_weight_flat(const struct lmd_host *host, struct lmd_weight *w,
				     struct lmd_error *err);

/* Scale and bias of output n of a slice; 1 and 0 if the weight has none. */
static inline float host_mem_weight_scale(const struct lmd_weight *w, uint32_t slice, uint32_t n)
{
	if (!w->n_scale)
		return 1.0f;
	if (w->n_scale == 1)
		return w->scale[0];
	return w->scale[w->n_stack > 1 && w->n_scale == w->n_stack ? slice : n];
}

static inline float host_mem_weight_bias(const struct lmd_weight *w, uint32_t slice, uint32_t n)
{
	if (!w->n_bias)
		return 0.0f;
	return w->bias[w->n_bias == w->n ? n : (size_t)slice * w->n + n];
}

/* ---- pools (pool.c) ---- */

/* Where a cache lies inside a page or a slot. */
struct host_mem_cache {
	struct lmd_cache desc;
	uint32_t id; /* index in the plan */
	bool has_v;
	bool k_turned; /* set by the backend: K of a page is stored d-major */
	uint32_t k_cols;       /* elements of a stored row */
	size_t k_row, v_row;   /* bytes of a row, all heads, in canonical form */
	size_t k_head, v_head; /* bytes of a head */
	uint32_t n_row;        /* rows in one page or slot */
	size_t k_off, v_off;   /* offsets in a canonical page or slot */
	char *mem;             /* the pool's memory */
	uint32_t n_unit;
};

struct lmd_pool {
	struct lmd_group desc;
	struct host_mem_pool_shape shape;
	uint32_t n_cache;
	struct host_mem_cache *caches;
	size_t unit_bytes, bytes;
	char *mem; /* [bytes]: n_unit units; slots follow each other, pages lie as host_mem_pages says */
	uint32_t *table; /* [n_seq][n_index]; HOST_MEM_NO_PAGE = not set */
};
#define HOST_MEM_NO_PAGE UINT32_MAX

/* How a backend stores pages.  A canonical page holds, for each cache in order, page_tokens rows of
 * K and then as many of V; a row is its heads one after the other, each encoded on its own. */
struct host_mem_pages {
	void (*copy)(const struct lmd_pool *p, uint32_t src, uint32_t dst);
	/* Copies n_row rows of K or V, beginning with row0, between a page and canonical rows at
	 * `host`; `out` = from the page to the host. */
	void (*move)(const struct lmd_pool *p, const struct host_mem_cache *c, bool v, bool out,
		     uint32_t page, uint32_t row0, uint32_t n_row, char *host);
};
/* Pages that are stored in canonical form, one after the other. */
extern const struct host_mem_pages host_mem_pages_plain;

/* pool_query, pool_create, pool_op and pool_destroy of backend.h.  State slots are canonical: the caches one
 * after the other. */
enum lmd_status host_mem_pool_query(const struct lmd_host *host, const struct lmd_pool_desc *d,
				    struct lmd_pool_cost *out, struct lmd_error *err);
enum lmd_status host_mem_pool_create(const struct lmd_host *host, const struct lmd_pool_desc *d,
				     struct lmd_pool **out, struct lmd_error *err);
enum lmd_status host_mem_pool_op(struct lmd_pool *pool, const struct host_mem_pages *pages,
				 const struct lmd_pool_op *ops, uint32_t n, struct lmd_error *err);
void host_mem_pool_destroy(const struct lmd_host *host, struct lmd_pool *pool);
/* Applies a step's changes to the page tables. */
enum lmd_status host_mem_pool_changes(struct lmd_pool *p, const struct lmd_page_set *change,
				      uint32_t n, struct lmd_error *err);

/* Number of the page at `index` in the page table of a sequence slot. */
static inline uint32_t host_mem_pool_page(const struct lmd_pool *p, uint32_t seq_slot,
					  uint32_t index)
{
	return p->table[(size_t)seq_slot * p->shape.n_index + index];
}

/* Memory of a slot; also of a page if pages lie one after the other. */
static inline char *host_mem_pool_unit(const struct lmd_pool *p, uint32_t unit)
{
	return p->mem + (size_t)unit * p->unit_bytes;
}

/* Row `row` of a cache in a slot of its pool. */
static inline char *host_mem_state_row(const struct lmd_pool *p, const struct host_mem_cache *c,
				       int32_t slot, uint32_t row)
{
	return host_mem_pool_unit(p, (uint32_t)slot) + c->k_off + row * c->k_row;
}

/* ---- compiling (operands.c) ---- */

/* Input and output of an op's plan function. */
struct host_mem_build {
	const struct lmd_host *host;
	const struct lmd_plan *plan;
	struct lmd_weight **weights;       /* [n_weight_ref] */
	uint32_t n_phase;                  /* out: defaults to 1 */
	uint64_t shared_bytes, part_bytes; /* out: see host_mem_need */
};

/* Adds `n * item` bytes, rounded up to HOST_MEM_LINE, to one of the scratch sizes; saturates. */
void host_mem_need(uint64_t *bytes, uint64_t n, uint64_t item);
/* Largest number of (row, head) rows that an operand can have in a step. */
uint64_t host_mem_max_rows(const struct lmd_plan *plan, const struct lmd_operand *o);
/* Makes the weight's elements available as f32 before the plan runs; does nothing for LMD_NONE. */
enum lmd_status host_mem_flatten(struct host_mem_build *b, uint32_t weight_ref,
				 struct lmd_error *err);

/* Description of an op code: its name, and where its operands lie in struct lmd_op. */
struct host_mem_opinfo {
	const char *name;
	bool loose_inputs; /* the op itself checks whether an INPUT operand has the row it needs */
	uint8_t n_in, n_out;
	const uint16_t *in, *out; /* offsets into struct lmd_op */
};

/* Returns NULL for an unknown code. */
const struct host_mem_opinfo *host_mem_opinfo(uint32_t code);

static inline const struct lmd_operand *host_mem_operand(const struct lmd_op *op, uint16_t offset)
{
	return (const struct lmd_operand *)(const void *)((const char *)op + offset);
}

/* ---- running ---- */

struct host_mem_run {
	const struct lmd_host *host;
	const struct lmd_plan *plan;
	const struct lmd_step *step;
	struct lmd_weight *const *weights; /* [n_weight_ref] */
	char *const *value;                /* [n_value] row 0 of each */
	const struct lmd_binding *in;
	uint32_t n_in;
	uint32_t rows[LMD_N_SPACE]; /* live rows */
	char *shared;               /* scratch of the op, shared by the parts */
};

/* One thread's share of a phase. */
struct host_mem_part {
	uint32_t phase, part, n_part;
	char *scratch; /* private to this part */
};

/* The range [lo, hi) of n items that a part computes. */
static inline void host_mem_slice(const struct host_mem_part *p, uint64_t n, uint64_t *lo,
				  uint64_t *hi)
{
	*lo = n * p->part / p->n_part;
	*hi = n * (p->part + 1) / p->n_part;
}

/* Takes `n * item` bytes from a scratch cursor, rounded up as in host_mem_need. */
static inline void *host_mem_take(char **cursor, uint64_t n, uint64_t item)
{
	char *p = *cursor;

	*cursor += (n * item + HOST_MEM_LINE - 1) / HOST_MEM_LINE * HOST_MEM_LINE;
	return p;
}

/* ---- ops ---- */

struct host_mem_op {
	/* Optional: NULL = one phase, no scratch. */
	enum lmd_status (*plan)(struct host_mem_build *b, const struct lmd_op *op,
				struct lmd_error *err);
	void (*run)(const struct host_mem_run *r, const struct lmd_op *op,
		    const struct host_mem_part *p);
};

extern const struct host_mem_op host_mem_op_cast_copy, host_mem_op_gather, host_mem_op_mix,
	host_mem_op_reduce, host_mem_op_route, host_mem_op_softmax;

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_HOST_MEM_H */
