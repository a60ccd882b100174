/* SPDX-License-Identifier: MIT
 *
 * cpu.h - internals of the CPU backend: its objects and what its files share.
 *
 * A compiled plan is a list of phases.  A phase is work that all threads of the team divide among
 * themselves between two barriers; an op has one or more phases (op_*.c).  Each op has three
 * functions.  `plan` runs at compile time, looks everything up and says how much scratch memory
 * the op needs.  `wanted` says whether a phase has anything to do in this step; every thread asks
 * and all get the same answer.  `run` does one thread's share of a phase.
 *
 * Each output element is computed by one thread, in an order that depends only on the op and on
 * the element's own row.  So the same input gives the same bits, whatever else is computed beside
 * it and for any number of threads, and work can be handed out dynamically (cpu_claim).
 *
 * Threads: a device is used by one thread at a time (backend.h).  Within a phase the parts share
 * struct cpu_run read-only; each part owns its outputs and its slice of the scratch. */
#ifndef LLAMAD_CPU_CPU_H
#define LLAMAD_CPU_CPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/common/compiled_plan.h"

/* ---- device ---- */

struct cpu_float;
struct kern_act;
struct kern_linear;
struct kern_iq_tables;
struct cpu_repack_block;
struct cpu_repack_choice;

/* State of an open device; allocated zeroed by the host. */
struct cpu_dev {
	const struct lmd_host *host;
	struct lmd_team *team;
	uint32_t n_part; /* the most that a step can have */
	/* Rows of 8 bits that stand for a row of activations before block types: 0 = float,
	 * 1 = int8, 2 = int16 (kern/kern.h). */
	uint32_t n_q8;
	uint64_t flags; /* LMD_CPU_* flags for which kernels are chosen */
	const struct kern_linear *bf16; /* multiplies weights in bf16; NULL = in f32 */
	bool half; /* attention in half precision */
	bool exact; /* deterministic = exact: docs/exact.md */
	const struct cpu_float *fl;
	const struct kern_act *act;
	struct kern_iq_tables *points; /* tables of the IQ types */
	struct lora_table loras;       /* bound adapters */
	/* Weights that are repacked (repack.c): bytes allowed and decided, and the decisions. */
	uint64_t repack_limit, repack_total;
	struct cpu_repack_choice *repack_choices;
	uint32_t n_repack;
	struct cpu_repack_block *repack_block; /* where the next small copy goes, or NULL */
	pthread_mutex_t repack_lock; /* of the members above: weights are loaded beside other calls */
	struct lmd_error error;      /* of the last plan_run */
};

extern const struct lmd_backend_ops cpu_backend_ops;

/* ---- pools (pool.c) ---- */

#define CPU_PAGE_TOKENS 32u

enum lmd_status cpu_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err);
enum lmd_status cpu_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done, struct lmd_error *err);
void cpu_pool_destroy(void *state, struct lmd_pool *pool);

/* Asks the system for huge pages for memory that is read in many small pieces; a TLB miss can cost
 * as much as reading 4 KiB.  Best effort. */
void cpu_large_pages(void *mem, size_t bytes);

/* Encodes and decodes n numbers of a cache row in the row's own order. */
void cpu_cache_encode(const struct cpu_dev *dev, uint32_t dtype, const float *src, void *dst,
		      uint32_t n);
void cpu_cache_decode(const struct cpu_dev *dev, uint32_t dtype, const void *src, float *dst,
		      uint32_t n);

/* ---- compiled plans (plan.c) ---- */

struct cpu_run;
struct cpu_part;
struct cpu_build;

/* One op of a compiled plan. */
struct cpu_node {
	const struct lmd_op *op;
	const struct host_mem_opinfo *info;
	const struct cpu_op *fn;
	uint32_t n_phase;
	void *data; /* made by the op's plan function in host memory; NULL if it needs none */
	uint64_t n_run, ns;
};

/* Implementation of an op; defined in op_NAME.c and listed in ops.c. */
struct cpu_op {
	/* The op of backend/common if it is used as it is; then plan, wanted, run, first and
	 * destroy are unused.  Else NULL. */
	const struct host_mem_op *plain;
	/* Optional: NULL = one phase, no scratch. */
	enum lmd_status (*plan)(struct cpu_build *b, const struct lmd_op *op,
				struct lmd_error *err);
	/* Optional: NULL = every phase has work. */
	bool (*wanted)(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase);
	/* Optional: is the phase so small that one thread finishes it sooner than all threads can
	 * synchronise?  Such a phase needs no barrier (run.c).  NULL = no phase is. */
	bool (*little)(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase);
	void (*run)(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p);
	/* Optional: the first weights that a part reads in a phase with few rows; returns NULL for
	 * none. */
	const void *(*first)(const struct lmd_compiled_plan *p, const struct cpu_node *n,
			     uint32_t phase, uint32_t part, uint32_t n_part);
	/* Optional: frees what `data` (node->data) points to; `data` itself is freed by the
	 * caller. */
	void (*destroy)(const struct lmd_host *h, void *data);
};

/* Returns NULL for codes that this backend does not run. */
const struct cpu_op *cpu_op_of(uint32_t code);

