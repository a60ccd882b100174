/* SPDX-License-Identifier: MIT
 *
 * cpu.h - the CPU backend from inside: its objects, and what its files share.
 *
 * A compiled plan is a list of phases.  A phase is work that all threads of the team share out
 * between two barriers; an op has one or more (op_*.c).  Each op has three functions: `plan`
 * runs at compile time, looks everything up and says how much scratch memory the op needs;
 * `wanted` says whether a phase has anything to do in this step (every thread asks, all get the
 * same answer); `run` does one thread's share of a phase.
 *
 * Every output element is computed by one thread, in an order that depends on nothing but the
 * op and the element's own row: same input, same bits, whatever runs beside it and on however
 * many threads.  So work may be handed out while it is done (cpu_claim).
 *
 * Threads: a device is used by one thread at a time (backend.h).  Inside a phase the parts share
 * struct cpu_run read-only and own their outputs and their slice of the scratch. */
#ifndef LLAMAD_CPU_CPU_H
#define LLAMAD_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/common/cplan.h"

/* ---- device ---- */

struct cpu_float;
struct kern_act;
struct kern_linear;
struct kern_points;

/* State of an open device; allocated zeroed by the host. */
struct cpu_dev {
	const struct lmd_host *host;
	struct lmd_team *team;
	uint32_t n_part;
	bool int8; /* activations in front of block types are rounded */
	bool half; /* attention in half precision */
	const struct cpu_float *fl;
	const struct kern_act *act;
	struct kern_points *points;  /* tables of the IQ types */
	struct lmi_lora_table loras; /* bound adapters */
	struct lmd_error error;      /* of the last plan_run */
};

extern const struct lmd_backend_ops cpu_backend_ops;

/* ---- pools (pool.c) ---- */

#define CPU_PAGE_TOKENS 32u

enum lmd_status cpu_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err);
enum lmd_status cpu_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_error *err);
void cpu_pool_destroy(void *state, struct lmd_pool *pool);

/* Asks the system for large pages behind memory that is read in many pieces: finding a page of 4
 * KiB can cost as much as reading it.  Best effort. */
void cpu_large_pages(void *mem, size_t bytes);

/* n numbers into and out of a cache in a row's own order. */
void cpu_cache_encode(const struct cpu_dev *dev, uint32_t dtype, const float *src, void *dst,
		      uint32_t n);
void cpu_cache_decode(const struct cpu_dev *dev, uint32_t dtype, const void *src, float *dst,
		      uint32_t n);

/* ---- compiled plans (plan.c) ---- */

struct cpu_run;
struct cpu_part;
struct cpu_build;

/* One op of a plan, compiled. */
struct cpu_node {
	const struct lmd_op *op;
	const struct hm_opinfo *info;
	const struct cpu_op *fn;
	uint32_t n_phase;
	void *data; /* of the op: made by its plan function, host memory, or NULL */
	uint64_t n_run, ns;
};

/* One op: a file op_NAME.c defines it, ops.c lists it. */
struct cpu_op {
	/* backend/common has it; then there is no plan, wanted, run, first or destroy.  Or NULL. */
	const struct hm_op *plain;
	/* Optional: NULL = one phase, no scratch. */
	enum lmd_status (*plan)(struct cpu_build *b, const struct lmd_op *op,
				struct lmd_error *err);
	/* Optional: NULL = every phase is. */
	bool (*wanted)(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase);
	/* Optional: is a phase so little work that one thread does it sooner than all can meet?
	 * Then it costs no barrier (run.c).  NULL = none is. */
	bool (*little)(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase);
	void (*run)(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p);
	/* Optional: the first weights that a part reads in a phase with few rows, NULL: none. */
	const void *(*first)(const struct lmd_cplan *p, const struct cpu_node *n, uint32_t phase,
			     uint32_t part, uint32_t n_part);
	/* Optional: frees what node->data points to; data itself is freed by the caller. */
	void (*destroy)(const struct lmd_host *h, void *data);
};

/* NULL for codes this backend does not run. */
const struct cpu_op *cpu_op_of(uint32_t code);

/* Who does a phase in this step. */
enum cpu_how {
	CPU_NOBODY = 0, /* not wanted */
	CPU_ALL = 1,    /* all threads, then a barrier */
	CPU_LAST = 2,   /* the thread that is last to end the phase before it, inside that */
};

/* A phase of the plan, in order. */
struct cpu_phase {
	struct cpu_node *node;
	uint32_t phase; /* of the node */
	uint32_t how;   /* enum cpu_how; set when a step begins */
};

