/* SPDX-License-Identifier: MIT
 *
 * ref.h - internals of the reference backend: its objects and what its files share.
 *
 * There is one file per op (op_*.c), written straight from the formulas of llamad/op.h.  An op has
 * two functions.  `plan` runs when a plan is compiled; it rejects what the backend cannot do and
 * says how much scratch memory the op needs.  `run` does one phase of the op in one thread of the
 * team.  Phases are separated by barriers.  Each output element is computed by one thread in an
 * order that depends only on the op, so the results are the same for any number of threads.
 *
 * Threads: a device is used by one thread at a time (backend.h).  Within run_phase() the parts of
 * the team share struct ref_run read-only; each part owns its slice of the outputs and of the
 * scratch. */
#ifndef LLAMAD_REF_H
#define LLAMAD_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/common/compiled_plan.h"

/* ---- device ---- */

struct ref_kernels;

/* State of an open device; allocated zeroed by the host. */
struct ref_dev {
	const struct lmd_host *host;
	struct lmd_team *team;
	uint32_t n_part;
	/* Rows of 8 bits that stand for a row of activations before block types: 0 = float,
	 * 1 = int8, 2 = int16 (op_linear_int8.c). */
	uint32_t n_q8;
	bool half; /* attention in half precision (LMD_ATTENTION_HALF) */
	const struct ref_kernels *kernels;
	struct lora_table loras;     /* bound adapters */
	int32_t *chained;            /* [n_chained] last token sampled for each sequence slot */
	uint32_t n_chained;
	struct lmd_error error; /* of the last plan_run */
};

extern const struct lmd_backend_ops ref_backend_ops;

/* Makes room for the chained tokens of sequence slots 0..n-1. */
enum lmd_status ref_chain_reserve(struct ref_dev *dev, uint32_t n, struct lmd_error *err);

/* ---- pools (pool.c) ---- */

enum lmd_status ref_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err);
enum lmd_status ref_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done, struct lmd_error *err);
void ref_pool_destroy(void *state, struct lmd_pool *pool);

/* Encodes and decodes n numbers of a cache.  ref_cache_decode returns them in place if they are
 * f32, else in tmp [n]. */
void ref_cache_encode(const struct ref_dev *dev, uint32_t dtype, const float *src, void *dst,
		      uint32_t n);
const float *ref_cache_decode(const struct ref_dev *dev, uint32_t dtype, const void *src,
			      float *tmp, uint32_t n);

/* Like ref_cache_decode, but always copies to dst [n]. */
void ref_cache_read(const struct ref_dev *dev, uint32_t dtype, const void *src, float *dst,
		    uint32_t n);

/* Returns the memory of the page that holds logical row `key` of a sequence slot; *row = its row in
 * the page. */
static inline char *ref_pool_row(const struct lmd_pool *p, uint32_t seq_slot, uint32_t key,
				 uint32_t *row)
{
	uint32_t page = p->table[(size_t)seq_slot * p->shape.n_index + key / p->shape.page_tokens];

	*row = key % p->shape.page_tokens;
	return p->mem + (size_t)page * p->unit_bytes;
}

/* ---- compiled plans (plan.c) ---- */

struct ref_node {
	const struct lmd_op *op;
	const struct host_mem_opinfo *info;
	const struct ref_op *fn;
	uint32_t n_phase;
	uint64_t n_run, ns;
};

struct lmd_compiled_plan {
	struct host_mem_compiled_plan host_mem;
	uint32_t n_node;
	struct ref_node *nodes;
	bool *need_input;                /* [n_input] must be bound with all rows of its space */
	bool group_read[LMD_MAX_GROUP];  /* kv_lo and kv_hi are used */
	bool group_write[LMD_MAX_GROUP]; /* slot is used */
	bool reads_tokens;
	uint32_t token_limit; /* all token ids must be below it */
	struct lmd_devgroup *group; /* of its collectives; NULL: it has none */
};

enum lmd_status ref_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err);
void ref_plan_destroy(void *state, struct lmd_compiled_plan *p);
uint32_t ref_plan_stats(void *state, const struct lmd_compiled_plan *p, struct lmd_opstat *out,
			uint32_t cap);
void ref_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out);

/* Input and output of an op's plan function. */
struct ref_build {
	struct host_mem_build host_mem;
	struct ref_dev *dev;
	struct lmd_compiled_plan *compiled_plan;
};

/* ---- running (run.c, check.c) ---- */

struct ref_run {
	struct host_mem_run host_mem;
	struct ref_dev *dev;
	const struct lmd_compiled_plan *compiled_plan;
};

/* Implementation of an op; defined in op_NAME.c and listed in ops.c. */
struct ref_op {
	const struct host_mem_op
		*plain; /* the op of backend/common if it is used as it is; or NULL: */
	/* Optional: NULL = one phase, no scratch. */
	enum lmd_status (*plan)(struct ref_build *b, const struct lmd_op *op,
				struct lmd_error *err);
	void (*run)(const struct ref_run *r, const struct lmd_op *op,
		    const struct host_mem_part *p);
};

/* Returns NULL for codes that this backend does not run. */
const struct ref_op *ref_op_of(uint32_t code);

enum lmd_status ref_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done);
enum lmd_status ref_plan_observe(void *state, struct lmd_compiled_plan *p,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg);
static inline bool ref_is_cancelled(const struct lmd_step *step)
{
	return step && step->cancel && __atomic_load_n(step->cancel, __ATOMIC_RELAXED);
}

/* Counts the live rows of each space and applies the page table changes.  Rejects a step that would
 * read or write out of bounds; the error names the field, the value and the bound. */
enum lmd_status ref_step_begin(struct ref_run *r, struct lmd_error *err);

#endif /* LLAMAD_REF_H */
