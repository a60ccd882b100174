/* SPDX-License-Identifier: MIT
 *
 * compiled_plan.h - compiled plans: what all backends keep in one, and what compiling an op asks
 * for.  A backend's struct lmd_compiled_plan begins with struct host_mem_compiled_plan.
 *
 * Threads: as backend.h says for devices; the parts of a running phase only read. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_COMPILED_PLAN_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_COMPILED_PLAN_H

#include "backend/common/host_mem.h"
#include "common/lora.h"

struct host_mem_compiled_plan {
	const char *who; /* name of the backend, for error messages */
	const struct lmd_host *host;
	uint32_t n_part; /* threads of the team */
	const struct lmd_plan *plan;
	struct lmd_weight **weights;    /* [n_weight_ref] */
	struct lmd_pool **pools;        /* [n_group]; NULL: no pool was given */
	const struct host_mem_cache **caches; /* [n_cache]; NULL: in none of the given pools */
	struct lora_sites sites;              /* where adapters apply */
	char **value;                   /* [n_value] row 0 of each */
	char *values;                   /* [plan->scratch_bytes] */
	char *own_values;               /* values, if the caller gave no scratch memory */
	char *shared;                   /* [shared_bytes] scratch of the op */
	char *part;                     /* [n_part][part_bytes] scratch of each thread */
	size_t shared_bytes, part_bytes;
};

/* Allocates n zeroed items of host memory.  Returns NULL if n or item is 0, and NULL with *failed
 * set to true if memory ran out.  *failed is never reset to false. */
void *host_mem_array(const struct lmd_host *host, size_t n, size_t item, bool *failed);

/* Checks whether the plan can be compiled.  LMD_UNSUPPORTED if activations are not f32, LMD_INVALID
 * if there are too many groups. */
enum lmd_status host_mem_compiled_plan_check(const struct lmd_plan *plan, const char *who,
					     struct lmd_error *err);

/* Copies what `c` gives, finds the caches and allocates the values at the places that the plan
 * chose.  p is zeroed except who, host and n_part.  Call host_mem_compiled_plan_fini after a
 * failure, too. */
enum lmd_status host_mem_compiled_plan_init(struct host_mem_compiled_plan *p,
					    const struct lmd_compile *c, struct lmd_error *err);
/* Allocates the scratch that the ops need.  Call after all ops are compiled. */
enum lmd_status host_mem_compiled_plan_scratch(struct host_mem_compiled_plan *p,
					       struct lmd_error *err);
void host_mem_compiled_plan_fini(struct host_mem_compiled_plan *p);

/* ---- compiling one op ---- */

typedef enum lmd_status (*host_mem_plan_fn)(struct host_mem_build *b, const struct lmd_op *op,
					    struct lmd_error *err);

/* What an op of the plan begins with; a backend's struct for compiling an op begins with it. */
struct host_mem_build host_mem_build_init(const struct host_mem_compiled_plan *p);
/* Plans op number i: makes f32 copies of the weights that it reads element by element, lets `plain`
 * (an op of this folder that is used as it is, or NULL) or `own` say what the op needs, and raises the
 * plan's scratch sizes to that.  LMD_NOMEM if they overflow. */
enum lmd_status host_mem_plan_op(struct host_mem_compiled_plan *p, struct host_mem_build *b,
				 uint32_t i, const struct host_mem_op *plain, host_mem_plan_fn own,
				 struct lmd_error *err);
/* Returns LMD_UNSUPPORTED for op number i, which the backend does not have. */
enum lmd_status host_mem_missing_op(const struct host_mem_compiled_plan *p, uint32_t i,
				    struct lmd_error *err);
/* Answers op_support of a backend with one device.  reason: why it does not have the op; NULL: the code
 * is unknown or needs a group of devices. */
void host_mem_op_support(const char *who, const struct lmd_op *op, bool native, const char *reason,
			 struct lmd_support *out);
/* LMD_INVALID if the pool of the cache was not given or is of another kind.  LMD_OK if cache is
 * LMD_NONE. */
enum lmd_status host_mem_need_cache(const struct host_mem_compiled_plan *p, uint32_t cache,
				    struct lmd_error *err);

/* Does the plan provide for adapters at this site? */
static inline bool host_mem_lora_wanted(const struct lmd_plan *plan, uint32_t site)
{
	return site != LMD_NONE && (plan->key.flags & LMD_PLAN_LORA);
}

/* Registers an adapter site for a weight if the plan provides for adapters there; does nothing if
 * weight_ref is LMD_NONE.  transposed: adapters apply to the weight's transpose, so they have a
 * column for each of its rows. */
enum lmd_status host_mem_add_site(struct host_mem_compiled_plan *p, uint32_t site,
				  uint32_t weight_ref, bool transposed, struct lmd_error *err);

/* ---- running ---- */

/* Returns a run whose row counts are all 0. */
struct host_mem_run host_mem_run_init(const struct host_mem_compiled_plan *p,
				      const struct lmd_step *step, const struct lmd_binding *in,
				      uint32_t n_in);

/* Scratch of thread number `part`; NULL if no op needs any. */
static inline char *host_mem_part_scratch(const struct host_mem_compiled_plan *p, uint32_t part)
{
	return p->part ? p->part + (size_t)part * p->part_bytes : NULL;
}

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_COMPILED_PLAN_H */