/* Up to this many numbers are little work. */
#define CPU_LITTLE 8192u

/* Hands out the items of a phase, in up to CPU_MAX_LIST lists.  All is 0 when a phase begins. */
#define CPU_MAX_LIST 16u
struct cpu_counter {
	_Alignas(HM_LINE) uint32_t next;
	uint32_t n_done; /* of the first list: threads that have ended the phase */
};

/* Lists of a phase for n_part parts; the one that a part begins with. */
static inline uint32_t cpu_n_list(uint32_t n_part)
{
	return n_part < CPU_MAX_LIST ? n_part : CPU_MAX_LIST;
}

static inline uint32_t cpu_own_list(uint32_t part, uint32_t n_part, uint32_t n_list)
{
	return (uint32_t)((uint64_t)part * n_list / n_part);
}

/* Cosines and sines of the rows of a step, for all ops that turn alike: [rows][2][n_rot], the
 * factors of a number and of its partner.  Made by the first of these ops (op_rope_kv.c). */
struct cpu_turns {
	uint32_t rope, space;
	float sign;
	struct lmd_opnd pos;
	float *t;
};

struct lmd_cplan {
	struct hm_cplan hm;
	uint32_t n_node;
	struct cpu_node *nodes;
	uint32_t n_phase, cap_phase;
	struct cpu_phase *phases;
	struct cpu_counter *counters; /* [n_phase][cpu_n_list] */
	const void **ahead; /* [n_phase][n_part] first weights of the phases that follow, or NULL */
	uint32_t n_turns;
	struct cpu_turns *turns; /* room for n_op */
	bool *direct;            /* [n_output] may be computed where the caller wants it */
	/* values that lie elsewhere than the host would have them: see values.c */
	bool *moved; /* [n_value] */
	char *moved_mem;
	size_t moved_bytes;
	uint32_t moved_until; /* last op that uses one */
};

enum lmd_status cpu_plan_compile(void *state, const struct lmd_compile *c, struct lmd_cplan **out,
				 struct lmd_error *err);
void cpu_plan_destroy(void *state, struct lmd_cplan *p);
uint32_t cpu_plan_stats(void *state, const struct lmd_cplan *p, struct lmd_opstat *out,
			uint32_t cap);
void cpu_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out);

/* What an op's plan function sees and fills. */
struct cpu_build {
	struct hm_build hm;
	struct cpu_dev *dev;
	struct lmd_cplan *cplan;
	struct cpu_node *node;
};

/* ---- memory of values (values.c) ---- */

/* How often a value is read, being an output included, and the last op that uses it. */
uint32_t cpu_value_uses(const struct lmd_plan *plan, uint32_t value, uint32_t *last);
/* Will somebody look at it after the run? */
bool cpu_value_kept(const struct lmd_plan *plan, uint32_t value);
/* Do a value and an operand share bytes? */
bool cpu_value_shares(const struct lmd_cplan *p, uint32_t value, const struct lmd_opnd *with);
/* A value that the op being compiled is the first to write gets bytes that it shares with nobody;
 * false: there are none. */
bool cpu_value_move(struct cpu_build *b, uint32_t value);

/* ---- running (run.c, step.c) ---- */

struct cpu_run {
	struct hm_run hm;
	struct cpu_dev *dev;
	const struct lmd_cplan *cplan;
	bool single;   /* every sequence has one row */
	bool lora;     /* some row has an adapter */
	bool observed; /* values of every op are looked at */
};

/* One thread's share of a phase. */
struct cpu_part {
	struct hm_part hm;
	struct cpu_counter *counter; /* [cpu_n_list] */
	const void *ahead;           /* weights that it will read after this phase, or NULL */
};

enum lmd_status cpu_plan_run(void *state, struct lmd_queue *q, struct lmd_cplan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done);
enum lmd_status cpu_plan_observe(void *state, struct lmd_cplan *p, const struct lmd_step *step,
				 const struct lmd_binding *in, uint32_t n_in, lmd_observe_fn fn,
				 void *arg);
/* Live rows of each space; applies the page table changes. */
enum lmd_status cpu_step_begin(struct cpu_run *r, struct lmd_error *err);
/* The next item of the phase: each number is given to one part. */
static inline uint32_t cpu_claim(const struct cpu_part *p)
{
	return __atomic_fetch_add(&p->counter->next, 1, __ATOMIC_RELAXED);
}

#endif /* LLAMAD_CPU_CPU_H */