/* Which threads run a phase in this step. */
enum cpu_phase_mode {
	CPU_PHASE_SKIP = 0, /* has no work in this step */
	CPU_PHASE_ALL = 1,  /* all threads, then a barrier */
	CPU_PHASE_LAST = 2, /* the last thread to finish the preceding phase */
};

/* A phase of the plan. */
struct cpu_phase {
	struct cpu_node *node;
	uint32_t phase; /* number of the phase within the node */
	uint32_t how;   /* enum cpu_phase_mode; set when a step begins */
};

/* Phases of at most this many numbers count as little work. */
#define CPU_SMALL_PHASE 8192u

/* Hands out the items of a phase in up to CPU_MAX_LIST lists.  All zero when a phase begins. */
#define CPU_MAX_LIST 16u
struct cpu_counter {
	_Alignas(HOST_MEM_LINE) uint32_t next;
	uint32_t n_done; /* in the first list: number of threads that have finished the phase */
};

/* Number of lists of a phase for n_part parts; and the list that a part begins with. */
static inline uint32_t cpu_n_list(uint32_t n_part)
{
	return n_part < CPU_MAX_LIST ? n_part : CPU_MAX_LIST;
}

static inline uint32_t cpu_own_list(uint32_t part, uint32_t n_part, uint32_t n_list)
{
	return (uint32_t)((uint64_t)part * n_list / n_part);
}

/* Rope table: cosines and sines for the rows of a step, shared by all ops that rotate in the same
 * way.  [rows][2][n_rot]: the factors of an element and of its partner.  Made by the first of these
 * ops (op_rope_kv.c). */
struct cpu_rope_table {
	uint32_t rope, space;
	float sign;
	struct lmd_operand pos;
	float *t;
};

struct lmd_compiled_plan {
	struct host_mem_compiled_plan host_mem;
	uint32_t n_node;
	struct cpu_node *nodes;
	uint32_t n_phase, cap_phase;
	struct cpu_phase *phases;
	struct cpu_counter *counters; /* [n_phase][cpu_n_list] */
	const void **ahead; /* [n_phase][ahead_parts] first weights read in later phases, or NULL */
	uint32_t ahead_parts; /* the parts of the step for which they were found */
	uint32_t n_turns;
	struct cpu_rope_table *turns; /* [n_op], of which n_turns are used */
	bool *direct;            /* [n_output] may be computed directly in the caller's memory */
	/* Values that are not where the host placed them; see value_mem.c. */
	bool *moved; /* [n_value] */
	char *moved_mem;
	size_t moved_bytes;
	uint32_t moved_until; /* last op that uses such a value */
};

enum lmd_status cpu_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err);
void cpu_plan_destroy(void *state, struct lmd_compiled_plan *p);
/* Finds what each of n_part parts reads ahead, unless the last step had as many. */
void cpu_plan_find_ahead(struct lmd_compiled_plan *p, uint32_t n_part);
uint32_t cpu_plan_stats(void *state, const struct lmd_compiled_plan *p, struct lmd_opstat *out,
			uint32_t cap);
void cpu_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out);

/* Input and output of an op's plan function. */
struct cpu_build {
	struct host_mem_build host_mem;
	struct cpu_dev *dev;
	struct lmd_compiled_plan *compiled_plan;
	struct cpu_node *node;
};

/* ---- memory of values (value_mem.c) ---- */

/* Returns how often a value is read, as an output or by an op; *last = the last op that uses it. */
uint32_t cpu_value_uses(const struct lmd_plan *plan, uint32_t value, uint32_t *last);
/* Is the value kept for an observer after the run? */
bool cpu_value_kept(const struct lmd_plan *plan, uint32_t value);
/* Do a value and an operand overlap in memory? */
bool cpu_value_shares(const struct lmd_compiled_plan *p, uint32_t value,
		      const struct lmd_operand *with);
/* Gives a value, which the op being compiled is the first to write, memory that it shares with no
 * other value.  Returns false if that is not possible. */
bool cpu_value_move(struct cpu_build *b, uint32_t value);

/* ---- running (run.c, step.c) ---- */

struct cpu_run {
	struct host_mem_run host_mem;
	struct cpu_dev *dev;
	const struct lmd_compiled_plan *compiled_plan;
	uint32_t n_part; /* threads that compute this step */
	bool single;   /* every sequence has one row */
	bool lora;     /* some row has an adapter */
	bool observed; /* the values of each op are observed */
};

/* One thread's share of a phase. */
struct cpu_part {
	struct host_mem_part host_mem;
	struct cpu_counter *counter; /* [cpu_n_list] */
	const void *ahead;           /* weights that it reads after this phase, or NULL */
};

enum lmd_status cpu_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done);
enum lmd_status cpu_plan_observe(void *state, struct lmd_compiled_plan *p,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg);
/* Counts the live rows of each space, applies the page table changes and checks the step. */
enum lmd_status cpu_step_begin(struct cpu_run *r, struct lmd_error *err);
/* Claims the next item of the phase; each item goes to one part. */
static inline uint32_t cpu_claim(const struct cpu_part *p)
{
	return __atomic_fetch_add(&p->counter->next, 1, __ATOMIC_RELAXED);
}

#endif /* LLAMAD_CPU_CPU_H */
